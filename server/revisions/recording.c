/* POST of a Recording: what was seen of many objects is recorded, one sighting after the other.
 *
 * A sighting is decided on the History in the cache (api/diff/sighting.h). The change is written as a Snapshot would write it,
 * and the transaction proves that nobody else has written the History. If somebody has, it is decided again. Where nothing is to
 * be written, no transaction proves anything: so that is decided again behind a read index, once for all sightings of a request.
 *
 * Each sighting gets a result, and a failure of one is no failure of others. A request whose answer is lost can be sent again: what
 * was recorded is found in the History. */
#include "server/revisions/revisions.h"

#include "api/diff/keep.h"
#include "api/diff/sighting.h"
#include "api/model/history.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/respond.h"
#include "server/request/wait.h"
#include "server/write/write.h"
#include "server/write/write_recorded.h"

#include <assert.h>

enum {
	DECISIONS_MAX = 8,              /* conflicts with other writers; then the sighting is refused with the last one */
	SIGHTING_ARENA_MAX = 256 << 20, /* bytes: two states, the History, and the revision */
	RESULT_BYTES_MAX = 1 << 20,     /* bytes of one: a Status repeats what was sent */
	WAIT_FOR_WRITTEN_MS = 10000,    /* until the cache has what this request has written */
};

/* A History that this request has written: later sightings wait until the cache has that. */
struct recording_written {
	struct str ns, name;
	int64_t revision;
};

struct recording {
	struct object *sent;
	struct str manager;
	struct route route; /* of the request: q->route turns to what is written */
	const struct kind *histories, *revisions, *snapshots;
	const struct version *version; /* of snapshots */
	const struct json *sightings;
	uint32_t at;
	struct json *results;
	bool is_fresh;                        /* the cache is not older than the request */
	bool may_write_histories, may_create; /* any of them, in any namespace */
	struct recording_written written[SIGHTINGS_MAX];
	size_t n_written;

	/* The sighting under way. */
	struct arena arena;
	struct sighting sighting;
	struct history_subject subject;
	struct str ns, name; /* of the History */
	int64_t limit;
	const struct json *keep; /* NULL: the limit alone counts */
	unsigned decisions;
	enum record_step step;
	const struct json *history; /* the present History; NULL: none yet */
	struct str uid_before;      /* of an archived one: the uid that it had */
	struct object *made;        /* the new History, where there was none */
	struct write creation;
	struct snapshot_order order;
	struct snapshot *snapshot;
};

static void recording_next(struct request *q);
static void sighting_look(struct request *q);
static void fresh_waited(struct request *q);

/* ---- results ---- */

/* Texts of results must outlive the sighting. */
static struct json *result_keep(struct request *q, const struct json *result)
{
	_cleanup_(buf_done) struct buf text;
	struct json *kept = NULL;
	size_t at;

	buf_init(&text, RESULT_BYTES_MAX);
	if (!json_encode(&text, result)) {
		return NULL;
	}
	struct str copy = arena_dup(http_arena(q->x), buf_str(&text));
	return json_parse(&kept, http_arena(q->x), copy, BODY_JSON_LIMITS, &at) ? NULL : kept;
}

static struct json *result_new(struct request *q, const char *result)
{
	struct json *j = json_object(q->a);

	json_add(q->a, j, STR("result"), json_string(q->a, str_of(result)));
	return j;
}

static void result_add_history(
	struct request *q, const struct recording *r, struct json *result, struct str version, int64_t revisions, int64_t bytes)
{
	struct json *history = json_object(q->a);

	json_add(q->a, history, STR("namespace"), json_string(q->a, r->ns));
	json_add(q->a, history, STR("name"), json_string(q->a, r->name));
	json_add(q->a, history, STR("resourceVersion"), json_string(q->a, version));
	json_add(q->a, history, STR("revisions"), json_int(q->a, revisions));
	json_add(q->a, history, STR("bytes"), json_int(q->a, bytes));
	json_add(q->a, result, STR("history"), history);
}

