/* OpenAPI 2.0: one document for everything. kubectl before 1.27 knows no other. */
#include "server/discovery/openapi_build.h"

static const struct openapi_dialect v2 = {
	.ref_prefix = "#/definitions/", .wraps_refs = false, .has_one_of = false, .is_merged = true};

static const char *const any_type[] = {"*/*", NULL};
static const char *const schemes[] = {"https", NULL};

static struct json *parameter(struct openapi_builder *b, const struct openapi_parameter *p)
{
	bool is_path = p->groups & PARAMETERS_IN_PATH;
	struct json *o = json_object(b->arena);

	put_text(b, o, "name", p->name);
	put_text(b, o, "in", is_path ? "path" : "query");
	put_text(b, o, "type", p->type);
	put_text(b, o, "description", p->doc);
	put(b, o, "uniqueItems", json_bool(b->arena, true));
	if (is_path) {
		put(b, o, "required", json_bool(b->arena, true));
	}
	return o;
}

static struct json *body_parameter(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	struct json *o = json_object(b->arena);

	put_text(b, o, "name", "body");
	put_text(b, o, "in", "body");
	put(b, o, "schema", openapi_payload_ref(b, p, v->body));
	if (v->body != PAYLOAD_DELETE_OPTIONS) {
		put(b, o, "required", json_bool(b->arena, true));
	}
	return o;
}

static struct json *parameters(struct openapi_builder *b, unsigned groups)
{
	struct json *list = json_array(b->arena);

	for (const struct openapi_parameter *p = openapi_parameters; p->name; p++) {
		if (p->groups & groups) {
			json_append(b->arena, list, parameter(b, p));
		}
	}
	return list;
}

static void put_response(
	struct openapi_builder *b, struct json *responses, const char *code, const char *doc, struct json *schema_or_null)
{
	struct json *response = json_object(b->arena);

	put_text(b, response, "description", doc);
	if (schema_or_null) {
		put(b, response, "schema", schema_or_null);
	}
	put(b, responses, code, response);
}

static struct json *responses(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	struct json *schema = openapi_payload_ref(b, p, openapi_answer_of(p, v)), *o = json_object(b->arena);

	put_response(b, o, "200", "OK", schema);
	if (v->creates) {
		put_response(b, o, "201", "Created", schema);
	}
	if (v->accepts) {
		put_response(b, o, "202", "Accepted", schema);
	}
	put_response(b, o, "401", "Unauthorized", NULL);
	return o;
}

static struct json *operation(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	const char *const tags[] = {openapi_tag(b, p->door), NULL};
	struct json *o = json_object(b->arena), *own = parameters(b, v->parameters);

	if (v->body != PAYLOAD_NONE) {
		json_append(b->arena, own, body_parameter(b, p, v));
	}
	put(b, o, "tags", text_list(b, tags));
	put_text(b, o, "description", openapi_operation_doc(b, p, v));
	put_text(b, o, "operationId", openapi_operation_id(b, p, v));
	put(b, o, "consumes", text_list(b, v->body == PAYLOAD_PATCH ? openapi_patch_types : any_type));
	put(b, o, "produces", text_list(b, openapi_answer_types(p, v)));
	put(b, o, "schemes", text_list(b, schemes));
	put(b, o, "parameters", own);
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
	put(b, item, "parameters", parameters(b, p->parameters));
	put(b, paths->object, p->path, item);
}

/* ---- the document ---- */

static void put_security(struct openapi_builder *b, struct json *o)
{
	struct json *definitions = json_object(b->arena), *token = json_object(b->arena);
	struct json *security = json_array(b->arena), *requirement = json_object(b->arena);

	put_text(b, token, "type", "apiKey");
	put_text(b, token, "in", "header");
	put_text(b, token, "name", "authorization");
	put_text(b, token, "description", "Bearer token");
	put(b, definitions, "BearerToken", token);
	put(b, o, "securityDefinitions", definitions);
	put(b, requirement, "BearerToken", json_array(b->arena));
	json_append(b->arena, security, requirement);
	put(b, o, "security", security);
}

static struct json *info(struct openapi_builder *b, struct str version)
{
	struct json *o = json_object(b->arena);

	put_text(b, o, "title", "annals");
	put(b, o, "version", json_string(b->arena, version));
	return o;
}

struct json *openapi_v2_document(struct openapi_builder *b, struct str version)
{
	struct paths paths = {.builder = b, .object = json_object(b->arena)};
	struct json *o = json_object(b->arena);

	b->dialect = &v2;
	b->definitions = json_object(b->arena);
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		for (size_t j = 0; j < k->n_doors; j++) {
			if (door_is_visible(&k->doors[j], b->is_standalone)) {
				openapi_each_path(b, k, &k->doors[j], add_path, &paths);
			}
		}
	}
	put_text(b, o, "swagger", "2.0");
	put(b, o, "info", info(b, version));
	put(b, o, "paths", paths.object);
	put(b, o, "definitions", b->definitions);
	put_security(b, o);
	return o;
}
