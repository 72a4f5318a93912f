/* Events of both groups have one stored form: core's v1 is the hub, events.k8s.io/v1 is converted.
 * As upstream, the strict rules hold only for events written in the newer form; old clients go on
 * writing old events. */
#include "api/rules/event_form.h"
#include "api/upstream/upstream.h"

#include "api/model/schema.h"
#include "api/rules/validate.h"

#include <assert.h>

const struct field_alias event_form_fields[] = {
	{"reason", "reason"},
	{"regarding.kind", "involvedObject.kind"},
	{"regarding.namespace", "involvedObject.namespace"},
	{"regarding.name", "involvedObject.name"},
	{"regarding.uid", "involvedObject.uid"},
	{"regarding.apiVersion", "involvedObject.apiVersion"},
	{"regarding.resourceVersion", "involvedObject.resourceVersion"},
	{"regarding.fieldPath", "involvedObject.fieldPath"},
	{"reportingController", "reportingComponent"},
	{"type", "type"},
	{NULL, NULL},
};

/* ---- the two forms ---- */

/* In the order of the hub. */
static const struct pair {
	const char *hub, *here;
} pairs[] = {
	{"kind", "kind"},
	{"apiVersion", "apiVersion"},
	{"metadata", "metadata"},
	{"involvedObject", "regarding"},
	{"reason", "reason"},
	{"message", "note"},
	{"source", "deprecatedSource"},
	{"firstTimestamp", "deprecatedFirstTimestamp"},
	{"lastTimestamp", "deprecatedLastTimestamp"},
	{"count", "deprecatedCount"},
	{"type", "type"},
	{"eventTime", "eventTime"},
	{"series", "series"},
	{"action", "action"},
	{"related", "related"},
	{"reportingComponent", "reportingController"},
	{"reportingInstance", "reportingInstance"},
};

static const char *hub_name(const char *here)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (strcmp(pairs[i].here, here) == 0) {
			return pairs[i].hub;
		}
	}
	return here;
}

static bool is_reporter(const char *hub)
{
	return strcmp(hub, "reportingComponent") == 0 || strcmp(hub, "reportingInstance") == 0;
}

/* A count of nothing is written here, and left out there. */
static struct json *series_with_count(const struct json *series, bool is_written, struct arena *a)
{
	struct json *out = json_object(a), *count = json_gets(series, "count"), *time = json_gets(series, "lastObservedTime");
	int64_t n = 0;
	json_to_int64(count, &n);
	if (n != 0 || is_written) {
		json_add(a, out, STR("count"), json_int(a, n));
	}
	json_add(a, out, STR("lastObservedTime"), time ? time : json_null(a));
	return out;
}

struct json *event_form_from_hub(const struct json *hub, struct arena *a)
{
	struct json *out = json_object(a);
	for (const struct field *f = type_events_event.fields; f->name; f++) {
		const char *name = hub_name(f->name);
		struct json *v = json_gets(hub, name);
		bool is_left_out = !v || (is_reporter(name) && !v->n);
		if (!is_left_out) {
			json_add(a, out, str_of(f->name),
				f->type == &type_events_event_series ? series_with_count(v, true, a) : v);
		}
	}
	return out;
}

struct json *event_form_to_hub(const struct json *sent, const struct json *stored_hub, struct arena *a)
{
	(void)stored_hub;
	struct json *out = json_object(a);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct json *v = json_gets(sent, pairs[i].here);
		if (!v && is_reporter(pairs[i].hub)) {
			v = json_string(a, STR(""));
		}
		if (v) {
			json_add(a, out, str_of(pairs[i].hub),
				strcmp(pairs[i].hub, "series") == 0 ? series_with_count(v, false, a) : v);
		}
	}
	return out;
}

/* ---- rules ---- */

static const struct json *member(const struct object *o, const char *name)
{
	return json_gets(o->fields, name);
}

static bool is_null(const struct json *v)
{
	return !v || v->kind == JSON_NULL;
}

static bool is_set(const struct object *o, const char *name)
{
	const struct json *v = member(o, name);
	int64_t n;
	if (json_is(v, JSON_OBJECT)) {
		return v->n > 0;
	}
	return !is_null(v) && !(json_to_int64(v, &n) && n == 0);
}