/* The sighting under way is over. */
static void sighting_settle(struct request *q, struct recording *r, const struct json *result)
{
	struct json *kept = result_keep(q, result);

	if (!kept) {
		kept = json_object(http_arena(q->x));
		json_add(http_arena(q->x), kept, STR("result"), json_string(http_arena(q->x), STR("Refused")));
	}
	json_append(http_arena(q->x), r->results, kept);
	/* Warnings may point into what the next sighting drops. */
	write_keep_warnings(q, 0, http_arena(q->x));
	r->at++;
}

/* q->st says why. */
static void sighting_refuse(struct request *q, struct recording *r)
{
	struct json *result = result_new(q, "Refused");

	assert(q->st.code != 0);
	json_add(q->a, result, STR("error"), status_to_json(&q->st, q->a));
	sighting_settle(q, r, result);
}

static struct json *revision_json(struct request *q, struct str name, int64_t number)
{
	struct json *revision = json_object(q->a);

	json_add(q->a, revision, STR("name"), json_string(q->a, name));
	json_add(q->a, revision, STR("revision"), json_int(q->a, number));
	return revision;
}

/* listed: the change that lists the sighting; NULL: the History has the same state, or there is nothing to record. */
static struct json *equal_result(struct request *q, const struct recording *r, const struct json *listed)
{
	struct json *result = result_new(q, "Equal");
	const struct json *status = json_gets(r->history, "status"), *revision = json_gets(status, "revision");
	struct str name = listed ? member_text(listed, "revision") : member_text(revision, "name");
	int64_t number = listed ? member_int(listed, "number") : member_int(revision, "revision");

	if (name.n && !r->sighting.is_gone && !r->sighting.is_released) {
		json_add(q->a, result, STR("revision"), revision_json(q, name, number));
	}
	if (r->history) {
		result_add_history(q, r, result, member_text(json_gets(r->history, "metadata"), "resourceVersion"),
			member_int(status, "revisions"), member_int(status, "bytes"));
	}
	return result;
}

static struct json *recorded_result(struct request *q, const struct recording *r, const struct json *status)
{
	struct json *result = result_new(q, "Recorded"), *revision = json_gets(status, "revision");
	const struct json *trimmed = json_gets(status, "trimmed");
	const struct json *before = json_gets(r->history, "status");
	bool is_counted = r->order.revisions >= 0;
	int64_t revisions = is_counted ? r->order.revisions : member_int(before, "revisions");
	int64_t bytes = is_counted ? r->order.bytes : member_int(before, "bytes");

	json_add(q->a, result, STR("type"), json_string(q->a, str_of(record_type(r->step))));
	if (r->step != RECORD_RERECORDED && record_skips(r->history, &r->sighting)) {
		uint64_t n = record_states_skipped(r->history, &r->sighting);
		json_add(q->a, result, STR("skipped"), json_bool(q->a, true));
		if (n > 0) {
			json_add(q->a, result, STR("skippedStates"), json_int(q->a, (int64_t)n));
		}
	}
	if (revision) {
		json_add(q->a, result, STR("revision"), revision);
	}
	if (trimmed) {
		json_add(q->a, result, STR("trimmed"), json_int(q->a, (int64_t)trimmed->n));
	}
	result_add_history(q, r, result, member_text(json_gets(status, "history"), "resourceVersion"), revisions, bytes);
	return result;
}

static struct json *trimmed_result(struct request *q, const struct recording *r, const struct json *status)
{
	const struct json *trimmed = json_gets(status, "trimmed");
	struct json *result = result_new(q, trimmed ? "Trimmed" : "Equal");

