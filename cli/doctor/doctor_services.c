/* Follows the way that kube-aggregator takes: APIService, Service, EndpointSlices, then the
 * certificate that is shown. What may be a cause is told before what follows from it. Versions
 * of one group share a backend, which is looked at once. */
#include "api/model/members.h"
#include "cli/doctor/doctor_apiservice.h"
#include "cli/doctor/doctor_probe.h"
#include "cli/doctor/doctor_service.h"

#include <stdio.h>

enum { PATH_SIZE = 1024, VERSIONS_MAX = 8, HOST_SIZE = 256, PORT_SIZE = 24 };

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

/* ---- certificates that are served ---- */

/* An APIService, and whom it tells kube-apiserver to believe. */
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
		report_add(v->r, SEVERITY_SKIPPED, subject, NO_MEND,
			STR_FMT ". From outside the cluster: kubectl --namespace=" STR_FMT " port-forward service/" STR_FMT
				" 6443:443, and annals doctor --server=127.0.0.1:6443",
			STR_ARG(buf_str(&err)), STR_ARG(v->d->ns), STR_ARG(v->d->service));
	} else {
		report_add(v->r, SEVERITY_ERROR, subject, NO_MEND, STR_FMT, STR_ARG(buf_str(&err)));
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
		report_add(v->r, SEVERITY_ERROR, STR("--server"), NO_MEND, "%s should look like HOST:PORT", server);
		return;
	}
	probe_address(v, (struct str){server, (size_t)(colon - server)}, port, b);
}

/* ---- from the APIService on ---- */

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
	if (doctor_look(v, STR("EndpointSlices"), path, &slices) == SIGHT_SEEN) {
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
	char path[PATH_SIZE];
	struct answer service;
	struct behind b = {.api_service = api_service};
	judge_ca_bundle(v->r, v->d, api_service, &b.cas);
	snprintf(path, sizeof(path), "/api/v1/namespaces/" STR_FMT "/services/" STR_FMT, STR_ARG(v->d->ns),
		STR_ARG(v->d->service));
	answer_init(&service);
	enum doctor_sight sight = doctor_look(v, STR("Service"), path, &service);
	if (sight != SIGHT_NONE) {
		judge_service(v->r, v->d, api_service, sight == SIGHT_SEEN ? service.body : NULL);
	}
	const struct json *spec = json_gets(service.body, "spec");
	if (server) {
		probe_server(v, server, &b);
	} else if (sight == SIGHT_SEEN && str_is(member_text(spec, "type"), "ExternalName")) {
		int64_t port = member_int(json_gets(json_gets(api_service, "spec"), "service"), "port");
		probe_address(v, member_text(spec, "externalName"), port ? port : 443, &b);
	}
	if (sight == SIGHT_SEEN && !str_is(member_text(spec, "type"), "ExternalName")) {
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
		/* Versions share what is behind them, unless somebody has changed one of them. */
		if (all->v[n] && !(n && all->v[n - 1] && is_same_service(all->v[n], all->v[n - 1]))) {
			check_behind(v, all->v[n], server);
		}
		/* What may be the cause comes before what follows from it. */
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
	if (doctor_look(v, STR("APIServices"), API_SERVICES, &list) == SIGHT_SEEN) {
		find_registered(v, list.body, &all);
		check_registered(v, &all, server);
	}
	v->r->topic = TOPIC_NONE;
	answer_done(&list);
}
