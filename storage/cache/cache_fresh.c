/* Waits until the cache is as new as etcd. A wait goes through three lists: joining the next
 * round, asking in the present one, waiting for a revision. However many wait, etcd sees one
 * round at a time, one fence or one proof. All lists are under the cache's lock, and no callback
 * runs under it: waits that are over are collected first. */
#include "base/thread.h"
#include "storage/cache/cache_private.h"

#include <assert.h>

enum {
	/* The timeout of one request to etcd, apart from the deadlines of waits. */
	ROUND_TIMEOUT_MS = 5000,
	FENCE_RETRY_MS = 250, /* after a proof that was not enough */
	HOLD_MS = 2,          /* how long the next round is held for readers that are still looking */
	PROOF_TIMEOUT_MS = 10000,
	LATE_MS = 20,          /* then the timer ends a hold that no reader has ended; each time costs two switches */
};

/* Ends a wait. Several may end at once, each with its own result; their `done` runs when no lock
 * is held. Lock held. */
static void wait_end(struct cache *c, struct cache_wait *w, enum storage_result result, struct list *over)
{
	assert_locked(&c->lock);
	atomic_fetch_add_explicit(&c->fresh.n_looking, 1, memory_order_relaxed);
	c->fresh.hold_until_ms = clock_mono_ms() + HOLD_MS;
	w->result = result;
	list_remove(&w->node);
	list_append(over, &w->node);
}

static const char *result_message(enum storage_result r)
{
	switch (r) {
	case STORAGE_OK:
		return "";
	case STORAGE_TIMEOUT:
		return "timed out waiting for etcd";
	default:
		return "etcd cannot be reached, or is being read again";
	}
}

static void waits_finish(struct cache *c, struct list *over)
{
	list_for_each_safe(it, over) {
		struct cache_wait *w = list_entry(it, struct cache_wait, node);

		list_remove(&w->node);
		w->revision = cache_revision(c);
		w->message = result_message(w->result);
		w->done(w);
	}
}

/* Returns the revision of etcd up to which the cache is current; a proof may put it above the
 * cache's own revision (see struct proof). Lock held. */
static int64_t shown_until(const struct cache *c)
{
	const struct proof *p = &c->fresh.proof;
	int64_t revision = cache_revision(c);
	bool is_same = p->newest <= revision && p->n_keys == c->n_keys_shown;

	return is_same ? MAX(revision, p->revision) : revision;
}

/* Lock held. */
static void waits_end_satisfied(struct cache *c, struct list *over)
{
	int64_t revision = shown_until(c);

	if (!cache_is_ready(c)) {
		return;
	}

	list_for_each_safe(it, &c->fresh.waiting) {
		struct cache_wait *w = list_entry(it, struct cache_wait, node);

		if (w->wanted <= revision) {
			wait_end(c, w, STORAGE_OK, over);
		}
	}
}

/* Returns the wait that has waited longest without a fence being written for it, or NULL. Lock
 * held. */
static struct cache_wait *fence_first_waiter(struct fresh *f)
{
	list_for_each(it, &f->waiting) {
		struct cache_wait *w = list_entry(it, struct cache_wait, node);

		if (w->fence_ms != INT64_MAX) {
			return w;
		}
	}
	return NULL;
}

/* Plans a fence for the wait that needs one first. Lock held. */
static void fence_plan(struct cache *c)
{
	assert_locked(&c->lock);
	struct fresh *f = &c->fresh;
	struct cache_wait *first;

	if (f->fence_at_ms != 0 || f->is_fencing || !cache_is_ready(c)) {
		return;
	}
	first = fence_first_waiter(f);
	if (first) {
		f->fence_at_ms = first->fence_ms;
		cache_timer_by(c, f->fence_at_ms);
	}
}

/* Starts to wait for that revision. Lock held. */
static void wait_begin(struct cache *c, struct cache_wait *w, int64_t revision)
{
	assert_locked(&c->lock);
	w->wanted = revision;
	w->fence_ms = clock_mono_ms() + c->options.fence_after_ms;
	list_remove(&w->node);
	list_append(&c->fresh.waiting, &w->node);
}