	if (trimmed) {
		json_add(q->a, result, STR("trimmed"), json_int(q->a, (int64_t)trimmed->n));
	}
	if (r->order.has_more) {
		json_add(q->a, result, STR("more"), json_bool(q->a, true));
	}
	result_add_history(
		q, r, result, member_text(json_gets(status, "history"), "resourceVersion"), r->order.revisions, r->order.bytes);
	return result;
}

/* ---- what this request has written ---- */

static struct recording_written *written_find(struct recording *r)
{
	for (size_t i = 0; i < r->n_written; i++) {
		if (str_eq(r->written[i].ns, r->ns) && str_eq(r->written[i].name, r->name)) {
			return &r->written[i];
		}
	}
	return NULL;
}

static void written_note(struct request *q, struct recording *r, int64_t revision)
{
	struct recording_written *w = written_find(r);

	if (!w) {
		assert(r->n_written < SIGHTINGS_MAX);
		w = &r->written[r->n_written++];
		w->ns = arena_dup(http_arena(q->x), r->ns);
		w->name = arena_dup(http_arena(q->x), r->name);
	}
	w->revision = revision;
}

/* ---- one request of the engine after the other ---- */

/* Ends what was set up for the write before. Callers are deep within it, so they yield, and what comes next begins on an empty
 * stack. The route is that of the request, but in the History's namespace. */
static void sighting_resume(struct request *q, struct recording *r)
{
	plan_clear(&q->plan);
	r->snapshot = snapshot_release(r->snapshot);
	q->route = r->route;
	q->route.ns = r->ns;
	q->a = &r->arena;
	q->state = r;
	status_init(&q->st, q->a);
}

static bool is_conflict(const struct request *q, const struct recording *r)
{
	bool is_of_history = str_is(q->st.kind, r->histories->resource);

	return q->st.code == 409 || (q->st.code == 404 && is_of_history && r->history);
}

/* The History is another one than was decided on; or it is refused for good. */
static void sighting_refused(struct request *q, struct recording *r)
{
	if (is_conflict(q, r) && ++r->decisions < DECISIONS_MAX && clock_mono_ms() < q->deadline_ms) {
		sighting_resume(q, r);
		request_yield(q, sighting_look);
		return;
	}
	sighting_refuse(q, r);
	sighting_resume(q, r);
	request_yield(q, recording_next);
}

/* Returns false if the wait for the cache has failed, and the sighting with it. */
static bool has_waited(struct request *q)
{
	if (q->wait.result == STORAGE_OK) {
		return true;
	}
	request_refuse_storage(q, q->wait.result, q->wait.message, false);
	sighting_refused(q, q->state);
	return false;
}

/* ---- the change ---- */

static void on_snapshot(struct request *q, struct snapshot_order *order, const struct json *status)
{
	struct recording *r = container_of(order, struct recording, order);
	int64_t revision = 0;

	if (str_to_int64(member_text(json_gets(status, "history"), "resourceVersion"), &revision)) {
		written_note(q, r, revision);
	}
	sighting_settle(q, r, order->is_trim ? trimmed_result(q, r, status) : recorded_result(q, r, status));
	sighting_resume(q, r);
	request_yield(q, recording_next);
}

static void on_snapshot_refused(struct request *q, struct snapshot_order *order)
{
	sighting_refused(q, container_of(order, struct recording, order));
}

/* Reads the state that was recorded last, if the change needs it; NULL: somebody has deleted it. Returns 1 with q->st if that is
 * not known: the change would be written without its paths, for good. */
static int read_state_before(struct request *q, const struct recording *r, const struct json **ret)
{
	struct object *whole;

	*ret = NULL;
	if (!record_needs_before(r->history, r->step)) {
		return 0;
	}
	struct str name = record_revision(r->history);
	_cleanup_(cached_unrefp) struct cached *o = cache_get(q->server->options.cache, r->revisions, r->ns, name);
	if (!o) {
		return agreed_version_check_readable(q, r->revisions);
	}
	if (cached_object(&whole, o, q->a)) {
		status_internal(&q->st, "the stored object " STR_FMT " cannot be read", STR_ARG(name));
		return 1;
	}
	*ret = json_gets(whole->fields, "data");
	return 0;
}

