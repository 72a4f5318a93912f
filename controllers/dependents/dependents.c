/* An index beside the informer's store, because callers ask the reverse question: which
 * Dependents refer to this object? One lock guards both maps, which must agree. No other lock is
 * held when it is taken; dependents_each() calls work queues under it. */
#include "controllers/dependents/dependents.h"
#include "api/model/members.h"
#include "base/thread.h"
#include "client/store.h"
#include "controllers/dependents/dependents_watch.h"
#include "controllers/dependents/provider_references.h"

#include <assert.h>

/* As many as an informer keeps. */
enum { DEPENDENTS_MAX = 10 * 1000 * 1000 };

void dependents_init(struct dependents *d)
{
	pthread_mutex_init(&d->lock, NULL);
	map_init(&d->by_name, DEPENDENTS_MAX);
	map_init(&d->by_provided, (size_t)DEPENDENTS_MAX * REFERENCES_MAX);
}

static void referrers_free(struct map *referrers)
{
	map_done(referrers);
	mem_free(referrers);
}

void dependents_done(struct dependents *d)
{
	for (struct map_entry *e = map_next(&d->by_provided, NULL); e; e = map_next(&d->by_provided, e)) {
		referrers_free(e->value);
	}
	for (struct map_entry *e = map_next(&d->by_name, NULL); e; e = map_next(&d->by_name, e)) {
		item_unref(e->value);
	}
	map_done(&d->by_provided);
	map_done(&d->by_name);
	pthread_mutex_destroy(&d->lock);
}

static void link_to(struct dependents *d, struct str provided, struct str key, struct item *dependent)
{
	struct map *referrers = map_get(&d->by_provided, provided);
	if (!referrers) {
		referrers = mem_new(struct map);
		map_init(referrers, DEPENDENTS_MAX);
		map_set(&d->by_provided, provided, referrers, NULL);
	}
	map_set(referrers, key, dependent, NULL);
}

static void unlink_from(struct dependents *d, struct str provided, struct str key)
{
	struct map *referrers = map_get(&d->by_provided, provided);
	if (referrers) {
		map_remove(referrers, key);
		if (!referrers->n) {
			map_remove(&d->by_provided, provided);
			referrers_free(referrers);
		}
	}
}

static void link_all(struct dependents *d, struct str key, struct item *dependent, bool is_there)
{
	assert_locked(&d->lock);
	struct provided provided[REFERENCES_MAX];
	size_t n = provider_of(dependent->object, provided);
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	for (size_t i = 0; i < n; i++) {
		struct str to = provider_key(&text, provided[i].kind, dependent->namespace, provided[i].name);
		if (is_there) {
			link_to(d, to, key, dependent);
		} else {
			unlink_from(d, to, key);
		}
	}
}

/* Under the lock. */
static void remove_key(struct dependents *d, struct str key)
{
	assert_locked(&d->lock);
	struct item *old = map_remove(&d->by_name, key);
	if (old) {
		link_all(d, key, old, false);
		item_unref(old);
	}
}

void dependents_put(struct dependents *d, struct item *dependent)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	struct str key = store_key(&text, dependent->namespace, dependent->name);

	pthread_mutex_lock(&d->lock);
	/* Removes the old references first: an update may name other objects. */
	remove_key(d, key);
	if (map_set(&d->by_name, key, dependent, NULL)) {
		item_ref(dependent);
		link_all(d, key, dependent, true);
	}
	pthread_mutex_unlock(&d->lock);
}

void dependents_remove(struct dependents *d, struct str namespace, struct str name)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);

	pthread_mutex_lock(&d->lock);
	remove_key(d, store_key(&text, namespace, name));
	pthread_mutex_unlock(&d->lock);
}

bool dependents_refer_to(struct dependents *d, struct str provider_key)
{
	assert(provider_key.n > 0);
	pthread_mutex_lock(&d->lock);
	bool is_referred_to = map_get(&d->by_provided, provider_key) != NULL;
	pthread_mutex_unlock(&d->lock);
	return is_referred_to;
}

void dependents_each(
	struct dependents *d, struct str provider_key, void (*each)(void *ctx, const struct item *dependent), void *ctx)
{
	assert(each);
	pthread_mutex_lock(&d->lock);
	const struct map *referrers = map_get(&d->by_provided, provider_key);
	for (struct map_entry *e = referrers ? map_next(referrers, NULL) : NULL; e; e = map_next(referrers, e)) {
		each(ctx, e->value);
	}
	pthread_mutex_unlock(&d->lock);
}

