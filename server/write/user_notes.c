/* Notes lie in a ring in order of arrival: the next note replaces the oldest one. A hash table
 * finds a write by its path, so a note costs one allocation, for its texts. The rate is a bucket of
 * tokens in thousandths, filled by the time that has passed.
 *
 * A write of this server needs no digest to be found: the note is in the transaction of the write, so
 * the version that is replaced says enough. The digests of a Secret stay out of etcd, because its
 * state could be guessed by them. A write that only sets a deletionTimestamp has deleted the object;
 * one that removes the last finalizer has not. */
#include "server/write/user_notes.h"

#include "api/diff/state.h"
#include "api/model/members.h"
#include "base/clock.h"
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
	VALUE_MAX = 8192,        /* bytes of a note in the store: names may be escaped */
	VALUES_MAX = 32,         /* of its JSON */
	PATH_ARENA = 64 << 10,   /* bytes, to make the path of a note */
};

struct kept_note {
	struct hash_node node; /* by path */
	bool is_used;
	int64_t until_ms;
	char *texts; /* owns the three */
	struct str path, from, user;
	struct user_note note; /* its texts are not valid */
};

struct user_notes {
	pthread_mutex_t lock; /* guards all of it */
	struct kept_note notes[USER_NOTES_MAX];
	struct hash_table by_path;
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
			mem_free(n->notes[i].texts);
		}
		hash_table_done(&n->by_path);
		pthread_mutex_destroy(&n->lock);
		mem_free(n);
	}
	return NULL;
}

/* ---- the table; the lock is held ---- */

static void note_drop(struct user_notes *n, struct kept_note *kept)
{
	assert_locked(&n->lock);
	assert(kept->is_used);
	hash_table_remove(&n->by_path, &kept->node);
	mem_free(kept->texts);
	*kept = (struct kept_note){0};
}

static struct kept_note *note_find(struct user_notes *n, struct str path, struct str user)
{
	assert_locked(&n->lock);
	for (struct hash_node *it = hash_table_first(&n->by_path, str_hash(path)); it; it = hash_node_next(it)) {
		struct kept_note *kept = container_of(it, struct kept_note, node);
		if (str_eq(kept->path, path) && str_eq(kept->user, user)) {
			return kept;
		}
	}
	return NULL;
}

static struct str keep_text(char **end, struct str text)
{
	char *p = *end;

	if (text.n > 0) {
		memcpy(p, text.p, text.n);
	}
	*end = p + text.n;
	return (struct str){p, text.n};
}

static void note_put(struct user_notes *n, struct str path, const struct user_note *note, int64_t until_ms)
{
	assert_locked(&n->lock);
	assert(n->at < USER_NOTES_MAX);
	struct kept_note *kept = &n->notes[n->at];
	char *end;

	if (kept->is_used) {
		n->n_evicted++;
		note_drop(n, kept);
	}
	*kept = (struct kept_note){.is_used = true, .until_ms = until_ms, .note = *note};
	end = kept->texts = mem_alloc(path.n + note->from.n + note->user.n);
	kept->path = keep_text(&end, path);
	kept->from = keep_text(&end, note->from);
	kept->user = keep_text(&end, note->user);
	hash_table_add(&n->by_path, &kept->node, str_hash(kept->path));
	n->at = (n->at + 1) % USER_NOTES_MAX;
}

/* ---- notes ---- */

static bool is_digest(struct str text)
{
	return text.n == DIGEST_SIZE - 1;
}

static bool is_whole(const struct user_note *note)
{
	return note->uid.n > 0 && note->uid.n <= USER_NOTES_UID_MAX && note->user.n > 0 &&
		note->user.n <= USER_NOTES_NAME_MAX && (note->from.n == 0 || is_digest(note->from)) &&
		(is_digest(note->to) || (note->to.n == 0 && note->sort != NOTE_STATE));
}

