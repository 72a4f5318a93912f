/* Service: a name, and mostly an address, for pods that come and go. */
#include "api/core/service_rules.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/upstream/upstream.h"

static struct str select_address(const struct object *o, struct arena *a)
{
	(void)a;
	return member_text(object_spec(o), "clusterIP");
}

static struct str select_type(const struct object *o, struct arena *a)
{
	(void)a;
	return member_text(object_spec(o), "type");
}

static const struct selectable_field selectable[] = {
	{"spec.clusterIP", select_address, false},
	{"spec.type", select_type, false},
};

static void write_type(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(object_spec(o), "type"));
}

static void write_address(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *address = list_item(json_gets(object_spec(o), "clusterIPs"), 0);
	json_encode_string(out, address ? json_text(address) : STR("<none>"));
}

static void add_to_list(struct buf *text, struct str one)
{
	buf_adds(text, text->n ? "," : "");
	buf_add_str(text, one);
}

enum { INGRESSES_MAX = 64 }; /* of a cell; further ones are left out */

/* The addresses where its load balancer takes traffic: each once, sorted. */
static void add_ingresses(struct buf *text, const struct object *o)
{
	const struct json *list = json_gets(json_gets(object_status(o), "loadBalancer"), "ingress"), *ingress;
	struct str names[INGRESSES_MAX];
	size_t n = 0;
	for (uint32_t i = 0; n < INGRESSES_MAX && (ingress = list_item(list, i)); i++) {
		struct str ip = member_text(ingress, "ip");
		names[n] = ip.n ? ip : member_text(ingress, "hostname");
		n += names[n].n > 0;
	}
	str_sort(names, n);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || !str_eq(names[i], names[i - 1])) {
			add_to_list(text, names[i]);
		}
	}
}

static void write_external(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *addresses = json_gets(object_spec(o), "externalIPs"), *address;
	struct str type = member_text(object_spec(o), "type");
	bool is_balanced = str_is(type, "LoadBalancer");
	struct buf text;
	if (str_is(type, "ExternalName")) {
		json_encode_string(out, member_text(object_spec(o), "externalName"));
		return;
	}
	buf_init(&text, TEXT_MAX);
	if (is_balanced) {
		add_ingresses(&text, o);
	}
	for (uint32_t i = 0; (address = list_item(addresses, i)); i++) {
		add_to_list(&text, json_text(address));
	}
	json_encode_string(out, text.n ? buf_str(&text) : is_balanced ? STR("<pending>") : STR("<none>"));
	buf_done(&text);
}

static void write_ports(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *ports = json_gets(object_spec(o), "ports"), *port;
	struct buf text;
	buf_init(&text, TEXT_MAX);
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		buf_adds(&text, i ? "," : "");
		buf_add_int(&text, member_int(port, "port"));
		if (member_int(port, "nodePort") > 0) {
			buf_addc(&text, ':');
			buf_add_int(&text, member_int(port, "nodePort"));
		}
		buf_printf(&text, "/" STR_FMT, STR_ARG(member_text(port, "protocol")));
	}
	json_encode_string(out, text.n ? buf_str(&text) : STR("<none>"));
	buf_done(&text);
}

static void write_selector(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *selector = json_gets(object_spec(o), "selector");
	struct buf text;
	buf_init(&text, TEXT_MAX);
	for (uint32_t i = 0; selector && i < selector->n; i++) {
		add_to_list(&text, selector->members[i].name);
		buf_printf(&text, "=" STR_FMT, STR_ARG(json_text(selector->members[i].value)));
	}
	json_encode_string(out, text.n ? buf_str(&text) : STR("<none>"));
	buf_done(&text);
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Type", "string", "", "ClusterIP, NodePort, LoadBalancer or ExternalName.", 0, write_type, false},
	{"Cluster-IP", "string", "", "Address of the service; None: it has none.", 0, write_address, false},
	{"External-IP", "string", "", "Addresses by which it is reached from outside.", 0, write_external, false},
	{"Port(s)", "string", "", "Its ports, and those of nodes behind a colon.", 0, write_ports, false},
	COLUMN_AGE,
	{"Selector", "string", "", "Labels of the pods that it leads to.", 1, write_selector, false},
};

static const struct subresource subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, service_validate_status, resets_spec, false, false, NULL},
};

static const struct version versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.Service", .standalone_only = true},
};

static struct kind service = {
	.kind = "Service",
	.list_kind = "ServiceList",
	.resource = "services",
	.singular = "service",
	.short_names = (const char *const[]){"svc", NULL},
	.categories = (const char *const[]){"all", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_LABEL,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.type = &type_service,
	.doc = "A name, and mostly an address, for pods.",
	.unconditional_update = true,
	.create_on_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.reset_fields = resets_status,
	.set_defaults = service_set_defaults,
	.prepare_create = service_prepare_create,
	.prepare_update = service_prepare_update,
	.validate = service_validate,
	.validate_update = service_validate_update,
	.warn = service_warn,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(service)
