/* OpenAPI 3.0: one document for each group version, and one for /version. */
#include "server/discovery/openapi_build.h"

static const struct openapi_dialect v3 = {.ref_prefix = "#/components/schemas/", .wraps_refs = true, .has_one_of = true};

static struct json *text_schema(struct openapi_builder *b, const char *type)
{
	struct json *schema = json_object(b->arena);

	put_text(b, schema, "type", type);
	put(b, schema, "uniqueItems", json_bool(b->arena, true));
	return schema;
}

static struct json *parameter(struct openapi_builder *b, const struct openapi_parameter *p)
{
	bool is_path = p->groups & PARAMETERS_IN_PATH;
	struct json *o = json_object(b->arena);

	put_text(b, o, "name", p->name);
	put_text(b, o, "in", is_path ? "path" : "query");
	put_text(b, o, "description", p->doc);
	put(b, o, "schema", text_schema(b, p->type));
	if (is_path) {
		put(b, o, "required", json_bool(b->arena, true));
	}
	return o;
}

/* kubectl looks for fieldValidation among the operation's own parameters, so they are written out everywhere. */
static void put_parameters(struct openapi_builder *b, struct json *o, unsigned groups)
{
	struct json *list = json_array(b->arena);

	for (const struct openapi_parameter *p = openapi_parameters; p->name; p++) {
		if (p->groups & groups) {
			json_append(b->arena, list, parameter(b, p));
		}
	}
	if (list->n > 0) {
		put(b, o, "parameters", list);
	}
}

/* {"application/json":{"schema":{"$ref":...}},...} */
static struct json *content(struct openapi_builder *b, const char *const *media_types, struct json *schema)
{
	struct json *o = json_object(b->arena);

	for (; *media_types; media_types++) {
		struct json *media = json_object(b->arena);
		put(b, media, "schema", schema);
		put(b, o, *media_types, media);
	}
	return o;
}

static void put_body(struct openapi_builder *b, struct json *o, const struct openapi_path *p, const struct openapi_verb *v)
{
	static const char *const any[] = {"*/*", NULL};
	struct json *body;

	if (v->body == PAYLOAD_NONE) {
		return;
	}
	body = json_object(b->arena);
	put(b, body, "content",
		content(b, v->body == PAYLOAD_PATCH ? openapi_patch_types : any, openapi_payload_ref(b, p, v->body)));
	if (v->body != PAYLOAD_DELETE_OPTIONS) {
		put(b, body, "required", json_bool(b->arena, true));
	}
	put(b, o, "requestBody", body);
}

static void put_response(
	struct openapi_builder *b, struct json *responses, const char *code, const char *doc, struct json *content_or_null)
{
	struct json *response = json_object(b->arena);

	put_text(b, response, "description", doc);
	if (content_or_null) {
		put(b, response, "content", content_or_null);
	}
	put(b, responses, code, response);
}

static struct json *responses(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	enum openapi_payload payload = openapi_answer_of(p, v);
	struct json *answer = content(b, openapi_answer_types(p, v), openapi_payload_ref(b, p, payload));
	struct json *o = json_object(b->arena);

	put_response(b, o, "200", "OK", answer);
	if (v->creates) {
		put_response(b, o, "201", "Created", answer);
	}
	if (v->accepts) {
		put_response(b, o, "202", "Accepted", answer);
	}
	put_response(b, o, "401", "Unauthorized", NULL);
	return o;
}

static struct json *operation(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	const char *const tags[] = {openapi_tag(b, p->door), NULL};
	struct json *o = json_object(b->arena);

	put(b, o, "tags", text_list(b, tags));
	put_text(b, o, "description", openapi_operation_doc(b, p, v));
	put_text(b, o, "operationId", openapi_operation_id(b, p, v));
	put_parameters(b, o, v->parameters);
	put_body(b, o, p, v);
	put(b, o, "responses", responses(b, p, v));
	put_text(b, o, "x-kubernetes-action", v->action);
	put(b, o, "x-kubernetes-group-version-kind", openapi_path_gvk(b, p));
	return o;
}

struct paths {
	struct openapi_builder *builder;
	struct json *object;
};

static void add_path(void *ctx, const struct openapi_path *p)
{
	struct paths *paths = ctx;
	struct openapi_builder *b = paths->builder;
	struct json *item = json_object(b->arena);

	for (const struct openapi_verb *v = openapi_next_verb(p, NULL); v; v = openapi_next_verb(p, v)) {
		put(b, item, v->method, operation(b, p, v));
	}
	put_parameters(b, item, p->parameters);
	put(b, paths->object, p->path, item);
}

/* ---- documents ---- */

static struct json *security_schemes(struct openapi_builder *b)
{
	struct json *schemes = json_object(b->arena), *token = json_object(b->arena);

	put_text(b, token, "type", "apiKey");
	put_text(b, token, "in", "header");
	put_text(b, token, "name", "authorization");
	put_text(b, token, "description", "Bearer token");
	put(b, schemes, "BearerToken", token);
	return schemes;
}

static struct json *document(struct openapi_builder *b, struct str version, struct json *paths)
{
	struct json *o = json_object(b->arena), *info = json_object(b->arena), *components = json_object(b->arena);

	put_text(b, info, "title", "annals");
	put(b, info, "version", json_string(b->arena, version));
	put(b, components, "schemas", b->definitions);
	put(b, components, "securitySchemes", security_schemes(b));
	put_text(b, o, "openapi", "3.0.0");
	put(b, o, "info", info);
	put(b, o, "paths", paths);
	put(b, o, "components", components);
	return o;
}

static void begin(struct openapi_builder *b)
{
	b->dialect = &v3;
	b->definitions = json_object(b->arena);
}

struct json *openapi_v3_document(struct openapi_builder *b, const struct door *door, struct str version)
{
	struct paths paths = {.builder = b, .object = json_object(b->arena)};

	begin(b);
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		for (size_t j = 0; j < k->n_doors; j++) {
			const struct door *d = &k->doors[j];
			if (door_is_visible(d, b->is_standalone) && !strcmp(d->group, door->group) &&
				!strcmp(d->version, door->version)) {
				openapi_each_path(b, k, d, add_path, &paths);
			}
		}
	}
	return document(b, version, paths.object);
}

struct json *openapi_v3_version_document(struct openapi_builder *b, struct str version)
{
	static const char *const tags[] = {"version", NULL}, *const json_only[] = {"application/json", NULL};
	struct json *paths = json_object(b->arena), *item = json_object(b->arena), *get = json_object(b->arena);
	struct json *answers = json_object(b->arena);

	begin(b);
	put_response(b, answers, "200", "OK",
		content(b, json_only, openapi_define(b, type_version_info.definition, &type_version_info)));
	put_response(b, answers, "401", "Unauthorized", NULL);
	put(b, get, "tags", text_list(b, tags));
	put_text(b, get, "description", "get the version of the server");
	put_text(b, get, "operationId", "getCodeVersion");
	put(b, get, "responses", answers);
	put(b, item, "get", get);
	put(b, paths, "/version/", item);
	return document(b, version, paths);
}
