/* Starts and stops a controller by its description. The order of stopping matters: first threads
 * that produce keys, then workers, then watches. Handlers of watches may still add keys to stopped
 * queues. */
#include "controllers/kit/controller.h"

#include "base/clock.h"
#include "base/exposition.h"
#include "base/thread.h"
#include "client/store.h"
#include "controllers/kit/counters.h"
#include "controllers/kit/workers.h"

#include <assert.h>
#include <pthread.h>

void controller_notice(const struct controller_run *r, bool is_problem, struct str text)
{
	assert(r->env->on_notice && text.n > 0);
	r->env->on_notice(r->env->ctx, r->controller->name, is_problem, text);
}

/* Logs the end of a problem with the same severity as the problem, so that the same readers see
 * both. */
static void on_problem(void *ctx, bool is_over _unused_, struct str text)
{
	controller_notice(ctx, true, text);
}

struct informer *controller_watch(struct controller_run *r, struct informer_options options)
{
	assert(r->env->client);
	assert(r->n_watches < CONTROLLER_WATCHES_MAX);
	options.client = r->env->client;
	options.outage = r->env->outage;
	options.handlers.on_problem = on_problem;
	options.problem_ctx = r;
	options.ctx = options.ctx ? options.ctx : r;
	struct informer *f = informer_new(&options);
	r->watches[r->n_watches++] = f;
	return f;
}

void controller_work(struct controller_run *r)
{
	for (size_t i = 0; i < CONTROLLER_QUEUES_MAX && r->controller->queues[i].workers; i++) {
		workers_start(&r->workers[i], r->env->pool);
	}
}

struct controller_run *controller_start(const struct controller *c, const struct controller_env *env)
{
	struct controller_run *r = mem_zalloc(c->state_size);
	assert(c->state_size >= sizeof(*r) && c->queues[0].workers);
	r->controller = c;
	r->env = env;
	for (size_t i = 0; i < CONTROLLER_QUEUES_MAX && c->queues[i].workers; i++) {
		const struct controller_queue *q = &c->queues[i];
		r->workers[i] = (struct workers){
			.queue = workqueue_new(q->name, q->retry_first_ms, q->retry_last_ms),
			.work = q->work,
			.ctx = r,
			.most = q->workers,
		};
	}
	r->queue = r->workers[0].queue;
	c->begin(r);
	if (!c->starts_late) {
		controller_work(r);
	}
	return r;
}

void controller_stop(struct controller_run *r)
{
	const struct controller *c = r->controller;
	assert(client_is_stopped(r->env->client));
	if (c->halt) {
		c->halt(r);
	}
	for (size_t i = 0; i < CONTROLLER_QUEUES_MAX && c->queues[i].workers; i++) {
		workers_stop(&r->workers[i]);
	}
	while (r->n_watches) {
		informer_free(r->watches[--r->n_watches]);
	}
	if (c->end) {
		c->end(r);
	}
	for (size_t i = 0; i < CONTROLLER_QUEUES_MAX && c->queues[i].workers; i++) {
		workqueue_free(r->workers[i].queue);
	}
	mem_free(r);
}

void counters_write(struct counters *c, const struct counter_name *names, size_t n, struct buf *out)
{
	assert(n <= COUNTERS_MAX);
	for (size_t i = 0; i < MIN(n, (size_t)COUNTERS_MAX); i++) {
		exposition_counter(
			out, names[i].name, names[i].help, (double)atomic_load_explicit(&c->n[i], memory_order_relaxed));
	}
}

/* ---- the pool of threads ----
 *
 * A free thread looks at one queue after another, starting where the last look ended, and takes the
 * first key that is due. No controller can take all threads: requests that a slow server answers after
 * a minute must not stop the others. Lock order: the pool's, then a queue's. A queue calls on_news()
 * without its own lock. */

enum {
	KEY_MAX = 1024, /* bytes of NAMESPACE/NAME, both names of DNS */
	/* Requests mostly wait for etcd's disk: more threads would only queue up there. */
	THREADS = 10,
	/* Threads reserved for queues that have none. */
	RESERVED = 2,
};

struct pool {
	pthread_t threads[THREADS];
	unsigned n_threads;
	pthread_mutex_t lock; /* guards what follows, and the private part of workers */
	pthread_cond_t wake;  /* there may be a key */
	pthread_cond_t idle;  /* a key has been worked on */
	struct list all;      /* workers; after a turn they go to the end */
	unsigned n_free;
	bool is_ending;
};

/* ---- a thread ---- */

static bool may_take(const struct pool *p, const struct workers *w)
{
	return w->n_busy < w->most && (!w->n_busy || p->n_free > RESERVED);
}

