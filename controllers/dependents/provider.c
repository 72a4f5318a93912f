/* Removes the finalizer annals.dev/provider-protection from deleted Providers that no Dependent
 * refers to. Providers are created with it. Does the same for ControllerRevisions that have the
 * finalizer. Its promise does not depend on the server's own check: it also holds where Dependents
 * are in another etcd cluster than the objects they refer to. */
#include "api/model/members.h"
#include "api/model/reference.h"
#include "controllers/dependents/dependents.h"
#include "controllers/dependents/dependents_watch.h"
#include "controllers/dependents/provider_plan.h"
#include "controllers/kit/counters.h"
#include "controllers/kit/meta.h"
#include "controllers/kit/patch.h"

enum {
	WORKERS = 4,
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,
	PATCH_MAX = 1 << 20, /* bytes of a patch that has all finalizers but one */
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
	struct controller_run run; /* keys: provider_key() */
	struct dependents_watch watch;
	struct dependents index;
	struct counters counters;
};

/* ---- one object ---- */

enum outcome { DONE, AGAIN };

/* The patch carries the resourceVersion of the deleted object that was seen. A 409 means that
 * the object has changed, or that the server knows of a Dependent that uses it. */
static enum outcome provider_let_go(struct providers_state *s, const struct target *t, const struct item *item)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf patch;
	answer_init(&answer);
	buf_init(&patch, PATCH_MAX);
	if (!meta_patch_finalize(&patch, item_meta(item), FINALIZER_PROTECTION.p)) {
		return DONE;
	}
	if (!rest_patch(s->run.env->client, t, PATCH_MERGE, buf_str(&patch), &answer)) {
		count(&s->counters, RELEASED);
		return DONE;
	}
	if (answer_is_absent(&answer, t)) {
		return DONE;
	}
	if (answer_is(&answer, 409, NULL)) {
		count(&s->counters, REFUSED);
	} else if (answer.message.n) {
		controller_notice(&s->run, true, answer.message);
	}
	return AGAIN;
}

/* Lists the Dependents from etcd (no resourceVersion). If the list shows a Dependent that the
 * cache lacks, asks again later. The cache must show it first, so that an event reports its end, or
 * it must be gone. */
static enum outcome provider_ask(
	struct providers_state *s, const struct provider_kind *kind, const struct target *t, const struct item *item)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf field;
	answer_init(&answer);
	buf_init(&field, PROVIDED_KEY_MAX);
	buf_printf(&field, "%s" STR_FMT "=true", kind->field, STR_ARG(t->name));
	count(&s->counters, LIVE_LISTS);
	if (rest_list(s->run.env->client, &(struct target){.resource = &dependents_resource, .namespace = t->namespace},
		    &(struct list_options){.field_selector = buf_str(&field), .limit = 1, .metadata_only = true}, &answer)) {
		return AGAIN;
	}
	return provider_next_by_list(answer.body) == PROVIDER_LET_GO ? provider_let_go(s, t, item) : AGAIN;
}

static enum outcome provider_look_at(struct providers_state *s, struct str key)
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
		return provider_ask(s, kind, &t, item);
	case PROVIDER_LET_GO:
		return provider_let_go(s, &t, item);
	case PROVIDER_LEAVE:
		break;
	}
	return DONE;
}

/* Until the informers have synced, the cache answers no question. */
static void provider_work(void *ctx, struct str key)
{
	struct providers_state *s = ctx;
	if (informer_has_synced(s->watch.dependents) && provider_look_at(s, key) == DONE) {
		workqueue_forget(s->run.queue, key);
	} else {
		workqueue_retry(s->run.queue, key);
	}
}

/* ---- what happens ---- */

/* Queues the objects that the index no longer shows as referred to. The others would be left
 * alone anyway. */
static void enqueue_freed(struct providers_state *s, const struct item *dependent)
{
	struct provided provided[REFERENCES_MAX];
	size_t n = provider_of(dependent->object, provided);
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	for (size_t i = 0; i < n; i++) {
		struct str key = provider_key(&text, provided[i].kind, dependent->namespace, provided[i].name);
		if (!dependents_refer_to(&s->index, key)) {
			workqueue_add(s->run.queue, key);
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
	enqueue_freed(s, old); /* the old object may have been another one whose deletion was missed */
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
		workqueue_add(s->run.queue, provider_key(&text, kind, item->namespace, item->name));
	}
}

/* ---- its life ---- */

static void providers_begin(void *state)
{
	struct providers_state *s = state;
	dependents_init(&s->index);
	/* Watches all ControllerRevisions: the label may have been removed, and only the
	 * finalizer counts. */
	dependents_watch_start(&s->watch,
		&(struct dependents_watcher){
			.run = &s->run,
			.is_metadata_enough = true,
			.dependents = {.on_add = on_dependent_add,
				.on_update = on_dependent_update,
				.on_delete = on_dependent_delete},
			.on_provided = on_provided,
		});
}

static void providers_end(void *state)
{
	struct providers_state *s = state;
	dependents_done(&s->index);
}

static void write_metrics(void *state, struct buf *out)
{
	struct providers_state *s = state;
	counters_write(&s->counters, counted, ARRAY_SIZE(counted), out);
}

const struct controller provider_finalization_controller = {
	.name = "provider-finalization-controller",
	.alias = "provider-finalization",
	.queues = {{"provider_finalization", WORKERS, RETRY_FIRST_MS, RETRY_LAST_MS, provider_work}},
	.state_size = sizeof(struct providers_state),
	.begin = providers_begin,
	.end = providers_end,
	.write_metrics = write_metrics,
};
