/* The order of checks is the order of causes in the 422, so it is upstream's, with its duplicates. */
#include "api/workload/daemon_rules.h"

#include "api/core/pod_defaults.h"
#include "api/core/pod_validate.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/upstream/upstream.h"
#include "api/workload/shared_rules.h"

#include <assert.h>

/* Counts the changes of the template. It was a field of older versions; kubectl still reads it. */
#define ANNOTATION_GENERATION STR("deprecated.daemonset.template.generation")

/* ---- generation of the template ---- */

static struct str generation_text(const struct object *o)
{
	return json_text(json_get(o->meta.annotations, ANNOTATION_GENERATION));
}

static bool has_generation(const struct object *o)
{
	return json_get(o->meta.annotations, ANNOTATION_GENERATION) != NULL;
}

static int64_t generation_of(const struct object *o)
{
	int64_t n = 0;
	return str_to_int64(generation_text(o), &n) ? n : 0;
}

static void put_generation(struct object *o, int64_t n, struct arena *a)
{
	struct str text = arena_printf(a, "%lld", (long long)n);
	meta_set_annotation(&o->meta, a, ANNOTATION_GENERATION, json_string(a, text));
}

/* ---- defaults ---- */

static struct json *with_share(struct json *rolling, const char *name, int64_t n, struct arena *a)
{
	return json_gets(rolling, name) ? rolling
					: schema_with(&type_apps_rolling_update_daemon_set, rolling, name, json_int(a, n), a);
}

/* Where it is no rolling update, its settings are kept as numbers. */
static struct json *default_strategy(const struct json *given, struct arena *a)
{
	struct json *strategy = json_is(given, JSON_OBJECT) ? json_copy(a, given) : json_object(a);
	struct json *rolling = json_gets(strategy, "rollingUpdate");
	if (!member_text(strategy, "type").n) {
		strategy = schema_with(
			&type_apps_daemon_set_update_strategy, strategy, "type", json_string(a, STR("RollingUpdate")), a);
	}
	bool is_rolling = str_is(member_text(strategy, "type"), "RollingUpdate");
	if (!rolling && !is_rolling) {
		return strategy;
	}
	rolling = with_share(rolling ? rolling : json_object(a), "maxUnavailable", is_rolling ? 1 : 0, a);
	rolling = with_share(rolling, "maxSurge", 0, a);
	return schema_with(&type_apps_daemon_set_update_strategy, strategy, "rollingUpdate", rolling, a);
}

void daemon_set_set_defaults(struct object *o, struct arena *a)
{
	struct json *spec = object_spec(o);
	const struct json *template = json_gets(spec, "template");
	int64_t n;
	if (template) {
		spec = schema_with(&type_apps_daemon_set_spec, spec, "template", pod_template_defaults(template, a), a);
	}
	spec = schema_with(
		&type_apps_daemon_set_spec, spec, "updateStrategy", default_strategy(json_gets(spec, "updateStrategy"), a), a);
	object_set_spec(o, spec, a);
	if (!has_generation(o) || str_to_int64(generation_text(o), &n)) {
		put_generation(o, generation_of(o), a);
	}
}

void daemon_set_prepare_create(struct object *o, struct arena *a)
{
	int64_t n;
	object_set_status(o, schema_zero(&type_apps_daemon_set_status, a), a);
	if (!has_generation(o) || str_to_int64(generation_text(o), &n)) {
		put_generation(o, MAX(generation_of(o), 1), a);
	}
}

void daemon_set_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	int64_t n = generation_of(old), given;
	keep_status(o, old, a);
	if (has_generation(o) && !str_to_int64(generation_text(o), &given)) {
		return;
	}
	bool is_same = is_same_value(json_gets(object_spec(o), "template"), json_gets(object_spec(old), "template"));
	put_generation(o, is_same || n == INT64_MAX ? n : n + 1, a);
}

void daemon_set_merge_status(struct object *stored, const struct object *sent, struct arena *a)
{
	assert(stored->kind == sent->kind);
	int64_t n = generation_of(stored);
	merge_status(stored, sent, a);
	put_generation(stored, n, a);
}

