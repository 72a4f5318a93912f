/* Notes lie in a ring in order of arrival: the next note replaces the oldest one. A hash table
 * finds a digest, so a note costs no allocation but its user's name. The rate is a bucket of
 * tokens in thousandths, filled by the time that has passed.
 *
 * A write of this server is noted without its state: the note is in the transaction of the write, so
 * the version that is replaced says enough. And the state of a Secret, which could be guessed by its
 * digest, stays out of etcd. A write that only sets a deletionTimestamp has deleted the object; one
 * that removes the last finalizer has not. */
#include "server/write/user_notes.h"

#include "api/diff/state.h"
#include "api/model/members.h"
#include "base/exposition.h"
#include "base/hash_table.h"
#include "base/thread.h"
#include "server/write/write.h"
#include "storage/keys.h"

#include <assert.h>
#include <pthread.h>

enum {
	MILLI = 1000,
	USER_DIGEST_LENGTH = 16, /* of a key: enough to tell users of one write apart */
};

struct user_note {
	struct hash_node node; /* by digest */
	char digest[DIGEST_SIZE];
	bool is_used;
	int64_t until_ms;
	char *user;
	size_t user_n;
};

struct user_notes {
	pthread_mutex_t lock; /* guards all of it */
	struct user_note notes[USER_NOTES_MAX];
	struct hash_table by_digest;
	size_t at; /* where the next one goes */
	int64_t tokens, filled_ms, store_from_ms;
	uint64_t n_added, n_evicted, n_sent, n_dropped, n_failed, n_found, n_missed, n_ambiguous;
};

struct user_notes *user_notes_new(void)
{
	struct user_notes *n = mem_new(struct user_notes);

	pthread_mutex_init(&n->lock, NULL);
	n->tokens = (int64_t)USER_NOTES_STORE_BURST * MILLI;
	return n;
}

struct user_notes *user_notes_free(struct user_notes *n)
{
	if (n) {
		for (size_t i = 0; i < USER_NOTES_MAX; i++) {
			mem_free(n->notes[i].user);
		}
		hash_table_done(&n->by_digest);
		pthread_mutex_destroy(&n->lock);
		mem_free(n);
	}
	return NULL;
}

/* ---- the table; the lock is held ---- */

static bool note_is(const struct user_note *note, struct str digest)
{
	return str_is(digest, note->digest);
}

static struct str note_user(const struct user_note *note)
{
	return (struct str){note->user, note->user_n};
}

static void note_drop(struct user_notes *n, struct user_note *note)
{
	assert_locked(&n->lock);
	assert(note->is_used);
	hash_table_remove(&n->by_digest, &note->node);
	mem_free(note->user);
	*note = (struct user_note){0};
}

static struct user_note *note_find(struct user_notes *n, struct str digest, struct str user)
{
	assert_locked(&n->lock);
	for (struct hash_node *it = hash_table_first(&n->by_digest, str_hash(digest)); it; it = hash_node_next(it)) {
		struct user_note *note = container_of(it, struct user_note, node);
		if (note_is(note, digest) && str_eq(note_user(note), user)) {
			return note;
		}
	}
	return NULL;
}

static void note_put(struct user_notes *n, struct str digest, struct str user, int64_t until_ms)
{
	assert_locked(&n->lock);
	assert(digest.n < sizeof(n->notes[0].digest) && user.n <= USER_NOTES_NAME_MAX && n->at < USER_NOTES_MAX);
	struct user_note *note = &n->notes[n->at];

	if (note->is_used) {
		n->n_evicted++;
		note_drop(n, note);
	}
	*note = (struct user_note){.is_used = true, .until_ms = until_ms, .user_n = user.n};
	memcpy(note->digest, digest.p, digest.n);
	note->user = mem_alloc(user.n);
	memcpy(note->user, user.p, user.n);
	hash_table_add(&n->by_digest, &note->node, str_hash(digest));
	n->at = (n->at + 1) % USER_NOTES_MAX;
}

/* ---- notes ---- */

void user_notes_add(struct user_notes *n, struct str digest, struct str user, int64_t now_ms)
{
	int64_t until_ms = now_ms + (int64_t)USER_NOTES_TTL_S * MILLI;

	if (digest.n != DIGEST_SIZE - 1 || user.n == 0 || user.n > USER_NOTES_NAME_MAX) {
		return;
	}
	pthread_mutex_lock(&n->lock);
	struct user_note *note = note_find(n, digest, user);
	n->n_added++;
	if (note) {
		note->until_ms = until_ms;
	} else {
		note_put(n, digest, user, until_ms);
	}
	pthread_mutex_unlock(&n->lock);
}

void user_notes_count(struct user_notes *n)
{
	pthread_mutex_lock(&n->lock);
	n->n_added++;
	pthread_mutex_unlock(&n->lock);
}

