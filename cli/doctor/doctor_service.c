/* Judgements of a Service, its EndpointSlices and the certificate shown, without a cluster. An
 * endpoint without `ready` counts as ready: discovery.k8s.io/v1 says that unknown is to be taken
 * so. */
#include "cli/doctor/doctor_service.h"

#include "api/model/members.h"
#include "cli/doctor/doctor_apiservice.h"

enum { HTTPS = 443 };

/* ---- mends ---- */

static struct str mend_certificate(struct report *r, const struct deployment *d)
{
	return report_text(r,
		"annals certs --dir=DIR --namespace=" STR_FMT " --service=" STR_FMT " --output=manifests | " STR_FMT
		" apply -f -    # DIR keeps the CA",
		STR_ARG(d->ns), STR_ARG(d->service), STR_ARG(d->kubectl));
}

static struct str mend_service(struct report *r, const struct deployment *d)
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

/* ---- its Service ---- */

bool find_port(const struct json *api_service, const struct json *service, struct str *ret_name)
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
		report_add(r, SEVERITY_OK, subject_of_service(r, d), NO_MEND, "it is there, with port %lld", (long long)wanted);
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
		report_add(r, SEVERITY_ERROR, subject_of_service(r, d), mend_service(r, d),
			"there is none, and the APIService leads to it");
	} else if (!str_is(member_text(json_gets(service, "spec"), "type"), "ExternalName")) {
		judge_port(r, d, api_service, service);
	}
}

static bool is_ready(const struct json *endpoint)
{
	const struct json *ready = json_gets(json_gets(endpoint, "conditions"), "ready");
	return !json_is(ready, JSON_BOOL) || ready->boolean; /* absent means ready */
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

/* On hosts it is an EndpointSlice that somebody writes which leads to them. */
static struct str mend_endpoints(struct report *r, const struct deployment *d, size_t n_ready)
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
		report_add(r, SEVERITY_ERROR, subject, mend_endpoints(r, d, n_ready),
			deployment_is_on_hosts(d)
				? "none is ready for that port: no EndpointSlice has the address of a host, or another port"
				: "none is ready for that port: no pod of annals runs, or the Service selects others, or has "
				  "another "
				  "target port");
	} else {
		report_add(r, n_ready == 1 ? SEVERITY_WARNING : SEVERITY_OK, subject,
			n_ready == 1 ? mend_endpoints(r, d, n_ready) : NO_MEND, "%zu ready%s", n_ready,
			n_ready == 1 ? ": while that one restarts, annals.dev is away, and namespaces are not deleted" : "");
	}
}

/* ---- what it serves ---- */

void judge_served(struct report *r, const struct deployment *d, struct str subject, const struct json *api_service,
	const struct certs *chain, const struct certs *cas)
{
	_cleanup_(buf_done) struct buf why;
	struct str name = report_text(r, STR_FMT "." STR_FMT ".svc", STR_ARG(d->service), STR_ARG(d->ns));
	buf_init(&why, 4096);
	judge_leaf(r, subject, &chain->v[0], name, d->now_s, mend_certificate(r, d));
	if (cas->n && !certs_are_trusted(chain, cas, &why)) {
		report_add(r, SEVERITY_ERROR, subject, api_service_mend_ca(r, d, api_service),
			"the caBundle (\"" STR_FMT "\") does not stand for it (by \"" STR_FMT "\"): " STR_FMT,
			STR_ARG(cas->v[0].subject), STR_ARG(chain->v[chain->n - 1].issuer), STR_ARG(buf_str(&why)));
	}
}
