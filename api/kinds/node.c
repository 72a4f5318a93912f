/* Node and Lease: a machine that pods run on, and a claim on something, which kubelets renew to
 * show that their node lives. */
#include "api/core/node_rules.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"

#include <assert.h>

/* Node: a machine that pods run on. Kubelets register nodes and say in `status` how they are. */

static const struct json *info_of(const struct object *o)
{
	return json_gets(object_status(o), "nodeInfo");
}

/* If several conditions have the type Ready, the last one counts. */
static struct str readiness(const struct object *o)
{
	const struct json *conditions = json_gets(object_status(o), "conditions"), *c;
	struct str text = STR("Unknown");
	for (uint32_t i = 0; (c = list_item(conditions, i)); i++) {
		if (str_is(member_text(c, "type"), "Ready")) {
			text = str_is(member_text(c, "status"), "True") ? STR("Ready") : STR("NotReady");
		}
	}
	return text;
}

static void write_status(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct buf text;
	buf_init(&text, TEXT_MAX);
	buf_add_str(&text, readiness(o));
	buf_adds(&text, member_is_true(object_spec(o), "unschedulable") ? ",SchedulingDisabled" : "");
	json_encode_string(out, buf_str(&text));
	buf_done(&text);
}

/* Nodes say their roles by labels: node-role.kubernetes.io/ROLE, and of old kubernetes.io/role=ROLE. Empty: no role. */
static struct str role_of(const struct json_member *label)
{
	static const struct str prefix = {"node-role.kubernetes.io/", 24};
	if (str_starts(label->name, prefix)) {
		return (struct str){label->name.p + prefix.n, label->name.n - prefix.n};
	}
	return str_is(label->name, "kubernetes.io/role") ? json_text(label->value) : (struct str){0};
}

enum { ROLES_MAX = 64 }; /* of a cell; further ones are left out */

static void write_roles(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct str roles[ROLES_MAX];
	size_t n = 0;
	for (uint32_t i = 0; o->meta.labels && i < o->meta.labels->n && n < ROLES_MAX; i++) {
		roles[n] = role_of(&o->meta.labels->members[i]);
		n += roles[n].n > 0;
	}
	str_sort(roles, n);

	struct buf text;
	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || !str_eq(roles[i], roles[i - 1])) {
			buf_adds(&text, i ? "," : "");
			buf_add_str(&text, roles[i]);
		}
	}
	json_encode_string(out, n ? buf_str(&text) : STR("<none>"));
	buf_done(&text);
}

static void write_version(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(info_of(o), "kubeletVersion"));
}

static void write_address(const struct object *o, const char *type, struct buf *out)
{
	const struct json *addresses = json_gets(object_status(o), "addresses"), *address;
	for (uint32_t i = 0; (address = list_item(addresses, i)); i++) {
		if (str_is(member_text(address, "type"), type)) {
			json_encode_string(out, member_text(address, "address"));
			return;
		}
	}
	json_encode_string(out, STR("<none>"));
}

static void write_internal_ip(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	write_address(o, "InternalIP", out);
}

static void write_external_ip(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	write_address(o, "ExternalIP", out);
}

static struct str or_unknown(struct str text)
{
	return text.n ? text : STR("<unknown>");
}

static void write_os_image(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, or_unknown(member_text(info_of(o), "osImage")));
}

static void write_kernel(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct str architecture = member_text(info_of(o), "architecture");
	struct buf text;
	buf_init(&text, TEXT_MAX);
	buf_add_str(&text, or_unknown(member_text(info_of(o), "kernelVersion")));
	if (architecture.n) {
		buf_printf(&text, " (" STR_FMT ")", STR_ARG(architecture));
	}
	json_encode_string(out, buf_str(&text));
	buf_done(&text);
}

static void write_runtime(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, or_unknown(member_text(info_of(o), "containerRuntimeVersion")));
}

static const struct column node_columns[] = {
	COLUMN_NAME,
	{"Status", "string", "", "The status of the node", 0, write_status, false},
	{"Roles", "string", "", "The roles of the node", 0, write_roles, false},
	COLUMN_AGE,
	{"Version", "string", "", "Version of the kubelet.", 0, write_version, false},
	{"Internal-IP", "string", "", "The node's address within the cluster.", 1, write_internal_ip, false},
	{"External-IP", "string", "", "The node's address outside the cluster.", 1, write_external_ip, false},
	{"OS-Image", "string", "", "Name of the operating system.", 1, write_os_image, false},
	{"Kernel-Version", "string", "", "Version of the kernel.", 1, write_kernel, false},
	{"Container-Runtime", "string", "", "What runs containers, and its version.", 1, write_runtime, false},
};

