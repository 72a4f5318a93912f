/* The users of changes: noted by the validating webhook of Recorders, and needed by Snapshots.
 *
 * A user's write waits for the webhook's answer, so the answer comes soon, even without etcd, and
 * it is always the same: allowed. An error costs a name, never a write. The note is of the state
 * that would be stored, before anything is ignored or redacted, because the recorder sees that
 * state. A write of the subresource scale shows no state: the note has the number of replicas. A
 * write that leaves the state as it is makes no note. Notes of Secrets stay in memory, because short secrets
 * can be guessed by their digest.
 *
 * A Snapshot reads both this replica's notes and etcd's: another replica may have noted another
 * user. */
#include "server/revisions/revisions.h"

#include "api/diff/changes.h"
#include "api/diff/pointer.h"
#include "api/diff/state.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "server/request/respond.h"
#include "server/request/wait.h"
#include "server/write/write_memory.h"
#include "storage/keys.h"

#include <assert.h>

enum {
	TREE_CEILING = 96 << 20, /* bytes, of what the body is read into; it goes before etcd is asked */
};

struct hook {
	struct str uid; /* of the review */
	struct user_note note;
	bool is_noted;
	bool stays_here; /* the note does not go to etcd */
};

/* ---- what is asked ---- */

static struct str of_request(const struct json *review, const char *name)
{
	return member_text(json_gets(review, "request"), name);
}

static int refuse_review(struct request *q, const char *what)
{
	status_bad_request(&q->st, "the body must be an AdmissionReview of admission.k8s.io/v1: %s", what);
	return 1;
}

static int check_review(struct request *q, const struct json *review)
{
	if (!str_is(member_text(review, "apiVersion"), "admission.k8s.io/v1")) {
		return refuse_review(q, "apiVersion is another one");
	}
	if (!str_is(member_text(review, "kind"), "AdmissionReview")) {
		return refuse_review(q, "kind is another one");
	}
	if (!json_is(json_gets(review, "request"), JSON_OBJECT)) {
		return refuse_review(q, "request is mandatory");
	}
	return of_request(review, "uid").n > 0 ? 0 : refuse_review(q, "request.uid is mandatory");
}

static bool is_secret(const struct json *review)
{
	const struct json *resource = json_gets(json_gets(review, "request"), "resource");

	return str_is(member_text(resource, "resource"), "secrets") && member_text(resource, "group").n == 0;
}

/* ---- what is noted ---- */

/* The digest of an object's state; empty: it is none. */
static struct str digest_state(const struct json *object, struct arena *a)
{
	char digest[DIGEST_SIZE];

	if (!json_is(object, JSON_OBJECT)) {
		return STR("");
	}
	digest_of(digest, state_of(object, NULL, a), a);
	return arena_dup(a, str_of(digest));
}

/* Identifies the write by the uid of the object, and by the version that the write replaces. */
static bool read_write(struct user_note *note, const struct json *object, const struct json *old)
{
	const struct json *metadata = json_gets(old ? old : object, "metadata");

	note->uid = member_text(metadata, "uid");
	note->version = 0;
	return note->uid.n > 0 && (!old || str_to_uint64(member_text(metadata, "resourceVersion"), &note->version));
}

/* An object that is being deleted already was deleted by somebody else. */
static bool note_deletion(struct user_note *note, const struct json *old, struct arena *a)
{
	note->sort = NOTE_DELETION;
	note->from = digest_state(old, a);
	read_write(note, NULL, old);
	return note->uid.n > 0 && member_text(json_gets(old, "metadata"), "deletionTimestamp").n == 0;
}

static bool note_state(struct user_note *note, const struct json *object, const struct json *old, struct arena *a)
{
	note->sort = NOTE_STATE;
	note->from = digest_state(old, a);
	note->to = digest_state(object, a);
	return read_write(note, object, old) && note->to.n > 0 && !str_eq(note->from, note->to);
}

static int64_t replicas_of(const struct json *scale)
{
	return member_int(json_gets(scale, "spec"), "replicas");
}

