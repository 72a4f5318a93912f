/* One attempt: read the object, read its owners, decide, act. Deletions carry uid and
 * resourceVersion as preconditions, so a change in between makes the deletion fail. */
#include "controllers/gc/gc_attempt.h"
#include "controllers/gc/gc_live.h"
#include "controllers/gc/gc_plan.h"
#include "controllers/kit/meta.h"
#include "controllers/kit/patch.h"

/* An object that keeps changing goes back to the queue, with its back-off. */
enum { CONFLICTS_MAX = 5 };

/* ---- one owner ---- */

static bool is_known_absent(struct gc_live *l, const struct gc_ref *owner)
{
	struct gc_ref unscoped = *owner;

	/* An owner may be cluster-scoped: the reference alone does not show that. */
	unscoped.ns = (struct str){NULL, 0};
	return gc_core_is_absent(l->core, &unscoped) || gc_core_is_absent(l->core, owner);
}

static enum gc_found find_owner(struct gc_live *l, const struct gc_ref *owner, enum gc_fate *ret)
{
	_cleanup_(answer_done) struct answer answer;
	const struct json *meta;
	struct gc_ref place = *owner;
	enum gc_found found;

	answer_init(&answer);
	if (is_known_absent(l, owner)) {
		*ret = GC_DANGLING;
		return GC_FOUND;
	}
	found = gc_live_get(l, owner, &answer, &place);
	if (found == GC_ABSENT && gc_ref_may_live_elsewhere(owner)) {
		*ret = GC_SOLID;
		return GC_FOUND;
	}
	if (found == GC_ABSENT) {
		gc_core_note_absent(l->core, &place);
		*ret = GC_DANGLING;
		return GC_FOUND;
	}
	meta = json_gets(answer.body, "metadata");
	*ret = found == GC_FOUND && json_meta_is_deleting(meta) && json_meta_has_finalizer(meta, GC_FINALIZER_FOREGROUND)
		? GC_WAITING
		: GC_SOLID;
	return found;
}

/* ---- all of them ---- */

struct owners {
	size_t n[3];       /* by gc_fate */
	struct str *faded; /* uids of the owners that are not solid */
	size_t n_faded;
};

static enum gc_found find_owners(struct gc_live *l, const struct gc_ref *dependent, const struct json *meta, struct owners *ret)
{
	const struct json *refs = json_gets(meta, "ownerReferences");
	size_t n = json_is(refs, JSON_ARRAY) ? refs->n : 0;

	*ret = (struct owners){.faded = arena_array(&l->arena, struct str, n)};
	for (size_t i = 0; i < n; i++) {
		struct gc_ref owner = json_meta_owner(refs->items[i], dependent->ns);
		enum gc_fate fate;
		enum gc_found found = find_owner(l, &owner, &fate);
		if (found != GC_FOUND) {
			return found;
		}
		ret->n[fate]++;
		if (fate != GC_SOLID) {
			ret->faded[ret->n_faded++] = owner.uid;
		}
	}
	return GC_FOUND;
}

/* ---- doing what was decided ---- */

enum step {
	STEP_DONE,
	STEP_AGAIN, /* somebody else changed the object first */
	STEP_FAILED,
	STEP_HOPELESS, /* and another try would not help */
};

static enum step step_of(struct gc_live *l, const struct gc_ref *r, const char *what, int error, const struct answer *answer)
{
	if (!error) {
		return STEP_DONE;
	}
	if (answer->code == 409 || gc_live_is_absent(l, r, answer)) {
		return STEP_AGAIN;
	}
	gc_live_complain(l, r, what, answer);
	return STEP_FAILED;
}

static enum step gc_live_trim(struct gc_live *l, const struct gc_item *item, const struct owners *owners)
{
	_cleanup_(answer_done) struct answer answer;
	int r;

	answer_init(&answer);
	r = gc_live_unrefer(l, &item->ref, owners->faded, owners->n_faded, &answer);
	return step_of(l, &item->ref, "cannot trim the owner references of", r, &answer);
}

