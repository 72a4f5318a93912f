/* Pauses between tries that grow. Each gets a random part, so clients that failed together do
 * not come back together. */
#ifndef CLIENT_BACKOFF_H
#define CLIENT_BACKOFF_H

#include "base/base.h"

struct backoff {
	int64_t first_ms, last_ms, next_ms;
};

static inline void backoff_init(struct backoff *b, int64_t first_ms, int64_t last_ms)
{
	*b = (struct backoff){first_ms, last_ms, first_ms};
}
static inline void backoff_reset(struct backoff *b)
{
	b->next_ms = b->first_ms;
}
/* Returns the next pause: first_ms, doubled each time up to last_ms, plus a random part of up to
 * the same length. */
int64_t backoff_next(struct backoff *b);
int64_t random_below(int64_t n); /* 0 <= r < n; not for secrets */

#endif
