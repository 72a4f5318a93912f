/* metadata.managedFields of an object's text, which is shared (shared.h): the entries of objects that the same managers write in the same way
 * differ in their times alone, so those stay with the object. Nothing is understood here: whatever looks like a time may be cut out, as
 * long as it is put in again. */
#ifndef STORAGE_CACHE_CACHED_FIELDS_H
#define STORAGE_CACHE_CACHED_FIELDS_H

#include "base/arena.h"

enum {
	FIELDS_TIMES_MAX = 3,  /* usual objects have as many managers, or fewer; further times are shared with the rest */
	FIELDS_TIME_SIZE = 20, /* 2026-01-01T00:00:00Z */
};

/* What all have: parts, between which the times go. */
struct fields {
	uint32_t n_times;
	uint32_t at[FIELDS_TIMES_MAX]; /* in the content: a NUL in the place of a time */
};

/* A reference, for shared_unref(). text: the member with the comma before it. NULL: it is kept with the object. *ret_times: in the arena, one
 * behind the other. */
const struct fields *fields_share(struct str text, struct arena *a, struct str *ret_times);
struct str fields_part(const struct fields *f, size_t i); /* 0 .. n_times */
size_t fields_size(const struct fields *f);               /* bytes of all parts; NULL: 0 */

#endif
