/* Of an object's own revisions. Sends a revision's data as a strategic merge patch, as kubectl rollout undo does for
 * StatefulSets and DaemonSets. Custom resources answer that with 415, and get a merge patch.
 *
 * Either is for the object as it was read. Which revision is the one before depends on how far an
 * update has come, so where the object has changed meanwhile, both are looked at again. */
#include "cli/kubectl/kubectl_undo.h"
#include "api/model/digest.h"
#include "api/model/members.h"
#include "cli/kubectl/undo_patch.h"

enum { TRIES = 16 }; /* a controller in the midst of an update writes the status now and then */

/* ---- which revision ---- */

static bool have_equal_digests(const struct json *x, const struct json *y, struct arena *a)
{
	char digests[2][DIGEST_SIZE];
	digest_of(digests[0], x, a);
	digest_of(digests[1], y, a);
	return strcmp(digests[0], digests[1]) == 0;
}

static const struct json *template_of(const struct json *object, struct arena *a)
{
	const struct json *template = json_gets(json_gets(object, "spec"), "template");
	struct json *plain = json_is(template, JSON_OBJECT) ? json_copy(a, template) : json_object(a);
	json_remove(plain, STR("$patch"));
	return plain;
}

/* Its controller has not looked at it since the template became another one. */
static bool is_ahead_of_status(struct kubectl *k, const struct revision *today)
{
	const struct json *status = json_gets(k->object, "status");
	return member_int(json_gets(k->object, "metadata"), "generation") > member_int(status, "observedGeneration") &&
		!(today &&
			have_equal_digests(template_of(k->object, &k->arena), template_of(today->data, &k->arena), &k->arena));
}

/* Who deletes pods by hand to update them has no update in progress: the current revision stays
 * the first one for ever. */
static bool updates_by_itself(const struct kubectl *k)
{
	return !str_is(member_text(json_gets(json_gets(k->object, "spec"), "updateStrategy"), "type"), "OnDelete");
}

/* An update in progress is undone by going back to where it comes from (seed 002, "Rollbacks").
 * The second highest number may be that of another update, which had failed before this one. */
static bool is_updating(struct kubectl *k, const struct revisions *revisions)
{
	const struct json *status = json_gets(k->object, "status");
	struct str current = member_text(status, "currentRevision"), update = member_text(status, "updateRevision");
	return current.n && updates_by_itself(k) &&
		(!str_eq(current, update) || is_ahead_of_status(k, revisions_today(k, revisions)));
}

static struct revision *choose(struct kubectl *k, const struct revisions *revisions)
{
	if (k->to_revision >= 0) {
		return revisions_find(k, revisions, k->to_revision);
	}
	if (revisions->n && is_updating(k, revisions)) {
		struct str current = member_text(json_gets(k->object, "status"), "currentRevision");
		struct revision *r = revisions_by_name(revisions, current);
		if (!r) {
			kubectl_fail(k,
				"revision " STR_FMT ", from which " STR_FMT
				" is being updated, is gone; choose one with --to-revision",
				STR_ARG(current), STR_ARG(kubectl_name(k)));
		}
		return r;
	}
	struct revision *before = revisions_before(k, revisions);
	if (!before) {
		kubectl_fail(k, "no revision before the newest of " STR_FMT, STR_ARG(kubectl_name(k)));
	}
	return before;
}

/* ---- going back to it ---- */

/* What this version of the API does not let anybody change, another one may. */
static void explain_refusal(struct kubectl *k, const struct answer *a)
{
	static const struct resource other = {{"apps", 4}, {"v1", 2}, {"statefulsets", 12}};
	const struct resource *here = k->target.resource;
	bool is_fixed = a->code == 422 && str_contains(a->message, STR("field is immutable"));
	if (!is_fixed || !str_is(here->group, "annals.dev") || !str_eq(here->plural, other.plural)) {
		return;
	}
	buf_printf(&k->err,
		"\n" STR_FMT "/" STR_FMT " lets only the containers of a template change, and this revision differs in more",
		STR_ARG(here->group), STR_ARG(here->version));
	if (discovery_find_resource(&k->discovery, &other)) {
		buf_printf(&k->err, "; kubectl annals undo statefulset.apps/" STR_FMT " can go back to it",
			STR_ARG(k->target.name));
	}
}

static int send(struct kubectl *k, const struct revision *r, struct answer *ret)
{
	int error = undo_send(k, PATCH_STRATEGIC, undo_guarded(k, r->data), ret);
	if (error == REST_STATUS && ret->code == 415) {
		error = undo_send(k, PATCH_MERGE, undo_guarded(k, undo_patch(r->data, k->object, &k->arena)), ret);
	}
	return error;
}

/* kubectl rollout undo refuses this, too: the Deployment would stay as it is until it is resumed. */
static bool is_paused(const struct kubectl *k)
{
	return str_is(k->target.resource->group, "apps") && str_is(k->type->kind, "Deployment") &&
		member_is_true(json_gets(k->object, "spec"), "paused");
}

static int ask(struct kubectl *k, const struct revisions *all, const struct revision *r)
{
	const struct revision *today = revisions_today(k, all);
	_cleanup_(buf_done) struct buf lines;
	buf_init(&lines, OUTPUT_MAX);
	if (undo_shows(k) && today && today->data) {
		revisions_write_diff(k, today, r, &lines);
	}
	return undo_ask(k, &lines, r);
}

