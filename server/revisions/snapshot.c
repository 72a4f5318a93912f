/* POST of a Snapshot: one transaction does what a controller needs many for. It runs on the engine of writes with one object
 * as its aim, and adds the rest as guards and steps. Each round decides anew from the cache's history, and keeps only the
 * names that earlier transactions have trimmed. */
#include "server/revisions/revisions.h"

#include "api/diff/changes.h"
#include "api/diff/keep.h"
#include "api/model/digest.h"
#include "api/model/history.h"
#include "api/model/members.h"
#include "api/patch/managed.h"
#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/respond.h"
#include "server/request/table.h"
#include "server/revisions/snapshot_past.h"
#include "server/write/write.h"
#include "server/write/write_recorded.h"
#include "storage/keys.h"

#include <assert.h>

enum {
	NAMES_TRIED_MAX = 64, /* names that may be taken by others; then a Snapshot gets 409 */
	NAME_MAX_LENGTH = 253,
	LABEL_MAX_LENGTH = 63,
	DIGEST_LENGTH_MIN = 10, /* of a name: with less there would be collisions every day */
	/* Guards and steps of one transaction are at most 128: three steps for each that is trimmed, and some for the revision itself. */
	TRIM_MAX = 40,
	/* States that a Snapshot may trim beyond the one that its own state pushes out: more of them need the right to delete. */
	TRIM_SPARE = 1,
	STATE_BYTES_MAX = 4 << 20, /* of a state's text: a request has at most 3 MiB */
	IGNORED_MAX = 256 * 1024,  /* an object's annotations may have as many bytes */
};

struct snapshot {
	struct write write;
	struct snapshot_order *order;
	struct write_rules rules;
	struct object *sent;
	const struct version
		*version; /* the Snapshot's version; the request's version is the revision's while that is written */
	struct snapshot_kind {
		const struct kind *kind;
		const struct version *version;
	} revisions, histories;
	struct json *data, *labels;
	const struct json *live;   /* names of revisions that the client says are in use; NULL: it says nothing */
	const struct json *change; /* NULL: there is none, and no History lists the state */
	struct object *telling;    /* the History, as it is */
	struct change_user user;   /* who made the change */
	struct owner_reference owner;
	struct str digest, prefix;
	bool has_revision; /* the newest one holds the state, but for its apiVersion */
	size_t limit;
	const struct json *keep; /* NULL: the limit alone counts */
	size_t data_bytes;       /* of the state, as compact JSON */
	struct arena scratch; /* of the decision under way */
	struct snapshot_history history;
	struct snapshot_plan plan;
	bool only_trims;      /* there is more to trim than one transaction can: first this, then again */
	size_t n_trims;       /* of plan.trimmed, by this transaction */
	struct json *trimmed; /* names, by this and those before */
};

static bool is_stateless(const struct snapshot *s)
{
	return change_is_stateless(s->change);
}

static bool is_deletion(const struct snapshot *s)
{
	return change_is_deletion(s->change);
}

/* Are the revisions those of a History? */
static bool is_recorded(const struct snapshot *s)
{
	return s->change || s->order->is_trim;
}

/* The engine takes rules, key and stored version from the route's kind. So the route turns to the kind that is written. */
static void turn_to(struct request *q, const struct snapshot_kind *k)
{
	q->route.kind = k->kind;
	q->route.version = k->version;
}

/* ---- the name of a new revision ---- */

/* Short enough for a label's value, so that generated objects can name it, where the prefix leaves room for that. */
static struct str cut_digest(const struct snapshot *s, const char digest[DIGEST_SIZE])
{
	size_t room = s->prefix.n + DIGEST_LENGTH_MIN <= LABEL_MAX_LENGTH ? LABEL_MAX_LENGTH : NAME_MAX_LENGTH;

	return (struct str){digest, MIN((size_t)DIGEST_SIZE - 1, room - s->prefix.n)};
}

/* Finds a free name: the digest of the state, then that of the state and 1, and 2, until the
 * name is free. */
