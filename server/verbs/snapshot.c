/* One transaction does what a controller needs many for. It runs on the engine of writes with one
 * object as its aim, and everything else as guards and steps beside it. Each decision is made anew
 * from the cache's history: nothing is kept from a round that lost, but the names that earlier
 * transactions have trimmed. */
#include "server/verbs/snapshot.h"

#include "api/model/digest.h"
#include "api/model/members.h"
#include "server/request/respond.h"
#include "server/verbs/snapshot_history.h"
#include "server/write/write_history.h"
#include "server/write/write_references.h"
#include "storage/keys.h"

enum {
	NAMES_TRIED_MAX = 64,
	NAME_MAX_LENGTH = 253,
	LABEL_MAX_LENGTH = 63,
	DIGEST_LENGTH_MIN = 10, /* of a name: with less there would be collisions every day */
	/* Guards and steps of one transaction are at most 128: three steps for each that is trimmed, and some for the revision itself. */
	TRIM_MAX = 40,
};

struct snapshot {
	struct write write;
	struct write_rules rules;
	struct object *sent;
	const struct door *door; /* of snapshots: the request's is that of the revision while it is written */
	const struct kind *revisions;
	struct json *data, *labels;
	struct owner_reference owner;
	struct str digest, prefix;
	size_t limit;
	struct arena scratch; /* of the decision under way */
	struct snapshot_history history;
	struct snapshot_plan plan;
	bool only_trims;      /* there is more to trim than one transaction can: first this, then again */
	size_t n_trims;       /* of plan.trimmed, by this transaction */
	struct json *trimmed; /* names, by this and those before */
};

bool snapshot_is(const struct kind *k)
{
	return strcmp(k->kind, "Snapshot") == 0;
}

/* ---- the name of a new revision ---- */

/* Short enough for a label's value, so that generated objects can name it, where the prefix leaves room for that. */
static struct str cut_digest(const struct snapshot *s, const char digest[DIGEST_SIZE])
{
	size_t room = s->prefix.n + DIGEST_LENGTH_MIN <= LABEL_MAX_LENGTH ? LABEL_MAX_LENGTH : NAME_MAX_LENGTH;

	return (struct str){digest, MIN((size_t)DIGEST_SIZE - 1, room - s->prefix.n)};
}

