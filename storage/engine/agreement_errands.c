/* The requests that an agreement sends to etcd. A table has a row for each errand: when it is
 * due, what is sent, what an answer means. */
#include "base/clock.h"
#include "base/thread.h"
#include "storage/engine/agreement_private.h"

#include <assert.h>

enum {
	TIMEOUT_MS = 3000,
	BACKOFF_FIRST_MS = 20, /* etcd is often started together with annals */
	BACKOFF_MAX_MS = 1000,
	KEEP_ALIVES = 3,  /* in the time of a lease */
	MARGIN_PARTS = 5, /* of that time: the lease counts as ended so much earlier than etcd ends it */
	RELOAD_MS = 1000,
	KEYS_MAX = 4 * AGREEMENT_REPLICAS_MAX, /* read at once */
};

static struct agreement_trip *trip(struct agreement *a, enum agreement_errand e)
{
	return &a->trips[e];
}

static struct agreement *agreement_of(struct storage_op *op, enum agreement_errand e)
{
	struct agreement_trip *t = container_of(op, struct agreement_trip, op);
	return container_of(t - e, struct agreement, trips[0]);
}

/* Returns true when the errand's answers name revisions in order. Answers about leases name the
 * revision of one member, which may be behind. */
static bool is_ordered(enum agreement_errand e)
{
	return e != ERRAND_GRANT && e != ERRAND_KEEP_ALIVE;
}

/* Returns false if the answer is of another history than the known one: then it means nothing.
 * Lock held. */
static bool trip_is_current(struct agreement *a, enum agreement_errand e)
{
	const struct agreement_trip *t = trip(a, e);
	bool is_other = a->cluster && t->op.cluster && t->op.cluster != a->cluster;

	if (t->op.result != STORAGE_OK || t->epoch != a->epoch) {
		return t->epoch == a->epoch;
	}
	if (!is_other && !(is_ordered(e) && t->op.revision < t->floor)) {
		return true;
	}
	a->cluster = t->op.cluster;
	agreement_forget(a);
	if (a->is_watching) {
		storage_watch_cancel(a->options.storage, &a->watch);
	}
	return false;
}

/* Ends a trip. Returns the result of trip_is_current(). Lock held. */
static bool trip_ends(struct agreement *a, enum agreement_errand e)
{
	struct agreement_trip *t = trip(a, e);
	bool is_well = t->op.result == STORAGE_OK || t->op.result == STORAGE_LEASE_GONE;

	assert(t->is_under_way && a->n_busy > 0);
	t->is_under_way = false;
	t->not_before_ms = 0;
	if (is_well) {
		t->backoff_ms = BACKOFF_FIRST_MS;
	} else {
		t->backoff_ms = MAX(t->backoff_ms, (int64_t)BACKOFF_FIRST_MS);
		t->not_before_ms = a->now_ms() + t->backoff_ms;
		t->backoff_ms = MIN(t->backoff_ms * 2, (int64_t)BACKOFF_MAX_MS);
		agreement_note_trouble(a, t->op.message[0] ? t->op.message : storage_result_name(t->op.result));
	}
	return trip_is_current(a, e);
}

static void agreement_hold(struct agreement *a)
{
	a->n_busy++;
}

/* A callback calls this last: afterwards the agreement may be freed. */
static void agreement_release(struct agreement *a)
{
	pthread_mutex_lock(&a->lock);
	a->n_busy--;
	pthread_cond_broadcast(&a->idle);
	pthread_mutex_unlock(&a->lock);
}

static void trip_finish(struct agreement *a, struct storage_op *op)
{
	storage_op_clear(op);
	pthread_mutex_unlock(&a->lock);
	agreement_run(a);
	agreement_release(a);
}

/* ---- what others have registered: a range, then a watch ---- */

static int64_t load_ms(struct agreement *a)
{
	return a->is_watching ? INT64_MAX : 0;
}

static void on_events(struct storage_watch *w, const struct storage_event *events, size_t n, int64_t revision)
{
	struct agreement *a = container_of(w, struct agreement, watch);

	pthread_mutex_lock(&a->lock);
	if (a->is_loaded) {
		agreement_table_apply(&a->table, events, n, revision);
	}
	bool is_over = a->table.is_overfull;
	pthread_mutex_unlock(&a->lock);
	if (is_over) {
		storage_watch_cancel(a->options.storage, w);
	}
	agreement_run(a);
}

/* The watch has ended. If its history is compacted, everything is read again at once. */
static void on_watch_end(struct storage_watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	struct agreement *a = container_of(w, struct agreement, watch);
	(void)compact_revision;
	(void)message;

	pthread_mutex_lock(&a->lock);
	a->is_watching = false;
	if (why == STORAGE_RESTORED && a->is_loaded) {
		agreement_forget(a);
	}
	bool is_gone = why == STORAGE_COMPACTED || !a->is_loaded;
	trip(a, ERRAND_LOAD)->not_before_ms = is_gone ? 0 : a->now_ms() + RELOAD_MS;
	pthread_mutex_unlock(&a->lock);
	agreement_run(a);
	agreement_release(a);
}

