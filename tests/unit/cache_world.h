/* A cache over the store in memory, with two kinds of its own, for the tests and the benchmark of the cache. */
#ifndef TESTS_UNIT_CACHE_WORLD_H
#define TESTS_UNIT_CACHE_WORLD_H

#include "storage/cache/cache.h"
#include "storage/keys.h"
#include "storage/memory/memory.h"

#define WORLD_PREFIX "/test"

extern struct kind widget; /* namespaced, selectable: color, shape */
extern struct kind gadget; /* cluster-scoped */

/* The store's side; `rest` is "ns/name" or "name". Each waits, and answers the revision. */
int64_t world_put(struct storage *s, const struct kind *kind, const char *rest, const char *labels, const char *color);
int64_t world_put_raw(struct storage *s, const char *key, const char *value);
int64_t world_delete(struct storage *s, const struct kind *kind, const char *rest);
void world_compact(struct storage *s, int64_t revision);
/* The stored text: labels is the inside of a JSON object; filler pads `data`. */
struct str world_text(
	struct arena *a, const struct kind *kind, const char *rest, const char *labels, const char *color, size_t filler);

/* The cache's side. */
struct cache *world_cache(struct storage *s, struct cache_options options); /* ready */
enum storage_result world_wait(struct cache *c, int64_t revision, int64_t timeout_ms);
enum storage_result world_wait_fresh(struct cache *c, int64_t timeout_ms);
struct label_selector world_labels(const char *text, struct arena *a);
struct field_selector world_fields(const char *text, struct arena *a);
/* "ns/a ns/b": the names of what the iterator brings. */
struct str world_list(const struct cache_snapshot *s, const struct cache_filter *f, struct arena *a);

#endif
