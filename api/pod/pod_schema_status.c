/* What became of a pod. */
#include "api/pod/pod_schema_parts.h"

static const struct type type_pod_condition_type = {.kind = TYPE_STRING, .go_type = "v1.PodConditionType"};
static const struct type type_condition_status = {.kind = TYPE_STRING, .go_type = "v1.ConditionStatus"};

static const struct type type_pod_condition = {
	CORE_OBJECT("PodCondition", "One thing that was observed about a pod."),
	.fields =
		(const struct field[]){
			{"type", &type_pod_condition_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"What was observed.", NULL, NULL},
			{"observedGeneration", &type_int64, FIELD_NUMBER(7), "Generation of the spec that this is about.", NULL,
				NULL},
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

static const struct type type_host_ip = {
	CORE_OBJECT("HostIP", "An address of a node."),
	.fields =
		(const struct field[]){
			{"ip", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The address.", NULL, NULL},
			{0},
		},
};

static const struct type type_pod_ip = {
	CORE_OBJECT("PodIP", "An address of a pod."),
	.fields =
		(const struct field[]){
			{"ip", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The address.", NULL, NULL},
			{0},
		},
};

static const struct type type_container_state_waiting = {
	CORE_OBJECT("ContainerStateWaiting", "A container that has not started yet."),
	.fields =
		(const struct field[]){
			{"reason", &type_string, FIELD_NUMBER(1), "Why, as one word for programs.", NULL, NULL},
			{"message", &type_string, FIELD_NUMBER(2), "Why, as a sentence for people.", NULL, NULL},
			{0},
		},
};

static const struct type type_container_state_running = {
	CORE_OBJECT("ContainerStateRunning", "A container that runs."),
	.fields =
		(const struct field[]){
			{"startedAt", &type_time, FIELD_ALWAYS | FIELD_NUMBER(1), "Since when.", NULL, NULL},
			{0},
		},
};

static const struct type type_container_state_terminated = {
	CORE_OBJECT("ContainerStateTerminated", "A container that has ended."),
	.fields =
		(const struct field[]){
			{"exitCode", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Exit status of the process.", NULL, NULL},
			{"signal", &type_int32, FIELD_NUMBER(2), "Signal that ended it.", NULL, NULL},
			{"reason", &type_string, FIELD_NUMBER(3), "Why, as one word for programs.", NULL, NULL},
			{"message", &type_string, FIELD_NUMBER(4), "Why, as a sentence for people.", NULL, NULL},
			{"startedAt", &type_time, FIELD_ALWAYS | FIELD_NUMBER(5), "When it started.", NULL, NULL},
			{"finishedAt", &type_time, FIELD_ALWAYS | FIELD_NUMBER(6), "When it ended.", NULL, NULL},
			{"containerID", &type_string, FIELD_NUMBER(7), "Id of the container, as TYPE://ID.", NULL, NULL},
			{0},
		},
};

static const struct type type_container_state = {
	CORE_OBJECT("ContainerState", "What a container is doing; one member is set."),
	.fields =
		(const struct field[]){
			{"waiting", &type_container_state_waiting, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"It has not started yet.", NULL, NULL},
			{"running", &type_container_state_running, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "It runs.", NULL, NULL},
			{"terminated", &type_container_state_terminated, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "It has ended.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_image_volume_status = {
	CORE_OBJECT("ImageVolumeStatus", "What an image volume shows."),
	.fields =
		(const struct field[]){
			{"imageRef", &type_string, FIELD_MANDATORY | FIELD_NUMBER(1), "The image by its digest.", NULL, NULL},
			{0},
		},
};

static const struct type type_volume_status = {
	CORE_OBJECT("VolumeStatus", "More about a mounted volume."),
	.fields =
		(const struct field[]){
			{"image", &type_image_volume_status, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "About an image volume.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_recursive_read_only_mode = {.kind = TYPE_STRING, .go_type = "v1.RecursiveReadOnlyMode"};

static const struct type type_volume_mount_status = {
	CORE_OBJECT("VolumeMountStatus", "A mount in force."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the volume.", NULL,
				NULL},
			{"mountPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Where in the container.",
				NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Whether it is read-only.", NULL, NULL},
			{"recursiveReadOnly", &type_recursive_read_only_mode, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"Whether mounts below it are read-only, too.", NULL, NULL},
			{"volumeStatus", &type_volume_status, FIELD_KEEP_EMPTY | FIELD_NUMBER(5), "More about the volume.",
				NULL, NULL},
			{0},
		},
};

static const struct type list_int64 = LIST_OF(type_int64);

static const struct type type_linux_container_user = {
	CORE_OBJECT("LinuxContainerUser", "Identity of a process on Linux."),
	.fields =
		(const struct field[]){
			{"uid", &type_int64, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "User id.", NULL, NULL},
			{"gid", &type_int64, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Group id.", NULL, NULL},
			{"supplementalGroups", &list_int64, FIELD_NUMBER(3), "Further groups.", NULL, NULL},
			{0},
		},
};

static const struct type type_container_user = {
	CORE_OBJECT("ContainerUser", "Identity of a container's first process."),
	.fields =
		(const struct field[]){
			{"linux", &type_linux_container_user, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "On Linux.", NULL, NULL},
			{0},
		},
};

static const struct type type_resource_id = {.kind = TYPE_STRING, .go_type = "v1.ResourceID"};
static const struct type type_resource_health_status = {.kind = TYPE_STRING, .go_type = "v1.ResourceHealthStatus"};

static const struct type type_resource_health = {
	CORE_OBJECT("ResourceHealth", "State of one device."),
	.fields =
		(const struct field[]){
			{"resourceID", &type_resource_id, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Id of the device.",
				NULL, NULL},
			{"health", &type_resource_health_status, FIELD_NUMBER(2), "Healthy, Unhealthy or Unknown.", NULL, NULL},
			{"message", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(6), "More about it, for people.", NULL, NULL},
			{0},
		},
};

static const struct type type_resource_name = {.kind = TYPE_STRING, .go_type = "v1.ResourceName"};
static const struct type list_resource_healths = KEYED_LIST_OF(type_resource_health, "resourceID");

static const struct type type_resource_status = {
	CORE_OBJECT("ResourceStatus", "State of devices of one resource."),
	.fields =
		(const struct field[]){
			{"name", &type_resource_name, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the resource.",
				NULL, NULL},
			{"resources", &list_resource_healths, FIELD_NUMBER(2), "The devices.", NULL, NULL},
			{0},
		},
};

static const struct type list_volume_mount_statuses = KEYED_LIST_OF(type_volume_mount_status, "mountPath");
static const struct type list_resource_statuses = KEYED_LIST_OF(type_resource_status, "name");
static const struct type type_signal = {.kind = TYPE_STRING, .go_type = "v1.Signal"};

static const struct type type_container_status = {
	CORE_OBJECT("ContainerStatus", "What became of a container."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the container.", NULL,
				NULL},
			{"state", &type_container_state, FIELD_ALWAYS | FIELD_NUMBER(2), "What it is doing.", NULL, NULL},
			{"lastState", &type_container_state, FIELD_ALWAYS | FIELD_NUMBER(3), "How it ended the last time.",
				NULL, NULL},
			{"ready", &type_bool, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(4), "Whether it can serve.", NULL,
				NULL},
			{"restartCount", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(5),
				"How often it was started again.", NULL, NULL},
			{"image", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(6), "The image it runs.", NULL,
				NULL},
			{"imageID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(7), "Id of the image.", NULL,
				NULL},
			{"containerID", &type_string, FIELD_NUMBER(8), "Id of the container, as TYPE://ID.", NULL, NULL},
			{"started", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(9), "Whether its startup probe has succeeded.",
				NULL, NULL},
			{"allocatedResources", &type_resource_list, FIELD_NUMBER(10),
				"Resources the node has set aside for it.", NULL, NULL},
			{"resources", &type_resource_requirements, FIELD_KEEP_EMPTY | FIELD_NUMBER(11), "Resources in force.",
				NULL, NULL},
			{"volumeMounts", &list_volume_mount_statuses, FIELD_PATCH_MERGE | FIELD_NUMBER(12), "Mounts in force.",
				"mountPath", NULL},
			{"user", &type_container_user, FIELD_KEEP_EMPTY | FIELD_NUMBER(13), "Identity of its first process.",
				NULL, NULL},
			{"allocatedResourcesStatus", &list_resource_statuses, FIELD_PATCH_MERGE | FIELD_NUMBER(14),
				"State of its devices.", "name", NULL},
			{"stopSignal", &type_signal, FIELD_KEEP_EMPTY | FIELD_NUMBER(15), "Signal that stops it.", NULL, NULL},
			{0},
		},
};

static const struct type type_pod_resource_claim_status = {
	CORE_OBJECT("PodResourceClaimStatus", "A claim made for the pod."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Name of the claim in the pod.", NULL, NULL},
			{"resourceClaimName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Name of the ResourceClaim.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_container_extended_resource_request = {
	CORE_OBJECT("ContainerExtendedResourceRequest", "A request that serves a container's resource."),
	.fields =
		(const struct field[]){
			{"containerName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The container.",
				NULL, NULL},
			{"resourceName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The resource.", NULL,
				NULL},
			{"requestName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
				"The request in the claim.", NULL, NULL},
			{0},
		},
};

static const struct type list_container_extended_resource_requests = LIST_OF(type_container_extended_resource_request);

static const struct type type_pod_extended_resource_claim_status = {
	CORE_OBJECT("PodExtendedResourceClaimStatus", "Claim made for extended resources."),
	.fields =
		(const struct field[]){
			{"requestMappings", &list_container_extended_resource_requests,
				FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Which request serves which container and resource.", NULL, NULL},
			{"resourceClaimName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Name of the ResourceClaim.", NULL, NULL},
			{0},
		},
};

static const struct type map_quantities = {
	.kind = TYPE_MAP, .go_type = "map[v1.ResourceName]resource.Quantity", .elem = &type_quantity};

static const struct type type_node_allocatable_resource_claim_status = {
	CORE_OBJECT("NodeAllocatableResourceClaimStatus", "Resources of the node that a claim has taken."),
	.fields =
		(const struct field[]){
			{"resourceClaimName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Name of the ResourceClaim.", NULL, NULL},
			{"containers", &type_string_set, FIELD_NUMBER(2), "The containers that use it.", NULL, NULL},
			{"resources", &map_quantities, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "The amounts.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_pod_phase = {.kind = TYPE_STRING, .go_type = "v1.PodPhase"};
static const struct type list_pod_conditions = KEYED_LIST_OF(type_pod_condition, "type");
static const struct type list_host_ips = LIST_OF(type_host_ip);
static const struct type list_pod_ips = KEYED_LIST_OF(type_pod_ip, "ip");
static const struct type list_container_statuses = LIST_OF(type_container_status);
static const struct type type_pod_qos_class = {.kind = TYPE_STRING, .go_type = "v1.PodQOSClass"};
static const struct type type_pod_resize_status = {.kind = TYPE_STRING, .go_type = "v1.PodResizeStatus"};
static const struct type list_pod_resource_claim_statuses = KEYED_LIST_OF(type_pod_resource_claim_status, "name");
static const struct type list_node_allocatable_resource_claim_statuses = LIST_OF(type_node_allocatable_resource_claim_status);

const struct type type_pod_status = {
	CORE_OBJECT("PodStatus", "What became of a pod."),
	.fields =
		(const struct field[]){
			{"observedGeneration", &type_int64, FIELD_NUMBER(17), "Generation of the spec that this is about.",
				NULL, NULL},
			{"phase", &type_pod_phase, FIELD_NUMBER(1), "Pending, Running, Succeeded, Failed or Unknown.", NULL,
				NULL},
			{"conditions", &list_pod_conditions, FIELD_PATCH_MERGE | FIELD_NUMBER(2),
				"What was observed, one for each type.", "type", NULL},
			{"message", &type_string, FIELD_NUMBER(3), "Why, as a sentence for people.", NULL, NULL},
			{"reason", &type_string, FIELD_NUMBER(4), "Why, as one word for programs.", NULL, NULL},
			{"nominatedNodeName", &type_string, FIELD_NUMBER(11), "Node on which room is being made for the pod.",
				NULL, NULL},
			{"hostIP", &type_string, FIELD_NUMBER(5), "Address of the node.", NULL, NULL},
			{"hostIPs", &list_host_ips, FIELD_PATCH_MERGE | FIELD_NUMBER(16), "All addresses of the node.", "ip",
				NULL},
			{"podIP", &type_string, FIELD_NUMBER(6), "Address of the pod.", NULL, NULL},
			{"podIPs", &list_pod_ips, FIELD_PATCH_MERGE | FIELD_NUMBER(12), "All addresses of the pod.", "ip",
				NULL},
			{"startTime", &type_time, FIELD_KEEP_EMPTY | FIELD_NUMBER(7), "When the node took up the pod.", NULL,
				NULL},
			{"initContainerStatuses", &list_container_statuses, FIELD_NUMBER(10),
				"What became of the init containers.", NULL, NULL},
			{"containerStatuses", &list_container_statuses, FIELD_NUMBER(8), "What became of the containers.", NULL,
				NULL},
			{"qosClass", &type_pod_qos_class, FIELD_NUMBER(9),
				"Quality of service, by requests and limits: Guaranteed, Burstable or BestEffort.", NULL, NULL},
			{"ephemeralContainerStatuses", &list_container_statuses, FIELD_NUMBER(13),
				"What became of the ephemeral containers.", NULL, NULL},
			{"resize", &type_pod_resize_status, FIELD_NUMBER(14),
				"How far a resize has come. Superseded by conditions.", NULL, NULL},
			{"resourceClaimStatuses", &list_pod_resource_claim_statuses,
				FIELD_PATCH_MERGE | FIELD_RETAIN_KEYS | FIELD_NUMBER(15), "Claims made for the pod.", "name",
				NULL},
			{"extendedResourceClaimStatus", &type_pod_extended_resource_claim_status,
				FIELD_KEEP_EMPTY | FIELD_NUMBER(18), "Claim made for the pod's extended resources.", NULL,
				NULL},
			{"allocatedResources", &type_resource_list, FIELD_NUMBER(19),
				"Resources the node has set aside for the pod.", NULL, NULL},
			{"resources", &type_resource_requirements, FIELD_KEEP_EMPTY | FIELD_NUMBER(20),
				"Resources in force for the pod as a whole.", NULL, NULL},
			{"nodeAllocatableResourceClaimStatuses", &list_node_allocatable_resource_claim_statuses,
				FIELD_NUMBER(21), "Resources of the node that claims have taken.", NULL, NULL},
			{0},
		},
};
