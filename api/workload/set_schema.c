/* Field numbers, order and spelling of apps/v1 are upstream's (generated.proto, types.go). The fields
 * of the history have no numbers: upstream's protobuf knows nothing of them, and annals.dev/v1beta1
 * is JSON alone. */
#include "api/workload/set_schema.h"

#include "api/pod/pod_schema.h"

#define APPS_OBJECT(name, text) \
	.kind = TYPE_OBJECT, .definition = "io.k8s.api.apps.v1." name, .go_type = "v1." name, .doc = text
#define BETA_OBJECT(name, text) \
	.kind = TYPE_OBJECT, .definition = "dev.annals.v1beta1." name, .go_type = "v1beta1." name, .doc = text

/* ---- parts of the spec ---- */

static const struct type type_pod_management_policy = {.kind = TYPE_STRING, .go_type = "v1.PodManagementPolicyType"};
static const struct type type_update_strategy_type = {.kind = TYPE_STRING, .go_type = "v1.StatefulSetUpdateStrategyType"};
static const struct type type_claim_policy_type = {
	.kind = TYPE_STRING, .go_type = "v1.PersistentVolumeClaimRetentionPolicyType"};

const struct type type_set_rolling_update = {
	APPS_OBJECT("RollingUpdateStatefulSetStrategy", "How pods are replaced by updated ones."),
	.fields =
		(const struct field[]){
			{"partition", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"Pods with lower ordinals stay as they are; absent is 0.", NULL, NULL},
			{"maxUnavailable", &type_int_or_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"How many pods, or what percentage, may be unavailable meanwhile. Only where the feature gate "
				"MaxUnavailableStatefulSet is on.",
				NULL, NULL},
			{0},
		},
};

const struct type type_set_update_strategy = {
	APPS_OBJECT("StatefulSetUpdateStrategy", "How pods are brought to a new template."),
	.fields =
		(const struct field[]){
			{"type", &type_update_strategy_type, FIELD_NUMBER(1), "RollingUpdate or OnDelete.", NULL, NULL},
			{"rollingUpdate", &type_set_rolling_update, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"Settings of RollingUpdate.", NULL, NULL},
			{0},
		},
};

const struct type type_set_claim_policy = {
	APPS_OBJECT("StatefulSetPersistentVolumeClaimRetentionPolicy", "What becomes of claims that are no longer used."),
	.fields =
		(const struct field[]){
			{"whenDeleted", &type_claim_policy_type, FIELD_NUMBER(1), "When the set is deleted: Retain or Delete.",
				NULL, NULL},
			{"whenScaled", &type_claim_policy_type, FIELD_NUMBER(2),
				"When the set becomes smaller: Retain or Delete.", NULL, NULL},
			{0},
		},
};

static const struct type type_ordinals = {
	APPS_OBJECT("StatefulSetOrdinals", "How pods are numbered."),
	.fields =
		(const struct field[]){
			{"start", &type_int32, FIELD_ALWAYS | FIELD_NUMBER(1), "Ordinal of the first pod.", NULL, NULL},
			{0},
		},
};

/* A whole claim, but nothing in it is the server's. */
const struct type type_set_claim = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.PersistentVolumeClaim",
	.go_type = "v1.PersistentVolumeClaim",
	.doc = "Storage that is asked for, and the volume that was bound.",
	.fields =
		(const struct field[]){
			{"kind", &type_string, 0, "What kind of object this is.", NULL, NULL},
			{"apiVersion", &type_string, 0, "The version of the API in which the object is written.", NULL, NULL},
			{"metadata", &type_embedded_meta, FIELD_ALWAYS | FIELD_NUMBER(1),
				"What every object has: names, versions, labels, owners.", NULL, NULL},
			{"spec", &type_claim_spec, FIELD_ALWAYS | FIELD_NUMBER(2), "What is asked for.", NULL, NULL},
			{"status", &type_claim_status, FIELD_ALWAYS | FIELD_NUMBER(3), "What became of it.", NULL, NULL},
			{0},
		},
};
static const struct type list_claims = {.kind = TYPE_LIST, .elem = &type_set_claim};

/* ---- spec ---- */

#define REPLICAS                                                                                                           \
	{                                                                                                                  \
		"replicas", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "How many pods there shall be; 1 if absent.", \
			NULL, NULL                                                                                         \
	}
