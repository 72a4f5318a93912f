/* The common part of both versions of OpenAPI: schemas, types that are no kinds, and operations.
 *
 * Schemas are made from the types that decode and validate objects, so a document cannot promise
 * what the server does not take. A definition is claimed before it is filled in, so types may
 * contain themselves. Members are sorted at the end, once, so equal documents have equal hashes. */
#include "api/model/protobuf_write.h"
#include "server/discovery/openapi_build.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>

/* ---- trees ---- */

void openapi_put(struct openapi_builder *b, struct json *object, const char *name, struct json *value)
{
	json_add(b->arena, object, str_of(name), value);
}

void openapi_put_text(struct openapi_builder *b, struct json *object, const char *name, const char *text)
{
	if (text) {
		openapi_put(b, object, name, json_string(b->arena, str_of(text)));
	}
}

struct json *openapi_text_list(struct openapi_builder *b, const char *const *texts)
{
	struct json *list = json_array(b->arena);

	for (; *texts; texts++) {
		json_append(b->arena, list, json_string(b->arena, str_of(*texts)));
	}
	return list;
}

static int member_cmp(const void *a, const void *b)
{
	const struct json_member *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

static struct json *sorted_object(struct openapi_builder *b, const struct json *j)
{
	_cleanup_(mem_freep) struct json_member *members = mem_array(j->n, sizeof(*members));
	struct json *o = json_object(b->arena);

	for (uint32_t i = 0; i < j->n; i++) {
		members[i] = j->members[i];
	}
	if (j->n > 1) {
		qsort(members, j->n, sizeof(*members), member_cmp);
	}
	for (uint32_t i = 0; i < j->n; i++) {
		json_add(b->arena, o, members[i].name, openapi_sorted_by_name(b, members[i].value));
	}
	return o;
}

static struct json *sorted_items(struct openapi_builder *b, const struct json *j)
{
	struct json *list = json_array(b->arena);

	for (uint32_t i = 0; i < j->n; i++) {
		json_append(b->arena, list, openapi_sorted_by_name(b, j->items[i]));
	}
	return list;
}

struct json *openapi_sorted_by_name(struct openapi_builder *b, const struct json *j)
{
	if (j->kind == JSON_OBJECT) {
		return sorted_object(b, j);
	}
	return j->kind == JSON_ARRAY ? sorted_items(b, j) : json_copy(b->arena, j);
}

/* ---- references ---- */

struct json *openapi_ref(struct openapi_builder *b, const char *name)
{
	assert(b->dialect);
	struct json *ref = json_object(b->arena);

	openapi_put(b, ref, "$ref", json_string(b->arena, arena_printf(b->arena, "%s%s", b->dialect->ref_prefix, name)));
	return ref;
}

static bool is_ref(const struct json *schema)
{
	return json_gets(schema, "$ref") != NULL;
}

/* So that description and defaults may stand beside it: v3 forbids siblings of $ref. */
static struct json *open_for_siblings(struct openapi_builder *b, struct json *schema)
{
	struct json *all_of, *wrapper;

	if (!is_ref(schema) || !b->dialect->wraps_refs) {
		return schema;
	}
	all_of = json_array(b->arena);
	json_append(b->arena, all_of, schema);
	wrapper = json_object(b->arena);
	openapi_put(b, wrapper, "allOf", all_of);
	return wrapper;
}

/* ---- schemas ---- */

static void put_one_of(struct openapi_builder *b, struct json *schema, const char *first, const char *second)
{
	const char *const types[] = {first, second};
	struct json *one_of = json_array(b->arena);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct json *option = json_object(b->arena);
		openapi_put_text(b, option, "type", types[i]);
		json_append(b->arena, one_of, option);
	}
	openapi_put(b, schema, "oneOf", one_of);
}

static const struct {
	const char *type, *format;
	const char *other_type; /* in dialects with oneOf: or this */
} scalars[] = {
	[TYPE_STRING] = {"string", NULL, NULL},
	[TYPE_BOOL] = {"boolean", NULL, NULL},
	[TYPE_INT32] = {"integer", "int32", NULL},
	[TYPE_INT64] = {"integer", "int64", NULL},
	[TYPE_TIME] = {"string", "date-time", NULL},
	[TYPE_MICRO_TIME] = {"string", "date-time", NULL},
	[TYPE_BYTES] = {"string", "byte", NULL},
	[TYPE_INT_OR_STRING] = {"string", "int-or-string", "integer"},
	[TYPE_QUANTITY] = {"string", NULL, "number"},
	[TYPE_OBJECT] = {"object", NULL, NULL},
	[TYPE_MAP] = {"object", NULL, NULL},
	[TYPE_LIST] = {"array", NULL, NULL},
	[TYPE_DOUBLE] = {"number", "double", NULL},
	[TYPE_RAW] = {"object", NULL, NULL},
	[TYPE_FIELDS_V1] = {"object", NULL, NULL},
};

