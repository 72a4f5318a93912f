/* The order of checks is the order of causes in the 422, so it is upstream's. */
#include "api/workload/job_status.h"

#include "api/model/members.h"
#include "api/rules/where.h"
#include "api/workload/job_indexes.h"
#include "api/workload/shared_rules.h"
#include "base/clock.h"

#include <assert.h>

static bool has_condition(const struct object *o, const char *type, const char *value)
{
	const struct json *list = json_gets(object_status(o), "conditions"), *each;
	for (uint32_t i = 0; (each = list_item(list, i)); i++) {
		if (str_is(member_text(each, "type"), type) && str_is(member_text(each, "status"), value)) {
			return true;
		}
	}
	return false;
}

bool job_has_condition(const struct object *o, const char *type)
{
	return has_condition(o, type, "True");
}

/* The outcome of a Job, as one look at its conditions shows it. */
struct outcome {
	bool is_complete, is_failed, has_target, has_criteria, is_finished;
};

static struct outcome outcome_of(const struct object *o)
{
	struct outcome r = {.is_complete = job_has_condition(o, "Complete"),
		.is_failed = job_has_condition(o, "Failed"),
		.has_target = job_has_condition(o, "FailureTarget"),
		.has_criteria = job_has_condition(o, "SuccessCriteriaMet")};
	r.is_finished = r.is_complete || r.is_failed;
	return r;
}

struct status_check {
	const struct json *spec, *status, *old;
	struct outcome now, before;
	struct field_errors *e;
};

static const struct where *const at_status = &(const struct where){.name = {.p = "status", .n = sizeof("status") - 1}};

static struct str path_of(const struct status_check *c, const char *name)
{
	return where_path(WHERE_NAMED(at_status, name), c->e->arena);
}

static bool has_changed(const struct status_check *c, const char *name)
{
	return !is_same_value(json_gets(c->status, name), json_gets(c->old, name));
}

static void refuse_conditions(const struct status_check *c, bool is_wrong, const char *message)
{
	if (is_wrong) {
		field_invalid_whole(c->e, path_of(c, "conditions"), "%s", message);
	}
}

static void refuse_member(const struct status_check *c, bool is_wrong, const char *name, const char *message)
{
	if (is_wrong) {
		refuse_invalid(c->e, WHERE_NAMED(at_status, name), json_gets(c->status, name), message);
	}
}

static void require_member(const struct status_check *c, bool is_missing, const char *name, const char *message)
{
	if (is_missing) {
		refuse_absent(c->e, WHERE_NAMED(at_status, name), message);
	}
}

/* ---- pods that are not counted yet ---- */

static void check_uncounted_list(
	const struct status_check *c, const struct where *at, const struct json *list, struct map *seen)
{
	const struct json *uid;
	for (uint32_t i = 0; (uid = list_item(list, i)); i++) {
		struct str text = json_text(uid);
		if (!text.n) {
			refuse_text(c->e, WHERE_ITEM(at, i), text, "must not be empty");
		} else if (map_get(seen, text)) {
			refuse_duplicate(c->e, WHERE_ITEM(at, i), text);
		} else {
			map_set(seen, text, (void *)uid, NULL);
		}
	}
}

static void check_uncounted(const struct status_check *c)
{
	const struct json *pods = json_gets(c->status, "uncountedTerminatedPods");
	const struct where *at = WHERE(at_status, "uncountedTerminatedPods");
	struct map seen;
	map_init(&seen, member_count(pods, "succeeded") + member_count(pods, "failed"));
	check_uncounted_list(c, WHERE(at, "succeeded"), json_gets(pods, "succeeded"), &seen);
	check_uncounted_list(c, WHERE(at, "failed"), json_gets(pods, "failed"), &seen);
	map_done(&seen);
}

/* ---- outcome ---- */

static bool is_before(struct str x, struct str y)
{
	int64_t x_us, y_us;
	return time_parse_rfc3339(x, &x_us) && time_parse_rfc3339(y, &y_us) && x_us < y_us;
}

