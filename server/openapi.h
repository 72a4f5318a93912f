/* OpenAPI v3 (/openapi/v3, /openapi/v3/apis/G/V with hash and ETag) and v2 (/openapi/v2, JSON and
 * application/com.github.proto-openapi.spec.v2@v1.0+protobuf, by Accept), made from the kinds' schemas on first use, then kept. Thread-safe. */
#ifndef SERVER_OPENAPI_H
#define SERVER_OPENAPI_H

#include "base/bytes.h"
#include "api/kind.h"

struct openapi;

struct openapi *openapi_new(bool is_standalone, struct str version);
struct openapi *openapi_free(struct openapi *o);

struct openapi_answer {
	struct bytes *body;          /* valid as long as the openapi */
	struct bytes *body_gzip;     /* may be NULL */
	struct str content_type;
	struct str etag;             /* quoted */
	bool is_immutable;           /* asked for with the right ?hash=: cacheable for long */
	struct str redirect_hash;    /* asked for with a wrong hash; annals never redirects: serve the body, not cacheable */
};
/* 0; 1: no such document; 2: 406 in st. */
int openapi_find(struct openapi_answer *ret, struct openapi *o, struct str path, struct str hash_param, struct str accept,
		 struct arena *a, struct status *st);

#endif
