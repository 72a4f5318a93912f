/* The OpenAPI documents, v2 and v3. They are made at the first request for them: the start does
 * not wait for them, and many servers never need them. They are made under the lock, so two
 * clients at once have them made once. Afterwards they never change, and a client that requests
 * them by hash may keep them for good. */
#include "server/discovery/openapi.h"
#include "base/clock.h"
#include "base/deflate.h"
#include "base/sha256.h"
#include "base/thread.h"
#include "server/discovery/openapi_build.h"
#include "server/parse/negotiate.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum {
	DOCUMENT_MAX = 64 << 20, /* bytes of OpenAPI, which grows with the kinds of this program alone */
	HASH_SIZE = 2 * SHA256_SIZE + 1,
	ETAG_SIZE = HASH_SIZE + 2,
	DATE_SIZE = 32,
};

struct document {
	char *name; /* "apis/apps/v1" */
	struct bytes *body, *body_gzip;
	const char *content_type;
	char etag[ETAG_SIZE]; /* the hash in quotes; empty: none */
};

struct openapi {
	bool is_standalone;
	char *version;
	char last_modified[DATE_SIZE];
	/* Made under the lock, by whoever comes first; then never changed. */
	pthread_mutex_t lock;
	bool has_v2, has_v3;
	struct document v2[V2_FORMS];
	struct openapi_parts *parts; /* of kinds of definitions, under the lock; has_v2 says that it is there */
	struct document joined[V2_FORMS];
	unsigned *joined_of[V2_FORMS]; /* the indices of the kinds that it was made of */
	size_t n_joined_of[V2_FORMS];
	struct document index;
	struct document *v3;
	size_t n_v3;
	/* Under the lock, too: of group versions that have kinds of definitions. */
	struct openapi_source source; /* kinds NULL: there are none */
	struct defined_document *defined;
	size_t n_defined, cap_defined;
};

/* A document made of kinds that come and go: it holds them, so another kind has another address. */
struct defined_document {
	struct document document;
	const struct kind **kinds;
	size_t n_kinds;
};

static const char json_type[] = "application/json";
static const char protobuf_type[] = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/* ---- payloads ---- */

struct json *openapi_payload_ref(struct openapi_builder *b, const struct openapi_path *p, enum openapi_payload payload)
{
	switch (payload) {
	case PAYLOAD_OBJECT:
		return openapi_define_kind(b, subresource_kind(p->sub, p->kind), subresource_version(p->sub, p->version));
	case PAYLOAD_LIST:
		return openapi_define_list(b, p->kind, p->version);
	case PAYLOAD_PATCH:
		return openapi_define(b, type_patch.definition, &type_patch);
	case PAYLOAD_DELETE_OPTIONS:
		return openapi_define_options(b);
	case PAYLOAD_STATUS:
		return openapi_define_status(b);
	case PAYLOAD_NONE:
		break;
	}
	return json_null(b->arena);
}

/* ---- documents ---- */

static void make_etag(char out[ETAG_SIZE], struct str body)
{
	unsigned char sum[SHA256_SIZE];

	sha256(body, sum);
	out[0] = '"';
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		snprintf(out + 1 + 2 * i, 3, "%02X", sum[i]);
	}
	memcpy(out + ETAG_SIZE - 2, "\"", 2);
}

static struct bytes *pack(struct str body)
{
	struct buf packed;

	buf_init(&packed, DOCUMENT_MAX);
	struct bytes *bytes = gzip_all(&packed, body) ? bytes_dup(buf_str(&packed)) : NULL;
	buf_done(&packed);
	return bytes;
}

/* Takes name and body. */
static void document_init(struct document *d, char *name, struct bytes *body, const char *content_type)
{
	*d = (struct document){.name = name, .body = body, .body_gzip = pack(bytes_str(body)), .content_type = content_type};
	make_etag(d->etag, bytes_str(body));
}

static void document_done(struct document *d)
{
	mem_free(d->name);
	bytes_unref(d->body);
	bytes_unref(d->body_gzip);
}

static struct bytes *encode(const struct json *j)
{
	struct buf text;

	buf_init(&text, DOCUMENT_MAX);
	json_encode(&text, j);
	struct bytes *bytes = bytes_dup(buf_str(&text));
	buf_done(&text);
	return bytes;
}