/* ---- validation ---- */

static void check_generation(const struct object *o, struct field_errors *e)
{
	int64_t n;
	if (has_generation(o) && !str_to_int64(generation_text(o), &n)) {
		refuse_text(e, WHERE_KEY(WHERE(WHERE(NULL, "metadata"), "annotations"), ANNOTATION_GENERATION),
			generation_text(o), "must be a decimal number of 64 bits");
	}
}

static void check_rolling_update(struct field_errors *e, const struct where *at, const struct json *rolling)
{
	const struct json *unavailable = json_gets(rolling, "maxUnavailable"), *surge = json_gets(rolling, "maxSurge");
	check_share(e, WHERE(at, "maxUnavailable"), unavailable);
	check_share(e, WHERE(at, "maxSurge"), surge);
	check_share_fits(e, WHERE(at, "maxUnavailable"), unavailable);
	check_share_fits(e, WHERE(at, "maxSurge"), surge);
	bool has_unavailable = share_value(unavailable) != 0, has_surge = share_value(surge) != 0;
	if (has_unavailable && has_surge) {
		refuse_invalid(e, WHERE(at, "maxSurge"), surge, "may not be set when maxUnavailable is non-zero");
	} else if (!has_unavailable && !has_surge) {
		refuse_absent(e, WHERE(at, "maxUnavailable"), "cannot be 0 when maxSurge is 0");
	}
}

static void check_strategy(struct field_errors *e, const struct where *at, const struct json *strategy)
{
	static const char *const types[] = {"RollingUpdate", "OnDelete", NULL};
	static const char *const members[] = {"maxUnavailable", "maxSurge", NULL};
	struct str type = member_text(strategy, "type");
	if (str_is(type, "RollingUpdate")) {
		check_rolling_update(e, WHERE(at, "rollingUpdate"), json_gets(strategy, "rollingUpdate"));
	} else if (!str_is(type, "OnDelete")) {
		refuse_unsupported_value(e, at, strategy_in_go(strategy, members, e->arena), types);
	}
}

static void check_pods(struct field_errors *e, const struct where *at, const struct json *spec)
{
	static const struct selector_texts texts = {0};
	const struct json *given = json_gets(spec, "selector"), *template = json_gets(spec, "template");
	const struct json *labels = json_gets(json_gets(template, "metadata"), "labels");
	const struct where *template_at = WHERE(at, "template");
	struct label_selector selector;
	bool is_valid = check_workload_selector(e, WHERE(at, "selector"), given, &texts, &selector);
	if (is_valid && !selector_takes(given, &selector, labels, e->arena)) {
		refuse_invalid(e, WHERE(WHERE(template_at, "metadata"), "labels"), labels,
			"`selector` does not match template `labels`");
	}
	if (json_is(given, JSON_OBJECT) && member_count(given, "matchLabels") + member_count(given, "matchExpressions") == 0) {
		refuse_invalid(e, WHERE(at, "selector"), given, "empty selector is invalid for daemonset");
	}
	pod_template_validate(template_at, template, e);
	check_pods_run_on(e, template_at, template, "activeDeadlineSeconds in DaemonSet is not Supported");
}

void daemon_set_validate(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *spec = object_spec(o);
	check_generation(o, errors);
	check_pods(errors, at, spec);
	check_not_negative(errors, WHERE(at, "minReadySeconds"), json_gets(spec, "minReadySeconds"));
	check_strategy(errors, WHERE(at, "updateStrategy"), json_gets(spec, "updateStrategy"));
	check_not_negative(errors, WHERE(at, "revisionHistoryLimit"), json_gets(spec, "revisionHistoryLimit"));
}

void daemon_set_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	check_fixed(errors, WHERE(WHERE(NULL, "spec"), "selector"), json_gets(object_spec(o), "selector"),
		json_gets(object_spec(old), "selector"));
	daemon_set_validate(o, errors);
}

void daemon_set_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const counts[] = {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
		"numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
		"collisionCount", NULL};
	check_counts(errors, object_status(o), counts);
	check_collisions(errors, object_status(o), object_status(old));
}