static int find_name(struct request *q, const struct snapshot *s, struct str *ret)
{
	char digest[DIGEST_SIZE];

	assert(s->digest.n == DIGEST_SIZE - 1);
	memcpy(digest, s->digest.p, s->digest.n);
	for (unsigned i = 0; i < NAMES_TRIED_MAX; i++) {
		if (i > 0) {
			digest_attempt(digest, s->data, i, q->a);
		}
		struct str end = cut_digest(s, digest);
		struct str name = arena_printf(q->a, STR_FMT STR_FMT, STR_ARG(s->prefix), STR_ARG(end));
		_cleanup_(cached_unrefp) struct cached *taken =
			cache_get(q->server->options.cache, s->revisions.kind, request_ns(q), name);
		if (!taken) {
			*ret = name;
			return 0;
		}
	}
	status_conflict(&q->st, request_group(q), q->route.resource, s->sent->meta.name,
		"each of %d names that begin with \"" STR_FMT "\" is taken; choose another namePrefix", NAMES_TRIED_MAX,
		STR_ARG(s->prefix));
	return 1;
}

/* ---- deciding ---- */

static struct json *number_node(struct request *q, const struct snapshot *s)
{
	return json_int(q->a, s->plan.number);
}

/* The fields that were left out of an object to make a state of it, as text; NULL: there are none. */
static struct json *ignored_text(struct request *q, const struct snapshot *s)
{
	const struct json *ignore = json_gets(s->change, "ignore");
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, IGNORED_MAX);
	if (!ignore || !ignore->n || !json_encode(&text, ignore)) {
		return NULL;
	}
	return json_string(q->a, arena_dup(q->a, buf_str(&text)));
}

/* The revision notes which fields were left out when its state was seen last. */
static void note_ignored(struct request *q, const struct snapshot *s, struct object *revision)
{
	struct json *text = ignored_text(q, s);

	if (text) {
		meta_set_annotation(&revision->meta, q->a, ANNOTATION_IGNORED, text);
	} else if (s->change && json_get(revision->meta.annotations, ANNOTATION_IGNORED)) {
		revision->meta.annotations = json_copy(q->a, revision->meta.annotations);
		json_remove(revision->meta.annotations, ANNOTATION_IGNORED);
	}
}

/* Each recorded state says who made it, because its History lists only the last changes. */
static void note_change(struct request *q, const struct snapshot *s, struct object *revision)
{
	struct json *facts = s->change ? keep_facts(s->change, s->user.name, q->a) : NULL;

	if (facts) {
		meta_set_annotation(&revision->meta, q->a, ANNOTATION_CHANGE, facts);
	}
}

static struct object *new_revision(struct request *q, const struct snapshot *s, struct str name)
{
	struct json *whole = json_object(q->a), *metadata = json_object(q->a), *owners = json_array(q->a);
	struct object *o = NULL;
	struct str reason;

	json_append(q->a, owners, json_gets(json_gets(s->sent->fields, "spec"), "owner"));
	json_add(q->a, metadata, STR("name"), json_string(q->a, name));
	json_add(q->a, metadata, STR("namespace"), json_string(q->a, request_ns(q)));
	if (s->labels) {
		json_add(q->a, metadata, STR("labels"), s->labels);
	}
	json_add(q->a, metadata, STR("ownerReferences"), owners);
	struct json *ignored = ignored_text(q, s);
	if (ignored) {
		struct json *annotations = json_object(q->a);
		json_add(q->a, annotations, ANNOTATION_IGNORED, ignored);
		json_add(q->a, metadata, STR("annotations"), annotations);
	}
	json_add(q->a, whole, STR("metadata"), metadata);
	json_add(q->a, whole, STR("data"), s->data);
	json_add(q->a, whole, STR("revision"), number_node(q, s));
	json_add(q->a, whole, STR("kind"), json_string(q->a, str_of(s->revisions.kind->kind)));
	json_add(q->a, whole, STR("apiVersion"), json_string(q->a, version_api_version(q->route.version, q->a)));
	if (object_decode(&o, s->revisions.kind, q->route.version, whole, NULL, q->a, NULL, &reason)) {
		status_internal(&q->st, "the revision cannot be made: " STR_FMT, STR_ARG(reason));
		return NULL;
	}
	note_change(q, s, o);
	return o;
}

static enum decision decide_create(struct request *q, struct snapshot *s)
{
	struct write *w = &s->write;
	struct str name;

	if (find_name(q, s, &name)) {
		return DECIDE_REFUSE;
	}
	write_aim(q, w, name, NULL);
	w->object = new_revision(q, s, name);
	return !w->object || write_admit_create(q, w, &s->rules) ? DECIDE_REFUSE : DECIDE_PUT;
}

