/* An index beside the informer's store, since the question is asked the other way round: who
 * refers to this? One lock guards both maps, which must agree. It is taken alone; work queues
 * are called under it in dependents_each(). */
#include "controllers/dependents/dependents.h"

#include "client/store.h"

/* As many as an informer keeps, which are there already. */
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
	/* The old one's references first: an update may name others. */
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
	pthread_mutex_lock(&d->lock);
	bool is_referred_to = map_get(&d->by_provided, provider_key) != NULL;
	pthread_mutex_unlock(&d->lock);
	return is_referred_to;
}

void dependents_each(
	struct dependents *d, struct str provider_key, void (*each)(void *ctx, const struct item *dependent), void *ctx)
{
	pthread_mutex_lock(&d->lock);
	const struct map *referrers = map_get(&d->by_provided, provider_key);
	for (struct map_entry *e = referrers ? map_next(referrers, NULL) : NULL; e; e = map_next(referrers, e)) {
		each(ctx, e->value);
	}
	pthread_mutex_unlock(&d->lock);
}
