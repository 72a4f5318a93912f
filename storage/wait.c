/* An operation's `done` runs on another thread, perhaps before submit returns. It takes itself away
 * under the lock, and that is the sign for who waits: no memory is needed beside the operation. */
#include "storage/storage.h"

#include <pthread.h>

/* One lock for all who wait: they are few, at start and in tests. An operation is over when its `done` is taken away. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void wait_done(struct storage_op *op)
{
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