static struct str select_unschedulable(const struct object *o, struct arena *a)
{
	(void)a;
	return member_is_true(object_spec(o), "unschedulable") ? STR("true") : STR("false");
}

static const struct selectable_field selectable[] = {
	{"spec.unschedulable", select_unschedulable, false},
};

static size_t warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	assert(!old || o->kind == old->kind);
	(void)old;
	if (!member_text(object_spec(o), "externalID").n) {
		return 0;
	}
	ret[0] = STR("spec.externalID: this field is deprecated, and is unused by Kubernetes");
	return 1;
}

static const struct subresource subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, node_validate_status, resets_spec, false, false, NULL},
};

static const struct version node_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.Node", .standalone_only = true},
};

static struct kind node = {
	.kind = "Node",
	.list_kind = "NodeList",
	.resource = "nodes",
	.singular = "node",
	.short_names = (const char *const[]){"no", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = node_versions,
	.n_versions = ARRAY_SIZE(node_versions),
	.type = &type_node,
	.doc = "A machine that pods run on.",
	.unconditional_update = true,
	.keeps_generation = true,
	.reset_fields = resets_status,
	.set_defaults = node_set_defaults,
	.prepare_create = node_prepare_create,
	.prepare_update = node_prepare_update,
	.prepare_status = node_prepare_status,
	.validate = node_validate,
	.validate_update = node_validate_update,
	.warn = warn,
	.columns = node_columns,
	.n_columns = ARRAY_SIZE(node_columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(node)

/* Lease: names the holder of something, and the time since when; leader election agrees on it. */

/* Drops the fields of the gate CoordinatedLeaderElection, which is off by default in Kubernetes. */
static void drop_coordination(struct object *o, struct arena *a)
{
	static const char *const names[] = {"strategy", "preferredHolder"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (json_gets(object_spec(o), names[i])) {
			struct json *kept = json_copy(a, object_spec(o));
			json_remove(kept, str_of(names[i]));
			object_set_spec(o, kept, a);
		}
	}
}

static void prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	(void)old;
	drop_coordination(o, a);
}

static void validate_at_least(
	const struct object *o, const char *name, int64_t least, const char *detail, struct field_errors *errors)
{
	const struct json *value = json_gets(object_spec(o), name);
	int64_t n;
	if (json_to_int64(value, &n) && n < least) {
		field_invalid(errors, field_path(errors->arena, STR("spec"), name), value, "%s", detail);
	}
}

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_at_least(o, "leaseDurationSeconds", 1, "must be greater than 0", errors);
	validate_at_least(o, "leaseTransitions", 0, "must be greater than or equal to 0", errors);
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	(void)old;
	validate(o, errors);
}

static void write_holder(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, json_text(json_gets(object_spec(o), "holderIdentity")));
}

static const struct column lease_columns[] = {
	COLUMN_NAME,
	{"Holder", "string", "",
		"holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is "
		"used, "
		"the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
		0, write_holder, false},
	COLUMN_AGE,
};

static const struct version lease_versions[] = {
	{.group = "coordination.k8s.io",
		.name = "v1",
		.definition = "io.k8s.api.coordination.v1.Lease",
		.standalone_only = true},
};

static struct kind leases = {
	.kind = "Lease",
	.list_kind = "LeaseList",
	.resource = "leases",
	.singular = "lease",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.any_finalizer = true,
	.versions = lease_versions,
	.n_versions = ARRAY_SIZE(lease_versions),
	.type = &type_coordination_lease,
	.doc = "Something that one at a time holds, and renews while it does.",
	.create_on_update = true,
	.keeps_generation = true,
	.prepare_create = drop_coordination,
	.prepare_update = prepare_update,
	.validate = validate,
	.validate_update = validate_update,
	.columns = lease_columns,
	.n_columns = ARRAY_SIZE(lease_columns),
};
KIND_REGISTER(leases)
