/* The migrator from inside. Its thread owns all of it, but for the members that are marked. */
#ifndef STORAGE_ENGINE_MIGRATOR_PRIVATE_H
#define STORAGE_ENGINE_MIGRATOR_PRIVATE_H

#include "storage/engine/migration_plan.h"
#include "storage/engine/migrator.h"
#include "storage/engine/plan.h"

#include <pthread.h>

enum {
	STORE_TIMEOUT_MS = 5000,
	MIGRATION_TEXT_MAX = 4096, /* of one sentence */
};

enum { FIELD_GROUP, FIELD_RESOURCE, FIELD_STATE, FIELDS };

/* The place of a kind among counts: one for all kinds that definitions describe. */
enum { SLOT_CUSTOM = KIND_COUNT_MAX, SLOTS };
static inline size_t migration_slot(const struct kind *k)
{
	return k->life ? SLOT_CUSTOM : k->index;
}

/* Counted for /metrics. */
struct migration_counts {
	_Atomic uint64_t n_rewritten[SLOTS], n_conflicts[SLOTS];
	_Atomic uint64_t n_rounds, n_looks; /* rounds of the thread, and those in which it looked at everything */
	_Atomic uint64_t n_batches, n_succeeded, n_failed, running_ms;
	_Atomic bool is_holding, is_running;
};

/* Objects that stay as they are, in this pass. */
struct run_left {
	int64_t n;
	struct buf first; /* NAMESPACE/NAME of the first */
};

/* The migration that is being carried out. */
struct run {
	struct arena arena; /* of its texts */
	struct str name, uid;
	const struct kind *kind; /* a reference; NULL: none is */
	const struct version *version;
	struct buf at;               /* NAMESPACE/NAME of the last object that is done with; empty: none yet */
	struct run_left oversized;   /* which etcd refused for their size */
	struct run_left unencodable; /* which cannot be read, or said in the version */
	int64_t n_moved;             /* rewritten or conflicting in this pass */
	int64_t n_migrated, n_conflicts;
	bool is_automatic; /* nobody has asked for it, so no object may lose a field */
	bool is_at_end;    /* of a pass */
	bool is_stalled; /* etcd refuses to write: the log says so */
	int64_t next_ms, recorded_ms, since_ms;
};

struct migrator {
	struct migrator_options options;
	const struct kind *versions, *migrations; /* our own */
	const struct kind *definitions;           /* of CustomResourceDefinitions */
	struct kinds *defined;                    /* the kinds that definitions describe, while everything is looked at */
	size_t fields[FIELDS];                    /* where a StorageMigration's are among struct cached's values */
	struct arena arena;
	struct str lock_key, replicas_key, replicas_end;
	struct migration_counts counts;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* of these, which other threads set */
	pthread_cond_t wake;
	bool is_stopping, is_notified;

	int64_t lock_revision, lock_lease; /* of PREFIX/migrator; 0: somebody else has it */
	int64_t lock_at_ms;                /* when to try again */
	int64_t migrations_at_ms;          /* when to look at everything again */
	int64_t sweep_at_ms;               /* when to look for bases that no object uses */
	int64_t looked_at;                 /* the cache's revision before everything was looked at last */
	bool has_rest;                     /* that look left something to be written later */
	int64_t wrote;                     /* the revision of our last write of a StorageVersion or StorageMigration */
	bool is_unsure;                    /* whether the last one was carried out, or etcd is there */
	int64_t reported_ms[KIND_COUNT_MAX],
		report_wait_ms[KIND_COUNT_MAX]; /* when, and until the next one that is about numbers */
	bool is_report_due[KIND_COUNT_MAX];     /* although only numbers have changed */
	struct run run;
};

void migrator_notice(struct migrator *m, bool is_trouble, const char *format, ...) _printf_(3, 4);
bool migrator_is_stopping(struct migrator *m);
/* Asked between two writes of many: is it still our turn, may we go on, was the last write answered, and does the cache show it? So a round waits for an
 * etcd that does not answer only once. */
bool migrator_goes_on(struct migrator *m);

/* ---- migrator.c: whose turn it is ---- */

bool migrator_lock_take(struct migrator *m); /* is PREFIX/migrator ours? Tries to have it so */
void migrator_lock_lose(struct migrator *m); /* somebody else has it */
void migrator_lock_give_up(struct migrator *m);
/* Guards a plan: that it is still our turn. The number of a look, for migrator_lock_judge(). The plan has a change already. */
size_t migrator_lock_guard(const struct migrator *m, struct plan *p);
/* plan_judge(), after a look at whose turn it is: PLAN_REFUSED where it is not ours any more, which has been noted. */
enum plan_outcome migrator_lock_judge(struct migrator *m, const struct plan *p, size_t look);
/* The cache has come to this revision, or (0) to where etcd is now. */
bool migrator_lock_await_cache(struct migrator *m, int64_t revision);

/* ---- migrator.c: our own objects ---- */

/* An object of one of our kinds, decoded from the cache, with another status. old: NULL creates it. */
struct record {
	const struct kind *kind;
	const struct cached *old;
	struct str name;           /* of a new one; with a dash at its end it is completed */
	const char *label, *value; /* of a new one; NULL: none */
	const struct json *spec;   /* of a new one; NULL: none */
	const struct json *status;
	const struct storage_compare *guard; /* one more; NULL: none */
};
/* Returns false if it was not written: somebody has changed it, it is not our turn any more, or etcd did not answer. Look again later. */
bool record_put(struct migrator *m, const struct record *r, struct arena *a);
bool record_remove(struct migrator *m, const struct cached *old, struct arena *a);

/* ---- migrations.c: StorageVersions ---- */

void reports_update(struct migrator *m, const struct agreement_view *view, struct arena *a);

/* ---- migrations.c: StorageMigrations ---- */

void migrations_tend(struct migrator *m, const struct agreement_view *view, struct arena *a);
/* Has a user asked for the present run? Of a kind that a definition describes, its stored versions are settled then. */
bool migrations_are_settled(struct migrator *m);
/* Says how far the present run is, or that it has ended, and ends it then. guard as in struct record. */
bool migrations_report(struct migrator *m, enum migration_state state, struct str message, const struct storage_compare *guard);

/* ---- rewrite.c ---- */

void run_begin(struct migrator *m, const struct migration *what, const struct migration_facts *f, bool is_automatic);
void run_end(struct migrator *m);
void run_step(struct migrator *m);

#endif
