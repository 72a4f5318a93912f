/* One mutex, since look-ups are short. It guards both maps and is the last lock to be taken;
 * nothing is called under it but what store_each() was given. */
#include "client/store.h"

enum { KEY_MAX = 4096 };

void store_init(struct store *s, size_t max)
{
	pthread_mutex_init(&s->lock, NULL);
	map_init(&s->by_name, max);
	map_init(&s->by_uid, max);
}

void store_done(struct store *s)
{
	for (struct map_entry *e = map_next(&s->by_name, NULL); e; e = map_next(&s->by_name, e)) {
		item_unref(e->value);
	}
	map_done(&s->by_name);
	map_done(&s->by_uid);
	pthread_mutex_destroy(&s->lock);
}

struct str store_key(struct buf *out, struct str namespace, struct str name)
{
	buf_clear(out);
	buf_add_str(out, namespace);
	buf_addc(out, '/');
	buf_add_str(out, name);
	return buf_str(out);
}

/* A new object of the same name may be indexed already when the old one goes. */
static void forget_uid(struct store *s, const struct item *item)
{
	if (map_get(&s->by_uid, item->uid) == item) {
		map_remove(&s->by_uid, item->uid);
	}
}

bool store_put(struct store *s, struct item *item, struct item **ret_old)
{
	void *old = NULL;
	_cleanup_(buf_done) struct buf key;
	buf_init(&key, KEY_MAX);
	store_key(&key, item->namespace, item->name);

	pthread_mutex_lock(&s->lock);
	bool is_kept = !key.is_over && map_set(&s->by_name, buf_str(&key), item, &old);
	if (is_kept) {
		item_ref(item);
		if (old) {
			forget_uid(s, old);
		}
		if (item->uid.n) {
			map_set(&s->by_uid, item->uid, item, NULL);
		}
		*ret_old = old;
	}
	pthread_mutex_unlock(&s->lock);
	return is_kept;
}

struct item *store_remove(struct store *s, struct str namespace, struct str name)
{
	_cleanup_(buf_done) struct buf key;
	buf_init(&key, KEY_MAX);
	store_key(&key, namespace, name);

	pthread_mutex_lock(&s->lock);
	struct item *item = map_remove(&s->by_name, buf_str(&key));
	if (item) {
		forget_uid(s, item);
	}
	pthread_mutex_unlock(&s->lock);
	return item;
}

static struct item *look_up(struct store *s, const struct map *map, struct str key)
{
	pthread_mutex_lock(&s->lock);
	struct item *item = map_get(map, key);
	item = item ? item_ref(item) : NULL;
	pthread_mutex_unlock(&s->lock);
	return item;
}

struct item *store_get(struct store *s, struct str namespace, struct str name)
{
	_cleanup_(buf_done) struct buf key;
	buf_init(&key, KEY_MAX);
	return look_up(s, &s->by_name, store_key(&key, namespace, name));
}

struct item *store_get_by_uid(struct store *s, struct str uid)
{
	return look_up(s, &s->by_uid, uid);
}

size_t store_count(struct store *s)
{
	pthread_mutex_lock(&s->lock);
	size_t n = s->by_name.n;
	pthread_mutex_unlock(&s->lock);
	return n;
}

void store_each(struct store *s, struct str namespace, void (*each)(void *ctx, struct item *item), void *ctx)
{
	pthread_mutex_lock(&s->lock);
	for (struct map_entry *e = map_next(&s->by_name, NULL); e; e = map_next(&s->by_name, e)) {
		struct item *item = e->value;
		if (!namespace.n || str_eq(namespace, item->namespace)) {
			each(ctx, item);
		}
	}
	pthread_mutex_unlock(&s->lock);
}
