/* One change: the History is read, what is to be written is decided (scribe_plan.c), and one Snapshot writes it, guarded by the
 * History's version. Whoever was faster makes it a conflict, and it is decided anew. So a recorder that dies anywhere
 * leaves nothing half done, and nothing is written twice. */
#include "controllers/recorder/scribe.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "controllers/recorder/scribe_plan.h"

enum {
	DECISIONS_MAX = 8, /* with others who write; then it waits for its turn */
	ARENA_MAX = 512 << 20,
	BODY_MAX = 16 << 20,
};

static const struct resource snapshots_resource = {{"annals.dev", 10}, {"v1", 2}, {"snapshots", 9}};
static const struct resource revisions_resource = {{"annals.dev", 10}, {"v1", 2}, {"controllerrevisions", 19}};

struct scribe {
	struct recorder_core *core;
	struct ledger_work work;
	struct followed *followed; /* a reference; NULL: nobody follows it any more */
	struct history_subject subject;
	struct str name; /* of the History */
	struct sighting sighting;
	struct recording *recording; /* a reference */
	bool has_looked, has_asked; /* for the object; for the History */
	struct answer history, object, answer; /* object: of a LOOK */
	struct arena arena;
	/* What to tell the ledger. */
	enum ledger_outcome outcome;
	struct str problem;
	bool is_history_known;
	struct ledger_history known;
};

static struct client *client_of(const struct scribe *s)
{
	return s->core->env->client;
}

/* ---- outcomes ---- */

/* These will be refused for ever, as they are. */
static bool is_final(const struct answer *answer)
{
	return answer->code == 400 || answer->code == 413 || answer->code == 422;
}

/* A namespace that goes takes its histories along. */
static bool is_of_no_use(const struct answer *answer)
{
	const struct json *causes = json_gets(json_gets(answer->body, "details"), "causes"), *cause;
	bool is_terminating = false;

	for (uint32_t i = 0; !is_terminating && (cause = list_item(causes, i)); i++) {
		is_terminating = str_is(member_text(cause, "reason"), "NamespaceTerminating");
	}
	return is_terminating;
}

static void fail(struct scribe *s, const struct answer *answer)
{
	s->problem = arena_dup(&s->arena, answer->message);
	s->outcome = is_of_no_use(answer) ? LEDGER_DONE : is_final(answer) ? LEDGER_REFUSED : LEDGER_RETRY;
}

static void know(struct scribe *s, const struct json *history)
{
	const struct json *status = json_gets(history, "status");
	int64_t deleted_us = 0;

	s->known = (struct ledger_history){
		.is_written = member_count(status, "changes") > 0,
		.revisions = (uint32_t)member_int(status, "revisions"),
	};
	str_to_uint64(member_text(json_gets(history, "metadata"), "resourceVersion"), &s->known.version);
	ledger_print_of(&s->known.print, member_text(status, "uid"), member_text(status, "digest"));
	if (time_parse_rfc3339(member_text(status, "deletionTime"), &deleted_us)) {
		s->known.deleted_s = deleted_us / 1000000;
	}
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

	item_unref(namespace);
	recording_unref(s->recording);
	s->recording = selected ? recording_ref(selected) : NULL;
	if (selected) {
		sighting_of(&s->sighting, object, selected, &s->arena);
		sighting_complete(&s->sighting, object, &s->arena);
		s->sighting.is_live = s->sighting.is_late = true;
	}
	return selected != NULL;
}

/* False: nothing is to be done, or s->outcome says what went wrong. */
static bool look(struct scribe *s)
{
	if (!s->followed) {
		return false;
	}
	const struct target t = {.resource = &s->followed->resource, .namespace = s->work.ns, .name = s->work.name};

	s->has_looked = true;
	if (!rest_get(client_of(s), &t, &s->object)) {
		return see_object(s, s->object.body);
	}
	if (s->object.code != 404) {
		fail(s, &s->object);
		return false;
	}
	s->sighting = (struct sighting){.is_gone = true, .is_live = true, .is_late = true, .seen_s = clock_wall_s()};
	return true;
}

/* ---- the history ---- */

enum found { FOUND, FOUND_NONE, FOUND_TROUBLE };

static enum found get_history_in(struct scribe *s, struct str namespace)
{
	const struct target t = {.resource = &histories_resource, .namespace = namespace, .name = s->name};

