/* Validation of StatefulSets. The order of checks is the order of causes in the 422, so it is
 * upstream's, with its duplicates. The rules of annals.dev/v1beta1 are at the end. */
#include "api/workload/set_validate.h"

#include "api/core/pod_validate.h"
#include "api/model/members.h"
#include "api/rules/validate.h"
#include "api/rules/where.h"
#include "api/upstream/upstream.h"
#include "api/workload/set_forms.h"
#include "api/workload/shared_rules.h"

#include <assert.h>

/* A validation. An update tolerates values stored before a rule came, where it cannot change
 * them. */
struct set_check {
	struct field_errors *errors;
	const struct json *spec;
	bool is_beta; /* where the partition has a name of its own */
	bool is_update;
	bool skips_template;
};

bool set_is_same(const struct json *x, const struct json *y)
{
	return is_same_value(x, y);
}

/* ---- strategies ---- */

static const struct json *or_null(const struct json *j, struct arena *a)
{
	return j ? j : json_null(a);
}

/* Upstream's own form of these structs has no names for JSON, so its messages show Go's. */
static struct json *go_rolling_update(const struct json *rolling, struct arena *a)
{
	struct json *shown = json_object(a);
	json_add(a, shown, STR("Partition"), json_int(a, member_int(rolling, "partition")));
	json_add(a, shown, STR("MaxUnavailable"), (struct json *)or_null(json_gets(rolling, "maxUnavailable"), a));
	return shown;
}

static struct json *go_strategy(const struct json *strategy, struct arena *a)
{
	const struct json *rolling = json_gets(strategy, "rollingUpdate");
	struct json *shown = json_object(a);
	json_add(a, shown, STR("Type"), json_string(a, member_text(strategy, "type")));
	json_add(a, shown, STR("RollingUpdate"), rolling ? go_rolling_update(rolling, a) : json_null(a));
	return shown;
}

static void check_max_unavailable(const struct set_check *c, const struct where *at, const struct json *max)
{
	if (max) {
		check_share(c->errors, at, max);
		if (share_value(max) == 0) {
			refuse_invalid(c->errors, at, max, "cannot be 0");
		}
		check_share_fits(c->errors, at, max);
	}
}

static void check_rolling_update(const struct set_check *c, const struct where *at, const struct json *rolling)
{
	if (!c->is_beta) {
		check_not_negative(c->errors, WHERE(at, "partition"), json_gets(rolling, "partition"));
	}
	check_max_unavailable(c, WHERE(at, "maxUnavailable"), json_gets(rolling, "maxUnavailable"));
}

static void check_strategy(const struct set_check *c, const struct where *at)
{
	const struct json *strategy = json_gets(c->spec, "updateStrategy"), *rolling = json_gets(strategy, "rollingUpdate");
	struct str type = member_text(strategy, "type");
	struct arena *a = c->errors->arena;
	if (!type.n) {
		refuse_absent(c->errors, at, "");
	} else if (str_is(type, "OnDelete")) {
		if (rolling && !c->is_beta) {
			refuse_invalid(c->errors, WHERE(at, "rollingUpdate"), go_rolling_update(rolling, a),
				"only allowed for updateStrategy 'RollingUpdate'");
		}
	} else if (str_is(type, "RollingUpdate")) {
		check_rolling_update(c, WHERE(at, "rollingUpdate"), rolling);
	} else {
		refuse_invalid(c->errors, at, go_strategy(strategy, a), "must be 'RollingUpdate' or 'OnDelete'");
	}
}

static void check_management(const struct set_check *c, const struct where *at)
{
	struct str policy = member_text(c->spec, "podManagementPolicy");
	if (!policy.n) {
		refuse_absent(c->errors, at, "");
	} else if (!str_is(policy, "OrderedReady") && !str_is(policy, "Parallel")) {
		refuse_text(c->errors, at, policy, "must be 'OrderedReady' or 'Parallel'");
	}
}

static void check_claim_policy(const struct set_check *c, const struct where *at)
{
	static const char *const choices[] = {"Retain", "Delete", NULL};
	const struct json *policy = json_gets(c->spec, "persistentVolumeClaimRetentionPolicy");
	if (policy) {
		check_choice(c->errors, WHERE(at, "whenDeleted"), member_text(policy, "whenDeleted"), choices, false);
		check_choice(c->errors, WHERE(at, "whenScaled"), member_text(policy, "whenScaled"), choices, false);
	}
}

