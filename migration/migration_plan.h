/* What becomes of a StorageMigration: decisions, without I/O. */
#ifndef MIGRATION_MIGRATION_PLAN_H
#define MIGRATION_MIGRATION_PLAN_H

#include "api/model/storage_version.h"

enum migration_step {
	MIGRATION_LEAVE, /* it has ended, or is being deleted */
	MIGRATION_WAIT,  /* and say for what */
	MIGRATION_RUN,
	MIGRATION_FAIL,
};

/* A StorageMigration, read. Texts are the object's. */
struct migration {
	struct str name, uid, group, resource;
	bool is_deleting, has_ended, is_running;
	bool is_superseded; /* has failed because replicas then stored another version */
	struct str version; /* it has begun, to store objects in that; empty: it has not */
	int64_t n_migrated, n_conflicts;
	struct str progress;
	struct str completion_time;
	const struct json *status;
};
void migration_read(struct migration *ret, const struct object *o);

/* What is true of its resource now. */
struct migration_facts {
	const struct kind *kind; /* NULL: this server stores no such thing */
	enum storage_migration mode;
	const struct door
		*common; /* what all replicas store; NULL: they do not agree, for which `disagreement` is a sentence */
	struct str disagreement;
	int64_t n_total, n_others; /* objects, and those that are stored in another version than common */
	int64_t n_unknown;         /* of these: in versions that this server does not know, such as `unknown` */
	struct str unknown;
};

/* A step, and for conditions the reason and sentence. */
struct migration_verdict {
	enum migration_step step;
	const char *reason;
	struct str message;
};
struct migration_verdict migration_decide(const struct migration *m, const struct migration_facts *f, struct arena *a);

/* Should there be one where none is under way? failed: the latest that has failed, or NULL. */
bool migration_is_due(const struct migration_facts *f, const struct migration *failed, int64_t now_s);
enum { MIGRATION_RETRY_S = 300, MIGRATIONS_KEPT = 5 };

/* What is to be said of it: the end of a step. */
enum migration_state { MIGRATION_WAITING, MIGRATION_RUNNING, MIGRATION_SUCCEEDED, MIGRATION_FAILED };
struct migration_report {
	enum migration_state state;
	const char *reason; /* of Running and its end; NULL: upstream's */
	struct str message;
	struct str version;
	int64_t n_total, n_migrated, n_remaining, n_conflicts;
	struct str progress;
};
/* Upstream's reasons (kubernetes pkg/controller/storageversionmigrator). */
#define MIGRATION_REASON_RUNNING "StorageVersionMigrationInProgress"
#define MIGRATION_REASON_SUCCEEDED "StorageVersionMigrationSucceeded"
#define MIGRATION_REASON_FAILED "StorageVersionMigrationFailed"
#define MIGRATION_REASON_SUPERSEDED "StorageVersionChanged" /* ours */
struct json *migration_status(const struct migration *m, const struct migration_report *r, int64_t now_s, struct arena *a);

#endif
