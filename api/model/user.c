/* Users as JSON, and copies of what a server trusts.
 *
 * Keys of extra may repeat as rows, in the order in which headers brought them. In JSON they are
 * gathered, as upstream's UserInfo has them. */
#include "api/model/user.h"
#include "api/model/delegates.h"

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

/* A copy is in one arena: a follower of the cluster's configuration can then swap all of it at once. */
static const struct str *copy_all(const struct str *from, size_t n, struct arena *a)
{
	struct str *all = arena_array(a, struct str, n);
	for (size_t i = 0; i < n; i++) {
		all[i] = arena_dup(a, from[i]);
	}
	return all;
}

void trust_copy(struct trust *ret, const struct trust *from, struct arena *a)
{
	*ret = *from;
	ret->client_ca = arena_dup(a, from->client_ca);
	ret->front_ca = arena_dup(a, from->front_ca);
	ret->front_names = copy_all(from->front_names, from->n_front_names, a);
	ret->user_headers = copy_all(from->user_headers, from->n_user_headers, a);
	ret->uid_headers = copy_all(from->uid_headers, from->n_uid_headers, a);
	ret->group_headers = copy_all(from->group_headers, from->n_group_headers, a);
	ret->extra_prefixes = copy_all(from->extra_prefixes, from->n_extra_prefixes, a);
}
