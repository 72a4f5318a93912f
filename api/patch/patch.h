/* Patches as pure functions over trees. None changes its input; all share what did not change, so untouched `data` keeps its
 * text. On failure they answer 1 and fill st the way kube-apiserver does.
 *
 * patch_parse.c checks a body once, for all attempts. patch_json.c, this file's merge and
 * patch_strategic.c apply it. Server-side apply is managed_apply.c, over three layers: typed.c
 * merges and compares trees by their schema, fieldset.c has sets of paths (fieldsV1), and managed.c
 * keeps metadata.managedFields for all writes. unstructured.c repeats what Go's conversion of maps
 * forgives or refuses. The server calls this from server/verbs, and tests call it with texts alone.
 *
 * A patch rebuilds all that it opens: objects on the way to a change get their members sorted by name and
 * without duplicates, as Go's encoder would write them. Values are never re-spelled: numbers stay their lexeme. */
#ifndef API_PATCH_PATCH_H
#define API_PATCH_PATCH_H

#include "api/model/schema.h"
#include "api/model/status.h"

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY };

enum {
	PATCH_MAX_OPERATIONS = 10000,           /* of a JSON patch; more: 413 */
	PATCH_MAX_COPY_BYTES = 3 * 1024 * 1024, /* what its "copy" operations may add, all together; more: 422 */
	PATCH_MAX_DEPTH = 512,                  /* containers within containers in a patched object; more: 422 */
};

/* "application/json-patch+json" ... by media type without parameters, exact case. False: 415. */
bool patch_type_of(struct str content_type, enum patch_type *ret);

/* The body of a JSON, merge or strategic merge patch, once for all attempts at applying it: checks its shape (400) and size
 * (413), and reports unknown and duplicate members in report, which may be NULL. text must outlive the
 * patch. kube-apiserver looks at the body only when the object is there: 404 comes first. */
int patch_parse(struct json **ret, enum patch_type type, struct str text, struct json_limits limits, struct arena *a,
	struct decode_report *report, struct status *st);

/* Calls one of the three functions below, by type. `schema` describes the whole object; only
 * strategic merge uses it. */
int patch_apply(struct json **ret, enum patch_type type, const struct json *doc, const struct json *patch,
	const struct type *schema, struct arena *a, struct status *st);

/* RFC 6902 with the quirks of evanphx/json-patch v4 as kube configures it; `test` compares by value. */
int patch_json(struct json **ret, const struct json *doc, const struct json *patch, struct arena *a, struct status *st);
/* RFC 7396. */
int patch_merge(struct json **ret, const struct json *doc, const struct json *patch, struct arena *a, struct status *st);
/* k8s.io/apimachinery/pkg/util/strategicpatch, by schema. */
int patch_strategic(struct json **ret, const struct json *doc, const struct json *patch, const struct type *schema,
	struct arena *a, struct status *st);

/* For the files of this room. kube-apiserver does not say what was wrong with a patch that cannot be applied. */
void patch_refuse(struct status *st);
/* Two bytes of a patch can stand for a copy of a big object. */
void patch_refuse_memory(struct status *st);

#endif
