/* What a client may do so often, and no oftener: so many at once, and so many more in each second. Pure. */
#ifndef SERVER_HTTP_H2_BUDGET_H
#define SERVER_HTTP_H2_BUDGET_H

#include "base/base.h"

struct h2_allowance {
	int64_t burst, per_second;
};

/* Zeroed: nothing has been taken. */
struct h2_budget {
	int64_t spent;    /* thousandths */
	int64_t since_ms; /* monotonic: given back until then */
};

/* False: there is none left. */
static inline bool h2_budget_take(struct h2_budget *b, const struct h2_allowance *a, int64_t now_ms)
{
	int64_t passed_ms = MAX(now_ms - b->since_ms, (int64_t)0);
	int64_t given_back = passed_ms < b->spent ? passed_ms * a->per_second : b->spent;
	b->spent = MAX(b->spent - given_back, (int64_t)0);
	b->since_ms = now_ms;
	if (b->spent + 1000 > a->burst * 1000) {
		return false;
	}
	b->spent += 1000;
	return true;
}

#endif
