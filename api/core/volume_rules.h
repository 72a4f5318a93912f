/* The defaults and the rules of persistent volumes. */
#ifndef API_CORE_VOLUME_RULES_H
#define API_CORE_VOLUME_RULES_H

#include "api/model/kind.h"
#include "base/buf.h"
#include "base/json.h"

void volume_prepare_create(struct object *o, struct arena *a);
void volume_prepare_status(struct object *o, const struct object *old, struct arena *a);

void volume_validate(const struct object *o, struct field_errors *errors);
void volume_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
size_t volume_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX]);

/* "RWO,ROX": each mode once, in an order of its own. */
void volume_modes_write(const struct json *modes, struct buf *out);

#endif