/* The revision keeps its earlier numbers, because somebody who saw one in a log may still ask for it. */
static void note_earlier(struct request *q, struct object *revision)
{
	struct str rest = json_text(json_get(revision->meta.annotations, ANNOTATION_EARLIER)), each;
	struct buf text;

	buf_init(&text, EARLIER_MAX * 24);
	buf_add_int(&text, member_int(revision->fields, "revision"));
	for (int i = 1; i < EARLIER_MAX && rest.n > 0; i++) {
		str_cut(rest, ',', &each, &rest);
		buf_printf(&text, "," STR_FMT, STR_ARG(each));
	}
	meta_set_annotation(&revision->meta, q->a, ANNOTATION_EARLIER, json_string(q->a, arena_dup(q->a, buf_str(&text))));
	buf_done(&text);
}

static enum decision decide_roll_back(struct request *q, struct snapshot *s)
{
	struct write *w = &s->write;

	w->object = object_copy(w->present, q->a);
	if (s->change) {
		note_earlier(q, w->object);
	}
	json_set(q->a, w->object->fields, STR("revision"), number_node(q, s));
	note_ignored(q, s, w->object);
	note_change(q, s, w->object);
	if (write_admit_update(q, w, &s->rules)) {
		return DECIDE_REFUSE;
	}
	w->object->mod_revision = w->present->mod_revision;
	return DECIDE_PUT;
}

/* The engine's object, of those that are there: the one that is renumbered, else the first one that goes, else the current one. */
static int aim_at(struct request *q, struct snapshot *s, const struct snapshot_past *past)
{
	return write_aim(q, &s->write, past->name, past->ctx);
}

static enum decision decide_trim(struct request *q, struct snapshot *s)
{
	return aim_at(q, s, s->plan.trimmed[0]) ? DECIDE_REFUSE : DECIDE_REMOVE;
}

/* ---- the owner ---- */

static struct cached *get_owner(struct request *q, const struct snapshot *s, const struct kind *k)
{
	return cache_get(q->server->options.cache, k, k->is_namespaced ? request_ns(q) : STR(""), s->owner.name);
}

/* The uid decides which revisions are those of the owner, so another object's uid would reach that object's
 * history. An object that is served here is looked up. An object that is not there may have been deleted
 * meanwhile, and one of another server is not known. Then the uid must be no other object's of that kind and no
 * History's, and the revisions with it must name the owner. Returns NULL, or what is wrong. */
static const char *owner_problem(struct request *q, const struct snapshot *s)
{
	const struct kind *k = owner_kind(q, &s->owner);
	_cleanup_(cached_unrefp) struct cached *named = k ? get_owner(q, s, k) : NULL;
	_cleanup_(cached_unrefp) struct cached *history = NULL, *other = NULL;

	if (named) {
		return str_eq(named->uid, s->owner.uid) ? NULL : "must be the uid of the owner, which has another one";
	}
	if (s->history.other.uid.n > 0) {
		return "must be the uid of the owner, and is that of another controller";
	}
	if (s->history.n > 0) {
		return NULL;
	}
	history = history_of_uid(q, s->owner.uid);
	other = k ? object_of_uid(q, k, s->owner.uid) : NULL;
	return history || other ? "must be the uid of the owner, and is that of another object" : NULL;
}

/* With a change the owner is a History, which was read. */
static int check_owner(struct request *q, const struct snapshot *s)
{
	const char *problem = s->change ? NULL : owner_problem(q, s);
	struct field_errors errors;

	if (problem) {
		field_errors_init(&errors, q->a);
		field_invalid_str(&errors, STR("spec.owner.uid"), s->owner.uid, "%s", problem);
		status_invalid(&q->st, str_of(s->version->group), str_of(s->sent->kind->kind), s->sent->meta.name, &errors);
	}
	return problem != NULL;
}

/* The user of a change has the right to write all of the History. Others need the right to delete revisions if more are to go
 * than what a history loses that stays within its limit. */