static void put_type(struct openapi_builder *b, struct json *schema, enum type_kind kind)
{
	if (scalars[kind].other_type && b->dialect->has_one_of) {
		put_one_of(b, schema, scalars[kind].type, scalars[kind].other_type);
	} else {
		openapi_put_text(b, schema, "type", scalars[kind].type);
	}
	openapi_put_text(b, schema, "format", scalars[kind].format);
}

static void put_list(struct openapi_builder *b, struct json *schema, const struct type *type)
{
	static const char *const names[] = {[LIST_ATOMIC] = "atomic", [LIST_SET] = "set", [LIST_MAP] = "map"};

	openapi_put(b, schema, "items", openapi_schema(b, type->elem));
	openapi_put_text(b, schema, "x-kubernetes-list-type", names[type->list_type]);
	if (type->list_type == LIST_MAP) {
		openapi_put(b, schema, "x-kubernetes-list-map-keys", openapi_text_list(b, type->list_keys));
	}
}

static struct json *default_value(struct openapi_builder *b, const char *text)
{
	struct json *value;
	size_t at;

	return json_parse(&value, b->arena, str_of(text), JSON_LIMITS_DEFAULT, &at) ? json_null(b->arena) : value;
}

static struct json *field_schema(struct openapi_builder *b, const struct field *f)
{
	struct json *schema = openapi_schema(b, f->type);

	schema = open_for_siblings(b, schema);
	if (f->doc) {
		json_set(b->arena, schema, STR("description"), json_string(b->arena, str_of(f->doc)));
	}
	if (f->default_json && !(f->flags & FIELD_SILENT_DEFAULT)) {
		openapi_put(b, schema, "default", default_value(b, f->default_json));
	}
	if (f->flags & (FIELD_PATCH_MERGE | FIELD_RETAIN_KEYS)) {
		openapi_put_text(b, schema, "x-kubernetes-patch-strategy",
			!(f->flags & FIELD_RETAIN_KEYS)          ? "merge"
				: (f->flags & FIELD_PATCH_MERGE) ? "merge,retainKeys"
								 : "retainKeys");
	}
	openapi_put_text(b, schema, "x-kubernetes-patch-merge-key", f->merge_key);
	return schema;
}

static void put_fields(struct openapi_builder *b, struct json *schema, const struct type *type)
{
	struct json *properties = json_object(b->arena), *required = json_array(b->arena);

	for (const struct field *f = type->fields; f && f->name; f++) {
		openapi_put(b, properties, f->name, field_schema(b, f));
		if (f->flags & FIELD_MANDATORY) {
			json_append(b->arena, required, json_string(b->arena, str_of(f->name)));
		}
	}
	openapi_put(b, schema, "properties", properties);
	if (required->n > 0) {
		openapi_put(b, schema, "required", required);
	}
}

/* Describes the type's structure, whether or not it has a name. */
static void put_structure(struct openapi_builder *b, struct json *schema, const struct type *type)
{
	openapi_put_text(b, schema, "description", type->doc);
	put_type(b, schema, type->kind);
	if (type->kind == TYPE_OBJECT) {
		put_fields(b, schema, type);
	} else if (type->kind == TYPE_MAP) {
		openapi_put(b, schema, "additionalProperties", openapi_schema(b, type->elem));
	} else if (type->kind == TYPE_LIST) {
		put_list(b, schema, type);
	}
	if (type->is_atomic) {
		openapi_put_text(b, schema, "x-kubernetes-map-type", "atomic");
	}
}

/* "io.k8s.api.apps.v1.ControllerRevision" and "ControllerRevisionList" make "io.k8s.api.apps.v1.ControllerRevisionList". */
static const char *list_definition(struct openapi_builder *b, const struct kind *kind, const struct version *version)
{
	const char *dot = strrchr(version->definition, '.');
	int prefix = dot ? (int)(dot + 1 - version->definition) : 0;

	return arena_printf(b->arena, "%.*s%s", prefix, version->definition, kind->list_kind).p;
}

/* Is that the object or the list of the only kind that is wanted? The other definitions are in the program's document. */
static bool is_part(struct openapi_builder *b, const char *name)
{
	for (size_t i = 0; i < b->part_of->n_versions; i++) {
		const struct version *v = &b->part_of->versions[i];
		if (strcmp(name, v->definition) == 0 || strcmp(name, list_definition(b, b->part_of, v)) == 0) {
			return true;
		}
	}
	return false;
}

