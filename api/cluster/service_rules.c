/* What is filled into services: SetDefaults_Service of k8s.io/kubernetes/pkg/apis/core/v1, and the
 * strategy of registry/core/service. Many fields mean something for one type alone. An update that only changes
 * the type may leave the others as they were: what no longer applies is dropped, what was given is kept. */
#include "api/cluster/service_rules.h"

#include "api/cluster/service_parts.h"
#include "api/cluster/service_schema.h"
#include "api/rules/spec_status.h"

static void set_spec(struct object *o, struct json *spec, struct arena *a)
{
	json_set(a, o->fields, STR("spec"), spec);
}

static struct json *with(struct json *spec, const char *name, struct json *value, struct arena *a)
{
	return schema_with(&type_service_spec, spec, name, value, a);
}

/* Defaults. */

static struct json *text_or(struct json *spec, const char *name, const char *text, struct arena *a)
{
	return member_text(spec, name).n ? spec : with(spec, name, json_string(a, str_of(text)), a);
}

static struct json *default_affinity(struct json *spec, struct arena *a)
{
	enum { THREE_HOURS_S = 10800 };
	spec = text_or(spec, "sessionAffinity", "None", a);
	const struct json *config = json_gets(spec, "sessionAffinityConfig");
	if (str_is(member_text(spec, "sessionAffinity"), "None")) {
		return config ? with(spec, "sessionAffinityConfig", NULL, a) : spec;
	}
	if (!str_is(member_text(spec, "sessionAffinity"), "ClientIP") ||
		service_has(json_gets(config, "clientIP"), "timeoutSeconds")) {
		return spec;
	}
	struct json *client = json_object(a), *filled = json_object(a);
	json_add(a, client, STR("timeoutSeconds"), json_int(a, THREE_HOURS_S));
	json_add(a, filled, STR("clientIP"), client);
	return with(spec, "sessionAffinityConfig", filled, a);
}

static void default_ports(const struct json *ports, struct arena *a)
{
	struct json *port;
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		const struct json *target = json_gets(port, "targetPort");
		if (!json_text(target).n || (json_is(target, JSON_NUMBER) && str_is(json_text(target), "0"))) {
			ports->items[i] = schema_with(&type_service_port, port, "targetPort", json_gets(port, "port"), a);
		}
	}
}

static void default_ingress(struct object *o, struct arena *a)
{
	const struct json *list = json_gets(json_gets(service_status(o), "loadBalancer"), "ingress");
	struct json *ingress;
	for (uint32_t i = 0; (ingress = list_item(list, i)); i++) {
		if (member_text(ingress, "ip").n && !service_has(ingress, "ipMode")) {
			list->items[i] =
				schema_with(&type_load_balancer_ingress, ingress, "ipMode", json_string(a, STR("VIP")), a);
		}
	}
}

void service_set_defaults(struct object *o, struct arena *a)
{
	struct json *spec = text_or(default_affinity(service_spec(o), a), "type", "ClusterIP", a);
	bool is_balanced = service_is_type(spec, "LoadBalancer");
	default_ports(json_gets(spec, "ports"), a);
	if (service_is_outside(spec)) {
		spec = text_or(spec, "externalTrafficPolicy", "Cluster", a);
	}
	if (!service_has(spec, "internalTrafficPolicy") &&
		(service_has_node_ports(spec) || service_is_type(spec, "ClusterIP"))) {
		spec = with(spec, "internalTrafficPolicy", json_string(a, STR("Cluster")), a);
	}
	if (is_balanced && !service_has(spec, "allocateLoadBalancerNodePorts")) {
		spec = with(spec, "allocateLoadBalancerNodePorts", json_bool(a, true), a);
	}
	if (is_balanced) {
		default_ingress(o, a);
	}
	set_spec(o, spec, a);
}

/* What is filled in on create and kept on update: of addresses and ports, what the client has not said again. */

