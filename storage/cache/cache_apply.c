/* All kinds of a revision are published at once: their feeds are locked, their windows filled, then
 * all newest snapshots are exchanged under one lock. A reader who knows the revision from one kind
 * finds it in every other. Watchers are woken last, without that lock. */
#include "storage/cache/cache_private.h"
#include <assert.h>
#include <stdlib.h>

struct feed *cache_feed_of_key(struct cache *c, struct str key, struct str *ret_rest)
{
	const struct kind *kind;
	struct key_parts parts;

	if (!str_starts(key, c->objects_key) || !key_split(key, c->objects_key, &parts)) {
		return NULL;
	}
	kind = kind_by_hub(parts.group, parts.resource);
	*ret_rest = parts.rest;
	return kind ? &c->feeds[kind->index] : NULL;
}

/* Of objects that a newer server has written there may be very many: the first is enough. */
static void say_unknown(struct cache *c, const struct census *census, const struct storage_kv *kv, const char *version)
{
	if (census->n_unknown == 1) {
		cache_say(c,
			"what etcd holds at " STR_FMT " since revision %lld, and perhaps more, is stored as %s, which this "
			"server does not know, and is not shown",
			STR_ARG(kv->key), (long long)kv->mod_revision, version);
	}
}

struct cached *cache_decode_only(const struct feed *f, struct str rest, const struct storage_kv *kv)
{
	return cached_new(f->kind, rest, kv->value, kv->create_revision, kv->mod_revision);
}

struct cached *cache_decode(
	struct cache *c, const struct feed *f, struct census *census, struct str rest, const struct storage_kv *kv)
{
	return cache_take_decoded(c, f, census, rest, kv, cache_decode_only(f, rest, kv));
}

struct cached *cache_take_decoded(struct cache *c, const struct feed *f, struct census *census, struct str rest,
	const struct storage_kv *kv, struct cached *o)
{
	if (o) {
		o->epoch = c->epoch;
	} else {
		const char *version = census_note(census, f->kind, rest, kv->value);

		atomic_fetch_add(&c->n_undecodable, 1);
		if (version) {
			say_unknown(c, census, kv, version);
			return NULL;
		}
		cache_say(c, "what etcd holds at " STR_FMT " since revision %lld is not an object of kind %s and is not shown",
			STR_ARG(kv->key), (long long)kv->mod_revision, f->kind->kind);
	}
	return o;
}

/* ---- changes ---- */

static void feed_pend(struct feed *f, struct event *e)
{
	if (f->n_pending == f->cap_pending) {
		f->cap_pending = MAX(f->cap_pending * 2, (size_t)16);
		f->pending = mem_realloc_array(f->pending, f->cap_pending, sizeof(*f->pending));
	}
	f->pending[f->n_pending++] = e;
	f->is_touched = true;
}

static void feed_count(struct feed *f, const struct cached *old, const struct cached *now)
{
	census_count(&f->census, old, now);
	atomic_fetch_add_explicit(
		&f->n_bytes, (now ? cached_own_size(now) : 0) - (old ? cached_own_size(old) : 0), memory_order_relaxed);
}

/* now: NULL when the key is gone. */
static void feed_change(struct feed *f, struct str key, struct cached *now, int64_t revision)
{
	struct cached *old = roots_get(&f->work, key);

	if (!old && !now) {
		return;
	}
	feed_pend(f, event_new(revision, old, now)); /* keeps old alive while trees still name it */
	feed_count(f, old, now);
	roots_replace(&f->work, old, now);
}

static void cache_apply_object(struct cache *c, const struct storage_event *e)
{
	_cleanup_(cached_unrefp) struct cached *now = NULL;
	struct str rest;
	struct feed *f = cache_feed_of_key(c, e->kv.key, &rest);

	if (!f) {
		return;
	}
	size_t n_before = f->census.n_unknown;
	f->is_touched |= census_forget(&f->census, rest);
	size_t n_others = f->census.n_unknown;
	if (e->type == EVENT_PUT) {
		now = cache_decode(c, f, &f->census, rest, &e->kv);
		f->is_touched |= !now;
	}
	/* One of an unknown version came, changed or went: no event can say what became of it. */
	if (n_before > n_others || f->census.n_unknown > n_others) {
		f->lost = e->kv.mod_revision;
	}
	feed_change(f, rest, now, e->kv.mod_revision);
}

/* ---- publishing: see cache_private.h for the order ---- */

static void feed_append_pending(struct feed *f)
{
	for (size_t i = 0; i < f->n_pending; i++) {
		feed_charge_pins(f, f->pending[i]);
		window_append(&f->window, f->pending[i]);
	}
	atomic_fetch_add_explicit(&f->cache->n_events, f->n_pending, memory_order_relaxed);
	f->n_pending = 0;
}

static struct cache_snapshot *feed_swap(struct feed *f, struct cache_snapshot *newest)
{
	struct cache_snapshot *old = f->newest;

	f->newest = newest;
	return old;
}

/* An object that is stored in a version which we do not know has not been deleted, and what becomes of it cannot be told: whoever watches has to list
 * again, here when we know it, or at a server that does. */
static void feed_lose_unknown(struct feed *f)
{
	if (f->lost > 0) {
		f->window.floor = MAX(f->window.floor, f->lost);
		feed_lose(f, f->lost);
		f->lost = 0;
	}
}

