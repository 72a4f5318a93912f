/* Writes changes. One request, a Recording, carries what was seen of several objects, and the server decides what to write
 * (api/diff/sighting.c). A worker that finds other changes waiting sends them along, so the number of requests follows the load,
 * and nothing waits for others to come. The worker sends at most its share of the queue, as a server records one after the other.
 *
 * Where that does not work, a worker writes its changes one by one: at a server without Recordings, and if only a look at the object
 * can decide. It reads the History, decides, and sends one Snapshot, guarded by the History's version. If another writer came
 * first, that is a conflict, and it decides again.
 *
 * Both ways a recorder that dies at any point leaves nothing half done, and nothing is written twice. */
#include "controllers/recorder/scribe.h"

#include "api/diff/sighting.h"
#include "api/model/history.h"
#include "api/model/members.h"
#include "base/clock.h"

#include <assert.h>

enum {
	DECISIONS_MAX = 8,     /* conflicts with other writers; then the change waits for its next turn */
	ARENA_MAX = 512 << 20, /* bytes of one change: two states, the object, and the revision */
	BODY_MAX = 16 << 20,   /* bytes of a message */
	/* Bytes of the changes that one request carries, besides the last of them: a server parses all of them at once. */
	RECORDING_BYTES_MAX = 128 << 10,
	TREE_FACTOR = 16, /* a tree takes so many times the bytes of its text: an object that was read counts as its text */
	RECORDING_TIMEOUT_MS = 70 * 1000, /* above the minute that a server gives itself */
	RECORDING_PAUSE_MS = 10 * 1000,   /* without Recordings, when the server has none or does not allow them */
};

static const struct resource snapshots_resource = {{"annals.dev", 10}, {"v1", 2}, {"snapshots", 9}};
static const struct resource revisions_resource = {{"annals.dev", 10}, {"v1", 2}, {"controllerrevisions", 19}};

struct scribe {
	struct recorder_core *core;
	struct ledger_work work;
	struct followed *followed; /* a reference; NULL: no longer followed */
	struct history_subject subject;
	struct str name; /* of the History */
	struct sighting sighting;
	bool is_unread;              /* the change's text has the rest of the sighting */
	struct recording *recording; /* a reference */
	bool has_looked, has_asked;  /* has_looked: read the object; has_asked: asked for the History */
	struct answer history, object, answer; /* object: read for a LOOK */
	struct arena arena;
	/* The result for the ledger. */
	enum ledger_outcome outcome;
	struct str problem;
	bool is_history_known, has_skipped, has_more;
	struct ledger_history known;
};

static struct client *client_of(const struct scribe *s)
{
	return s->core->run.env->client;
}

/* ---- Histories ---- */

static void read_history(struct ledger_history *ret, const struct json *history)
{
	const struct json *metadata = json_gets(history, "metadata"), *status = json_gets(history, "status");
	int64_t deleted_us;

	*ret = (struct ledger_history){
		.is_written = member_count(status, "changes") > 0,
		.is_released = record_is_released(history),
		.is_archived = namespace_is_archive(member_text(metadata, "namespace")),
		.revisions = (uint32_t)member_int(status, "revisions"),
		.recorded = record_last_version(history),
		.bytes = (uint64_t)member_int(status, "bytes"),
	};
	str_to_uint64(member_text(metadata, "resourceVersion"), &ret->version);
	ledger_print_of(&ret->print, member_text(status, "uid"), member_text(status, "digest"));
	if (time_parse_rfc3339(member_text(status, "deletionTime"), &deleted_us)) {
		ret->deleted_s = deleted_us / 1000000;
	}
}

/* An archived History is that of its object until it lists the deletion. Afterwards it belongs to no object: another one may have
 * the same name in a new namespace. So it is kept under the namespace of the archive, where it expires. */
static void show_archived(struct ledger *l, const struct ledger_key *key, const struct ledger_key *alone,
	const struct ledger_history *h, uint32_t list)
{
	if (!h->deleted_s && ledger_show_history(l, key, h, list)) {
		return;
	}
	ledger_show_history(l, alone, h, list);
	if (h->deleted_s) {
		ledger_miss_history(l, key, h->version, true);
	} else {
		ledger_miss(l, alone, 0); /* another object has that name now, so this one is gone */
	}
}

