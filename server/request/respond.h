/* Answers, in the form that the client asked for. */
#ifndef SERVER_REQUEST_RESPOND_H
#define SERVER_REQUEST_RESPOND_H

#include "base/arena.h"
#include "base/bytes.h"
#include "server/request/request.h"
#include "server/request/table.h"
#include "storage/cache/cache.h"

#define RESPONSE_CEILING ((size_t)1 << 30) /* bytes: of answers that must be made in memory (Table, YAML, indented) */

/* Each reply_*() ends the exchange: nothing else may be answered. A slow one is made in slices,
 * and sent in a later turn of its thread. */
void reply_status(struct request *q);                             /* q->st */
void reply_success(struct request *q, const struct json *status); /* 200 with a Status */
void reply_json(struct request *q, unsigned code, const struct json *j);
void reply_json_as(struct request *q, unsigned code, const struct json *j, struct str content_type);
void reply_text(struct request *q, unsigned code, struct str text);
void reply_page_not_found(struct request *q);
void reply_cached(struct request *q, unsigned code, const struct cached *o); /* in the form the client asked for */
void reply_object(struct request *q, unsigned code, const struct object *o); /* one that is not in the cache (yet) */
/* Answers with the stored text alone. Returns false, and answers nothing, when the client wants
 * another form. */
bool reply_stored(struct request *q, unsigned code, struct str stored, int64_t revision);
void reply_json_buf(struct request *q, unsigned code, struct buf *text); /* JSON text; takes its memory */
void reply_json_buf_as(struct request *q, unsigned code, struct buf *text, struct str content_type);
/* Gives up an answer that is being made in slices; nothing, if there is none. When the exchange ends. */
void reply_drop(struct request *q);
void reply_made(struct request *q, unsigned code, struct buf *body,
	struct str content_type);                                        /* takes its memory, and is charged for it */
void reply_buf(struct request *q, unsigned code, struct buf *b);         /* as it is, compressed if wanted; takes its memory */
void reply_headers(struct request *q, struct str content_type);          /* Audit-Id, Cache-Control, Content-Type, Warning */

/* `{"kind":"K","apiVersion":"V",` of a version. */
struct str show_type(const struct kind *k, const struct version *v, struct arena *a);
/* An object as the version shows it, without kind and apiVersion: begins with `"metadata":`, ends with the closing brace. No copy where the
 * version shows the hub form; else made in the arena. */
struct str show_body(const struct cached *o, const struct version *v, struct arena *a);
struct table_world request_table_world(const struct request *q);
/* The object in the client's form (plain, partial metadata, a Table of one row). */
bool show_object(struct buf *out, struct request *q, const struct cached *o, enum include_object include);
/* Likewise in protobuf, of its message alone: in the envelope, plain or as partial metadata. */
bool show_protobuf(struct buf *out, const struct request *q, const struct bytes *message);

/* From warnings to `Warning:` headers, as k8s.io/apiserver pkg/endpoints/filters/warning.go makes them: each text once, 4,096 characters
 * together; when they would be more, each is cut to 256 and there are as many as it takes to come to 4,096. And as many as fit into 12 KiB as
 * header lines: an answer whose head becomes too long could not be sent at all. Pure. */

/* The values of the headers, in the arena; their number comes back. A text with control characters or invalid UTF-8 makes none. */
size_t warnings_to_headers(const struct str **ret, const struct str *texts, size_t n, struct arena *a);

#endif
