/* Finds the set's pods and revisions: adopts matching orphans, and releases pods that no longer
 * match. Failures are collected, and the first one ends the sync after all of them, as upstream's
 * claimObjects does. */
#include "api/model/members.h"
#include "controllers/kit/meta.h"
#include "controllers/statefulset/state.h"

struct claiming {
	struct sync *y;
	struct adoption adoption;
	const struct resource *resource;
	unsigned kind; /* an index of own_writes */
	const struct json **kept;
	size_t n_kept;
	bool has_failed;
};

static void claiming_init(struct claiming *c, struct sync *y, const struct resource *resource, unsigned kind, size_t max)
{
	*c = (struct claiming){
		.y = y,
		.adoption = {.client = y->s->run.env->client,
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
		/* Only a pod named {set}-{ordinal} can be a member, whatever its labels. */
		bool is_named = ownership_ordinal(y->pass.set.owner.name, y->pods[i]->name) >= 0;
		claim_one(&c, y->pods[i], is_named && matches_set(y, y->pods[i]));
	}
	y->pass.pods = c.kept;
	y->pass.n_pods = c.n_kept;
	return claiming_done(&c);
}

/* A revision that no longer matches is kept: a pod may have been made from it. */
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

/* ---- caches behind the server ---- */

/* After a write that got no answer, or found the object changed, there is no version to wait
 * for. So the object is read from the server once, and the next pass waits until the cache has
 * that version. A pass with an older cache might delete a second pod while the first is still
 * coming back.
 *
 * The read misses a write that is still under way. Such a write was sent to a server that has
 * died, or that has given it up. */

/* Bytes of a kind and a name. */
enum { KEY_MAX = 512 };

struct seen_by {
	const struct resource *resource;
	struct informer *informer;
};

static struct seen_by view_of(const struct stateful_state *s, unsigned kind)
{
	switch (kind) {
	case OWN_PODS:
		return (struct seen_by){&stateful_pods, s->pods_informer};
	case OWN_CLAIMS:
		return (struct seen_by){&stateful_claims, s->claims_informer};
	case OWN_REVISIONS:
		return (struct seen_by){&s->revision, s->revisions_informer};
	default:
		return (struct seen_by){&stateful_beta, s->sets_beta};
	}
}

/* Returns true if the server refuses to show the object: the doubt could never be settled. */
static bool is_abreast_of(struct sync *y, unsigned kind, struct str name)
{
	_cleanup_(answer_done) struct answer answer;
	const struct seen_by view = view_of(y->s, kind);
	struct str ns = y->pass.set.owner.ns;
	uint64_t version = 0;

	answer_init(&answer);
	enum rest_found found = rest_find_metadata(
		y->s->run.env->client, &(struct target){.resource = view.resource, .namespace = ns, .name = name}, &answer);
	_cleanup_(item_unrefp) struct item *cached = informer_get(view.informer, ns, name);
	switch (found) {
	case REST_FOUND:
		str_to_uint64(answer_version(&answer), &version);
		return cached && cached->version >= version;
	case REST_ABSENT:
		return !cached;
	case REST_UNKNOWN:
		break;
	}
	return answer_is(&answer, 403, "Forbidden");
}

bool sync_is_abreast(struct sync *y)
{
	_cleanup_(buf_done) struct buf name;
	struct own_writes *own = &y->s->own;
	struct str uid = y->pass.set.owner.uid;
	unsigned kind;

	buf_init(&name, KEY_MAX);
	while (own_writes_is_doubtful(own, uid, &kind, &name)) {
		if (!is_abreast_of(y, kind, buf_str(&name))) {
			return false;
		}
		own_writes_believe(own, uid, kind, buf_str(&name));
		buf_clear(&name);
	}
	return true;
}

/* ---- strangers ---- */

/* Findings that a user should know about. They are overlapping selectors of two sets, and
 * revisions that look like the set's but have another controller. Nothing is changed: the objects
 * themselves name their owners. */
/* How many sets of a namespace are compared: each comparison is short, but there may be
 * thousands. */
enum { SETS_LOOKED_AT = 1000, STRANGERS_TOLD = 5 };

bool stranger_is(const struct carrier *c, const struct item *revision)
{
	struct owner_reference controller;

	if (!ownership_controller(item_meta(revision), &controller)) {
		return false;
	}
	if (!str_is(controller.kind, "StatefulSet")) {
		return true;
	}
	/* ControllerRevisions that match two sets are not reported here: the report on
	 * overlapping selectors covers them. */
	struct str made_by = member_text(json_gets(item_meta(revision), "labels"), HISTORY_LABEL_CREATED_BY);
	return c == &carrier_podtemplates && made_by.n && !str_eq(made_by, controller.name);
}

void sync_tell_of_strangers(struct sync *y, const struct history_owner *subject)
{
	struct item **items;
	struct pass *p = &y->pass;
	size_t told = 0, n = family_of(&y->s->strangers, (struct str){0}, p->set.owner.ns, &items);

	for (size_t i = 0; i < n && told < STRANGERS_TOLD; i++) {
		if (!ownership_is_ours(&p->set.owner, item_meta(items[i])) &&
			history_matches(p->carrier, subject, items[i]->object)) {
			told++;
			p->on_problem(p->ctx,
				arena_printf(&y->arena,
					"%s " STR_FMT "/" STR_FMT
					": another controller has it, though its labels are those of StatefulSet " STR_FMT,
					p->carrier->kind, STR_ARG(items[i]->namespace), STR_ARG(items[i]->name),
					STR_ARG(p->set.owner.name)));
		}
	}
	family_release(items, n);
}

/* Does the set's selector match the labels of the other set's pods? */
static bool selects(const struct json *set, const struct json *other, struct arena *a)
{
	struct label_selector selector;
	const struct label *labels;
	struct str problem;
	const struct json *template = json_gets(json_gets(other, "spec"), "template");
	size_t n = labels_read(&labels, json_gets(json_gets(template, "metadata"), "labels"), a);

	return !label_selector_read(&selector, json_gets(json_gets(set, "spec"), "selector"), a, &problem) && selector.n &&
		label_selector_matches(&selector, labels, n);
}

void sync_tell_of_overlaps(struct sync *y)
{
	struct item **sets;
	struct pass *p = &y->pass;
	size_t n = family_of(&y->s->sets, (struct str){0}, p->set.owner.ns, &sets);

	for (size_t i = 0; i < MIN(n, (size_t)SETS_LOOKED_AT); i++) {
		bool is_other = !str_eq(sets[i]->uid, p->set.owner.uid);
		if (is_other &&
			(selects(sets[i]->object, p->set.object, &y->arena) ||
				selects(p->set.object, sets[i]->object, &y->arena))) {
			struct str text = arena_printf(&y->arena,
				"Its selector and that of StatefulSet " STR_FMT " match the same pods", STR_ARG(sets[i]->name));
			p->io->say(p->ctx, true, STR("SelectorOverlap"), text);
			p->on_problem(p->ctx,
				arena_printf(&y->arena, "StatefulSet " STR_FMT "/" STR_FMT ": " STR_FMT,
					STR_ARG(p->set.owner.ns), STR_ARG(p->set.owner.name), STR_ARG(text)));
			break;
		}
	}
	family_release(sets, n);
}