bool scribe_see_history(struct recorder_core *core, const struct json *history, bool is_gone, uint32_t list)
{
	struct ledger *l = core->ledger;
	const struct json *subject = json_gets(json_gets(history, "spec"), "subject");
	const struct ledger_key key = {ledger_kind(l, member_text(subject, "group"), member_text(subject, "kind")),
		member_text(subject, "namespace"), member_text(subject, "name")};
	const struct ledger_key alone = {key.kind, member_text(json_gets(history, "metadata"), "namespace"), key.name};
	struct ledger_history h;

	if (!key.kind || !key.name.n) {
		return false;
	}
	read_history(&h, history);
	if (is_gone) {
		ledger_miss_history(l, &key, h.version, h.is_archived);
	}
	if (is_gone && h.is_archived) {
		ledger_miss_history(l, &alone, h.version, true);
	}
	if (!is_gone && h.is_archived) {
		show_archived(l, &key, &alone, &h, list);
	} else if (!is_gone) {
		ledger_show_history(l, &key, &h, list);
	}
	return !is_gone && h.deleted_s;
}

/* ---- outcomes ---- */

/* Would the server refuse this change every time? A 400 without a Status may be a proxy's, about
 * the connection; a 413 is always about the body. */
static bool is_final(const struct answer *answer)
{
	return answer->code == 413 || (answer_is_status(answer) && (answer->code == 400 || answer->code == 422));
}

/* Is the namespace terminating? Then no new History is made in it. One that is there moves into the archive, and then the change
 * is written. */
static bool is_of_no_use(const struct scribe *s, const struct answer *answer)
{
	if (s->work.has_history) {
		return false;
	}
	const struct json *causes = json_gets(json_gets(answer->body, "details"), "causes"), *cause;
	bool is_terminating = false;

	for (uint32_t i = 0; !is_terminating && (cause = list_item(causes, i)); i++) {
		is_terminating = str_is(member_text(cause, "reason"), "NamespaceTerminating");
	}
	return is_terminating;
}

static void scribe_fail(struct scribe *s, const struct answer *answer)
{
	s->problem = arena_dup(&s->arena, answer->message);
	s->outcome = is_of_no_use(s, answer) ? LEDGER_DONE : is_final(answer) ? LEDGER_REFUSED : LEDGER_RETRY;
}

static void scribe_know(struct scribe *s, const struct json *history)
{
	read_history(&s->known, history);
	s->is_history_known = true;
}

/* ---- looking at the object ---- */

static struct json *as_kind(struct scribe *s, const struct json *object)
{
	struct json *j = json_copy(&s->arena, object);

	json_set(&s->arena, j, STR("apiVersion"), json_string(&s->arena, s->followed->api_version));
	json_set(&s->arena, j, STR("kind"), json_string(&s->arena, s->followed->kind));
	return j;
}

static const struct json *labels_of_namespace(struct scribe *s, struct item **ret_item)
{
	*ret_item = s->core->namespaces && s->work.ns.n ? informer_get(s->core->namespaces, (struct str){NULL, 0}, s->work.ns)
							: NULL;
	return *ret_item ? json_gets(item_meta(*ret_item), "labels") : NULL;
}

static bool see_object(struct scribe *s, const struct json *found)
{
	struct item *namespace;
	const struct json *object = as_kind(s, found);
	struct recording *selected =
		recordings_select(&s->followed->recordings, object, labels_of_namespace(s, &namespace), &s->arena);

	bool is_namespace_known = namespace || !s->work.ns.n || !recordings_need_namespaces(&s->followed->recordings);
	item_unref(namespace);
	recording_unref(s->recording);
	s->recording = selected ? recording_ref(selected) : NULL;
	if (selected) {
		sighting_of(&s->sighting, object, &selected->rules, &s->arena);
		s->sighting.ignore = json_gets(selected->spec, "ignore");
		sighting_complete(&s->sighting, object, &s->arena);
	}
	if (!selected && is_namespace_known) {
		sighting_without_state(&s->sighting, object, &s->arena);
	}
	s->sighting.is_live = s->sighting.is_late = true;
	s->sighting.is_after_gap = s->work.is_after_gap;
	s->sighting.gap_from = s->work.gap_from;
	s->sighting.n_skipped = s->work.n_skipped;
	s->sighting.settled = s->work.settled_version;
	return selected || is_namespace_known;
}

/* Returns false if nothing is left to do, or if s->outcome has the error. */
static bool scribe_look(struct scribe *s)
{
	if (!s->followed) {
		return false;
	}
	const struct target t = {.resource = &s->followed->resource, .namespace = s->work.ns, .name = s->work.name};

	s->has_looked = true;
	switch (rest_find(client_of(s), &t, &s->object)) {
	case REST_FOUND:
		return see_object(s, s->object.body);
	case REST_UNKNOWN:
		scribe_fail(s, &s->object);
		return false;
	case REST_ABSENT:
		break;
	}
	s->sighting = (struct sighting){.is_gone = true,
		.is_live = true,
		.is_late = true,
		.is_after_gap = true,
		.n_skipped = s->work.n_skipped,
		.seen_s = clock_wall_s()};
	return true;
}

