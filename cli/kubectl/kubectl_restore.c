/* The command restore. A History outlives its object, and its last state is the source of the new one. */
#include "api/model/members.h"
#include "api/rules/selector.h"
#include "base/clock.h"
#include "cli/kubectl/kubectl_bulk.h"
#include "cli/kubectl/kubectl_undo.h"
#include "cli/kubectl/log_entries.h"
#include "cli/kubectl/put_back.h"

/* Bytes of an object that is sent; servers refuse more than 3 MiB. */
enum { BODY_MAX = 16 << 20 };

/* 0 if the object does not exist. */
static int check_absent(struct kubectl *k)
{
	if (bulk_is_new(k->bulk, k->type)) {
		return 0;
	}
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

/* Did the change only remove or add finalizers? */
static bool is_of_finalizers(const struct json *change)
{
	const struct json *paths = json_gets(change, "paths"), *each;
	bool is_so = str_is(member_text(change, "type"), "Changed") && member_count(change, "paths") &&
		!member_int(change, "morePaths");
	for (uint32_t i = 0; is_so && (each = list_item(paths, i)); i++) {
		struct str path = json_text(each), rest = path;
		is_so = str_starts(path, STR("/metadata/finalizers"));
		rest.p += is_so ? STR("/metadata/finalizers").n : 0;
		rest.n -= is_so ? STR("/metadata/finalizers").n : 0;
		is_so = is_so && (!rest.n || rest.p[0] == '/');
	}
	return is_so;
}

/* The last state, or that before its finalizers went: controllers remove them one by one when an object is being deleted. */
static struct revision *last_whole(struct kubectl *k, const struct revisions *all)
{
	const struct json *changes = json_gets(json_gets(all->history, "status"), "changes");
	struct revision *last = revisions_today(k, all);
	uint32_t i = json_is(changes, JSON_ARRAY) ? changes->n : 0;
	if (i == 0 || !str_is(member_text(changes->items[i - 1], "type"), "Deleted")) {
		return last;
	}
	for (i--; i > 1 && is_of_finalizers(changes->items[i - 1]); i--) {
		struct revision *before = revisions_by_name(all, member_text(changes->items[i - 2], "revision"));
		if (!before) {
			break;
		}
		last = before;
	}
	return last;
}

int restore_plan(struct kubectl *k, const struct revisions *all, struct restore_plan *ret)
{
	struct revision *r = k->revision >= 0 ? revisions_find(k, all, k->revision) : last_whole(k, all);
	if (!r) {
		return all->n ? -1 : kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	}
	if (revision_load(k, all, r) || undo_check_state(k, r) || undo_use_version(k, r) || check_absent(k)) {
		return -1;
	}
	const struct json *recorded = r->data;
	if (undo_drop_lost_owners(k, &recorded, NULL) || undo_leave_out(k, &recorded)) {
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

static int run_one(struct kubectl *k)
{
	struct revisions revisions;
	struct restore_plan plan;
	int r = restore_list(k, &revisions);
	r = r ? r : restore_plan(k, &revisions, &plan);
	r = r ? r : make(k, plan.revision, plan.object);
	revisions_done(&revisions);
	return r;
}

/* ---- many objects ---- */

struct choice {
	int64_t since_us;             /* 0: any time */
	struct label_selector labels; /* of the last state: a deleted object has no others */
};

static bool was_deleted_since(const struct json *history, int64_t since_us)
{
	int64_t deleted_us;
	return time_parse_rfc3339(member_text(json_gets(history, "status"), "deletionTime"), &deleted_us) &&
		deleted_us >= since_us;
}

static bool add_deleted(void *ctx, const struct json *history)
{
	struct bulk *b = ctx;
	const struct choice *choice = b->ctx;
	return !history_is_deleted(history) || !bulk_is_meant(b, history) || !was_deleted_since(history, choice->since_us) ||
		bulk_add(b, history) == 0;
}

static bool has_labels(struct bulk *b, const struct json *state)
{
	const struct choice *choice = b->ctx;
	const struct label *labels;
	size_t n = labels_read(&labels, json_gets(json_gets(state, "metadata"), "labels"), &b->k->arena);
	return label_selector_matches(&choice->labels, labels, n);
}

/* The controller of the object, if it has one; links are owners that the same command creates. */
static bool has_controller(const struct json *owners)
{
	const struct json *owner;
	bool has = false;
	for (uint32_t i = 0; !has && (owner = list_item(owners, i)); i++) {
		has = member_is_true(owner, "controller");
	}
	return has;
}

/* Controllers make these objects themselves, once they are there. */
static const char *why_not(const struct bulk_item *item, const struct json *object)
{
	static const struct {
		const char *group, *kind;
		bool is_adopted; /* a controller that is created adopts them */
	} made[] = {{"", "Pod", false}, {"batch", "Job", false}, {"discovery.k8s.io", "EndpointSlice", false},
		{"apps", "ReplicaSet", true}};
	bool is_there = has_controller(json_gets(json_gets(object, "metadata"), "ownerReferences"));
	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		if (str_is(item->group, made[i].group) && str_is(item->kind, made[i].kind) &&
			(is_there || (!made[i].is_adopted && has_controller(item->links)))) {
			return is_there ? "its controller is there, and makes what it needs"
					: "its controller is restored, and makes what it needs";
		}
	}
	return NULL;
}

static struct str deletion_text(struct bulk *b, const struct revisions *all)
{
	const struct json *status = json_gets(all->history, "status"), *changes = json_gets(status, "changes");
	const struct json *last = list_item(changes, member_count(status, "changes") - 1);
	struct str by = str_is(member_text(last, "type"), "Deleted") ? change_by(&b->k->arena, last) : STR("<unknown>");
	return bulk_text(b, "deleted " STR_FMT " ago by " STR_FMT,
		STR_ARG(age_of_time(&b->k->arena, member_text(status, "deletionTime"))), STR_ARG(by));
}

static int plan_loaded(struct bulk *b, struct bulk_item *item, const struct revisions *all)
{
	struct restore_plan plan;
	struct kubectl *k = b->k;
	if (k->label_selector) {
		struct revision *last = last_whole(k, all);
		if (!last || revision_load(k, all, last)) {
			return last ? -1 : kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
		}
		item->is_hidden = !has_labels(b, last->data);
		if (item->is_hidden) {
			bulk_skip(b, item, "it does not have the labels");
			return 0;
		}
	}
	if (restore_plan(k, all, &plan)) {
		return -1;
	}
	const char *why = why_not(item, plan.object);
	if (why) {
		bulk_skip(b, item, why);
		return 0;
	}
	if (str_is(item->group, "batch") && str_is(item->kind, "Job")) {
		kubectl_note(k, "its pods run again");
	}
	item->reason = deletion_text(b, all);
	bulk_show(b, item, NULL, plan.object, plan.revision);
	bulk_create(b, item, plan.object, plan.revision->number);
	return 0;
}

static int plan_restore(struct bulk *b, struct bulk_item *item)
{
	struct revisions all;
	int r = restore_list(b->k, &all);
	r = r ? r : plan_loaded(b, item, &all);
	revisions_done(&all);
	return r;
}

/* The namespace itself, if it is gone and was recorded: nothing can be created without it. */
static int add_namespace(struct bulk *b)
{
	static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};
	struct kubectl *k = b->k;
	const struct api_resource *type = discovery_find_resource(&k->discovery, &namespaces);
	const struct json *history = NULL;
	struct answer answer;
	if (!type || k->is_everywhere || !b->n) {
		return 0;
	}
	k->type = type;
	k->target = (struct target){&type->resource, STR(""), str_of(k->ns), NULL};
	answer_init(&answer);
	bool is_gone = rest_find_metadata(k->client, &k->target, &answer) == REST_ABSENT;
	int r = 0;
	if (is_gone && history_find(k, &answer, &history) > 0 && history_is_deleted(history)) {
		r = bulk_add(b, history);
	}
	answer_done(&answer);
	buf_clear(&k->err);
	k->type = NULL;
	return r;
}

static int read_choice(struct kubectl *k, struct choice *ret)
{
	struct status st = {0};
	int64_t ago;
	*ret = (struct choice){0};
	if (k->deleted_since && !kubectl_read_duration(k->deleted_since, &ago)) {
		return kubectl_fail(k, "--deleted-since must be a duration such as 90s, 10m, 12h or 7d");
	}
	ret->since_us = k->deleted_since ? clock_wall_us() - ago : 0;
	status_init(&st, &k->arena);
	if (k->label_selector && label_selector_parse(&ret->labels, str_of(k->label_selector), &k->arena, &st)) {
		return kubectl_fail(k, "--selector: " STR_FMT, STR_ARG(st.message));
	}
	return 0;
}

int restore_bulk(struct kubectl *k)
{
	struct choice choice;
	struct bulk b;
	if (read_choice(k, &choice) || histories_check(k)) {
		return -1;
	}
	bulk_init(&b, k);
	b.verb = "restored";
	b.plan = plan_restore;
	b.ctx = &choice;
	int r = bulk_find_subjects(&b);
	r = r ? r : bulk_list(&b, STR("status.deleted=true"), add_deleted);
	r = r ? r : add_namespace(&b);
	r = r ? r : bulk_run(&b);
	bulk_done(&b);
	return r;
}

static int check(struct kubectl *k)
{
	struct choice choice;
	struct str name;
	bool is_one = kubectl_names_one(k, &name), chooses = k->takes_all || k->deleted_since || k->label_selector;
	if (!k->n_words && !chooses) {
		return kubectl_fail(k, "give one object, as TYPE/NAME; or a TYPE, --all, --deleted-since or -l");
	}
	if (is_one && chooses) {
		return kubectl_fail(k, "--all, --deleted-since and -l choose among many objects: name none");
	}
	if (!is_one && k->revision >= 0) {
		return kubectl_fail(k, "--revision is for one object, as TYPE/NAME");
	}
	return undo_check_without(k) || undo_check_diff(k) || read_choice(k, &choice) ? -1 : 0;
}

static int run(struct kubectl *k)
{
	struct str name;
	if (!kubectl_names_one(k, &name)) {
		return restore_bulk(k);
	}
	return kubectl_find(k, name, WORDS_OBJECT) ? -1 : run_one(k);
}

const struct kubectl_command kubectl_restore = {
	.name = "restore",
	.usage = "TYPE/NAME | TYPE[,TYPE...] | --all | --deleted-since=DURATION | -l SELECTOR [flags]",
	.summary = "Recreates deleted objects",
	.description = "Recreates a deleted object, as a Recorder recorded it last or as in another revision.\n\n"
		       "Owners that are gone, or were recreated themselves, are left out and named: with them the object\n"
		       "would be deleted again. Only digests are known of redacted values. Restore refuses and names\n"
		       "them, unless --skip-redacted leaves them out.\n\n"
		       "With a TYPE, --all, --deleted-since or -l it recreates many objects. It prints a plan first, lets the\n"
		       "server try all of it in a dry run, and asks once. Namespaces come first, then\n"
		       "CustomResourceDefinitions, access rules and configuration, storage, services, workloads and the rest.\n"
		       "Objects are linked to owners that are restored with them. What the server refuses is left out, and\n"
		       "the exit status is 1 then.\n\n"
		       "On a terminal restore shows the object and asks, unless --yes is given. Without a terminal, many\n"
		       "objects need --yes.",
	.examples = "  # as it was recorded last\n"
		    "  kubectl annals restore service/shop\n"
		    "  # a script does not want to be asked\n"
		    "  kubectl annals restore service/shop --yes\n"
		    "  # what would come back of a namespace\n"
		    "  kubectl annals restore --all -n shop --dry-run=server\n"
		    "  # what was deleted a moment ago, with another cluster IP\n"
		    "  kubectl annals restore --deleted-since=10m --without=/spec/clusterIP,/spec/clusterIPs\n",
	.flags = "all-namespaces,A,all,deleted-since,selector,l,revision,without,dry-run,diff,yes,y,skip-redacted",
	.outputs = "text,json,yaml,name",
	.words = WORDS_OBJECTS,
	.check = check,
	.run = run,
};