void cache_fresh_advance(struct cache *c)
{
	struct list over = LIST_INIT(over);

	pthread_mutex_lock(&c->lock);
	waits_end_satisfied(c, &over);
	fence_plan(c);
	pthread_mutex_unlock(&c->lock);
	waits_finish(c, &over);
}

void cache_fresh_give_up(struct cache *c)
{
	struct list over = LIST_INIT(over);

	pthread_mutex_lock(&c->lock);
	c->fresh.proof = (struct proof){0};
	list_for_each_safe(it, &c->fresh.waiting) {
		wait_end(c, list_entry(it, struct cache_wait, node), STORAGE_UNAVAILABLE, &over);
	}
	pthread_mutex_unlock(&c->lock);
	waits_finish(c, &over);
}

/* ---- rounds of the read index ---- */

static void round_done(struct storage_op *op);

/* Returns true while the next round is held. Readers released by the last round are about to
 * answer, and their clients to ask again. A round started at once would serve the few who came
 * meanwhile; most would wait for the one after it. A reader that looks for too long does not
 * hold the round. Lock held. */
static bool round_is_held(struct fresh *f)
{
	if (atomic_load_explicit(&f->n_looking, memory_order_relaxed) == 0) {
		return false;
	}
	if (clock_mono_ms() < f->hold_until_ms) {
		return true;
	}
	atomic_store_explicit(&f->n_looking, 0, memory_order_relaxed);
	return false;
}

/* Prepares a round. Returns true when the caller must submit it, after releasing the lock. Lock
 * held. */
static bool round_prepare(struct cache *c)
{
	struct fresh *f = &c->fresh;

	if (f->is_asking || list_is_empty(&f->joining) || c->is_closing) {
		return false;
	}
	if (round_is_held(f)) {
		cache_timer_by(c, f->hold_until_ms + LATE_MS);
		return false;
	}
	list_splice(&f->asking, &f->joining);
	f->is_asking = true;
	f->round_floor = cache_revision(c);
	c->n_busy++;
	f->round = (struct storage_range){
		.op = {.done = round_done, .timeout_ms = ROUND_TIMEOUT_MS},
		.key = c->fence_key,
		.limit = 1,
		.keys_only = true,
	};
	atomic_fetch_add(&c->n_rounds, 1);
	return true;
}

/* Starts a round. The lock is held, but released while the store is called. */
static void round_start(struct cache *c)
{
	assert_locked(&c->lock);
	if (round_prepare(c)) {
		pthread_mutex_unlock(&c->lock);
		storage_range(c->storage, &c->fresh.round);
		pthread_mutex_lock(&c->lock);
	}
}

/* Ends a round. The revision that etcd returned includes all that was acknowledged before it was
 * asked. Lock held. */
static void round_settle(struct cache *c, enum storage_result result, int64_t revision, struct list *over)
{
	assert_locked(&c->lock);
	struct fresh *f = &c->fresh;

	list_for_each_safe(it, &f->asking) {
		struct cache_wait *w = list_entry(it, struct cache_wait, node);

		if (result == STORAGE_OK) {
			wait_begin(c, w, revision);
		} else {
			wait_end(c, w, result == STORAGE_TIMEOUT ? STORAGE_TIMEOUT : STORAGE_UNAVAILABLE, over);
		}
	}
	waits_end_satisfied(c, over);
	fence_plan(c);
}

static void round_done(struct storage_op *op)
{
	struct storage_range *r = container_of(op, struct storage_range, op);
	struct cache *c = container_of(r, struct cache, fresh.round);
	struct list over = LIST_INIT(over);
	enum storage_result result = op->result;
	int64_t revision = op->revision;

	if (!cache_check_history(c, op, c->fresh.round_floor)) {
		result = STORAGE_UNAVAILABLE;
	}
	storage_op_clear(op);
	pthread_mutex_lock(&c->lock);
	c->fresh.is_asking = false;
	round_settle(c, result, revision, &over);
	round_start(c);
	pthread_mutex_unlock(&c->lock);
	waits_finish(c, &over);
	cache_idle(c);
}

void cache_wait_settled(struct cache *c)
{
	unsigned n = atomic_load_explicit(&c->fresh.n_looking, memory_order_relaxed);

	while (n > 0 &&
		!atomic_compare_exchange_weak_explicit(
			&c->fresh.n_looking, &n, n - 1, memory_order_relaxed, memory_order_relaxed)) {
	}
	if (n == 1) {
		pthread_mutex_lock(&c->lock);
		round_start(c);
		pthread_mutex_unlock(&c->lock);
	}
}

