/* Going back to a recorded state: a patch from the object as it is to what put_back() makes of it,
 * for the very version that was read. So what was written meanwhile is never lost: then all of it
 * is looked at again. */
#include "api/model/history.h"
#include "api/model/members.h"
#include "api/patch/diff.h"
#include "api/record/state.h"
#include "cli/kubectl/job_labels.h"
#include "cli/kubectl/kubectl_undo.h"
#include "cli/kubectl/put_back.h"

enum {
	PATHS_SHOWN = 20,
	RECORDER_TRIES = 15, /* a change may be on its way into the History */
	RECORDER_PAUSE_MS = 200,
};

static struct str listed(struct kubectl *k, const struct json *pointers)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 64 * 1024);
	for (uint32_t i = 0; i < pointers->n && i < PATHS_SHOWN; i++) {
		buf_printf(&text, "%s" STR_FMT, i ? ", " : "", STR_ARG(json_text(pointers->items[i])));
	}
	if (pointers->n > PATHS_SHOWN) {
		buf_printf(&text, " and %u more", pointers->n - PATHS_SHOWN);
	}
	return arena_dup(&k->arena, buf_str(&text));
}

int undo_check_state(struct kubectl *k, const struct revision *r)
{
	const struct json *omitted = json_get(r->data, STATE_OMITTED);
	if (!state_is_omitted(r->data)) {
		return 0;
	}
	return kubectl_fail(k,
		"revision %lld holds no state, only a digest: with %lld bytes the object was bigger than its Recorder's "
		"maxObjectBytes",
		(long long)r->number, (long long)member_int(omitted, "bytes"));
}

/* The object's type as the state has it: versions differ in their members. */
int undo_use_version(struct kubectl *k, const struct revision *r)
{
	struct str version = member_text(r->data, "apiVersion"), kind = member_text(r->data, "kind");
	const struct api_resource *type = discovery_find_kind(&k->discovery, version, kind);
	if (!type) {
		return kubectl_fail(k, "revision %lld is of version " STR_FMT ", which the server does not have",
			(long long)r->number, STR_ARG(version));
	}
	k->type = type;
	k->target.resource = &type->resource;
	return 0;
}

static int get_live(struct kubectl *k, const struct revision *r)
{
	if (undo_use_version(k, r)) {
		return -1;
	}
	if (kubectl_get(k) == 0) {
		return 0;
	}
	if (k->answer.code == 404) {
		struct str name = kubectl_name(k);
		return kubectl_fail(k, STR_FMT " does not exist; kubectl annals restore " STR_FMT " makes it again",
			STR_ARG(name), STR_ARG(name));
	}
	return -1;
}

/* What was ignored when the revision was made; NULL: nothing. It is text, in an annotation. */
static int ignored_then(struct kubectl *k, const struct revision *r, const struct json **ret)
{
	const struct json *annotations = json_gets(json_gets(r->object, "metadata"), "annotations");
	struct str text = json_text(json_get(annotations, ANNOTATION_IGNORED));
	struct json *ignore = NULL;
	size_t at;
	if (text.n && json_parse(&ignore, &k->arena, text, JSON_LIMITS_DEFAULT, &at)) {
		return kubectl_fail(k, "the annotation " STR_FMT " of revision %lld cannot be read", STR_ARG(ANNOTATION_IGNORED),
			(long long)r->number);
	}
	*ret = ignore;
	return 0;
}

static int leave_out(struct kubectl *k, const struct json *ignore, struct put_back *p)
{
	struct state_rules rules = {.shows_secrets = true, .max_bytes = INT64_MAX};
	if (!pointer_patterns_read(&rules.ignore, ignore, &k->arena)) {
		return kubectl_fail(k, "what its Recorder ignores cannot be read");
	}
	p->recorded = state_of(p->recorded, &rules, &k->arena);
	p->state = state_of(p->state, &rules, &k->arena);
	return 0;
}

/* What of the object was recorded, or would be; with nothing redacted. What is ignored today may be in a revision of before, and what was ignored
 * then is not in it. */
static int compare(struct kubectl *k, const struct revisions *all, const struct revision *r, const struct json *recorded,
	struct put_back *ret)
{
	const struct json *then = NULL;
	*ret = (struct put_back){.live = k->object, .arena = &k->arena, .recorded = recorded, .state = k->object};
	if (ignored_then(k, r, &then) || (then && leave_out(k, then, ret)) ||
		leave_out(k, json_gets(json_gets(all->history, "status"), "ignore"), ret)) {
		return -1;
	}
	put_back(ret);
	return 0;
}

