/* What the cache's own files share. The public side is cache.h.
 *
 * The one writer (the storage's completion thread) decodes events, changes each kind's working trees, and publishes:
 *
 *   1. holding the feeds of all kinds touched: append the events to their windows; then, holding the cache too, swap the newest
 *      snapshots and set the revision. From here on readers see the new state.
 *   2. end the waits that this satisfies.
 *   3. dispatch: feed by feed, wake the watchers whom an event concerns.
 *
 * So whoever holds a feed and reads the revision knows that all this kind's events up to it are in the window.
 *
 * Locks, in the order in which they may be taken:
 *   feed.lock    (several: ascending by kind index) window, watchers, pins of one kind. Held for appending, for handing a watcher its
 *                next few events, and while a few events are offered to all watchers.
 *   cache.lock   newest snapshots, revision, load state, waits and rounds of the read index, the timer. Never held while calling
 *                out (done, wake, storage's operations), except to start and cancel the watch, which stores only take note of.
 * Working trees and what a load has collected are the writer's and have no lock.
 */
#ifndef STORAGE_CACHE_CACHE_PRIVATE_H
#define STORAGE_CACHE_CACHE_PRIVATE_H

#include "base/clock.h"
#include "base/map.h"
#include "storage/cache/cache.h"
#include "storage/cache/ptree.h"
#include "storage/keys.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
	CACHE_WINDOW_EVENTS = 16384,
	CACHE_WINDOW_BYTES = 32 * 1024 * 1024,
	CACHE_FENCE_AFTER_MS = 20,
	CACHE_MAX_WATCHERS = 65536,
	CACHE_MAX_PINS = 64, /* a kind */
	CACHE_PIN_MS = 5 * 60 * 1000,
	CACHE_PIN_BYTES = 64 * 1024 * 1024, /* of all kinds */
	CACHE_NODES_BYTES = 1024,           /* of trees that an event replaces, about */
};

/* ---- objects and indexes (cache_index.c) ---- */

/* `ns/name` or `name`: the end of the key in etcd, and the order of everything. */
static inline struct str cached_key(const struct cached *o)
{
	return o->ns.n ? (struct str){o->ns.p, o->ns.n + 1 + o->name.n} : o->name;
}

/* All objects of a kind. `objects` is ordered by cached_key and holds references; `index` is ordered by term, then cached_key. It
 * holds none: whatever it names is in the `objects` beside it. */
struct roots {
	struct ptree objects, index;
};

void roots_init(struct roots *r);
void roots_done(struct roots *r);
struct roots roots_share(const struct roots *r);
struct cached *roots_get(const struct roots *r, struct str key);
/* old: what is there (NULL: nothing), now: what shall be (NULL: nothing). Same key. */
void roots_replace(struct roots *r, struct cached *old, struct cached *now);
/* Fills empty roots; v: n references in the order of cached_key, which the roots take. */
void roots_load(struct roots *r, struct cached **v, size_t n);
/* Keys from `first` (included; empty: the start) to `last` (excluded; empty: the end), as ranks. */
struct range {
	size_t first, last;
};
struct range roots_range(const struct roots *r, struct str first, struct str last);
struct range roots_term_range(const struct roots *r, uint64_t term, struct str first, struct str last);

/* A term is the hash of what an equality or an existence test looks for. Collisions (2^-64, and the hash is seeded) merely let an
 * iterator visit an object that its filter then refuses. */
uint64_t term_label(struct str key, struct str value);
uint64_t term_label_exists(struct str key);
uint64_t term_field(size_t field, struct str value);
uint64_t term_computed(struct str path);

struct cache_snapshot {
	_Atomic uint32_t refs;
	int64_t revision;
	const struct kind *kind;
	struct roots roots;
};
struct cache_snapshot *snapshot_new(const struct kind *kind, int64_t revision, const struct roots *roots); /* shares them */
struct cache_snapshot *snapshot_ref(struct cache_snapshot *s);

/* ---- events and windows (cache_window.c) ---- */

struct event {
	_Atomic uint32_t refs;
	int64_t revision;
	struct cached *old, *now;      /* NULL: was not there, is not there any more */
	_Atomic(struct cached *) gone; /* old at this event's revision; made when the first watcher must see it */
};

struct event *event_new(int64_t revision, struct cached *old, struct cached *now); /* takes references of its own */
struct event *event_ref(struct event *e);
struct event *event_unref(struct event *e);
struct cached *event_gone(struct event *e); /* a reference */

/* Recent events of a kind, numbered from 0 on since the start, ascending by revision. */
struct window {
	struct event **ring;
	size_t cap;          /* power of two */
	uint64_t first, end; /* numbers: the oldest kept, the next to come */
	size_t bytes, max_events, max_bytes;
	int64_t floor; /* states at this revision and later can be rebuilt, events after it are all there */
};

