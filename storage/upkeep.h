/* Upkeep of etcd by two threads: one compacts its history, the other watches its alarms and its
 * size. */
#ifndef STORAGE_UPKEEP_H
#define STORAGE_UPKEEP_H

#include "base/buf.h"
#include "storage/storage.h"

/* Periodic compaction by kube-apiserver's protocol (k8s.io/apiserver
 * pkg/storage/etcd3/compact.go). Every interval each replica tries `if
 * version(PREFIX/compact_rev_key) == what I saw last: put current revision`. One wins and
 * compacts etcd at the revision it recorded an interval ago. The losers learn the new version,
 * and from its value how far history reaches. */
struct compactor;

struct compactor_options {
	struct storage *storage;
	struct str prefix;
	int64_t interval_ms; /* 0: never compact by itself (tests, --etcd-compaction-interval=0) */
	/* Called from the completion thread when this or another replica has compacted at `revision`. May be NULL. */
	void (*on_compacted)(void *ctx, int64_t revision);
	void *ctx;
};

struct compactor *compactor_new(const struct compactor_options *options);
/* Waits for a round under way. So call it before the store is freed, and not on its completion
 * thread. */
struct compactor *compactor_free(struct compactor *c);
/* Runs one round now, for tests and the debug hook: both halves, compacting at the present
 * revision. done as in storage.h. */
void compactor_run_now(struct compactor *c, void (*done)(void *ctx, enum storage_result r, int64_t revision), void *ctx);

/* Watches etcd's alarms and size: logs, metrics and /readyz say that etcd refuses to write, and
 * why. It asks a member for its status every few seconds, which is neither a write nor a quorum
 * read; every member's state has the alarms. */
struct alarms;

struct alarms_options {
	struct storage *storage; /* outlives the alarms */
	int64_t interval_ms;     /* 0: 5,000 */
	bool is_in_memory;       /* not etcd: other remedies are named */
	/* Reports that an alarm has begun, or is over: a sentence. On a thread of its own. May
	 * be NULL. */
	void (*on_notice)(void *ctx, bool is_trouble, struct str text);
	void *ctx;
};

struct alarms *alarms_new(const struct alarms_options *options);
struct alarms *alarms_free(struct alarms *a);
/* Explains the first active alarm to people; NULL: there is none. The text is static. Any
 * thread. */
const char *alarms_explain(const struct alarms *a);
void alarms_write_metrics(const struct alarms *a, struct buf *out);

#endif
