/* An OpenAPI v2 document as github.com/google/gnostic-models has it in protobuf: kubectl before 1.27 reads nothing else.
 *
 * The tree of the v2 document is walked once; messages live in the same arena until they are packed. */
#include "server/discovery/openapi_build.h"

#include "base/bytes.h"
#include "proto/openapi.pb-c.h"

#include <stdlib.h>

enum { ANY_MAX = 4 << 20 }; /* bytes of a value as text: a definition has at most 3 MiB */

/* In the arena, initialised as generated code wants it. */
#define NEW(a, type, init) ((type *)memcpy(arena_alloc((a), sizeof(type)), &(type)init, sizeof(type)))

static char *text(struct arena *a, const struct json *j)
{
	return (char *)arena_dup(a, json_text(j)).p;
}

/* Strings of proto3 are never NULL. */
static char *member_text(struct arena *a, const struct json *o, const char *name)
{
	const struct json *member = json_gets(o, name);

	return member ? text(a, member) : (char *)protobuf_c_empty_string;
}

static bool member_bool(const struct json *o, const char *name)
{
	const struct json *member = json_gets(o, name);

	return json_is(member, JSON_BOOL) && member->boolean;
}

static char **text_array(struct arena *a, const struct json *list, size_t *ret_n)
{
	uint32_t n = list ? list->n : 0;
	char **v = arena_array(a, char *, n);

	for (uint32_t i = 0; i < n; i++) {
		v[i] = text(a, list->items[i]);
	}
	*ret_n = n;
	return v;
}

/* ---- values of extensions ---- */

static Openapi__V2__Any *any(struct arena *a, const struct json *value)
{
	Openapi__V2__Any *m = NEW(a, Openapi__V2__Any, OPENAPI__V2__ANY__INIT);
	struct buf yaml;

	buf_init(&yaml, ANY_MAX);
	json_encode(&yaml, value);
	buf_addc(&yaml, '\n');
	m->yaml = arena_strdup(a, yaml.p);
	buf_done(&yaml);
	return m;
}

static bool is_extension(struct str name)
{
	return str_starts(name, STR("x-"));
}

static Openapi__V2__NamedAny **extensions(struct arena *a, const struct json *o, size_t *ret_n)
{
	Openapi__V2__NamedAny **v = arena_array(a, Openapi__V2__NamedAny *, o->n);
	size_t n = 0;

	for (uint32_t i = 0; i < o->n; i++) {
		if (is_extension(o->members[i].name)) {
			v[n] = NEW(a, Openapi__V2__NamedAny, OPENAPI__V2__NAMED_ANY__INIT);
			v[n]->name = (char *)arena_dup(a, o->members[i].name).p;
			v[n++]->value = any(a, o->members[i].value);
		}
	}
	*ret_n = n;
	return v;
}

/* ---- schemas ---- */

static Openapi__V2__Schema *schema(struct arena *a, const struct json *o);

static Openapi__V2__Any *member_any(struct arena *a, const struct json *o, const char *name)
{
	const struct json *member = json_gets(o, name);

	return member ? any(a, member) : NULL;
}

static int64_t member_count(const struct json *o, const char *name)
{
	int64_t n = 0;

	json_to_int64(json_gets(o, name), &n);
	return n;
}

static double member_number(struct arena *a, const struct json *o, const char *name)
{
	const struct json *member = json_gets(o, name);

	return json_is(member, JSON_NUMBER) ? strtod(text(a, member), NULL) : 0;
}

static Openapi__V2__NamedSchema **named_schemas(struct arena *a, const struct json *o, size_t *ret_n)
{
	Openapi__V2__NamedSchema **v = arena_array(a, Openapi__V2__NamedSchema *, o->n);

	for (uint32_t i = 0; i < o->n; i++) {
		v[i] = NEW(a, Openapi__V2__NamedSchema, OPENAPI__V2__NAMED_SCHEMA__INIT);
		v[i]->name = (char *)arena_dup(a, o->members[i].name).p;
		v[i]->value = schema(a, o->members[i].value);
	}
	*ret_n = o->n;
	return v;
}

static Openapi__V2__TypeItem *type_item(struct arena *a, const struct json *type)
{
	Openapi__V2__TypeItem *m = NEW(a, Openapi__V2__TypeItem, OPENAPI__V2__TYPE_ITEM__INIT);

	m->n_value = 1;
	m->value = arena_array(a, char *, 1);
	m->value[0] = text(a, type);
	return m;
}

