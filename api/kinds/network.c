/* Endpoints and Ingress: data here, as no proxy and no balancer runs. Kube-apiserver's clients read and prune them. */
#include "api/core/network_rules.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/upstream/upstream.h"

/* ---- Endpoints: the addresses to which a service leads ---- */

enum { SHOWN_MAX = 3 }; /* of endpoints, and of hosts of an Ingress; the others are counted */

/* Writes "first,second,third", or "first,second,third + 2 more...". */
struct shown {
	struct buf text;
	uint32_t n;
	int64_t n_all;
};

static void shown_add(struct shown *s, struct str host, int64_t port)
{
	bool is_v6 = port && str_contains(host, STR(":"));
	if (s->n++ >= SHOWN_MAX) {
		return;
	}
	buf_printf(&s->text, "%s%s" STR_FMT "%s", s->n > 1 ? "," : "", is_v6 ? "[" : "", STR_ARG(host), is_v6 ? "]" : "");
	if (port) {
		buf_printf(&s->text, ":%lld", (long long)port);
	}
}

static void shown_write(struct shown *s, bool has_more, struct buf *out)
{
	if (has_more) {
		buf_printf(&s->text, " + %lld more...", (long long)(s->n_all - SHOWN_MAX));
	}
	json_encode_string(out, buf_str(&s->text));
	buf_done(&s->text);
}

static void show_addresses(struct shown *s, const struct json *addresses, int64_t port)
{
	const struct json *address;
	for (uint32_t i = 0; s->n <= SHOWN_MAX && (address = list_item(addresses, i)); i++) {
		shown_add(s, member_text(address, "ip"), port);
	}
	s->n_all += json_is(addresses, JSON_ARRAY) ? addresses->n : 0;
}

static void write_endpoints(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *subsets = json_gets(o->fields, "subsets"), *subset, *port;
	struct shown shown = {0};
	if (!list_item(subsets, 0)) {
		json_encode_string(out, STR("<none>"));
		return;
	}
	buf_init(&shown.text, TEXT_MAX);
	for (uint32_t i = 0; (subset = list_item(subsets, i)); i++) {
		const struct json *addresses = json_gets(subset, "addresses"), *ports = json_gets(subset, "ports");
		if (!list_item(ports, 0)) {
			show_addresses(&shown, addresses, 0);
		}
		for (uint32_t k = 0; (port = list_item(ports, k)); k++) {
			show_addresses(&shown, addresses, member_int(port, "port"));
		}
	}
	shown_write(&shown, shown.n > SHOWN_MAX, out);
}

static const struct column endpoints_columns[] = {
	COLUMN_NAME,
	{"Endpoints", "string", "", "Addresses with ports: three of them, and the number of others.", 0, write_endpoints,
		false},
	COLUMN_AGE,
};

static const struct version endpoints_versions[] = {
	{.group = "",
		.name = "v1",
		.definition = "io.k8s.api.core.v1.Endpoints",
		.standalone_only = true,
		.deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"},
};

static struct kind endpoints = {
	.kind = "Endpoints",
	.list_kind = "EndpointsList",
	.resource = "endpoints",
	.singular = "endpoints",
	.short_names = (const char *const[]){"ep", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = endpoints_versions,
	.n_versions = ARRAY_SIZE(endpoints_versions),
	.type = &type_endpoints,
	.doc = "The addresses to which a service leads. No controller of annals writes them.",
	.unconditional_update = true,
	.create_on_update = true,
	.keeps_generation = true,
	.validate = endpoints_validate,
	.validate_update = endpoints_validate_update,
	.columns = endpoints_columns,
	.n_columns = ARRAY_SIZE(endpoints_columns),
};
KIND_REGISTER(endpoints)

/* ---- Ingress: which requests from outside go to which service ---- */

static void write_class(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *class = json_gets(object_spec(o), "ingressClassName");
	json_encode_string(out, class ? json_text(class) : STR("<none>"));
}

/* Rules without a host are passed over, but the number of others counts all rules. */
static void write_hosts(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *rules = json_gets(object_spec(o), "rules"), *rule;
	struct shown shown = {.n_all = member_count(object_spec(o), "rules")};
	uint32_t i;
	buf_init(&shown.text, TEXT_MAX);
	for (i = 0; shown.n < SHOWN_MAX && (rule = list_item(rules, i)); i++) {
		if (member_text(rule, "host").n) {
			shown_add(&shown, member_text(rule, "host"), 0);
		}
	}
	if (!shown.n) {
		buf_addc(&shown.text, '*');
	}
	shown_write(&shown, shown.n == SHOWN_MAX && list_item(rules, i), out);
}

enum { ADDRESSES_MAX = 64 }; /* of a cell; further ones are left out */

/* Each address once, sorted. */
static void write_address(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *list = json_gets(json_gets(object_status(o), "loadBalancer"), "ingress"), *ingress;
	struct str names[ADDRESSES_MAX];
	struct buf text;
	size_t n = 0;
	for (uint32_t i = 0; n < ADDRESSES_MAX && (ingress = list_item(list, i)); i++) {
		struct str ip = member_text(ingress, "ip");
		names[n] = ip.n ? ip : member_text(ingress, "hostname");
		n += names[n].n > 0;
	}
	str_sort(names, n);
	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || !str_eq(names[i], names[i - 1])) {
			buf_adds(&text, i ? "," : "");
			buf_add_str(&text, names[i]);
		}
	}
	json_encode_string(out, buf_str(&text));
	buf_done(&text);
}

static void write_ports(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	json_encode_string(out, list_item(json_gets(object_spec(o), "tls"), 0) ? STR("80, 443") : STR("80"));
}

static const struct column ingress_columns[] = {
	COLUMN_NAME,
	{"Class", "string", "", "Name of the IngressClass that it is for.", 0, write_class, false},
	{"Hosts", "string", "", "Hosts of its rules: three of them, and the number of others.", 0, write_hosts, false},
	{"Address", "string", "", "Addresses of the balancer that serves it.", 0, write_address, false},
	{"Ports", "string", "", "80, and 443 with TLS.", 0, write_ports, false},
	COLUMN_AGE,
};

static const struct subresource ingress_subresources[] = {
	{.name = "status",
		.verbs = VERB_GET | VERB_UPDATE | VERB_PATCH,
		.merge = merge_status,
		.validate_update = ingress_validate_status,
		.reset_fields = resets_spec},
};

static const struct version ingress_versions[] = {
	{.group = "networking.k8s.io", .name = "v1", .definition = "io.k8s.api.networking.v1.Ingress", .standalone_only = true},
};

static struct kind ingress = {
	.kind = "Ingress",
	.list_kind = "IngressList",
	.resource = "ingresses",
	.singular = "ingress",
	.short_names = (const char *const[]){"ing", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = ingress_versions,
	.n_versions = ARRAY_SIZE(ingress_versions),
	.type = &type_networking_ingress,
	.doc = "Which requests from outside go to which service. Nothing in annals routes them.",
	.unconditional_update = true,
	.retired_versions = (const char *const[]){"extensions/v1beta1", "networking.k8s.io/v1beta1", NULL},
	.reset_fields = resets_status,
	.prepare_create = ingress_prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = ingress_validate,
	.validate_update = ingress_validate_update,
	.warn = ingress_warn,
	.columns = ingress_columns,
	.n_columns = ARRAY_SIZE(ingress_columns),
	.subresources = ingress_subresources,
	.n_subresources = ARRAY_SIZE(ingress_subresources),
};
KIND_REGISTER(ingress)
