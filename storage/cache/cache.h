/* The watch cache: every object under the prefix in memory, in etcd's order, as the bytes that
 * clients are shown.
 *
 * It has one writer: the storage's completion thread, driven by one etcd watch over PREFIX/. Published data are
 * immutable and counted. Each kind has a persistent (copy-on-write) ordered tree of its objects by key. Another
 * tree has its index entries: label=value and field=value, then key. A window has the kind's recent events.
 * Publishing a revision swaps the roots. So a snapshot of a kind costs one counted pointer at any size. Lists,
 * pages at an older revision, and selectors walk it without a lock. A selector with one equality term costs
 * what it finds, not what there is.
 *
 * The cache loads (a paged range at one revision), watches from there, and resumes after
 * interruptions. Where the resume point is compacted, it loads again and ends all watchers. Their
 * events have no gaps, and a client that lost history lists again.
 *
 * cache_read_index() makes a later look-up linearizable. One quorum request, shared by all who
 * wait when it starts, returns etcd's revision; the wait ends when the cache has reached it. If
 * that revision is a change outside the prefix, the watch does not show it. After a short wait
 * the cache then writes PREFIX/fence, whose event proves that it has seen everything before.
 * Where etcd does not take that write, for example when it is full, the cache reads how many
 * keys there are and which changed last. That proves that nothing else has changed (struct
 * proof). Progress notifications are not used: they race before etcd 3.4.25 and 3.5.8. */
#ifndef STORAGE_CACHE_CACHE_H
#define STORAGE_CACHE_CACHE_H

#include "api/model/kind.h"
#include "api/rules/selector.h"
#include "base/list.h"
#include "storage/cache/bases.h"
#include "storage/storage.h"

struct cache;
struct cache_snapshot;
struct cache_watcher;

/* Text within the allocation of a struct cached: half as large as a struct str. */
struct cached_slice {
	uint32_t at, n;
};

/* One object at one revision, in hub form, ready to be shown. The body is the object's text
 * without `{"kind":K,"apiVersion":V,`. It begins with `"metadata":{`, contains resourceVersion,
 * and ends with the closing brace. A list item is `{` + body; an object is
 * `{"kind":"K","apiVersion":"V",` + body. The body is in pieces, since many objects share
 * managedFields: cached_piece(). */
struct cached {
	_Atomic uint32_t refs;
	uint32_t
		size; /* bytes of the allocation, of what is shared, and of `digest`, made or not: what it may keep in memory */
	_Atomic(char *) digest; /* private: made when it is shown for the first time (cached_piece()) */
	const struct kind *kind;
	int64_t revision;             /* mod revision */
	int64_t create_revision;
	struct str ns, name, uid;          /* ns empty for cluster-scoped */
	const struct version *stored_version; /* the version that etcd has; the body is in hub form all the same */
	const struct fields *fields;          /* private: shared (shared.h); NULL: they are in the text */
	struct base *base;                    /* private: a reference to what the frame continues; NULL: nothing */
	uint32_t n_labels;                 /* sorted by key: cached_label() */
	uint32_t
		epoch; /* which of the histories that the cache has seen; within one, a kind, name, revision and is_gone say what it is */
	/* private: the rest is in the same allocation */
	uint32_t n_text;              /* the bytes of the body that are the object's own (cached_own()) */
	uint32_t n_metadata;          /* bytes of {...} within the body */
	uint32_t revision_at;         /* in cached_own(): the digits of resourceVersion */
	uint32_t digest_at;           /* where `digest` is shown; 0: nowhere */
	uint32_t fields_at;           /* the place of `fields`; their times begin here */
	/* In the allocation: the text of the member `beyond` of struct object; of a kind with a life, what
	 * etcd has, if it is shown otherwise. */
	uint32_t beyond_at, n_beyond;
	uint32_t n_body, n_digest;    /* of a packed object: bytes of the body, and of the digest that is put into it */
	uint16_t n_computed;          /* paths of its references (api/model/reference.h), sorted: cached_computed() */
	bool opens_annotations : 1;   /* no annotations yet: `digest` opens the map */
	bool is_respelled : 1;        /* etcd's text differs from that of object_encode_stored(); false: it probably does not */
	bool is_deleting : 1;
	bool is_gone : 1; /* made by cached_gone(): an earlier content under this revision */
	bool is_packed : 1; /* kept as etcd has it, in compressed form: its pieces are those of cached_whole() */
};
/* Returns a slice. Behind the struct are two for each label, then kind->selectable's values in
 * the same order, then the computed ones. */
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
/* Makes an object from a stored value. Returns NULL when that is not a valid object of the kind;
 * the caller counts and logs it. mod_revision 0: the object has never been stored, and is shown
 * without resourceVersion. */
