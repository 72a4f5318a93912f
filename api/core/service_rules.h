/* The defaults of services, the fields that follow from others, and the rules.
 *
 * The room has the kinds that describe a cluster: services (service_*.c), networks
 * (network_rules.h), nodes (node_rules.h), and volumes, their claims and classes (volume_rules.h).
 * Each header has the same sorts of functions, which the declarations in api/kinds point to:
 * defaults, preparation of a create or an update, validation, and Warnings. Order and texts are
 * those of kube-apiserver; docs/reference/deviations.md lists what is left out. All are pure. */
#ifndef API_CORE_SERVICE_RULES_H
#define API_CORE_SERVICE_RULES_H

#include "api/model/kind.h"

void service_set_defaults(struct object *o, struct arena *a);
void service_prepare_create(struct object *o, struct arena *a);
void service_prepare_update(struct object *o, const struct object *old, struct arena *a);

void service_validate(const struct object *o, struct field_errors *errors);
void service_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void service_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);
size_t service_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX]);

#endif
