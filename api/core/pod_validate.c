/* ValidatePod and ValidatePodUpdate of k8s.io/kubernetes/pkg/apis/core/validation, as far as
 * docs/reference/deviations.md says. The order of checks is the order of causes in the 422, so it is
 * upstream's. */
#include "api/core/pod_validate.h"

#include "api/core/pod_validate_parts.h"
#include "api/rules/validate.h"

#include <assert.h>

static void check_host_network(const struct pod_check *c, const struct where *at)
{
	const struct json *containers = json_gets(c->spec, "containers"), *container, *port;
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		const struct json *ports = json_gets(container, "ports");
		for (uint32_t k = 0; (port = list_item(ports, k)); k++) {
			int64_t host_port = member_int(port, "hostPort");
			if ((c->is_pod || host_port) && host_port != member_int(port, "containerPort")) {
				const struct where *item = WHERE_ITEM(WHERE(WHERE_ITEM(at, i), "ports"), k);
				refuse_invalid(c->errors, WHERE(item, "hostPort"), json_int(c->errors->arena, host_port),
					"must match `containerPort` when `hostNetwork` is true");
			}
		}
	}
}

static void check_dns(const struct pod_check *c, const struct where *at)
{
	static const char *const policies[] = {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", NULL};
	struct str policy = member_text(c->spec, "dnsPolicy");
	const struct json *config = json_gets(c->spec, "dnsConfig");
	check_choice(c->errors, WHERE(at, "dnsPolicy"), policy, policies, true);
	if (str_is(policy, "None") && !config) {
		refuse_absent(c->errors, WHERE(at, "dnsConfig"), "must provide `dnsConfig` when `dnsPolicy` is None");
	} else if (str_is(policy, "None") && !member_count(config, "nameservers")) {
		refuse_absent(c->errors, WHERE(WHERE(at, "dnsConfig"), "nameservers"),
			"must provide at least one DNS nameserver when `dnsPolicy` is None");
	}
}

static void check_gates(const struct pod_check *c, const struct where *at)
{
	const struct json *readiness = json_gets(c->spec, "readinessGates"), *gates = json_gets(c->spec, "schedulingGates"),
			  *gate;
	for (uint32_t i = 0; (gate = list_item(readiness, i)); i++) {
		check_text(c->errors, WHERE(WHERE_ITEM(WHERE(at, "readinessGates"), i), "conditionType"),
			member_text(gate, "conditionType"), validate_qualified_name);
	}
	struct map by_name;
	list_index(&by_name, gates, "name");
	for (uint32_t i = 0; (gate = list_item(gates, i)); i++) {
		const struct where *item = WHERE_ITEM(WHERE(at, "schedulingGates"), i);
		check_text(c->errors, item, member_text(gate, "name"), validate_qualified_name);
		if (map_get(&by_name, member_text(gate, "name")) != gate) {
			refuse_duplicate(c->errors, item, member_text(gate, "name"));
		}
	}
	map_done(&by_name);
}

/* Names of other things, where they are given. */
static void check_given_names(const struct pod_check *c, const struct where *at)
{
	static const struct {
		const char *name;
		text_rule *rule;
	} names[] = {
		{"serviceAccountName", validate_dns_subdomain},
		{"nodeName", validate_dns_subdomain},
		{"hostname", validate_dns_label},
		{"subdomain", validate_dns_label},
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct str text = member_text(c->spec, names[i].name);
		if (text.n) {
			check_text(c->errors, WHERE_NAMED(at, names[i].name), text, names[i].rule);
		}
	}
	check_range(c->errors, WHERE(at, "activeDeadlineSeconds"), json_gets(c->spec, "activeDeadlineSeconds"), 1, INT32_MAX,
		"must be between 1 and 2147483647, inclusive");
}

static void check_class_names(const struct pod_check *c, const struct where *at)
{
	static const char *const preemptions[] = {"PreemptLowerPriority", "Never", NULL};
	static const char *const systems[] = {"linux", "windows", NULL};
	struct str priority = member_text(c->spec, "priorityClassName");
	const struct json *runtime = json_gets(c->spec, "runtimeClassName"), *os = json_gets(c->spec, "os");
	if (priority.n) {
		check_text(c->errors, WHERE(at, "priorityClassName"), priority, validate_dns_subdomain);
	}
	if (runtime) {
		check_text(c->errors, WHERE(at, "runtimeClassName"), json_text(runtime), validate_dns_subdomain);
	}
	if (json_gets(c->spec, "preemptionPolicy")) {
		check_choice(
			c->errors, WHERE(at, "preemptionPolicy"), member_text(c->spec, "preemptionPolicy"), preemptions, true);
	}
	if (os && !member_text(os, "name").n) {
		refuse_absent(c->errors, WHERE(WHERE(at, "os"), "name"), "");
	} else if (os) {
		check_choice(c->errors, WHERE(at, "os"), member_text(os, "name"), systems, false);
	}
}

static void check_spec(const struct pod_check *c, const struct where *at)
{
	static const char *const restarts[] = {"Always", "OnFailure", "Never", NULL};
	check_volumes(c, WHERE(at, "volumes"));
	check_containers(c, WHERE(at, "containers"));
	check_init_containers(c, WHERE(at, "initContainers"));
	check_ephemeral_containers(c, WHERE(at, "ephemeralContainers"));
	if (member_is_true(c->spec, "hostNetwork")) {
		check_host_network(c, WHERE(at, "containers"));
	}
	check_choice(c->errors, WHERE(at, "restartPolicy"), member_text(c->spec, "restartPolicy"), restarts, true);
	check_dns(c, at);
	check_labels(c->errors, WHERE(at, "nodeSelector"), json_gets(c->spec, "nodeSelector"));
	check_pod_security(c, WHERE(at, "securityContext"));
	check_affinity(c, WHERE(at, "affinity"));
	check_gates(c, at);
	check_spread(c, WHERE(at, "topologySpreadConstraints"));
	check_host_users(c, at);
	check_given_names(c, at);
	check_tolerations(c, WHERE(at, "tolerations"));
	check_class_names(c, at);
}

static void check_begin(struct pod_check *c, const struct json *spec, bool is_pod, struct field_errors *errors)
{
	*c = (struct pod_check){.errors = errors, .spec = spec, .is_pod = is_pod};
	list_index(&c->volumes, json_gets(spec, "volumes"), "name");
}

static void check_end(struct pod_check *c)
{
	map_done(&c->volumes);
}

void pod_template_validate(const struct where *at, const struct json *template, struct field_errors *errors)
{
	const struct json *spec = json_gets(template, "spec"), *metadata = json_gets(template, "metadata");
	const struct where *spec_at = WHERE(at, "spec");
	struct pod_check c;
	check_begin(&c, spec, false, errors);
	check_labels(errors, WHERE(at, "labels"), json_gets(metadata, "labels"));
	validate_annotations(where_path(WHERE(at, "annotations"), errors->arena), json_gets(metadata, "annotations"), errors);
	check_spec(&c, spec_at);
	check_end(&c);
	if (member_count(spec, "ephemeralContainers")) {
		refuse_forbidden(
			errors, WHERE(spec_at, "ephemeralContainers"), "ephemeral containers not allowed in pod template");
	}
}

static bool has_outer_blanks(struct str s)
{
	return str_trim(s).n != s.n;
}

/* Checked in pods only: templates stored before this rule must stay valid. */
static void check_images(const struct pod_check *c, const struct where *at, const char *list)
{
	const struct json *containers = json_gets(c->spec, list), *container;
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		struct str image = member_text(container, "image");
		if (has_outer_blanks(image)) {
			refuse_text(c->errors, WHERE(WHERE_ITEM(WHERE_NAMED(at, list), i), "image"), image,
				"must not have leading or trailing whitespace");
		}
	}
}

