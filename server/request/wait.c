/* The order is the same everywhere: fill in the operation, suspend the exchange, start the
 * operation. Started first, it could be over before the exchange sleeps, and its wake would come to
 * one that runs. Nothing of the request may be touched behind the start: another thread may have it
 * already. */
#include "server/request/wait.h"

#include "base/clock.h"
#include "server/request/limits.h"
#include "server/request/request_metrics.h"
#include "server/request/respond.h"

#define STORAGE_TIMEOUT_MS 10000 /* one wait for etcd, within the request's own time */

static void request_began_waiting(struct request *q, void (*next)(struct request *q))
{
	q->next = next;
	q->wait_began_ns = clock_mono_ns();
	http_suspend(q->x);
}

static void request_wait_done(struct cache_wait *w)
{
	http_wake(container_of(w, struct request, wait)->x);
}

static void request_txn_done(struct storage_op *op)
{
	http_wake(container_of(op, struct request, txn.op)->x);
}

/* At least a millisecond: an operation without time fails by itself, with its own words. */
static int64_t request_time_left(const struct request *q, int64_t at_most_ms)
{
	int64_t left = q->deadline_ms - clock_mono_ms();

	return MAX(MIN(left, at_most_ms), (int64_t)1);
}

void request_wait_fresh(struct request *q, void (*next)(struct request *q))
{
	q->wait = (struct cache_wait){.done = request_wait_done, .timeout_ms = request_time_left(q, STORAGE_TIMEOUT_MS)};
	q->is_cache_waiter = true;
	request_began_waiting(q, next);
	cache_wait_fresh(q->server->options.cache, &q->wait);
}

void request_wait_revision(struct request *q, int64_t revision, int64_t timeout_ms, void (*next)(struct request *q))
{
	q->wait = (struct cache_wait){.done = request_wait_done, .timeout_ms = request_time_left(q, timeout_ms)};
	q->is_cache_waiter = true;
	request_began_waiting(q, next);
	cache_wait_revision(q->server->options.cache, &q->wait, revision);
}

void request_txn(struct request *q, void (*next)(struct request *q))
{
	q->has_txn = true;
	q->txn.op.done = request_txn_done;
	q->txn.op.timeout_ms = request_time_left(q, STORAGE_TIMEOUT_MS);
	request_began_waiting(q, next);
	storage_txn(q->server->options.storage, &q->txn);
}

void request_wait_turn(struct request *q, void (*next)(struct request *q))
{
	q->is_queueing = true;
	request_began_waiting(q, next);
}

static void request_lease_done(struct lease_wait *w)
{
	http_wake(container_of(w, struct request, lease)->x);
}

void request_wait_lease(struct request *q, struct leases *leases, void (*next)(struct request *q))
{
	q->lease = (struct lease_wait){.done = request_lease_done};
	request_began_waiting(q, next);
	if (leases_take(leases, &q->lease)) {
		http_wake(q->x);
	}
}

static void request_versions_done(struct agreement_wait *w)
{
	http_wake(container_of(w, struct request, versions)->x);
}

void request_wait_versions(struct request *q, const struct kind *k, void (*next)(struct request *q))
{
	q->versions = (struct agreement_wait){
		.done = request_versions_done, .kind = k, .timeout_ms = request_time_left(q, STORAGE_TIMEOUT_MS)};
	request_began_waiting(q, next);
	agreement_wait(q->server->options.agreement, &q->versions);
}

void request_storage_failed(struct request *q, enum storage_result r, const char *message, bool is_write)
{
	bool is_unknown = is_write && !storage_result_is_certain(r);

	request_metrics_storage_failed(q);

	if (r == STORAGE_UNAVAILABLE || r == STORAGE_CANCELED) {
		status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE, "etcd is not available: %s", message);
	} else if (r == STORAGE_TIMEOUT || r == STORAGE_UNKNOWN) {
		status_set(&q->st, 504, REASON_TIMEOUT, "Timeout: %s%s", message,
			is_unknown ? "; the outcome of the write is unknown: it may or may not have been carried out" : "");
		q->st.has_details = true;
	} else if (r == STORAGE_TOO_LARGE) {
		/* As upstream: 500 with the storage's own text (surprises.md 18). */
		status_set(&q->st, 500, NULL, "%s", message);
	} else {
		status_internal(&q->st, "storage: %s: %s", storage_result_name(r), message);
	}
	/* Who may have written must look before trying again. */
	if (q->st.code != 500 && !is_unknown) {
		q->st.retry_after_s = RETRY_AFTER_S;
	}
	reply_status(q);
}

void request_wait_answer(struct request *q, void (*next)(struct request *q))
{
	q->is_asking = true;
	if (questions_notes_access(&q->questions)) {
		request_step_out(q);
	}
	request_began_waiting(q, next);
}

void request_waited(struct request *q)
{
	int64_t ns = clock_mono_ns() - q->wait_began_ns;

	q->wait_began_ns = 0;
	if (q->is_asking) {
		q->is_asking = false;
		questions_settle(&q->questions);
		request_step_in(q);
		return;
	}
	if (q->is_queueing) {
		q->is_queueing = false;
		return;
	}
	timing_waited(q, ns, q->is_cache_waiter);
	if (!q->is_cache_waiter) {
		request_metrics_txn(q, ns);
	}
}