static struct object *decode(struct request *q, const struct kind *k, const struct version *v, const struct json *j)
{
	struct object *o = NULL;
	struct str reason;

	if (object_decode(&o, k, v, j, NULL, q->a, NULL, &reason)) {
		status_set(&q->st, 422, REASON_INVALID, "the %s cannot be made: " STR_FMT, k->kind, STR_ARG(reason));
	}
	return o;
}

static void snapshot_send(struct request *q, struct recording *r, const struct json *snapshot)
{
	q->route.kind = r->snapshots;
	q->route.version = r->version;
	struct object *sent = decode(q, r->snapshots, r->version, snapshot);
	if (!sent) {
		sighting_refused(q, r);
		return;
	}
	r->order = (struct snapshot_order){.sent = sent,
		.manager = r->manager,
		.digest = str_of(r->sighting.digest),
		.arena = q->a,
		.is_trim = r->sighting.is_unseen,
		.may_write_history = true,
		.done = on_snapshot,
		.refused = on_snapshot_refused};
	r->snapshot = snapshot_prepare(q, &r->order);
	snapshot_run(q, r->snapshot);
}

static void sighting_send(struct request *q, struct recording *r)
{
	const struct json *before;

	if (read_state_before(q, r, &before)) {
		sighting_refused(q, r);
		return;
	}
	/* The cache may be older than the revision. */
	if (!before && record_needs_before(r->history, r->step) && !r->is_fresh) {
		request_wait_fresh(q, fresh_waited);
		return;
	}
	snapshot_send(q, r, record_snapshot(r->history, r->step, &r->sighting, before, r->limit, r->keep, q->a));
}

/* ---- a new History ---- */

static struct json *history_json(
	struct request *q, const struct recording *r, struct str uid, int64_t revision, const struct json *fields)
{
	struct json *j = json_object(q->a), *metadata = json_object(q->a);
	struct json *spec = json_gets(fields, "spec"), *status = json_gets(fields, "status");

	json_add(q->a, metadata, STR("name"), json_string(q->a, r->name));
	json_add(q->a, metadata, STR("namespace"), json_string(q->a, r->ns));
	json_add(q->a, metadata, STR("uid"), json_string(q->a, arena_dup(q->a, uid)));
	json_add(q->a, metadata, STR("resourceVersion"), json_string(q->a, arena_printf(q->a, "%lld", (long long)revision)));
	json_add(q->a, j, STR("metadata"), metadata);
	if (spec) {
		json_add(q->a, j, STR("spec"), spec);
	}
	if (status) {
		json_add(q->a, j, STR("status"), status);
	}
	return j;
}

/* The right to create Histories: all of them, or those of the namespace. */
static int authorize_creation(struct request *q, struct recording *r)
{
	struct authz_attributes what = {
		.user = q->user,
		.verb = str_of(verb_name(VERB_CREATE)),
		.is_resource = true,
		.group = str_of(r->histories->versions[0].group),
		.version = str_of(r->histories->versions[0].name),
		.resource = str_of(r->histories->resource),
	};
	struct authz_verdict verdict;

	if (r->may_create) {
		return 0;
	}
	int denied = authz_check(q->server->authz, &what, &q->questions, &verdict, q->a, &q->st);
	if (denied != 1 || verdict.is_turned_away) {
		r->may_create = denied == 0;
		return denied;
	}
	status_init(&q->st, q->a);
	what.ns = r->ns;
	return authz_check(q->server->authz, &what, &q->questions, NULL, q->a, &q->st);
}

static enum decision creation_decide(struct request *q, struct write *w)
{
	struct recording *r = container_of(w, struct recording, creation);
	const struct write_rules rules = {.manager = r->manager};

