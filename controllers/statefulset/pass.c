/* The function at the end is the seed's list of steps. The steps above it are in its order; where the seed leaves something open, or upstream's
 * StatefulSet at apps/v1 does otherwise, the comment says so.
 *
 * Two contradictions of the seed are decided here. Step 4 creates pods without waiting; the guarantees say that each predecessor is Running and Ready
 * first, and they win. Step 5 waits for every pod, which makes an update that cannot become Ready a trap: nothing rolls it back or forward. Where
 * the set follows the seed, a broken pod of a revision that its ordinal does not call for is replaced. */
#include "controllers/statefulset/pass.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"

#include <stdlib.h>

enum {
	PODS_A_PASS = 500,      /* that a Parallel set creates at most, before others have their turn */
	COLLISIONS_A_PASS = 16, /* names tried for a new revision */
	PROBLEMS_TOLD = 5,      /* by a pass, of revisions that it cannot read */
};

/* ---- failures, events ---- */

static bool fail(struct pass *p, struct str problem)
{
	if (!p->problem.n) {
		p->problem = problem.n ? problem : STR("it failed without a reason");
	}
	return false;
}

static void say(struct pass *p, const char *what, struct str message, bool is_warning)
{
	p->io->say(p->ctx, is_warning, arena_printf(p->arena, "%s%s", is_warning ? "Failed" : "Successful", what), message);
}

/* Upstream's words: `Create Pod web-0 in StatefulSet web successful`. */
static void say_of_pod(struct pass *p, const char *what, struct str pod, const struct str *problem)
{
	struct str set = p->set.owner.name;

	if (problem) {
		say(p, what,
			arena_printf(p->arena, "%s Pod " STR_FMT " in StatefulSet " STR_FMT " failed error: " STR_FMT, what, STR_ARG(pod),
				STR_ARG(set), STR_ARG(*problem)),
			true);
	} else {
		say(p, what, arena_printf(p->arena, "%s Pod " STR_FMT " in StatefulSet " STR_FMT " successful", what, STR_ARG(pod), STR_ARG(set)),
			false);
	}
}

static void say_of_claim(struct pass *p, struct str pod, struct str claim, const struct str *problem)
{
	struct str set = p->set.owner.name;

	if (problem) {
		say(p, "Create",
			arena_printf(p->arena, "Create Claim " STR_FMT " for Pod " STR_FMT " in StatefulSet " STR_FMT " failed error: " STR_FMT,
				STR_ARG(claim), STR_ARG(pod), STR_ARG(set), STR_ARG(*problem)),
			true);
	} else {
		say(p, "Create",
			arena_printf(p->arena, "Create Claim " STR_FMT " Pod " STR_FMT " in StatefulSet " STR_FMT " success", STR_ARG(claim),
				STR_ARG(pod), STR_ARG(set)),
			false);
	}
}

/* ---- 1: the history ---- */

/* Once for each change of the set, not in each pass, and of few: whoever may write revisions must not fill the log. */
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

static struct revision *keep(struct pass *p, const struct revision *r)
{
	struct revision *kept = arena_new(p->arena, struct revision);
	*kept = *r;
	return kept;
}

/* True: it is there, under that name, and ours. */
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
			return true; /* of a pass whose answer was lost */
		}
		*ret_collides = p->carrier == &carrier_controllerrevisions;
	}
	if (!*ret_collides) {
		say(p, "Create",
			arena_printf(p->arena, "Create %s " STR_FMT " in StatefulSet " STR_FMT " failed error: " STR_FMT, p->carrier->kind,
				STR_ARG(choice->revision.name), STR_ARG(p->set.owner.name), STR_ARG(problem)),
			true);
	}
	return fail(p, problem);
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
			fail(p, problem);
	case HISTORY_UNCHANGED:
	case HISTORY_REUSED:
		break;
	}
	return true;
}

/* "Template Updates" 4: the equal state of old, or a new one. */
static struct revision *choose_update(struct pass *p)
{
	struct history_choice choice;
	bool collides = true;

	for (int i = 0; collides && i < COLLISIONS_A_PASS; i++) {
		if (!history_choose(&choice, p->carrier, &p->subject, &p->history, p->collisions, p->arena)) {
			fail(p, STR("the template is too big for a revision"));
			return NULL;
		}
		if (carry_out(p, &choice, &collides)) {
			return keep(p, &choice.revision);
		}
		if (collides) {
			p->problem = (struct str){0};
			p->collisions++;
		}
	}
	fail(p, STR("no free name was found for a revision"));
	return NULL;
}

