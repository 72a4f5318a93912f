/* Time is the version of one key, as in upstream's compact.go: clocks of replicas need not agree,
 * and a replica that slept finds that time has gone on. A round has memory of its own, because one
 * that is asked for now may come while the periodic one is under way. */
#include "storage/compact.h"

#include "base/clock.h"
#include "base/thread.h"
#include "storage/keys.h"

#include <errno.h>
#include <pthread.h>

/* One round: the transaction on compact_rev_key and, for its winner, the compaction. Steps follow one another on the completion
 * thread. */
struct round {
	struct compactor *c;
	bool is_now; /* compacts at the present revision rather than at the last round's */
	void (*done)(void *ctx, enum storage_result r, int64_t revision);
	void *ctx;
	struct arena arena;
	struct storage_range range;
	struct storage_compare compare;
	struct storage_step put, get;
	struct storage_txn txn;
	struct storage_compact compact;
};

struct compactor {
	struct compactor_options options;
	struct arena arena; /* of the key */
	struct str key;
	pthread_t thread;

	/* Guards what follows. Nobody is called while it is held. */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* on the monotonic clock */
	bool is_closing;
	unsigned n_rounds; /* under way */
	int64_t version;   /* of the key, as last seen: the logical time */
	int64_t revision;  /* of the store then: what the next round compacts at; 0: not known */
};

