/* Recorder: names resources whose objects are to have a history, and says what of them is their state. It is carried out by the recording
 * controller; docs/explanation/history.md is about it. */
#include "api/diff/changes.h"
#include "api/diff/keep.h"
#include "api/diff/state.h"
#include "api/model/members.h"
#include "api/rules/review_schema.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/rules/where.h"
#include "api/upstream/upstream.h"
#include "base/base64.h"
#include "base/keyed_hash.h"
#include "base/options.h"

#include <assert.h>
#include <pthread.h>

enum {
	RULES_MAX = 64, /* items of spec.resources; a Recorder with more is refused */
	/* Groups times resources, of all rules: for each of them the right to list and the right to watch are asked. */
	PAIRS_MAX = (NEEDS_MAX - 1) / 2,
	REQUIREMENTS_MAX = 64, /* of a selector: they are matched with each object */
	VALUES_MAX = 64,       /* of a requirement */
	HISTORY_LIMIT_DEFAULT = 10,
	OBJECT_BYTES_MIN = 1024,
	/* Spec.maxObjectBytes: etcd takes 1.5 MiB, and a state is stored as one object. */
	OBJECT_BYTES_MAX = 1 << 20,
	SALT_BYTES_MIN = 16,
	/* Items of status.resources, which the controller writes; a status with more is refused. */
	FOLLOWED_MAX = 1024,
	ERROR_BYTES_MAX = 1024, /* bytes of lastError in the status; a longer one is refused */
};

/* ---- schema ---- */

static const struct type type_rule = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.RecordedResources",
	.go_type = "v1.RecordedResources",
	.doc = "Resources: each of the names in each of the groups.",
	.fields =
		(const struct field[]){
			{"groups", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY,
				"API groups: at least one. \"\" is the core group, \"*\" is any group.", NULL, NULL},
			{"resources", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY,
				"Names of resources in the plural, without subresources: at least one. \"*\" is any resource.",
				NULL, NULL},
			{"keep", &type_keep, FIELD_KEEP_EMPTY,
				"How long the states of these resources are kept. A field that is absent here has its value "
				"of spec.keep. The first item that names a resource counts.",
				NULL, NULL},
			{0},
		},
};

static const struct type list_rules = {.kind = TYPE_LIST, .elem = &type_rule};

