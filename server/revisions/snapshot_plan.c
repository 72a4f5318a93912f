/* Pure decisions of a Snapshot: what it does to the history of its controller, and what its change makes of the History.
 *
 * Revisions are ordered by number, then by birth, because upstream's version of ControllerRevision lets two revisions have
 * one number. The target is neither trimmed nor counted: the limit is for revisions that are not current, as in upstream's
 * revisionHistoryLimit. A deletion leaves the other members of the History's status as they are, so that the deleted state
 * can still be found. */
#include "server/revisions/snapshot_plan.h"

#include "api/diff/changes.h"
#include "api/model/members.h"
#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

/* kubectl takes --to-revision=0 for "the one before". */
enum { FIRST_NUMBER = 1 };
/* Bytes of the numbers of all revisions that a history can have: 2,000 of 19 digits, and commas. */
enum { NUMBERS_BYTES_MAX = 2000 * 20 };

static int past_cmp(const void *a, const void *b)
{
	const struct snapshot_past *x = a, *y = b;

	if (x->number != y->number) {
		return x->number < y->number ? -1 : 1;
	}
	if (x->create_revision != y->create_revision) {
		return x->create_revision < y->create_revision ? -1 : 1;
	}
	return str_cmp(x->name, y->name);
}

static const struct snapshot_past *newest_equal(const struct snapshot_past *past, size_t n, struct str digest)
{
	while (n > 0 && !str_eq(past[n - 1].digest, digest)) {
		n--;
	}
	return n > 0 ? &past[n - 1] : NULL;
}

static void plan_trim(struct snapshot_plan *p, const struct snapshot_past *past, size_t n, size_t limit, struct arena *a)
{
	size_t n_idle = 0;

	p->trimmed = arena_array(a, const struct snapshot_past *, n);
	for (size_t i = 0; i < n; i++) {
		n_idle += !past[i].is_live && &past[i] != p->target;
	}
	for (size_t i = 0; i < n && n_idle > limit; i++) {
		if (!past[i].is_live && &past[i] != p->target) {
			p->trimmed[p->n_trimmed++] = &past[i];
			n_idle--;
		}
	}
}

static struct keep_state *keep_states(const struct snapshot_plan *p, const struct snapshot_past *past, size_t n,
	const struct snapshot_keeping *keeping, size_t *ret_n, struct arena *a)
{
	struct keep_state *v = arena_array(a, struct keep_state, n + 1);

	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		if (&past[i] != p->target) {
			v[(*ret_n)++] = (struct keep_state){.time_s = past[i].time_s,
				.user = past[i].user,
				.bytes = past[i].bytes,
				.is_fixed = past[i].is_live};
		}
	}
	v[(*ret_n)++] = (struct keep_state){
		.time_s = keeping->time_s, .user = keeping->user, .bytes = keeping->bytes, .is_fixed = true};
	return v;
}

static void plan_keep(struct snapshot_plan *p, const struct snapshot_past *past, size_t n,
	const struct snapshot_keeping *keeping, struct arena *a)
{
	size_t n_states, at = 0;
	struct keep_state *v = keep_states(p, past, n, keeping, &n_states, a);

	keep_choose(v, n_states, &keeping->rules, keeping->now_s);
	p->trimmed = arena_array(a, const struct snapshot_past *, n);
	for (size_t i = 0; i < n; i++) {
		if (&past[i] != p->target && v[at++].goes) {
			assert(!past[i].is_live);
			p->trimmed[p->n_trimmed++] = &past[i];
		}
	}
	assert(at + 1 == n_states);
}

static int plan_target(struct snapshot_plan *p, const struct snapshot_past *past, size_t n, struct str digest)
{
	const struct snapshot_past *newest = n > 0 ? &past[n - 1] : NULL;

	p->target = newest_equal(past, n, digest);
	if (p->target && p->target->is_deleting) {
		return SNAPSHOT_IS_GOING;
	}
	if (p->target && p->target == newest) {
		p->result = SNAPSHOT_UNCHANGED;
		p->number = newest->number;
		return 0;
	}
	if (newest && newest->number == INT64_MAX) {
		return SNAPSHOT_NO_NUMBER;
	}
	p->result = p->target ? SNAPSHOT_ROLLED_BACK : SNAPSHOT_CREATED;
	p->number = newest ? newest->number + 1 : FIRST_NUMBER;
	return 0;
}

