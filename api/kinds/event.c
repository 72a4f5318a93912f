/* Event: something that happened to an object, kept for a while. */
#include "api/model/schema.h"
#include "api/rules/event_form.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"

#include <assert.h>

enum {
	/* Upstream's limits, of pkg/apis/core/validation/events.go. */
	TEXT_LIMIT = 128,     /* of reportingInstance, action, reason */
	MESSAGE_LIMIT = 1024, /* bytes of message; an Event with a longer one is refused */
};

static struct str text(const struct object *o, const char *name)
{
	return json_text(json_gets(o->fields, name));
}

static struct str text_in(const struct object *o, const char *member, const char *name)
{
	return json_text(json_gets(json_gets(o->fields, member), name));
}

/* ---- rules ---- */

static void validate_text(const struct object *o, const char *name, size_t limit, bool is_required, struct field_errors *errors)
{
	struct str s = text(o, name);
	if (!s.n && is_required) {
		field_required(errors, str_of(name), "%s", "");
	}
	if (s.n > limit) {
		field_invalid_str(errors, str_of(name), STR(""), "can have at most %zu characters", limit);
	}
}

static bool is_through_form(const struct object *o)
{
	return o->version && o->version->type == &type_events_event;
}

static void validate_controller(const struct object *o, struct field_errors *errors)
{
	struct str controller = text(o, "reportingComponent"), path = STR("reportingComponent");
	const char *messages[VALIDATE_MESSAGES_MAX];
	if (is_through_form(o)) {
		path = STR("reportingController");
	}
	if (!controller.n) {
		field_required(errors, path, "%s", "");
	}
	size_t n = validate_qualified_name(controller, messages);
	for (size_t i = 0; i < n; i++) {
		field_invalid_str(errors, path, controller, "%s", messages[i]);
	}
}

static bool is_of_cluster(struct str ns, bool is_new)
{
	return !ns.n || str_is(ns, "default") || (is_new && str_is(ns, "kube-system"));
}

/* Events with eventTime are of the new form, and are held to more. */
static void validate_namespace(const struct object *o, bool is_new, struct field_errors *errors)
{
	struct str involved = text_in(o, "involvedObject", "namespace");
	bool fits = involved.n ? is_new || str_eq(involved, o->meta.ns) : is_of_cluster(o->meta.ns, is_new);
	if (!fits) {
		field_invalid_str(errors, STR("involvedObject.namespace"), involved, "does not match event.namespace");
	}
}

static void validate_any(const struct object *o, struct field_errors *errors)
{
	bool is_new = text(o, "eventTime").n > 0;
	validate_namespace(o, is_new, errors);
	if (is_new) {
		validate_controller(o, errors);
		validate_text(o, "reportingInstance", TEXT_LIMIT, true, errors);
		validate_text(o, "action", TEXT_LIMIT, true, errors);
		validate_text(o, "reason", TEXT_LIMIT, true, errors);
		validate_text(o, "message", MESSAGE_LIMIT, false, errors);
	}
}

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_any(o, errors);
	if (is_through_form(o)) {
		event_form_validate(o, errors);
	}
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	validate_any(o, errors);
	if (is_through_form(o)) {
		event_form_validate_update(o, old, errors);
	}
}

/* ---- what is shown ---- */

static struct str first_seen(const struct object *o)
{
	struct str first = text(o, "firstTimestamp");
	return first.n ? first : text(o, "eventTime");
}

static struct str last_seen(const struct object *o)
{
	struct str last = text(o, "lastTimestamp");
	if (json_gets(o->fields, "series")) {
		return text_in(o, "series", "lastObservedTime");
	}
	return last.n ? last : first_seen(o);
}

static void write_last_seen(const struct object *o, int64_t now_s, struct buf *out)
{
	column_write_since(last_seen(o), now_s, out);
}

static void write_first_seen(const struct object *o, int64_t now_s, struct buf *out)
{
	column_write_since(first_seen(o), now_s, out);
}

static void write_type(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, text(o, "type"));
}

static void write_reason(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, text(o, "reason"));
}

static void write_message(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, str_trim(text(o, "message")));
}

/* "pod/web" */
static void write_object(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct str kind = text_in(o, "involvedObject", "kind"), name = text_in(o, "involvedObject", "name");
	_cleanup_(buf_done) struct buf shown;
	buf_init(&shown, TEXT_MAX);
	for (size_t i = 0; i < kind.n; i++) {
		char c = kind.p[i];
		buf_addc(&shown, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
	}
	buf_adds(&shown, name.n ? "/" : "");
	buf_add_str(&shown, name);
	json_encode_string(out, buf_str(&shown));
}

static void write_part(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, text_in(o, "involvedObject", "fieldPath"));
}

