/* Where a pod may run. */
#include "api/pod/pod_schema_parts.h"

static const struct type type_node_selector_operator = {.kind = TYPE_STRING, .go_type = "v1.NodeSelectorOperator"};

static const struct type type_node_selector_requirement = {
	CORE_OBJECT("NodeSelectorRequirement", "A condition on one label or field of a node."),
	.fields =
		(const struct field[]){
			{"key", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The label or field.", NULL,
				NULL},
			{"operator", &type_node_selector_operator, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"In, NotIn, Exists, DoesNotExist, Gt or Lt.", NULL, NULL},
			{"values", &type_string_list, FIELD_NUMBER(3), "The values, as the operator needs them.", NULL, NULL},
			{0},
		},
};

static const struct type list_node_selector_requirements = LIST_OF(type_node_selector_requirement);

static const struct type type_node_selector_term = {
	CORE_OBJECT("NodeSelectorTerm", "Conditions of which all must hold."),
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"matchExpressions", &list_node_selector_requirements, FIELD_NUMBER(1), "Conditions on labels.", NULL,
				NULL},
			{"matchFields", &list_node_selector_requirements, FIELD_NUMBER(2), "Conditions on fields.", NULL, NULL},
			{0},
		},
};

static const struct type list_node_selector_terms = LIST_OF(type_node_selector_term);

const struct type type_node_selector = {
	CORE_OBJECT("NodeSelector", "Selects nodes; one of the terms must hold."),
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"nodeSelectorTerms", &list_node_selector_terms, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The terms.", NULL, NULL},
			{0},
		},
};