static void builder_init(struct openapi_builder *b, const struct openapi *o, struct arena *a)
{
	arena_init(a, SIZE_MAX / 2);
	*b = (struct openapi_builder){.arena = a, .is_standalone = o->is_standalone};
}

/* ---- v2 ---- */

static void make_v2(struct openapi *o)
{
	assert_locked(&o->lock);
	assert(!o->has_v2);
	struct openapi_builder b;
	struct arena a;

	builder_init(&b, o, &a);
	struct json *document = openapi_sorted_by_name(&b, openapi_v2_document(&b, str_of(o->version)));
	document_init(&o->v2[V2_JSON], NULL, encode(document), json_type);
	document_init(&o->v2[V2_PROTOBUF], NULL, openapi_v2_pack(document, &a), protobuf_type);
	o->parts = openapi_parts_new(document);
	arena_done(&a);
	o->has_v2 = true;
}

/* ---- v3 ---- */

static char *document_name(const struct version *v)
{
	return v->group[0] ? mem_printf("apis/%s/%s", v->group, v->name) : mem_printf("api/%s", v->name);
}

static const struct document *find_v3(const struct openapi *o, struct str name)
{
	for (size_t i = 0; i < o->n_v3; i++) {
		if (str_is(name, o->v3[i].name)) {
			return &o->v3[i];
		}
	}
	return NULL;
}

static struct document *add_v3(struct openapi *o)
{
	assert_locked(&o->lock);
	assert(!o->has_v3); /* readers hold pointers into the array from then on */
	o->v3 = mem_realloc_array(o->v3, o->n_v3 + 1, sizeof(*o->v3));
	return &o->v3[o->n_v3++];
}

/* Once for each group version, however many kinds it has. */
static void make_v3_document(struct openapi *o, const struct version *v)
{
	_cleanup_(mem_freep) char *name = document_name(v);
	struct openapi_builder b;
	struct arena a;

	if (find_v3(o, str_of(name))) {
		return;
	}
	builder_init(&b, o, &a);
	struct json *document = openapi_sorted_by_name(&b, openapi_v3_document(&b, v, str_of(o->version)));
	document_init(add_v3(o), take_ptr(name), encode(document), json_type);
	arena_done(&a);
}

static void make_v3_version(struct openapi *o)
{
	struct openapi_builder b;
	struct arena a;

	builder_init(&b, o, &a);
	struct json *document = openapi_sorted_by_name(&b, openapi_v3_version_document(&b, str_of(o->version)));
	document_init(add_v3(o), mem_strdup("version"), encode(document), json_type);
	arena_done(&a);
}

/* ---- group versions of definitions ---- */

static bool has_version(const struct kind *k, const struct version *like)
{
	for (size_t i = 0; i < k->n_versions; i++) {
		if (version_is_visible(&k->versions[i], true) && strcmp(k->versions[i].group, like->group) == 0 &&
			strcmp(k->versions[i].name, like->name) == 0) {
			return true;
		}
	}
	return false;
}

/* The hash of a document follows from its kinds, so the index costs no document. */
static void defined_etag(struct openapi *o, struct kinds *defined, const struct version *v, char out[ETAG_SIZE])
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, DOCUMENT_MAX);
	buf_printf(&text, "%s %s/%s", o->version, v->group, v->name);
	for (size_t i = 0; i < kinds_count(defined); i++) {
		const struct kind *k = kinds_at(defined, i);
		if (has_version(k, v)) {
			buf_addc(&text, '\n');
			o->source.identify(k, &text);
		}
	}
	make_etag(out, buf_str(&text));
}

static void defined_document_done(struct defined_document *d)
{
	for (size_t i = 0; i < d->n_kinds; i++) {
		kind_unref(d->kinds[i]);
	}
	mem_free(d->kinds);
	document_done(&d->document);
}

/* Documents of kinds that are gone hold their memory no longer. */
static void defined_forget(struct openapi *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_defined; i++) {
		struct defined_document *d = &o->defined[i];
		bool is_over = false;
		for (size_t k = 0; k < d->n_kinds; k++) {
			is_over |= kind_is_over(d->kinds[k]);
		}
		if (is_over) {
			defined_document_done(d);
		} else {
			o->defined[n++] = *d;
		}
	}
	o->n_defined = n;
}

