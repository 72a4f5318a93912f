/* Judging is apart from asking: these functions take objects, so each finding is a test without
 * a cluster. Values that come from the cluster go into commands only when quoted for a shell. */
#include "cli/doctor/doctor_apiservice.h"

#include "api/model/members.h"
#include "base/base64.h"

enum {
	HTTPS = 443,
	/* Third-party groups' usual value, below all of Kubernetes' own. */
	GROUP_PRIORITY = 1000,
	APPS_PRIORITY = 17800, /* of kube-apiserver's own group, which has controllerrevisions, too */
	/* With room for a version in between. */
	VERSION_PRIORITY = 80,
	RANK_STEP = 10,
};

struct str api_service_subject(struct report *r, const struct json *api_service)
{
	return report_text(r, "APIService " STR_FMT, STR_ARG(member_text(json_gets(api_service, "metadata"), "name")));
}

int64_t api_service_port(const struct json *api_service)
{
	int64_t port = member_int(json_gets(json_gets(api_service, "spec"), "service"), "port");
	return port ? port : HTTPS;
}

/* ---- mends ---- */

/* The Secret that `annals certs` and cert-manager fill. */
static struct str ca_of_secret(struct report *r, const struct deployment *d)
{
	return report_text(r,
		"$(" STR_FMT " --namespace=" STR_FMT " get secret " STR_FMT "-serving -o jsonpath='{.data.ca\\.crt}')",
		STR_ARG(d->kubectl), STR_ARG(d->ns), STR_ARG(d->service));
}

struct str api_service_patch(struct report *r, const struct deployment *d, const struct json *api_service, struct str spec)
{
	return report_text(r, STR_FMT " patch apiservice " STR_FMT " --type=merge -p \"{\\\"spec\\\":{" STR_FMT "}}\"",
		STR_ARG(d->kubectl), STR_ARG(member_text(json_gets(api_service, "metadata"), "name")), STR_ARG(spec));
}

struct str api_service_mend_ca(struct report *r, const struct deployment *d, const struct json *api_service)
{
	return api_service_patch(r, d, api_service,
		report_text(r, "\\\"insecureSkipTLSVerify\\\":false,\\\"caBundle\\\":\\\"" STR_FMT "\\\"",
			STR_ARG(ca_of_secret(r, d))));
}

static struct str mend_missing(
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

/* What to look at, by the reason of the condition (kube-aggregator, pkg/controllers/status/remote). */
static struct str mend_unavailable(struct report *r, const struct deployment *d, struct str reason)
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
		report_add(r, SEVERITY_WARNING, subject, NO_MEND, "kube-apiserver has not looked at it yet");
	} else if (str_is(member_text(available, "status"), "True")) {
		report_add(r, SEVERITY_OK, subject, NO_MEND, "Available: " STR_FMT, STR_ARG(message));
	} else {
		report_add(r, SEVERITY_ERROR, subject, mend_unavailable(r, d, reason), "not Available: " STR_FMT ": " STR_FMT,
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
	struct str mend = api_service_patch(r, d, service,
		report_text(r,
			"\\\"service\\\":{\\\"namespace\\\":\\\"" STR_FMT "\\\",\\\"name\\\":\\\"" STR_FMT
			"\\\",\\\"port\\\":%lld}",
			STR_ARG(d->ns), STR_ARG(d->service), (long long)api_service_port(service)));
	if (!to || to->kind != JSON_OBJECT) {
		report_add(r, SEVERITY_ERROR, api_service_subject(r, service), mend,
			"it names no Service: kube-apiserver looks for annals.dev within itself");
		return;
	}
	report_add(r, SEVERITY_ERROR, api_service_subject(r, service), mend,
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
			mend_missing(r, d, version, rank, sibling), "there is none: the cluster does not know this version");
		return;
	}
	judge_reference(r, d, service);
	judge_group_priority(r, d, service);
}

void judge_foreign_version(struct report *r, const struct deployment *d, struct str name)
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
		report_add(r, SEVERITY_WARNING, subject, api_service_mend_ca(r, d, api_service),
			"insecureSkipTLSVerify: kube-apiserver sends users' names and objects to whoever answers at that "
			"address");
	} else if (!encoded.n) {
		report_add(r, SEVERITY_ERROR, subject, api_service_mend_ca(r, d, api_service),
			"there is none: kube-apiserver believes only certificates of the CAs of its own machine");
	} else if (!decode_ca(r, encoded, ret, &err)) {
		report_add(r, SEVERITY_ERROR, subject, api_service_mend_ca(r, d, api_service), STR_FMT, STR_ARG(buf_str(&err)));
	} else {
		judge_cas(r, subject, ret, d->now_s, api_service_mend_ca(r, d, api_service));
	}
}

/* ---- through kube-apiserver ---- */

void judge_discovery(
	struct report *r, const struct deployment *d, const char *version, int code, struct str message, uint32_t n_resources)
{
	struct str subject = report_text(r, "discovery of annals.dev/%s", version);
	if (code == 200 && n_resources) {
		report_add(r, SEVERITY_OK, subject, NO_MEND, "%u resources, through kube-apiserver", n_resources);
	} else {
		report_add(r, SEVERITY_ERROR, subject,
			report_text(r, STR_FMT " get --raw /apis/annals.dev/%s    # once the APIService is Available",
				STR_ARG(d->kubectl), version),
			"through kube-apiserver: %d " STR_FMT, code, STR_ARG(message));
	}
}
