/* etcd's semantics in memory: revisions, ranged guards, watches from old revisions, compaction,
 * leases. For tests, and for servers that keep nothing (`annals up --store=memory`). */
#ifndef STORAGE_MEMORY_MEMORY_H
#define STORAGE_MEMORY_MEMORY_H

#include "storage/storage.h"

struct storage *storage_memory_new(void); /* without a limit */
/* Creates a store that keeps at most so many bytes: keys, values, and their history, with
 * overhead. When a put does not fit, the oldest history is compacted as far as needed. If it
 * does not fit even then, it is refused as by etcd with the alarm NOSPACE, until there is room
 * again. Deletions are never refused. */
struct storage *storage_memory_new_limited(int64_t limit);
/* Counts bytes that other code, such as the watch cache, holds because of the store's content.
 * `others` returns how many; it is called on the store's thread, before each put. NULL ends it:
 * it is not called any more when this returns. */
void storage_memory_count_others(struct storage *s, int64_t (*others)(void *ctx), void *ctx);
/* Creates a store without a thread or a clock, for tests that decide on the order of everything.
 * Everything happens in storage_memory_run(), which runs all submitted jobs and their callbacks
 * at the time now_ms. One thread only. */
struct storage *storage_memory_new_manual(void);
void storage_memory_run(struct storage *s, int64_t now_ms);

/* Simulates the restore of a backup of that revision while the store is in use. Leases stay. */
enum {
	/* watches end with STORAGE_RESTORED; otherwise they go on, and are silent until
	 * the new history has come as far */
	RESTORE_NOTICED = 1,
	RESTORE_OTHER_CLUSTER = 2, /* it has another id */
};
void storage_memory_restore(struct storage *s, int64_t revision, unsigned flags);

/* Simulates etcd with the alarm NOSPACE: puts are refused, pure deletions are not. */
void storage_memory_set_full(struct storage *s, bool is_full);

#endif
