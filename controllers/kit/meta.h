/* Reads metadata for the garbage collector. */
#ifndef CONTROLLERS_KIT_META_H
#define CONTROLLERS_KIT_META_H

#include "base/json.h"
#include "controllers/kit/ref.h"

#define GC_FINALIZER_ORPHAN "orphan"
#define GC_FINALIZER_FOREGROUND "foregroundDeletion"

bool json_meta_is_deleting(const struct json *meta);
bool json_meta_has_finalizer(const struct json *meta, const char *finalizer);
/* Returns the entry of ownerReferences that controls the object; NULL if none does. */
const struct json *json_meta_controller(const struct json *meta);
/* Makes a reference to the owner with controller and blockOwnerDeletion true. Ignores ns. */
struct json *json_meta_controlled_by(const struct gc_ref *owner, struct arena *a);
/* Reads an entry of ownerReferences; ns: the namespace of the object that has it. */
struct gc_ref json_meta_owner(const struct json *owner, struct str ns);
/* Reads an object. Its text points into meta, the list of owners is in the arena. The caller
 * sets version and listing. */
struct gc_object gc_object_read(const struct json *meta, struct str api_version, struct str kind, struct arena *a);
/* Returns a changeable copy, or an empty object if there is none. */
struct json *json_copy_or_empty(struct arena *a, const struct json *object);

#endif
