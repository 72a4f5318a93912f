/* Validates Endpoints and Ingresses: ValidateEndpoints of k8s.io/kubernetes/pkg/apis/core/validation, and
 * ValidateIngressCreate, ValidateIngressUpdate and ValidateIngressStatusUpdate of pkg/apis/networking/validation, with
 * the same order and texts. */
#include "api/core/network_rules.h"

#include "api/core/pod_validate_parts.h"
#include "api/model/members.h"
#include "api/rules/address.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"

#include <assert.h>

static bool is_same(const struct json *x, const struct json *y)
{
	return (!x && !y) || (x && y && json_equal(x, y));
}

/* ---- Endpoints ---- */

/* An address is judged twice, as upstream does: is it one, and may packets go there? */
static void check_endpoint_addresses(const struct where *at, const struct json *addresses, struct field_errors *errors)
{
	const struct json *address;
	for (uint32_t i = 0; (address = list_item(addresses, i)); i++) {
		const struct where *here = WHERE_ITEM(at, i), *ip_at = WHERE(here, "ip");
		struct str hostname = member_text(address, "hostname"), ip = member_text(address, "ip");
		struct address parsed;
		check_address(errors, ip_at, ip);
		if (hostname.n) {
			check_text(errors, WHERE(here, "hostname"), hostname, validate_dns_label);
		}
		if (json_gets(address, "nodeName")) {
			check_text(errors, WHERE(here, "nodeName"), member_text(address, "nodeName"), validate_dns_subdomain);
		}
		if (address_parse(ip, &parsed)) {
			check_destination(errors, ip_at, ip);
		} else {
			refuse_text(errors, ip_at, ip, "must be a valid IP address");
		}
	}
}

static void check_endpoint_ports(const struct where *at, const struct json *ports, struct field_errors *errors)
{
	static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
	const struct json *port;
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		const struct where *here = WHERE_ITEM(at, i);
		struct str name = member_text(port, "name");
		if (name.n) {
			check_text(errors, WHERE(here, "name"), name, validate_dns_label);
		} else if (ports->n > 1) {
			refuse_absent(errors, WHERE(here, "name"), "");
		}
		check_range(errors, WHERE(here, "port"), json_gets(port, "port"), PORT_RANGE);
		check_choice(errors, WHERE(here, "protocol"), member_text(port, "protocol"), protocols, true);
		if (json_gets(port, "appProtocol")) {
			check_text(
				errors, WHERE(here, "appProtocol"), member_text(port, "appProtocol"), validate_qualified_name);
		}
	}
}

void endpoints_validate(const struct object *o, struct field_errors *errors)
{
	const struct json *subsets = json_gets(o->fields, "subsets"), *subset;
	for (uint32_t i = 0; (subset = list_item(subsets, i)); i++) {
		const struct where *at = WHERE_ITEM(WHERE(NULL, "subsets"), i);
		if (!member_count(subset, "addresses") && !member_count(subset, "notReadyAddresses")) {
			refuse_absent(errors, at, "must specify `addresses` or `notReadyAddresses`");
		}
		check_endpoint_addresses(WHERE(at, "addresses"), json_gets(subset, "addresses"), errors);
		check_endpoint_addresses(WHERE(at, "notReadyAddresses"), json_gets(subset, "notReadyAddresses"), errors);
		check_endpoint_ports(WHERE(at, "ports"), json_gets(subset, "ports"), errors);
	}
}

/* Subsets from before a rule came may stay as they are. */
void endpoints_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	validate_meta(o->kind, &o->meta, errors);
	if (!is_same(json_gets(o->fields, "subsets"), json_gets(old->fields, "subsets"))) {
		endpoints_validate(o, errors);
	}
}

/* ---- Ingress ---- */

static const char class_annotation[] = "kubernetes.io/ingress.class";
static const char not_an_address[] = "must be a DNS name, not an IP address";

/* Mistakes that an update tolerates, because the stored object has them already. */
struct ingress_check {
	struct field_errors *errors;
	bool keeps_secret_names;
	bool keeps_wildcard_rules;
};

static bool is_address(struct str text)
{
	struct address address;
	return address_parse(text, &address);
}

/* IsWildcardDNS1123Subdomain */
static size_t validate_wildcard(struct str s, const char **ret)
{
	const char *ignored[VALIDATE_MESSAGES_MAX];
	struct str rest = s;
	size_t n = 0;
	if (s.n > 253) {
		ret[n++] = "must be no more than 253 characters";
		rest.n = 253; /* the length was judged */
	}
	bool is_wildcard = str_starts(rest, STR("*."));
	if (is_wildcard) {
		rest = (struct str){rest.p + 2, rest.n - 2};
	}
	if (!is_wildcard || validate_dns_subdomain(rest, ignored)) {
		ret[n++] = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
			   "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character "
			   "(e.g. '*.example.com', regex used for validation is "
			   "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
	}
	return n;
}

static bool has_star(struct str host)
{
	return str_contains(host, STR("*"));
}

