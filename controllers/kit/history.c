/* The order of a history and its limit. */
#include "api/model/history.h"
#include "api/model/members.h"
#include "controllers/kit/history_private.h"
#include "controllers/kit/meta.h"

#include <assert.h>
#include <stdlib.h>

static const struct json *meta_of(const struct json *object)
{
	return json_gets(object, "metadata");
}

bool history_matches(const struct carrier *c, const struct history_owner *o, const struct json *object)
{
	return c->matches(o, object);
}

/* ---- reconstruction ---- */

/* Revisions are ordered by number alone. Only for equal numbers, which no controller gives to
 * one history, are they ordered as upstream does. */
static int compare_revisions(const void *a, const void *b)
{
	const struct revision *x = a, *y = b;
	if (x->number != y->number) {
		return x->number < y->number ? -1 : 1;
	}
	int r = str_cmp(x->created, y->created);
	return r ? r : str_cmp(x->name, y->name);
}

struct reconstruction {
	const struct carrier *carrier;
	const struct history_owner *owner;
	history_problem *on_problem;
	void *ctx;
};

static void reconstruction_say(const struct reconstruction *rc, const struct json *object, struct str problem)
{
	if (rc->on_problem) {
		rc->on_problem(rc->ctx, object, problem);
	}
}

static bool is_part(const struct reconstruction *rc, const struct json *object)
{
	if (!history_matches(rc->carrier, rc->owner, object)) {
		return false;
	}
	if (history_is_controlled(rc->owner, object)) {
		return true;
	}
	if (json_meta_controller(meta_of(object))) {
		reconstruction_say(rc, object, STR("another controller has it"));
		return false;
	}
	return rc->carrier->is_adopted;
}

void history_reconstruct(struct history *ret, const struct carrier *c, const struct history_owner *o,
	const struct json *const *objects, size_t n, history_problem *on_problem, void *ctx, struct arena *a)
{
	const struct reconstruction rc = {c, o, on_problem, ctx};
	/* A namespace may have thousands of revisions: memory is allocated only for the owner's. */
	const struct json **parts = mem_array(n + 1, sizeof(*parts));
	size_t n_parts = 0, kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (is_part(&rc, objects[i])) {
			parts[n_parts++] = objects[i];
		}
	}

	struct revision *revisions = arena_array(a, struct revision, n_parts + 1);
	for (size_t i = 0; i < n_parts; i++) {
		struct str problem = {NULL, 0};
		if (c->read(parts[i], &revisions[kept], a, &problem)) {
			kept++;
		} else {
			reconstruction_say(&rc, parts[i], problem);
		}
	}
	mem_free(parts);
	qsort(revisions, kept, sizeof(*revisions), compare_revisions);
	*ret = (struct history){revisions, kept};
}

struct revision *history_by_name(const struct history *h, struct str name)
{
	for (size_t i = 0; i < h->n; i++) {
		if (str_eq(h->revisions[i].name, name)) {
			return &h->revisions[i];
		}
	}
	return NULL;
}

struct revision *history_by_generation(const struct history *h, int64_t generation)
{
	for (size_t i = h->n; generation && i > 0; i--) {
		if (h->revisions[i - 1].generation == generation) {
			return &h->revisions[i - 1];
		}
	}
	return NULL;
}

const struct carrier *carrier_by_name(const char *name)
{
	static const struct carrier *const all[] = {&carrier_controllerrevisions, &carrier_podtemplates};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!name || strcmp(name, all[i]->name) == 0) {
			return all[i];
		}
	}
	return NULL;
}

/* ---- maintenance ---- */

size_t history_excess(const struct carrier *c, const struct history *h, int64_t limit,
	bool (*is_live)(void *ctx, const struct revision *r), void *ctx, struct revision ***ret, struct arena *a)
{
	assert(is_live && ret);
	struct revision **others = arena_array(a, struct revision *, h->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++) {
		if (!is_live(ctx, &h->revisions[i])) {
			others[n++] = &h->revisions[i];
		}
	}
	/* Live revisions are never deleted, even if they exceed the limit or are the oldest, as
	 * after a rollback. */
	size_t counted = c->is_total_limited ? h->n : n;
	size_t excess = limit >= 0 && (uint64_t)counted > (uint64_t)limit ? counted - (size_t)limit : 0;
	*ret = others;
	return MIN(excess, n);
}

/* ---- the choice ---- */

/* Which revision holds the present state; like upstream's getStatefulSetRevisions. */
/* Returns a number above all others, so that the order stays strict. For carriers that do not
 * renumber, the number is the owner's generation. It is higher if adopted revisions have higher
 * numbers. */
static int64_t next_number(const struct carrier *c, const struct history_owner *o, const struct history *h)
{
	int64_t newest = h->n ? h->revisions[h->n - 1].number : 0;
	int64_t next = newest < INT64_MAX ? newest + 1 : newest;
	return c->renumbers ? next : MAX(next, o->generation);
}

