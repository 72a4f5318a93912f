/* Documents are made when somebody first asks for them: no start waits for them, and many servers
 * are never asked. They are made under the lock, so two who come at once make them once. Afterwards
 * they never change, and a client that asks by their hash may keep them for good. */
#include "server/discovery/openapi.h"

#include "base/clock.h"
#include "base/sha256.h"
#include "server/discovery/openapi_build.h"
#include "server/parse/gzip.h"
#include "server/parse/negotiate.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum {
	DOCUMENT_MAX = 64 << 20,
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

enum { V2_JSON, V2_PROTOBUF, V2_FORMS };

struct openapi {
	bool is_standalone;
	char *version;
	char last_modified[DATE_SIZE];
	/* Made under the lock, by whoever comes first; then never changed. */
	pthread_mutex_t lock;
	bool has_v2, has_v3;
	struct document v2[V2_FORMS];
	struct document index;
	struct document *v3;
	size_t n_v3;
};

static const char json_type[] = "application/json";
static const char protobuf_type[] = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

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
	struct openapi_builder b;
	struct arena a;

	builder_init(&b, o, &a);
	struct json *document = sorted_by_name(&b, openapi_v2_document(&b, str_of(o->version)));
	document_init(&o->v2[V2_JSON], NULL, encode(document), json_type);
	document_init(&o->v2[V2_PROTOBUF], NULL, openapi_v2_pack(document, &a), protobuf_type);
	arena_done(&a);
	o->has_v2 = true;
}

/* ---- v3 ---- */

static char *document_name(const struct door *d)
{
	return d->group[0] ? mem_printf("apis/%s/%s", d->group, d->version) : mem_printf("api/%s", d->version);
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
	o->v3 = mem_realloc_array(o->v3, o->n_v3 + 1, sizeof(*o->v3));
	return &o->v3[o->n_v3++];
}

/* Once for each group version, however many kinds it has. */
static void make_v3_document(struct openapi *o, const struct door *d)
{
	_cleanup_(mem_freep) char *name = document_name(d);
	struct openapi_builder b;
	struct arena a;

	if (find_v3(o, str_of(name))) {
		return;
	}
	builder_init(&b, o, &a);
	struct json *document = sorted_by_name(&b, openapi_v3_document(&b, d, str_of(o->version)));
	document_init(add_v3(o), take_ptr(name), encode(document), json_type);
	arena_done(&a);
}

static void make_v3_version(struct openapi *o)
{
	struct openapi_builder b;
	struct arena a;

	builder_init(&b, o, &a);
	struct json *document = sorted_by_name(&b, openapi_v3_version_document(&b, str_of(o->version)));
	document_init(add_v3(o), mem_strdup("version"), encode(document), json_type);
	arena_done(&a);
}

/* {"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=..."}}} */
static void make_index(struct openapi *o)
{
	struct json *root, *paths;
	struct openapi_builder b;
	struct arena a;

	builder_init(&b, o, &a);
	root = json_object(&a);
	paths = json_object(&a);
	for (size_t i = 0; i < o->n_v3; i++) {
		struct json *entry = json_object(&a);
		put_text(&b, entry, "serverRelativeURL",
			arena_printf(&a, "/openapi/v3/%s?hash=%.*s", o->v3[i].name, HASH_SIZE - 1, o->v3[i].etag + 1).p);
		put(&b, paths, o->v3[i].name, entry);
	}
	put(&b, root, "paths", paths);
	document_init(&o->index, NULL, encode(sorted_by_name(&b, root)), json_type);
	o->index.etag[0] = '\0';
	arena_done(&a);
}

static void make_v3(struct openapi *o)
{
	make_v3_version(o);
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		for (size_t j = 0; j < k->n_doors; j++) {
			if (door_is_visible(&k->doors[j], o->is_standalone)) {
				make_v3_document(o, &k->doors[j]);
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
	return answer(ret, o, &o->v2[type == 0 ? V2_JSON : V2_PROTOBUF], STR(""));
}

static enum openapi_result find_in_v3(
	struct openapi_answer *ret, struct openapi *o, struct str name, struct str hash_param, struct str accept)
{
	static const char *const types[] = {json_type};
	const struct document *d = find_v3(o, name);

	if (!d) {
		return OPENAPI_NOT_FOUND;
	}
	return media_prefer(accept, types, 1) < 0 ? OPENAPI_NOT_ACCEPTABLE : answer(ret, o, d, hash_param);
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
		return answer(ret, o, &o->index, STR(""));
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
	}
	for (size_t i = 0; i < o->n_v3; i++) {
		document_done(&o->v3[i]);
	}
	mem_free(o->v3);
	document_done(&o->index);
	pthread_mutex_destroy(&o->lock);
	mem_free(o->version);
	return mem_free(o);
}
