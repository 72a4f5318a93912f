/* What must hold of probes and hooks, of references to fields, and of resources. */
#include "api/model/quantity.h"
#include "api/pod/pod_validate_parts.h"
#include "api/rules/validate.h"

void check_port(const struct pod_check *c, const struct where *at, const struct json *port)
{
	if (json_is(port, JSON_STRING)) {
		check_text(c->errors, at, json_text(port), validate_port_name);
	} else {
		check_range(c->errors, at, port, PORT_RANGE);
	}
}

static bool is_header_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-') {
			return false;
		}
	}
	return s.n > 0;
}

static void check_exec(const struct pod_check *c, const struct where *at, const struct json *exec)
{
	if (!member_count(exec, "command")) {
		refuse_absent(c->errors, WHERE(at, "command"), "");
	}
}

static void check_http(const struct pod_check *c, const struct where *at, const struct json *http)
{
	static const char *const schemes[] = {"HTTP", "HTTPS", NULL};
	const struct json *headers = json_gets(http, "httpHeaders"), *header;
	check_present(c->errors, WHERE(at, "path"), member_text(http, "path"));
	check_port(c, WHERE(at, "port"), json_gets(http, "port"));
	check_choice(c->errors, WHERE(at, "scheme"), member_text(http, "scheme"), schemes, false);
	for (uint32_t i = 0; (header = list_item(headers, i)); i++) {
		if (!is_header_name(member_text(header, "name"))) {
			refuse_text(c->errors, WHERE(at, "httpHeaders"), member_text(header, "name"),
				"a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
				"regex used "
				"for validation is '[-A-Za-z0-9]+')");
		}
	}
}

static void check_socket(const struct pod_check *c, const struct where *at, const struct json *socket)
{
	check_port(c, WHERE(at, "port"), json_gets(socket, "port"));
}

/* The message says "less than", but kube takes the whole grace period too. */
static void check_sleep(const struct pod_check *c, const struct where *at, const struct json *sleep)
{
	int64_t grace_s = member_int(c->spec, "terminationGracePeriodSeconds"), seconds = member_int(sleep, "seconds");
	if (seconds < 0 || seconds > grace_s) {
		field_invalid(c->errors, where_path(at, c->errors->arena), json_gets(sleep, "seconds"),
			"must be non-negative and less than terminationGracePeriodSeconds (%lld)", (long long)grace_s);
	}
}

/* validateHandler: the first kind counts and is checked; each further one is only forbidden. */
void check_handler(const struct pod_check *c, const struct where *at, const struct json *handler)
{
	static const struct {
		const char *name;
		void (*check)(const struct pod_check *c, const struct where *at, const struct json *action);
	} actions[] = {{"exec", check_exec}, {"httpGet", check_http}, {"tcpSocket", check_socket}, {"grpc", check_socket},
		{"sleep", check_sleep}};
	bool has_one = false;
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		const struct json *action = json_gets(handler, actions[i].name);
		if (action && has_one) {
			refuse_forbidden(
				c->errors, WHERE_NAMED(at, actions[i].name), "may not specify more than 1 handler type");
		} else if (action) {
			has_one = true;
			actions[i].check(c, WHERE_NAMED(at, actions[i].name), action);
		}
	}
	if (!has_one) {
		refuse_absent(c->errors, at, "must specify a handler type");
	}
}

static void check_probe(const struct pod_check *c, const struct where *at, const struct json *probe)
{
	static const char *const numbers[] = {
		"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"};
	check_handler(c, at, probe);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		check_not_negative(c->errors, WHERE_NAMED(at, numbers[i]), json_gets(probe, numbers[i]));
	}
	check_range(c->errors, WHERE(at, "terminationGracePeriodSeconds"), json_gets(probe, "terminationGracePeriodSeconds"), 1,
		INT64_MAX, "must be greater than 0");
}

void check_probes(const struct pod_check *c, const struct where *at, const struct json *container)
{
	static const char *const names[] = {"livenessProbe", "readinessProbe", "startupProbe"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *probe = json_gets(container, names[i]);
		const struct where *here = WHERE_NAMED(at, names[i]);
		bool is_readiness = str_is(STR("readinessProbe"), names[i]);
		if (!probe) {
			continue;
		}
		check_probe(c, here, probe);
		if (is_readiness && json_gets(probe, "terminationGracePeriodSeconds")) {
			refuse_invalid(c->errors, WHERE(here, "terminationGracePeriodSeconds"),
				json_gets(probe, "terminationGracePeriodSeconds"), "must not be set for readinessProbes");
		}
		if (!is_readiness && member_int(probe, "successThreshold") != 1) {
			refuse_invalid(
				c->errors, WHERE(here, "successThreshold"), json_gets(probe, "successThreshold"), "must be 1");
		}
	}
}

/* References. */

static bool is_among(struct str s, const char *const *texts)
{
	for (; *texts; texts++) {
		if (str_is(s, *texts)) {
			return true;
		}
	}
	return false;
}

/* "metadata.labels['key']": the key between the quotes. */
static bool cut_subscript(struct str path, struct str *ret_head, struct str *ret_key)
{
	if (!str_ends(path, STR("']")) || !str_cut(path, '[', ret_head, ret_key) || ret_key->n < 4 || ret_key->p[0] != '\'') {
		return false;
	}
	*ret_key = (struct str){ret_key->p + 1, ret_key->n - 3};
	return true;
}

/* kube converts the path first (ConvertDownwardAPIFieldLabel), which knows more paths than
 * either place takes. So there are two lists and two messages. */
