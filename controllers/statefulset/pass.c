/* The function at the end lists the ten steps; the functions above it are in that order.
 * Comments say where upstream's StatefulSet at apps/v1 behaves differently.
 *
 * Two rules of the design contradict each other, and are decided here. Step 4 creates pods
 * without waiting, but the guarantees demand that each predecessor is Running and Ready first;
 * the guarantees win. Step 5 waits for every pod, so an update that cannot become Ready is a
 * trap: nothing rolls it back or forward. Where the set follows the seed, the pod that it waits
 * for is replaced if that pod has never been Ready and its ordinal calls for another revision. */
#include "controllers/statefulset/pass.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"

#include <assert.h>
#include <stdlib.h>

enum {
	PODS_A_PASS = 500,      /* the most pods that a Parallel set creates in one pass, so that other sets get a turn */
	COLLISIONS_A_PASS = 16, /* names tried for a new revision */
	PROBLEMS_TOLD = 5,      /* unreadable revisions that a pass logs */
};

/* ---- failures, events ---- */

static bool pass_fail(struct pass *p, struct str problem)
{
	if (!p->problem.n) {
		p->problem = problem.n ? problem : STR("it failed without a reason");
	}
	return false;
}

static void pass_say(struct pass *p, const char *what, struct str message, bool is_warning)
{
	p->io->say(p->ctx, is_warning, arena_printf(p->arena, "%s%s", is_warning ? "Failed" : "Successful", what), message);
}

/* Writes an Event in upstream's words: `Create Pod web-0 in StatefulSet web successful`. */
static void say_of_pod(struct pass *p, const char *what, struct str pod, const struct str *problem)
{
	struct str set = p->set.owner.name;

	if (problem) {
		pass_say(p, what,
			arena_printf(p->arena, "%s Pod " STR_FMT " in StatefulSet " STR_FMT " failed error: " STR_FMT, what,
				STR_ARG(pod), STR_ARG(set), STR_ARG(*problem)),
			true);
	} else {
		pass_say(p, what,
			arena_printf(p->arena, "%s Pod " STR_FMT " in StatefulSet " STR_FMT " successful", what, STR_ARG(pod),
				STR_ARG(set)),
			false);
	}
}

/* ---- 1: the history ---- */

/* Logs once for each change of the set, not in each pass, and only a few: a user who may write
 * revisions must not fill the log. */
static void on_history_problem(void *ctx, const struct json *object, struct str problem)
{
	struct pass *p = ctx;
	if (p->set.status.observed_generation == p->set.generation || p->n_told == PROBLEMS_TOLD) {
		return;
	}
	p->n_told++;
	struct str name = member_text(json_gets(object, "metadata"), "name");

	p->on_problem(p->ctx, arena_printf(p->arena, "%s " STR_FMT "/" STR_FMT ": " STR_FMT, p->carrier->kind, STR_ARG(p->set.owner.ns),
				      STR_ARG(name), STR_ARG(problem)));
}

static void reconstruct_history(struct pass *p)
{
	const struct set *s = &p->set;

	p->subject = (struct history_owner){
		.api_version = s->owner.api_version,
		.kind = s->owner.kind,
		.ns = s->owner.ns,
		.name = s->owner.name,
		.uid = s->owner.uid,
		.selector = set_selects(s),
		.state = p->carrier == &carrier_podtemplates && json_is(s->template, JSON_OBJECT) ? member_template(s, p->arena)
												  : s->template,
		.labels = json_gets(json_gets(s->template, "metadata"), "labels"),
		.annotations = json_gets(s->meta, "annotations"),
		.generation = s->template_generation,
		.collisions = s->status.collisions,
		.revision_api_version = p->revision_api_version,
		.normal = set_normal_template,
	};
	history_reconstruct(&p->history, p->carrier, &p->subject, p->revision_objects, p->n_revision_objects, on_history_problem, p,
		p->arena);
}

/* ---- 2: template updates ---- */

