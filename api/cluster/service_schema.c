/* Services, member by member in the order Go writes them. */
#include "api/cluster/service_schema.h"

#include "api/pod/pod_schema_parts.h"
#include "api/rules/condition.h"

static const struct type type_protocol = {.kind = TYPE_STRING, .go_type = "v1.Protocol"};
static const struct type type_ip_family = {.kind = TYPE_STRING, .go_type = "v1.IPFamily"};
static const struct type list_ip_families = LIST_OF(type_ip_family);
static const struct type type_ip_family_policy = {.kind = TYPE_STRING, .go_type = "v1.IPFamilyPolicy"};
static const struct type type_service_type = {.kind = TYPE_STRING, .go_type = "v1.ServiceType"};
static const struct type type_service_affinity = {.kind = TYPE_STRING, .go_type = "v1.ServiceAffinity"};
static const struct type type_external_traffic_policy = {.kind = TYPE_STRING, .go_type = "v1.ServiceExternalTrafficPolicy"};
static const struct type type_internal_traffic_policy = {.kind = TYPE_STRING, .go_type = "v1.ServiceInternalTrafficPolicy"};
static const struct type type_load_balancer_ip_mode = {.kind = TYPE_STRING, .go_type = "v1.LoadBalancerIPMode"};
static const struct type atomic_string_map = {.kind = TYPE_MAP, .elem = &type_string, .is_atomic = true};

const struct type type_service_port = {
	CORE_OBJECT("ServicePort", "A port of a service."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER(1), "Name of the port; needed where there are several.", NULL,
				NULL},
			{"protocol", &type_protocol, FIELD_NUMBER(2), "TCP, UDP or SCTP.", NULL, "\"TCP\""},
			{"appProtocol", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(6), "What is spoken on it.", NULL, NULL},
			{"port", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "The port.", NULL, NULL},
			{"targetPort", &type_int_or_string, FIELD_ALWAYS | FIELD_NUMBER(4),
				"Number or name of the port of the pods; the same where absent.", NULL, NULL},
			{"nodePort", &type_int32, FIELD_NUMBER(5), "Port of every node, for NodePort and LoadBalancer.", NULL,
				NULL},
			{0},
		},
};

static const struct type list_service_ports = KEYED_LIST_OF(type_service_port, "port", "protocol");

static const struct type type_client_ip_config = {
	CORE_OBJECT("ClientIPConfig", "How long a client stays with its pod."),
	.fields =
		(const struct field[]){
			{"timeoutSeconds", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"For how many seconds after its last connection.", NULL, NULL},
			{0},
		},
};

static const struct type type_session_affinity_config = {
	CORE_OBJECT("SessionAffinityConfig", "How clients stay with their pods."),
	.fields =
		(const struct field[]){
			{"clientIP", &type_client_ip_config, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"Told apart by their addresses.", NULL, NULL},
			{0},
		},
};

