/* The forms of a StatefulSet at its versions, and the way between each form and the hub form, which is stored. Both show the hub form with
 * members left out or moved. A version has no say in what it cannot show: that value stays as it is stored. */
#include "api/workload/set_forms.h"

#include "api/model/members.h"

/* The form of StatefulSets at annals.dev/v1beta1. Fields that it shares with apps/v1 have upstream's numbers.
 * Fields about the history have none, as this group is JSON alone. The other forms are in api/upstream
 * (apps-v1.words). */

#define BETA_OBJECT(name, text) \
	.kind = TYPE_OBJECT, .definition = "dev.annals.v1beta1." name, .go_type = "v1beta1." name, .doc = text

static const struct type list_claims = {.kind = TYPE_LIST, .elem = &type_embedded_persistent_volume_claim};

static const struct type type_spec_beta = {
	BETA_OBJECT("StatefulSetSpec", "What a StatefulSet is to be."),
	.fields =
		(const struct field[]){
			{"replicas", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"How many pods there shall be; 1 if absent.", NULL, NULL},
			{"selector", &type_label_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"Which pods are the set's; at creation, if absent, those with the template's labels.", NULL,
				NULL},
			{"template", &type_pod_template_spec, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
				"What the pods are to be.", NULL, NULL},
			{"volumeClaimTemplates", &list_claims, FIELD_NUMBER(4),
				"Claims of storage that each pod gets, and finds again.", NULL, NULL},
			{"serviceName", &type_string, FIELD_ALWAYS | FIELD_NUMBER(5),
				"The service under which the pods have names.", NULL, NULL},
			{"templateGeneration", &type_int64, FIELD_KEEP_EMPTY,
				"Counts the changes of the template. The server's: what clients send is not looked at.", NULL,
				NULL},
			{"generationPartition", &type_int32, FIELD_KEEP_EMPTY,
				"Pods with lower ordinals stay of the current generation; absent is 0.", NULL, NULL},
			{"revisionHistoryLimit", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(8),
				"How many revisions are kept, at least 2; 10 if absent.", NULL, NULL},
			{0},
		},
};

const struct type type_set_beta = {
	BETA_OBJECT("StatefulSet", "Pods that differ in their ordinals alone, each with a name and storage that it keeps."),
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_spec_beta, FIELD_ALWAYS | FIELD_NUMBER(2), "What the set is to be.", NULL, NULL},
			{"status", &type_set_status_beta, FIELD_ALWAYS | FIELD_NUMBER(3), "What became of it.", NULL, NULL},
			{0},
		},
};

static const char *const beta_spec[] = {
	"replicas", "selector", "template", "volumeClaimTemplates", "serviceName", "revisionHistoryLimit"};
static const char *const generations[] = {"templateGeneration", "targetTemplateGeneration"};

static struct json *with_parts(const struct json *object, struct json *spec, struct json *status, struct arena *a)
{
	struct json *changed = json_copy(a, object);
	json_set(a, changed, STR("spec"), spec);
	json_set(a, changed, STR("status"), status);
	return changed;
}

static struct json *part_of(const struct json *object, const char *name, struct arena *a)
{
	struct json *part = json_gets(object, name);
	return json_is(part, JSON_OBJECT) ? part : json_object(a);
}

/* In the order of the type's fields. */
static struct json *with_member(
	const struct type *type, struct json *object, const char *name, const struct json *from, struct arena *a)
{
	return schema_with(type, object, name, json_gets(from, name), a);
}

/* ---- apps/v1 ---- */

static struct json *without_generations(const struct json *part, struct arena *a)
{
	struct json *rest = json_copy(a, part);
	for (size_t i = 0; i < ARRAY_SIZE(generations); i++) {
		json_remove(rest, str_of(generations[i]));
	}
	return rest;
}

struct json *set_apps_from_hub(const struct json *hub, struct arena *a)
{
	return with_parts(
		hub, without_generations(part_of(hub, "spec", a), a), without_generations(part_of(hub, "status", a), a), a);
}

struct json *set_apps_to_hub(const struct json *sent, const struct json *stored, struct arena *a)
{
	const struct json *old_spec = json_gets(stored, "spec"), *old_status = json_gets(stored, "status");
	struct json *spec = part_of(sent, "spec", a), *status = part_of(sent, "status", a);
	spec = with_member(&type_set_spec, spec, "templateGeneration", old_spec, a);
	for (size_t i = 0; i < ARRAY_SIZE(generations); i++) {
		status = with_member(&type_set_status, status, generations[i], old_status, a);
	}
	return with_parts(sent, spec, status, a);
}

/* ---- annals.dev/v1beta1 ---- */

static struct json *partition_of(const struct json *spec)
{
	return json_gets(json_gets(json_gets(spec, "updateStrategy"), "rollingUpdate"), "partition");
}

static bool is_same(const struct json *x, const struct json *y)
{
	return (!x && !y) || json_equal(x, y);
}

