/* Sends a revision's data as a strategic merge patch, as kubectl rollout undo does for
 * StatefulSets and DaemonSets. Custom resources answer that with 415, and get a merge patch.
 *
 * Either is for the object as it was read. Which revision is the one before depends on how far an
 * update has come, so where the object has changed meanwhile, both are looked at again. */
#include "api/model/digest.h"
#include "api/model/members.h"
#include "cli/kubectl/kubectl.h"
#include "cli/kubectl/undo_patch.h"

enum {
	PATCH_MAX = 16 << 20,
	TRIES = 10, /* a controller in the midst of an update writes the status now and then */
};

#define MANAGER "kubectl-annals"

static bool is_dry(const struct kubectl *k, const char *where)
{
	return strcmp(k->dry_run, where) == 0;
}

static int send(struct kubectl *k, const char *type, const struct json *patch, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path, body;
	buf_init(&path, 64 * 1024);
	buf_init(&body, PATCH_MAX);
	target_path(&path, &k->target);
	query_add(&path, "fieldManager", STR(MANAGER));
	query_add(&path, "dryRun", is_dry(k, "server") ? STR("All") : STR(""));
	buf_addc(&path, '\0');
	json_encode(&body, patch);
	const struct rest_call call = {.method = "PATCH", .path = path.p, .content_type = type, .body = buf_str(&body)};
	return rest_do(k->client, &call, ret);
}

/* For this very object in this very version. */
static struct json *guarded(struct kubectl *k, const struct json *patch)
{
	struct arena *a = &k->arena;
	const struct json *now = json_gets(k->object, "metadata"), *sent = json_gets(patch, "metadata");
	struct json *meta = json_is(sent, JSON_OBJECT) ? json_copy(a, sent) : json_object(a), *ret = json_copy(a, patch);
	json_set(a, meta, STR("uid"), json_string(a, member_text(now, "uid")));
	json_set(a, meta, STR("resourceVersion"), json_string(a, member_text(now, "resourceVersion")));
	json_set(a, ret, STR("metadata"), meta);
	return ret;
}

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

static const struct revision *choose(struct kubectl *k, const struct revisions *revisions)
{
	if (k->to_revision >= 0) {
		return revisions_find(k, revisions, k->to_revision);
	}
	if (revisions->n && is_updating(k, revisions)) {
		struct str current = member_text(json_gets(k->object, "status"), "currentRevision");
		const struct revision *r = revisions_by_name(revisions, current);
		if (!r) {
			kubectl_fail(k,
				"revision " STR_FMT ", from which " STR_FMT
				" is being updated, is gone; choose one with --to-revision",
				STR_ARG(current), STR_ARG(kubectl_name(k)));
		}
		return r;
	}
	const struct revision *today = revisions_today(k, revisions);
	for (size_t i = revisions->n; i > 0; i--) {
		if (&revisions->v[i - 1] != today) {
			return &revisions->v[i - 1];
		}
	}
	kubectl_fail(k, "no revision before the newest of " STR_FMT, STR_ARG(kubectl_name(k)));
	return NULL;
}

/* ---- going back to it ---- */

static bool is_as_before(struct kubectl *k, const struct answer *a)
{
	return str_eq(answer_version(a), member_text(json_gets(k->object, "metadata"), "resourceVersion"));
}

static void tell(struct kubectl *k, const struct revision *r, const struct answer *a)
{
	struct str name = kubectl_name(k);
	if (kubectl_print(k, a->body)) {
		return;
	}
	if (!is_dry(k, "server") && is_as_before(k, a)) {
		buf_printf(&k->out, STR_FMT " skipped rollback (it already is as revision %lld says)\n", STR_ARG(name),
			(long long)r->number);
		return;
	}
	buf_printf(&k->out, STR_FMT " rolled back to revision %lld%s\n", STR_ARG(name), (long long)r->number,
		is_dry(k, "server") ? " (server dry run)" : "");
}

/* What would be sent; nobody is asked. */
static int tell_only(struct kubectl *k, const struct revision *r)
{
	if (!kubectl_print(k, r->data)) {
		buf_printf(&k->out, STR_FMT " rolled back to revision %lld (client dry run)\n", STR_ARG(kubectl_name(k)),
			(long long)r->number);
	}
	return 0;
}

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

static int patch(struct kubectl *k, const struct revision *r, struct answer *ret)
{
	int error = send(k, PATCH_STRATEGIC, guarded(k, r->data), ret);
	if (error == REST_STATUS && ret->code == 415) {
		error = send(k, PATCH_MERGE, guarded(k, undo_patch(r->data, k->object, &k->arena)), ret);
	}
	return error;
}

static int undo(struct kubectl *k, const struct revisions *revisions, bool *ret_has_changed)
{
	struct answer answer;
	const struct revision *r = choose(k, revisions);
	if (!r) {
		return -1;
	}
	if (!r->data) {
		return kubectl_fail(k, "revision %lld has no data", (long long)r->number);
	}
	if (is_dry(k, "client")) {
		return tell_only(k, r);
	}
	answer_init(&answer);
	int error = patch(k, r, &answer);
	*ret_has_changed = error == REST_STATUS && answer_is(&answer, 409, "Conflict");
	if (error) {
		kubectl_refused(k, error, &answer);
		explain_refusal(k, &answer);
	} else {
		tell(k, r, &answer);
	}
	answer_done(&answer);
	return error ? -1 : 0;
}

static int run(struct kubectl *k)
{
	struct str uid = {NULL, 0};
	bool has_changed = true;
	int r = -1;
	for (int i = 0; i < TRIES && r && has_changed; i++) {
		struct revisions revisions;
		has_changed = false;
		if (kubectl_get(k)) {
			return -1;
		}
		struct str found = member_text(json_gets(k->object, "metadata"), "uid");
		if (uid.n && !str_eq(uid, found)) {
			return kubectl_fail(k, STR_FMT " was deleted meanwhile, and made again", STR_ARG(kubectl_name(k)));
		}
		uid = arena_dup(&k->arena, found);
		r = revisions_list(k, &revisions);
		r = r ? r : undo(k, &revisions, &has_changed);
		revisions_done(&revisions);
	}
	return r;
}

const struct kubectl_command kubectl_undo = {
	.name = "undo",
	.usage = "TYPE/NAME [--to-revision=N] [--dry-run=server|client] [flags]",
	.summary = "makes an object as one of its revisions says",
	.description = "Patches an object with the data of one of its revisions: by strategic merge patch or, where the\n"
		       "server takes none (custom resources), by merge patch. Its controller then makes that state the\n"
		       "newest revision. While a StatefulSet is being updated, it goes back to where the update comes\n"
		       "from (status.currentRevision).",
	.flags = "to-revision,dry-run",
	.run = run,
};