static struct defined_document *defined_find(struct openapi *o, struct str name)
{
	for (size_t i = 0; i < o->n_defined; i++) {
		if (str_is(name, o->defined[i].document.name)) {
			return &o->defined[i];
		}
	}
	return NULL;
}

static bool defined_is_of(const struct defined_document *d, const struct kind *const *kinds, size_t n)
{
	return d->n_kinds == n && memcmp(d->kinds, kinds, n * sizeof(*kinds)) == 0;
}

static struct document *defined_make(
	struct openapi *o, struct kinds *defined, const struct version *v, struct str name, const struct kind **kinds, size_t n)
{
	struct defined_document *d = defined_find(o, name);
	struct openapi_builder b;
	struct arena a;

	if (d && defined_is_of(d, kinds, n)) {
		mem_free(kinds);
		return &d->document;
	}
	if (d) {
		defined_document_done(d);
	} else {
		if (o->n_defined == o->cap_defined) {
			o->cap_defined = MAX(2 * o->cap_defined, (size_t)16);
			o->defined = mem_realloc_array(o->defined, o->cap_defined, sizeof(*o->defined));
		}
		d = &o->defined[o->n_defined++];
	}
	builder_init(&b, o, &a);
	b.defined = defined;
	b.source = &o->source;
	for (size_t i = 0; i < n; i++) {
		kind_ref(kinds[i]);
	}
	*d = (struct defined_document){.kinds = kinds, .n_kinds = n};
	struct json *document = openapi_sorted_by_name(&b, openapi_v3_document(&b, v, str_of(o->version)));
	document_init(&d->document, mem_strndup(name.p, name.n), encode(document), json_type);
	defined_etag(o, defined, v, d->document.etag);
	arena_done(&a);
	return &d->document;
}

/* The document of a group version that has kinds of definitions; NULL: it has none. Under the lock. */
static struct document *defined_document(struct openapi *o, struct kinds *defined, struct str name)
{
	const struct kind **kinds = mem_array(kinds_count(defined) + 1, sizeof(*kinds));
	struct str root, group, version, rest;
	const struct version *like = NULL;
	size_t n = 0;

	defined_forget(o);
	bool is_named = str_cut(name, '/', &root, &rest) && str_is(root, "apis") && str_cut(rest, '/', &group, &version);
	for (size_t i = 0; is_named && i < kinds_count(defined); i++) {
		const struct kind *k = kinds_at(defined, i);
		for (size_t j = 0; j < k->n_versions; j++) {
			const struct version *v = &k->versions[j];
			if (version_is_visible(v, true) && str_is(group, v->group) && str_is(version, v->name)) {
				kinds[n++] = k;
				like = v;
			}
		}
	}
	if (n == 0) {
		mem_free(kinds);
		return NULL;
	}
	return defined_make(o, defined, like, name, kinds, n);
}

/* {"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=..."}}} */
static void index_put(struct openapi_builder *b, struct json *paths, const char *name, const char *etag)
{
	struct json *entry = json_object(b->arena);

	openapi_put_text(b, entry, "serverRelativeURL",
		arena_printf(b->arena, "/openapi/v3/%s?hash=%.*s", name, HASH_SIZE - 1, etag + 1).p);
	json_set(b->arena, paths, str_of(name), entry);
}

/* {"paths":...}; those of group versions that have kinds of definitions are known without their documents. */
static void make_index_with(struct openapi *o, struct document *ret, struct kinds *defined)
{
	assert_locked(&o->lock);
	assert(o->n_v3 > 0);
	struct json *root, *paths;
	struct openapi_builder b;
	struct arena a;

	builder_init(&b, o, &a);
	root = json_object(&a);
	paths = json_object(&a);
	for (size_t i = 0; i < o->n_v3; i++) {
		index_put(&b, paths, o->v3[i].name, o->v3[i].etag);
	}
	for (size_t i = 0; i < kinds_count(defined); i++) {
		const struct kind *k = kinds_at(defined, i);
		for (size_t j = 0; j < k->n_versions; j++) {
			if (version_is_visible(&k->versions[j], true)) {
				char etag[ETAG_SIZE];
				struct str name = arena_printf(&a, "apis/%s/%s", k->versions[j].group, k->versions[j].name);
				defined_etag(o, defined, &k->versions[j], etag);
				index_put(&b, paths, name.p, etag);
			}
		}
	}
	openapi_put(&b, root, "paths", paths);
	document_init(ret, NULL, encode(openapi_sorted_by_name(&b, root)), json_type);
	ret->etag[0] = '\0';
	arena_done(&a);
}