static void check_host(const struct where *at, struct str host, struct field_errors *errors)
{
	check_text(errors, at, host, has_star(host) ? validate_wildcard : validate_dns_subdomain);
}

static void check_segment(const struct where *at, struct str text, struct field_errors *errors)
{
	if (text.n) {
		check_text(errors, at, text, validate_path_segment);
	} else {
		refuse_absent(errors, at, "");
	}
}

static void check_resource(const struct where *at, const struct json *resource, struct field_errors *errors)
{
	if (json_is(json_gets(resource, "apiGroup"), JSON_STRING)) {
		check_text(errors, WHERE(at, "apiGroup"), member_text(resource, "apiGroup"), validate_dns_subdomain);
	}
	check_segment(WHERE(at, "kind"), member_text(resource, "kind"), errors);
	check_segment(WHERE(at, "name"), member_text(resource, "name"), errors);
}

static void check_service(const struct where *at, const struct json *service, struct field_errors *errors)
{
	const struct where *service_at = WHERE(at, "service"), *port_at = WHERE(service_at, "port");
	const struct json *port = json_gets(service, "port");
	struct str name = member_text(service, "name"), port_name = member_text(port, "name");
	bool has_number = member_int(port, "number") != 0;
	if (name.n) {
		check_text(errors, WHERE(service_at, "name"), name, validate_dns_label);
	} else {
		refuse_absent(errors, WHERE(service_at, "name"), "");
	}
	if (port_name.n && has_number) {
		refuse_text(errors, at, STR(""), "cannot set both port name & port number");
	} else if (port_name.n) {
		check_text(errors, WHERE(port_at, "name"), port_name, validate_port_name);
	} else if (has_number) {
		check_range(errors, WHERE(port_at, "number"), json_gets(port, "number"), PORT_RANGE);
	} else {
		refuse_absent(errors, at, "port name or number is required");
	}
}

static void check_backend(const struct where *at, const struct json *backend, struct field_errors *errors)
{
	const struct json *resource = json_gets(backend, "resource"), *service = json_gets(backend, "service");
	if (resource && service) {
		refuse_text(errors, at, STR(""), "cannot set both resource and service backends");
	} else if (resource) {
		check_resource(WHERE(at, "resource"), resource, errors);
	} else if (service) {
		check_service(at, service, errors);
	} else {
		refuse_text(errors, at, STR(""), "resource or service backend is required");
	}
}

/* Texts that a path must not have, as the path itself is compared with that of a request. */
static void check_exact_path(const struct where *at, struct str path, struct field_errors *errors)
{
	static const struct {
		const char *text, *message;
		bool is_suffix;
	} rows[] = {
		{"//", "must not contain '//'", false},
		{"/./", "must not contain '/./'", false},
		{"/../", "must not contain '/../'", false},
		{"%2f", "must not contain '%2f'", false},
		{"%2F", "must not contain '%2F'", false},
		{"/..", "cannot end with '/..'", true},
		{"/.", "cannot end with '/.'", true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str text = str_of(rows[i].text);
		if (rows[i].is_suffix ? str_ends(path, text) : str_contains(path, text)) {
			refuse_text(errors, at, path, rows[i].message);
		}
	}
}

static void check_ingress_path(const struct where *at, const struct json *path, struct field_errors *errors)
{
	static const char *const types[] = {"Exact", "ImplementationSpecific", "Prefix", NULL};
	struct str type = member_text(path, "pathType"), text = member_text(path, "path");
	bool is_free = str_is(type, "ImplementationSpecific"),
	     is_known = is_free || str_is(type, "Exact") || str_is(type, "Prefix");
	if (!json_is(json_gets(path, "pathType"), JSON_STRING)) {
		refuse_absent(errors, WHERE(at, "pathType"), "pathType must be specified");
		return;
	}
	if (!is_known) {
		refuse_unsupported(errors, WHERE(at, "pathType"), type, types);
	} else if (!str_starts(text, STR("/")) && !(is_free && !text.n)) {
		refuse_text(errors, WHERE(at, "path"), text, "must be an absolute path");
	}
	if (is_known && !is_free) {
		check_exact_path(WHERE(at, "path"), text, errors);
	}
	check_backend(WHERE(at, "backend"), json_gets(path, "backend"), errors);
}

static void check_http(const struct where *at, const struct json *http, struct field_errors *errors)
{
	const struct json *paths = json_gets(http, "paths"), *path;
	if (http && !list_item(paths, 0)) {
		refuse_absent(errors, WHERE(at, "paths"), "");
	}
	for (uint32_t i = 0; (path = list_item(paths, i)); i++) {
		check_ingress_path(WHERE_ITEM(WHERE(at, "paths"), i), path, errors);
	}
}

static void check_rules(const struct ingress_check *c, const struct where *at, const struct json *rules)
{
	const struct json *rule;
	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		const struct where *here = WHERE_ITEM(at, i);
		struct str host = member_text(rule, "host");
		if (host.n && is_address(host)) {
			refuse_text(c->errors, WHERE(here, "host"), host, not_an_address);
		}
		if (host.n) {
			check_host(WHERE(here, "host"), host, c->errors);
		}
		if (!has_star(host) || !c->keeps_wildcard_rules) {
			check_http(WHERE(here, "http"), json_gets(rule, "http"), c->errors);
		}
	}
}