static bool note_scale(struct user_note *note, const struct json *scale, const struct json *old)
{
	note->sort = NOTE_SCALE;
	note->replicas = replicas_of(scale);
	return old && read_write(note, scale, old) && replicas_of(scale) != replicas_of(old);
}

static void keep_texts(struct user_note *note, struct arena *a)
{
	struct str *texts[] = {&note->uid, &note->from, &note->to, &note->user};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		*texts[i] = arena_dup(a, *texts[i]);
	}
}

static void read_note(struct request *q, struct hook *h, const struct json *review, struct arena *a)
{
	const struct json *request = json_gets(review, "request");
	const struct json *object = json_gets(request, "object"), *old = json_gets(request, "oldObject");
	struct user_note *note = &h->note;

	old = json_is(old, JSON_OBJECT) ? old : NULL;
	note->user = member_text(json_gets(request, "userInfo"), "username");
	note->time_s = clock_wall_s();
	h->stays_here = is_secret(review);
	if (str_is(of_request(review, "operation"), "DELETE")) {
		h->is_noted = note_deletion(note, old, a);
	} else if (str_is(of_request(review, "subResource"), "scale")) {
		h->is_noted = note_scale(note, object, old);
	} else {
		h->is_noted = note_state(note, object, old, a);
	}
	h->is_noted = h->is_noted && note->user.n > 0 && note->user.n <= USER_NOTES_NAME_MAX &&
		note->uid.n <= USER_NOTES_UID_MAX && !member_is_true(request, "dryRun") && !arena_is_full(a);
	if (h->is_noted) {
		keep_texts(note, http_arena(q->x));
	}
}

static int read_review(struct request *q, struct hook *h, struct arena *a)
{
	struct body body;

	if (write_read_body(q, &body) || check_review(q, body.json)) {
		return 1;
	}
	h->uid = arena_dup(http_arena(q->x), of_request(body.json, "uid"));
	read_note(q, h, body.json, a);
	return 0;
}

/* The tree is gone before anything waits. The refusal's words may have been made of it. */
static int hook_read(struct request *q, struct hook *h)
{
	struct arena tree;

	arena_init(&tree, TREE_CEILING);
	q->a = &tree;
	int r = read_review(q, h, &tree);
	q->a = http_arena(q->x);
	if (r) {
		reply_status(q);
	}
	arena_done(&tree);
	return r;
}

/* ---- the answer ---- */

static void hook_reply(struct request *q)
{
	const struct hook *h = q->state;
	struct json *review = json_object(q->a), *response = json_object(q->a);

	json_add(q->a, response, STR("uid"), json_string(q->a, h->uid));
	json_add(q->a, response, STR("allowed"), json_bool(q->a, true));
	json_add(q->a, review, STR("kind"), json_string(q->a, STR("AdmissionReview")));
	json_add(q->a, review, STR("apiVersion"), json_string(q->a, STR("admission.k8s.io/v1")));
	json_add(q->a, review, STR("response"), response);
	reply_json(q, 200, review);
}

/* ---- for other replicas ---- */

static void hook_stored(struct request *q)
{
	if (q->plan.txn.op.result == STORAGE_LEASE_GONE) {
		leases_forget(q->server->note_leases, q->lease.id);
	}
	if (q->plan.txn.op.result != STORAGE_OK) {
		user_notes_store_failed(q->server->user_notes, clock_mono_ms());
	}
	hook_reply(q);
}

static void hook_store(struct request *q)
{
	const struct hook *h = q->state;

	if (q->lease.result != STORAGE_OK) {
		user_notes_store_failed(q->server->user_notes, clock_mono_ms());
		hook_reply(q);
		return;
	}
	plan_init(&q->plan, q->a, q->server->options.prefix);
	struct str key = user_note_key(q->a, q->server->options.prefix, &h->note);
	plan_put(&q->plan, key, user_note_value(q->a, &h->note), q->lease.id);
	q->deadline_ms = MIN(q->deadline_ms, clock_mono_ms() + USER_NOTES_STORE_PATIENCE_MS);
	request_txn(q, hook_stored);
}

/* ---- all of it ---- */

