/* Shared by the cache's own files. The public side is cache.h.
 *
 * The one writer (the storage's completion thread) decodes events, changes each kind's working
 * trees, and publishes:
 *
 *   1. Holding the feeds of all kinds touched, it appends the events to their windows. Then, holding
 *      the cache too, it swaps the newest snapshots and sets the revision. From here on readers see
 *      the new state.
 *   2. It ends the waits that this satisfies.
 *   3. It dispatches: feed by feed, it wakes the watchers whom an event concerns.
 *
 * So a thread that holds a feed and reads the revision knows that all this kind's events up to it
 * are in the window.
 *
 * Locks, in the order in which they may be taken:
 *
 *   feed.lock    (several: those of the program's kinds by index, then the others by age) window, watchers, pins of one kind. Held for
 *                appending, for handing a watcher its next few events, and while a few events are
 *                offered to all watchers.
 *   cache.lock   newest snapshots, revision, load state, waits and rounds of the read index, the
 *                timer. Never held while calling out (done, wake, storage's operations), except to
 *                start and cancel the watch, which stores only record.
 *
 * Working trees and the collected objects of a load belong to the writer and have no lock. */
#ifndef STORAGE_CACHE_CACHE_PRIVATE_H
#define STORAGE_CACHE_CACHE_PRIVATE_H

#include "base/clock.h"
#include "base/list.h"
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
	CACHE_FENCE_AGAIN_MS = 5000, /* after etcd has refused a fence */
	CACHE_MAX_WATCHERS = 65536,
	CACHE_MAX_PINS = 64, /* a kind */
	CACHE_PIN_MS = 5 * 60 * 1000,
	CACHE_PIN_BYTES = 64 * 1024 * 1024, /* of all kinds */
	CACHE_NODES_BYTES = 1024,           /* of trees that an event replaces, about */
};

/* ---- all objects of a kind, and what finds them by label and field: immutable trees that share what they have in common (cache_read.c) ---- */

/* `ns/name` or `name`: the end of the key in etcd, and the order of everything. */
static inline struct str cached_key(const struct cached *o)
{
	return o->ns.n ? (struct str){o->ns.p, o->ns.n + 1 + o->name.n} : o->name;
}

/* All objects of a kind. `objects` is ordered by cached_key and holds references. `index` is
 * ordered by term, then cached_key, and holds none: its objects are in the `objects` beside it. */
struct roots {
	struct ptree objects, index;
};

void roots_init(struct roots *r);
void roots_done(struct roots *r);
struct cached *roots_get(const struct roots *r, struct str key);
/* Replaces old by now, which have the same key. old NULL: adds; now NULL: removes. */
void roots_replace(struct roots *r, struct cached *old, struct cached *now);
/* Fills empty roots with v: n references in the order of cached_key, which the roots take over. */
void roots_load(struct roots *r, struct cached **v, size_t n);
/* Keys from `first` (included; empty: the start) to `last` (excluded; empty: the end), as ranks. */
struct range {
	size_t first, last;
};

struct cache_snapshot {
	_Atomic uint32_t refs;
	int64_t revision;
	const struct kind *kind;
	struct roots roots;
};
struct cache_snapshot *snapshot_new(const struct kind *kind, int64_t revision, const struct roots *roots); /* shares them */
struct cache_snapshot *snapshot_ref(struct cache_snapshot *s);

/* ---- the latest events of a kind, from which watches begin and resume (cache_window.c) ---- */

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
	int64_t floor; /* states at this revision and later can be rebuilt, and all events after it are there */
	int64_t cut;   /* some of this revision's events may be missing: no watch can resume at it; 0: none */
};

struct event *window_at(const struct window *w, uint64_t number);
void window_clear(struct window *w);
void window_append(struct window *w, struct event *e);           /* takes it */
uint64_t window_after(const struct window *w, int64_t revision); /* number of the first event with a later revision */

/* ---- how many objects of a kind are stored in which version, and what could not be read (cache.c) ---- */

/* Used by the writer. */
struct census {
	size_t stored[KIND_VERSIONS_MAX];
	struct map unread;   /* end of the key -> struct unread: what could not be decoded */
	struct list unknown; /* those in an unknown version */
	size_t n_unknown, n_unreadable;
};

void census_init(struct census *s);
void census_done(struct census *s);

/* ---- one kind ---- */

