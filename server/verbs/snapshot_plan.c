/* The order of history is by number, then by birth: upstream's door lets two revisions have one
 * number. The target is never trimmed, nor counted: the limit is for what is not current, as in
 * upstream's revisionHistoryLimit. */
#include "server/verbs/snapshot_plan.h"

#include <stdlib.h>

/* kubectl takes --to-revision=0 for "the one before". */
enum { FIRST_NUMBER = 1 };

static int past_cmp(const void *a, const void *b)
{
	const struct snapshot_past *x = a, *y = b;

	if (x->number != y->number) {
		return x->number < y->number ? -1 : 1;
	}
	if (x->create_revision != y->create_revision) {
		return x->create_revision < y->create_revision ? -1 : 1;
	}
	return str_cmp(x->name, y->name);
}

static const struct snapshot_past *newest_equal(const struct snapshot_past *past, size_t n, struct str digest)
{
	while (n > 0 && !str_eq(past[n - 1].digest, digest)) {
		n--;
	}
	return n > 0 ? &past[n - 1] : NULL;
}

static void plan_trim(struct snapshot_plan *p, const struct snapshot_past *past, size_t n, size_t limit, struct arena *a)
{
	size_t n_idle = 0;

	p->trimmed = arena_array(a, const struct snapshot_past *, n);
	for (size_t i = 0; i < n; i++) {
		n_idle += !past[i].is_live && &past[i] != p->target;
	}
	for (size_t i = 0; i < n && n_idle > limit; i++) {
		if (!past[i].is_live && &past[i] != p->target) {
			p->trimmed[p->n_trimmed++] = &past[i];
			n_idle--;
		}
	}
}

static int plan_target(struct snapshot_plan *p, const struct snapshot_past *past, size_t n, struct str digest)
{
	const struct snapshot_past *newest = n > 0 ? &past[n - 1] : NULL;

	p->target = newest_equal(past, n, digest);
	if (p->target && p->target->is_deleting) {
		return SNAPSHOT_IS_GOING;
	}
	if (p->target && p->target == newest) {
		p->result = SNAPSHOT_UNCHANGED;
		p->number = newest->number;
		return 0;
	}
	if (newest && newest->number == INT64_MAX) {
		return SNAPSHOT_NO_NUMBER;
	}
	p->result = p->target ? SNAPSHOT_ROLLED_BACK : SNAPSHOT_CREATED;
	p->number = newest ? newest->number + 1 : FIRST_NUMBER;
	return 0;
}

int snapshot_plan(
	struct snapshot_plan *ret, struct snapshot_past *past, size_t n, struct str digest, size_t limit, struct arena *a)
{
	*ret = (struct snapshot_plan){0};
	if (n > 1) {
		qsort(past, n, sizeof(*past), past_cmp);
	}
	int r = plan_target(ret, past, n, digest);
	if (!r) {
		plan_trim(ret, past, n, limit, a);
	}
	return r;
}

const char *snapshot_result_name(enum snapshot_result r)
{
	static const char *const names[] = {
		[SNAPSHOT_UNCHANGED] = "Unchanged", [SNAPSHOT_ROLLED_BACK] = "RolledBack", [SNAPSHOT_CREATED] = "Created"};

	return names[r];
}