static bool is_complete(const struct json *status)
{
	return is_same(json_gets(status, "templateGeneration"), json_gets(status, "targetTemplateGeneration")) &&
		str_eq(member_text(status, "currentRevision"), member_text(status, "updateRevision"));
}

static struct json *shown_status(struct json *status, struct arena *a)
{
	bool is_hidden = is_complete(status) && json_gets(status, "updatedReplicas");
	return is_hidden ? schema_with(&type_set_status, status, "updatedReplicas", NULL, a) : status;
}

struct json *set_beta_from_hub(const struct json *hub, struct arena *a)
{
	const struct json *spec = part_of(hub, "spec", a);
	struct json *beta = json_object(a);
	const struct {
		const char *name;
		struct json *value;
	} members[] = {
		{"replicas", json_gets(spec, "replicas")},
		{"selector", json_gets(spec, "selector")},
		{"template", json_gets(spec, "template")},
		{"volumeClaimTemplates", json_gets(spec, "volumeClaimTemplates")},
		{"serviceName", json_gets(spec, "serviceName")},
		{"templateGeneration", json_gets(spec, "templateGeneration")},
		{"generationPartition", partition_of(spec)},
		{"revisionHistoryLimit", json_gets(spec, "revisionHistoryLimit")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (members[i].value && members[i].value->kind != JSON_NULL) {
			json_add(a, beta, str_of(members[i].name), members[i].value);
		}
	}
	return with_parts(hub, beta, shown_status(part_of(hub, "status", a), a), a);
}

/* The strategy with that partition. Where it was the partition alone that made it say more than its type, the type alone is left: an update
 * without a partition is one by the counts of status (docs/explanation/statefulsets.md). */
static struct json *with_partition(const struct json *strategy, struct json *partition, struct arena *a)
{
	struct json *rolling = json_gets(strategy, "rollingUpdate");
	struct json *changed = strategy ? json_copy(a, strategy) : json_object(a);
	if (!member_text(strategy, "type").n) {
		changed = schema_with(
			&type_apps_stateful_set_update_strategy, changed, "type", json_string(a, STR("RollingUpdate")), a);
	}
	rolling = schema_with(
		&type_apps_rolling_update_stateful_set_strategy, rolling ? rolling : json_object(a), "partition", partition, a);
	return schema_with(&type_apps_stateful_set_update_strategy, changed, "rollingUpdate", rolling->n ? rolling : NULL, a);
}

static struct json *strategy_to_hub(const struct json *beta, const struct json *old_spec, struct arena *a)
{
	struct json *partition = json_gets(beta, "generationPartition"), *old = json_gets(old_spec, "updateStrategy");
	return old && is_same(partition, partition_of(old_spec)) ? old : with_partition(old, partition, a);
}

/* Manifests of annals.dev/v1beta1 need no selector: it is made from the labels of the template. */
static struct json *default_selector(const struct json *beta, struct arena *a)
{
	struct json *labels = json_gets(json_gets(json_gets(beta, "template"), "metadata"), "labels");
	struct json *selector = labels ? json_object(a) : NULL;
	if (selector) {
		json_add(a, selector, STR("matchLabels"), labels);
	}
	return selector;
}

static struct json *spec_to_hub(const struct json *beta, const struct json *old_spec, struct arena *a)
{
	struct json *spec = old_spec ? json_copy(a, old_spec) : json_object(a);
	for (size_t i = 0; i < ARRAY_SIZE(beta_spec); i++) {
		spec = with_member(&type_set_spec, spec, beta_spec[i], beta, a);
	}
	if (!json_gets(beta, "selector")) {
		struct json *selector = old_spec ? json_gets(old_spec, "selector") : default_selector(beta, a);
		spec = schema_with(&type_set_spec, spec, "selector", selector ? selector : json_null(a), a);
	}
	return schema_with(&type_set_spec, spec, "updateStrategy", strategy_to_hub(beta, old_spec, a), a);
}

/* Is `sent`, but for what it says of conditions and the like, what was shown of `old`? */
static bool has_counts_as_shown(const struct json *sent, const struct json *old)
{
	static const char *const counts[] = {"replicas", "currentReplicas", "currentRevision", "updateRevision"};
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (!is_same(json_gets(sent, counts[i]), json_gets(old, counts[i]))) {
			return false;
		}
	}
	return is_complete(sent) && is_complete(old) && !json_gets(sent, "updatedReplicas");
}

/* A client that was shown no updatedReplicas, and sends the status back, does not set it to 0. */
static struct json *status_to_hub(struct json *sent, const struct json *old, struct arena *a)
{
	return old && has_counts_as_shown(sent, old) ? with_member(&type_set_status, sent, "updatedReplicas", old, a) : sent;
}

struct json *set_beta_to_hub(const struct json *sent, const struct json *stored, struct arena *a)
{
	struct json *spec = spec_to_hub(part_of(sent, "spec", a), json_gets(stored, "spec"), a);
	return with_parts(sent, spec, status_to_hub(part_of(sent, "status", a), json_gets(stored, "status"), a), a);
}