static int authorize_trim(struct request *q, const struct snapshot *s)
{
	const struct authz_attributes what = {
		.user = q->user,
		.verb = str_of(verb_name(VERB_DELETE)),
		.is_resource = true,
		.group = str_of(s->revisions.version->group),
		.version = str_of(s->revisions.version->name),
		.resource = str_of(s->revisions.kind->resource),
		.ns = request_ns(q),
	};
	size_t n_pushed = s->plan.result == SNAPSHOT_CREATED;

	if (is_recorded(s) || s->plan.n_trimmed <= n_pushed + TRIM_SPARE) {
		return 0;
	}
	return authz_check(q->server->authz, &what, &q->questions, NULL, q->a, &q->st);
}

/* Now is when the object was seen, unless that is still to come by this server's clock: a recorder whose clock is ahead must not
 * make states old. */
static struct snapshot_keeping keeping_of(const struct snapshot *s)
{
	struct snapshot_keeping k = {
		.now_s = clock_wall_s(), .time_s = clock_wall_s(), .user = s->user.name, .bytes = s->data_bytes};
	int64_t time_us;

	keep_read(&k.rules, s->keep);
	if (time_parse_rfc3339(member_text(s->change, "time"), &time_us)) {
		k.time_s = time_us / 1000000;
		k.now_s = MIN(k.now_s, k.time_s);
	}
	return k;
}

/* One transaction removes as many as it can. The rest goes with the next change, or by the recorder's next round. */
static void plan_within(struct snapshot *s)
{
	s->order->has_more = s->keep && s->plan.n_trimmed > TRIM_MAX;
	if (s->order->has_more) {
		s->plan.n_trimmed = TRIM_MAX;
	}
}

static size_t state_bytes(const struct json *data)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, STATE_BYTES_MAX);
	json_encode(&text, data);
	return text.n;
}

static int read_past(struct request *q, struct snapshot *s)
{
	const struct snapshot_asked asked = {.revisions = s->revisions.kind,
		.owner = &s->owner,
		.live = s->live,
		.is_recorded = is_recorded(s),
		.limit = s->keep ? 0 : s->limit};

	arena_clear(&s->scratch);
	return snapshot_history_read(q, &s->history, &asked, &s->scratch) || check_owner(q, s);
}

static int plan(struct request *q, struct snapshot *s)
{
	if (read_past(q, s)) {
		return 1;
	}
	const struct snapshot_keeping keeping = keeping_of(s);
	int r = snapshot_plan(
		&s->plan, s->history.past, s->history.n, s->digest, s->limit, s->keep ? &keeping : NULL, &s->scratch);
	if (r == SNAPSHOT_IS_GOING) {
		status_conflict(&q->st, request_group(q), q->route.resource, s->sent->meta.name,
			"controllerrevisions \"" STR_FMT "\" holds this state and is being deleted; try again when it is gone",
			STR_ARG(s->plan.target->name));
	} else if (r == SNAPSHOT_NO_NUMBER) {
		status_conflict(&q->st, request_group(q), q->route.resource, s->sent->meta.name,
			"there is no higher number than that of its controller's newest revision");
	} else {
		plan_within(s);
	}
	return r != 0;
}

/* ---- the History ---- */

static int refuse_history(struct request *q, const struct snapshot *s, const char *why)
{
	status_conflict(&q->st, str_of(s->histories.kind->versions[0].group), str_of(s->histories.kind->resource),
		s->owner.name, "%s", why);
	return 1;
}

/* The History changes as if by a write of its status, so the user needs that right. */
static int authorize_history(struct request *q, const struct snapshot *s)
{
	const struct authz_attributes what = recorded_attributes(q, s->owner.name);

	return s->order->may_write_history ? 0 : authz_check(q->server->authz, &what, &q->questions, NULL, q->a, &q->st);
}

static int find_history(struct request *q, struct snapshot *s)
{
	const struct kind *k = s->histories.kind;
	_cleanup_(cached_unrefp) struct cached *o = cache_get(q->server->options.cache, k, request_ns(q), s->owner.name);

	if (!o && !agreed_version_check_readable(q, k)) {
		status_not_found(&q->st, str_of(k->versions[0].group), str_of(k->resource), s->owner.name);
	}
	if (o && cached_object(&s->telling, o, q->a)) {
		status_internal(&q->st, "the stored object " STR_FMT " cannot be read", STR_ARG(s->owner.name));
	}
	return q->st.code != 0;
}