static void check_tls(const struct ingress_check *c, const struct where *at, const struct json *list)
{
	const struct json *tls, *host;
	for (uint32_t i = 0; (tls = list_item(list, i)); i++) {
		const struct where *here = WHERE_ITEM(at, i);
		struct str secret = member_text(tls, "secretName");
		for (uint32_t k = 0; (host = list_item(json_gets(tls, "hosts"), k)); k++) {
			check_host(WHERE_ITEM(WHERE(here, "hosts"), k), json_text(host), c->errors);
		}
		if (secret.n && !c->keeps_secret_names) {
			check_text(c->errors, WHERE(here, "secretName"), secret, validate_dns_subdomain);
		}
	}
}

static void check_ingress_spec(const struct ingress_check *c, const struct json *spec)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *rules = json_gets(spec, "rules"), *backend = json_gets(spec, "defaultBackend");
	if (!list_item(rules, 0) && !backend) {
		refuse_invalid(c->errors, at, rules, "either `defaultBackend` or `rules` must be specified");
	}
	if (backend) {
		check_backend(WHERE(at, "defaultBackend"), backend, c->errors);
	}
	check_rules(c, WHERE(at, "rules"), rules);
	check_tls(c, WHERE(at, "tls"), json_gets(spec, "tls"));
	if (json_gets(spec, "ingressClassName")) {
		check_text(c->errors, WHERE(at, "ingressClassName"), member_text(spec, "ingressClassName"),
			validate_dns_subdomain);
	}
}

void ingress_prepare_create(struct object *o, struct arena *a)
{
	object_set_status(o, schema_zero(&type_networking_ingress_status, a), a);
}

void ingress_validate(const struct object *o, struct field_errors *errors)
{
	const struct ingress_check c = {.errors = errors};
	const struct json *annotation = json_gets(o->meta.annotations, class_annotation);
	const struct json *class = json_gets(object_spec(o), "ingressClassName");
	check_ingress_spec(&c, object_spec(o));
	if (annotation && class && !json_equal(annotation, class)) {
		refuse_text(errors, WHERE_NAMED(WHERE(NULL, "annotations"), class_annotation), json_text(annotation),
			"must match `ingressClassName` when both are specified");
	}
}

static bool has_bad_secret_name(const struct json *list)
{
	const char *ignored[VALIDATE_MESSAGES_MAX];
	const struct json *tls;
	for (uint32_t i = 0; (tls = list_item(list, i)); i++) {
		struct str secret = member_text(tls, "secretName");
		if (secret.n && validate_dns_subdomain(secret, ignored)) {
			return true;
		}
	}
	return false;
}

static bool has_bad_wildcard_rule(const struct json *rules, struct arena *a)
{
	struct field_errors errors;
	const struct json *rule;
	field_errors_init(&errors, a);
	for (uint32_t i = 0; errors.n == 0 && (rule = list_item(rules, i)); i++) {
		if (has_star(member_text(rule, "host"))) {
			check_http(WHERE(NULL, "http"), json_gets(rule, "http"), &errors);
		}
	}
	return errors.n > 0;
}

void ingress_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct ingress_check c = {.errors = errors,
		.keeps_secret_names = has_bad_secret_name(json_gets(object_spec(old), "tls")),
		.keeps_wildcard_rules = has_bad_wildcard_rule(json_gets(object_spec(old), "rules"), errors->arena)};
	validate_meta(o->kind, &o->meta, errors);
	check_ingress_spec(&c, object_spec(o));
}

static const struct json *balancer_ingress(const struct object *o)
{
	return json_gets(json_gets(object_status(o), "loadBalancer"), "ingress");
}

void ingress_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct where *at = WHERE(WHERE(WHERE(NULL, "status"), "loadBalancer"), "ingress");
	const struct json *list = balancer_ingress(o), *ingress;
	struct map before;
	list_index(&before, balancer_ingress(old), "ip");
	for (uint32_t i = 0; (ingress = list_item(list, i)); i++) {
		struct str ip = member_text(ingress, "ip"), hostname = member_text(ingress, "hostname");
		if (ip.n && !map_get(&before, ip)) {
			check_address(errors, WHERE(WHERE_ITEM(at, i), "ip"), ip);
		}
		if (hostname.n) {
			check_text(errors, WHERE(WHERE_ITEM(at, i), "hostname"), hostname, validate_dns_subdomain);
		}
		if (hostname.n && is_address(hostname)) {
			refuse_text(errors, WHERE(WHERE_ITEM(at, i), "hostname"), hostname, not_an_address);
		}
	}
	map_done(&before);
}

size_t ingress_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	assert(!old || o->kind == old->kind);
	if (old || !json_gets(o->meta.annotations, class_annotation) || json_gets(object_spec(o), "ingressClassName")) {
		return 0;
	}
	ret[0] = STR("annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead");
	return 1;
}
