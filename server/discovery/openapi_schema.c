/* Schemas of both versions of OpenAPI are made here from the types that decode and validate
 * objects: a document cannot promise what the server does not take. A definition is claimed before
 * it is filled in, so types may contain themselves. Members are sorted at the end, once, which
 * gives equal documents equal hashes. */
#include "server/discovery/openapi_build.h"

#include <stdlib.h>

/* ---- trees ---- */

void put(struct openapi_builder *b, struct json *object, const char *name, struct json *value)
{
	json_add(b->arena, object, str_of(name), value);
}

void put_text(struct openapi_builder *b, struct json *object, const char *name, const char *text)
{
	if (text) {
		put(b, object, name, json_string(b->arena, str_of(text)));
	}
}

struct json *text_list(struct openapi_builder *b, const char *const *texts)
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
		json_add(b->arena, o, members[i].name, sorted_by_name(b, members[i].value));
	}
	return o;
}

static struct json *sorted_items(struct openapi_builder *b, const struct json *j)
{
	struct json *list = json_array(b->arena);

	for (uint32_t i = 0; i < j->n; i++) {
		json_append(b->arena, list, sorted_by_name(b, j->items[i]));
	}
	return list;
}

struct json *sorted_by_name(struct openapi_builder *b, const struct json *j)
{
	if (j->kind == JSON_OBJECT) {
		return sorted_object(b, j);
	}
	return j->kind == JSON_ARRAY ? sorted_items(b, j) : json_copy(b->arena, j);
}

/* ---- references ---- */

struct json *openapi_ref(struct openapi_builder *b, const char *name)
{
	struct json *ref = json_object(b->arena);

	put(b, ref, "$ref", json_string(b->arena, arena_printf(b->arena, "%s%s", b->dialect->ref_prefix, name)));
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
	put(b, wrapper, "allOf", all_of);
	return wrapper;
}

/* ---- schemas ---- */

static void put_one_of(struct openapi_builder *b, struct json *schema, const char *first, const char *second)
{
	const char *const types[] = {first, second};
	struct json *one_of = json_array(b->arena);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct json *option = json_object(b->arena);
		put_text(b, option, "type", types[i]);
		json_append(b->arena, one_of, option);
	}
	put(b, schema, "oneOf", one_of);
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
	[TYPE_RAW] = {"object", NULL, NULL},
	[TYPE_FIELDS_V1] = {"object", NULL, NULL},
};

static void put_type(struct openapi_builder *b, struct json *schema, enum type_kind kind)
{
	if (scalars[kind].other_type && b->dialect->has_one_of) {
		put_one_of(b, schema, scalars[kind].type, scalars[kind].other_type);
	} else {
		put_text(b, schema, "type", scalars[kind].type);
	}
	put_text(b, schema, "format", scalars[kind].format);
}

static void put_list(struct openapi_builder *b, struct json *schema, const struct type *type)
{
	static const char *const names[] = {[LIST_ATOMIC] = "atomic", [LIST_SET] = "set", [LIST_MAP] = "map"};

	put(b, schema, "items", openapi_schema(b, type->elem));
	put_text(b, schema, "x-kubernetes-list-type", names[type->list_type]);
	if (type->list_type == LIST_MAP) {
		put(b, schema, "x-kubernetes-list-map-keys", text_list(b, type->list_keys));
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
		put(b, schema, "default", default_value(b, f->default_json));
	}
	if (f->flags & (FIELD_PATCH_MERGE | FIELD_RETAIN_KEYS)) {
		put_text(b, schema, "x-kubernetes-patch-strategy",
			!(f->flags & FIELD_RETAIN_KEYS)          ? "merge"
				: (f->flags & FIELD_PATCH_MERGE) ? "merge,retainKeys"
								 : "retainKeys");
	}
	put_text(b, schema, "x-kubernetes-patch-merge-key", f->merge_key);
	return schema;
}

static void put_fields(struct openapi_builder *b, struct json *schema, const struct type *type)
{
	struct json *properties = json_object(b->arena), *required = json_array(b->arena);

	for (const struct field *f = type->fields; f && f->name; f++) {
		put(b, properties, f->name, field_schema(b, f));
		if (f->flags & FIELD_MANDATORY) {
			json_append(b->arena, required, json_string(b->arena, str_of(f->name)));
		}
	}
	put(b, schema, "properties", properties);
	if (required->n > 0) {
		put(b, schema, "required", required);
	}
}

