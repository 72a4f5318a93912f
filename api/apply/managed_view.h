/* Who owns the field that a view shows (struct view): managedFields of the object as those of the view, and back. As
 * k8s.io/apimachinery/pkg/util/managedfields ScaleHandler does it for autoscaling/v1 Scale. */
#ifndef API_APPLY_MANAGED_VIEW_H
#define API_APPLY_MANAGED_VIEW_H

#include "api/model/kind.h"

/* Entries that have the field, saying so in the view's version. NULL: none. */
struct json *managed_of_view(const struct view *v, const struct object *o, struct arena *a);
/* The entries of `o`, whose field belongs now to those who have it in `of_view`, in the version of `door`. */
struct json *managed_from_view(
	const struct view *v, const struct object *o, const struct json *of_view, const struct door *door, struct arena *a);

#endif
