/* The patterns of a schema. */
#include "api/schema/pattern.h"

#include "base/arena.h"
#include "base/base.h"

#include <assert.h>

struct pattern {
	struct pattern *next;
	struct patterns *all;
	struct str text;
	_Atomic(struct regexp *) compiled;
	_Atomic(char *) error; /* owned, unless it is too_large; does not count once `compiled` is there */
};

static char too_large[] = "error parsing regexp: expression too large";

struct pattern *patterns_add(struct patterns *p, struct arena *a, struct str text)
{
	for (struct pattern *known = p->first; known; known = known->next) {
		if (str_eq(known->text, text)) {
			return known;
		}
	}
	if (p->n == PATTERNS_MAX) {
		return p->first;
	}
	struct pattern *added = arena_new(a, struct pattern);
	*added = (struct pattern){.next = p->first, .all = p};
	p->n++;
	/* The last one stands for all that are too many. */
	added->text = p->n == PATTERNS_MAX ? (struct str){0} : arena_dup(a, text);
	atomic_init(&added->error, p->n == PATTERNS_MAX ? too_large : NULL);
	p->first = added;
	return added;
}

void patterns_done(struct patterns *p)
{
	for (struct pattern *pattern = p->first; pattern; pattern = pattern->next) {
		char *error = atomic_load_explicit(&pattern->error, memory_order_relaxed);
		regexp_free(atomic_load_explicit(&pattern->compiled, memory_order_relaxed));
		if (error != too_large) {
			mem_free(error);
		}
	}
	*p = (struct patterns){0};
}

/* Remembers why the pattern cannot be compiled. Returns what another thread has compiled meanwhile, or NULL. */
static struct regexp *pattern_fail(struct pattern *p, const char *error)
{
	char *made = error == too_large ? too_large : mem_strdup(error), *present = NULL;
	if (!atomic_compare_exchange_strong(&p->error, &present, made) && made != too_large) {
		mem_free(made);
	}
	return atomic_load_explicit(&p->compiled, memory_order_acquire);
}

/* Compiles the pattern unless that was tried before. Several threads may try at once; the first one
 * wins. Returns NULL where it cannot be compiled.
 *
 * Patterns that fit together fit in any order. So a definition that was accepted has no pattern that
 * is refused when a value is validated: the memory of a pattern is added after it is seen to fit. */
static struct regexp *pattern_compile(struct pattern *p)
{
	struct regexp *r = atomic_load_explicit(&p->compiled, memory_order_acquire);
	char error[REGEXP_ERROR_SIZE];
	if (r || atomic_load_explicit(&p->error, memory_order_acquire)) {
		return r;
	}
	if (atomic_load(&p->all->memory) >= PATTERNS_MEMORY_MAX) {
		return pattern_fail(p, too_large);
	}
	struct regexp *made = regexp_new(p->text.p, p->text.n, error);
	size_t memory = made ? regexp_memory(made) : REGEXP_MEMORY_MAX;
	if (!made || atomic_load(&p->all->memory) + memory > PATTERNS_MEMORY_MAX) {
		r = pattern_fail(p, made ? too_large : error);
		if (!r) { /* it took as long as if it was kept, so it counts */
			atomic_fetch_add(&p->all->memory, memory);
		}
		regexp_free(made);
		return r;
	}
	if (!atomic_compare_exchange_strong(&p->compiled, &r, made)) {
		regexp_free(made);
		return r;
	}
	atomic_fetch_add(&p->all->memory, memory);
	return made;
}

const char *pattern_error(struct pattern *p)
{
	return pattern_compile(p) ? NULL : atomic_load_explicit(&p->error, memory_order_acquire);
}

bool pattern_matches(struct pattern *p, struct str text, uint64_t *ret_steps)
{
	struct regexp *r = pattern_compile(p);
	if (!r) {
		return false;
	}
	*ret_steps += (uint64_t)text.n * regexp_length(r);
	return regexp_matches(r, text.p, text.n);
}

size_t patterns_memory(const struct patterns *p)
{
	return atomic_load(&p->memory);
}