static const struct type type_preferred_scheduling_term = {
	CORE_OBJECT("PreferredSchedulingTerm", "A wish with a weight."),
	.fields =
		(const struct field[]){
			{"weight", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"How much it counts, 1 to 100.", NULL, NULL},
			{"preference", &type_node_selector_term, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Which nodes.", NULL, NULL},
			{0},
		},
};

static const struct type list_preferred_scheduling_terms = LIST_OF(type_preferred_scheduling_term);

static const struct type type_node_affinity = {
	CORE_OBJECT("NodeAffinity", "Nodes by their labels."),
	.fields =
		(const struct field[]){
			{"requiredDuringSchedulingIgnoredDuringExecution", &type_node_selector,
				FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "What a node must satisfy.", NULL, NULL},
			{"preferredDuringSchedulingIgnoredDuringExecution", &list_preferred_scheduling_terms, FIELD_NUMBER(2),
				"What nodes should satisfy, with weights.", NULL, NULL},
			{0},
		},
};

static const struct type type_pod_affinity_term = {
	CORE_OBJECT("PodAffinityTerm", "Pods, and what counts as the same place."),
	.fields =
		(const struct field[]){
			{"labelSelector", &type_label_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "Which pods.", NULL, NULL},
			{"namespaces", &type_string_list, FIELD_NUMBER(2),
				"Namespaces they are in; the pod's own where nothing is said.", NULL, NULL},
			{"topologyKey", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
				"Label of nodes whose value is the place.", NULL, NULL},
			{"namespaceSelector", &type_label_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"Namespaces by their labels.", NULL, NULL},
			{"matchLabelKeys", &type_string_list, FIELD_NUMBER(5),
				"Labels whose values must be those of the new pod.", NULL, NULL},
			{"mismatchLabelKeys", &type_string_list, FIELD_NUMBER(6),
				"Labels whose values must not be those of the new pod.", NULL, NULL},
			{0},
		},
};

static const struct type type_weighted_pod_affinity_term = {
	CORE_OBJECT("WeightedPodAffinityTerm", "A wish with a weight."),
	.fields =
		(const struct field[]){
			{"weight", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"How much it counts, 1 to 100.", NULL, NULL},
			{"podAffinityTerm", &type_pod_affinity_term, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Which pods, and where.", NULL, NULL},
			{0},
		},
};

static const struct type list_pod_affinity_terms = LIST_OF(type_pod_affinity_term);
static const struct type list_weighted_pod_affinity_terms = LIST_OF(type_weighted_pod_affinity_term);

static const struct type type_pod_affinity = {
	CORE_OBJECT("PodAffinity", "Pods to be near."),
	.fields =
		(const struct field[]){
			{"requiredDuringSchedulingIgnoredDuringExecution", &list_pod_affinity_terms, FIELD_NUMBER(1),
				"What must hold.", NULL, NULL},
			{"preferredDuringSchedulingIgnoredDuringExecution", &list_weighted_pod_affinity_terms, FIELD_NUMBER(2),
				"What should hold, with weights.", NULL, NULL},
			{0},
		},
};

static const struct type type_pod_anti_affinity = {
	CORE_OBJECT("PodAntiAffinity", "Pods to be apart from."),
	.fields =
		(const struct field[]){
			{"requiredDuringSchedulingIgnoredDuringExecution", &list_pod_affinity_terms, FIELD_NUMBER(1),
				"What must hold.", NULL, NULL},
			{"preferredDuringSchedulingIgnoredDuringExecution", &list_weighted_pod_affinity_terms, FIELD_NUMBER(2),
				"What should hold, with weights.", NULL, NULL},
			{0},
		},
};

const struct type type_affinity = {
	CORE_OBJECT("Affinity", "Which nodes and neighbours a pod wants or avoids."),
	.fields =
		(const struct field[]){
			{"nodeAffinity", &type_node_affinity, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "Nodes by their labels.",
				NULL, NULL},
			{"podAffinity", &type_pod_affinity, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Pods to be near.", NULL, NULL},
			{"podAntiAffinity", &type_pod_anti_affinity, FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"Pods to be apart from.", NULL, NULL},
			{0},
		},
};

static const struct type type_toleration_operator = {.kind = TYPE_STRING, .go_type = "v1.TolerationOperator"};
const struct type type_taint_effect = {.kind = TYPE_STRING, .go_type = "v1.TaintEffect"};

const struct type type_toleration = {
	CORE_OBJECT("Toleration", "Taints that a pod puts up with."),
	.fields =
		(const struct field[]){
			{"key", &type_string, FIELD_NUMBER(1), "Key of the taint; all where empty.", NULL, NULL},
			{"operator", &type_toleration_operator, FIELD_NUMBER(2), "Exists, Equal, Lt or Gt.", NULL, NULL},
			{"value", &type_string, FIELD_NUMBER(3), "Value of the taint.", NULL, NULL},
			{"effect", &type_taint_effect, FIELD_NUMBER(4),
				"NoSchedule, PreferNoSchedule or NoExecute; all where empty.", NULL, NULL},
			{"tolerationSeconds", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"How long a NoExecute taint is put up with; for ever where absent.", NULL, NULL},
			{0},
		},
};

static const struct type type_unsatisfiable_constraint_action = {
	.kind = TYPE_STRING, .go_type = "v1.UnsatisfiableConstraintAction"};
static const struct type type_node_inclusion_policy = {.kind = TYPE_STRING, .go_type = "v1.NodeInclusionPolicy"};

const struct type type_topology_spread_constraint = {
	CORE_OBJECT("TopologySpreadConstraint", "How pods are to be spread."),
	.fields =
		(const struct field[]){
			{"maxSkew", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "How uneven it may get.",
				NULL, NULL},
			{"topologyKey", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Label of nodes whose value is the place.", NULL, NULL},
			{"whenUnsatisfiable", &type_unsatisfiable_constraint_action,
				FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "DoNotSchedule or ScheduleAnyway.", NULL,
				NULL},
			{"labelSelector", &type_label_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Which pods are counted.",
				NULL, NULL},
			{"minDomains", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"How many places there must be at least.", NULL, NULL},
			{"nodeAffinityPolicy", &type_node_inclusion_policy, FIELD_KEEP_EMPTY | FIELD_NUMBER(6),
				"Whether nodes that the pod does not want count: Honor or Ignore.", NULL, NULL},
			{"nodeTaintsPolicy", &type_node_inclusion_policy, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
				"Whether tainted nodes count: Honor or Ignore.", NULL, NULL},
			{"matchLabelKeys", &type_string_list, FIELD_NUMBER(8),
				"Labels whose values must be those of the new pod.", NULL, NULL},
			{0},
		},
};
