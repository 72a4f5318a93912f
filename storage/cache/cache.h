/* The watch cache: every object under the prefix in memory, in etcd's order, as the bytes clients are shown.
 *
 * One writer: the storage's completion thread, driven by one etcd watch over PREFIX/. What it publishes is immutable and counted. Each
 * kind has a persistent (copy-on-write) ordered tree of its objects by key, another of its index entries (label=value and
 * field=value, then key), and a window of recent events; publishing a revision swaps the roots. So a snapshot of a kind costs one
 * counted pointer, whatever its size; lists, pages at an older revision, and selectors walk it without any lock; and a
 * selector with one equality term costs what it finds, not what there is.
 *
 * Life: load (paged range at one revision), watch from there, resume after interruptions; where the resume point is compacted, load again
 * and end all watchers: what they are told has no gaps, and whoever lost history lists again.
 *
 * Freshness: cache_read_index() makes a later look-up linearizable: one quorum request, shared by all who wait when it starts, names
 * etcd's revision; the wait ends when the cache has reached it. If the revision is not ours (other users of the same etcd), the
 * cache cannot see it in its watch: after a short wait it writes PREFIX/fence, whose event proves the distance covered. Where etcd does not
 * take that write, for want of room say, the cache reads how many keys there are and which changed last, which proves that nothing else
 * has changed (struct proof). Progress notifications are not used: they race before etcd 3.4.25 and 3.5.8.
 */
#ifndef STORAGE_CACHE_CACHE_H
#define STORAGE_CACHE_CACHE_H

#include "api/model/kind.h"
#include "api/select/selector.h"
#include "base/list.h"
#include "storage/storage.h"

struct cache;
struct cache_snapshot;
struct cache_watcher;

/* Text within the allocation of a struct cached: half as large as a struct str. */
struct cached_slice {
	uint32_t at, n;
};

/* One object at one revision, in hub form, ready to be shown. The body is the object's text without `{"kind":K,"apiVersion":V,`: it begins with
 * `"metadata":{`, contains resourceVersion, and ends with the closing brace. A list item is `{` + body; an object is
 * `{"kind":"K","apiVersion":"V",` + body. It is in pieces, since managedFields are shared by many objects: cached_piece(). */
struct cached {
	_Atomic uint32_t refs;
	uint32_t
		size; /* bytes of the allocation, of what is shared, and of `digest`, made or not: what it may keep in memory */
	_Atomic(char *) digest; /* private: made when it is shown for the first time (cached_piece()) */
	const struct kind *kind;
	int64_t revision;             /* mod revision */
	int64_t create_revision;
	struct str ns, name, uid;          /* ns empty for cluster-scoped */
	const struct door *stored_version; /* in which etcd has it; body is in hub form all the same */
	const struct fields *fields;       /* private: shared (cached_fields.h); NULL: the text has them */
	uint32_t n_labels;                 /* sorted by key: cached_label() */
	uint32_t
		epoch; /* which of the histories that the cache has seen; within one, a kind, name and revision say what it is */
	/* private: the rest is in the same allocation */
	uint32_t n_text;              /* of the body's bytes, those that are its own (cached_own()) */
	uint32_t n_metadata;          /* bytes of {...} within the body */
	uint32_t revision_at;         /* in cached_own(): the digits of resourceVersion */
	uint32_t digest_at;           /* where `digest` is shown; 0: nowhere */
	uint32_t fields_at;           /* where `fields` are, and their times stand */
	uint32_t beyond_at, n_beyond; /* in the allocation: the text of struct object's beyond */
	uint16_t n_computed;          /* paths of its references (api/model/reference.h), sorted: cached_computed() */
	bool opens_annotations : 1;   /* has none that `digest` could be among */
	bool is_respelled : 1; /* etcd has it in words that object_encode_stored() would not have chosen; else it probably has not */
	bool is_deleting : 1;
};
/* Behind the struct: two for each label, then kind->selectable's values in the same order, then what is computed. */
static inline struct str cached_slice(const struct cached *o, size_t i)
{
	const struct cached_slice *s = (const struct cached_slice *)(const void *)(o + 1) + i;

	return (struct str){s->n ? (const char *)o + s->at : NULL, s->n};
}
static inline struct label cached_label(const struct cached *o, size_t i)
{
	return (struct label){cached_slice(o, 2 * i), cached_slice(o, 2 * i + 1)};
}
static inline struct str cached_value(const struct cached *o, size_t field)
{
	return cached_slice(o, 2 * (size_t)o->n_labels + field);
}
static inline struct str cached_computed(const struct cached *o, size_t i)
{
	return cached_value(o, o->kind->n_selectable + i);
}
struct cached *cached_ref(struct cached *o);
struct cached *cached_unref(struct cached *o);
DEFINE_CLEANUP(struct cached *, cached_unref)
/* From a stored value. NULL when it is not a valid object of the kind (the caller counts and logs it). mod_revision 0: of an object that has
 * never been stored, shown without resourceVersion. */