struct cached *cached_new(const struct kind *kind, struct str rest_of_key, struct str value, int64_t create_revision, int64_t mod_revision);
/* The object as it was before the change at this revision: what DELETED events carry. A new state of the object may have the same
 * revision, if the change only took it out of a selector. */
struct cached *cached_gone(const struct cached *o, int64_t revision);
/* Returns a reference to the object with its body: itself, unless it is packed. The caller keeps few
 * of these at a time, since they are as large as their texts. */
struct cached *cached_whole(const struct cached *o);
/* The body as a version shows it, in pieces that live as long as the object, which is not packed; any may be empty.
 * Versions of a history's own group insert the digest, which is not stored
 * (history_hides_digest()). The first reader of that piece makes it, and the object keeps it. */
enum { CACHED_PIECES = 11 };                                        /* at most */
size_t cached_pieces(
	const struct cached *o, const struct version *v); /* how many: 1 where nothing is put in and nothing shared */
struct str cached_piece(const struct cached *o, const struct version *v, size_t i);
size_t cached_shown_size(const struct cached *o, const struct version *v); /* of all pieces; does not make the digest */
size_t cached_body_size(const struct cached *o);                           /* without an inserted digest */
struct str cached_body(const struct cached *o, struct arena *a);           /* in one piece; in the arena if it is in several */
struct str cached_metadata(const struct cached *o, struct arena *a);    /* the {...} within that */
/* About as many bytes as the value has in etcd, and as the value of its base has; the same in each process. Several objects may have
 * one base; NULL: it has none. */
size_t cached_stored_size(const struct cached *o);
size_t cached_base_size(const struct cached *o);
static inline const struct base *cached_base(const struct cached *o)
{
	return o->base;
}
size_t cached_own_size(const struct cached *o);                         /* bytes of the allocation */
/* Returns true when the version would insert a digest into that body. */
bool cached_body_hides_digest(const struct kind *kind, struct str body, const struct version *v);
/* Returns the body that an object has once `stored`, from object_encode_stored(), is stored at
 * this revision; in the arena. Returns an empty text when it has another spelling, or a version
 * whose form is not the hub's. Not for an object with text in `beyond`. */
struct str cached_body_of(const struct kind *kind, struct str stored, int64_t revision, struct arena *a);
/* The whole text in hub form, or of a kind with a hook in the form that is stored: {"kind":..,"apiVersion":HUB,"metadata":{...with resourceVersion...}...}, in the arena. */
struct str cached_text(const struct cached *o, struct arena *a);
/* The text that etcd has of an object whose kind has a life, at least in meaning. */
struct str cached_as_stored(const struct cached *o, struct arena *a);
/* Decodes the object, as object_decode_stored() does from etcd's text. It lives as long as the
 * arena. Returns 0 or an object_error. */
int cached_object(struct object **ret, const struct cached *o, struct arena *a);
int cached_decode_text(struct object **ret, const struct cached *o, struct str text, struct arena *a); /* text: cached_text() */

/* The versions in which etcd has the objects of a kind. */
enum { CACHE_VERSION_SIZE = 128 };
struct cache_census {
	int64_t revision;                 /* the revision of the counts; 0: nothing has been loaded */
	size_t stored[KIND_VERSIONS_MAX]; /* objects, by version */
	size_t n_unknown; /* objects in versions that are not known here (a newer server's): the cache does not show them */
	char unknown_version[CACHE_VERSION_SIZE]; /* one of those, at least its beginning; or "" */
	size_t n_unreadable;                      /* values that are no objects of the kind; they are not shown either */
};

