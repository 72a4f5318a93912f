/* Answers that are kept for a while: key to value, the least recently used one going first when there are too many (after
 * k8s.io/apimachinery's LRUExpireCache). Those whose time is over are not given any more, but stay as long as there is room: they tell who
 * has had an answer before. Not thread-safe. */
#ifndef DELEGATION_REVIEWS_ANSWERS_H
#define DELEGATION_REVIEWS_ANSWERS_H

#include "base/list.h"
#include "base/map.h"

struct answers {
	struct map by_key;
	struct list used; /* the least recently used first */
	size_t max, max_bytes, n_bytes;
	void (*free_value)(void *value);
};

/* max_bytes: of keys and values together. */
void answers_init(struct answers *a, size_t max, size_t max_bytes, void (*free_value)(void *value));
void answers_done(struct answers *a);
/* NULL: none, or its time is over. It stays the cache's. */
const void *answers_get(struct answers *a, struct str key, int64_t now_ms);
/* Is there one, or has there been one, and no room been needed since? */
bool answers_remembers(const struct answers *a, struct str key);
void answers_remove(struct answers *a, struct str key);
/* Takes value, of n_bytes, in place of what was there. */
void answers_put(struct answers *a, struct str key, void *value, size_t n_bytes, int64_t until_ms);
size_t answers_count(const struct answers *a);

#endif