/* ---- which revision ---- */

/* Is the object as its newest revision says? Only then the one before is what it was before. */
static int is_recorded(struct kubectl *k, const struct revisions *all, bool *ret_is)
{
	struct revision *today = revisions_today(k, all);
	struct put_back p;
	if (!today || revision_load(k, all, today) || get_live(k, today) || compare(k, all, today, today->data, &p)) {
		return -1;
	}
	*ret_is = state_is_omitted(today->data) || json_equal(p.object, k->object);
	return 0;
}

static struct revision *choose(struct kubectl *k, const struct revisions *all, bool *ret_is_behind)
{
	bool is_newest = false;
	if (k->to_revision >= 0) {
		return revisions_find(k, all, k->to_revision);
	}
	struct revision *before = revisions_before(k, all);
	if (!before) {
		kubectl_fail(k, "no revision before the newest of " STR_FMT, STR_ARG(kubectl_name(k)));
		return NULL;
	}
	if (is_recorded(k, all, &is_newest)) {
		return NULL;
	}
	*ret_is_behind = !is_newest;
	if (!is_newest) {
		long long newest = (long long)revisions_today(k, all)->number;
		kubectl_fail(k,
			STR_FMT " has been changed since revision %lld was recorded; --to-revision=%lld takes that back",
			STR_ARG(kubectl_name(k)), newest, newest);
	}
	return is_newest ? before : NULL;
}

/* ---- going back to it ---- */

static int check(struct kubectl *k, const struct put_back *p, const struct revision *r)
{
	struct str name = kubectl_name(k);
	if (p->unclear->n) {
		return kubectl_fail(k,
			"revision %lld has lists of which parts were ignored, and whose items nothing tells apart: " STR_FMT,
			(long long)r->number, STR_ARG(listed(k, p->unclear)));
	}
	if (undo_check_missing(k, p->missing, r)) {
		return -1;
	}
	if (p->kept->n) {
		kubectl_note(k, "values that were redacted stay as they are in " STR_FMT ": " STR_FMT, STR_ARG(name),
			STR_ARG(listed(k, p->kept)));
	}
	return 0;
}

int undo_check_missing(struct kubectl *k, const struct json *missing, const struct revision *r)
{
	if (!missing->n) {
		return 0;
	}
	if (!k->skips_redacted) {
		return kubectl_fail(k,
			"revision %lld has values that were redacted, and they are nowhere else: " STR_FMT
			"; --skip-redacted leaves them out",
			(long long)r->number, STR_ARG(listed(k, missing)));
	}
	kubectl_note(k, "values that were redacted are left out: " STR_FMT, STR_ARG(listed(k, missing)));
	return 0;
}

bool undo_is_of_secret(const struct kubectl *k)
{
	return k->type->resource.group.n == 0 && str_is(k->type->kind, "Secret");
}

void undo_write_diff(
	struct kubectl *k, const struct json *now, const struct json *wanted, const struct revision *r, struct buf *out)
{
	struct json *both[] = {now ? json_copy(&k->arena, now) : NULL, json_copy(&k->arena, wanted)};
	if (undo_is_of_secret(k)) {
		put_back_mask_secret(&both[0], &both[1], &k->arena);
	}
	const struct json *const values[] = {both[0], both[1]};
	const struct str names[] = {arena_printf(&k->arena, STR_FMT " now", STR_ARG(kubectl_name(k))), revision_title(k, r)};
	kubectl_write_yaml_diff(values, names, out);
}

static struct json *replacing(struct kubectl *k, const char *path, struct str value)
{
	struct json *operation = json_object(&k->arena);
	json_add_text(&k->arena, operation, STR("op"), STR("replace"));
	json_add_text(&k->arena, operation, STR("path"), str_of(path));
	json_add_text(&k->arena, operation, STR("value"), value);
	return operation;
}