const struct type type_service_spec = {
	CORE_OBJECT("ServiceSpec", "What a service leads to, and how."),
	.fields =
		(const struct field[]){
			{"ports", &list_service_ports, FIELD_PATCH_MERGE | FIELD_NUMBER(1), "The ports.", "port", NULL},
			{"selector", &atomic_string_map, FIELD_NUMBER(2), "Labels of the pods that it leads to.", NULL, NULL},
			{"clusterIP", &type_string, FIELD_NUMBER(3),
				"Address of the service; None: it has none, and its name stands for its pods.", NULL, NULL},
			{"clusterIPs", &type_string_list, FIELD_NUMBER(18),
				"The same for each family of addresses; the first is clusterIP.", NULL, NULL},
			{"type", &type_service_type, FIELD_NUMBER(4), "ClusterIP, NodePort, LoadBalancer or ExternalName.",
				NULL, NULL},
			{"externalIPs", &type_string_list, FIELD_NUMBER(5),
				"Further addresses; somebody else leads them to the nodes.", NULL, NULL},
			{"sessionAffinity", &type_service_affinity, FIELD_NUMBER(7),
				"ClientIP: a client stays with its pod. None: it need not.", NULL, NULL},
			{"loadBalancerIP", &type_string, FIELD_NUMBER(8),
				"The address that a load balancer is to have; deprecated.", NULL, NULL},
			{"loadBalancerSourceRanges", &type_string_list, FIELD_NUMBER(9),
				"From where a load balancer may be used.", NULL, NULL},
			{"externalName", &type_string, FIELD_NUMBER(10), "The name that an ExternalName stands for.", NULL,
				NULL},
			{"externalTrafficPolicy", &type_external_traffic_policy, FIELD_NUMBER(11),
				"Where traffic from outside goes: Cluster or Local.", NULL, NULL},
			{"healthCheckNodePort", &type_int32, FIELD_NUMBER(12),
				"Port of a node that says whether it has pods of the service.", NULL, NULL},
			{"publishNotReadyAddresses", &type_bool, FIELD_NUMBER(13), "Pods that are not ready are found, too.",
				NULL, NULL},
			{"sessionAffinityConfig", &type_session_affinity_config, FIELD_KEEP_EMPTY | FIELD_NUMBER(14),
				"How clients stay with their pods.", NULL, NULL},
			{"ipFamilies", &list_ip_families, FIELD_NUMBER(19), "IPv4 and IPv6, in order.", NULL, NULL},
			{"ipFamilyPolicy", &type_ip_family_policy, FIELD_KEEP_EMPTY | FIELD_NUMBER(17),
				"SingleStack, PreferDualStack or RequireDualStack.", NULL, NULL},
			{"allocateLoadBalancerNodePorts", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(20),
				"Whether a load balancer needs ports of nodes.", NULL, NULL},
			{"loadBalancerClass", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(21), "Whose load balancer it is.",
				NULL, NULL},
			{"internalTrafficPolicy", &type_internal_traffic_policy, FIELD_KEEP_EMPTY | FIELD_NUMBER(22),
				"Where traffic from inside goes: Cluster or Local.", NULL, NULL},
			{"trafficDistribution", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(23), "Which pods are preferred.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_port_status = {
	CORE_OBJECT("PortStatus", "How a port of a load balancer is."),
	.fields =
		(const struct field[]){
			{"port", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The port.", NULL, NULL},
			{"protocol", &type_protocol, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "TCP, UDP or SCTP.",
				NULL, NULL},
			{"error", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Why it does not work.", NULL, NULL},
			{0},
		},
};

static const struct type list_port_statuses = LIST_OF(type_port_status);

const struct type type_load_balancer_ingress = {
	CORE_OBJECT("LoadBalancerIngress", "Where a load balancer takes traffic."),
	.fields =
		(const struct field[]){
			{"ip", &type_string, FIELD_NUMBER(1), "Its address.", NULL, NULL},
			{"hostname", &type_string, FIELD_NUMBER(2), "Its name.", NULL, NULL},
			{"ipMode", &type_load_balancer_ip_mode, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "VIP, or Proxy.", NULL,
				NULL},
			{"ports", &list_port_statuses, FIELD_NUMBER(4), "How its ports are.", NULL, NULL},
			{0},
		},
};

static const struct type list_load_balancer_ingresses = LIST_OF(type_load_balancer_ingress);

const struct type type_load_balancer_status = {
	CORE_OBJECT("LoadBalancerStatus", "What became of a load balancer."),
	.fields =
		(const struct field[]){
			{"ingress", &list_load_balancer_ingresses, FIELD_NUMBER(1), "Where it takes traffic.", NULL, NULL},
			{0},
		},
};

const struct type type_service_status = {
	CORE_OBJECT("ServiceStatus", "What became of a service."),
	.fields =
		(const struct field[]){
			{"loadBalancer", &type_load_balancer_status, FIELD_ALWAYS | FIELD_NUMBER(1),
				"What became of its load balancer.", NULL, NULL},
			{"conditions", &list_conditions, FIELD_PATCH_MERGE | FIELD_NUMBER(2), "What was observed.", "type",
				NULL},
			{0},
		},
};
