/* Names of types as kubectl takes them: plural, singular, short name or kind, with group and
 * version behind dots. k8s.io/apimachinery's schema.ParseResourceArg and the RESTMapper behave
 * so. */
#include "cli/kubectl/kubectl.h"

static bool is_named(const struct api_resource *r, struct str name)
{
	struct str rest = r->short_names, each;
	if (str_eq_nocase(name, r->resource.plural) || str_eq_nocase(name, r->singular) || str_eq_nocase(name, r->kind)) {
		return true;
	}
	while (rest.n > 0) {
		str_cut(rest, ',', &each, &rest);
		if (str_eq(each, name)) {
			return true;
		}
	}
	return false;
}

/* statefulsets, sts, StatefulSet, statefulsets.apps, statefulsets.v1.apps */
static bool is_meant(const struct api_resource *r, struct str type)
{
	struct str name, group, version, rest;
	str_cut(type, '.', &name, &group);
	if (!is_named(r, name)) {
		return false;
	}
	if (group.n == 0) {
		return r->is_preferred;
	}
	if (str_eq(group, r->resource.group)) {
		return r->is_preferred;
	}
	return str_cut(group, '.', &version, &rest) && str_eq(version, r->resource.version) && str_eq(rest, r->resource.group);
}

/* Of several groups the first that the server names, as kubectl chooses. */
static const struct api_resource *find_type(const struct kubectl *k, struct str type)
{
	for (size_t i = 0; i < k->discovery.n; i++) {
		const struct api_resource *r = &k->discovery.resources[i];
		if ((r->verbs & API_GET) && is_meant(r, type)) {
			return r;
		}
	}
	return NULL;
}

int kubectl_find(struct kubectl *k, struct str type_and_name, enum kubectl_words words)
{
	struct str type, name;
	bool has_name = str_cut(type_and_name, '/', &type, &name);
	bool is_right = has_name ? name.n > 0 && !str_contains(name, STR("/")) : words == WORDS_OBJECT_OR_NONE;
	if (!is_right || type.n == 0) {
		return kubectl_fail(k, "\"" STR_FMT "\" is not TYPE/NAME", STR_ARG(type_and_name));
	}
	k->type = find_type(k, type);
	if (!k->type) {
		const char *hint = k->discovery.n_failures ? " (not all groups of APIs could be asked)" : "";
		return kubectl_fail(k, "the server doesn't have a resource type \"" STR_FMT "\"%s", STR_ARG(type), hint);
	}
	k->target = (struct target){&k->type->resource, str_of(k->type->is_namespaced ? k->ns : ""), name, NULL};
	return 0;
}

int kubectl_get(struct kubectl *k)
{
	int r = rest_get(k->client, &k->target, &k->answer);
	if (r) {
		return kubectl_refused(k, r, &k->answer);
	}
	k->object = k->answer.body;
	return 0;
}

struct str kubectl_type_name(struct kubectl *k, const struct api_resource *type)
{
	struct str name = type->singular.n ? type->singular : type->resource.plural;
	struct str group = type->resource.group;
	return arena_printf(&k->arena, STR_FMT "%s" STR_FMT, STR_ARG(name), group.n ? "." : "", STR_ARG(group));
}

struct str kubectl_name(struct kubectl *k)
{
	return arena_printf(&k->arena, STR_FMT "/" STR_FMT, STR_ARG(kubectl_type_name(k, k->type)), STR_ARG(k->target.name));
}
