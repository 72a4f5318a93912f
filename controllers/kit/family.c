/* A map of maps under one lock; no other lock is held with it. Inner maps grow with their
 * content, and are freed when empty. */
#include "controllers/kit/family.h"
#include "base/thread.h"

#include "controllers/kit/ownership.h"

#include <assert.h>

/* As many as an informer keeps. */
enum { FAMILY_MAX = 10 * 1000 * 1000, KEY_MAX = 512 };

void family_init(struct family *f, bool ignores_controllers)
{
	f->ignores_controllers = ignores_controllers;
	pthread_mutex_init(&f->lock, NULL);
	map_init(&f->by_uid, FAMILY_MAX);
	map_init(&f->by_key, FAMILY_MAX);
}

static void members_free(struct map *members)
{
	map_done(members);
	mem_free(members);
}

void family_done(struct family *f)
{
	for (struct map_entry *e = map_next(&f->by_key, NULL); e; e = map_next(&f->by_key, e)) {
		members_free(e->value);
	}
	for (struct map_entry *e = map_next(&f->by_uid, NULL); e; e = map_next(&f->by_uid, e)) {
		item_unref(e->value);
	}
	map_done(&f->by_key);
	map_done(&f->by_uid);
	pthread_mutex_destroy(&f->lock);
}

static struct str orphans_key(struct buf *out, struct str ns)
{
	buf_printf(out, "/" STR_FMT, STR_ARG(ns));
	return buf_str(out);
}

/* Keys of namespaces contain a "/", which no uid does, so the two sorts of keys never collide. */
static struct str key_of(const struct family *f, const struct item *item, struct buf *out)
{
	struct owner_reference controller;
	bool has = !f->ignores_controllers && ownership_controller(item_meta(item), &controller);
	return has ? controller.uid : orphans_key(out, item->namespace);
}

static void take_out(struct family *f, struct str uid)
{
	assert_locked(&f->lock);
	_cleanup_(buf_done) struct buf text;
	_cleanup_(item_unrefp) struct item *item = map_remove(&f->by_uid, uid);

	buf_init(&text, KEY_MAX);
	if (!item) {
		return;
	}
	struct str key = key_of(f, item, &text);
	struct map *members = map_get(&f->by_key, key);
	assert(members && members->n > 0); /* every item of by_uid is in by_key */
	map_remove(members, uid);
	if (!members->n) {
		map_remove(&f->by_key, key);
		members_free(members);
	}
}

static void put(struct family *f, struct item *item)
{
	assert_locked(&f->lock);
	assert(item->uid.n > 0);
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, KEY_MAX);
	struct str key = key_of(f, item, &text);
	struct map *members = map_get(&f->by_key, key);
	if (!members) {
		members = mem_new(struct map);
		map_init(members, FAMILY_MAX);
		map_set(&f->by_key, key, members, NULL);
	}
	map_set(members, item->uid, item, NULL);
	map_set(&f->by_uid, item->uid, item_ref(item), NULL);
}

void family_put(struct family *f, struct item *item)
{
	family_replace(f, item->uid, item);
}

void family_replace(struct family *f, struct str uid, struct item *item)
{
	pthread_mutex_lock(&f->lock);
	take_out(f, uid);
	take_out(f, item->uid);
	/* Cannot fail: these maps hold as much as the informer. */
	put(f, item);
	pthread_mutex_unlock(&f->lock);
}

void family_remove(struct family *f, struct str uid)
{
	pthread_mutex_lock(&f->lock);
	take_out(f, uid);
	pthread_mutex_unlock(&f->lock);
}

struct item *family_get(struct family *f, struct str uid)
{
	pthread_mutex_lock(&f->lock);
	struct item *item = map_get(&f->by_uid, uid);
	item = item ? item_ref(item) : NULL;
	pthread_mutex_unlock(&f->lock);
	return item;
}

static size_t add_refs(const struct map *members, struct item **to)
{
	size_t n = 0;
	for (struct map_entry *e = members ? map_next(members, NULL) : NULL; e; e = map_next(members, e)) {
		to[n++] = item_ref(e->value);
	}
	return n;
}

size_t family_of(struct family *f, struct str owner_uid, struct str ns, struct item ***ret)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, KEY_MAX);
	pthread_mutex_lock(&f->lock);
	const struct map *own = map_get(&f->by_key, owner_uid), *orphans = map_get(&f->by_key, orphans_key(&text, ns));
	struct item **items = mem_array((own ? own->n : 0) + (orphans ? orphans->n : 0) + 1, sizeof(struct item *));
	size_t n = add_refs(own, items);
	n += add_refs(orphans, items + n);
	pthread_mutex_unlock(&f->lock);
	*ret = items;
	return n;
}

void family_release(struct item **items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		item_unref(items[i]);
	}
	mem_free(items);
}
