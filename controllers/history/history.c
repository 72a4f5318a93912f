/* The order of a history and its limit (seed 000, "History Reconstruction" and "History
 * Maintenance"). */
#include "controllers/history/history_private.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"

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

/* Numbers alone decide. Only equal ones, which no controller gives to one history, are told
 * apart as upstream does. */
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

static void say(const struct reconstruction *rc, const struct json *object, struct str problem)
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
	if (gc_meta_controller(meta_of(object))) {
		say(rc, object, STR("another controller has it"));
		return false;
	}
	return rc->carrier->is_adopted;
}

void history_reconstruct(struct history *ret, const struct carrier *c, const struct history_owner *o,
	const struct json *const *objects, size_t n, history_problem *on_problem, void *ctx, struct arena *a)
{
	const struct reconstruction rc = {c, o, on_problem, ctx};
	/* Of a namespace with thousands of others only the own ones take room. */
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
			say(&rc, parts[i], problem);
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
	struct revision **others = arena_array(a, struct revision *, h->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++) {
		if (!is_live(ctx, &h->revisions[i])) {
			others[n++] = &h->revisions[i];
		}
	}
	/* Live ones are never deleted, even where they are more than the limit or the oldest:
	 * after a rollback they may well be. */
	size_t counted = c->is_total_limited ? h->n : n;
	size_t excess = limit >= 0 && (uint64_t)counted > (uint64_t)limit ? counted - (size_t)limit : 0;
	*ret = others;
	return MIN(excess, n);
}
