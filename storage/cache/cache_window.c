/* The recent events of a kind, and past states made from them. Event numbers are never reused,
 * so a cursor is a number, and a reader that fell out of the window sees it by comparing. Old
 * states are made by taking events back from a known one: trees share nodes, so that costs what
 * has changed. Pins are charged for what only they keep, because a page that is never requested
 * must not hold memory. */
#include "storage/cache/cache_private.h"

#include <assert.h>

/* The first size of the ring. It grows with the events, since many kinds have few. */
enum { WINDOW_FIRST = 64 };

/* ---- events ---- */

struct event *event_new(int64_t revision, struct cached *old, struct cached *now)
{
	assert(old || now);
	struct event *e = mem_new(struct event);

	atomic_init(&e->refs, 1);
	atomic_init(&e->gone, NULL);
	e->revision = revision;
	e->old = cached_ref(old);
	e->now = cached_ref(now);
	return e;
}

struct event *event_ref(struct event *e)
{
	assert(atomic_load_explicit(&e->refs, memory_order_relaxed) > 0);
	atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
	return e;
}

struct event *event_unref(struct event *e)
{
	if (e && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1) {
		cached_unref(e->old);
		cached_unref(e->now);
		cached_unref(atomic_load_explicit(&e->gone, memory_order_relaxed));
		mem_free(e);
	}
	return NULL;
}

/* Returns the deleted object of an event. All watchers share one copy, so its encoded form can
 * be shared, too. */
struct cached *event_gone(struct event *e)
{
	struct cached *gone = atomic_load_explicit(&e->gone, memory_order_acquire), *made;

	if (gone) {
		return cached_ref(gone);
	}
	made = cached_gone(e->old, e->revision);
	if (atomic_compare_exchange_strong(&e->gone, &gone, made)) {
		return cached_ref(made);
	}
	cached_unref(made);
	return cached_ref(gone);
}

/* Returns the bytes that only the event keeps: its `now` is in the tree, or is a later event's
 * `old`. */
static size_t event_bytes(const struct event *e)
{
	return sizeof(*e) + (e->old ? e->old->size : 0);
}

/* ---- windows ---- */

static void window_init(struct window *w, size_t max_events, size_t max_bytes)
{
	*w = (struct window){.max_events = max_events, .max_bytes = max_bytes};
}

static struct event **window_slot(const struct window *w, uint64_t number)
{
	return &w->ring[number & (w->cap - 1)];
}

struct event *window_at(const struct window *w, uint64_t number)
{
	return *window_slot(w, number);
}

static void window_drop(struct window *w)
{
	assert(w->first < w->end && w->bytes >= event_bytes(window_at(w, w->first)));
	struct event *e = window_at(w, w->first);

	w->bytes -= event_bytes(e);
	w->floor = e->revision;
	w->first++;
	if (w->first < w->end && window_at(w, w->first)->revision == e->revision) {
		w->cut = e->revision;
	}
	event_unref(e);
}

void window_clear(struct window *w)
{
	while (w->first < w->end) {
		window_drop(w);
	}
}

static void window_done(struct window *w)
{
	window_clear(w);
	w->ring = mem_free(w->ring);
}

static void window_grow(struct window *w)
{
	struct window old = *w;

	w->cap = old.cap ? old.cap * 2 : WINDOW_FIRST;
	w->ring = mem_array(w->cap, sizeof(struct event *));
	for (uint64_t i = old.first; i < old.end; i++) {
		*window_slot(w, i) = window_at(&old, i);
	}
	mem_free(old.ring);
}

void window_append(struct window *w, struct event *e)
{
	assert(w->first == w->end || window_at(w, w->end - 1)->revision <= e->revision); /* in etcd's order */
	if (w->end - w->first == w->cap) {
		window_grow(w);
	}
	*window_slot(w, w->end++) = e;
	w->bytes += event_bytes(e);
	/* The newest event stays, however large: watchers have yet to see it. */
	while (w->end - w->first > w->max_events || (w->bytes > w->max_bytes && w->end - w->first > 1)) {
		window_drop(w);
	}
}

uint64_t window_after(const struct window *w, int64_t revision)
{
	uint64_t low = w->first, high = w->end;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (window_at(w, mid)->revision > revision) {
			high = mid;
		} else {
			low = mid + 1;
		}
	}
	return low;
}

/* ---- pins ---- */

struct pin {
	struct list node;
	struct cache_snapshot *snapshot;
	int64_t until_ms;
	size_t bytes; /* of objects that were replaced since, and that no later pin shows */
};

