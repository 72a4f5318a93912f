/* Follows the way that kube-aggregator takes: APIService, Service, EndpointSlices, then the certificate that is
 * shown. A possible cause is reported before its consequences. First come the judgements, which take objects,
 * then the functions that ask for those objects.
 *
 * Values that come from the cluster are quoted for a shell before they become part of a command. */
#include "api/model/members.h"
#include "base/base64.h"
#include "cli/doctor/doctor_cert.h"
#include "cli/doctor/doctor_cluster.h"

#include <stdio.h>

enum {
	PATH_SIZE = 1024,
	VERSIONS_MAX = 8,
	HOST_SIZE = 256,
	PORT_SIZE = 24,
	HTTPS = 443,
	/* The usual value for third-party groups; it is below all of Kubernetes' own groups. */
	GROUP_PRIORITY = 1000,
	APPS_PRIORITY = 17800, /* of kube-apiserver's own group, which has controllerrevisions, too */
	/* Versions are RANK_STEP apart, so that another one fits in between. */
	VERSION_PRIORITY = 80,
	RANK_STEP = 10,
};

static struct str api_service_subject(struct report *r, const struct json *api_service)
{
	return report_text(r, "APIService " STR_FMT, STR_ARG(member_text(json_gets(api_service, "metadata"), "name")));
}

static int64_t api_service_port(const struct json *api_service)
{
	int64_t port = member_int(json_gets(json_gets(api_service, "spec"), "service"), "port");
	return port ? port : HTTPS;
}

/* ---- fixes ---- */

/* The CA in the Secret that `annals certs` and cert-manager write. */
static struct str ca_of_secret(struct report *r, const struct deployment *d)
{
	return report_text(r,
		"$(" STR_FMT " --namespace=" STR_FMT " get secret " STR_FMT "-serving -o jsonpath='{.data.ca\\.crt}')",
		STR_ARG(d->kubectl), STR_ARG(d->ns), STR_ARG(d->service));
}

static struct str api_service_patch(
	struct report *r, const struct deployment *d, const struct json *api_service, struct str spec)
{
	return report_text(r, STR_FMT " patch apiservice " STR_FMT " --type=merge -p \"{\\\"spec\\\":{" STR_FMT "}}\"",
		STR_ARG(d->kubectl), STR_ARG(member_text(json_gets(api_service, "metadata"), "name")), STR_ARG(spec));
}

static struct str api_service_fix_ca(struct report *r, const struct deployment *d, const struct json *api_service)
{
	return api_service_patch(r, d, api_service,
		report_text(r, "\\\"insecureSkipTLSVerify\\\":false,\\\"caBundle\\\":\\\"" STR_FMT "\\\"",
			STR_ARG(ca_of_secret(r, d))));
}

static struct str fix_missing(
	struct report *r, const struct deployment *d, const char *version, size_t rank, const struct json *sibling)
{
	return report_text(r,
		STR_FMT " apply -f - <<END\n"
			"apiVersion: apiregistration.k8s.io/v1\n"
			"kind: APIService\n"
			"metadata: {name: %s.annals.dev}\n"
			"spec:\n"
			"  group: annals.dev\n"
			"  version: %s\n"
			"  groupPriorityMinimum: %d\n"
			"  versionPriority: %zu\n"
			"  service: {namespace: " STR_FMT ", name: " STR_FMT ", port: %lld}\n"
			"  caBundle: " STR_FMT "\n"
			"END",
		STR_ARG(d->kubectl), version, version, GROUP_PRIORITY, VERSION_PRIORITY - RANK_STEP * rank, STR_ARG(d->ns),
		STR_ARG(d->service), (long long)api_service_port(sibling), STR_ARG(ca_of_secret(r, d)));
}

/* ---- an APIService ---- */

static const struct json *condition(const struct json *object, const char *type)
{
	const struct json *list = json_gets(json_gets(object, "status"), "conditions"), *item;
	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		if (str_is(member_text(item, "type"), type)) {
			return item;
		}
	}
	return NULL;
}