/* Finds a revision with the owner's state; NULL: there is none. The newest revision comes first:
 * if it matches, nothing has changed. Where carriers renumber, a byte-equal revision comes next, as
 * kube-controller-manager would take that one. Then comes the youngest equal one. */
static const struct revision *find_equal(
	const struct carrier *c, const struct history_owner *o, const struct history *h, struct arena *a)
{
	struct history_sample sample = {.owner = o, .state = o->state, .arena = a};
	if (h->n && history_sample_equals(&sample, h->revisions[h->n - 1].state)) {
		return &h->revisions[h->n - 1];
	}
	for (size_t i = h->n; c->renumbers && i > 0; i--) {
		if (json_equal(h->revisions[i - 1].state, o->state)) {
			return &h->revisions[i - 1];
		}
	}
	for (size_t i = h->n; i > 0; i--) {
		if (history_sample_equals(&sample, h->revisions[i - 1].state)) {
			return &h->revisions[i - 1];
		}
	}
	return NULL;
}

/* The server keeps one annals.dev revision per state, and compares states by digest. If an older
 * revision differs but has the same digest, this annotation permits the duplicate. */
static void mark_lookalike(struct json *object, const struct history_owner *o, const struct history *h, struct arena *a)
{
	bool has_lookalike = false;
	for (size_t i = 0; !has_lookalike && i < h->n; i++) {
		has_lookalike = history_look_equal(h->revisions[i].state, o->state);
	}
	if (has_lookalike) {
		struct json *meta = json_gets(object, "metadata"), *old = json_gets(meta, "annotations");
		struct json *annotations = old ? json_copy(a, old) : json_object(a);
		json_set(a, annotations, ANNOTATION_DUPLICATES, json_string(a, STR("true")));
		json_set(a, meta, STR("annotations"), annotations);
	}
}

static bool create(struct history_choice *ret, const struct carrier *c, const struct history_owner *o, const struct history *h,
	int64_t collisions, struct arena *a)
{
	struct history_choice choice = {.action = HISTORY_CREATED};
	struct str problem;
	struct json *object = c->make(o, next_number(c, o, h), collisions, a);
	if (!object || !c->read(object, &choice.revision, a, &problem)) {
		return false;
	}
	mark_lookalike(object, o, h, a);
	*ret = choice;
	return true;
}

bool history_choose(struct history_choice *ret, const struct carrier *c, const struct history_owner *o, const struct history *h,
	int64_t collisions, struct arena *a)
{
	assert(collisions >= 0);
	const struct revision *equal = find_equal(c, o, h, a);
	if (!equal) {
		return create(ret, c, o, h, collisions, a);
	}
	struct history_choice choice = {.action = HISTORY_REUSED, .revision = *equal};
	if (equal == &h->revisions[h->n - 1]) {
		choice.action = HISTORY_UNCHANGED;
	} else if (c->renumbers) {
		choice.action = HISTORY_RENUMBERED;
		choice.revision.number = next_number(c, o, h);
	}
	*ret = choice;
	return true;
}

bool history_is_same(const struct carrier *c, const struct history_owner *o, const struct revision *wanted,
	const struct json *found, struct arena *a)
{
	struct revision r;
	struct str problem;
	return history_matches(c, o, found) && history_is_controlled(o, found) && c->read(found, &r, a, &problem) &&
		history_equal_states(o, wanted->state, r.state, a);
}

void history_renumber(const struct revision *r, int64_t number, struct buf *out)
{
	buf_adds(out, "{\"metadata\":{\"uid\":");
	json_encode_string(out, r->uid);
	buf_adds(out, ",\"resourceVersion\":");
	json_encode_string(out, r->version);
	buf_printf(out, "},\"revision\":%lld}", (long long)number);
}

/* ---- members ---- */

/* Sorts members by name, so that hashes can be reproduced, and two objects compared in one walk,
 * however many members clients add. */
/* A member with its position. Of several members with one name the last is kept, so equal names
 * sort by position. */
struct placed {
	struct history_member member;
	size_t place;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int r = str_cmp(x->member.name, y->member.name);
	return r ? r : (x->place > y->place) - (x->place < y->place);
}

size_t history_members(struct history_member **ret, const struct json *object, const struct history_member *extra)
{
	size_t n = json_is(object, JSON_OBJECT) ? object->n : 0, all = n + (extra ? 1 : 0), kept = 0;
	struct placed *sorted = mem_array(all + 1, sizeof(*sorted));
	for (size_t i = 0; i < all; i++) {
		sorted[i].member = i < n ? (struct history_member){object->members[i].name, object->members[i].value} : *extra;
		sorted[i].place = i;
	}
	qsort(sorted, all, sizeof(*sorted), compare_placed);

	struct history_member *members = mem_array(all + 1, sizeof(*members));
	for (size_t i = 0; i < all; i++) {
		if (i + 1 == all || !str_eq(sorted[i].member.name, sorted[i + 1].member.name)) {
			members[kept++] = sorted[i].member;
		}
	}
	mem_free(sorted);
	*ret = members;
	return kept;
}
