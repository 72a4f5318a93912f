/* A work queue after k8s.io/client-go/util/workqueue, whose three layers (queue, delays, rate
 * limits) are one here. The worker that waits also watches the first delay, so there is no thread
 * for timers.
 *
 * One lock guards everything, and no callback runs under it. A worker waits for this queue alone
 * (workqueue_get), or a pool of threads listens to many queues and takes what is there
 * (workqueue_take). */
#include "client/workqueue.h"

#include "base/clock.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>

struct entry {
	char *key;
	struct list link;            /* in `waiting`, or alone */
	struct heap_node delay;      /* in `delayed`, or alone */
	bool is_waiting, is_running; /* both: the key runs once more after workqueue_done() */
	int64_t began_ms;
	unsigned failures, polls;
};

struct workqueue {
	const char *name;
	int64_t first_ms, last_ms;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t wake;
	struct map entries;
	struct list waiting;
	struct heap delayed;
	size_t n_waiting, n_running;
	uint64_t adds, retries;
	bool is_stopped, has_news;
	void (*on_news)(void *ctx);
	void *ctx;
};

/* Notes that waiting threads must be woken, after the lock is released: the listener calls this
 * queue under a lock of its own. */
static void workqueue_tell(struct workqueue *q)
{
	assert_locked(&q->lock);
	q->has_news = true;
	pthread_cond_signal(&q->wake);
}

static void unlock_and_tell(struct workqueue *q)
{
	assert_locked(&q->lock);
	void (*on_news)(void *ctx) = q->has_news && !q->is_stopped ? q->on_news : NULL;
	void *ctx = q->ctx;
	q->has_news = false;
	pthread_mutex_unlock(&q->lock);
	if (on_news) {
		on_news(ctx);
	}
}

/* ---- under the lock ---- */

static struct entry *entry_get(struct workqueue *q, struct str key)
{
	struct entry *e = map_get(&q->entries, key);
	if (!e) {
		e = mem_new(struct entry);
		e->key = mem_strndup(key.p, key.n);
		list_init(&e->link);
		map_set(&q->entries, key, e, NULL);
	}
	return e;
}

static void entry_free(struct entry *e)
{
	assert(!e->is_running || list_is_empty(&e->link));
	mem_free(e->key);
	mem_free(e);
}

/* Frees the entry if it holds nothing worth remembering. */
static void entry_settle(struct workqueue *q, struct entry *e)
{
	if (!e->is_waiting && !heap_has(&e->delay) && !e->is_running && !e->failures && !e->polls) {
		map_remove(&q->entries, str_of(e->key));
		entry_free(e);
	}
}

/* A key in work does not go into the list, or two workers could have it. workqueue_done() puts
 * it there. */
static void add_now(struct workqueue *q, struct entry *e)
{
	heap_remove(&q->delayed, &e->delay);
	if (e->is_waiting) {
		return;
	}
	e->is_waiting = true;
	q->adds++;
	if (!e->is_running) {
		list_append(&q->waiting, &e->link);
		q->n_waiting++;
		workqueue_tell(q);
	}
}

/* The earliest time counts, as in client-go's delaying queue: a later request must not put off
 * an earlier one. */
static void add_delayed(struct workqueue *q, struct entry *e, int64_t due_ms)
{
	if (e->is_waiting || (heap_has(&e->delay) && e->delay.due <= due_ms)) {
		return;
	}
	heap_set(&q->delayed, &e->delay, due_ms);
	/* A waiting worker has set its clock for a later delay. */
	if (heap_first(&q->delayed) == &e->delay) {
		workqueue_tell(q);
	}
}

/* As client-go's ItemExponentialFailureRateLimiter, by key: an object that always fails slows
 * down no other. */
static int64_t backoff_ms(const struct workqueue *q, unsigned failures)
{
	int64_t ms = q->first_ms;
	for (unsigned i = 0; i < failures && ms < q->last_ms; i++) {
		ms *= 2;
	}
	return MIN(ms, q->last_ms);
}

static void release_due(struct workqueue *q)
{
	int64_t now = clock_mono_ms();
	struct heap_node *first;
	while ((first = heap_first(&q->delayed)) && first->due <= now) {
		add_now(q, container_of(first, struct entry, delay));
	}
}

static void workqueue_wait(struct workqueue *q)
{
	const struct heap_node *first = heap_first(&q->delayed);
	if (first) {
		clock_cond_wait(&q->wake, &q->lock, first->due);
	} else {
		pthread_cond_wait(&q->wake, &q->lock);
	}
}

static struct entry *take_first(struct workqueue *q)
{
	assert(!list_is_empty(&q->waiting) && q->n_waiting > 0);
	struct entry *e = list_entry(q->waiting.next, struct entry, link);
	list_remove(&e->link);
	e->is_waiting = false;
	e->is_running = true;
	e->began_ms = clock_mono_ms();
	q->n_waiting--;
	q->n_running++;
	return e;
}

/* ---- functions for all threads ---- */

struct workqueue *workqueue_new(const char *name, int64_t first_ms, int64_t last_ms)
{
	assert(name && first_ms > 0 && first_ms <= last_ms);
	struct workqueue *q = mem_new(struct workqueue);
	*q = (struct workqueue){.name = name, .first_ms = first_ms, .last_ms = last_ms};
	clock_cond_init(&q->wake);
	pthread_mutex_init(&q->lock, NULL);
	/* A lost key would be a lost change of an object, so the map has no limit. The number of
	 * objects bounds it. */
	map_init(&q->entries, SIZE_MAX);
	list_init(&q->waiting);
	return q;
}