/* On success *version is the object's new version. */
static enum step unblock(struct gc_live *l, const struct gc_item *item, const struct json *meta, struct str *version)
{
	_cleanup_(answer_done) struct answer answer;
	int r;

	answer_init(&answer);
	r = gc_live_unblock(l, &item->ref, meta, &answer);
	if (!r) {
		*version = arena_dup(&l->arena, answer_version(&answer));
	}
	return step_of(l, &item->ref, "cannot unblock the owners of", r, &answer);
}

static enum step gc_live_collect(
	struct gc_live *l, const struct gc_item *item, const struct json *meta, const struct gc_plan *plan)
{
	_cleanup_(answer_done) struct answer answer;
	struct str version = json_text(json_gets(meta, "resourceVersion"));
	int r;

	answer_init(&answer);
	if (plan->unblocks) {
		enum step s = unblock(l, item, meta, &version);
		if (s != STEP_DONE) {
			return s;
		}
	}
	r = gc_live_delete(l, &item->ref, version, plan->propagation, &answer);
	return step_of(l, &item->ref, "cannot delete", r, &answer);
}

static enum step gc_live_act(struct gc_live *l, const struct gc_item *item, const struct json *meta)
{
	struct owners owners;
	struct gc_situation situation = {
		.has_orphan_finalizer = json_meta_has_finalizer(meta, GC_FINALIZER_ORPHAN),
		.has_foreground_finalizer = json_meta_has_finalizer(meta, GC_FINALIZER_FOREGROUND),
		.has_dependents = item->n_dependents > 0,
		.has_waiting_dependent = item->has_waiting_dependent,
	};
	enum gc_found found = find_owners(l, &item->ref, meta, &owners);

	if (found != GC_FOUND) {
		return found == GC_IMPOSSIBLE ? STEP_HOPELESS : STEP_FAILED;
	}
	memcpy(situation.n_owners, owners.n, sizeof(owners.n));
	struct gc_plan plan = gc_plan_for(&situation);
	switch (plan.action) {
	case GC_TRIM:
		return gc_live_trim(l, item, &owners);
	case GC_DELETE:
		return gc_live_collect(l, item, meta, &plan);
	case GC_KEEP:
		break;
	}
	return STEP_DONE;
}

/* ---- finalizers ---- */

/* If another object has the name now, nothing is left to do: it has its own uid and its own
 * attempt. */
static enum step finalize_once(struct gc_live *l, const struct gc_ref *r, const char *finalizer)
{
	_cleanup_(answer_done) struct answer answer, patched;
	enum gc_found found;
	int error;

	answer_init(&answer);
	answer_init(&patched);
	found = gc_live_get(l, r, &answer, NULL);
	if (found != GC_FOUND) {
		return found == GC_UNKNOWN ? STEP_FAILED : STEP_DONE;
	}
	error = gc_live_finalize(l, r, json_gets(answer.body, "metadata"), finalizer, &patched);
	return step_of(l, r, "cannot finalize", error, &patched);
}

static enum step finalize(struct gc_live *l, const struct gc_ref *r, const char *finalizer)
{
	enum step s = STEP_AGAIN;

	for (int i = 0; i < CONFLICTS_MAX && s == STEP_AGAIN; i++) {
		s = finalize_once(l, r, finalizer);
	}
	return s;
}

/* ---- attempts ---- */

static enum step wait_for_dependents(struct gc_live *l, const struct gc_item *item)
{
	return gc_core_attempt_blockers(l->core, item->ref.uid) > 0 ? STEP_DONE
								    : finalize(l, &item->ref, GC_FINALIZER_FOREGROUND);
}

static enum step item_look_at(struct gc_live *l, const struct gc_item *item)
{
	_cleanup_(answer_done) struct answer answer;
	enum gc_found found;

	answer_init(&answer);
	found = gc_live_get(l, &item->ref, &answer, NULL);
	switch (found) {
	case GC_UNKNOWN:
		return STEP_FAILED;
	case GC_ABSENT:
		if (item->is_virtual && gc_ref_may_live_elsewhere(&item->ref)) {
			return STEP_HOPELESS;
		}
		gc_core_deny(l->core, &item->ref);
		return STEP_DONE;
	case GC_IMPOSSIBLE:
		return STEP_HOPELESS;
	case GC_FOUND:
		break;
	}
	return item->is_waiting ? wait_for_dependents(l, item) : gc_live_act(l, item, json_gets(answer.body, "metadata"));
}