/* Chooses the command by the reason of the condition (kube-aggregator, pkg/controllers/status/remote). */
static struct str fix_unavailable(struct report *r, const struct deployment *d, struct str reason)
{
	bool is_pods = str_is(reason, "MissingEndpoints") || str_is(reason, "EndpointsNotFound");
	if (is_pods || str_is(reason, "FailedDiscoveryCheck")) {
		if (deployment_is_on_hosts(d)) {
			return STR(HOSTS_LOG);
		}
		return report_text(r,
			STR_FMT " --namespace=" STR_FMT " logs deployment/" STR_FMT "    # why it is not ready, or not heard",
			STR_ARG(d->kubectl), STR_ARG(d->ns), STR_ARG(d->service));
	}
	return report_text(r, STR_FMT " --namespace=" STR_FMT " get service,endpointslices    # see the findings on them",
		STR_ARG(d->kubectl), STR_ARG(d->ns));
}

void judge_availability(struct report *r, const struct deployment *d, const struct json *service)
{
	const struct json *available = condition(service, "Available");
	struct str reason = member_text(available, "reason"), message = member_text(available, "message");
	struct str subject = api_service_subject(r, service);
	if (!available) {
		report_add(r, SEVERITY_WARNING, subject, NO_FIX, "kube-apiserver has not looked at it yet");
	} else if (str_is(member_text(available, "status"), "True")) {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "Available: " STR_FMT, STR_ARG(message));
	} else {
		report_add(r, SEVERITY_ERROR, subject, fix_unavailable(r, d, reason), "not Available: " STR_FMT ": " STR_FMT,
			STR_ARG(reason), STR_ARG(message));
	}
}

static void judge_reference(struct report *r, const struct deployment *d, const struct json *service)
{
	const struct json *to = json_gets(json_gets(service, "spec"), "service");
	struct str ns = member_text(to, "namespace"), name = member_text(to, "name");
	if (str_eq(ns, d->ns) && str_eq(name, d->service)) {
		return;
	}
	struct str fix = api_service_patch(r, d, service,
		report_text(r,
			"\\\"service\\\":{\\\"namespace\\\":\\\"" STR_FMT "\\\",\\\"name\\\":\\\"" STR_FMT
			"\\\",\\\"port\\\":%lld}",
			STR_ARG(d->ns), STR_ARG(d->service), (long long)api_service_port(service)));
	if (!to || to->kind != JSON_OBJECT) {
		report_add(r, SEVERITY_ERROR, api_service_subject(r, service), fix,
			"it names no Service: kube-apiserver looks for annals.dev within itself");
		return;
	}
	report_add(r, SEVERITY_ERROR, api_service_subject(r, service), fix,
		"it leads to Service " STR_FMT "/" STR_FMT ", not to " STR_FMT "/" STR_FMT, STR_ARG(ns), STR_ARG(name),
		STR_ARG(d->ns), STR_ARG(d->service));
}

static void judge_group_priority(struct report *r, const struct deployment *d, const struct json *service)
{
	int64_t priority = member_int(json_gets(service, "spec"), "groupPriorityMinimum");
	if (priority >= APPS_PRIORITY) {
		report_add(r, SEVERITY_WARNING, api_service_subject(r, service),
			api_service_patch(r, d, service, report_text(r, "\\\"groupPriorityMinimum\\\":%d", GROUP_PRIORITY)),
			"groupPriorityMinimum %lld puts annals.dev before apps (%d): `kubectl get controllerrevisions` no "
			"longer means the cluster's",
			(long long)priority, APPS_PRIORITY);
	}
}

void judge_api_service(struct report *r, const struct deployment *d, const char *version, size_t rank,
	const struct json *service, const struct json *sibling)
{
	if (!service) {
		report_add(r, SEVERITY_ERROR, report_text(r, "APIService %s.annals.dev", version),
			fix_missing(r, d, version, rank, sibling), "there is none: the cluster does not know this version");
		return;
	}
	judge_reference(r, d, service);
	judge_group_priority(r, d, service);
}