static const struct type type_spec = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.RecorderSpec",
	.go_type = "v1.RecorderSpec",
	.doc = "The objects that have a history, and the part of them that is kept.",
	.fields =
		(const struct field[]){
			{"resources", &list_rules, FIELD_ALWAYS | FIELD_MANDATORY,
				"The resources that are recorded: 1 to 64 items. Groups times names, of all items together, "
				"are at most 128.",
				NULL, NULL},
			{"namespaceSelector", &type_label_selector, FIELD_KEEP_EMPTY,
				"Selects namespaces by their labels: their objects are recorded. Absent: all namespaces. At "
				"most 64 requirements.",
				NULL, NULL},
			{"objectSelector", &type_label_selector, FIELD_KEEP_EMPTY,
				"Selects objects by their labels. Absent: all objects. At most 64 requirements.", NULL, NULL},
			{"ignore", &type_string_list, 0,
				"JSON pointers to values that do not belong to the state: they are not kept, and a change of "
				"them is not recorded. The segment * stands for any member or item. At most 64.",
				NULL, NULL},
			{"redact", &type_string_list, 0,
				"JSON pointers to values that are not kept: a salted digest takes their place. The segment * "
				"stands for any member or item. At most 64.",
				NULL, NULL},
			{"secretData", &type_string, 0,
				"Redact: salted digests take the place of the data of Secrets. Record: the data is kept; "
				"whoever writes this needs the verb unredact on recorders.",
				NULL, "\"Redact\""},
			{"historyLimit", &type_int32, FIELD_KEEP_EMPTY,
				"The number of revisions of an object that are kept besides the current one: 0 to 1000. With "
				"keep, keep.atMost counts in its place.",
				NULL, "10"},
			{"keep", &type_keep, FIELD_KEEP_EMPTY,
				"How long the states of an object are kept. Absent: historyLimit alone counts.", NULL, NULL},
			{"maxObjectBytes", &type_int64, FIELD_KEEP_EMPTY,
				"The size of the largest state that is kept, as compact JSON: 1024 to 1048576 bytes. Of a "
				"larger state only the digest is kept.",
				NULL, "262144"},
			{"keepDeleted", &type_duration, 0,
				"The time for which a History stays after its object was deleted, such as 720h0m0s or 30m.",
				NULL, "\"720h0m0s\""},
			{"namespace", &type_string, 0,
				"The namespace for the Histories of objects that have no namespace. It cannot be changed.",
				NULL, "\"default\""},
			{"salt", &type_bytes, 0,
				"The key of the digests of redacted values: 16 to 64 bytes. Absent: the server derives one from "
				"the name, the resources, and a secret of its own. It cannot be changed.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_followed = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.RecordedResourceStatus",
	.go_type = "v1.RecordedResourceStatus",
	.doc = "The state of the recording of a resource.",
	.fields =
		(const struct field[]){
			{"group", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The API group of the resource. Empty: the core group.", NULL, NULL},
			{"version", &type_string, 0, "The version in which its objects are read.", NULL, NULL},
			{"resource", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The name of the resource, in the plural.",
				NULL, NULL},
			{"objects", &type_int64, FIELD_ALWAYS, "The number of its objects that are recorded.", NULL, NULL},
			{"revisions", &type_int64, FIELD_ALWAYS, "The number of revisions that were made of them.", NULL, NULL},
			{"bytes", &type_int64, 0, "The bytes of these revisions, as their Histories count them.", NULL, NULL},
			{"refused", &type_int64, FIELD_ALWAYS, "The number of times that the server refused to keep a state.",
				NULL, NULL},
			{"lastError", &type_string, 0, "The last error, in words.", NULL, NULL},
			{"recordedResourceVersion", &type_string, 0,
				"All changes up to this resourceVersion are recorded. A recorder that starts begins its watch here.",
				NULL, NULL},
			{0},
		},
};

static const struct type list_followed = {
	.kind = TYPE_LIST,
	.elem = &type_followed,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"group", "resource", NULL},
};

static const struct type type_status = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.RecorderStatus",
	.go_type = "v1.RecorderStatus",
	.doc = "The state of the recording.",
	.fields =
		(const struct field[]){
			{"observedGeneration", &type_int64, 0, "The metadata.generation of the spec that is in effect.", NULL,
				NULL},
			{"resources", &list_followed, 0, "The resources that are followed.", NULL, NULL},
			{"conditions", &list_conditions, FIELD_PATCH_MERGE,
				"The condition Recording: all resources that the Recorder names are followed.", "type", NULL},
			{0},
		},
};

static const struct type recorder_type = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.Recorder",
	.go_type = "v1.Recorder",
	.doc = "Names resources whose objects are recorded: each object gets a History, and each of its states a revision.",
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_spec, FIELD_ALWAYS | FIELD_MANDATORY,
				"The objects that have a history, and the part of them that is kept.", NULL, NULL},
			{"status", &type_status, FIELD_ALWAYS, "The state of the recording.", NULL, NULL},
			{0},
		},
};

/* ---- what the server decides ---- */

static void set_salt(struct object *o, struct json *salt, struct arena *a)
{
	object_set_spec(o, schema_with(&type_spec, object_spec(o), "salt", salt, a), a);
}

static struct keyed_hash salts;
static pthread_once_t salts_once = PTHREAD_ONCE_INIT;

static void salts_init(void)
{
	keyed_hash_init(&salts);
}

/* Makes a salt that is as good as random to everybody who does not see the object. A creation may
 * be decided twice, when webhooks are asked. It must make the same object each time, so the salt
 * follows from the uid. */
static struct json *new_salt(struct str uid, struct arena *a)
{
	unsigned char hash[SHA256_SIZE];
	char *text = arena_array(a, char, BASE64_SIZE(SALT_BYTES_MIN));