/* A webhook that was left behind when its Recorder went costs nothing. */
static bool has_recorder(struct request *q)
{
	struct cache *c = q->server->options.cache;
	_cleanup_(cached_unrefp) struct cached *o =
		cache_is_ready(c) ? cache_get(c, q->route.kind, STR(""), q->route.name) : NULL;

	return o != NULL;
}

void hook_answer(struct request *q)
{
	struct hook *h = arena_new(q->a, struct hook);
	struct user_notes *notes = q->server->user_notes;
	int64_t now_ms = clock_mono_ms();

	q->state = h;
	if (hook_read(q, h)) {
		return;
	}
	if (!h->is_noted || !has_recorder(q)) {
		hook_reply(q);
		return;
	}
	user_notes_add(notes, &h->note, now_ms);
	if (h->stays_here || !user_notes_may_store(notes, now_ms)) {
		hook_reply(q);
	} else {
		request_wait_lease(q, q->server->note_leases, hook_store);
	}
}

/* ---- who made a change ---- */

enum { USERS_MAX = 2 }; /* two are as good as many: nobody is named */

/* Reads the notes below this path, which lacks the prefix of the store. */
static void read_notes(struct request *q, struct str path, int64_t limit)
{
	struct str first =
		arena_printf(q->a, STR_FMT STR_FMT, STR_ARG(key_user_notes(q->a, q->server->options.prefix)), STR_ARG(path));

	plan_read(&q->plan, first, storage_prefix_end(q->a, first))->limit = limit;
}

static bool has_notes(struct request *q, struct change_user *u)
{
	if (q->plan.txn.op.result == STORAGE_OK) {
		return true;
	}
	request_refuse_storage(q, q->plan.txn.op.result, q->plan.txn.op.message, false);
	plan_clear(&q->plan);
	q->state = u->state;
	u->refused(q, u);
	return false;
}

static void change_user_go_on(struct request *q, struct change_user *u)
{
	plan_clear(&q->plan);
	q->state = u->state;
	u->next(q, u);
}

static void change_user_found(struct request *q)
{
	struct change_user *u = q->state;
	const struct storage_step *look = q->plan.txn.success;
	struct arena *a = http_arena(q->x);
	struct user_note note;

	if (!has_notes(q, u)) {
		return;
	}
	for (size_t i = 0; i < u->n_paths; i++) {
		for (size_t k = 0; k < look[i].n_kvs; k++) {
			if (user_note_read(&note, &look[i].kvs[k], a)) {
				user_found_add(&u->found, note.user, a);
			}
		}
	}
	u->name = user_found_name(&u->found);
	change_user_go_on(q, u);
}

static void want_note(struct change_user *u, const struct user_note *note, struct arena *a)
{
	assert(u->n_paths < ARRAY_SIZE(u->paths));
	u->paths[u->n_paths++] = user_note_path(a, note);
}

static void find_user(struct request *q, struct change_user *u)
{
	u->name = STR("");
	u->authors = (struct gap_authors){.n = 0};
	if (u->n_paths == 0) {
		u->next(q, u);
		return;
	}
	u->state = q->state;
	u->found = (struct user_found){0};
	user_notes_find(q->server->user_notes, u->paths, u->n_paths, clock_mono_ms(), http_arena(q->x), &u->found);
	q->state = u;
	plan_init(&q->plan, q->a, q->server->options.prefix);
	for (size_t i = 0; i < u->n_paths; i++) {
		read_notes(q, arena_printf(q->a, STR_FMT ".", STR_ARG(u->paths[i])), USERS_MAX);
	}
	request_txn(q, change_user_found);
}

/* A write that a recorder has seen. */
struct change_write {
	struct str uid;
	uint64_t version;              /* resourceVersion that it replaced; 0: it created the object */
	struct str state;              /* digest_of() the whole state that it led to */
	const struct json *only_value; /* if it changed one value only: the new one; else NULL */
};