static void check_claims(const struct set_check *c, const struct where *at)
{
	const struct json *claims = json_gets(c->spec, "volumeClaimTemplates"), *claim;
	for (uint32_t i = 0; (claim = list_item(claims, i)); i++) {
		claim_spec_validate(WHERE(WHERE_ITEM(at, i), "spec"), json_gets(claim, "spec"), c->errors);
	}
}

static void check_numbers(const struct set_check *c, const struct where *at)
{
	check_not_negative(c->errors, WHERE(at, "replicas"), json_gets(c->spec, "replicas"));
	check_not_negative(c->errors, WHERE(at, "minReadySeconds"), json_gets(c->spec, "minReadySeconds"));
	check_not_negative(c->errors, WHERE(at, "ordinals.start"), json_gets(json_gets(c->spec, "ordinals"), "start"));
}

/* ---- selector and template ---- */

/* False: it is none, which was said. */
static bool check_selector(const struct set_check *c, const struct where *at, struct label_selector *ret)
{
	static const struct selector_texts texts = {.empty = "empty selector is invalid for statefulset", .invalid = ""};
	const struct json *selector = json_gets(c->spec, "selector");
	if (!json_is(selector, JSON_OBJECT)) {
		refuse_absent(c->errors, at, "");
	}
	return check_workload_selector(c->errors, at, selector, &texts, ret);
}

static struct json *claim_volume(struct str name, struct arena *a)
{
	struct json *volume = json_object(a), *claim = json_object(a);
	json_add(a, claim, STR("claimName"), json_string(a, name));
	json_add(a, volume, STR("name"), json_string(a, name));
	json_add(a, volume, STR("persistentVolumeClaim"), claim);
	return volume;
}

/* A volume for each name of a claim template, of equal ones one; then those of the pod that have other names. */
static struct json *volumes_with_claims(const struct json *claims, const struct json *volumes, struct arena *a)
{
	struct json *all = json_array(a), *item;
	struct map seen;
	map_init(&seen, json_is(claims, JSON_ARRAY) ? claims->n : 0);
	for (uint32_t i = 0; (item = list_item(claims, i)); i++) {
		struct str name = member_text(json_gets(item, "metadata"), "name");
		if (!map_get(&seen, name)) {
			map_set(&seen, name, item, NULL);
			json_append(a, all, claim_volume(name, a));
		}
	}
	for (uint32_t i = 0; (item = list_item(volumes, i)); i++) {
		if (!map_get(&seen, member_text(item, "name"))) {
			json_append(a, all, item);
		}
	}
	map_done(&seen);
	return all;
}

/* The template as pods will be made of it: host name and domain are the controller's, and claims become volumes. */
static const struct json *template_as_made(const struct json *set_spec, struct arena *a)
{
	const struct json *template = json_gets(set_spec, "template"), *spec = json_gets(template, "spec");
	const struct json *claims = json_gets(set_spec, "volumeClaimTemplates");
	struct json *made = json_copy(a, template);
	struct json *changed = schema_with(&type_pod_spec, spec, "hostname", NULL, a);
	changed = schema_with(&type_pod_spec, changed, "subdomain", NULL, a);
	if (list_item(claims, 0)) {
		struct json *volumes = volumes_with_claims(claims, json_gets(spec, "volumes"), a);
		changed = schema_with(&type_pod_spec, changed, "volumes", volumes, a);
	}
	json_set(a, made, STR("spec"), changed);
	return made;
}

static void check_template(const struct set_check *c, const struct where *at, const struct label_selector *selector)
{
	const struct json *template = json_gets(c->spec, "template"), *metadata = json_gets(template, "metadata");
	const struct json *labels = json_gets(metadata, "labels");
	if (!selector_takes(json_gets(c->spec, "selector"), selector, labels, c->errors->arena)) {
		refuse_invalid(c->errors, WHERE(WHERE(at, "metadata"), "labels"), labels,
			"`selector` does not match template `labels`");
	}
	if (!c->skips_template) {
		pod_template_validate(at, template_as_made(c->spec, c->errors->arena), c->errors);
	}
	check_labels(c->errors, WHERE(at, "labels"), labels);
	validate_annotations(
		where_path(WHERE(at, "annotations"), c->errors->arena), json_gets(metadata, "annotations"), c->errors);
}