/* ---- the history ---- */

static enum rest_found get_history_in(struct scribe *s, struct str namespace)
{
	const struct target t = {.resource = &histories_resource, .namespace = namespace, .name = s->name};
	enum rest_found found = rest_find(client_of(s), &t, &s->history);

	if (found == REST_FOUND) {
		scribe_know(s, s->history.body);
	} else if (found == REST_UNKNOWN) {
		scribe_fail(s, &s->history);
	}
	return found;
}

/* If the watch of Histories shows none, the History is not read first, as most new objects have
 * none. If the watch is behind, creating one fails. */
static bool is_surely_new(struct scribe *s)
{
	bool is_first = !s->has_asked;

	s->has_asked = true;
	return is_first && !s->work.has_history && !s->sighting.is_gone && s->recording;
}

/* The History of a cluster-scoped object is where its Recorder puts it. If the object is gone,
 * its Recorder is not known, so all Recorders' namespaces are searched. */
static enum rest_found get_history(struct scribe *s)
{
	enum rest_found found = REST_ABSENT;

	if (is_surely_new(s)) {
		return REST_ABSENT;
	}
	if (namespace_is_archive(s->work.ns)) {
		return get_history_in(s, s->work.ns);
	}
	if (s->subject.namespace.n) {
		return get_history_in(s, s->subject.namespace);
	}
	if (s->recording) {
		return get_history_in(s, s->recording->namespace);
	}
	for (size_t i = 0; s->followed && found == REST_ABSENT && i < s->followed->recordings.n; i++) {
		found = get_history_in(s, s->followed->recordings.v[i]->namespace);
	}
	return found;
}

/* Returns REST_FOUND if it created the History, and REST_ABSENT if another recorder did.
 * REST_UNKNOWN: it failed, and s->outcome has the result. */
static enum rest_found make_history(struct scribe *s)
{
	struct str namespace = s->subject.namespace.n ? s->subject.namespace : s->recording->namespace;
	const struct target t = {.resource = &histories_resource, .namespace = namespace};

	if (!rest_create(client_of(s), &t, record_history(&s->subject, s->name, namespace, &s->arena), &s->history)) {
		scribe_know(s, s->history.body);
		return REST_FOUND;
	}
	if (answer_is(&s->history, 409, "AlreadyExists")) {
		return REST_ABSENT;
	}
	/* Otherwise the subject's own namespace has gone, and the subject with it. */
	if (!answer_is_without_namespace(&s->history, s->subject.namespace)) {
		scribe_fail(s, &s->history);
	}
	return REST_UNKNOWN;
}

/* ---- writing ---- */

/* Reads the state of the History's latest revision; NULL: somebody has deleted it. Returns false
 * if that is not known, with the result in s->outcome: the change would be written without its
 * paths, for good. */
static bool read_state_before(struct scribe *s, enum record_step step, const struct json **ret)
{
	const struct target t = {.resource = &revisions_resource,
		.namespace = member_text(json_gets(s->history.body, "metadata"), "namespace"),
		.name = record_revision(s->history.body)};

	*ret = NULL;
	if (!record_needs_before(s->history.body, step)) {
		return true;
	}
	enum rest_found found = rest_find(client_of(s), &t, &s->answer);
	if (found == REST_UNKNOWN) {
		scribe_fail(s, &s->answer);
	}
	if (found != REST_FOUND) {
		return found == REST_ABSENT;
	}
	struct str text = arena_dup(
		&s->arena, json_gets(s->answer.body, "data") ? json_gets(s->answer.body, "data")->source : STR("null"));
	struct json *state;
	size_t at;
	*ret = json_parse(&state, &s->arena, text, JSON_LIMITS_DEFAULT, &at) ? NULL : state;
	return true;
}

/* Another recorder has written the History, or it has gone, alone or with its namespace:
 * get_history() finds out. */
static bool has_history_changed(const struct scribe *s, const struct target *history)
{
	return s->answer.code == 409 || answer_is_absent(&s->answer, history) ||
		answer_is_without_namespace(&s->answer, history->namespace);
}

