/* Etcd has been restored from a backup below us: what is shown here may never have been, or is not any more. */
#include "storage/cache/cache_private.h"

/* Nobody is told differences: whoever watches lists again. */
static void feed_give_up(struct feed *f)
{
	feed_expire_pins(f, INT64_MAX);
	pthread_mutex_lock(&f->lock);
	feed_watchers_restored(f);
	window_clear(&f->window);
	f->dispatched = f->window.end;
	pthread_mutex_unlock(&f->lock);
}

/* From here on nobody becomes a watcher, or reads: not before everything has been loaded again. */
static void history_close(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->is_ready, false);
	atomic_store(&c->is_connected, false);
	atomic_store(&c->lost, MAX(atomic_load(&c->lost), cache_revision(c)));
	atomic_store(&c->forgotten, INT64_MAX);
	c->epoch++;
	pthread_mutex_unlock(&c->lock);
}

void cache_give_up(struct cache *c)
{
	history_close(c);
	atomic_fetch_add(&c->n_restores, 1);
	cache_say(c,
		"etcd has been restored from a backup: its history is not the one that was followed up to revision %lld; "
		"not ready until everything has been loaded again",
		(long long)cache_revision(c));
	for (size_t i = 0; i < c->n_feeds; i++) {
		feed_give_up(&c->feeds[i]);
	}
	cache_fresh_give_up(c);
}

static bool is_other_history(struct cache *c, const struct storage_op *op, int64_t floor)
{
	bool is_other = c->cluster && op->cluster && op->cluster != c->cluster;

	return op->result == STORAGE_OK && cache_is_ready(c) && (is_other || op->revision < floor);
}

void cache_compare_history(struct cache *c, const struct storage_op *op)
{
	if (is_other_history(c, op, cache_revision(c))) {
		cache_give_up(c);
	}
}

/* The end of the watch begins the load; where there is none, the one that was to follow does. */
bool cache_check_history(struct cache *c, const struct storage_op *op, int64_t floor)
{
	if (!is_other_history(c, op, floor)) {
		return true;
	}
	cache_give_up(c);
	pthread_mutex_lock(&c->lock);
	c->is_given_up = true;
	if (c->state == LOAD_WATCH) {
		storage_watch_cancel(c->storage, &c->watch);
	}
	pthread_mutex_unlock(&c->lock);
	return false;
}
