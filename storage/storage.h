/* The interface to a store: etcd's model, several keys in one guarded transaction, asynchronous
 * throughout.
 *
 * There are two implementations (storage_etcd_new, storage_memory_new), and a wrapper around either
 * for tests (storage_fault_new). They share this interface and one contract suite (tests/contract).
 *
 * Every operation is a struct embedded in its caller: fill in the request part, set `done`, submit.
 * `done` runs exactly once per successful submit, on the store's completion thread (the in-memory
 * store has a thread of its own). It may run before submit has returned, and must not block. The
 * request part, with all slices it points to, must stay until done. The result part belongs to the
 * operation until storage_op_clear(); afterwards the operation may be submitted again.
 *
 * Revisions are etcd's: one number for the whole store, growing by one for every transaction
 * that changes something. Keys are absolute (the prefix is the caller's: storage/keys.h). A
 * range is [key, range_end); range_end empty means the one key; storage_prefix_end() makes the
 * end for a prefix. */
#ifndef STORAGE_STORAGE_H
#define STORAGE_STORAGE_H

#include "base/arena.h"
#include "base/str.h"

struct storage;

/* Outcome of an operation. */
enum storage_result {
	STORAGE_OK = 0,
	STORAGE_COMPACTED,   /* the wanted revision is gone; compact_revision says up to where */
	STORAGE_FUTURE,      /* the wanted revision has not happened yet */
	STORAGE_TOO_LARGE,   /* the store refuses the request's size; nothing happened. `message` has its text */
	STORAGE_UNAVAILABLE, /* certainly not executed: no connection, no leader; any failed trip of a read */
	STORAGE_TIMEOUT,     /* deadline passed. A write may have happened */
	STORAGE_UNKNOWN,     /* connection lost with the write under way: it may have happened */
	/* Puts are refused because the store is full. etcd checks before it proposes a write,
	 * and again when it applies it. The write that crosses the quota between the two has
	 * happened all the same, so a caller that must know checks (server/write/write.c). */
	STORAGE_NO_SPACE,
	STORAGE_LEASE_GONE, /* lease unknown or expired */
	STORAGE_CANCELED,   /* by storage_free or storage_watch_cancel */
	STORAGE_ERROR,      /* anything else; `message` says what */
	STORAGE_RESTORED,   /* of a watch: the history is not the one that was followed, because a backup was restored */
};
const char *storage_result_name(enum storage_result r);
/* Returns false where a write may have been carried out all the same. */
bool storage_result_is_certain(enum storage_result r);

struct storage_kv {
	struct str key, value;
	int64_t create_revision, mod_revision, version;
	int64_t lease;        /* 0: none */
};

struct storage_op {
	/* request */
	void (*done)(struct storage_op *op);
	int64_t timeout_ms;   /* 0: the store's default (10 s) */
	/* result */
	enum storage_result result;
	int64_t revision;         /* of the store when it answered (from etcd's header) */
	uint64_t cluster;         /* the id of the store's cluster; 0: unknown */
	int64_t compact_revision; /* STORAGE_COMPACTED: 0 when unknown */
	const char *message;  /* for people, NUL-terminated; lives until storage_op_clear; never NULL after done */
	/* implementation */
	struct arena arena;   /* of the results */
	void *impl;
};
void storage_op_clear(struct storage_op *op);

struct storage_range {
	struct storage_op op;
	struct str key, range_end;
	int64_t at_revision;  /* 0: newest */
	int64_t limit;        /* 0: all */
	bool keys_only, count_only;
	bool is_serializable; /* answer from one member, perhaps stale */
	/* Only keys last written after this revision, the latest first; 0: all, in key order.
	 * Etcd looks at every key of the range for it. */
	int64_t changed_after;
	/* result */
	struct storage_kv *kvs;
	size_t n_kvs;
	bool has_more;        /* limit cut the answer */
	int64_t count;        /* in the whole range, whatever the limit and changed_after */
};

