/* Decides the conditions of a StorageMigration by the order of questions. A migration that can
 * never succeed fails before it waits for anything, and a waiting one says what it waits for.
 * Replicas are judged by one view, and stored objects by one census. If one replica cannot be
 * understood, the replicas have no version in common: that one may write anything. Nothing here
 * reads etcd, the cache or a clock, so each case is a row in a unit test. */
#include "storage/engine/migration_plan.h"
#include "api/model/members.h"
#include "api/model/storage_version.h"
#include "base/clock.h"
#include "storage/engine/agreement_table.h"

#include <inttypes.h>

#define US_PER_S 1000000

/* ---- reading ---- */

static bool is_true(const struct json *conditions, const char *type)
{
	return str_is(member_text(condition_find(conditions, type), "status"), "True");
}

void migration_read(struct migration *ret, const struct object *o)
{
	const struct json *resource = json_gets(object_spec(o), "resource");
	const struct json *status = object_status(o), *conditions = json_gets(status, "conditions");

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

static struct migration_verdict verdict_fail(const char *reason, struct str message)
{
	return (struct migration_verdict){MIGRATION_FAIL, reason, message};
}

static struct migration_verdict verdict_wait(const char *reason, struct str message)
{
	return (struct migration_verdict){MIGRATION_WAIT, reason, message};
}

struct migration_verdict migration_decide(const struct migration *m, const struct migration_facts *f, struct arena *a)
{
	if (m->has_ended || m->is_deleting) {
		return (struct migration_verdict){.step = MIGRATION_LEAVE};
	}
	if (!f->kind) {
		return verdict_fail(MIGRATION_REASON_FAILED, STR("no objects of such a resource are stored here"));
	}
	if (f->kind->hook) {
		return verdict_fail(MIGRATION_REASON_FAILED,
			STR("a webhook converts these objects, and the migrator asks none: a write of each object stores it in the new version"));
	}
	if (f->mode == STORAGE_MIGRATION_OFF) {
		return verdict_wait(
			"MigrationOff", STR("the server whose turn it is to migrate runs with --storage-migration=Off"));
	}
	if (f->n_unknown > 0) {
		return verdict_fail(MIGRATION_REASON_FAILED,
			arena_printf(a,
				"%" PRId64 " objects are stored in versions that this server does not know, such as " STR_FMT
				": they must be migrated by a server that does",
				f->n_unknown, STR_ARG(f->unknown)));
	}
	if (!f->common) {
		return verdict_wait("StorageVersionsDiffer", f->disagreement);
	}
	struct str version = version_api_version(f->common, a);
	if (m->version.n && !str_eq(m->version, version)) {
		return verdict_fail(MIGRATION_REASON_SUPERSEDED,
			arena_printf(a, "it began to store objects in " STR_FMT ", and now all replicas store " STR_FMT,
				STR_ARG(m->version), STR_ARG(version)));
	}
	return (struct migration_verdict){MIGRATION_RUN, MIGRATION_REASON_RUNNING, STR("")};
}

/* A migration that failed because of objects would fail again, so the next one waits. One that was superseded need not wait. An end in the future was
 * noted by a clock that was wrong, or ours is: it counts for nothing. */
static bool is_too_early(const struct migration_facts *f, const struct migration *failed, int64_t now_s)
{
	struct arena a;
	int64_t ended_us;

	if (!failed || failed->is_superseded || !time_parse_rfc3339(failed->completion_time, &ended_us)) {
		return false;
	}
	arena_init(&a, SIZE_MAX);
	bool is_same = str_eq(failed->version, version_api_version(f->common, &a));
	arena_done(&a);
	int64_t since_s = now_s - ended_us / US_PER_S;
	return is_same && since_s >= 0 && since_s < MIGRATION_RETRY_S;
}

bool migration_is_due(const struct migration_facts *f, const struct migration *failed, int64_t now_s)
{
	return f->mode == STORAGE_MIGRATION_AUTO && f->kind && !f->kind->hook && f->common && f->n_others > 0 && f->n_unknown == 0 &&
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

/* ---- conditions ---- */

/* By the API's conventions lastTransitionTime changes when the status does, and stays when only
 * reason or message change. */
struct json *condition_new(const struct json *list, const char *type, bool is_true, const char *reason, struct str message,
	int64_t now_s, struct arena *a)
{
	const struct json *old = condition_find(list, type);
	struct str status = is_true ? STR("True") : STR("False"), since = member_text(old, "lastTransitionTime");
	struct json *c = json_object(a);

	if (!str_eq(member_text(old, "status"), status)) {
		char now[TIME_RFC3339_SIZE];
		time_format_rfc3339(now, now_s);
		since = arena_dup(a, str_of(now));
	}
	json_add(a, c, STR("type"), json_string(a, str_of(type)));
	json_add(a, c, STR("status"), json_string(a, status));
	json_add(a, c, STR("lastTransitionTime"), json_string(a, since));
	json_add(a, c, STR("reason"), json_string(a, str_of(reason)));
	json_add(a, c, STR("message"), json_string(a, message));
	return c;
}

/* ---- the kind ---- */

/* In a sentence for people, which has a ceiling in bytes besides. There may be 64 replicas. */
enum { REPLICAS_NAMED = 8, SENTENCE_MAX = 4096 };

bool kind_has_version(const struct kind *k, bool is_standalone)
{
	for (size_t i = 0; i < k->n_versions && kind_is_stored(k); i++) {
		if (version_is_visible(&k->versions[i], is_standalone)) {
			return true;
		}
	}
	return false;
}

/* ---- replicas ---- */

static bool knows(const struct agreement_version *v)
{
	return v->n_decodes > 0;
}

/* A replica that does not write the kind does not matter, unless its version is unknown. */
const struct version *view_common(const struct agreement_view *v, const struct kind *k)
{
	struct str common = {NULL, 0};

	for (size_t i = 0; i < v->n_replicas; i++) {
		struct str encodes = v->replicas[i].versions[k->index].encodes;
		if (v->replicas[i].problem.n || (common.n && encodes.n && !str_eq(common, encodes))) {
			return NULL;
		}
		common = encodes.n ? encodes : common;
	}
	return common.n && !v->is_overfull ? kind_version(k, common) : NULL;
}

static void write_writer(const struct agreement_replica *r, const struct kind *k, struct buf *out)
{
	struct str encodes = r->versions[k->index].encodes;

	agreement_write_name(r, out);
	if (r->problem.n) {
		buf_printf(out, " cannot be understood: " STR_FMT, STR_ARG(r->problem));
	} else {
		buf_printf(out, " stores " STR_FMT, STR_ARG(encodes.n ? encodes : STR("none")));
	}
}

struct str view_disagreement(const struct agreement_view *v, const struct kind *k, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;
	size_t n = 0;

	buf_init(&text, SENTENCE_MAX);
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		if ((r->problem.n || knows(&r->versions[k->index])) && n++ < REPLICAS_NAMED) {
			buf_adds(&text, n > 1 ? ", " : "");
			write_writer(r, k, &text);
		}
	}
	if (n > REPLICAS_NAMED) {
		buf_printf(&text, ", and %zu more", n - REPLICAS_NAMED);
	}
	return n ? arena_dup(a, buf_str(&text)) : STR("no server is registered");
}

int64_t view_revision(const struct agreement_view *v)
{
	int64_t revision = v->revision;

	for (size_t i = 0; i < v->n_replicas; i++) {
		revision = MAX(revision, v->replicas[i].mod_revision);
	}
	return revision;
}

/* ---- objects ---- */

int64_t census_total(const struct cache_census *c, const struct kind *k)
{
	size_t n = c->n_unknown;

	for (size_t i = 0; i < k->n_versions; i++) {
		n += c->stored[i];
	}
	return (int64_t)n;
}

int64_t census_others(const struct cache_census *c, const struct kind *k, const struct version *version)
{
	return census_total(c, k) - (int64_t)c->stored[version - k->versions];
}

/* ---- the StorageVersion ---- */

static void add_texts(struct json *object, const char *name, const struct str *texts, size_t n, struct arena *a)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < n; i++) {
		json_append(a, list, json_string(a, texts[i]));
	}
	if (n) {
		json_add(a, object, str_of(name), list);
	}
}

