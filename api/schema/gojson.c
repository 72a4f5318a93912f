/* Go's JSON of upstream's internal types, which have no names for JSON: {"Name":"v1","Served":true,...}.
 * And what Go leaves out of the JSON of a schema, by the same table. */
#include "api/schema/gojson.h"

#include "base/base.h"

enum go_kind {
	GO_TEXT,    /* "" where absent */
	GO_BOOL,    /* false */
	GO_NUMBER,  /* 0 */
	GO_POINTER, /* null; also of values as they are */
	GO_LIST,    /* null; of texts or values, which JSON leaves out when it is empty */
	GO_PROPS,
	GO_PROPS_LIST,
	GO_PROPS_MAP,
	GO_PROPS_OR_BOOL,
	GO_PROPS_OR_LIST,
	GO_PROPS_OR_TEXTS, /* a map of them */
	GO_STRUCT,         /* a pointer to one */
	GO_STRUCT_LIST,
};

struct go_member {
	const char *go_name, *name; /* the latter NULL: none, which is written as absent */
	enum go_kind kind;
	const struct go_member *members; /* of a struct; ends with a NULL name */
};

static const struct go_member docs_members[] = {
	{"Description", "description", GO_TEXT, NULL},
	{"URL", "url", GO_TEXT, NULL},
	{NULL, NULL, GO_TEXT, NULL},
};

static const struct go_member rule_members[] = {
	{"Rule", "rule", GO_TEXT, NULL},
	{"Message", "message", GO_TEXT, NULL},
	{"MessageExpression", "messageExpression", GO_TEXT, NULL},
	{"Reason", "reason", GO_POINTER, NULL},
	{"FieldPath", "fieldPath", GO_TEXT, NULL},
	{"OptionalOldSelf", "optionalOldSelf", GO_POINTER, NULL},
	{NULL, NULL, GO_TEXT, NULL},
};

static const struct go_member props_members[] = {
	{"ID", "id", GO_TEXT, NULL},
	{"Schema", "$schema", GO_TEXT, NULL},
	{"Ref", "$ref", GO_POINTER, NULL},
	{"Description", "description", GO_TEXT, NULL},
	{"Type", "type", GO_TEXT, NULL},
	{"Nullable", "nullable", GO_BOOL, NULL},
	{"Format", "format", GO_TEXT, NULL},
	{"Title", "title", GO_TEXT, NULL},
	{"Default", "default", GO_POINTER, NULL},
	{"Maximum", "maximum", GO_POINTER, NULL},
	{"ExclusiveMaximum", "exclusiveMaximum", GO_BOOL, NULL},
	{"Minimum", "minimum", GO_POINTER, NULL},
	{"ExclusiveMinimum", "exclusiveMinimum", GO_BOOL, NULL},
	{"MaxLength", "maxLength", GO_POINTER, NULL},
	{"MinLength", "minLength", GO_POINTER, NULL},
	{"Pattern", "pattern", GO_TEXT, NULL},
	{"MaxItems", "maxItems", GO_POINTER, NULL},
	{"MinItems", "minItems", GO_POINTER, NULL},
	{"UniqueItems", "uniqueItems", GO_BOOL, NULL},
	{"MultipleOf", "multipleOf", GO_POINTER, NULL},
	{"Enum", "enum", GO_LIST, NULL},
	{"MaxProperties", "maxProperties", GO_POINTER, NULL},
	{"MinProperties", "minProperties", GO_POINTER, NULL},
	{"Required", "required", GO_LIST, NULL},
	{"Items", "items", GO_PROPS_OR_LIST, NULL},
	{"AllOf", "allOf", GO_PROPS_LIST, NULL},
	{"OneOf", "oneOf", GO_PROPS_LIST, NULL},
	{"AnyOf", "anyOf", GO_PROPS_LIST, NULL},
	{"Not", "not", GO_PROPS, NULL},
	{"Properties", "properties", GO_PROPS_MAP, NULL},
	{"AdditionalProperties", "additionalProperties", GO_PROPS_OR_BOOL, NULL},
	{"PatternProperties", "patternProperties", GO_PROPS_MAP, NULL},
	{"Dependencies", "dependencies", GO_PROPS_OR_TEXTS, NULL},
	{"AdditionalItems", "additionalItems", GO_PROPS_OR_BOOL, NULL},
	{"Definitions", "definitions", GO_PROPS_MAP, NULL},
	{"ExternalDocs", "externalDocs", GO_STRUCT, docs_members},
	{"Example", "example", GO_POINTER, NULL},
	{"XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", GO_POINTER, NULL},
	{"XEmbeddedResource", "x-kubernetes-embedded-resource", GO_BOOL, NULL},
	{"XIntOrString", "x-kubernetes-int-or-string", GO_BOOL, NULL},
	{"XListMapKeys", "x-kubernetes-list-map-keys", GO_LIST, NULL},
	{"XListType", "x-kubernetes-list-type", GO_POINTER, NULL},
	{"XMapType", "x-kubernetes-map-type", GO_POINTER, NULL},
	{"XValidations", "x-kubernetes-validations", GO_STRUCT_LIST, rule_members},
	{NULL, NULL, GO_TEXT, NULL},
};