static void make_index(struct openapi *o)
{
	assert(!o->has_v3);
	make_index_with(o, &o->index, NULL);
}

static void make_v3(struct openapi *o)
{
	make_v3_version(o);
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		for (size_t j = 0; j < k->n_versions; j++) {
			if (version_is_visible(&k->versions[j], o->is_standalone)) {
				make_v3_document(o, &k->versions[j]);
			}
		}
	}
	make_index(o);
	o->has_v3 = true;
}

/* ---- look-up ---- */

/* *made turns true under the lock and stays; afterwards the documents are only read. */
static void make_once(struct openapi *o, const bool *made, void (*make)(struct openapi *o))
{
	pthread_mutex_lock(&o->lock);
	if (!*made) {
		make(o);
	}
	pthread_mutex_unlock(&o->lock);
}

static enum openapi_result answer(
	struct openapi_answer *ret, const struct openapi *o, const struct document *d, struct str hash_param)
{
	*ret = (struct openapi_answer){
		.body = d->body,
		.body_gzip = d->body_gzip,
		.content_type = str_of(d->content_type),
		.etag = str_of(d->etag),
		.last_modified = str_of(o->last_modified),
		.is_immutable = d->etag[0] && str_eq(hash_param, (struct str){d->etag + 1, HASH_SIZE - 1}),
	};
	return OPENAPI_OK;
}

/* A copy with references of its own, which the answer keeps. */
static struct document *document_hold(const struct document *d)
{
	struct document *held = mem_new(struct document);

	*held = *d;
	held->name = NULL;
	held->body = bytes_ref(d->body);
	held->body_gzip = d->body_gzip ? bytes_ref(d->body_gzip) : NULL;
	return held;
}

static enum openapi_result answer_held(
	struct openapi_answer *ret, const struct openapi *o, const struct document *d, struct str hash_param)
{
	struct document *held = document_hold(d);

	answer(ret, o, held, hash_param);
	ret->held = held;
	return OPENAPI_OK;
}

/* ---- v2 with kinds of definitions ---- */

static bool joined_is_of(const struct openapi *o, enum openapi_v2_form form, struct kinds *defined)
{
	size_t n = kinds_count(defined), i = 0;

	while (i < n && i < o->n_joined_of[form] && o->joined_of[form][i] == kinds_at(defined, i)->index) {
		i++;
	}
	return i == n && n == o->n_joined_of[form];
}

/* The hash follows from the kinds, as those of v3 do. */
static void joined_etag(struct openapi *o, enum openapi_v2_form form, struct kinds *defined, char out[ETAG_SIZE])
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, DOCUMENT_MAX);
	buf_printf(&text, "%s %s", o->version, o->v2[form].etag);
	for (size_t i = 0; i < kinds_count(defined); i++) {
		buf_addc(&text, '\n');
		o->source.identify(kinds_at(defined, i), &text);
	}
	make_etag(out, buf_str(&text));
}

/* The whole document is put together anew when a kind has come, gone or changed, of parts that only a changed kind has anew. */
static void joined_refresh(struct openapi *o, enum openapi_v2_form form, struct kinds *defined)
{
	assert_locked(&o->lock);
	assert(o->has_v2);
	struct openapi_builder b;
	size_t n = kinds_count(defined);

	if (joined_is_of(o, form, defined)) {
		return;
	}
	document_done(&o->joined[form]);
	b = (struct openapi_builder){.is_standalone = o->is_standalone, .source = &o->source};
	struct bytes *body = openapi_parts_join(o->parts, &b, form, bytes_str(o->v2[form].body), defined);
	document_init(&o->joined[form], NULL, body, o->v2[form].content_type);
	joined_etag(o, form, defined, o->joined[form].etag);
	o->joined_of[form] = mem_realloc_array(o->joined_of[form], n, sizeof(unsigned));
	for (size_t i = 0; i < n; i++) {
		o->joined_of[form][i] = kinds_at(defined, i)->index;
	}
	o->n_joined_of[form] = n;
}