	pthread_once(&salts_once, salts_init);
	keyed_hash(&salts, uid, hash);
	base64_encode(text, (struct str){(const char *)hash, SALT_BYTES_MIN});
	return json_string(a, (struct str){text, BASE64_SIZE(SALT_BYTES_MIN)});
}

static void prepare_create(struct object *o, struct arena *a)
{
	object_set_status(o, schema_zero(&type_status, a), a);
	/* The server has not read its own key yet (server/write/write_recorded.h). */
	if (member_text(object_spec(o), "salt").n == 0) {
		set_salt(o, new_salt(o->meta.uid, a), a);
	}
}

/* A client that replaces the object with its own manifest does not know the generated salt. */
static void prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	keep_status(o, old, a);
	if (member_text(object_spec(o), "salt").n == 0) {
		set_salt(o, json_gets(object_spec(old), "salt"), a);
	}
}

/* ---- rules ---- */

static void check_groups(struct field_errors *e, const struct where *at, const struct json *groups)
{
	const struct json *one;

	if (!list_item(groups, 0)) {
		refuse_absent(e, at, "");
	}
	for (uint32_t i = 0; (one = list_item(groups, i)); i++) {
		struct str group = json_text(one);
		const char *why = record_leaves_out(group, STR(""));
		if (why) {
			refuse_text(e, WHERE_ITEM(at, i), group, why);
		} else if (group.n && !str_is(group, "*")) {
			check_text(e, WHERE_ITEM(at, i), group, validate_dns_subdomain);
		}
	}
}

/* With "*" it is silently left out, but a name that means nothing else is refused. */
static const char *why_left_out(const struct json *groups, struct str resource)
{
	static const char *const any[] = {"apps", "", "coordination.k8s.io"};
	const struct json *one;
	const char *why = NULL;

	for (uint32_t i = 0; !why && (one = list_item(groups, i)); i++) {
		struct str group = json_text(one);
		why = record_leaves_out(group, STR("")) ? NULL : record_leaves_out(group, resource);
		for (size_t k = 0; str_is(group, "*") && !why && k < ARRAY_SIZE(any); k++) {
			why = record_leaves_out(str_of(any[k]), resource);
		}
	}
	return why;
}

static void check_resource(struct field_errors *e, const struct where *at, struct str resource, const struct json *groups)
{
	const char *why;

	if (str_is(resource, "*")) {
		return;
	}
	if (str_contains(resource, STR("/"))) {
		refuse_text(e, at, resource, "subresources are not recorded");
	} else if ((why = why_left_out(groups, resource))) {
		refuse_text(e, at, resource, why);
	} else {
		check_text(e, at, resource, validate_dns_label);
	}
}

static void check_rule(struct field_errors *e, const struct where *at, const struct json *rule)
{
	const struct json *groups = json_gets(rule, "groups"), *resources = json_gets(rule, "resources"), *one;

	check_groups(e, WHERE(at, "groups"), groups);
	if (!list_item(resources, 0)) {
		refuse_absent(e, WHERE(at, "resources"), "");
	}
	for (uint32_t i = 0; (one = list_item(resources, i)); i++) {
		check_resource(e, WHERE_ITEM(WHERE(at, "resources"), i), json_text(one), groups);
	}
	check_keep(e, WHERE(at, "keep"), json_gets(rule, "keep"));
}

static size_t count_pairs(const struct json *rules)
{
	const struct json *rule;
	size_t n = 0;

	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		n += (size_t)member_count(rule, "groups") * member_count(rule, "resources");
	}
	return n;
}

/* Does not look into a list that is too long: each look costs something. */
static void check_rules(struct field_errors *e, const struct where *at, const struct json *rules)
{
	const struct json *rule;

	if (!list_item(rules, 0)) {
		refuse_absent(e, at, "");
	} else if (rules->n > RULES_MAX) {
		refuse_forbidden(e, at, "must have at most 64 items");
	} else if (count_pairs(rules) > PAIRS_MAX) {
		refuse_forbidden(e, at, "must name at most 128 resources, counted as groups times resources of each item");
	} else {
		for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
			check_rule(e, WHERE_ITEM(at, i), rule);
		}
	}
}

