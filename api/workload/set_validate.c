/* The order of checks is the order of causes in the 422, so it is upstream's, with its duplicates. The
 * texts are compared with a real kube-apiserver's (tests/cluster/cases_statefulsets.py). */
#include "api/workload/set_validate.h"

#include "api/model/members.h"
#include "api/pod/claim_validate.h"
#include "api/pod/pod_schema.h"
#include "api/pod/pod_validate.h"
#include "api/rules/validate.h"
#include "api/rules/where.h"
#include "api/select/selector.h"
#include "api/workload/set_schema.h"

/* What was stored before a rule came is tolerated in updates that cannot change it. */
struct set_check {
	struct field_errors *errors;
	const struct json *spec;
	bool is_beta; /* where the partition has a name of its own */
	bool is_update;
	bool skips_template;
};

bool set_is_same(const struct json *x, const struct json *y)
{
	return (!x && !y) || (x && y && json_equal(x, y));
}

static const struct json *spec_of(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

static const struct json *status_of(const struct object *o)
{
	return json_gets(o->fields, "status");
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

static bool is_percent(struct str s, int64_t *ret)
{
	if (s.n < 2 || s.p[s.n - 1] != '%') {
		return false;
	}
	*ret = 0;
	for (size_t i = 0; i + 1 < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9') {
			return false;
		}
		*ret = MIN(*ret * 10 + (s.p[i] - '0'), INT32_MAX);
	}
	return true;
}

static void check_max_unavailable(const struct set_check *c, const struct where *at, const struct json *max)
{
	int64_t n = 0;
	bool is_text = json_is(max, JSON_STRING), is_share = is_text && is_percent(json_text(max), &n);
	if (!max) {
		return;
	}
	if (is_text && !is_share) {
		refuse_text(c->errors, at, json_text(max),
			"a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
			"regex used for validation is '[0-9]+%')");
	} else if (!is_text) {
		check_not_negative(c->errors, at, max);
		json_to_int64(max, &n);
	}
	if (n == 0) {
		refuse_invalid(c->errors, at, max, "cannot be 0");
	}
	if (is_share && n > 100) {
		refuse_invalid(c->errors, at, max, "must not be greater than 100%");
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

static bool is_set_selector(const struct json *selector)
{
	return json_is(selector, JSON_OBJECT);
}

/* False: it is none, which was said. */
static bool check_selector(const struct set_check *c, const struct where *at, struct label_selector *ret)
{
	const struct json *selector = json_gets(c->spec, "selector");
	struct str problem;
	*ret = (struct label_selector){0};
	if (!is_set_selector(selector)) {
		refuse_absent(c->errors, at, "");
		return true;
	}
	size_t before = c->errors->n;
	check_label_selector(c->errors, at, selector);
	bool is_valid = c->errors->n == before && !label_selector_read(ret, selector, c->errors->arena, &problem);
	if (member_count(selector, "matchLabels") + member_count(selector, "matchExpressions") == 0) {
		refuse_invalid(c->errors, at, selector, "empty selector is invalid for statefulset");
	}
	if (!is_valid) {
		refuse_invalid(c->errors, at, selector, "");
	}
	return is_valid;
}

/* No selector selects nothing, an empty one everything. */
static bool selects(const struct set_check *c, const struct label_selector *selector, const struct json *labels)
{
	const struct label *list;
	size_t n = labels_read(&list, labels, c->errors->arena);
	return is_set_selector(json_gets(c->spec, "selector")) && label_selector_matches(selector, list, n);
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
	if (!selects(c, selector, labels)) {
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

static void check_pod_life(const struct set_check *c, const struct where *at)
{
	static const char *const restarts[] = {"Always", NULL};
	const struct json *spec = json_gets(json_gets(c->spec, "template"), "spec");
	check_choice(c->errors, WHERE(at, "restartPolicy"), member_text(spec, "restartPolicy"), restarts, false);
	if (json_gets(spec, "activeDeadlineSeconds")) {
		refuse_forbidden(
			c->errors, WHERE(at, "activeDeadlineSeconds"), "activeDeadlineSeconds in StatefulSet is not Supported");
	}
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
	check_pod_life(c, WHERE(WHERE(at, "template"), "spec"));
}

void set_validate(const struct object *o, struct field_errors *errors)
{
	const struct set_check c = {.errors = errors, .spec = spec_of(o), .is_beta = set_is_beta(o)};
	check_spec(&c);
	if (c.is_beta) {
		set_validate_beta(o, NULL, errors);
	}
}

static bool was_valid(const struct object *old, struct arena *a)
{
	struct field_errors errors;
	const struct set_check c = {.errors = &errors, .spec = spec_of(old), .is_update = true};
	field_errors_init(&errors, a);
	check_spec(&c);
	return errors.n == 0;
}

static void check_update(const struct object *o, const struct object *old, bool is_beta, struct field_errors *errors)
{
	const struct set_check c = {.errors = errors,
		.spec = spec_of(o),
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

static void check_fixed(const struct object *o, const struct object *old, struct field_errors *errors)
{
	for (const struct field *f = type_set_spec.fields; f->name; f++) {
		if (is_fixed(f->name) && !set_is_same(json_gets(spec_of(o), f->name), json_gets(spec_of(old), f->name))) {
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
	bool is_beta = set_is_beta(o);
	check_update(o, old, is_beta, errors);
	if (is_beta) {
		set_validate_beta(o, old, errors);
		set_validate_beta_fixed(o, old, errors);
	} else {
		check_fixed(o, old, errors);
	}
}

void set_validate_scale(const struct object *o, const struct object *old, struct field_errors *errors)
{
	check_update(o, old, false, errors);
}

/* ---- status ---- */

static void check_at_most(
	const struct json *status, const char *name, const char *limit, const char *message, struct field_errors *errors)
{
	if (member_int(status, name) > member_int(status, limit)) {
		refuse_invalid(errors, WHERE_NAMED(WHERE(NULL, "status"), name),
			json_int(errors->arena, member_int(status, name)), message);
	}
}

void set_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	static const char *const numbers[] = {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
		"availableReplicas", "observedGeneration", "collisionCount", "templateGeneration", "targetTemplateGeneration"};
	static const char *const counts[] = {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"};
	const struct json *status = status_of(o);
	const struct where *at = WHERE(NULL, "status");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		check_not_negative(errors, WHERE_NAMED(at, numbers[i]), json_gets(status, numbers[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		check_at_most(status, counts[i], "replicas", "cannot be greater than status.replicas", errors);
	}
	check_at_most(status, "availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas", errors);
	int64_t collisions = member_int(status, "collisionCount");
	if (json_gets(status_of(old), "collisionCount") && collisions < member_int(status_of(old), "collisionCount")) {
		refuse_invalid(
			errors, WHERE(at, "collisionCount"), json_int(errors->arena, collisions), "cannot be decremented");
	}
}
