/* What a pod is to be, and the template of one. */
#include "api/pod/pod_schema_parts.h"

static const struct type type_host_alias = {
	CORE_OBJECT("HostAlias", "An address with names, for the hosts file."),
	.fields =
		(const struct field[]){
			{"ip", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The address.", NULL, NULL},
			{"hostnames", &type_string_list, FIELD_NUMBER(2), "The names.", NULL, NULL},
			{0},
		},
};

static const struct type type_pod_dns_config_option = {
	CORE_OBJECT("PodDNSConfigOption", "An option of the resolver."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER(1), "Name of the option.", NULL, NULL},
			{"value", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Its value.", NULL, NULL},
			{0},
		},
};

static const struct type list_pod_dns_config_options = LIST_OF(type_pod_dns_config_option);

static const struct type type_pod_dns_config = {
	CORE_OBJECT("PodDNSConfig", "Settings of the resolver."),
	.fields =
		(const struct field[]){
			{"nameservers", &type_string_list, FIELD_NUMBER(1), "Addresses of name servers.", NULL, NULL},
			{"searches", &type_string_list, FIELD_NUMBER(2), "Domains to search.", NULL, NULL},
			{"options", &list_pod_dns_config_options, FIELD_NUMBER(3), "Options of the resolver.", NULL, NULL},
			{0},
		},
};

static const struct type type_pod_condition_type = {.kind = TYPE_STRING, .go_type = "v1.PodConditionType"};

static const struct type type_pod_readiness_gate = {
	CORE_OBJECT("PodReadinessGate", "A condition that must be True for the pod to be ready."),
	.fields =
		(const struct field[]){
			{"conditionType", &type_pod_condition_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Type of the condition.", NULL, NULL},
			{0},
		},
};

static const struct type type_os_name = {.kind = TYPE_STRING, .go_type = "v1.OSName"};

static const struct type type_pod_os = {
	CORE_OBJECT("PodOS", "Operating system of a pod."),
	.fields =
		(const struct field[]){
			{"name", &type_os_name, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "linux or windows.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_pod_scheduling_gate = {
	CORE_OBJECT("PodSchedulingGate", "Somebody who must agree before a pod is scheduled."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the gate.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_pod_resource_claim = {
	CORE_OBJECT("PodResourceClaim", "A claim of devices, by an object or a template."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Name of the claim in the pod.", NULL, NULL},
			{"resourceClaimName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Name of a ResourceClaim.",
				NULL, NULL},
			{"resourceClaimTemplateName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"Name of a template from which a claim is made for the pod.", NULL, NULL},
			{0},
		},
};

static const struct type type_pod_scheduling_group = {
	CORE_OBJECT("PodSchedulingGroup", "Pods that are scheduled together."),
	.fields =
		(const struct field[]){
			{"podGroupName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "Name of the PodGroup.", NULL, NULL},
			{0},
		},
};

static const struct type list_volumes = KEYED_LIST_OF(type_volume, "name");
static const struct type list_containers = KEYED_LIST_OF(type_container, "name");
static const struct type list_ephemeral_containers = KEYED_LIST_OF(type_ephemeral_container, "name");
static const struct type type_restart_policy = {.kind = TYPE_STRING, .go_type = "v1.RestartPolicy"};
static const struct type type_dns_policy = {.kind = TYPE_STRING, .go_type = "v1.DNSPolicy"};
static const struct type atomic_string_map = {.kind = TYPE_MAP, .elem = &type_string, .is_atomic = true};
static const struct type list_local_object_references = KEYED_LIST_OF(type_local_object_reference, "name");
static const struct type list_tolerations = LIST_OF(type_toleration);
static const struct type list_host_aliases = KEYED_LIST_OF(type_host_alias, "ip");
static const struct type list_pod_readiness_gates = LIST_OF(type_pod_readiness_gate);
static const struct type type_preemption_policy = {.kind = TYPE_STRING, .go_type = "v1.PreemptionPolicy"};
static const struct type list_topology_spread_constraints =
	KEYED_LIST_OF(type_topology_spread_constraint, "topologyKey", "whenUnsatisfiable");
static const struct type list_pod_scheduling_gates = KEYED_LIST_OF(type_pod_scheduling_gate, "name");
static const struct type list_pod_resource_claims = KEYED_LIST_OF(type_pod_resource_claim, "name");

const struct type type_pod_spec = {
	CORE_OBJECT("PodSpec", "What a pod is to be: its containers, its volumes, and how and where they run."),
	.fields =
		(const struct field[]){
			{"volumes", &list_volumes, FIELD_PATCH_MERGE | FIELD_RETAIN_KEYS | FIELD_NUMBER(1),
				"Storage that containers may mount, by name.", "name", NULL},
			{"initContainers", &list_containers, FIELD_PATCH_MERGE | FIELD_NUMBER(20),
				"Run one after the other, each to its end, before the others start; those that restart Always "
				"stay as sidecars.",
				"name", NULL},
			{"containers", &list_containers, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_PATCH_MERGE | FIELD_NUMBER(2),
				"The containers of the pod, at least one. None can be added or removed later.", "name", NULL},
			{"ephemeralContainers", &list_ephemeral_containers, FIELD_PATCH_MERGE | FIELD_NUMBER(34),
				"Containers added to a running pod to look into it; only through the ephemeralcontainers "
				"subresource.",
				"name", NULL},
			{"restartPolicy", &type_restart_policy, FIELD_SILENT_DEFAULT | FIELD_NUMBER(3),
				"When ended containers are started again: Always, OnFailure or Never.", NULL, "\"Always\""},
			{"terminationGracePeriodSeconds", &type_int64,
				FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(4),
				"How long the processes may take to stop before they are killed.", NULL, "30"},
			{"activeDeadlineSeconds", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"After how many seconds of running the pod is ended as failed.", NULL, NULL},
			{"dnsPolicy", &type_dns_policy, FIELD_SILENT_DEFAULT | FIELD_NUMBER(6),
				"Where names are looked up: ClusterFirst, ClusterFirstWithHostNet, Default or None.", NULL,
				"\"ClusterFirst\""},
			{"nodeSelector", &atomic_string_map, FIELD_NUMBER(7), "Labels that a node must have to run the pod.",
				NULL, NULL},
			{"serviceAccountName", &type_string, FIELD_NUMBER(8), "The service account the pod runs as.", NULL,
				NULL},
			{"serviceAccount", &type_string, FIELD_NUMBER(9),
				"Older name of serviceAccountName; the two are kept equal.", NULL, NULL},
			{"automountServiceAccountToken", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(21),
				"Whether a token of the service account is mounted.", NULL, NULL},
			{"nodeName", &type_string, FIELD_NUMBER(10), "The node the pod runs on; empty until it is scheduled.",
				NULL, NULL},
			{"hostNetwork", &type_bool, FIELD_NUMBER(11), "Use the node's network.", NULL, NULL},
			{"hostPID", &type_bool, FIELD_NUMBER(12), "Use the node's process ids.", NULL, NULL},
			{"hostIPC", &type_bool, FIELD_NUMBER(13), "Use the node's inter-process communication.", NULL, NULL},
			{"shareProcessNamespace", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(27),
				"Let the containers see each other's processes.", NULL, NULL},
			{"securityContext", &type_pod_security_context,
				FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(14),
				"Security settings of the whole pod.", NULL, "{}"},
			{"imagePullSecrets", &list_local_object_references, FIELD_PATCH_MERGE | FIELD_NUMBER(15),
				"Secrets to fetch images with.", "name", NULL},
			{"hostname", &type_string, FIELD_NUMBER(16), "The pod's host name; its own name where empty.", NULL,
				NULL},
			{"subdomain", &type_string, FIELD_NUMBER(17), "Domain under which the host name is known.", NULL, NULL},
			{"affinity", &type_affinity, FIELD_KEEP_EMPTY | FIELD_NUMBER(18),
				"Which nodes and neighbours the pod wants or avoids.", NULL, NULL},
			{"schedulerName", &type_string, FIELD_SILENT_DEFAULT | FIELD_NUMBER(19),
				"Which scheduler places the pod.", NULL, "\"default-scheduler\""},
			{"tolerations", &list_tolerations, FIELD_NUMBER(22), "Taints of nodes that the pod puts up with.", NULL,
				NULL},
			{"hostAliases", &list_host_aliases, FIELD_PATCH_MERGE | FIELD_NUMBER(23),
				"Further lines for the hosts file.", "ip", NULL},
			{"priorityClassName", &type_string, FIELD_NUMBER(24), "Class that gives the pod its priority.", NULL,
				NULL},
			{"priority", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(25),
				"How important the pod is; higher is more.", NULL, NULL},
			{"dnsConfig", &type_pod_dns_config, FIELD_KEEP_EMPTY | FIELD_NUMBER(26),
				"Settings of the resolver beyond those of dnsPolicy.", NULL, NULL},
			{"readinessGates", &list_pod_readiness_gates, FIELD_NUMBER(28),
				"Conditions that must be True, too, for the pod to be ready.", NULL, NULL},
			{"runtimeClassName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(29),
				"Class of the container runtime.", NULL, NULL},
			{"enableServiceLinks", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(30),
				"Whether services are made known in environment variables.", NULL, NULL},
			{"preemptionPolicy", &type_preemption_policy, FIELD_KEEP_EMPTY | FIELD_NUMBER(31),
				"Whether the pod may push others out: PreemptLowerPriority or Never.", NULL, NULL},
			{"overhead", &type_resource_list, FIELD_NUMBER(32),
				"Resources that running the pod costs beyond its containers'.", NULL, NULL},
			{"topologySpreadConstraints", &list_topology_spread_constraints, FIELD_PATCH_MERGE | FIELD_NUMBER(33),
				"How pods like this are to be spread over the cluster.", "topologyKey", NULL},
			{"setHostnameAsFQDN", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(35),
				"Make the fully qualified name the host name.", NULL, NULL},
			{"os", &type_pod_os, FIELD_KEEP_EMPTY | FIELD_NUMBER(36), "Operating system of the containers.", NULL,
				NULL},
			{"hostUsers", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(37),
				"Use the node's user ids; false gives the pod a user namespace of its own.", NULL, NULL},
			{"schedulingGates", &list_pod_scheduling_gates, FIELD_PATCH_MERGE | FIELD_NUMBER(38),
				"Who must agree before the pod is scheduled; can only get fewer.", "name", NULL},
			{"resourceClaims", &list_pod_resource_claims, FIELD_PATCH_MERGE | FIELD_RETAIN_KEYS | FIELD_NUMBER(39),
				"Claims of devices that containers may use, by name.", "name", NULL},
			{"resources", &type_resource_requirements, FIELD_KEEP_EMPTY | FIELD_NUMBER(40),
				"Resources of all containers together.", NULL, NULL},
			{"hostnameOverride", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(41),
				"Host name as it stands, whatever hostname and subdomain say.", NULL, NULL},
			{"schedulingGroup", &type_pod_scheduling_group, FIELD_KEEP_EMPTY | FIELD_NUMBER(43),
				"The group the pod is scheduled with.", NULL, NULL},
			{0},
		},
};

const struct type type_pod_template_spec = {
	CORE_OBJECT("PodTemplateSpec", "What a pod made from a template is to be."),
	.fields =
		(const struct field[]){
			{"metadata", &type_embedded_meta, FIELD_ALWAYS | FIELD_NUMBER(1),
				"Labels and annotations that the pods get.", NULL, NULL},
			{"spec", &type_pod_spec, FIELD_ALWAYS | FIELD_NUMBER(2), "What the pods are to be.", NULL, NULL},
			{0},
		},
};