struct feed {
	struct cache *cache;
	const struct kind *kind;

	/* used by the writer */
	struct roots work;
	struct event **pending; /* of the batch being applied */
	size_t n_pending, cap_pending;
	struct cached **loaded; /* by a load under way, in key order */
	size_t n_loaded, cap_loaded;
	size_t n_put;                  /* keys that were last written at the loaded revision */
	struct census census, loading; /* of work, and of what is loaded */
	bool is_touched;        /* newest has to be replaced */
	int64_t lost; /* at this revision of the batch something happened to an object of an unknown version; 0: nothing */
	_Atomic size_t n_bytes; /* of the objects in work */
	bool is_retiring;       /* the kind is over from the next revision on */

	/* cache.lock */
	struct cache_snapshot *newest; /* NULL until loaded */
	struct cache_census shown_census;
	_Atomic bool has_unknown; /* shown_census.n_unknown > 0: every read asks */

	/* lock */
	pthread_mutex_t lock;
	struct window window;
	uint64_t dispatched;    /* number: all watchers have been offered the events before it */
	struct list everywhere; /* watchers of all namespaces */
	struct map namespaces;  /* name -> struct ns_watchers */
	struct list pins;       /* struct pin, oldest first */
	size_t n_pins;
	bool is_over; /* no event will come: watchers that have seen everything end */
};

void feed_init(struct feed *f, struct cache *c, const struct kind *kind);
void feed_done(struct feed *f);

/* Ends pins whose time is over, or whose revision is older than this. Returns how many are left. */
size_t feed_expire_pins(struct feed *f, int64_t revision);
/* Call it before an event is appended: the pins that show the replaced object keep it, and are
 * charged. Beyond the ceiling the oldest state goes. Feed locked. */
void feed_charge_pins(struct feed *f, const struct event *e);

/* ---- kinds that definitions describe (cache_kinds.c) ----
 *
 * The writer makes a kind and its feed when it sees a definition, before any object behind it. A
 * change of the definition makes another kind, with a feed of its own, in which the objects are
 * decoded anew. The old feed gets no more events from then on; it is published for the last time
 * with that revision. All this shows to readers when the revision does. A kind owns its feed, and
 * whoever holds an object, a snapshot or a watcher holds the kind. */

struct defined {
	struct map kinds;    /* RESOURCE.GROUP, the name of the definition -> the kind: a reference */
	struct feed **feeds; /* theirs, and those that retire, by age; each with a reference to its kind */
	size_t n_feeds, cap_feeds;
	bool has_changed;   /* kinds: the table has to be made anew */
	bool is_touched;    /* a definition has come, changed or gone */
	struct map in_load; /* by a load under way: names of definitions that it has met */
	bool is_loading;    /* the load reads definitions, and objects afterwards */
};

void cache_kinds_init(struct cache *c);
void cache_kinds_done(struct cache *c);
/* Does the key lead to a definition? */
bool cache_is_definition(const struct cache *c, struct str key);
/* Takes a definition, or its deletion (value empty), before what comes after it. */
void cache_define(struct cache *c, struct str key, struct str value, int64_t revision);
/* Around the definitions of a load: those that it does not meet are gone. */
void cache_kinds_load_begin(struct cache *c);
void cache_kinds_load_end(struct cache *c, int64_t revision);
/* The feed of a key of such a kind; NULL: none. */
struct feed *cache_defined_feed(struct cache *c, struct str group, struct str resource);
/* The steps of publishing: a new table, or NULL if the present one stays; with the cache locked, its
 * exchange, which returns the old one; afterwards the end of what retires. */
struct kinds *cache_kinds_prepare(struct cache *c);
struct kinds *cache_kinds_commit(struct cache *c, struct kinds *fresh);
void cache_kinds_finish(struct cache *c);

/* All feeds, for the writer: for (size_t i = 0; i < cache_n_feeds(c); i++) cache_feed(c, i). */
static inline size_t cache_n_feeds(const struct cache *c);
static inline struct feed *cache_feed(const struct cache *c, size_t i);
/* The feed of a kind, for any thread that holds the kind. */
static inline struct feed *cache_feed_of(const struct cache *c, const struct kind *kind);

/* ---- writing (cache.c) ---- */

