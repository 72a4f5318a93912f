/* What a user should hear of: selectors of two sets that meet, and revisions that look like the set's and are another's. Nothing is done about either,
 * since who owns an object is written in it (seed 001, "Non-goals"; seed 000 and 002, "History Reconstruction"). */
#include "api/model/members.h"
#include "controllers/kit/meta.h"
#include "controllers/statefulset/state.h"

/* Of one namespace: a look at each set is short, but there may be thousands. */
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
	/* Of ControllerRevisions that the selectors of two sets match it is told that the selectors meet. */
	struct str made_by = member_text(json_gets(item_meta(revision), "labels"), HISTORY_LABEL_CREATED_BY);
	return c == &carrier_podtemplates && made_by.n && !str_eq(made_by, controller.name);
}

void sync_tell_of_strangers(struct sync *y, const struct history_owner *subject)
{
	struct item **items;
	struct pass *p = &y->pass;
	size_t told = 0, n = family_of(&y->s->strangers, (struct str){0}, p->set.owner.ns, &items);

	for (size_t i = 0; i < n && told < STRANGERS_TOLD; i++) {
		if (!ownership_is_ours(&p->set.owner, item_meta(items[i])) && history_matches(p->carrier, subject, items[i]->object)) {
			told++;
			p->on_problem(p->ctx,
				arena_printf(&y->arena, "%s " STR_FMT "/" STR_FMT ": another controller has it, though its labels are those of StatefulSet " STR_FMT,
					p->carrier->kind, STR_ARG(items[i]->namespace), STR_ARG(items[i]->name), STR_ARG(p->set.owner.name)));
		}
	}
	family_release(items, n);
}

/* Does the selector of that set match the labels of the other one's pods? */
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
		if (is_other && (selects(sets[i]->object, p->set.object, &y->arena) || selects(p->set.object, sets[i]->object, &y->arena))) {
			struct str text = arena_printf(&y->arena, "Its selector and that of StatefulSet " STR_FMT " match the same pods",
				STR_ARG(sets[i]->name));
			p->io->say(p->ctx, true, STR("SelectorOverlap"), text);
			p->on_problem(p->ctx, arena_printf(&y->arena, "StatefulSet " STR_FMT "/" STR_FMT ": " STR_FMT, STR_ARG(p->set.owner.ns),
						      STR_ARG(p->set.owner.name), STR_ARG(text)));
			break;
		}
	}
	family_release(sets, n);
}