/* The empty definition, when it is new: it is in place before its structure is made, so types may contain themselves. */
static struct json *claim_definition(struct openapi_builder *b, const char *name)
{
	struct json *schema;

	if (json_gets(b->definitions, name) || (b->part_of && !is_part(b, name))) {
		return NULL;
	}
	schema = json_object(b->arena);
	openapi_put(b, b->definitions, name, schema);
	return schema;
}

/* ---- kinds ---- */

struct json *openapi_gvk(struct openapi_builder *b, const char *group, const char *version, const char *kind)
{
	struct json *gvk = json_object(b->arena);

	openapi_put_text(b, gvk, "group", group);
	openapi_put_text(b, gvk, "version", version);
	openapi_put_text(b, gvk, "kind", kind);
	return gvk;
}

static void put_gvks(struct openapi_builder *b, struct json *schema, struct json *gvks)
{
	openapi_put(b, schema, "x-kubernetes-group-version-kind", gvks);
}

static struct json *one_gvk(struct openapi_builder *b, const struct version *version, const char *kind)
{
	struct json *list = json_array(b->arena);

	json_append(b->arena, list, openapi_gvk(b, version->group, version->name, kind));
	return list;
}

/* A kube-apiserver has these kinds, too. It keeps ours beside its own under another name; with the same kinds in both, client-go, which takes
 * the whole document as a schema, takes none of it (managedfields.NewGVKParser: "duplicate entry for /v1, Kind=DeleteOptions"). */
static void put_common_gvks(struct openapi_builder *b, struct json *schema, struct json *gvks)
{
	if (b->is_standalone || !b->dialect->is_merged) {
		put_gvks(b, schema, gvks);
	}
}

/* An object within another one is of its kind there, too: a claim in a StatefulSet, in the document of apps/v1. */
static void put_embedded_gvks(struct openapi_builder *b, struct json *schema, const char *name)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *kind = kind_at(i);
		for (size_t j = 0; j < kind->n_versions; j++) {
			if (strcmp(kind->versions[j].definition, name) == 0) {
				put_common_gvks(b, schema, one_gvk(b, &kind->versions[j], kind->kind));
				return;
			}
		}
	}
}

struct json *openapi_define(struct openapi_builder *b, const char *name, const struct type *type)
{
	assert(b->definitions && b->dialect);
	struct json *schema = claim_definition(b, name);

	if (schema) {
		put_structure(b, schema, type);
		put_embedded_gvks(b, schema, name);
	}
	return openapi_ref(b, name);
}

struct json *openapi_schema(struct openapi_builder *b, const struct type *type)
{
	struct json *schema;

	if (type->definition) {
		return openapi_define(b, type->definition, type);
	}
	schema = json_object(b->arena);
	put_structure(b, schema, type);
	return schema;
}

/* Views are of kinds that are the cluster's (autoscaling/v1 Scale). */
static bool is_served(const struct openapi_builder *b, const struct kind *kind, const struct version *version)
{
	struct str group = str_of(version->group), name = str_of(version->name), resource = str_of(kind->resource);

	return kind_by_resource(group, name, resource, b->is_standalone, NULL) == kind;
}

/* Members of the schema that a definition has. Metadata in it is a reference to the common definition. */
static void put_published(
	struct openapi_builder *b, struct json *schema, const struct kind *kind, const struct version *version)
{
	struct json *published = NULL;

	openapi_schema(b, &type_object_meta);
	if (!b->source->publish(b->source->ctx, &published, kind, version, b->dialect->is_v2, b->arena)) {
		openapi_put_text(b, schema, "type", "object");
		return;
	}
	for (uint32_t i = 0; json_is(published, JSON_OBJECT) && i < published->n; i++) {
		json_set(b->arena, schema, published->members[i].name, published->members[i].value);
	}
}

static void put_selectable(
	struct openapi_builder *b, struct json *schema, const struct kind *kind, const struct version *version)
{
	struct json *fields = json_array(b->arena);

	for (size_t i = 0; i < kind->n_selectable; i++) {
		if (selectable_is_visible(&kind->selectable[i], kind, version)) {
			struct json *field = json_object(b->arena);
			openapi_put_text(b, field, "fieldPath", kind->selectable[i].path);
			json_append(b->arena, fields, field);
		}
	}
	if (fields->n > 0) {
		openapi_put(b, schema, "x-kubernetes-selectable-fields", fields);
	}
}