	if (authorize_creation(q, r)) {
		return DECIDE_REFUSE;
	}
	if (w->present) {
		status_already_exists(&q->st, request_group(q), str_of(r->histories->resource), w->name);
		return DECIDE_REFUSE;
	}
	w->object = object_copy(r->made, q->a);
	return write_admit_create(q, w, &rules) ? DECIDE_REFUSE : DECIDE_PUT;
}

static void history_waited(struct request *q)
{
	if (has_waited(q)) {
		sighting_send(q, q->state);
	}
}

/* The snapshot needs the History in the cache. */
static void creation_finish(struct request *q, struct write *w)
{
	struct recording *r = container_of(w, struct recording, creation);
	struct str uid = arena_dup(&r->arena, write_object(q, w)->meta.uid);
	int64_t revision = w->revision;

	write_end_turn(q);
	sighting_resume(q, r);
	written_note(q, r, revision);
	r->history = history_json(q, r, uid, revision, NULL);
	request_wait_revision(q, revision, WAIT_FOR_WRITTEN_MS, history_waited);
}

static void creation_refused(struct request *q, struct write *w)
{
	sighting_refused(q, container_of(w, struct recording, creation));
}

static void history_create(struct request *q, struct recording *r)
{
	q->route.kind = r->histories;
	q->route.version = &r->histories->versions[0];
	r->made = decode(q, r->histories, q->route.version, record_history(&r->subject, r->name, r->ns, q->a));
	if (!r->made) {
		sighting_refused(q, r);
		return;
	}
	r->creation = (struct write){.name = r->name,
		.arena = &r->arena,
		.decide = creation_decide,
		.finish = creation_finish,
		.refused = creation_refused};
	write_run(q, &r->creation);
}

/* ---- deciding ---- */

static bool is_subject(const struct recording *r, const struct json *subject)
{
	return str_eq(member_text(subject, "group"), r->subject.group) &&
		str_eq(member_text(subject, "kind"), r->subject.kind) &&
		str_eq(member_text(subject, "namespace"), r->subject.namespace) &&
		str_eq(member_text(subject, "name"), r->subject.name);
}

static bool is_open(const struct cached *o, const void *deleted_field)
{
	return !str_is(cached_value(o, *(const size_t *)deleted_field), "true");
}

/* A late sighting of an object whose namespace is deleted belongs to the History that has moved into the archive
 * (server/write/write_recorded.h), unless that is complete: it lists the deletion. A new object of that name is another one, by
 * its uid. */
static struct cached *history_find_archived(struct request *q, const struct recording *r)
{
	size_t field = 0;
	struct object *whole;

	if (!r->may_write_histories || namespace_is_archive(r->ns)) {
		return NULL;
	}
	while (field < r->histories->n_selectable && strcmp(r->histories->selectable[field].path, "status.deleted") != 0) {
		field++;
	}
	assert(field < r->histories->n_selectable);
	struct cached *o = history_in_archive(q, r->ns, r->name, is_open, &field);
	if (!o || r->sighting.is_gone) {
		return o;
	}
	bool is_same = !cached_object(&whole, o, q->a) &&
		str_eq(member_text(json_gets(whole->fields, "status"), "uid"), r->sighting.uid);
	return is_same ? o : cached_unref(o);
}

/* Returns 1 with q->st. */
static int history_find(struct request *q, struct recording *r)
{
	_cleanup_(cached_unrefp) struct cached *o = cache_get(q->server->options.cache, r->histories, r->ns, r->name);
	struct object *whole;

	r->history = NULL;
	r->uid_before = STR("");
	if (!o && (o = history_find_archived(q, r))) {
		r->ns = arena_dup(&r->arena, o->ns);
		q->route.ns = r->ns;
	}
	if (!o) {
		return agreed_version_check_readable(q, r->histories);
	}
	if (cached_object(&whole, o, q->a)) {
		status_internal(&q->st, "the stored object " STR_FMT " cannot be read", STR_ARG(r->name));
		return 1;
	}
	if (!is_subject(r, json_gets(json_gets(whole->fields, "spec"), "subject"))) {
		status_set(&q->st, 422, REASON_INVALID, "histories \"" STR_FMT "\" is the history of another object",
			STR_ARG(r->name));
		return 1;
	}
	r->history = history_json(q, r, whole->meta.uid, whole->mod_revision, whole->fields);
	r->uid_before = json_text(json_get(whole->meta.annotations, ANNOTATION_ARCHIVED_UID));
	return 0;
}

