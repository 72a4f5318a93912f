/* Owners known not to exist: the last so many that a live GET, or an event, said so of. What is absent stays so, since a uid is never
 * given out again; that is why an entry needs no age. Not thread-safe. */
#ifndef CONTROLLERS_GC_GC_ABSENT_H
#define CONTROLLERS_GC_GC_ABSENT_H

#include "base/list.h"
#include "base/map.h"
#include "controllers/kit/ref.h"

struct gc_absent {
	struct map by_key;  /* of struct gc_absent_entry */
	struct list by_use; /* longest unused first */
	size_t max;
};

void gc_absent_init(struct gc_absent *c, size_t max);
void gc_absent_done(struct gc_absent *c);
void gc_absent_add(struct gc_absent *c, const struct gc_ref *r);
bool gc_absent_has(struct gc_absent *c, const struct gc_ref *r);

#endif