static void check_selector(struct field_errors *e, const struct where *at, const struct json *selector)
{
	const struct json *expressions = json_gets(selector, "matchExpressions"), *one;

	if (member_count(selector, "matchLabels") + member_count(selector, "matchExpressions") > REQUIREMENTS_MAX) {
		refuse_forbidden(e, at, "must have at most 64 requirements");
		return;
	}
	for (uint32_t i = 0; (one = list_item(expressions, i)); i++) {
		if (member_count(one, "values") > VALUES_MAX) {
			refuse_forbidden(
				e, WHERE(WHERE_ITEM(WHERE(at, "matchExpressions"), i), "values"), "must have at most 64 items");
			return;
		}
	}
	check_label_selector(e, at, selector);
}

/* Returns whether the field identifies the object. Such a field stays even if a pattern matches
 * it. */
static bool is_identity(struct str pointer)
{
	static const char *const names[] = {"/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(pointer, names[i])) {
			return true;
		}
	}
	return false;
}

static void check_hidden(struct field_errors *e, const struct where *at, const struct json *pointers)
{
	const struct json *one;

	check_pointers(e, at, pointers);
	for (uint32_t i = 0; i < POINTER_PATTERNS_MAX && (one = list_item(pointers, i)); i++) {
		if (is_identity(json_text(one))) {
			refuse_text(e, WHERE_ITEM(at, i), json_text(one),
				"cannot be hidden: apiVersion, kind, name and namespace are always kept");
		}
	}
}

/* Two limits would be one too many. The server fills in the default of historyLimit, so that is no second one. */
static void check_limits(struct field_errors *e, const struct where *at, const struct json *spec)
{
	const struct json *limit = json_gets(spec, "historyLimit"), *at_most = json_gets(json_gets(spec, "keep"), "atMost");
	int64_t n = member_int(spec, "historyLimit");

	check_range(e, WHERE(at, "historyLimit"), limit, 0, KEEP_STATES_MAX, "must be between 0 and 1000");
	check_keep(e, WHERE(at, "keep"), json_gets(spec, "keep"));
	if (json_gets(spec, "keep") && limit && n != HISTORY_LIMIT_DEFAULT && !(at_most && json_equal(limit, at_most))) {
		refuse_invalid(e, WHERE(at, "historyLimit"), limit,
			"must be absent or equal to keep.atMost, which counts in its place");
	}
}

/* In normal form it is base64. */
static void check_salt(struct field_errors *e, const struct where *at, struct str salt)
{
	size_t padding = str_ends(salt, STR("==")) ? 2 : str_ends(salt, STR("=")) ? 1 : 0, n = salt.n / 4 * 3 - padding;

	if (salt.n > 0 && (n < SALT_BYTES_MIN || n > STATE_SALT_MAX)) {
		refuse_forbidden(e, at, "must be 16 to 64 bytes");
	}
}

static void check_spec(const struct json *spec, struct field_errors *e)
{
	static const char *const secret_data[] = {"Redact", "Record", NULL};
	const struct where at = {.name = STR("spec")};

	check_rules(e, WHERE(&at, "resources"), json_gets(spec, "resources"));
	check_selector(e, WHERE(&at, "namespaceSelector"), json_gets(spec, "namespaceSelector"));
	check_selector(e, WHERE(&at, "objectSelector"), json_gets(spec, "objectSelector"));
	check_hidden(e, WHERE(&at, "ignore"), json_gets(spec, "ignore"));
	check_hidden(e, WHERE(&at, "redact"), json_gets(spec, "redact"));
	check_choice(e, WHERE(&at, "secretData"), member_text(spec, "secretData"), secret_data, true);
	check_limits(e, &at, spec);
	check_range(e, WHERE(&at, "maxObjectBytes"), json_gets(spec, "maxObjectBytes"), OBJECT_BYTES_MIN, OBJECT_BYTES_MAX,
		"must be between 1024 and 1048576");
	check_duration(e, WHERE(&at, "keepDeleted"), member_text(spec, "keepDeleted"));
	check_text(e, WHERE(&at, "namespace"), member_text(spec, "namespace"), validate_dns_label);
	check_salt(e, WHERE(&at, "salt"), member_text(spec, "salt"));
}

