/* Fills in services, and decides which addresses a service may have. The models are
 * SetDefaults_Service, the strategy of registry/core/service, and the decisions of upstream's
 * allocator before it allocates. */
#include "api/core/service_rules.h"

#include "api/core/service_parts.h"
#include "api/rules/address.h"
#include "api/rules/spec_status.h"
#include "api/upstream/upstream.h"

#include <assert.h>

/* Many fields mean something for one type of service alone. An update that only changes the type may leave the others as
 * they were: a field that no longer applies is dropped, and a field that the client sets is kept. */

static struct json *with_member(struct json *spec, const char *name, struct json *value, struct arena *a)
{
	return schema_with(&type_service_spec, spec, name, value, a);
}

/* Defaults. */

static struct json *text_or(struct json *spec, const char *name, const char *text, struct arena *a)
{
	return member_text(spec, name).n ? spec : with_member(spec, name, json_string(a, str_of(text)), a);
}

static struct json *default_affinity(struct json *spec, struct arena *a)
{
	enum { THREE_HOURS_S = 10800 };
	spec = text_or(spec, "sessionAffinity", "None", a);
	const struct json *config = json_gets(spec, "sessionAffinityConfig");
	if (str_is(member_text(spec, "sessionAffinity"), "None")) {
		return config ? with_member(spec, "sessionAffinityConfig", NULL, a) : spec;
	}
	if (!str_is(member_text(spec, "sessionAffinity"), "ClientIP") ||
		service_has(json_gets(config, "clientIP"), "timeoutSeconds")) {
		return spec;
	}
	struct json *client = json_object(a), *filled = json_object(a);
	json_add(a, client, STR("timeoutSeconds"), json_int(a, THREE_HOURS_S));
	json_add(a, filled, STR("clientIP"), client);
	return with_member(spec, "sessionAffinityConfig", filled, a);
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
	const struct json *list = json_gets(json_gets(object_status(o), "loadBalancer"), "ingress");
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
	struct json *spec = text_or(default_affinity(object_spec(o), a), "type", "ClusterIP", a);
	bool is_balanced = service_is_type(spec, "LoadBalancer");
	default_ports(json_gets(spec, "ports"), a);
	if (service_is_outside(spec)) {
		spec = text_or(spec, "externalTrafficPolicy", "Cluster", a);
	}
	if (!service_has(spec, "internalTrafficPolicy") &&
		(service_has_node_ports(spec) || service_is_type(spec, "ClusterIP"))) {
		spec = with_member(spec, "internalTrafficPolicy", json_string(a, STR("Cluster")), a);
	}
	if (is_balanced && !service_has(spec, "allocateLoadBalancerNodePorts")) {
		spec = with_member(spec, "allocateLoadBalancerNodePorts", json_bool(a, true), a);
	}
	if (is_balanced) {
		default_ingress(o, a);
	}
	object_set_spec(o, spec, a);
}

/* Fields filled in on create and kept on update: addresses and ports that the client has not
 * repeated. */

static struct json *only(struct json *text, struct arena *a)
{
	struct json *list = json_array(a);
	json_append(a, list, text);
	return list;
}

/* Removes the internal policy from an ExternalName, as upstream does when it shows one. */
static struct json *hide_internal_policy(struct json *spec, struct arena *a)
{
	struct str policy = member_text(spec, "internalTrafficPolicy");
	bool is_valid = str_is(policy, "Cluster") || str_is(policy, "Local");
	return is_valid && service_is_type(spec, "ExternalName") ? with_member(spec, "internalTrafficPolicy", NULL, a) : spec;
}

static struct json *empty_status(struct arena *a)
{
	struct json *status = json_object(a);
	json_add(a, status, STR("loadBalancer"), json_object(a));
	return status;
}

void service_prepare_create(struct object *o, struct arena *a)
{
	struct json *spec = object_spec(o), *address = json_gets(spec, "clusterIP");
	if (address && !service_has(spec, "clusterIPs")) {
		spec = with_member(spec, "clusterIPs", only(address, a), a);
	}
	object_set_status(o, empty_status(a), a);
	object_set_spec(o, hide_internal_policy(service_fill_families(spec, NULL, a), a), a);
}

static struct json *keep_addresses(struct json *spec, const struct json *old, struct arena *a)
{
	static const char *const names[] = {"clusterIP", "clusterIPs"};
	for (size_t i = 0; service_has_addresses(spec) && service_has_addresses(old) && i < ARRAY_SIZE(names); i++) {
		if (!service_has(spec, names[i]) && service_has(old, names[i])) {
			spec = with_member(spec, names[i], json_gets(old, names[i]), a);
		}
	}
	return spec;
}