static Openapi__V2__ItemsItem *items_item(struct arena *a, const struct json *items)
{
	Openapi__V2__ItemsItem *m = NEW(a, Openapi__V2__ItemsItem, OPENAPI__V2__ITEMS_ITEM__INIT);

	m->n_schema = 1;
	m->schema = arena_array(a, Openapi__V2__Schema *, 1);
	m->schema[0] = schema(a, items);
	return m;
}

static Openapi__V2__AdditionalPropertiesItem *additional_properties(struct arena *a, const struct json *value)
{
	Openapi__V2__AdditionalPropertiesItem *m =
		NEW(a, Openapi__V2__AdditionalPropertiesItem, OPENAPI__V2__ADDITIONAL_PROPERTIES_ITEM__INIT);

	if (value->kind == JSON_BOOL) {
		m->oneof_case = OPENAPI__V2__ADDITIONAL_PROPERTIES_ITEM__ONEOF_BOOLEAN;
		m->boolean = value->boolean;
		return m;
	}
	m->oneof_case = OPENAPI__V2__ADDITIONAL_PROPERTIES_ITEM__ONEOF_SCHEMA;
	m->schema = schema(a, value);
	return m;
}

static Openapi__V2__Properties *properties(struct arena *a, const struct json *o)
{
	Openapi__V2__Properties *m = NEW(a, Openapi__V2__Properties, OPENAPI__V2__PROPERTIES__INIT);

	m->additional_properties = named_schemas(a, o, &m->n_additional_properties);
	return m;
}

static Openapi__V2__ExternalDocs *external_docs(struct arena *a, const struct json *o)
{
	Openapi__V2__ExternalDocs *m = NEW(a, Openapi__V2__ExternalDocs, OPENAPI__V2__EXTERNAL_DOCS__INIT);

	m->description = member_text(a, o, "description");
	m->url = member_text(a, o, "url");
	return m;
}

/* Members that only schemas of definitions have. Zero is absent, as in proto3. */
static void put_validations(struct arena *a, Openapi__V2__Schema *m, const struct json *o)
{
	const struct json *allowed = json_gets(o, "enum"), *docs = json_gets(o, "externalDocs");

	m->title = member_text(a, o, "title");
	m->pattern = member_text(a, o, "pattern");
	m->multiple_of = member_number(a, o, "multipleOf");
	m->maximum = member_number(a, o, "maximum");
	m->exclusive_maximum = member_bool(o, "exclusiveMaximum");
	m->minimum = member_number(a, o, "minimum");
	m->exclusive_minimum = member_bool(o, "exclusiveMinimum");
	m->max_length = member_count(o, "maxLength");
	m->min_length = member_count(o, "minLength");
	m->max_items = member_count(o, "maxItems");
	m->min_items = member_count(o, "minItems");
	m->unique_items = member_bool(o, "uniqueItems");
	m->max_properties = member_count(o, "maxProperties");
	m->min_properties = member_count(o, "minProperties");
	m->example = member_any(a, o, "example");
	m->external_docs = docs ? external_docs(a, docs) : NULL;
	if (json_is(allowed, JSON_ARRAY)) {
		m->enum_ = arena_array(a, Openapi__V2__Any *, allowed->n);
		for (; m->n_enum_ < allowed->n; m->n_enum_++) {
			m->enum_[m->n_enum_] = any(a, allowed->items[m->n_enum_]);
		}
	}
}

static Openapi__V2__Schema *schema(struct arena *a, const struct json *o)
{
	Openapi__V2__Schema *m = NEW(a, Openapi__V2__Schema, OPENAPI__V2__SCHEMA__INIT);
	const struct json *member;

	m->_ref = member_text(a, o, "$ref");
	m->format = member_text(a, o, "format");
	m->description = member_text(a, o, "description");
	m->required = text_array(a, json_gets(o, "required"), &m->n_required);
	m->vendor_extension = extensions(a, o, &m->n_vendor_extension);
	m->default_ = member_any(a, o, "default");
	put_validations(a, m, o);
	if ((member = json_gets(o, "type"))) {
		m->type = type_item(a, member);
	}
	if ((member = json_gets(o, "items"))) {
		m->items = items_item(a, member);
	}
	if ((member = json_gets(o, "additionalProperties"))) {
		m->additional_properties = additional_properties(a, member);
	}
	if ((member = json_gets(o, "properties"))) {
		m->properties = properties(a, member);
	}
	return m;
}

