/* The server's decisions about pods, and the subresource binding: registry/core/pod/strategy.go.
 * admission/rules.c fills in tolerations and priority, as kube-apiserver's admission does. */
#include "api/core/pod_rules.h"

#include "api/core/pod_defaults.h"
#include "api/model/members.h"
#include "api/model/quantity.h"
#include "api/model/schema.h"
#include "api/rules/where.h"
#include "api/upstream/upstream.h"
#include "base/clock.h"

#include <assert.h>

/* Adds a request for each amount that is limited but not requested. Both maps are sorted by their
 * keys, and so is the result. */
static struct json *join_amounts(const struct json *requests, const struct json *limits, struct arena *a)
{
	struct json *out = json_object(a);
	uint32_t i = 0, k = 0, n = requests ? requests->n : 0;
	while (i < n || k < limits->n) {
		int r = i == n ? 1 : k == limits->n ? -1 : str_cmp(requests->members[i].name, limits->members[k].name);
		const struct json_member *m = r <= 0 ? &requests->members[i] : &limits->members[k];
		json_add(a, out, m->name, m->value);
		i += r <= 0;
		k += r >= 0;
	}
	return out;
}

/* NULL: there is nothing to add. */
static struct json *request_limits(const struct json *container, struct arena *a)
{
	const struct json *resources = json_gets(container, "resources"), *limits = json_gets(resources, "limits");
	if (!limits) {
		return NULL;
	}
	struct json *requests = join_amounts(json_gets(resources, "requests"), limits, a);
	return schema_with(&type_resource_requirements, resources, "requests", requests, a);
}

/* On the node's network a port of the container is one of the node. */
static void default_host_ports(const struct json *container, struct arena *a)
{
	const struct json *ports = json_gets(container, "ports"), *port;
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		struct json *number = json_gets(port, "containerPort");
		if (!json_gets(port, "hostPort") && !str_is(json_text(number), "0")) {
			ports->items[i] = schema_with(&type_container_port, port, "hostPort", number, a);
		}
	}
}

static void default_containers(const struct json *spec, const char *list, struct arena *a)
{
	const struct json *containers = json_gets(spec, list), *c;
	const struct json *host_network = json_gets(spec, "hostNetwork");
	for (uint32_t i = 0; (c = list_item(containers, i)); i++) {
		struct json *resources = request_limits(c, a);
		if (resources) {
			containers->items[i] = schema_with(&type_container, c, "resources", resources, a);
		}
		if (host_network && host_network->boolean) {
			default_host_ports(c, a);
		}
	}
}

static struct json *one_ip(struct str ip, struct arena *a)
{
	struct json *list = json_array(a), *item = json_object(a);
	json_add(a, item, STR("ip"), json_string(a, ip));
	json_append(a, list, item);
	return list;
}

/* podIP is the first of podIPs; where they differ, podIP is right. */
static void mirror_ips(struct object *o, struct arena *a)
{
	struct json *status = object_status(o);
	struct str ip = member_text(status, "podIP"), first = member_text(list_item(json_gets(status, "podIPs"), 0), "ip");
	if (ip.n && !str_eq(ip, first)) {
		object_set_status(o, schema_with(&type_pod_status, status, "podIPs", one_ip(ip, a), a), a);
	} else if (!ip.n && first.n) {
		object_set_status(o, schema_with(&type_pod_status, status, "podIP", json_string(a, first), a), a);
	}
}

void pod_set_defaults(struct object *o, struct arena *a)
{
	struct json *spec = pod_spec_defaults(object_spec(o), a);
	if (member_int(spec, "terminationGracePeriodSeconds") < 0) {
		spec = schema_with(&type_pod_spec, spec, "terminationGracePeriodSeconds", json_int(a, 1), a);
	}
	default_containers(spec, "containers", a);
	default_containers(spec, "initContainers", a);
	if (!json_gets(spec, "enableServiceLinks")) {
		spec = schema_with(&type_pod_spec, spec, "enableServiceLinks", json_bool(a, true), a);
	}
	object_set_spec(o, spec, a);
	mirror_ips(o, a);
}

/* Quality of service. */

struct service {
	bool has_any; /* something is requested or limited */
	bool is_guaranteed;
};

static bool is_positive(const struct json *amount, struct quantity *ret, struct arena *a)
{
	return amount && !quantity_parse(ret, json_text(amount), a) && quantity_sign(ret) > 0;
}

/* Requests that are less than limits guarantee nothing, and they are never more. */
static void add_resource(struct service *s, const struct json *resources, const char *name, struct arena *a)
{
	struct quantity limit, request;
	bool has_limit = is_positive(json_gets(json_gets(resources, "limits"), name), &limit, a);
	bool has_request = is_positive(json_gets(json_gets(resources, "requests"), name), &request, a);
	s->has_any = s->has_any || has_limit || has_request;
	s->is_guaranteed = s->is_guaranteed && has_limit && has_request && quantity_cmp(&limit, &request) == 0;
}

static void add_resources(struct service *s, const struct json *resources, struct arena *a)
{
	add_resource(s, resources, "cpu", a);
	add_resource(s, resources, "memory", a);
}