static void judge_foreign_version(struct report *r, const struct deployment *d, struct str name)
{
	report_add(r, SEVERITY_ERROR, report_text(r, "APIService " STR_FMT, STR_ARG(name)),
		report_text(
			r, STR_FMT " delete apiservice " STR_FMT, STR_ARG(d->kubectl), STR_ARG(shell_word(&r->arena, name))),
		"annals does not serve this version: while it is registered, namespaces are not deleted and discovery has "
		"errors");
}

void judge_version_order(struct report *r, const struct deployment *d, const struct json *first, const struct json *second)
{
	int64_t before = member_int(json_gets(first, "spec"), "versionPriority");
	int64_t after = member_int(json_gets(second, "spec"), "versionPriority");
	if (first && second && before <= after) {
		report_add(r, SEVERITY_WARNING, api_service_subject(r, first),
			api_service_patch(
				r, d, first, report_text(r, "\\\"versionPriority\\\":%lld", (long long)after + RANK_STEP)),
			"versionPriority %lld is not above that of " STR_FMT ", %lld: clients would prefer the older version",
			(long long)before, STR_ARG(member_text(json_gets(second, "metadata"), "name")), (long long)after);
	}
}

/* ---- its CA ---- */

static bool decode_ca(struct report *r, struct str encoded, struct certs *ret, struct buf *err)
{
	size_t n;
	char *pem = arena_alloc(&r->arena, BASE64_ROOM(encoded.n));
	if (!base64_decode(pem, encoded, &n)) {
		buf_adds(err, "it is not base64");
		return false;
	}
	return certs_parse(ret, (struct str){pem, n}, &r->arena, err) == 0;
}

void judge_ca_bundle(struct report *r, const struct deployment *d, const struct json *api_service, struct certs *ret)
{
	_cleanup_(buf_done) struct buf err;
	const struct json *spec = json_gets(api_service, "spec");
	struct str subject = report_text(r, "caBundle of " STR_FMT, STR_ARG(api_service_subject(r, api_service)));
	struct str encoded = member_text(spec, "caBundle");
	*ret = (struct certs){NULL, 0};
	buf_init(&err, 4096);
	if (member_is_true(spec, "insecureSkipTLSVerify")) {
		report_add(r, SEVERITY_WARNING, subject, api_service_fix_ca(r, d, api_service),
			"insecureSkipTLSVerify: kube-apiserver sends users' names and objects to whoever answers at that "
			"address");
	} else if (!encoded.n) {
		report_add(r, SEVERITY_ERROR, subject, api_service_fix_ca(r, d, api_service),
			"there is none: kube-apiserver trusts only certificates of the CAs of its own machine");
	} else if (!decode_ca(r, encoded, ret, &err)) {
		report_add(r, SEVERITY_ERROR, subject, api_service_fix_ca(r, d, api_service), STR_FMT, STR_ARG(buf_str(&err)));
	} else {
		judge_cas(r, subject, ret, d->now_s, api_service_fix_ca(r, d, api_service));
	}
}

/* ---- through kube-apiserver ---- */

void judge_discovery(
	struct report *r, const struct deployment *d, const char *version, int code, struct str message, uint32_t n_resources)
{
	struct str subject = report_text(r, "discovery of annals.dev/%s", version);
	if (code == 200 && n_resources) {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "%u resources, through kube-apiserver", n_resources);
	} else {
		report_add(r, SEVERITY_ERROR, subject,
			report_text(r, STR_FMT " get --raw /apis/annals.dev/%s    # once the APIService is Available",
				STR_ARG(d->kubectl), version),
			"through kube-apiserver: %d " STR_FMT, code, STR_ARG(message));
	}
}

/* ---- the Service ---- */

