/* Validates services, and warns: ValidateServiceCreate, ValidateServiceUpdate and
 * ValidateServiceStatusUpdate of k8s.io/kubernetes/pkg/apis/core/validation. */
#include "api/core/pod_validate_parts.h"
#include "api/core/service_parts.h"
#include "api/core/service_rules.h"
#include "api/rules/address.h"
#include "api/rules/validate.h"

#include <assert.h>

static const char hints_annotation[] = "service.kubernetes.io/topology-aware-hints",
		  mode_annotation[] = "service.kubernetes.io/topology-mode",
		  ranges_annotation[] = "service.beta.kubernetes.io/load-balancer-source-ranges";
static const char balancer_only[] = "may only be used when `type` is 'LoadBalancer'";

static const struct json *annotation_of(const struct object *o, const char *name)
{
	return json_gets(o->meta.annotations, name);
}

static void check_annotations(const struct object *o, struct field_errors *errors)
{
	const struct json *hints = annotation_of(o, hints_annotation), *mode = annotation_of(o, mode_annotation);
	if (hints && mode && !json_equal(hints, mode)) {
		refuse_text(errors, WHERE_KEY(WHERE(WHERE(NULL, "metadata"), "annotations"), str_of(mode_annotation)),
			json_text(mode),
			"must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified");
	}
}

static void check_external_name(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	static const char *const absent[] = {"clusterIPs", "ipFamilies", "ipFamilyPolicy"};
	struct str name = member_text(spec, "externalName");
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
		if (service_has(spec, absent[i])) {
			refuse_forbidden(errors, WHERE_NAMED(at, absent[i]), "may not be set for ExternalName services");
		}
	}
	if (str_ends(name, STR("."))) {
		name.n--;
	}
	if (name.n) {
		check_text(errors, WHERE(at, "externalName"), name, validate_dns_subdomain);
	} else {
		refuse_absent(errors, WHERE(at, "externalName"), "");
	}
}

static void check_headless(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	bool is_balanced = service_is_type(spec, "LoadBalancer");
	if (service_is_headless(spec) && service_has_node_ports(spec)) {
		refuse_text(errors, WHERE_ITEM(WHERE(at, "clusterIPs"), 0), STR("None"),
			is_balanced ? "may not be set to 'None' for LoadBalancer services"
				    : "may not be set to 'None' for NodePort services");
	}
}

static void check_service_port(
	const struct where *at, struct json *port, bool needs_name, struct map *names, struct field_errors *errors)
{
	static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
	const struct pod_check c = {.errors = errors};
	struct str name = member_text(port, "name");
	if (needs_name && !name.n) {
		refuse_absent(errors, WHERE(at, "name"), "");
	} else if (name.n) {
		check_text(errors, WHERE(at, "name"), name, validate_dns_label);
		if (map_get(names, name)) {
			refuse_duplicate(errors, WHERE(at, "name"), name);
		}
		map_set(names, name, port, NULL);
	}
	check_range(errors, WHERE(at, "port"), json_gets(port, "port"), PORT_RANGE);
	check_choice(errors, WHERE(at, "protocol"), member_text(port, "protocol"), protocols, true);
	check_port(&c, WHERE(at, "targetPort"), json_gets(port, "targetPort"));
	if (service_has(port, "appProtocol")) {
		check_text(errors, WHERE(at, "appProtocol"), member_text(port, "appProtocol"), validate_qualified_name);
	}
}

static void check_service_ports(const struct where *at, const struct json *ports, struct field_errors *errors)
{
	struct map names;
	struct json *port;
	map_init(&names, ports ? ports->n : 0);
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		check_service_port(WHERE_ITEM(at, i), port, ports->n > 1, &names, errors);
	}
	map_done(&names);
}