static enum openapi_result find_in_v2(struct openapi_answer *ret, struct openapi *o, struct str accept)
{
	/* The second name of the binary form is the older one; '@' is not allowed in a media type. */
	static const char *const types[] = {
		json_type, protobuf_type, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"};
	int type = media_prefer(accept, types, ARRAY_SIZE(types));

	if (type < 0) {
		return OPENAPI_NOT_ACCEPTABLE;
	}
	make_once(o, &o->has_v2, make_v2);
	_cleanup_(kinds_unrefp) struct kinds *defined = o->source.kinds ? o->source.kinds(o->source.ctx) : NULL;
	enum openapi_v2_form form = type == 0 ? V2_JSON : V2_PROTOBUF;
	if (kinds_count(defined) == 0) {
		return answer(ret, o, &o->v2[form], STR(""));
	}
	pthread_mutex_lock(&o->lock);
	joined_refresh(o, form, defined);
	answer_held(ret, o, &o->joined[form], STR(""));
	pthread_mutex_unlock(&o->lock);
	return OPENAPI_OK;
}

static enum openapi_result find_in_v3(
	struct openapi_answer *ret, struct openapi *o, struct str name, struct str hash_param, struct str accept)
{
	static const char *const types[] = {json_type};
	_cleanup_(kinds_unrefp) struct kinds *defined = o->source.kinds ? o->source.kinds(o->source.ctx) : NULL;
	enum openapi_result r = OPENAPI_NOT_FOUND;

	pthread_mutex_lock(&o->lock);
	const struct document *changing = defined_document(o, defined, name), *d = changing ? changing : find_v3(o, name);
	bool is_fine = d && media_prefer(accept, types, 1) >= 0;
	if (d) {
		r = !is_fine ? OPENAPI_NOT_ACCEPTABLE : (changing ? answer_held : answer)(ret, o, d, hash_param);
	}
	pthread_mutex_unlock(&o->lock);
	return r;
}

/* The index of the program's kinds is made once, that of others for each request: it is small beside any document. */
static enum openapi_result find_index(struct openapi_answer *ret, struct openapi *o)
{
	_cleanup_(kinds_unrefp) struct kinds *defined = o->source.kinds ? o->source.kinds(o->source.ctx) : NULL;
	struct document index;

	if (kinds_count(defined) == 0) {
		return answer(ret, o, &o->index, STR(""));
	}
	pthread_mutex_lock(&o->lock);
	make_index_with(o, &index, defined);
	pthread_mutex_unlock(&o->lock);
	answer_held(ret, o, &index, STR(""));
	document_done(&index);
	return OPENAPI_OK;
}

void openapi_answer_done(struct openapi_answer *a)
{
	if (a->held) {
		document_done(a->held);
		a->held = mem_free(a->held);
	}
}

void openapi_set_source(struct openapi *o, const struct openapi_source *source)
{
	assert(source->kinds && source->publish && source->identify);
	o->source = *source;
}

enum openapi_result openapi_find(
	struct openapi_answer *ret, struct openapi *o, struct str path, struct str hash_param, struct str accept)
{
	static const struct str v3_prefix = {"/openapi/v3/", sizeof("/openapi/v3/") - 1};

