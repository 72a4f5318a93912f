/* metadata.managedFields: who owns which field (sigs.k8s.io/structured-merge-diff, k8s.io/apimachinery/pkg/util/managedfields).
 * Field sets are tries over path elements (f:name, k:{...}, v:value, i:index) built from an object and its schema. */
#ifndef API_PATCH_MANAGED_H
#define API_PATCH_MANAGED_H

#include "api/model/kind.h"

/* A create or update (not apply) by `manager` through `version`: computes the new managedFields of `o` from what `old` had (NULL: create).
 * A write that changes nothing keeps entries and their times. now: RFC 3339. Invalid managedFields sent by the
 * client are replaced by the old ones; `[{}]`-style clearing empties them. */
void managed_update(struct object *o, const struct object *old, const struct version *version, struct str subresource,
	struct str manager, struct str now, struct arena *a);

/* An apply: its manager, its version, its time. */
struct managed_apply {
	const struct kind *kind;
	const struct version *version;
	struct str subresource; /* empty: none */
	struct str manager, now;
	bool force; /* takes fields from other managers instead of a conflict */
};

/* Server-side apply: merges `applied` (a client's partial object) into `live` (NULL: create). 0 with the merged object; or 1 with
 * conflicts or other errors in st (409 with causes, 400 ...). */
int managed_apply(struct object **ret, const struct object *live, const struct json *applied, const struct managed_apply *by,
	struct arena *a, struct status *st);

/* The default manager: User-Agent up to the first '/', without what cannot be printed, cut to 128 bytes. */
struct str managed_default_manager(struct str user_agent, struct arena *a);

/* Ownership of the field that a view shows (struct view): converts managedFields of the object to
 * those of the view, and back. ScaleHandler of k8s.io/apimachinery/pkg/util/managedfields does the
 * same for autoscaling/v1 Scale. */
/* The entries that have the field, in the view's version. NULL: none. */
struct json *managed_of_view(const struct view *v, const struct object *o, struct arena *a);
/* The entries of `o`, in that version. The field now belongs to the managers that have it
 * in `of_view`. */
struct json *managed_from_view(const struct view *v, const struct object *o, const struct json *of_view,
	const struct version *version, struct arena *a);

#endif
