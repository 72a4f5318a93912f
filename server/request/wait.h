/* The waits of a request: for the cache, for etcd, for its turn, for an answer of the cluster.
 * No thread waits with it. */
#ifndef SERVER_REQUEST_WAIT_H
#define SERVER_REQUEST_WAIT_H

#include "server/request/request.h"

/* Waiting: the function returns at once; `next` is called when the operation is done. Results: q->wait, q->plan. */
void request_wait_fresh(struct request *q, void (*next)(struct request *q));
void request_wait_revision(struct request *q, int64_t revision, int64_t timeout_ms, void (*next)(struct request *q));
void request_txn(struct request *q, void (*next)(struct request *q));
/* After questions_start() has said that the answer is still to come. */
void request_wait_answer(struct request *q, void (*next)(struct request *q));
/* Until the caller wakes the request for its turn: in the queue of writes, or of answers that take long to write. */
void request_wait_turn(struct request *q, void (*next)(struct request *q));
/* Yields the thread: `next` is called in one of its later turns. */
void request_yield(struct request *q, void (*next)(struct request *q));
/* A lease for something that expires. Result: q->lease. */
void request_wait_lease(struct request *q, struct leases *leases, void (*next)(struct request *q));
/* Until the request's kind may be written. Result: q->versions. */
void request_wait_versions(struct request *q, const struct kind *k, void (*next)(struct request *q));
/* The 503 or 504 for a wait or transaction that failed, in q->st. is_write: the outcome may be unknown, and the answer says so. */
void request_refuse_storage(struct request *q, enum storage_result r, const char *message, bool is_write);
/* Refuses as request_refuse_storage() does, and sends the answer. */
void request_storage_failed(struct request *q, enum storage_result r, const char *message, bool is_write);
/* Ends a wait, when the request runs again. */
void request_waited(struct request *q);

#endif