static int check(struct kubectl *k, const struct revisions *revisions, struct revision *r)
{
	if (!r || revision_load(k, revisions, r)) {
		return -1;
	}
	if (is_paused(k)) {
		return kubectl_fail(k, STR_FMT " is paused; resume it first with kubectl rollout resume, and try again",
			STR_ARG(kubectl_name(k)));
	}
	return 0;
}

static int undo(struct kubectl *k, const struct revisions *revisions, bool *ret_has_changed)
{
	struct answer answer;
	struct revision *r = choose(k, revisions);
	if (check(k, revisions, r)) {
		return -1;
	}
	if (!ask(k, revisions, r)) {
		return 0;
	}
	if (undo_is_dry(k, "client")) {
		undo_tell_only(k, r, r->data);
		return 0;
	}
	answer_init(&answer);
	int error = send(k, r, &answer);
	*ret_has_changed = error == REST_STATUS && answer_is(&answer, 409, "Conflict");
	if (error) {
		kubectl_refused(k, error, &answer);
		explain_refusal(k, &answer);
	} else {
		undo_tell(k, r, &answer);
	}
	answer_done(&answer);
	return error ? -1 : 0;
}

static int run(struct kubectl *k)
{
	struct undo_progress progress = {.has_changed = true};
	int r = -1;
	for (int i = 0; i < TRIES && r && progress.has_changed; i++) {
		struct revisions revisions;
		progress.has_changed = false;
		r = revisions_list(k, &revisions);
		if (!r && revisions.history) {
			r = undo_recorded(k, &revisions, &progress);
		} else if (!r) {
			r = undo_check_uid(k, &progress.uid);
			r = r ? r : undo(k, &revisions, &progress.has_changed);
		}
		revisions_done(&revisions);
	}
	return r;
}

/* ---- for who shows it first ---- */

/* Not a state as Recorders take it: a patch may change annotations that are none. */
static const struct json *shown_of(struct kubectl *k, const struct json *object)
{
	static const char *const servers[] = {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"};
	const struct json *all = json_gets(object, "metadata");
	struct json *ret = json_copy(&k->arena, object);
	struct json *meta = json_is(all, JSON_OBJECT) ? json_copy(&k->arena, all) : json_object(&k->arena);
	json_remove(ret, STR("status"));
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		json_remove(meta, str_of(servers[i]));
	}
	json_set(&k->arena, ret, STR("metadata"), meta);
	return ret;
}

int undo_plan(struct kubectl *k, const struct revisions *all, struct undo_plan *ret)
{
	if (all->history) {
		return undo_plan_recorded(k, all, ret);
	}
	struct revision *r = revisions_find(k, all, k->to_revision);
	if (check(k, all, r)) {
		return -1;
	}
	if (!json_is(k->object, JSON_OBJECT)) {
		return kubectl_fail(k, STR_FMT " is no object", STR_ARG(kubectl_name(k)));
	}
	*ret = (struct undo_plan){.revision = r, .type = PATCH_STRATEGIC, .patch = undo_guarded(k, r->data)};
	ret->now = shown_of(k, k->object);
	return 0;
}

const struct json *undo_shown(
	struct kubectl *k, const struct revisions *all, const struct undo_plan *plan, const struct json *object)
{
	return all->history ? undo_shown_recorded(k, all, plan->revision, object) : shown_of(k, object);
}

int undo_carry_out(struct kubectl *k, const struct revisions *all, const struct undo_plan *plan, struct answer *ret)
{
	int error = all->history ? undo_send(k, plan->type, plan->patch, ret) : send(k, plan->revision, ret);
	if (error) {
		kubectl_refused(k, error, ret);
		explain_refusal(k, ret);
	}
	return error ? -1 : 0;
}

const struct kubectl_command kubectl_undo = {
	.name = "undo",
	.usage = "TYPE/NAME [--to-revision=N] [--dry-run=server|client] [--yes] [flags]",
	.summary = "makes an object as one of its revisions says",
	.description = "Makes an object as one of its revisions says, by default as it was before the last change.\n\n"
		       "Where a Recorder has recorded the object, undo puts exactly the recorded parts back. The parts that\n"
		       "the Recorder ignores stay as they are, and so do redacted values. Where the object has no value in\n"
		       "the place of a redacted one, undo refuses, and names the place.\n\n"
		       "Elsewhere, and with --own, undo patches the object with the data of one of its own revisions. It\n"
		       "sends a strategic merge patch, or a merge patch where the server takes no other (custom resources).\n"
		       "The object's controller then makes that state the newest revision. While a StatefulSet is being\n"
		       "updated, it goes back to the revision that the update began at (status.currentRevision).\n\n"
		       "Undo shows the difference on standard error, if that is a terminal or in a dry run. On a terminal it\n"
		       "asks before it writes, unless --yes is given.",
	.examples = "  # back to before the last change, after a look at the difference\n"
		    "  kubectl annals undo deployment/web\n"
		    "  # back to revision 3; the server says whether it would take that\n"
		    "  kubectl annals undo deployment/web --to-revision=3 --dry-run=server\n",
	.flags = "to-revision,dry-run,own,yes,y,skip-redacted,color",
	.outputs = "text,json,yaml,name",
	.run = run,
};