/* Returns true if the revision exists under that name and belongs to this set. */
static bool create_revision(struct pass *p, const struct history_choice *choice, bool *ret_collides)
{
	const struct json *found = NULL;
	struct str problem = {0};
	enum io_result result = p->io->create_revision(p->ctx, choice->revision.object, &found, &problem);

	*ret_collides = false;
	if (result == IO_DONE) {
		return true;
	}
	if (result == IO_EXISTS && found) {
		if (history_is_same(p->carrier, &p->subject, &choice->revision, found, p->arena)) {
			return true; /* created by an earlier pass whose answer was lost */
		}
		*ret_collides = p->carrier == &carrier_controllerrevisions;
	}
	if (!*ret_collides) {
		pass_say(p, "Create",
			arena_printf(p->arena, "Create %s " STR_FMT " in StatefulSet " STR_FMT " failed error: " STR_FMT,
				p->carrier->kind, STR_ARG(choice->revision.name), STR_ARG(p->set.owner.name), STR_ARG(problem)),
			true);
	}
	return pass_fail(p, problem);
}

static bool carry_out(struct pass *p, const struct history_choice *choice, bool *ret_collides)
{
	struct str problem = {0};

	*ret_collides = false;
	switch (choice->action) {
	case HISTORY_CREATED:
		return create_revision(p, choice, ret_collides);
	case HISTORY_RENUMBERED:
		return p->io->renumber_revision(p->ctx, &choice->revision, choice->revision.number, &problem) == IO_DONE ||
			pass_fail(p, problem);
	case HISTORY_UNCHANGED:
	case HISTORY_REUSED:
		break;
	}
	return true;
}

/* Chooses an older revision with an equal state, or creates a new one. */
static struct revision *choose_update(struct pass *p)
{
	struct history_choice choice;
	bool collides = true;

	for (int i = 0; collides && i < COLLISIONS_A_PASS; i++) {
		if (!history_choose(&choice, p->carrier, &p->subject, &p->history, p->collisions, p->arena)) {
			pass_fail(p, STR("the template is too big for a revision"));
			return NULL;
		}
		if (carry_out(p, &choice, &collides)) {
			struct revision *kept = arena_new(p->arena, struct revision);
			*kept = choice.revision;
			return kept;
		}
		if (collides) {
			p->problem = (struct str){0};
			p->collisions++;
		}
	}
	pass_fail(p, STR("no free name was found for a revision"));
	return NULL;
}

/* Returns the newest revision if the template is unchanged since the last pass. The generation
 * alone does not prove that: an adopted history may have the same numbers. */
static struct revision *same_as_before(struct pass *p)
{
	const struct set_status *st = &p->set.status;
	struct revision *r = history_by_name(&p->history, st->update_revision);
	bool is_unchanged = st->observed_generation == p->set.generation && st->update_generation == p->set.template_generation;

	return is_unchanged && r && r->state && r == &p->history.revisions[p->history.n - 1] ? r : NULL;
}

static bool process_template_updates(struct pass *p)
{
	const struct set *s = &p->set;

	if (!s->template_generation) {
		return true; /* the history begins with the first change of the template */
	}
	p->update = same_as_before(p);
	p->update = p->update ? p->update : choose_update(p);
	if (!p->update) {
		return false;
	}
	if (!p->update->generation) {
		p->update->generation = s->template_generation; /* another controller made it, without a generation */
	}
	/* By name, as kube-controller-manager does; by number if no name was stored. */
	p->current = history_by_name(&p->history, s->status.current_revision);
	if (!p->current && !s->status.current_revision.n) {
		p->current = history_by_generation(&p->history, s->status.current_generation);
	}
	/* The history begins here. That also happens if somebody deleted the current revision,
	 * or replaced it with one that holds no state. */
	if (!p->current || !p->current->state || str_eq(p->current->name, p->update->name)) {
		p->current = p->update;
	}
	return true;
}

/* ---- 3: the pods ---- */

