/* Threads that take keys from a queue until it is stopped. */
#ifndef CONTROLLERS_KIT_WORKERS_H
#define CONTROLLERS_KIT_WORKERS_H

#include "client/workqueue.h"

#include <pthread.h>

enum { WORKERS_MAX = 16 };

struct workers {
	struct workqueue *queue;
	void (*work)(void *ctx, struct str key); /* decides itself whether the key comes again; is given back for it */
	void *ctx;
	pthread_t threads[WORKERS_MAX];
	unsigned n;
};

/* Adds NAMESPACE/NAME, the key of most queues; str_cut() takes it apart. */
void workers_wake(struct workqueue *q, struct str ns, struct str name);
/* Starts n threads, or as many as can be; at least one is needed: 0, or -errno. */
int workers_start(struct workers *w, unsigned n);
/* Stops the queue and waits for the keys being worked on. */
void workers_stop(struct workers *w);

#endif
