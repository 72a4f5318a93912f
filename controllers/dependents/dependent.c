/* Makes Dependents real, while what they refer to is there, and undoes it before they go (seed 004's controller of Dependents). */
#include "controllers/dependents/dependent_look.h"
#include "controllers/dependents/dependent_plan.h"
#include "controllers/kit/workers.h"

enum {
	WORKERS = 4,
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,
};

static const struct counter_name counted[] = {
	[PROVIDER_GETS] = {"annals_dependent_provider_gets_total", "Reads of what Dependents refer to, from the server"},
	[SPARED_GETS] = {"annals_dependent_spared_gets_total",
		"Times that another Dependent's implementation was answer enough"},
	[IMPLEMENTED] = {"annals_dependent_implemented_total", "Implementations made, or found as they should be"},
	[WITHDRAWN] = {"annals_dependent_withdrawn_total", "Implementations undone"},
};

/* The state, and who works on it. */
struct dependent_controller_state {
	struct dependents_state s;
	struct workers workers;
};

static void notice(struct dependents_state *s, bool is_problem, struct str text)
{
	s->env->on_notice(s->env->ctx, dependent_controller.name, is_problem, text);
}

static void work(void *ctx, struct str key)
{
	struct dependents_state *s = ctx;
	struct str ns, name;
	/* Before all is known, what is missing might only not have been read yet. */
	if (dependents_watch_has_synced(&s->watch) && str_cut(key, '/', &ns, &name) && dependent_look(s, ns, name)) {
		workqueue_forget(s->queue, key);
	} else {
		workqueue_retry(s->queue, key);
	}
}

/* ---- what happens ---- */

static void enqueue(struct dependents_state *s, const struct item *item)
{
	workers_wake(s->queue, item->namespace, item->name);
}

static void on_dependent_add(void *ctx, struct item *dependent, bool is_initial _unused_)
{
	struct dependents_state *s = ctx;
	dependents_put(&s->index, dependent);
	enqueue(s, dependent);
}

static void on_dependent_update(void *ctx, struct item *old, struct item *dependent)
{
	struct dependents_state *s = ctx;
	dependents_put(&s->index, dependent);
	/* Another one of that name: the watch did not see the first one go. */
	if (!str_eq(old->uid, dependent->uid)) {
		implemented_release(&s->implemented, old);
	}
	enqueue(s, dependent);
}

/* One that went without being let go here is not relied on any longer than this. */
static void on_dependent_delete(void *ctx, struct item *dependent, bool is_guess _unused_)
{
	struct dependents_state *s = ctx;
	dependents_remove(&s->index, dependent->namespace, dependent->name);
	implemented_release(&s->implemented, dependent);
}

static void on_implementation_update(void *ctx, struct item *old _unused_, struct item *implementation)
{
	enqueue(ctx, implementation); /* which has the Dependent's name */
}

static void on_implementation_delete(void *ctx, struct item *implementation, bool is_guess _unused_)
{
	enqueue(ctx, implementation);
}

static void enqueue_referrer(void *ctx, const struct item *dependent)
{
	enqueue(ctx, dependent);
}

static void on_provided(void *ctx, const struct provider_kind *kind, const struct item *item, bool is_gone)
{
	struct dependents_state *s = ctx;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	struct str key = provider_key(&text, kind, item->namespace, item->name);
	if (is_gone) {
		implemented_forget(&s->implemented, key);
	}
	dependents_each(&s->index, key, enqueue_referrer, s);
}

static void on_problem(void *ctx, bool is_over _unused_, struct str text)
{
	notice(ctx, true, text);
}

/* ---- its life ---- */

static void watch(struct dependents_state *s)
{
	dependents_watch_start(&s->watch,
		&(struct dependents_watcher){
			.env = s->env,
			.dependents = {.on_add = on_dependent_add,
				.on_update = on_dependent_update,
				.on_delete = on_dependent_delete,
				.on_problem = on_problem},
			.on_provided = on_provided,
			.ctx = s,
		});
	s->implementations = informer_new(&(struct informer_options){
		.client = s->env->client,
		.outage = s->env->outage,
		.resource = *s->implementer->resource,
		.label_selector = str_of(s->implementer->label_selector),
		.metadata_only = true,
		.handlers = {.on_update = on_implementation_update,
			.on_delete = on_implementation_delete,
			.on_problem = on_problem},
		.ctx = s,
	});
}

static void *start(const struct controller_env *env)
{
	struct dependent_controller_state *c = mem_new(struct dependent_controller_state);
	struct dependents_state *s = &c->s;
	s->env = env;
	s->implementer = &configmap_implementer;
	s->queue = workqueue_new("dependent", RETRY_FIRST_MS, RETRY_LAST_MS);
	dependents_init(&s->index);
	implemented_init(&s->implemented);
	watch(s);
	c->workers = (struct workers){.queue = s->queue, .work = work, .ctx = s};
	if (workers_start(&c->workers, WORKERS)) {
		notice(s, true, STR("cannot start a thread: nothing will be done"));
	}
	return c;
}

static void stop(void *state)
{
	struct dependent_controller_state *c = state;
	struct dependents_state *s = &c->s;
	workers_stop(&c->workers);
	informer_free(s->implementations);
	dependents_watch_stop(&s->watch);
	implemented_done(&s->implemented);
	dependents_done(&s->index);
	workqueue_free(s->queue);
	mem_free(c);
}

static struct workqueue *queue(void *state, size_t i)
{
	struct dependent_controller_state *c = state;
	return i == 0 ? c->s.queue : NULL;
}

static void write_metrics(void *state, struct buf *out)
{
	struct dependent_controller_state *c = state;
	counters_write(&c->s.counters, counted, ARRAY_SIZE(counted), out);
}

const struct controller dependent_controller = {
	.name = "dependent-controller",
	.alias = "dependent",
	.start = start,
	.stop = stop,
	.queue = queue,
	.write_metrics = write_metrics,
};