static void add_containers(struct service *s, const struct json *containers, struct arena *a)
{
	const struct json *c;
	for (uint32_t i = 0; (c = list_item(containers, i)); i++) {
		add_resources(s, json_gets(c, "resources"), a);
	}
}

/* Resources of the pod as a whole count instead of its containers'. */
static struct str quality_of_service(const struct json *spec, struct arena *a)
{
	struct service s = {.is_guaranteed = true};
	const struct json *resources = json_gets(spec, "resources");
	if (json_gets(resources, "limits") || json_gets(resources, "requests")) {
		add_resources(&s, resources, a);
	} else {
		add_containers(&s, json_gets(spec, "containers"), a);
		add_containers(&s, json_gets(spec, "initContainers"), a);
	}
	return !s.has_any ? STR("BestEffort") : s.is_guaranteed ? STR("Guaranteed") : STR("Burstable");
}

static void gate_status(struct json *status, struct str now, struct arena *a)
{
	struct json *condition = json_object(a), *conditions = json_array(a);
	json_add(a, condition, STR("type"), json_string(a, STR("PodScheduled")));
	json_add(a, condition, STR("status"), json_string(a, STR("False")));
	json_add(a, condition, STR("lastProbeTime"), json_null(a));
	json_add(a, condition, STR("lastTransitionTime"), json_string(a, now));
	json_add(a, condition, STR("reason"), json_string(a, STR("SchedulingGated")));
	json_add(a, condition, STR("message"), json_string(a, STR("Scheduling is blocked due to non-empty scheduling gates")));
	json_append(a, conditions, condition);
	json_add(a, status, STR("conditions"), conditions);
}

void pod_prepare_create(struct object *o, struct arena *a)
{
	const struct json *spec = object_spec(o);
	struct json *status = json_object(a);
	json_add(a, status, STR("phase"), json_string(a, STR("Pending")));
	if (list_item(json_gets(spec, "schedulingGates"), 0)) {
		gate_status(status, o->meta.creation_timestamp, a);
	}
	json_add(a, status, STR("qosClass"), json_string(a, quality_of_service(spec, a)));
	object_set_status(o, status, a);
}

static struct json *keep(struct json *spec, const struct json *old, const char *name, struct arena *a)
{
	struct json *stored = json_gets(old, name);
	return stored && !json_gets(spec, name) ? schema_with(&type_pod_spec, spec, name, stored, a) : spec;
}

void pod_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	struct json *spec = keep(object_spec(o), object_spec(old), "priority", a);
	object_set_spec(o, keep(spec, object_spec(old), "preemptionPolicy", a), a);
	object_set_status(o, object_status(old), a);
}

/* Clients from before observedGeneration must not take it away. */

static struct json *keep_observed(const struct type *type, struct json *now, const struct json *before, struct arena *a)
{
	struct json *observed = json_gets(before, "observedGeneration");
	return observed && !json_gets(now, "observedGeneration") ? schema_with(type, now, "observedGeneration", observed, a)
								 : now;
}

static struct json *keep_observed_conditions(struct json *status, const struct json *before, struct arena *a)
{
	const struct json *conditions = json_gets(status, "conditions");
	if (!conditions) {
		return status;
	}
	const struct type *list = type_field(&type_pod_status, STR("conditions"))->type;
	struct json *kept = json_copy(a, conditions);
	struct map old;
	list_index(&old, json_gets(before, "conditions"), "type");
	for (uint32_t i = 0; i < kept->n; i++) {
		const struct json *same = map_get(&old, member_text(kept->items[i], "type"));
		kept->items[i] = keep_observed(list->elem, kept->items[i], same, a);
	}
	map_done(&old);
	return schema_with(&type_pod_status, status, "conditions", kept, a);
}

void pod_merge_status(struct object *stored, const struct object *sent, struct arena *a)
{
	assert(stored->kind == sent->kind);
	struct json *owners = stored->meta.owner_references;
	const struct json *before = object_status(stored);
	struct json *status = keep_observed(&type_pod_status, object_status(sent), before, a);
	status = keep_observed_conditions(status, before, a);
	if (!member_text(status, "qosClass").n && json_gets(before, "qosClass")) {
		status = schema_with(&type_pod_status, status, "qosClass", json_gets(before, "qosClass"), a);
	}
	stored->meta = sent->meta;
	stored->meta.owner_references = owners;
	object_set_status(stored, status, a);
}

void pod_merge_ephemeral(struct object *stored, const struct object *sent, struct arena *a)
{
	assert(stored->kind == sent->kind);
	struct json *containers = json_gets(object_spec(sent), "ephemeralContainers");
	const struct meta before = stored->meta;
	stored->meta = sent->meta;
	stored->meta.labels = before.labels;
	stored->meta.annotations = before.annotations;
	stored->meta.finalizers = before.finalizers;
	stored->meta.owner_references = before.owner_references;
	object_set_spec(stored, schema_with(&type_pod_spec, object_spec(stored), "ephemeralContainers", containers, a), a);
}

