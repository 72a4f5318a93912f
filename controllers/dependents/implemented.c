/* An optimization that must not weaken seed 004's promise: the header says why it does not.
 * `lock` guards all of it and is never held during a request; what is returned is counted. */
#include "controllers/dependents/implemented.h"

#include "client/store.h"

enum { HOLDINGS_MAX = 10 * 1000 * 1000 }; /* as many as an informer keeps */

struct holding {
	struct item *object;
	struct map holders; /* "NAMESPACE/NAME" of Dependents */
};

void implemented_init(struct implemented *h)
{
	pthread_mutex_init(&h->lock, NULL);
	map_init(&h->by_provided, HOLDINGS_MAX);
}

static void holding_free(struct holding *g)
{
	if (g) {
		item_unref(g->object);
		map_done(&g->holders);
		mem_free(g);
	}
}

void implemented_done(struct implemented *h)
{
	for (struct map_entry *e = map_next(&h->by_provided, NULL); e; e = map_next(&h->by_provided, e)) {
		holding_free(e->value);
	}
	map_done(&h->by_provided);
	pthread_mutex_destroy(&h->lock);
}

struct item *implemented_get(struct implemented *h, struct str provider_key)
{
	pthread_mutex_lock(&h->lock);
	const struct holding *g = map_get(&h->by_provided, provider_key);
	struct item *object = g ? item_ref(g->object) : NULL;
	pthread_mutex_unlock(&h->lock);
	return object;
}

static struct holding *make(struct implemented *h, struct str provider_key, struct item *object)
{
	struct holding *g = mem_new(struct holding);
	g->object = item_ref(object);
	map_init(&g->holders, HOLDINGS_MAX);
	map_set(&h->by_provided, provider_key, g, NULL);
	return g;
}

static void take_newer(struct holding *g, struct item *object)
{
	if (object->version > g->object->version) {
		item_unref(g->object);
		g->object = item_ref(object);
	}
}

void implemented_add(struct implemented *h, struct str provider_key, struct item *object, const struct item *dependent)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	struct str key = store_key(&text, dependent->namespace, dependent->name);

	pthread_mutex_lock(&h->lock);
	struct holding *g = map_get(&h->by_provided, provider_key);
	g = g ? g : make(h, provider_key, object);
	/* Workers read in any order: an older answer must not take the place of a newer one. */
	take_newer(g, object);
	map_set(&g->holders, key, g, NULL);
	pthread_mutex_unlock(&h->lock);
}

/* Under the lock. */
static void forget(struct implemented *h, struct str provider_key)
{
	holding_free(map_remove(&h->by_provided, provider_key));
}

void implemented_release(struct implemented *h, const struct item *dependent)
{
	struct provided provided[REFERENCES_MAX];
	size_t n = provider_of(dependent->object, provided);
	_cleanup_(buf_done) struct buf text, to;
	buf_init(&text, PROVIDED_KEY_MAX);
	buf_init(&to, PROVIDED_KEY_MAX);
	struct str key = store_key(&text, dependent->namespace, dependent->name);

	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < n; i++) {
		struct str of = provider_key(&to, provided[i].kind, dependent->namespace, provided[i].name);
		struct holding *g = map_get(&h->by_provided, of);
		if (g && map_remove(&g->holders, key) && !g->holders.n) {
			forget(h, of);
		}
	}
	pthread_mutex_unlock(&h->lock);
}

void implemented_forget(struct implemented *h, struct str provider_key)
{
	pthread_mutex_lock(&h->lock);
	forget(h, provider_key);
	pthread_mutex_unlock(&h->lock);
}
