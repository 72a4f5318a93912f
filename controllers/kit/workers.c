/* A queue never gives one key to two workers, so controllers need no lock for an object. Fewer
 * threads than asked for are enough to go on with: more only save time. */
#include "controllers/kit/workers.h"

#include "client/store.h"

enum { KEY_MAX = 1024 };

static void *run(void *ctx)
{
	struct workers *w = ctx;
	char *key;
	while ((key = workqueue_get(w->queue))) {
		w->work(w->ctx, str_of(key));
		workqueue_done(w->queue, key);
	}
	return NULL;
}

void workers_wake(struct workqueue *q, struct str ns, struct str name)
{
	_cleanup_(buf_done) struct buf key;
	buf_init(&key, KEY_MAX);
	workqueue_add(q, store_key(&key, ns, name));
}

int workers_start(struct workers *w, unsigned n)
{
	int r = 0;
	for (w->n = 0; w->n < MIN(n, (unsigned)WORKERS_MAX) && !r; w->n += !r) {
		r = -pthread_create(&w->threads[w->n], NULL, run, w);
	}
	return w->n ? 0 : r;
}

void workers_stop(struct workers *w)
{
	workqueue_stop(w->queue);
	for (unsigned i = 0; i < w->n; i++) {
		pthread_join(w->threads[i], NULL);
	}
	w->n = 0;
}
