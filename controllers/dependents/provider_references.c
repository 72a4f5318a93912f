/* One row for each kind that may be named. Both controllers, their informers and the index read
 * this table, so they cannot disagree on what a reference means. */
#include "controllers/dependents/provider_references.h"

#include "api/model/members.h"

#define ANNALS_V1(plural) {{"annals.dev", 10}, {"v1", 2}, {plural, sizeof(plural) - 1}}

const struct provider_kind provider_kinds[] = {
	{"Provider", ANNALS_V1("providers"), "spec.providers.", (const char *const[]){"spec", "data", NULL}, false},
	{"ControllerRevision", ANNALS_V1("controllerrevisions"), "spec.controllerRevisions.",
		(const char *const[]){"data", NULL}, true},
	{0},
};

const struct resource dependents_resource = ANNALS_V1("dependents");

static const struct provider_kind *by_kind(struct str kind)
{
	const struct provider_kind *k = provider_kinds;
	while (k->kind && !str_is(kind, k->kind)) {
		k++;
	}
	return k->kind ? k : NULL;
}

static const struct provider_kind *by_plural(struct str plural)
{
	const struct provider_kind *k = provider_kinds;
	while (k->kind && !str_eq(plural, k->resource.plural)) {
		k++;
	}
	return k->kind ? k : NULL;
}

size_t provider_of(const struct json *dependent, struct provided ret[REFERENCES_MAX])
{
	const struct json *list = json_gets(json_gets(dependent, "spec"), "providers"), *r;
	size_t n = 0;
	for (uint32_t i = 0; n < REFERENCES_MAX && (r = list_item(list, i)); i++) {
		const struct provider_kind *kind = by_kind(member_text(r, "kind"));
		if (kind) {
			ret[n++] = (struct provided){kind, member_text(r, "name")};
		}
	}
	return n;
}

const struct json *provider_data(const struct provider_kind *kind, const struct json *object)
{
	for (const char *const *name = kind->data; *name; name++) {
		object = json_gets(object, *name);
	}
	return object;
}

struct str provider_key(struct buf *out, const struct provider_kind *kind, struct str namespace, struct str name)
{
	buf_clear(out);
	buf_printf(out, STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(kind->resource.plural), STR_ARG(namespace), STR_ARG(name));
	return buf_str(out);
}

bool provider_parse_key(struct str key, const struct provider_kind **ret_kind, struct str *ret_namespace, struct str *ret_name)
{
	struct str plural, rest;
	*ret_kind = str_cut(key, '/', &plural, &rest) ? by_plural(plural) : NULL;
	return *ret_kind && str_cut(rest, '/', ret_namespace, ret_name);
}