void window_init(struct window *w, size_t max_events, size_t max_bytes);
void window_done(struct window *w);
struct event *window_at(const struct window *w, uint64_t number);
void window_clear(struct window *w);
void window_append(struct window *w, struct event *e);           /* takes it */
uint64_t window_after(const struct window *w, int64_t revision); /* number of the first event with a later revision */

/* ---- what is stored, by version (cache_census.c) ---- */

/* The writer's. */
struct census {
	size_t stored[KIND_DOORS_MAX];
	struct map unread;   /* end of the key -> struct unread: what could not be decoded */
	struct list unknown; /* those in an unknown version */
	size_t n_unknown, n_unreadable;
};

void census_init(struct census *s);
void census_done(struct census *s);
void census_move(struct census *to, struct census *from); /* empties from */
/* What was in the cache, and what is now; NULL: nothing. */
void census_count(struct census *s, const struct cached *old, const struct cached *now);
/* Of a value that is no object, for a key that has none noted. Its version, if that is why; it lives as long as the note. */
const char *census_note(struct census *s, const struct kind *kind, struct str key, struct str value);
bool census_forget(struct census *s, struct str key); /* false: it was not noted */
void census_show(const struct census *s, struct cache_census *ret);

/* ---- one kind ---- */

struct feed {
	struct cache *cache;
	const struct kind *kind;

	/* the writer's */
	struct roots work;
	struct event **pending; /* of the batch being applied */
	size_t n_pending, cap_pending;
	struct cached **loaded; /* by a load under way, in key order */
	size_t n_loaded, cap_loaded;
	struct census census, loading; /* of work, and of what is loaded */
	bool is_touched;        /* newest has to be replaced */
	int64_t lost; /* at this revision of the batch something happened to an object of an unknown version; 0: nothing */
	_Atomic size_t n_bytes; /* of the objects in work */

	/* cache.lock */
	struct cache_snapshot *newest; /* NULL until loaded */
	struct cache_census shown_census;
	_Atomic bool has_unknown; /* shown_census.n_unknown > 0: every read asks */

	/* lock */
	pthread_mutex_t lock;
	struct window window;
	uint64_t dispatched;    /* number: all watchers know of the events before */
	struct list everywhere; /* watchers of all namespaces */
	struct map namespaces;  /* name -> struct ns_watchers */
	struct list pins;       /* struct pin, oldest first */
	size_t n_pins;
};

void feed_init(struct feed *f, struct cache *c, const struct kind *kind);
void feed_done(struct feed *f);

/* Ends pins whose time is over, or whose revision is older than this. How many are left. */
size_t feed_expire_pins(struct feed *f, int64_t revision);
/* An event is about to be appended: what it replaces is kept by the pins that show it. Beyond the ceiling the oldest state goes. Feed locked. */
void feed_charge_pins(struct feed *f, const struct event *e);

/* ---- writing (cache_apply.c) ---- */

/* The feed that a key under PREFIX/objects/ belongs to, and the rest of the key; NULL: not a kind of ours. */
struct feed *cache_feed_of_key(struct cache *c, struct str key, struct str *ret_rest);
/* NULL: counted, noted and reported. */
struct cached *cache_decode(
	struct cache *c, const struct feed *f, struct census *census, struct str rest, const struct storage_kv *kv);
void cache_apply(struct cache *c, const struct storage_event *events, size_t n, int64_t revision);
/* Puts what has been loaded in the place of what was there. */
void cache_install(struct cache *c, int64_t revision);

/* ---- another history (cache_restore.c) ---- */

/* Is what the store answered of the history that is shown? floor: the cache's revision when it was asked. False: all that is known is given up,
 * everything is loaded again, and whoever waits is told. Completion thread, no lock held. */
bool cache_check_history(struct cache *c, const struct storage_op *op, int64_t floor);
void cache_compare_history(struct cache *c, const struct storage_op *op); /* the same, of what is about to be loaded */
void cache_give_up(struct cache *c);

/* ---- loading (cache_load.c) ---- */

enum load_state { LOAD_IDLE, LOAD_PAGES, LOAD_RETRY, LOAD_WATCH, LOAD_REWATCH };

struct load_page {
	struct storage_range range;
	struct cache *cache;
	struct arena arena; /* of the key it starts from */
};

struct load {
	struct load_page pages[2]; /* one is decoded while the other is under way */
	unsigned page;             /* which is under way */
	int64_t revision;          /* the one being loaded: the first page's */
	int64_t limit;             /* keys in a page */
	int64_t backoff_ms;
};

