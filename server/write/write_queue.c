/* The queue of writers. A list for each hash of a key holds its writers in order of arrival: the
 * first that was not passed by has the turn. There is one lock, which is released before any
 * wake, because a wake may run any code. The thread only checks waiting writers; when there are
 * none, it sleeps, too. */
#include "server/write/write_queue.h"

#include "base/clock.h"
#include "base/thread.h"

#include <assert.h>
#include <pthread.h>

/* Writes under way are 200 by default, so lists are short. LOOK_MS: how late it may be noticed that
 * a client has gone. */
enum { BUCKETS = 64, LOOK_MS = 1000, PATIENCE_MS = 2000 };

struct write_queue {
	/* Guards what follows, and what is the queue's of each turn. */
	pthread_mutex_t lock;
	pthread_cond_t cond; /* somebody has fallen asleep, or it is over */
	struct list buckets[BUCKETS]; /* of struct write_turn, in the order in which they came */
	size_t n_asleep;
	bool is_closing;
	pthread_t thread;
};

static struct list *bucket_of(struct write_queue *s, struct str key)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < key.n; i++) {
		hash = (hash ^ (unsigned char)key.p[i]) * 16777619u;
	}
	return &s->buckets[hash % BUCKETS];
}

/* Lock held. The turn that may go on; NULL: none. */
static struct write_turn *first_of(struct list *bucket, struct str key)
{
	list_for_each(it, bucket) {
		struct write_turn *turn = list_entry(it, struct write_turn, node);
		if (!turn->is_passed && str_eq(turn->key, key)) {
			return turn;
		}
	}
	return NULL;
}

/* Lock held. Adds the turn to those that wake_all() wakes once the lock is released. */
static void rouse(struct write_queue *s, struct write_turn *turn, struct write_turn **woken)
{
	assert_locked(&s->lock);
	if (turn && turn->is_asleep) {
		assert(turn->is_linked && s->n_asleep > 0);
		turn->is_asleep = false;
		s->n_asleep--;
		turn->next_woken = *woken;
		*woken = turn;
	}
}

/* A turn may be gone as soon as it has been woken. */
static void wake_all(struct write_turn *woken)
{
	while (woken) {
		struct write_turn *next = woken->next_woken;
		woken->wake(woken->ctx);
		woken = next;
	}
}

bool write_turn_take(struct write_queue *s, struct write_turn *turn, struct str key, void (*wake)(void *ctx), void *ctx,
	int64_t *ret_after)
{
	assert(key.n > 0 && wake);
	pthread_mutex_lock(&s->lock);
	struct list *bucket = bucket_of(s, key);
	if (!turn->is_linked) {
		*turn = (struct write_turn){.key = key, .wake = wake, .ctx = ctx, .is_linked = true};
		list_append(bucket, &turn->node);
	}
	assert(str_eq(turn->key, key)); /* a turn is for one key as long as it lasts */
	bool is_held = first_of(bucket, key) == turn;
	turn->is_asleep = !is_held;
	if (turn->is_asleep && s->n_asleep++ == 0) {
		pthread_cond_signal(&s->cond);
	}
	*ret_after = turn->after;
	pthread_mutex_unlock(&s->lock);
	return is_held;
}

void write_turn_leave(struct write_queue *s, struct write_turn *turn, int64_t revision)
{
	struct write_turn *woken = NULL;

	if (!turn->is_linked) {
		return;
	}
	pthread_mutex_lock(&s->lock);
	struct list *bucket = bucket_of(s, turn->key);
	list_remove(&turn->node);
	struct write_turn *next = first_of(bucket, turn->key);
	if (next) {
		next->after = MAX(MAX(next->after, turn->after), revision);
		rouse(s, next, &woken);
	}
	pthread_mutex_unlock(&s->lock);
	*turn = (struct write_turn){0};
	wake_all(woken);
}

void write_turn_set_asking(struct write_queue *s, struct write_turn *turn, bool is_asking)
{
	if (turn->is_linked) {
		pthread_mutex_lock(&s->lock);
		turn->asking_since_ms = is_asking ? clock_mono_ms() : 0;
		pthread_mutex_unlock(&s->lock);
	}
}

/* ---- the thread that looks after those who wait ---- */

/* Lock held. */
static void look_at(struct write_queue *s, struct list *bucket, int64_t now_ms, struct write_turn **woken)
{
	assert_locked(&s->lock);
	list_for_each(it, bucket) {
		struct write_turn *turn = list_entry(it, struct write_turn, node);
		if (turn->asking_since_ms && !turn->is_passed && now_ms - turn->asking_since_ms >= PATIENCE_MS) {
			turn->is_passed = true;
			rouse(s, first_of(bucket, turn->key), woken);
		}
		rouse(s, turn, woken); /* has its client gone, or its time? */
	}
}

static void *run(void *arg)
{
	struct write_queue *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->is_closing) {
		if (s->n_asleep == 0) {
			pthread_cond_wait(&s->cond, &s->lock);
			continue;
		}
		int64_t at_ms = clock_mono_ms() + LOOK_MS;
		while (!s->is_closing && clock_mono_ms() < at_ms) {
			clock_cond_wait(&s->cond, &s->lock, at_ms);
		}
		struct write_turn *woken = NULL;
		for (size_t i = 0; i < BUCKETS; i++) {
			look_at(s, &s->buckets[i], clock_mono_ms(), &woken);
		}
		pthread_mutex_unlock(&s->lock);
		wake_all(woken);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct write_queue *write_queue_new(void)
{
	struct write_queue *s = mem_new(struct write_queue);

	pthread_mutex_init(&s->lock, NULL);
	clock_cond_init(&s->cond);
	for (size_t i = 0; i < BUCKETS; i++) {
		list_init(&s->buckets[i]);
	}
	thread_must_start(&s->thread, "write-queue", run, s);
	return s;
}

struct write_queue *write_queue_free(struct write_queue *s)
{
	if (!s) {
		return NULL;
	}
	pthread_mutex_lock(&s->lock);
	s->is_closing = true;
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->cond);
	pthread_mutex_destroy(&s->lock);
	return mem_free(s);
}