#define SELECTOR(flags, text)                                                                                    \
	{                                                                                                        \
		"selector", &type_label_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(2) | (flags), text, NULL, NULL \
	}
#define TEMPLATE                                                                                       \
	{                                                                                              \
		"template", &type_pod_template_spec, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), \
			"What the pods are to be.", NULL, NULL                                         \
	}
#define CLAIMS                                                                               \
	{                                                                                    \
		"volumeClaimTemplates", &list_claims, FIELD_NUMBER(4),                       \
			"Claims of storage that each pod gets, and finds again.", NULL, NULL \
	}
#define SERVICE                                                                                                              \
	{                                                                                                                    \
		"serviceName", &type_string, FIELD_ALWAYS | FIELD_NUMBER(5), "The service under which the pods have names.", \
			NULL, NULL                                                                                           \
	}
#define HISTORY_LIMIT(text)                                                                               \
	{                                                                                                 \
		"revisionHistoryLimit", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(8), text, NULL, NULL \
	}
#define APPS_SPEC                                                                                                              \
	REPLICAS, SELECTOR(FIELD_ALWAYS | FIELD_MANDATORY, "Which pods are the set's; must match the template's labels."),     \
		TEMPLATE, CLAIMS, SERVICE,                                                                                     \
		{"podManagementPolicy", &type_pod_management_policy, FIELD_NUMBER(6),                                          \
			"OrderedReady: one pod after the other. Parallel: all at once.", NULL, NULL},                          \
		{"updateStrategy", &type_set_update_strategy, FIELD_ALWAYS | FIELD_NUMBER(7),                                  \
			"How pods are brought to a new template.", NULL, NULL},                                                \
		HISTORY_LIMIT("How many revisions that are in no use are kept; 10 if absent, all if negative."),               \
		{"minReadySeconds", &type_int32, FIELD_NUMBER(9), "For how many seconds a pod must be ready to be available.", \
			NULL, NULL},                                                                                           \
		{"persistentVolumeClaimRetentionPolicy", &type_set_claim_policy, FIELD_KEEP_EMPTY | FIELD_NUMBER(10),          \
			"What becomes of claims that are no longer used.", NULL, NULL},                                        \
	{                                                                                                                      \
		"ordinals", &type_ordinals, FIELD_KEEP_EMPTY | FIELD_NUMBER(11), "How pods are numbered.", NULL, NULL          \
	}
#define TEMPLATE_GENERATION                                                                                                 \
	{                                                                                                                   \
		"templateGeneration", &type_int64, FIELD_KEEP_EMPTY,                                                        \
			"Counts the changes of the template. The server's: what clients send is not looked at.", NULL, NULL \
	}

static const struct type type_spec_apps = {
	APPS_OBJECT("StatefulSetSpec", "What a StatefulSet is to be."),
	.fields = (const struct field[]){APPS_SPEC, {0}},
};

const struct type type_set_spec = {
	APPS_OBJECT("StatefulSetSpec", "What a StatefulSet is to be."),
	.fields = (const struct field[]){APPS_SPEC, TEMPLATE_GENERATION, {0}},
};

static const struct type type_spec_beta = {
	BETA_OBJECT("StatefulSetSpec", "What a StatefulSet is to be."),
	.fields =
		(const struct field[]){
			REPLICAS,
			SELECTOR(0, "Which pods are the set's; at creation, if absent, those with the template's labels."),
			TEMPLATE,
			CLAIMS,
			SERVICE,
			TEMPLATE_GENERATION,
			{"generationPartition", &type_int32, FIELD_KEEP_EMPTY,
				"Pods with lower ordinals stay of the current generation; absent is 0.", NULL, NULL},
			HISTORY_LIMIT("How many revisions are kept, at least 2; 10 if absent."),
			{0},
		},
};

/* ---- status ---- */

static const struct type type_condition_type = {.kind = TYPE_STRING, .go_type = "v1.StatefulSetConditionType"};
static const struct type type_condition_status = {.kind = TYPE_STRING, .go_type = "v1.ConditionStatus"};

