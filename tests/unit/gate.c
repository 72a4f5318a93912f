#include "tests/unit/gate.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct gate {
	struct storage storage;
	struct storage *inner;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct storage_watch watch;  /* of inner */
	struct storage_watch *owner; /* NULL: nobody watches */
	int64_t next_revision, watched_from;
	bool is_closed, is_streaming;
	int64_t largest_page; /* keys; 0: no limit */
	atomic_uint pages_until_refusal; /* 0: there will be none */
	enum storage_result refusal;
};

static struct gate *gate_of(struct storage *s)
{
	return container_of(s, struct gate, storage);
}

static void on_events(struct storage_watch *w, const struct storage_event *events, size_t n, int64_t revision)
{
	struct gate *g = container_of(w, struct gate, watch);

	g->next_revision = revision + 1;
	g->owner->on_events(g->owner, events, n, revision);
}

static void on_state(struct storage_watch *w, bool is_connected, const char *message)
{
	struct gate *g = container_of(w, struct gate, watch);

	if (g->owner->on_state) {
		g->owner->on_state(g->owner, is_connected, message);
	}
}

static void on_end(struct storage_watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	struct gate *g = container_of(w, struct gate, watch);
	struct storage_watch *owner;

	pthread_mutex_lock(&g->lock);
	bool is_interruption = g->is_closed && why == STORAGE_CANCELED;
	owner = g->owner;
	if (!is_interruption) {
		g->owner = NULL;
	}
	pthread_mutex_unlock(&g->lock);
	if (is_interruption) {
		on_state(w, false, "the gate is closed");
	} else {
		owner->on_end(owner, why, compact_revision, message);
	}
	pthread_mutex_lock(&g->lock);
	if (is_interruption || !g->owner) {
		g->is_streaming = false;
	}
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

/* Locked. */
static void gate_stream(struct gate *g)
{
	g->watch = (struct storage_watch){
		.key = g->owner->key,
		.range_end = g->owner->range_end,
		.from_revision = g->next_revision,
		.on_events = on_events,
		.on_state = on_state,
		.on_end = on_end,
	};
	g->is_streaming = true;
	storage_watch(g->inner, &g->watch);
}

static void gate_watch(struct storage *s, struct storage_watch *w)
{
	struct gate *g = gate_of(s);

	pthread_mutex_lock(&g->lock);
	g->owner = w;
	g->next_revision = g->watched_from = w->from_revision;
	if (!g->is_closed) {
		gate_stream(g);
	}
	pthread_mutex_unlock(&g->lock);
}

int64_t gate_watched_from(struct storage *s)
{
	struct gate *g = gate_of(s);

	pthread_mutex_lock(&g->lock);
	int64_t revision = g->watched_from;
	pthread_mutex_unlock(&g->lock);
	return revision;
}

static void gate_watch_cancel(struct storage *s, struct storage_watch *w _unused_)
{
	struct gate *g = gate_of(s);

	pthread_mutex_lock(&g->lock);
	assert(!g->is_closed);
	storage_watch_cancel(g->inner, &g->watch);
	pthread_mutex_unlock(&g->lock);
}

void gate_close(struct storage *s)
{
	struct gate *g = gate_of(s);

	pthread_mutex_lock(&g->lock);
	g->is_closed = true;
	if (g->is_streaming) {
		storage_watch_cancel(g->inner, &g->watch);
	}
	while (g->is_streaming) {
		pthread_cond_wait(&g->changed, &g->lock);
	}
	pthread_mutex_unlock(&g->lock);
}

void gate_open(struct storage *s)
{
	struct gate *g = gate_of(s);

	pthread_mutex_lock(&g->lock);
	g->is_closed = false;
	if (g->owner && !g->is_streaming) {
		gate_stream(g);
	}
	pthread_mutex_unlock(&g->lock);
}

struct storage *gate_inner(struct storage *s)
{
	return gate_of(s)->inner;
}

/* ---- the rest passes ---- */

/* An answer has to come from the completion thread: with that to another question. */
struct refusal {
	struct storage_status question;
	struct storage_op *refused;
	enum storage_result result;
};

static void on_refusal(struct storage_op *op)
{
	struct refusal *r = container_of(op, struct refusal, question.op);
	struct storage_op *refused = r->refused;

	refused->result = r->result;
	storage_op_clear(op);
	mem_free(r);
	arena_init(&refused->arena, SIZE_MAX);
	refused->message = "refused by the gate";
	refused->done(refused);
}

static void gate_range(struct storage *s, struct storage_range *op)
{
	struct gate *g = gate_of(s);

	bool is_too_large = g->largest_page > 0 && op->limit > g->largest_page;
	unsigned until = op->limit > 1 ? atomic_load(&g->pages_until_refusal) : 0;

	if (until > 0) {
		atomic_store(&g->pages_until_refusal, until - 1);
	}
	if (!is_too_large && until != 1) {
		storage_range(g->inner, op);
		return;
	}
	struct refusal *r = mem_new(struct refusal);
	r->question.op.done = on_refusal;
	r->result = is_too_large ? STORAGE_TOO_LARGE : g->refusal;
	r->refused = &op->op;
	storage_status(g->inner, &r->question);
}

void gate_limit_pages(struct storage *s, int64_t keys)
{
	gate_of(s)->largest_page = keys;
}

void gate_refuse_page(struct storage *s, unsigned n, enum storage_result result)
{
	struct gate *g = gate_of(s);

	g->refusal = result;
	atomic_store(&g->pages_until_refusal, n);
}

bool gate_has_refused(struct storage *s)
{
	return atomic_load(&gate_of(s)->pages_until_refusal) == 0;
}

static void gate_txn(struct storage *s, struct storage_txn *op)
{
	storage_txn(gate_of(s)->inner, op);
}

static void gate_compact(struct storage *s, struct storage_compact *op)
{
	storage_compact(gate_of(s)->inner, op);
}

static void gate_status(struct storage *s, struct storage_status *op)
{
	storage_status(gate_of(s)->inner, op);
}

static void gate_lease_grant(struct storage *s, struct storage_lease *op)
{
	storage_lease_grant(gate_of(s)->inner, op);
}

static void gate_free(struct storage *s)
{
	struct gate *g = gate_of(s);

	storage_free(g->inner);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	mem_free(g);
}

static const struct storage_ops gate_ops = {
	.range = gate_range,
	.txn = gate_txn,
	.compact = gate_compact,
	.status = gate_status,
	.lease_grant = gate_lease_grant,
	.watch = gate_watch,
	.watch_cancel = gate_watch_cancel,
	.free = gate_free,
};

struct storage *gate_new(struct storage *inner)
{
	struct gate *g = mem_new(struct gate);

	g->storage.ops = &gate_ops;
	g->inner = inner;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	return &g->storage;
}
