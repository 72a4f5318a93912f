/* etcd's semantics in memory: revisions, ranged guards, watches from old revisions, compaction, leases. Of tests, and of servers that
 * are to keep nothing (`annals up --store=memory`). */
#ifndef STORAGE_MEMORY_MEMORY_H
#define STORAGE_MEMORY_MEMORY_H

#include "storage/storage.h"

struct storage *storage_memory_new(void); /* without a limit */
/* One that keeps at most so many bytes: keys, values, and their history, with what is around each. A put that has no room makes some: the oldest
 * history is compacted, as much as is needed. What has no room even then is answered as by etcd with the alarm NOSPACE, which ends by
 * itself when there is room again. Deletions are never refused. */
struct storage *storage_memory_new_limited(int64_t limit);
/* One without a thread or a clock: nothing happens but in storage_memory_run(), which carries out, and calls back for, all that was submitted, the
 * time being now_ms. For tests that decide on the order of everything; by one thread. */
struct storage *storage_memory_new_manual(void);
void storage_memory_run(struct storage *s, int64_t now_ms);

/* As if a backup of that revision had been restored under everybody's feet. Leases stay. */
enum {
	RESTORE_NOTICED =
		1, /* watches end with STORAGE_RESTORED; else they go on, and say nothing before the new history has come as far */
	RESTORE_OTHER_CLUSTER = 2, /* it has another id */
};
void storage_memory_restore(struct storage *s, int64_t revision, unsigned flags);

/* As etcd with the alarm NOSPACE: what puts is refused, what only deletes is not. */
void storage_memory_set_full(struct storage *s, bool is_full);

#endif