static void round_end(struct round *r, enum storage_result result, int64_t compacted)
{
	struct compactor *c = r->c;
	if (compacted > 0 && c->options.on_compacted) {
		c->options.on_compacted(c->options.ctx, compacted);
	}
	if (r->done) {
		r->done(r->ctx, result, compacted);
	}
	arena_done(&r->arena);
	mem_free(r);

	pthread_mutex_lock(&c->lock);
	c->n_rounds--;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void on_compact(struct storage_op *op)
{
	struct round *r = container_of(op, struct round, compact.op);
	enum storage_result result = op->result;
	bool is_compacted = result == STORAGE_OK || result == STORAGE_COMPACTED; /* further than wanted is as good */
	storage_op_clear(op);
	round_end(r, is_compacted ? STORAGE_OK : result, is_compacted ? r->compact.at_revision : 0);
}

static void compactor_learn(struct compactor *c, int64_t version, int64_t revision)
{
	pthread_mutex_lock(&c->lock);
	c->version = version;
	c->revision = revision;
	pthread_mutex_unlock(&c->lock);
}

/* Somebody else's value: how far they have compacted. */
static void round_lost(struct round *r)
{
	int64_t compacted = 0, version = 0;
	if (r->get.n_kvs > 0) {
		version = r->get.kvs[0].version;
		if (!str_to_int64(r->get.kvs[0].value, &compacted)) {
			compacted = 0;
		}
	}
	compactor_learn(r->c, version, r->txn.op.revision);
	storage_op_clear(&r->txn.op);
	round_end(r, STORAGE_OK, compacted);
}

static void round_won(struct round *r)
{
	struct compactor *c = r->c;
	int64_t present = r->txn.op.revision;
	compactor_learn(c, r->compare.number + 1, present);
	storage_op_clear(&r->txn.op);
	/* The first round of all has seen no revision that is old enough; one that is to come was of a history that a backup has ended. */
	if (r->compact.at_revision == 0 || r->compact.at_revision > present) {
		round_end(r, STORAGE_OK, 0);
		return;
	}
	/* At the revision of the round before: so history is kept for an interval at least. */
	r->compact.op.done = on_compact;
	storage_compact(c->options.storage, &r->compact);
}

static void on_txn(struct storage_op *op)
{
	struct round *r = container_of(op, struct round, txn.op);
	enum storage_result result = op->result;
	if (result != STORAGE_OK) {
		storage_op_clear(op);
		round_end(r, result, 0);
	} else if (r->txn.succeeded) {
		round_won(r);
	} else {
		round_lost(r);
	}
}

static void round_submit(struct round *r, int64_t version, int64_t revision)
{
	struct compactor *c = r->c;
	r->compact.at_revision = revision;
	r->compare = (struct storage_compare){
		.target = COMPARE_VERSION,
		.result = COMPARE_EQUAL,
		.key = c->key,
		.number = version,
	};
	struct str value = arena_printf(&r->arena, "%lld", (long long)revision);
	r->put = (struct storage_step){.kind = STEP_PUT, .key = c->key, .value = value};
	r->get = (struct storage_step){.kind = STEP_GET, .key = c->key};
	r->txn = (struct storage_txn){
		.op.done = on_txn,
		.compares = &r->compare,
		.n_compares = 1,
		.success = &r->put,
		.n_success = 1,
		.failure = &r->get,
		.n_failure = 1,
	};
	storage_txn(c->options.storage, &r->txn);
}

/* "Now" needs no interval to have passed: it takes the key's version and the store's revision as they are. */
static void on_range(struct storage_op *op)
{
	struct round *r = container_of(op, struct round, range.op);
	enum storage_result result = op->result;
	int64_t revision = op->revision;
	int64_t version = result == STORAGE_OK && r->range.n_kvs > 0 ? r->range.kvs[0].version : 0;
	storage_op_clear(op);
	if (result == STORAGE_OK) {
		round_submit(r, version, revision);
	} else {
		round_end(r, result, 0);
	}
}

static void round_start(struct round *r)
{
	struct compactor *c = r->c;
	pthread_mutex_lock(&c->lock);
	c->n_rounds++;
	int64_t version = c->version, revision = c->revision;
	pthread_mutex_unlock(&c->lock);

	arena_init(&r->arena, SIZE_MAX);
	if (r->is_now) {
		r->range = (struct storage_range){.op.done = on_range, .key = c->key};
		storage_range(c->options.storage, &r->range);
	} else {
		round_submit(r, version, revision);
	}
}

/* False when there is nothing more to wait for. */
static bool compactor_wait(struct compactor *c)
{
	int64_t until_ms = clock_mono_ms() + c->options.interval_ms;
	int r = 0;
	pthread_mutex_lock(&c->lock);
	while (!c->is_closing && r != ETIMEDOUT) {
		r = clock_cond_wait(&c->changed, &c->lock, until_ms);
	}
	bool must_go_on = !c->is_closing;
	pthread_mutex_unlock(&c->lock);
	return must_go_on;
}

static void *compactor_run(void *p)
{
	struct compactor *c = p;
	while (compactor_wait(c)) {
		struct round *r = mem_new(struct round);
		r->c = c;
		round_start(r);
	}
	return NULL;
}

struct compactor *compactor_new(const struct compactor_options *options)
{
	struct compactor *c = mem_new(struct compactor);
	c->options = *options;
	arena_init(&c->arena, SIZE_MAX);
	c->key = key_compact(&c->arena, options->prefix);
	pthread_mutex_init(&c->lock, NULL);
	clock_cond_init(&c->changed);
	if (options->interval_ms > 0) {
		thread_must_start(&c->thread, "compactor", compactor_run, c);
	}
	return c;
}

static void compactor_stop(struct compactor *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_closing = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (c->options.interval_ms > 0) {
		pthread_join(c->thread, NULL);
	}
	pthread_mutex_lock(&c->lock);
	while (c->n_rounds > 0) {
		pthread_cond_wait(&c->changed, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
}

struct compactor *compactor_free(struct compactor *c)
{
	if (!c) {
		return NULL;
	}
	compactor_stop(c);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	arena_done(&c->arena);
	return mem_free(c);
}

void compactor_run_now(struct compactor *c, void (*done)(void *ctx, enum storage_result r, int64_t revision), void *ctx)
{
	struct round *r = mem_new(struct round);
	r->c = c;
	r->is_now = true;
	r->done = done;
	r->ctx = ctx;
	round_start(r);
}