void check_field_ref(const struct pod_check *c, const struct where *at, const struct json *ref, bool is_volume)
{
	static const char *const known[] = {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
		"metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName",
		"status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", NULL};
	static const char *const in_env[] = {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", NULL};
	static const char *const in_volumes[] = {
		"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", NULL};
	const char *const *allowed = is_volume ? in_volumes : in_env;
	struct str path = member_text(ref, "fieldPath"), head, key;
	if (!path.n) {
		refuse_absent(c->errors, WHERE(at, "fieldPath"), "");
	} else if (cut_subscript(path, &head, &key) &&
		(str_is(head, "metadata.annotations") || str_is(head, "metadata.labels"))) {
		check_text(c->errors, at, key, validate_qualified_name);
	} else if (!is_among(path, known)) {
		field_invalid_str(c->errors, where_path(WHERE(at, "fieldPath"), c->errors->arena), path,
			"error converting fieldPath: field label not supported: " STR_FMT, STR_ARG(path));
	} else if (!is_among(path, allowed)) {
		refuse_unsupported(c->errors, WHERE(at, "fieldPath"), path, allowed);
	}
}

void check_resource_ref(const struct pod_check *c, const struct where *at, const struct json *ref, bool is_volume)
{
	static const char *const known[] = {"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
		"requests.ephemeral-storage", "requests.memory", NULL};
	struct str resource = member_text(ref, "resource");
	bool is_huge = str_starts(resource, STR("limits.hugepages-")) || str_starts(resource, STR("requests.hugepages-"));
	if (is_volume && !member_text(ref, "containerName").n) {
		refuse_absent(c->errors, WHERE(at, "containerName"), "");
	} else if (!resource.n) {
		refuse_absent(c->errors, WHERE(at, "resource"), "");
	} else if (!is_huge && !is_among(resource, known)) {
		refuse_unsupported(c->errors, WHERE(at, "resource"), resource, known);
	}
}

/* Resources. */

static bool is_huge_pages(struct str name)
{
	return str_starts(name, STR("hugepages-"));
}

/* IsNativeResource and IsPrefixedNativeResource of pkg/apis/core/v1/helper. */
static bool is_native(struct str name)
{
	return !memchr(name.p, '/', name.n) || str_contains(name, STR("kubernetes.io/"));
}

static void check_resource_name(const struct pod_check *c, const struct where *at, struct str name)
{
	static const char *const of_containers[] = {"cpu", "memory", "ephemeral-storage", NULL};
	static const char *const of_others[] = {"storage", "requests.cpu", "requests.memory", "requests.storage",
		"requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods",
		"resourcequotas", "services", "replicationcontrollers", "secrets", "persistentvolumeclaims", "configmaps",
		"services.nodeports", "services.loadbalancers", NULL};
	size_t n_before = c->errors->n;
	check_text(c->errors, at, name, validate_qualified_name);
	bool is_known = is_among(name, of_containers) || is_huge_pages(name) || !name.n || memchr(name.p, '/', name.n);
	if (c->errors->n == n_before && !is_known && !is_among(name, of_others)) {
		refuse_text(c->errors, at, name, "must be a standard resource type or fully qualified");
	}
	if (!is_known) {
		refuse_text(c->errors, at, name, "must be a standard resource for containers");
	}
}

static void check_amounts(const struct pod_check *c, const struct where *at, const struct json *amounts)
{
	for (uint32_t i = 0; amounts && i < amounts->n; i++) {
		const struct where *item = WHERE_KEY(at, amounts->members[i].name);
		check_resource_name(c, item, amounts->members[i].name);
		check_amount(c->errors, item, amounts->members[i].name, amounts->members[i].value);
	}
}

/* Only native resources but huge pages can be overcommitted (IsOvercommitAllowed): of all
 * others, request and limit must be the same. */
static void check_request(
	const struct pod_check *c, const struct where *at, const struct json_member *request, const struct json *limit)
{
	struct quantity asked, most;
	bool may_differ = is_native(request->name) && !is_huge_pages(request->name);
	if (!limit && !may_differ) {
		refuse_absent(c->errors, WHERE(at, "limits"), "Limit must be set for non overcommitable resources");
	}
	if (!limit || quantity_parse(&asked, json_text(request->value), c->errors->arena) ||
		quantity_parse(&most, json_text(limit), c->errors->arena)) {
		return;
	}
	int r = quantity_cmp(&asked, &most);
	if (may_differ ? r > 0 : r != 0) {
		field_invalid(c->errors, where_path(WHERE(at, "requests"), c->errors->arena), request->value,
			"must be %sequal to " STR_FMT " limit of " STR_FMT, may_differ ? "less than or " : "",
			STR_ARG(request->name), STR_ARG(json_text(limit)));
	}
}

void check_resources(const struct pod_check *c, const struct where *at, const struct json *resources)
{
	const struct json *limits = json_gets(resources, "limits"), *requests = json_gets(resources, "requests");
	check_amounts(c, WHERE(at, "limits"), limits);
	check_amounts(c, WHERE(at, "requests"), requests);
	for (uint32_t i = 0, k = 0; requests && i < requests->n; i++) {
		const struct json_member *request = &requests->members[i];
		while (limits && k < limits->n && str_cmp(limits->members[k].name, request->name) < 0) {
			k++; /* both are sorted */
		}
		bool has_limit = limits && k < limits->n && str_eq(limits->members[k].name, request->name);
		check_request(c, at, request, has_limit ? limits->members[k].value : NULL);
	}
}
