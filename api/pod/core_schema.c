/* Types of the core group that several kinds share (k8s.io/api/core/v1). Members in the order Go writes them. */
#include "api/pod/pod_schema_parts.h"

static const struct type type_resource_amount = {
	.kind = TYPE_QUANTITY,
	.definition = "io.k8s.apimachinery.pkg.api.resource.Quantity",
	.go_type = "resource.Quantity",
	.doc = "An amount with an optional unit, such as 1.5, 250m or 64Mi.",
	.is_rounded = true,
};

const struct type type_resource_list = {.kind = TYPE_MAP, .go_type = "v1.ResourceList", .elem = &type_resource_amount};

static const struct type type_label_selector_operator = {.kind = TYPE_STRING, .go_type = "v1.LabelSelectorOperator"};

const struct type type_label_selector_requirement = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
	.go_type = "v1.LabelSelectorRequirement",
	.doc = "A condition on one label.",
	.fields =
		(const struct field[]){
			{"key", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Key of the label.", NULL,
				NULL},
			{"operator", &type_label_selector_operator, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"In, NotIn, Exists or DoesNotExist.", NULL, NULL},
			{"values", &type_string_list, FIELD_NUMBER(3), "The values, for In and NotIn.", NULL, NULL},
			{0},
		},
};

static const struct type list_label_selector_requirements = LIST_OF(type_label_selector_requirement);

const struct type type_label_selector = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
	.go_type = "v1.LabelSelector",
	.doc = "Selects objects by their labels; everything must hold.",
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"matchLabels", &type_string_map, FIELD_NUMBER(1), "Labels with the values they must have.", NULL,
				NULL},
			{"matchExpressions", &list_label_selector_requirements, FIELD_NUMBER(2), "Further conditions.", NULL,
				NULL},
			{0},
		},
};

const struct type type_local_object_reference = {
	CORE_OBJECT("LocalObjectReference", "Names an object in the same namespace."),
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER(1), "Name of the object.", NULL, "\"\""},
			{0},
		},
};

const struct type type_object_field_selector = {
	CORE_OBJECT("ObjectFieldSelector", "Names a field of the pod."),
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"apiVersion", &type_string, FIELD_SILENT_DEFAULT | FIELD_NUMBER(1),
				"Version of the API in which the path is written.", NULL, "\"v1\""},
			{"fieldPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Path of the field.",
				NULL, NULL},
			{0},
		},
};

const struct type type_resource_field_selector = {
	CORE_OBJECT("ResourceFieldSelector", "Names a resource of a container."),
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"containerName", &type_string, FIELD_NUMBER(1), "Which container; in volumes it must be said.", NULL,
				NULL},
			{"resource", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Which resource: limits.cpu, requests.memory and so on.", NULL, NULL},
			{"divisor", &type_quantity, FIELD_ALWAYS | FIELD_NUMBER(3), "Unit in which the amount is shown.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_resource_claim = {
	CORE_OBJECT("ResourceClaim", "A claim of the pod that a container uses."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Name of the claim in the pod.", NULL, NULL},
			{"request", &type_string, FIELD_NUMBER(2), "Which request of the claim; all where empty.", NULL, NULL},
			{0},
		},
};

static const struct type list_resource_claims = KEYED_LIST_OF(type_resource_claim, "name");

const struct type type_resource_requirements = {
	CORE_OBJECT("ResourceRequirements", "What is needed and what may be used."),
	.fields =
		(const struct field[]){
			{"limits", &type_resource_list, FIELD_NUMBER(1), "At most this much is given.", NULL, NULL},
			{"requests", &type_resource_list, FIELD_NUMBER(2),
				"At least this much must be there; what is not said is taken from limits.", NULL, NULL},
			{"claims", &list_resource_claims, FIELD_NUMBER(3), "Claims of the pod that are used.", NULL, NULL},
			{0},
		},
};