static const enum recorder_counter counters[] = {[RECORD_CREATED] = RECORDER_CREATED,
	[RECORD_CHANGED] = RECORDER_CHANGED,
	[RECORD_DELETED] = RECORDER_DELETED,
	[RECORD_RELEASED] = RECORDER_RELEASED,
	[RECORD_ADOPTED] = RECORDER_ADOPTED,
	[RECORD_RERECORDED] = RECORDER_RERECORDED};

/* history: what the answer says of it. n_skipped: the states that are missing, if has_skipped. */
static void know_written(struct scribe *s, enum record_step step, const struct json *history, uint64_t n_skipped)
{
	count(&s->core->counters, counters[step]);
	if (s->has_skipped) {
		count_many(&s->core->counters, RECORDER_SKIPPED, MAX(n_skipped, (uint64_t)1));
	}
	/* The watch will show it, and whether an archived one is complete. */
	if (!str_to_uint64(member_text(history, "resourceVersion"), &s->known.version) ||
		namespace_is_archive(member_text(history, "namespace"))) {
		s->is_history_known = false;
		return;
	}
	s->known.is_written = true;
	s->known.recorded = s->sighting.version;
	s->known.deleted_s = step == RECORD_DELETED ? s->sighting.seen_s : 0;
	s->known.is_released = step == RECORD_RELEASED;
	if (step == RECORD_DELETED || step == RECORD_RELEASED) {
		return;
	}
	if (s->is_unread) {
		s->known.print = s->work.change->print;
	} else {
		ledger_print_of(&s->known.print, s->sighting.uid, str_of(s->sighting.digest));
	}
}

/* NULL: the limit alone counts. */
static const struct json *keep_of(struct scribe *s)
{
	if (!s->recording) {
		return NULL;
	}
	return s->followed ? recording_keep(s->recording, s->followed->resource.group, s->followed->resource.plural, &s->arena)
			   : json_gets(s->recording->spec, "keep");
}

/* Returns false if the step must be decided again. */
static bool write_step(struct scribe *s, enum record_step step)
{
	const struct json *metadata = json_gets(s->history.body, "metadata"), *before;
	const struct target history = {
		.resource = &histories_resource, .namespace = member_text(metadata, "namespace"), .name = s->name};
	if (!read_state_before(s, step, &before)) {
		return true;
	}
	int64_t limit = s->recording ? s->recording->history_limit : INT32_MAX;
	const struct json *snapshot =
		record_snapshot(s->history.body, step, &s->sighting, before, limit, keep_of(s), &s->arena);
	const struct target t = {.resource = &snapshots_resource, .namespace = history.namespace};

	if (!rest_create(client_of(s), &t, snapshot, &s->answer)) {
		s->has_skipped = step != RECORD_RERECORDED && record_skips(s->history.body, &s->sighting);
		know_written(s, step, json_gets(json_gets(s->answer.body, "status"), "history"),
			record_states_skipped(s->history.body, &s->sighting));
		return true;
	}
	if (has_history_changed(s, &history)) {
		count(&s->core->counters, RECORDER_CONFLICTS);
		return false;
	}
	scribe_fail(s, &s->answer);
	return true;
}

/* The History holds something newer than what the watch showed. Usually another recorder came first, or this one did before it
 * died. Then the watch will show what is newer still, and nothing is skipped. But if a backup was restored, versions begin again, and
 * the object itself decides. Returns true if it does, or if s->outcome has an error. */
static bool look_who_is_right(struct scribe *s)
{
	bool was_gone = s->sighting.is_gone, is_by_watch = s->work.change->sort != LEDGER_LOOK && !s->sighting.is_late;
	bool goes_on = scribe_look(s);

	if (!goes_on || !is_by_watch) {
		return goes_on;
	}
	bool is_restored =
		s->sighting.version < record_last_version(s->history.body) || record_was_deleted(s->history.body, &s->sighting);
	bool is_right = s->sighting.is_gone ? was_gone : is_restored;
	s->has_looked = is_right;
	return is_right;
}

/* Returns false if it must be decided again. */
static bool decide(struct scribe *s)
{
	enum rest_found found = get_history(s);
	enum record_step step = record_decide(found == REST_FOUND ? s->history.body : NULL, &s->sighting);

	if (found == REST_UNKNOWN || step == RECORD_NOTHING) {
		return true;
	}
	if (step == RECORD_LOOK) {
		return !look_who_is_right(s);
	}
	found = found == REST_ABSENT ? make_history(s) : found;
	return found == REST_FOUND ? write_step(s, step) : found == REST_UNKNOWN;
}