/* ---- spec ---- */

static void check_spec(const struct set_check *c)
{
	const struct where *at = WHERE(NULL, "spec");
	struct str service = member_text(c->spec, "serviceName");
	struct label_selector selector;
	check_management(c, WHERE(at, "podManagementPolicy"));
	check_strategy(c, WHERE(at, "updateStrategy"));
	check_claim_policy(c, WHERE(at, "persistentVolumeClaimRetentionPolicy"));
	if (!c->is_update) {
		check_claims(c, WHERE(at, "volumeClaimTemplates"));
	}
	check_numbers(c, at);
	if (!c->is_update && service.n) {
		check_text(c->errors, WHERE(at, "serviceName"), service, validate_dns_label);
	}
	if (check_selector(c, WHERE(at, "selector"), &selector)) {
		check_template(c, WHERE(at, "template"), &selector);
	}
	check_pods_run_on(c->errors, WHERE(at, "template"), json_gets(c->spec, "template"),
		"activeDeadlineSeconds in StatefulSet is not Supported");
}

void set_validate(const struct object *o, struct field_errors *errors)
{
	const struct set_check c = {.errors = errors, .spec = object_spec(o), .is_beta = set_is_beta(o)};
	check_spec(&c);
	if (c.is_beta) {
		set_validate_beta(o, NULL, errors);
	}
}

static bool was_valid(const struct object *old, struct arena *a)
{
	struct field_errors errors;
	const struct set_check c = {.errors = &errors, .spec = object_spec(old), .is_update = true};
	field_errors_init(&errors, a);
	check_spec(&c);
	return errors.n == 0;
}

static void check_update(const struct object *o, const struct object *old, bool is_beta, struct field_errors *errors)
{
	const struct set_check c = {.errors = errors,
		.spec = object_spec(o),
		.is_beta = is_beta,
		.is_update = true,
		.skips_template = !was_valid(old, errors->arena)};
	check_spec(&c);
}

static bool is_fixed(const char *name)
{
	static const char *const changeable[] = {"replicas", "ordinals", "template", "updateStrategy", "minReadySeconds",
		"revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "templateGeneration"};
	for (size_t i = 0; i < ARRAY_SIZE(changeable); i++) {
		if (strcmp(name, changeable[i]) == 0) {
			return false;
		}
	}
	return true;
}

static void set_check_fixed(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	for (const struct field *f = type_set_spec.fields; f->name; f++) {
		if (is_fixed(f->name) &&
			!set_is_same(json_gets(object_spec(o), f->name), json_gets(object_spec(old), f->name))) {
			refuse_forbidden(errors, WHERE(NULL, "spec"),
				"updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
				"'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
				"'minReadySeconds' are forbidden");
			return;
		}
	}
}

void set_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	bool is_beta = set_is_beta(o);
	check_update(o, old, is_beta, errors);
	if (is_beta) {
		set_validate_beta(o, old, errors);
		set_validate_beta_fixed(o, old, errors);
	} else {
		set_check_fixed(o, old, errors);
	}
}

void set_validate_scale(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	check_update(o, old, false, errors);
}

/* ---- status ---- */

void set_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const numbers[] = {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
		"availableReplicas", "observedGeneration", "collisionCount", "templateGeneration", "targetTemplateGeneration",
		NULL};
	static const char *const counts[] = {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"};
	const struct json *status = object_status(o);
	check_counts(errors, status, numbers);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		check_at_most(errors, status, counts[i], "replicas", "cannot be greater than status.replicas");
	}
	check_at_most(errors, status, "availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas");
	check_collisions(errors, status, object_status(old));
}

/* The rules for objects written through annals.dev/v1beta1 itself. They do not apply to its
 * subresources, nor to values set at apps/v1 that stay as they are. Only containers of the template
 * may change here; apps/v1 lets all of it change. */

