/* The life of the cache, and its one writer, which turns the watch's events into changes and
 * publishes them.
 *
 * All kinds of a revision are published at once. The writer locks their feeds, fills their windows,
 * then exchanges all newest snapshots under one lock. A reader who knows the revision from one kind
 * finds it in every other. Watchers are woken last, without that lock. A kind gets a new snapshot
 * only when it has events, or when a reader asks: revisions of other kinds cost it nothing.
 *
 * Every operation of the store counts as busy until it has called back. So cache_free() waits
 * for the last callback and needs no promise of the store. */
#include "base/thread.h"
#include "storage/cache/cache_private.h"
#include "storage/cache/shared.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGE_MAX = 512 }; /* bytes of a line in the log */

void cache_say(struct cache *c, const char *format, ...)
{
	char message[MESSAGE_MAX];
	va_list ap;

	if (!c->options.on_state) {
		return;
	}
	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	c->options.on_state(c->options.ctx, cache_is_ready(c) && cache_is_connected(c), message);
}

bool cache_busy(struct cache *c)
{
	bool may_start;

	pthread_mutex_lock(&c->lock);
	may_start = !c->is_closing;
	c->n_busy += may_start;
	pthread_mutex_unlock(&c->lock);
	return may_start;
}

void cache_idle(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	if (--c->n_busy == 0) {
		pthread_cond_broadcast(&c->idle);
	}
	pthread_mutex_unlock(&c->lock);
}

/* ---- the timer ----
 *
 * The completion thread sleeps in gRPC, so the cache has a thread for its times. Each tick says when it wants to be called again, and
 * a caller that needs an earlier time says so under the lock. An idle cache wakes no thread. */

/* Waits until timer_at_ms, or until an earlier time is needed. Lock held. */
static void timer_wait(struct cache *c)
{
	if (c->timer_at_ms == INT64_MAX) {
		pthread_cond_wait(&c->timer_cond, &c->lock);
	} else if (c->timer_at_ms > clock_mono_ms()) {
		clock_cond_wait(&c->timer_cond, &c->lock, c->timer_at_ms);
	}
}

/* Runs all ticks. While they release the lock, other threads may ask for an earlier time. Lock
 * held. */
static void timer_tick(struct cache *c)
{
	static int64_t (*const ticks[])(struct cache * c, int64_t now_ms) = {
		cache_load_tick,
		cache_fresh_tick,
		cache_pins_tick,
	};
	int64_t now_ms = clock_mono_ms();

	c->timer_at_ms = INT64_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(ticks); i++) {
		int64_t next = ticks[i](c, now_ms);

		c->timer_at_ms = MIN(c->timer_at_ms, next);
	}
}

