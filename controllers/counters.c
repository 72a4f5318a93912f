#include "controllers/counters.h"

void counters_write(struct counters *c, const struct counter_name *names, size_t n, struct buf *out)
{
	for (size_t i = 0; i < MIN(n, (size_t)COUNTERS_MAX); i++) {
		buf_printf(out, "# HELP %s %s\n# TYPE %s counter\n%s %llu\n", names[i].name, names[i].help, names[i].name,
			names[i].name, (unsigned long long)atomic_load_explicit(&c->n[i], memory_order_relaxed));
	}
}