static void check_tokens(const struct pod_check *c, const struct where *at)
{
	const struct json *volumes = json_gets(c->spec, "volumes"), *volume, *source;
	for (uint32_t i = 0; (volume = list_item(volumes, i)); i++) {
		const struct json *sources = json_gets(json_gets(volume, "projected"), "sources");
		const struct where *sources_at = WHERE(WHERE(WHERE_ITEM(WHERE(at, "volumes"), i), "projected"), "sources");
		for (uint32_t k = 0; (source = list_item(sources, k)); k++) {
			if (json_gets(source, "serviceAccountToken")) {
				refuse_forbidden(c->errors, WHERE(WHERE_ITEM(sources_at, k), "serviceAccountToken"),
					"must not be specified when serviceAccountName is not set");
			}
		}
	}
}

static void check_pod(const struct pod_check *c, const struct where *at)
{
	check_spec(c, at);
	if (!member_text(c->spec, "serviceAccountName").n) {
		check_tokens(c, at);
	}
	check_images(c, at, "containers");
	check_images(c, at, "initContainers");
}

void pod_validate(const struct object *o, struct field_errors *errors)
{
	struct pod_check c;
	const struct where *at = WHERE(NULL, "spec");
	check_begin(&c, object_spec(o), true, errors);
	check_pod(&c, at);
	check_end(&c);
	if (member_count(c.spec, "ephemeralContainers")) {
		refuse_forbidden(errors, WHERE(at, "ephemeralContainers"), "cannot be set on create");
	}
	if (member_text(c.spec, "nodeName").n && member_count(c.spec, "schedulingGates")) {
		refuse_forbidden(errors, WHERE(at, "nodeName"), "cannot be set until all schedulingGates have been cleared");
	}
}

