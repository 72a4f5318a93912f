/* Patches as pure functions over trees. None changes its input; all share what did not change, so untouched `data` keeps its text.
 * On failure they fill st the way kube-apiserver answers (surprises.md 40-44). */
#ifndef API_PATCH_H
#define API_PATCH_H

#include "api/schema.h"

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY };

/* "application/json-patch+json" ... by media type without parameters, exact case. False: 415. */
bool patch_type_of(struct str content_type, enum patch_type *ret);

/* RFC 6902 with the quirks of evanphx/json-patch v4 as kube configures it; at most 10,000 operations. warnings: texts for the Warning header
 * (unknown and duplicate members of operations). */
int patch_json(struct json **ret, const struct json *doc, const struct json *patch, struct arena *a, struct str **ret_warnings,
	       size_t *ret_n_warnings, struct status *st);
/* RFC 7396. */
int patch_merge(struct json **ret, const struct json *doc, const struct json *patch, struct arena *a, struct status *st);
/* k8s.io/apimachinery/pkg/util/strategicpatch, by schema. */
int patch_strategic(struct json **ret, const struct json *doc, const struct json *patch, const struct type *type, struct arena *a,
		    struct status *st);

#endif