	if (!rest_get(client_of(s), &t, &s->history)) {
		know(s, s->history.body);
		return FOUND;
	}
	if (s->history.code == 404) {
		return FOUND_NONE;
	}
	fail(s, &s->history);
	return FOUND_TROUBLE;
}

/* Of most objects that are new to us there is none, as the watch of Histories says. Should it be mistaken, making one says so. */
static bool is_surely_new(struct scribe *s)
{
	bool is_first = !s->has_asked;

	s->has_asked = true;
	return is_first && !s->work.has_history && !s->sighting.is_gone && s->recording;
}

/* Of an object without a namespace it is where its Recorder says; of one that is gone nobody knows which Recorder it was. */
static enum found get_history(struct scribe *s)
{
	enum found found = FOUND_NONE;

	if (is_surely_new(s)) {
		return FOUND_NONE;
	}
	if (s->subject.namespace.n) {
		return get_history_in(s, s->subject.namespace);
	}
	if (s->recording) {
		return get_history_in(s, s->recording->namespace);
	}
	for (size_t i = 0; s->followed && found == FOUND_NONE && i < s->followed->recordings.n; i++) {
		found = get_history_in(s, s->followed->recordings.v[i]->namespace);
	}
	return found;
}

/* FOUND: it was made. FOUND_NONE: another recorder was faster. */
static enum found make_history(struct scribe *s)
{
	struct str namespace = s->subject.namespace.n ? s->subject.namespace : s->recording->namespace;
	const struct target t = {.resource = &histories_resource, .namespace = namespace};

	if (!rest_create(client_of(s), &t, scribe_history(&s->subject, s->name, namespace, &s->arena), &s->history)) {
		know(s, s->history.body);
		return FOUND;
	}
	if (answer_is(&s->history, 409, "AlreadyExists")) {
		return FOUND_NONE;
	}
	/* 404: the subject's own namespace has gone, and the subject with it. */
	if (s->history.code != 404 || !s->subject.namespace.n) {
		fail(s, &s->history);
	}
	return FOUND_TROUBLE;
}

/* ---- writing ---- */

/* The state of the History's revision, or NULL: somebody has deleted it. */
static const struct json *state_before(struct scribe *s, enum scribe_step step)
{
	struct str revision = member_text(json_gets(json_gets(s->history.body, "status"), "revision"), "name");
	const struct target t = {.resource = &revisions_resource,
		.namespace = member_text(json_gets(s->history.body, "metadata"), "namespace"),
		.name = revision};

	if (step != SCRIBE_CHANGED || !revision.n || rest_get(client_of(s), &t, &s->answer)) {
		return NULL;
	}
	struct str text = arena_dup(
		&s->arena, json_gets(s->answer.body, "data") ? json_gets(s->answer.body, "data")->source : STR("null"));
	struct json *state;
	size_t at;
	return json_parse(&state, &s->arena, text, JSON_LIMITS_DEFAULT, &at) ? NULL : state;
}

static void know_written(struct scribe *s, enum scribe_step step)
{
	const struct json *status = json_gets(s->answer.body, "status"), *history = json_gets(status, "history");

	if (!str_to_uint64(member_text(history, "resourceVersion"), &s->known.version)) {
		s->is_history_known = false; /* the watch will tell */
		return;
	}
	s->known.is_written = true;
	s->known.deleted_s = step == SCRIBE_DELETED ? s->sighting.seen_s : 0;
	if (step != SCRIBE_DELETED) {
		ledger_print_of(&s->known.print, s->sighting.uid, str_of(s->sighting.digest));
	}
}

/* False: it is to be decided again. */
static bool write_step(struct scribe *s, enum scribe_step step)
{
	static const enum recorder_counter counters[] = {
		[SCRIBE_CREATED] = RECORDER_CREATED, [SCRIBE_CHANGED] = RECORDER_CHANGED, [SCRIBE_DELETED] = RECORDER_DELETED};
	const struct json *before = state_before(s, step);
	int64_t limit = s->recording ? s->recording->history_limit : INT32_MAX;
	const struct json *snapshot = scribe_snapshot(s->history.body, step, &s->sighting, before, limit, &s->arena);
	const struct target t = {
		.resource = &snapshots_resource, .namespace = member_text(json_gets(s->history.body, "metadata"), "namespace")};

	if (!rest_create(client_of(s), &t, snapshot, &s->answer)) {
		count(&s->core->counters, counters[step]);
		know_written(s, step);
		return true;
	}
	/* 404: the History has gone. */
	if (s->answer.code == 409 || s->answer.code == 404) {
		count(&s->core->counters, RECORDER_CONFLICTS);
		return false;
	}
	fail(s, &s->answer);
	return true;
}

