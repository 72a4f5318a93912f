/* k8s.io/kubernetes/pkg/controller/garbagecollector, with its two queues. Informers feed the
 * graph, the graph feeds the queues, workers ask the server before they delete anything. Nothing
 * is deleted because of a cache alone.
 *
 * `lock` guards the discovering thread's wake-up only, and is never held together with
 * gc_core's. */
#include "controllers/gc/gc.h"

#include "base/clock.h"
#include "controllers/gc/gc_attempt.h"
#include "controllers/gc/gc_monitors.h"
#include "controllers/kit/event_writer.h"

enum {
	DELETERS = 4, /* requests take well under a millisecond; more workers would only wait for the server */
	ORPHANERS = 2,
	/* kube's interval: objects of a new resource are collected after half a minute at the
	 * latest. */
	DISCOVER_MS = 30 * 1000,
	DISCOVER_FIRST_MS = 1000, /* the interval until the first discovery succeeds */
	/* kube also goes on without informers that do not sync: one broken API service must not
	 * stop all collection. */
	SYNC_PATIENCE_MS = 60 * 1000,
	BACKOFF_FIRST_MS = 5,
	MESSAGE_MAX = 64 * 1024, /* bytes of the message of an Event, which keeps 1024 of them */
	/* client-go's default rate limiter: 5 ms to 1000 s. */
	BACKOFF_LAST_MS = 1000 * 1000,
};

struct gc {
	struct controller_run run;
	struct workqueue *to_delete, *to_orphan; /* the run's */
	struct gc_core core;
	struct gc_monitors monitors;
	struct event_writer *events;
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

static void on_orphan(void *context, struct str uid)
{
	workqueue_add(((struct gc *)context)->to_orphan, uid);
}

static void on_invalid_namespace(void *context, const struct gc_ref *object, const struct gc_ref *owner)
{
	struct gc *gc = context;
	_cleanup_(buf_done) struct buf message;

	buf_init(&message, MESSAGE_MAX);
	buf_printf(&message, "ownerRef " GC_REF_FMT " does not exist in namespace \"" STR_FMT "\"", GC_REF_ARG(owner),
		STR_ARG(object->ns));
	event_say(gc->events,
		&(struct event){
			.api_version = object->api_version,
			.kind = object->kind,
			.ns = object->ns,
			.name = object->name,
			.uid = object->uid,
			.reason = STR("OwnerRefInvalidNamespace"),
			.message = buf_str(&message),
			.is_warning = true,
		});
}

static const struct gc_sink sink = {on_delete, on_orphan, on_invalid_namespace};

/* ---- workers ---- */

static void gc_settle(struct workqueue *queue, struct str uid, enum gc_outcome outcome)
{
	if (outcome == GC_RETRY) {
		workqueue_retry(queue, uid);
	} else {
		workqueue_forget(queue, uid);
	}
}

static void try_to_delete(void *ctx, struct str uid)
{
	struct gc *gc = ctx;
	gc_settle(gc->to_delete, uid, gc_attempt_delete(&gc->core, uid));
}

static void try_to_orphan(void *ctx, struct str uid)
{
	struct gc *gc = ctx;
	gc_settle(gc->to_orphan, uid, gc_attempt_orphan(&gc->core, uid));
}

/* ---- the discovering thread ---- */

/* Waits until that time or until it is woken. Returns false when the controller is stopping. */
static bool wait_until(struct gc *gc, int64_t at_ms)
{
	bool goes_on;

	pthread_mutex_lock(&gc->lock);
	if (!gc->is_ending && !gc->has_news) {
		clock_cond_wait(&gc->wake, &gc->lock, at_ms);
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
			gc_core_notice(&gc->core, true, "not everything has been listed; collecting what is known");
			break;
		}
		goes_on = wait_until(gc, give_up_ms);
	}
	return goes_on;
}

static void *discoverer_run(void *arg)
{
	struct gc *gc = arg;
	bool goes_on = true;

	while (goes_on && !gc_monitors_sync(&gc->monitors)) {
		goes_on = pause_for(gc, DISCOVER_FIRST_MS);
	}
	goes_on = goes_on && wait_for_informers(gc);
	if (goes_on) {
		controller_work(&gc->run);
		gc_core_notice(&gc->core, false, "collecting garbage");
	}
	while (goes_on && pause_for(gc, DISCOVER_MS)) {
		gc_monitors_sync(&gc->monitors);
	}
	return NULL;
}

/* ---- life ---- */

static void gc_begin(void *state)
{
	struct gc *gc = state;

	pthread_mutex_init(&gc->lock, NULL);
	clock_cond_init(&gc->wake);
	gc->to_delete = gc->run.workers[0].queue;
	gc->to_orphan = gc->run.workers[1].queue;
	gc_core_init(&gc->core, gc->run.env, &sink, gc);
	gc->events = event_writer_new(&gc->run);
	gc_monitors_init(&gc->monitors, &gc->core, on_synced, gc);
	gc->has_discoverer = pthread_create(&gc->discoverer, NULL, discoverer_run, gc) == 0;
	if (gc->has_discoverer) {
		pthread_setname_np(gc->discoverer, "gc-discovery");
	} else {
		gc_core_notice(&gc->core, true, "cannot start a thread: nothing is collected");
	}
}

static void halt(void *state)
{
	struct gc *gc = state;

	pthread_mutex_lock(&gc->lock);
	gc->is_ending = true;
	pthread_cond_signal(&gc->wake);
	pthread_mutex_unlock(&gc->lock);
	if (gc->has_discoverer) {
		pthread_join(gc->discoverer, NULL);
	}
	gc_monitors_done(&gc->monitors);
}

static void gc_end(void *state)
{
	struct gc *gc = state;

	event_writer_free(gc->events);
	gc_core_done(&gc->core);
	pthread_cond_destroy(&gc->wake);
	pthread_mutex_destroy(&gc->lock);
}

const struct controller garbage_collector = {
	.name = "garbage-collector-controller",
	.alias = "garbagecollector",
	.starts_late = true,
	.queues = {{"garbage_collector_attempt_to_delete", DELETERS, BACKOFF_FIRST_MS, BACKOFF_LAST_MS, try_to_delete},
		{"garbage_collector_attempt_to_orphan", ORPHANERS, BACKOFF_FIRST_MS, BACKOFF_LAST_MS, try_to_orphan}},
	.state_size = sizeof(struct gc),
	.begin = gc_begin,
	.halt = halt,
	.end = gc_end,
};