/* The History as the client saw it, and not on its way out. */
static int read_history(struct request *q, struct snapshot *s)
{
	uint64_t version = 0;

	if (authorize_history(q, s) || find_history(q, s)) {
		return 1;
	}
	if (!str_eq(s->telling->meta.uid, s->owner.uid)) {
		return refuse_history(q, s, "there is another one of that name than the owner with that uid");
	}
	if (meta_is_deleting(&s->telling->meta)) {
		return refuse_history(q, s, "it is being deleted; try again when it is gone");
	}
	bool is_said = str_to_uint64(member_text(s->change, "historyResourceVersion"), &version);
	if (is_said && (uint64_t)s->telling->mod_revision != version) {
		return refuse_history(
			q, s, "the object has been modified; please apply your changes to the latest version and try again");
	}
	return 0;
}

/* If nobody changed the object, and only its API version is another one, the state needs no other revision. */
static bool is_another_version(struct request *q, const struct snapshot *s)
{
	const struct json *status = json_gets(s->telling->fields, "status");
	struct str version = member_text(status, "apiVersion");
	char digest[DIGEST_SIZE];

	if (!change_is_rerecorded(s->change) || !version.n || !json_gets(status, "revision")) {
		return false;
	}
	struct json *state = json_copy(q->a, s->data);
	json_set(q->a, state, STR("apiVersion"), json_string(q->a, version));
	digest_of(digest, state, q->a);
	return str_is(member_text(status, "digest"), digest);
}

static int64_t revisions_afterwards(const struct snapshot *s)
{
	return (int64_t)(s->history.n + (s->plan.result == SNAPSHOT_CREATED) - s->n_trims);
}

static int64_t bytes_afterwards(const struct snapshot *s)
{
	size_t bytes = s->data_bytes;

	for (size_t i = 0; i < s->history.n; i++) {
		bytes += &s->history.past[i] == s->plan.target ? 0 : s->history.past[i].bytes;
	}
	for (size_t i = 0; i < s->n_trims; i++) {
		bytes -= s->plan.trimmed[i]->bytes;
	}
	return (int64_t)bytes;
}

/* Without rules of keeping the oldest go first, so nobody needs the numbers, unless there were such rules before. */
static struct str numbers_afterwards(struct request *q, const struct snapshot *s)
{
	bool is_needed = s->keep || json_gets(json_gets(s->telling->fields, "status"), "kept");

	return is_needed ? snapshot_numbers(&s->plan, s->history.past, s->history.n, s->n_trims, q->a) : STR("");
}

/* The History as it shall be; NULL with q->st. The revision that holds the state must have been decided on, and named. */
static struct object *told_history(struct request *q, const struct snapshot *s)
{
	const struct snapshot_plan *p = &s->plan;
	bool has_plan = !is_stateless(s) && !s->has_revision;
	const struct snapshot_held held = {
		.name = s->has_revision ? STR("")
			: p->target     ? p->target->name
					: s->write.name,
		.digest = s->digest,
		.number = p->number,
		.revisions = revisions_afterwards(s),
		.kept = has_plan ? numbers_afterwards(q, s) : STR(""),
		.bytes = has_plan ? bytes_afterwards(s) : 0,
	};
	struct object *o = object_copy(s->telling, q->a);
	const struct json *old = json_gets(o->fields, "status");
	struct json *status = s->order->is_trim
		? snapshot_trim_status(s->histories.kind, old, &held, q->a)
		: snapshot_change_status(s->histories.kind, old, s->change, &held, s->user.name, &s->user.authors, q->a);

	if (!status) {
		status_internal(&q->st, "the status of the stored object " STR_FMT " cannot be read", STR_ARG(s->owner.name));
		return NULL;
	}
	json_set(q->a, o->fields, STR("status"), status);
	managed_update(o, s->telling, s->histories.version, STR("status"), s->rules.manager, request_now(q), q->a);
	return o;
}

/* The History is the engine's object. Besides it only trimmed revisions are written. */
static enum decision decide_tell(struct request *q, struct snapshot *s)
{
	struct write *w = &s->write;

	turn_to(q, &s->histories);
	write_aim(q, w, s->owner.name, NULL);
	w->present = s->telling;
	w->object = told_history(q, s);
	return w->object ? DECIDE_PUT : DECIDE_REFUSE;
}

