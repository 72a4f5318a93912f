/* What the reviews share: questions to the server about who somebody is and what he may do (k8s.io/api/authorization/v1 and
 * authentication/v1). They are created and answered, never stored. */
#ifndef API_REVIEW_REVIEW_SCHEMA_H
#define API_REVIEW_REVIEW_SCHEMA_H

#include "api/model/kind.h"

/* spec of SelfSubjectAccessReviews, and of those that name a subject; status of both; whom a credential names; status of TokenReviews. */
extern const struct type type_self_access_spec, type_access_spec, type_access_status, type_user_info, type_token_status;

/* Exactly one of resourceAttributes and nonResourceAttributes, with selectors that make sense; of a subject, its name or a group. */
void validate_self_access_spec(const struct object *o, struct field_errors *errors);
void validate_access_spec(const struct object *o, struct field_errors *errors);
/* nonResourceAttributes as errors show them: in upstream's own form. */
struct json *shown_nonresource(const struct json *attributes, struct arena *a);
/* Reviews have no metadata, but for the namespace of a local one and what says who sent them. */
void validate_no_metadata(const struct object *o, struct field_errors *errors);

#endif