/* ---- the watches ---- */

/* One informer for Dependents and one for each kind that they name. For kinds whose data never
 * changes, metadata is enough: the data is read from the server once. */
static void on_provided_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	const struct watched_kind *k = ctx;
	k->watch->watcher.on_provided(k->watch->watcher.run, k->kind, item, false);
}

static void on_provided_update(void *ctx, struct item *old, struct item *item)
{
	const struct watched_kind *k = ctx;
	k->watch->watcher.on_provided(k->watch->watcher.run, k->kind, item, !str_eq(old->uid, item->uid));
}

static void on_provided_delete(void *ctx, struct item *item, bool is_guess _unused_)
{
	const struct watched_kind *k = ctx;
	k->watch->watcher.on_provided(k->watch->watcher.run, k->kind, item, true);
}

void dependents_watch_start(struct dependents_watch *w, const struct dependents_watcher *watcher)
{
	w->watcher = *watcher;
	for (size_t i = 0; i < PROVIDER_KINDS_MAX && provider_kinds[i].kind; i++) {
		struct watched_kind *k = &w->kinds[i];
		k->watch = w;
		k->kind = &provider_kinds[i];
		k->informer = controller_watch(watcher->run,
			(struct informer_options){
				.resource = k->kind->resource,
				.metadata_only = watcher->is_metadata_enough || k->kind->is_constant,
				.left_out = item_managers,
				.handlers = {.on_add = on_provided_add,
					.on_update = on_provided_update,
					.on_delete = on_provided_delete},
				.ctx = k,
			});
	}
	w->dependents = controller_watch(watcher->run,
		(struct informer_options){
			.resource = dependents_resource,
			.left_out = item_managers,
			.handlers = watcher->dependents,
		});
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

/* ---- references ---- */

/* One row for each kind that a Dependent may name. Both controllers, their informers and the
 * index read this table, so they cannot disagree on what a reference means. */
#define ANNALS_V1(plural)                          \
	{                                          \
		{"annals.dev", 10}, {"v1", 2},     \
		{                                  \
			plural, sizeof(plural) - 1 \
		}                                  \
	}

const struct provider_kind provider_kinds[] = {
	{"Provider", ANNALS_V1("providers"), "spec.providers.", (const char *const[]){"spec", "data", NULL}, false},
	{"ControllerRevision", ANNALS_V1("controllerrevisions"), "spec.controllerRevisions.",
		(const char *const[]){"data", NULL}, true},
	{0},
};

const struct resource dependents_resource = ANNALS_V1("dependents");

static const struct provider_kind *by_kind(struct str kind)
{
	const struct provider_kind *k = provider_kinds;
	while (k->kind && !str_is(kind, k->kind)) {
		k++;
	}
	return k->kind ? k : NULL;
}

static const struct provider_kind *by_plural(struct str plural)
{
	const struct provider_kind *k = provider_kinds;
	while (k->kind && !str_eq(plural, k->resource.plural)) {
		k++;
	}
	return k->kind ? k : NULL;
}

size_t provider_of(const struct json *dependent, struct provided ret[REFERENCES_MAX])
{
	const struct json *list = json_gets(json_gets(dependent, "spec"), "providers"), *r;
	size_t n = 0;
	for (uint32_t i = 0; n < REFERENCES_MAX && (r = list_item(list, i)); i++) {
		const struct provider_kind *kind = by_kind(member_text(r, "kind"));
		if (kind) {
			ret[n++] = (struct provided){kind, member_text(r, "name")};
		}
	}
	return n;
}

const struct json *provider_data(const struct provider_kind *kind, const struct json *object)
{
	for (const char *const *name = kind->data; *name; name++) {
		object = json_gets(object, *name);
	}
	return object;
}

struct str provider_key(struct buf *out, const struct provider_kind *kind, struct str namespace, struct str name)
{
	buf_clear(out);
	buf_printf(out, STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(kind->resource.plural), STR_ARG(namespace), STR_ARG(name));
	return buf_str(out);
}

bool provider_parse_key(struct str key, const struct provider_kind **ret_kind, struct str *ret_namespace, struct str *ret_name)
{
	struct str plural, rest;
	*ret_kind = str_cut(key, '/', &plural, &rest) ? by_plural(plural) : NULL;
	return *ret_kind && str_cut(rest, '/', ret_namespace, ret_name);
}