static void write_change(struct scribe *s)
{
	bool is_over = false;

	for (unsigned i = 0; !is_over && i < DECISIONS_MAX; i++) {
		is_over = decide(s);
	}
	if (!is_over) {
		s->problem = STR("others change the history all the time");
		s->outcome = LEDGER_RETRY;
	}
}

/* A dropped History has no time left: there is no room for it. */
static void expire_history(struct scribe *s)
{
	bool is_dropped = s->work.change->sort == LEDGER_DROP;
	int64_t keep_s = is_dropped ? 0 : s->followed ? recordings_keep_deleted_s(&s->followed->recordings) : INT32_MAX;

	if (get_history(s) != REST_FOUND || !record_is_expired(s->history.body, keep_s, clock_wall_s())) {
		return;
	}
	const struct json *metadata = json_gets(s->history.body, "metadata");
	const struct target t = {
		.resource = &histories_resource, .namespace = member_text(metadata, "namespace"), .name = s->name};
	const struct delete_options options = {.uid = member_text(metadata, "uid"),
		.resource_version = member_text(metadata, "resourceVersion"),
		.propagation = "Background",
		.grace_s = -1};
	if (!rest_delete(client_of(s), &t, &options, &s->answer)) {
		count(&s->core->counters, is_dropped ? RECORDER_DROPPED : RECORDER_EXPIRED);
		s->is_history_known = false;
	} else if (s->answer.code != 409 && !answer_is_absent(&s->answer, &t)) {
		scribe_fail(s, &s->answer);
	}
}

/* ---- one key ---- */

/* Sees as much of a change as is known without its text. */
static void see_change(struct scribe *s)
{
	const struct ledger_change *change = s->work.change;
	const struct recording *recording = change->recording;

	s->sighting.is_gone = change->sort == LEDGER_GONE;
	s->sighting.is_released = change->sort == LEDGER_RELEASED;
	s->sighting.ignore = recording ? json_gets(recording->spec, "ignore") : NULL;
	s->sighting.version = change->version;
	s->sighting.seen_s = change->seen_s;
	s->sighting.is_late = change->is_listed;
	s->sighting.is_after_gap = s->work.is_after_gap;
	s->sighting.gap_from = s->work.gap_from;
	s->sighting.settled = s->work.settled_version;
}

static bool read_change(struct scribe *s)
{
	const struct ledger_change *change = s->work.change;

	if (s->is_unread) {
		s->is_unread = false;
		if (!sighting_read(&s->sighting, (struct str){change->text, change->n}, &s->arena)) {
			return false;
		}
		see_change(s);
	}
	return true;
}

/* The Recorder whose rules count: the one that records the object. Of a deleted object nobody knows the labels, so it is the first one
 * by name. */
static struct recording *rules_of(const struct scribe *s)
{
	const struct recordings *all = s->followed ? &s->followed->recordings : NULL;

	for (size_t i = 0; all && i < all->n; i++) {
		if (all->v[i]->id == s->work.recorder) {
			return all->v[i];
		}
	}
	return all && all->n > 0 ? all->v[0] : NULL;
}

/* Without rules nothing goes by itself, but the bytes of Histories that earlier versions wrote are counted. */
static bool scribe_see_trim(struct scribe *s)
{
	struct recording *rules = rules_of(s);

	if (!rules) {
		return false;
	}
	s->recording = recording_ref(rules);
	s->sighting = (struct sighting){.is_unseen = true, .seen_s = clock_wall_s()};
	return s->work.change->at_most >= 0 || !s->work.is_counted || keep_of(s);
}

/* Returns true if the sighting is to be recorded. */
static bool scribe_see(struct scribe *s)
{
	const struct ledger_change *change = s->work.change;

	switch (change->sort) {
	case LEDGER_STATE:
	case LEDGER_RELEASED:
		s->recording = change->recording ? recording_ref(change->recording) : NULL;
		s->is_unread = true;
		see_change(s);
		return true;
	case LEDGER_GONE:
		see_change(s);
		return true;
	case LEDGER_LOOK:
		return scribe_look(s);
	case LEDGER_EXPIRE:
	case LEDGER_DROP:
		expire_history(s);
		break;
	case LEDGER_TRIM:
		return scribe_see_trim(s);
	}
	return false;
}

/* A server without Recordings trims no History that does not change. */
static void write_alone(struct scribe *s)
{
	if (!s->sighting.is_unseen && read_change(s)) {
		write_change(s);
	}
}

