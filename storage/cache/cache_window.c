/* The recent events of a kind, and past states made from them. Event numbers are never reused,
 * so a cursor is a number, and a reader that fell out of the window sees it by comparing. Old
 * states are made by taking events back from a known one: trees share nodes, so that costs what
 * has changed. Pins are charged for what only they keep, because a page that is never requested
 * must not hold memory.
 *
 * At the end: the watchers, which read the window. */
#include "storage/cache/cache_private.h"

#include <assert.h>
#include <errno.h>

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
	feed_pin(cache_feed_of(c, s->kind), s);
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
	struct kinds *defined = kinds_ref(c->kinds);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < kinds_total(defined); i++) {
		n_left += feed_expire_pins(cache_feed_of(c, kinds_nth(defined, i)), 0);
	}
	kinds_unref(defined);
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
	struct feed *f = cache_feed_of(c, kind);
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

/* ---- watchers ----
 *
 * An event costs the writer a comparison for each armed watcher that it may concern. The watchers'
 * threads read, each at its own pace, from the shared window, so a slow one costs no memory. Feeds are
 * locked for eight events at a time, so readers and writer do not wait long for each other. */

enum {
	BATCH_MAX = 8,      /* events a watcher takes along each time it holds the feed */
	DISPATCH_CHUNK = 8, /* events offered before the feed is let go for a moment */
};

/* Between calls a watcher is either at work, with a cursor of its own, or armed. An armed
 * watcher has seen everything and waits in its list; the dispatcher moves its cursor to the
 * first event that concerns it. So a watcher that no event concerns costs only the look at it,
 * and never falls out of the window. */
struct cache_watcher {
	struct list node;
	struct feed *feed;
	struct ns_watchers *home; /* NULL: all namespaces */
	struct cache_filter filter;
	void (*wake)(void *ctx);
	void *ctx;

	/* feed.lock */
	uint64_t next;         /* number of the next event to look at; armed: none before it concerns us */
	int64_t from_revision; /* events up to here are skipped */
	/* events of this revision are delivered if several concern the watcher:
	 * watcher_resume(); 0: decided */
	int64_t resumes_at;
	int64_t revision; /* see cache_watch_revision(), when not armed */
	/* is_lost: an event that the watcher wanted is gone. is_restored: its earlier events are
	 * void, too. */
	bool is_armed, is_lost, is_restored;

	/* used by the thread that calls cache_watch_next() */
	struct event *batch[BATCH_MAX];
	size_t at, n;
};

/* The watchers of one namespace; the last one removes this struct. */
struct ns_watchers {
	struct list watchers;
};

const char *watch_type_name(enum watch_type t)
{
	static const char *const names[] = {
		[WATCH_ADDED] = "ADDED",
		[WATCH_MODIFIED] = "MODIFIED",
		[WATCH_DELETED] = "DELETED",
	};

	return names[t];
}

/* ---- what an event is to a watcher ---- */

enum concern { CONCERN_NONE, CONCERN_ADDED, CONCERN_MODIFIED, CONCERN_DELETED };

/* [matched before][matches now] */
static const enum concern concerns[2][2] = {
	{CONCERN_NONE, CONCERN_ADDED},
	{CONCERN_DELETED, CONCERN_MODIFIED},
};

static enum concern watcher_concern(const struct cache_watcher *w, const struct event *e)
{
	bool before = e->old && cache_filter_matches(&w->filter, e->old);
	bool now = e->now && cache_filter_matches(&w->filter, e->now);

	return e->revision > w->from_revision ? concerns[before][now] : CONCERN_NONE;
}

/* Decides which events of the resume revision are sent again. The client may have seen one and
 * not the others: its connection can break between any two. It is called as soon as the revision
 * has come. All its events are in the window then, or the watcher is lost. Feed locked. */
static void watcher_resume(struct cache_watcher *w, const struct feed *f)
{
	uint64_t from = window_after(&f->window, w->resumes_at - 1), to = window_after(&f->window, w->resumes_at);
	size_t n = 0;

	if (w->resumes_at == 0 || (from == to && cache_revision(f->cache) < w->resumes_at)) {
		return;
	}
	w->from_revision = w->resumes_at - 1;
	for (uint64_t i = from; i < to; i++) {
		n += watcher_concern(w, window_at(&f->window, i)) != CONCERN_NONE;
	}
	if (n > 1) {
		w->next = MIN(w->next, from);
	} else {
		w->from_revision = w->resumes_at;
	}
	w->resumes_at = 0;
}

/* ---- dispatching ---- */

/* Takes a watcher out of its list. seen: the revision up to which it has seen everything. */
static void watcher_disarm(struct cache_watcher *w, int64_t seen)
{
	w->is_armed = false;
	w->revision = MAX(w->revision, seen);
}

static void watchers_offer(struct list *watchers, uint64_t number, const struct event *e)
{
	list_for_each(it, watchers) {
		struct cache_watcher *w = list_entry(it, struct cache_watcher, node);

		if (w->resumes_at == e->revision) {
			watcher_resume(w, w->feed);
		}
		if (w->is_armed && w->next <= number && watcher_concern(w, e) != CONCERN_NONE) {
			w->next = number;
			watcher_disarm(w, e->revision - 1);
			w->wake(w->ctx);
		}
	}
}

