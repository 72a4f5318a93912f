/* Periodic compaction by kube-apiserver's protocol (k8s.io/apiserver pkg/storage/etcd3/compact.go): every interval each replica
 * tries `if version(PREFIX/compact_rev_key) == what I saw last: put current revision`; one wins and compacts etcd at the revision it
 * recorded an interval ago; the losers learn the new version, and from its value how far history reaches. */
#ifndef STORAGE_COMPACT_H
#define STORAGE_COMPACT_H

#include "storage/storage.h"

struct compactor;

struct compactor_options {
	struct storage *storage;
	struct str prefix;
	int64_t interval_ms;          /* 0: never compact by itself (tests, --etcd-compaction-interval=0) */
	/* Called from the completion thread when this or another replica has compacted at `revision`. May be NULL. */
	void (*on_compacted)(void *ctx, int64_t revision);
	void *ctx;
};

struct compactor *compactor_new(const struct compactor_options *options);
/* Waits for a round under way, so: before the store is freed, and not on its completion thread. */
struct compactor *compactor_free(struct compactor *c);
/* One round now, for tests and the debug hook: both halves, compacting at the present revision. done as in storage.h. */
void compactor_run_now(struct compactor *c, void (*done)(void *ctx, enum storage_result r, int64_t revision), void *ctx);

#endif
