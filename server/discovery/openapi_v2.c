/* OpenAPI v2: one document for everything. kubectl before 1.27 reads only this.
 *
 * The program's kinds make a document that never changes. Kinds of definitions come and go, and there may be thousands: each has
 * a part of its own, and a request after a change costs the parts of changed kinds, and the copying of all. */
#include "server/discovery/openapi_build.h"

#include <assert.h>
#include <stdlib.h>

enum {
	V2_DEFINED_MAX = 32 << 20, /* bytes that kinds of definitions have in one form of the document; others are only in v3 */
};

static const struct openapi_dialect v2 = {
	.ref_prefix = "#/definitions/", .wraps_refs = false, .has_one_of = false, .is_merged = true, .is_v2 = true};

static const char *const any_type[] = {"*/*", NULL};
static const char *const v2_schemes[] = {"https", NULL};

static struct json *v2_parameter(struct openapi_builder *b, const struct openapi_parameter *p)
{
	bool is_path = p->groups & PARAMETERS_IN_PATH;
	struct json *o = json_object(b->arena);

	openapi_put_text(b, o, "name", p->name);
	openapi_put_text(b, o, "in", is_path ? "path" : "query");
	openapi_put_text(b, o, "type", p->type);
	openapi_put_text(b, o, "description", p->doc);
	openapi_put(b, o, "uniqueItems", json_bool(b->arena, true));
	if (is_path) {
		openapi_put(b, o, "required", json_bool(b->arena, true));
	}
	return o;
}

static struct json *body_parameter(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	struct json *o = json_object(b->arena);

	openapi_put_text(b, o, "name", "body");
	openapi_put_text(b, o, "in", "body");
	openapi_put(b, o, "schema", openapi_payload_ref(b, p, v->body));
	if (v->body != PAYLOAD_DELETE_OPTIONS) {
		openapi_put(b, o, "required", json_bool(b->arena, true));
	}
	return o;
}

static struct json *parameters(struct openapi_builder *b, unsigned groups)
{
	struct json *list = json_array(b->arena);

	for (const struct openapi_parameter *p = openapi_parameters; p->name; p++) {
		if (p->groups & groups) {
			json_append(b->arena, list, v2_parameter(b, p));
		}
	}
	return list;
}

static void v2_put_response(
	struct openapi_builder *b, struct json *responses, const char *code, const char *doc, struct json *schema_or_null)
{
	struct json *response = json_object(b->arena);

	openapi_put_text(b, response, "description", doc);
	if (schema_or_null) {
		openapi_put(b, response, "schema", schema_or_null);
	}
	openapi_put(b, responses, code, response);
}

static struct json *v2_responses(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	struct json *schema = openapi_payload_ref(b, p, openapi_answer_of(p, v)), *o = json_object(b->arena);

	v2_put_response(b, o, "200", "OK", schema);
	if (v->creates) {
		v2_put_response(b, o, "201", "Created", schema);
	}
	if (v->accepts) {
		v2_put_response(b, o, "202", "Accepted", schema);
	}
	v2_put_response(b, o, "401", "Unauthorized", NULL);
	return o;
}

static struct json *v2_operation(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	const char *const tags[] = {openapi_tag(b, p->version), NULL};
	struct json *o = json_object(b->arena), *own = parameters(b, v->parameters);

	if (v->body != PAYLOAD_NONE) {
		json_append(b->arena, own, body_parameter(b, p, v));
	}
	openapi_put(b, o, "tags", openapi_text_list(b, tags));
	openapi_put_text(b, o, "description", openapi_operation_doc(b, p, v));
	openapi_put_text(b, o, "operationId", openapi_operation_id(b, p, v));
	openapi_put(b, o, "consumes", openapi_text_list(b, v->body == PAYLOAD_PATCH ? openapi_patch_types : any_type));
	openapi_put(b, o, "produces", openapi_text_list(b, openapi_answer_types(p, v)));
	openapi_put(b, o, "schemes", openapi_text_list(b, v2_schemes));
	openapi_put(b, o, "parameters", own);
	openapi_put(b, o, "responses", v2_responses(b, p, v));
	openapi_put_text(b, o, "x-kubernetes-action", v->action);
	openapi_put(b, o, "x-kubernetes-group-version-kind", openapi_path_gvk(b, p));
	return o;
}

static void v2_add_path(void *ctx, const struct openapi_path *p)
{
	struct openapi_paths *paths = ctx;
	struct openapi_builder *b = paths->builder;
	struct json *item = json_object(b->arena);

	for (const struct openapi_verb *v = openapi_next_verb(p, NULL); v; v = openapi_next_verb(p, v)) {
		openapi_put(b, item, v->method, v2_operation(b, p, v));
	}
	openapi_put(b, item, "parameters", parameters(b, p->parameters));
	openapi_put(b, paths->object, p->path, item);
}

/* ---- the document ---- */

