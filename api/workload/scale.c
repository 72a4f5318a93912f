/* Autoscalers and `kubectl scale` know this form alone, whatever they scale: k8s.io/api/autoscaling/v1. */
#include "api/workload/scale.h"
#include "api/upstream/upstream.h"

#include "api/model/members.h"
#include "api/rules/selector.h"
#include "api/rules/where.h"

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

static struct json *labels_text(const struct json *labels, struct arena *a)
{
	struct json *selector = json_object(a);
	json_add(a, selector, STR("matchLabels"), labels ? json_copy(a, labels) : json_object(a));
	return selector_text(selector, a);
}

static struct json *show_with(const struct object *o, struct json *selector, struct arena *a)
{
	const struct json *spec = object_spec(o), *status = object_status(o);
	struct json *fields = json_object(a), *counts = count_of(status, &type_autoscaling_scale_status, a);
	counts = schema_with(&type_autoscaling_scale_status, counts, "selector", selector, a);
	json_add(a, fields, STR("spec"), count_of(spec, &type_autoscaling_scale_spec, a));
	json_add(a, fields, STR("status"), counts);
	return fields;
}

static const struct json *selector_of(const struct object *o)
{
	return json_gets(object_spec(o), "selector");
}

static struct json *scale_show(const struct view *v _unused_, const struct object *o, struct arena *a)
{
	return show_with(o, selector_text(selector_of(o), a), a);
}

static struct json *show_labels(const struct view *v _unused_, const struct object *o, struct arena *a)
{
	return show_with(o, labels_text(selector_of(o), a), a);
}

static void scale_take(const struct view *v _unused_, struct object *o, const struct object *sent, struct arena *a)
{
	struct json *spec = json_copy(a, object_spec(o));
	json_set(a, spec, STR("replicas"), json_int(a, member_int(object_spec(sent), "replicas")));
	object_set_spec(o, spec, a);
}

static void validate(const struct object *o, struct field_errors *errors)
{
	check_not_negative(errors, WHERE(WHERE(NULL, "spec"), "replicas"), json_gets(object_spec(o), "replicas"));
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

static const struct version versions[] = {
	{.group = "autoscaling", .name = "v1", .definition = "io.k8s.api.autoscaling.v1.Scale"},
};

static const struct kind scale = {
	.kind = "Scale",
	.list_kind = "ScaleList",
	.resource = "scales",
	.singular = "scale",
	.is_namespaced = true,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.type = &type_autoscaling_scale,
	.doc = "How many there shall be of something, and how many there are.",
	.retired_versions = (const char *const[]){"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", NULL},
	.validate = validate,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};

const struct view scale_view = {
	.kind = &scale,
	.path = (const char *const[]){"spec", "replicas", NULL},
	.show = scale_show,
	.take = scale_take,
};

const struct view scale_labels_view = {
	.kind = &scale,
	.path = (const char *const[]){"spec", "replicas", NULL},
	.show = show_labels,
	.take = scale_take,
};