static void scribe_begin(struct scribe *s)
{
	s->followed = ledger_followed(s->core->ledger, s->work.kind);
	arena_init(&s->arena, ARENA_MAX);
	answer_init(&s->history);
	answer_init(&s->object);
	answer_init(&s->answer);
	bool is_of_cluster = namespace_is_archive(s->work.ns) && s->followed && !s->followed->is_namespaced;
	s->subject = (struct history_subject){str_of(s->work.kind->group), str_of(s->work.kind->kind),
		is_of_cluster ? STR("") : archive_origin(s->work.ns), s->work.name};
	s->name = history_name(&s->subject, &s->arena);
}

static void scribe_end(struct scribe *s)
{
	answer_done(&s->answer);
	answer_done(&s->object);
	answer_done(&s->history);
	arena_done(&s->arena);
	recording_unref(s->recording);
	followed_unref(s->followed);
}

static void tell_refused(struct scribe *s)
{
	_cleanup_(buf_done) struct buf message;
	buf_init(&message, BODY_MAX);
	buf_printf(&message, "cannot keep the state of %s " STR_FMT "%s" STR_FMT ": " STR_FMT, s->work.kind->kind,
		STR_ARG(s->work.ns), s->work.ns.n ? "/" : "", STR_ARG(s->work.name), STR_ARG(s->problem));
	recorder_notice(s->core, true, STR_FMT, STR_ARG(buf_str(&message)));
	if (s->recording) {
		recorder_event(s->core, s->recording, true, STR("RecordingRefused"), buf_str(&message));
	}
}

/* Logs once when changes of a kind fail, and once when they work again. */
static void scribe_tell(struct scribe *s, enum ledger_trouble trouble)
{
	if (s->outcome == LEDGER_REFUSED) {
		count(&s->core->counters, RECORDER_REFUSED);
		tell_refused(s);
	} else if (s->outcome == LEDGER_RETRY) {
		count(&s->core->counters, RECORDER_RETRIES);
	}
	if (trouble == LEDGER_TROUBLE_BEGINS) {
		recorder_notice(s->core, true, "changes of %s wait, since they cannot be written: " STR_FMT, s->work.kind->kind,
			STR_ARG(s->problem));
	} else if (trouble == LEDGER_TROUBLE_ENDS) {
		recorder_notice(s->core, true, "changes of %s are written again", s->work.kind->kind);
	}
}

static struct ledger_settled scribe_settle(struct scribe *s)
{
	struct ledger_print seen;
	bool is_there = s->has_looked && s->recording && !s->sighting.is_gone;
	const struct ledger_result result = {
		.outcome = s->outcome,
		.seen = is_there ? &seen : NULL,
		.recorder = is_there ? s->recording->id : 0,
		.seen_version = is_there ? s->sighting.version : 0,
		.is_gone = s->has_looked && s->sighting.is_gone,
		.history = s->is_history_known ? &s->known : NULL,
		.problem = s->problem,
		.has_skipped = s->has_skipped,
		.has_more = s->has_more,
	};

	if (is_there) {
		ledger_print_of(&seen, s->sighting.uid, str_of(s->sighting.digest));
	}
	return ledger_settle(s->core->ledger, &s->work, &result);
}

static void scribe_requeue(struct scribe *s, struct str key)
{
	struct workqueue *queue = s->core->run.queue;
	const struct ledger_settled settled = scribe_settle(s);

	scribe_tell(s, settled.trouble);
	if (s->outcome == LEDGER_RETRY) {
		workqueue_retry(queue, key);
	} else {
		workqueue_forget(queue, key);
	}
	if (s->outcome != LEDGER_RETRY && settled.is_more) {
		workqueue_add(queue, key);
	}
}

/* ---- several changes in one request ---- */

/* Changes that a worker has taken. */
struct batch {
	struct recorder_core *core;
	struct scribe *v[SIGHTINGS_MAX];
	char *keys[SIGHTINGS_MAX]; /* NULL: the key that the worker was called with */
	struct str own_key;
	size_t n, bytes;
};

/* Where the History is, or is made. Returns the empty string if several namespaces must be searched: the object is in none, and
 * nobody knows which Recorder has recorded it. */
static struct str history_namespace(const struct scribe *s)
{
	const struct recordings *all = s->followed ? &s->followed->recordings : NULL;
	struct str namespace = s->subject.namespace;

	if (namespace_is_archive(s->work.ns)) {
		return s->work.ns;
	}
	if (namespace.n || s->recording) {
		return namespace.n ? namespace : s->recording->namespace;
	}
	for (size_t i = 0; all && i < all->n; i++) {
		if (i > 0 && !str_eq(all->v[i]->namespace, namespace)) {
			return STR("");
		}
		namespace = all->v[i]->namespace;
	}
	return namespace;
}

