/* The rules of Endpoints and Ingresses: where a name leads to, and by which requests it is reached. */
#ifndef API_CORE_NETWORK_RULES_H
#define API_CORE_NETWORK_RULES_H

#include "api/model/kind.h"

void endpoints_validate(const struct object *o, struct field_errors *errors);
void endpoints_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);

void ingress_prepare_create(struct object *o, struct arena *a);
void ingress_validate(const struct object *o, struct field_errors *errors);
void ingress_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void ingress_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);
size_t ingress_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX]);

#endif