static struct json *server_version(const struct agreement_replica *r, const struct agreement_version *v, struct arena *a)
{
	struct json *server = json_object(a);

	json_add(a, server, STR("apiServerID"), json_string(a, r->id));
	json_add_text(a, server, STR("address"), r->address);
	json_add_text(a, server, STR("encodingVersion"), v->encodes);
	json_add_text(a, server, STR("wantedVersion"), str_eq(v->wants, v->encodes) ? STR("") : v->wants);
	add_texts(server, "decodableVersions", v->decodes, v->n_decodes, a);
	add_texts(server, "servedVersions", v->serves, v->n_serves, a);
	return server;
}

static struct json *server_versions(const struct agreement_view *v, const struct kind *k, struct arena *a)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_version *each = &v->replicas[i].versions[k->index];
		if (knows(each)) {
			json_append(a, list, server_version(&v->replicas[i], each, a));
		}
	}
	return list;
}

static void add_count(struct json *list, struct str version, size_t n, struct arena *a)
{
	struct json *count = json_object(a);

	if (n) {
		json_add(a, count, STR("version"), json_string(a, version));
		json_add(a, count, STR("count"), json_int(a, (int64_t)n));
		json_append(a, list, count);
	}
}

static struct json *stored_objects(const struct cache_census *c, const struct kind *k, struct arena *a)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < k->n_versions; i++) {
		add_count(list, version_api_version(&k->versions[i], a), c->stored[i], a);
	}
	add_count(list, arena_dup(a, str_of(c->unknown_version)), c->n_unknown, a);
	return list;
}

