/* Which pods and revisions are the set's (seed 001). Orphans that match are taken, what matches no more is let go; each failure is gathered, and the
 * first one ends the sync behind all of them, as upstream's claimObjects does. */
#include "api/model/members.h"
#include "controllers/statefulset/state.h"

struct claiming {
	struct sync *y;
	struct adoption adoption;
	const struct resource *resource;
	unsigned kind; /* of own writes */
	const struct json **kept;
	size_t n_kept;
	bool has_failed;
};

static void claiming_init(struct claiming *c, struct sync *y, const struct resource *resource, unsigned kind, size_t max)
{
	*c = (struct claiming){
		.y = y,
		.adoption = {.client = y->s->env->client,
			.owner = &y->pass.set.owner,
			.owner_target = &y->target,
			.arena = &y->arena},
		.resource = resource,
		.kind = kind,
		.kept = arena_array(&y->arena, const struct json *, max + 1),
	};
}

static void claim_one(struct claiming *c, struct item *item, bool matches)
{
	_cleanup_(answer_done) struct answer answer;
	const struct target target = {.resource = c->resource, .namespace = item->namespace, .name = item->name};
	enum claim claim = ownership_claim(&c->y->pass.set.owner, item_meta(item), matches);
	enum adoption_result result = ADOPTION_DONE;

	answer_init(&answer);
	if (claim == CLAIM_ADOPTED) {
		result = adoption_take(&c->adoption, &target, item->uid, &answer);
		count(&c->y->s->counters, ADOPTIONS);
	} else if (claim == CLAIM_RELEASED) {
		result = adoption_let_go(&c->adoption, &target, item->uid, &answer);
		count(&c->y->s->counters, RELEASES);
	}
	if (result == ADOPTION_FAILED) {
		sync_note_write(c->y, c->kind, item->name, answer.code ? REST_STATUS : REST_UNREACHABLE, &answer);
		c->has_failed = true;
		return;
	}
	if (result == ADOPTION_DONE && (claim == CLAIM_ADOPTED || claim == CLAIM_RELEASED)) {
		sync_note_write(c->y, c->kind, item->name, 0, &answer);
	}
	if (claim == CLAIM_KEPT) {
		c->kept[c->n_kept++] = item->object;
	}
	c->y->has_adopted = c->y->has_adopted || (claim == CLAIM_ADOPTED && result == ADOPTION_DONE);
}

static bool claiming_done(struct claiming *c)
{
	if (c->has_failed) {
		c->y->pass.problem = c->adoption.problem;
	}
	return !c->has_failed;
}

static bool matches_set(struct sync *y, const struct item *item)
{
	const struct label *labels;
	size_t n = labels_read(&labels, json_gets(item_meta(item), "labels"), &y->arena);
	const struct label_selector *selector = set_selects(&y->pass.set);
	return selector && label_selector_matches(selector, labels, n);
}

bool sync_claim_pods(struct sync *y)
{
	struct claiming c;

	claiming_init(&c, y, &stateful_pods, OWN_PODS, y->n_pods);
	for (size_t i = 0; i < y->n_pods; i++) {
		/* Only {set}-{ordinal} can be a member, whatever its labels (seed 001, "StatefulSet"). */
		bool is_named = ownership_ordinal(y->pass.set.owner.name, y->pods[i]->name) >= 0;
		claim_one(&c, y->pods[i], is_named && matches_set(y, y->pods[i]));
	}
	y->pass.pods = c.kept;
	y->pass.n_pods = c.n_kept;
	return claiming_done(&c);
}

/* A revision that matches no more is kept: it may still be what a pod was made from. */
bool sync_claim_revisions(struct sync *y)
{
	struct claiming c;
	const struct carrier *carrier = y->s->carrier;
	const struct history_owner subject = {.kind = y->pass.set.owner.kind,
		.name = y->pass.set.owner.name,
		.uid = y->pass.set.owner.uid,
		.selector = set_selects(&y->pass.set)};

	claiming_init(&c, y, &y->s->revision, OWN_REVISIONS, y->n_revisions);
	for (size_t i = 0; i < y->n_revisions; i++) {
		struct item *item = y->revisions[i];
		bool is_ours = ownership_is_ours(&y->pass.set.owner, item_meta(item));
		claim_one(&c, item, is_ours || (carrier->is_adopted && history_matches(carrier, &subject, item->object)));
	}
	y->pass.revision_objects = c.kept;
	y->pass.n_revision_objects = c.n_kept;
	/* Once for each change of the set, not in each pass. */
	if (y->pass.set.status.observed_generation != y->pass.set.generation) {
		sync_tell_of_strangers(y, &subject);
	}
	return claiming_done(&c);
}