static struct str fix_certificate(struct report *r, const struct deployment *d)
{
	return report_text(r,
		"annals certs --dir=DIR --namespace=" STR_FMT " --service=" STR_FMT " --output=manifests | " STR_FMT
		" apply -f -    # DIR keeps the CA",
		STR_ARG(d->ns), STR_ARG(d->service), STR_ARG(d->kubectl));
}

static struct str fix_service(struct report *r, const struct deployment *d)
{
	return report_text(r,
		STR_FMT " apply -f - <<END\n"
			"apiVersion: v1\n"
			"kind: Service\n"
			"metadata: {name: " STR_FMT ", namespace: " STR_FMT "}\n"
			"spec:\n"
			"  selector: {app.kubernetes.io/name: " STR_FMT "}\n"
			"  ports: [{name: https, port: %d, targetPort: https}]\n"
			"END",
		STR_ARG(d->kubectl), STR_ARG(d->service), STR_ARG(d->ns), STR_ARG(d->service), HTTPS);
}

static bool find_port(const struct json *api_service, const struct json *service, struct str *ret_name)
{
	int64_t wanted = api_service_port(api_service);
	const struct json *ports = json_gets(json_gets(service, "spec"), "ports"), *port;
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		if (member_int(port, "port") == wanted) {
			*ret_name = member_text(port, "name");
			return true;
		}
	}
	return false;
}

static struct str subject_of_service(struct report *r, const struct deployment *d)
{
	return report_text(r, "Service " STR_FMT "/" STR_FMT, STR_ARG(d->ns), STR_ARG(d->service));
}

static void judge_port(struct report *r, const struct deployment *d, const struct json *api_service, const struct json *service)
{
	struct str name;
	int64_t wanted = api_service_port(api_service);
	int64_t there = member_int(list_item(json_gets(json_gets(service, "spec"), "ports"), 0), "port");
	if (find_port(api_service, service, &name)) {
		report_add(r, SEVERITY_OK, subject_of_service(r, d), NO_FIX, "it is there, with port %lld", (long long)wanted);
		return;
	}
	report_add(r, SEVERITY_ERROR, subject_of_service(r, d),
		api_service_patch(r, d, api_service, report_text(r, "\\\"service\\\":{\\\"port\\\":%lld}", (long long)there)),
		"it has no port %lld, which " STR_FMT " names, but port %lld", (long long)wanted,
		STR_ARG(api_service_subject(r, api_service)), (long long)there);
}

void judge_service(struct report *r, const struct deployment *d, const struct json *api_service, const struct json *service)
{
	if (!service) {
		report_add(r, SEVERITY_ERROR, subject_of_service(r, d), fix_service(r, d),
			"there is none, and the APIService leads to it");
	} else if (!str_is(member_text(json_gets(service, "spec"), "type"), "ExternalName")) {
		judge_port(r, d, api_service, service);
	}
}

static bool is_ready(const struct json *endpoint)
{
	const struct json *ready = json_gets(json_gets(endpoint, "conditions"), "ready");
	return !json_is(ready, JSON_BOOL) || ready->boolean; /* discovery.k8s.io/v1: absent means ready */
}

static int64_t port_number(const struct json *slice, struct str name)
{
	const struct json *ports = json_gets(slice, "ports"), *port;
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		if (str_eq(member_text(port, "name"), name)) {
			return member_int(port, "port");
		}
	}
	return 0;
}

size_t find_addresses(const struct json *slices, struct str port_name, struct doctor_address *ret, size_t *ret_n_ready)
{
	size_t n = 0;
	const struct json *items = json_gets(slices, "items"), *slice, *endpoint;
	*ret_n_ready = 0;
	for (uint32_t i = 0; (slice = list_item(items, i)); i++) {
		int64_t port = port_number(slice, port_name);
		for (uint32_t k = 0; port && (endpoint = list_item(json_gets(slice, "endpoints"), k)); k++) {
			struct str host = json_text(list_item(json_gets(endpoint, "addresses"), 0));
			if (!host.n || !is_ready(endpoint)) {
				continue;
			}
			++*ret_n_ready;
			if (n < DOCTOR_ADDRESSES_MAX) {
				ret[n++] = (struct doctor_address){host, port};
			}
		}
	}
	return n;
}