/* Returns NULL if nothing can be taken before *ret_due_ms, unless a queue reports news. */
static struct workers *pool_take(struct pool *p, char **ret_key, int64_t *ret_due_ms)
{
	assert_locked(&p->lock);
	*ret_due_ms = INT64_MAX;
	list_for_each(it, &p->all) {
		struct workers *w = list_entry(it, struct workers, link);
		int64_t due_ms;
		/* A queue at its limit is looked at again by the thread that finishes one of its
		 * keys. */
		if (may_take(p, w)) {
			*ret_key = workqueue_take(w->queue, &due_ms);
			if (*ret_key) {
				list_remove(&w->link);
				list_append(&p->all, &w->link);
				return w;
			}
			*ret_due_ms = MIN(*ret_due_ms, due_ms);
		}
	}
	return NULL;
}

static void work_on(struct pool *p, struct workers *w, char *key)
{
	assert_locked(&p->lock);
	assert(p->n_free > 0 && w->n_busy < w->most);
	w->n_busy++;
	p->n_free--;
	pthread_cond_signal(&p->wake); /* there may be more keys, and at most one thread waits for a delay to end */
	pthread_mutex_unlock(&p->lock);

	w->work(w->ctx, str_of(key));
	workqueue_done(w->queue, key);

	pthread_mutex_lock(&p->lock);
	w->n_busy--;
	p->n_free++;
	pthread_cond_broadcast(&p->idle);
}

static void *pool_run(void *ctx)
{
	struct pool *p = ctx;
	pthread_mutex_lock(&p->lock);
	while (!p->is_ending) {
		int64_t due_ms;
		char *key;
		struct workers *w = pool_take(p, &key, &due_ms);
		if (w) {
			work_on(p, w, key);
		} else if (due_ms == INT64_MAX) {
			pthread_cond_wait(&p->wake, &p->lock);
		} else {
			clock_cond_wait(&p->wake, &p->lock, due_ms);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- its life ---- */

int pool_new(struct pool **ret)
{
	struct pool *p = mem_new(struct pool);
	int r = 0;
	pthread_mutex_init(&p->lock, NULL);
	clock_cond_init(&p->wake);
	pthread_cond_init(&p->idle, NULL);
	list_init(&p->all);
	pthread_mutex_lock(&p->lock);
	while (p->n_threads < THREADS && !r) {
		r = -pthread_create(&p->threads[p->n_threads], NULL, pool_run, p);
		if (!r) {
			pthread_setname_np(p->threads[p->n_threads++], "controllers");
		}
	}
	p->n_free = p->n_threads;
	pthread_mutex_unlock(&p->lock);
	if (!p->n_threads) {
		pool_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

struct pool *pool_free(struct pool *p)
{
	if (p) {
		pthread_mutex_lock(&p->lock);
		assert(list_is_empty(&p->all));
		p->is_ending = true;
		pthread_cond_broadcast(&p->wake);
		pthread_mutex_unlock(&p->lock);
		for (unsigned i = 0; i < p->n_threads; i++) {
			pthread_join(p->threads[i], NULL);
		}
		pthread_cond_destroy(&p->idle);
		pthread_cond_destroy(&p->wake);
		pthread_mutex_destroy(&p->lock);
		mem_free(p);
	}
	return NULL;
}

/* ---- a queue's part of it ---- */

static void on_news(void *ctx)
{
	struct pool *p = ctx;
	pthread_mutex_lock(&p->lock);
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

void workers_start(struct workers *w, struct pool *p)
{
	assert(w->queue && w->work);
	assert(!w->pool && w->most > 0);
	workqueue_listen(w->queue, on_news, p);
	pthread_mutex_lock(&p->lock);
	w->pool = p;
	list_append(&p->all, &w->link);
	pthread_cond_signal(&p->wake); /* for keys that were added before the start */
	pthread_mutex_unlock(&p->lock);
}

void workers_stop(struct workers *w)
{
	struct pool *p = w->pool;
	workqueue_stop(w->queue);
	if (p) {
		pthread_mutex_lock(&p->lock);
		while (w->n_busy) {
			pthread_cond_wait(&p->idle, &p->lock);
		}
		assert(w->n_busy == 0);
		list_remove(&w->link);
		w->pool = NULL;
		pthread_mutex_unlock(&p->lock);
	}
}

void workers_wake(struct workqueue *q, struct str ns, struct str name)
{
	_cleanup_(buf_done) struct buf key;
	buf_init(&key, KEY_MAX);
	workqueue_add(q, store_key(&key, ns, name));
}
