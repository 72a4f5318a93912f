/* Text that many objects have alike, as managedFields are but for their times: kept once, by content, and counted.
 *
 * Any thread may take and give back. What is shared never changes; what has been made of it stands before it in the same allocation.
 * There is no ceiling of its own: all of it is held by objects, whose sizes count it in full (struct cached), as if it were theirs alone.
 */
#ifndef STORAGE_CACHE_SHARED_H
#define STORAGE_CACHE_SHARED_H

#include "base/str.h"

/* Writes `n_made` bytes to `made`, aligned as for pointers, which go before the content, whose copy it is given; once for each content. All
 * who share are of one sort: they make the same of it. Must not call back. */
typedef void shared_make_fn(void *made, struct str content);

/* A reference to `made`; shared_unref() gives it back. */
const void *shared_get(struct str content, size_t n_made, shared_make_fn *make);
const void *shared_ref(const void *made);
void shared_unref(const void *made);         /* NULL: nothing */
struct str shared_content(const void *made); /* lives as long as the reference */
size_t shared_size(const void *made);        /* bytes of the allocation; NULL: 0 */

/* Of all that is shared. */
struct shared_stats {
	size_t n, n_bytes; /* n_bytes: with the tables */
};
struct shared_stats shared_stats(void);

#endif