static int by_ordinal(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static int by_ordinal_down(const void *a, const void *b)
{
	return by_ordinal(b, a);
}

static void sort_members(struct pass *p)
{
	struct member *slots = arena_array(p->arena, struct member, p->n_pods + 1);
	struct member *condemned = arena_array(p->arena, struct member, p->n_pods + 1);

	for (size_t i = 0; i < p->n_pods; i++) {
		struct member m;
		if (member_read(&m, p->pods[i], &p->set, p->now_s)) {
			if (set_has_slot(&p->set, m.ordinal)) {
				slots[p->n_slots++] = m;
			} else {
				condemned[p->n_condemned++] = m;
			}
		}
	}
	qsort(slots, p->n_slots, sizeof(*slots), by_ordinal);
	qsort(condemned, p->n_condemned, sizeof(*condemned), by_ordinal_down);
	p->slots = slots;
	p->condemned = condemned;
}

static bool is_made_from(const struct member *m, const struct revision *r)
{
	return r && str_eq(m->revision, r->name);
}

/* A terminating pod counts as a replica, but for no revision. */
static void count_member(struct pass *p, const struct member *m)
{
	struct set_status *st = &p->status;
	bool is_counted = m->phase != POD_NEW && !m->is_terminating;

	st->replicas += m->phase != POD_NEW;
	st->ready += m->is_ready;
	st->available += m->is_available;
	st->current += is_counted && (!p->current || is_made_from(m, p->current));
	st->updated += is_counted && (!p->update || is_made_from(m, p->update));
	if (m->available_in_s && (!p->again_in_s || m->available_in_s < p->again_in_s)) {
		p->again_in_s = m->available_in_s;
	}
}

/* Counts the pods for the status. */
static void count_members(struct pass *p)
{
	struct set_status *st = &p->status;

	*st = (struct set_status){
		.observed_generation = p->set.generation,
		.collisions = p->set.status.collisions + p->collisions,
		.current_revision = p->current ? p->current->name : (struct str){0},
		.update_revision = p->update ? p->update->name : (struct str){0},
		.current_generation = p->current ? p->current->generation : 0,
		.update_generation = p->update ? p->update->generation : 0,
	};
	for (size_t i = 0; i < p->n_slots; i++) {
		count_member(p, &p->slots[i]);
	}
	for (size_t i = 0; i < p->n_condemned; i++) {
		count_member(p, &p->condemned[i]);
	}
}

/* ---- which revision an ordinal calls for ---- */

/* Does the slot, counted from 0, get the current revision, by the seed's rules? */
static bool seed_selects_current(const struct pass *p, int64_t slot)
{
	const struct set *s = &p->set;

	if (slot < s->status.current) {
		return true;
	}
	if (slot >= s->replicas - s->status.updated) {
		return false;
	}
	return slot < s->partition;
}

/* Upstream's rule: by the partition if the set has one, else by how many pods are still current. */
static bool upstream_selects_current(const struct pass *p, int64_t slot)
{
	const struct set *s = &p->set;
	return !s->is_on_delete && slot < (s->has_partition ? s->partition : s->status.current);
}

/* The target state: pods below the partition have the current revision, all others the update
 * revision. */
static struct revision *target_of(const struct pass *p, int64_t ordinal)
{
	return ordinal - p->set.start < p->set.partition ? p->current : p->update;
}

struct revision *pass_revision_of(const struct pass *p, int64_t ordinal)
{
	assert(ordinal >= 0);
	assert(!p->update || p->current); /* there is a history, or there is none */
	int64_t slot = ordinal - p->set.start;
	bool is_current;

	if (!p->update || str_eq(p->current->name, p->update->name)) {
		return p->update;
	}
	if (!p->set.follows_seed || p->set.is_on_delete) {
		is_current = upstream_selects_current(p, slot);
	} else if (p->replaced == ordinal + 1) {
		return target_of(p, ordinal);
	} else {
		is_current = seed_selects_current(p, slot);
	}
	return is_current ? p->current : p->update;
}

/* ---- pods ---- */

/* The result of a step. Anything but STEP_ON ends the pass of an ordered set. */
enum step {
	STEP_ON = 0, /* the next step may run */
	STEP_WAIT,   /* wait for an event */
	STEP_ACTED,  /* a pod was created or deleted, which is enough for one pass */
	STEP_FAILED,
};

static enum step delete_pod(struct pass *p, struct member *m)
{
	struct str problem = {0};
	enum io_result result = p->io->delete_pod(p->ctx, m, &problem);

	/* The change that caused the conflict brings an event. The pod may have lost its
	 * controller; then it must stay. */
	if (result == IO_CONFLICT) {
		return STEP_WAIT;
	}
	if (result != IO_DONE && result != IO_GONE) {
		say_of_pod(p, "Delete", m->name, &problem);
		pass_fail(p, problem);
		return STEP_FAILED;
	}
	m->is_deleted = true;
	say_of_pod(p, "Delete", m->name, NULL);
	return STEP_ACTED;
}

static bool create_pod(struct pass *p, struct member *m)
{
	assert(m->phase == POD_NEW);
	struct str problem = {0}, of_claims = {0};

	if (!pass_create_claims(p, m, &problem)) {
		say_of_pod(p, "Create", m->name, &problem);
		return pass_fail(p, problem);
	}
	enum io_result result = p->io->create_pod(p->ctx, m->pod, &problem);
	/* The pod exists and belongs to the set, but the cache has not seen it yet. */
	if (result == IO_CONFLICT) {
		return pass_fail(p, problem);
	}
	/* Another owner's pod has the name. It blocks this ordinal and nothing else. Unlike
	 * upstream, this writes an Event. */
	if (result == IO_EXISTS) {
		say_of_pod(p, "Create", m->name, &problem);
		return pass_fail(p, problem);
	}
	if (!pass_own_claims(p, m, &of_claims)) {
		say_of_pod(p, "Update", m->name, &of_claims);
		return pass_fail(p, of_claims);
	}
	say_of_pod(p, "Create", m->name, result == IO_DONE ? NULL : &problem);
	return result == IO_DONE || pass_fail(p, problem);
}

/* Restores lost labels and volumes, and corrects the claims' owners by the policy. */
static bool repair_pod(struct pass *p, const struct member *m)
{
	struct str problem = {0};
	bool is_done = member_has_storage(&p->set, m, p->arena) || pass_create_claims(p, m, &problem);

	is_done = is_done && (pass_claims_have_right_owners(p, m) || pass_own_claims(p, m, &problem));
	if (!is_done) {
		say_of_pod(p, "Update", m->name, &problem);
		return pass_fail(p, problem);
	}
	if (member_conforms(&p->set, m, p->arena)) {
		return true;
	}
	is_done = p->io->update_pod(p->ctx, member_conformed(&p->set, m, p->arena), &problem) == IO_DONE;
	say_of_pod(p, "Update", m->name, is_done ? NULL : &problem);
	return is_done || pass_fail(p, problem);
}

/* ---- 4 and 5: what is missing is created, what is not Running and Ready is waited for ---- */

static enum step process_slot(struct pass *p, struct member *m)
{
	bool is_ordered = !p->set.is_parallel;
	struct str problem = {0};

	if (m->phase == POD_OVER) {
		return m->is_terminating ? STEP_WAIT : delete_pod(p, m);
	}
	if (m->phase == POD_NEW) {
		if (pass_has_stale_claim(p, m)) {
			return STEP_WAIT;
		}
		return !create_pod(p, m) ? STEP_FAILED : is_ordered ? STEP_ACTED : STEP_ON;
	}
	if (m->phase == POD_PENDING) {
		if (!pass_create_claims(p, m, &problem)) {
			pass_fail(p, problem);
			return STEP_FAILED;
		}
		if (!pass_own_claims(p, m, &problem)) {
			say_of_pod(p, "Update", m->name, &problem);
			pass_fail(p, problem);
			return STEP_FAILED;
		}
	}
	if (is_ordered && (m->is_terminating || !m->is_available)) {
		return STEP_WAIT;
	}
	if (!member_conforms(&p->set, m, p->arena) || !pass_claims_have_right_owners(p, m)) {
		return repair_pod(p, m) ? STEP_ON : STEP_FAILED;
	}
	return STEP_ON;
}

static struct member make_member(struct pass *p, int64_t ordinal)
{
	const struct revision *r = pass_revision_of(p, ordinal);
	const struct json *pod = member_make(&p->set, r, ordinal, p->arena);

	return (struct member){
		.pod = pod,
		.name = member_text(json_gets(pod, "metadata"), "name"),
		.revision = r ? r->name : (struct str){0},
		.generation = r ? r->generation : 0,
		.ordinal = ordinal,
	};
}

/* Walks the slots in order, both filled and empty. A batch is finished even if some of it fails,
 * and batches double (upstream's slow start): a server that refuses does not get a thousand
 * requests. */
static enum step process_slots(struct pass *p)
{
	int64_t n_missing = MIN(p->set.replicas - (int64_t)p->n_slots, PODS_A_PASS);
	assert(n_missing >= 0);
	struct member *slots = arena_array(p->arena, struct member, p->n_slots + (size_t)n_missing + 1);
	size_t at = 0, n = 0, made = 0, in_batch = 0, batch = 1;
	bool has_failed = false;

	for (int64_t ordinal = p->set.start; ordinal < p->set.start + p->set.replicas; ordinal++) {
		assert(n < p->n_slots + (size_t)n_missing + 1);
		struct member *m = &slots[n++];
		if (at < p->n_slots && p->slots[at].ordinal == ordinal) {
			*m = p->slots[at++];
		} else if (made++ == PODS_A_PASS) {
			p->has_more = !has_failed;
			return has_failed ? STEP_FAILED : STEP_WAIT;
		} else {
			*m = make_member(p, ordinal);
		}
		enum step step = process_slot(p, m);
		if (!p->set.is_parallel && step != STEP_ON) {
			return step;
		}
		has_failed = has_failed || step == STEP_FAILED;
		if (++in_batch == batch) {
			if (has_failed) {
				return STEP_FAILED;
			}
			batch = MIN(batch * 2, (size_t)PODS_A_PASS);
			in_batch = 0;
		}
	}
	p->slots = slots;
	p->n_slots = n;
	return has_failed ? STEP_FAILED : STEP_ON;
}

/* ---- 5, out of the trap ---- */

/* The status says which revisions the slots were made from, even when all pods are gone. So a
 * pod that the update deletes is no longer counted. */
static void pass_uncount(struct pass *p, const struct member *m)
{
	if (!p->set.follows_seed) {
		p->status.current--;
		return;
	}
	p->status.current -= is_made_from(m, p->current);
	p->status.updated -= is_made_from(m, p->update);
}

static bool is_any_going(const struct member *members, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (members[i].is_terminating || members[i].is_deleted) {
			return true;
		}
	}
	return false;
}

