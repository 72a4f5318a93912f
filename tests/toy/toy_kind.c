/* A kind that only tests know: what a file in api/kinds looks like, and proof that nothing else has to be touched. */
#include "api/model/kind.h"

static const struct field spec_fields[] = {
	{"size", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY, "How big it is, in millimetres.", NULL, "10"},
	{"colour", &type_string, 0, "What colour it has.", NULL, NULL},
	{0},
};

static const struct type spec_type = {
	.kind = TYPE_OBJECT,
	.definition = "com.example.toys.v1.ToySpec",
	.go_type = "v1.ToySpec",
	.doc = "What the toy should be.",
	.fields = spec_fields,
};

static const struct field status_fields[] = {
	{"observedGeneration", &type_int64, 0, "The generation that this status is about.", NULL, NULL},
	{"ready", &type_bool, 0, "Whether one can play with it.", NULL, NULL},
	{0},
};

static const struct type status_type = {
	.kind = TYPE_OBJECT,
	.definition = "com.example.toys.v1.ToyStatus",
	.go_type = "v1.ToyStatus",
	.doc = "What the toy is.",
	.fields = status_fields,
};

static const struct field toy_fields[] = {
	OBJECT_FIELDS,
	{"spec", &spec_type, FIELD_ALWAYS, "What the toy should be.", NULL, NULL},
	{"status", &status_type, 0, "What the toy is.", NULL, NULL},
	{0},
};

static const struct type toy_type = {
	.kind = TYPE_OBJECT,
	.definition = "com.example.toys.v1.Toy",
	.go_type = "v1.Toy",
	.doc = "Something to play with.",
	.fields = toy_fields,
};

static struct json *spec_size(const struct object *o)
{
	return json_gets(object_spec(o), "size");
}

static void prepare_create(struct object *o, struct arena *a)
{
	(void)a;
	json_remove(o->fields, STR("status"));
}

static void keep_status(struct object *o, const struct object *old, struct arena *a)
{
	struct json *status = object_status(old);
	json_remove(o->fields, STR("status"));
	if (status) {
		object_set_status(o, status, a);
	}
}

static bool changes_spec(const struct object *o, const struct object *old)
{
	return !json_equal(object_spec(o), object_spec(old));
}

static void validate(const struct object *o, struct field_errors *errors)
{
	int64_t size = 0;
	if (json_to_int64(spec_size(o), &size) && size < 1) {
		field_invalid(errors, STR("spec.size"), spec_size(o), "must be greater than 0");
	}
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	(void)old;
	validate(o, errors);
}

static void merge_status(struct object *stored, const struct object *sent, struct arena *a)
{
	stored->meta = sent->meta;
	keep_status(stored, sent, a);
}

static void write_size(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode(out, spec_size(o));
}

static struct str select_size(const struct object *o, struct arena *a)
{
	(void)a;
	return json_text(spec_size(o));
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Size", "integer", "int32", "How big the toy should be.", 0, write_size, false},
	COLUMN_AGE,
};

static const struct selectable_field selectable[] = {{"spec.size", select_size, false}};

static const struct subresource subresources[] = {
	{.name = "status",
		.verbs = VERB_GET | VERB_UPDATE | VERB_PATCH,
		.merge = merge_status,
		.reset_fields = (const char *const[]){"spec", NULL}},
};

static const struct version versions[] = {
	{.group = "toys.example.com", .name = "v1", .definition = "com.example.toys.v1.Toy"},
};

static struct kind toys = {
	.kind = "Toy",
	.list_kind = "ToyList",
	.resource = "toys",
	.singular = "toy",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.type = &toy_type,
	.doc = "Something to play with.",
	.reset_fields = (const char *const[]){"status", NULL},
	.prepare_create = prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = changes_spec,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(toys)