void user_notes_add(struct user_notes *n, const struct user_note *note, int64_t now_ms)
{
	int64_t until_ms = now_ms + (int64_t)USER_NOTES_TTL_S * MILLI;
	struct arena a;

	if (!is_whole(note)) {
		return;
	}
	arena_init(&a, PATH_ARENA);
	struct str path = user_note_path(&a, note);
	pthread_mutex_lock(&n->lock);
	struct kept_note *kept = note_find(n, path, note->user);
	n->n_added++;
	if (kept) {
		kept->until_ms = until_ms;
		kept->note.time_s = note->time_s;
	} else {
		note_put(n, path, note, until_ms);
	}
	pthread_mutex_unlock(&n->lock);
	arena_done(&a);
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

static void notes_of(struct user_notes *n, struct str path, int64_t now_ms, struct arena *a, struct user_found *f)
{
	assert_locked(&n->lock);
	for (struct hash_node *it = hash_table_first(&n->by_path, str_hash(path)); it; it = hash_node_next(it)) {
		const struct kept_note *kept = container_of(it, struct kept_note, node);
		if (str_eq(kept->path, path) && now_ms < kept->until_ms) {
			user_found_add(f, kept->user, a);
		}
	}
}

void user_notes_find(
	struct user_notes *n, const struct str *paths, size_t n_paths, int64_t now_ms, struct arena *a, struct user_found *f)
{
	pthread_mutex_lock(&n->lock);
	for (size_t i = 0; i < n_paths; i++) {
		notes_of(n, paths[i], now_ms, a, f);
	}
	n->n_found += f->user.n > 0 && !f->is_ambiguous;
	n->n_missed += f->user.n == 0;
	n->n_ambiguous += f->is_ambiguous;
	pthread_mutex_unlock(&n->lock);
}

void user_note_list_init(struct user_note_list *l, size_t max, struct arena *a)
{
	*l = (struct user_note_list){.v = arena_alloc(a, max * sizeof(*l->v)), .max = max};
}

void user_note_list_add(struct user_note_list *l, const struct user_note *note, struct arena *a)
{
	if (l->n == l->max) {
		l->is_cut = true;
		return;
	}
	struct user_note *one = &l->v[l->n++];
	*one = *note;
	one->uid = arena_dup(a, note->uid);
	one->from = arena_dup(a, note->from);
	one->to = arena_dup(a, note->to);
	one->user = arena_dup(a, note->user);
}

void user_notes_list(struct user_notes *n, struct str uid, int64_t now_ms, struct arena *a, struct user_note_list *l)
{
	struct str object = user_note_object(a, uid);

	pthread_mutex_lock(&n->lock);
	for (size_t i = 0; i < USER_NOTES_MAX; i++) {
		const struct kept_note *kept = &n->notes[i];
		if (!kept->is_used || now_ms >= kept->until_ms || !str_starts(kept->path, object)) {
			continue;
		}
		struct user_note note = kept->note;
		size_t to = note.to.n; /* a path of a state ends with its digest */
		note.uid = uid;
		note.from = kept->from;
		note.user = kept->user;
		note.to = note.sort == NOTE_STATE ? (struct str){kept->path.p + kept->path.n - to, to} : STR("");
		user_note_list_add(l, &note, a);
	}
	pthread_mutex_unlock(&n->lock);
}

/* ---- in the store ---- */

static const char *const sort_names[N_NOTE_SORTS] = {
	[NOTE_STATE] = "State", [NOTE_SCALE] = "Scale", [NOTE_WRITE] = "Write", [NOTE_DELETION] = "Deletion"};

struct str user_note_object(struct arena *a, struct str uid)
{
	return arena_printf(a, STR_FMT "/", STR_ARG(key_escape(a, uid)));
}

struct str user_note_version(struct arena *a, struct str uid, uint64_t version)
{
	return arena_printf(a, STR_FMT "%020llu/", STR_ARG(user_note_object(a, uid)), (unsigned long long)version);
}

struct str user_note_deletions(struct arena *a, struct str uid)
{
	return arena_printf(a, STR_FMT "deletion/", STR_ARG(user_note_object(a, uid)));
}

struct str user_note_path(struct arena *a, const struct user_note *note)
{
	struct str directory = user_note_version(a, note->uid, note->version);

	switch (note->sort) {
	case NOTE_STATE:
		return arena_printf(a, STR_FMT STR_FMT, STR_ARG(directory), STR_ARG(note->to));
	case NOTE_SCALE:
		return arena_printf(a, STR_FMT "replicas-%lld", STR_ARG(directory), (long long)note->replicas);
	case NOTE_WRITE:
		return arena_printf(a, STR_FMT "write", STR_ARG(directory));
	case NOTE_DELETION:
	case N_NOTE_SORTS:
		break;
	}
	return user_note_deletions(a, note->uid);
}

struct str user_note_key(struct arena *a, struct str prefix, const struct user_note *note)
{
	char name[DIGEST_SIZE];

	digest_of(name, json_string(a, note->user), a);
	return arena_printf(a, STR_FMT STR_FMT ".%.*s", STR_ARG(key_user_notes(a, prefix)), STR_ARG(user_note_path(a, note)),
		USER_DIGEST_LENGTH, name);
}

struct str user_note_value(struct arena *a, const struct user_note *note)
{
	struct json *j = json_object(a);
	_cleanup_(buf_done) struct buf text;

	json_add(a, j, STR("sort"), json_string(a, str_of(sort_names[note->sort])));
	json_add(a, j, STR("user"), json_string(a, note->user));
	json_add(a, j, STR("time"), json_int(a, note->time_s));
	json_add(a, j, STR("uid"), json_string(a, note->uid));
	json_add(a, j, STR("replaces"), json_string(a, arena_printf(a, "%llu", (unsigned long long)note->version)));
	json_add_text(a, j, STR("from"), note->from);
	json_add_text(a, j, STR("to"), note->to);
	if (note->sort == NOTE_SCALE) {
		json_add(a, j, STR("replicas"), json_int(a, note->replicas));
	}
	buf_init(&text, VALUE_MAX);
	json_encode(&text, j);
	return arena_dup(a, buf_str(&text));
}

static bool read_sort(enum user_note_sort *ret, struct str name)
{
	for (size_t i = 0; i < N_NOTE_SORTS; i++) {
		if (str_is(name, sort_names[i])) {
			*ret = (enum user_note_sort)i;
			return true;
		}
	}
	return false;
}

/* A note that was written with its write has the revision of its write. */
bool user_note_read(struct user_note *ret, const struct storage_kv *kv, struct arena *a)
{
	const struct json_limits limits = {.depth = 2, .values = VALUES_MAX};
	struct json *j;
	size_t at;

	if (json_parse(&j, a, kv->value, limits, &at)) {
		return false;
	}
	*ret = (struct user_note){.uid = member_text(j, "uid"),
		.from = member_text(j, "from"),
		.to = member_text(j, "to"),
		.replicas = member_int(j, "replicas"),
		.user = member_text(j, "user"),
		.time_s = member_int(j, "time")};
	if (!read_sort(&ret->sort, member_text(j, "sort")) || !str_to_uint64(member_text(j, "replaces"), &ret->version)) {
		return false;
	}
	ret->result = ret->sort == NOTE_WRITE ? (uint64_t)kv->mod_revision : 0;
	return is_whole(ret);
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

static bool is_secret(const struct request *q)
{
	return strcmp(q->route.kind->kind, "Secret") == 0;
}

static void take_note(struct request *q, struct write *w, const struct version *v)
{
	const struct object *before = w->present, *after = w->decision == DECIDE_PUT ? w->object : NULL;
	bool was_deleting = before && meta_is_deleting(&before->meta);
	bool deletes = before && !was_deleting && (!after || meta_is_deleting(&after->meta));
	char old[DIGEST_SIZE] = "", new[DIGEST_SIZE] = "";

	if (!after && !deletes) {
		return;
	}
	if (before) {
		digest_state(old, before, v, q->a);
	}
	if (after && !deletes) {
		digest_state(new, after, v, q->a);
	}
	if (strcmp(old, new) == 0) {
		return;
	}
	w->is_noted = true;
	w->noted = (struct user_note){.sort = deletes ? NOTE_DELETION : NOTE_WRITE,
		.uid = before ? before->meta.uid : after->meta.uid,
		.version = before ? (uint64_t)before->mod_revision : 0,
		.from = is_secret(q) ? STR("") : arena_dup(q->a, str_of(old)),
		.to = is_secret(q) ? STR("") : arena_dup(q->a, str_of(new)),
		.user = q->user->name,
		.time_s = clock_wall_s()};
}

void write_note_user(struct request *q, struct write *w)
{
	const struct version *v = recorded_version(q->route.kind);

	w->is_noted = false;
	if (!q->server->options.is_standalone || q->is_dry_run || !v || w->extend || !is_recorded(q, v)) {
		return;
	}
	if (q->user->name.n == 0 || q->user->name.n > USER_NOTES_NAME_MAX) {
		return;
	}
	take_note(q, w, v);
	w->is_noted = w->is_noted && is_whole(&w->noted) && !arena_is_full(q->a);
}

void write_plan_note(struct request *q, struct write *w, int64_t lease)
{
	w->is_noted = w->is_noted && lease != 0;
	if (w->is_noted) {
		struct str key = user_note_key(q->a, q->server->options.prefix, &w->noted);
		plan_put(&q->plan, key, user_note_value(q->a, &w->noted), lease);
	}
}