/* "kubelet, node-1" */
static void write_source(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct str component = text_in(o, "source", "component"), host = text_in(o, "source", "host");
	_cleanup_(buf_done) struct buf shown;
	buf_init(&shown, TEXT_MAX);
	component = component.n ? component : text(o, "reportingComponent");
	host = host.n ? host : text(o, "reportingInstance");
	buf_add_str(&shown, component);
	buf_adds(&shown, host.n ? ", " : "");
	buf_add_str(&shown, host);
	json_encode_string(out, buf_str(&shown));
}

static void write_count(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *series = json_gets(o->fields, "series");
	int64_t n = 0;
	json_to_int64(json_gets(series ? series : o->fields, "count"), &n);
	buf_add_int(out, n || series ? n : 1);
}

static const struct column columns[] = {
	{"Last Seen", "string", "", "The time at which the most recent occurrence of this event was recorded.", 0,
		write_last_seen, false},
	{"Type", "string", "", "Type of this event (Normal, Warning), new types could be added in the future", 0, write_type,
		false},
	{"Reason", "string", "",
		"This should be a short, machine understandable string that gives the reason for the transition into the "
		"object's "
		"current status.",
		0, write_reason, false},
	{"Object", "string", "", "The object that this event is about.", 0, write_object, false},
	{"Subobject", "string", "",
		"If referring to a piece of an object instead of an entire object, this string should contain a valid"
		" JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the "
		"object reference is to a container within a pod, this would take on a value like: "
		"\"spec.containers{name}\" (where \"name\" refers to the name of the container that triggered the event) "
		"or if no container name is specified \"spec.containers[2]\" (container with index 2 in this pod). This"
		" syntax is chosen only to have some well-defined way of referencing a part of an object.",
		1, write_part, false},
	{"Source", "string", "", "The component reporting this event. Should be a short machine understandable string.", 1,
		write_source, false},
	{"Message", "string", "", "A human-readable description of the status of this operation.", 0, write_message, false},
	{"First Seen", "string", "", "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
		1, write_first_seen, false},
	{"Count", "string", "", "The number of times this event has occurred.", 1, write_count, false},
	{"Name", "string", "name", COLUMN_NAME_TEXT, 1, column_write_name, false},
};

/* ---- field selectors ---- */

#define SELECT(function, value)                                             \
	static struct str function(const struct object *o, struct arena *a) \
	{                                                                   \
		(void)a;                                                    \
		return value;                                               \
	}
SELECT(select_kind, text_in(o, "involvedObject", "kind"))
SELECT(select_namespace, text_in(o, "involvedObject", "namespace"))
SELECT(select_name, text_in(o, "involvedObject", "name"))
SELECT(select_uid, text_in(o, "involvedObject", "uid"))
SELECT(select_api_version, text_in(o, "involvedObject", "apiVersion"))
SELECT(select_resource_version, text_in(o, "involvedObject", "resourceVersion"))
SELECT(select_field_path, text_in(o, "involvedObject", "fieldPath"))
SELECT(select_reason, text(o, "reason"))
SELECT(select_controller, text(o, "reportingComponent"))
SELECT(select_type, text(o, "type"))

static struct str select_source(const struct object *o, struct arena *a)
{
	struct str component = text_in(o, "source", "component");
	return component.n ? component : select_controller(o, a);
}

static const struct selectable_field selectable[] = {
	{"involvedObject.kind", select_kind, false},
	{"involvedObject.namespace", select_namespace, false},
	{"involvedObject.name", select_name, false},
	{"involvedObject.uid", select_uid, false},
	{"involvedObject.apiVersion", select_api_version, false},
	{"involvedObject.resourceVersion", select_resource_version, false},
	{"involvedObject.fieldPath", select_field_path, false},
	{"reason", select_reason, false},
	{"reportingComponent", select_controller, false},
	{"source", select_source, false},
	{"type", select_type, false},
};

static const struct version versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.Event", .standalone_only = true},
	{.group = "events.k8s.io",
		.name = "v1",
		.definition = "io.k8s.api.events.v1.Event",
		.standalone_only = true,
		.type = &type_events_event,
		.from_hub = event_form_from_hub,
		.to_hub = event_form_to_hub,
		.invalid_group = "",
		.field_aliases = event_form_fields},
};

static struct kind events = {
	.kind = "Event",
	.list_kind = "EventList",
	.resource = "events",
	.singular = "event",
	.short_names = (const char *const[]){"ev", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_PATH_SEGMENT,
	.checks_meta_last = true,
	.any_finalizer = true,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.type = &type_event,
	.doc = "Something that happened to an object.",
	.unconditional_update = true,
	.create_on_update = true,
	.keeps_generation = true,
	.dependents = DEPENDENTS_IGNORED,
	.expires = true,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
};
KIND_REGISTER(events)