static const struct type type_set_condition = {
	APPS_OBJECT("StatefulSetCondition", "One thing that was observed about a StatefulSet."),
	.fields =
		(const struct field[]){
			{"type", &type_condition_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "What was observed.",
				NULL, NULL},
			{"status", &type_condition_status, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Whether it holds: True, False or Unknown.", NULL, NULL},
			{"lastTransitionTime", &type_time, FIELD_ALWAYS | FIELD_NUMBER(3), "When the status last changed.",
				NULL, NULL},
			{"reason", &type_string, FIELD_NUMBER(4), "Why, as one word for programs.", NULL, NULL},
			{"message", &type_string, FIELD_NUMBER(5), "Why, as a sentence for people.", NULL, NULL},
			{0},
		},
};
static const struct type list_set_conditions = {
	.kind = TYPE_LIST,
	.elem = &type_set_condition,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"type", NULL},
};

#define APPS_STATUS                                                                                                           \
	{"observedGeneration", &type_int64, FIELD_NUMBER(1), "metadata.generation of what was looked at.", NULL, NULL},       \
		{"replicas", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "How many pods there are.", NULL, \
			NULL},                                                                                                \
		{"readyReplicas", &type_int32, FIELD_NUMBER(3), "How many of them are ready.", NULL, NULL},                   \
		{"currentReplicas", &type_int32, FIELD_NUMBER(4), "How many of them are of the current revision.", NULL,      \
			NULL},                                                                                                \
		{"updatedReplicas", &type_int32, FIELD_NUMBER(5), "How many of them are of the revision that is rolled out.", \
			NULL, NULL},                                                                                          \
		{"currentRevision", &type_string, FIELD_NUMBER(6), "Name of the current revision.", NULL, NULL},              \
		{"updateRevision", &type_string, FIELD_NUMBER(7), "Name of the revision that is rolled out.", NULL, NULL},    \
		{"collisionCount", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(9),                                           \
			"How often the name of a new revision was taken.", NULL, NULL},                                       \
		{"conditions", &list_set_conditions, FIELD_PATCH_MERGE | FIELD_NUMBER(10),                                    \
			"What was observed, one for each type.", "type", NULL},                                               \
	{                                                                                                                     \
		"availableReplicas", &type_int32, FIELD_ALWAYS | FIELD_NUMBER(11),                                            \
			"How many pods have been ready for minReadySeconds.", NULL, NULL                                      \
	}
#define GENERATIONS                                                                                                   \
	{"templateGeneration", &type_int64, FIELD_KEEP_EMPTY, "The current generation of the template.", NULL, NULL}, \
	{                                                                                                             \
		"targetTemplateGeneration", &type_int64, FIELD_KEEP_EMPTY,                                            \
			"The generation of the template that is rolled out.", NULL, NULL                              \
	}

static const struct type type_status_apps = {
	APPS_OBJECT("StatefulSetStatus", "What became of a StatefulSet."),
	.fields = (const struct field[]){APPS_STATUS, {0}},
};

const struct type type_set_status = {
	APPS_OBJECT("StatefulSetStatus", "What became of a StatefulSet."),
	.fields = (const struct field[]){APPS_STATUS, GENERATIONS, {0}},
};

static const struct type type_status_beta = {
	BETA_OBJECT("StatefulSetStatus", "What became of a StatefulSet. Shows no updatedReplicas once an update is complete."),
	.fields = (const struct field[]){APPS_STATUS, GENERATIONS, {0}},
};

/* ---- whole objects ---- */

#define SET_FIELDS(spec_type, status_type)                                                                           \
	OBJECT_FIELDS, {"spec", &(spec_type), FIELD_ALWAYS | FIELD_NUMBER(2), "What the set is to be.", NULL, NULL}, \
		{"status", &(status_type), FIELD_ALWAYS | FIELD_NUMBER(3), "What became of it.", NULL, NULL},        \
	{                                                                                                            \
		0                                                                                                    \
	}
#define SET_DOC "Pods that differ in their ordinals alone, each with a name and storage that it keeps."

const struct type type_set = {
	APPS_OBJECT("StatefulSet", SET_DOC),
	.fields = (const struct field[]){SET_FIELDS(type_set_spec, type_set_status)},
};

const struct type type_set_apps = {
	APPS_OBJECT("StatefulSet", SET_DOC),
	.fields = (const struct field[]){SET_FIELDS(type_spec_apps, type_status_apps)},
};

const struct type type_set_beta = {
	BETA_OBJECT("StatefulSet", SET_DOC),
	.fields = (const struct field[]){SET_FIELDS(type_spec_beta, type_status_beta)},
};