static void fresh_waited(struct request *q)
{
	struct recording *r = q->state;

	if (has_waited(q)) {
		r->is_fresh = true;
		sighting_look(q);
	}
}

static void written_waited(struct request *q)
{
	if (has_waited(q)) {
		sighting_look(q);
	}
}

/* A new state gets its number and its paths from the states before it. While the History moves into the archive, some of these are
 * still where they were. */
static bool is_moving(struct request *q, const struct recording *r)
{
	struct str uid = r->uid_before;
	struct field_term term = {.path = STR("controller.uid"), .value = uid};
	struct field_selector selector = {&term, 1};
	const struct cache_filter filter = {.ns = archive_origin(r->ns), .fields = &selector};
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *all = cache_snapshot(q->server->options.cache, r->revisions);
	struct cache_iter it;

	if (!namespace_is_archive(r->ns) || !uid.n || r->step == RECORD_DELETED || r->step == RECORD_RELEASED) {
		return false;
	}
	while (strcmp(r->revisions->selectable[term.field].path, "controller.uid") != 0) {
		term.field++;
		assert((size_t)term.field < r->revisions->n_selectable);
	}
	cache_iter_init(&it, all, &filter, STR(""));
	return cache_iter_next(&it) != NULL;
}

static void sighting_finish(struct request *q, struct recording *r, const struct json *result)
{
	sighting_settle(q, r, result);
	request_yield(q, recording_next);
}

static void sighting_look(struct request *q)
{
	struct recording *r = q->state;
	const struct recording_written *written = written_find(r);

	assert(q->a == &r->arena);
	if (written && written->revision > cache_revision(q->server->options.cache)) {
		request_wait_revision(q, written->revision, WAIT_FOR_WRITTEN_MS, written_waited);
		return;
	}
	if (history_find(q, r)) {
		sighting_refused(q, r);
		return;
	}
	if (r->sighting.is_unseen && r->history) {
		snapshot_send(q, r, record_trim(r->history, r->keep, q->a));
		return;
	}
	r->step = r->sighting.is_unseen ? RECORD_NOTHING : record_decide(r->history, &r->sighting);
	const struct json *listed = record_listed(r->history, &r->sighting);
	if (r->step == RECORD_LOOK && listed) {
		r->step = RECORD_NOTHING; /* it was recorded, and others after it: its answer was lost */
	}
	bool is_write = r->step != RECORD_NOTHING && r->step != RECORD_LOOK;
	if (!is_write && !r->is_fresh) {
		request_wait_fresh(q, fresh_waited);
	} else if (r->step == RECORD_NOTHING) {
		sighting_finish(q, r, equal_result(q, r, listed));
	} else if (r->step == RECORD_LOOK) {
		sighting_finish(q, r, result_new(q, "Overtaken"));
	} else if (!r->history) {
		history_create(q, r);
	} else if (is_moving(q, r)) {
		status_conflict(&q->st, str_of(r->histories->versions[0].group), str_of(r->histories->resource), r->name,
			"its states are being moved into the archive; try again when all have been");
		sighting_refuse(q, r);
		request_yield(q, recording_next);
	} else {
		sighting_send(q, r);
	}
}