/* Updates. */

static bool check_container_updates(const struct pod_check *c, const struct json *old, const struct where *at, const char *list)
{
	if (member_count(c->spec, list) != member_count(old, list)) {
		refuse_forbidden(c->errors, WHERE_NAMED(at, list), "pod updates may not add or remove containers");
		return false;
	}
	const struct json *containers = json_gets(c->spec, list), *container;
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		check_present(c->errors, WHERE(WHERE_ITEM(WHERE_NAMED(at, list), i), "image"), member_text(container, "image"));
	}
	check_images(c, at, list);
	return true;
}

/* The deadline may be set, and may become less. */
static void check_deadline(const struct pod_check *c, const struct json *old, const struct where *at)
{
	const struct json *now = json_gets(c->spec, "activeDeadlineSeconds"), *before = json_gets(old, "activeDeadlineSeconds");
	if (now && before && member_int(old, "activeDeadlineSeconds") < member_int(c->spec, "activeDeadlineSeconds")) {
		refuse_invalid(c->errors, at, now, "must be less than or equal to previous value");
	} else if (!now && before) {
		refuse_invalid(c->errors, at, NULL, "must not update from a positive integer to nil value");
	}
}

/* The text of a toleration, except for how long it holds. */
static struct str toleration_text(const struct json *t, struct arena *a)
{
	return arena_printf(a, STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT, STR_ARG(member_text(t, "key")),
		STR_ARG(member_text(t, "operator")), STR_ARG(member_text(t, "value")), STR_ARG(member_text(t, "effect")));
}

static void check_kept_tolerations(const struct pod_check *c, const struct json *old, const struct where *at)
{
	const struct json *before = json_gets(old, "tolerations");
	struct json *t;
	struct map now;
	bool are_kept = true;
	map_init(&now, member_count(c->spec, "tolerations"));
	for (uint32_t i = 0; (t = list_item(json_gets(c->spec, "tolerations"), i)); i++) {
		map_set(&now, toleration_text(t, c->errors->arena), t, NULL);
	}
	for (uint32_t i = 0; are_kept && (t = list_item(before, i)); i++) {
		are_kept = map_get(&now, toleration_text(t, c->errors->arena)) != NULL;
	}
	map_done(&now);
	if (!are_kept) {
		refuse_forbidden(c->errors, at, "existing toleration can not be modified except its tolerationSeconds");
		return;
	}
	check_tolerations(c, at);
}

static void check_removed_gates(const struct pod_check *c, const struct json *old, const struct where *at)
{
	const struct json *gates = json_gets(c->spec, "schedulingGates"), *gate;
	struct map before;
	list_index(&before, json_gets(old, "schedulingGates"), "name");
	for (uint32_t i = 0; (gate = list_item(gates, i)); i++) {
		struct str name = member_text(gate, "name");
		if (!map_get(&before, name)) {
			field_forbidden(c->errors, where_path(WHERE(WHERE_ITEM(at, i), "name"), c->errors->arena),
				"only deletion is allowed, but found new scheduling gate '" STR_FMT "'", STR_ARG(name));
		}
	}
	map_done(&before);
}

/* Containers but for their images. */
static bool are_same_containers(const struct json *now, const struct json *old, struct arena *a)
{
	const struct json *container;
	for (uint32_t i = 0; (container = list_item(now, i)); i++) {
		struct json *x = json_copy(a, container), *y = json_copy(a, old->items[i]);
		json_remove(x, STR("image"));
		json_remove(y, STR("image"));
		if (!json_equal(x, y)) {
			return false;
		}
	}
	return true;
}

/* A gated pod's scheduling constraints may still be narrowed. */
static bool may_change(struct str name, const struct json *old)
{
	static const char *const always[] = {"activeDeadlineSeconds", "schedulingGates", "tolerations"};
	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		if (str_is(name, always[i])) {
			return true;
		}
	}
	bool is_gated = member_count(old, "schedulingGates") > 0;
	return is_gated && (str_is(name, "nodeSelector") || str_is(name, "affinity"));
}