/* ---- parameters ---- */

static Openapi__V2__BodyParameter *body_parameter(struct arena *a, const struct json *o)
{
	Openapi__V2__BodyParameter *m = NEW(a, Openapi__V2__BodyParameter, OPENAPI__V2__BODY_PARAMETER__INIT);

	m->name = member_text(a, o, "name");
	m->in = member_text(a, o, "in");
	m->required = member_bool(o, "required");
	m->schema = schema(a, json_gets(o, "schema"));
	return m;
}

static Openapi__V2__QueryParameterSubSchema *query_parameter(struct arena *a, const struct json *o)
{
	Openapi__V2__QueryParameterSubSchema *m =
		NEW(a, Openapi__V2__QueryParameterSubSchema, OPENAPI__V2__QUERY_PARAMETER_SUB_SCHEMA__INIT);

	m->name = member_text(a, o, "name");
	m->in = member_text(a, o, "in");
	m->type = member_text(a, o, "type");
	m->description = member_text(a, o, "description");
	m->unique_items = member_bool(o, "uniqueItems");
	return m;
}

static Openapi__V2__PathParameterSubSchema *path_parameter(struct arena *a, const struct json *o)
{
	Openapi__V2__PathParameterSubSchema *m =
		NEW(a, Openapi__V2__PathParameterSubSchema, OPENAPI__V2__PATH_PARAMETER_SUB_SCHEMA__INIT);

	m->name = member_text(a, o, "name");
	m->in = member_text(a, o, "in");
	m->type = member_text(a, o, "type");
	m->description = member_text(a, o, "description");
	m->unique_items = member_bool(o, "uniqueItems");
	m->required = member_bool(o, "required");
	return m;
}

static Openapi__V2__NonBodyParameter *non_body_parameter(struct arena *a, const struct json *o)
{
	Openapi__V2__NonBodyParameter *m = NEW(a, Openapi__V2__NonBodyParameter, OPENAPI__V2__NON_BODY_PARAMETER__INIT);

	if (str_is(json_text(json_gets(o, "in")), "path")) {
		m->oneof_case = OPENAPI__V2__NON_BODY_PARAMETER__ONEOF_PATH_PARAMETER_SUB_SCHEMA;
		m->path_parameter_sub_schema = path_parameter(a, o);
	} else {
		m->oneof_case = OPENAPI__V2__NON_BODY_PARAMETER__ONEOF_QUERY_PARAMETER_SUB_SCHEMA;
		m->query_parameter_sub_schema = query_parameter(a, o);
	}
	return m;
}

static Openapi__V2__Parameter *parameter(struct arena *a, const struct json *o)
{
	Openapi__V2__Parameter *m = NEW(a, Openapi__V2__Parameter, OPENAPI__V2__PARAMETER__INIT);

	if (str_is(json_text(json_gets(o, "in")), "body")) {
		m->oneof_case = OPENAPI__V2__PARAMETER__ONEOF_BODY_PARAMETER;
		m->body_parameter = body_parameter(a, o);
	} else {
		m->oneof_case = OPENAPI__V2__PARAMETER__ONEOF_NON_BODY_PARAMETER;
		m->non_body_parameter = non_body_parameter(a, o);
	}
	return m;
}

static Openapi__V2__ParametersItem **parameters(struct arena *a, const struct json *list, size_t *ret_n)
{
	uint32_t n = list ? list->n : 0;
	Openapi__V2__ParametersItem **v = arena_array(a, Openapi__V2__ParametersItem *, n);

	for (uint32_t i = 0; i < n; i++) {
		v[i] = NEW(a, Openapi__V2__ParametersItem, OPENAPI__V2__PARAMETERS_ITEM__INIT);
		v[i]->oneof_case = OPENAPI__V2__PARAMETERS_ITEM__ONEOF_PARAMETER;
		v[i]->parameter = parameter(a, list->items[i]);
	}
	*ret_n = n;
	return v;
}

/* ---- operations ---- */

static Openapi__V2__SchemaItem *schema_item(struct arena *a, const struct json *o)
{
	Openapi__V2__SchemaItem *m = NEW(a, Openapi__V2__SchemaItem, OPENAPI__V2__SCHEMA_ITEM__INIT);

	m->oneof_case = OPENAPI__V2__SCHEMA_ITEM__ONEOF_SCHEMA;
	m->schema = schema(a, o);
	return m;
}

