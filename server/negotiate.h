/* What form the client wants its answer in, and what form its body has. k8s.io/apiserver endpoints/handlers/negotiation, surprises.md 44, 57-60. */
#ifndef SERVER_NEGOTIATE_H
#define SERVER_NEGOTIATE_H

#include "api/status.h"

enum media_format { MEDIA_JSON, MEDIA_YAML };
enum media_as { AS_OBJECT, AS_TABLE, AS_PARTIAL, AS_PARTIAL_LIST };

struct media {
	enum media_format format;
	enum media_as as;
	bool is_v1beta1;         /* of Table and PartialObjectMetadata: meta.k8s.io/v1beta1 */
	bool pretty;             /* indented, no final newline */
	bool accepts_gzip;
};

/* What an endpoint can answer with. */
enum {
	ALLOW_TABLE = 1 << 0,
	ALLOW_PARTIAL = 1 << 1,
	ALLOW_PARTIAL_LIST = 1 << 2,
	ALLOW_STREAM_ONLY = 1 << 3, /* watch: YAML is not acceptable */
};

/* 0, or 1 with 406 in st (still setting format and pretty, so that the error can be shown). accept may be empty. */
int media_negotiate(struct media *ret, struct str accept, struct str accept_encoding, struct str user_agent, struct str pretty_param,
		    unsigned allowed, struct arena *a, struct status *st);
struct str media_content_type(const struct media *m);

/* Request bodies of POST, PUT, DELETE: JSON or YAML by Content-Type (empty: JSON). 0, or 1 with 415 in st. */
int media_of_body(enum media_format *ret, struct str content_type, struct arena *a, struct status *st);
/* The body as one JSON tree. YAML is turned into JSON text first (YAML 1.1 as sigs.k8s.io/yaml reads it: surprises.md 17).
 * 0, or 1 with 400 in st. */
int media_parse_body(struct json **ret, enum media_format format, struct str body, struct arena *a, struct status *st);
/* JSON text to what the client wants: compact with a final newline, indented, or YAML. */
bool media_write(struct buf *out, const struct media *m, struct str json_text);

#endif
