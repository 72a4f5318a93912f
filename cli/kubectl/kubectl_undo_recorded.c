/* Undo for recorded states. The patch is the difference between the object and the result of put_back(), for the version
 * that was read. So a write in between is never lost: undo then reads everything again. */
#include "api/diff/diff.h"
#include "api/diff/state.h"
#include "api/model/history.h"
#include "api/model/members.h"
#include "cli/kubectl/kubectl_bulk.h"
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
	type = type ? type : bulk_find_kind(k->bulk, version, kind);
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
	if (answer_is_absent(&k->answer, &k->target)) {
		struct str name = kubectl_name(k);
		return kubectl_fail(k, STR_FMT " does not exist; kubectl annals restore " STR_FMT " recreates it",
			STR_ARG(name), STR_ARG(name));
	}
	return -1;
}

/* The paths that were ignored when the revision was made, from an annotation; NULL: none. */
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

static const struct json *without(struct kubectl *k)
{
	struct json *ret = json_array(&k->arena);
	for (size_t i = 0; i < k->without.n; i++) {
		json_append(&k->arena, ret, json_string(&k->arena, str_of(k->without.v[i])));
	}
	return ret;
}

int undo_check_without(struct kubectl *k)
{
	for (size_t i = 0; i < k->without.n; i++) {
		const char *problem = pointer_pattern_problem(str_of(k->without.v[i]));
		if (problem) {
			return kubectl_fail(k, "--without=%s: it must be a JSON pointer such as /spec/clusterIP: %s",
				k->without.v[i], problem);
		}
	}
	return 0;
}

int undo_leave_out(struct kubectl *k, const struct json **state)
{
	struct state_rules rules = {.shows_secrets = true, .max_bytes = INT64_MAX};
	if (!pointer_patterns_read(&rules.ignore, without(k), &k->arena)) {
		return kubectl_fail(
			k, "--without takes at most %d JSON pointers, such as /spec/clusterIP", POINTER_PATTERNS_MAX);
	}
	*state = k->without.n ? state_of(*state, &rules, &k->arena) : *state;
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

static void add_finalizers(struct json *to, const struct json *from, struct arena *a)
{
	struct json *each;
	for (uint32_t i = 0; (each = list_item(from, i)); i++) {
		bool is_there = false;
		for (uint32_t j = 0; j < to->n && !is_there; j++) {
			is_there = json_equal(to->items[j], each);
		}
		if (!is_there) {
			json_append(a, to, each);
		}
	}
}

/* A finalizer is only ever added to a live object. Without it, a controller would never clean up; and states that an earlier
 * release recorded have none. generateName is only for creations. */
static const struct json *with_live_metadata(struct kubectl *k, const struct json *recorded)
{
	const struct json *live = json_gets(k->object, "metadata"), *then = json_gets(recorded, "metadata");
	struct json *ret = json_copy(&k->arena, recorded),
		    *meta = json_is(then, JSON_OBJECT) ? json_copy(&k->arena, then) : NULL;
	struct json *finalizers = json_array(&k->arena), *prefix = json_gets(live, "generateName");
	if (!meta) {
		return recorded;
	}
	add_finalizers(finalizers, json_gets(live, "finalizers"), &k->arena);
	add_finalizers(finalizers, json_gets(then, "finalizers"), &k->arena);
	json_remove(meta, STR("finalizers"));
	json_remove(meta, STR("generateName"));
	if (finalizers->n) {
		json_set(&k->arena, meta, STR("finalizers"), finalizers);
	}
	if (prefix) {
		json_set(&k->arena, meta, STR("generateName"), prefix);
	}
	json_set(&k->arena, ret, STR("metadata"), meta);
	return ret;
}

/* Puts the recorded state back into the object, without the paths that are ignored now or were ignored then: the revision may
 * have the former, and does not have the latter. Nothing is redacted. */
static int compare(struct kubectl *k, const struct revisions *all, const struct revision *r, const struct json *recorded,
	struct put_back *ret)
{
	const struct json *then = NULL;
	*ret = (struct put_back){.live = k->object, .arena = &k->arena, .state = k->object};
	ret->recorded = with_live_metadata(k, recorded);
	if (ignored_then(k, r, &then) || (then && leave_out(k, then, ret)) ||
		leave_out(k, json_gets(json_gets(all->history, "status"), "ignore"), ret) ||
		(k->without.n && leave_out(k, without(k), ret))) {
		return -1;
	}
	put_back(ret);
	return 0;
}

static struct json *replacing(struct kubectl *k, const char *path, struct str value)
{
	struct json *operation = json_object(&k->arena);
	json_add_text(&k->arena, operation, STR("op"), STR("replace"));
	json_add_text(&k->arena, operation, STR("path"), str_of(path));
	json_add_text(&k->arena, operation, STR("value"), value);
	return operation;
}

/* A merge patch, or a JSON patch if a value becomes null. Either is for this version of this object. */
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

/* ---- choosing a revision ---- */

/* Without the members that differ by the caller and the time of a write. */
static struct json *without_versions(const struct json *object, struct arena *a)
{
	static const char *const versions[] = {"managedFields", "resourceVersion", "generation"};
	struct json *ret = json_copy(a, object), *meta = json_copy(a, json_gets(object, "metadata"));
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		json_remove(meta, str_of(versions[i]));
	}
	json_set(a, ret, STR("metadata"), meta);
	return ret;
}