enum storage_compare_target { COMPARE_VERSION, COMPARE_CREATE, COMPARE_MOD, COMPARE_VALUE, COMPARE_LEASE };
enum storage_compare_result { COMPARE_EQUAL, COMPARE_GREATER, COMPARE_LESS, COMPARE_NOT_EQUAL };

/* One guard. With range_end it must hold for every existing key of the range. A missing key, or
 * an empty range, counts as one key whose numbers are all 0, and every comparison of its value
 * fails. So {COMPARE_CREATE, COMPARE_EQUAL, number 0} over a range says that the range is empty. */
struct storage_compare {
	enum storage_compare_target target;
	enum storage_compare_result result;
	struct str key, range_end;
	int64_t number;       /* all targets but COMPARE_VALUE */
	struct str value;
};

/* A guard that the key was last written at that revision; 0: that it does not exist. */
static inline struct storage_compare storage_compare_mod(struct str key, int64_t revision)
{
	return (struct storage_compare){.target = COMPARE_MOD, .result = COMPARE_EQUAL, .key = key, .number = revision};
}

/* A guard that the key exists, in any state. */
static inline struct storage_compare storage_compare_exists(struct str key)
{
	return (struct storage_compare){.target = COMPARE_CREATE, .result = COMPARE_GREATER, .key = key};
}

enum storage_step_kind { STEP_GET, STEP_PUT, STEP_DELETE };

struct storage_step {
	enum storage_step_kind kind;
	struct str key, range_end; /* STEP_PUT: key alone */
	struct str value;
	int64_t lease;
	int64_t limit;        /* STEP_GET */
	bool keys_only;       /* STEP_GET */
	/* result */
	struct storage_kv *kvs; /* STEP_GET */
	size_t n_kvs;
	int64_t count;        /* STEP_GET: in range; STEP_DELETE: deleted */
};

/* Returns whether storage_compare_mod() would hold, from a look at one key in the failure
 * branch: for keys that exist. */
static inline bool storage_step_has(const struct storage_step *look, int64_t revision)
{
	return look->n_kvs > 0 && look->kvs[0].mod_revision == revision;
}

/* Runs the `success` steps if all guards hold, else the `failure` steps; atomically. Steps of
 * one transaction may not put one key twice. */
struct storage_txn {
	struct storage_op op;
	struct storage_compare *compares;
	size_t n_compares;
	struct storage_step *success;
	size_t n_success;
	struct storage_step *failure;
	size_t n_failure;
	/* result */
	bool succeeded;       /* which branch ran */
};

struct storage_compact {
	struct storage_op op;
	int64_t at_revision;
};

struct storage_status {
	struct storage_op op;
	/* result */
	const char *version;  /* of the server, "3.4.23" */
	int64_t db_size;      /* bytes */
	int64_t db_quota;     /* bytes; 0: it does not say (etcd before 3.6) */
	uint64_t leader;      /* member id; 0: none */
	bool has_nospace, has_corrupt; /* alarms */
};

struct storage_lease {
	struct storage_op op;
	int64_t id;           /* 0 at grant: the store chooses; result of grant */
	int64_t ttl_s;        /* wanted at grant; granted or remaining as result. Keep-alive of a gone lease: STORAGE_LEASE_GONE */
};

enum storage_event_type { EVENT_PUT, EVENT_DELETE };

struct storage_event {
	enum storage_event_type type;
	struct storage_kv kv; /* EVENT_DELETE: key and mod_revision (of the deletion) only */
};

/* A watch of a range. The store reconnects by itself and resumes behind the last delivered
 * revision. The owner sees one gapless, ordered sequence or an end. All callbacks come from the
 * completion thread, one at a time; slices are valid during the call. */