int snapshot_plan(struct snapshot_plan *ret, struct snapshot_past *past, size_t n, struct str digest, size_t limit,
	const struct snapshot_keeping *keeping, struct arena *a)
{
	*ret = (struct snapshot_plan){0};
	if (n > 1) {
		qsort(past, n, sizeof(*past), past_cmp);
	}
	int r = plan_target(ret, past, n, digest);
	if (!r && keeping) {
		plan_keep(ret, past, n, keeping, a);
	} else if (!r) {
		plan_trim(ret, past, n, limit, a);
	}
	return r;
}

const struct snapshot_past *snapshot_newest(struct snapshot_past *past, size_t n)
{
	assert(n > 0);
	qsort(past, n, sizeof(*past), past_cmp);
	return &past[n - 1];
}

void snapshot_plan_trim(struct snapshot_plan *ret, const struct snapshot_past *past, size_t n,
	const struct snapshot_keeping *keeping, struct arena *a)
{
	assert(n > 0);
	const struct snapshot_past *newest = &past[n - 1];
	struct snapshot_keeping present = *keeping;

	*ret = (struct snapshot_plan){.result = SNAPSHOT_UNCHANGED, .target = newest, .number = newest->number};
	present.time_s = newest->time_s;
	present.user = newest->user;
	plan_keep(ret, past, n, &present, a);
}

static bool goes(const struct snapshot_plan *p, const struct snapshot_past *one, size_t n_trims)
{
	for (size_t i = 0; i < n_trims; i++) {
		if (p->trimmed[i] == one) {
			return true;
		}
	}
	return false;
}

static void add_range(struct buf *text, int64_t from, int64_t to)
{
	buf_adds(text, text->n ? "," : "");
	buf_add_int(text, from);
	if (to > from) {
		buf_adds(text, "-");
		buf_add_int(text, to);
	}
}

struct str snapshot_numbers(
	const struct snapshot_plan *p, const struct snapshot_past *past, size_t n, size_t n_trims, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;
	int64_t from = p->number, to = p->number;
	bool has_begun = false;

	assert(n_trims <= p->n_trimmed);
	buf_init(&text, NUMBERS_BYTES_MAX);
	for (size_t i = 0; i <= n; i++) {
		if (i < n && (&past[i] == p->target || goes(p, &past[i], n_trims))) {
			continue;
		}
		int64_t number = i < n ? past[i].number : p->number;
		if (has_begun && number - 1 > to) {
			add_range(&text, from, to);
			has_begun = false;
		}
		from = has_begun ? from : number;
		to = number;
		has_begun = true;
	}
	add_range(&text, from, to);
	return arena_dup(a, buf_str(&text));
}

const char *snapshot_result_name(enum snapshot_result r)
{
	static const char *const names[] = {
		[SNAPSHOT_UNCHANGED] = "Unchanged", [SNAPSHOT_ROLLED_BACK] = "RolledBack", [SNAPSHOT_CREATED] = "Created"};

	return names[r];
}

/* ---- what a change makes of the status of the History ---- */

/* A link to the item before. */
static void add_previous(struct json *entry, const struct json *old, struct arena *a)
{
	char print[CHANGE_PRINT_SIZE];

	if (old && old->n > 0) {
		change_print(print, old->items[old->n - 1], a);
		json_add(a, entry, STR("previous"), json_string(a, arena_dup(a, str_of(print))));
	}
}

/* Adds the authors, which the client cannot: its form of a gap has none. */
static void add_gap(struct json *entry, const struct json *change, const struct gap_authors *authors, struct arena *a)
{
	const struct json *said = json_gets(change, "gap");
	struct json *gap, *list = json_array(a);
	char time[TIME_RFC3339_SIZE];

	if (!member_is_true(change, "skipped")) {
		return;
	}
	gap = said ? json_copy(a, said) : json_object(a);
	json_remove(gap, STR("authors"));
	json_remove(gap, STR("moreAuthors"));
	for (size_t i = 0; i < authors->n; i++) {
		struct json *author = json_object(a);
		time_format_rfc3339(time, authors->v[i].time_s);
		json_add(a, author, STR("user"), json_string(a, authors->v[i].user));
		json_add(a, author, STR("time"), json_string(a, arena_dup(a, str_of(time))));
		json_append(a, list, author);
	}
	if (authors->n > 0) {
		json_add(a, gap, STR("authors"), list);
	}
	if (authors->has_more) {
		json_add(a, gap, STR("moreAuthors"), json_bool(a, true));
	}
	if (gap->n > 0) {
		json_add(a, entry, STR("gap"), gap);
	}
}

