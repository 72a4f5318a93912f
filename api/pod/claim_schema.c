/* What a claim of storage asks for and got (k8s.io/api/core/v1 PersistentVolumeClaim). */
#include "api/pod/pod_schema_parts.h"

static const struct type type_typed_local_object_reference = {
	CORE_OBJECT("TypedLocalObjectReference", "Names an object of any kind in the same namespace."),
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"apiGroup", &type_string, FIELD_ALWAYS | FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"API group of the object; empty is the core group.", NULL, NULL},
			{"kind", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Kind of the object.", NULL,
				NULL},
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "Name of the object.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_typed_object_reference = {
	CORE_OBJECT("TypedObjectReference", "Names an object of any kind."),
	.fields =
		(const struct field[]){
			{"apiGroup", &type_string, FIELD_ALWAYS | FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"API group of the object; empty is the core group.", NULL, NULL},
			{"kind", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Kind of the object.", NULL,
				NULL},
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "Name of the object.", NULL,
				NULL},
			{"namespace", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Namespace of the object.", NULL, NULL},
			{0},
		},
};

static const struct type type_volume_resource_requirements = {
	CORE_OBJECT("VolumeResourceRequirements", "How large a volume must be."),
	.fields =
		(const struct field[]){
			{"limits", &type_resource_list, FIELD_NUMBER(1), "At most this much.", NULL, NULL},
			{"requests", &type_resource_list, FIELD_NUMBER(2), "At least this much.", NULL, NULL},
			{0},
		},
};

static const struct type type_persistent_volume_access_mode = {.kind = TYPE_STRING, .go_type = "v1.PersistentVolumeAccessMode"};
static const struct type list_persistent_volume_access_modes = LIST_OF(type_persistent_volume_access_mode);
static const struct type type_persistent_volume_mode = {.kind = TYPE_STRING, .go_type = "v1.PersistentVolumeMode"};

const struct type type_claim_spec = {
	CORE_OBJECT("PersistentVolumeClaimSpec", "What a claim asks for."),
	.fields =
		(const struct field[]){
			{"accessModes", &list_persistent_volume_access_modes, FIELD_NUMBER(1),
				"How the volume is to be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, "
				"ReadWriteOncePod.",
				NULL, NULL},
			{"selector", &type_label_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Which volumes may be bound.",
				NULL, NULL},
			{"resources", &type_volume_resource_requirements, FIELD_ALWAYS | FIELD_NUMBER(2),
				"How large the volume must be at least.", NULL, NULL},
			{"volumeName", &type_string, FIELD_NUMBER(3), "The volume that is bound.", NULL, NULL},
			{"storageClassName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"Storage class the volume must be of.", NULL, NULL},
			{"volumeMode", &type_persistent_volume_mode, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(6),
				"Filesystem or Block.", NULL, "\"Filesystem\""},
			{"dataSource", &type_typed_local_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
				"What the volume is filled from: a snapshot or another claim.", NULL, NULL},
			{"dataSourceRef", &type_typed_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(8),
				"What the volume is filled from: any object.", NULL, NULL},
			{"volumeAttributesClassName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(9),
				"Class of the attributes the volume is to have.", NULL, NULL},
			{0},
		},
};

const struct type type_claim_template = {
	CORE_OBJECT("PersistentVolumeClaimTemplate", "The claim made for an ephemeral volume."),
	.fields =
		(const struct field[]){
			{"metadata", &type_embedded_meta, FIELD_ALWAYS | FIELD_NUMBER(1),
				"Labels and annotations that the claim gets.", NULL, NULL},
			{"spec", &type_claim_spec, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "What the claim asks for.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_claim_condition_type = {.kind = TYPE_STRING, .go_type = "v1.PersistentVolumeClaimConditionType"};
static const struct type type_condition_status = {.kind = TYPE_STRING, .go_type = "v1.ConditionStatus"};

static const struct type type_claim_condition = {
	CORE_OBJECT("PersistentVolumeClaimCondition", "One thing that was observed about a claim."),
	.fields =
		(const struct field[]){
			{"type", &type_claim_condition_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"What was observed.", NULL, NULL},
			{"status", &type_condition_status, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Whether it holds: True, False or Unknown.", NULL, NULL},
			{"lastProbeTime", &type_time, FIELD_ALWAYS | FIELD_NUMBER(3), "When it was last looked at.", NULL,
				NULL},
			{"lastTransitionTime", &type_time, FIELD_ALWAYS | FIELD_NUMBER(4), "When the status last changed.",
				NULL, NULL},
			{"reason", &type_string, FIELD_NUMBER(5), "Why, as one word for programs.", NULL, NULL},
			{"message", &type_string, FIELD_NUMBER(6), "Why, as a sentence for people.", NULL, NULL},
			{0},
		},
};

static const struct type type_claim_modify_volume_status = {
	.kind = TYPE_STRING, .go_type = "v1.PersistentVolumeClaimModifyVolumeStatus"};

static const struct type type_modify_volume_status = {
	CORE_OBJECT("ModifyVolumeStatus", "How far a change of attributes has come."),
	.fields =
		(const struct field[]){
			{"targetVolumeAttributesClassName", &type_string, FIELD_NUMBER(1),
				"Class whose attributes the volume is to get.", NULL, NULL},
			{"status", &type_claim_modify_volume_status, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Pending, InProgress or Infeasible.", NULL, NULL},
			{0},
		},
};

static const struct type type_claim_phase = {.kind = TYPE_STRING, .go_type = "v1.PersistentVolumeClaimPhase"};
static const struct type list_claim_conditions = KEYED_LIST_OF(type_claim_condition, "type");
static const struct type type_claim_resource_status = {.kind = TYPE_STRING, .go_type = "v1.ClaimResourceStatus"};
static const struct type map_claim_resource_statuses = {
	.kind = TYPE_MAP, .go_type = "map[v1.ResourceName]v1.ClaimResourceStatus", .elem = &type_claim_resource_status};

const struct type type_claim_status = {
	CORE_OBJECT("PersistentVolumeClaimStatus", "What became of a claim."),
	.fields =
		(const struct field[]){
			{"phase", &type_claim_phase, FIELD_SILENT_DEFAULT | FIELD_NUMBER(1), "Pending, Bound or Lost.", NULL,
				"\"Pending\""},
			{"accessModes", &list_persistent_volume_access_modes, FIELD_NUMBER(2),
				"How the bound volume can be mounted.", NULL, NULL},
			{"capacity", &type_resource_list, FIELD_NUMBER(3), "How large the bound volume is.", NULL, NULL},
			{"conditions", &list_claim_conditions, FIELD_PATCH_MERGE | FIELD_NUMBER(4),
				"What was observed, one for each type.", "type", NULL},
			{"allocatedResources", &type_resource_list, FIELD_NUMBER(5), "How large the volume is being made.",
				NULL, NULL},
			{"allocatedResourceStatuses", &map_claim_resource_statuses, FIELD_NUMBER(7),
				"How far resizing has come, by resource.", NULL, NULL},
			{"currentVolumeAttributesClassName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(8),
				"Class of the attributes the volume has.", NULL, NULL},
			{"modifyVolumeStatus", &type_modify_volume_status, FIELD_KEEP_EMPTY | FIELD_NUMBER(9),
				"How far a change of attributes has come.", NULL, NULL},
			{0},
		},
};
