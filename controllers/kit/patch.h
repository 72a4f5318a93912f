/* The patches that the garbage collector sends. Each names the uid or the version it was made for, so that it changes that object or
 * none. The strategic ones need no look at the object; kinds without a schema take only the merge patches. */
#ifndef CONTROLLERS_KIT_PATCH_H
#define CONTROLLERS_KIT_PATCH_H

#include "base/json.h"

/* Takes the references to these uids away. meta: the present object's metadata. */
void gc_patch_unrefer(struct buf *out, struct str object_uid, const struct str *uids, size_t n);
void gc_patch_unrefer_merge(struct buf *out, struct str object_uid, const struct json *meta, const struct str *uids, size_t n);
/* Has no reference block its owner's deletion any more. */
void gc_patch_unblock(struct buf *out, const struct json *meta);
void gc_patch_unblock_merge(struct buf *out, const struct json *meta);
/* Takes one finalizer away. False, and no patch, when it is not there. */
bool gc_patch_finalize(struct buf *out, const struct json *meta, const char *finalizer);

#endif