/* For an annals on hosts, an administrator writes the EndpointSlice with their addresses. */
static struct str fix_endpoints(struct report *r, const struct deployment *d, size_t n_ready)
{
	if (deployment_is_on_hosts(d)) {
		return n_ready ? report_text(r,
					 STR_FMT
					 " --namespace=" STR_FMT
					 " edit endpointslices    # when annals.service runs on a second host, add its address",
					 STR_ARG(d->kubectl), STR_ARG(d->ns))
			       : report_text(r,
					 "systemctl enable --now annals    # on each host\n" STR_FMT " --namespace=" STR_FMT
					 " edit endpointslices    # which have the hosts' addresses",
					 STR_ARG(d->kubectl), STR_ARG(d->ns));
	}
	return n_ready ? report_text(r, STR_FMT " --namespace=" STR_FMT " scale deployment/" STR_FMT " --replicas=2",
				 STR_ARG(d->kubectl), STR_ARG(d->ns), STR_ARG(d->service))
		       : report_text(r, STR_FMT " --namespace=" STR_FMT " rollout status deployment/" STR_FMT,
				 STR_ARG(d->kubectl), STR_ARG(d->ns), STR_ARG(d->service));
}

void judge_endpoints(struct report *r, const struct deployment *d, size_t n_ready)
{
	struct str subject = report_text(r, "endpoints of " STR_FMT, STR_ARG(subject_of_service(r, d)));
	if (n_ready == 0) {
		report_add(r, SEVERITY_ERROR, subject, fix_endpoints(r, d, n_ready),
			deployment_is_on_hosts(d)
				? "none is ready for that port: no EndpointSlice has the address of a host, or another port"
				: "none is ready for that port: no pod of annals runs, or the Service selects others, or has "
				  "another "
				  "target port");
	} else {
		report_add(r, n_ready == 1 ? SEVERITY_WARNING : SEVERITY_OK, subject,
			n_ready == 1 ? fix_endpoints(r, d, n_ready) : NO_FIX, "%zu ready%s", n_ready,
			n_ready == 1 ? ": while that one restarts, annals.dev is away, and namespaces are not deleted" : "");
	}
}

/* ---- the certificate that is served ---- */

void judge_served(struct report *r, const struct deployment *d, struct str subject, const struct json *api_service,
	const struct certs *chain, const struct certs *cas)
{
	_cleanup_(buf_done) struct buf why;
	struct str name = report_text(r, STR_FMT "." STR_FMT ".svc", STR_ARG(d->service), STR_ARG(d->ns));
	buf_init(&why, 4096);
	judge_leaf(r, subject, &chain->v[0], name, d->now_s, fix_certificate(r, d));
	if (cas->n && !certs_are_trusted(chain, cas, &why)) {
		report_add(r, SEVERITY_ERROR, subject, api_service_fix_ca(r, d, api_service),
			"the caBundle (\"" STR_FMT "\") does not stand for it (by \"" STR_FMT "\"): " STR_FMT,
			STR_ARG(cas->v[0].subject), STR_ARG(chain->v[chain->n - 1].issuer), STR_ARG(buf_str(&why)));
	}
}

#define API_SERVICES "/apis/apiregistration.k8s.io/v1/apiservices"

/* The APIServices of the group, in order of preference; absent ones are NULL. */
struct registered {
	const struct json *v[VERSIONS_MAX];
};

static size_t rank_of(struct str version)
{
	size_t n = 0;
	while (doctor_version(n) && !str_is(version, doctor_version(n))) {
		n++;
	}
	return doctor_version(n) ? n : VERSIONS_MAX;
}

