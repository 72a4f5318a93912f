/* The common part of all stores: names of results, and operations that block.
 *
 * From a result, callers decide whether a failed write may have happened. That stands beside
 * each result's name, so a new result cannot lack it. */
#include "storage/storage.h"

#include <assert.h>
#include <pthread.h>

static const struct result_row {
	const char *name;
	bool is_certain;
} results[] = {
	[STORAGE_OK] = {"OK", true},
	[STORAGE_COMPACTED] = {"Compacted", true},
	[STORAGE_FUTURE] = {"Future", true},
	[STORAGE_TOO_LARGE] = {"TooLarge", true},
	[STORAGE_UNAVAILABLE] = {"Unavailable", true},
	[STORAGE_TIMEOUT] = {"Timeout", false},
	[STORAGE_UNKNOWN] = {"Unknown", false},
	[STORAGE_NO_SPACE] = {"NoSpace", false},
	[STORAGE_LEASE_GONE] = {"LeaseGone", true},
	[STORAGE_CANCELED] = {"Canceled", false},
	[STORAGE_ERROR] = {"Error", true},
	[STORAGE_RESTORED] = {"Restored", true},
};

const char *storage_result_name(enum storage_result r)
{
	return (size_t)r < ARRAY_SIZE(results) ? results[r].name : "?";
}

bool storage_result_is_certain(enum storage_result r)
{
	return (size_t)r < ARRAY_SIZE(results) && results[r].is_certain;
}

void storage_op_clear(struct storage_op *op)
{
	arena_done(&op->arena);
	op->impl = NULL;
	op->message = "";
}

struct storage *storage_free(struct storage *s)
{
	if (s) {
		s->ops->free(s);
	}
	return NULL;
}

/* Returns the prefix without its trailing 0xff bytes, and with its last byte incremented. */
struct str storage_prefix_end(struct arena *a, struct str prefix)
{
	size_t n = prefix.n;
	while (n > 0 && (unsigned char)prefix.p[n - 1] == 0xff) {
		n--;
	}
	if (n == 0) {
		return (struct str){"", 1};
	}
	char *end = arena_text(a, n);
	memcpy(end, prefix.p, n);
	end[n - 1] = (char)((unsigned char)end[n - 1] + 1);
	return (struct str){end, n};
}

/* ---- waiting ----
 *
 * An operation's `done` runs on another thread, perhaps before submit returns. It clears itself
 * under the lock, which signals the waiter: no memory is needed beside the operation. */

/* One lock for all waiting threads: they are few, at start and in tests. An operation is over
 * when its `done` is cleared. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void wait_done(struct storage_op *op)
{
	assert(op->done == wait_done);
	pthread_mutex_lock(&lock);
	op->done = NULL;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static enum storage_result wait_for(struct storage_op *op)
{
	pthread_mutex_lock(&lock);
	while (op->done) {
		pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
	return op->result;
}

enum storage_result storage_range_wait(struct storage *s, struct storage_range *op)
{
	op->op.done = wait_done;
	storage_range(s, op);
	return wait_for(&op->op);
}

void storage_ranges_wait(struct storage *s, struct storage_range *const *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ops[i]->op.done = wait_done;
		storage_range(s, ops[i]);
	}
	for (size_t i = 0; i < n; i++) {
		wait_for(&ops[i]->op);
	}
}

enum storage_result storage_txn_wait(struct storage *s, struct storage_txn *op)
{
	op->op.done = wait_done;
	storage_txn(s, op);
	return wait_for(&op->op);
}

void storage_txns_wait(struct storage *s, struct storage_txn *const *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ops[i]->op.done = wait_done;
		storage_txn(s, ops[i]);
	}
	for (size_t i = 0; i < n; i++) {
		wait_for(&ops[i]->op);
	}
}

enum storage_result storage_compact_wait(struct storage *s, struct storage_compact *op)
{
	op->op.done = wait_done;
	storage_compact(s, op);
	return wait_for(&op->op);
}

enum storage_result storage_status_wait(struct storage *s, struct storage_status *op)
{
	op->op.done = wait_done;
	storage_status(s, op);
	return wait_for(&op->op);
}

enum storage_result storage_lease_grant_wait(struct storage *s, struct storage_lease *op)
{
	op->op.done = wait_done;
	storage_lease_grant(s, op);
	return wait_for(&op->op);
}

enum storage_result storage_lease_keep_alive_wait(struct storage *s, struct storage_lease *op)
{
	op->op.done = wait_done;
	storage_lease_keep_alive(s, op);
	return wait_for(&op->op);
}

enum storage_result storage_lease_revoke_wait(struct storage *s, struct storage_lease *op)
{
	op->op.done = wait_done;
	storage_lease_revoke(s, op);
	return wait_for(&op->op);
}