/* A client that changes or clears clusterIP but not clusterIPs knows only the former, so clusterIPs
 * follows it. */
static struct json *follow_address(struct json *spec, const struct json *old, struct arena *a)
{
	struct str now = member_text(spec, "clusterIP"), before = member_text(old, "clusterIP");
	if (str_eq(now, before)) {
		return !service_has(spec, "clusterIPs") && service_has(old, "clusterIPs")
			? with_member(spec, "clusterIPs", json_gets(old, "clusterIPs"), a)
			: spec;
	}
	if (!service_is_same(spec, old, "clusterIPs")) {
		return spec;
	}
	return with_member(spec, "clusterIPs", now.n ? only(json_gets(spec, "clusterIP"), a) : NULL, a);
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

/* Indexes ports by name. Of ports with one name the last counts, with or without a node port. */
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
	return with_member(spec, "ports", ports, a);
}

static struct json *keep_health_port(struct json *spec, const struct json *old, struct arena *a)
{
	bool is_lost = !service_has(spec, "healthCheckNodePort") && service_has(old, "healthCheckNodePort");
	return is_lost && service_has_health_check(spec) && service_has_health_check(old)
		? with_member(spec, "healthCheckNodePort", json_gets(old, "healthCheckNodePort"), a)
		: spec;
}

/* Returns whether all node ports were in the old list. */
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
	return ports ? with_member(spec, "ports", ports, a) : spec;
}

static struct json *drop_unchanged(
	struct json *spec, const struct json *old, const char *name, bool is_meaningless, struct arena *a)
{
	bool is_dropped = is_meaningless && service_has(spec, name) && service_is_same(spec, old, name);
	return is_dropped ? with_member(spec, name, NULL, a) : spec;
}