int64_t pod_grace_period(const struct object *o, bool is_wanted, int64_t wanted_s)
{
	const struct json *spec = object_spec(o);
	struct str phase = member_text(object_status(o), "phase");
	int64_t period_s = 0;
	bool is_over = str_is(phase, "Failed") || str_is(phase, "Succeeded");
	if (!member_text(spec, "nodeName").n || is_over) {
		return 0;
	}
	if (is_wanted) {
		period_s = wanted_s;
	} else {
		json_to_int64(json_gets(spec, "terminationGracePeriodSeconds"), &period_s);
	}
	return period_s < 0 ? 1 : period_s;
}

/* Binding of k8s.io/api/core/v1, and what registry/core/pod does with one. Nothing of it is stored: the pod
 * gets its node, what the binding has of annotations and labels, and the condition PodScheduled. Its rules
 * are not asked, nor do its fields get an owner: upstream writes it past both. */

static struct str node_of(const struct object *binding)
{
	return member_text(json_gets(binding->fields, "target"), "name");
}

static void validate(const struct object *o, struct field_errors *errors)
{
	static const char *const kinds[] = {"Node", "<empty>", NULL};
	const struct where *at = WHERE(NULL, "target");
	struct str kind = member_text(json_gets(o->fields, "target"), "kind");
	if (kind.n && !str_is(kind, "Node")) {
		refuse_unsupported(errors, WHERE(at, "kind"), kind, kinds);
	}
	check_present(errors, WHERE(at, "name"), node_of(o));
}

struct str pod_refuse_binding(const struct object *o, struct arena *a)
{
	const struct json *spec = object_spec(o);
	struct str name = o->meta.name, node = member_text(spec, "nodeName");
	if (meta_is_deleting(&o->meta)) {
		return arena_printf(a, "pod " STR_FMT " is being deleted, cannot be assigned to a host", STR_ARG(name));
	}
	if (node.n) {
		return arena_printf(
			a, "pod " STR_FMT " is already assigned to node \"" STR_FMT "\"", STR_ARG(name), STR_ARG(node));
	}
	if (json_gets(spec, "schedulingGates")) {
		return arena_printf(a, "pod " STR_FMT " has non-empty .spec.schedulingGates", STR_ARG(name));
	}
	return (struct str){0};
}

/* Keys are sorted; of two values the binding's counts. */
static struct json *merged(const struct json *own, const struct json *sent, struct arena *a)
{
	uint32_t n_own = own ? own->n : 0, n_sent = sent ? sent->n : 0, i = 0, k = 0;
	struct json *all = json_object(a);
	while (i < n_own || k < n_sent) {
		int order = i == n_own ? 1 : k == n_sent ? -1 : str_cmp(own->members[i].name, sent->members[k].name);
		const struct json_member *m = order < 0 ? &own->members[i] : &sent->members[k];
		json_add(a, all, m->name, m->value);
		i += order <= 0;
		k += order >= 0;
	}
	return all->n ? all : NULL;
}

static struct json *scheduled(struct str since, struct arena *a)
{
	struct json *condition = json_object(a);
	json_add(a, condition, STR("type"), json_string(a, STR("PodScheduled")));
	json_add(a, condition, STR("status"), json_string(a, STR("True")));
	json_add(a, condition, STR("lastProbeTime"), json_null(a));
	json_add(a, condition, STR("lastTransitionTime"), json_string(a, since));
	return condition;
}

static struct json *with_condition(const struct json *conditions, struct arena *a)
{
	struct json *all = conditions ? json_copy(a, conditions) : json_array(a), *c;
	char now[TIME_RFC3339_SIZE];
	time_format_rfc3339(now, clock_wall_s());
	struct str since = arena_dup(a, str_of(now));
	for (uint32_t i = 0; (c = list_item(all, i)); i++) {
		if (str_is(member_text(c, "type"), "PodScheduled")) {
			bool is_kept = str_is(member_text(c, "status"), "True");
			all->items[i] = scheduled(is_kept ? member_text(c, "lastTransitionTime") : since, a);
			return all;
		}
	}
	json_append(a, all, scheduled(since, a));
	return all;
}

static void binding_take(const struct view *v _unused_, struct object *o, const struct object *sent, struct arena *a)
{
	const struct json *spec = object_spec(o), *status = object_status(o);
	struct json *conditions = with_condition(json_gets(status, "conditions"), a);
	status = schema_with(&type_pod_status, status, "conditions", conditions, a);
	object_set_spec(o, schema_with(&type_pod_spec, spec, "nodeName", json_string(a, node_of(sent)), a), a);
	object_set_status(o, schema_with(&type_pod_status, status, "nominatedNodeName", NULL, a), a);
	o->meta.annotations = merged(o->meta.annotations, sent->meta.annotations, a);
	o->meta.labels = merged(o->meta.labels, sent->meta.labels, a);
}

static const struct version versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.Binding", .standalone_only = true},
};

static const struct kind binding = {
	.kind = "Binding",
	.list_kind = "BindingList",
	.resource = "bindings",
	.singular = "binding",
	.is_namespaced = true,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.type = &type_binding,
	.doc = "Gives a pod a node.",
	.validate = validate,
};

const struct view binding_view = {
	.kind = &binding,
	.take = binding_take,
};
