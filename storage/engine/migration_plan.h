/* Decides the fate of a StorageMigration and the contents of a StorageVersion, without I/O. */
#ifndef STORAGE_ENGINE_MIGRATION_PLAN_H
#define STORAGE_ENGINE_MIGRATION_PLAN_H

#include "api/model/kind.h"
#include "api/rules/spec_status.h"
#include "storage/cache/cache.h"
#include "storage/engine/agreement.h"

enum migration_step {
	MIGRATION_LEAVE, /* the migration has ended, or is being deleted */
	MIGRATION_WAIT,  /* wait, and report the reason in the status */
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

/* The facts about its resource now. */
struct migration_facts {
	const struct kind *kind; /* NULL: this server stores no such thing */
	enum storage_migration mode;
	const struct version
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

/* The outcome of a step, for the status. */
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

/* ---- replicas, objects, and the StorageVersion of a kind ---- */

/* Returns whether the kind has a StorageVersion: it is stored, and a server of that sort serves one
 * of its versions. */
bool kind_has_version(const struct kind *k, bool is_standalone);
/* The version that all replicas of the view write, but for those that do not write the kind. NULL: they differ, or one cannot be understood. */
const struct version *view_common(const struct agreement_view *v, const struct kind *k);
/* A sentence: which replica writes which version. */
struct str view_disagreement(const struct agreement_view *v, const struct kind *k, struct arena *a);
/* The revision at which the registrations are as the view has them. The own registration may be newer than what was read of the others; nothing happened
 * among them meanwhile. */
int64_t view_revision(const struct agreement_view *v);

/* Objects that are not stored in that version, and all. Objects of unknown versions count. */
int64_t census_others(const struct cache_census *c, const struct kind *k, const struct version *version);
int64_t census_total(const struct cache_census *c, const struct kind *k);

/* The status of the StorageVersion. old: what it is now, or NULL; common: what discovery shows a hash of, or NULL. */
struct json *version_status(const struct agreement_view *v, const struct kind *k, const struct version *common,
	const struct cache_census *census, const struct json *old, int64_t now_s, struct arena *a);
/* Do they differ in more than the numbers of objects? */
bool version_status_is_news(const struct json *status, const struct json *old);

/* ---- conditions ---- */

/* A metav1.Condition. */
/* lastTransitionTime is that of the condition of the same type in `list`, if that has the same status. */
struct json *condition_new(const struct json *list, const char *type, bool is_true, const char *reason, struct str message,
	int64_t now_s, struct arena *a);

#endif
