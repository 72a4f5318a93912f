/* Nodes, member by member in the order Go writes them. */
#include "api/cluster/node_schema.h"

#include "api/pod/pod_schema_parts.h"

static const struct type type_uid = {.kind = TYPE_STRING, .go_type = "types.UID"};
static const struct type type_node_phase = {.kind = TYPE_STRING, .go_type = "v1.NodePhase"};
static const struct type type_node_condition_type = {.kind = TYPE_STRING, .go_type = "v1.NodeConditionType"};
static const struct type type_condition_status = {.kind = TYPE_STRING, .go_type = "v1.ConditionStatus"};
static const struct type type_node_address_type = {.kind = TYPE_STRING, .go_type = "v1.NodeAddressType"};
static const struct type type_unique_volume_name = {.kind = TYPE_STRING, .go_type = "v1.UniqueVolumeName"};
static const struct type list_unique_volume_names = LIST_OF(type_unique_volume_name);

const struct type type_taint = {
	CORE_OBJECT("Taint", "Keeps pods away that do not tolerate it."),
	.fields =
		(const struct field[]){
			{"key", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Key of the taint.", NULL,
				NULL},
			{"value", &type_string, FIELD_NUMBER(2), "Value of the taint.", NULL, NULL},
			{"effect", &type_taint_effect, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
				"NoSchedule, PreferNoSchedule or NoExecute.", NULL, NULL},
			{"timeAdded", &type_time, FIELD_NUMBER(4), "When it was added.", NULL, NULL},
			{0},
		},
};

static const struct type list_taints = LIST_OF(type_taint);

static const struct type type_config_map_node_config_source = {
	CORE_OBJECT("ConfigMapNodeConfigSource", "A ConfigMap with the configuration of a kubelet; no longer supported."),
	.fields =
		(const struct field[]){
			{"namespace", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Namespace of the ConfigMap.", NULL, NULL},
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the ConfigMap.", NULL,
				NULL},
			{"uid", &type_uid, FIELD_NUMBER(3), "uid of the ConfigMap.", NULL, NULL},
			{"resourceVersion", &type_string, FIELD_NUMBER(4), "Version of the ConfigMap.", NULL, NULL},
			{"kubeletConfigKey", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(5),
				"Key of the configuration.", NULL, NULL},
			{0},
		},
};

static const struct type type_node_config_source = {
	CORE_OBJECT("NodeConfigSource", "Where a kubelet has its configuration from; no longer supported."),
	.fields =
		(const struct field[]){
			{"configMap", &type_config_map_node_config_source, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "The ConfigMap.",
				NULL, NULL},
			{0},
		},
};

const struct type type_node_spec = {
	CORE_OBJECT("NodeSpec", "How a node is to be used."),
	.fields =
		(const struct field[]){
			{"podCIDR", &type_string, FIELD_NUMBER(1), "Addresses of the node's pods.", NULL, NULL},
			{"podCIDRs", &type_string_set, FIELD_PATCH_MERGE | FIELD_NUMBER(7),
				"The same for each family of addresses; the first is podCIDR.", NULL, NULL},
			{"providerID", &type_string, FIELD_NUMBER(3), "What the provider calls the node.", NULL, NULL},
			{"unschedulable", &type_bool, FIELD_NUMBER(4), "No new pods are to come here.", NULL, NULL},
			{"taints", &list_taints, FIELD_NUMBER(5), "Which pods are kept away.", NULL, NULL},
			{"configSource", &type_node_config_source, FIELD_KEEP_EMPTY | FIELD_NUMBER(6), "No longer supported.",
				NULL, NULL},
			{"externalID", &type_string, FIELD_NUMBER(2), "Of old; not used.", NULL, NULL},
			{0},
		},
};