static const struct go_member scale_members[] = {
	{"SpecReplicasPath", "specReplicasPath", GO_TEXT, NULL},
	{"StatusReplicasPath", "statusReplicasPath", GO_TEXT, NULL},
	{"LabelSelectorPath", "labelSelectorPath", GO_POINTER, NULL},
	{NULL, NULL, GO_TEXT, NULL},
};

static const struct go_member subresources_members[] = {
	{"Status", "status", GO_POINTER, NULL},
	{"Scale", "scale", GO_STRUCT, scale_members},
	{NULL, NULL, GO_TEXT, NULL},
};

static const struct go_member column_members[] = {
	{"Name", "name", GO_TEXT, NULL},
	{"Type", "type", GO_TEXT, NULL},
	{"Format", "format", GO_TEXT, NULL},
	{"Description", "description", GO_TEXT, NULL},
	{"Priority", "priority", GO_NUMBER, NULL},
	{"JSONPath", "jsonPath", GO_TEXT, NULL},
	{NULL, NULL, GO_TEXT, NULL},
};

static const struct go_member selectable_members[] = {
	{"JSONPath", "jsonPath", GO_TEXT, NULL},
	{NULL, NULL, GO_TEXT, NULL},
};

static const struct go_member validation_members[] = {
	{"OpenAPIV3Schema", "openAPIV3Schema", GO_PROPS, NULL},
	{NULL, NULL, GO_TEXT, NULL},
};

static const struct go_member version_members[] = {
	{"Name", "name", GO_TEXT, NULL},
	{"Served", "served", GO_BOOL, NULL},
	{"Storage", "storage", GO_BOOL, NULL},
	{"Deprecated", "deprecated", GO_BOOL, NULL},
	{"DeprecationWarning", "deprecationWarning", GO_POINTER, NULL},
	{"Schema", "schema", GO_STRUCT, validation_members},
	{"Subresources", "subresources", GO_STRUCT, subresources_members},
	{"AdditionalPrinterColumns", "additionalPrinterColumns", GO_STRUCT_LIST, column_members},
	{"SelectableFields", "selectableFields", GO_STRUCT_LIST, selectable_members},
	{NULL, NULL, GO_TEXT, NULL},
};

static struct json *go_struct(const struct json *j, const struct go_member *members, struct arena *a);

static struct json *go_list(const struct json *list, const struct go_member *members, struct arena *a)
{
	if (!json_is(list, JSON_ARRAY) || !list->n) {
		return json_null(a);
	}
	struct json *made = json_array(a);
	for (uint32_t i = 0; i < list->n; i++) {
		json_append(a, made, go_struct(list->items[i], members, a));
	}
	return made;
}

/* {"Schema":...,OTHER:...}, of which one is set. */
static struct json *go_either(const struct json *j, const char *other, struct json *value, bool schema_first, struct arena *a)
{
	struct json *made = json_object(a);
	struct json *schema = json_is(j, JSON_OBJECT) ? go_struct(j, props_members, a) : json_null(a);
	if (schema_first) {
		json_add(a, made, STR("Schema"), schema);
	}
	json_add(a, made, str_of(other), value);
	if (!schema_first) {
		json_add(a, made, STR("Schema"), schema);
	}
	return made;
}

static struct json *go_map(const struct json *map, enum go_kind kind, struct arena *a)
{
	if (!json_is(map, JSON_OBJECT) || !map->n) {
		return json_null(a);
	}
	struct json *made = json_object(a);
	for (uint32_t i = 0; i < map->n; i++) {
		struct json *value = map->members[i].value;
		bool is_texts = json_is(value, JSON_ARRAY);
		json_add(a, made, map->members[i].name,
			kind == GO_PROPS_MAP ? go_struct(value, props_members, a)
					     : go_either(value, "Property", is_texts ? value : json_null(a), true, a));
	}
	return made;
}