/* Returns when a round that is held has to start all the same. */
static int64_t round_tick(struct cache *c)
{
	round_start(c);
	return c->fresh.is_asking || list_is_empty(&c->fresh.joining) ? INT64_MAX : c->fresh.hold_until_ms + LATE_MS;
}

/* ---- the fence ---- */

static void fence_mark_all(struct cache *c, int64_t fence_ms)
{
	list_for_each(it, &c->fresh.waiting) {
		list_entry(it, struct cache_wait, node)->fence_ms = fence_ms;
	}
}

static void fence_done(struct storage_op *op)
{
	struct storage_txn *t = container_of(op, struct storage_txn, op);
	struct cache *c = container_of(t, struct cache, fresh.fence);
	bool has_failed = op->result != STORAGE_OK;
	int64_t now_ms = clock_mono_ms();

	storage_op_clear(op);
	pthread_mutex_lock(&c->lock);
	c->fresh.is_fencing = false;
	if (has_failed) {
		c->fresh.fence_not_before_ms = now_ms + CACHE_FENCE_AGAIN_MS;
		fence_mark_all(c, now_ms);
	}
	fence_plan(c);
	pthread_mutex_unlock(&c->lock);
	cache_idle(c);
}

/* Writes the fence. The lock is held, but released while the store is called. */
static void fence_write(struct cache *c)
{
	assert_locked(&c->lock);
	struct fresh *f = &c->fresh;

	f->is_fencing = true;
	f->fence_step = (struct storage_step){.kind = STEP_PUT, .key = c->fence_key};
	f->fence = (struct storage_txn){
		.op = {.done = fence_done, .timeout_ms = ROUND_TIMEOUT_MS},
		.success = &f->fence_step,
		.n_success = 1,
	};
	c->n_busy++;
	atomic_fetch_add(&c->n_fences, 1);
	pthread_mutex_unlock(&c->lock);
	storage_txn(c->storage, &f->fence);
	pthread_mutex_lock(&c->lock);
}

void cache_step_over(struct cache *c, int64_t revision)
{
	struct fresh *f = &c->fresh;

	pthread_mutex_lock(&c->lock);
	if (cache_revision(c) == revision && !f->is_fencing && !c->is_closing && clock_mono_ms() >= f->fence_not_before_ms) {
		fence_write(c);
	}
	pthread_mutex_unlock(&c->lock);
}

/* ---- the proof ---- */

static void proof_take(struct fresh *f, const struct storage_range *r)
{
	f->proof = (struct proof){
		.revision = r->op.revision,
		.newest = r->n_kvs > 0 ? r->kvs[0].mod_revision : r->changed_after,
		.n_keys = r->count,
	};
}

static void proof_done(struct storage_op *op)
{
	struct storage_range *r = container_of(op, struct storage_range, op);
	struct cache *c = container_of(r, struct cache, fresh.asked);
	struct fresh *f = &c->fresh;
	struct list over = LIST_INIT(over);
	bool is_ours = cache_check_history(c, op, r->changed_after) && op->result == STORAGE_OK && f->asked_epoch == c->epoch;
	int64_t now_ms = clock_mono_ms();

	pthread_mutex_lock(&c->lock);
	f->is_fencing = false;
	f->proof_not_before_ms = now_ms + now_ms - f->asked_ms;
	if (is_ours) {
		proof_take(f, r);
		waits_end_satisfied(c, &over);
	}
	fence_mark_all(c, now_ms + FENCE_RETRY_MS);
	fence_plan(c);
	pthread_mutex_unlock(&c->lock);
	storage_op_clear(op);
	waits_finish(c, &over);
	cache_idle(c);
}

