/* How many objects of a kind are stored in which version, and what could not be read. */
#ifndef STORAGE_CACHE_CACHE_CENSUS_H
#define STORAGE_CACHE_CACHE_CENSUS_H

#include "base/list.h"
#include "base/map.h"
#include "storage/cache/cache.h"

/* The writer's. */
struct census {
	size_t stored[KIND_DOORS_MAX];
	struct map unread;   /* end of the key -> struct unread: what could not be decoded */
	struct list unknown; /* those in an unknown version */
	size_t n_unknown, n_unreadable;
};

void census_init(struct census *s);
void census_done(struct census *s);
void census_move(struct census *to, struct census *from); /* empties from */
/* What was in the cache, and what is now; NULL: nothing. */
void census_count(struct census *s, const struct cached *old, const struct cached *now);
/* Of a value that is no object, for a key that has none noted. Its version, if that is why; it lives as long as the note. */
const char *census_note(struct census *s, const struct kind *kind, struct str key, struct str value);
bool census_forget(struct census *s, struct str key); /* false: it was not noted */
void census_show(const struct census *s, struct cache_census *ret);

#endif
