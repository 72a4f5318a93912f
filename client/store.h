/* The objects that an informer knows: items by namespace and name, and by uid. One thread
 * changes the store, any thread may read it. */
#ifndef CLIENT_STORE_H
#define CLIENT_STORE_H

#include "base/map.h"
#include "client/item.h"

#include <pthread.h>

struct store {
	pthread_mutex_t lock;
	struct map by_name; /* "NAMESPACE/NAME"; holds the references */
	struct map by_uid;
};

/* max: how many objects the store may keep; beyond it store_put() fails. */
void store_init(struct store *s, size_t max);
void store_done(struct store *s);

/* Puts an item and takes a reference to it. *ret_old is the item it replaced, with the store's
 * reference, or NULL. Returns false when the store is full. */
bool store_put(struct store *s, struct item *item, struct item **ret_old);
struct item *store_remove(struct store *s, struct str namespace, struct str name); /* with the store's reference; or NULL */
struct item *store_get(struct store *s, struct str namespace, struct str name);    /* a reference, or NULL */
struct item *store_get_by_uid(struct store *s, struct str uid);
size_t store_count(struct store *s);
void store_each(struct store *s, struct str namespace, void (*each)(void *ctx, struct item *item), void *ctx);

/* Writes "NAMESPACE/NAME"; out must have room for it. */
struct str store_key(struct buf *out, struct str namespace, struct str name);

#endif