static void validate(const struct object *o, struct field_errors *errors)
{
	check_spec(object_spec(o), errors);
}

/* With another salt all redacted values would seem to have changed, and in another namespace histories would not be found again. */
static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const immutable[] = {"namespace", "salt"};
	const struct where at = {.name = STR("spec")};

	check_spec(object_spec(o), errors);
	for (size_t i = 0; i < ARRAY_SIZE(immutable); i++) {
		struct str now = member_text(object_spec(o), immutable[i]);
		if (!str_eq(now, member_text(object_spec(old), immutable[i]))) {
			refuse_text(errors, WHERE_NAMED(&at, immutable[i]), now, "field is immutable");
		}
	}
}

static void validate_status(const struct object *o, const struct object *old _unused_, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct where at = {.name = STR("status")};
	const struct json *resources = json_gets(object_status(o), "resources"), *one;
	uint64_t version;

	if (resources && resources->n > FOLLOWED_MAX) {
		refuse_forbidden(errors, WHERE(&at, "resources"), "must have at most 1024 items");
		return;
	}
	for (uint32_t i = 0; (one = list_item(resources, i)); i++) {
		if (member_text(one, "lastError").n > ERROR_BYTES_MAX) {
			refuse_forbidden(errors, WHERE(WHERE_ITEM(WHERE(&at, "resources"), i), "lastError"),
				"must be no more than 1024 bytes");
		}
		struct str recorded = member_text(one, "recordedResourceVersion");
		if (recorded.n && !str_to_uint64(recorded, &version)) {
			refuse_text(errors, WHERE(WHERE_ITEM(WHERE(&at, "resources"), i), "recordedResourceVersion"), recorded,
				"must be a resourceVersion, a decimal number");
		}
	}
	validate_conditions(STR("status.conditions"), json_gets(object_status(o), "conditions"), errors);
}

/* ---- rights that its writer needs ---- */

static size_t add_pair(struct need *ret, struct str group, struct str resource, struct str path)
{
	static const char *const verbs[] = {"list", "watch"};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		ret[i] = (struct need){
			.verb = str_of(verbs[i]), .group = group, .resource = resource, .path = path, .is_to_be_watched = true};
	}
	return ARRAY_SIZE(verbs);
}

static size_t add_rule(struct need *ret, const struct where *at, const struct json *rule, struct arena *a)
{
	const struct json *groups = json_gets(rule, "groups"), *resources = json_gets(rule, "resources"), *group, *resource;
	size_t n = 0;

	for (uint32_t i = 0; (resource = list_item(resources, i)); i++) {
		struct str path = where_path(WHERE_ITEM(WHERE(at, "resources"), i), a);
		for (uint32_t k = 0; (group = list_item(groups, k)); k++) {
			n += add_pair(ret + n, json_text(group), json_text(resource), path);
		}
	}
	return n;
}

static bool shows_secrets(const struct object *o)
{
	return str_is(member_text(object_spec(o), "secretData"), "Record");
}

/* Readers of histories read the recorded states, so users may only record what they can read themselves. */
static size_t needs(const struct object *o, const struct object *old, struct need ret[NEEDS_MAX], struct arena *a)
{
	assert(!old || o->kind == old->kind);
	const struct where spec = {.name = STR("spec")};
	const struct json *rules = json_gets(object_spec(o), "resources"), *rule;
	size_t n = 0;

	if (old && json_equal(object_spec(o), object_spec(old))) {
		return 0;
	}
	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		n += add_rule(ret + n, WHERE_ITEM(WHERE(&spec, "resources"), i), rule, a);
	}
	if (shows_secrets(o)) {
		ret[n++] = (struct need){.verb = STR("unredact"),
			.group = STR("annals.dev"),
			.resource = STR("recorders"),
			.name = o->meta.name,
			.path = STR("spec.secretData")};
	}
	return n;
}