/* A merge patch cannot say what is null; a JSON patch can. Either is for this version of this object. */
static struct json *patch_of(struct kubectl *k, const struct json *wanted, const char **ret_type)
{
	struct json *merge = diff_merge(k->object, wanted, &k->arena);
	const struct json *meta = json_gets(k->object, "metadata");
	*ret_type = merge ? PATCH_MERGE : PATCH_JSON;
	if (merge) {
		return undo_guarded(k, merge);
	}
	struct json *patch = json_copy(&k->arena, diff_json(k->object, wanted, &k->arena));
	json_insert(&k->arena, patch, 0, replacing(k, "/metadata/uid", member_text(meta, "uid")));
	json_insert(&k->arena, patch, 0, replacing(k, "/metadata/resourceVersion", member_text(meta, "resourceVersion")));
	return patch;
}

static int send(struct kubectl *k, const struct revision *r, const char *type, const struct json *patch, bool *ret_has_changed)
{
	struct answer answer;
	answer_init(&answer);
	int error = undo_send(k, type, patch, &answer);
	*ret_has_changed = error == REST_STATUS && answer_is(&answer, 409, "Conflict");
	if (error) {
		kubectl_refused(k, error, &answer);
	} else {
		undo_tell(k, r, &answer);
	}
	answer_done(&answer);
	return error ? -1 : 0;
}

static int go_back(struct kubectl *k, const struct put_back *p, const struct revision *r, bool *ret_has_changed)
{
	_cleanup_(buf_done) struct buf lines;
	const char *type;
	buf_init(&lines, OUTPUT_MAX);
	if (json_equal(p->object, k->object)) {
		undo_tell_as_it_is(k, r);
		return 0;
	}
	if (undo_shows(k)) {
		undo_write_diff(k, p->shown, p->recorded, r, &lines);
	}
	if (!undo_ask(k, &lines, r)) {
		return 0;
	}
	struct json *patch = patch_of(k, p->object, &type);
	if (undo_is_dry(k, "client")) {
		undo_tell_only(k, r, patch);
		return 0;
	}
	return send(k, r, type, patch, ret_has_changed);
}

static int plan(struct kubectl *k, const struct revisions *all, struct revision *r, struct str *uid, struct put_back *ret)
{
	if (!r || revision_load(k, all, r) || undo_check_state(k, r) || get_live(k, r) || undo_check_uid(k, uid)) {
		return -1;
	}
	const struct json *recorded = r->data;
	if (undo_drop_lost_owners(k, &recorded, k->object)) {
		return -1;
	}
	recorded = job_labels_renew(recorded, k->object, &k->arena);
	return compare(k, all, r, recorded, ret) || check(k, ret, r) ? -1 : 0;
}

static int undo_once(
	struct kubectl *k, const struct revisions *all, struct str *uid, bool *ret_has_changed, bool *ret_is_behind)
{
	struct put_back p;
	struct revision *r = choose(k, all, ret_is_behind);
	return plan(k, all, r, uid, &p) ? -1 : go_back(k, &p, r, ret_has_changed);
}

/* Behind: the Recorder may be about to record what was changed. */
int undo_recorded(struct kubectl *k, const struct revisions *all, struct undo_progress *progress)
{
	bool is_behind = false;
	int r = undo_once(k, all, &progress->uid, &progress->has_changed, &is_behind);
	if (r && is_behind && progress->n_behind++ < RECORDER_TRIES) {
		client_sleep(k->client, RECORDER_PAUSE_MS);
		progress->has_changed = true;
	}
	return r;
}

/* ---- for who shows it first ---- */

int undo_plan_recorded(struct kubectl *k, const struct revisions *all, struct undo_plan *ret)
{
	struct str uid = STR("");
	struct put_back p;
	struct revision *r = revisions_find(k, all, k->to_revision);
	if (plan(k, all, r, &uid, &p)) {
		return -1;
	}
	*ret = (struct undo_plan){.revision = r, .now = p.shown, .is_as_it_is = json_equal(p.object, k->object)};
	ret->patch = patch_of(k, p.object, &ret->type);
	return 0;
}

/* Compared once more, as if it were there: of what is hidden, and of what is ignored, nothing is shown. */
const struct json *undo_shown_recorded(
	struct kubectl *k, const struct revisions *all, const struct revision *r, const struct json *object)
{
	const struct json *live = k->object;
	struct put_back p;
	k->object = object;
	int error = compare(k, all, r, r->data, &p);
	k->object = live;
	return error ? NULL : p.shown;
}
