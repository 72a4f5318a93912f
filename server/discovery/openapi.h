/* OpenAPI v3 (/openapi/v3, /openapi/v3/apis/G/V with hash and ETag) and v2 (/openapi/v2, JSON and
 * application/com.github.proto-openapi.spec.v2@v1.0+protobuf, by Accept), made from the kinds' schemas on first use, then
 * kept. Thread-safe. */
#ifndef SERVER_DISCOVERY_OPENAPI_H
#define SERVER_DISCOVERY_OPENAPI_H

#include "api/model/kind.h"
#include "base/bytes.h"

struct openapi;
struct document;

struct openapi *openapi_new(bool is_standalone, struct str version);
struct openapi *openapi_free(struct openapi *o);

/* The kinds that definitions describe. Documents of their groups are made when somebody asks, each by
 * itself, and anew when one of its kinds is another one. v2 has them in parts, one for each kind. */
struct openapi_source {
	struct kinds *(*kinds)(void *ctx); /* a reference, or NULL */
	/* Returns false when the definition describes another kind by now. */
	bool (*publish)(
		void *ctx, struct json **ret, const struct kind *k, const struct version *v, bool is_v2, struct arena *a);
	/* Writes what tells this kind from every other one, on all replicas alike. */
	void (*identify)(const struct kind *k, struct buf *out);
	void *ctx;
};
void openapi_set_source(struct openapi *o, const struct openapi_source *source); /* before the first request */

struct openapi_answer {
	struct bytes *body;      /* valid as long as the openapi, and until openapi_answer_done() */
	struct bytes *body_gzip; /* likewise; may be NULL */
	struct str content_type;
	struct str etag;          /* likewise; quoted; empty: of the index, which has none, nor a Vary */
	struct str last_modified; /* for that header */
	bool is_immutable; /* asked for with the right ?hash=: cacheable for long. kube redirects from a wrong one; here the body
				      * is served all the same, but not cacheable */
	struct document *held; /* private: of kinds that come and go */
};

void openapi_answer_done(struct openapi_answer *a); /* may be all zero */

enum openapi_result {
	OPENAPI_OK = 0,
	OPENAPI_NOT_FOUND,      /* 404, upstream without a body */
	OPENAPI_NOT_ACCEPTABLE, /* 406, upstream without a body */
};
/* path: "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/G/V" ... */
enum openapi_result openapi_find(
	struct openapi_answer *ret, struct openapi *o, struct str path, struct str hash_param, struct str accept);

#endif
