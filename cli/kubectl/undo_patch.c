/* A revision's data replaces by "$patch": "replace", which only strategic merge patches know.
 * RFC 7396 merges, so what is there and not wanted must be set to null by name. */
#include "cli/kubectl/undo_patch.h"

#include "api/model/members.h"

#define DIRECTIVE "$patch"

/* Members that are there and must not be become null; the rest is as wanted. Both are objects. */
static struct json *replacing(const struct json *wanted, const struct json *present, struct arena *a)
{
	struct json *patch = json_object(a);
	for (uint32_t i = 0; i < wanted->n; i++) {
		const struct json *value = wanted->members[i].value, *now = json_get(present, wanted->members[i].name);
		bool is_deeper = json_is(value, JSON_OBJECT) && json_is(now, JSON_OBJECT);
		if (!str_is(wanted->members[i].name, DIRECTIVE)) {
			json_set(a, patch, wanted->members[i].name,
				is_deeper ? replacing(value, now, a) : wanted->members[i].value);
		}
	}
	for (uint32_t i = 0; i < present->n; i++) {
		if (!json_get(wanted, present->members[i].name)) {
			json_set(a, patch, present->members[i].name, json_null(a));
		}
	}
	return patch;
}

static struct json *merging(const struct json *wanted, const struct json *present, struct arena *a)
{
	if (str_is(member_text(wanted, DIRECTIVE), "replace")) {
		const struct json *now = json_is(present, JSON_OBJECT) ? present : json_object(a);
		return replacing(wanted, now, a);
	}
	struct json *patch = json_object(a);
	for (uint32_t i = 0; i < wanted->n; i++) {
		struct json *value = wanted->members[i].value;
		bool is_deeper = json_is(value, JSON_OBJECT);
		json_set(a, patch, wanted->members[i].name,
			is_deeper ? merging(value, json_get(present, wanted->members[i].name), a) : value);
	}
	return patch;
}

struct json *undo_patch(const struct json *data, const struct json *object, struct arena *a)
{
	return merging(data, object, a);
}