static Openapi__V2__ResponseValue *response_value(struct arena *a, const struct json *o)
{
	Openapi__V2__ResponseValue *m = NEW(a, Openapi__V2__ResponseValue, OPENAPI__V2__RESPONSE_VALUE__INIT);
	const struct json *body = json_gets(o, "schema");

	m->oneof_case = OPENAPI__V2__RESPONSE_VALUE__ONEOF_RESPONSE;
	m->response = NEW(a, Openapi__V2__Response, OPENAPI__V2__RESPONSE__INIT);
	m->response->description = member_text(a, o, "description");
	if (body) {
		m->response->schema = schema_item(a, body);
	}
	return m;
}

static Openapi__V2__Responses *responses(struct arena *a, const struct json *o)
{
	Openapi__V2__Responses *m = NEW(a, Openapi__V2__Responses, OPENAPI__V2__RESPONSES__INIT);

	m->n_response_code = o->n;
	m->response_code = arena_array(a, Openapi__V2__NamedResponseValue *, o->n);
	for (uint32_t i = 0; i < o->n; i++) {
		m->response_code[i] = NEW(a, Openapi__V2__NamedResponseValue, OPENAPI__V2__NAMED_RESPONSE_VALUE__INIT);
		m->response_code[i]->name = (char *)arena_dup(a, o->members[i].name).p;
		m->response_code[i]->value = response_value(a, o->members[i].value);
	}
	return m;
}

/* NULL where the path does not have it. */
static Openapi__V2__Operation *operation(struct arena *a, const struct json *o)
{
	Openapi__V2__Operation *m;

	if (!o) {
		return NULL;
	}
	m = NEW(a, Openapi__V2__Operation, OPENAPI__V2__OPERATION__INIT);
	m->tags = text_array(a, json_gets(o, "tags"), &m->n_tags);
	m->description = member_text(a, o, "description");
	m->operation_id = member_text(a, o, "operationId");
	m->produces = text_array(a, json_gets(o, "produces"), &m->n_produces);
	m->consumes = text_array(a, json_gets(o, "consumes"), &m->n_consumes);
	m->schemes = text_array(a, json_gets(o, "schemes"), &m->n_schemes);
	m->parameters = parameters(a, json_gets(o, "parameters"), &m->n_parameters);
	m->responses = responses(a, json_gets(o, "responses"));
	m->vendor_extension = extensions(a, o, &m->n_vendor_extension);
	return m;
}

static Openapi__V2__PathItem *path_item(struct arena *a, const struct json *o)
{
	Openapi__V2__PathItem *m = NEW(a, Openapi__V2__PathItem, OPENAPI__V2__PATH_ITEM__INIT);

	m->get = operation(a, json_gets(o, "get"));
	m->put = operation(a, json_gets(o, "put"));
	m->post = operation(a, json_gets(o, "post"));
	m->delete_ = operation(a, json_gets(o, "delete"));
	m->patch = operation(a, json_gets(o, "patch"));
	m->parameters = parameters(a, json_gets(o, "parameters"), &m->n_parameters);
	return m;
}

/* ---- the document ---- */

static Openapi__V2__Info *info(struct arena *a, const struct json *o)
{
	Openapi__V2__Info *m = NEW(a, Openapi__V2__Info, OPENAPI__V2__INFO__INIT);

	m->title = member_text(a, o, "title");
	m->version = member_text(a, o, "version");
	return m;
}

static Openapi__V2__Paths *paths(struct arena *a, const struct json *o)
{
	Openapi__V2__Paths *m = NEW(a, Openapi__V2__Paths, OPENAPI__V2__PATHS__INIT);

	m->n_path = o->n;
	m->path = arena_array(a, Openapi__V2__NamedPathItem *, o->n);
	for (uint32_t i = 0; i < o->n; i++) {
		m->path[i] = NEW(a, Openapi__V2__NamedPathItem, OPENAPI__V2__NAMED_PATH_ITEM__INIT);
		m->path[i]->name = (char *)arena_dup(a, o->members[i].name).p;
		m->path[i]->value = path_item(a, o->members[i].value);
	}
	return m;
}