/* old: the items so far. */
static struct json *entry_of(const struct json *old, const struct json *change, const struct snapshot_held *held,
	struct str user, const struct gap_authors *authors, struct arena *a)
{
	static const char *const kept[] = {
		"type", "time", "managers", "cause", "paths", "morePaths", "resourceVersion", "generation", "skipped"};
	struct json *entry = json_object(a);

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		struct json *value = json_gets(change, kept[i]);
		if (value) {
			json_add(a, entry, str_of(kept[i]), value);
		}
	}
	if (!change_is_stateless(change) && held->name.n > 0) {
		json_add(a, entry, STR("revision"), json_string(a, held->name));
		json_add(a, entry, STR("number"), json_int(a, held->number));
	}
	json_add_text(a, entry, STR("user"), user);
	add_gap(entry, change, authors, a);
	if (!change_is_stateless(change)) {
		json_add(a, entry, STR("digest"), json_string(a, held->digest));
	}
	add_previous(entry, old, a);
	return entry;
}

static size_t size_of(const struct json *change)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, (size_t)1 << 20);
	json_encode(&text, change);
	return text.n;
}

/* From which on the old ones stay, with the new one behind them. */
static uint32_t first_kept(const struct json *old, const struct json *entry)
{
	uint32_t n = old ? old->n : 0, from = n;
	size_t bytes = size_of(entry) + 2; /* brackets */

	while (from > 0 && n - from + 1 < CHANGES_MAX) {
		bytes += size_of(old->items[from - 1]) + 1; /* a comma */
		if (bytes > CHANGES_BYTES_MAX) {
			break;
		}
		from--;
	}
	return from;
}

static struct json *changes_with(const struct json *old, struct json *entry, struct arena *a)
{
	struct json *changes = json_array(a);

	for (uint32_t i = first_kept(old, entry); old && i < old->n; i++) {
		json_append(a, changes, old->items[i]);
	}
	json_append(a, changes, entry);
	return changes;
}

static void set_member(struct json *status, const char *name, struct json *value, struct arena *a)
{
	if (value) {
		json_set(a, status, str_of(name), value);
	} else {
		json_remove(status, str_of(name));
	}
}

static void note_revisions(struct json *status, const struct snapshot_held *held, struct arena *a)
{
	set_member(status, "revisions", json_int(a, held->revisions), a);
	set_member(status, "kept", held->kept.n > 0 ? json_string(a, held->kept) : NULL, a);
	set_member(status, "bytes", json_int(a, held->bytes), a);
}

static void note_state(struct json *status, const struct json *change, const struct snapshot_held *held, struct arena *a)
{
	static const char *const of_change[] = {"uid", "apiVersion", "ignore"};
	struct json *revision = json_object(a);

	for (size_t i = 0; i < ARRAY_SIZE(of_change); i++) {
		set_member(status, of_change[i], json_gets(change, of_change[i]), a);
	}
	set_member(status, "digest", json_string(a, held->digest), a);
	if (held->name.n == 0) {
		return;
	}
	json_add(a, revision, STR("name"), json_string(a, held->name));
	json_add(a, revision, STR("revision"), json_int(a, held->number));
	set_member(status, "deletionTime", NULL, a);
	set_member(status, "revision", revision, a);
	note_revisions(status, held, a);
}

/* In the order of the schema. */
static struct json *normalized(const struct kind *histories, const struct json *status, struct arena *a)
{
	struct json *normal = NULL;
	struct str error;

	return schema_decode(&normal, type_field(histories->type, STR("status"))->type, status, a, NULL, &error) ? NULL
														 : normal;
}

struct json *snapshot_change_status(const struct kind *histories, const struct json *status, const struct json *change,
	const struct snapshot_held *held, struct str user, const struct gap_authors *authors, struct arena *a)
{
	struct json *next = status ? json_copy(a, status) : json_object(a);
	int64_t total = member_int(status, "totalChanges");

	if (change_is_deletion(change)) {
		set_member(next, "deletionTime", json_gets(change, "time"), a);
	} else if (!change_is_stateless(change)) {
		note_state(next, change, held, a);
	}
	set_member(next, "totalChanges", json_int(a, total == INT64_MAX ? total : total + 1), a);
	const struct json *old = json_gets(status, "changes");
	set_member(next, "changes", changes_with(old, entry_of(old, change, held, user, authors, a), a), a);
	return normalized(histories, next, a);
}

struct json *snapshot_trim_status(
	const struct kind *histories, const struct json *status, const struct snapshot_held *held, struct arena *a)
{
	struct json *next = json_copy(a, status);

	note_revisions(next, held, a);
	return normalized(histories, next, a);
}
