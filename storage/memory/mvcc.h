/* Keys with their history, in memory: the data of the in-memory store. Not thread-safe.
 *
 * Changes are collected under the next revision and seen at once by later reads; mvcc_commit() makes it the present one. */
#ifndef STORAGE_MEMORY_MVCC_H
#define STORAGE_MEMORY_MVCC_H

#include "storage/storage.h"

/* One change of one key. Its key's history owns it; slices point to the memory behind it. */
struct mvcc_change {
	struct storage_event event; /* a put has its whole kv; a deletion: key and mod_revision */
	struct mvcc_change *older;  /* of the same key */
};

struct mvcc_key;

struct mvcc {
	int64_t revision;
	int64_t compacted;     /* history below is gone; 0: nothing is */
	struct mvcc_key *keys; /* by key; also those that are deleted but not forgotten */
	size_t n_keys, cap_keys;
	struct mvcc_change **log; /* of all keys, above `compacted`, in order */
	size_t n_log, cap_log;
	int64_t size; /* bytes of all changes that are kept: mvcc_size() */
};

void mvcc_init(struct mvcc *m);
void mvcc_done(struct mvcc *m);

/* Etcd's convention: end empty means the one key, "\0" means no end. */
bool mvcc_is_in_range(struct str key, struct str range_key, struct str range_end);

struct mvcc_query {
	struct str key, range_end;
	int64_t at_revision; /* 0: newest, uncommitted changes included */
	int64_t limit;       /* 0: all */
	int64_t changed_after; /* as in struct storage_range */
	bool keys_only, count_only;
};
struct mvcc_answer {
	struct storage_kv *kvs; /* copies in the arena */
	size_t n_kvs;
	bool has_more; /* the limit left some out */
	int64_t count; /* in the whole range */
};
/* STORAGE_OK, STORAGE_COMPACTED, STORAGE_FUTURE. */
enum storage_result mvcc_range(const struct mvcc *m, const struct mvcc_query *query, struct arena *a, struct mvcc_answer *ret);

/* The newest kvs of a range one by one, not copied: starts with *at = 0; NULL at the end. */
const struct storage_kv *mvcc_next(const struct mvcc *m, struct str key, struct str range_end, size_t *at);

/* Returns the bytes of everything here, as allocated. */
int64_t mvcc_size(const struct mvcc *m);
/* Returns by how much a put grows that, except for arrays that grow by doubling. */
int64_t mvcc_cost_of_put(struct str key, struct str value);
void mvcc_put(struct mvcc *m, struct str key, struct str value, int64_t lease);
int64_t mvcc_delete(struct mvcc *m, struct str key, struct str range_end); /* how many */
bool mvcc_commit(struct mvcc *m); /* false: nothing was changed, and the revision stays */

/* STORAGE_OK, STORAGE_COMPACTED, STORAGE_FUTURE. */
enum storage_result mvcc_compact(struct mvcc *m, int64_t at_revision);

/* Removes all changes behind that revision, as if they had never been. It must not be below the
 * compacted revision. */
void mvcc_rewind(struct mvcc *m, int64_t revision);

/* Returns where in the log the changes from that revision on begin. */
size_t mvcc_log_since(const struct mvcc *m, int64_t revision);

#endif
