/* The order of checks is the order of causes in the 422, so it is upstream's, with its duplicates. */
#include "api/workload/replica_rules.h"

#include "api/core/pod_defaults.h"
#include "api/core/pod_validate.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/upstream/upstream.h"
#include "api/workload/shared_rules.h"

#include <assert.h>

static void put_spec(struct object *o, struct json *spec, struct arena *a)
{
	object_set_spec(o, spec, a);
}

static void put_status(struct object *o, const struct type *type, struct arena *a)
{
	object_set_status(o, schema_zero(type, a), a);
}

/* ---- warnings ---- */

#define NAME_ADVICE                                                                                                        \
	"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is " \
	"recommended: "

enum { LABEL_MAX = 63 }; /* characters of a DNS label */

/* All names are subdomains, so what keeps one from being a label is its length or its dots. */
size_t warn_of_name(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	assert(!old || o->kind == old->kind);
	bool is_long = o->meta.name.n > LABEL_MAX, has_dots = str_contains(o->meta.name, STR("."));
	if (old || (!is_long && !has_dots)) {
		return 0;
	}
	if (is_long && has_dots) {
		ret[0] = STR(NAME_ADVICE "[must be no more than 63 characters must not contain dots]");
	} else {
		ret[0] = is_long ? STR(NAME_ADVICE "[must be no more than 63 characters]")
				 : STR(NAME_ADVICE "[must not contain dots]");
	}
	return 1;
}

/* ---- ReplicaSet ---- */

static struct json *with_template_defaults(const struct type *type, struct json *spec, struct arena *a)
{
	const struct json *template = json_gets(spec, "template");
	return template ? schema_with(type, spec, "template", pod_template_defaults(template, a), a) : spec;
}

void replica_set_set_defaults(struct object *o, struct arena *a)
{
	put_spec(o, with_template_defaults(&type_apps_replica_set_spec, object_spec(o), a), a);
}

void replica_set_prepare_create(struct object *o, struct arena *a)
{
	put_status(o, &type_apps_replica_set_status, a);
}

static void check_template(struct field_errors *e, const struct where *at, const struct json *spec,
	const struct label_selector *selector, const char *no_deadline)
{
	const struct json *template = json_gets(spec, "template"), *given = json_gets(spec, "selector");
	const struct json *labels = json_gets(json_gets(template, "metadata"), "labels");
	bool takes_all = json_is(given, JSON_OBJECT) && selector->n == 0;
	if (!takes_all && !selector_takes(given, selector, labels, e->arena)) {
		refuse_invalid(
			e, WHERE(WHERE(at, "metadata"), "labels"), labels, "`selector` does not match template `labels`");
	}
	pod_template_validate(at, template, e);
	check_pods_run_on(e, at, template, no_deadline);
}

/* Upstream's texts speak of ReplicaSets where it is a Deployment, and the other way round. */
static void check_pods(struct field_errors *e, const struct where *at, const struct json *spec)
{
	static const struct selector_texts texts = {
		.empty = "empty selector is invalid for deployment", .invalid = "invalid label selector"};
	const struct json *given = json_gets(spec, "selector");
	const struct where *selector_at = WHERE(at, "selector");
	struct label_selector selector;
	if (!json_is(given, JSON_OBJECT)) {
		refuse_absent(e, selector_at, "");
	}
	if (check_workload_selector(e, selector_at, given, &texts, &selector)) {
		check_template(
			e, WHERE(at, "template"), spec, &selector, "activeDeadlineSeconds in ReplicaSet is not Supported");
	}
}

void replica_set_validate(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *spec = object_spec(o);
	check_not_negative(errors, WHERE(at, "replicas"), json_gets(spec, "replicas"));
	check_not_negative(errors, WHERE(at, "minReadySeconds"), json_gets(spec, "minReadySeconds"));
	check_pods(errors, at, spec);
}

static void check_same_selector(const struct object *o, const struct object *old, struct field_errors *errors)
{
	check_fixed(errors, WHERE(WHERE(NULL, "spec"), "selector"), json_gets(object_spec(o), "selector"),
		json_gets(object_spec(old), "selector"));
}

void replica_set_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	replica_set_validate(o, errors);
	check_same_selector(o, old, errors);
}

static const char too_many[] = "cannot be greater than status.replicas";
static const char too_few_ready[] = "cannot be greater than readyReplicas";

void replica_set_validate_status(const struct object *o, const struct object *old _unused_, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const counts[] = {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
		"observedGeneration", "terminatingReplicas", NULL};
	const struct json *status = object_status(o);
	check_counts(errors, status, counts);
	check_at_most(errors, status, "fullyLabeledReplicas", "replicas", too_many);
	check_at_most(errors, status, "readyReplicas", "replicas", too_many);
	check_at_most(errors, status, "availableReplicas", "replicas", too_many);
	check_at_most(errors, status, "availableReplicas", "readyReplicas", too_few_ready);
}