static Openapi__V2__Definitions *definitions(struct arena *a, const struct json *o)
{
	Openapi__V2__Definitions *m = NEW(a, Openapi__V2__Definitions, OPENAPI__V2__DEFINITIONS__INIT);

	m->additional_properties = named_schemas(a, o, &m->n_additional_properties);
	return m;
}

static Openapi__V2__SecurityDefinitionsItem *api_key(struct arena *a, const struct json *o)
{
	Openapi__V2__SecurityDefinitionsItem *m =
		NEW(a, Openapi__V2__SecurityDefinitionsItem, OPENAPI__V2__SECURITY_DEFINITIONS_ITEM__INIT);
	Openapi__V2__ApiKeySecurity *key = NEW(a, Openapi__V2__ApiKeySecurity, OPENAPI__V2__API_KEY_SECURITY__INIT);

	key->type = member_text(a, o, "type");
	key->name = member_text(a, o, "name");
	key->in = member_text(a, o, "in");
	key->description = member_text(a, o, "description");
	m->oneof_case = OPENAPI__V2__SECURITY_DEFINITIONS_ITEM__ONEOF_API_KEY_SECURITY;
	m->api_key_security = key;
	return m;
}

static Openapi__V2__SecurityDefinitions *security_definitions(struct arena *a, const struct json *o)
{
	Openapi__V2__SecurityDefinitions *m = NEW(a, Openapi__V2__SecurityDefinitions, OPENAPI__V2__SECURITY_DEFINITIONS__INIT);

	m->n_additional_properties = o->n;
	m->additional_properties = arena_array(a, Openapi__V2__NamedSecurityDefinitionsItem *, o->n);
	for (uint32_t i = 0; i < o->n; i++) {
		Openapi__V2__NamedSecurityDefinitionsItem *item =
			NEW(a, Openapi__V2__NamedSecurityDefinitionsItem, OPENAPI__V2__NAMED_SECURITY_DEFINITIONS_ITEM__INIT);
		item->name = (char *)arena_dup(a, o->members[i].name).p;
		item->value = api_key(a, o->members[i].value);
		m->additional_properties[i] = item;
	}
	return m;
}

static Openapi__V2__SecurityRequirement *security_requirement(struct arena *a, const struct json *o)
{
	Openapi__V2__SecurityRequirement *m = NEW(a, Openapi__V2__SecurityRequirement, OPENAPI__V2__SECURITY_REQUIREMENT__INIT);

	m->n_additional_properties = o->n;
	m->additional_properties = arena_array(a, Openapi__V2__NamedStringArray *, o->n);
	for (uint32_t i = 0; i < o->n; i++) {
		Openapi__V2__NamedStringArray *item =
			NEW(a, Openapi__V2__NamedStringArray, OPENAPI__V2__NAMED_STRING_ARRAY__INIT);
		item->name = (char *)arena_dup(a, o->members[i].name).p;
		item->value = NEW(a, Openapi__V2__StringArray, OPENAPI__V2__STRING_ARRAY__INIT);
		item->value->value = text_array(a, o->members[i].value, &item->value->n_value);
		m->additional_properties[i] = item;
	}
	return m;
}

static Openapi__V2__SecurityRequirement **security(struct arena *a, const struct json *list, size_t *ret_n)
{
	Openapi__V2__SecurityRequirement **v = arena_array(a, Openapi__V2__SecurityRequirement *, list->n);

	for (uint32_t i = 0; i < list->n; i++) {
		v[i] = security_requirement(a, list->items[i]);
	}
	*ret_n = list->n;
	return v;
}

struct bytes *openapi_v2_pack(const struct json *v2, struct arena *a)
{
	Openapi__V2__Document m = OPENAPI__V2__DOCUMENT__INIT;

	m.paths = paths(a, json_gets(v2, "paths"));
	m.definitions = definitions(a, json_gets(v2, "definitions"));
	if (json_gets(v2, "swagger")) {
		m.swagger = member_text(a, v2, "swagger");
		m.info = info(a, json_gets(v2, "info"));
		m.security = security(a, json_gets(v2, "security"), &m.n_security);
		m.security_definitions = security_definitions(a, json_gets(v2, "securityDefinitions"));
	}

	struct bytes *packed = bytes_new(openapi__v2__document__get_packed_size(&m));
	openapi__v2__document__pack(&m, (uint8_t *)packed->p);
	return packed;
}