/* Reads the graph again after each conflict: the object's references may have changed. */
static enum step delete_once(struct gc_live *l, struct str uid, bool *ret_is_virtual)
{
	struct gc_item item;

	*ret_is_virtual = false;
	if (!gc_core_get(l->core, uid, &l->arena, &item) || (item.is_deleting && !item.is_waiting)) {
		return STEP_DONE;
	}
	*ret_is_virtual = item.is_virtual;
	return item_look_at(l, &item);
}

enum gc_outcome gc_attempt_delete(struct gc_core *c, struct str uid)
{
	_cleanup_(gc_live_done) struct gc_live l;
	enum step s = STEP_AGAIN;
	bool is_virtual = false;

	gc_live_init(&l, c);
	for (int i = 0; i < CONFLICTS_MAX && s == STEP_AGAIN; i++) {
		s = delete_once(&l, uid, &is_virtual);
	}
	if (s != STEP_DONE) {
		return s == STEP_HOPELESS ? GC_DONE : GC_RETRY;
	}
	/* An owner that no informer has shown may have come and gone between two watches. It is
	 * retried until it is seen or denied. */
	struct gc_item item;
	return is_virtual && gc_core_get(c, uid, &l.arena, &item) && item.is_virtual ? GC_RETRY : GC_DONE;
}

static bool orphan_one(struct gc_live *l, const struct gc_ref *dependent, struct str owner_uid)
{
	_cleanup_(answer_done) struct answer answer;
	int r;

	answer_init(&answer);
	r = gc_live_unrefer(l, dependent, &owner_uid, 1, &answer);
	if (r && !gc_live_is_absent(l, dependent, &answer)) {
		gc_live_complain(l, dependent, "cannot orphan", &answer);
		return false;
	}
	return true;
}

enum gc_outcome gc_attempt_orphan(struct gc_core *c, struct str uid)
{
	_cleanup_(gc_live_done) struct gc_live l;
	struct gc_ref *dependents = NULL;
	struct gc_item item;
	size_t n, n_failed = 0;

	gc_live_init(&l, c);
	if (!gc_core_get(c, uid, &l.arena, &item)) {
		return GC_DONE;
	}
	n = gc_core_dependents(c, uid, &l.arena, &dependents);
	for (size_t i = 0; i < n; i++) {
		n_failed += orphan_one(&l, &dependents[i], uid) ? 0 : 1;
	}
	return n_failed == 0 && finalize(&l, &item.ref, GC_FINALIZER_ORPHAN) == STEP_DONE ? GC_DONE : GC_RETRY;
}

/* ---- the decision ---- */

/* The decision follows attemptToDeleteItem of kube's garbage collector: one solid owner keeps
 * the object. If an owner waits for this object in the foreground, the object is deleted in the
 * foreground too, so that its dependents go first. */
/* The finalizers on the object record the propagation policy that a user asked for; it is kept. */
static const char *propagation_of(const struct gc_situation *s)
{
	if (s->has_orphan_finalizer) {
		return "Orphan";
	}
	return s->has_foreground_finalizer ? "Foreground" : "Background";
}

struct gc_plan gc_plan_for(const struct gc_situation *s)
{
	size_t n_dangling = s->n_owners[GC_DANGLING], n_waiting = s->n_owners[GC_WAITING];

	if (s->n_owners[GC_SOLID] > 0) {
		return (struct gc_plan){.action = n_dangling + n_waiting > 0 ? GC_TRIM : GC_KEEP};
	}
	if (n_dangling + n_waiting == 0) {
		return (struct gc_plan){.action = GC_KEEP};
	}
	if (n_waiting > 0 && s->has_dependents) {
		return (struct gc_plan){.action = GC_DELETE, .propagation = "Foreground", .unblocks = s->has_waiting_dependent};
	}
	return (struct gc_plan){.action = GC_DELETE, .propagation = propagation_of(s)};
}