/* Even an answer that nothing changes would show what is recorded. */
static void sighting_authorize(struct request *q)
{
	struct recording *r = q->state;
	struct authz_attributes what = recorded_attributes(q, r->name);
	int denied = 0;

	what.ns = r->ns;
	while (!r->may_write_histories &&
		(denied = authz_check(q->server->authz, &what, &q->questions, NULL, q->a, &q->st)) == ASK_FIRST) {
		if (!questions_start(&q->questions)) {
			request_wait_answer(q, sighting_authorize);
			return;
		}
	}
	if (denied) {
		sighting_refused(q, r);
	} else {
		sighting_look(q);
	}
}

/* ---- what was sent ---- */

static int sighting_invalid(struct request *q, const struct recording *r, const char *field, const char *problem)
{
	struct field_errors errors;

	field_errors_init(&errors, q->a);
	field_invalid(&errors, arena_printf(q->a, "spec.sightings[%u].%s", r->at, field),
		json_gets(list_item(r->sightings, r->at), field), "%s", problem);
	status_invalid(&q->st, str_of(r->route.version->group), STR("Recording"), STR(""), &errors);
	return 1;
}

static bool has_other_digest(struct recording *r)
{
	char sent[DIGEST_SIZE];

	memcpy(sent, r->sighting.digest, sizeof(sent));
	digest_of(r->sighting.digest, r->sighting.state, &r->arena);
	return sent[0] && strcmp(sent, r->sighting.digest) != 0;
}

/* Sets q->st. */
static bool has_invalid_keep(struct request *q, const struct recording *r)
{
	const struct where spec = {.name = STR("spec")};
	struct field_errors errors;

	field_errors_init(&errors, q->a);
	check_keep(&errors, WHERE(WHERE_ITEM(WHERE(&spec, "sightings"), r->at), "keep"), r->keep);
	if (errors.n > 0) {
		status_invalid(&q->st, str_of(r->route.version->group), STR("Recording"), STR(""), &errors);
	}
	return errors.n > 0;
}

/* Returns 1 with q->st. The rest is checked with the History and the Snapshot that are made of it. */
static int sighting_take(struct request *q, struct recording *r)
{
	const struct json *j = list_item(r->sightings, r->at), *subject = json_gets(j, "subject");

	r->subject = (struct history_subject){member_text(subject, "group"), member_text(subject, "kind"),
		member_text(subject, "namespace"), member_text(subject, "name")};
	r->ns = member_text(j, "namespace");
	r->limit = member_int(j, "historyLimit");
	r->keep = json_gets(j, "keep");
	if (!sighting_of_json(&r->sighting, j)) {
		return sighting_invalid(q, r, "found", "must be Present, Absent, Unselected or Unseen, and time must be known");
	}
	if (r->sighting.is_unseen && !r->keep) {
		return sighting_invalid(q, r, "keep", "must be set if the object is Unseen");
	}
	if (has_invalid_keep(q, r)) {
		return 1;
	}
	if (!r->subject.kind.n || !r->subject.name.n) {
		return sighting_invalid(q, r, "subject", "must have a kind and a name");
	}
	bool is_of_archive = r->sighting.is_gone && namespace_is_archive(r->ns);
	struct str of = is_of_archive ? archive_origin(r->ns) : r->ns;
	if (!of.n || (r->subject.namespace.n && !str_eq(of, r->subject.namespace)) ||
		(namespace_is_archive(r->ns) && !is_of_archive)) {
		return sighting_invalid(q, r, "namespace", "must be that of the object, if it has one");
	}
	bool is_present = !r->sighting.is_gone && !r->sighting.is_released && !r->sighting.is_unseen;
	if (is_present != json_is(r->sighting.state, JSON_OBJECT)) {
		return sighting_invalid(q, r, "found", "must be Present exactly if data is a JSON object");
	}
	if (is_present && has_other_digest(r)) {
		return sighting_invalid(q, r, "digest", "is not that of the data");
	}
	r->name = history_name(&r->subject, &r->arena);
	return 0;
}