struct storage_watch {
	/* request */
	struct str key, range_end;
	int64_t from_revision;  /* first revision wanted, to be above what is compacted; 0: from now */
	uint64_t cluster;       /* the cluster of that revision (storage_op); 0: not known */
	/* All events of one or more whole revisions, ascending: a revision is never split over two calls. revision is the last one's. */
	void (*on_events)(struct storage_watch *w, const struct storage_event *events, size_t n, int64_t revision);
	/* The stream is open (again), and shows the history that was followed; or it has been
	 * interrupted. May be NULL. */
	void (*on_state)(struct storage_watch *w, bool is_connected, const char *message);
	/* The watch is over and calls no more: STORAGE_COMPACTED (from_revision or resume point
	 * compacted), STORAGE_RESTORED (all that was known of the store is void),
	 * STORAGE_CANCELED (on request), STORAGE_ERROR. The struct may be reused or freed from
	 * within. */
	void (*on_end)(struct storage_watch *w, enum storage_result why, int64_t compact_revision, const char *message);
	/* implementation */
	void *impl;
};

struct storage_ops {
	void (*range)(struct storage *s, struct storage_range *op);
	void (*txn)(struct storage *s, struct storage_txn *op);
	void (*compact)(struct storage *s, struct storage_compact *op);
	void (*status)(struct storage *s, struct storage_status *op);
	void (*lease_grant)(struct storage *s, struct storage_lease *op);
	void (*lease_keep_alive)(struct storage *s, struct storage_lease *op);
	void (*lease_revoke)(struct storage *s, struct storage_lease *op);
	void (*watch)(struct storage *s, struct storage_watch *w);
	/* Asynchronous: on_end follows. A watch that has ended already is left alone. */
	void (*watch_cancel)(struct storage *s, struct storage_watch *w);
	/* Ends everything under way (STORAGE_CANCELED), then frees the store. Not from a
	 * callback. */
	void (*free)(struct storage *s);
};

struct storage {
	const struct storage_ops *ops;
};

static inline void storage_range(struct storage *s, struct storage_range *op) { s->ops->range(s, op); }
static inline void storage_txn(struct storage *s, struct storage_txn *op) { s->ops->txn(s, op); }
static inline void storage_compact(struct storage *s, struct storage_compact *op) { s->ops->compact(s, op); }
static inline void storage_status(struct storage *s, struct storage_status *op) { s->ops->status(s, op); }
static inline void storage_lease_grant(struct storage *s, struct storage_lease *op) { s->ops->lease_grant(s, op); }
static inline void storage_lease_keep_alive(struct storage *s, struct storage_lease *op) { s->ops->lease_keep_alive(s, op); }
static inline void storage_lease_revoke(struct storage *s, struct storage_lease *op) { s->ops->lease_revoke(s, op); }
static inline void storage_watch(struct storage *s, struct storage_watch *w) { s->ops->watch(s, w); }
static inline void storage_watch_cancel(struct storage *s, struct storage_watch *w) { s->ops->watch_cancel(s, w); }
struct storage *storage_free(struct storage *s);   /* NULL */

/* Returns the end of the range of all keys that start with prefix. An empty prefix, or one of
 * 0xff only, gives "\0", which etcd reads as "to the end". */
struct str storage_prefix_end(struct arena *a, struct str prefix);

/* Blocking wrappers for start-up, command line and tests; never on an HTTP or completion thread. Return op->result. */
enum storage_result storage_range_wait(struct storage *s, struct storage_range *op);
enum storage_result storage_txn_wait(struct storage *s, struct storage_txn *op);
/* All at once; each has its own result. */
void storage_ranges_wait(struct storage *s, struct storage_range *const *ops, size_t n);
void storage_txns_wait(struct storage *s, struct storage_txn *const *ops, size_t n);
enum storage_result storage_compact_wait(struct storage *s, struct storage_compact *op);
enum storage_result storage_status_wait(struct storage *s, struct storage_status *op);
enum storage_result storage_lease_grant_wait(struct storage *s, struct storage_lease *op);
enum storage_result storage_lease_keep_alive_wait(struct storage *s, struct storage_lease *op);
enum storage_result storage_lease_revoke_wait(struct storage *s, struct storage_lease *op);

#endif
