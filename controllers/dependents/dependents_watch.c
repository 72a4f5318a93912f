/* An informer for Dependents and one for each kind that they name. Of what never changes metadata
 * is enough to know when it comes and goes: data is read from the server, once. */
#include "controllers/dependents/dependents_watch.h"

static void on_provided_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	const struct watched_kind *k = ctx;
	k->watch->watcher.on_provided(k->watch->watcher.ctx, k->kind, item, false);
}

static void on_provided_update(void *ctx, struct item *old, struct item *item)
{
	const struct watched_kind *k = ctx;
	k->watch->watcher.on_provided(k->watch->watcher.ctx, k->kind, item, !str_eq(old->uid, item->uid));
}

static void on_provided_delete(void *ctx, struct item *item, bool is_guess _unused_)
{
	const struct watched_kind *k = ctx;
	k->watch->watcher.on_provided(k->watch->watcher.ctx, k->kind, item, true);
}

static void on_provided_problem(void *ctx, bool is_over, struct str text)
{
	const struct watched_kind *k = ctx;
	k->watch->watcher.dependents.on_problem(k->watch->watcher.ctx, is_over, text);
}

void dependents_watch_start(struct dependents_watch *w, const struct dependents_watcher *watcher)
{
	w->watcher = *watcher;
	for (size_t i = 0; i < PROVIDER_KINDS_MAX && provider_kinds[i].kind; i++) {
		struct watched_kind *k = &w->kinds[i];
		k->watch = w;
		k->kind = &provider_kinds[i];
		k->informer = informer_new(&(struct informer_options){
			.client = watcher->env->client,
			.outage = watcher->env->outage,
			.resource = k->kind->resource,
			.metadata_only = watcher->is_metadata_enough || k->kind->is_constant,
			.left_out = item_managers,
			.handlers = {.on_add = on_provided_add,
				.on_update = on_provided_update,
				.on_delete = on_provided_delete,
				.on_problem = on_provided_problem},
			.ctx = k,
		});
	}
	w->dependents = informer_new(&(struct informer_options){
		.client = watcher->env->client,
		.outage = watcher->env->outage,
		.resource = dependents_resource,
		.left_out = item_managers,
		.handlers = watcher->dependents,
		.ctx = watcher->ctx,
	});
}

void dependents_watch_stop(struct dependents_watch *w)
{
	informer_free(w->dependents);
	for (size_t i = 0; i < PROVIDER_KINDS_MAX; i++) {
		informer_free(w->kinds[i].informer);
	}
}

bool dependents_watch_has_synced(const struct dependents_watch *w)
{
	bool has = informer_has_synced(w->dependents);
	for (size_t i = 0; has && i < PROVIDER_KINDS_MAX && w->kinds[i].informer; i++) {
		has = informer_has_synced(w->kinds[i].informer);
	}
	return has;
}

struct item *dependents_watch_get(
	const struct dependents_watch *w, const struct provider_kind *kind, struct str namespace, struct str name)
{
	return informer_get(w->kinds[kind - provider_kinds].informer, namespace, name);
}