struct json *openapi_define_kind(struct openapi_builder *b, const struct kind *kind, const struct version *version)
{
	struct json *schema = claim_definition(b, version->definition);

	if (schema && kind->life) {
		put_published(b, schema, kind, version);
		put_gvks(b, schema, one_gvk(b, version, kind->kind));
		put_selectable(b, schema, kind, version);
	} else if (schema) {
		put_structure(b, schema, version_type(kind, version));
		if (!version_type(kind, version)->doc) {
			openapi_put_text(b, schema, "description", kind->doc);
		}
		(is_served(b, kind, version) ? put_gvks : put_common_gvks)(b, schema, one_gvk(b, version, kind->kind));
	}
	return openapi_ref(b, version->definition);
}

static const struct field list_fields[] = {
	{"apiVersion", &type_string, 0, "The version of the API in which the list is written.", NULL, NULL},
	{"kind", &type_string, 0, "What kind of list this is.", NULL, NULL},
	{"metadata", &type_list_meta, 0, "What every list has.", NULL, NULL},
	{0},
};
static const struct type list_type = {.kind = TYPE_OBJECT, .fields = list_fields};

static void put_items(struct openapi_builder *b, struct json *schema, struct json *item)
{
	static const char *const required[] = {"items", NULL};
	struct json *items = json_object(b->arena);

	openapi_put_text(b, items, "description", "The objects.");
	openapi_put_text(b, items, "type", "array");
	openapi_put(b, items, "items", item);
	openapi_put(b, json_gets(schema, "properties"), "items", items);
	openapi_put(b, schema, "required", openapi_text_list(b, required));
}

struct json *openapi_define_list(struct openapi_builder *b, const struct kind *kind, const struct version *version)
{
	const char *name = list_definition(b, kind, version);
	struct json *schema = claim_definition(b, name);

	if (schema) {
		openapi_put_text(
			b, schema, "description", arena_printf(b->arena, "A list of objects of kind %s.", kind->kind).p);
		put_structure(b, schema, &list_type);
		put_items(b, schema, openapi_define_kind(b, kind, version));
		put_gvks(b, schema, one_gvk(b, version, kind->list_kind));
		if (kind->life) {
			put_selectable(b, schema, kind, version);
		}
	}
	return openapi_ref(b, name);
}

/* ---- DeleteOptions and Status ---- */

static bool has_gvk(const struct json *gvks, const char *group, const char *version)
{
	for (uint32_t i = 0; i < gvks->n; i++) {
		if (str_is(json_text(json_gets(gvks->items[i], "group")), group) &&
			str_is(json_text(json_gets(gvks->items[i], "version")), version)) {
			return true;
		}
	}
	return false;
}

static int gvk_cmp(const void *a, const void *b)
{
	const struct json *const *x = a, *const *y = b;
	int r = str_cmp(json_text(json_gets(*x, "group")), json_text(json_gets(*y, "group")));

	return r ? r : str_cmp(json_text(json_gets(*x, "version")), json_text(json_gets(*y, "version")));
}

/* Every group version has its DeleteOptions, and they are all the same; the core group's is there in any case. */
static struct json *gvks_everywhere(struct openapi_builder *b, const char *kind)
{
	struct json *gvks = json_array(b->arena);

	json_append(b->arena, gvks, openapi_gvk(b, "", "v1", kind));
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		for (size_t j = 0; j < k->n_versions; j++) {
			const struct version *v = &k->versions[j];
			if (version_is_visible(v, b->is_standalone) && !has_gvk(gvks, v->group, v->name)) {
				json_append(b->arena, gvks, openapi_gvk(b, v->group, v->name, kind));
			}
		}
	}
	qsort(gvks->items, gvks->n, sizeof(struct json *), gvk_cmp);
	return gvks;
}

struct json *openapi_define_options(struct openapi_builder *b)
{
	struct json *schema = claim_definition(b, type_delete_options.definition);

	if (schema) {
		put_structure(b, schema, &type_delete_options);
		put_common_gvks(b, schema, gvks_everywhere(b, "DeleteOptions"));
	}
	return openapi_ref(b, type_delete_options.definition);
}

struct json *openapi_define_status(struct openapi_builder *b)
{
	static const struct version core = {.group = "", .name = "v1"};
	struct json *schema = claim_definition(b, type_status.definition);

	if (schema) {
		put_structure(b, schema, &type_status);
		put_common_gvks(b, schema, one_gvk(b, &core, "Status"));
	}
	return openapi_ref(b, type_status.definition);
}

/* ---- types of the machinery ---- */