/* Starts the watch. The lock is held: a store only records the watch, and calls back on a thread
 * of its own. */
static void watch_start(struct agreement *a)
{
	assert_locked(&a->lock);
	a->watch = (struct storage_watch){
		.key = a->watched,
		.range_end = a->watched_end,
		.from_revision = a->table.revision + 1,
		.cluster = a->cluster,
		.on_events = on_events,
		.on_end = on_watch_end,
	};
	a->is_watching = true;
	agreement_hold(a);
	storage_watch(a->options.storage, &a->watch);
}

static void on_load(struct storage_op *op)
{
	struct agreement *a = agreement_of(op, ERRAND_LOAD);
	struct storage_range *r = &trip(a, ERRAND_LOAD)->range;

	pthread_mutex_lock(&a->lock);
	if (trip_ends(a, ERRAND_LOAD) && op->result == STORAGE_OK) {
		a->cluster = op->cluster;
		agreement_table_install(&a->table, r->kvs, r->n_kvs, r->has_more, op->revision);
		a->is_loaded = true;
		trip(a, ERRAND_LOAD)->not_before_ms = a->table.is_overfull ? a->now_ms() + RELOAD_MS : 0;
		if (!a->table.is_overfull && !a->is_closing) {
			watch_start(a);
		}
	}
	trip_finish(a, op);
}

static void load_send(struct agreement *a)
{
	assert_locked(&a->lock);
	struct storage_range *r = &trip(a, ERRAND_LOAD)->range;

	*r = (struct storage_range){
		.op = {.done = on_load, .timeout_ms = TIMEOUT_MS},
		.key = a->watched,
		.range_end = a->watched_end,
		.limit = KEYS_MAX,
	};
	pthread_mutex_unlock(&a->lock);
	storage_range(a->options.storage, r);
	pthread_mutex_lock(&a->lock);
}

/* ---- the lease ---- */

/* etcd counts the lease's time from the arrival of the request, which is not before it was sent. */
static void lease_renewed(struct agreement *a, const struct agreement_trip *t)
{
	int64_t until = t->sent_ms + a->ttl_ms - a->ttl_ms / MARGIN_PARTS;

	atomic_store(&a->certain_until_ms, MAX(until, atomic_load(&a->certain_until_ms)));
	trip(a, ERRAND_KEEP_ALIVE)->not_before_ms = t->sent_ms + a->ttl_ms / KEEP_ALIVES;
}

static int64_t grant_ms(struct agreement *a)
{
	return a->lease ? INT64_MAX : 0;
}

static void on_grant(struct storage_op *op)
{
	struct agreement *a = agreement_of(op, ERRAND_GRANT);
	struct agreement_trip *t = trip(a, ERRAND_GRANT);

	pthread_mutex_lock(&a->lock);
	if (trip_ends(a, ERRAND_GRANT) && op->result == STORAGE_OK) {
		a->lease = t->keep.id;
		a->ttl_ms = t->keep.ttl_s * 1000;
		lease_renewed(a, t);
	}
	trip_finish(a, op);
}

static void grant_send(struct agreement *a)
{
	assert_locked(&a->lock);
	struct storage_lease *l = &trip(a, ERRAND_GRANT)->keep;

	*l = (struct storage_lease){.op = {.done = on_grant, .timeout_ms = TIMEOUT_MS}, .ttl_s = a->options.lease_s};
	pthread_mutex_unlock(&a->lock);
	storage_lease_grant(a->options.storage, l);
	pthread_mutex_lock(&a->lock);
}

static int64_t keep_alive_ms(struct agreement *a)
{
	return a->lease ? 0 : INT64_MAX;
}

static void on_keep_alive(struct storage_op *op)
{
	struct agreement *a = agreement_of(op, ERRAND_KEEP_ALIVE);
	struct agreement_trip *t = trip(a, ERRAND_KEEP_ALIVE);

	pthread_mutex_lock(&a->lock);
	bool is_ours = trip_ends(a, ERRAND_KEEP_ALIVE) && t->lease == a->lease;
	if (is_ours && op->result == STORAGE_OK) {
		lease_renewed(a, t);
		agreement_note_trouble_over(a);
	} else if (is_ours && op->result == STORAGE_LEASE_GONE) {
		agreement_lose(a);
	}
	trip_finish(a, op);
}