/* Asks by a dry run whether the server would show the object as it shows it now. kube-apiserver's watch has
 * members that its answers leave out, such as spec.internalTrafficPolicy of a Service that became an
 * ExternalName. Such members are recorded. */
static int is_shown_alike(struct kubectl *k, const struct json *wanted, bool *ret_is)
{
	const char *type, *dry_run = k->dry_run;
	struct answer answer;
	const struct json *patch = patch_of(k, wanted, &type);
	answer_init(&answer);
	k->dry_run = "server";
	int error = undo_send(k, type, patch, &answer);
	k->dry_run = dry_run;
	bool is_object = !error && json_is(json_gets(answer.body, "metadata"), JSON_OBJECT);
	*ret_is = is_object && json_equal(without_versions(answer.body, &k->arena), without_versions(k->object, &k->arena));
	/* A refusal means "no"; a user who may not write at all gets the error when undo writes. */
	int r = error && error != REST_STATUS ? kubectl_refused(k, error, &answer) : 0;
	answer_done(&answer);
	return r;
}

/* Only if it is, the revision before that is the state before. */
int undo_is_recorded(struct kubectl *k, const struct revisions *all, bool *ret_is)
{
	struct revision *today = revisions_today(k, all);
	struct put_back p;
	if (!today || revision_load(k, all, today) || get_live(k, today) || compare(k, all, today, today->data, &p)) {
		return -1;
	}
	*ret_is = state_is_omitted(today->data) || json_equal(p.object, k->object);
	return *ret_is ? 0 : is_shown_alike(k, p.object, ret_is);
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
	if (undo_is_recorded(k, all, &is_newest)) {
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

/* ---- owners ----
 *
 * An owner that is gone, or was recreated since, must not be named: the garbage collector would delete the object. */

static enum rest_found look_for(struct kubectl *k, const struct json *reference)
{
	const struct api_resource *type =
		discovery_find_kind(&k->discovery, member_text(reference, "apiVersion"), member_text(reference, "kind"));
	if (!type) {
		return k->discovery.n_failures ? REST_UNKNOWN : REST_ABSENT;
	}
	struct answer answer;
	const struct target owner = {
		&type->resource, type->is_namespaced ? k->target.namespace : STR(""), member_text(reference, "name"), NULL};
	answer_init(&answer);
	enum rest_found found = rest_find_metadata(k->client, &owner, &answer);
	/* Another object of that name is not the one that was meant. */
	if (found == REST_FOUND &&
		!str_eq(member_text(json_gets(answer.body, "metadata"), "uid"), member_text(reference, "uid"))) {
		found = REST_ABSENT;
	}
	answer_done(&answer);
	return found;
}

static bool has_owner(const struct json *owners, struct str uid)
{
	const struct json *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		if (str_eq(member_text(owner, "uid"), uid)) {
			return true;
		}
	}
	return false;
}

static struct json *with_owners(struct kubectl *k, const struct json *state, struct json *owners)
{
	struct json *meta = json_copy(&k->arena, json_gets(state, "metadata")), *ret = json_copy(&k->arena, state);
	if (owners->n) {
		json_set(&k->arena, meta, STR("ownerReferences"), owners);
	} else {
		json_remove(meta, STR("ownerReferences"));
	}
	json_set(&k->arena, ret, STR("metadata"), meta);
	return ret;
}

int undo_drop_lost_owners(struct kubectl *k, const struct json **state, const struct json *live)
{
	const struct json *owners = json_gets(json_gets(*state, "metadata"), "ownerReferences");
	const struct json *here = json_gets(json_gets(live, "metadata"), "ownerReferences");
	struct json *kept = json_array(&k->arena), *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		struct str kind = member_text(owner, "kind"), name = member_text(owner, "name"),
			   uid = member_text(owner, "uid");
		enum rest_found found = has_owner(here, uid) ? REST_FOUND : look_for(k, owner);
		if (found == REST_UNKNOWN) {
			return kubectl_fail(k,
				"cannot find out whether its owner " STR_FMT " " STR_FMT " (uid " STR_FMT ") is there",
				STR_ARG(kind), STR_ARG(name), STR_ARG(uid));
		}
		if (found == REST_FOUND) {
			json_append(&k->arena, kept, owner);
		} else if (!bulk_takes_owner(k->bulk, owner)) {
			kubectl_note(k, "its owner " STR_FMT " " STR_FMT " (uid " STR_FMT ") is gone, and is left out",
				STR_ARG(kind), STR_ARG(name), STR_ARG(uid));
		}
	}
	if (kept->n != (json_is(owners, JSON_ARRAY) ? owners->n : 0)) {
		*state = with_owners(k, *state, kept);
	}
	return 0;
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
	struct json *both[] = {now ? json_copy(&k->arena, now) : NULL, wanted ? json_copy(&k->arena, wanted) : NULL};
	if (undo_is_of_secret(k)) {
		put_back_mask_secret(&both[0], &both[1], &k->arena);
	}
	const struct json *const values[] = {both[0], both[1]};
	/* The names end with a NUL, as those of arena_printf() do. */
	struct str name = kubectl_name(k);
	const struct str names[] = {arena_printf(&k->arena, STR_FMT " now", STR_ARG(name)),
		r ? revision_title(k, r) : arena_printf(&k->arena, STR_FMT " deleted", STR_ARG(name))};
	kubectl_write_yaml_diff(values, names, out);
}