static void put_security(struct openapi_builder *b, struct json *o)
{
	struct json *definitions = json_object(b->arena), *token = json_object(b->arena);
	struct json *security = json_array(b->arena), *requirement = json_object(b->arena);

	openapi_put_text(b, token, "type", "apiKey");
	openapi_put_text(b, token, "in", "header");
	openapi_put_text(b, token, "name", "authorization");
	openapi_put_text(b, token, "description", "Bearer token");
	openapi_put(b, definitions, "BearerToken", token);
	openapi_put(b, o, "securityDefinitions", definitions);
	openapi_put(b, requirement, "BearerToken", json_array(b->arena));
	json_append(b->arena, security, requirement);
	openapi_put(b, o, "security", security);
}

static struct json *info(struct openapi_builder *b, struct str release)
{
	struct json *o = json_object(b->arena);

	openapi_put_text(b, o, "title", "annals");
	openapi_put(b, o, "version", json_string(b->arena, release));
	return o;
}

static void add_kind(struct openapi_paths *paths, const struct kind *k)
{
	struct openapi_builder *b = paths->builder;

	for (size_t i = 0; i < k->n_versions; i++) {
		if (version_is_visible(&k->versions[i], b->is_standalone)) {
			openapi_each_path(b, k, &k->versions[i], v2_add_path, paths);
		}
	}
}

static void openapi_builder_begin(struct openapi_builder *b)
{
	b->dialect = &v2;
	b->definitions = json_object(b->arena);
}

struct json *openapi_v2_document(struct openapi_builder *b, struct str release)
{
	struct openapi_paths paths = {.builder = b, .object = json_object(b->arena)};
	struct json *o = json_object(b->arena);

	openapi_builder_begin(b);
	for (size_t i = 0; i < kind_count(); i++) {
		add_kind(&paths, kind_at(i));
	}
	openapi_put_text(b, o, "swagger", "2.0");
	openapi_put(b, o, "info", info(b, release));
	openapi_put(b, o, "paths", paths.object);
	openapi_put(b, o, "definitions", b->definitions);
	put_security(b, o);
	return o;
}

/* ---- parts ---- */

/* Each kind of a definition has its part, which is made once. JSON gets its members before the ends of the objects "definitions" and
 * "paths"; in protobuf a message that comes twice is one with the fields of both, so a part simply follows. */

enum { TEXT_DEFINITIONS, TEXT_PATHS, TEXT_PROTOBUF, TEXTS };

struct part {
	unsigned kind; /* its index, which no other kind will ever have */
	struct bytes *texts[TEXTS];
};

struct openapi_parts {
	char **names; /* definitions of the program's document, sorted */
	size_t n_names;
	size_t ends[2]; /* where those objects end in the program's document: by TEXT_DEFINITIONS and TEXT_PATHS */
	struct part *v; /* by their kinds' indices */
	size_t n;
};

static size_t encoded_size(const struct json *j)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, SIZE_MAX / 2);
	json_encode(&text, j);
	return buf_str(&text).n;
}

/* Offset of the brace that closes a member of the document. */
static size_t end_of(const struct json *document, const char *name)
{
	size_t at = 1; /* a brace */

	for (uint32_t i = 0; i < document->n; i++) {
		const struct json_member *m = &document->members[i];
		at += m->name.n + strlen("\"\":") + encoded_size(m->value);
		if (str_is(m->name, name)) {
			return at - 1;
		}
		at++; /* a comma */
	}
	assert(false);
	return 0;
}

struct openapi_parts *openapi_parts_new(const struct json *document)
{
	struct openapi_parts *p = mem_new(struct openapi_parts);
	const struct json *definitions = json_gets(document, "definitions");

	p->names = mem_array(definitions->n, sizeof(*p->names));
	for (; p->n_names < definitions->n; p->n_names++) {
		struct str name = definitions->members[p->n_names].name;
		p->names[p->n_names] = mem_strndup(name.p, name.n);
	}
	p->ends[TEXT_DEFINITIONS] = end_of(document, "definitions");
	p->ends[TEXT_PATHS] = end_of(document, "paths");
	assert(p->ends[TEXT_DEFINITIONS] < p->ends[TEXT_PATHS]);
	return p;
}

static void part_done(struct part *t)
{
	for (size_t i = 0; i < TEXTS; i++) {
		t->texts[i] = bytes_unref(t->texts[i]);
	}
}

struct openapi_parts *openapi_parts_free(struct openapi_parts *p)
{
	if (!p) {
		return NULL;
	}
	for (size_t i = 0; i < p->n_names; i++) {
		mem_free(p->names[i]);
	}
	for (size_t i = 0; i < p->n; i++) {
		part_done(&p->v[i]);
	}
	mem_free(p->names);
	mem_free(p->v);
	return mem_free(p);
}

static int name_cmp(const void *key, const void *name)
{
	const struct str *a = key;
	const char *const *b = name;

	return str_cmp(*a, str_of(*b));
}

/* Definitions of the program come first: a group may be named so that its kinds have the same names. */
static struct json *without_taken(const struct openapi_parts *p, const struct json *definitions, struct arena *a)
{
	struct json *left = json_object(a);