static void keep_alive_send(struct agreement *a)
{
	assert_locked(&a->lock);
	struct storage_lease *l = &trip(a, ERRAND_KEEP_ALIVE)->keep;
	int64_t timeout_ms = a->ttl_ms / KEEP_ALIVES;

	*l = (struct storage_lease){.op = {.done = on_keep_alive, .timeout_ms = timeout_ms}, .id = a->lease};
	pthread_mutex_unlock(&a->lock);
	storage_lease_keep_alive(a->options.storage, l);
	pthread_mutex_lock(&a->lock);
}

/* ---- the registration ---- */

static bool is_stale(const struct agreement *a)
{
	return a->mod == 0 || a->is_unsure || memcmp(a->next, a->encodes, sizeof(a->next)) != 0;
}

static int64_t register_ms(struct agreement *a)
{
	bool may_register = a->is_loaded && a->lease && !a->options.registers_later;
	bool has_room = a->mod != 0 || a->table.n < AGREEMENT_REPLICAS_MAX || agreement_table_find(&a->table, a->self.id);

	return may_register && !a->table.is_overfull && has_room && is_stale(a) ? 0 : INT64_MAX;
}

/* Records that etcd has had the sent registration since this revision. Lock held. */
static void registration_made(struct agreement *a, int64_t revision)
{
	const struct agreement_row *row = agreement_table_find(&a->table, a->self.id);
	struct storage_kv kv = {
		.key = a->key,
		.value = buf_str(&a->registration.value),
		.create_revision = row ? row->entry->replica.create_revision : revision,
		.mod_revision = revision,
		.lease = a->lease,
	};

	assert(revision > a->mod);
	for (size_t i = 0; i < kind_count(); i++) {
		if (a->mod == 0 || a->encodes[i] != a->sent[i] || (a->in_doubt & kind_bit(i))) {
			a->since[i] = revision;
			a->may_write &= ~kind_bit(i);
		}
	}
	memcpy(a->encodes, a->sent, sizeof(a->encodes));
	a->mod = revision;
	a->is_unsure = false;
	a->in_doubt = 0;
	a->n_registrations++;
	agreement_note_trouble_over(a);
	agreement_table_put(&a->table, &kv);
}

/* A registration whose answer was lost may still arrive in etcd, until a later one of ours has. */
static void register_answered(struct agreement *a, const struct storage_txn *txn)
{
	const struct storage_step *get = &a->registration.get;

	if (txn->op.result == STORAGE_OK && txn->succeeded) {
		registration_made(a, txn->op.revision);
	} else if (txn->op.result == STORAGE_OK) {
		agreement_table_install(&a->table, get->kvs, get->n_kvs, get->count > (int64_t)get->n_kvs, txn->op.revision);
	} else if (txn->op.result == STORAGE_LEASE_GONE) {
		agreement_lose(a);
	} else if (!storage_result_is_certain(txn->op.result)) {
		agreement_be_unsure(a);
	}
}

static void on_register(struct storage_op *op)
{
	struct agreement *a = agreement_of(op, ERRAND_REGISTER);
	struct agreement_trip *t = trip(a, ERRAND_REGISTER);

	pthread_mutex_lock(&a->lock);
	if (trip_ends(a, ERRAND_REGISTER) && t->lease == a->lease) {
		register_answered(a, &t->txn);
	}
	trip_finish(a, op);
}

static void register_send(struct agreement *a)
{
	struct storage_txn *txn = &trip(a, ERRAND_REGISTER)->txn;
	struct agreement_steps *s = &a->registration;

	memcpy(a->sent, a->next, sizeof(a->sent));
	buf_clear(&s->value);
	agreement_write_value(&a->self, a->sent, &s->value);
	s->compare = (struct storage_compare){
		.target = COMPARE_MOD,
		.result = COMPARE_LESS,
		.key = a->table.registrations,
		.range_end = a->registrations_end,
		.number = MAX(a->table.revision, a->mod) + 1,
	};
	s->put = (struct storage_step){.kind = STEP_PUT, .key = a->key, .value = buf_str(&s->value), .lease = a->lease};
	s->get = (struct storage_step){.kind = STEP_GET, .key = a->watched, .range_end = a->watched_end, .limit = KEYS_MAX};
	*txn = (struct storage_txn){
		.op = {.done = on_register, .timeout_ms = TIMEOUT_MS},
		.compares = &s->compare,
		.n_compares = 1,
		.success = &s->put,
		.n_success = 1,
		.failure = &s->get,
		.n_failure = 1,
	};
	pthread_mutex_unlock(&a->lock);
	storage_txn(a->options.storage, txn);
	pthread_mutex_lock(&a->lock);
}

/* ---- acknowledgements of other registrations ---- */

/* Returns the revision to acknowledge. 0: the own registration has acknowledged everything. A
 * late acknowledgement may have overwritten a newer one, so only the one in etcd counts. */
