/* Webhooks as a whole: whether there are any for a write, and the beginning and end of its round.
 *
 * A write that comes before the configurations are known waits for them, ten seconds as in
 * upstream, and is then refused: to let it through would be to skip a webhook. Nothing reports
 * when they come, so a timer checks while a write waits. The lock is never held while a round
 * goes on. */
#include "delegation/webhooks.h"

#include "base/clock.h"
#include "delegation/webhook_round.h"
#include "delegation/webhook_store.h"

#include <assert.h>
#include <pthread.h>

enum {
	READY_MS = 10 * 1000, /* how long a write waits for the configurations (k8s.io/apiserver admission.Handler) */
	LOOK_MS = 100,        /* how often to check whether they have come */
};

struct webhooks {
	struct webhooks_options options;
	struct webhook_store *store;
	struct webhook_means means;
	struct client_task begin_looking;
	struct client_timer look;
	pthread_mutex_t lock; /* guards the fields below */
	struct list waiting;  /* rounds that cannot begin yet */
	bool is_looking, is_stopped;
};

/* ---- the end ---- */

static void on_round_end(struct webhook_round *r)
{
	struct webhook_question *q = r->q;
	round_free(r);
	q->base.done(&q->base);
}

static void fail_stopping(struct webhook_question *q)
{
	q->base.failure = STR("this server is stopping");
}

/* ---- the beginning ---- */

/* Takes the set. Returns false when something is not known yet. */
static bool round_take_set(struct webhooks *w, struct webhook_round *r)
{
	assert(!r->set);
	if (w->options.has_namespaces && !w->options.has_namespaces(w->options.namespace_ctx)) {
		return false;
	}
	r->set = webhook_store_get(w->store, r->q->phase);
	return r->set != NULL;
}

/* Begins a round, which has its set. Returns true when the question is answered; then the round
 * is the caller's. */
static bool round_begin(struct webhook_round *r)
{
	assert(r->set && r->set->n <= WEBHOOKS_MAX);
	if (r->set->is_over) {
		status_init(&r->q->st, r->q->base.arena);
		status_internal(&r->q->st, "there are more admission webhooks than this server can ask");
		return true;
	}
	if (r->q->phase == WEBHOOKS_MUTATING) {
		round_mutate(r);
	} else {
		round_validate(r);
	}
	return r->go_on(r);
}

/* ---- waiting for configurations ---- */

static int64_t patience_until(const struct webhook_round *r)
{
	return MIN(r->q->base.deadline_ms, r->began_ms + READY_MS);
}

static void refuse_unready(struct webhook_question *q)
{
	struct str name = q->name;
	if (!name.n && q->object) {
		name = q->object->meta.name.n ? q->object->meta.name : q->object->meta.generate_name;
	}
	status_init(&q->st, q->base.arena);
	status_forbidden(&q->st, str_of(q->version->group), str_of(q->kind->resource), name.n ? name : STR("Unknown"),
		"not yet ready to handle request");
}

static void webhooks_go_on_waiting(struct webhooks *w, struct webhook_round *r)
{
	pthread_mutex_lock(&w->lock);
	bool is_stopped = w->is_stopped;
	if (!is_stopped) {
		list_append(&w->waiting, &r->link);
	}
	pthread_mutex_unlock(&w->lock);
	if (is_stopped) {
		fail_stopping(r->q);
		on_round_end(r);
	}
}

static void webhooks_look_after(struct webhooks *w, struct webhook_round *r)
{
	if (round_take_set(w, r)) {
		if (round_begin(r)) {
			on_round_end(r);
		}
	} else if (clock_mono_ms() < patience_until(r)) {
		webhooks_go_on_waiting(w, r);
	} else {
		refuse_unready(r->q);
		on_round_end(r);
	}
}

static void webhooks_take_waiting(struct webhooks *w, struct list *ret)
{
	list_init(ret);
	pthread_mutex_lock(&w->lock);
	list_splice(ret, &w->waiting);
	pthread_mutex_unlock(&w->lock);
}

static struct webhook_round *take_first_round(struct list *rounds)
{
	struct list *first = rounds->next;
	list_remove(first);
	return list_entry(first, struct webhook_round, link);
}

