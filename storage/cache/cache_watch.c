/* Watchers, and the dispatch of events to them. An event costs the writer a comparison for each
 * armed watcher that it may concern. The watchers' threads read, each at its own pace, from the
 * shared window, so a slow one costs no memory. Feeds are locked for eight events at a time, so
 * readers and writer do not wait long for each other. */
#include "storage/cache/cache_private.h"
#include <assert.h>
#include <errno.h>

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
	int64_t revision;      /* see cache_watch_revision(), when not armed */
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
	assert(options->kind && options->kind->index < c->n_feeds && options->wake);
	struct feed *f = &c->feeds[options->kind->index];
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