/* Returns the pod that all higher ordinals wait for, if waiting for it is in vain: it has never
 * been Ready, and its ordinal calls for another revision. A pod of the current revision may be one
 * that has just been moved to another node, so it is not broken. NULL: there is no such pod.
 *
 * All lower ordinals are available, and the pod's slot is the next one to be filled. So no second
 * pod goes before the replacement of the first one is available. */
static struct member *broken_blocker(struct pass *p)
{
	for (size_t i = 0; i < p->n_slots; i++) {
		struct member *m = &p->slots[i];
		if (m->ordinal != p->set.start + (int64_t)i) {
			return NULL; /* an empty slot is filled first */
		}
		if (!m->is_available) {
			bool is_broken = m->was_never_ready && !is_made_from(m, target_of(p, m->ordinal)) &&
				!is_made_from(m, p->current);
			return is_broken ? m : NULL;
		}
	}
	return NULL;
}

/* Replaces a broken pod. Its slot is remembered until it is filled again: otherwise the slot would
 * get the same revision. If the process dies in between, that happens once more. */
static enum step replace_broken(struct pass *p)
{
	bool may = p->set.follows_seed && !p->set.is_on_delete && p->update && !is_any_going(p->slots, p->n_slots) &&
		!is_any_going(p->condemned, p->n_condemned);
	struct member *m = may ? broken_blocker(p) : NULL;

