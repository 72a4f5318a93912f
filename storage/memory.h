/* etcd's semantics in memory, for tests: revisions, ranged guards, watches from old revisions, compaction, leases. */
#ifndef STORAGE_MEMORY_H
#define STORAGE_MEMORY_H

#include "storage/storage.h"

struct storage *storage_memory_new(void);
/* One without a thread or a clock: nothing happens but in storage_memory_run(), which carries out, and calls back for, all that was submitted, the
 * time being now_ms. For tests that decide on the order of everything; by one thread. */
struct storage *storage_memory_new_manual(void);
void storage_memory_run(struct storage *s, int64_t now_ms);

#endif