static void add_list(struct json *object, const char *name, struct json *list, struct arena *a)
{
	if (list->n) {
		json_add(a, object, str_of(name), list);
	}
}

static void add_common(struct json *status, const struct kind *k, const struct version *common, struct arena *a)
{
	char hash[STORAGE_VERSION_HASH_SIZE];

	storage_version_hash(k, common, hash);
	json_add_text(a, status, STR("commonEncodingVersion"), version_api_version(common, a));
	json_add_text(a, status, STR("storageVersionHash"), arena_dup(a, str_of(hash)));
}

/* As upstream (apiserver pkg/storageversion SetCommonEncodingVersion): lastTransitionTime moves with another common version, too. */
static struct json *equality(const struct json *old, struct str common, int64_t now_s, struct arena *a)
{
	struct str before = member_text(old, "commonEncodingVersion");
	bool is_other = common.n && before.n && !str_eq(common, before);
	const struct json *list = is_other ? NULL : json_gets(old, "conditions");

	return common.n ? condition_new(list, "AllEncodingVersionsEqual", true, "CommonEncodingVersionSet",
				  STR("Common encoding version set"), now_s, a)
			: condition_new(list, "AllEncodingVersionsEqual", false, "CommonEncodingVersionUnset",
				  STR("Common encoding version unset"), now_s, a);
}

struct json *version_status(const struct agreement_view *v, const struct kind *k, const struct version *common,
	const struct cache_census *census, const struct json *old, int64_t now_s, struct arena *a)
{
	struct json *status = json_object(a), *conditions = json_array(a);

	add_list(status, "storageVersions", server_versions(v, k, a), a);
	if (common) {
		add_common(status, k, common, a);
	}
	add_list(status, "storedObjects", stored_objects(census, k, a), a);
	json_append(a, conditions, equality(old, member_text(status, "commonEncodingVersion"), now_s, a));
	json_add(a, status, STR("conditions"), conditions);
	return status;
}

bool version_status_is_news(const struct json *status, const struct json *old)
{
	static const char *const names[] = {"storageVersions", "commonEncodingVersion", "storageVersionHash", "conditions"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!json_equal(json_gets(status, names[i]), json_gets(old, names[i]))) {
			return true;
		}
	}
	return false;
}
