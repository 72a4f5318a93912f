/* The claims of a pod: their names, their owners by the retention policy, and the steps of a
 * pass that create them and correct the owners. The rules are upstream's (stateful_set_utils.go):
 * two policies with two values each, and claims that must be left alone. */
#include "controllers/statefulset/claim.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"
#include "controllers/statefulset/pass.h"

#include <assert.h>

struct str claim_template_name(const struct json *template)
{
	return member_text(json_gets(template, "metadata"), "name");
}

struct str claim_name(const struct set *s, const struct json *template, int64_t ordinal, struct arena *a)
{
	assert(ordinal >= 0);
	return arena_printf(a, STR_FMT "-" STR_FMT "-%lld", STR_ARG(claim_template_name(template)), STR_ARG(s->owner.name),
		(long long)ordinal);
}

struct json *claim_make(const struct set *s, const struct json *template, int64_t ordinal, struct arena *a)
{
	assert(ordinal >= 0);
	const struct json *selected = json_gets(s->selector_json, "matchLabels"), *from = json_gets(template, "metadata");
	struct json *claim = json_object(a), *meta = json_copy_or_empty(a, from),
		    *all = json_copy_or_empty(a, json_gets(from, "labels"));

	for (uint32_t i = 0; json_is(selected, JSON_OBJECT) && i < selected->n; i++) {
		json_set(a, all, selected->members[i].name, selected->members[i].value);
	}
	json_add(a, claim, STR("apiVersion"), json_string(a, STR("v1")));
	json_add(a, claim, STR("kind"), json_string(a, STR("PersistentVolumeClaim")));
	json_add(a, claim, STR("metadata"), meta);
	json_add(a, claim, STR("spec"), json_copy_or_empty(a, json_gets(template, "spec")));
	json_set(a, meta, STR("name"), json_string(a, claim_name(s, template, ordinal, a)));
	json_set(a, meta, STR("namespace"), json_string(a, s->owner.ns));
	json_set(a, meta, STR("labels"), all);
	return claim;
}

/* ---- whose it is ---- */

static bool names_set(const struct json *ref, const struct set *s)
{
	return str_eq(member_text(ref, "apiVersion"), s->owner.api_version) && str_eq(member_text(ref, "kind"), s->owner.kind) &&
		str_eq(member_text(ref, "name"), s->owner.name);
}

static bool names_pod(const struct json *ref, const struct claim_pod *pod)
{
	return str_is(member_text(ref, "apiVersion"), "v1") && str_is(member_text(ref, "kind"), "Pod") &&
		str_eq(member_text(ref, "name"), pod->name);
}

static bool has_uid(const struct json *ref, struct str uid)
{
	return str_eq(member_text(ref, "uid"), uid);
}

static const struct json *refs_of(const struct json *meta)
{
	return json_gets(meta, "ownerReferences");
}

static bool has_owner(const struct json *refs, struct str uid)
{
	const struct json *ref;

	for (uint32_t i = 0; (ref = list_item(refs, i)); i++) {
		if (has_uid(ref, uid)) {
			return true;
		}
	}
	return false;
}

/* The first reference with the set's name decides. */
static bool is_of_earlier_set(const struct set *s, const struct json *meta)
{
	const struct json *ref;

	for (uint32_t i = 0; (ref = list_item(refs_of(meta), i)); i++) {
		if (names_set(ref, s)) {
			return !has_uid(ref, s->owner.uid);
		}
	}
	return false;
}

static bool is_of_earlier_pod(const struct claim_pod *pod, const struct json *meta)
{
	const struct json *ref;

	for (uint32_t i = 0; (ref = list_item(refs_of(meta), i)); i++) {
		if (names_pod(ref, pod)) {
			return !has_uid(ref, pod->uid);
		}
	}
	return false;
}

bool claim_is_stale(const struct set *s, const struct claim_pod *pod, const struct json *meta)
{
	return s->claims.deletes_when_scaled && is_of_earlier_pod(pod, meta);
}

bool claim_has_other_controller(const struct set *s, const struct claim_pod *pod, const struct json *meta)
{
	const struct json *ref;

	if (!s->claims.deletes_with_set && !s->claims.deletes_when_scaled) {
		return false;
	}
	for (uint32_t i = 0; (ref = list_item(refs_of(meta), i)); i++) {
		bool is_set = names_set(ref, s), is_pod = names_pod(ref, pod);
		bool is_ours = (is_set && has_uid(ref, s->owner.uid)) || (!is_set && is_pod && has_uid(ref, pod->uid));
		if (!is_ours && (is_set || is_pod || member_is_true(ref, "controller"))) {
			return true;
		}
	}
	return false;
}

static bool has_plain_owner(const struct set *s, const struct claim_pod *pod, const struct json *meta)
{
	const struct json *ref;

	for (uint32_t i = 0; (ref = list_item(refs_of(meta), i)); i++) {
		bool is_ours = has_uid(ref, s->owner.uid) || has_uid(ref, pod->uid);
		if (is_ours && !member_is_true(ref, "controller")) {
			return true;
		}
	}
	return false;
}

/* With whenDeleted the set owns the claim. With whenScaled the pod owns it once the pod is to be
 * scaled away, and the set does not. */