static void find_writer(struct request *q, struct change_user *u, const struct change_write *write)
{
	struct user_note note = {.uid = write->uid, .version = write->version, .to = write->state};

	u->n_paths = 0;
	if (write->uid.n > 0) {
		note.sort = NOTE_WRITE;
		want_note(u, &note, q->a);
		note.sort = NOTE_STATE;
		want_note(u, &note, q->a);
		if (write->only_value && json_to_int64(write->only_value, &note.replicas)) {
			note.sort = NOTE_SCALE;
			want_note(u, &note, q->a);
		}
	}
	find_user(q, u);
}

static void find_deleter(struct request *q, struct change_user *u, struct str uid)
{
	const struct user_note note = {.sort = NOTE_DELETION, .uid = uid};

	u->n_paths = 0;
	if (uid.n > 0) {
		want_note(u, &note, q->a);
	}
	find_user(q, u);
}

/* ---- who wrote in a gap ---- */

/* Takes what one step has read. */
static void take_notes(struct change_user *u, const struct storage_step *look, int64_t limit, struct arena *a)
{
	struct user_note note;

	u->notes.is_cut = u->notes.is_cut || (int64_t)look->n_kvs == limit;
	for (size_t i = 0; i < look->n_kvs; i++) {
		if (user_note_read(&note, &look->kvs[i], a)) {
			user_note_list_add(&u->notes, &note, a);
		} else {
			u->notes.is_cut = true;
		}
	}
}

/* The deletion, if there was one by one user, says which state was deleted. */
static void take_deletion(struct change_user *u, struct gap_end *to, struct arena *a)
{
	const struct user_note *deletion = NULL;

	for (size_t i = 0; i < u->notes.n; i++) {
		const struct user_note *note = &u->notes.v[i];
		if (note->sort == NOTE_DELETION) {
			user_found_add(&u->found, note->user, a);
			deletion = deletion && deletion->version > note->version ? deletion : note;
		}
	}
	if (deletion) {
		*to = (struct gap_end){deletion->version, deletion->from};
	}
}

static void name_authors(struct change_user *u, struct arena *a)
{
	struct gap_end to = u->gap.to;

	if (u->gap.is_deletion) {
		take_deletion(u, &to, a);
	}
	gap_find_authors(&u->authors, u->notes.v, u->notes.n, &u->gap.from, &to);
	u->authors.has_more = u->authors.has_more || u->notes.is_cut || u->gap.is_creation;
	if (u->gap.is_deletion) {
		u->name = user_found_name(&u->found);
		/* Two users may have asked for the deletion at once, and one of them came too late. */
		u->authors.has_more = u->authors.has_more || u->name.n == 0;
	} else if (u->gap.is_creation) {
		u->name = u->authors.first;
	} else if (!u->authors.has_more) {
		u->name = u->authors.last;
	}
	gap_leave_out(&u->authors, u->name);
}

static void gap_notes_found(struct request *q)
{
	struct change_user *u = q->state;
	const struct storage_step *look = q->plan.txn.success;
	struct arena *a = http_arena(q->x);

	if (!has_notes(q, u)) {
		return;
	}
	take_notes(u, &look[0], GAP_NOTES_BEFORE_MAX, a);
	take_notes(u, &look[1], GAP_NOTES_MAX, a);
	name_authors(u, a);
	change_user_go_on(q, u);
}

/* The notes of versions [from, to) of the object. */
static void read_versions(struct request *q, struct str uid, uint64_t from, struct str end, int64_t limit)
{
	struct str notes = key_user_notes(q->a, q->server->options.prefix), first = user_note_version(q->a, uid, from);

	plan_read(&q->plan, arena_printf(q->a, STR_FMT STR_FMT, STR_ARG(notes), STR_ARG(first)),
		arena_printf(q->a, STR_FMT STR_FMT, STR_ARG(notes), STR_ARG(end)))
		->limit = limit;
}