void cache_load_init(struct cache *c);
void cache_load_done(struct cache *c);
void cache_load_start(struct cache *c); /* now, or once more */

/* ---- watchers (cache_watch.c) ---- */

void feed_dispatch(struct feed *f);
/* Events up to this revision are missing: ends the watchers that wanted any of them. Feed locked. */
void feed_lose(struct feed *f, int64_t to);
void feed_watchers_restored(struct feed *f); /* ends all of them. Feed locked */
void feed_watchers_done(struct feed *f);

/* ---- freshness (cache_fresh.c) ---- */

/* What etcd said of all objects at one revision: how many keys they have, and which of those changed last, and when. A state of the cache that
 * has as many, and has seen that change, is the state at that revision: each key there was last written before, so the cache has it, as it is;
 * and as it has no more of them, it has no others. */
struct proof {
	int64_t revision, newest, n_keys; /* all 0: etcd has said nothing */
};

struct fresh {
	struct list joining; /* waits for the next round of the read index */
	struct list asking;  /* their round is under way */
	struct list waiting; /* know their revision */
	bool is_asking, is_fencing; /* is_fencing: or proving */
	_Atomic unsigned n_looking; /* waits that have ended and are not settled: while there are, the next round is held */
	int64_t hold_until_ms; /* but not longer */
	struct storage_range round;
	int64_t round_floor; /* the cache's revision when it began */
	struct storage_txn fence;
	struct storage_step fence_step;
	int64_t fence_at_ms; /* when the timer will see whether one is needed; 0: not planned */
	int64_t fence_not_before_ms; /* etcd has refused one: until then there are proofs instead */
	struct storage_range asked;
	uint32_t asked_epoch;
	int64_t asked_ms, proof_not_before_ms; /* etcd spends at most half of its time on them */
	struct proof proof;
};

void cache_fresh_init(struct cache *c);
void cache_fresh_done(struct cache *c);
void cache_fresh_advance(struct cache *c); /* the revision has grown: ends waits */
void cache_fresh_give_up(struct cache *c); /* what was waited for will not come: ends all waits that know what it is */

/* ---- the whole ---- */

struct cache {
	struct storage *storage;
	struct cache_options options;
	struct arena arena; /* of keys, for as long as the cache lives */
	struct str prefix_key, prefix_end, objects_key, objects_end, compact_key, fence_key;
	struct feed *feeds; /* by kind index */
	size_t n_feeds;

	/* the writer's */
	struct load load;
	struct storage_watch watch;
	int64_t n_keys;   /* below PREFIX/objects/, known or not */
	bool is_given_up; /* the watch goes on until it has ended, and tells nothing any more */
	uint64_t cluster; /* what was loaded from; 0: it does not say */
	uint32_t epoch;   /* of histories */

	pthread_mutex_t lock;
	pthread_cond_t idle; /* n_busy has become 0 */
	enum load_state state;
	int64_t retry_at_ms; /* LOAD_RETRY, LOAD_REWATCH */
	int64_t pins_at_ms;  /* when to look for pins to end; INT64_MAX: there are none */
	bool is_closing;
	unsigned n_busy; /* operations and watches of the storage that will call back */
	struct fresh fresh;
	pthread_t timer;
	pthread_cond_t timer_cond;
	int64_t timer_at_ms; /* when it will wake by itself; INT64_MAX: never */

	int64_t n_keys_shown;                /* as of revision */
	_Atomic int64_t revision, forgotten; /* written under lock */
	_Atomic int64_t lost;                /* how far a history had come that has been given up; 0: none has */
	_Atomic bool is_ready, is_connected;
	_Atomic size_t n_watchers;
	_Atomic size_t pinned_bytes; /* see feed_charge_pins() */
	_Atomic uint64_t n_events, n_reloads, n_restores, n_undecodable, n_rounds, n_fences, n_proofs;
};

void cache_say(struct cache *c, const char *format, ...) _printf_(2, 3); /* on_state */
/* Balance each other around whatever will call back. False: the cache is closing, nothing may be started. */
bool cache_busy(struct cache *c);
void cache_idle(struct cache *c);

/* The timer thread (cache_timer.c): retries, deadlines, fences, pins. */
void cache_timer_start(struct cache *c);
void cache_timer_stop(struct cache *c);              /* the cache is closing */
void cache_timer_by(struct cache *c, int64_t at_ms); /* lock held: must wake by then */
/* What is due, and when next: lock held, which they may release and take again. */
int64_t cache_pins_tick(struct cache *c, int64_t now_ms);
int64_t cache_load_tick(struct cache *c, int64_t now_ms);
int64_t cache_fresh_tick(struct cache *c, int64_t now_ms);

#endif