	if (!m) {
		return STEP_WAIT;
	}
	enum step step = delete_pod(p, m);
	if (step == STEP_ACTED) {
		p->replaced = m->ordinal + 1;
		pass_uncount(p, m);
	}
	return step;
}

/* ---- 6: scaling ---- */

/* Returns the condemned pod with the lowest ordinal that is not available: an ordered set may
 * delete it although it is not Ready. All slots are available at this point. */
static const struct member *first_unhealthy(const struct pass *p)
{
	for (size_t i = p->n_condemned; i-- > 0;) {
		if (member_is_unavailable(&p->condemned[i])) {
			return &p->condemned[i];
		}
	}
	return NULL;
}

static enum step scale_down(struct pass *p)
{
	const struct member *unhealthy = first_unhealthy(p);
	struct str problem = {0};

	for (size_t i = 0; i < p->n_condemned; i++) {
		if (!pass_claims_have_right_owners(p, &p->condemned[i]) && !pass_own_claims(p, &p->condemned[i], &problem)) {
			pass_fail(p, problem);
			return STEP_FAILED;
		}
	}
	for (size_t i = 0; i < p->n_condemned; i++) {
		struct member *m = &p->condemned[i];
		if (!p->set.is_parallel && (m->is_terminating || (!m->is_available && m != unhealthy))) {
			return STEP_WAIT;
		}
		enum step step = m->is_terminating ? STEP_ON : delete_pod(p, m);
		/* Stops counting the deleted pod as current. Upstream counts it until it sees the deletion, and
		 * without a partition that count chooses revisions. If a Parallel set is scaled and updated at
		 * once, another deleted pod could return in the old revision, to be replaced again. */
		if (step == STEP_ACTED && !p->set.follows_seed) {
			p->status.current -= is_made_from(m, p->current);
		}
		if (step == STEP_FAILED || !p->set.is_parallel) {
			return step;
		}
	}
	return STEP_ON;
}