static bool is_a_recorder(void *ctx, const struct json *object _unused_)
{
	*(bool *)ctx = true;
	return false;
}

/* Waits for the number that a Recorder gives to the state that came back. 0: it takes too long, or there is no Recorder. */
static int64_t await_number(struct kubectl *k, const struct revisions *all)
{
	static const struct resource recorders = {{"annals.dev", 10}, {"v1", 2}, {"recorders", 9}};
	int64_t before = member_int(json_gets(all->history, "status"), "totalChanges"), number = 0;
	bool is_recorded_by_anybody = false;
	struct answer answer;
	answer_init(&answer);
	if (undo_is_dry(k, "none") && kubectl_wants(k, "text")) {
		rest_each(k->client, &(struct target){&recorders, STR(""), STR(""), NULL}, true, is_a_recorder,
			&is_recorded_by_anybody, &answer);
	}
	for (int i = 0; is_recorded_by_anybody && !number && i < RECORDER_TRIES; i++) {
		const struct json *history;
		if (history_find(k, &answer, &history) <= 0) {
			break;
		}
		const struct json *status = json_gets(history, "status");
		if (member_int(status, "totalChanges") > before) {
			number = member_int(json_gets(status, "revision"), "revision");
		} else {
			client_sleep(k->client, RECORDER_PAUSE_MS);
		}
	}
	answer_done(&answer);
	return number;
}

static int send(struct kubectl *k, const struct revisions *all, const struct revision *r, const char *type,
	const struct json *patch, bool *ret_has_changed)
{
	struct answer answer;
	answer_init(&answer);
	int error = undo_send(k, type, patch, &answer);
	*ret_has_changed = error == REST_STATUS && answer_is(&answer, 409, "Conflict");
	if (error) {
		kubectl_refused(k, error, &answer);
	} else {
		bool is_as_before =
			str_eq(answer_version(&answer), member_text(json_gets(k->object, "metadata"), "resourceVersion"));
		undo_tell(k, r, &answer, is_as_before ? 0 : await_number(k, all));
	}
	answer_done(&answer);
	return error ? -1 : 0;
}

static int go_back(struct kubectl *k, const struct revisions *all, const struct put_back *p, const struct revision *r,
	bool *ret_has_changed)
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
	return send(k, all, r, type, patch, ret_has_changed);
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
	return plan(k, all, r, uid, &p) ? -1 : go_back(k, all, &p, r, ret_has_changed);
}

/* If the newest revision is behind the object, the Recorder may be about to record the change, so undo tries again. */
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

/* ---- for the page, which shows a dry run first ---- */

int undo_plan_recorded(struct kubectl *k, const struct revisions *all, struct undo_plan *ret)
{
	struct str uid = STR("");
	struct put_back p;
	struct revision *r = revisions_find(k, all, k->to_revision);
	if (plan(k, all, r, &uid, &p)) {
		return -1;
	}
	*ret = (struct undo_plan){.revision = r,
		.wanted = p.object,
		.now = p.shown,
		.then = p.recorded,
		.is_as_it_is = json_equal(p.object, k->object)};
	ret->patch = patch_of(k, p.object, &ret->type);
	return 0;
}

/* Compares the object as if it existed, so that hidden and ignored parts are not shown. */
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