/* The feed that a key under PREFIX/objects/ belongs to, and the rest of the key; NULL: not a kind of ours. */
struct feed *cache_feed_of_key(struct cache *c, struct str key, struct str *ret_rest);
/* Takes a base into the cache, if the key is that of one: before the objects of its revision, which may use it. A damaged one
 * is reported. */
void cache_take_base(struct cache *c, const struct storage_kv *kv);
/* The two halves of decoding a value. This one may run on any thread, several at once. It
 * returns NULL when the value is no object of a known kind. */
struct cached *cache_decode_only(const struct feed *f, struct str rest, const struct storage_kv *kv);
/* Takes a decoded object, or NULL, which is counted, noted and reported. Returns o. Only the
 * writer calls it, in key order. */
struct cached *cache_take_decoded(struct cache *c, const struct feed *f, struct census *census, struct str rest,
	const struct storage_kv *kv, struct cached *o);
void cache_apply(struct cache *c, const struct storage_event *events, size_t n, int64_t revision);
/* The watch's: applies them, unless the cache is about to load everything again. */
void cache_on_events(struct storage_watch *w, const struct storage_event *events, size_t n, int64_t revision);
void feed_add_loaded(struct feed *f, struct cached *o); /* in key order; takes it */
void feed_install(struct feed *f);                      /* what was loaded is what there is */
/* Replaces the cached state by the loaded one. */
void cache_install(struct cache *c, int64_t revision);

/* ---- another history (cache_load.c) ---- */

/* Returns true when the store's answer is of the history that is shown. Otherwise everything
 * known is given up and loaded again, and waits fail. floor: the cache's revision when the store
 * was asked. Completion thread, no lock held. */
bool cache_check_history(struct cache *c, const struct storage_op *op, int64_t floor);

/* ---- loading (cache_load.c) ---- */

enum load_state { LOAD_IDLE, LOAD_PAGES, LOAD_RETRY, LOAD_WATCH, LOAD_REWATCH };

struct load_page {
	struct storage_range range;
	struct cache *cache;
	struct arena arena; /* of the key it starts from */
};

struct load {
	struct load_page pages[2]; /* one is decoded while the other is under way */
	unsigned page;             /* the index of the page under way */
	int64_t revision;          /* the one being loaded: the first page's */
	int64_t n_new;             /* keys that this revision has created */
	struct storage_range present; /* asks for etcd's revision, before the first page */
	struct storage_range before;  /* counts the keys just before the loaded revision, or the present one */
	int64_t n_before;             /* its result; -1: etcd does not know it any more */
	bool n_keys_unknown;          /* the first page of objects says how many keys there are */
	bool is_defining;             /* pages are of definitions, which come before all objects */
	bool is_counting;             /* it is under way */
	bool is_read;                 /* all pages are there: the end of the count ends the load */
	bool has_failed;              /* the end of the count begins a later load */
	size_t n_deleted;             /* keys that this revision has deleted; SIZE_MAX: not known */
	struct storage_txn fence;
	struct storage_step fence_step;
	int64_t limit;             /* keys in a page */
	int64_t backoff_ms;
};

/* Returns true when the loaded revision may have changed several objects of the kind. */
bool load_is_cut(const struct load *l, const struct feed *f);
void cache_load_init(struct cache *c);
void cache_load_done(struct cache *c);
void cache_load_start(struct cache *c); /* now, or once more */

/* ---- watchers (cache_window.c) ---- */

void feed_dispatch(struct feed *f);
/* Ends the watchers that wanted any event up to this revision, because some are missing. Feed
 * locked. */
void feed_lose(struct feed *f, int64_t to);
/* No event of the kind will come: its watchers end when they have seen what there is. */
void feed_end(struct feed *f);
void feed_watchers_restored(struct feed *f); /* ends all of them. Feed locked */
void feed_watchers_done(struct feed *f);

/* ---- freshness (cache_fresh.c) ---- */

/* etcd's description of all objects at one revision: how many keys there are, and which changed
 * last, and when. A state of the cache with as many keys that has seen this change is the state
 * at that revision. Each key was last written before, so the cache has it as it is; and since
 * the numbers are equal, it has no others. */
struct proof {
	int64_t revision, newest, n_keys; /* all 0: etcd has said nothing */
};

