/* What form the client wants its answer in, and what form its body has. k8s.io/apiserver endpoints/handlers/negotiation,
 * surprises.md 44, 57-60. */
#ifndef SERVER_PARSE_NEGOTIATE_H
#define SERVER_PARSE_NEGOTIATE_H

#include "api/model/schema.h"
#include "api/patch/patch.h"

enum media_format { MEDIA_JSON, MEDIA_YAML, MEDIA_PROTOBUF };
enum media_as { AS_OBJECT, AS_TABLE, AS_PARTIAL, AS_PARTIAL_LIST, AS_DISCOVERY };

struct media {
	enum media_format format;
	enum media_as as;
	bool is_v1beta1; /* of Table and PartialObjectMetadata: meta.k8s.io/v1beta1 */
	bool pretty;     /* indented, no final newline */
	bool accepts_gzip;
};

/* What an endpoint can answer with. 0: plain documents. */
enum {
	ALLOW_TABLE = 1 << 0,
	ALLOW_PARTIAL = 1 << 1,
	ALLOW_PARTIAL_LIST = 1 << 2,
	ALLOW_STREAM_ONLY = 1 << 3, /* watch: YAML is not acceptable */
	ALLOW_DISCOVERY = 1 << 4,   /* aggregated discovery (AS_DISCOVERY) if any clause asks for it, else a plain document */
	ALLOW_UNROUTED = 1 << 5,    /* no router looks first: application/wildcard will do */
};

/* 0; or 1 with 406 in st, and *ret as media_of_status() makes it. accept and the others may be empty. Clauses are tried by
 * quality, then in order, but quality 0 refuses nothing. `pretty_param` counts before the User-Agent, which makes curl's and
 * browsers' answers pretty. */
int media_negotiate(struct media *ret, struct str accept, struct str accept_encoding, struct str user_agent,
	struct str pretty_param, unsigned allowed, struct arena *a, struct status *st);
/* The form of a Status that reports a failure: never a Table; where no clause fits, indented JSON. */
void media_of_status(
	struct media *ret, struct str accept, struct str accept_encoding, struct str user_agent, struct str pretty_param);
struct str media_content_type(const struct media *m);
/* Which of n types ("application/json") Accept prefers, as kube-openapi chooses: wildcards count, parameters do not. -1:
 * none. */
int media_prefer(struct str accept, const char *const *types, size_t n);
/* JSON text to what the client wants: compact with a final newline, indented, YAML, or protobuf. False: no room, or no protobuf. */
bool media_write(struct buf *out, const struct media *m, struct str json_text);

/* Request bodies of POST, PUT, DELETE: JSON, YAML or Kubernetes' protobuf by Content-Type (empty: JSON). Protobuf takes a type that
 * protobuf_knows(). 0, or 1 with 415 in st. */
int media_of_body(enum media_format *ret, struct str content_type, const struct type *type, struct arena *a, struct status *st);
/* Those of PATCH, which are looked at before Accept is. 0, or 1 with 415 in st. */
int media_of_patch(enum patch_type *ret, struct str content_type, struct status *st);

/* A body in JSON or YAML as one JSON tree; body must outlive it. YAML is turned into JSON text first (base/yaml.h); where a YAML body is
 * JSON without repeated keys, it is read as such and keeps its spelling. 0, or 1 with 400 in st, whose message is the
 * parser's bare sentence: the caller knows what to say around it. */
int media_parse_body(struct json **ret, enum media_format format, struct str body, struct arena *a, struct status *st);
/* What fieldValidation has against keys that a YAML body repeats, in one text: "yaml: unmarshal errors:\n  line 2: key ...".
 * Empty: nothing, or the format is another, where object_decode() finds them. */
struct str media_repeated_keys(enum media_format format, struct str body, struct arena *a);

/* Among what an endpoint can answer with: whole objects have no protobuf, as those of custom resources; their metadata has. */
#define ALLOW_ONLY_TEXT (1U << 7)

#endif