/* ---- 7: the update ---- */

/* Was the pod made from another revision with the same state? Then it gets the label and keeps
 * running. */
static bool is_same_state(struct pass *p, const struct member *m, const struct revision *r)
{
	const struct revision *made_from = history_by_name(&p->history, m->revision);
	return made_from && made_from->state && r->state && history_equal_states(&p->subject, made_from->state, r->state, p->arena);
}

static bool pass_relabel(struct pass *p, struct member *m, const struct revision *r)
{
	assert(r->name.n > 0);
	struct str problem = {0};
	bool is_done = p->io->update_pod(p->ctx, member_relabelled(m, r, p->arena), &problem) == IO_DONE;

	say_of_pod(p, "Update", m->name, is_done ? NULL : &problem);
	if (is_done) {
		p->status.updated += is_made_from(&(struct member){.revision = r->name}, p->update);
		m->revision = r->name;
	}
	return is_done || pass_fail(p, problem);
}

static enum step pass_replace(struct pass *p, struct member *m, const struct revision *r)
{
	/* This pass lacks the server's version of a pod that it has just created: the next pass
	 * relabels that pod. */
	if (is_same_state(p, m, r)) {
		return m->phase == POD_NEW || pass_relabel(p, m, r) ? STEP_ON : STEP_FAILED;
	}
	enum step step = delete_pod(p, m);
	if (step == STEP_ACTED) {
		pass_uncount(p, m);
	}
	return step;
}

/* Updates one pod after another, from the highest ordinal down to the partition, and waits for
 * each. */
static enum step update_one(struct pass *p)
{
	for (size_t i = p->n_slots; i-- > 0;) {
		struct member *m = &p->slots[i];
		const struct revision *r = target_of(p, m->ordinal);
		bool is_below = m->ordinal - p->set.start < p->set.partition;
		if (is_below && !p->set.follows_seed) {
			return STEP_ON;
		}
		if (!is_made_from(m, r) && !m->is_terminating) {
			enum step step = pass_replace(p, m, r);
			if (step != STEP_ON) {
				return step;
			}
		}
		if (member_is_unavailable(m)) {
			return STEP_WAIT;
		}
	}
	return STEP_ON;
}

/* Updates as many pods at once as may be unavailable (Kubernetes 1.37, behind a feature gate). */
static enum step update_several(struct pass *p)
{
	int64_t budget = p->set.max_unavailable;

	for (size_t i = 0; i < p->n_slots; i++) {
		budget -= member_is_unavailable(&p->slots[i]);
	}
	for (size_t i = p->n_slots; budget > 0 && i-- > 0;) {
		struct member *m = &p->slots[i];
		if (m->ordinal - p->set.start < p->set.partition) {
			break;
		}
		if (!is_made_from(m, p->update) && !m->is_terminating) {
			enum step step = pass_replace(p, m, p->update);
			if (step == STEP_FAILED) {
				return step;
			}
			budget -= step != STEP_ON;
		}
	}
	return STEP_ON;
}