static enum decision tell_beside(struct request *q, struct snapshot *s, enum decision d)
{
	if (!s->change || d != DECIDE_PUT) {
		return d;
	}
	s->write.beside.object = told_history(q, s);
	return s->write.beside.object ? DECIDE_PUT : DECIDE_REFUSE;
}

static enum decision decide_state(struct request *q, struct snapshot *s)
{
	if (plan(q, s) || authorize_trim(q, s)) {
		return DECIDE_REFUSE;
	}
	s->only_trims = s->plan.n_trimmed > TRIM_MAX && !q->is_dry_run;
	s->n_trims = s->only_trims ? TRIM_MAX : s->plan.n_trimmed;
	if (s->only_trims) {
		return decide_trim(q, s);
	}
	if (s->plan.result == SNAPSHOT_UNCHANGED && s->change) {
		return decide_tell(q, s);
	}
	if (s->plan.result == SNAPSHOT_UNCHANGED && s->n_trims > 0 && !q->is_dry_run) {
		return decide_trim(q, s);
	}
	if (s->plan.result == SNAPSHOT_CREATED) {
		return tell_beside(q, s, decide_create(q, s));
	}
	if (aim_at(q, s, s->plan.target)) {
		return DECIDE_REFUSE;
	}
	return s->plan.result == SNAPSHOT_UNCHANGED ? DECIDE_KEEP : tell_beside(q, s, decide_roll_back(q, s));
}

/* The newest revision holds the current state. */
static int plan_trim(struct request *q, struct snapshot *s)
{
	struct snapshot_keeping keeping = keeping_of(s);
	struct object *whole;

	s->plan = (struct snapshot_plan){0};
	s->order->has_more = false;
	if (read_past(q, s) || s->history.n == 0) {
		return q->st.code != 0;
	}
	const struct snapshot_past *newest = snapshot_newest(s->history.past, s->history.n);
	if (cached_object(&whole, newest->ctx, q->a)) {
		status_internal(&q->st, "the stored object " STR_FMT " cannot be read", STR_ARG(newest->name));
		return 1;
	}
	s->data_bytes = state_bytes(json_gets(whole->fields, "data"));
	keeping.bytes = s->data_bytes;
	snapshot_plan_trim(&s->plan, s->history.past, s->history.n, &keeping, &s->scratch);
	plan_within(s);
	return 0;
}

static bool is_counted(const struct snapshot *s)
{
	const struct json *status = json_gets(s->telling->fields, "status");

	return member_int(status, "revisions") == revisions_afterwards(s) && member_int(status, "bytes") == bytes_afterwards(s);
}

/* Histories of earlier versions say no bytes, and somebody may have deleted revisions: those are counted anew. */
static enum decision decide_trim_of_history(struct request *q, struct snapshot *s)
{
	if (plan_trim(q, s)) {
		return DECIDE_REFUSE;
	}
	s->n_trims = s->plan.n_trimmed;
	bool is_kept = s->history.n == 0 || (s->n_trims == 0 && is_counted(s));
	enum decision d = decide_tell(q, s);

	return d == DECIDE_PUT && is_kept ? DECIDE_KEEP : d;
}

static enum decision snapshot_decide(struct request *q, struct write *w)
{
	struct snapshot *s = container_of(w, struct snapshot, write);

	turn_to(q, &s->revisions);
	s->n_trims = 0;
	if (is_recorded(s) && read_history(q, s)) {
		return DECIDE_REFUSE;
	}
	if (s->order->is_trim) {
		return decide_trim_of_history(q, s);
	}
	s->has_revision = s->change && is_another_version(q, s);
	return is_stateless(s) || s->has_revision ? decide_tell(q, s) : decide_state(q, s);
}

/* ---- the transaction ---- */

/* The engine guards and writes that one. */
static bool is_aim(const struct request *q, const struct snapshot *s, const struct snapshot_past *past)
{
	return q->route.kind == s->revisions.kind && str_eq(past->name, s->write.name);
}

