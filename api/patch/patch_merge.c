/* RFC 7396 as evanphx/json-patch v4 does it. Where the RFC leaves no room the two agree; the library also keeps nulls inside
 * a list that replaces an object, and drops them from objects in lists elsewhere. */
#include "api/patch/patch.h"

#include "api/model/patch_tree.h"

static struct json *merge_objects(const struct json *current, const struct json *patch, struct arena *a);

static struct json *merge(const struct json *current, struct json *patch, struct arena *a)
{
	if (!json_is(current, JSON_OBJECT)) {
		return open_deep(a, patch, true);
	}
	if (!json_is(patch, JSON_OBJECT)) {
		return patch;
	}
	return merge_objects(current, patch, a);
}

static void merge_member(struct json *result, struct str name, struct json *patch, struct arena *a)
{
	if (json_is(patch, JSON_NULL)) {
		open_remove(result, name);
	} else {
		open_set(a, result, name, merge(open_get(result, name), patch, a));
	}
}

/* Of members with the same name only the last counts; null first and a value later must not remove. */
static struct json *merge_objects(const struct json *current, const struct json *patch, struct arena *a)
{
	struct json *result = open_copy(a, current);
	const struct json *members = open_copy(a, patch);
	for (uint32_t i = 0; i < members->n; i++) {
		merge_member(result, members->members[i].name, members->members[i].value, a);
	}
	return result;
}

int patch_merge(struct json **ret, const struct json *doc, const struct json *patch, struct arena *a, struct status *st)
{
	if (!json_is(patch, JSON_OBJECT)) {
		status_bad_request(st, "Invalid JSON Patch");
		return 1;
	}
	*ret = merge_objects(doc, patch, a);
	return 0;
}