/* Objects that are no kinds, but travel: options, statuses, patches. */

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

static const struct type type_status_cause = {
	.kind = TYPE_OBJECT,
	.definition = META "StatusCause",
	.doc = "One of the reasons for a failure.",
	.fields =
		(const struct field[]){
			{"field", &type_string, 0, "The field at fault, as a path: spec.providers[0].name.", NULL, NULL},
			{"message", &type_string, 0, "What is wrong, for people.", NULL, NULL},
			{"reason", &type_string, 0, "What is wrong, in one word for programs.", NULL, NULL},
			{0},
		},
};
static const struct type type_status_causes = {.kind = TYPE_LIST, .elem = &type_status_cause};

static const struct type type_status_details = {
	.kind = TYPE_OBJECT,
	.definition = META "StatusDetails",
	.doc = "What a status is about.",
	.fields =
		(const struct field[]){
			{"causes", &type_status_causes, 0, "All that was found wrong.", NULL, NULL},
			{"group", &type_string, 0, "API group of the object.", NULL, NULL},
			{"kind", &type_string, 0, "Kind or resource of the object.", NULL, NULL},
			{"name", &type_string, 0, "Name of the object.", NULL, NULL},
			{"retryAfterSeconds", &type_int32, 0, "After how many seconds another attempt makes sense.", NULL,
				NULL},
			{"uid", &type_string, 0, "uid of the object.", NULL, NULL},
			{0},
		},
};

const struct type type_status = {
	.kind = TYPE_OBJECT,
	.definition = META "Status",
	.doc = "How a request ended that answers no object.",
	.fields =
		(const struct field[]){
			{"apiVersion", &type_string, 0, "v1.", NULL, NULL},
			{"code", &type_int32, 0, "HTTP status code.", NULL, NULL},
			{"details", &type_status_details, 0, "What it is about.", NULL, NULL},
			{"kind", &type_string, 0, "Status.", NULL, NULL},
			{"message", &type_string, 0, "What happened, for people.", NULL, NULL},
			{"metadata", &type_list_meta, 0, "Of a list that cannot be continued: how it can.", NULL, NULL},
			{"reason", &type_string, 0, "What happened, in one word for programs.", NULL, NULL},
			{"status", &type_string, 0, "Success or Failure.", NULL, NULL},
			{0},
		},
};

/* A JSON patch is a list; upstream says object all the same, and generated clients know that. */
const struct type type_patch = {
	.kind = TYPE_RAW,
	.definition = META "Patch",
	.doc = "A change to an object, in the form that the Content-Type names.",
};

const struct type type_version_info = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.version.Info",
	.doc = "What the server was built from.",
	.fields =
		(const struct field[]){
			{"buildDate", &type_string, FIELD_MANDATORY, "When.", NULL, NULL},
			{"compiler", &type_string, FIELD_MANDATORY, "With which compiler.", NULL, NULL},
			{"gitCommit", &type_string, FIELD_MANDATORY, "From which commit.", NULL, NULL},
			{"gitTreeState", &type_string, FIELD_MANDATORY, "Whether the tree was clean.", NULL, NULL},
			{"gitVersion", &type_string, FIELD_MANDATORY, "The version.", NULL, NULL},
			{"goVersion", &type_string, FIELD_MANDATORY, "Version of Go; of interest elsewhere.", NULL, NULL},
			{"major", &type_string, FIELD_MANDATORY, "First number of the version.", NULL, NULL},
			{"minor", &type_string, FIELD_MANDATORY, "Second number of the version.", NULL, NULL},
			{"platform", &type_string, FIELD_MANDATORY, "For which platform.", NULL, NULL},
			{0},
		},
};

/* ---- operations ---- */

/* Both versions of OpenAPI describe the same operations, so these are tables: verbs by level of a
 * path, parameters by what takes them. Names of operations are upstream's, because generated
 * clients have functions of these names. */

const char *const openapi_patch_types[] = {"application/apply-patch+yaml", "application/json-patch+json",
	"application/merge-patch+json", "application/strategic-merge-patch+json", NULL};
static const char *const media_types[] = {"application/json", "application/yaml", NULL};
static const char *const media_types_protobuf[] = {
	"application/json", "application/vnd.kubernetes.protobuf", "application/yaml", NULL};
const char *const openapi_diff_types[] = {"application/json", "application/json-patch+json", "application/merge-patch+json",
	"application/vnd.annals.hunks+json", NULL};
static const char *const list_media_types[] = {"application/json", "application/json;stream=watch", "application/yaml", NULL};
static const char *const list_media_types_protobuf[] = {"application/json", "application/json;stream=watch",
	"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch", "application/yaml", NULL};