void user_found_add(struct user_found *f, struct str user, struct arena *a)
{
	if (f->user.n == 0) {
		f->user = arena_dup(a, user);
	} else if (!str_eq(f->user, user)) {
		f->is_ambiguous = true;
	}
}

struct str user_found_name(const struct user_found *f)
{
	return f->is_ambiguous ? STR("") : f->user;
}

static void notes_of(struct user_notes *n, struct str digest, int64_t now_ms, struct arena *a, struct user_found *f)
{
	assert_locked(&n->lock);
	for (struct hash_node *it = hash_table_first(&n->by_digest, str_hash(digest)); it; it = hash_node_next(it)) {
		const struct user_note *note = container_of(it, struct user_note, node);
		if (note_is(note, digest) && now_ms < note->until_ms) {
			user_found_add(f, note_user(note), a);
		}
	}
}

void user_notes_find(struct user_notes *n, const struct str *digests, size_t n_digests, int64_t now_ms, struct arena *a,
	struct user_found *f)
{
	pthread_mutex_lock(&n->lock);
	for (size_t i = 0; i < n_digests; i++) {
		notes_of(n, digests[i], now_ms, a, f);
	}
	n->n_found += f->user.n > 0 && !f->is_ambiguous;
	n->n_missed += f->user.n == 0;
	n->n_ambiguous += f->is_ambiguous;
	pthread_mutex_unlock(&n->lock);
}

/* ---- digests ---- */

static struct json *write_of(struct str uid, struct str version, struct arena *a)
{
	struct json *write = json_object(a);

	json_add(a, write, STR("uid"), json_string(a, uid));
	json_add(a, write, STR("replaces"), json_string(a, version));
	return write;
}

void user_notes_state(char out[DIGEST_SIZE], struct str uid, struct str version, struct str state, struct arena *a)
{
	struct json *write = write_of(uid, version, a);

	json_add(a, write, STR("state"), json_string(a, state));
	digest_of(out, write, a);
}

void user_notes_scale(char out[DIGEST_SIZE], struct str uid, struct str version, int64_t replicas, struct arena *a)
{
	struct json *write = write_of(uid, version, a);

	json_add(a, write, STR("scale"), json_string(a, arena_printf(a, "%lld", (long long)replicas)));
	digest_of(out, write, a);
}

void user_notes_write(char out[DIGEST_SIZE], struct str uid, struct str version, struct arena *a)
{
	digest_of(out, write_of(uid, version, a), a);
}

void user_notes_deletion(char out[DIGEST_SIZE], struct str uid, struct arena *a)
{
	struct json *deletion = json_object(a);

	json_add(a, deletion, STR("deleted"), json_string(a, uid));
	digest_of(out, deletion, a);
}

struct str user_notes_key(struct arena *a, struct str prefix, struct str digest, struct str user)
{
	char name[DIGEST_SIZE];

	digest_of(name, json_string(a, user), a);
	return arena_printf(
		a, STR_FMT STR_FMT ".%.*s", STR_ARG(key_user_notes(a, prefix)), STR_ARG(digest), USER_DIGEST_LENGTH, name);
}

/* ---- the store ---- */

bool user_notes_may_store(struct user_notes *n, int64_t now_ms)
{
	const int64_t full = (int64_t)USER_NOTES_STORE_BURST * MILLI;

	pthread_mutex_lock(&n->lock);
	int64_t passed_ms = n->filled_ms ? MAX(now_ms - n->filled_ms, (int64_t)0) : 0;
	n->filled_ms = now_ms;
	n->tokens = passed_ms > full ? full : MIN(n->tokens + passed_ms * USER_NOTES_STORE_RATE, full);
	bool may = n->tokens >= MILLI && now_ms >= n->store_from_ms;
	if (may) {
		n->tokens -= MILLI;
		n->n_sent++;
	} else {
		n->n_dropped++;
	}
	pthread_mutex_unlock(&n->lock);
	return may;
}

void user_notes_store_failed(struct user_notes *n, int64_t now_ms)
{
	pthread_mutex_lock(&n->lock);
	n->store_from_ms = now_ms + USER_NOTES_STORE_REST_MS;
	n->n_failed++;
	pthread_mutex_unlock(&n->lock);
}

