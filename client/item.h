/* An object as an informer keeps it: immutable, counted, with what one looks it up by. */
#ifndef CLIENT_ITEM_H
#define CLIENT_ITEM_H

#include "base/json.h"

#include <stdatomic.h>

struct item {
	struct str namespace, name, uid;
	uint64_t version;          /* metadata.resourceVersion */
	const struct json *object; /* frozen; lists' items may have no kind and apiVersion */
	_Atomic uint32_t refs;     /* private from here */
	struct arena arena;
};

/* Takes the object apart, whose text is copied. NULL when it has no name or no decimal resourceVersion, or is no JSON. */
struct item *item_new(struct str text);
/* A watch event, {"type": ..., "object": {...}}, into one item, which may lack a name (a bookmark, a Status); *ret_type lives as long. NULL
 * when it is no JSON. */
struct item *item_of_event(struct str line, struct str *ret_type);
struct item *item_ref(struct item *i);
struct item *item_unref(struct item *i); /* NULL */
DEFINE_CLEANUP(struct item *, item_unref)

const struct json *item_meta(const struct item *i);
bool item_is_deleting(const struct item *i); /* has a deletionTimestamp */

#endif
