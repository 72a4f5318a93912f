/* The order of questions is what a StorageMigration says: what can never succeed fails before
 * anything is waited for, and what waits says for what. Nothing here knows of etcd, the cache or
 * time but as facts: each case is a row in a unit test. */
#include "migration/migration_plan.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "migration/migration_condition.h"

#include <inttypes.h>

#define US_PER_S 1000000

/* ---- reading ---- */

static bool is_true(const struct json *conditions, const char *type)
{
	return str_is(member_text(condition_find(conditions, type), "status"), "True");
}

void migration_read(struct migration *ret, const struct object *o)
{
	const struct json *resource = json_gets(json_gets(o->fields, "spec"), "resource");
	const struct json *status = json_gets(o->fields, "status"), *conditions = json_gets(status, "conditions");

	*ret = (struct migration){
		.name = o->meta.name,
		.uid = o->meta.uid,
		.group = member_text(resource, "group"),
		.resource = member_text(resource, "resource"),
		.is_deleting = meta_is_deleting(&o->meta),
		.has_ended = is_true(conditions, "Succeeded") || is_true(conditions, "Failed"),
		.is_running = is_true(conditions, "Running"),
		.is_superseded =
			str_is(member_text(condition_find(conditions, "Failed"), "reason"), MIGRATION_REASON_SUPERSEDED),
		.version = member_text(status, "storageVersion"),
		.n_migrated = member_int(json_gets(status, "objects"), "migrated"),
		.n_conflicts = member_int(json_gets(status, "objects"), "conflicts"),
		.progress = member_text(status, "progressKey"),
		.completion_time = member_text(status, "completionTime"),
		.status = status,
	};
}

/* ---- deciding ---- */

static struct migration_verdict fail(const char *reason, struct str message)
{
	return (struct migration_verdict){MIGRATION_FAIL, reason, message};
}

static struct migration_verdict wait_for(const char *reason, struct str message)
{
	return (struct migration_verdict){MIGRATION_WAIT, reason, message};
}

struct migration_verdict migration_decide(const struct migration *m, const struct migration_facts *f, struct arena *a)
{
	if (m->has_ended || m->is_deleting) {
		return (struct migration_verdict){.step = MIGRATION_LEAVE};
	}
	if (!f->kind) {
		return fail(MIGRATION_REASON_FAILED, STR("no objects of such a resource are stored here"));
	}
	if (f->mode == STORAGE_MIGRATION_OFF) {
		return wait_for(
			"MigrationOff", STR("the server whose turn it is to migrate runs with --storage-migration=Off"));
	}
	if (f->n_unknown > 0) {
		return fail(MIGRATION_REASON_FAILED,
			arena_printf(a,
				"%" PRId64 " objects are stored in versions that this server does not know, such as " STR_FMT
				": they must be migrated by a server that does",
				f->n_unknown, STR_ARG(f->unknown)));
	}
	if (!f->common) {
		return wait_for("StorageVersionsDiffer", f->disagreement);
	}
	struct str version = door_api_version(f->common, a);
	if (m->version.n && !str_eq(m->version, version)) {
		return fail(MIGRATION_REASON_SUPERSEDED,
			arena_printf(a, "it began to store objects in " STR_FMT ", and now all replicas store " STR_FMT,
				STR_ARG(m->version), STR_ARG(version)));
	}
	return (struct migration_verdict){MIGRATION_RUN, MIGRATION_REASON_RUNNING, STR("")};
}

/* What has failed because of objects fails again: not at once. Replicas that have changed their minds may do so again. A time to come is that of a clock
 * which was wrong, or is: it says nothing. */
static bool is_too_early(const struct migration_facts *f, const struct migration *failed, int64_t now_s)
{
	struct arena a;
	int64_t ended_us;

	if (!failed || failed->is_superseded || !time_parse_rfc3339(failed->completion_time, &ended_us)) {
		return false;
	}
	arena_init(&a, SIZE_MAX);
	bool is_same = str_eq(failed->version, door_api_version(f->common, &a));
	arena_done(&a);
	int64_t since_s = now_s - ended_us / US_PER_S;
	return is_same && since_s >= 0 && since_s < MIGRATION_RETRY_S;
}

bool migration_is_due(const struct migration_facts *f, const struct migration *failed, int64_t now_s)
{
	return f->mode == STORAGE_MIGRATION_AUTO && f->kind && f->common && f->n_others > 0 && f->n_unknown == 0 &&
		!is_too_early(f, failed, now_s);
}

/* ---- saying ---- */

/* A migration that ended says so in two conditions: it does not run any more, and why. */
static struct json *conditions(const struct json *old, const struct migration_report *r, int64_t now_s, struct arena *a)
{
	static const struct {
		const char *reason, *type;
	} states[] = {
		[MIGRATION_WAITING] = {NULL, NULL},
		[MIGRATION_RUNNING] = {MIGRATION_REASON_RUNNING, NULL},
		[MIGRATION_SUCCEEDED] = {MIGRATION_REASON_SUCCEEDED, "Succeeded"},
		[MIGRATION_FAILED] = {MIGRATION_REASON_FAILED, "Failed"},
	};
	const char *reason = r->reason ? r->reason : states[r->state].reason, *type = states[r->state].type;
	struct json *list = json_array(a);

	json_append(a, list, condition_new(old, "Running", r->state == MIGRATION_RUNNING, reason, r->message, now_s, a));
	if (type) {
		json_append(a, list, condition_new(old, type, true, reason, r->message, now_s, a));
	}
	return list;
}

static struct json *objects(const struct migration_report *r, struct arena *a)
{
	struct json *o = json_object(a);

	json_add(a, o, STR("total"), json_int(a, r->n_total));
	json_add(a, o, STR("migrated"), json_int(a, r->n_migrated));
	json_add(a, o, STR("remaining"), json_int(a, r->n_remaining));
	json_add(a, o, STR("conflicts"), json_int(a, r->n_conflicts));
	return o;
}

static void add_time(struct json *o, const char *name, struct str known, bool is_now, int64_t now_s, struct arena *a)
{
	char now[TIME_RFC3339_SIZE];

	time_format_rfc3339(now, now_s);
	json_add_text(a, o, str_of(name), known.n || !is_now ? known : arena_dup(a, str_of(now)));
}

struct json *migration_status(const struct migration *m, const struct migration_report *r, int64_t now_s, struct arena *a)
{
	struct json *status = json_object(a);
	bool has_ended = r->state == MIGRATION_SUCCEEDED || r->state == MIGRATION_FAILED;

	json_add(a, status, STR("conditions"), conditions(json_gets(m->status, "conditions"), r, now_s, a));
	json_add_text(a, status, STR("storageVersion"), r->version);
	json_add(a, status, STR("objects"), objects(r, a));
	json_add_text(a, status, STR("progressKey"), has_ended ? STR("") : r->progress);
	add_time(status, "startTime", member_text(m->status, "startTime"), r->state == MIGRATION_RUNNING, now_s, a);
	add_time(status, "completionTime", STR(""), has_ended, now_s, a);
	return status;
}
