/* The patches that the garbage collector sends. Each names the uid or version it was made for,
 * so that it changes that object or none. Strategic patches need no look at the object; kinds
 * without a schema take only merge patches. */
#ifndef CONTROLLERS_KIT_PATCH_H
#define CONTROLLERS_KIT_PATCH_H

#include "base/json.h"

/* Removes the references to these uids. meta: the present object's metadata. */
void meta_patch_unrefer(struct buf *out, struct str object_uid, const struct str *uids, size_t n);
void meta_patch_unrefer_merge(
	struct buf *out, struct str object_uid, const struct json *meta, const struct str *uids, size_t n);
/* Sets blockOwnerDeletion to false in all references. */
void meta_patch_unblock(struct buf *out, const struct json *meta);
void meta_patch_unblock_merge(struct buf *out, const struct json *meta);
/* Removes one finalizer. Returns false, without a patch, if the object does not have it. */
bool meta_patch_finalize(struct buf *out, const struct json *meta, const char *finalizer);

#endif