void user_notes_write_metrics(struct user_notes *n, struct buf *out)
{
	pthread_mutex_lock(&n->lock);
	const struct {
		const char *name, *help;
		uint64_t value;
	} rows[] = {
		{"annals_user_notes_total", "Users of writes that were noted.", n->n_added},
		{"annals_user_notes_evicted_total", "Notes of users that went before their time, for want of room.",
			n->n_evicted},
		{"annals_user_notes_sent_total", "Notes of users that were sent to etcd, for other replicas.", n->n_sent},
		{"annals_user_notes_failed_total", "Of those, how many etcd did not take in time.", n->n_failed},
		{"annals_user_notes_dropped_total",
			"Notes of users that were not sent to etcd: there were too many, or it had just failed.", n->n_dropped},
		{"annals_user_notes_found_total", "Changes whose user this replica had noted.", n->n_found},
		{"annals_user_notes_missed_total", "Changes whose user this replica had not noted.", n->n_missed},
		{"annals_user_notes_ambiguous_total", "Changes that several users had asked for: none of them is named.",
			n->n_ambiguous},
	};
	pthread_mutex_unlock(&n->lock);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		exposition_counter(out, rows[i].name, rows[i].help, (double)rows[i].value);
	}
}

/* ---- writes of this server ---- */

enum { RECORDERS_MAX = 16 }; /* that are looked at; where there are more, each is taken to name the kind */

/* Returns the version at which a Recorder may name the kind; NULL: none. Leases are written every
 * few seconds, and no Recorder may name them. */
static const struct version *recorded_version(const struct kind *k)
{
	bool is_never = k->expires || strcmp(k->kind, "Lease") == 0;

	for (size_t i = 0; i < k->n_versions && !is_never; i++) {
		if (strcmp(k->versions[i].group, "annals.dev") != 0) {
			return &k->versions[i];
		}
	}
	return NULL;
}

static bool rule_names(const struct json *list, struct str name)
{
	const struct json *item;

	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		if (str_is(json_text(item), "*") || str_eq(json_text(item), name)) {
			return true;
		}
	}
	return false;
}

static bool recorder_names(const struct cached *recorder, const struct version *v, struct str resource, struct arena *a)
{
	const struct json *rule, *rules;
	struct object *o;

	if (cached_object(&o, recorder, a)) {
		return false;
	}
	rules = json_gets(object_spec(o), "resources");
	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		if (rule_names(json_gets(rule, "groups"), str_of(v->group)) &&
			rule_names(json_gets(rule, "resources"), resource)) {
			return true;
		}
	}
	return false;
}

static bool is_recorded(struct request *q, const struct version *v)
{
	const struct kind *recorders = q->server->recorders;
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s =
		recorders ? cache_snapshot(q->server->options.cache, recorders) : NULL;
	const struct cache_filter all = {0};
	const struct cached *recorder;
	struct cache_iter it;
	size_t n = 0;

	if (!s || cache_snapshot_count(s, STR("")) == 0) {
		return false;
	}
	cache_iter_init(&it, s, &all, STR(""));
	while ((recorder = cache_iter_next(&it))) {
		if (++n > RECORDERS_MAX || recorder_names(recorder, v, str_of(q->route.kind->resource), q->a)) {
			return true;
		}
	}
	return false;
}

static void digest_state(char out[DIGEST_SIZE], const struct object *o, const struct version *v, struct arena *a)
{
	digest_of(out, state_of(object_to_json(o, v, a), NULL, a), a);
}

static void take_digest(struct request *q, struct write *w, const struct version *v)
{
	const struct object *before = w->present, *after = w->decision == DECIDE_PUT ? w->object : NULL;
	bool was_deleting = before && meta_is_deleting(&before->meta);
	char old[DIGEST_SIZE] = "", new[DIGEST_SIZE];
	struct str version = STR("");

	if (before && !was_deleting && (!after || meta_is_deleting(&after->meta))) {
		user_notes_deletion(w->noted, before->meta.uid, q->a);
		return;
	}
	if (!after) {
		return;
	}
	if (before) {
		digest_state(old, before, v, q->a);
		digest_state(new, after, v, q->a);
		if (strcmp(old, new) == 0) {
			return;
		}
		version = arena_printf(q->a, "%lld", (long long)before->mod_revision);
	}
	user_notes_write(w->noted, after->meta.uid, version, q->a);
}

void write_note_user(struct request *q, struct write *w)
{
	const struct version *v = recorded_version(q->route.kind);

	w->noted[0] = '\0';
	if (!q->server->options.is_standalone || q->is_dry_run || !v || w->extend || !is_recorded(q, v)) {
		return;
	}
	if (q->user->name.n == 0 || q->user->name.n > USER_NOTES_NAME_MAX) {
		return;
	}
	take_digest(q, w, v);
	if (arena_is_full(q->a)) {
		w->noted[0] = '\0';
	}
}

void write_plan_note(struct request *q, struct write *w, int64_t lease)
{
	if (lease == 0) {
		w->noted[0] = '\0';
	}
	if (w->noted[0] != '\0') {
		struct str key = user_notes_key(q->a, q->server->options.prefix, str_of(w->noted), q->user->name);
		plan_put(&q->plan, key, q->user->name, lease);
	}
}
