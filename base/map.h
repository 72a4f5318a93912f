/* Hash map from a string to a pointer; open addressing, grows by doubling, keys are copied. Not thread-safe. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/str.h"

struct map_entry {
	uint64_t hash;
	struct str key; /* owned */
	void *value;    /* never NULL in a used entry */
};

struct map {
	struct map_entry *entries;
	size_t cap, n, n_tombs;
	size_t max; /* entries; map_set() beyond it fails */
};

void map_init(struct map *m, size_t max);
void map_done(struct map *m); /* values are the caller's: walk the map first */
void *map_get(const struct map *m, struct str key);
/* False when the map is full and the key is new. *ret_old (ret_old may be NULL) is the replaced value or NULL. */
bool map_set(struct map *m, struct str key, void *value, void **ret_old);
void *map_remove(struct map *m, struct str key); /* the removed value or NULL */
/* for (struct map_entry *e = map_next(m, NULL); e; e = map_next(m, e)); removing while walking is allowed, adding is not. */
struct map_entry *map_next(const struct map *m, struct map_entry *e);

#endif