/* A client that changes the type need not know what only the old one had. */
static struct json *drop_meaningless(struct json *spec, const struct json *old, struct arena *a)
{
	bool loses_addresses = service_has_addresses(old) && !service_has_addresses(spec);
	bool is_balanced_no_more = service_is_type(old, "LoadBalancer") && !service_is_type(spec, "LoadBalancer");
	if (loses_addresses && service_is_same(spec, old, "clusterIP") && service_is_same(spec, old, "clusterIPs")) {
		spec = with_member(with_member(spec, "clusterIP", NULL, a), "clusterIPs", NULL, a);
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
	assert(o->kind == old->kind);
	struct json *before = object_spec(old), *spec = keep_addresses(object_spec(o), before, a);
	spec = keep_health_port(keep_node_ports(spec, before, a), before, a);
	spec = service_fill_families(follow_address(spec, before, a), before, a);
	spec = hide_internal_policy(drop_meaningless(spec, before, a), a);
	object_set_spec(o, spec, a);
	keep_status(o, old, a);
	if (!service_is_type(spec, "LoadBalancer")) {
		struct json *status = schema_with(&type_service_status, object_status(o), "loadBalancer", json_object(a), a);
		object_set_status(o, status, a);
	}
}

/* The decisions of upstream's allocator before it allocates, and the rules of clusterIP,
 * clusterIPs, ipFamilies and ipFamilyPolicy. At kube-apiserver the allocator comes before
 * everything else: the errors it finds are reported alone. */

static const char single_stack[] = "SingleStack", prefer_dual_stack[] = "PreferDualStack",
		  require_dual_stack[] = "RequireDualStack";

bool service_is_type(const struct json *spec, const char *type)
{
	return str_is(member_text(spec, "type"), type);
}

bool service_is_headless(const struct json *spec)
{
	const struct json *addresses = json_gets(spec, "clusterIPs");
	return addresses && addresses->n == 1 && str_is(json_text(addresses->items[0]), "None");
}

static bool is_policy(const struct json *spec, const char *policy)
{
	return str_is(member_text(spec, "ipFamilyPolicy"), policy);
}

/* Returns whether a service has neither an address nor a selector. Its endpoints are made by
 * others, who may use either family. */
static bool leads_anywhere(const struct json *spec)
{
	return str_is(member_text(spec, "clusterIP"), "None") && !member_count(spec, "selector");
}

static const char *family_of(struct str text)
{
	struct address address;
	return address_parse(text, &address) && address.is_v6 ? "IPv6" : "IPv4";
}

/* A Service that prefers two families and changes nothing keeps its families, even if the cluster
 * has others now. */
static bool is_settled(const struct json *spec, const struct json *old)
{
	return old && is_policy(spec, prefer_dual_stack) && service_is_same(spec, old, "type") &&
		(!json_gets(old, "ipFamilyPolicy") || is_policy(old, prefer_dual_stack)) &&
		service_is_same(spec, old, "clusterIPs") && service_is_same(spec, old, "ipFamilies");
}

static struct json *first_of(const struct json *list, struct arena *a)
{
	struct json *one = json_array(a);
	json_append(a, one, list->items[0]);
	return one;
}

static struct json *fill_policy(struct json *spec, const struct json *old, struct arena *a)
{
	struct json *before = json_gets(old, "ipFamilyPolicy");
	if (json_gets(spec, "ipFamilyPolicy")) {
		return spec;
	}
	const char *policy = leads_anywhere(spec) ? require_dual_stack : single_stack;
	return with_member(spec, "ipFamilyPolicy", before ? before : json_string(a, str_of(policy)), a);
}

static struct json *let_go_of_second(struct json *spec, const struct json *old, struct arena *a)
{
	static const char *const lists[] = {"clusterIPs", "ipFamilies"};
	for (size_t i = 0; old && is_policy(spec, single_stack) && i < ARRAY_SIZE(lists); i++) {
		if (service_is_same(spec, old, lists[i]) && member_count(spec, lists[i]) > 1) {
			spec = with_member(spec, lists[i], first_of(json_gets(spec, lists[i]), a), a);
		}
	}
	return spec;
}

/* Adds the families of the addresses that were sent. */
static struct json *infer_families(struct json *spec, struct arena *a)
{
	const struct json *addresses = json_gets(spec, "clusterIPs"), *address;
	for (uint32_t i = member_count(spec, "ipFamilies"); (address = list_item(addresses, i)); i++) {
		const char *family = family_of(json_text(address));
		if (str_is(json_text(address), "None") || strcmp(family, "IPv4") != 0) {
			break;
		}
		struct json *families =
			json_gets(spec, "ipFamilies") ? json_copy(a, json_gets(spec, "ipFamilies")) : json_array(a);
		json_append(a, families, json_string(a, str_of(family)));
		spec = with_member(spec, "ipFamilies", families, a);
	}
	return spec;
}

static struct json *fill_list(struct json *spec, struct arena *a)
{
	struct json *families = json_gets(spec, "ipFamilies") ? json_copy(a, json_gets(spec, "ipFamilies")) : json_array(a);
	if (!families->n) {
		json_append(a, families, json_string(a, STR("IPv4")));
	}
	if (leads_anywhere(spec) && families->n == 1 && !is_policy(spec, single_stack)) {
		bool is_v4 = str_is(json_text(families->items[0]), "IPv4");
		json_append(a, families, json_string(a, is_v4 ? STR("IPv6") : STR("IPv4")));
	}
	return with_member(spec, "ipFamilies", families, a);
}

struct json *service_fill_families(struct json *spec, const struct json *old, struct arena *a)
{
	struct field_errors errors;
	if (service_is_type(spec, "ExternalName") || is_settled(spec, old)) {
		return spec;
	}
	spec = fill_policy(spec, old, a);
	field_errors_init(&errors, a);
	service_check_addresses(spec, &errors);
	if (errors.n) {
		return spec;
	}
	spec = infer_families(let_go_of_second(spec, old, a), a);
	service_check_families(spec, old, &errors);
	return errors.n ? spec : fill_list(spec, a);
}

/* The kind of one list against that of the policy: of a pair, `what` names one. */
static void check_pair(const struct json *spec, const struct json *old, const char *list, const char *reduced,
	const char *several, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "ipFamilyPolicy");
	struct str policy = member_text(spec, "ipFamilyPolicy");
	uint32_t n = member_count(spec, list);
	if (old && !is_policy(spec, single_stack) && n && n < member_count(old, list)) {
		refuse_text(errors, at, policy, reduced);
	}
	if (is_policy(spec, single_stack) && n == 2) {
		refuse_text(errors, at, policy, several);
	}
}