/* By name. */
const struct openapi_parameter openapi_parameters[] = {
	{"allowWatchBookmarks", "boolean", "Whether a watch may send bookmarks, which only say how far it has come.",
		PARAMETERS_WATCH},
	{"context", "string", "In hunks, how many lines are shown around each change: 3, another number, or all.",
		PARAMETERS_DIFF},
	{"continue", "string", "What the part of the list before this one said in metadata.continue.", PARAMETERS_SELECT},
	{"dryRun", "string", "All: go through all steps, but store nothing.", PARAMETERS_WRITE | PARAMETERS_DELETE},
	{"fieldManager", "string", "Who makes the change, for metadata.managedFields; required to apply.", PARAMETERS_WRITE},
	{"fieldSelector", "string", "Only objects whose fields match: metadata.name=a,metadata.namespace!=b.",
		PARAMETERS_SELECT},
	{"fieldValidation", "string", "What unknown and repeated fields do: Ignore, Warn (default) or Strict.",
		PARAMETERS_WRITE},
	{"force", "boolean", "Whether to take over, when applying, fields that others own.", PARAMETERS_APPLY},
	{"from", "string", "Name of the object with which to compare; must be said.", PARAMETERS_DIFF},
	{"gracePeriodSeconds", "integer", "How long the object may take to stop.", PARAMETERS_DELETE},
	{"labelSelector", "string", "Only objects whose labels match: app=web,tier in (a, b),!canary.", PARAMETERS_SELECT},
	{"limit", "integer", "How many objects to answer at most; metadata.continue then leads to the rest.",
		PARAMETERS_SELECT},
	{"name", "string", "Name of the object.", PARAMETERS_NAME},
	{"namespace", "string", "Namespace of the objects.", PARAMETERS_NAMESPACE},
	{"orphanDependents", "boolean", "Whether dependents are kept. Superseded by propagationPolicy.", PARAMETERS_DELETE},
	{"pretty", "string", "true: indent the answer. Done unasked for browsers, curl and Wget.", PARAMETERS_EVERYWHERE},
	{"propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground.", PARAMETERS_DELETE},
	{"resourceVersion", "string", "Which version of the collection to read, or where to begin a watch.", PARAMETERS_SELECT},
	{"resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan.", PARAMETERS_SELECT},
	{"sendInitialEvents", "boolean", "Whether a watch begins with what is there.", PARAMETERS_SELECT},
	{"timeoutSeconds", "integer", "How long the request may take, watches included.", PARAMETERS_SELECT},
	{"watch", "boolean", "Answer the changes as they come rather than a list.", PARAMETERS_WATCH},
	{0},
};

/* ---- verbs ---- */

static const struct openapi_verb collection_verbs[] = {
	{VERB_LIST, "get", "list", "list", "list or watch objects of kind %s", PARAMETERS_SELECT | PARAMETERS_WATCH,
		PAYLOAD_NONE, PAYLOAD_LIST, false, false},
	{VERB_CREATE, "post", "post", "create", "create an object of kind %s", PARAMETERS_WRITE, PAYLOAD_OBJECT, PAYLOAD_OBJECT,
		true, true},
	{VERB_DELETECOLLECTION, "delete", "deletecollection", "delete", "delete all selected objects of kind %s",
		PARAMETERS_SELECT | PARAMETERS_DELETE, PAYLOAD_DELETE_OPTIONS, PAYLOAD_STATUS, false, false},
	{0},
};

static const struct openapi_verb all_namespaces_verbs[] = {
	{VERB_LIST, "get", "list", "list", "list or watch objects of kind %s in all namespaces",
		PARAMETERS_SELECT | PARAMETERS_WATCH, PAYLOAD_NONE, PAYLOAD_LIST, false, false},
	{0},
};

/* And of subresources, which alone can be posted to. */
static const struct openapi_verb object_verbs[] = {
	{VERB_GET, "get", "get", "read", "read an object of kind %s", 0, PAYLOAD_NONE, PAYLOAD_OBJECT, false, false},
	{VERB_CREATE, "post", "post", "create", "create an object of kind %s", PARAMETERS_WRITE, PAYLOAD_OBJECT, PAYLOAD_OBJECT,
		true, true},
	{VERB_UPDATE, "put", "put", "replace", "replace an object of kind %s", PARAMETERS_WRITE, PAYLOAD_OBJECT, PAYLOAD_OBJECT,
		true, false},
	{VERB_DELETE, "delete", "delete", "delete", "delete an object of kind %s", PARAMETERS_DELETE, PAYLOAD_DELETE_OPTIONS,
		PAYLOAD_STATUS, false, true},
	{VERB_PATCH, "patch", "patch", "patch", "change parts of an object of kind %s", PARAMETERS_WRITE | PARAMETERS_APPLY,
		PAYLOAD_PATCH, PAYLOAD_OBJECT, true, false},
	{0},
};

