/* All objects of a kind, and what finds them by label and field: immutable trees that share what they have in common. */
#ifndef STORAGE_CACHE_CACHE_INDEX_H
#define STORAGE_CACHE_CACHE_INDEX_H

#include "storage/cache/cache.h"
#include "storage/cache/ptree.h"

#include <stdatomic.h>

/* `ns/name` or `name`: the end of the key in etcd, and the order of everything. */
static inline struct str cached_key(const struct cached *o)
{
	return o->ns.n ? (struct str){o->ns.p, o->ns.n + 1 + o->name.n} : o->name;
}

/* All objects of a kind. `objects` is ordered by cached_key and holds references; `index` is ordered by term, then cached_key. It
 * holds none: whatever it names is in the `objects` beside it. */
struct roots {
	struct ptree objects, index;
};

void roots_init(struct roots *r);
void roots_done(struct roots *r);
struct roots roots_share(const struct roots *r);
struct cached *roots_get(const struct roots *r, struct str key);
/* old: what is there (NULL: nothing), now: what shall be (NULL: nothing). Same key. */
void roots_replace(struct roots *r, struct cached *old, struct cached *now);
/* Fills empty roots; v: n references in the order of cached_key, which the roots take. */
void roots_load(struct roots *r, struct cached **v, size_t n);
/* Keys from `first` (included; empty: the start) to `last` (excluded; empty: the end), as ranks. */
struct range {
	size_t first, last;
};
struct range roots_range(const struct roots *r, struct str first, struct str last);
struct range roots_term_range(const struct roots *r, uint64_t term, struct str first, struct str last);

/* A term is the hash of what an equality or an existence test looks for. Collisions (2^-64, and the hash is seeded) merely let an
 * iterator visit an object that its filter then refuses. */
uint64_t term_label(struct str key, struct str value);
uint64_t term_label_exists(struct str key);
uint64_t term_field(size_t field, struct str value);
uint64_t term_computed(struct str path);

struct cache_snapshot {
	_Atomic uint32_t refs;
	int64_t revision;
	const struct kind *kind;
	struct roots roots;
};
struct cache_snapshot *snapshot_new(const struct kind *kind, int64_t revision, const struct roots *roots); /* shares them */
struct cache_snapshot *snapshot_ref(struct cache_snapshot *s);

#endif