/* u->name gets the user who made the change that ends the gap, where all of the gap is known. */
static void find_authors(struct request *q, struct change_user *u, const struct change_gap *gap)
{
	struct arena *a = http_arena(q->x);

	u->gap = *gap;
	u->name = STR("");
	u->authors = (struct gap_authors){.has_more = true};
	u->found = (struct user_found){0};
	u->state = q->state;
	if (gap->uid.n == 0 || gap->uid.n > USER_NOTES_UID_MAX) {
		u->next(q, u);
		return;
	}
	user_note_list_init(&u->notes, 2 * GAP_NOTES_MAX + GAP_NOTES_BEFORE_MAX, a);
	user_notes_list(q->server->user_notes, gap->uid, clock_mono_ms(), a, &u->notes);
	q->state = u;
	plan_init(&q->plan, q->a, q->server->options.prefix);
	struct str object = user_note_object(q->a, gap->uid), middle = user_note_version(q->a, gap->uid, gap->from.version);
	read_versions(q, gap->uid, 0, middle, GAP_NOTES_BEFORE_MAX);
	read_versions(q, gap->uid, gap->from.version, storage_prefix_end(q->a, object), GAP_NOTES_MAX);
	request_txn(q, gap_notes_found);
}

/* ---- of a change ---- */

enum { WAIT_FOR_HISTORY_MS = 2000 }; /* until the cache has the version of it that a client has seen */

static int64_t history_version(const struct change_asked *asked)
{
	int64_t version = 0;

	str_to_int64(member_text(asked->change, "historyResourceVersion"), &version);
	return version;
}

/* Where the History is another one by now, nothing is known: an older version may name an object that was deleted before. */
static void find_by_history(struct request *q)
{
	struct change_user *u = q->state;
	const struct change_asked *asked = &u->asked;
	_cleanup_(cached_unrefp) struct cached *history =
		cache_get(q->server->options.cache, asked->histories, request_ns(q), asked->history);
	const struct json *status = NULL;
	struct change_gap gap;
	struct object *o;

	q->state = u->state;
	if (history && history->revision == history_version(asked) && cached_object(&o, history, q->a) == 0) {
		status = json_gets(o->fields, "status");
	}
	if (member_is_true(asked->change, "skipped")) {
		gap_read(&gap, status, asked->change, q->a);
		find_authors(q, u, &gap);
	} else {
		find_deleter(q, u, arena_dup(q->a, member_text(status, "uid")));
	}
}

/* The new value, if the write changed one value only; else NULL. */
static const struct json *only_value(struct request *q, const struct change_asked *asked)
{
	const struct json *paths = json_gets(asked->change, "paths"), *value = asked->data;
	struct str path = json_text(list_item(paths, 0)), segment;

	if (!paths || paths->n != 1 || member_int(asked->change, "morePaths") > 0) {
		return NULL;
	}
	while (value && path.n > 0) {
		value = pointer_shift(&path, &segment, q->a) ? pointer_step(value, segment) : NULL;
	}
	return value;
}

/* The version that a change replaced must be known. Otherwise several writes may have led from one state
 * to the other. */
static void find_who_wrote(struct request *q, struct change_user *u)
{
	const struct change_asked *asked = &u->asked;
	bool is_creation = str_is(member_text(asked->change, "type"), "Created");
	struct change_write write = {
		.uid = member_text(asked->change, "uid"),
		.state = member_text(asked->change, "writeDigest"),
		.only_value = is_creation ? NULL : only_value(q, asked),
	};

	bool is_known = is_creation || str_to_uint64(member_text(asked->change, "afterResourceVersion"), &write.version);
	if (!change_is_rerecorded(asked->change) && write.state.n > 0 && is_known) {
		find_writer(q, u, &write);
	} else {
		u->next(q, u);
	}
}

void change_user_find_of(struct request *q, struct change_user *u, const struct change_asked *asked)
{
	bool needs_history = change_is_deletion(asked->change) || member_is_true(asked->change, "skipped");

	assert(u->next && u->refused);
	u->asked = *asked;
	u->name = STR("");
	u->authors = (struct gap_authors){.n = 0};
	if (needs_history && request_is_cache_ready(q)) {
		u->state = q->state;
		q->state = u;
		request_wait_revision(q, history_version(asked), WAIT_FOR_HISTORY_MS, find_by_history);
	} else if (needs_history) {
		return; /* answered */
	} else {
		find_who_wrote(q, u);
	}
}
