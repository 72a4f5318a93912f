/* Is a pod, a template of one, or a claim of storage what it must be? What clients notice of kube-apiserver's rules (docs/reference/deviations.md:
 * what is not looked at). */
#ifndef API_CORE_POD_VALIDATE_H
#define API_CORE_POD_VALIDATE_H

#include "api/model/kind.h"
#include "api/rules/where.h"

void pod_template_validate(const struct where *at, const struct json *template, struct field_errors *errors);
void pod_validate(const struct object *o, struct field_errors *errors);
void pod_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
/* Through the subresource ephemeralcontainers. */
void pod_validate_ephemeral(const struct object *o, const struct object *old, struct field_errors *errors);
void pod_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);

void claim_spec_validate(const struct where *at, const struct json *spec, struct field_errors *errors);
void claim_template_validate(const struct where *at, const struct json *template, struct field_errors *errors);
void claim_validate(const struct object *o, struct field_errors *errors);
void claim_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void claim_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);

#endif