static enum step update_pods(struct pass *p)
{
	if (!p->update || p->set.is_on_delete) {
		return STEP_ON;
	}
	return p->allows_max_unavailable ? update_several(p) : update_one(p);
}

/* ---- 8, 9, 10 ---- */

/* Like upstream's completeRollingUpdate. With a partition an update is never complete. */
static void complete_update(struct pass *p)
{
	struct set_status *st = &p->status;
	bool may = !p->set.is_on_delete && !(p->set.follows_seed && p->set.partition > 0);

	if (may && st->updated == p->set.replicas && st->ready == p->set.replicas && st->replicas == p->set.replicas) {
		st->current = st->updated;
		st->current_revision = st->update_revision;
		st->current_generation = st->update_generation;
	}
}

static bool report_status(struct pass *p)
{
	struct str problem = {0};
	const struct set_status *stored = &p->set.status;

	if (p->status.observed_generation <= stored->observed_generation && set_has_same_status(&p->status, stored)) {
		return true;
	}
	return p->io->write_status(p->ctx, &p->status, &problem) == IO_DONE || pass_fail(p, problem);
}

static bool is_live(void *ctx, const struct revision *r)
{
	const struct pass *p = ctx;

	/* If the pass failed before it knew the revisions, the status has their names. */
	struct str current = p->current ? p->current->name : p->set.status.current_revision,
		   update = p->update ? p->update->name : p->set.status.update_revision;
	if (str_eq(r->name, current) || str_eq(r->name, update)) {
		return true;
	}
	for (size_t i = 0; i < p->n_pods; i++) {
		const struct json *labels = json_gets(json_gets(p->pods[i], "metadata"), "labels");
		if (str_eq(member_text(labels, LABEL_REVISION), r->name)) {
			return true;
		}
	}
	return false;
}

static bool maintain_history(struct pass *p)
{
	struct revision **excess;
	size_t n = history_excess(p->carrier, &p->history, p->set.limit, is_live, p, &excess, p->arena);

	for (size_t i = 0; i < n; i++) {
		struct str problem = {0};
		enum io_result result = p->io->delete_revision(p->ctx, excess[i], &problem);
		if (result != IO_DONE && result != IO_GONE) {
			return pass_fail(p, problem);
		}
	}
	return true;
}

/* ---- the ten steps ---- */

static enum step pass_conform(struct pass *p)
{
	enum step step;

	if (p->set.owner.is_deleting) {
		return STEP_WAIT; /* the garbage collector handles its pods; only the status is updated */
	}
	/* 4. Create the missing pod with the lowest ordinal, from the revision for that ordinal.
	 * 5. Wait until every pod is Running and Ready, or gone. */
	step = process_slots(p);
	if (step == STEP_WAIT && !p->set.is_parallel) {
		return replace_broken(p);
	}
	/* 6. Delete the pod with the largest ordinal beyond the replicas: scaling precedes
	 * updating. */
	step = step ? step : scale_down(p);
	/* 7. Delete the pod with the largest ordinal that does not have the revision for that
	 * ordinal. */
	return step ? step : update_pods(p);
}

bool stateful_pass(struct pass *p)
{
	assert(p->io && p->arena && p->carrier && p->replaced >= 0);
	bool is_done;

	/* 1. Reconstruct the revision history. */
	reconstruct_history(p);
	/* 2. Process template updates, so that the history has the template that the user
	 * declares. */
	is_done = process_template_updates(p);
	if (is_done) {
		/* 3. Select the set's own pods and sort them by their ordinals. */
		sort_members(p);
		count_members(p);
		/* 4 to 7. */
		is_done = pass_conform(p) != STEP_FAILED;
		/* 8. Complete an update that has reached its target. */
		complete_update(p);
		/* 9. Report the status, also after a failed pass (kubernetes/kubernetes#108837). */
		is_done = report_status(p) && is_done;
	}
	/* 10. Maintain the history, even after a failed pass (kubernetes/kubernetes#85690). */
	return maintain_history(p) && is_done;
}