struct workqueue *workqueue_free(struct workqueue *q)
{
	if (q) {
		for (struct map_entry *e = map_next(&q->entries, NULL); e; e = map_next(&q->entries, e)) {
			entry_free(e->value);
		}
		map_done(&q->entries);
		heap_done(&q->delayed);
		pthread_mutex_destroy(&q->lock);
		pthread_cond_destroy(&q->wake);
		mem_free(q);
	}
	return NULL;
}

void workqueue_add(struct workqueue *q, struct str key)
{
	assert(key.p);
	pthread_mutex_lock(&q->lock);
	if (!q->is_stopped) {
		add_now(q, entry_get(q, key));
	}
	unlock_and_tell(q);
}

void workqueue_add_after(struct workqueue *q, struct str key, int64_t delay_ms)
{
	pthread_mutex_lock(&q->lock);
	if (!q->is_stopped && delay_ms > 0) {
		add_delayed(q, entry_get(q, key), clock_mono_ms() + delay_ms);
	} else if (!q->is_stopped) {
		add_now(q, entry_get(q, key));
	}
	unlock_and_tell(q);
}

void workqueue_retry(struct workqueue *q, struct str key)
{
	pthread_mutex_lock(&q->lock);
	if (!q->is_stopped) {
		struct entry *e = entry_get(q, key);
		add_delayed(q, e, clock_mono_ms() + backoff_ms(q, e->failures));
		e->failures++;
		q->retries++;
	}
	unlock_and_tell(q);
}

void workqueue_poll(struct workqueue *q, struct str key, int64_t last_ms)
{
	pthread_mutex_lock(&q->lock);
	if (!q->is_stopped) {
		struct entry *e = entry_get(q, key);
		add_delayed(q, e, clock_mono_ms() + MIN(backoff_ms(q, e->polls), last_ms));
		e->polls++;
	}
	unlock_and_tell(q);
}

void workqueue_forget(struct workqueue *q, struct str key)
{
	pthread_mutex_lock(&q->lock);
	struct entry *e = map_get(&q->entries, key);
	if (e) {
		e->failures = e->polls = 0;
		entry_settle(q, e);
	}
	pthread_mutex_unlock(&q->lock);
}

unsigned workqueue_failures(struct workqueue *q, struct str key)
{
	pthread_mutex_lock(&q->lock);
	const struct entry *e = map_get(&q->entries, key);
	unsigned failures = e ? e->failures : 0;
	pthread_mutex_unlock(&q->lock);
	return failures;
}

char *workqueue_get(struct workqueue *q)
{
	char *key = NULL;
	pthread_mutex_lock(&q->lock);
	while (!q->is_stopped && !key) {
		release_due(q);
		if (list_is_empty(&q->waiting)) {
			workqueue_wait(q);
		} else {
			/* The worker gets a copy, because it holds no lock while it works. */
			key = mem_strdup(take_first(q)->key);
		}
	}
	pthread_mutex_unlock(&q->lock);
	return key;
}

void workqueue_done(struct workqueue *q, char *key)
{
	pthread_mutex_lock(&q->lock);
	struct entry *e = map_get(&q->entries, str_of(key));
	assert(e && e->is_running && q->n_running > 0);
	e->is_running = false;
	q->n_running--;
	if (e->is_waiting) {
		list_append(&q->waiting, &e->link);
		q->n_waiting++;
		workqueue_tell(q);
	}
	entry_settle(q, e);
	unlock_and_tell(q);
	mem_free(key);
}

char *workqueue_take(struct workqueue *q, int64_t *ret_due_ms)
{
	char *key = NULL;
	pthread_mutex_lock(&q->lock);
	*ret_due_ms = INT64_MAX;
	if (!q->is_stopped) {
		release_due(q);
		const struct heap_node *first = heap_first(&q->delayed);
		key = list_is_empty(&q->waiting) ? NULL : mem_strdup(take_first(q)->key);
		*ret_due_ms = first ? first->due : INT64_MAX;
	}
	q->has_news = false; /* set by release_due(), but this caller takes the key itself */
	pthread_mutex_unlock(&q->lock);
	return key;
}

void workqueue_listen(struct workqueue *q, void (*on_news)(void *ctx), void *ctx)
{
	assert(on_news);
	pthread_mutex_lock(&q->lock);
	assert(!q->on_news);
	q->on_news = on_news;
	q->ctx = ctx;
	pthread_mutex_unlock(&q->lock);
}

void workqueue_stop(struct workqueue *q)
{
	pthread_mutex_lock(&q->lock);
	q->is_stopped = true;
	pthread_cond_broadcast(&q->wake);
	pthread_mutex_unlock(&q->lock);
}

const char *workqueue_name(const struct workqueue *q)
{
	return q->name;
}

static void read_running(struct workqueue *q, struct workqueue_stats *ret)
{
	int64_t now = clock_mono_ms();
	for (struct map_entry *it = map_next(&q->entries, NULL); it; it = map_next(&q->entries, it)) {
		const struct entry *e = it->value;
		if (e->is_running) {
			double seconds = (double)(now - e->began_ms) / 1000;
			ret->unfinished_s += seconds;
			ret->longest_running_s = MAX(ret->longest_running_s, seconds);
		}
	}
}

void workqueue_read_stats(struct workqueue *q, struct workqueue_stats *ret)
{
	pthread_mutex_lock(&q->lock);
	*ret = (struct workqueue_stats){
		.depth = q->n_waiting,
		.delayed = q->delayed.n,
		.processing = q->n_running,
		.adds = q->adds,
		.retries = q->retries,
	};
	read_running(q, ret);
	pthread_mutex_unlock(&q->lock);
}
