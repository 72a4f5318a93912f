/* metadata as the garbage collector reads it. */
#ifndef CONTROLLERS_KIT_META_H
#define CONTROLLERS_KIT_META_H

#include "base/json.h"
#include "controllers/kit/ref.h"

#define GC_FINALIZER_ORPHAN "orphan"
#define GC_FINALIZER_FOREGROUND "foregroundDeletion"

bool gc_meta_is_deleting(const struct json *meta);
bool gc_meta_has_finalizer(const struct json *meta, const char *finalizer);
/* The one of ownerReferences that controls it; NULL: none does. */
const struct json *gc_meta_controller(const struct json *meta);
/* The reference that makes an object the owner's: controller and blockOwnerDeletion are true. ns is not looked at. */
struct json *gc_meta_controlled_by(const struct gc_ref *owner, struct arena *a);
/* One of ownerReferences; ns: of the object that has it. */
struct gc_ref gc_meta_owner(const struct json *owner, struct str ns);
/* The whole; text is the metadata's, the list of owners in the arena. version is left to the caller. */
struct gc_object gc_meta_object(const struct json *meta, struct str api_version, struct str kind, struct arena *a);
/* A changeable copy; where there is no object, an empty one. */
struct json *copy_or_empty(struct arena *a, const struct json *object);

#endif