struct cached *cached_new(const struct kind *kind, struct str rest_of_key, struct str value, int64_t create_revision, int64_t mod_revision);
/* The same object shown at another revision: what DELETED events carry (surprises.md 33). */
struct cached *cached_at_revision(const struct cached *o, int64_t revision);
/* The body as a door shows it, in pieces of which any may be empty; they live as long as the object. Doors of a history's own group put the digest
 * in that is not stored (history_hides_digest()): whoever asks for that piece first has it made, and the object keeps it. */
enum { CACHED_PIECES = 11 };                                        /* at most */
size_t cached_pieces(const struct cached *o, const struct door *d); /* how many: 1 where nothing is put in and nothing shared */
struct str cached_piece(const struct cached *o, const struct door *d, size_t i);
size_t cached_shown_size(const struct cached *o, const struct door *d); /* of all pieces; makes nothing */
size_t cached_body_size(const struct cached *o);                        /* without a digest that is put in */
struct str cached_body(const struct cached *o, struct arena *a);        /* in one piece; in the arena where it is none */
struct str cached_metadata(const struct cached *o, struct arena *a);    /* the {...} within that */
size_t cached_own_size(const struct cached *o);                         /* bytes of the allocation */
/* Would a door put a digest into that body? */
bool cached_body_hides_digest(const struct kind *kind, struct str body, const struct door *d);
/* The body an object has once `stored`, which object_encode_stored() wrote, is stored at this revision; in the arena. Empty when it is
 * not so written, or in a version that has another form than the hub. Not for an object that has something beyond. */
struct str cached_body_of(const struct kind *kind, struct str stored, int64_t revision, struct arena *a);
/* The whole text in hub form: {"kind":..,"apiVersion":HUB,"metadata":{...with resourceVersion...}...}, in the arena. */
struct str cached_text(const struct cached *o, struct arena *a);
/* The object decoded, as object_decode_stored() would from what etcd has. Lives as long as the arena. 0 or an object_error. */
int cached_object(struct object **ret, const struct cached *o, struct arena *a);
int cached_decode_text(struct object **ret, const struct cached *o, struct str text, struct arena *a); /* text: cached_text() */

/* In which versions etcd has the objects of a kind. */
enum { CACHE_VERSION_SIZE = 128 };
struct cache_census {
	int64_t revision;              /* as of which; 0: nothing has been loaded */
	size_t stored[KIND_DOORS_MAX]; /* objects, by door */
	size_t n_unknown; /* objects in versions that are not known here (a newer server's): the cache does not show them */
	char unknown_version[CACHE_VERSION_SIZE]; /* one of those, at least its beginning; or "" */
	size_t n_unreadable;                      /* what is no object of the kind, and is not shown either */
};

struct cache_options {
	struct storage *storage;      /* outlives the cache */
	struct str prefix;            /* "/annals" */
	size_t window_events;         /* per kind; 0: 16,384 */
	size_t window_bytes;          /* per kind, estimated; 0: 32 MiB */
	size_t pin_bytes;             /* that pinned states of all kinds keep, estimated; 0: 64 MiB */
	int64_t fence_after_ms;       /* 0: 20 */
	size_t max_watchers;          /* all kinds; 0: 65,536 */
	/* The cache has become ready, or has lost etcd: for logs. Completion thread. May be NULL. */
	void (*on_state)(void *ctx, bool is_ready, const char *message);
	void *ctx;
};

struct cache *cache_new(const struct cache_options *options);    /* starts loading */
struct cache *cache_free(struct cache *c);                       /* all watchers must be closed, all waits over */
/* Loaded; stays true, but where etcd has been restored from a backup: then it is false until everything has been loaded again. All watchers
 * are ended meanwhile, revisions may be lower afterwards, and waits that know what they wait for end with STORAGE_UNAVAILABLE. */
bool cache_is_ready(const struct cache *c);
bool cache_is_connected(const struct cache *c);                  /* the watch stream is up */
int64_t cache_revision(const struct cache *c);                   /* all events up to here are published */
/* History before `revision` is not to be served any more (the store was compacted): watches and Exact lists from older get EXPIRED.
 * Called by the cache itself when it sees PREFIX/compact_rev_key change. */
void cache_forget(struct cache *c, int64_t revision);

/* Waiting. The struct is the caller's until done ran; done: completion thread (or a timer of the cache's own), exactly once; it may run
 * before cache_wait_*() returns. */
struct cache_wait {
	void (*done)(struct cache_wait *w);
	int64_t timeout_ms;
	enum storage_result result;   /* OK, TIMEOUT, UNAVAILABLE ... */
	int64_t revision;             /* the cache's when it ended */
	const char *message;          /* static */
	/* private */
	struct list node;
	int64_t wanted, deadline_ms;
	int64_t fence_ms;             /* from when on it is worth a fence; INT64_MAX: has had one */
};
void cache_wait_fresh(struct cache *c, struct cache_wait *w);                       /* read index */
void cache_wait_revision(struct cache *c, struct cache_wait *w, int64_t revision);  /* at least this revision */
/* Once for each wait, after it has ended and its caller has looked at the cache (or given up): the next round of the read index starts
 * when all have, or some ms later, so that those they make room for can share it. */
