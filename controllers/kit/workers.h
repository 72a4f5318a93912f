/* One pool of threads for all controllers of a runner. Each controller has queues. Only one
 * thread works on a key at a time, so controllers need no lock for an object. */
#ifndef CONTROLLERS_KIT_WORKERS_H
#define CONTROLLERS_KIT_WORKERS_H

#include "base/list.h"
#include "client/workqueue.h"

struct pool;

/* Starts the threads, or as many as the system allows. Returns 0, or -errno if none could start. */
int pool_new(struct pool **ret);
/* Call it when all queues have stopped and every thread that adds keys has ended. Waits for the
 * threads. */
struct pool *pool_free(struct pool *p);

/* A queue's share of the pool. */
struct workers {
	struct workqueue *queue;
	void (*work)(void *ctx, struct str key); /* decides itself whether the key is queued again; gets ctx */
	void *ctx;
	unsigned most; /* keys worked on at a time */

	/* private */
	struct pool *pool; /* NULL: not started */
	struct list link;
	unsigned n_busy;
};

void workers_start(struct workers *w, struct pool *p);
/* Stops the queue and waits for the keys being worked on. It need not have been started. */
void workers_stop(struct workers *w);

/* Adds the key NAMESPACE/NAME, which most queues use; str_cut() splits it. */
void workers_wake(struct workqueue *q, struct str ns, struct str name);

#endif