static int64_t ack_wanted(struct agreement *a)
{
	const struct agreement_row *row = agreement_table_find(&a->table, a->self.id);
	int64_t newest = a->view ? agreement_newest(&a->self, a->view) : 0;

	return row && a->mod != 0 && newest > MAX(row->seen, a->mod) ? newest : 0;
}

static int64_t ack_ms(struct agreement *a)
{
	return a->is_loaded && a->lease && !a->table.is_overfull && ack_wanted(a) ? 0 : INT64_MAX;
}

static void on_ack(struct storage_op *op)
{
	struct agreement *a = agreement_of(op, ERRAND_ACK);
	struct agreement_trip *t = trip(a, ERRAND_ACK);

	pthread_mutex_lock(&a->lock);
	bool is_ours = trip_ends(a, ERRAND_ACK) && t->lease == a->lease;
	if (is_ours && op->result == STORAGE_OK) {
		struct storage_kv kv = {.key = a->key_seen, .value = buf_str(&a->ack.value), .mod_revision = op->revision};
		agreement_table_put(&a->table, &kv);
	} else if (is_ours && op->result == STORAGE_LEASE_GONE) {
		agreement_lose(a);
	}
	trip_finish(a, op);
}

static void ack_send(struct agreement *a)
{
	struct storage_txn *txn = &trip(a, ERRAND_ACK)->txn;
	struct agreement_steps *s = &a->ack;

	buf_clear(&s->value);
	buf_add_int(&s->value, ack_wanted(a));
	s->put = (struct storage_step){.kind = STEP_PUT, .key = a->key_seen, .value = buf_str(&s->value), .lease = a->lease};
	*txn = (struct storage_txn){.op = {.done = on_ack, .timeout_ms = TIMEOUT_MS}, .success = &s->put, .n_success = 1};
	pthread_mutex_unlock(&a->lock);
	storage_txn(a->options.storage, txn);
	pthread_mutex_lock(&a->lock);
}

/* ---- whether the own registration is still there ---- */

static int64_t doubt_ms(struct agreement *a)
{
	return a->is_doubted ? 0 : INT64_MAX;
}

static void doubt_answered(struct agreement *a, const struct storage_range *r)
{
	int64_t mod = r->n_kvs > 0 ? r->kvs[0].mod_revision : 0;

	a->is_doubted = false;
	if (r->op.revision < a->mod || trip(a, ERRAND_REGISTER)->is_under_way) {
		return; /* it has been registered anew meanwhile, or is about to be */
	}
	if (mod == 0) {
		agreement_lose(a);
	} else if (mod != a->mod) {
		agreement_be_unsure(a);
	}
}

static void on_doubt(struct storage_op *op)
{
	struct agreement *a = agreement_of(op, ERRAND_DOUBT);

	pthread_mutex_lock(&a->lock);
	if (trip_ends(a, ERRAND_DOUBT) && op->result == STORAGE_OK) {
		doubt_answered(a, &trip(a, ERRAND_DOUBT)->range);
	}
	trip_finish(a, op);
}

static void doubt_send(struct agreement *a)
{
	struct storage_range *r = &trip(a, ERRAND_DOUBT)->range;

	*r = (struct storage_range){.op = {.done = on_doubt, .timeout_ms = TIMEOUT_MS}, .key = a->key};
	pthread_mutex_unlock(&a->lock);
	storage_range(a->options.storage, r);
	pthread_mutex_lock(&a->lock);
}

/* ---- all of them ---- */

static const struct {
	int64_t (*when)(struct agreement *a); /* 0: it is due as soon as it may be sent; INT64_MAX: it is not due */
	void (*send)(struct agreement *a);
} errands[] = {
	[ERRAND_LOAD] = {load_ms, load_send},
	[ERRAND_GRANT] = {grant_ms, grant_send},
	[ERRAND_KEEP_ALIVE] = {keep_alive_ms, keep_alive_send},
	[ERRAND_REGISTER] = {register_ms, register_send},
	[ERRAND_ACK] = {ack_ms, ack_send},
	[ERRAND_DOUBT] = {doubt_ms, doubt_send},
};

int64_t agreement_errand_ms(struct agreement *a, enum agreement_errand e)
{
	const struct agreement_trip *t = trip(a, e);

	return t->is_under_way || a->is_closing ? INT64_MAX : MAX(errands[e].when(a), t->not_before_ms);
}

void agreement_errand_run(struct agreement *a, enum agreement_errand e)
{
	struct agreement_trip *t = trip(a, e);

	assert(!t->is_under_way && !a->is_closing);
	t->is_under_way = true;
	t->sent_ms = a->now_ms();
	t->lease = a->lease;
	t->epoch = a->epoch;
	t->floor = MAX(a->table.revision, a->mod);
	agreement_hold(a);
	errands[e].send(a);
}