static void *timer_run(void *arg)
{
	struct cache *c = arg;

	pthread_mutex_lock(&c->lock);
	while (!c->is_closing) {
		timer_tick(c);
		if (!c->is_closing) {
			timer_wait(c);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

void cache_timer_by(struct cache *c, int64_t at_ms)
{
	assert_locked(&c->lock);
	if (at_ms < c->timer_at_ms) {
		c->timer_at_ms = at_ms;
		pthread_cond_signal(&c->timer_cond);
	}
}

/* Starts the timer thread, for retries, deadlines, fences and pins. */
static void cache_timer_start(struct cache *c)
{
	c->timer_at_ms = INT64_MAX;
	clock_cond_init(&c->timer_cond);
	thread_must_start(&c->timer, "cache-timer", timer_run, c);
}

static void cache_timer_stop(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	pthread_cond_signal(&c->timer_cond);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->timer, NULL);
	pthread_cond_destroy(&c->timer_cond);
}

/* ---- life ---- */

static void options_fill(struct cache_options *o)
{
	o->window_events = o->window_events ? o->window_events : CACHE_WINDOW_EVENTS;
	o->window_bytes = o->window_bytes ? o->window_bytes : CACHE_WINDOW_BYTES;
	o->fence_after_ms = o->fence_after_ms ? o->fence_after_ms : CACHE_FENCE_AFTER_MS;
	o->max_watchers = o->max_watchers ? o->max_watchers : CACHE_MAX_WATCHERS;
}

static void cache_init_keys(struct cache *c)
{
	struct str prefix = c->options.prefix;

	c->prefix_key = arena_printf(&c->arena, STR_FMT "/", STR_ARG(prefix));
	c->prefix_end = storage_prefix_end(&c->arena, c->prefix_key);
	c->objects_key = key_objects_prefix(&c->arena, prefix);
	c->objects_end = storage_prefix_end(&c->arena, c->objects_key);
	c->compact_key = key_compact(&c->arena, prefix);
	c->fence_key = key_fence(&c->arena, prefix);
	c->bases_key = key_bases(&c->arena, prefix);
}

static void cache_init_feeds(struct cache *c)
{
	c->n_feeds = kind_count();
	c->feeds = mem_array(c->n_feeds, sizeof(*c->feeds));
	for (size_t i = 0; i < c->n_feeds; i++) {
		feed_init(&c->feeds[i], c, kind_at(i));
	}
}

struct cache *cache_new(const struct cache_options *options)
{
	assert(options->storage);
	struct cache *c = mem_new(struct cache);

	c->storage = options->storage;
	c->options = *options;
	options_fill(&c->options);
	arena_init(&c->arena, SIZE_MAX);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->idle, NULL);
	c->pins_at_ms = INT64_MAX;
	bases_init(&c->bases);
	cache_init_keys(c);
	cache_init_feeds(c);
	cache_kinds_init(c);
	cache_load_init(c);
	cache_fresh_init(c);
	cache_timer_start(c);
	cache_load_start(c);
	return c;
}

/* Starts nothing new, and waits until all operations under way have called back. */
static void cache_wind_up(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_closing = true;
	storage_watch_cancel(c->storage, &c->watch); /* harmless where there is none */
	while (c->n_busy > 0) {
		pthread_cond_wait(&c->idle, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	cache_timer_stop(c);
}

struct cache *cache_free(struct cache *c)
{
	if (!c) {
		return NULL;
	}
	cache_wind_up(c);
	cache_load_done(c);
	cache_kinds_done(c);
	for (size_t i = 0; i < c->n_feeds; i++) {
		feed_done(&c->feeds[i]);
	}
	mem_free(c->feeds);
	bases_done(&c->bases);
	arena_done(&c->arena);
	pthread_cond_destroy(&c->idle);
	pthread_mutex_destroy(&c->lock);
	return mem_free(c);
}

/* ---- state ---- */

bool cache_is_ready(const struct cache *c)
{
	return atomic_load(&c->is_ready);
}

bool cache_is_connected(const struct cache *c)
{
	return atomic_load(&c->is_connected);
}

int64_t cache_revision(const struct cache *c)
{
	return atomic_load(&c->revision);
}

/* Returns the newest snapshot. A kind without events gets no new snapshot with each revision of
 * other kinds, only when a reader asks for one. */
struct cache_snapshot *cache_snapshot(struct cache *c, const struct kind *kind)
{
	struct feed *f = cache_feed_of(c, kind);
	struct cache_snapshot *s, *old = NULL;
	int64_t revision;

	assert(f && f->kind == kind);
	pthread_mutex_lock(&c->lock);
	revision = cache_revision(c);
	/* The last state of a kind that is over is not that of a later revision. */
	if (f->newest && f->newest->revision != revision && !kind_is_over(kind)) {
		old = f->newest;
		f->newest = snapshot_new(kind, revision, &old->roots);
	}
	s = snapshot_ref(f->newest);
	pthread_mutex_unlock(&c->lock);
	cache_snapshot_unref(old);
	return s;
}

static void feed_add_stats(struct feed *f, struct cache_stats *s)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *newest = cache_snapshot(f->cache, f->kind);

	s->n_objects += newest ? ptree_count(&newest->roots.objects) : 0;
	s->n_bytes += atomic_load(&f->n_bytes);
	pthread_mutex_lock(&f->lock);
	s->n_events_window += (size_t)(f->window.end - f->window.first);
	s->n_window_bytes += f->window.bytes + f->window.cap * sizeof(struct event *);
	pthread_mutex_unlock(&f->lock);
}

void cache_stats(struct cache *c, const struct kind *kind_or_null, struct cache_stats *ret)
{
	*ret = (struct cache_stats){
		.n_watchers = atomic_load(&c->n_watchers),
		.n_events = atomic_load(&c->n_events),
		.n_reloads = atomic_load(&c->n_reloads),
		.n_restores = atomic_load(&c->n_restores),
		.n_undecodable = atomic_load(&c->n_undecodable),
		.n_read_index_rounds = atomic_load(&c->n_rounds),
		.n_fences = atomic_load(&c->n_fences),
		.n_proofs = atomic_load(&c->n_proofs),
	};
	if (!kind_or_null) {
		ret->n_bytes = shared_stats().n_bytes + bases_size(&c->bases);
	}
	if (kind_or_null) {
		feed_add_stats(cache_feed_of(c, kind_or_null), ret);
		return;
	}
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(c);
	for (size_t i = 0; i < kinds_total(defined); i++) {
		feed_add_stats(cache_feed_of(c, kinds_nth(defined, i)), ret);
	}
}

/* ---- the census ----
 *
 * The writer counts objects by stored version as they come and go, so the numbers are exact at a revision and cost no walk. An object
 * that cannot be decoded is remembered by its key: when the key is written again or deleted, the right number goes down. */

/* A key of the kind whose value is not in the cache. Their number is not bounded here: etcd has
 * as many, and the cached form would be larger. */
struct unread {
	struct list node; /* in the list of those in an unknown version */
	bool is_unknown;
	char version[CACHE_VERSION_SIZE];
};

void census_init(struct census *s)
{
	*s = (struct census){0};
	map_init(&s->unread, SIZE_MAX);
	list_init(&s->unknown);
}

static struct unread *unread_free(struct unread *u)
{
	if (u && u->is_unknown) {
		list_remove(&u->node);
	}
	return mem_free(u);
}

void census_done(struct census *s)
{
	for (struct map_entry *e = map_next(&s->unread, NULL); e; e = map_next(&s->unread, e)) {
		unread_free(e->value);
	}
	map_done(&s->unread);
}

static void census_move(struct census *to, struct census *from)
{
	census_done(to);
	*to = *from;
	list_init(&to->unknown);
	list_splice(&to->unknown, &from->unknown);
	census_init(from);
}

/* Counts a change. old: the cached object before; now: the one after it. NULL: none. */
static void census_count(struct census *s, const struct cached *old, const struct cached *now)
{
	if (old) {
		s->stored[old->stored_version - old->kind->versions]--;
	}
	if (now) {
		s->stored[now->stored_version - now->kind->versions]++;
	}
}

/* Copies a version, perhaps cut, for people and for StorageVersions. Characters that mean
 * something else there are replaced. */
static void version_copy(char ret[CACHE_VERSION_SIZE], struct str version)
{
	size_t n = MIN(version.n, (size_t)CACHE_VERSION_SIZE - 1);

	for (size_t i = 0; i < n; i++) {
		ret[i] = char_shown(version.p[i]);
	}
	ret[n] = '\0';
}

/* Reads the version of a value. Returns false when it is no object of the kind at all. */
static bool version_read(char ret[CACHE_VERSION_SIZE], const struct kind *kind, struct str value)
{
	enum { CEILING = 64 * 1024 * 1024 };
	struct arena a;
	struct object *object;

	arena_init(&a, CEILING);
	bool is_of_kind = object_decode_stored(&object, kind, value, 0, &a) == OBJECT_WRONG_VERSION;
	struct str version = is_of_kind ? object_stored_version(value, &a) : STR("");
	bool is_unknown = version.n > 0;
	version_copy(ret, version);
	arena_done(&a);
	return is_unknown;
}

/* Notes a key whose value could not be decoded, and counts it. Returns its version if that is
 * unknown, else NULL. The text lives as long as the note. */
static const char *census_note(struct census *s, const struct kind *kind, struct str key, struct str value)
{
	struct unread *u = mem_new(struct unread);

	u->is_unknown = version_read(u->version, kind, value);
	if (u->is_unknown) {
		s->n_unknown++;
		list_append(&s->unknown, &u->node);
	} else {
		s->n_unreadable++;
	}
	map_set(&s->unread, key, u, NULL);
	return u->is_unknown ? u->version : NULL;
}

static bool census_forget(struct census *s, struct str key)
{
	struct unread *u = map_remove(&s->unread, key);

	if (!u) {
		return false;
	}
	(*(u->is_unknown ? &s->n_unknown : &s->n_unreadable))--;
	unread_free(u);
	return true;
}

static void census_show(const struct census *s, struct cache_census *ret)
{
	*ret = (struct cache_census){.n_unknown = s->n_unknown, .n_unreadable = s->n_unreadable};
	memcpy(ret->stored, s->stored, sizeof(ret->stored));
	if (s->n_unknown > 0) {
		memcpy(ret->unknown_version, list_entry(s->unknown.next, struct unread, node)->version, CACHE_VERSION_SIZE);
	}
}

bool cache_has_unknown(const struct cache *c, const struct kind *kind)
{
	return atomic_load_explicit(&cache_feed_of(c, kind)->has_unknown, memory_order_acquire);
}

void cache_census(struct cache *c, const struct kind *kind, struct cache_census *ret)
{
	struct feed *f = cache_feed_of(c, kind);

	pthread_mutex_lock(&c->lock);
	*ret = f->shown_census;
	ret->revision = cache_revision(c);
	pthread_mutex_unlock(&c->lock);
}

/* ---- decoding ---- */

struct bases *cache_bases(struct cache *c)
{
	return &c->bases;
}

/* Returns the name of the base whose key that is; empty: it is none. */
static struct str cache_base_of_key(const struct cache *c, struct str key)
{
	size_t n = c->bases_key.n;

	return str_starts(key, c->bases_key) ? (struct str){key.p + n, key.n - n} : STR("");
}

void cache_take_base(struct cache *c, const struct storage_kv *kv)
{
	struct str name = cache_base_of_key(c, kv->key);

	if (name.n > 0 && !bases_put(&c->bases, name, kv->value, kv->mod_revision)) {
		cache_say(c,
			"what etcd holds at " STR_FMT " since revision %lld is damaged: the objects that need it are not shown",
			STR_ARG(kv->key), (long long)kv->mod_revision);
	}
}

struct feed *cache_feed_of_key(struct cache *c, struct str key, struct str *ret_rest)
{
	const struct kind *kind;
	struct key_parts parts;

	if (!str_starts(key, c->objects_key) || !key_split(key, c->objects_key, &parts)) {
		return NULL;
	}
	kind = kind_by_hub(parts.group, parts.resource);
	*ret_rest = parts.rest;
	return kind ? &c->feeds[kind->index] : cache_defined_feed(c, parts.group, parts.resource);
}

/* Reports an object in an unknown version. A newer server may have written very many, so only
 * the first is reported. */
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

/* Decodes a value. Returns NULL when that fails; then it is counted, noted and reported. */
static struct cached *cache_decode(
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
	bases_count(&f->cache->bases, now ? now->base : NULL, true);
	bases_count(&f->cache->bases, old ? old->base : NULL, false);
	atomic_fetch_add_explicit(
		&f->n_bytes, (now ? cached_own_size(now) : 0) - (old ? cached_own_size(old) : 0), memory_order_relaxed);
}

/* Applies a change to the working trees. now: NULL when the key is gone. */
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
	/* An object of an unknown version came, changed or went: no event can describe that. */
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

/* Ends watchers of a kind when an object changed to or from an unknown version. It has not been
 * deleted, and its new state is unknown. So watchers have to list again, here when the version
 * is known, or at another server. */
static void feed_lose_unknown(struct feed *f)
{
	if (f->lost > 0) {
		f->window.floor = MAX(f->window.floor, f->lost);
		if (window_after(&f->window, f->lost - 1) < window_after(&f->window, f->lost)) {
			f->window.cut = f->lost;
		}
		feed_lose(f, f->lost);
		f->lost = 0;
	}
}

/* Locks the changed feeds and appends their events; fresh[i] becomes feeds[i]'s newest snapshot. */
static void publish_prepare(struct cache *c, struct cache_snapshot **fresh, int64_t revision)
{
	for (size_t i = 0; i < cache_n_feeds(c); i++) {
		struct feed *f = cache_feed(c, i);

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
	struct kinds *kinds = cache_kinds_prepare(c);

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < cache_n_feeds(c); i++) {
		if (fresh[i]) {
			struct feed *f = cache_feed(c, i);

			fresh[i] = feed_swap(f, fresh[i]);
			census_show(&f->census, &f->shown_census);
			atomic_store(&f->has_unknown, f->shown_census.n_unknown > 0);
		}
	}
	c->n_keys_shown = c->n_keys;
	kinds = cache_kinds_commit(c, kinds);
	atomic_store(&c->revision, revision);
	atomic_store(&c->is_ready, true);
	pthread_mutex_unlock(&c->lock);
	kinds_unref(kinds);
}

static void publish_finish(struct cache *c, struct cache_snapshot **old)
{
	for (size_t i = 0; i < cache_n_feeds(c); i++) {
		if (cache_feed(c, i)->is_touched) {
			pthread_mutex_unlock(&cache_feed(c, i)->lock);
		}
	}
	cache_fresh_advance(c);
	for (size_t i = 0; i < cache_n_feeds(c); i++) {
		struct feed *f = cache_feed(c, i);

		if (f->is_touched) {
			f->is_touched = false;
			feed_dispatch(f);
			cache_snapshot_unref(old[i]);
		}
	}
	cache_kinds_finish(c);
}

static void cache_publish(struct cache *c, int64_t revision)
{
	_cleanup_(mem_freep) struct cache_snapshot **snapshots = mem_array(cache_n_feeds(c), sizeof(*snapshots));

	publish_prepare(c, snapshots, revision);
	publish_commit(c, snapshots, revision);
	publish_finish(c, snapshots);
}

/* ---- events of the watch ---- */

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
		if (events[i].type == EVENT_PUT && events[i].kv.mod_revision > known) {
			cache_take_base(c, &events[i].kv);
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (events[i].kv.mod_revision > known) {
			cache_count_key(c, &events[i]);
			if (cache_is_definition(c, events[i].kv.key)) {
				bool is_put = events[i].type == EVENT_PUT;
				cache_define(
					c, events[i].kv.key, is_put ? events[i].kv.value : STR(""), events[i].kv.mod_revision);
			}
			cache_apply_object(c, &events[i]);
			compacted = MAX(compacted, compacted_by(c, &events[i]));
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (events[i].type == EVENT_DELETE && events[i].kv.mod_revision > known) {
			bases_remove(&c->bases, cache_base_of_key(c, events[i].kv.key), events[i].kv.mod_revision);
		}
	}
	cache_publish(c, revision);
	if (compacted > 0) {
		cache_forget(c, MIN(compacted, revision));
	}
}

void cache_on_events(struct storage_watch *w, const struct storage_event *events, size_t n, int64_t revision)
{
	struct cache *c = container_of(w, struct cache, watch);

	if (!c->is_given_up) {
		cache_apply(c, events, n, revision);
	}
}

void cache_forget(struct cache *c, int64_t revision)
{
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->forgotten, MAX(revision, atomic_load(&c->forgotten)));
	pthread_mutex_unlock(&c->lock);
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(c);
	for (size_t i = 0; i < kinds_total(defined); i++) {
		feed_expire_pins(cache_feed_of(c, kinds_nth(defined, i)), revision);
	}
}

/* ---- the result of a load ---- */

void feed_install(struct feed *f)
{
	size_t n_bytes = 0;

	for (size_t i = 0; i < f->n_loaded; i++) {
		n_bytes += cached_own_size(f->loaded[i]);
		bases_count(&f->cache->bases, f->loaded[i]->base, true);
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

/* Marks a gap: nothing before this revision is known, and of the revision itself only its
 * result. */
static void feed_mark_gap(struct feed *f, int64_t to, bool is_first)
{
	pthread_mutex_lock(&f->lock);
	f->window.cut = load_is_cut(&f->cache->load, f) ? to : 0;
	if (is_first) {
		f->window.floor = to;
	} else {
		feed_lose(f, to);
	}
	pthread_mutex_unlock(&f->lock);
}

/* Publishes a load. Watchers do not get the differences, and are ended. A client whose
 * connection breaks among such events resumes at another replica, which has seen everything. It
 * would never hear of objects that were deleted (or left its selector) before the revision it
 * got to. */
void cache_install(struct cache *c, int64_t revision)
{
	bool is_first = !cache_is_ready(c);

	if (is_first) {
		atomic_store(&c->forgotten, 0);
	}
	bases_load_end(&c->bases);
	cache_forget(c, revision); /* first: afterwards no watcher can open that feed_lose() would miss */
	for (size_t i = 0; i < cache_n_feeds(c); i++) {
		feed_install(cache_feed(c, i));
		feed_mark_gap(cache_feed(c, i), revision, is_first);
	}
	cache_publish(c, revision);
}
