/* The command undo, for an object's own revisions. It sends a revision's data as a strategic merge patch, as kubectl rollout
 * undo does for StatefulSets and DaemonSets. Custom resources answer that with 415, and get a merge patch.
 *
 * The patch is for the version of the object that was read. If the object has changed meanwhile, undo reads the object and
 * its revisions again, since the revision before the newest may be another one by then. */
#include "cli/kubectl/kubectl_undo.h"
#include "api/model/digest.h"
#include "api/model/members.h"
#include "cli/common/command.h"
#include "cli/kubectl/kubectl_bulk.h"
#include "cli/kubectl/put_back.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

enum { TRIES = 16 }; /* a controller that updates pods also writes the status */

/* ---- choosing a revision ---- */

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

/* Has the template changed since the controller wrote the status? */
static bool is_ahead_of_status(struct kubectl *k, const struct revision *today)
{
	const struct json *status = json_gets(k->object, "status");
	return member_int(json_gets(k->object, "metadata"), "generation") > member_int(status, "observedGeneration") &&
		!(today &&
			have_equal_digests(template_of(k->object, &k->arena), template_of(today->data, &k->arena), &k->arena));
}

/* With OnDelete, users delete pods by hand to update them. Then status.currentRevision stays the first one for ever, and
 * says nothing about an update. */
static bool updates_by_itself(const struct kubectl *k)
{
	return !str_is(member_text(json_gets(json_gets(k->object, "spec"), "updateStrategy"), "type"), "OnDelete");
}

/* Undo of an update in progress goes back to the revision where the update began (seed 002, "Rollbacks"). The second highest
 * number may belong to another update, which had failed before. */
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

/* Another version of the API may allow the change that this one refuses. */
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

/* Like kubectl rollout undo, undo refuses a paused Deployment: it would stay as it is until it is resumed. */
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
		undo_tell(k, r, &answer, 0);
	}
	answer_done(&answer);
	return error ? -1 : 0;
}

static int run_one(struct kubectl *k)
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

int undo_check_diff(struct kubectl *k)
{
	return k->shows_diffs && !kubectl_wants(k, "text") ? kubectl_fail(k, "--diff goes with -o text") : 0;
}

static int check_words(struct kubectl *k)
{
	struct str name;
	bool is_one = kubectl_names_one(k, &name);
	if (!k->by && !is_one) {
		return kubectl_fail(k, "give one object, as TYPE/NAME; or --by and --since");
	}
	if (!k->by && (k->since || k->since_time || k->forces_conflicts || k->is_everywhere)) {
		return kubectl_fail(k, "--since, --since-time, --force-conflicts and -A go with --by");
	}
	if (k->wants_own && (k->by || k->replaces || k->without.n)) {
		return kubectl_fail(k, "--own does not go with --by, --replace and --without: they are for recorded states");
	}
	return undo_check_without(k) || undo_check_diff(k) || (k->by && undo_by_check(k)) ? -1 : 0;
}

static int run(struct kubectl *k)
{
	struct str name;
	bool is_one = kubectl_names_one(k, &name);
	if (k->by || k->replaces) {
		return undo_bulk(k);
	}
	return !is_one || kubectl_find(k, name, WORDS_OBJECT) ? -1 : run_one(k);
}

/* ---- for the page, which shows a dry run first ---- */