static bool is_unchanged(const struct json_member *m, const struct json *old, struct arena *a)
{
	const struct json *before = json_get(old, m->name);
	if (str_is(m->name, "containers") || str_is(m->name, "initContainers")) {
		return are_same_containers(m->value, before, a);
	}
	return (before && json_equal(m->value, before)) || may_change(m->name, old);
}

static bool is_spec_unchanged(const struct json *spec, const struct json *old, struct arena *a)
{
	for (uint32_t i = 0; i < spec->n; i++) {
		if (!is_unchanged(&spec->members[i], old, a)) {
			return false;
		}
	}
	for (uint32_t i = 0; i < old->n; i++) {
		if (!json_get(spec, old->members[i].name) && !may_change(old->members[i].name, old)) {
			return false;
		}
	}
	return true;
}

static void check_update(const struct pod_check *c, const struct json *old, const struct where *at)
{
	check_pod(c, at);
	if (!check_container_updates(c, old, at, "containers") || !check_container_updates(c, old, at, "initContainers")) {
		return;
	}
	check_deadline(c, old, WHERE(at, "activeDeadlineSeconds"));
	check_kept_tolerations(c, old, WHERE(at, "tolerations"));
	check_removed_gates(c, old, WHERE(at, "schedulingGates"));
	if (!is_spec_unchanged(c->spec, old, c->errors->arena)) {
		refuse_forbidden(c->errors, at,
			"pod updates may not change fields other than "
			"`spec.containers[*].image`,`spec.initContainers[*].image`,"
			"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
			"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)");
	}
}

void pod_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	struct pod_check c;
	const struct json *before = object_spec(old);
	check_begin(&c, object_spec(o), true, errors);
	c.keeps_security = json_equal(json_gets(c.spec, "securityContext"), json_gets(before, "securityContext")) &&
		json_equal(json_gets(c.spec, "hostUsers"), json_gets(before, "hostUsers"));
	check_update(&c, before, WHERE(NULL, "spec"));
	check_end(&c);
}

/* Existing ephemeral containers stay as they are; new ones may be added. */
void pod_validate_ephemeral(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct json *before = json_gets(object_spec(old), "ephemeralContainers"), *container, *now;
	const struct where *at = WHERE(NULL, "spec");
	struct pod_check c;
	struct map present;
	if (json_gets(old->meta.annotations, "kubernetes.io/config.mirror")) {
		/* So Go writes the path of field.NewPath(""), which upstream gives. */
		field_forbidden(errors, STR("[]"), "static pods do not support ephemeral containers");
		return;
	}
	check_begin(&c, object_spec(o), true, errors);
	check_pod(&c, at);
	check_end(&c);
	list_index(&present, json_gets(c.spec, "ephemeralContainers"), "name");
	for (uint32_t i = 0; (container = list_item(before, i)); i++) {
		struct str name = member_text(container, "name");
		now = map_get(&present, name);
		if (!now || !json_equal(now, container)) {
			struct str why =
				arena_printf(errors->arena, "existing ephemeral containers \"" STR_FMT "\" may not be %s\n",
					STR_ARG(name), now ? "changed" : "removed");
			refuse_forbidden(errors, WHERE(at, "ephemeralContainers"), why.p);
		}
	}
	map_done(&present);
}

static void check_conditions(const struct json *status, const struct where *at, struct field_errors *errors)
{
	const struct json *conditions = json_gets(status, "conditions"), *condition;
	for (uint32_t i = 0; (condition = list_item(conditions, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i);
		check_range(errors, WHERE(item, "observedGeneration"), json_gets(condition, "observedGeneration"), 0, INT64_MAX,
			"must be a non-negative integer");
		check_text(errors, WHERE(item, "Type"), member_text(condition, "type"), validate_qualified_name);
	}
}

void pod_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct json *status = object_status(o), *before = object_status(old);
	const struct where *at = WHERE(NULL, "status");
	struct str nominated = member_text(status, "nominatedNodeName");
	check_conditions(status, WHERE(at, "conditions"), errors);
	if (nominated.n && !str_eq(nominated, member_text(before, "nominatedNodeName"))) {
		check_text(errors, WHERE(at, "nominatedNodeName"), nominated, validate_dns_subdomain);
	}
	check_range(errors, WHERE(at, "observedGeneration"), json_gets(status, "observedGeneration"), 0, INT64_MAX,
		"must be a non-negative integer");
	if (!str_eq(member_text(status, "qosClass"), member_text(before, "qosClass"))) {
		refuse_text(errors, WHERE(at, "qosClass"), member_text(status, "qosClass"), "field is immutable");
	}
}