static struct json *go_value(const struct json *j, const struct go_member *m, struct arena *a)
{
	bool is_given = j && j->kind != JSON_NULL;
	switch (m->kind) {
	case GO_TEXT:
		return is_given ? (struct json *)j : json_string(a, STR(""));
	case GO_BOOL:
		return is_given ? (struct json *)j : json_bool(a, false);
	case GO_NUMBER:
		return is_given ? (struct json *)j : json_int(a, 0);
	case GO_POINTER:
	case GO_LIST:
		return is_given ? (struct json *)j : json_null(a);
	case GO_PROPS:
		return is_given ? go_struct(j, props_members, a) : json_null(a);
	case GO_PROPS_LIST:
		return go_list(j, props_members, a);
	case GO_PROPS_MAP:
	case GO_PROPS_OR_TEXTS:
		return go_map(j, m->kind, a);
	case GO_PROPS_OR_BOOL:
		return is_given ? go_either(j, "Allows", json_bool(a, j->kind != JSON_BOOL || j->boolean), false, a)
				: json_null(a);
	case GO_PROPS_OR_LIST:
		return is_given ? go_either(j, "JSONSchemas", go_list(j, props_members, a), true, a) : json_null(a);
	case GO_STRUCT:
		return is_given ? go_struct(j, m->members, a) : json_null(a);
	case GO_STRUCT_LIST:
		return go_list(j, m->members, a);
	}
	return NULL;
}

static struct json *go_struct(const struct json *j, const struct go_member *members, struct arena *a)
{
	struct json *made = json_object(a);
	for (const struct go_member *m = members; m->go_name; m++) {
		json_add(a, made, str_of(m->go_name), go_value(json_gets(j, m->name), m, a));
	}
	return made;
}

struct json *gojson_props(const struct json *schema, struct arena *a)
{
	return go_struct(schema, props_members, a);
}

/* ---- schemas as Go writes them in JSON: without members that are empty ---- */

static const struct go_member *props_member(struct str name)
{
	for (const struct go_member *m = props_members; m->go_name; m++) {
		if (name.n && m->name[0] == name.p[0] && str_is(name, m->name)) {
			return m;
		}
	}
	return NULL;
}

/* Does Go leave the value out? Pointers stay: what they point to may be empty. */
static bool is_left_out(const struct go_member *m, const struct json *j)
{
	switch (m->kind) {
	case GO_TEXT:
		return j->kind == JSON_STRING && j->n == 0;
	case GO_BOOL:
		return j->kind == JSON_BOOL && !j->boolean;
	case GO_LIST:
	case GO_PROPS_LIST:
	case GO_STRUCT_LIST:
		return j->kind == JSON_ARRAY && j->n == 0;
	case GO_PROPS_MAP:
	case GO_PROPS_OR_TEXTS:
		return j->kind == JSON_OBJECT && j->n == 0;
	default:
		return false;
	}
}

/* A map or a list of schemas, each shortened. */
static struct json *shorten_each(struct json *in, struct arena *a)
{
	struct json *made = in;
	for (uint32_t i = 0; (json_is(in, JSON_OBJECT) || json_is(in, JSON_ARRAY)) && i < in->n; i++) {
		struct json *old = in->kind == JSON_OBJECT ? in->members[i].value : in->items[i], *new = gojson_shorten(old, a);
		if (new == old) {
			continue;
		}
		made = made == in ? json_copy(a, in) : made;
		*(in->kind == JSON_OBJECT ? &made->members[i].value : &made->items[i]) = new;
	}
	return made;
}

static struct json *shorten_value(const struct go_member *m, struct json *j, struct arena *a)
{
	switch (m->kind) {
	case GO_PROPS:
	case GO_PROPS_LIST:
	case GO_PROPS_OR_BOOL:
	case GO_PROPS_OR_LIST:
		return json_is(j, JSON_ARRAY) ? shorten_each(j, a) : gojson_shorten(j, a);
	case GO_PROPS_MAP:
	case GO_PROPS_OR_TEXTS:
		return shorten_each(j, a);
	default:
		return j;
	}
}

struct json *gojson_shorten(struct json *schema, struct arena *a)
{
	struct json *made = json_object(a);
	bool is_same = true;
	for (uint32_t i = 0; json_is(schema, JSON_OBJECT) && i < schema->n; i++) {
		struct json *value = schema->members[i].value;
		const struct go_member *m = props_member(schema->members[i].name);
		if (m && is_left_out(m, value)) {
			is_same = false;
			continue;
		}
		struct json *shorter = m ? shorten_value(m, value, a) : value;
		is_same = is_same && shorter == value;
		json_add(a, made, schema->members[i].name, shorter);
	}
	return is_same ? schema : made;
}

struct json *gojson_versions(const struct json *versions, bool has_one_schema, bool has_one_subresources, bool has_one_columns,
	bool has_one_selectable, struct arena *a)
{
	struct json *made = go_list(versions, version_members, a);
	for (uint32_t i = 0; made->kind == JSON_ARRAY && i < made->n; i++) {
		const bool is_common[] = {has_one_schema, has_one_subresources, has_one_columns, has_one_selectable};
		const char *const names[] = {"Schema", "Subresources", "AdditionalPrinterColumns", "SelectableFields"};
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			if (is_common[k]) {
				json_set(a, made->items[i], str_of(names[k]), json_null(a));
			}
		}
	}
	return made;
}