void cache_wait_settled(struct cache *c);

/* Look-ups; none blocks beyond a short lock. */
struct cached *cache_get(struct cache *c, const struct kind *kind, struct str ns, struct str name); /* a reference or NULL */
struct cache_snapshot *cache_snapshot(struct cache *c, const struct kind *kind);    /* newest; never NULL once ready */
void cache_census(struct cache *c, const struct kind *kind, struct cache_census *ret);
bool cache_has_unknown(const struct cache *c, const struct kind *kind); /* n_unknown > 0; without a lock */
enum cache_result { CACHE_OK = 0, CACHE_EXPIRED, CACHE_FUTURE };
/* As it was at exactly `revision`, for Exact lists and continue tokens: from the window or from recently pinned snapshots. */
enum cache_result cache_snapshot_at(struct cache *c, const struct kind *kind, int64_t revision, struct cache_snapshot **ret);
/* Keeps a snapshot findable by cache_snapshot_at for some minutes although the window moves on: for pages that will be continued. */
void cache_snapshot_pin(struct cache *c, struct cache_snapshot *s);
struct cache_snapshot *cache_snapshot_unref(struct cache_snapshot *s);
DEFINE_CLEANUP(struct cache_snapshot *, cache_snapshot_unref)
int64_t cache_snapshot_revision(const struct cache_snapshot *s);
size_t cache_snapshot_count(const struct cache_snapshot *s, struct str ns); /* ns empty: all; O(log n) */
/* How many objects of the namespace have this computed field (api/model/reference.h); O(log n). */
size_t cache_snapshot_count_computed(const struct cache_snapshot *s, struct str ns, struct str path);

struct cache_filter {
	struct str ns;                              /* empty: all namespaces */
	const struct label_selector *labels;        /* may be NULL */
	const struct field_selector *fields;        /* may be NULL */
};
bool cache_filter_matches(const struct cache_filter *f, const struct cached *o);

/* In key order (namespace, name). The filter and the snapshot must outlive the walk; objects are valid while the snapshot is. */
struct cache_iter {
	const struct cache_snapshot *snapshot;
	struct cache_filter filter;
	/* private */
	uint64_t state[160];
};
/* from: the least key that is wanted, NAMESPACE/NAME or NAME, which need not exist; with a NUL at its end, what comes behind it.
 * Empty: all. */
void cache_iter_init(struct cache_iter *it, const struct cache_snapshot *s, const struct cache_filter *f, struct str from);
const struct cached *cache_iter_next(struct cache_iter *it);
/* How many objects without regard to selectors remain behind the last one returned (remainingItemCount); O(log n). */
size_t cache_iter_remaining(const struct cache_iter *it);

/* Watching: a watcher is a cursor into the kind's window, plus a filter; it owns no queue. */
enum watch_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED };
const char *watch_type_name(enum watch_type t);

struct cache_watch_options {
	const struct kind *kind;
	struct cache_filter filter;       /* its text and selectors must live as long as the watcher */
	int64_t from_revision;            /* events after this one; the revision of a snapshot, or the client's */
	/* There may be something to read. Completion thread, under a lock of the cache: must only set a flag and signal. */
	void (*wake)(void *ctx);
	void *ctx;
};
/* CACHE_OK, CACHE_EXPIRED (older than the window; or of a history that has been given up, which had come further than this one). A future revision is fine: events up to it are skipped. -EMFILE: max_watchers. */
int cache_watch_open(struct cache *c, struct cache_watcher **ret, const struct cache_watch_options *options);
enum cache_next { CACHE_NEXT_EVENT, CACHE_NEXT_NONE, CACHE_NEXT_LOST, CACHE_NEXT_RESTORED };
/* The next event that concerns this watcher, by the 2x2 table (matched before? matches now?). *ret_object: what to show, a reference.
 * NONE: wake will be called; it never comes between two events of one revision, so a watch is best ended there: a client that takes
 * it up again behind the last event it saw then misses nothing. LOST: the watcher fell out of the window or history was lost: end it. RESTORED:
 * what it was told is of a history that has been given up, and its revisions may mean something else by now: end it, and say so. Called by one thread at a time. */
enum cache_next cache_watch_next(struct cache_watcher *w, enum watch_type *ret_type, struct cached **ret_object);
/* All events up to here have been returned or did not concern this watcher: what a bookmark may say. Valid after NONE. */
int64_t cache_watch_revision(const struct cache_watcher *w);
struct cache_watcher *cache_watch_close(struct cache_watcher *w); /* afterwards wake is not called any more */

struct cache_stats {
	/* n_bytes: of all kinds, with what they share. */
	size_t n_objects, n_bytes, n_watchers, n_events_window;
	uint64_t n_events, n_reloads, n_restores, n_undecodable, n_read_index_rounds, n_fences, n_proofs;
};
void cache_stats(struct cache *c, const struct kind *kind_or_null, struct cache_stats *ret);

#endif
