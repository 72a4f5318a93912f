/* The rules for a pod, a template of one, or a claim of storage, as far as clients notice kube-apiserver's
 * (docs/reference/deviations.md lists what is left out).
 *
 * Containers, placement and volumes have a file each; pod_validate_parts.h is private to them. The
 * rules are upstream's, in its order, because clients see the first messages. pod_defaults.h fills
 * in the defaults before them. pod_rules.h has the rest of the kind: fields that an update keeps,
 * grace periods, the subresources. pod_columns.h prints tables. Kinds with a pod template
 * (api/workload) call pod_template_validate(). Nothing here knows a store or a request. */
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