/* The port as Go shows it where all but protocol and number is left out. */
static struct json *shown_port(const struct json *port, struct arena *a)
{
	struct json *shown = json_object(a), *number = json_gets(port, "port");
	json_add(a, shown, STR("Name"), json_string(a, STR("")));
	json_add(a, shown, STR("Protocol"), json_string(a, member_text(port, "protocol")));
	json_add(a, shown, STR("AppProtocol"), json_null(a));
	json_add(a, shown, STR("Port"), number ? number : json_int(a, 0));
	json_add(a, shown, STR("TargetPort"), json_int(a, 0));
	json_add(a, shown, STR("NodePort"), json_int(a, 0));
	return shown;
}

/* Two ports with one protocol must have two numbers, and two ports of nodes. */
static void check_unique(const struct where *at, const struct json *ports, const char *number, struct field_errors *errors)
{
	bool is_node_port = strcmp(number, "nodePort") == 0;
	struct map seen;
	struct json *port;
	map_init(&seen, ports ? ports->n : 0);
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		struct str key = arena_printf(errors->arena, STR_FMT " %lld", STR_ARG(member_text(port, "protocol")),
			(long long)member_int(port, number));
		bool is_seen = map_get(&seen, key) != NULL;
		if (is_node_port && !member_int(port, number)) {
			continue;
		}
		if (is_seen && is_node_port) {
			field_duplicate(errors, where_path(WHERE(WHERE_ITEM(at, i), "nodePort"), errors->arena),
				json_gets(port, "nodePort"));
		} else if (is_seen) {
			field_duplicate(errors, where_path(WHERE_ITEM(at, i), errors->arena), shown_port(port, errors->arena));
		}
		map_set(&seen, key, port, NULL);
	}
	map_done(&seen);
}

static void check_numbers(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	const struct json *ports = json_gets(spec, "ports"), *port;
	for (uint32_t i = 0; service_is_type(spec, "ClusterIP") && (port = list_item(ports, i)); i++) {
		if (member_int(port, "nodePort")) {
			refuse_forbidden(
				errors, WHERE(WHERE_ITEM(at, i), "nodePort"), "may not be used when `type` is 'ClusterIP'");
		}
	}
	check_unique(at, ports, "nodePort", errors);
	check_unique(at, ports, "port", errors);
}

