/* Defaults and counters happen within the write that stores the object, so nobody ever sees a template
 * without the generation that belongs to it. */
#include "api/workload/set_defaults.h"

#include "api/core/pod_defaults.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/workload/set_forms.h"
#include "api/workload/set_validate.h"

#include <assert.h>

static void put_spec(struct object *o, struct json *spec, struct arena *a)
{
	object_set_spec(o, spec, a);
}

/* ---- defaults ---- */

/* A strategy that a client sends with its type, but without settings, is left without: upstream's controller then goes by the counts of status. */
static struct json *default_strategy(const struct json *given, struct arena *a)
{
	struct json *strategy = json_is(given, JSON_OBJECT) ? json_copy(a, given) : json_object(a);
	struct json *rolling = json_gets(strategy, "rollingUpdate");
	if (!member_text(strategy, "type").n) {
		strategy = schema_with(
			&type_apps_stateful_set_update_strategy, strategy, "type", json_string(a, STR("RollingUpdate")), a);
		rolling = rolling ? rolling : json_object(a);
	}
	bool has_settings = rolling && str_is(member_text(strategy, "type"), "RollingUpdate");
	if (has_settings && !json_gets(rolling, "partition")) {
		rolling = schema_with(&type_apps_rolling_update_stateful_set_strategy, rolling, "partition", json_int(a, 0), a);
	}
	if (has_settings && feature_is_enabled(FEATURE_MAX_UNAVAILABLE_STATEFULSET) && !json_gets(rolling, "maxUnavailable")) {
		rolling = schema_with(
			&type_apps_rolling_update_stateful_set_strategy, rolling, "maxUnavailable", json_int(a, 1), a);
	}
	return schema_with(&type_apps_stateful_set_update_strategy, strategy, "rollingUpdate", rolling, a);
}

static struct json *default_claim_policy(const struct json *given, struct arena *a)
{
	static const char *const halves[] = {"whenDeleted", "whenScaled"};
	struct json *policy = json_is(given, JSON_OBJECT) ? json_copy(a, given) : json_object(a);
	for (size_t i = 0; i < ARRAY_SIZE(halves); i++) {
		if (!member_text(policy, halves[i]).n) {
			policy = schema_with(&type_apps_stateful_set_persistent_volume_claim_retention_policy, policy,
				halves[i], json_string(a, STR("Retain")), a);
		}
	}
	return policy;
}

/* Claims say what they are, whatever clients have them say (upstream's conversion has done so since 1.17). */
static struct json *named_claims(const struct json *claims, struct arena *a)
{
	struct json *named = json_array(a), *claim;
	for (uint32_t i = 0; (claim = list_item(claims, i)); i++) {
		claim = schema_with(
			&type_embedded_persistent_volume_claim, claim, "kind", json_string(a, STR("PersistentVolumeClaim")), a);
		json_append(a, named,
			schema_with(&type_embedded_persistent_volume_claim, claim, "apiVersion", json_string(a, STR("v1")), a));
	}
	return named->n ? named : NULL;
}

static struct json *with_default(struct json *spec, const char *name, struct json *value, struct arena *a)
{
	return json_gets(spec, name) ? spec : schema_with(&type_set_spec, spec, name, value, a);
}

void set_set_defaults(struct object *o, struct arena *a)
{
	struct json *spec = object_spec(o);
	const struct {
		const char *name;
		struct json *value;
	} values[] = {
		{"template", pod_template_defaults(json_gets(spec, "template"), a)},
		{"volumeClaimTemplates", named_claims(json_gets(spec, "volumeClaimTemplates"), a)},
		{"updateStrategy", default_strategy(json_gets(spec, "updateStrategy"), a)},
		{"persistentVolumeClaimRetentionPolicy",
			default_claim_policy(json_gets(spec, "persistentVolumeClaimRetentionPolicy"), a)},
	};
	spec = with_default(spec, "podManagementPolicy", json_string(a, STR("OrderedReady")), a);
	spec = with_default(spec, "replicas", json_int(a, 1), a);
	spec = with_default(spec, "revisionHistoryLimit", json_int(a, 10), a);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		spec = schema_with(&type_set_spec, spec, values[i].name, values[i].value, a);
	}
	put_spec(o, spec, a);
}

