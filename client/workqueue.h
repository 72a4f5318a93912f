/* Keys that wait for a worker (client-go's rate limiting work queue).
 *
 *  - A key that waits is there once, however often it is added.
 *  - A key is never with two workers: one that is added while it is being worked on waits until workqueue_done(), then comes once more.
 *  - workqueue_retry() adds it after a back-off of its own, first_ms doubling up to last_ms; workqueue_forget() resets that.
 * All functions may be called from any thread. Memory is one entry for each key that waits, is worked on, or has failed: bounded by what
 * exists, since keys name objects. */
#ifndef CLIENT_WORKQUEUE_H
#define CLIENT_WORKQUEUE_H

#include "base/str.h"

struct workqueue;

struct workqueue_stats {
	size_t depth;      /* waiting now, delayed ones apart */
	size_t delayed;    /* waiting for their time */
	size_t processing; /* with workers */
	uint64_t adds, retries;
	double longest_running_s, unfinished_s; /* of what is with workers */
};

/* name is for metrics, and not copied. client-go's first_ms is 5, its last_ms 1000000. */
struct workqueue *workqueue_new(const char *name, int64_t first_ms, int64_t last_ms);
struct workqueue *workqueue_free(struct workqueue *q); /* no worker may be inside a call */
DEFINE_CLEANUP(struct workqueue *, workqueue_free)

void workqueue_add(struct workqueue *q, struct str key);
void workqueue_add_after(struct workqueue *q, struct str key, int64_t delay_ms); /* the earlier of two delays counts */
void workqueue_retry(struct workqueue *q, struct str key);
/* Retries a key that cannot be worked on yet, though nothing failed. It counts as no failure,
 * and waits last_ms at most. */
void workqueue_poll(struct workqueue *q, struct str key, int64_t last_ms);
void workqueue_forget(struct workqueue *q, struct str key);
unsigned workqueue_failures(struct workqueue *q, struct str key); /* retries since it was forgotten */

/* Waits for a key, which the caller must give back with workqueue_done(). Returns NULL when the
 * queue was stopped. */
char *workqueue_get(struct workqueue *q);
void workqueue_done(struct workqueue *q, char *key); /* frees it */
/* Takes a key without waiting. Returns NULL when there is none before *ret_due_ms, on the
 * monotonic clock. */
char *workqueue_take(struct workqueue *q, int64_t *ret_due_ms);
/* For a thread that waits for several queues. on_news is called without a lock when there is a
 * key to take, or a delay that ends before all earlier ones. After workqueue_stop() only calls
 * already under way may still come. ctx must stay valid until all threads that add keys have
 * ended. */
void workqueue_listen(struct workqueue *q, void (*on_news)(void *ctx), void *ctx);
/* Every workqueue_get() returns NULL at once, also while keys wait, and later additions are
 * ignored. */
void workqueue_stop(struct workqueue *q);

const char *workqueue_name(const struct workqueue *q);
void workqueue_read_stats(struct workqueue *q, struct workqueue_stats *ret);

#endif