static const struct openapi_verb *const verbs_of_level[] = {
	[LEVEL_COLLECTION] = collection_verbs,
	[LEVEL_ALL_NAMESPACES] = all_namespaces_verbs,
	[LEVEL_OBJECT] = object_verbs,
	[LEVEL_SUBRESOURCE] = object_verbs,
};

static unsigned path_verbs(const struct openapi_path *p)
{
	unsigned own = p->level == LEVEL_OBJECT ? p->kind->verbs & ~(unsigned)VERB_CREATE : p->kind->verbs;

	return p->sub ? p->sub->verbs : own;
}

const struct openapi_verb *openapi_next_verb(const struct openapi_path *p, const struct openapi_verb *v)
{
	v = v ? v + 1 : verbs_of_level[p->level];
	while (v->method && !(path_verbs(p) & v->verb)) {
		v++;
	}
	return v->method ? v : NULL;
}

/* The texts about an extension whose answer is no object of the kind. */
static const struct extension_documents {
	const char *const *types; /* media types of the answer; NULL: those of the verb */
	enum openapi_payload payload;
	unsigned parameters;
} documents_of_extension[] = {
	[EXTENSION_DIFF] = {openapi_diff_types, PAYLOAD_PATCH, PARAMETERS_DIFF},
};

static const struct extension_documents *path_extension(const struct openapi_path *p)
{
	bool has_row = p->sub && p->sub->extension < ARRAY_SIZE(documents_of_extension);

	return has_row && documents_of_extension[p->sub->extension].types ? &documents_of_extension[p->sub->extension] : NULL;
}

enum openapi_payload openapi_answer_of(const struct openapi_path *p, const struct openapi_verb *v)
{
	const struct extension_documents *extension = path_extension(p);

	if (extension) {
		return extension->payload;
	}
	return v->verb == VERB_DELETE && p->kind->delete_answers_object ? PAYLOAD_OBJECT : v->answer;
}

const char *const *openapi_answer_types(const struct openapi_path *p, const struct openapi_verb *v)
{
	const struct extension_documents *extension = path_extension(p);

	if (extension) {
		return extension->types;
	}
	if (protobuf_has_objects(p->kind, p->version)) {
		return v->answer == PAYLOAD_LIST ? list_media_types_protobuf : media_types_protobuf;
	}
	return v->answer == PAYLOAD_LIST ? list_media_types : media_types;
}

/* ---- paths ---- */

struct path_level {
	enum openapi_level level;
	const char *format; /* root, resource, subresource */
	unsigned parameters;
};

static const struct path_level namespaced_levels[] = {
	{LEVEL_ALL_NAMESPACES, "%s/%s", 0},
	{LEVEL_COLLECTION, "%s/namespaces/{namespace}/%s", PARAMETERS_NAMESPACE},
	{LEVEL_OBJECT, "%s/namespaces/{namespace}/%s/{name}", PARAMETERS_NAMESPACE | PARAMETERS_NAME},
	{LEVEL_SUBRESOURCE, "%s/namespaces/{namespace}/%s/{name}/%s", PARAMETERS_NAMESPACE | PARAMETERS_NAME},
};

static const struct path_level cluster_levels[] = {
	{LEVEL_COLLECTION, "%s/%s", 0},
	{LEVEL_OBJECT, "%s/%s/{name}", PARAMETERS_NAME},
	{LEVEL_SUBRESOURCE, "%s/%s/{name}/%s", PARAMETERS_NAME},
};

/* The patterns of the tables above, filled in: %s by %s. */
static char *fill_in(struct arena *a, const char *format, const char *const parts[])
{
	struct buf out;

	buf_init(&out, 4096);
	for (const char *p = format; *p; p++) {
		if (p[0] == '%' && p[1] == 's') {
			buf_adds(&out, *parts++);
			p++;
		} else {
			buf_addc(&out, *p);
		}
	}
	char *path = arena_strdup(a, out.p);
	buf_done(&out);
	return path;
}

struct path_walk {
	struct openapi_builder *builder;
	const char *root; /* "/apis/apps/v1" */
	void (*add)(void *ctx, const struct openapi_path *path);
	void *ctx;
};

