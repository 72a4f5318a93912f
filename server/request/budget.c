/* Bytes are granted or refused at once: a request that waited for memory would hold what it has.
 * The thread is there because malloc_trim() walks the whole heap. It is called without the lock, so
 * nobody who charges waits for that. */
#include "server/request/budget.h"

#include "base/clock.h"
#include "base/thread.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

enum {
	TRIM_AFTER = 8 << 20, /* bytes given back by requests: then it is worth it */
	TRIM_DELAY_MS = 1000, /* after a burst rather than all along */
};

struct budget {
	size_t limit;
	pthread_mutex_t lock;
	pthread_cond_t cond; /* enough was given back, or it is over */
	size_t used, returned;
	bool is_closing;
	pthread_t thread;
};

/* The thread hears of the moment in which it is enough, and not again while it waits for the burst to end: each word would cost the
 * caller a system call and the processor two changes of threads. */
static void give_back(struct budget *b, size_t n)
{
	bool was_enough = b->returned >= TRIM_AFTER;
	b->returned += n;
	if (!was_enough && b->returned >= TRIM_AFTER) {
		pthread_cond_signal(&b->cond);
	}
}

bool budget_charge(struct budget *b, size_t *charged, size_t wanted)
{
	pthread_mutex_lock(&b->lock);
	size_t others = b->used - *charged;
	/* Less is always granted, and so is anything to one who would be alone. */
	bool is_granted = wanted <= *charged || others == 0 || (others <= b->limit && wanted <= b->limit - others);
	if (is_granted) {
		give_back(b, *charged > wanted ? *charged - wanted : 0);
		b->used = others + wanted;
		*charged = wanted;
	}
	pthread_mutex_unlock(&b->lock);
	return is_granted;
}

bool budget_has_room(struct budget *b, size_t wanted)
{
	pthread_mutex_lock(&b->lock);
	bool has_room = b->used == 0 || (b->used <= b->limit && wanted <= b->limit - b->used);
	pthread_mutex_unlock(&b->lock);
	return has_room;
}

size_t budget_used(struct budget *b)
{
	pthread_mutex_lock(&b->lock);
	size_t used = b->used;
	pthread_mutex_unlock(&b->lock);
	return used;
}

/* The C library keeps what was freed amid what was not: all of a burst, for good. */
static void *trim(void *arg)
{
	struct budget *b = arg;

	pthread_mutex_lock(&b->lock);
	while (!b->is_closing) {
		if (b->returned < TRIM_AFTER) {
			pthread_cond_wait(&b->cond, &b->lock);
			continue;
		}
		int64_t until_ms = clock_mono_ms() + TRIM_DELAY_MS;
		while (!b->is_closing && clock_mono_ms() < until_ms) {
			clock_cond_wait(&b->cond, &b->lock, until_ms);
		}
		b->returned = 0;
		pthread_mutex_unlock(&b->lock);
#ifdef __GLIBC__
		malloc_trim(0);
#endif
		pthread_mutex_lock(&b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

struct budget *budget_new(size_t limit)
{
	struct budget *b = mem_new(struct budget);

	b->limit = limit;
	pthread_mutex_init(&b->lock, NULL);
	clock_cond_init(&b->cond);
	thread_must_start(&b->thread, "budget", trim, b);
	return b;
}

struct budget *budget_free(struct budget *b)
{
	if (!b) {
		return NULL;
	}
	pthread_mutex_lock(&b->lock);
	b->is_closing = true;
	pthread_cond_signal(&b->cond);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->cond);
	pthread_mutex_destroy(&b->lock);
	return mem_free(b);
}
