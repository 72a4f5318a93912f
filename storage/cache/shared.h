/* Text that many objects share, such as managedFields without their times: kept once, by content,
 * and counted.
 *
 * Any thread may take and drop references. Shared text never changes; the struct made from it
 * stands before it in the same allocation. There is no separate limit: objects hold all of it,
 * and their sizes count it in full (struct cached). */
#ifndef STORAGE_CACHE_SHARED_H
#define STORAGE_CACHE_SHARED_H

#include "base/arena.h"
#include "base/str.h"

/* Writes `n_made` bytes to `made`, aligned as for pointers, which precede the copied content;
 * called once for each content. All users of a content must make the same of it. It must not
 * call back. */
typedef void shared_make_fn(void *made, struct str content);

/* Returns a reference to `made`; shared_unref() drops it. */
const void *shared_get(struct str content, size_t n_made, shared_make_fn *make);
const void *shared_ref(const void *made);
void shared_unref(const void *made);         /* NULL: nothing */
struct str shared_content(const void *made); /* lives as long as the reference */
size_t shared_size(const void *made);        /* bytes of the allocation; NULL: 0 */

/* The totals of all shared texts. */
struct shared_stats {
	size_t n, n_bytes; /* n_bytes: with the tables */
};
struct shared_stats shared_stats(void);

/* metadata.managedFields of an object's text. The entries of objects that the same managers
 * write in the same way differ only in their times, so the times stay with the object. The text
 * is not parsed: anything that looks like a time may be cut out, as long as it is inserted
 * again. */
enum {
	FIELDS_TIMES_MAX = 3,  /* most objects have as many managers, or fewer; further times are shared with the rest */
	FIELDS_TIME_SIZE = 20, /* 2026-01-01T00:00:00Z */
};

/* The shared parts, between which the times go. */
struct fields {
	uint32_t n_times;
	uint32_t at[FIELDS_TIMES_MAX]; /* in the content: a NUL in the place of a time */
};

/* Returns a reference for shared_unref(). text: the member with the comma before it. NULL: the
 * text is kept with the object. *ret_times: in the arena, one behind the other. */
const struct fields *fields_share(struct str text, struct arena *a, struct str *ret_times);
struct str fields_part(const struct fields *f, size_t i); /* 0 .. n_times */
size_t fields_size(const struct fields *f);               /* bytes of all parts; NULL: 0 */

#endif