/* ---- Deployment ---- */

/* Once asked the controller to roll back. It was a field of older versions, so the server still reads it as one. */
#define ANNOTATION_ROLLBACK STR("deprecated.deployment.rollback.to")

static struct json *default_strategy(const struct json *given, struct arena *a)
{
	static const char *const shares[] = {"maxUnavailable", "maxSurge"};
	struct json *strategy = json_is(given, JSON_OBJECT) ? json_copy(a, given) : json_object(a);
	struct json *rolling = json_gets(strategy, "rollingUpdate");
	if (!member_text(strategy, "type").n) {
		strategy =
			schema_with(&type_apps_deployment_strategy, strategy, "type", json_string(a, STR("RollingUpdate")), a);
	}
	if (!str_is(member_text(strategy, "type"), "RollingUpdate")) {
		return strategy;
	}
	rolling = rolling ? rolling : json_object(a);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		if (!json_gets(rolling, shares[i])) {
			rolling = schema_with(
				&type_apps_rolling_update_deployment, rolling, shares[i], json_string(a, STR("25%")), a);
		}
	}
	return schema_with(&type_apps_deployment_strategy, strategy, "rollingUpdate", rolling, a);
}

static struct str rollback_of(const struct object *o)
{
	return json_text(json_get(o->meta.annotations, ANNOTATION_ROLLBACK));
}

/* The number as the server writes it; an empty text is none. */
static void settle_rollback(struct object *o, struct arena *a)
{
	int64_t n;
	if (!json_get(o->meta.annotations, ANNOTATION_ROLLBACK)) {
		return;
	}
	if (!rollback_of(o).n) {
		o->meta.annotations = json_copy(a, o->meta.annotations);
		json_remove(o->meta.annotations, ANNOTATION_ROLLBACK);
		o->meta.annotations = o->meta.annotations->n ? o->meta.annotations : NULL;
	} else if (str_to_int64(rollback_of(o), &n)) {
		struct str text = arena_printf(a, "%lld", (long long)n);
		meta_set_annotation(&o->meta, a, ANNOTATION_ROLLBACK, json_string(a, text));
	}
}

void deployment_set_defaults(struct object *o, struct arena *a)
{
	struct json *spec = with_template_defaults(&type_apps_deployment_spec, object_spec(o), a);
	struct json *strategy = default_strategy(json_gets(spec, "strategy"), a);
	settle_rollback(o, a);
	put_spec(o, schema_with(&type_apps_deployment_spec, spec, "strategy", strategy, a), a);
}

void deployment_prepare_create(struct object *o, struct arena *a)
{
	put_status(o, &type_apps_deployment_status, a);
}

bool deployment_bumps_generation(const struct object *o, const struct object *old)
{
	assert(o->kind == old->kind);
	return bumps_generation_of_spec(o, old) || !is_same_value(o->meta.annotations, old->meta.annotations);
}

const char *const deployment_status_resets[] = {"spec", "metadata.labels", NULL};

void deployment_merge_status(struct object *stored, const struct object *sent, struct arena *a)
{
	assert(stored->kind == sent->kind);
	struct json *labels = stored->meta.labels;
	merge_status(stored, sent, a);
	stored->meta.labels = labels;
}

