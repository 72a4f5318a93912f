#include "controllers/gc.h"

#include "base/clock.h"
#include "base/log.h"
#include "client/workqueue.h"
#include "controllers/gc_attempt.h"
#include "controllers/gc_monitors.h"

enum {
	DELETERS = 4, /* requests are answered in well under a millisecond; more would only queue up elsewhere */
	ORPHANERS = 1,
	DISCOVER_MS = 30 * 1000,
	DISCOVER_FIRST_MS = 1000, /* while nothing is known */
	SYNC_PATIENCE_MS = 60 * 1000,
	BACKOFF_FIRST_MS = 5,
	BACKOFF_LAST_MS = 1000 * 1000,
};

struct worker {
	pthread_t thread;
	struct gc *gc;
	struct workqueue *queue;
	enum gc_outcome (*attempt)(struct gc_core *c, struct str uid);
};

struct gc {
	struct gc_core core;
	struct gc_monitors monitors;
	struct workqueue *to_delete, *to_orphan;
	struct worker workers[DELETERS + ORPHANERS];
	size_t n_workers; /* running */
	_Atomic uint64_t n_sync_errors;
	pthread_t discoverer;
	bool has_discoverer;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	bool is_ending, has_news;
};

/* ---- what the graph says ---- */

static void on_delete(void *context, struct str uid)
{
	workqueue_add(((struct gc *)context)->to_delete, uid);
}

static void on_delete_later(void *context, struct str uid)
{
	workqueue_retry(((struct gc *)context)->to_delete, uid);
}

static void on_orphan(void *context, struct str uid)
{
	workqueue_add(((struct gc *)context)->to_orphan, uid);
}

static void on_invalid_namespace(void *context _unused_, const struct gc_ref *object, const struct gc_ref *owner)
{
	log_warning("gc.invalid", GC_REF_FMT " refers to the owner " GC_REF_FMT ", which is in another namespace",
		GC_REF_ARG(object), GC_REF_ARG(owner));
}

static const struct gc_sink sink = {on_delete, on_delete_later, on_orphan, on_invalid_namespace};

/* ---- workers ---- */

static void work_on(struct worker *w, char *key)
{
	if (w->attempt(&w->gc->core, str_of(key)) == GC_RETRY) {
		workqueue_retry(w->queue, str_of(key));
	} else {
		workqueue_forget(w->queue, str_of(key));
	}
	workqueue_done(w->queue, key);
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;

	for (char *key = workqueue_get(w->queue); key; key = workqueue_get(w->queue)) {
		work_on(w, key);
	}
	return NULL;
}

static int start_worker(struct gc *gc, struct workqueue *queue, enum gc_outcome (*attempt)(struct gc_core *c, struct str uid))
{
	struct worker *w = &gc->workers[gc->n_workers];
	int r;

	*w = (struct worker){.gc = gc, .queue = queue, .attempt = attempt};
	r = pthread_create(&w->thread, NULL, worker_run, w);
	gc->n_workers += r == 0;
	return r;
}

static void start_workers(struct gc *gc)
{
	int r = 0;

	for (int i = 0; i < ORPHANERS && !r; i++) {
		r = start_worker(gc, gc->to_orphan, gc_attempt_orphan);
	}
	for (int i = 0; i < DELETERS && !r; i++) {
		r = start_worker(gc, gc->to_delete, gc_attempt_delete);
	}
	if (r) {
		log_error("gc.start", "cannot start all workers: %s", strerror(r));
	}
}

/* ---- the discovering thread ---- */

/* Until somebody wakes it or until then. False: it is the end. */
static bool wait_until(struct gc *gc, int64_t at_ms)
{
	const struct timespec at = {at_ms / 1000, at_ms % 1000 * 1000000};
	bool goes_on;

	pthread_mutex_lock(&gc->lock);
	if (!gc->is_ending && !gc->has_news) {
		pthread_cond_timedwait(&gc->wake, &gc->lock, &at);
	}
	gc->has_news = false;
	goes_on = !gc->is_ending;
	pthread_mutex_unlock(&gc->lock);
	return goes_on;
}