static void feed_offer(struct feed *f, uint64_t number)
{
	const struct event *e = window_at(&f->window, number);
	struct ns_watchers *home = map_get(&f->namespaces, (e->now ? e->now : e->old)->ns);

	watchers_offer(&f->everywhere, number, e);
	if (home) {
		watchers_offer(&home->watchers, number, e);
	}
}

/* Offers some of the appended events to watchers. Returns false when that was all. */
static bool feed_dispatch_some(struct feed *f)
{
	uint64_t stop = MIN(f->window.end, f->dispatched + DISPATCH_CHUNK);

	while (f->dispatched < stop) {
		feed_offer(f, f->dispatched);
		f->dispatched++;
	}
	return f->dispatched < f->window.end;
}

static void watchers_for_each(struct feed *f, void (*call)(struct cache_watcher *w, const void *arg), const void *arg)
{
	list_for_each(it, &f->everywhere) {
		call(list_entry(it, struct cache_watcher, node), arg);
	}
	for (struct map_entry *e = map_next(&f->namespaces, NULL); e; e = map_next(&f->namespaces, e)) {
		list_for_each(it, &((struct ns_watchers *)e->value)->watchers) {
			call(list_entry(it, struct cache_watcher, node), arg);
		}
	}
}

static void watcher_lose(struct cache_watcher *w)
{
	w->is_lost = true;
	if (w->is_armed) {
		watcher_disarm(w, 0);
		w->wake(w->ctx);
	}
}

/* Ends an armed watcher if events that it was not offered have left the window: one batch had
 * more than fit. */
static void watcher_lose_behind(struct cache_watcher *w, const void *arg)
{
	const struct feed *f = arg;

	if (w->is_armed && MAX(w->next, f->dispatched) < f->window.first) {
		watcher_lose(w);
	}
}

void feed_dispatch(struct feed *f)
{
	bool has_more = true;

	while (has_more) {
		pthread_mutex_lock(&f->lock);
		if (f->dispatched < f->window.first) {
			watchers_for_each(f, watcher_lose_behind, f);
			f->dispatched = f->window.first;
		}
		has_more = feed_dispatch_some(f);
		pthread_mutex_unlock(&f->lock);
	}
}

static void watcher_lose_before(struct cache_watcher *w, const void *arg)
{
	int64_t to = *(const int64_t *)arg;

	if (w->from_revision < to || (w->resumes_at == to && w->feed->window.cut == to)) {
		watcher_lose(w);
	}
}

void feed_lose(struct feed *f, int64_t to)
{
	watchers_for_each(f, watcher_lose_before, &to);
}

static void watcher_restore(struct cache_watcher *w, const void *arg _unused_)
{
	w->is_restored = true;
	watcher_lose(w);
}

static void watcher_end(struct cache_watcher *w, const void *arg _unused_)
{
	if (w->is_armed) {
		watcher_disarm(w, 0);
		w->wake(w->ctx);
	}
}

void feed_end(struct feed *f)
{
	pthread_mutex_lock(&f->lock);
	f->is_over = true;
	watchers_for_each(f, watcher_end, NULL);
	pthread_mutex_unlock(&f->lock);
}

void feed_watchers_restored(struct feed *f)
{
	watchers_for_each(f, watcher_restore, NULL);
}

/* ---- opening and closing ---- */

static struct ns_watchers *home_get(struct feed *f, struct str ns)
{
	struct ns_watchers *home = map_get(&f->namespaces, ns);

	if (!home) {
		home = mem_new(struct ns_watchers);
		list_init(&home->watchers);
		map_set(&f->namespaces, ns, home, NULL);
	}
	return home;
}

static void watcher_join(struct cache_watcher *w, struct feed *f)
{
	if (w->filter.ns.n > 0) {
		w->home = home_get(f, w->filter.ns);
	}
	list_append(w->home ? &w->home->watchers : &f->everywhere, &w->node);
}

static void watcher_leave(struct cache_watcher *w, struct feed *f)
{
	list_remove(&w->node);
	if (w->home && list_is_empty(&w->home->watchers)) {
		map_remove(&f->namespaces, w->filter.ns);
		w->home = mem_free(w->home);
	}
}

/* Returns true when a watch from that revision can begin. After a restore, a future revision may
 * come from another replica, or from the history that is gone. It counts as gone until this
 * cache has come as far as that history: a client that lists again for nothing misses nothing.
 * Feed locked. */
static bool feed_has_history(const struct feed *f, int64_t from_revision, bool resumes)
{
	int64_t revision = cache_revision(f->cache);

	if (resumes && from_revision == f->window.cut) {
		return false;
	}

	if (from_revision > revision && revision <= atomic_load(&f->cache->lost)) {
		return false;
	}
	return from_revision >= f->window.floor && from_revision >= atomic_load(&f->cache->forgotten);
}

static bool cache_admit_watcher(struct cache *c)
{
	if (atomic_fetch_add(&c->n_watchers, 1) < c->options.max_watchers) {
		return true;
	}
	atomic_fetch_sub(&c->n_watchers, 1);
	return false;
}