/* What the type is, without regard to whether it has a name. */
static void put_structure(struct openapi_builder *b, struct json *schema, const struct type *type)
{
	put_text(b, schema, "description", type->doc);
	put_type(b, schema, type->kind);
	if (type->kind == TYPE_OBJECT) {
		put_fields(b, schema, type);
	} else if (type->kind == TYPE_MAP) {
		put(b, schema, "additionalProperties", openapi_schema(b, type->elem));
	} else if (type->kind == TYPE_LIST) {
		put_list(b, schema, type);
	}
	if (type->is_atomic) {
		put_text(b, schema, "x-kubernetes-map-type", "atomic");
	}
}

/* The empty definition, when it is new: it is in place before its structure is made, so types may contain themselves. */
static struct json *claim_definition(struct openapi_builder *b, const char *name)
{
	struct json *schema;

	if (json_gets(b->definitions, name)) {
		return NULL;
	}
	schema = json_object(b->arena);
	put(b, b->definitions, name, schema);
	return schema;
}

/* ---- kinds ---- */

struct json *openapi_gvk(struct openapi_builder *b, const char *group, const char *version, const char *kind)
{
	struct json *gvk = json_object(b->arena);

	put_text(b, gvk, "group", group);
	put_text(b, gvk, "version", version);
	put_text(b, gvk, "kind", kind);
	return gvk;
}

static void put_gvks(struct openapi_builder *b, struct json *schema, struct json *gvks)
{
	put(b, schema, "x-kubernetes-group-version-kind", gvks);
}

static struct json *one_gvk(struct openapi_builder *b, const struct door *door, const char *kind)
{
	struct json *list = json_array(b->arena);

	json_append(b->arena, list, openapi_gvk(b, door->group, door->version, kind));
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
		for (size_t j = 0; j < kind->n_doors; j++) {
			if (strcmp(kind->doors[j].definition, name) == 0) {
				put_common_gvks(b, schema, one_gvk(b, &kind->doors[j], kind->kind));
				return;
			}
		}
	}
}

struct json *openapi_define(struct openapi_builder *b, const char *name, const struct type *type)
{
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
static bool is_served(const struct openapi_builder *b, const struct kind *kind, const struct door *door)
{
	struct str group = str_of(door->group), version = str_of(door->version), resource = str_of(kind->resource);

	return kind_by_resource(group, version, resource, b->is_standalone, NULL) == kind;
}

struct json *openapi_define_kind(struct openapi_builder *b, const struct kind *kind, const struct door *door)
{
	struct json *schema = claim_definition(b, door->definition);

	if (schema) {
		put_structure(b, schema, door_type(kind, door));
		if (!door_type(kind, door)->doc) {
			put_text(b, schema, "description", kind->doc);
		}
		(is_served(b, kind, door) ? put_gvks : put_common_gvks)(b, schema, one_gvk(b, door, kind->kind));
	}
	return openapi_ref(b, door->definition);
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

	put_text(b, items, "description", "The objects.");
	put_text(b, items, "type", "array");
	put(b, items, "items", item);
	put(b, json_gets(schema, "properties"), "items", items);
	put(b, schema, "required", text_list(b, required));
}

/* "io.k8s.api.apps.v1.ControllerRevision" and "ControllerRevisionList" make "io.k8s.api.apps.v1.ControllerRevisionList". */
static const char *list_definition(struct openapi_builder *b, const struct kind *kind, const struct door *door)
{
	const char *dot = strrchr(door->definition, '.');
	int prefix = dot ? (int)(dot + 1 - door->definition) : 0;

	return arena_printf(b->arena, "%.*s%s", prefix, door->definition, kind->list_kind).p;
}

struct json *openapi_define_list(struct openapi_builder *b, const struct kind *kind, const struct door *door)
{
	const char *name = list_definition(b, kind, door);
	struct json *schema = claim_definition(b, name);

	if (schema) {
		put_text(b, schema, "description", arena_printf(b->arena, "A list of objects of kind %s.", kind->kind).p);
		put_structure(b, schema, &list_type);
		put_items(b, schema, openapi_define_kind(b, kind, door));
		put_gvks(b, schema, one_gvk(b, door, kind->list_kind));
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
		for (size_t j = 0; j < k->n_doors; j++) {
			const struct door *d = &k->doors[j];
			if (door_is_visible(d, b->is_standalone) && !has_gvk(gvks, d->group, d->version)) {
				json_append(b->arena, gvks, openapi_gvk(b, d->group, d->version, kind));
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
	static const struct door core = {.group = "", .version = "v1"};
	struct json *schema = claim_definition(b, type_status.definition);

	if (schema) {
		put_structure(b, schema, &type_status);
		put_common_gvks(b, schema, one_gvk(b, &core, "Status"));
	}
	return openapi_ref(b, type_status.definition);
}