	for (uint32_t i = 0; i < definitions->n; i++) {
		const struct json_member *m = &definitions->members[i];
		if (!p->n_names || !bsearch(&m->name, p->names, p->n_names, sizeof(*p->names), name_cmp)) {
			json_add(a, left, m->name, m->value);
		}
	}
	return left;
}

/* The members of an object, without its braces. */
static struct bytes *members_text(const struct json *object)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, SIZE_MAX / 2);
	json_encode(&text, object);
	struct str all = buf_str(&text);
	assert(all.n >= 2);
	return bytes_dup((struct str){all.p + 1, all.n - 2});
}

static void part_make(const struct openapi_parts *p, struct part *t, const struct openapi_builder *like,
	enum openapi_v2_form form, const struct kind *k)
{
	struct openapi_builder b = *like;
	struct openapi_paths paths = {.builder = &b};
	struct arena a;

	arena_init(&a, SIZE_MAX / 2);
	b.arena = &a;
	b.part_of = k;
	paths.object = json_object(&a);
	openapi_builder_begin(&b);
	add_kind(&paths, k);
	struct json *document = json_object(&a);
	openapi_put(&b, document, "definitions", without_taken(p, b.definitions, &a));
	openapi_put(&b, document, "paths", paths.object);
	document = openapi_sorted_by_name(&b, document);
	if (form == V2_PROTOBUF) {
		t->texts[TEXT_PROTOBUF] = openapi_v2_pack(document, &a);
	} else {
		t->texts[TEXT_DEFINITIONS] = members_text(json_gets(document, "definitions"));
		t->texts[TEXT_PATHS] = members_text(json_gets(document, "paths"));
	}
	arena_done(&a);
}

static int part_cmp(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static struct part *part_find(const struct openapi_parts *p, const struct kind *k)
{
	struct part key = {.kind = k->index};

	return p->n ? bsearch(&key, p->v, p->n, sizeof(key), part_cmp) : NULL;
}

/* Sizes of both texts in JSON, or of the one in protobuf. */
static size_t part_size(const struct part *t, enum openapi_v2_form form)
{
	return form == V2_PROTOBUF ? t->texts[TEXT_PROTOBUF]->n
				   : t->texts[TEXT_DEFINITIONS]->n + t->texts[TEXT_PATHS]->n + strlen(",,");
}

/* The parts become those of the kinds, in their order. Returns how many fit. */
static size_t parts_refresh(
	struct openapi_parts *p, const struct openapi_builder *like, enum openapi_v2_form form, struct kinds *defined)
{
	size_t n = kinds_count(defined), size = 0, n_fit = 0;
	struct part *v = mem_array(n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		struct part *old = part_find(p, kinds_at(defined, i));
		v[i] = old ? *old : (struct part){.kind = kinds_at(defined, i)->index};
		if (old) {
			memset(old->texts, 0, sizeof(old->texts));
		}
	}
	for (size_t i = 0; i < p->n; i++) {
		part_done(&p->v[i]);
	}
	mem_free(p->v);
	p->v = v;
	p->n = n;
	for (; n_fit < n; n_fit++) {
		struct part *t = &v[n_fit];
		if (!t->texts[form == V2_PROTOBUF ? TEXT_PROTOBUF : TEXT_PATHS]) {
			part_make(p, t, like, form, kinds_at(defined, n_fit));
		}
		size += part_size(t, form);
		if (size > V2_DEFINED_MAX) {
			break;
		}
	}
	for (size_t i = n_fit; i < n; i++) {
		part_done(&v[i]);
	}
	return n_fit;
}

static void add_members(const struct openapi_parts *p, size_t n, size_t text, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		struct str members = bytes_str(p->v[i].texts[text]);
		if (members.n > 0) {
			buf_addc(out, ',');
			buf_add_str(out, members);
		}
	}
}

struct bytes *openapi_parts_join(struct openapi_parts *p, const struct openapi_builder *like, enum openapi_v2_form form,
	struct str program, struct kinds *defined)
{
	size_t n = parts_refresh(p, like, form, defined), at = 0;
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, program.n + V2_DEFINED_MAX + 1);
	if (form == V2_PROTOBUF) {
		buf_add_str(&out, program);
		for (size_t i = 0; i < n; i++) {
			buf_add_str(&out, bytes_str(p->v[i].texts[TEXT_PROTOBUF]));
		}
	} else {
		for (size_t text = TEXT_DEFINITIONS; text <= TEXT_PATHS; text++) {
			assert(program.p[p->ends[text]] == '}');
			buf_add_str(&out, (struct str){program.p + at, p->ends[text] - at});
			add_members(p, n, text, &out);
			at = p->ends[text];
		}
		buf_add_str(&out, (struct str){program.p + at, program.n - at});
	}
	qsort(p->v, p->n, sizeof(*p->v), part_cmp);
	return bytes_dup(buf_str(&out));
}
