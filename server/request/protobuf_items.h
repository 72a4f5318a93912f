/* Objects of the cache in protobuf. Each is made from its JSON when a client asks for it, and kept for the next one: who never asks for
 * protobuf pays nothing. Any thread. */
#ifndef SERVER_REQUEST_PROTOBUF_ITEMS_H
#define SERVER_REQUEST_PROTOBUF_ITEMS_H

#include "base/bytes.h"
#include "storage/cache/cache.h"

enum protobuf_part { PROTOBUF_WHOLE, PROTOBUF_METADATA /* as a PartialObjectMetadata */ };

/* Messages that were made before. They are at most max_bytes; what has not been used for long goes first. */
struct protobuf_items;
struct protobuf_items *protobuf_items_new(size_t max_bytes);
struct protobuf_items *protobuf_items_free(struct protobuf_items *p);
void protobuf_items_stats(struct protobuf_items *p, size_t *ret_n_bytes, uint64_t *ret_n_found, uint64_t *ret_n_made);

/* The message of an object of the cache as the door shows it, without an envelope; a reference. NULL: it cannot be read. */
struct bytes *protobuf_items_get(
	struct protobuf_items *p, const struct cached *o, const struct door *d, enum protobuf_part part);
/* The same of an object that is not in the cache (yet), or not as it is stored: made and not kept. */
struct bytes *protobuf_item_make(const struct cached *o, const struct door *d, enum protobuf_part part);

#endif