static void webhooks_look(struct webhooks *w)
{
	assert(client_is_this_thread(w->options.client));
	struct list rounds;
	webhooks_take_waiting(w, &rounds);
	while (!list_is_empty(&rounds)) {
		webhooks_look_after(w, take_first_round(&rounds));
	}
	pthread_mutex_lock(&w->lock);
	w->is_looking = !list_is_empty(&w->waiting);
	if (w->is_looking) {
		client_timer_set(w->options.client, &w->look, LOOK_MS);
	}
	pthread_mutex_unlock(&w->lock);
}

static void on_look(struct client_timer *t)
{
	webhooks_look(container_of(t, struct webhooks, look));
}

static void on_begin_looking(struct client_task *t)
{
	webhooks_look(container_of(t, struct webhooks, begin_looking));
}

/* Makes a round wait. Returns false when the timer has ended, and would never check. */
static bool webhooks_wait_for_set(struct webhooks *w, struct webhook_round *r)
{
	pthread_mutex_lock(&w->lock);
	bool waits = !w->is_stopped && (w->is_looking || client_post(w->options.client, &w->begin_looking));
	if (waits) {
		w->is_looking = true;
		list_append(&w->waiting, &r->link);
	}
	pthread_mutex_unlock(&w->lock);
	return waits;
}

/* ---- questions ---- */

bool webhooks_would_ask(struct webhooks *w, const struct webhook_question *q)
{
	if (!webhook_store_may_have(w->store, q->phase)) {
		return false;
	}
	_cleanup_(webhook_set_unrefp) struct webhook_set *set = webhook_store_get(w->store, q->phase);
	bool would_ask = !set || set->is_over;
	for (size_t i = 0; !would_ask && i < set->n; i++) {
		would_ask = webhook_version(&set->v[i], q) != NULL;
	}
	return would_ask;
}

bool webhooks_ask(struct webhooks *w, struct webhook_question *q)
{
	struct webhook_round *r = round_new(&w->means, q);
	r->on_end = on_round_end;
	r->began_ms = clock_mono_ms();
	if (round_take_set(w, r)) {
		if (!round_begin(r)) {
			return false;
		}
	} else if (webhooks_wait_for_set(w, r)) {
		return false;
	} else {
		fail_stopping(q);
	}
	round_free(r);
	return true;
}

void webhooks_write_missing(struct webhooks *w, struct buf *out)
{
	static const char *const names[] = {"mutating", "validating"};
	for (enum webhook_phase phase = WEBHOOKS_MUTATING; phase <= WEBHOOKS_VALIDATING; phase++) {
		struct webhook_set *set = webhook_store_get(w->store, phase);
		if (!set) {
			buf_printf(out, "the cluster's %s webhooks are not known yet\n", names[phase]);
		}
		webhook_set_unref(set);
	}
}

void webhooks_write_metrics(struct webhooks *w, struct buf *out)
{
	webhook_metrics_write(w->means.metrics, out);
}

/* ---- lifetime ---- */

struct webhooks *webhooks_new(const struct webhooks_options *options)
{
	struct webhooks *w = mem_new(struct webhooks);
	w->options = *options;
	w->means = (struct webhook_means){.client = options->client,
		.get_namespace = options->get_namespace,
		.namespace_ctx = options->namespace_ctx,
		.metrics = webhook_metrics_new()};
	w->begin_looking.run = on_begin_looking;
	client_timer_init(&w->look, on_look);
	pthread_mutex_init(&w->lock, NULL);
	list_init(&w->waiting);
	w->store = webhook_store_new(&(struct webhook_store_options){
		.client = options->client, .on_notice = options->on_notice, .ctx = options->ctx});
	return w;
}

void webhooks_start(struct webhooks *w)
{
	webhook_store_start(w->store);
}

void webhooks_end(struct webhooks *w)
{
	webhook_store_end(w->store);
}

void webhooks_stop(struct webhooks *w)
{
	struct list rounds;
	pthread_mutex_lock(&w->lock);
	w->is_stopped = true;
	pthread_mutex_unlock(&w->lock);
	webhooks_take_waiting(w, &rounds);
	while (!list_is_empty(&rounds)) {
		struct webhook_round *r = take_first_round(&rounds);
		fail_stopping(r->q);
		on_round_end(r);
	}
}

struct webhooks *webhooks_free(struct webhooks *w)
{
	if (w) {
		assert(list_is_empty(&w->waiting));
		webhook_store_free(w->store);
		webhook_metrics_free(w->means.metrics);
		pthread_mutex_destroy(&w->lock);
		mem_free(w);
	}
	return NULL;
}