/* ---- columns ---- */

/* Shows three names and the number of the others, as kubectl shows the addresses of Endpoints. */
enum { NAMES_SHOWN = 3, NAMES_BYTES = 64 };

/* deployments.apps,configmaps,secrets + 14 more... */
static void write_resources(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	_cleanup_(buf_done) struct buf text;
	const struct json *rules = json_gets(object_spec(o), "resources"), *rule, *group, *resource;
	size_t n = 0, shown = 0;

	buf_init(&text, 4096);
	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		const struct json *groups = json_gets(rule, "groups"), *resources = json_gets(rule, "resources");
		for (uint32_t k = 0; (group = list_item(groups, k)); k++) {
			for (uint32_t m = 0; (resource = list_item(resources, m)); m++, n++) {
				struct str g = json_text(group), r = json_text(resource);
				bool is_shown =
					n == 0 || (shown == n && n < NAMES_SHOWN && text.n + g.n + r.n + 2 <= NAMES_BYTES);
				if (is_shown) {
					buf_printf(&text, "%s" STR_FMT "%s" STR_FMT, n ? "," : "", STR_ARG(r), g.n ? "." : "",
						STR_ARG(g));
					shown++;
				}
			}
		}
	}
	if (text.n > NAMES_BYTES) {
		buf_truncate(&text, NAMES_BYTES);
		BUF_LITERAL(&text, "...");
	}
	if (n > shown) {
		buf_printf(&text, " + %zu more...", n - shown);
	}
	json_encode_string(out, buf_str(&text));
}

static void write_sum(const struct object *o, const char *name, struct buf *out)
{
	const struct json *followed = json_gets(object_status(o), "resources"), *one;
	int64_t sum = 0;

	for (uint32_t i = 0; (one = list_item(followed, i)); i++) {
		if (__builtin_add_overflow(sum, member_int(one, name), &sum)) {
			sum = INT64_MAX;
			break;
		}
	}
	buf_add_int(out, sum);
}

static void write_objects(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_sum(o, "objects", out);
}

static void write_revisions(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_sum(o, "revisions", out);
}

static void write_refused(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_sum(o, "refused", out);
}

static void write_recording(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	struct str status = member_text(condition_find(json_gets(object_status(o), "conditions"), "Recording"), "status");

	json_encode_string(out, status.n ? status : STR("Unknown"));
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Resources", "string", "", "What is recorded.", 0, write_resources, false},
	{"Recording", "string", "", "Whether all that is named is followed.", 0, write_recording, false},
	{"Objects", "integer", "", "How many objects are recorded.", 0, write_objects, false},
	{"Revisions", "integer", "", "The number of revisions that were made of them.", 0, write_revisions, false},
	{"Refused", "integer", "", "The number of times that the server refused to keep a state.", 0, write_refused, false},
	COLUMN_AGE,
};

/* ---- the kind ---- */

static const struct subresource subresources[] = {
	{.name = "status",
		.verbs = VERB_GET | VERB_UPDATE | VERB_PATCH,
		.merge = merge_status,
		.validate_update = validate_status,
		.reset_fields = resets_spec},
	{.name = "admission", .verbs = VERB_CREATE, .extension = EXTENSION_ADMISSION, .view = &admission_review_view},
};

static const struct version versions[] = {
	{.group = "annals.dev", .name = "v1", .definition = "dev.annals.v1.Recorder"},
};

static struct kind recorder = {
	.kind = "Recorder",
	.list_kind = "RecorderList",
	.resource = "recorders",
	.singular = "recorder",
	.short_names = (const char *const[]){"rec", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.type = &recorder_type,
	.doc = "Names resources whose objects are recorded: each object gets a History, and each of its states a revision.",
	.unconditional_update = true,
	.reset_fields = resets_status,
	.prepare_create = prepare_create,
	.prepare_update = prepare_update,
	.bumps_generation = bumps_generation_of_spec,
	.validate = validate,
	.validate_update = validate_update,
	.needs = needs,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(recorder)
