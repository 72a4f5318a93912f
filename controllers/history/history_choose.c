/* Which revision is the state of today (seed 000, "Controllers" 3; seed 002, "Template Updates"
 * 4; upstream's getStatefulSetRevisions). */
#include "controllers/history/history_private.h"

#include "api/model/history.h"

/* Above all others, so that the order stays strict. Where the numbers are generations they are
 * the owner's, unless its history began before the owner did: what it has adopted keeps its
 * numbers. */
static int64_t next_number(const struct carrier *c, const struct history_owner *o, const struct history *h)
{
	int64_t newest = h->n ? h->revisions[h->n - 1].number : 0;
	int64_t next = newest < INT64_MAX ? newest + 1 : newest;
	return c->renumbers ? next : MAX(next, o->generation);
}

/* Of those that are the same state: the newest of all if it is one, because then nothing has
 * changed; then, where numbers are given anew, one that is the same to the letter, which
 * kube-controller-manager would take; then the youngest. NULL: none is. */
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

/* The group annals.dev keeps one revision of a state, and sees states as their digests do. Where
 * that is too coarse it must be told. */
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