/* Locks the feeds in question and appends; fresh[i] is what shall be feeds[i]'s newest snapshot. */
static void publish_prepare(struct cache *c, struct cache_snapshot **fresh, int64_t revision)
{
	for (size_t i = 0; i < c->n_feeds; i++) {
		struct feed *f = &c->feeds[i];

		if (f->is_touched) {
			fresh[i] = snapshot_new(f->kind, revision, &f->work);
			pthread_mutex_lock(&f->lock);
			feed_append_pending(f);
			feed_lose_unknown(f);
		}
	}
}

static void publish_commit(struct cache *c, struct cache_snapshot **fresh, int64_t revision)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->n_feeds; i++) {
		if (fresh[i]) {
			fresh[i] = feed_swap(&c->feeds[i], fresh[i]);
			census_show(&c->feeds[i].census, &c->feeds[i].shown_census);
			atomic_store(&c->feeds[i].has_unknown, c->feeds[i].shown_census.n_unknown > 0);
		}
	}
	c->n_keys_shown = c->n_keys;
	atomic_store(&c->revision, revision);
	atomic_store(&c->is_ready, true);
	pthread_mutex_unlock(&c->lock);
}

static void publish_finish(struct cache *c, struct cache_snapshot **old)
{
	for (size_t i = 0; i < c->n_feeds; i++) {
		if (c->feeds[i].is_touched) {
			pthread_mutex_unlock(&c->feeds[i].lock);
		}
	}
	cache_fresh_advance(c);
	for (size_t i = 0; i < c->n_feeds; i++) {
		if (c->feeds[i].is_touched) {
			c->feeds[i].is_touched = false;
			feed_dispatch(&c->feeds[i]);
			cache_snapshot_unref(old[i]);
		}
	}
}

static void cache_publish(struct cache *c, int64_t revision)
{
	_cleanup_(mem_freep) struct cache_snapshot **snapshots = mem_array(c->n_feeds, sizeof(*snapshots));

	publish_prepare(c, snapshots, revision);
	publish_commit(c, snapshots, revision);
	publish_finish(c, snapshots);
}

/* ---- what the watch brings ---- */

static int64_t compacted_by(const struct cache *c, const struct storage_event *e)
{
	int64_t revision = 0;

	if (e->type == EVENT_PUT && str_eq(e->kv.key, c->compact_key)) {
		str_to_int64(e->kv.value, &revision);
	}
	return revision;
}

static void cache_count_key(struct cache *c, const struct storage_event *e)
{
	if (str_starts(e->kv.key, c->objects_key)) {
		bool is_new = e->type == EVENT_PUT && e->kv.create_revision == e->kv.mod_revision;

		c->n_keys += is_new - (e->type == EVENT_DELETE);
	}
}

void cache_apply(struct cache *c, const struct storage_event *events, size_t n, int64_t revision)
{
	int64_t known = cache_revision(c), compacted = 0;

	if (revision <= known) {
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (events[i].kv.mod_revision > known) {
			cache_count_key(c, &events[i]);
			cache_apply_object(c, &events[i]);
			compacted = MAX(compacted, compacted_by(c, &events[i]));
		}
	}
	cache_publish(c, revision);
	if (compacted > 0) {
		cache_forget(c, MIN(compacted, revision));
	}
}

void cache_forget(struct cache *c, int64_t revision)
{
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->forgotten, MAX(revision, atomic_load(&c->forgotten)));
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < c->n_feeds; i++) {
		feed_expire_pins(&c->feeds[i], revision);
	}
}

/* ---- what a load brings ---- */

static void feed_install(struct feed *f)
{
	size_t n_bytes = 0;

	for (size_t i = 0; i < f->n_loaded; i++) {
		n_bytes += cached_own_size(f->loaded[i]);
		census_count(&f->loading, NULL, f->loaded[i]);
	}
	census_move(&f->census, &f->loading);
	roots_done(&f->work);
	roots_init(&f->work);
	roots_load(&f->work, f->loaded, f->n_loaded);
	f->n_loaded = 0;
	f->is_touched = true;
	atomic_store(&f->n_bytes, n_bytes);
}

/* What happened before this revision is not known, or not any more. */
static void feed_mark_gap(struct feed *f, int64_t to, bool is_first)
{
	pthread_mutex_lock(&f->lock);
	if (is_first) {
		f->window.floor = to;
	} else {
		feed_lose(f, to);
	}
	pthread_mutex_unlock(&f->lock);
}

/* Watchers are not told the differences. A client whose connection ends among such events goes on at another replica, which has seen
 * everything, and would never be told of what was deleted (or left its selector) before the revision it got to. */
void cache_install(struct cache *c, int64_t revision)
{
	bool is_first = !cache_is_ready(c);

	if (is_first) {
		atomic_store(&c->forgotten, 0);
	}
	cache_forget(c, revision); /* first: nobody can become a watcher any more whom feed_lose() would miss */
	for (size_t i = 0; i < c->n_feeds; i++) {
		feed_install(&c->feeds[i]);
		feed_mark_gap(&c->feeds[i], revision, is_first);
	}
	cache_publish(c, revision);
}