static bool pause_for(struct gc *gc, int64_t delay_ms)
{
	int64_t at_ms = clock_mono_ms() + delay_ms;
	bool goes_on = true;

	while (goes_on && clock_mono_ms() < at_ms) {
		goes_on = wait_until(gc, at_ms);
	}
	return goes_on;
}

static void on_synced(void *context)
{
	struct gc *gc = context;

	pthread_mutex_lock(&gc->lock);
	gc->has_news = true;
	pthread_cond_signal(&gc->wake);
	pthread_mutex_unlock(&gc->lock);
}

/* A resource that cannot be listed must not stop the collection of all others: attempts ask the server anyway. */
static bool wait_for_informers(struct gc *gc)
{
	int64_t give_up_ms = clock_mono_ms() + SYNC_PATIENCE_MS;
	bool goes_on = true;

	while (goes_on && !gc_monitors_have_synced(&gc->monitors)) {
		if (clock_mono_ms() >= give_up_ms) {
			log_warning("gc.start", "not everything has been listed; collecting what is known");
			break;
		}
		goes_on = wait_until(gc, give_up_ms);
	}
	return goes_on;
}

static bool discover(struct gc *gc)
{
	bool is_known = gc_monitors_sync(&gc->monitors);

	atomic_fetch_add(&gc->n_sync_errors, is_known ? 0 : 1);
	return is_known;
}

static void *discoverer_run(void *arg)
{
	struct gc *gc = arg;
	bool goes_on = true;

	while (goes_on && !discover(gc)) {
		goes_on = pause_for(gc, DISCOVER_FIRST_MS);
	}
	goes_on = goes_on && wait_for_informers(gc);
	if (goes_on) {
		log_info("gc.start", "collecting garbage");
		start_workers(gc);
	}
	while (goes_on && pause_for(gc, DISCOVER_MS)) {
		discover(gc);
	}
	return NULL;
}

/* ---- life ---- */

static void init_wake(struct gc *gc)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&gc->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&gc->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int gc_new(struct gc **ret, struct client *client)
{
	struct gc *gc = mem_new(struct gc);
	int r;

	init_wake(gc);
	gc->to_delete = workqueue_new("garbage_collector_attempt_to_delete", BACKOFF_FIRST_MS, BACKOFF_LAST_MS);
	gc->to_orphan = workqueue_new("garbage_collector_attempt_to_orphan", BACKOFF_FIRST_MS, BACKOFF_LAST_MS);
	gc_core_init(&gc->core, client, &sink, gc);
	gc_monitors_init(&gc->monitors, &gc->core, on_synced, gc);
	r = pthread_create(&gc->discoverer, NULL, discoverer_run, gc);
	gc->has_discoverer = r == 0;
	if (r) {
		gc_free(gc);
		return error_trace(-r);
	}
	*ret = gc;
	return 0;
}

static void end_discoverer(struct gc *gc)
{
	pthread_mutex_lock(&gc->lock);
	gc->is_ending = true;
	pthread_cond_signal(&gc->wake);
	pthread_mutex_unlock(&gc->lock);
	if (gc->has_discoverer) {
		pthread_join(gc->discoverer, NULL);
	}
}

/* First whoever makes work, then whoever does it. */
struct gc *gc_free(struct gc *gc)
{
	if (!gc) {
		return NULL;
	}
	end_discoverer(gc);
	gc_monitors_done(&gc->monitors);
	workqueue_stop(gc->to_delete);
	workqueue_stop(gc->to_orphan);
	for (size_t i = 0; i < gc->n_workers; i++) {
		pthread_join(gc->workers[i].thread, NULL);
	}
	gc_core_done(&gc->core);
	workqueue_free(gc->to_delete);
	workqueue_free(gc->to_orphan);
	pthread_cond_destroy(&gc->wake);
	pthread_mutex_destroy(&gc->lock);
	mem_free(gc);
	return NULL;
}
