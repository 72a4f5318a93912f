/* Counters of a controller for metrics; any thread may use them. A table of names describes the
 * numbers. */
#ifndef CONTROLLERS_KIT_COUNTERS_H
#define CONTROLLERS_KIT_COUNTERS_H

#include "base/buf.h"

#include <stdatomic.h>

/* Counters that one controller can have. */
enum { COUNTERS_MAX = 16 };

struct counter_name {
	const char *name, *help;
};

struct counters {
	_Atomic uint64_t n[COUNTERS_MAX];
};

static inline void count(struct counters *c, unsigned which)
{
	atomic_fetch_add_explicit(&c->n[which], 1, memory_order_relaxed);
}

static inline void count_many(struct counters *c, unsigned which, uint64_t n)
{
	atomic_fetch_add_explicit(&c->n[which], n, memory_order_relaxed);
}

/* Writes Prometheus text. */
void counters_write(struct counters *c, const struct counter_name *names, size_t n, struct buf *out);

#endif