/* ---- all of them ---- */

static void recording_reply(struct request *q, struct recording *r)
{
	struct json *status;

	r->snapshot = snapshot_release(r->snapshot);
	q->route = r->route;
	q->a = http_arena(q->x);
	if (q->writing) {
		write_drop(q);
	}
	status = json_object(q->a);
	json_add(q->a, status, STR("results"), r->results);
	json_set(q->a, r->sent->fields, STR("spec"), json_object(q->a));
	json_set(q->a, r->sent->fields, STR("status"), status);
	reply_json(q, 201, object_to_json(r->sent, q->route.version, q->a));
}

static void recording_next(struct request *q)
{
	struct recording *r = q->state;

	while (r->sightings && r->at < r->sightings->n) {
		r->snapshot = snapshot_release(r->snapshot);
		arena_clear(&r->arena);
		r->decisions = 0;
		r->ns = STR("");
		sighting_resume(q, r);
		if (clock_mono_ms() >= q->deadline_ms) {
			status_set(&q->st, 504, REASON_TIMEOUT,
				"Timeout: the time of the request was over before this sighting's turn");
		} else if (!sighting_take(q, r)) {
			q->route.ns = r->ns;
			sighting_authorize(q);
			return;
		}
		sighting_refuse(q, r);
	}
	recording_reply(q, r);
}

/* One question for all of them. If the user may not write all Histories, each of them is asked about by its name. */
static void recording_authorize(struct request *q)
{
	struct recording *r = q->state;
	const struct authz_attributes what = recorded_attributes(q, STR(""));
	struct authz_verdict verdict;
	int denied;

	while ((denied = authz_check(q->server->authz, &what, &q->questions, &verdict, q->a, &q->st)) == ASK_FIRST) {
		if (!questions_start(&q->questions)) {
			request_wait_answer(q, recording_authorize);
			return;
		}
	}
	if (denied && verdict.is_turned_away) {
		reply_status(q);
		return;
	}
	r->may_write_histories = !denied;
	recording_next(q);
}

static void recording_cleanup(struct request *q _unused_, void *ctx)
{
	struct recording *r = ctx;

	snapshot_release(r->snapshot);
	arena_done(&r->arena);
}

static int recording_check(struct request *q, const struct object *sent)
{
	struct field_errors errors;

	if (q->is_dry_run) {
		status_bad_request(&q->st, "recordings have no dry run");
		return 1;
	}
	field_errors_init(&errors, q->a);
	sent->kind->validate(sent, &errors);
	if (errors.n > 0) {
		status_invalid(&q->st, request_group(q), str_of(sent->kind->kind), STR(""), &errors);
	}
	return errors.n > 0;
}

void recording_answer(struct request *q, struct object *sent, struct str manager)
{
	struct recording *r = arena_new(q->a, struct recording);
	const struct version *ignored;
	bool is_standalone = q->server->options.is_standalone;

	if (recording_check(q, sent)) {
		reply_status(q);
		return;
	}
	sent->meta = (struct meta){0};
	r->sent = sent;
	r->manager = manager;
	r->route = q->route;
	r->histories = kind_by_resource(q->route.group, q->route.version_name, STR("histories"), is_standalone, &ignored);
	r->revisions =
		kind_by_resource(q->route.group, q->route.version_name, STR("controllerrevisions"), is_standalone, &ignored);
	r->snapshots = kind_by_resource(q->route.group, q->route.version_name, STR("snapshots"), is_standalone, &r->version);
	r->sightings = json_gets(json_gets(sent->fields, "spec"), "sightings");
	r->results = json_array(q->a);
	arena_init(&r->arena, SIGHTING_ARENA_MAX);
	request_on_cleanup(q, recording_cleanup, r);
	q->state = r;
	if (request_is_cache_ready(q)) {
		recording_authorize(q);
	}
}