static void check_rolling_update(struct field_errors *e, const struct where *at, const struct json *rolling)
{
	const struct json *unavailable = json_gets(rolling, "maxUnavailable"), *surge = json_gets(rolling, "maxSurge");
	check_share(e, WHERE(at, "maxUnavailable"), unavailable);
	check_share(e, WHERE(at, "maxSurge"), surge);
	if (share_value(unavailable) == 0 && share_value(surge) == 0) {
		refuse_invalid(e, WHERE(at, "maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0");
	}
	check_share_fits(e, WHERE(at, "maxUnavailable"), unavailable);
}

static void check_strategy(struct field_errors *e, const struct where *at, const struct json *strategy)
{
	static const char *const types[] = {"Recreate", "RollingUpdate", NULL};
	static const char *const members[] = {"maxUnavailable", "maxSurge", NULL};
	const struct json *rolling = json_gets(strategy, "rollingUpdate");
	struct str type = member_text(strategy, "type");
	if (str_is(type, "RollingUpdate")) {
		check_rolling_update(e, WHERE(at, "rollingUpdate"), rolling);
	} else if (!str_is(type, "Recreate")) {
		refuse_unsupported_value(e, at, strategy_in_go(strategy, members, e->arena), types);
	} else if (rolling) {
		refuse_forbidden(e, WHERE(at, "rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'");
	}
}

static void check_rollback(const struct object *o, struct field_errors *e)
{
	int64_t n;
	if (!rollback_of(o).n) {
		return;
	}
	if (!str_to_int64(rollback_of(o), &n)) {
		refuse_text(e, WHERE_KEY(WHERE(WHERE(NULL, "metadata"), "annotations"), ANNOTATION_ROLLBACK), rollback_of(o),
			"must be a decimal number of 64 bits");
	} else if (n < 0) {
		check_not_negative(e, WHERE(WHERE(WHERE(NULL, "spec"), "rollback"), "version"), json_int(e->arena, n));
	}
}

static void check_deadline(struct field_errors *e, const struct where *at, const struct json *spec)
{
	const struct json *deadline = json_gets(spec, "progressDeadlineSeconds");
	check_not_negative(e, at, deadline);
	if (deadline && member_int(spec, "progressDeadlineSeconds") <= member_int(spec, "minReadySeconds")) {
		refuse_invalid(e, at, deadline, "must be greater than minReadySeconds");
	}
}

void deployment_validate(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *spec = object_spec(o);
	check_not_negative(errors, WHERE(at, "replicas"), json_gets(spec, "replicas"));
	check_pods(errors, at, spec);
	check_strategy(errors, WHERE(at, "strategy"), json_gets(spec, "strategy"));
	check_not_negative(errors, WHERE(at, "minReadySeconds"), json_gets(spec, "minReadySeconds"));
	check_not_negative(errors, WHERE(at, "revisionHistoryLimit"), json_gets(spec, "revisionHistoryLimit"));
	check_rollback(o, errors);
	check_deadline(errors, WHERE(at, "progressDeadlineSeconds"), spec);
}

void deployment_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	deployment_validate(o, errors);
	check_same_selector(o, old, errors);
}

void deployment_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const counts[] = {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
		"availableReplicas", "unavailableReplicas", "terminatingReplicas", "collisionCount", NULL};
	const struct json *status = object_status(o);
	check_counts(errors, status, counts);
	check_at_most(errors, status, "updatedReplicas", "replicas", too_many);
	check_at_most(errors, status, "readyReplicas", "replicas", too_many);
	check_at_most(errors, status, "availableReplicas", "replicas", too_many);
	check_at_most(errors, status, "availableReplicas", "readyReplicas", too_few_ready);
	check_collisions(errors, status, object_status(old));
}

/* ---- ReplicationController ---- */

/* A ReplicationController has only pods of its template. So the template says which labels to select, and which to have. */
void replication_controller_set_defaults(struct object *o, struct arena *a)
{
	struct json *spec = with_template_defaults(&type_replication_controller_spec, object_spec(o), a);
	struct json *labels = json_gets(json_gets(json_gets(spec, "template"), "metadata"), "labels");
	if (labels && member_count(spec, "selector") == 0) {
		spec = schema_with(&type_replication_controller_spec, spec, "selector", labels, a);
	}
	if (labels && !o->meta.labels) {
		o->meta.labels = json_copy(a, labels);
	}
	put_spec(o, spec, a);
}

void replication_controller_prepare_create(struct object *o, struct arena *a)
{
	put_status(o, &type_replication_controller_status, a);
}

static bool has_labels(const struct json *labels, const struct json *wanted)
{
	for (uint32_t i = 0; wanted && i < wanted->n; i++) {
		const struct json *value = json_get(labels, wanted->members[i].name);
		if (!value || !str_eq(json_text(value), json_text(wanted->members[i].value))) {
			return false;
		}
	}
	return true;
}

static void check_controlled(struct field_errors *e, const struct where *at, const struct json *spec)
{
	const struct json *template = json_gets(spec, "template");
	const struct json *labels = json_gets(json_gets(template, "metadata"), "labels");
	if (!json_is(template, JSON_OBJECT)) {
		refuse_absent(e, at, "");
		return;
	}
	if (!has_labels(labels, json_gets(spec, "selector"))) {
		refuse_invalid(
			e, WHERE(WHERE(at, "metadata"), "labels"), labels, "`selector` does not match template `labels`");
	}
	pod_template_validate(at, template, e);
	check_pods_run_on(e, at, template, "activeDeadlineSeconds in ReplicationController is not Supported");
}

void replication_controller_validate(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *spec = object_spec(o);
	check_not_negative(errors, WHERE(at, "minReadySeconds"), json_gets(spec, "minReadySeconds"));
	if (member_count(spec, "selector") == 0) {
		refuse_absent(errors, WHERE(at, "selector"), "");
	}
	check_not_negative(errors, WHERE(at, "replicas"), json_gets(spec, "replicas"));
	check_controlled(errors, WHERE(at, "template"), spec);
}

void replication_controller_validate_update(
	const struct object *o, const struct object *old _unused_, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	replication_controller_validate(o, errors);
}