static struct scribe *scribe_new(struct recorder_core *core, struct str key)
{
	struct scribe *s = mem_new(struct scribe);

	s->core = core;
	if (!ledger_take(core->ledger, key, &s->work)) {
		workqueue_forget(core->run.queue, key);
		return mem_free(s);
	}
	scribe_begin(s);
	return s;
}

/* Ends with the change of that key, which the caller gives up. */
static void scribe_close(struct scribe *s, char *taken, struct str own_key)
{
	struct workqueue *queue = s->core->run.queue;

	scribe_requeue(s, taken ? str_of(taken) : own_key);
	scribe_end(s);
	mem_free(s);
	if (taken) {
		workqueue_done(queue, taken);
	}
}

/* taken: a key that workqueue_take() gave; NULL: the worker's own. A change that no request need carry is over at once. */
static void batch_add(struct batch *b, char *taken)
{
	struct scribe *s = scribe_new(b->core, taken ? str_of(taken) : b->own_key);

	if (!s) {
		if (taken) {
			workqueue_done(b->core->run.queue, taken);
		}
		return;
	}
	bool is_to_record = scribe_see(s);
	if (is_to_record && history_namespace(s).n) {
		b->bytes += s->work.change->bytes + (s->object.arena.used + s->arena.used) / TREE_FACTOR;
		b->keys[b->n] = taken;
		b->v[b->n++] = s;
		return;
	}
	if (is_to_record) {
		write_alone(s);
	}
	scribe_close(s, taken, b->own_key);
}

/* Takes this worker's share of what waits: another worker's server thread records its share at the same time. */
static void batch_fill(struct batch *b)
{
	struct workqueue *queue = b->core->run.queue;
	struct workqueue_stats stats;
	int64_t due_ms;
	char *key;

	workqueue_read_stats(queue, &stats);
	for (size_t left = stats.depth / RECORDER_WORKERS; left > 0; left--) {
		if (b->n == SIGHTINGS_MAX || b->bytes >= RECORDING_BYTES_MAX || !(key = workqueue_take(queue, &due_ms))) {
			return;
		}
		batch_add(b, key);
	}
}

/* A budget may leave fewer states than the rules do. */
static const struct json *keep_for_trim(struct scribe *s)
{
	const struct json *rules = keep_of(s);
	struct json *keep = rules ? json_copy(&s->arena, rules) : json_object(&s->arena);
	int64_t at_most = s->work.change->at_most;

	if (at_most >= 0) {
		bool is_less = !json_gets(rules, "atMost") || at_most < member_int(rules, "atMost");
		int64_t n = is_less ? at_most : member_int(rules, "atMost");
		json_set(&s->arena, keep, STR("atMost"), json_int(&s->arena, n));
		json_set(&s->arena, keep, STR("atLeast"), json_int(&s->arena, 0));
	}
	return keep;
}

/* The text of the change has the rest, if it is not read yet. */
static bool write_sighting(struct buf *out, struct scribe *s)
{
	struct arena *a = &s->arena;
	struct json *j = json_object(a), *subject = json_object(a);
	int64_t limit = s->recording ? s->recording->history_limit : INT32_MAX;

	json_add(a, subject, STR("group"), json_string(a, s->subject.group));
	json_add(a, subject, STR("kind"), json_string(a, s->subject.kind));
	json_add_text(a, subject, STR("namespace"), s->subject.namespace);
	json_add(a, subject, STR("name"), json_string(a, s->subject.name));
	json_add(a, j, STR("namespace"), json_string(a, history_namespace(s)));
	json_add(a, j, STR("subject"), subject);
	json_add(a, j, STR("historyLimit"), json_int(a, limit));
	const struct json *keep = s->sighting.is_unseen ? keep_for_trim(s) : keep_of(s);
	if (keep) {
		json_add(a, j, STR("keep"), (struct json *)keep);
	}
	sighting_add_look(j, &s->sighting, a);
	if (!s->is_unread) {
		sighting_add_object(j, &s->sighting, a);
		return json_encode(out, j);
	}
	const struct ledger_change *change = s->work.change;
	assert(change->n > 2 && change->text[0] == '{');
	bool is_whole = json_encode(out, j);
	buf_truncate(out, is_whole ? out->n - 1 : out->n);
	return is_whole && buf_printf(out, ",%.*s", (int)change->n - 1, change->text + 1);
}