/* A revision that goes meanwhile does no harm to the history: the numbers still grow. */
static void snapshot_extend(struct request *q, struct write *w, struct plan *p)
{
	const struct snapshot *s = container_of(w, struct snapshot, write);
	size_t n_trims = q->is_dry_run ? 0 : s->n_trims;

	if (is_stateless(s) || s->has_revision) {
		return;
	}
	plan_guard_history(p, request_ns(q), s->owner.uid, s->history.revision);
	if (s->plan.target && !is_aim(q, s, s->plan.target)) {
		const struct cached *o = s->plan.target->ctx;
		plan_guard_object(p, o->kind, o->ns, o->name, o->revision);
	}
	for (size_t i = 0; i < n_trims; i++) {
		const struct snapshot_past *past = s->plan.trimmed[i];
		const struct cached *o = past->ctx;
		const struct history_place place = {.owner = s->owner.uid, .number = past->number};
		if (is_aim(q, s, past)) {
			plan_guard_unreferenced(p, s->revisions.kind, request_ns(q), past->name);
		} else {
			plan_remove_revision(p,
				&(struct plan_change){.kind = o->kind, .ns = o->ns, .name = o->name, .revision = o->revision},
				&place, past->digest);
		}
	}
}

/* ---- the answer ---- */

static void note_trimmed(struct request *q, struct snapshot *s)
{
	for (size_t i = 0; i < s->n_trims; i++) {
		json_append(q->a, s->trimmed, json_string(q->a, arena_dup(q->a, s->plan.trimmed[i]->name)));
	}
}

static struct json *revision_of(struct request *q, const struct snapshot *s)
{
	struct json *revision = json_object(q->a);
	struct str name = s->plan.target ? s->plan.target->name : s->write.name;

	json_add(q->a, revision, STR("name"), json_string(q->a, name));
	json_add(q->a, revision, STR("revision"), number_node(q, s));
	return revision;
}

static struct json *history_of(struct request *q, const struct snapshot *s)
{
	struct json *history = json_object(q->a);
	int64_t revision = s->write.revision ? s->write.revision : s->telling->mod_revision;

	json_add(q->a, history, STR("name"), json_string(q->a, s->owner.name));
	json_add(q->a, history, STR("resourceVersion"), json_string(q->a, arena_printf(q->a, "%lld", (long long)revision)));
	return history;
}

static struct json *status_of(struct request *q, const struct snapshot *s)
{
	struct json *status = json_object(q->a);
	const enum snapshot_result of_state = s->has_revision ? SNAPSHOT_UNCHANGED : s->plan.result;
	const char *result = is_stateless(s) ? (is_deletion(s) ? "Deleted" : "Released") : snapshot_result_name(of_state);

	json_add(q->a, status, STR("result"), json_string(q->a, str_of(result)));
	if (!is_stateless(s) && !s->has_revision && !s->order->is_trim) {
		json_add(q->a, status, STR("revision"), revision_of(q, s));
	}
	if (s->trimmed->n > 0) {
		json_add(q->a, status, STR("trimmed"), s->trimmed);
	}
	if (is_recorded(s)) {
		json_add(q->a, status, STR("history"), history_of(q, s));
	}
	return status;
}

static void snapshot_start(struct request *q, struct snapshot *s);

static void snapshot_finish(struct request *q, struct write *w)
{
	struct snapshot *s = container_of(w, struct snapshot, write);

	note_trimmed(q, s);
	if (s->only_trims) {
		plan_clear(&q->plan);
		snapshot_start(q, s);
		return;
	}
	if (s->history.is_blind) {
		request_warn(q,
			STR("no revision was deleted: this server does not know which of them are in use; "
			    "name those in spec.live, or none by an empty list"));
	}
	if (s->order->done) {
		bool has_plan = !is_stateless(s) && !s->has_revision;
		s->order->revisions = has_plan ? revisions_afterwards(s) : -1;
		s->order->bytes = has_plan ? bytes_afterwards(s) : 0;
		s->order->done(q, s->order, status_of(q, s));
		return;
	}
	json_set(q->a, s->sent->fields, STR("status"), status_of(q, s));
	reply_json(q, 201, object_to_json(s->sent, s->version, q->a));
}

static void snapshot_refuse(struct request *q, struct snapshot *s)
{
	if (s->order->refused) {
		s->order->refused(q, s->order);
	} else {
		reply_status(q);
	}
}

static void snapshot_refused(struct request *q, struct write *w)
{
	snapshot_refuse(q, container_of(w, struct snapshot, write));
}

/* ---- all of it ---- */

struct snapshot *snapshot_release(struct snapshot *s)
{
	if (s) {
		snapshot_history_done(&s->history);
		arena_done(&s->scratch);
	}
	return NULL;
}

