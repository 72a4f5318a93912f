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
#include "storage/cache/cache_census.h"
#include "storage/cache/cache_index.h"
#include "storage/cache/cache_window.h"
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
/* Its two halves. Any thread, several at once: NULL: it is no object of the kind that is known here. */
struct cached *cache_decode_only(const struct feed *f, struct str rest, const struct storage_kv *kv);
/* The writer, in the order of keys: what has been decoded, or NULL, which is counted, noted and reported. Returns o. */
struct cached *cache_take_decoded(struct cache *c, const struct feed *f, struct census *census, struct str rest,
	const struct storage_kv *kv, struct cached *o);
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
