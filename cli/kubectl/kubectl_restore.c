/* The command restore. A History outlives its object, and its last state is the source of the new one. */
#include "api/model/members.h"
#include "cli/kubectl/kubectl_undo.h"
#include "cli/kubectl/log_entries.h"
#include "cli/kubectl/put_back.h"

/* Bytes of an object that is sent; servers refuse more than 3 MiB. */
enum { BODY_MAX = 16 << 20 };

/* 0 if the object does not exist. */
static int check_absent(struct kubectl *k)
{
	int error = rest_get(k->client, &k->target, &k->answer);
	if (error == REST_STATUS && answer_is_absent(&k->answer, &k->target)) {
		return 0;
	}
	if (error) {
		return kubectl_refused(k, error, &k->answer);
	}
	struct str name = kubectl_name(k);
	return kubectl_fail(k, STR_FMT " exists; kubectl annals undo " STR_FMT " goes back to one of its revisions",
		STR_ARG(name), STR_ARG(name));
}

static int send(struct kubectl *k, const struct json *object, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path, body;
	struct target all = k->target;
	all.name = STR("");
	buf_init(&path, 64 * 1024);
	buf_init(&body, BODY_MAX);
	target_path(&path, &all);
	query_add(&path, "fieldManager", STR(UNDO_MANAGER));
	query_add(&path, "dryRun", undo_is_dry(k, "server") ? STR("All") : STR(""));
	buf_addc(&path, '\0');
	json_encode(&body, object);
	return rest_do(k->client, &(struct rest_call){.method = "POST", .path = path.p, .body = buf_str(&body)}, ret);
}

void restore_tell(struct kubectl *k, const struct revision *r, const struct json *object)
{
	if (undo_tell_in_form(k, object)) {
		return;
	}
	bool is_dry = !undo_is_dry(k, "none");
	buf_printf(&k->out, STR_FMT " restored from revision %lld%s%s%s\n", STR_ARG(kubectl_name(k)), (long long)r->number,
		is_dry ? " (" : "", is_dry ? k->dry_run : "", is_dry ? " dry run)" : "");
}

int restore_carry_out(struct kubectl *k, const struct restore_plan *plan, struct answer *ret)
{
	int error = send(k, plan->object, ret);
	return error ? kubectl_refused(k, error, ret) : 0;
}

static bool ask(struct kubectl *k, const struct revision *r, const struct json *object)
{
	_cleanup_(buf_done) struct buf lines;
	buf_init(&lines, OUTPUT_MAX);
	if (undo_shows(k)) {
		undo_write_diff(k, NULL, object, r, &lines);
	}
	return undo_ask_whether(k, &lines, r, "will be recreated from", "was not recreated");
}

static int make(struct kubectl *k, const struct revision *r, const struct json *object)
{
	struct answer answer;
	if (!ask(k, r, object)) {
		return 0;
	}
	if (undo_is_dry(k, "client")) {
		restore_tell(k, r, object);
		return 0;
	}
	answer_init(&answer);
	int error = restore_carry_out(k, &(struct restore_plan){r, object}, &answer);
	if (!error) {
		restore_tell(k, r, answer.body);
	}
	answer_done(&answer);
	return error;
}

int restore_plan(struct kubectl *k, const struct revisions *all, struct restore_plan *ret)
{
	struct revision *r = k->revision >= 0 ? revisions_find(k, all, k->revision) : revisions_today(k, all);
	if (!r) {
		return all->n ? -1 : kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	}
	if (revision_load(k, all, r) || undo_check_state(k, r) || undo_use_version(k, r) || check_absent(k)) {
		return -1;
	}
	const struct json *recorded = r->data;
	if (undo_drop_lost_owners(k, &recorded, NULL)) {
		return -1;
	}
	const struct json *wanted = job_labels_renew(recorded, NULL, &k->arena);
	if (wanted != recorded) {
		kubectl_note(k, "labels with the uid that it had are left out: the API server makes new ones");
	}
	struct put_back p = {.recorded = wanted, .arena = &k->arena};
	put_back(&p);
	*ret = (struct restore_plan){r, p.object};
	return undo_check_missing(k, p.missing, r);
}

int restore_list(struct kubectl *k, struct revisions *ret)
{
	*ret = (struct revisions){0};
	answer_init(&ret->answer);
	answer_init(&ret->history_answer);
	if (histories_check(k)) {
		return -1;
	}
	int r = revisions_list(k, ret);
	if (!ret->history && (!r || answer_is_absent(&k->answer, &k->target))) {
		r = kubectl_fail(k, "nothing was recorded of " STR_FMT " (" STR_FMT ")", STR_ARG(kubectl_name(k)),
			STR_ARG(log_limit_of(k, k->type, k->target.namespace, k->target.name, "keepDeleted")));
	}
	return r;
}

static int run(struct kubectl *k)
{
	struct revisions revisions;
	struct restore_plan plan;
	int r = restore_list(k, &revisions);
	r = r ? r : restore_plan(k, &revisions, &plan);
	r = r ? r : make(k, plan.revision, plan.object);
	revisions_done(&revisions);
	return r;
}

const struct kubectl_command kubectl_restore = {
	.name = "restore",
	.usage = "TYPE/NAME [--revision=N] [--dry-run=server|client] [--yes] [flags]",
	.summary = "Recreates a deleted object",
	.description = "Recreates a deleted object, as a Recorder recorded it last or as in another revision.\n\n"
		       "Owners that are gone, or were recreated themselves, are left out and named: with them the object\n"
		       "would be deleted again. Only digests are known of redacted values. Restore refuses and names\n"
		       "them, unless --skip-redacted leaves them out.\n\n"
		       "On a terminal restore shows the object and asks, unless --yes is given.",
	.examples = "  # as it was recorded last\n"
		    "  kubectl annals restore service/shop\n"
		    "  # a script does not want to be asked\n"
		    "  kubectl annals restore service/shop --yes\n",
	.flags = "revision,dry-run,yes,y,skip-redacted",
	.outputs = "text,json,yaml,name",
	.run = run,
};
