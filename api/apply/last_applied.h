/* What kubectl's client-side apply left behind in an annotation, so that its server-side apply can take over without conflicts
 * (k8s.io/apimachinery/pkg/util/managedfields, lastapplied*.go). Private to managed_apply.c. */
#ifndef API_APPLY_LAST_APPLIED_H
#define API_APPLY_LAST_APPLIED_H

#include "api/apply/typed.h"
#include "api/model/kind.h"

/* The only manager this is done for. */
#define LAST_APPLIED_MANAGER "kubectl"

/* The fields that were applied by client and still have the applied value; NULL: none. live: a whole object at a door of this type. */
struct field_set *last_applied_fields(
	const struct type *type, const struct json *live, struct str api_version, struct arena *a);

/* Where the object carries the annotation, makes it say what has been applied now; drops it where annotations get too big. */
void last_applied_renew(struct meta *m, const struct json *applied, struct arena *a);

#endif
