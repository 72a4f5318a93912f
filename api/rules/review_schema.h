/* The shared parts of reviews, which ask the server about a user's identity and rights
 * (k8s.io/api/authorization/v1 and authentication/v1). Reviews are created and answered, never
 * stored. */
#ifndef API_RULES_REVIEW_SCHEMA_H
#define API_RULES_REVIEW_SCHEMA_H

#include "api/model/kind.h"
#include "api/model/user.h"

/* Exactly one of resourceAttributes and nonResourceAttributes, with selectors that make sense; of a subject, its name or a group. */
void validate_self_access_spec(const struct object *o, struct field_errors *errors);
void validate_access_spec(const struct object *o, struct field_errors *errors);
/* nonResourceAttributes as errors show them: in upstream's own form. */
struct json *shown_nonresource(const struct json *attributes, struct arena *a);
/* Reviews have no metadata, but for the namespace of a local one and what says who sent them. */
void validate_no_metadata(const struct object *o, struct field_errors *errors);

/* Users as reviews show them. Texts stay the user's. */
struct json *user_info_json(const struct user *u, struct arena *a);  /* authentication.k8s.io/v1 UserInfo */
struct json *user_extra_json(const struct user *u, struct arena *a); /* {key: [value, ...], ...} */

/* AdmissionReview of k8s.io/api/admission/v1: what an API server asks a webhook before it writes. */
extern const struct view admission_review_view; /* only posted, to a webhook: nothing is shown or taken */

#endif
