/* An object as an informer keeps it: immutable, counted, with what one looks it up by. One allocation of just the size it needs. */
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
	_Alignas(16) char storage[];
};

/* Takes the object apart, whose text is copied; without_managers: with metadata.managedFields null, which are often half of it. NULL when it
 * has no name or no decimal resourceVersion, or is no JSON. */
struct item *item_new(struct str text, bool without_managers);
struct item *item_ref(struct item *i);
struct item *item_unref(struct item *i); /* NULL */
DEFINE_CLEANUP(struct item *, item_unref)

const struct json *item_meta(const struct item *i);
bool item_is_deleting(const struct item *i); /* has a deletionTimestamp */

#endif
