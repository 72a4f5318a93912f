/* The completion thread sleeps in gRPC, so the cache has a thread for its times. Each tick says
 * when it wants to be called again; who needs an earlier time says so under the lock. An idle cache
 * wakes nobody. */
#include "storage/cache/cache_private.h"

#include "base/thread.h"

/* Lock held. Until timer_at_ms, or until somebody needs it earlier. */
static void timer_wait(struct cache *c)
{
	if (c->timer_at_ms == INT64_MAX) {
		pthread_cond_wait(&c->timer_cond, &c->lock);
	} else if (c->timer_at_ms > clock_mono_ms()) {
		clock_cond_wait(&c->timer_cond, &c->lock, c->timer_at_ms);
	}
}

/* Lock held. While the ticks let go of it, others may ask for an earlier time. */
static void timer_tick(struct cache *c)
{
	static int64_t (*const ticks[])(struct cache * c, int64_t now_ms) = {
		cache_load_tick,
		cache_fresh_tick,
		cache_pins_tick,
	};
	int64_t now_ms = clock_mono_ms();

	c->timer_at_ms = INT64_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(ticks); i++) {
		int64_t next = ticks[i](c, now_ms);

		c->timer_at_ms = MIN(c->timer_at_ms, next);
	}
}

static void *timer_run(void *arg)
{
	struct cache *c = arg;

	pthread_mutex_lock(&c->lock);
	while (!c->is_closing) {
		timer_tick(c);
		if (!c->is_closing) {
			timer_wait(c);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

void cache_timer_by(struct cache *c, int64_t at_ms)
{
	if (at_ms < c->timer_at_ms) {
		c->timer_at_ms = at_ms;
		pthread_cond_signal(&c->timer_cond);
	}
}

void cache_timer_start(struct cache *c)
{
	c->timer_at_ms = INT64_MAX;
	clock_cond_init(&c->timer_cond);
	thread_must_start(&c->timer, "cache-timer", timer_run, c);
}

void cache_timer_stop(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	pthread_cond_signal(&c->timer_cond);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->timer, NULL);
	pthread_cond_destroy(&c->timer_cond);
}