static void check_completion(const struct status_check *c)
{
	bool has_time = json_gets(c->status, "completionTime") != NULL;
	bool is_new = c->now.is_complete != c->before.is_complete, is_new_time = has_changed(c, "completionTime");
	bool is_failed_new = c->now.is_failed != c->before.is_failed, is_target_new = c->now.has_target != c->before.has_target;
	refuse_conditions(c, (is_new || is_failed_new) && c->now.is_complete && c->now.is_failed,
		"cannot set Complete=True and Failed=true conditions");
	refuse_conditions(c, (is_new || is_target_new) && c->now.is_complete && c->now.has_target,
		"cannot set Complete=True and FailureTarget=true conditions");
	refuse_member(c, (is_new || is_new_time) && has_time && !c->now.is_complete, "completionTime",
		"cannot set completionTime when there is no Complete=True condition");
	require_member(c, (is_new || is_new_time) && !has_time && c->now.is_complete, "completionTime",
		"completionTime is required for Complete jobs");
	refuse_member(c,
		(is_new_time || has_changed(c, "startTime")) &&
			is_before(member_text(c->status, "completionTime"), member_text(c->status, "startTime")),
		"completionTime", "must be equal to or after `startTime`");
	refuse_conditions(c, (is_failed_new || has_changed(c, "failedIndexes")) && c->now.is_failed && !c->now.has_target,
		"cannot set Failed=True condition without the FailureTarget=true condition");
	refuse_conditions(c,
		(is_new || c->now.has_criteria != c->before.has_criteria) && c->now.is_complete && !c->now.has_criteria,
		"cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
}

static bool is_never_started(const struct json *spec)
{
	return member_is_true(spec, "suspend") && json_gets(spec, "completions") && member_int(spec, "completions") == 0;
}

static void check_finish(const struct status_check *c)
{
	const struct json *uncounted = json_gets(c->status, "uncountedTerminatedPods");
	bool is_new = c->now.is_finished != c->before.is_finished, is_finished = c->now.is_finished;
	refuse_member(c, (is_new || has_changed(c, "active")) && is_finished && member_int(c->status, "active") > 0, "active",
		"active>0 is invalid for finished job");
	require_member(c,
		(is_new || has_changed(c, "startTime")) && !is_never_started(c->spec) && is_finished &&
			!json_gets(c->status, "startTime"),
		"startTime", "startTime is required for finished job");
	refuse_member(c,
		(is_new || has_changed(c, "uncountedTerminatedPods")) && is_finished &&
			member_count(uncounted, "failed") + member_count(uncounted, "succeeded") > 0,
		"uncountedTerminatedPods", "must be empty for finished job");
}

/* ---- indexes ---- */

static bool is_list_right(const struct status_check *c, const char *name, bool is_new)
{
	int64_t n;
	struct str problem = indexes_problem(member_text(c->status, name), member_int(c->spec, "completions"), &n, c->e->arena);
	if (problem.n && is_new) {
		field_invalid(c->e, path_of(c, name), json_gets(c->status, name), "error parsing %s: " STR_FMT, name,
			STR_ARG(problem));
	}
	return !problem.n;
}

static void check_indexes(const struct status_check *c)
{
	const struct json *failed = json_gets(c->status, "failedIndexes");
	struct str completed = member_text(c->status, "completedIndexes");
	bool has_limit = json_gets(c->spec, "backoffLimitPerIndex") != NULL,
	     has_completions = json_gets(c->spec, "completions");
	bool is_indexed = str_is(member_text(c->spec, "completionMode"), "Indexed");
	bool is_completed_new = has_changed(c, "completedIndexes"), is_failed_new = has_changed(c, "failedIndexes");
	bool is_right = has_completions && is_list_right(c, "completedIndexes", is_completed_new);
	is_right = has_completions && is_list_right(c, "failedIndexes", has_limit && failed && is_failed_new) && is_right;
	refuse_member(c, is_completed_new && completed.n && !is_indexed, "completedIndexes",
		"cannot set non-empty completedIndexes when non-indexed completion mode");
	refuse_member(c, is_failed_new && failed && !has_limit, "failedIndexes",
		"cannot set non-null failedIndexes when backoffLimitPerIndex is null");
	if (!is_right || !failed || (!is_completed_new && !is_failed_new)) {
		return;
	}
	int64_t both = indexes_overlap(completed, json_text(failed), member_int(c->spec, "completions"), c->e->arena);
	if (both >= 0) {
		field_invalid(c->e, path_of(c, "failedIndexes"), failed,
			"failedIndexes and completedIndexes overlap at index: %lld", (long long)both);
	}
}

/* ---- the rest ---- */

static void check_pods_left(const struct status_check *c)
{
	bool is_new = c->now.is_finished != c->before.is_finished;
	refuse_member(c,
		(is_new || has_changed(c, "terminating")) && c->now.is_finished && member_int(c->status, "terminating") > 0,
		"terminating", "terminating>0 is invalid for finished job");
	refuse_member(c,
		(has_changed(c, "ready") || has_changed(c, "active")) && json_gets(c->status, "ready") &&
			member_int(c->status, "ready") > member_int(c->status, "active"),
		"ready", "cannot set more ready pods than active");
}

static void check_criteria(const struct status_check *c)
{
	refuse_conditions(
		c, c->now.has_criteria && c->now.is_failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
	refuse_conditions(c, c->now.has_criteria && c->now.has_target,
		"cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
	refuse_conditions(c, json_gets(c->spec, "successPolicy") && !c->now.has_criteria && c->now.is_complete,
		"cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
}

static void check_decrease(const struct status_check *c, const char *name, const char *message)
{
	if (member_int(c->status, name) < member_int(c->old, name)) {
		refuse_invalid(c->e, WHERE_NAMED(at_status, name), json_int(c->e->arena, member_int(c->status, name)), message);
	}
}

static void check_change(const struct status_check *c, bool is_resuming)
{
	bool is_indexed = str_is(member_text(c->spec, "completionMode"), "Indexed");
	refuse_conditions(c, c->before.is_failed && !c->now.is_failed, "cannot disable the terminal Failed=True condition");
	refuse_conditions(
		c, c->before.is_complete && !c->now.is_complete, "cannot disable the terminal Complete=True condition");
	refuse_conditions(
		c, c->before.has_target && !c->now.has_target, "cannot disable the terminal FailureTarget=True condition");
	check_decrease(c, "failed", "cannot decrease the failed counter");
	/* Indexed Jobs can be made smaller. */
	if (!is_indexed || !is_same_value(json_gets(c->spec, "completions"), json_gets(c->spec, "parallelism"))) {
		check_decrease(c, "succeeded", "cannot decrease the succeeded counter");
	}
	refuse_member(c,
		has_changed(c, "completionTime") && json_gets(c->status, "completionTime") &&
			json_gets(c->old, "completionTime"),
		"completionTime", "field is immutable");
	refuse_member(c,
		!is_resuming && json_gets(c->old, "startTime") && has_changed(c, "startTime") &&
			!member_is_true(c->spec, "suspend"),
		"startTime", "field is immutable for unsuspended job once set");
	refuse_conditions(
		c, c->before.has_criteria && !c->now.has_criteria, "cannot disable the SuccessCriteriaMet=True condition");
	refuse_conditions(c, c->before.is_complete && !c->before.has_criteria && c->now.has_criteria,
		"cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
}

void job_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const counts[] = {"active", "succeeded", "failed", "ready", "terminating", NULL};
	struct status_check c = {.spec = object_spec(o),
		.status = object_status(o),
		.old = object_status(old),
		.now = outcome_of(o),
		.before = outcome_of(old),
		.e = errors};
	check_counts(errors, c.status, counts);
	check_uncounted(&c);
	check_completion(&c);
	check_finish(&c);
	check_indexes(&c);
	check_pods_left(&c);
	check_criteria(&c);
	check_change(&c, has_condition(old, "Suspended", "True") && has_condition(o, "Suspended", "False"));
}
