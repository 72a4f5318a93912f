/* The migrator has objects stored in the version that all replicas write, and publishes which
 * version that is.
 *
 * Every replica has one. The one that holds PREFIX/migrator, under the lease of its registration,
 * works. Each of its transactions is guarded by that key and by its registration, so etcd refuses
 * the transactions of a migrator that has lost either. The migrator
 *
 * - keeps a StorageVersion for each kind, in any mode;
 * - Auto: makes a StorageMigration when all replicas agree and objects are stored otherwise;
 * - Auto and Manual: carries out StorageMigrations. It puts an object in the other version,
 *   otherwise unchanged, if nobody has changed it since. Neither generation nor managed fields
 *   move, and immutable objects are no exception.
 *
 * A migration succeeds when the cache, as fresh as etcd, shows no object in another version. A last
 * transaction must also prove that no replica has changed what it writes since all agreed. A
 * migration may stop anywhere, and another replica may take it up: its reported progress is never
 * ahead of the work done.
 *
 * The migrator has one thread of its own, which blocks on the store.
 */
#ifndef STORAGE_ENGINE_MIGRATOR_H
#define STORAGE_ENGINE_MIGRATOR_H

#include "api/model/storage_version.h"
#include "storage/cache/cache.h"
#include "storage/engine/agreement.h"

struct migrator;

struct migrator_options {
	struct storage *storage; /* these three outlive the migrator */
	struct cache *cache;
	struct agreement *agreement;
	struct str prefix;  /* "/annals" */
	bool is_standalone; /* which kinds and versions there are */
	enum storage_migration mode;
	int64_t rate;      /* objects a second; 0: no limit */
	bool is_plain;     /* values in compressed form are rewritten as plain text, in every mode */
	int64_t poll_ms;   /* between two looks when nothing is said; 0: 1,000 */
	int64_t report_ms; /* at most, between two StorageVersions of a kind that differ in numbers only; 0: 10,000 */
	/* For logs: one sentence. The migrator's thread. NULL: nothing. */
	void (*on_notice)(void *ctx, bool is_trouble, struct str text);
	void *ctx;
};

struct migrator *migrator_new(const struct migrator_options *options); /* starts */
struct migrator *migrator_free(struct migrator *m);                    /* lets go of PREFIX/migrator */
void migrator_notify(struct migrator *m); /* what the agreement says may have changed. Any thread; does not block */
void migrator_write_metrics(struct migrator *m, struct buf *out);

#endif
