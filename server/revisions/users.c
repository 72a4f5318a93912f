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
	struct str uid;           /* of the review */
	char digest[DIGEST_SIZE]; /* of what is noted; empty: nothing is */
	struct str user;
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

static bool digest_state(char out[DIGEST_SIZE], const struct json *object, struct arena *a)
{
	if (!json_is(object, JSON_OBJECT)) {
		return false;
	}
	digest_of(out, state_of(object, NULL, a), a);
	return true;
}

/* An object that is being deleted already was deleted by somebody else. */
static void note_deletion(struct hook *h, const struct json *old, struct arena *a)
{
	const struct json *metadata = json_gets(old, "metadata");
	struct str uid = member_text(metadata, "uid");

	if (uid.n > 0 && member_text(metadata, "deletionTimestamp").n == 0) {
		user_notes_deletion(h->digest, uid, a);
	}
}

/* Identifies the write by the uid of the object, and by the version that the write replaces. */
static bool read_write(const struct json *object, const struct json *old, struct str *ret_uid, struct str *ret_version)
{
	const struct json *metadata = json_gets(old ? old : object, "metadata");

	*ret_uid = member_text(metadata, "uid");
	*ret_version = old ? member_text(metadata, "resourceVersion") : STR("");
	return ret_uid->n > 0 && (!old || ret_version->n > 0);
}

static void note_state(struct hook *h, const struct json *object, const struct json *old, struct arena *a)
{
	char before[DIGEST_SIZE] = "", after[DIGEST_SIZE];
	struct str uid, version;

	if (!read_write(object, old, &uid, &version) || !digest_state(after, object, a)) {
		return;
	}
	digest_state(before, old, a);
	if (strcmp(before, after) != 0) {
		user_notes_state(h->digest, uid, version, str_of(after), a);
	}
}

static int64_t replicas_of(const struct json *scale)
{
	return member_int(json_gets(scale, "spec"), "replicas");
}

static void note_scale(struct hook *h, const struct json *scale, const struct json *old, struct arena *a)
{
	struct str uid, version;

	if (old && read_write(scale, old, &uid, &version) && replicas_of(scale) != replicas_of(old)) {
		user_notes_scale(h->digest, uid, version, replicas_of(scale), a);
	}
}

static void read_note(struct request *q, struct hook *h, const struct json *review, struct arena *a)
{
	const struct json *request = json_gets(review, "request");
	const struct json *object = json_gets(request, "object"), *old = json_gets(request, "oldObject");

	old = json_is(old, JSON_OBJECT) ? old : NULL;
	h->user = arena_dup(http_arena(q->x), member_text(json_gets(request, "userInfo"), "username"));
	h->stays_here = is_secret(review);
	if (member_is_true(request, "dryRun")) {
		return;
	}
	if (str_is(of_request(review, "operation"), "DELETE")) {
		note_deletion(h, old, a);
	} else if (str_is(of_request(review, "subResource"), "scale")) {
		note_scale(h, object, old, a);
	} else {
		note_state(h, object, old, a);
	}
	if (arena_is_full(a)) {
		h->digest[0] = '\0';
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
	plan_put(&q->plan, user_notes_key(q->a, q->server->options.prefix, str_of(h->digest), h->user), h->user, q->lease.id);
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
	if (h->digest[0] == '\0' || h->user.n == 0 || h->user.n > USER_NOTES_NAME_MAX || !has_recorder(q)) {
		hook_reply(q);
		return;
	}
	user_notes_add(notes, str_of(h->digest), h->user, now_ms);
	if (h->stays_here || !user_notes_may_store(notes, now_ms)) {
		hook_reply(q);
	} else {
		request_wait_lease(q, q->server->note_leases, hook_store);
	}
}

/* ---- who made a change ---- */

enum { USERS_MAX = 2 }; /* two are as good as many: nobody is named */

static void change_user_found(struct request *q)
{
	struct change_user *u = q->state;
	const struct storage_step *look = q->plan.txn.success;

	if (q->plan.txn.op.result != STORAGE_OK) {
		request_storage_failed(q, q->plan.txn.op.result, q->plan.txn.op.message, false);
		return;
	}
	for (size_t i = 0; i < u->n_digests; i++) {
		for (size_t k = 0; k < look[i].n_kvs; k++) {
			user_found_add(&u->found, look[i].kvs[k].value, http_arena(q->x));
		}
	}
	plan_clear(&q->plan);
	q->state = u->state;
	u->name = user_found_name(&u->found);
	u->next(q, u);
}

static void want_note(struct change_user *u, const char digest[DIGEST_SIZE], struct arena *a)
{
	assert(u->n_digests < ARRAY_SIZE(u->digests));
	u->digests[u->n_digests++] = arena_dup(a, str_of(digest));
}

static void find_user(struct request *q, struct change_user *u)
{
	struct str notes = key_user_notes(q->a, q->server->options.prefix);

	if (u->n_digests == 0) {
		u->name = STR("");
		u->next(q, u);
		return;
	}
	u->state = q->state;
	u->found = (struct user_found){0};
	user_notes_find(q->server->user_notes, u->digests, u->n_digests, clock_mono_ms(), http_arena(q->x), &u->found);
	q->state = u;
	plan_init(&q->plan, q->a, q->server->options.prefix);
	for (size_t i = 0; i < u->n_digests; i++) {
		struct str first = arena_printf(q->a, STR_FMT STR_FMT ".", STR_ARG(notes), STR_ARG(u->digests[i]));
		plan_read(&q->plan, first, storage_prefix_end(q->a, first))->limit = USERS_MAX;
	}
	request_txn(q, change_user_found);
}

void change_user_find(struct request *q, struct change_user *u, const struct change_write *write)
{
	char digest[DIGEST_SIZE];
	int64_t replicas;

	u->n_digests = 0;
	if (write->uid.n > 0) {
		user_notes_write(digest, write->uid, write->version, q->a);
		want_note(u, digest, q->a);
		user_notes_state(digest, write->uid, write->version, write->state, q->a);
		want_note(u, digest, q->a);
		if (write->only_value && json_to_int64(write->only_value, &replicas)) {
			user_notes_scale(digest, write->uid, write->version, replicas, q->a);
			want_note(u, digest, q->a);
		}
	}
	find_user(q, u);
}

void change_user_find_deletion(struct request *q, struct change_user *u, struct str uid)
{
	char digest[DIGEST_SIZE];

	u->n_digests = 0;
	if (uid.n > 0) {
		user_notes_deletion(digest, uid, q->a);
		want_note(u, digest, q->a);
	}
	find_user(q, u);
}