struct cache_options {
	struct storage *storage;      /* outlives the cache */
	struct str prefix;            /* "/annals" */
	size_t window_events;         /* per kind; 0: 16,384 */
	size_t window_bytes;          /* per kind, estimated; 0: 32 MiB */
	size_t pin_bytes;             /* that pinned states of all kinds keep, estimated; 0: 64 MiB */
	int64_t fence_after_ms;       /* 0: 20 */
	size_t max_watchers;          /* all kinds; 0: 65,536 */
	/* The kind of objects that define other kinds (struct kind_life); NULL: nothing does. */
	const struct kind *definitions;
	/* Returns the kind that a definition describes, a reference. present: the kind that it has
	 * described so far, or NULL; it is returned when it is still the same. NULL: the definition
	 * describes no kind that is served. Completion thread. */
	const struct kind *(*define)(const struct object *definition, const struct kind *present);
	/* Called for each definition that is loaded, or that has come, changed or gone (definition NULL); and,
	 * with an empty name, once such changes are published. Completion thread; it must not block. NULL:
	 * nothing is called. */
	void (*on_definition)(void *ctx, struct str name, const struct object *definition);
	void *definitions_ctx;
	/* Called when the cache has become ready, or has lost etcd: for logs. Completion thread.
	 * May be NULL. */
	void (*on_state)(void *ctx, bool is_ready, const char *message);
	void *ctx;
};

struct cache *cache_new(const struct cache_options *options);    /* starts loading */
struct cache *cache_free(struct cache *c);                       /* all watchers must be closed, all waits over */
/* Returns true once loaded. It turns false only when etcd has been restored from a backup, until
 * everything has been loaded again. All watchers are ended then, revisions may be lower
 * afterwards, and waits for a known revision end with STORAGE_UNAVAILABLE. */
bool cache_is_ready(const struct cache *c);
bool cache_is_connected(const struct cache *c);                  /* the watch stream is up */
int64_t cache_revision(const struct cache *c);                   /* all events up to here are published */
/* Gives up history before `revision`, because the store was compacted. Watches and Exact lists
 * from older revisions get EXPIRED. The cache calls this itself when it sees
 * PREFIX/compact_rev_key change. */
void cache_forget(struct cache *c, int64_t revision);

/* The bases that etcd has, as the cache has seen them: newer than cache_revision() at times, never older. */
struct bases *cache_bases(struct cache *c);

/* A wait. The struct must stay until done has run, exactly once, on the completion thread or the
 * cache's timer. It may run before cache_wait_*() returns. */
struct cache_wait {
	void (*done)(struct cache_wait *w);
	int64_t timeout_ms;
	enum storage_result result;   /* OK, TIMEOUT, UNAVAILABLE ... */
	int64_t revision;             /* the cache's when it ended */
	const char *message;          /* static */
	/* private */
	struct list node;
	int64_t wanted, deadline_ms;
	int64_t fence_ms; /* the time from which a fence may be written for it; INT64_MAX: one was written */
};
void cache_wait_fresh(struct cache *c, struct cache_wait *w);                       /* read index */
void cache_wait_revision(struct cache *c, struct cache_wait *w, int64_t revision);  /* at least this revision */
/* Call it once for each wait that has ended, after the caller has looked at the cache or given
 * up. The next round of the read index starts when all have, or some ms later. So requests that
 * these readers make room for can share it. */
void cache_wait_settled(struct cache *c);

/* The kinds that definitions describe as of cache_revision(): a reference; NULL: none. A kind is
 * there before any of its objects. When its definition changes or goes, kind_is_over() becomes
 * true, its watches end, and a snapshot of it stays as it is. The user of a kind holds it. */
struct kinds *cache_kinds(struct cache *c);

/* Look-ups; none blocks beyond a short lock. */
struct cached *cache_get(struct cache *c, const struct kind *kind, struct str ns, struct str name); /* a reference or NULL */
struct cache_snapshot *cache_snapshot(struct cache *c, const struct kind *kind);    /* newest; never NULL once ready */
void cache_census(struct cache *c, const struct kind *kind, struct cache_census *ret);
bool cache_has_unknown(const struct cache *c, const struct kind *kind); /* n_unknown > 0; without a lock */
enum cache_result { CACHE_OK = 0, CACHE_EXPIRED, CACHE_FUTURE };
/* Returns the snapshot at exactly `revision`, for Exact lists and continue tokens: from the
 * window or from recently pinned snapshots. */
enum cache_result cache_snapshot_at(struct cache *c, const struct kind *kind, int64_t revision, struct cache_snapshot **ret);
/* Lets cache_snapshot_at() find a snapshot for some minutes although the window moves on: for
 * pages that will be continued. */
