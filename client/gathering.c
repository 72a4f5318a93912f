/* Why not into the store at once: a list of many pages may fail in the middle, and handlers must
 * not hear of half a list. Until it is whole, the store stays as it was. */
#include "client/gathering.h"

#include "client/store.h"

enum { KEY_MAX = 4096 };

void gathering_init(struct gathering *g, size_t max)
{
	g->max = max;
	map_init(&g->items, max);
	buf_init(&g->key, KEY_MAX);
}

void gathering_forget(struct gathering *g)
{
	map_done(&g->items);
	map_init(&g->items, g->max);
}

void gathering_clear(struct gathering *g)
{
	for (struct map_entry *e = map_next(&g->items, NULL); e; e = map_next(&g->items, e)) {
		item_unref(e->value);
	}
	gathering_forget(g);
}

void gathering_done(struct gathering *g)
{
	gathering_clear(g);
	map_done(&g->items);
	buf_done(&g->key);
}

bool gathering_add(struct gathering *g, struct item *item)
{
	void *old = NULL;
	if (!map_set(&g->items, store_key(&g->key, item->namespace, item->name), item, &old)) {
		item_unref(item);
		return false;
	}
	/* An object may change while initial events come, and come again: the later one counts. */
	item_unref(old);
	return true;
}

void gathering_remove(struct gathering *g, const struct item *item)
{
	item_unref(map_remove(&g->items, store_key(&g->key, item->namespace, item->name)));
}
