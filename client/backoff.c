/* Chance is added to the pause rather than taken from it: the first pause is the shortest that a
 * server in trouble ever sees. */
#include "client/backoff.h"

#include "base/ids.h"

int64_t random_below(int64_t n)
{
	uint64_t r;
	random_bytes(&r, sizeof(r));
	return (int64_t)(r % (uint64_t)n);
}

int64_t backoff_next(struct backoff *b)
{
	int64_t pause = b->next_ms;
	b->next_ms = MIN(b->next_ms * 2, b->last_ms);
	return pause + random_below(pause + 1);
}
