/* Leases that many events share: events come in thousands, and a lease for each would cost etcd
 * more than they do. The numbers are upstream's lease manager's. Time is counted from when a
 * grant was requested, since etcd cannot have begun earlier: so nothing is removed too early. A
 * caller that comes while a grant is under way waits for that one. */
#include "storage/leases.h"

#include "base/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum {
	USES_MAX = 1000, /* of one lease: when it ends, etcd removes all its keys at once */
	/* Seconds that a lease may outlive the time wanted, so that others can share it. */
	SURPLUS_S_MAX = 60,
	SURPLUS_DIVISOR = 20, /* a lease lives 5 % longer than asked for */
	GRANT_TIMEOUT_MS = 10000,
};

struct leases {
	struct storage *storage;
	int64_t ttl_s, surplus_s, grant_timeout_ms;
	struct storage_lease grant;
	pthread_mutex_t lock; /* guards what follows */
	bool is_granting;
	int64_t id, good_until_ms; /* id 0: none; until this monotonic time, a write under it lives long enough */
	int64_t asked_ms;
	unsigned n_uses;
	struct lease_wait *waiters;
};

struct leases *leases_new(struct storage *s, int64_t ttl_s)
{
	assert(s && ttl_s > 0);
	struct leases *l = mem_new(struct leases);
	l->storage = s;
	l->ttl_s = ttl_s;
	l->surplus_s = MAX(MIN(ttl_s / SURPLUS_DIVISOR, (int64_t)SURPLUS_S_MAX), (int64_t)1);
	l->grant_timeout_ms = GRANT_TIMEOUT_MS;
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

void leases_set_patience(struct leases *l, int64_t grant_timeout_ms)
{
	l->grant_timeout_ms = grant_timeout_ms;
}

struct leases *leases_free(struct leases *l)
{
	if (l) {
		pthread_mutex_destroy(&l->lock);
		mem_free(l);
	}
	return NULL;
}

/* Ends the grant. Every waiter counts as a use; those who came while it was under way may exceed
 * the limit, once. Lock held. */
static struct lease_wait *leases_settle(struct leases *l)
{
	struct lease_wait *waiters = l->waiters;
	const struct storage_op *op = &l->grant.op;
	l->is_granting = false;
	l->waiters = NULL;
	l->n_uses = 0;
	l->id = op->result == STORAGE_OK ? l->grant.id : 0;
	/* Until then a write under it lives as long as wanted. */
	l->good_until_ms = l->asked_ms + (l->grant.ttl_s - l->ttl_s) * 1000;
	for (struct lease_wait *w = waiters; w; w = w->next) {
		w->result = op->result;
		w->id = l->id;
		snprintf(w->message, sizeof(w->message), "%s", op->message);
		l->n_uses++;
	}
	return waiters;
}

/* The pool may be freed in the last waiter's callback. */
static void grant_done(struct storage_op *op)
{
	struct leases *l = container_of(op, struct leases, grant.op);
	pthread_mutex_lock(&l->lock);
	struct lease_wait *w = leases_settle(l);
	storage_op_clear(op);
	pthread_mutex_unlock(&l->lock);
	while (w) {
		struct lease_wait *next = w->next;
		w->done(w);
		w = next;
	}
}

bool leases_take(struct leases *l, struct lease_wait *w)
{
	pthread_mutex_lock(&l->lock);
	int64_t now = clock_mono_ms();
	bool is_there = l->id && l->n_uses < USES_MAX && now < l->good_until_ms;
	bool asks = !is_there && !l->is_granting;
	if (is_there) {
		w->result = STORAGE_OK;
		w->id = l->id;
		l->n_uses++;
	} else {
		w->next = l->waiters;
		l->waiters = w;
	}
	if (asks) {
		l->is_granting = true;
		l->asked_ms = now;
		l->grant = (struct storage_lease){
			.op = {.done = grant_done, .timeout_ms = l->grant_timeout_ms}, .ttl_s = l->ttl_s + l->surplus_s};
	}
	pthread_mutex_unlock(&l->lock);
	if (asks) {
		storage_lease_grant(l->storage, &l->grant);
	}
	return is_there;
}

void leases_forget(struct leases *l, int64_t id)
{
	pthread_mutex_lock(&l->lock);
	if (l->id == id) {
		l->id = 0;
	}
	pthread_mutex_unlock(&l->lock);
}
