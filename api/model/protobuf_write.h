/* Objects in Kubernetes' protobuf, to the byte as Go's generated marshallers write them: fields by number, those that are no pointers in
 * Go also when they are empty, maps by key. FIELD_NUMBER and the other flags of the schema say all that is needed.
 *
 * Messages are written from their end to their beginning, as Go's are: a length stands before what it counts, and is known only then.
 * So what is put comes before what is there. */
#ifndef API_MODEL_PROTOBUF_WRITE_H
#define API_MODEL_PROTOBUF_WRITE_H

#include "api/model/kind.h"

struct protobuf_out {
	char *p;
	size_t at, cap; /* what has been written is between them */
	size_t ceiling; /* bytes */
	bool is_over;   /* for good: a ceiling was reached, and the bytes are of no use */
	unsigned depth; /* messages within each other of a type that holds itself */
};

void protobuf_out_init(struct protobuf_out *o, size_t ceiling);
void protobuf_out_done(struct protobuf_out *o);
void protobuf_out_clear(struct protobuf_out *o); /* empty, and not over any more; memory kept */
static inline size_t protobuf_out_size(const struct protobuf_out *o)
{
	return o->cap - o->at;
}
struct str protobuf_out_str(const struct protobuf_out *o);

void protobuf_put(struct protobuf_out *o, struct str bytes);
void protobuf_put_head(struct protobuf_out *o, unsigned number, size_t n); /* of a field of n bytes, which are there already */
void protobuf_put_text(struct protobuf_out *o, unsigned number, struct str text); /* a field of bytes */
/* The fields of an object in normal form (api/model/schema.h) of that type, which protobuf_knows(). NULL: one in which nothing is set. */
void protobuf_put_object(struct protobuf_out *o, const struct type *type, const struct json *object);
/* "k8s\0" and a runtime.Unknown around the message of that many bytes which is to follow, and what stands behind it. */
void protobuf_put_envelope_head(struct protobuf_out *o, struct str api_version, struct str kind, size_t message_n);
extern const struct str protobuf_envelope_tail;
size_t protobuf_head_size(size_t n); /* of a field of n bytes with a number below 16 */

/* Are the objects that a kind shows at that version answered in protobuf? Kinds of upstream's groups are, if
 * all their fields have numbers. Asked for every request: the answer is kept. */
bool protobuf_has_objects(const struct kind *k, const struct version *v);
/* Finds the type that a schema describes, by kind and apiVersion: objects of all kinds and views of
 * subresources, their lists, metadata alone, Statuses, discovery. It lives as long as the arena.
 * NULL: it has no protobuf. */
const struct type *protobuf_type_of(struct str api_version, struct str kind, struct arena *a);
enum { PROTOBUF_LIST_ITEMS = 2 }; /* the number that items have in lists of all kinds; their metadata has 1 */
/* A whole object in normal form, or its JSON text, in its envelope. False: it has no protobuf, or the ceiling was reached. */
bool protobuf_from_tree(struct buf *out, const struct json *object);
bool protobuf_from_text(struct buf *out, struct str json_text);

#endif