/* ---- generations of the template ---- */

/* Decodes and completes a template as this build would. One that an older build stored may lack a
 * default that has come since, which is no change. NULL: it is no template. */
static struct json *template_today(const struct json *template, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;
	struct json *copy, *decoded;
	struct str error;
	size_t at;
	buf_init(&text, SIZE_MAX / 2);
	/* Defaults are filled in place, and others hold the nodes of what is stored. */
	if (!template || !json_encode(&text, template) ||
		json_parse(&copy, a, arena_dup(a, buf_str(&text)), object_stored_limits(), &at) ||
		schema_decode(&decoded, &type_pod_template_spec, copy, a, NULL, &error)) {
		return NULL;
	}
	return pod_template_defaults(decoded, a);
}

static bool is_same_template(const struct json *now, const struct json *before, struct arena *a)
{
	return set_is_same(now, before) || set_is_same(template_today(now, a), template_today(before, a));
}

/* If no generation is stored, the history begins at the first change. */
static struct json *next_generation(const struct json *spec, const struct json *old_spec, struct arena *a)
{
	struct json *present = json_gets(old_spec, "templateGeneration");
	int64_t n = member_int(old_spec, "templateGeneration");
	if (is_same_template(json_gets(spec, "template"), json_gets(old_spec, "template"), a)) {
		return present;
	}
	return json_int(a, n < INT64_MAX ? n + 1 : n);
}

/* ---- preparation ---- */

/* While the feature gate MaxUnavailableStatefulSet is off, the field is kept only where it is there already. */
static struct json *without_max_unavailable(struct json *spec, struct arena *a)
{
	struct json *strategy = json_gets(spec, "updateStrategy"), *rolling = json_gets(strategy, "rollingUpdate");
	if (feature_is_enabled(FEATURE_MAX_UNAVAILABLE_STATEFULSET) || !json_gets(rolling, "maxUnavailable")) {
		return spec;
	}
	rolling = schema_with(&type_apps_rolling_update_stateful_set_strategy, rolling, "maxUnavailable", NULL, a);
	strategy = schema_with(&type_apps_stateful_set_update_strategy, strategy, "rollingUpdate", rolling, a);
	return schema_with(&type_set_spec, spec, "updateStrategy", strategy, a);
}

static bool has_max_unavailable(const struct json *spec)
{
	return json_gets(json_gets(json_gets(spec, "updateStrategy"), "rollingUpdate"), "maxUnavailable") != NULL;
}

/* annals.dev/v1beta1 rolls broken updates back without pods being deleted by hand; upstream waits.
 * At apps/v1 the annotation asks for the same. */
static void annotate(struct object *o, struct json *value, struct arena *a)
{
	if (set_is_beta(o) && value && !json_get(o->meta.annotations, ANNOTATION_REPLACE_BROKEN)) {
		meta_set_annotation(&o->meta, a, ANNOTATION_REPLACE_BROKEN, value);
	}
}

void set_prepare_create(struct object *o, struct arena *a)
{
	struct json *spec = without_max_unavailable(object_spec(o), a);
	put_spec(o, schema_with(&type_set_spec, spec, "templateGeneration", json_int(a, 1), a), a);
	object_set_status(o, schema_zero(&type_set_status, a), a);
	annotate(o, json_string(a, STR("true")), a);
}

void set_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	struct json *spec = object_spec(o), *old_spec = object_spec(old);
	keep_status(o, old, a);
	spec = has_max_unavailable(old_spec) ? spec : without_max_unavailable(spec, a);
	put_spec(o, schema_with(&type_set_spec, spec, "templateGeneration", next_generation(spec, old_spec, a), a), a);
	annotate(o, json_get(old->meta.annotations, ANNOTATION_REPLACE_BROKEN), a);
}