static void check_affinity_of_clients(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	static const char *const affinities[] = {"ClientIP", "None", NULL};
	const struct json *client = json_gets(json_gets(spec, "sessionAffinityConfig"), "clientIP");
	check_choice(errors, WHERE(at, "sessionAffinity"), member_text(spec, "sessionAffinity"), affinities, true);
	if (str_is(member_text(spec, "sessionAffinity"), "ClientIP")) {
		check_range(errors, WHERE(WHERE(WHERE(at, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds"),
			json_gets(client, "timeoutSeconds"), 1, 86400, "must be greater than 0 and less than 86400");
	}
}

static void check_external_addresses(const struct where *at, const struct json *addresses, struct field_errors *errors)
{
	const struct json *address;
	for (uint32_t i = 0; (address = list_item(addresses, i)); i++) {
		size_t n_before = errors->n;
		check_address(errors, WHERE_ITEM(at, i), json_text(address));
		if (errors->n == n_before) {
			check_destination(errors, WHERE_ITEM(at, i), json_text(address));
		}
	}
}

/* As a field or, of old, as an annotation; blanks around each are allowed. */
static void check_source_ranges(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "LoadBalancerSourceRanges"); /* upstream's capital letter */
	const struct where *annotation_at = WHERE_KEY(WHERE(WHERE(NULL, "metadata"), "annotations"), str_of(ranges_annotation));
	const struct json *ranges = json_gets(object_spec(o), "loadBalancerSourceRanges"), *range;
	const struct json *annotation = annotation_of(o, ranges_annotation);
	bool is_balanced = service_is_type(object_spec(o), "LoadBalancer");
	if ((ranges || annotation) && !is_balanced) {
		refuse_forbidden(errors, ranges ? at : annotation_at, balancer_only);
	}
	for (uint32_t i = 0; (range = list_item(ranges, i)); i++) {
		check_block(errors, WHERE_ITEM(at, i), str_trim(json_text(range)));
	}
	struct str part, rest = str_trim(json_text(annotation));
	for (bool has_more = !ranges && rest.n; has_more;) {
		has_more = str_cut(rest, ',', &part, &rest);
		check_block(errors, annotation_at, str_trim(part));
	}
}

static void check_load_balancer(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	bool is_balanced = service_is_type(spec, "LoadBalancer");
	if (service_has(spec, "allocateLoadBalancerNodePorts") && !is_balanced) {
		refuse_forbidden(errors, WHERE(at, "allocateLoadBalancerNodePorts"), balancer_only);
	}
	if (service_has(spec, "loadBalancerClass")) {
		if (is_balanced) {
			check_text(errors, WHERE(at, "loadBalancerClass"), member_text(spec, "loadBalancerClass"),
				validate_qualified_name);
		} else {
			refuse_forbidden(errors, WHERE(at, "loadBalancerClass"), balancer_only);
		}
	}
}

static void check_traffic(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	static const char *const policies[] = {"Cluster", "Local", NULL};
	static const char *const distributions[] = {"PreferClose", "PreferSameZone", "PreferSameNode", NULL};
	struct str external = member_text(spec, "externalTrafficPolicy");
	const struct json *health = json_gets(spec, "healthCheckNodePort");
	if (service_is_outside(spec)) {
		check_choice(errors, WHERE(at, "externalTrafficPolicy"), external, policies, true);
	} else if (external.n) {
		refuse_text(errors, WHERE(at, "externalTrafficPolicy"), external,
			"may only be set for externally-accessible services");
	}
	if (service_has_health_check(spec)) {
		check_range(errors, WHERE(at, "healthCheckNodePort"), health, PORT_RANGE);
	} else if (health) {
		refuse_invalid(errors, WHERE(at, "healthCheckNodePort"), health,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
	}
	if (service_has(spec, "internalTrafficPolicy")) {
		check_choice(errors, WHERE(at, "internalTrafficPolicy"), member_text(spec, "internalTrafficPolicy"), policies,
			false);
	}
	if (service_has(spec, "trafficDistribution")) {
		check_choice(errors, WHERE(at, "trafficDistribution"), member_text(spec, "trafficDistribution"), distributions,
			false);
	}
}

static void check_service(const struct object *o, struct field_errors *errors)
{
	static const char *const types[] = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort", NULL};
	const struct where *at = WHERE(NULL, "spec");
	const struct json *spec = object_spec(o), *ports = json_gets(spec, "ports");
	check_annotations(o, errors);
	if (!ports && !service_is_headless(spec) && !service_is_type(spec, "ExternalName")) {
		refuse_absent(errors, WHERE(at, "ports"), "");
	}
	check_headless(at, spec, errors);
	if (service_is_type(spec, "ExternalName")) {
		check_external_name(at, spec, errors);
	}
	check_service_ports(WHERE(at, "ports"), ports, errors);
	check_labels(errors, WHERE(at, "selector"), json_gets(spec, "selector"));
	check_affinity_of_clients(at, spec, errors);
	service_check_addresses(spec, errors);
	check_external_addresses(WHERE(at, "externalIPs"), json_gets(spec, "externalIPs"), errors);
	check_choice(errors, WHERE(at, "type"), member_text(spec, "type"), types, true);
	check_numbers(WHERE(at, "ports"), spec, errors);
	check_source_ranges(o, errors);
	check_load_balancer(at, spec, errors);
	check_traffic(at, spec, errors);
}

void service_validate(const struct object *o, struct field_errors *errors)
{
	size_t n_before = errors->n;
	service_check_families(object_spec(o), NULL, errors);
	if (errors->n == n_before) {
		check_service(o, errors);
	}
}

static void check_kept_balancer(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *class = json_gets(spec, "loadBalancerClass");
	bool is_balanced = service_is_type(spec, "LoadBalancer");
	if (is_balanced && service_is_type(old, "LoadBalancer") && !service_is_same(spec, old, "loadBalancerClass")) {
		refuse_invalid(errors, WHERE(at, "loadBalancerClass"), class ? class : json_null(errors->arena),
			"may not change once set");
	}
	check_load_balancer(at, is_balanced || class ? spec : NULL, errors);
	if (service_has_health_check(spec) && service_has_health_check(old) &&
		!service_is_same(spec, old, "healthCheckNodePort")) {
		refuse_forbidden(errors, WHERE(at, "healthCheckNodePort"), "field is immutable");
	}
}

void service_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	size_t n_before = errors->n;
	service_check_families(object_spec(o), object_spec(old), errors);
	if (errors->n == n_before) {
		service_check_kept(object_spec(o), object_spec(old), errors);
		check_kept_balancer(object_spec(o), object_spec(old), errors);
		check_service(o, errors);
	}
}

static void check_ingress(const struct where *at, const struct json *ingress, struct field_errors *errors)
{
	static const char *const modes[] = {"Proxy", "VIP", NULL};
	struct str ip = member_text(ingress, "ip"), host = member_text(ingress, "hostname");
	bool has_mode = service_has(ingress, "ipMode");
	struct address address;
	if (ip.n) {
		check_address(errors, WHERE(at, "ip"), ip);
	}
	if (!has_mode && ip.n) {
		refuse_absent(errors, WHERE(at, "ipMode"), "must be specified when `ip` is set");
	} else if (has_mode && !ip.n) {
		refuse_forbidden(errors, WHERE(at, "ipMode"), "may not be specified when `ip` is not set");
	} else if (has_mode) {
		check_choice(errors, WHERE(at, "ipMode"), member_text(ingress, "ipMode"), modes, false);
	}
	if (host.n) {
		check_text(errors, WHERE(at, "hostname"), host, validate_dns_subdomain);
	}
	if (host.n && address_parse(host, &address)) {
		refuse_text(errors, WHERE(at, "hostname"), host, "must be a DNS name, not an IP address");
	}
}

void service_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct where *at = WHERE(WHERE(WHERE(NULL, "status"), "loadBalancer"), "ingress");
	const struct json *list = json_gets(json_gets(object_status(o), "loadBalancer"), "ingress"), *ingress;
	(void)old;
	if (list && !service_is_type(object_spec(o), "LoadBalancer")) {
		refuse_forbidden(errors, at, "may only be used when `spec.type` is 'LoadBalancer'");
		return;
	}
	for (uint32_t i = 0; (ingress = list_item(list, i)); i++) {
		check_ingress(WHERE_ITEM(at, i), ingress, errors);
	}
}

size_t service_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	const struct json *spec = object_spec(o);
	bool is_name = service_is_type(spec, "ExternalName"), has_external = service_has(spec, "externalIPs");
	bool is_headless = service_is_type(spec, "ClusterIP") && str_is(member_text(spec, "clusterIP"), "None");
	const struct {
		bool is_due;
		const char *text;
	} rows[] = {
		{annotation_of(o, hints_annotation) != NULL,
			"annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
			"service.kubernetes.io/topology-mode instead"},
		{is_headless && member_text(spec, "loadBalancerIP").n, "spec.loadBalancerIP is ignored for headless services"},
		{is_headless && has_external, "spec.externalIPs is ignored for headless services"},
		{is_headless && !str_is(member_text(spec, "sessionAffinity"), "None"),
			"spec.SessionAffinity is ignored for headless services"},
		{has_external && !is_headless && !is_name,
			"spec.externalIPs is deprecated and may no longer be implemented in some clusters"},
		{has_external && is_name, "spec.externalIPs is ignored when spec.type is \"ExternalName\""},
		{!is_name && member_text(spec, "externalName").n,
			"spec.externalName is ignored when spec.type is not \"ExternalName\""},
		{str_is(member_text(spec, "trafficDistribution"), "PreferClose"),
			"spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""},
	};
	static_assert(ARRAY_SIZE(rows) <= KIND_WARNINGS_MAX, "room for each");
	size_t n = 0;
	(void)old;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].is_due) {
			ret[n++] = str_of(rows[i].text);
		}
	}
	return n;
}