static void walk_path(struct path_walk *w, const struct path_level *level, struct openapi_path *p)
{
	const char *const parts[] = {w->root, p->kind->resource, p->sub ? p->sub->name : NULL};
	const struct extension_documents *extension = path_extension(p);

	p->path = fill_in(w->builder->arena, level->format, parts);
	p->level = level->level;
	p->parameters = level->parameters | PARAMETERS_EVERYWHERE | (extension ? extension->parameters : 0U);
	if (openapi_next_verb(p, NULL)) {
		w->add(w->ctx, p);
	}
}

static void walk_subresources(struct path_walk *w, const struct path_level *level, struct openapi_path *p)
{
	for (size_t i = 0; i < p->kind->n_subresources; i++) {
		p->sub = &p->kind->subresources[i];
		if (subresource_is_visible(p->sub, p->kind, p->version)) {
			walk_path(w, level, p);
		}
	}
	p->sub = NULL;
}

void openapi_each_path(struct openapi_builder *b, const struct kind *kind, const struct version *version,
	void (*add)(void *ctx, const struct openapi_path *path), void *ctx)
{
	const struct path_level *levels = kind->is_namespaced ? namespaced_levels : cluster_levels;
	size_t n = kind->is_namespaced ? ARRAY_SIZE(namespaced_levels) : ARRAY_SIZE(cluster_levels);
	struct str api_version = version_api_version(version, b->arena);
	struct path_walk w = {
		.builder = b,
		.root = arena_printf(b->arena, "%s" STR_FMT, version->group[0] ? "/apis/" : "/api/", STR_ARG(api_version)).p,
		.add = add,
		.ctx = ctx,
	};
	struct openapi_path p = {.kind = kind, .version = version};

	for (size_t i = 0; i < n; i++) {
		if (levels[i].level == LEVEL_SUBRESOURCE) {
			walk_subresources(&w, &levels[i], &p);
		} else {
			walk_path(&w, &levels[i], &p);
		}
	}
}

/* ---- names ---- */

static void add_capitalized(struct buf *out, struct str s)
{
	if (s.n > 0) {
		buf_addc(out, (char)toupper((unsigned char)s.p[0]));
		buf_add(out, s.p + 1, s.n - 1);
	}
}

/* "annals.dev" is AnnalsDev, "coordination.k8s.io" Coordination, "" Core. */
static void add_group(struct buf *out, const char *group)
{
	struct str rest = str_of(group[0] ? group : "core"), part;

	if (str_ends(rest, STR(".k8s.io"))) {
		rest.n -= strlen(".k8s.io");
	}
	while (rest.n > 0) {
		str_cut(rest, '.', &part, &rest);
		add_capitalized(out, part);
	}
}

static const char *take_text(struct openapi_builder *b, struct buf *text)
{
	const char *copy = arena_strdup(b->arena, text->p);

	buf_done(text);
	return copy;
}

const char *openapi_operation_id(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	struct buf id;

	buf_init(&id, 1024);
	buf_adds(&id, v->id);
	add_group(&id, p->version->group);
	add_capitalized(&id, str_of(p->version->name));
	buf_adds(&id, v->verb == VERB_DELETECOLLECTION ? "Collection" : "");
	buf_adds(&id, p->parameters & PARAMETERS_NAMESPACE ? "Namespaced" : "");
	buf_adds(&id, p->kind->kind);
	if (p->sub) {
		add_capitalized(&id, str_of(p->sub->name));
	}
	buf_adds(&id, p->level == LEVEL_ALL_NAMESPACES ? "ForAllNamespaces" : "");
	return take_text(b, &id);
}

const char *openapi_operation_doc(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	const char *const parts[] = {p->kind->kind};
	const char *doc = fill_in(b->arena, v->doc, parts);

	return p->sub ? arena_printf(b->arena, "%s through its subresource %s", doc, p->sub->name).p : doc;
}

struct json *openapi_path_gvk(struct openapi_builder *b, const struct openapi_path *p)
{
	/* kube-apiserver names a custom resource itself for its scale, too. */
	const struct subresource *sub = p->kind->life ? NULL : p->sub;
	const struct version *v = subresource_version(sub, p->version);

	return openapi_gvk(b, v->group, v->name, subresource_kind(sub, p->kind)->kind);
}

const char *openapi_tag(struct openapi_builder *b, const struct version *version)
{
	struct buf tag;

	buf_init(&tag, 1024);
	add_group(&tag, version->group);
	tag.p[0] = (char)tolower((unsigned char)tag.p[0]);
	buf_addc(&tag, '_');
	buf_adds(&tag, version->name);
	return take_text(b, &tag);
}
