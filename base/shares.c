/* Shares of a budget: the counters, and the arithmetic. */
#include "base/shares.h"

/* Both rows take bits of their own. */
static size_t column_of(uint64_t user, size_t row)
{
	_Static_assert((SHARES_COLUMNS & (SHARES_COLUMNS - 1)) == 0, "columns are chosen by bits");
	return (size_t)(user >> (32 * row)) & (SHARES_COLUMNS - 1);
}

void shares_count(struct shares *s, uint64_t user, ptrdiff_t n)
{
	for (size_t row = 0; row < SHARES_ROWS; row++) {
		atomic_fetch_add_explicit(&s->held[row][column_of(user, row)], (size_t)n, memory_order_relaxed);
	}
}

size_t shares_held(const struct shares *s, uint64_t user)
{
	size_t least = SIZE_MAX;

	for (size_t row = 0; row < SHARES_ROWS; row++) {
		size_t n = atomic_load_explicit(&s->held[row][column_of(user, row)], memory_order_relaxed);
		least = MIN(least, n);
	}
	return least;
}

size_t share_limit(size_t budget, bool is_privileged)
{
	return is_privileged ? budget : budget - budget / SHARES_RESERVE_PART;
}

size_t share_of(size_t limit, size_t used, size_t mine)
{
	size_t others = used - MIN(used, mine);

	return (limit - MIN(limit, others)) / 2;
}

bool share_fits(size_t limit, size_t used, size_t mine, size_t n)
{
	size_t share = share_of(limit, used, mine);

	return mine <= share / 4 || (n <= share && mine <= share - n);
}