static void snapshot_cleanup(struct request *q _unused_, void *ctx)
{
	snapshot_release(ctx);
}

static int snapshot_validate(struct request *q, const struct object *o)
{
	struct field_errors errors;

	field_errors_init(&errors, q->a);
	o->kind->validate(o, &errors);
	if (errors.n == 0) {
		return 0;
	}
	status_invalid(&q->st, request_group(q), str_of(o->kind->kind), o->meta.name, &errors);
	return 1;
}

static void snapshot_read(struct request *q, struct snapshot *s)
{
	const struct json *spec = json_gets(s->sent->fields, "spec"), *owner = json_gets(spec, "owner");
	struct str prefix = member_text(spec, "namePrefix");
	char digest[DIGEST_SIZE];
	int64_t limit = 0;

	s->owner = (struct owner_reference){.api_version = member_text(owner, "apiVersion"),
		.kind = member_text(owner, "kind"),
		.name = member_text(owner, "name"),
		.uid = member_text(owner, "uid")};
	s->prefix = prefix.n > 0 ? prefix : arena_printf(q->a, STR_FMT "-", STR_ARG(s->owner.name));
	s->data = json_gets(spec, "data");
	s->labels = json_gets(spec, "labels");
	s->live = json_gets(spec, "live");
	s->change = json_gets(spec, "change");
	s->keep = json_gets(spec, "keep");
	json_to_int64(json_gets(spec, "historyLimit"), &limit);
	s->limit = (size_t)limit;
	if (is_stateless(s) || s->order->is_trim) {
		return;
	}
	s->data_bytes = state_bytes(s->data);
	s->digest = s->order->digest;
	if (s->digest.n == 0) {
		digest_of(digest, s->data, q->a);
		s->digest = arena_dup(q->a, str_of(digest));
	}
}

static void snapshot_start(struct request *q, struct snapshot *s)
{
	s->write = (struct write){.name = STR(""),
		.arena = s->order->arena,
		.decide = snapshot_decide,
		.finish = snapshot_finish,
		.refused = snapshot_refused,
		.extend = snapshot_extend};
	write_run(q, &s->write);
}

static void user_found(struct request *q, struct change_user *u)
{
	snapshot_start(q, container_of(u, struct snapshot, user));
}

static void user_not_found(struct request *q, struct change_user *u)
{
	snapshot_refuse(q, container_of(u, struct snapshot, user));
}

/* At the same version as snapshots. */
static struct snapshot_kind find_kind(struct request *q, const char *resource)
{
	struct snapshot_kind k;

	k.kind = kind_by_resource(
		q->route.group, q->route.version_name, str_of(resource), q->server->options.is_standalone, &k.version);
	return k;
}

struct snapshot *snapshot_prepare(struct request *q, struct snapshot_order *order)
{
	struct snapshot *s = arena_new(q->a, struct snapshot);

	s->order = order;
	s->sent = order->sent;
	s->version = q->route.version;
	s->revisions = find_kind(q, "controllerrevisions");
	s->histories = find_kind(q, "histories");
	s->rules.manager = order->manager;
	s->trimmed = json_array(q->a);
	arena_init(&s->scratch, (size_t)64 << 20);
	return s;
}

void snapshot_run(struct request *q, struct snapshot *s)
{
	if (!s->order->is_trim && snapshot_validate(q, s->sent)) {
		snapshot_refuse(q, s);
		return;
	}
	snapshot_read(q, s);
	s->user.next = user_found;
	s->user.refused = user_not_found;
	change_user_find_of(q, &s->user,
		&(struct change_asked){
			.change = s->change, .data = s->data, .histories = s->histories.kind, .history = s->owner.name});
}

void snapshot_answer(struct request *q, struct object *sent, struct str manager)
{
	struct snapshot_order *order = arena_new(q->a, struct snapshot_order);
	struct snapshot *s;

	sent->meta = (struct meta){.name = sent->meta.name,
		.ns = sent->meta.ns,
		.labels = sent->meta.labels,
		.annotations = sent->meta.annotations};
	*order = (struct snapshot_order){.sent = sent, .manager = manager, .arena = q->a};
	s = snapshot_prepare(q, order);
	request_on_cleanup(q, snapshot_cleanup, s);
	snapshot_run(q, s);
}
