/* Lets Providers go: takes the finalizer annals.dev/provider-protection, which they are born with, off those that were deleted and that no
 * Dependent refers to (seed 004's Provider Finalization Controller). The same for ControllerRevisions that have it.
 *
 * Its promise does not need the server's: it holds too where Dependents are in another etcd cluster than what they refer to. */
#include "controllers/dependents/dependents.h"
#include "controllers/dependents/dependents_watch.h"
#include "controllers/dependents/provider_plan.h"
#include "controllers/kit/counters.h"
#include "controllers/kit/patch.h"
#include "controllers/kit/workers.h"

enum {
	WORKERS = 4,
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,
	PATCH_MAX = 1 << 20,
};

enum counted { LIVE_LISTS, SPARED_LISTS, RELEASED, REFUSED };

static const struct counter_name counted[] = {
	[LIVE_LISTS] = {"annals_provider_finalization_live_lists_total",
		"Lists of Dependents asked of the server, because the cache showed none"},
	[SPARED_LISTS] = {"annals_provider_finalization_spared_lists_total",
		"Times that a Dependent in the cache was answer enough"},
	[RELEASED] = {"annals_provider_finalization_released_total", "Finalizers taken off"},
	[REFUSED] = {"annals_provider_finalization_refused_total",
		"Times that the server refused to take a finalizer off, since the object had changed or is in use"},
};

struct providers_state {
	const struct controller_env *env;
	struct workqueue *queue; /* provider_key() */
	struct dependents_watch watch;
	struct dependents index;
	struct workers workers;
	struct counters counters;
};

static void notice(struct providers_state *s, bool is_problem, struct str text)
{
	s->env->on_notice(s->env->ctx, provider_finalization_controller.name, is_problem, text);
}

/* ---- one object ---- */

enum outcome { DONE, AGAIN };

/* Its resourceVersion makes sure that it is what was seen deleted. 409: it has changed, or the server knows who uses it. */
static enum outcome let_go(struct providers_state *s, const struct target *t, const struct item *item)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf patch;
	answer_init(&answer);
	buf_init(&patch, PATCH_MAX);
	if (!gc_patch_finalize(&patch, item_meta(item), FINALIZER_PROTECTION.p)) {
		return DONE;
	}
	if (!rest_patch(s->env->client, t, PATCH_MERGE, buf_str(&patch), &answer)) {
		count(&s->counters, RELEASED);
		return DONE;
	}
	if (answer_is(&answer, 409, NULL)) {
		count(&s->counters, REFUSED);
	} else if (answer.message.n && !answer_is(&answer, 404, NULL)) {
		notice(s, true, answer.message);
	}
	return answer_is(&answer, 404, NULL) ? DONE : AGAIN;
}

/* The latest there is, from etcd: no resourceVersion. A Dependent that it shows and the cache does not is looked for again, until the cache
 * shows it, so that its end will be told, or it is gone. */
static enum outcome ask(
	struct providers_state *s, const struct provider_kind *kind, const struct target *t, const struct item *item)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf field;
	answer_init(&answer);
	buf_init(&field, PROVIDED_KEY_MAX);
	buf_printf(&field, "%s" STR_FMT "=true", kind->field, STR_ARG(t->name));
	count(&s->counters, LIVE_LISTS);
	if (rest_list(s->env->client, &(struct target){.resource = &dependents_resource, .namespace = t->namespace},
		    &(struct list_options){.field_selector = buf_str(&field), .limit = 1, .metadata_only = true}, &answer)) {
		return AGAIN;
	}
	return provider_next_by_list(answer.body) == PROVIDER_LET_GO ? let_go(s, t, item) : AGAIN;
}

static enum outcome look_at(struct providers_state *s, struct str key)
{
	const struct provider_kind *kind;
	struct str ns, name;
	if (!provider_parse_key(key, &kind, &ns, &name)) {
		return DONE;
	}
	_cleanup_(item_unrefp) struct item *item = dependents_watch_get(&s->watch, kind, ns, name);
	if (!item) {
		return DONE;
	}
	const struct target t = {.resource = &kind->resource, .namespace = ns, .name = name};
	bool is_referred_to = dependents_refer_to(&s->index, key);
	if (is_referred_to && item_is_deleting(item)) {
		count(&s->counters, SPARED_LISTS);
	}
	switch (provider_next(item_meta(item), is_referred_to)) {
	case PROVIDER_ASK:
		return ask(s, kind, &t, item);
	case PROVIDER_LET_GO:
		return let_go(s, &t, item);
	case PROVIDER_LEAVE:
		break;
	}
	return DONE;
}

