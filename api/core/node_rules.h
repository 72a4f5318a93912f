/* The defaults and the rules of nodes. */
#ifndef API_CORE_NODE_RULES_H
#define API_CORE_NODE_RULES_H

#include "api/model/kind.h"

void node_set_defaults(struct object *o, struct arena *a);
void node_prepare_create(struct object *o, struct arena *a);
void node_prepare_update(struct object *o, const struct object *old, struct arena *a);
void node_prepare_status(struct object *o, const struct object *old, struct arena *a);
void node_validate(const struct object *o, struct field_errors *errors);
void node_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void node_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);

#endif
