/* etcd's semantics in memory, for tests: revisions, ranged guards, watches from old revisions, compaction, leases. */
#ifndef STORAGE_MEMORY_H
#define STORAGE_MEMORY_H

#include "storage/storage.h"

struct storage *storage_memory_new(void);

#endif