/* False: it is to be decided again. */
static bool decide(struct scribe *s)
{
	enum found found = get_history(s);
	enum scribe_step step = scribe_decide(found == FOUND ? s->history.body : NULL, &s->sighting);

	if (found == FOUND_TROUBLE || step == SCRIBE_NOTHING) {
		return true;
	}
	if (step == SCRIBE_LOOK) {
		return !look(s);
	}
	found = found == FOUND_NONE ? make_history(s) : found;
	return found == FOUND ? write_step(s, step) : found == FOUND_TROUBLE;
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

static void expire_history(struct scribe *s)
{
	int64_t keep_s = s->followed && s->followed->recordings.n ? s->followed->recordings.v[0]->keep_deleted_s : INT32_MAX;

	if (get_history(s) != FOUND || !scribe_is_expired(s->history.body, keep_s, clock_wall_s())) {
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
		count(&s->core->counters, RECORDER_EXPIRED);
		s->is_history_known = false;
	} else if (s->answer.code != 404 && s->answer.code != 409) {
		fail(s, &s->answer);
	}
}

/* ---- one key ---- */

static bool read_state(struct scribe *s)
{
	const struct ledger_change *change = s->work.change;

	if (!sighting_read(&s->sighting, (struct str){change->text, change->n}, &s->arena)) {
		return false;
	}
	s->recording = recording_ref(change->recording);
	s->sighting.recording = change->recording;
	s->sighting.version = change->version;
	s->sighting.seen_s = change->seen_s;
	s->sighting.is_late = change->is_listed;
	return true;
}

static void carry_out(struct scribe *s)
{
	const struct ledger_change *change = s->work.change;

	switch (change->sort) {
	case LEDGER_STATE:
		if (read_state(s)) {
			write_change(s);
		}
		break;
	case LEDGER_LOOK:
		if (look(s)) {
			write_change(s);
		}
		break;
	case LEDGER_GONE:
		s->sighting = (struct sighting){.is_gone = true, .version = change->version, .seen_s = change->seen_s};
		write_change(s);
		break;
	case LEDGER_EXPIRE:
		expire_history(s);
		break;
	}
}

static void begin(struct scribe *s)
{
	s->followed = ledger_followed(s->core->ledger, s->work.kind);
	arena_init(&s->arena, ARENA_MAX);
	answer_init(&s->history);
	answer_init(&s->object);
	answer_init(&s->answer);
	s->subject =
		(struct history_subject){str_of(s->work.kind->group), str_of(s->work.kind->kind), s->work.ns, s->work.name};
	s->name = history_name(&s->subject, &s->arena);
}

static void end(struct scribe *s)
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

/* What holds all objects up is told once, and when it is over. */
static void tell(struct scribe *s, enum ledger_trouble trouble)
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

static struct ledger_settled settle(struct scribe *s)
{
	struct ledger_print seen;
	bool is_there = s->has_looked && s->recording && !s->sighting.is_gone;
	const struct ledger_result result = {
		.outcome = s->outcome,
		.seen = is_there ? &seen : NULL,
		.recorder = is_there ? s->recording->id : 0,
		.is_gone = s->has_looked && s->sighting.is_gone,
		.history = s->is_history_known ? &s->known : NULL,
		.problem = s->problem,
	};

	if (is_there) {
		ledger_print_of(&seen, s->sighting.uid, str_of(s->sighting.digest));
	}
	return ledger_settle(s->core->ledger, &s->work, &result);
}

void scribe_work(void *ctx, struct str key)
{
	struct recorder_core *core = ctx;
	struct scribe s = {.core = core};

	if (!ledger_take(core->ledger, key, &s.work)) {
		workqueue_forget(core->queue, key);
		return;
	}
	begin(&s);
	carry_out(&s);
	const struct ledger_settled settled = settle(&s);
	tell(&s, settled.trouble);
	if (s.outcome == LEDGER_RETRY) {
		workqueue_retry(core->queue, key);
	} else {
		workqueue_forget(core->queue, key);
	}
	if (s.outcome != LEDGER_RETRY && settled.is_more) {
		workqueue_add(core->queue, key);
	}
	end(&s);
}
