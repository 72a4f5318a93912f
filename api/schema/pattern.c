/* The patterns of a compiled schema. */
#include "api/schema/pattern.h"

#include "base/arena.h"

#include <assert.h>
#include <stdatomic.h>

struct pattern {
	struct pattern *next;
	struct str text;
	bool is_kept;
	_Atomic(struct regexp *) compiled; /* NULL: not yet, or never */
};

struct pattern *patterns_add(struct patterns *p, struct arena *a, const char *text, size_t n)
{
	struct str s = {text, n};
	for (struct pattern *known = p->first; known; known = known->next) {
		if (str_eq(known->text, s)) {
			return known;
		}
	}
	struct pattern *added = arena_new(a, struct pattern);
	added->text = arena_dup(a, s);
	added->is_kept = p->n < PATTERNS_KEPT_MAX;
	added->next = p->first;
	p->first = added;
	p->n++;
	return added;
}

void patterns_done(struct patterns *p)
{
	for (struct pattern *pattern = p->first; pattern; pattern = pattern->next) {
		regexp_free(atomic_load_explicit(&pattern->compiled, memory_order_relaxed));
	}
	*p = (struct patterns){0};
}

/* Several threads may compile the same pattern at once; the first one is kept. */
static struct regexp *pattern_compile(struct pattern *p, char error[REGEXP_ERROR_SIZE])
{
	struct regexp *made = regexp_new(p->text.p, p->text.n, error), *present = NULL;
	if (made && p->is_kept &&
		!atomic_compare_exchange_strong_explicit(
			&p->compiled, &present, made, memory_order_acq_rel, memory_order_acquire)) {
		regexp_free(made);
		return present;
	}
	return made;
}

bool pattern_matches(struct pattern *p, const char *text, size_t n, char error[REGEXP_ERROR_SIZE])
{
	error[0] = '\0';
	struct regexp *r = atomic_load_explicit(&p->compiled, memory_order_acquire);
	if (!r) {
		r = pattern_compile(p, error);
	}
	if (!r) {
		assert(error[0]);
		return false;
	}
	bool is_match = regexp_matches(r, text, n);
	if (!p->is_kept) {
		regexp_free(r);
	}
	return is_match;
}

size_t patterns_memory(const struct patterns *p)
{
	size_t bytes = 0;
	for (const struct pattern *pattern = p->first; pattern; pattern = pattern->next) {
		struct regexp *r = atomic_load_explicit(&pattern->compiled, memory_order_acquire);
		bytes += r ? regexp_size(r) : 0;
	}
	return bytes;
}