/* "Template Updates" 2: the template is that of the last time, and its revision still the newest. Generations alone do not tell: those of an orphaned
 * history that was adopted may be the same. */
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
		return true; /* nil: the history begins with the first change of the template */
	}
	p->update = same_as_before(p);
	p->update = p->update ? p->update : choose_update(p);
	if (!p->update) {
		return false;
	}
	if (!p->update->generation) {
		p->update->generation = s->template_generation; /* made by a controller that knows of no generations */
	}
	/* By name, as kube-controller-manager knows it; by number where no name was stored. */
	p->current = history_by_name(&p->history, s->status.current_revision);
	if (!p->current && !s->status.current_revision.n) {
		p->current = history_by_generation(&p->history, s->status.current_generation);
	}
	/* "Template Updates" 3: the history begins. Also when somebody has deleted it, or has put another of its name there that holds no state. */
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

/* What is terminating counts as a pod, and as no revision's. */
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

/* Seed 002, "Status Reporting" 1 to 6. */
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

/* Seed 002, "PodTemplate Selection" 2 to 6, of a slot counted from 0. */
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

/* Upstream: by the partition where one is written down, else by how many pods are still current. */
static bool upstream_selects_current(const struct pass *p, int64_t slot)
{
	const struct set *s = &p->set;
	return !s->is_on_delete && slot < (s->has_partition ? s->partition : s->status.current);
}

/* The target state: pods below the partition are of the current revision, all others of the update's (seed 002, "Target State"). */
static struct revision *target_of(const struct pass *p, int64_t ordinal)
{
	return ordinal - p->set.start < p->set.partition ? p->current : p->update;
}

struct revision *pass_revision_of(const struct pass *p, int64_t ordinal)
{
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

/* ---- claims ---- */

static struct claim_pod claim_pod_of(const struct pass *p, const struct member *m)
{
	return (struct claim_pod){.name = m->name, .uid = m->uid, .is_in_range = set_has_slot(&p->set, m->ordinal)};
}

/* One more problem behind those before, as client-go joins them: "a", then "[a, b]". */
struct problems {
	struct str text;
	size_t n;
};

static void add_problem(struct pass *p, struct problems *all, struct str problem)
{
	if (!all->n) {
		all->text = problem;
	} else if (all->n == 1) {
		all->text = arena_printf(p->arena, "[" STR_FMT ", " STR_FMT "]", STR_ARG(all->text), STR_ARG(problem));
	} else {
		all->text = arena_printf(p->arena, STR_FMT ", " STR_FMT "]", (int)all->text.n - 1, all->text.p, STR_ARG(problem));
	}
	all->n++;
}

static void create_claim(struct pass *p, const struct member *m, const struct json *template, struct problems *problems)
{
	struct str name = claim_name(&p->set, template, m->ordinal, p->arena), problem = {0};
	const struct json *meta = p->io->claim_meta(p->ctx, name);

	if (meta) {
		if (gc_meta_is_deleting(meta)) {
			add_problem(p, problems, arena_printf(p->arena, "pvc " STR_FMT " is being deleted", STR_ARG(name)));
		}
		return;
	}
	enum io_result result = p->io->create_claim(p->ctx, claim_make(&p->set, template, m->ordinal, p->arena), &problem);
	if (result != IO_DONE) {
		add_problem(p, problems,
			arena_printf(p->arena, "failed to create PVC " STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(problem)));
	}
	if (result != IO_EXISTS) {
		say_of_claim(p, m->name, name, result == IO_DONE ? NULL : &problem);
	}
}

static bool create_claims(struct pass *p, const struct member *m, struct str *ret_problem)
{
	const struct json *template;
	struct problems problems = {0};

	for (uint32_t i = 0; (template = list_item(p->set.claim_templates, i)); i++) {
		create_claim(p, m, template, &problems);
	}
	*ret_problem = problems.text;
	return !problems.n;
}

static bool claims_have_right_owners(struct pass *p, const struct member *m)
{
	const struct claim_pod pod = claim_pod_of(p, m);
	const struct json *template;

	for (uint32_t i = 0; (template = list_item(p->set.claim_templates, i)); i++) {
		const struct json *meta = p->io->claim_meta(p->ctx, claim_name(&p->set, template, m->ordinal, p->arena));
		if (meta && !claim_has_right_owners(&p->set, &pod, meta)) {
			return false;
		}
	}
	return true;
}

static bool own_claims(struct pass *p, const struct member *m, struct str *ret_problem)
{
	const struct claim_pod pod = claim_pod_of(p, m);
	const struct json *template;

	for (uint32_t i = 0; (template = list_item(p->set.claim_templates, i)); i++) {
		struct str name = claim_name(&p->set, template, m->ordinal, p->arena), problem = {0};
		const struct json *meta = p->io->claim_meta(p->ctx, name);
		if (!meta) {
			continue;
		}
		if (claim_has_other_controller(&p->set, &pod, meta)) {
			p->io->say(p->ctx, true, STR("ConflictingController"),
				arena_printf(p->arena,
					"PersistentVolumeClaim " STR_FMT " has a conflicting OwnerReference that acts as a manging controller, "
					"the retention policy is ignored for this claim",
					STR_ARG(name)));
		}
		if (!claim_has_right_owners(&p->set, &pod, meta) &&
			p->io->own_claim(p->ctx, meta, claim_right_owners(&p->set, &pod, meta, p->arena), &problem) != IO_DONE) {
			*ret_problem = arena_printf(p->arena, "could not update claim " STR_FMT " for delete policy ownerRefs: " STR_FMT,
				STR_ARG(name), STR_ARG(problem));
			return false;
		}
	}
	return true;
}

/* A claim that will go with an earlier pod of this name must not get into the hands of the next one. */
static bool has_stale_claim(struct pass *p, const struct member *m)
{
	const struct claim_pod pod = claim_pod_of(p, m);
	const struct json *template;

	for (uint32_t i = 0; (template = list_item(p->set.claim_templates, i)); i++) {
		const struct json *meta = p->io->claim_meta(p->ctx, claim_name(&p->set, template, m->ordinal, p->arena));
		if (meta && claim_is_stale(&p->set, &pod, meta)) {
			return true;
		}
	}
	return false;
}

/* ---- pods ---- */

/* What a step has come to; but for STEP_ON, an ordered set's pass ends there. */
enum step {
	STEP_ON = 0, /* nothing is in the way of the next one */
	STEP_WAIT,   /* for an event */
	STEP_ACTED,  /* a pod was made or taken away, which is enough at once */
	STEP_FAILED,
};

static enum step delete_pod(struct pass *p, struct member *m)
{
	struct str problem = {0};
	enum io_result result = p->io->delete_pod(p->ctx, m, &problem);