static void find_registered(const struct doctor_visit *v, const struct json *list, struct registered *ret)
{
	const struct json *items = json_gets(list, "items"), *item;
	*ret = (struct registered){{NULL}};
	for (uint32_t i = 0; (item = list_item(items, i)); i++) {
		const struct json *spec = json_gets(item, "spec");
		size_t rank = rank_of(member_text(spec, "version"));
		if (!str_is(member_text(spec, "group"), "annals.dev")) {
			continue;
		}
		if (rank < VERSIONS_MAX) {
			ret->v[rank] = item;
		} else {
			judge_foreign_version(v->r, v->d, member_text(json_gets(item, "metadata"), "name"));
		}
	}
}

/* ---- asking: the certificate that is served ---- */

/* An APIService, and the authorities by which kube-apiserver trusts its server. */
struct behind {
	const struct json *api_service;
	struct certs cas;
};

static void probe_one(const struct doctor_visit *v, const char *host, const char *port, const struct behind *b)
{
	_cleanup_(certs_done) struct certs chain;
	_cleanup_(buf_done) struct buf err;
	_cleanup_(mem_freep) char *name = mem_printf(STR_FMT "." STR_FMT ".svc", STR_ARG(v->d->service), STR_ARG(v->d->ns));
	struct str subject = report_text(v->r, "certificate that %s port %s serves", host, port);
	buf_init(&err, 4096);
	enum probe_result result =
		probe_run(&(struct probe){.host = host, .port = port, .server_name = name}, &chain, &v->r->arena, &err);
	if (chain.n) {
		judge_served(v->r, v->d, subject, b->api_service, &chain, &b->cas);
	} else if (result == PROBE_UNREACHABLE) {
		report_add(v->r, SEVERITY_SKIPPED, subject, NO_FIX,
			STR_FMT ". From outside the cluster: kubectl --namespace=" STR_FMT " port-forward service/" STR_FMT
				" 6443:443, and annals doctor --server=127.0.0.1:6443",
			STR_ARG(buf_str(&err)), STR_ARG(v->d->ns), STR_ARG(v->d->service));
	} else {
		report_add(v->r, SEVERITY_ERROR, subject, NO_FIX, STR_FMT, STR_ARG(buf_str(&err)));
	}
}

static void probe_address(const struct doctor_visit *v, struct str host, int64_t port, const struct behind *b)
{
	char host_text[HOST_SIZE], port_text[PORT_SIZE];
	snprintf(host_text, sizeof(host_text), STR_FMT, STR_ARG(host));
	snprintf(port_text, sizeof(port_text), "%lld", (long long)port);
	probe_one(v, host_text, port_text, b);
}

/* HOST:PORT. */
static void probe_server(const struct doctor_visit *v, const char *server, const struct behind *b)
{
	const char *colon = strrchr(server, ':');
	int64_t port = 0;
	if (!colon || !str_to_int64(str_of(colon + 1), &port) || port < 1 || port > UINT16_MAX) {
		report_add(v->r, SEVERITY_ERROR, STR("--server"), NO_FIX, "%s should look like HOST:PORT", server);
		return;
	}
	probe_address(v, (struct str){server, (size_t)(colon - server)}, port, b);
}

/* ---- asking: from the APIService on ---- */

static void check_endpoints(const struct doctor_visit *v, const struct json *service, const struct behind *b, bool is_probing)
{
	char path[PATH_SIZE];
	struct answer slices;
	struct doctor_address addresses[DOCTOR_ADDRESSES_MAX];
	struct str port_name;
	if (!find_port(b->api_service, service, &port_name)) {
		return;
	}
	snprintf(path, sizeof(path),
		"/apis/discovery.k8s.io/v1/namespaces/" STR_FMT
		"/endpointslices?labelSelector=kubernetes.io%%2Fservice-name%%3D" STR_FMT,
		STR_ARG(v->d->ns), STR_ARG(v->d->service));
	answer_init(&slices);
	if (doctor_list(v, STR("EndpointSlices"), path, &slices)) {
		size_t n_ready, n = find_addresses(slices.body, port_name, addresses, &n_ready);
		v->r->topic = TOPIC_READY;
		judge_endpoints(v->r, v->d, n_ready);
		v->r->topic = TOPIC_ROUTE;
		for (size_t i = 0; i < n && is_probing; i++) {
			probe_address(v, addresses[i].host, addresses[i].port, b);
		}
	}
	answer_done(&slices);
}

