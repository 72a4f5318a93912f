/* Intervals with commas between them, in ascending order. */
#include "api/workload/job_indexes.h"

struct interval {
	int64_t first, last;
};

static struct str read_index(int64_t *ret, struct str s, int64_t completions, struct arena *a)
{
	if (!str_to_int64(s, ret)) {
		return arena_printf(a, "cannot convert string to integer for index: \"" STR_FMT "\"", STR_ARG(s));
	}
	return *ret >= completions ? arena_printf(a, "too large index: \"" STR_FMT "\"", STR_ARG(s)) : (struct str){0};
}

static struct str out_of_order(int64_t previous, int64_t current, struct arena *a)
{
	return arena_printf(a, "non-increasing order, previous: %lld, current: %lld", (long long)previous, (long long)current);
}

static struct str read_interval(struct interval *ret, struct str s, int64_t completions, struct arena *a)
{
	struct str first = s, last = {0}, more;
	bool is_range = str_cut(s, '-', &first, &last);
	if (is_range && str_cut(last, '-', &more, &more)) {
		return arena_printf(a,
			"the fragment \"" STR_FMT
			"\" violates the requirement that an index interval can have at most two parts separated by '-'",
			STR_ARG(s));
	}
	struct str problem = read_index(&ret->first, first, completions, a);
	ret->last = ret->first;
	if (problem.n || !is_range) {
		return problem;
	}
	problem = read_index(&ret->last, last, completions, a);
	return problem.n || ret->first < ret->last ? problem : out_of_order(ret->first, ret->last, a);
}

/* Cuts off the text of the next interval; false: there is none. */
static bool next_text(struct str *rest, bool *is_over, struct str *ret)
{
	struct str after = {0};
	if (*is_over) {
		return false;
	}
	*ret = *rest;
	*is_over = !str_cut(*rest, ',', ret, &after);
	*rest = after;
	return true;
}

struct str indexes_problem(struct str list, int64_t completions, int64_t *ret_n, struct arena *a)
{
	struct interval at, before = {-1, -1};
	struct str text, problem;
	bool is_over = list.n == 0, has_before = false;
	*ret_n = 0;
	while (next_text(&list, &is_over, &text)) {
		problem = read_interval(&at, text, completions, a);
		if (!problem.n && has_before && before.last >= at.first) {
			problem = out_of_order(before.last, at.first, a);
		}
		if (problem.n) {
			*ret_n = 0;
			return problem;
		}
		*ret_n += at.last - at.first + 1;
		before = at;
		has_before = true;
	}
	return (struct str){0};
}

struct cursor {
	struct str rest;
	bool is_over, is_done;
	struct interval at;
	int64_t completions;
};

static void step(struct cursor *c, struct arena *a)
{
	struct str text;
	c->is_done = !next_text(&c->rest, &c->is_over, &text) || read_interval(&c->at, text, c->completions, a).n;
}

int64_t indexes_overlap(struct str completed, struct str failed, int64_t completions, struct arena *a)
{
	struct cursor c = {.rest = completed, .is_over = completed.n == 0, .completions = completions},
		      f = {.rest = failed, .is_over = failed.n == 0, .completions = completions};
	step(&c, a);
	step(&f, a);
	while (!c.is_done && !f.is_done) {
		if (c.at.first <= f.at.last && f.at.first <= c.at.last) {
			return MAX(c.at.first, f.at.first);
		}
		step(c.at.first <= f.at.first ? &c : &f, a);
	}
	return -1;
}