static struct json *only(struct json *text, struct arena *a)
{
	struct json *list = json_array(a);
	json_append(a, list, text);
	return list;
}

/* Upstream shows it of no ExternalName, though it is there. */
static struct json *hide_internal_policy(struct json *spec, struct arena *a)
{
	struct str policy = member_text(spec, "internalTrafficPolicy");
	bool is_valid = str_is(policy, "Cluster") || str_is(policy, "Local");
	return is_valid && service_is_type(spec, "ExternalName") ? with(spec, "internalTrafficPolicy", NULL, a) : spec;
}

static struct json *empty_status(struct arena *a)
{
	struct json *status = json_object(a);
	json_add(a, status, STR("loadBalancer"), json_object(a));
	return status;
}

void service_prepare_create(struct object *o, struct arena *a)
{
	struct json *spec = service_spec(o), *address = json_gets(spec, "clusterIP");
	if (address && !service_has(spec, "clusterIPs")) {
		spec = with(spec, "clusterIPs", only(address, a), a);
	}
	json_set(a, o->fields, STR("status"), empty_status(a));
	set_spec(o, hide_internal_policy(service_fill_families(spec, NULL, a), a), a);
}

static struct json *keep_addresses(struct json *spec, const struct json *old, struct arena *a)
{
	static const char *const names[] = {"clusterIP", "clusterIPs"};
	for (size_t i = 0; service_has_addresses(spec) && service_has_addresses(old) && i < ARRAY_SIZE(names); i++) {
		if (!service_has(spec, names[i]) && service_has(old, names[i])) {
			spec = with(spec, names[i], json_gets(old, names[i]), a);
		}
	}
	return spec;
}

/* Who changes or clears clusterIP and leaves clusterIPs as it was knows only the one. */
static struct json *follow_address(struct json *spec, const struct json *old, struct arena *a)
{
	struct str now = member_text(spec, "clusterIP"), before = member_text(old, "clusterIP");
	if (str_eq(now, before)) {
		return !service_has(spec, "clusterIPs") && service_has(old, "clusterIPs")
			? with(spec, "clusterIPs", json_gets(old, "clusterIPs"), a)
			: spec;
	}
	if (!service_is_same(spec, old, "clusterIPs")) {
		return spec;
	}
	return with(spec, "clusterIPs", now.n ? only(json_gets(spec, "clusterIP"), a) : NULL, a);
}

static struct str port_key(const struct json *port, struct arena *a)
{
	return arena_printf(a, "%lld", (long long)member_int(port, "nodePort"));
}

/* Ports of nodes by the numbers that are in use in a list; those that are not there are not in the map. */
static void index_node_ports(struct map *ret, const struct json *ports, struct arena *a)
{
	struct json *port;
	map_init(ret, json_is(ports, JSON_ARRAY) ? ports->n : 0);
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		if (member_int(port, "nodePort")) {
			map_set(ret, port_key(port, a), port, NULL);
		}
	}
}

/* Of ports with one name, the last counts, with a port of nodes or without. */
static void index_by_name(struct map *ret, const struct json *ports)
{
	struct json *port;
	map_init(ret, json_is(ports, JSON_ARRAY) ? ports->n : 0);
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		map_set(ret, member_text(port, "name"), port, NULL);
	}
}

static struct json *keep_node_ports(struct json *spec, const struct json *old, struct arena *a)
{
	struct json *ports = json_gets(spec, "ports"), *port;
	struct map by_name, used;
	if (!ports || !service_has_node_ports(old) || !service_has_node_ports(spec)) {
		return spec;
	}
	ports = json_copy(a, ports);
	index_by_name(&by_name, json_gets(old, "ports"));
	index_node_ports(&used, ports, a);
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		const struct json *before = map_get(&by_name, member_text(port, "name"));
		if (!member_int(port, "nodePort") && member_int(before, "nodePort") && !map_get(&used, port_key(before, a))) {
			ports->items[i] = schema_with(&type_service_port, port, "nodePort", json_gets(before, "nodePort"), a);
		}
	}
	map_done(&used);
	map_done(&by_name);
	return with(spec, "ports", ports, a);
}