/* Seed 000, "Collision Resolution": the digest of the state, then that of the state and 1, and 2 ... until nobody has the name. */
static int find_name(struct request *q, const struct snapshot *s, struct str *ret)
{
	char digest[DIGEST_SIZE];

	for (unsigned i = 0; i < NAMES_TRIED_MAX; i++) {
		digest_attempt(digest, s->data, i, q->a);
		struct str end = cut_digest(s, digest);
		struct str name = arena_printf(q->a, STR_FMT STR_FMT, STR_ARG(s->prefix), STR_ARG(end));
		_cleanup_(cached_unrefp) struct cached *taken =
			cache_get(q->server->options.cache, s->revisions, request_ns(q), name);
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
	json_add(q->a, whole, STR("metadata"), metadata);
	json_add(q->a, whole, STR("data"), s->data);
	json_add(q->a, whole, STR("revision"), number_node(q, s));
	json_add(q->a, whole, STR("kind"), json_string(q->a, str_of(s->revisions->kind)));
	json_add(q->a, whole, STR("apiVersion"), json_string(q->a, door_api_version(q->route.door, q->a)));
	if (object_decode(&o, s->revisions, q->route.door, whole, NULL, q->a, NULL, &reason)) {
		status_internal(&q->st, "the revision cannot be made: " STR_FMT, STR_ARG(reason));
	}
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

static enum decision decide_roll_back(struct request *q, struct snapshot *s)
{
	struct write *w = &s->write;

	w->object = object_copy(w->present, q->a);
	json_set(q->a, w->object->fields, STR("revision"), number_node(q, s));
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

static int plan(struct request *q, struct snapshot *s)
{
	arena_clear(&s->scratch);
	if (snapshot_history_read(&s->history, q, s->revisions, s->owner.uid, s->limit, &s->scratch)) {
		return 1;
	}
	int r = snapshot_plan(&s->plan, s->history.past, s->history.n, s->digest, s->limit, &s->scratch);
	if (r == SNAPSHOT_IS_GOING) {
		status_conflict(&q->st, request_group(q), q->route.resource, s->sent->meta.name,
			"controllerrevisions \"" STR_FMT "\" holds this state and is being deleted; try again when it is gone",
			STR_ARG(s->plan.target->name));
	} else if (r == SNAPSHOT_NO_NUMBER) {
		status_conflict(&q->st, request_group(q), q->route.resource, s->sent->meta.name,
			"there is no higher number than that of its controller's newest revision");
	}
	return r != 0;
}

static enum decision snapshot_decide(struct request *q, struct write *w)
{
	struct snapshot *s = container_of(w, struct snapshot, write);

	if (plan(q, s)) {
		return DECIDE_REFUSE;
	}
	s->only_trims = s->plan.n_trimmed > TRIM_MAX && !q->is_dry_run;
	s->n_trims = s->only_trims ? TRIM_MAX : s->plan.n_trimmed;
	if (s->only_trims || (s->plan.result == SNAPSHOT_UNCHANGED && s->n_trims > 0 && !q->is_dry_run)) {
		return decide_trim(q, s);
	}
	if (s->plan.result == SNAPSHOT_CREATED) {
		return decide_create(q, s);
	}
	if (aim_at(q, s, s->plan.target)) {
		return DECIDE_REFUSE;
	}
	return s->plan.result == SNAPSHOT_UNCHANGED ? DECIDE_KEEP : decide_roll_back(q, s);
}

/* ---- the transaction ---- */

static void add_guard(struct storage_txn *t, struct storage_compare c)
{
	t->compares[t->n_compares++] = c;
}

static struct str key_of(struct request *q, const struct cached *o)
{
	const struct kind *k = o->kind;

	return key_object(q->a, q->server->options.prefix, str_of(k->doors[0].group), str_of(k->resource), o->ns, o->name);
}

static void guard_present(struct request *q, struct storage_txn *t, const struct cached *o)
{
	add_guard(t, storage_compare_mod(key_of(q, o), o->revision));
}

/* Who goes meanwhile does no harm: the numbers still grow. */
static void guard_history(struct request *q, const struct snapshot *s, struct storage_txn *t)
{
	struct str history = key_history(q->a, q->server->options.prefix, request_ns(q), s->owner.uid);

	add_guard(t,
		(struct storage_compare){.target = COMPARE_MOD,
			.result = COMPARE_LESS,
			.key = history,
			.range_end = storage_prefix_end(q->a, history),
			.number = s->history.revision + 1});
}

static void add_removal(struct request *q, const struct snapshot *s, struct storage_txn *t, const struct snapshot_past *past)
{
	const struct history_place place = {.owner = s->owner.uid, .number = past->number};

	t->success[t->n_success++] = (struct storage_step){.kind = STEP_DELETE, .key = key_of(q, past->ctx)};
	history_removals(q, &place, past->digest, past->name, t->success + t->n_success);
	t->n_success += HISTORY_REMOVALS;
}

static void snapshot_extend(struct request *q, struct write *w, struct storage_txn *t)
{
	const struct snapshot *s = container_of(w, struct snapshot, write);
	size_t n_trims = q->is_dry_run ? 0 : s->n_trims;

	guard_history(q, s, t);
	if (s->plan.target && !str_eq(s->plan.target->name, w->name)) {
		guard_present(q, t, s->plan.target->ctx);
	}
	for (size_t i = 0; i < n_trims; i++) {
		const struct snapshot_past *past = s->plan.trimmed[i];
		add_guard(t, references_none_since(q, s->revisions, past->name, s->history.revision));
		if (!str_eq(past->name, w->name)) {
			guard_present(q, t, past->ctx);
			add_removal(q, s, t, past);
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

static struct json *status_of(struct request *q, const struct snapshot *s)
{
	struct json *status = json_object(q->a), *revision = json_object(q->a);
	struct str name = s->plan.target ? s->plan.target->name : s->write.name;

	json_add(q->a, revision, STR("name"), json_string(q->a, name));
	json_add(q->a, revision, STR("revision"), number_node(q, s));
	json_add(q->a, status, STR("result"), json_string(q->a, str_of(snapshot_result_name(s->plan.result))));
	json_add(q->a, status, STR("revision"), revision);
	if (s->trimmed->n > 0) {
		json_add(q->a, status, STR("trimmed"), s->trimmed);
	}
	return status;
}

static void snapshot_start(struct request *q, struct snapshot *s);

static void snapshot_finish(struct request *q, struct write *w)
{
	struct snapshot *s = container_of(w, struct snapshot, write);

	note_trimmed(q, s);
	if (s->only_trims) {
		storage_op_clear(&q->txn.op);
		q->has_txn = false;
		snapshot_start(q, s);
		return;
	}
	json_set(q->a, s->sent->fields, STR("status"), status_of(q, s));
	reply_json(q, 201, object_to_json(s->sent, s->door, q->a));
}

/* ---- all of it ---- */

static void snapshot_cleanup(struct request *q _unused_, void *ctx)
{
	struct snapshot *s = ctx;

	snapshot_history_done(&s->history);
	arena_done(&s->scratch);
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

	s->owner = (struct owner_reference){.name = member_text(owner, "name"), .uid = member_text(owner, "uid")};
	s->prefix = prefix.n > 0 ? prefix : arena_printf(q->a, STR_FMT "-", STR_ARG(s->owner.name));
	s->data = json_gets(spec, "data");
	s->labels = json_gets(spec, "labels");
	json_to_int64(json_gets(spec, "historyLimit"), &limit);
	s->limit = (size_t)limit;
	digest_of(digest, s->data, q->a);
	s->digest = arena_dup(q->a, str_of(digest));
}

static void snapshot_start(struct request *q, struct snapshot *s)
{
	s->write = (struct write){
		.name = STR(""), .decide = snapshot_decide, .finish = snapshot_finish, .extend = snapshot_extend};
	write_run(q, &s->write);
}

void snapshot_answer(struct request *q, struct object *sent, struct str manager)
{
	struct snapshot *s = arena_new(q->a, struct snapshot);

	sent->meta = (struct meta){.name = sent->meta.name,
		.ns = sent->meta.ns,
		.labels = sent->meta.labels,
		.annotations = sent->meta.annotations};
	if (snapshot_validate(q, sent)) {
		reply_status(q);
		return;
	}
	s->sent = sent;
	s->door = q->route.door;
	s->revisions = kind_by_resource(
		q->route.group, q->route.version, STR("controllerrevisions"), q->server->options.is_standalone, &q->route.door);
	q->route.kind = s->revisions;
	s->rules.manager = manager;
	s->trimmed = json_array(q->a);
	arena_init(&s->scratch, (size_t)64 << 20);
	request_on_cleanup(q, snapshot_cleanup, s);
	snapshot_read(q, s);
	snapshot_start(q, s);
}
