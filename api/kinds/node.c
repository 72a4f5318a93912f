/* Node: a machine that pods run on. Kubelets register nodes and say in `status` how they are. */
#include "api/cluster/node_rules.h"
#include "api/cluster/node_schema.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"

static const struct field node_fields[] = {
	OBJECT_FIELDS,
	{"spec", &type_node_spec, FIELD_ALWAYS | FIELD_NUMBER(2), "How the node is to be used.", NULL, NULL},
	{"status", &type_node_status, FIELD_ALWAYS | FIELD_NUMBER(3), "What is known of the node.", NULL, NULL},
	{0},
};

static const struct type node_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.Node",
	.go_type = "v1.Node",
	.doc = "A machine that pods run on.",
	.fields = node_fields,
};

static const struct json *spec_of(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

static const struct json *status_of(const struct object *o)
{
	return json_gets(o->fields, "status");
}

static const struct json *info_of(const struct object *o)
{
	return json_gets(status_of(o), "nodeInfo");
}

/* Of several conditions of one type, the last counts. */
static struct str readiness(const struct object *o)
{
	const struct json *conditions = json_gets(status_of(o), "conditions"), *c;
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
	buf_adds(&text, member_is_true(spec_of(o), "unschedulable") ? ",SchedulingDisabled" : "");
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
	const struct json *addresses = json_gets(status_of(o), "addresses"), *address;
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

static const struct column columns[] = {
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
	return member_is_true(spec_of(o), "unschedulable") ? STR("true") : STR("false");
}

static const struct selectable_field selectable[] = {
	{"spec.unschedulable", select_unschedulable, false},
};

static size_t warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	(void)old;
	if (!member_text(spec_of(o), "externalID").n) {
		return 0;
	}
	ret[0] = STR("spec.externalID: this field is deprecated, and is unused by Kubernetes");
	return 1;
}

static const struct subresource subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, node_validate_status, resets_spec, false, false, NULL},
};

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.Node", .standalone_only = true},
};

static struct kind node = {
	.kind = "Node",
	.list_kind = "NodeList",
	.resource = "nodes",
	.singular = "node",
	.short_names = (const char *const[]){"no", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &node_type,
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
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(node)