/* The object without the members that the server sets. Other than a recorded state, it has all annotations. */
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
	.usage = "TYPE/NAME [--to-revision=N] | [TYPE[,TYPE...]] --by=USER --since=DURATION [flags]",
	.summary = "Restores objects to an earlier state",
	.description =
		"Restores an object to an earlier revision, by default to the one before the last change.\n\n"
		"Where a Recorder has recorded the object, undo puts exactly the recorded parts back. The parts that\n"
		"the Recorder ignores stay as they are, and so do redacted values. Where the object has no value in\n"
		"the place of a redacted one, undo refuses, and names the place.\n\n"
		"Elsewhere, and with --own, undo patches the object with the data of one of its own revisions. It\n"
		"sends a strategic merge patch, or a merge patch where the server takes no other (custom resources).\n"
		"The object's controller then makes that state the newest revision. While a StatefulSet is being\n"
		"updated, it goes back to the revision that the update began at (status.currentRevision).\n\n"
		"With --by and --since it undoes what a user changed since then: each object goes back to the state before\n"
		"their first change. Objects that they created are deleted, and those that they deleted are recreated.\n"
		"An object that others have changed since is left as it is and named, unless --force-conflicts is given.\n"
		"Undo prints a plan first, lets the server try all of it in a dry run, and asks once; without a terminal\n"
		"it needs --yes. The exit status is 1 if anything was refused.\n\n"
		"A field may be immutable. With --replace undo then deletes the object and creates it anew.\n\n"
		"Undo shows the difference on standard error, if that is a terminal or in a dry run. On a terminal it\n"
		"asks before it writes, unless --yes is given.",
	.examples = "  # back to before the last change, after a look at the difference\n"
		    "  kubectl annals undo deployment/web\n"
		    "  # back to revision 3; the server says whether it would take that\n"
		    "  kubectl annals undo deployment/web --to-revision=3 --dry-run=server\n"
		    "  # all that eve did in the last hour\n"
		    "  kubectl annals undo --by=eve --since=1h -n shop\n",
	.flags = "all-namespaces,A,by,since,since-time,force-conflicts,to-revision,without,replace,dry-run,diff,own,yes,y,"
		 "skip-redacted,color",
	.outputs = "text,json,yaml,name",
	.words = WORDS_OBJECTS,
	.check = check_words,
	.run = run,
};

/* ---- the dialogue ----
 *
 * The difference and the question go to standard error, and only the result goes to standard output, for programs. Without a
 * terminal there is no question, like in kubectl. */

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* Bytes of a patch that is sent; servers refuse more than 3 MiB. */
enum { PATCH_MAX = 16 << 20 };

bool undo_is_dry(const struct kubectl *k, const char *where)
{
	return strcmp(k->dry_run, where) == 0;
}

bool undo_shows(const struct kubectl *k)
{
	bool is_for_people = kubectl_wants(k, "text");
	return is_for_people && (k->shows_diffs || isatty(STDERR_FILENO) || !undo_is_dry(k, "none"));
}

static bool is_yes(const char *line)
{
	return strcasecmp(line, "y\n") == 0 || strcasecmp(line, "yes\n") == 0;
}

bool undo_ask_whether(struct kubectl *k, const struct buf *diff, const struct revision *r, const char *will, const char *wont)
{
	char line[16];
	command_print(stderr, buf_str(&k->notes));
	buf_clear(&k->notes);
	kubectl_write_diff(k, stderr, buf_str(diff));
	if (k->is_agreed || !undo_is_dry(k, "none") || !kubectl_may_ask()) {
		return true;
	}
	struct str name = kubectl_name(k);
	_cleanup_(mem_freep) char *question =
		mem_printf(STR_FMT " %s revision %lld. Continue? [y/N] ", STR_ARG(name), will, (long long)r->number);
	command_print(stderr, str_of(question));
	fflush(stderr);
	if (fgets(line, sizeof(line), stdin) && is_yes(line)) {
		return true;
	}
	buf_printf(&k->out, STR_FMT " %s\n", STR_ARG(name), wont);
	return false;
}

void undo_warn_of_applied(struct kubectl *k)
{
	const struct json *annotations = json_gets(json_gets(k->object, "metadata"), "annotations");
	if (member_text(annotations, LAST_APPLIED).n) {
		kubectl_note(k,
			"Warning: " STR_FMT " has been applied from a file, and " LAST_APPLIED
			" stays as it is: the next kubectl apply of that file repeats the change. Change the file, too",
			STR_ARG(kubectl_name(k)));
	}
}

