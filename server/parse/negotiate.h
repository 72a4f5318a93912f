/* Media types: the form of the answer that the client wants, and the form of its body, as in
 * k8s.io/apiserver endpoints/handlers/negotiation. */
#ifndef SERVER_PARSE_NEGOTIATE_H
#define SERVER_PARSE_NEGOTIATE_H

#include "api/model/schema.h"
#include "api/patch/patch.h"

/* Answers are compressed from this length on, as kube's are. */
#define GZIP_MIN_BYTES ((size_t)128 << 10)

enum media_format { MEDIA_JSON, MEDIA_YAML, MEDIA_PROTOBUF };
enum media_as { AS_OBJECT, AS_TABLE, AS_PARTIAL, AS_PARTIAL_LIST, AS_DISCOVERY };

struct media {
	enum media_format format;
	enum media_as as;
	bool is_v1beta1; /* of Table and PartialObjectMetadata: meta.k8s.io/v1beta1 */
	bool pretty;     /* indented, no final newline */
	bool accepts_gzip;
};

/* The forms that an endpoint can answer in. 0: plain documents. */
enum {
	ALLOW_TABLE = 1 << 0,
	ALLOW_PARTIAL = 1 << 1,
	ALLOW_PARTIAL_LIST = 1 << 2,
	ALLOW_STREAM_ONLY = 1 << 3, /* watch: YAML is not acceptable */
	ALLOW_DISCOVERY = 1 << 4,   /* aggregated discovery (AS_DISCOVERY) if any clause asks for it, else a plain document */
	ALLOW_UNROUTED = 1 << 5,    /* no router looks first: application/wildcard will do */
};

/* Chooses the form of an answer. Returns 0; or 1 with 406 in st, and *ret as media_of_status()
 * makes it. accept and the others may be empty. Clauses are tried by quality, then in order, but
 * quality 0 refuses nothing. `pretty_param` takes precedence over the User-Agent, which makes
 * curl's and browsers' answers pretty. */
int media_negotiate(struct media *ret, struct str accept, struct str accept_encoding, struct str user_agent,
	struct str pretty_param, unsigned allowed, struct arena *a, struct status *st);
/* Chooses the form of a Status that reports a failure: never a Table; where no clause fits,
 * indented JSON. */
void media_of_status(
	struct media *ret, struct str accept, struct str accept_encoding, struct str user_agent, struct str pretty_param);
struct str media_content_type(const struct media *m);
/* Returns which of n types ("application/json") Accept prefers, as kube-openapi chooses:
 * wildcards count, parameters do not. -1: none. */
int media_prefer(struct str accept, const char *const *types, size_t n);
/* Returns true when Accept has JSON or a wildcard anywhere. Upstream's router asks this of a
 * route that makes only JSON. */
bool media_accepts_json(struct str accept);
/* Converts JSON text to the client's form: compact with a final newline, indented, YAML, or
 * protobuf. Returns false when there is no room, or no protobuf. */
bool media_write(struct buf *out, const struct media *m, struct str json_text);
/* Does the same in slices of about a millisecond: a large text at once would block a thread for
 * a quarter of a second. json_text and out must stay until the writer is freed. */
struct media_writer;
struct media_writer *media_writer_new(struct buf *out, const struct media *m, struct str json_text);
struct media_writer *media_writer_free(struct media_writer *w);
bool media_writer_step(struct media_writer *w); /* true: there is more to come */

/* Request bodies of POST, PUT, DELETE: JSON, YAML or Kubernetes' protobuf by Content-Type (empty: JSON). Protobuf takes a type that
 * protobuf_knows(). 0, or 1 with 415 in st. */
int media_of_body(enum media_format *ret, struct str content_type, const struct type *type, struct arena *a, struct status *st);
/* Does the same for PATCH, whose type is checked before Accept. Returns 0, or 1 with 415 in st. */
int media_of_patch(enum patch_type *ret, struct str content_type, struct status *st);

/* A body in JSON or YAML as one JSON tree; body must outlive it. YAML is turned into JSON text first (base/yaml.h); where a YAML body is
 * JSON without repeated keys, it is read as such and keeps its spelling. 0, or 1 with 400 in st, whose message is the
 * parser's bare sentence: the caller knows what to say around it. */
int media_parse_body(struct json **ret, enum media_format format, struct str body, struct arena *a, struct status *st);
/* Returns the error of fieldValidation for keys that a YAML body repeats, in one text: "yaml:
 * unmarshal errors:\n  line 2: key ...". Empty: none, or the format is another, where
 * object_decode() finds them. */
struct str media_repeated_keys(enum media_format format, struct str body, struct arena *a);

/* A flag beside ALLOW_TABLE and the others: whole objects have no protobuf, as those of custom
 * resources; their metadata has. */
#define ALLOW_ONLY_TEXT (1U << 7)

/* The media types that annals reads and writes, the default first. For server/parse/negotiate*.c
 * only. */

enum { N_MEDIA_TYPES = 3 };

struct media_type {
	const char *type, *subtype;
	enum media_format format;
	bool streams; /* can carry a watch */
};
extern const struct media_type media_types[N_MEDIA_TYPES];

/* Returns the names of all types: "application/json, application/yaml", and with streams those
 * that can carry a watch, as ";stream=watch". */
struct str media_type_names(struct arena *a, bool plain, bool streams);
/* Returns the names of the first n: "application/json, application/yaml,
 * application/vnd.kubernetes.protobuf". */
struct str media_body_type_names(struct arena *a, size_t n);

#endif