/* Refuses families and policies that this cluster does not have. */
static void check_configured(const struct json *spec, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *families = json_gets(spec, "ipFamilies"), *family;
	if (leads_anywhere(spec)) {
		return;
	}
	if (is_policy(spec, require_dual_stack)) {
		refuse_text(errors, WHERE(at, "ipFamilyPolicy"), STR("RequireDualStack"),
			"this cluster is not configured for dual-stack services");
	}
	for (uint32_t i = 0; (family = list_item(families, i)); i++) {
		if (!str_is(json_text(family), "IPv4")) {
			refuse_text(errors, WHERE_ITEM(WHERE(at, "ipFamilies"), i), json_text(family),
				"not configured on this cluster");
		}
	}
}

static void check_inferred(const struct json *spec, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "clusterIPs");
	const struct json *addresses = json_gets(spec, "clusterIPs"), *address;
	for (uint32_t i = member_count(spec, "ipFamilies"); (address = list_item(addresses, i)); i++) {
		if (str_is(json_text(address), "None")) {
			return;
		}
		if (strcmp(family_of(json_text(address)), "IPv6") == 0) {
			refuse_invalid(errors, WHERE_ITEM(at, i), addresses, "IPv6 is not configured on this cluster");
		}
	}
}

void service_check_families(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	size_t n_before = errors->n;
	if (service_is_type(spec, "ExternalName") || is_settled(spec, old)) {
		return;
	}
	service_check_addresses(spec, errors);
	if (errors->n > n_before) {
		return;
	}
	check_pair(spec, old, "clusterIPs", "must be 'SingleStack' to release the secondary cluster IP",
		"must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified", errors);
	check_pair(spec, old, "ipFamilies", "must be 'SingleStack' to release the secondary IP family",
		"must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified", errors);
	check_inferred(spec, errors);
	if (errors->n == n_before) {
		check_configured(spec, errors);
	}
}

static void check_first_address(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	struct str address = member_text(spec, "clusterIP");
	const struct json *addresses = json_gets(spec, "clusterIPs");
	if (address.n && !addresses) {
		refuse_absent(errors, at, "");
	} else if (address.n && !str_eq(json_text(addresses->items[0]), address)) {
		refuse_invalid(errors, at, addresses, "first value must match `clusterIP`");
	} else if (!address.n && addresses) {
		refuse_invalid(errors, at, addresses, "must be empty when `clusterIP` is not specified");
	}
}

static void check_family_names(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	static const char *const families[] = {"IPv4", "IPv6", NULL};
	struct json *family;
	struct map seen;
	map_init(&seen, member_count(spec, "ipFamilies"));
	for (uint32_t i = 0; (family = list_item(json_gets(spec, "ipFamilies"), i)); i++) {
		check_choice(errors, WHERE_ITEM(at, i), json_text(family), families, false);
		if (map_get(&seen, json_text(family))) {
			refuse_duplicate(errors, WHERE_ITEM(at, i), json_text(family));
		}
		map_set(&seen, json_text(family), family, NULL);
	}
	map_done(&seen);
}

/* Returns whether each of the list is an address, or the first and only one is "None". */
static bool check_each_address(const struct where *at, const struct json *addresses, struct field_errors *errors)
{
	size_t n_before = errors->n;
	const struct json *address;
	for (uint32_t i = 0; (address = list_item(addresses, i)); i++) {
		if (i > 0 || !str_is(json_text(address), "None")) {
			check_address(errors, WHERE_ITEM(at, i), json_text(address));
		} else if (addresses->n > 1) {
			refuse_invalid(errors, at, addresses, "'None' must be the first and only value");
		}
	}
	return errors->n == n_before;
}

static void check_families_fit(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	const struct json *addresses = json_gets(spec, "clusterIPs"), *families = json_gets(spec, "ipFamilies"), *address,
			  *family;
	for (uint32_t i = 0; (address = list_item(addresses, i)) && (family = list_item(families, i)); i++) {
		const char *own = family_of(json_text(address));
		bool is_known = str_is(json_text(family), "IPv4") || str_is(json_text(family), "IPv6");
		if (is_known && !str_is(json_text(family), own)) {
			field_invalid_str(errors, where_path(WHERE_ITEM(at, i), errors->arena), json_text(address),
				"expected an " STR_FMT " value as indicated by `ipFamilies[%u]`", STR_ARG(json_text(family)),
				i);
		}
	}
}

