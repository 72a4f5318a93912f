/* Sends a revision's data as a strategic merge patch, as kubectl rollout undo does for
 * StatefulSets and DaemonSets. Custom resources answer that with 415, and get a merge patch. */
#include "api/model/members.h"
#include "cli/kubectl/kubectl.h"
#include "cli/kubectl/undo_patch.h"

enum { PATCH_MAX = 16 << 20 };

#define MANAGER "kubectl-annals"

static int send(struct kubectl *k, const char *type, const struct json *patch, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path, body;
	buf_init(&path, 64 * 1024);
	buf_init(&body, PATCH_MAX);
	target_path(&path, &k->target);
	query_add(&path, "fieldManager", STR(MANAGER));
	query_add(&path, "dryRun", strcmp(k->dry_run, "server") == 0 ? STR("All") : STR(""));
	buf_addc(&path, '\0');
	json_encode(&body, patch);
	const struct rest_call call = {.method = "PATCH", .path = path.p, .content_type = type, .body = buf_str(&body)};
	return rest_do(k->client, &call, ret);
}

/* Where lists have no keys that the server knows (custom resources) it takes no strategic merge patch. A merge patch made from what the object
 * is now must not meet another one. */
static int send_merge(struct kubectl *k, const struct json *data, struct answer *ret)
{
	struct json *patch = undo_patch(data, k->object, &k->arena);
	struct str version = member_text(json_gets(k->object, "metadata"), "resourceVersion");
	const struct json *sent = json_gets(patch, "metadata");
	struct json *meta = json_is(sent, JSON_OBJECT) ? json_copy(&k->arena, sent) : json_object(&k->arena);
	json_set(&k->arena, meta, STR("resourceVersion"), json_string(&k->arena, version));
	json_set(&k->arena, patch, STR("metadata"), meta);
	return send(k, PATCH_MERGE, patch, ret);
}

static const struct revision *choose(struct kubectl *k, const struct revisions *revisions)
{
	if (k->to_revision >= 0) {
		return revisions_find(k, revisions, k->to_revision);
	}
	if (revisions->n < 2) {
		kubectl_fail(k, "no revision before the newest of " STR_FMT, STR_ARG(kubectl_name(k)));
		return NULL;
	}
	return &revisions->v[revisions->n - 2];
}

static bool is_as_before(struct kubectl *k, const struct answer *a)
{
	return str_eq(answer_version(a), member_text(json_gets(k->object, "metadata"), "resourceVersion"));
}

static void tell(struct kubectl *k, const struct revision *r, const struct answer *a)
{
	bool is_dry = strcmp(k->dry_run, "server") == 0;
	struct str name = kubectl_name(k);
	if (kubectl_print(k, a->body)) {
		return;
	}
	if (!is_dry && is_as_before(k, a)) {
		buf_printf(&k->out, STR_FMT " skipped rollback (it already is as revision %lld says)\n", STR_ARG(name),
			(long long)r->number);
		return;
	}
	buf_printf(&k->out, STR_FMT " rolled back to revision %lld%s\n", STR_ARG(name), (long long)r->number,
		is_dry ? " (server dry run)" : "");
}

static int undo(struct kubectl *k, const struct revisions *revisions)
{
	struct answer answer;
	const struct revision *r = choose(k, revisions);
	const struct json *data = r ? json_gets(r->object, "data") : NULL;
	if (!r) {
		return -1;
	}
	if (!json_is(data, JSON_OBJECT)) {
		return kubectl_fail(k, "revision %lld has no data", (long long)r->number);
	}
	answer_init(&answer);
	int error = send(k, PATCH_STRATEGIC, data, &answer);
	if (error == REST_STATUS && answer.code == 415) {
		error = send_merge(k, data, &answer);
	}
	if (error) {
		kubectl_refused(k, error, &answer);
	} else {
		tell(k, r, &answer);
	}
	answer_done(&answer);
	return error ? -1 : 0;
}

static int run(struct kubectl *k)
{
	struct revisions revisions;
	if (kubectl_get(k)) {
		return -1;
	}
	int r = revisions_list(k, &revisions);
	r = r ? r : undo(k, &revisions);
	revisions_done(&revisions);
	return r;
}

const struct kubectl_command kubectl_undo = {
	.name = "undo",
	.usage = "TYPE/NAME [--to-revision=N] [--dry-run=server] [flags]",
	.summary = "makes an object as one of its revisions says",
	.description = "Patches an object with the data of one of its revisions: by strategic merge patch or, where the\n"
		       "server takes none (custom resources), by merge patch. Its controller then makes that state the\n"
		       "newest revision.",
	.flags = "to-revision,dry-run",
	.run = run,
};