static bool batch_write(struct buf *out, const struct batch *b)
{
	bool is_whole = buf_printf(out, "{\"apiVersion\":\"annals.dev/v1\",\"kind\":\"Recording\",\"spec\":{\"sightings\":[");

	for (size_t i = 0; is_whole && i < b->n; i++) {
		is_whole = buf_printf(out, "%s", i ? "," : "") && write_sighting(out, b->v[i]);
	}
	return is_whole && buf_printf(out, "]}}");
}

/* The error of one sighting is a Status, as if it had been sent alone. */
static void take_error(struct scribe *s, const struct json *status)
{
	s->answer.code = (int)member_int(status, "code");
	s->answer.body = (struct json *)status;
	answer_read_status(&s->answer);
	if (answer_is_without_namespace(&s->answer, s->subject.namespace)) {
		return; /* the subject has gone with it */
	}
	if (s->sighting.is_unseen && is_final(&s->answer)) {
		return; /* a server of an earlier version trims nothing without a change */
	}
	if (s->answer.code == 409) {
		count(&s->core->counters, RECORDER_CONFLICTS);
	}
	scribe_fail(s, &s->answer);
}

/* Returns false if the server leaves the decision to a look at the object. */
static bool take_result(struct scribe *s, const struct json *result)
{
	struct str what = member_text(result, "result");
	const struct json *history = json_gets(result, "history");
	enum record_step step;

	if (str_is(what, "Recorded") && record_step_of(&step, member_text(result, "type"))) {
		s->has_skipped = member_is_true(result, "skipped");
		s->is_history_known = true;
		s->known = (struct ledger_history){.revisions = (uint32_t)member_int(history, "revisions"),
			.bytes = (uint64_t)member_int(history, "bytes")};
		count_many(&s->core->counters, RECORDER_TRIMMED, (uint64_t)member_int(result, "trimmed"));
		know_written(s, step, history, (uint64_t)member_int(result, "skippedStates"));
	} else if (str_is(what, "Refused") && json_gets(result, "error")) {
		take_error(s, json_gets(result, "error"));
	} else if (str_is(what, "Trimmed")) {
		count_many(&s->core->counters, RECORDER_TRIMMED, (uint64_t)member_int(result, "trimmed"));
		s->has_more = member_is_true(result, "more");
	} else if (!str_is(what, "Equal") && !str_is(what, "Overtaken")) {
		s->problem = STR("the server has answered something else than a Recording");
		s->outcome = LEDGER_RETRY;
	}
	return !str_is(what, "Overtaken");
}

/* An older server has no Recordings, and older roles do not allow them. A server that finds the whole request wrong may take each
 * change alone. */
static bool must_write_alone(struct batch *b, const struct answer *answer)
{
	if (answer->code == 404 || answer->code == 403) {
		atomic_store(&b->core->alone_until_ms, clock_mono_ms() + RECORDING_PAUSE_MS);
		return true;
	}
	return is_final(answer);
}

static void batch_take_answer(struct batch *b, int error, const struct answer *answer)
{
	const struct json *results = json_gets(json_gets(answer->body, "status"), "results");
	bool is_alone = error == REST_TOO_BIG || (error == REST_STATUS && must_write_alone(b, answer));

	for (size_t i = 0; i < b->n; i++) {
		if (is_alone || (!error && !take_result(b->v[i], list_item(results, (uint32_t)i)))) {
			write_alone(b->v[i]);
		} else if (error) {
			scribe_fail(b->v[i], answer);
		}
	}
}

static void batch_send(struct batch *b)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf body;
	int error = REST_TOO_BIG;

	answer_init(&answer);
	buf_init(&body, BODY_MAX);
	if (batch_write(&body, b)) {
		const struct rest_call call = {.method = "POST",
			.path = "/apis/annals.dev/v1/recordings",
			.body = buf_str(&body),
			.timeout_ms = RECORDING_TIMEOUT_MS};
		error = rest_do(b->core->run.env->client, &call, &answer);
		count(&b->core->counters, RECORDER_RECORDINGS);
	}
	batch_take_answer(b, error, &answer);
}

void scribe_work(void *ctx, struct str key)
{
	struct batch b = {.core = ctx, .own_key = key};
	bool is_alone = clock_mono_ms() < atomic_load(&b.core->alone_until_ms);

	batch_add(&b, NULL);
	if (is_alone && b.n > 0) {
		write_alone(b.v[0]);
	} else if (b.n > 0) {
		batch_fill(&b);
		batch_send(&b);
	}
	for (size_t i = 0; i < b.n; i++) {
		scribe_close(b.v[i], b.keys[i], key);
	}
}