void service_check_addresses(const struct json *spec, struct field_errors *errors)
{
	static const char *const policies[] = {"PreferDualStack", "RequireDualStack", "SingleStack", NULL};
	const struct where *spec_at = WHERE(NULL, "spec"), *at = WHERE(spec_at, "clusterIPs");
	const struct json *addresses = json_gets(spec, "clusterIPs");
	if (service_is_type(spec, "ExternalName")) {
		return;
	}
	check_first_address(at, spec, errors);
	check_family_names(WHERE(spec_at, "ipFamilies"), spec, errors);
	if (json_gets(spec, "ipFamilyPolicy")) {
		check_choice(errors, WHERE(spec_at, "ipFamilyPolicy"), member_text(spec, "ipFamilyPolicy"), policies, false);
	}
	bool are_addresses = check_each_address(at, addresses, errors);
	if (addresses && addresses->n > 2) {
		refuse_invalid(errors, at, addresses, "may only hold up to 2 values");
	}
	if (!are_addresses) {
		return;
	}
	if (addresses && addresses->n > 1) {
		bool has_v4 = false, has_v6 = false;
		for (uint32_t i = 0; i < addresses->n; i++) {
			bool is_v6 = strcmp(family_of(json_text(addresses->items[i])), "IPv6") == 0;
			has_v6 |= is_v6;
			has_v4 |= !is_v6;
		}
		if (!has_v4 || !has_v6) {
			refuse_invalid(errors, at, addresses, "may specify no more than one IP for each IP family");
		}
	}
	if (!service_is_headless(spec)) {
		check_families_fit(at, spec, errors);
	}
}

static const char once_set[] = "may not change once set";

static struct str text_at(const struct json *list, uint32_t i)
{
	return json_text(list_item(list, i));
}

/* Upstream every service that is not headless has an address, so one that was given none here must not get one later, either. */
static void check_kept_addresses(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "clusterIPs");
	const struct json *now = json_gets(spec, "clusterIPs"), *before = json_gets(old, "clusterIPs");
	uint32_t n_now = now ? now->n : 0, n_before = before ? before->n : 0;
	if (service_is_headless(spec) && service_is_headless(old)) {
		return;
	}
	for (uint32_t i = 0; n_now == n_before && i < n_now; i++) {
		if (!json_equal(now->items[i], before->items[i])) {
			refuse_invalid(errors, WHERE_ITEM(at, i), now, once_set);
		}
	}
	if (n_now != n_before && n_now && !str_eq(text_at(now, 0), text_at(before, 0))) {
		refuse_invalid(errors, WHERE_ITEM(at, 0), now, once_set);
	}
	if (n_now < n_before && !n_now) {
		refuse_invalid(errors, WHERE_ITEM(at, 0), json_null(errors->arena), "primary clusterIP can not be unset");
	}
	if (n_now == 1 && n_before > 1 && !is_policy(spec, single_stack)) {
		refuse_text(errors, WHERE(WHERE(NULL, "spec"), "ipFamilyPolicy"), member_text(spec, "ipFamilyPolicy"),
			"must be set to 'SingleStack' when releasing the secondary clusterIP");
	}
}

static void check_kept_families(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	const struct where *at = WHERE_ITEM(WHERE(WHERE(NULL, "spec"), "ipFamilies"), 0);
	const struct json *now = json_gets(spec, "ipFamilies"), *before = json_gets(old, "ipFamilies");
	const struct json *addresses = json_gets(spec, "clusterIPs");
	uint32_t n_now = now ? now->n : 0, n_before = before ? before->n : 0;
	if (service_is_headless(spec) || service_is_headless(old)) {
		return; /* they may change, whether it stays headless or not */
	}
	for (uint32_t i = 0; n_now == n_before && i < n_now; i++) {
		if (!json_equal(now->items[i], before->items[i])) {
			refuse_invalid(errors, at, now, once_set);
		}
	}
	if (n_now != n_before && n_now && n_before && !json_equal(now->items[0], before->items[0])) {
		/* upstream shows the addresses */
		refuse_invalid(errors, at, addresses ? addresses : json_null(errors->arena), once_set);
	}
	if (n_now == 1 && n_before > 1 && !is_policy(spec, single_stack)) {
		refuse_text(errors, WHERE(WHERE(NULL, "spec"), "ipFamilyPolicy"), member_text(spec, "ipFamilyPolicy"),
			"must be set to 'SingleStack' when releasing the secondary ipFamily");
	}
}

void service_check_kept(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	if (service_is_type(spec, "ExternalName") || service_is_type(old, "ExternalName")) {
		return;
	}
	check_kept_addresses(spec, old, errors);
	check_kept_families(spec, old, errors);
}