struct fresh {
	struct list joining; /* waits for the next round of the read index */
	struct list asking;  /* their round is under way */
	struct list waiting; /* waits that know their revision */
	bool is_asking, is_fencing; /* is_fencing: a fence or a proof is under way */
	/* waits that have ended and are not settled; while there are some, the next round is
	 * held */
	_Atomic unsigned n_looking;
	int64_t hold_until_ms; /* but not longer */
	struct storage_range round;
	int64_t round_floor; /* the cache's revision when it began */
	struct storage_txn fence;
	struct storage_step fence_step;
	int64_t fence_at_ms; /* when the timer will see whether one is needed; 0: not planned */
	int64_t fence_not_before_ms; /* after etcd has refused a fence: until then proofs take its place */
	struct storage_range asked;
	uint32_t asked_epoch;
	int64_t asked_ms, proof_not_before_ms; /* proofs take at most half of etcd's time */
	struct proof proof;
};

void cache_fresh_init(struct cache *c);
void cache_fresh_advance(struct cache *c); /* the revision has grown: ends waits */
/* Writes a fence because no watch can resume at the cache's revision. Otherwise a client that
 * lists again would be refused again. */
void cache_step_over(struct cache *c, int64_t revision);
void cache_fresh_give_up(struct cache *c); /* ends all waits for a known revision, which will not come */

/* ---- the whole ---- */

struct cache {
	struct storage *storage;
	struct cache_options options;
	struct arena arena; /* of keys, for the cache's life */
	struct str prefix_key, prefix_end, objects_key, objects_end, compact_key, fence_key, bases_key;
	struct feed *feeds; /* of the program's kinds, by kind index */
	size_t n_feeds;
	struct str definitions_key, definitions_end; /* empty: there are none */

	/* used by the writer */
	struct defined defined;
	struct load load;
	struct storage_watch watch;
	struct bases bases;
	int64_t n_keys;   /* below PREFIX/objects/, known or not */
	bool is_given_up; /* the watch is ending, and its events are ignored */
	uint64_t cluster; /* the etcd cluster that was loaded from; 0: unknown */
	uint32_t epoch;   /* of histories */

	pthread_mutex_t lock;
	pthread_cond_t idle; /* n_busy has become 0 */
	enum load_state state;
	int64_t retry_at_ms; /* LOAD_RETRY, LOAD_REWATCH */
	int64_t pins_at_ms;  /* when to look for pins to end; INT64_MAX: there are none */
	struct kinds *kinds; /* published with the revision */
	bool is_closing;
	unsigned n_busy; /* operations and watches of the storage that will call back */
	struct fresh fresh;
	pthread_t timer;
	pthread_cond_t timer_cond;
	int64_t timer_at_ms; /* when it will wake by itself; INT64_MAX: never */

	int64_t n_keys_shown;                /* as of revision */
	_Atomic int64_t revision, forgotten; /* written under lock */
	_Atomic int64_t lost;                /* the last revision of a history that was given up; 0: none was */
	_Atomic bool is_ready, is_connected;
	_Atomic size_t n_watchers;
	_Atomic size_t pinned_bytes; /* see feed_charge_pins() */
	_Atomic uint64_t n_events, n_reloads, n_restores, n_undecodable, n_rounds, n_fences, n_proofs;
};

static inline size_t cache_n_feeds(const struct cache *c)
{
	return c->n_feeds + c->defined.n_feeds;
}
static inline struct feed *cache_feed(const struct cache *c, size_t i)
{
	return i < c->n_feeds ? &c->feeds[i] : c->defined.feeds[i - c->n_feeds];
}
static inline struct feed *cache_feed_of(const struct cache *c, const struct kind *kind)
{
	return kind->life ? kind->life->place : &c->feeds[kind->index];
}

void cache_say(struct cache *c, const char *format, ...) _printf_(2, 3); /* on_state */
/* Call these around every operation that will call back. cache_busy() returns false when the
 * cache is closing: then nothing may be started. */
bool cache_busy(struct cache *c);
void cache_idle(struct cache *c);

void cache_timer_by(struct cache *c, int64_t at_ms); /* lock held: must wake by then */
/* Each does what is due and returns when it is next due. The lock is held; they may release it
 * and take it again. */
int64_t cache_pins_tick(struct cache *c, int64_t now_ms);
int64_t cache_load_tick(struct cache *c, int64_t now_ms);
int64_t cache_fresh_tick(struct cache *c, int64_t now_ms);

#endif