static struct json *keep_health_port(struct json *spec, const struct json *old, struct arena *a)
{
	bool is_lost = !service_has(spec, "healthCheckNodePort") && service_has(old, "healthCheckNodePort");
	return is_lost && service_has_health_check(spec) && service_has_health_check(old)
		? with(spec, "healthCheckNodePort", json_gets(old, "healthCheckNodePort"), a)
		: spec;
}

/* Has it no port of nodes that the old one had not? */
static bool has_no_new_node_port(const struct json *spec, const struct json *old, struct arena *a)
{
	const struct json *ports = json_gets(spec, "ports"), *port;
	struct map before;
	bool is_subset = true;
	index_node_ports(&before, json_gets(old, "ports"), a);
	for (uint32_t i = 0; is_subset && (port = list_item(ports, i)); i++) {
		is_subset = !member_int(port, "nodePort") || map_get(&before, port_key(port, a));
	}
	map_done(&before);
	return is_subset;
}

static struct json *without_node_ports(struct json *spec, struct arena *a)
{
	struct json *ports = json_gets(spec, "ports") ? json_copy(a, json_gets(spec, "ports")) : NULL, *port;
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		ports->items[i] = schema_with(&type_service_port, port, "nodePort", NULL, a);
	}
	return ports ? with(spec, "ports", ports, a) : spec;
}

static struct json *drop_unchanged(
	struct json *spec, const struct json *old, const char *name, bool is_meaningless, struct arena *a)
{
	bool is_dropped = is_meaningless && service_has(spec, name) && service_is_same(spec, old, name);
	return is_dropped ? with(spec, name, NULL, a) : spec;
}

/* A client that changes the type need not know what only the old one had. */
static struct json *drop_meaningless(struct json *spec, const struct json *old, struct arena *a)
{
	bool loses_addresses = service_has_addresses(old) && !service_has_addresses(spec);
	bool is_balanced_no_more = service_is_type(old, "LoadBalancer") && !service_is_type(spec, "LoadBalancer");
	if (loses_addresses && service_is_same(spec, old, "clusterIP") && service_is_same(spec, old, "clusterIPs")) {
		spec = with(with(spec, "clusterIP", NULL, a), "clusterIPs", NULL, a);
	}
	spec = drop_unchanged(spec, old, "ipFamilies", loses_addresses, a);
	spec = drop_unchanged(spec, old, "ipFamilyPolicy", loses_addresses, a);
	if (service_has_node_ports(old) && !service_has_node_ports(spec) && has_no_new_node_port(spec, old, a)) {
		spec = without_node_ports(spec, a);
	}
	bool loses_health = service_has_health_check(old) && !service_has_health_check(spec);
	spec = drop_unchanged(spec, old, "healthCheckNodePort", loses_health, a);
	spec = drop_unchanged(spec, old, "allocateLoadBalancerNodePorts", is_balanced_no_more, a);
	spec = drop_unchanged(spec, old, "loadBalancerClass", is_balanced_no_more, a);
	bool loses_outside = service_is_outside(old) && !service_is_outside(spec);
	return drop_unchanged(spec, old, "externalTrafficPolicy", loses_outside, a);
}

void service_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	struct json *before = service_spec(old), *spec = keep_addresses(service_spec(o), before, a);
	spec = keep_health_port(keep_node_ports(spec, before, a), before, a);
	spec = service_fill_families(follow_address(spec, before, a), before, a);
	spec = hide_internal_policy(drop_meaningless(spec, before, a), a);
	set_spec(o, spec, a);
	keep_status(o, old, a);
	if (!service_is_type(spec, "LoadBalancer")) {
		struct json *status = schema_with(&type_service_status, service_status(o), "loadBalancer", json_object(a), a);
		json_set(a, o->fields, STR("status"), status);
	}
}