static void validate_series(const struct object *o, struct field_errors *errors)
{
	const struct json *series = member(o, "series");
	int64_t n = 0;
	if (!series) {
		return;
	}
	json_to_int64(json_gets(series, "count"), &n);
	if (n < 2) {
		field_invalid_str(errors, STR("series.count"), STR(""), "should be at least 2");
	}
	if (is_null(json_gets(series, "lastObservedTime"))) {
		field_required(errors, STR("series.lastObservedTime"), "%s", "");
	}
}

static void validate_name(const struct object *o, struct field_errors *errors)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	size_t n = o->meta.name.n ? validate_dns_subdomain(o->meta.name, messages) : 0;
	for (size_t i = 0; i < n; i++) {
		field_invalid_str(errors, STR("metadata.name"), o->meta.name, "%s", messages[i]);
	}
}

void event_form_validate(const struct object *o, struct field_errors *errors)
{
	static const char *const unset[] = {"firstTimestamp", "lastTimestamp", "count", "source"};
	struct str type = json_text(member(o, "type"));
	validate_name(o, errors);
	validate_meta(o->kind, &o->meta, errors);
	validate_series(o, errors);
	if (is_null(member(o, "eventTime"))) {
		field_required(errors, STR("eventTime"), "%s", "");
	}
	if (!str_is(type, "Normal") && !str_is(type, "Warning")) {
		field_invalid_str(errors, STR("type"), STR(""), "has invalid value: " STR_FMT, STR_ARG(type));
	}
	for (size_t i = 0; i < ARRAY_SIZE(unset); i++) {
		if (is_set(o, unset[i])) {
			field_invalid_str(errors, str_of(unset[i]), STR(""), "needs to be unset");
		}
	}
}

/* As upstream shows its own form of a reference, or of a source. */
static struct json *shown_members(const struct json *v, const struct pair *names, size_t n, struct arena *a)
{
	struct json *out = json_object(a);
	for (size_t i = 0; i < n; i++) {
		json_add(a, out, str_of(names[i].here), json_string(a, json_text(json_gets(v, names[i].hub))));
	}
	return out;
}

static struct json *shown_reference(const struct json *v, struct arena *a)
{
	static const struct pair names[] = {{"kind", "Kind"}, {"namespace", "Namespace"}, {"name", "Name"}, {"uid", "UID"},
		{"apiVersion", "APIVersion"}, {"resourceVersion", "ResourceVersion"}, {"fieldPath", "FieldPath"}};
	return v ? shown_members(v, names, ARRAY_SIZE(names), a) : NULL;
}

static struct json *shown_source(const struct json *v, struct arena *a)
{
	static const struct pair names[] = {{"component", "Component"}, {"host", "Host"}};
	return shown_members(v, names, ARRAY_SIZE(names), a);
}

static struct json *shown_text(const struct json *v, struct arena *a)
{
	return json_string(a, json_text(v));
}

static struct json *shown_time(const struct json *v, struct arena *a)
{
	return is_null(v) ? NULL : json_string(a, json_text(v));
}

static struct json *shown_count(const struct json *v, struct arena *a)
{
	int64_t n = 0;
	json_to_int64(v, &n);
	return json_int(a, n);
}

/* In the order in which upstream looks at them; reason it looks at twice. */
static const struct fixed {
	const char *hub, *path;
	struct json *(*shown)(const struct json *v, struct arena *a);
} fixed[] = {
	{"involvedObject", "involvedObject", shown_reference},
	{"reason", "reason", shown_text},
	{"message", "message", shown_text},
	{"source", "source", shown_source},
	{"firstTimestamp", "firstTimestamp", shown_time},
	{"lastTimestamp", "lastTimestamp", shown_time},
	{"count", "count", shown_count},
	{"reason", "reason", shown_text},
	{"type", "type", shown_text},
	{"eventTime", "eventTime", shown_time},
	{"action", "action", shown_text},
	{"related", "related", shown_reference},
	{"reportingComponent", "reportingController", shown_text},
	{"reportingInstance", "reportingInstance", shown_text},
};

static bool is_same(const struct json *a, const struct json *b)
{
	return a && b ? json_equal(a, b) : a == b;
}

void event_form_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	if (!is_same(member(o, "series"), member(old, "series"))) {
		validate_series(o, errors);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		const struct json *now = member(o, fixed[i].hub);
		if (!is_same(now, member(old, fixed[i].hub))) {
			field_invalid(errors, str_of(fixed[i].path), fixed[i].shown(now, errors->arena), "field is immutable");
		}
	}
}