void cache_snapshot_pin(struct cache *c, struct cache_snapshot *s);
struct cache_snapshot *cache_snapshot_unref(struct cache_snapshot *s);
DEFINE_CLEANUP(struct cache_snapshot *, cache_snapshot_unref)
int64_t cache_snapshot_revision(const struct cache_snapshot *s);
size_t cache_snapshot_count(const struct cache_snapshot *s, struct str ns); /* ns empty: all; O(log n) */
/* Returns how many objects of the namespace have this computed field (api/model/reference.h);
 * O(log n). */
size_t cache_snapshot_count_computed(const struct cache_snapshot *s, struct str ns, struct str path);

struct cache_filter {
	struct str ns;                              /* empty: all namespaces */
	const struct label_selector *labels;        /* may be NULL */
	const struct field_selector *fields;        /* may be NULL */
};
bool cache_filter_matches(const struct cache_filter *f, const struct cached *o);

/* Walks in key order (namespace, name). The filter and the snapshot must outlive the walk;
 * objects are valid while the snapshot is. */
struct cache_iter {
	const struct cache_snapshot *snapshot;
	struct cache_filter filter;
	/* private */
	uint64_t state[160];
};
/* from: the least wanted key, NAMESPACE/NAME or NAME, which need not exist. With a NUL at its
 * end, the walk begins behind it. Empty: all. */
void cache_iter_init(struct cache_iter *it, const struct cache_snapshot *s, const struct cache_filter *f, struct str from);
const struct cached *cache_iter_next(struct cache_iter *it);
/* Returns how many objects remain behind the last one returned, without selectors
 * (remainingItemCount); O(log n). */
size_t cache_iter_remaining(const struct cache_iter *it);

/* A watcher is a cursor into the kind's window, plus a filter; it owns no queue. */
enum watch_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED };
const char *watch_type_name(enum watch_type t);

struct cache_watch_options {
	const struct kind *kind;
	struct cache_filter filter;       /* its text and selectors must live as long as the watcher */
	int64_t from_revision;            /* events after this one; the revision of a snapshot, or the client's */
	/* from_revision is the client's, who may have seen only some events of that revision. If
	 * several concern this watcher, it gets all of them again. */
	bool resumes;
	/* Called when there may be something to read. Completion thread, under a lock of the
	 * cache: it must only set a flag and signal. */
	void (*wake)(void *ctx);
	void *ctx;
};
/* Returns CACHE_OK or CACHE_EXPIRED; -EMFILE: max_watchers. The revision is expired when it is
 * older than the window, or resumes where the window lacks some of several events. It is also
 * expired when it belongs to a history that was given up, and that had come further than this
 * one. A future revision is fine: events up to it are skipped. */
int cache_watch_open(struct cache *c, struct cache_watcher **ret, const struct cache_watch_options *options);
enum cache_next { CACHE_NEXT_EVENT, CACHE_NEXT_NONE, CACHE_NEXT_LOST, CACHE_NEXT_RESTORED };
/* Returns the next event that concerns this watcher, from whether the object matched before and
 * matches now. *ret_object: the object to show, a reference. NONE: wake will be called; NONE
 * never comes between two events of one revision. LOST: the watcher fell out of the window, or
 * history was lost, or the kind is over: end it. RESTORED: its events are of a history that was given up, and its
 * revisions may mean something else now. End it, and say so. One thread at a time. */
enum cache_next cache_watch_next(struct cache_watcher *w, enum watch_type *ret_type, struct cached **ret_object);
/* Returns the revision for a bookmark: all events up to it have been returned or did not concern
 * this watcher. Valid after NONE. */
int64_t cache_watch_revision(const struct cache_watcher *w);
struct cache_watcher *cache_watch_close(struct cache_watcher *w); /* afterwards wake is not called any more */

struct cache_stats {
	/* n_bytes: of all kinds, with what they share. */
	size_t n_objects, n_bytes, n_watchers, n_events_window;
	size_t n_window_bytes; /* what events keep that n_bytes has not */
	uint64_t n_events, n_reloads, n_restores, n_undecodable, n_read_index_rounds, n_fences, n_proofs;
};
void cache_stats(struct cache *c, const struct kind *kind_or_null, struct cache_stats *ret);

#endif
