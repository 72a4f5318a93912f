/* Autoscalers and `kubectl scale` know this form alone, whatever they scale: k8s.io/api/autoscaling/v1. */
#include "api/workload/scale.h"

#include "api/model/members.h"
#include "api/rules/where.h"
#include "api/select/selector.h"

#define SCALE_OBJECT(name, text) \
	.kind = TYPE_OBJECT, .definition = "io.k8s.api.autoscaling.v1." name, .go_type = "v1." name, .doc = text

static const struct type type_scale_spec = {
	SCALE_OBJECT("ScaleSpec", "How many there shall be."),
	.fields =
		(const struct field[]){
			{"replicas", &type_int32, FIELD_NUMBER(1), "How many there shall be.", NULL, NULL},
			{0},
		},
};

static const struct type type_scale_status = {
	SCALE_OBJECT("ScaleStatus", "How many there are."),
	.fields =
		(const struct field[]){
			{"replicas", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "How many there are.", NULL,
				NULL},
			{"selector", &type_string, FIELD_NUMBER(2), "The label selector that finds them, as text.", NULL, NULL},
			{0},
		},
};

static const struct type type_scale = {
	SCALE_OBJECT("Scale", "How many there shall be of something, and how many there are."),
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_scale_spec, FIELD_ALWAYS | FIELD_NUMBER(2), "How many there shall be.", NULL, NULL},
			{"status", &type_scale_status, FIELD_ALWAYS | FIELD_NUMBER(3), "How many there are.", NULL, NULL},
			{0},
		},
};

/* Counts are left out when they are 0 where upstream leaves them out. */
static struct json *count_of(const struct json *part, const struct type *type, struct arena *a)
{
	int64_t n = member_int(part, "replicas");
	struct json *shown = schema_zero(type, a);
	bool is_shown = n != 0 || (type_field(type, STR("replicas"))->flags & FIELD_ALWAYS);
	return is_shown ? schema_with(type, shown, "replicas", json_int(a, n), a) : shown;
}

/* No selector selects nothing, and has no text. */
static struct json *selector_text(const struct json *selector, struct arena *a)
{
	struct label_selector s;
	struct str problem;
	bool is_readable = json_is(selector, JSON_OBJECT) && !label_selector_read(&s, selector, a, &problem);
	struct str text = is_readable ? label_selector_string(&s, a) : STR("");
	return text.n ? json_string(a, text) : NULL;
}

static struct json *show(const struct object *o, struct arena *a)
{
	const struct json *spec = json_gets(o->fields, "spec"), *status = json_gets(o->fields, "status");
	struct json *fields = json_object(a), *counts = count_of(status, &type_scale_status, a);
	counts = schema_with(&type_scale_status, counts, "selector", selector_text(json_gets(spec, "selector"), a), a);
	json_add(a, fields, STR("spec"), count_of(spec, &type_scale_spec, a));
	json_add(a, fields, STR("status"), counts);
	return fields;
}

static void take(struct object *o, const struct object *sent, struct arena *a)
{
	struct json *spec = json_copy(a, json_gets(o->fields, "spec"));
	json_set(a, spec, STR("replicas"), json_int(a, member_int(json_gets(sent->fields, "spec"), "replicas")));
	json_set(a, o->fields, STR("spec"), spec);
}

static void validate(const struct object *o, struct field_errors *errors)
{
	check_not_negative(errors, WHERE(WHERE(NULL, "spec"), "replicas"), json_gets(json_gets(o->fields, "spec"), "replicas"));
}

static void write_count(const struct object *o, const char *part, struct buf *out)
{
	buf_printf(out, "%lld", (long long)member_int(json_gets(o->fields, part), "replicas"));
}

static void write_desired(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_count(o, "spec", out);
}

static void write_available(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_count(o, "status", out);
}

static const struct column columns[] = {
	{"Name", "string", "", COLUMN_NAME_TEXT, 0, column_write_name, false},
	{"Desired", "integer", "", "How many there shall be.", 0, write_desired, false},
	{"Available", "integer", "", "How many there are.", 0, write_available, false},
	COLUMN_AGE,
};

static const struct door doors[] = {
	{.group = "autoscaling", .version = "v1", .definition = "io.k8s.api.autoscaling.v1.Scale"},
};

static const struct kind scale = {
	.kind = "Scale",
	.list_kind = "ScaleList",
	.resource = "scales",
	.singular = "scale",
	.is_namespaced = true,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &type_scale,
	.doc = "How many there shall be of something, and how many there are.",
	.retired_versions = (const char *const[]){"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", NULL},
	.validate = validate,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};

const struct view scale_view = {
	.kind = &scale,
	.path = (const char *const[]){"spec", "replicas", NULL},
	.show = show,
	.take = take,
};