	/* Whatever has changed it will be an event. It may be nobody's by now, and then it must stay (seed 001, the first law). */
	if (result == IO_CONFLICT) {
		return STEP_WAIT;
	}
	if (result != IO_DONE && result != IO_GONE) {
		say_of_pod(p, "Delete", m->name, &problem);
		fail(p, problem);
		return STEP_FAILED;
	}
	m->is_deleted = true;
	say_of_pod(p, "Delete", m->name, NULL);
	return STEP_ACTED;
}

static bool create_pod(struct pass *p, struct member *m)
{
	struct str problem = {0}, of_claims = {0};

	if (!create_claims(p, m, &problem)) {
		say_of_pod(p, "Create", m->name, &problem);
		return fail(p, problem);
	}
	enum io_result result = p->io->create_pod(p->ctx, m->pod, &problem);
	/* It is ours, and the cache has not heard of it. */
	if (result == IO_CONFLICT) {
		return fail(p, problem);
	}
	/* A pod of that name is there, which is not ours: it blocks this ordinal and nothing else (seed 001, the third law). Upstream does not tell. */
	if (result == IO_EXISTS) {
		say_of_pod(p, "Create", m->name, &problem);
		return fail(p, problem);
	}
	if (!own_claims(p, m, &of_claims)) {
		say_of_pod(p, "Update", m->name, &of_claims);
		return fail(p, of_claims);
	}
	say_of_pod(p, "Create", m->name, result == IO_DONE ? NULL : &problem);
	return result == IO_DONE || fail(p, problem);
}

/* Labels and volumes that were lost, claims whose owners are not those of the policy. */
static bool repair_pod(struct pass *p, const struct member *m)
{
	struct str problem = {0};
	bool is_done = member_has_storage(&p->set, m, p->arena) || create_claims(p, m, &problem);

	is_done = is_done && (claims_have_right_owners(p, m) || own_claims(p, m, &problem));
	if (!is_done) {
		say_of_pod(p, "Update", m->name, &problem);
		return fail(p, problem);
	}
	if (member_conforms(&p->set, m, p->arena)) {
		return true;
	}
	is_done = p->io->update_pod(p->ctx, member_conformed(&p->set, m, p->arena), &problem) == IO_DONE;
	say_of_pod(p, "Update", m->name, is_done ? NULL : &problem);
	return is_done || fail(p, problem);
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
		if (has_stale_claim(p, m)) {
			return STEP_WAIT;
		}
		return !create_pod(p, m) ? STEP_FAILED : is_ordered ? STEP_ACTED : STEP_ON;
	}
	if (m->phase == POD_PENDING) {
		if (!create_claims(p, m, &problem)) {
			fail(p, problem);
			return STEP_FAILED;
		}
		if (!own_claims(p, m, &problem)) {
			say_of_pod(p, "Update", m->name, &problem);
			fail(p, problem);
			return STEP_FAILED;
		}
	}
	if (is_ordered && (m->is_terminating || !m->is_available)) {
		return STEP_WAIT;
	}
	if (!member_conforms(&p->set, m, p->arena) || !claims_have_right_owners(p, m)) {
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

/* Walks the slots in order, those that are there and those that are missing. One batch is carried through whatever fails in it, and batches double
 * (upstream's slow start), so that a server which refuses is not asked a thousand times. */
static enum step process_slots(struct pass *p)
{
	int64_t n_missing = MIN(p->set.replicas - (int64_t)p->n_slots, PODS_A_PASS);
	struct member *slots = arena_array(p->arena, struct member, p->n_slots + (size_t)n_missing + 1);
	size_t at = 0, n = 0, made = 0, in_batch = 0, batch = 1;
	bool has_failed = false;

	for (int64_t ordinal = p->set.start; ordinal < p->set.start + p->set.replicas; ordinal++) {
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

/* The seed's status tells what the slots were made from, also when all pods are gone: a pod that the update takes away is no longer counted. */
static void uncount(struct pass *p, const struct member *m)
{
	if (!p->set.follows_seed) {
		p->status.current--;
		return;
	}
	p->status.current -= is_made_from(m, p->current);
	p->status.updated -= is_made_from(m, p->update);
}

static struct member *highest_broken(struct pass *p)
{
	for (size_t i = p->n_slots; i-- > 0;) {
		struct member *m = &p->slots[i];
		if (!m->is_available && !is_made_from(m, target_of(p, m->ordinal))) {
			return m;
		}
	}
	return NULL;
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

/* A pod that is not Ready, of a revision that its ordinal does not call for, would be waited for in vain: one at a time is replaced, from the
 * highest. Its slot is remembered until it is filled again, as "PodTemplate Selection" 3 would call for the same revision; where the
 * process dies in between, that happens once more. */
static enum step replace_broken(struct pass *p)
{
	bool may = p->set.follows_seed && !p->set.is_on_delete && p->update && !is_any_going(p->slots, p->n_slots) &&
		!is_any_going(p->condemned, p->n_condemned);
	struct member *m = may ? highest_broken(p) : NULL;

	if (!m) {
		return STEP_WAIT;
	}
	enum step step = delete_pod(p, m);
	if (step == STEP_ACTED) {
		p->replaced = m->ordinal + 1;
		uncount(p, m);
	}
	return step;
}

/* ---- 6: scaling ---- */

/* The lowest of them that is not available: in an ordered set it may go although it is not Ready. All slots are, when it comes to this. */
static const struct member *first_unhealthy(const struct pass *p)
{
	for (size_t i = p->n_condemned; i-- > 0;) {
		if (member_is_unavailable(&p->condemned[i])) {
			return &p->condemned[i];
		}
	}
	return NULL;
}

/* Upstream counts it until it is seen to be going. Without a partition that count chooses revisions: where a Parallel set is scaled and updated at
 * once, and both pods are gone before the next pass, the second one would come back in the old revision, to be replaced once more. */
static void uncount_condemned(struct pass *p, const struct member *m, enum step step)
{
	if (step == STEP_ACTED && !p->set.follows_seed) {
		p->status.current -= is_made_from(m, p->current);
	}
}

static enum step scale_down(struct pass *p)
{
	const struct member *unhealthy = first_unhealthy(p);
	struct str problem = {0};

	for (size_t i = 0; i < p->n_condemned; i++) {
		if (!claims_have_right_owners(p, &p->condemned[i]) && !own_claims(p, &p->condemned[i], &problem)) {
			fail(p, problem);
			return STEP_FAILED;
		}
	}
	for (size_t i = 0; i < p->n_condemned; i++) {
		struct member *m = &p->condemned[i];
		if (!p->set.is_parallel && (m->is_terminating || (!m->is_available && m != unhealthy))) {
			return STEP_WAIT;
		}
		enum step step = m->is_terminating ? STEP_ON : delete_pod(p, m);
		uncount_condemned(p, m, step);
		if (step == STEP_FAILED || !p->set.is_parallel) {
			return step;
		}
	}
	return STEP_ON;
}

/* ---- 7: the update ---- */

/* Its pod was made from another revision of the same state: it gets the label, and goes on running (seed 000, "Target Object State
 * Reconciliation" 1). */
static bool is_same_state(struct pass *p, const struct member *m, const struct revision *r)
{
	const struct revision *made_from = history_by_name(&p->history, m->revision);
	return made_from && made_from->state && r->state && history_equal_states(&p->subject, made_from->state, r->state, p->arena);
}

static bool relabel(struct pass *p, struct member *m, const struct revision *r)
{
	struct str problem = {0};
	bool is_done = p->io->update_pod(p->ctx, member_relabelled(m, r, p->arena), &problem) == IO_DONE;

	say_of_pod(p, "Update", m->name, is_done ? NULL : &problem);
	if (is_done) {
		p->status.updated += is_made_from(&(struct member){.revision = r->name}, p->update);
		m->revision = r->name;
	}
	return is_done || fail(p, problem);
}

static enum step replace(struct pass *p, struct member *m, const struct revision *r)
{
	/* One that this pass has made is not as the server has it: the next one sees to it. */
	if (is_same_state(p, m, r)) {
		return m->phase == POD_NEW || relabel(p, m, r) ? STEP_ON : STEP_FAILED;
	}
	enum step step = delete_pod(p, m);
	if (step == STEP_ACTED) {
		uncount(p, m);
	}
	return step;
}

/* One after the other, from the highest ordinal down to the partition; each is waited for. */
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
			enum step step = replace(p, m, r);
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

/* As many at once as may be unavailable (Kubernetes 1.37, behind the gate). */
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
			enum step step = replace(p, m, p->update);
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

/* Seed 002, "Update Completion"; upstream's completeRollingUpdate. With a partition it never is. */
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
	return p->io->write_status(p->ctx, &p->status, &problem) == IO_DONE || fail(p, problem);
}

static bool is_live(void *ctx, const struct revision *r)
{
	const struct pass *p = ctx;

	/* Where the pass failed before it knew them, the status tells which they were. */
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
			return fail(p, problem);
		}
	}
	return true;
}

/* ---- the ten steps ---- */

static enum step conform(struct pass *p)
{
	enum step step;

	if (p->set.owner.is_deleting) {
		return STEP_WAIT; /* its pods are the garbage collector's; only the status goes on */
	}
	/* 4. Create the missing pod of the lowest ordinal, from the revision that its ordinal calls for.
	 * 5. Wait until every pod is Running and Ready, or gone. */
	step = process_slots(p);
	if (step == STEP_WAIT && !p->set.is_parallel) {
		return replace_broken(p);
	}
	/* 6. Delete the pod of the largest ordinal beyond the replicas: scaling precedes updating. */
	step = step ? step : scale_down(p);
	/* 7. Delete the pod of the largest ordinal that is not of the revision declared for it. */
	return step ? step : update_pods(p);
}

bool stateful_pass(struct pass *p)
{
	bool is_done;

	/* 1. Reconstruct the revision history. */
	reconstruct_history(p);
	/* 2. Process template updates, so that the history has what the user declares. */
	is_done = process_template_updates(p);
	if (is_done) {
		/* 3. Select the set's own pods and sort them by their ordinals. */
		sort_members(p);
		count_members(p);
		/* 4 to 7. */
		is_done = conform(p) != STEP_FAILED;
		/* 8. Complete an update that has reached its target. */
		complete_update(p);
		/* 9. Report the status, also that of a pass which failed (upstream's k/k#108837). */
		is_done = report_status(p) && is_done;
	}
	/* 10. Maintain the history, whatever happened (k/k#85690). */
	return maintain_history(p) && is_done;
}
