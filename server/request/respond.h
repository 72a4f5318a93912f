/* Answers, in the form that the client asked for. */
#ifndef SERVER_REQUEST_RESPOND_H
#define SERVER_REQUEST_RESPOND_H

#include "server/request/request.h"
#include "server/request/table.h"

#define RESPONSE_CEILING ((size_t)1 << 30) /* bytes: of answers that must be made in memory (Table, YAML, indented) */

/* Each reply_*() ends the exchange. */
void reply_status(struct request *q);                             /* q->st */
void reply_success(struct request *q, const struct json *status); /* 200 with a Status */
void reply_json(struct request *q, unsigned code, const struct json *j);
void reply_json_as(struct request *q, unsigned code, const struct json *j, struct str content_type);
void reply_text(struct request *q, unsigned code, struct str text);
void reply_page_not_found(struct request *q);
void reply_cached(struct request *q, unsigned code, const struct cached *o); /* in the form the client asked for */
void reply_object(struct request *q, unsigned code, const struct object *o); /* one that is not in the cache (yet) */
/* Likewise, of its stored text alone. False: the client wants it in another form, and nothing was answered. */
bool reply_stored(struct request *q, unsigned code, struct str stored, int64_t revision);
void reply_json_buf(struct request *q, unsigned code, struct buf *text); /* JSON text; takes its memory */
void reply_json_buf_as(struct request *q, unsigned code, struct buf *text, struct str content_type);
void reply_made(struct request *q, unsigned code, struct buf *body,
	struct str content_type);                                        /* takes its memory, and is charged for it */
void reply_buf(struct request *q, unsigned code, struct buf *b);         /* as it is, compressed if wanted; takes its memory */
void reply_headers(struct request *q, struct str content_type);          /* Audit-Id, Cache-Control, Content-Type, Warning */

/* `{"kind":"K","apiVersion":"V",` of a door. */
struct str show_type(const struct kind *k, const struct door *d, struct arena *a);
/* An object as the door shows it, without kind and apiVersion: begins with `"metadata":`, ends with the closing brace. No copy where the
 * door shows the hub form; else made in the arena. */
struct str show_body(const struct cached *o, const struct door *d, struct arena *a);
struct table_world request_table_world(const struct request *q);
/* The object in the client's form (plain, partial metadata, a Table of one row). */
bool show_object(struct buf *out, struct request *q, const struct cached *o, enum include_object include);
/* Likewise in protobuf, of its message alone (protobuf_items.h): in the envelope, plain or as partial metadata. */
bool show_protobuf(struct buf *out, const struct request *q, const struct bytes *message);

#endif