bool undo_ask(struct kubectl *k, const struct buf *diff, const struct revision *r)
{
	undo_warn_of_applied(k);
	return undo_ask_whether(k, diff, r, "will be restored to", "was left as it is");
}

struct json *undo_guarded(struct kubectl *k, const struct json *patch)
{
	struct arena *a = &k->arena;
	assert(k->object); /* without it the patch would fit any version */
	const struct json *now = json_gets(k->object, "metadata"), *sent = json_gets(patch, "metadata");
	struct json *meta = json_is(sent, JSON_OBJECT) ? json_copy(a, sent) : json_object(a), *ret = json_copy(a, patch);
	json_set(a, meta, STR("uid"), json_string(a, member_text(now, "uid")));
	json_set(a, meta, STR("resourceVersion"), json_string(a, member_text(now, "resourceVersion")));
	json_set(a, ret, STR("metadata"), meta);
	return ret;
}

int undo_send(struct kubectl *k, const char *type, const struct json *patch, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path, body;
	buf_init(&path, 64 * 1024);
	buf_init(&body, PATCH_MAX);
	target_path(&path, &k->target);
	query_add(&path, "fieldManager", STR(UNDO_MANAGER));
	query_add(&path, "dryRun", undo_is_dry(k, "server") ? STR("All") : STR(""));
	buf_addc(&path, '\0');
	json_encode(&body, patch);
	const struct rest_call call = {.method = "PATCH", .path = path.p, .content_type = type, .body = buf_str(&body)};
	return rest_do(k->client, &call, ret);
}

static bool is_as_before(struct kubectl *k, const struct answer *a)
{
	return str_eq(answer_version(a), member_text(json_gets(k->object, "metadata"), "resourceVersion"));
}

static void tell_skipped(struct kubectl *k, const struct revision *r)
{
	buf_printf(&k->out, STR_FMT " skipped rollback (it already is as revision %lld says)\n", STR_ARG(kubectl_name(k)),
		(long long)r->number);
}

bool undo_tell_in_form(struct kubectl *k, const struct json *value)
{
	if (kubectl_wants(k, "name")) {
		buf_printf(&k->out, STR_FMT "\n", STR_ARG(kubectl_name(k)));
		return true;
	}
	return kubectl_print(k, value);
}

void undo_tell_as_it_is(struct kubectl *k, const struct revision *r)
{
	if (!undo_tell_in_form(k, k->object)) {
		tell_skipped(k, r);
	}
}

void undo_tell(struct kubectl *k, const struct revision *r, const struct answer *a, int64_t number_now)
{
	if (undo_tell_in_form(k, a->body)) {
		return;
	}
	if (!undo_is_dry(k, "server") && is_as_before(k, a)) {
		tell_skipped(k, r);
		return;
	}
	long long asked = (long long)(k->to_revision >= 0 ? k->to_revision : r->number);
	buf_printf(&k->out, STR_FMT " rolled back to revision %lld", STR_ARG(kubectl_name(k)), asked);
	if (number_now && number_now != asked) {
		buf_printf(&k->out, ", now %lld", (long long)number_now);
	}
	buf_adds(&k->out, undo_is_dry(k, "server") ? " (server dry run)\n" : "\n");
}

void undo_tell_only(struct kubectl *k, const struct revision *r, const struct json *patch)
{
	if (!undo_tell_in_form(k, patch)) {
		buf_printf(&k->out, STR_FMT " rolled back to revision %lld (client dry run)\n", STR_ARG(kubectl_name(k)),
			(long long)r->number);
	}
}

int undo_check_uid(struct kubectl *k, struct str *uid)
{
	struct str found = member_text(json_gets(k->object, "metadata"), "uid");
	if (uid->n && !str_eq(*uid, found)) {
		return kubectl_fail(k, STR_FMT " was deleted meanwhile, and recreated", STR_ARG(kubectl_name(k)));
	}
	*uid = arena_dup(&k->arena, found);
	return 0;
}
