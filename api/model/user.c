/* Keys of extra may repeat as rows, in the order in which headers brought them. In JSON they are
 * gathered, as upstream's UserInfo has them. */
#include "api/model/user.h"

static struct json *groups_json(const struct user *u, struct arena *a)
{
	struct json *groups = json_array(a);
	for (size_t i = 0; i < u->n_groups; i++) {
		json_append(a, groups, json_string(a, u->groups[i]));
	}
	return groups;
}

struct json *user_extra_json(const struct user *u, struct arena *a)
{
	struct json *extra = json_object(a);
	for (size_t i = 0; i < u->n_extra; i++) {
		struct json *values = json_get(extra, u->extra[i].key);
		if (!values) {
			values = json_array(a);
			json_add(a, extra, u->extra[i].key, values);
		}
		json_append(a, values, json_string(a, u->extra[i].value));
	}
	return extra;
}

struct json *user_info_json(const struct user *u, struct arena *a)
{
	struct json *info = json_object(a);
	json_add_text(a, info, STR("username"), u->name);
	json_add_text(a, info, STR("uid"), u->uid);
	if (u->n_groups) {
		json_add(a, info, STR("groups"), groups_json(u, a));
	}
	if (u->n_extra) {
		json_add(a, info, STR("extra"), user_extra_json(u, a));
	}
	return info;
}