/* Returns the pin of the latest state before that revision. */
static struct pin *pin_before(struct feed *f, int64_t revision)
{
	struct pin *latest = NULL;

	list_for_each(it, &f->pins) {
		struct pin *p = list_entry(it, struct pin, node);
		int64_t at = p->snapshot->revision;
		if (at < revision && (!latest || at > latest->snapshot->revision)) {
			latest = p;
		}
	}
	return latest;
}

/* Frees a pin and the states that it alone has kept. States that an earlier pin keeps, too, are charged to that one. */
static void pin_free(struct feed *f, struct pin *p)
{
	struct pin *before = pin_before(f, p->snapshot->revision);

	if (before) {
		before->bytes += p->bytes;
	} else {
		atomic_fetch_sub_explicit(&f->cache->pinned_bytes, p->bytes, memory_order_relaxed);
	}
	list_remove(&p->node);
	f->n_pins--;
	cache_snapshot_unref(p->snapshot);
	mem_free(p);
}

static struct pin *pin_find(struct feed *f, int64_t revision)
{
	list_for_each(it, &f->pins) {
		struct pin *p = list_entry(it, struct pin, node);

		if (p->snapshot->revision == revision) {
			return p;
		}
	}
	return NULL;
}

size_t feed_expire_pins(struct feed *f, int64_t revision)
{
	int64_t now_ms = clock_mono_ms();
	size_t n_left;

	pthread_mutex_lock(&f->lock);
	list_for_each_safe(it, &f->pins) {
		struct pin *p = list_entry(it, struct pin, node);

		if (p->until_ms <= now_ms || p->snapshot->revision < revision) {
			pin_free(f, p);
		}
	}
	n_left = f->n_pins;
	pthread_mutex_unlock(&f->lock);
	return n_left;
}

static struct pin *pin_earliest(struct feed *f)
{
	struct pin *earliest = NULL;

	list_for_each(it, &f->pins) {
		struct pin *p = list_entry(it, struct pin, node);
		if (!earliest || p->snapshot->revision < earliest->snapshot->revision) {
			earliest = p;
		}
	}
	return earliest;
}

void feed_charge_pins(struct feed *f, const struct event *e)
{
	size_t max = f->cache->options.pin_bytes ? f->cache->options.pin_bytes : (size_t)CACHE_PIN_BYTES;
	struct pin *latest = f->n_pins > 0 ? pin_before(f, e->revision) : NULL;

	if (!latest) {
		return;
	}
	/* No conditional expression: gcc 14 reads the size before it has looked whether there is one. */
	size_t bytes = CACHE_NODES_BYTES;
	if (e->old && e->old->revision <= latest->snapshot->revision) {
		bytes += e->old->size;
	}
	latest->bytes += bytes;
	atomic_fetch_add_explicit(&f->cache->pinned_bytes, bytes, memory_order_relaxed);
	while (f->n_pins > 0 && atomic_load_explicit(&f->cache->pinned_bytes, memory_order_relaxed) > max) {
		pin_free(f, pin_earliest(f));
	}
}

static void feed_pin(struct feed *f, struct cache_snapshot *s)
{
	struct pin *p;

	pthread_mutex_lock(&f->lock);
	p = pin_find(f, s->revision);
	if (p) {
		list_remove(&p->node);
	} else if (s->revision >= atomic_load(&f->cache->forgotten)) {
		p = mem_new(struct pin);
		p->snapshot = snapshot_ref(s);
		f->n_pins++;
	}
	if (p) {
		p->until_ms = clock_mono_ms() + CACHE_PIN_MS;
		list_append(&f->pins, &p->node);
	}
	if (f->n_pins > CACHE_MAX_PINS) {
		pin_free(f, list_entry(f->pins.next, struct pin, node));
	}
	pthread_mutex_unlock(&f->lock);
}

void cache_snapshot_pin(struct cache *c, struct cache_snapshot *s)
{
	feed_pin(&c->feeds[s->kind->index], s);
	pthread_mutex_lock(&c->lock);
	c->pins_at_ms = MIN(c->pins_at_ms, clock_mono_ms() + CACHE_PIN_MS);
	cache_timer_by(c, c->pins_at_ms);
	pthread_mutex_unlock(&c->lock);
}

int64_t cache_pins_tick(struct cache *c, int64_t now_ms)
{
	enum { AGAIN_MS = 60 * 1000 };
	size_t n_left = 0;

	if (now_ms < c->pins_at_ms) {
		return c->pins_at_ms;
	}
	c->pins_at_ms = INT64_MAX;
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < c->n_feeds; i++) {
		n_left += feed_expire_pins(&c->feeds[i], 0);
	}
	pthread_mutex_lock(&c->lock);
	if (n_left > 0) {
		c->pins_at_ms = MIN(c->pins_at_ms, now_ms + AGAIN_MS);
	}
	return c->pins_at_ms;
}