static struct cache_watcher *watcher_free(struct cache_watcher *w)
{
	while (w->at < w->n) {
		event_unref(w->batch[w->at++]);
	}
	atomic_fetch_sub(&w->feed->cache->n_watchers, 1);
	return mem_free(w);
}

int cache_watch_open(struct cache *c, struct cache_watcher **ret, const struct cache_watch_options *options)
{
	assert(options->kind && options->wake);
	struct feed *f = cache_feed_of(c, options->kind);
	struct cache_watcher *w;
	bool has_history, is_cut;

	if (!cache_admit_watcher(c)) {
		return -EMFILE;
	}
	w = mem_new(struct cache_watcher);
	w->feed = f;
	w->filter = options->filter;
	w->wake = options->wake;
	w->ctx = options->ctx;
	w->from_revision = w->revision = options->from_revision;
	w->resumes_at = options->resumes ? options->from_revision : 0;
	pthread_mutex_lock(&f->lock);
	has_history = feed_has_history(f, options->from_revision, options->resumes);
	if (has_history) {
		w->next = window_after(&f->window, options->from_revision);
		watcher_join(w, f);
		watcher_resume(w, f);
	}
	is_cut = options->from_revision == f->window.cut;
	pthread_mutex_unlock(&f->lock);
	if (!has_history && is_cut) {
		cache_step_over(c, options->from_revision);
	}
	if (!has_history) {
		watcher_free(w);
		return CACHE_EXPIRED;
	}
	*ret = w;
	return CACHE_OK;
}

struct cache_watcher *cache_watch_close(struct cache_watcher *w)
{
	if (!w) {
		return NULL;
	}
	pthread_mutex_lock(&w->feed->lock);
	watcher_leave(w, w->feed);
	pthread_mutex_unlock(&w->feed->lock);
	return watcher_free(w);
}

void feed_watchers_done(struct feed *f)
{
	map_done(&f->namespaces);
}

/* ---- reading ---- */

/* Returns the revision up to which an armed watcher has seen everything. Feed locked. */
static int64_t feed_dispatched_revision(const struct feed *f)
{
	if (f->dispatched < f->window.end) {
		return window_at(&f->window, f->dispatched)->revision - 1;
	}
	return cache_revision(f->cache);
}

/* Feed locked. */
static enum cache_next watcher_refill(struct cache_watcher *w, struct feed *f)
{
	if (w->is_armed) {
		watcher_disarm(w, feed_dispatched_revision(f));
		w->next = MAX(w->next, f->dispatched);
	}
	watcher_resume(w, f);
	if (w->is_restored) {
		return CACHE_NEXT_RESTORED;
	}
	if (w->is_lost || w->next < f->window.first) {
		return CACHE_NEXT_LOST;
	}
	if (w->next == f->window.end) {
		if (f->is_over) {
			return CACHE_NEXT_LOST;
		}
		w->is_armed = true;
		return CACHE_NEXT_NONE;
	}
	w->at = w->n = 0;
	while (w->n < BATCH_MAX && w->next < f->window.end) {
		w->batch[w->n++] = event_ref(window_at(&f->window, w->next++));
	}
	return CACHE_NEXT_EVENT;
}

static struct cached *event_object(struct event *e, enum concern concern)
{
	return concern == CONCERN_DELETED ? event_gone(e) : cached_ref(e->now);
}

/* Returns the next event of the batch that concerns the watcher. Returns false when the batch is
 * used up. */
static bool watcher_take(struct cache_watcher *w, enum watch_type *ret_type, struct cached **ret_object)
{
	static const enum watch_type types[] = {
		[CONCERN_ADDED] = WATCH_ADDED,
		[CONCERN_MODIFIED] = WATCH_MODIFIED,
		[CONCERN_DELETED] = WATCH_DELETED,
	};
	enum concern concern = CONCERN_NONE;

	while (concern == CONCERN_NONE && w->at < w->n) {
		struct event *e = w->batch[w->at++];

		concern = watcher_concern(w, e);
		if (concern != CONCERN_NONE) {
			*ret_type = types[concern];
			*ret_object = event_object(e, concern);
		}
		event_unref(e);
	}
	return concern != CONCERN_NONE;
}

enum cache_next cache_watch_next(struct cache_watcher *w, enum watch_type *ret_type, struct cached **ret_object)
{
	struct feed *f = w->feed;
	enum cache_next next;

	while (!watcher_take(w, ret_type, ret_object)) {
		pthread_mutex_lock(&f->lock);
		next = watcher_refill(w, f);
		pthread_mutex_unlock(&f->lock);
		if (next != CACHE_NEXT_EVENT) {
			return next;
		}
	}
	return CACHE_NEXT_EVENT;
}

int64_t cache_watch_revision(const struct cache_watcher *w)
{
	int64_t revision;

	pthread_mutex_lock(&w->feed->lock);
	revision = w->revision;
	if (w->is_armed) {
		revision = MAX(revision, feed_dispatched_revision(w->feed));
	}
	pthread_mutex_unlock(&w->feed->lock);
	return revision;
}
