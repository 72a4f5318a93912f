/* Crates have a form that grew: v1 names any number of things, v1beta1 one. With CRATE_BEFORE_V1 this is the declaration of a build from before v1, which knows
 * no other form than v1beta1. */
#include "api/model/kind.h"
#include "api/model/members.h"

/* ---- v1beta1 ---- */

static const struct field beta_spec_fields[] = {
	{"thing", &type_string, FIELD_ALWAYS, "What is in it.", NULL, NULL},
	{0},
};

static const struct type beta_spec_type = {
	.kind = TYPE_OBJECT,
	.definition = "com.example.toys.v1beta1.CrateSpec",
	.go_type = "v1beta1.CrateSpec",
	.doc = "What is in a crate.",
	.fields = beta_spec_fields,
};

static const struct field beta_fields[] = {
	OBJECT_FIELDS,
	{"spec", &beta_spec_type, FIELD_ALWAYS, "What is in it.", NULL, NULL},
	{0},
};

static const struct type beta_type = {
	.kind = TYPE_OBJECT,
	.definition = "com.example.toys.v1beta1.Crate",
	.go_type = "v1beta1.Crate",
	.doc = "Something to move toys in.",
	.fields = beta_fields,
};

#ifdef CRATE_BEFORE_V1
static const struct version versions[] = {
	{.group = "toys.example.com", .name = "v1beta1", .definition = "com.example.toys.v1beta1.Crate"},
};
#else
/* ---- v1 ---- */

static const struct type type_things = {.kind = TYPE_LIST, .elem = &type_string, .list_type = LIST_ATOMIC};

static const struct field spec_fields[] = {
	{"things", &type_things, FIELD_ALWAYS, "What is in it.", NULL, NULL},
	{0},
};

static const struct type spec_type = {
	.kind = TYPE_OBJECT,
	.definition = "com.example.toys.v1.CrateSpec",
	.go_type = "v1.CrateSpec",
	.doc = "What is in a crate.",
	.fields = spec_fields,
};

static const struct field crate_fields[] = {
	OBJECT_FIELDS,
	{"spec", &spec_type, FIELD_ALWAYS, "What is in it.", NULL, NULL},
	{0},
};

static const struct type crate_type = {
	.kind = TYPE_OBJECT,
	.definition = "com.example.toys.v1.Crate",
	.go_type = "v1.Crate",
	.doc = "Something to move toys in.",
	.fields = crate_fields,
};

static struct str first_thing(const struct json *hub)
{
	const struct json *first = list_item(json_gets(json_gets(hub, "spec"), "things"), 0);

	return first ? json_text(first) : STR("");
}

static struct json *with_spec(const struct json *object, const char *name, struct json *value, struct arena *a)
{
	struct json *changed = json_copy(a, object), *spec = json_object(a);

	json_add(a, spec, str_of(name), value);
	json_set(a, changed, STR("spec"), spec);
	return changed;
}

static struct json *beta_from_hub(const struct json *hub, struct arena *a)
{
	return with_spec(hub, "thing", json_string(a, first_thing(hub)), a);
}

/* Whoever leaves the first thing as it was shown leaves them all. */
static struct json *beta_to_hub(const struct json *sent, const struct json *stored, struct arena *a)
{
	struct str thing = member_text(json_gets(sent, "spec"), "thing");
	struct json *things = json_array(a), *present = json_gets(json_gets(stored, "spec"), "things");

	if (present && str_eq(thing, first_thing(stored))) {
		return with_spec(sent, "things", present, a);
	}
	json_append(a, things, json_string(a, thing));
	return with_spec(sent, "things", things, a);
}

static const struct version versions[] = {
	{.group = "toys.example.com", .name = "v1", .definition = "com.example.toys.v1.Crate"},
	{.group = "toys.example.com",
		.name = "v1beta1",
		.definition = "com.example.toys.v1beta1.Crate",
		.type = &beta_type,
		.from_hub = beta_from_hub,
		.to_hub = beta_to_hub},
};
#endif

static const struct column columns[] = {COLUMN_NAME, COLUMN_AGE};

static struct kind crates = {
	.kind = "Crate",
	.list_kind = "CrateList",
	.resource = "crates",
	.singular = "crate",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.unconditional_update = true,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
#ifdef CRATE_BEFORE_V1
	.type = &beta_type,
#else
	.type = &crate_type,
#endif
	.doc = "Something to move toys in.",
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};
KIND_REGISTER(crates)