/* ---- one kind ---- */

void feed_init(struct feed *f, struct cache *c, const struct kind *kind)
{
	*f = (struct feed){.cache = c, .kind = kind};
	roots_init(&f->work);
	census_init(&f->census);
	census_init(&f->loading);
	pthread_mutex_init(&f->lock, NULL);
	window_init(&f->window, c->options.window_events, c->options.window_bytes);
	list_init(&f->everywhere);
	map_init(&f->namespaces, SIZE_MAX);
	list_init(&f->pins);
}

void feed_done(struct feed *f)
{
	feed_expire_pins(f, INT64_MAX);
	feed_watchers_done(f);
	window_done(&f->window);
	cache_snapshot_unref(f->newest);
	roots_done(&f->work);
	census_done(&f->census);
	census_done(&f->loading);
	mem_free(f->pending);
	pthread_mutex_destroy(&f->lock);
}

/* ---- the past ---- */

/* The way from a known state to the wanted one: take back these events, the last one first. */
struct rewind {
	struct cache_snapshot *base;
	struct event **events;
	size_t n;
};

static void rewind_done(struct rewind *r)
{
	for (size_t i = 0; i < r->n; i++) {
		event_unref(r->events[i]);
	}
	mem_free(r->events);
	cache_snapshot_unref(r->base);
}

/* Returns the known state, newest or pinned, with the fewest events between it and `revision`.
 * Feed locked. */
static struct cache_snapshot *rewind_base(struct feed *f, int64_t revision)
{
	struct cache_snapshot *base = cache_snapshot(f->cache, f->kind);

	list_for_each(it, &f->pins) {
		struct cache_snapshot *s = list_entry(it, struct pin, node)->snapshot;

		if (s->revision >= revision && s->revision < base->revision) {
			cache_snapshot_unref(base);
			base = snapshot_ref(s);
		}
	}
	return base;
}

/* Collects the events to take back; all that the base has seen are in the window. Feed locked. */
static void rewind_collect(struct rewind *r, const struct feed *f, int64_t revision)
{
	uint64_t from = window_after(&f->window, revision), to = window_after(&f->window, r->base->revision);

	if (from >= to) {
		return;
	}
	r->n = (size_t)(to - from);
	r->events = mem_array(r->n, sizeof(struct event *));
	for (size_t i = 0; i < r->n; i++) {
		r->events[i] = event_ref(window_at(&f->window, from + i));
	}
}

static struct cache_snapshot *rewind_run(struct rewind *r, int64_t revision)
{
	struct cache_snapshot *s = snapshot_new(r->base->kind, revision, &r->base->roots);

	for (size_t i = r->n; i > 0; i--) {
		roots_replace(&s->roots, r->events[i - 1]->now, r->events[i - 1]->old);
	}
	return s;
}

/* Chooses the base and its events. The feed is locked, since the newest snapshot and the window
 * belong together. */
static enum cache_result rewind_prepare(struct rewind *r, struct feed *f, int64_t revision)
{
	struct pin *p = pin_find(f, revision);

	*r = (struct rewind){0};
	if (!cache_is_ready(f->cache) || revision > cache_revision(f->cache)) {
		return CACHE_FUTURE;
	}
	if (revision < atomic_load(&f->cache->forgotten) || (!p && revision < f->window.floor)) {
		return CACHE_EXPIRED;
	}
	r->base = p ? snapshot_ref(p->snapshot) : rewind_base(f, revision);
	rewind_collect(r, f, revision);
	return CACHE_OK;
}

enum cache_result cache_snapshot_at(struct cache *c, const struct kind *kind, int64_t revision, struct cache_snapshot **ret)
{
	/* A state made from more events than this is pinned. */
	enum { MANY_EVENTS = 64 };
	struct feed *f = &c->feeds[kind->index];
	enum cache_result result;
	struct rewind r;

	pthread_mutex_lock(&f->lock);
	result = rewind_prepare(&r, f, revision);
	pthread_mutex_unlock(&f->lock);
	if (result != CACHE_OK) {
		return result;
	}
	*ret = r.base->revision == revision ? snapshot_ref(r.base) : rewind_run(&r, revision);
	if (r.n >= MANY_EVENTS) {
		cache_snapshot_pin(c, *ret);
	}
	rewind_done(&r);
	return CACHE_OK;
}