static void check_behind(const struct doctor_visit *v, const struct json *api_service, const char *server)
{
	static const struct resource services = {{"", 0}, {"v1", 2}, {"services", 8}};
	const struct target object = {&services, v->d->ns, v->d->service, NULL};
	struct answer service;
	struct behind b = {.api_service = api_service};
	judge_ca_bundle(v->r, v->d, api_service, &b.cas);
	answer_init(&service);
	enum rest_found found = doctor_find(v, STR("Service"), &object, &service);
	if (found != REST_UNKNOWN) {
		judge_service(v->r, v->d, api_service, found == REST_FOUND ? service.body : NULL);
	}
	const struct json *spec = json_gets(service.body, "spec");
	bool is_external = str_is(member_text(spec, "type"), "ExternalName");
	if (server) {
		probe_server(v, server, &b);
	} else if (found == REST_FOUND && is_external) {
		int64_t port = member_int(json_gets(json_gets(api_service, "spec"), "service"), "port");
		probe_address(v, member_text(spec, "externalName"), port ? port : HTTPS, &b);
	}
	if (found == REST_FOUND && !is_external) {
		check_endpoints(v, service.body, &b, !server);
	}
	answer_done(&service);
	certs_done(&b.cas);
}

static void check_discovery(const struct doctor_visit *v, const char *version)
{
	char path[PATH_SIZE];
	struct answer a;
	snprintf(path, sizeof(path), "/apis/annals.dev/%s", version);
	answer_init(&a);
	rest_do(v->client, &(struct rest_call){.method = "GET", .path = path, .timeout_ms = 10 * 1000, .is_single = true}, &a);
	judge_discovery(v->r, v->d, version, a.code, a.message, member_count(a.body, "resources"));
	answer_done(&a);
}

static bool is_same_service(const struct json *a, const struct json *b)
{
	return json_equal(json_gets(json_gets(a, "spec"), "service"), json_gets(json_gets(b, "spec"), "service")) &&
		str_eq(member_text(json_gets(a, "spec"), "caBundle"), member_text(json_gets(b, "spec"), "caBundle"));
}

static const struct json *any_of(const struct registered *all)
{
	size_t n = 0;
	while (n + 1 < VERSIONS_MAX && !all->v[n]) {
		n++;
	}
	return all->v[n];
}

static void check_registered(const struct doctor_visit *v, const struct registered *all, const char *server)
{
	for (size_t n = 0; n < VERSIONS_MAX && doctor_version(n); n++) {
		v->r->topic = TOPIC_ROUTE;
		judge_api_service(v->r, v->d, doctor_version(n), n, all->v[n], any_of(all));
		if (n && all->v[n] && all->v[n - 1]) {
			judge_version_order(v->r, v->d, all->v[n - 1], all->v[n]);
		}
		/* Versions share one server, unless their APIServices differ. */
		if (all->v[n] && !(n && all->v[n - 1] && is_same_service(all->v[n], all->v[n - 1]))) {
			check_behind(v, all->v[n], server);
		}
		if (all->v[n]) {
			v->r->topic = TOPIC_AVAILABLE;
			judge_availability(v->r, v->d, all->v[n]);
			v->r->topic = TOPIC_DISCOVERY;
			check_discovery(v, doctor_version(n));
		}
	}
}

void doctor_check_services(const struct doctor_visit *v, const char *server)
{
	struct answer list;
	struct registered all;
	answer_init(&list);
	v->r->topic = TOPIC_ROUTE;
	if (doctor_list(v, STR("APIServices"), API_SERVICES, &list)) {
		find_registered(v, list.body, &all);
		check_registered(v, &all, server);
	}
	v->r->topic = TOPIC_NONE;
	answer_done(&list);
}