/* Asks for the proof. The lock is held, but released while the store is called. */
static void proof_ask(struct cache *c, int64_t now_ms)
{
	assert_locked(&c->lock);
	struct fresh *f = &c->fresh;

	f->is_fencing = true;
	f->asked_ms = now_ms;
	f->asked_epoch = c->epoch;
	f->asked = (struct storage_range){
		.op = {.done = proof_done, .timeout_ms = PROOF_TIMEOUT_MS},
		.key = c->objects_key,
		.range_end = c->objects_end,
		.changed_after = cache_revision(c),
		.limit = 1,
		.keys_only = true,
	};
	c->n_busy++;
	atomic_fetch_add(&c->n_proofs, 1);
	pthread_mutex_unlock(&c->lock);
	storage_range(c->storage, &f->asked);
	pthread_mutex_lock(&c->lock);
}

/* ---- fence or proof ---- */

/* Starts a fence or a proof, which serves all current waits. */
static int64_t fence_tick(struct cache *c, int64_t now_ms)
{
	struct fresh *f = &c->fresh;
	struct cache_wait *first = fence_first_waiter(f);

	/* A cache that is still loading plans its fence when it is ready. */
	f->fence_at_ms = first && !f->is_fencing && cache_is_ready(c) ? first->fence_ms : 0;
	if (f->fence_at_ms == 0 || c->is_closing) {
		return INT64_MAX;
	}
	bool is_refused = now_ms < f->fence_not_before_ms;
	if (is_refused) {
		f->fence_at_ms = MAX(f->fence_at_ms, f->proof_not_before_ms);
	}
	if (now_ms < f->fence_at_ms) {
		return f->fence_at_ms;
	}
	f->fence_at_ms = 0;
	fence_mark_all(c, INT64_MAX);
	if (is_refused) {
		proof_ask(c, now_ms);
	} else {
		fence_write(c);
	}
	return INT64_MAX;
}

/* ---- waiting ---- */

void cache_wait_fresh(struct cache *c, struct cache_wait *w)
{
	assert(w->done && w->timeout_ms >= 0);
	list_init(&w->node);
	w->wanted = 0;
	w->deadline_ms = clock_mono_ms() + w->timeout_ms;
	pthread_mutex_lock(&c->lock);
	list_append(&c->fresh.joining, &w->node);
	cache_timer_by(c, w->deadline_ms);
	round_start(c);
	pthread_mutex_unlock(&c->lock);
}

void cache_wait_revision(struct cache *c, struct cache_wait *w, int64_t revision)
{
	assert(w->done && w->timeout_ms >= 0);
	struct list over = LIST_INIT(over);

	list_init(&w->node);
	w->deadline_ms = clock_mono_ms() + w->timeout_ms;
	pthread_mutex_lock(&c->lock);
	wait_begin(c, w, revision);
	waits_end_satisfied(c, &over);
	if (!list_is_empty(&c->fresh.waiting)) {
		cache_timer_by(c, w->deadline_ms);
		fence_plan(c);
	}
	pthread_mutex_unlock(&c->lock);
	waits_finish(c, &over);
}

/* Ends waits whose deadline has passed. Returns the earliest deadline of the others. Lock held. */
static int64_t waits_end_late(struct cache *c, struct list *waits, int64_t now_ms, struct list *over)
{
	int64_t earliest = INT64_MAX;

	list_for_each_safe(it, waits) {
		struct cache_wait *w = list_entry(it, struct cache_wait, node);

		if (w->deadline_ms <= now_ms) {
			wait_end(c, w, STORAGE_TIMEOUT, over);
		} else {
			earliest = MIN(earliest, w->deadline_ms);
		}
	}
	return earliest;
}

int64_t cache_fresh_tick(struct cache *c, int64_t now_ms)
{
	struct list *lists[] = {&c->fresh.joining, &c->fresh.asking, &c->fresh.waiting};
	struct list over = LIST_INIT(over);
	int64_t next = INT64_MAX;

	/* A revision is shown a moment before its waits end. A tick between the two must not write a
	 * fence for a wait that is over. */
	waits_end_satisfied(c, &over);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		next = MIN(next, waits_end_late(c, lists[i], now_ms, &over));
	}
	next = MIN(next, fence_tick(c, now_ms));
	next = MIN(next, round_tick(c));
	pthread_mutex_unlock(&c->lock);
	waits_finish(c, &over);
	pthread_mutex_lock(&c->lock);
	return next;
}

void cache_fresh_init(struct cache *c)
{
	list_init(&c->fresh.joining);
	list_init(&c->fresh.asking);
	list_init(&c->fresh.waiting);
}