static const struct type type_node_condition = {
	CORE_OBJECT("NodeCondition", "One thing that was observed about a node."),
	.fields =
		(const struct field[]){
			{"type", &type_node_condition_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"What was observed.", NULL, NULL},
			{"status", &type_condition_status, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Whether it holds: True, False or Unknown.", NULL, NULL},
			{"lastHeartbeatTime", &type_time, FIELD_ALWAYS | FIELD_NUMBER(3), "When it was last looked at.", NULL,
				NULL},
			{"lastTransitionTime", &type_time, FIELD_ALWAYS | FIELD_NUMBER(4), "When the status last changed.",
				NULL, NULL},
			{"reason", &type_string, FIELD_NUMBER(5), "Why, as one word for programs.", NULL, NULL},
			{"message", &type_string, FIELD_NUMBER(6), "Why, as a sentence for people.", NULL, NULL},
			{0},
		},
};

static const struct type list_node_conditions = KEYED_LIST_OF(type_node_condition, "type");

static const struct type type_node_address = {
	CORE_OBJECT("NodeAddress", "An address of a node."),
	.fields =
		(const struct field[]){
			{"type", &type_node_address_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Hostname, InternalIP, ExternalIP and so on.", NULL, NULL},
			{"address", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The address.", NULL, NULL},
			{0},
		},
};

static const struct type list_node_addresses = KEYED_LIST_OF(type_node_address, "type");

static const struct type type_daemon_endpoint = {
	CORE_OBJECT("DaemonEndpoint", "Where a daemon listens."),
	.fields =
		(const struct field[]){
			{"Port", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The port; upstream writes it with a capital letter.", NULL, NULL},
			{0},
		},
};

static const struct type type_node_daemon_endpoints = {
	CORE_OBJECT("NodeDaemonEndpoints", "Where the daemons of a node listen."),
	.fields =
		(const struct field[]){
			{"kubeletEndpoint", &type_daemon_endpoint, FIELD_ALWAYS | FIELD_NUMBER(1), "Where the kubelet listens.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_node_swap_status = {
	CORE_OBJECT("NodeSwapStatus", "Swap of a node."),
	.fields =
		(const struct field[]){
			{"capacity", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "Its size in bytes.", NULL, NULL},
			{0},
		},
};

static const struct type type_node_system_info = {
	CORE_OBJECT("NodeSystemInfo", "What a node is and runs."),
	.fields =
		(const struct field[]){
			{"machineID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"What the machine calls itself.", NULL, NULL},
			{"systemUUID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"What the hardware calls itself.", NULL, NULL},
			{"bootID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "Another one at each start.",
				NULL, NULL},
			{"kernelVersion", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(4),
				"Version of the kernel.", NULL, NULL},
			{"osImage", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(5),
				"Name of the operating system.", NULL, NULL},
			{"containerRuntimeVersion", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(6),
				"What runs containers, and its version.", NULL, NULL},
			{"kubeletVersion", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(7),
				"Version of the kubelet.", NULL, NULL},
			{"kubeProxyVersion", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(8),
				"Of old; not used.", NULL, NULL},
			{"operatingSystem", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(9), "linux or windows.",
				NULL, NULL},
			{"architecture", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(10),
				"Of the processor: amd64, arm64 and so on.", NULL, NULL},
			{"swap", &type_node_swap_status, FIELD_KEEP_EMPTY | FIELD_NUMBER(11), "Swap, if there is any.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_container_image = {
	CORE_OBJECT("ContainerImage", "An image that a node has."),
	.fields =
		(const struct field[]){
			{"names", &type_string_list, FIELD_ALWAYS | FIELD_NUMBER(1), "The names by which it is known.", NULL,
				NULL},
			{"sizeBytes", &type_int64, FIELD_NUMBER(2), "How large it is.", NULL, NULL},
			{0},
		},
};

static const struct type list_container_images = LIST_OF(type_container_image);

static const struct type type_attached_volume = {
	CORE_OBJECT("AttachedVolume", "A volume that is attached to a node."),
	.fields =
		(const struct field[]){
			{"name", &type_unique_volume_name, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Name of the volume.", NULL, NULL},
			{"devicePath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Device by which it is there.", NULL, NULL},
			{0},
		},
};

static const struct type list_attached_volumes = LIST_OF(type_attached_volume);

static const struct type type_node_config_status = {
	CORE_OBJECT("NodeConfigStatus", "Which configurations a kubelet has; no longer supported."),
	.fields =
		(const struct field[]){
			{"assigned", &type_node_config_source, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"The one that it is to have.", NULL, NULL},
			{"active", &type_node_config_source, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "The one that it has.", NULL,
				NULL},
			{"lastKnownGood", &type_node_config_source, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "The last that worked.",
				NULL, NULL},
			{"error", &type_string, FIELD_NUMBER(4), "Why it could not take the one that it is to have.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_node_runtime_handler_features = {
	CORE_OBJECT("NodeRuntimeHandlerFeatures", "What a runtime handler can do."),
	.fields =
		(const struct field[]){
			{"recursiveReadOnlyMounts", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"It mounts read-only all the way down.", NULL, NULL},
			{"userNamespaces", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "It has user namespaces.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_node_runtime_handler = {
	CORE_OBJECT("NodeRuntimeHandler", "One way in which a node runs containers."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_NUMBER(1), "Its name; empty: the default.", NULL, NULL},
			{"features", &type_node_runtime_handler_features, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "What it can do.",
				NULL, NULL},
			{0},
		},
};

static const struct type list_node_runtime_handlers = LIST_OF(type_node_runtime_handler);

static const struct type type_node_features = {
	CORE_OBJECT("NodeFeatures", "What a node's container runtime can do."),
	.fields =
		(const struct field[]){
			{"supplementalGroupsPolicy", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"It knows supplementalGroupsPolicy.", NULL, NULL},
			{0},
		},
};

const struct type type_node_status = {
	CORE_OBJECT("NodeStatus", "What is known of a node."),
	.fields =
		(const struct field[]){
			{"capacity", &type_resource_list, FIELD_NUMBER(1), "All that the node has.", NULL, NULL},
			{"allocatable", &type_resource_list, FIELD_NUMBER(2), "What pods may have of it.", NULL, NULL},
			{"phase", &type_node_phase, FIELD_NUMBER(3), "Of old; not used.", NULL, NULL},
			{"conditions", &list_node_conditions, FIELD_PATCH_MERGE | FIELD_NUMBER(4), "What was observed.", "type",
				NULL},
			{"addresses", &list_node_addresses, FIELD_PATCH_MERGE | FIELD_NUMBER(5), "The node's addresses.",
				"type", NULL},
			{"daemonEndpoints", &type_node_daemon_endpoints, FIELD_ALWAYS | FIELD_NUMBER(6),
				"Where its daemons listen.", NULL, NULL},
			{"nodeInfo", &type_node_system_info, FIELD_ALWAYS | FIELD_NUMBER(7), "What the node is and runs.", NULL,
				NULL},
			{"images", &list_container_images, FIELD_NUMBER(8), "The images that it has.", NULL, NULL},
			{"volumesInUse", &list_unique_volume_names, FIELD_NUMBER(9), "Volumes that it uses.", NULL, NULL},
			{"volumesAttached", &list_attached_volumes, FIELD_NUMBER(10), "Volumes that are attached to it.", NULL,
				NULL},
			{"config", &type_node_config_status, FIELD_KEEP_EMPTY | FIELD_NUMBER(11), "No longer supported.", NULL,
				NULL},
			{"runtimeHandlers", &list_node_runtime_handlers, FIELD_NUMBER(12),
				"The ways in which it runs containers.", NULL, NULL},
			{"features", &type_node_features, FIELD_KEEP_EMPTY | FIELD_NUMBER(13),
				"What its container runtime can do.", NULL, NULL},
			{"declaredFeatures", &type_string_list, FIELD_NUMBER(14), "Features that it says it has, sorted.", NULL,
				NULL},
			{0},
		},
};