	if (str_is(path, "/openapi/v2")) {
		return find_in_v2(ret, o, accept);
	}
	if (str_is(path, "/openapi/v3")) {
		make_once(o, &o->has_v3, make_v3);
		return find_index(ret, o);
	}
	if (str_starts(path, v3_prefix)) {
		make_once(o, &o->has_v3, make_v3);
		return find_in_v3(ret, o, (struct str){path.p + v3_prefix.n, path.n - v3_prefix.n}, hash_param, accept);
	}
	return OPENAPI_NOT_FOUND;
}

/* ---- life ---- */

static void format_http_date(char out[DATE_SIZE], time_t when)
{
	struct tm tm;

	gmtime_r(&when, &tm);
	strftime(out, DATE_SIZE, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

struct openapi *openapi_new(bool is_standalone, struct str version)
{
	struct openapi *o = mem_new(struct openapi);

	o->is_standalone = is_standalone;
	o->version = mem_strndup(version.p ? version.p : "", version.n);
	format_http_date(o->last_modified, (time_t)clock_wall_s());
	pthread_mutex_init(&o->lock, NULL);
	return o;
}

struct openapi *openapi_free(struct openapi *o)
{
	if (!o) {
		return NULL;
	}
	for (size_t i = 0; i < V2_FORMS; i++) {
		document_done(&o->v2[i]);
		document_done(&o->joined[i]);
		mem_free(o->joined_of[i]);
	}
	openapi_parts_free(o->parts);
	for (size_t i = 0; i < o->n_v3; i++) {
		document_done(&o->v3[i]);
	}
	mem_free(o->v3);
	document_done(&o->index);
	for (size_t i = 0; i < o->n_defined; i++) {
		defined_document_done(&o->defined[i]);
	}
	mem_free(o->defined);
	pthread_mutex_destroy(&o->lock);
	mem_free(o->version);
	return mem_free(o);
}

/* ---- OpenAPI 3.0 ---- */

/* A document for each group version, and one for /version. */

static const struct openapi_dialect v3 = {.ref_prefix = "#/components/schemas/", .wraps_refs = true, .has_one_of = true};

static struct json *text_schema(struct openapi_builder *b, const char *type)
{
	struct json *schema = json_object(b->arena);

	openapi_put_text(b, schema, "type", type);
	openapi_put(b, schema, "uniqueItems", json_bool(b->arena, true));
	return schema;
}

static struct json *v3_parameter(struct openapi_builder *b, const struct openapi_parameter *p)
{
	bool is_path = p->groups & PARAMETERS_IN_PATH;
	struct json *o = json_object(b->arena);

	openapi_put_text(b, o, "name", p->name);
	openapi_put_text(b, o, "in", is_path ? "path" : "query");
	openapi_put_text(b, o, "description", p->doc);
	openapi_put(b, o, "schema", text_schema(b, p->type));
	if (is_path) {
		openapi_put(b, o, "required", json_bool(b->arena, true));
	}
	return o;
}

/* kubectl looks for fieldValidation among the operation's own parameters, so they are written out everywhere. */
static void put_parameters(struct openapi_builder *b, struct json *o, unsigned groups)
{
	struct json *list = json_array(b->arena);

	for (const struct openapi_parameter *p = openapi_parameters; p->name; p++) {
		if (p->groups & groups) {
			json_append(b->arena, list, v3_parameter(b, p));
		}
	}
	if (list->n > 0) {
		openapi_put(b, o, "parameters", list);
	}
}

/* {"application/json":{"schema":{"$ref":...}},...} */
static struct json *content(struct openapi_builder *b, const char *const *types, struct json *schema)
{
	struct json *o = json_object(b->arena);

	for (; *types; types++) {
		struct json *media = json_object(b->arena);
		openapi_put(b, media, "schema", schema);
		openapi_put(b, o, *types, media);
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
	openapi_put(b, body, "content",
		content(b, v->body == PAYLOAD_PATCH ? openapi_patch_types : any, openapi_payload_ref(b, p, v->body)));
	if (v->body != PAYLOAD_DELETE_OPTIONS) {
		openapi_put(b, body, "required", json_bool(b->arena, true));
	}
	openapi_put(b, o, "requestBody", body);
}

static void v3_put_response(
	struct openapi_builder *b, struct json *responses, const char *code, const char *doc, struct json *content_or_null)
{
	struct json *response = json_object(b->arena);

	openapi_put_text(b, response, "description", doc);
	if (content_or_null) {
		openapi_put(b, response, "content", content_or_null);
	}
	openapi_put(b, responses, code, response);
}

static struct json *v3_responses(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	enum openapi_payload payload = openapi_answer_of(p, v);
	struct json *answer = content(b, openapi_answer_types(p, v), openapi_payload_ref(b, p, payload));
	struct json *o = json_object(b->arena);

	v3_put_response(b, o, "200", "OK", answer);
	if (v->creates) {
		v3_put_response(b, o, "201", "Created", answer);
	}
	if (v->accepts) {
		v3_put_response(b, o, "202", "Accepted", answer);
	}
	v3_put_response(b, o, "401", "Unauthorized", NULL);
	return o;
}

static struct json *v3_operation(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	const char *const tags[] = {openapi_tag(b, p->version), NULL};
	struct json *o = json_object(b->arena);

	openapi_put(b, o, "tags", openapi_text_list(b, tags));
	openapi_put_text(b, o, "description", openapi_operation_doc(b, p, v));
	openapi_put_text(b, o, "operationId", openapi_operation_id(b, p, v));
	put_parameters(b, o, v->parameters);
	put_body(b, o, p, v);
	openapi_put(b, o, "responses", v3_responses(b, p, v));
	openapi_put_text(b, o, "x-kubernetes-action", v->action);
	openapi_put(b, o, "x-kubernetes-group-version-kind", openapi_path_gvk(b, p));
	return o;
}

static void v3_add_path(void *ctx, const struct openapi_path *p)
{
	struct openapi_paths *paths = ctx;
	struct openapi_builder *b = paths->builder;
	struct json *item = json_object(b->arena);

	for (const struct openapi_verb *v = openapi_next_verb(p, NULL); v; v = openapi_next_verb(p, v)) {
		openapi_put(b, item, v->method, v3_operation(b, p, v));
	}
	put_parameters(b, item, p->parameters);
	openapi_put(b, paths->object, p->path, item);
}

/* ---- documents ---- */

static struct json *security_schemes(struct openapi_builder *b)
{
	struct json *schemes = json_object(b->arena), *token = json_object(b->arena);

	openapi_put_text(b, token, "type", "apiKey");
	openapi_put_text(b, token, "in", "header");
	openapi_put_text(b, token, "name", "authorization");
	openapi_put_text(b, token, "description", "Bearer token");
	openapi_put(b, schemes, "BearerToken", token);
	return schemes;
}

static struct json *v3_document(struct openapi_builder *b, struct str release, struct json *paths)
{
	struct json *o = json_object(b->arena), *info = json_object(b->arena), *components = json_object(b->arena);

	openapi_put_text(b, info, "title", "annals");
	openapi_put(b, info, "version", json_string(b->arena, release));
	openapi_put(b, components, "schemas", b->definitions);
	openapi_put(b, components, "securitySchemes", security_schemes(b));
	openapi_put_text(b, o, "openapi", "3.0.0");
	openapi_put(b, o, "info", info);
	openapi_put(b, o, "paths", paths);
	openapi_put(b, o, "components", components);
	return o;
}

static void openapi_builder_begin(struct openapi_builder *b)
{
	b->dialect = &v3;
	b->definitions = json_object(b->arena);
}

struct json *openapi_v3_document(struct openapi_builder *b, const struct version *version, struct str release)
{
	struct openapi_paths paths = {.builder = b, .object = json_object(b->arena)};

	openapi_builder_begin(b);
	for (size_t i = 0; i < kinds_total(b->defined); i++) {
		const struct kind *k = kinds_nth(b->defined, i);
		for (size_t j = 0; j < k->n_versions; j++) {
			const struct version *v = &k->versions[j];
			if (version_is_visible(v, b->is_standalone) && !strcmp(v->group, version->group) &&
				!strcmp(v->name, version->name)) {
				openapi_each_path(b, k, v, v3_add_path, &paths);
			}
		}
	}
	return v3_document(b, release, paths.object);
}

struct json *openapi_v3_version_document(struct openapi_builder *b, struct str release)
{
	static const char *const tags[] = {"version", NULL}, *const json_only[] = {"application/json", NULL};
	struct json *paths = json_object(b->arena), *item = json_object(b->arena), *get = json_object(b->arena);
	struct json *answers = json_object(b->arena);

	openapi_builder_begin(b);
	v3_put_response(b, answers, "200", "OK",
		content(b, json_only, openapi_define(b, type_version_info.definition, &type_version_info)));
	v3_put_response(b, answers, "401", "Unauthorized", NULL);
	openapi_put(b, get, "tags", openapi_text_list(b, tags));
	openapi_put_text(b, get, "description", "get the version of the server");
	openapi_put_text(b, get, "operationId", "getCodeVersion");
	openapi_put(b, get, "responses", answers);
	openapi_put(b, item, "get", get);
	openapi_put(b, paths, "/version/", item);
	return v3_document(b, release, paths);
}