/* Before all Dependents are known, the cache answers no question. */
static void work(void *ctx, struct str key)
{
	struct providers_state *s = ctx;
	if (informer_has_synced(s->watch.dependents) && look_at(s, key) == DONE) {
		workqueue_forget(s->queue, key);
	} else {
		workqueue_retry(s->queue, key);
	}
}

/* ---- what happens ---- */

/* What the index no longer shows to be referred to; what it does would be left alone. */
static void enqueue_freed(struct providers_state *s, const struct item *dependent)
{
	struct provided provided[REFERENCES_MAX];
	size_t n = provider_of(dependent->object, provided);
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	for (size_t i = 0; i < n; i++) {
		struct str key = provider_key(&text, provided[i].kind, dependent->namespace, provided[i].name);
		if (!dependents_refer_to(&s->index, key)) {
			workqueue_add(s->queue, key);
		}
	}
}

static void on_dependent_add(void *ctx, struct item *dependent, bool is_initial _unused_)
{
	struct providers_state *s = ctx;
	dependents_put(&s->index, dependent);
}

static void on_dependent_update(void *ctx, struct item *old, struct item *dependent)
{
	struct providers_state *s = ctx;
	dependents_put(&s->index, dependent);
	enqueue_freed(s, old); /* one name, another object: the deletion of the first was not seen */
}

static void on_dependent_delete(void *ctx, struct item *dependent, bool is_guess _unused_)
{
	struct providers_state *s = ctx;
	dependents_remove(&s->index, dependent->namespace, dependent->name);
	enqueue_freed(s, dependent);
}

static void on_provided(void *ctx, const struct provider_kind *kind, const struct item *item, bool is_gone _unused_)
{
	struct providers_state *s = ctx;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	if (provider_next(item_meta(item), false) != PROVIDER_LEAVE) {
		workqueue_add(s->queue, provider_key(&text, kind, item->namespace, item->name));
	}
}

static void on_problem(void *ctx, bool is_over _unused_, struct str text)
{
	notice(ctx, true, text);
}

/* ---- its life ---- */

static void *start(const struct controller_env *env)
{
	struct providers_state *s = mem_new(struct providers_state);
	s->env = env;
	s->queue = workqueue_new("provider_finalization", RETRY_FIRST_MS, RETRY_LAST_MS);
	dependents_init(&s->index);
	/* ControllerRevisions without the label, too: it may have been taken off since, the finalizer is what counts. */
	dependents_watch_start(&s->watch,
		&(struct dependents_watcher){
			.env = env,
			.is_metadata_enough = true,
			.dependents = {.on_add = on_dependent_add,
				.on_update = on_dependent_update,
				.on_delete = on_dependent_delete,
				.on_problem = on_problem},
			.on_provided = on_provided,
			.ctx = s,
		});
	s->workers = (struct workers){.queue = s->queue, .work = work, .ctx = s};
	if (workers_start(&s->workers, WORKERS)) {
		notice(s, true, STR("cannot start a thread: nothing will be done"));
	}
	return s;
}

static void stop(void *state)
{
	struct providers_state *s = state;
	workers_stop(&s->workers);
	dependents_watch_stop(&s->watch);
	dependents_done(&s->index);
	workqueue_free(s->queue);
	mem_free(s);
}

static struct workqueue *queue(void *state, size_t i)
{
	struct providers_state *s = state;
	return i == 0 ? s->queue : NULL;
}

static void write_metrics(void *state, struct buf *out)
{
	struct providers_state *s = state;
	counters_write(&s->counters, counted, ARRAY_SIZE(counted), out);
}

const struct controller provider_finalization_controller = {
	.name = "provider-finalization-controller",
	.alias = "provider-finalization",
	.start = start,
	.stop = stop,
	.queue = queue,
	.write_metrics = write_metrics,
};