enum { HISTORY_LIMIT_MIN = 2 };

static const struct json *beta_spec_of(const struct object *o)
{
	return o ? object_spec(o) : NULL;
}

bool set_is_beta(const struct object *o)
{
	return o->version && o->version->type == &type_set_beta;
}

static const struct json *strategy_of(const struct object *o)
{
	return json_gets(beta_spec_of(o), "updateStrategy");
}

static const struct json *partition_of(const struct object *o)
{
	return json_gets(json_gets(strategy_of(o), "rollingUpdate"), "partition");
}

static bool is_written(const struct object *o, const struct object *old, const char *name)
{
	return !old || !set_is_same(json_gets(beta_spec_of(o), name), json_gets(beta_spec_of(old), name));
}

static void check_history_limit(const struct object *o, const struct object *old, struct field_errors *errors)
{
	const struct json *limit = json_gets(beta_spec_of(o), "revisionHistoryLimit");
	if (limit && is_written(o, old, "revisionHistoryLimit") &&
		member_int(beta_spec_of(o), "revisionHistoryLimit") < HISTORY_LIMIT_MIN) {
		refuse_invalid(errors, WHERE(WHERE(NULL, "spec"), "revisionHistoryLimit"), limit,
			"must be greater than or equal to 2");
	}
}

/* Replicas 0 leave no number in the range: there 0 is as good as none. */
static void check_partition(const struct object *o, const struct object *old, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "generationPartition");
	const struct json *partition = partition_of(o);
	bool is_set = !old || !set_is_same(partition, partition_of(old));
	int64_t n, replicas = member_int(beta_spec_of(o), "replicas");
	if (!partition || !json_to_int64(partition, &n) || (!is_set && !is_written(o, old, "replicas"))) {
		return;
	}
	if (n < 0) {
		refuse_invalid(errors, at, partition, "must be greater than or equal to 0");
	} else if (n > 0 && n >= replicas) {
		refuse_invalid(errors, at, partition, "must be less than spec.replicas");
	}
	if (is_set && !str_is(member_text(strategy_of(o), "type"), "RollingUpdate")) {
		refuse_forbidden(errors, at, "only allowed where the update strategy is RollingUpdate");
	}
}

void set_validate_beta(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(!old || o->kind == old->kind);
	check_history_limit(o, old, errors);
	check_partition(o, old, errors);
}

/* ---- what may not change ---- */

static void beta_check_fixed(const struct where *at, const char *name, const struct json *now, const struct json *before,
	struct field_errors *errors)
{
	const struct json *value = json_gets(now, name);
	if (!set_is_same(value, json_gets(before, name))) {
		refuse_invalid(errors, WHERE_NAMED(at, name), value, "field is immutable");
	}
}

/* Checks all members that either has, except one. */
static void check_all_fixed(const struct where *at, const struct json *now, const struct json *before, const char *except,
	struct field_errors *errors)
{
	for (uint32_t i = 0; now && i < now->n; i++) {
		const char *name = arena_dup(errors->arena, now->members[i].name).p;
		if (strcmp(name, except) != 0) {
			beta_check_fixed(at, name, now, before, errors);
		}
	}
	for (uint32_t i = 0; before && i < before->n; i++) {
		const char *name = arena_dup(errors->arena, before->members[i].name).p;
		if (!json_get(now, before->members[i].name) && strcmp(name, except) != 0) {
			beta_check_fixed(at, name, now, before, errors);
		}
	}
}

void set_validate_beta_fixed(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const fixed[] = {"selector", "volumeClaimTemplates", "serviceName"};
	const struct where *at = WHERE(NULL, "spec");
	const struct json *template = json_gets(beta_spec_of(o), "template"),
			  *before = json_gets(beta_spec_of(old), "template");
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		beta_check_fixed(at, fixed[i], beta_spec_of(o), beta_spec_of(old), errors);
	}
	const struct where *template_at = WHERE(at, "template");
	check_all_fixed(
		WHERE(template_at, "metadata"), json_gets(template, "metadata"), json_gets(before, "metadata"), "", errors);
	check_all_fixed(
		WHERE(template_at, "spec"), json_gets(template, "spec"), json_gets(before, "spec"), "containers", errors);
}