static bool wants_set(const struct set *s, const struct claim_pod *pod)
{
	return s->claims.deletes_with_set && (!s->claims.deletes_when_scaled || pod->is_in_range);
}

static bool wants_pod(const struct set *s, const struct claim_pod *pod)
{
	return s->claims.deletes_when_scaled && !pod->is_in_range;
}

bool claim_has_right_owners(const struct set *s, const struct claim_pod *pod, const struct json *meta)
{
	bool has_set = has_owner(refs_of(meta), s->owner.uid), has_pod = has_owner(refs_of(meta), pod->uid);

	if (is_of_earlier_set(s, meta) || is_of_earlier_pod(pod, meta)) {
		return true;
	}
	if (claim_has_other_controller(s, pod, meta)) {
		return !has_set && !has_pod;
	}
	return !has_plain_owner(s, pod, meta) && has_set == wants_set(s, pod) && has_pod == wants_pod(s, pod);
}

static struct json *pod_reference(const struct claim_pod *pod, struct arena *a)
{
	const struct owner owner = {.api_version = STR("v1"), .kind = STR("Pod"), .name = pod->name, .uid = pod->uid};
	return ownership_reference(&owner, a);
}

struct json *claim_right_owners(const struct set *s, const struct claim_pod *pod, const struct json *meta, struct arena *a)
{
	struct json *refs = json_array(a);
	const struct json *ref;
	bool is_others = claim_has_other_controller(s, pod, meta);

	for (uint32_t i = 0; (ref = list_item(refs_of(meta), i)); i++) {
		if (!names_set(ref, s) && !names_pod(ref, pod)) {
			json_append(a, refs, json_copy(a, ref));
		}
	}
	/* A reference with the set's uid is enough, even with another name or API version. */
	if (!is_others && wants_set(s, pod) && !has_owner(refs, s->owner.uid)) {
		json_append(a, refs, ownership_reference(&s->owner, a));
	}
	if (!is_others && wants_pod(s, pod) && !has_owner(refs, pod->uid)) {
		json_append(a, refs, pod_reference(pod, a));
	}
	return refs;
}

/* ---- what a pass does about them ---- */

static struct claim_pod claim_pod_of(const struct pass *p, const struct member *m)
{
	return (struct claim_pod){.name = m->name, .uid = m->uid, .is_in_range = set_has_slot(&p->set, m->ordinal)};
}

/* Problems joined as client-go does: "a", then "[a, b]". */
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
		all->text =
			arena_printf(p->arena, STR_FMT ", " STR_FMT "]", (int)all->text.n - 1, all->text.p, STR_ARG(problem));
	}
	all->n++;
}

static void say_of_claim(struct pass *p, struct str pod, struct str claim, const struct str *problem)
{
	struct str set = p->set.owner.name;

	if (problem) {
		p->io->say(p->ctx, true, STR("FailedCreate"),
			arena_printf(p->arena,
				"Create Claim " STR_FMT " for Pod " STR_FMT " in StatefulSet " STR_FMT
				" failed error: " STR_FMT,
				STR_ARG(claim), STR_ARG(pod), STR_ARG(set), STR_ARG(*problem)));
	} else {
		p->io->say(p->ctx, false, STR("SuccessfulCreate"),
			arena_printf(p->arena, "Create Claim " STR_FMT " Pod " STR_FMT " in StatefulSet " STR_FMT " success",
				STR_ARG(claim), STR_ARG(pod), STR_ARG(set)));
	}
}

static void create_claim(struct pass *p, const struct member *m, const struct json *template, struct problems *problems)
{
	struct str name = claim_name(&p->set, template, m->ordinal, p->arena), problem = {0};
	const struct json *meta = p->io->claim_meta(p->ctx, name);

	if (meta) {
		if (json_meta_is_deleting(meta)) {
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

bool pass_create_claims(struct pass *p, const struct member *m, struct str *ret_problem)
{
	assert(m->ordinal >= 0);
	const struct json *template;
	struct problems problems = {0};

	for (uint32_t i = 0; (template = list_item(p->set.claim_templates, i)); i++) {
		create_claim(p, m, template, &problems);
	}
	*ret_problem = problems.text;
	return !problems.n;
}

bool pass_claims_have_right_owners(struct pass *p, const struct member *m)
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

bool pass_own_claims(struct pass *p, const struct member *m, struct str *ret_problem)
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
					"PersistentVolumeClaim " STR_FMT
					" has a conflicting OwnerReference that acts as a manging controller, "
					"the retention policy is ignored for this claim",
					STR_ARG(name)));
		}
		if (!claim_has_right_owners(&p->set, &pod, meta) &&
			p->io->own_claim(p->ctx, meta, claim_right_owners(&p->set, &pod, meta, p->arena), &problem) !=
				IO_DONE) {
			*ret_problem = arena_printf(p->arena,
				"could not update claim " STR_FMT " for delete policy ownerRefs: " STR_FMT, STR_ARG(name),
				STR_ARG(problem));
			return false;
		}
	}
	return true;
}

/* A claim that will be deleted with an earlier pod of this name must not be used by the next
 * one. */
bool pass_has_stale_claim(struct pass *p, const struct member *m)
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
