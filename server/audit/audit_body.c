/* Trees of requests and answers are shared with those who still use them. So what is shown without
 * some members is copied, but only along the path to what changes (base/json.h). */
#include "server/audit/audit_body.h"

#include "base/yaml.h"

static struct json *strip_object(struct arena *a, struct json *object)
{
	struct json *meta = json_gets(object, "metadata");

	if (!json_is(meta, JSON_OBJECT) || !json_gets(meta, "managedFields")) {
		return object;
	}
	object = json_copy(a, object);
	meta = json_copy(a, meta);
	json_remove(meta, STR("managedFields"));
	json_set(a, object, STR("metadata"), meta);
	return object;
}

static struct json *strip_row(struct arena *a, struct json *row)
{
	struct json *object = json_gets(row, "object"), *plain = strip_object(a, object);

	if (plain != object) {
		row = json_copy(a, row);
		json_set(a, row, STR("object"), plain);
	}
	return row;
}

/* Each element of a list that is a member of j. */
static struct json *strip_list(
	struct arena *a, struct json *j, const char *name, struct json *(*strip)(struct arena *a, struct json *element))
{
	struct json *list = json_gets(j, name);

	if (!json_is(list, JSON_ARRAY)) {
		return j;
	}
	list = json_copy(a, list);
	for (uint32_t i = 0; i < list->n; i++) {
		list->items[i] = strip(a, list->items[i]);
	}
	j = json_copy(a, j);
	json_set(a, j, str_of(name), list);
	return j;
}

struct json *audit_without_managed_fields(struct arena *a, struct json *j)
{
	j = strip_object(a, j);
	j = strip_list(a, j, "items", strip_object);
	return strip_list(a, j, "rows", strip_row);
}

void audit_patch_body(struct buf *out, struct str body, bool is_yaml, struct arena *a)
{
	struct json *j;
	struct str error;
	size_t at;

	if (json_parse(&j, a, body, JSON_LIMITS_DEFAULT, &at) == 0) {
		json_compact(out, body);
	} else if (!is_yaml || yaml_to_json(out, body, YAML_LIMITS_DEFAULT, a, &error, NULL)) {
		buf_clear(out);
		json_encode_string(out, body);
	}
}

struct json *audit_delete_options(struct arena *a, const struct json *body)
{
	static const char *const members[] = {"gracePeriodSeconds", "preconditions", "orphanDependents", "propagationPolicy",
		"dryRun", "ignoreStoreReadErrorWithClusterBreakingPotential"};
	struct json *j = json_object(a);

	json_add(a, j, STR("kind"), json_string(a, STR("DeleteOptions")));
	json_add(a, j, STR("apiVersion"), json_string(a, STR("meta.k8s.io/__internal")));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		struct json *value = json_gets(body, members[i]);
		if (value && !json_is(value, JSON_NULL)) {
			json_add(a, j, str_of(members[i]), value);
		}
	}
	return j;
}
