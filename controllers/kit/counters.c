/* Controllers count what a test or an administrator asks about, such as requests that a cache
 * spared. Relaxed atomics: each number stands for itself. */
#include "controllers/kit/counters.h"

#include "base/exposition.h"

void counters_write(struct counters *c, const struct counter_name *names, size_t n, struct buf *out)
{
	for (size_t i = 0; i < MIN(n, (size_t)COUNTERS_MAX); i++) {
		exposition_counter(
			out, names[i].name, names[i].help, (double)atomic_load_explicit(&c->n[i], memory_order_relaxed));
	}
}
