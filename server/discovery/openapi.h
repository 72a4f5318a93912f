/* OpenAPI v3 (/openapi/v3, /openapi/v3/apis/G/V with hash and ETag) and v2 (/openapi/v2, JSON and
 * application/com.github.proto-openapi.spec.v2@v1.0+protobuf, by Accept), made from the kinds' schemas on first use, then
 * kept. Thread-safe. */
#ifndef SERVER_DISCOVERY_OPENAPI_H
#define SERVER_DISCOVERY_OPENAPI_H

#include "api/model/kind.h"
#include "base/bytes.h"

struct openapi;

struct openapi *openapi_new(bool is_standalone, struct str version);
struct openapi *openapi_free(struct openapi *o);

struct openapi_answer {
	struct bytes *body;      /* valid as long as the openapi */
	struct bytes *body_gzip; /* may be NULL */
	struct str content_type;
	struct str etag;          /* quoted; empty: of the index, which has none, nor a Vary */
	struct str last_modified; /* for that header */
	bool is_immutable; /* asked for with the right ?hash=: cacheable for long. kube redirects from a wrong one; here the body
				      * is served all the same, but not cacheable */
};

enum openapi_result {
	OPENAPI_OK = 0,
	OPENAPI_NOT_FOUND,      /* 404, upstream without a body */
	OPENAPI_NOT_ACCEPTABLE, /* 406, upstream without a body */
};
/* path: "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/G/V" ... */
enum openapi_result openapi_find(
	struct openapi_answer *ret, struct openapi *o, struct str path, struct str hash_param, struct str accept);

#endif
