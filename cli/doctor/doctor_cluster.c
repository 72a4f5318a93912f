/* The cluster part of doctor: whether kube-apiserver answers, and then trust, APIServices, access and policies.
 * Causes come before their consequences. If kube-apiserver does not answer, doctor asks nothing more: every
 * further finding would only repeat that. Services, endpoints and the served certificate are kube-apiserver's to
 * judge: the condition Available of an APIService has its words.
 *
 * Values that come from the cluster are quoted for a shell before they become part of a command. */
#include "cli/doctor/doctor_cluster.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "base/base64.h"
#include "cli/doctor/doctor_files.h"

enum {
	TIMEOUT_MS = 10 * 1000,
	VERSIONS_MAX = 8, /* versions of annals.dev: more than any kind has */
	HTTPS = 443,
	/* The usual value for third-party groups; it is below all of Kubernetes' own groups. */
	GROUP_PRIORITY = 1000,
	APPS_PRIORITY = 17800, /* of kube-apiserver's own group, which has controllerrevisions, too */
	/* Versions are RANK_STEP apart, so that another one fits in between. */
	VERSION_PRIORITY = 80,
	RANK_STEP = 10,
};

/* ---- looking at objects ---- */

/* A 401 or a 403 is about the caller's rights and not about the deployment: the check is skipped, and has not
 * failed. */
static void say_refusal(const struct doctor_visit *v, struct str subject, const struct answer *a)
{
	if (a->code == 403 || a->code == 401) {
		report_add(v->r, SEVERITY_SKIPPED, subject, NO_FIX, "you may not look: " STR_FMT, STR_ARG(a->message));
	} else {
		report_add(v->r, SEVERITY_ERROR, subject, NO_FIX, "kube-apiserver answers %d: " STR_FMT, a->code,
			STR_ARG(a->message));
	}
}

static int look(const struct doctor_visit *v, const char *path, struct answer *ret)
{
	const struct rest_call call = {.method = "GET", .path = path, .timeout_ms = TIMEOUT_MS, .is_single = true};
	return rest_do(v->client, &call, ret);
}

/* Reads an object. A 404 alone does not prove that it is absent: see rest_find(). With REST_UNKNOWN a finding says why. */
static enum rest_found doctor_find(
	const struct doctor_visit *v, struct str subject, const struct target *object, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path;
	buf_init(&path, 64 * 1024);
	target_path(&path, object);
	buf_addc(&path, '\0');
	int error = look(v, path.p, ret);
	if (error == REST_STATUS && answer_is_absent(ret, object)) {
		return REST_ABSENT;
	}
	if (error) {
		say_refusal(v, subject, ret);
	}
	return error ? REST_UNKNOWN : REST_FOUND;
}

/* Reads a list. Returns false after a finding with the reason. */
static bool doctor_list(const struct doctor_visit *v, struct str subject, const char *path, struct answer *ret)
{
	int error = look(v, path, ret);
	if (error) {
		say_refusal(v, subject, ret);
	}
	return !error;
}

/* ---- trust: the ConfigMap extension-apiserver-authentication ----
 *
 * Every aggregated server learns from it which authorities to trust (k8s.io/apiserver, pkg/server/options).
 * Its lists are JSON within strings, and nobody checks them when somebody edits it by hand. */

#define TRUST_SUBJECT STR("ConfigMap kube-system/extension-apiserver-authentication")

#define FIX_CLIENT STR("kube-apiserver --client-ca-file=ca.crt    # restart it with a CA that is valid")

/* kube-apiserver only adds its flags to an existing ConfigMap, so the old one has to be deleted. */
static struct str fix_front(struct report *r, const struct deployment *d)
{
	return report_text(r,
		"kube-apiserver --requestheader-client-ca-file=front-proxy-ca.crt "
		"--requestheader-allowed-names=front-proxy-client "
		"--requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group "
		"--requestheader-extra-headers-prefix=X-Remote-Extra- --proxy-client-cert-file=front-proxy-client.crt "
		"--proxy-client-key-file=front-proxy-client.key    # restart it with these, and then:\n" STR_FMT
		" --namespace=kube-system delete configmap extension-apiserver-authentication --ignore-not-found",
		STR_ARG(d->kubectl));
}

static const struct json *list_of(const struct json *data, const char *name, struct arena *a)
{
	struct json *list;
	size_t at;
	if (json_parse(&list, a, member_text(data, name), JSON_LIMITS_DEFAULT, &at)) {
		return NULL;
	}
	return json_is(list, JSON_ARRAY) ? list : NULL;
}

static void judge_headers(struct report *r, const struct deployment *d, const struct json *data)
{
	static const struct {
		const char *name, *usual;
		enum severity severity; /* of its lack */
		const char *what;
	} headers[] = {
		{"requestheader-username-headers", "X-Remote-User", SEVERITY_ERROR, "no user of the cluster"},
		{"requestheader-group-headers", "X-Remote-Group", SEVERITY_WARNING, "no group"},
		{"requestheader-extra-headers-prefix", "X-Remote-Extra-", SEVERITY_WARNING, "no extra attribute"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		const struct json *list = list_of(data, headers[i].name, &r->arena);
		struct str subject = report_text(r, "%s of the ConfigMap", headers[i].name);
		if (list && list->n) {
			report_add(r, SEVERITY_OK, subject, NO_FIX, STR_FMT, STR_ARG(member_text(data, headers[i].name)));
		} else {
			report_add(r, headers[i].severity, subject, fix_front(r, d),
				"no header is named: %s is usual, and without it annals knows %s", headers[i].usual,
				headers[i].what);
		}
	}
}

static bool read_cas(struct report *r, const struct deployment *d, const struct json *data, const char *name, struct str fix,
	struct certs *ret)
{
	_cleanup_(buf_done) struct buf err;
	struct str subject = report_text(r, "%s of the ConfigMap", name);
	buf_init(&err, 4096);
	if (certs_parse(ret, member_text(data, name), &r->arena, &err)) {
		report_add(r, SEVERITY_ERROR, subject, fix, STR_FMT, STR_ARG(buf_str(&err)));
		return false;
	}
	judge_cas(r, subject, ret, d->now_s, fix);
	return true;
}

static void judge_front(struct report *r, const struct deployment *d, const struct json *data)
{
	_cleanup_(certs_done) struct certs front = {NULL, 0}, clients = {NULL, 0};
	const struct json *names = list_of(data, "requestheader-allowed-names", &r->arena);
	struct str subject = STR("requestheader-allowed-names of the ConfigMap");
	if (json_gets(data, "client-ca-file")) {
		read_cas(r, d, data, "client-ca-file", FIX_CLIENT, &clients);
	}
	if (!member_text(data, "requestheader-client-ca-file").n) {
		report_add(r, SEVERITY_ERROR, STR("requestheader-client-ca-file of the ConfigMap"), fix_front(r, d),
			"there is none: annals trusts none of kube-apiserver's user headers");
		return;
	}
	if (!read_cas(r, d, data, "requestheader-client-ca-file", fix_front(r, d), &front)) {
		return;
	}
	if (!names) {
		report_add(r, SEVERITY_ERROR, subject, fix_front(r, d), "it is no list of names, in JSON");
	} else {
		judge_front_names(r, subject, &front, &clients, names->n, fix_front(r, d));
	}
	judge_headers(r, d, data);
}

void judge_trust(struct report *r, const struct deployment *d, const struct json *config)
{
	if (!config) {
		report_add(r, SEVERITY_ERROR, TRUST_SUBJECT, fix_front(r, d),
			"there is none: kube-apiserver makes it at its start, of the flags for a front proxy");
		return;
	}
	judge_front(r, d, json_gets(config, "data"));
}

void doctor_check_trust(const struct doctor_visit *v)
{
	static const struct resource configmaps = {{"", 0}, {"v1", 2}, {"configmaps", 10}};
	const struct target object = {&configmaps, STR("kube-system"), STR("extension-apiserver-authentication"), NULL};
	struct answer config;
	answer_init(&config);
	enum rest_found found = doctor_find(v, TRUST_SUBJECT, &object, &config);
	if (found != REST_UNKNOWN) {
		judge_trust(v->r, v->d, found == REST_FOUND ? config.body : NULL);
	}
	answer_done(&config);
}

/* ---- APIServices ---- */

/* The version of annals.dev that is n-th in order of preference; NULL beyond the last. */
static const char *doctor_version(size_t n)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		size_t rank = 0;
		for (size_t k_version = 0; k_version < k->n_versions; k_version++) {
			if (strcmp(k->versions[k_version].group, "annals.dev") == 0 && rank++ == n) {
				return k->versions[k_version].name;
			}
		}
	}
	return NULL;
}

static struct str api_service_subject(struct report *r, const struct json *api_service)
{
	return report_text(r, "APIService " STR_FMT, STR_ARG(member_text(json_gets(api_service, "metadata"), "name")));
}

static int64_t api_service_port(const struct json *api_service)
{
	int64_t port = member_int(json_gets(json_gets(api_service, "spec"), "service"), "port");
	return port ? port : HTTPS;
}

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

/* Chooses the command by what the condition says (kube-aggregator, pkg/controllers/status/remote). */
static struct str fix_unavailable(struct report *r, const struct deployment *d, const struct json *service, struct str message)
{
	if (str_contains(message, STR("signed by unknown authority"))) {
		return api_service_fix_ca(r, d, service);
	}
	if (str_contains(message, STR("x509: "))) {
		return report_text(r,
			"annals certs --dir=DIR --namespace=" STR_FMT " --service=" STR_FMT " --output=manifests | " STR_FMT
			" apply -f -    # DIR keeps the CA",
			STR_ARG(d->ns), STR_ARG(d->service), STR_ARG(d->kubectl));
	}
	struct str look = report_text(
		r, STR_FMT " --namespace=" STR_FMT " get service,endpointslices,pods", STR_ARG(d->kubectl), STR_ARG(d->ns));
	/* An annals whose user is no ServiceAccount runs on hosts, so there is no Deployment to look at. */
	return d->account.n
		? report_text(r, STR_FMT "\n" STR_FMT " --namespace=" STR_FMT " logs deployment/" STR_FMT, STR_ARG(look),
			  STR_ARG(d->kubectl), STR_ARG(d->ns), STR_ARG(d->service))
		: report_text(r, STR_FMT "\nsystemctl status annals; journalctl -u annals    # on each host", STR_ARG(look));
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
		report_add(r, SEVERITY_ERROR, subject, fix_unavailable(r, d, service, message),
			"not Available: " STR_FMT ": " STR_FMT, STR_ARG(reason), STR_ARG(message));
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

void judge_ca_bundle(struct report *r, const struct deployment *d, const struct json *api_service)
{
	_cleanup_(buf_done) struct buf err;
	_cleanup_(certs_done) struct certs cas = {NULL, 0};
	const struct json *spec = json_gets(api_service, "spec");
	struct str subject = report_text(r, "caBundle of " STR_FMT, STR_ARG(api_service_subject(r, api_service)));
	struct str encoded = member_text(spec, "caBundle");
	buf_init(&err, 4096);
	if (member_is_true(spec, "insecureSkipTLSVerify")) {
		report_add(r, SEVERITY_WARNING, subject, api_service_fix_ca(r, d, api_service),
			"insecureSkipTLSVerify: kube-apiserver sends users' names and objects to whoever answers at that "
			"address");
	} else if (!encoded.n) {
		report_add(r, SEVERITY_ERROR, subject, api_service_fix_ca(r, d, api_service),
			"there is none: kube-apiserver trusts only certificates of the CAs of its own machine");
	} else if (!decode_ca(r, encoded, &cas, &err)) {
		report_add(r, SEVERITY_ERROR, subject, api_service_fix_ca(r, d, api_service), STR_FMT, STR_ARG(buf_str(&err)));
	} else {
		judge_cas(r, subject, &cas, d->now_s, api_service_fix_ca(r, d, api_service));
	}
}

/* Sorts the APIServices of the group in order of preference. */
static void find_registered(const struct doctor_visit *v, const struct json *list, const struct json **ret)
{
	const struct json *items = json_gets(list, "items"), *item;
	for (uint32_t i = 0; (item = list_item(items, i)); i++) {
		const struct json *spec = json_gets(item, "spec");
		struct str version = member_text(spec, "version");
		size_t rank = 0;
		if (!str_is(member_text(spec, "group"), "annals.dev")) {
			continue;
		}
		while (rank < VERSIONS_MAX && doctor_version(rank) && !str_is(version, doctor_version(rank))) {
			rank++;
		}
		if (rank < VERSIONS_MAX && doctor_version(rank)) {
			ret[rank] = item;
		} else {
			judge_foreign_version(v->r, v->d, member_text(json_gets(item, "metadata"), "name"));
		}
	}
}

void doctor_check_services(const struct doctor_visit *v)
{
	struct answer list;
	const struct json *all[VERSIONS_MAX] = {NULL}, *any = NULL;
	answer_init(&list);
	v->r->topic = TOPIC_ROUTE;
	if (doctor_list(v, STR("APIServices"), "/apis/apiregistration.k8s.io/v1/apiservices", &list)) {
		find_registered(v, list.body, all);
		for (size_t n = 0; n < VERSIONS_MAX; n++) {
			any = any ? any : all[n];
		}
		for (size_t n = 0; n < VERSIONS_MAX && doctor_version(n); n++) {
			v->r->topic = TOPIC_ROUTE;
			judge_api_service(v->r, v->d, doctor_version(n), n, all[n], any);
			if (n && all[n]) {
				judge_version_order(v->r, v->d, all[n - 1], all[n]);
			}
			if (all[n]) {
				judge_ca_bundle(v->r, v->d, all[n]);
				v->r->topic = TOPIC_AVAILABLE;
				judge_availability(v->r, v->d, all[n]);
			}
		}
	}
	v->r->topic = TOPIC_NONE;
	answer_done(&list);
}

/* ---- access: what annals may do ----
 *
 * SubjectAccessReviews ask about the user that annals runs as. Roles are not read: what counts is what the
 * cluster's authorizers say, whichever they are. The fixes also work where an object of that name exists. */

#define REVIEWS_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#define CONFIG "extension-apiserver-authentication"
#define ADMISSION "admissionregistration.k8s.io"
#define READ(grant, group, resource, ns, name)                                                 \
	{grant, "get", group, resource, ns, name}, {grant, "list", group, resource, ns, name}, \
	{                                                                                      \
		grant, "watch", group, resource, ns, name                                      \
	}

const struct doctor_need doctor_needs[] = {
	{GRANT_DELEGATOR, "create", "authentication.k8s.io", "tokenreviews", NULL, NULL},
	{GRANT_DELEGATOR, "create", "authorization.k8s.io", "subjectaccessreviews", NULL, NULL},
	READ(GRANT_READER, "", "configmaps", "kube-system", CONFIG),
	READ(GRANT_SERVER, "", "namespaces", NULL, NULL),
	READ(GRANT_SERVER, ADMISSION, "mutatingwebhookconfigurations", NULL, NULL),
	READ(GRANT_SERVER, ADMISSION, "validatingwebhookconfigurations", NULL, NULL),
	READ(GRANT_POLICIES, ADMISSION, "mutatingadmissionpolicies", NULL, NULL),
	READ(GRANT_POLICIES, ADMISSION, "validatingadmissionpolicies", NULL, NULL),
};
const size_t doctor_n_needs = ARRAY_SIZE(doctor_needs);

static struct str subject_flag(struct report *r, const struct deployment *d)
{
	return d->account.n ? report_text(r, "--serviceaccount=" STR_FMT ":" STR_FMT, STR_ARG(d->ns), STR_ARG(d->account))
			    : report_text(r, "--user=" STR_FMT, STR_ARG(shell_word(&r->arena, d->user)));
}

/* `create --dry-run | apply` also works if an object with that name has other subjects. */
static struct str apply(struct report *r, const struct deployment *d, struct str what)
{
	return report_text(r, STR_FMT " create " STR_FMT " --dry-run=client -o yaml | " STR_FMT " apply -f -",
		STR_ARG(d->kubectl), STR_ARG(what), STR_ARG(d->kubectl));
}

/* Bindings have the names that deploy/ uses. Each subject has a binding of its own, since apply replaces the
 * subjects of an existing one. */
static struct str bind(struct report *r, const struct deployment *d, const char *kind, const char *suffix, const char *role)
{
	struct str name = d->account.n ? d->account : STR("annals-user");
	return apply(r, d,
		report_text(r, "%s " STR_FMT "%s %s " STR_FMT, kind, STR_ARG(name), suffix, role, STR_ARG(subject_flag(r, d))));
}

/* As a manifest: `kubectl create clusterrole` refuses resources that a cluster does not have. */
static struct str server_role(struct report *r, const struct deployment *d)
{
	return report_text(r,
		STR_FMT
		" apply -f - <<END\n"
		"apiVersion: rbac.authorization.k8s.io/v1\n"
		"kind: ClusterRole\n"
		"metadata: {name: annals}\n"
		"rules:\n"
		"- {apiGroups: [''], resources: [namespaces], verbs: [get, list, watch]}\n"
		"- apiGroups: [" ADMISSION "]\n"
		"  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations, mutatingadmissionpolicies, "
		"validatingadmissionpolicies]\n"
		"  verbs: [get, list, watch]\n"
		"END",
		STR_ARG(d->kubectl));
}

static struct str fix_of(struct report *r, const struct deployment *d, enum doctor_grant grant)
{
	switch (grant) {
	case GRANT_DELEGATOR:
		return bind(r, d, "clusterrolebinding", "-auth-delegator", "--clusterrole=system:auth-delegator");
	case GRANT_READER:
		return bind(r, d, "rolebinding", "-auth-reader", "--namespace=kube-system --role=" CONFIG "-reader");
	default:
		return report_text(r, STR_FMT "\n" STR_FMT, STR_ARG(server_role(r, d)),
			STR_ARG(bind(r, d, "clusterrolebinding", "", "--clusterrole=annals")));
	}
}

static bool is_missing(const bool *is_allowed, size_t i, enum doctor_grant grant)
{
	return i < doctor_n_needs && doctor_needs[i].grant == grant && !is_allowed[i];
}

/* "get, list namespaces; create tokenreviews.authentication.k8s.io" */
static struct str missing(struct report *r, enum doctor_grant grant, const bool *is_allowed)
{
	struct str all = {NULL, 0};
	for (size_t i = 0; i < doctor_n_needs; i++) {
		const struct doctor_need *n = &doctor_needs[i];
		if (!is_missing(is_allowed, i, grant)) {
			continue;
		}
		bool goes_on = is_missing(is_allowed, i + 1, grant) && strcmp(n[0].resource, n[1].resource) == 0;
		all = goes_on ? report_text(r, STR_FMT "%s, ", STR_ARG(all), n->verb)
			      : report_text(r, STR_FMT "%s %s%s%s%s%s; ", STR_ARG(all), n->verb, n->resource,
					n->group[0] ? "." : "", n->group, n->name ? " " : "", n->name ? n->name : "");
	}
	all.n -= all.n ? 2 : 0;
	return all;
}

void judge_access(struct report *r, const struct deployment *d, const bool *is_allowed)
{
	static const struct {
		const char *what;
		enum severity severity; /* how bad it is to lack the permission */
	} grants[N_GRANTS] = {
		[GRANT_DELEGATOR] = {"asking kube-apiserver who users are and what they may do", SEVERITY_ERROR},
		[GRANT_READER] = {"reading which authorities to trust", SEVERITY_ERROR},
		[GRANT_SERVER] = {"following namespaces and webhooks", SEVERITY_ERROR},
		[GRANT_POLICIES] = {"warning of policies that it does not run", SEVERITY_WARNING},
	};
	for (enum doctor_grant grant = 0; grant < N_GRANTS; grant++) {
		struct str subject = report_text(r, "RBAC: %s", grants[grant].what), lack = missing(r, grant, is_allowed);
		if (lack.n) {
			report_add(r, grants[grant].severity, subject, fix_of(r, d, grant), STR_FMT " may not " STR_FMT,
				STR_ARG(d->user), STR_ARG(lack));
		} else {
			report_add(r, SEVERITY_OK, subject, NO_FIX, STR_FMT " may", STR_ARG(d->user));
		}
	}
}

static void set(struct arena *a, struct json *object, const char *name, const char *text)
{
	if (text && text[0]) {
		json_add(a, object, str_of(name), json_string(a, str_of(text)));
	}
}

static struct json *groups_of(struct arena *a, const struct deployment *d)
{
	struct json *groups = json_array(a);
	json_append(a, groups, json_string(a, STR("system:authenticated")));
	if (d->account.n) {
		json_append(a, groups, json_string(a, STR("system:serviceaccounts")));
		json_append(a, groups, json_string(a, arena_printf(a, "system:serviceaccounts:" STR_FMT, STR_ARG(d->ns))));
	}
	return groups;
}

static struct json *review_of(struct arena *a, const struct deployment *d, const struct doctor_need *need)
{
	struct json *review = json_object(a), *spec = json_object(a), *what = json_object(a);
	set(a, review, "apiVersion", "authorization.k8s.io/v1");
	set(a, review, "kind", "SubjectAccessReview");
	set(a, what, "verb", need->verb);
	set(a, what, "group", need->group);
	set(a, what, "resource", need->resource);
	set(a, what, "namespace", need->ns);
	set(a, what, "name", need->name);
	json_add(a, spec, STR("user"), json_string(a, d->user));
	json_add(a, spec, STR("groups"), groups_of(a, d));
	json_add(a, spec, STR("resourceAttributes"), what);
	json_add(a, review, STR("spec"), spec);
	return review;
}

/* Returns false if the request got no answer; then a finding gives the reason. */
static bool ask(const struct doctor_visit *v, const struct doctor_need *need, bool *ret)
{
	struct arena *a = &v->r->arena;
	_cleanup_(buf_done) struct buf body;
	struct answer answer;
	buf_init(&body, 64 * 1024);
	json_encode(&body, review_of(a, v->d, need));
	answer_init(&answer);
	int r = rest_do(v->client,
		&(struct rest_call){.method = "POST",
			.path = REVIEWS_PATH,
			.body = buf_str(&body),
			.timeout_ms = TIMEOUT_MS,
			.is_single = true},
		&answer);
	*ret = member_is_true(json_gets(answer.body, "status"), "allowed");
	if (r) {
		report_add(v->r, SEVERITY_SKIPPED, STR("RBAC"),
			report_text(v->r, STR_FMT " auth can-i create subjectaccessreviews    # what you need to find this out",
				STR_ARG(v->d->kubectl)),
			"what " STR_FMT " may do: " STR_FMT, STR_ARG(v->d->user), STR_ARG(answer.message));
	}
	answer_done(&answer);
	return r == 0;
}

void doctor_check_access(const struct doctor_visit *v)
{
	bool is_allowed[ARRAY_SIZE(doctor_needs)];
	for (size_t i = 0; i < doctor_n_needs; i++) {
		if (!ask(v, &doctor_needs[i], &is_allowed[i])) {
			return;
		}
	}
	judge_access(v->r, v->d, is_allowed);
}

/* ---- admission: rules without effect ----
 *
 * annals has no CEL: admission policies do not hold for its objects, and a webhook's matchConditions count as
 * true (docs/reference/deviations.md). kube-apiserver accepts such rules without a word. */

#define ADMISSION_PATH "/apis/admissionregistration.k8s.io/v1"

static bool has(const struct json *list, const char *text)
{
	const struct json *item;
	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		if (str_is(json_text(item), text)) {
			return true;
		}
	}
	return false;
}

static bool is_ours(const struct kind *k)
{
	for (size_t i = 0; i < k->n_versions; i++) {
		if (strcmp(k->versions[i].group, "annals.dev") == 0) {
			return true;
		}
	}
	return false;
}

/* Do they name a resource of annals, alone or with all its subresources? */
static bool names_resource(const struct json *resources)
{
	if (has(resources, "*") || has(resources, "*/*")) {
		return true;
	}
	for (size_t i = 0; i < kind_count(); i++) {
		_cleanup_(mem_freep) char *all = mem_printf("%s/*", kind_at(i)->resource);
		if (is_ours(kind_at(i)) && (has(resources, kind_at(i)->resource) || has(resources, all))) {
			return true;
		}
	}
	return false;
}

static bool rules_match(const struct json *rules)
{
	const struct json *rule;
	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		const struct json *groups = json_gets(rule, "apiGroups");
		if ((has(groups, "annals.dev") || has(groups, "*")) && names_resource(json_gets(rule, "resources"))) {
			return true;
		}
	}
	return false;
}

static struct str subject_of(struct report *r, const char *kind, const struct json *object)
{
	return report_text(r, "%s " STR_FMT, kind, STR_ARG(member_text(json_gets(object, "metadata"), "name")));
}

static struct str fix_patch(struct report *r, const struct deployment *d, const char *kind, const struct json *object,
	struct str patch, const char *remark)
{
	struct str name = member_text(json_gets(object, "metadata"), "name");
	return report_text(r, STR_FMT " patch %s " STR_FMT " --type=json -p '[" STR_FMT "]'    # %s", STR_ARG(d->kubectl), kind,
		STR_ARG(shell_word(&r->arena, name)), STR_ARG(patch), remark);
}

static struct str fix_policy(struct report *r, const struct deployment *d, const char *kind, const struct json *policy)
{
	static const char rule[] =
		"{\"apiGroups\":[\"annals.dev\"],\"apiVersions\":[\"*\"],\"operations\":[\"*\"],\"resources\":[\"*\"]}";
	const struct json *match = json_gets(json_gets(policy, "spec"), "matchConstraints");
	bool has_some = member_count(match, "excludeResourceRules") > 0;
	return fix_patch(r, d, kind, policy,
		report_text(r, "{\"op\":\"add\",\"path\":\"/spec/matchConstraints/excludeResourceRules%s\",\"value\":%s%s%s}",
			has_some ? "/-" : "", has_some ? "" : "[", rule, has_some ? "" : "]"),
		"it then says what is true");
}

static struct str fix_webhook(
	struct report *r, const struct deployment *d, const char *kind, const struct json *object, uint32_t index)
{
	return fix_patch(r, d, kind, object,
		report_text(r, "{\"op\":\"remove\",\"path\":\"/webhooks/%u/matchConditions\"}", index),
		"once it looks at them itself; or give annals.dev a webhook of its own");
}

size_t judge_policies(struct report *r, const struct deployment *d, const char *kind, const struct json *list)
{
	size_t n = 0;
	const struct json *policy, *items = json_gets(list, "items");
	for (uint32_t i = 0; (policy = list_item(items, i)); i++) {
		const struct json *match = json_gets(json_gets(policy, "spec"), "matchConstraints");
		if (!rules_match(json_gets(match, "resourceRules")) || rules_match(json_gets(match, "excludeResourceRules"))) {
			continue;
		}
		n++;
		report_add(r, SEVERITY_WARNING, subject_of(r, kind, policy), fix_policy(r, d, kind, policy),
			"it is for annals.dev, too, where it has no effect: kube-apiserver leaves admission to annals, which "
			"has no CEL. A webhook can do what it does; the policy should say that it does not");
	}
	return n;
}

static bool has_conditions(const struct json *webhook)
{
	return member_count(webhook, "matchConditions") > 0 && rules_match(json_gets(webhook, "rules"));
}

size_t judge_webhooks(struct report *r, const struct deployment *d, const char *kind, const struct json *list)
{
	size_t n = 0;
	const struct json *object, *webhook, *items = json_gets(list, "items");
	for (uint32_t i = 0; (object = list_item(items, i)); i++) {
		for (uint32_t k = 0; (webhook = list_item(json_gets(object, "webhooks"), k)); k++) {
			if (!has_conditions(webhook)) {
				continue;
			}
			n++;
			report_add(r, SEVERITY_WARNING, subject_of(r, kind, object), fix_webhook(r, d, kind, object, k),
				"webhook " STR_FMT
				" has matchConditions, which annals does not evaluate: it is called as if they were true",
				STR_ARG(member_text(webhook, "name")));
		}
	}
	return n;
}

static const struct {
	const char *kind, *plural;
	size_t (*judge)(struct report *r, const struct deployment *d, const char *kind, const struct json *list);
} lists[] = {
	{"ValidatingAdmissionPolicy", "validatingadmissionpolicies", judge_policies},
	{"MutatingAdmissionPolicy", "mutatingadmissionpolicies", judge_policies},
	{"ValidatingWebhookConfiguration", "validatingwebhookconfigurations", judge_webhooks},
	{"MutatingWebhookConfiguration", "mutatingwebhookconfigurations", judge_webhooks},
};

static bool is_served(const struct json *group_version, const char *plural)
{
	const struct json *resources = json_gets(group_version, "resources"), *each;
	for (uint32_t i = 0; (each = list_item(resources, i)); i++) {
		if (str_is(member_text(each, "name"), plural)) {
			return true;
		}
	}
	return false;
}

/* Discovery says which of these types a kube-apiserver has. A 404 would not prove that it lacks one. */
void doctor_check_policies(const struct doctor_visit *v)
{
	size_t n = 0, n_seen = 0;
	struct answer served;
	answer_init(&served);
	bool is_known = doctor_list(v, STR("admission"), ADMISSION_PATH, &served);
	for (size_t i = 0; is_known && i < ARRAY_SIZE(lists); i++) {
		struct answer list;
		answer_init(&list);
		bool is_absent = !is_served(served.body, lists[i].plural);
		const char *path = report_text(v->r, ADMISSION_PATH "/%s%c", lists[i].plural, '\0').p;
		bool is_seen = !is_absent && doctor_list(v, str_of(lists[i].kind), path, &list);
		n += is_seen ? lists[i].judge(v->r, v->d, lists[i].kind, list.body) : 0;
		n_seen += is_absent || is_seen;
		answer_done(&list);
	}
	answer_done(&served);
	if (n == 0 && n_seen == ARRAY_SIZE(lists)) {
		report_add(v->r, SEVERITY_OK, STR("admission"), NO_FIX, "no policy and no match condition is for annals.dev");
	}
}

/* ---- all of it ---- */

#define SUBJECT STR("kube-apiserver")

/* Returns false if no other check makes sense. */
static bool check_server(const struct doctor_visit *v)
{
	struct answer a;
	answer_init(&a);
	int error = look(v, "/version", &a);
	bool is_there = a.code != 0;
	if (error) {
		report_add(v->r, SEVERITY_ERROR, SUBJECT, report_text(v->r, STR_FMT " cluster-info", STR_ARG(v->d->kubectl)),
			is_there ? "its /version answers %d " STR_FMT : "it does not answer (%d): " STR_FMT, a.code,
			STR_ARG(a.message));
	} else {
		report_add(v->r, SEVERITY_OK, SUBJECT, NO_FIX, "it answers; version " STR_FMT,
			STR_ARG(member_text(a.body, "gitVersion")));
	}
	answer_done(&a);
	return is_there;
}

static void check_all(const struct doctor_visit *v)
{
	v->r->topic = TOPIC_APISERVER;
	if (!check_server(v)) {
		v->r->topic = TOPIC_CLUSTER;
		report_add(v->r, SEVERITY_SKIPPED, STR("everything in the cluster"), NO_FIX,
			"without an answer nothing can be seen");
		return;
	}
	v->r->topic = TOPIC_TRUST;
	doctor_check_trust(v);
	doctor_check_services(v);
	v->r->topic = TOPIC_ACCESS;
	doctor_check_access(v);
	v->r->topic = TOPIC_NONE;
	doctor_check_policies(v);
}

void doctor_check_cluster(struct report *r, const struct doctor_cluster *c)
{
	_cleanup_(buf_done) struct buf err;
	struct client_config config = {0};
	struct client *client;
	r->part = "cluster";
	buf_init(&err, 4096);
	int error = client_config_load(&config, c->kubeconfig, c->context, &err);
	error = error ? error : client_new(&client, &config, &err);
	if (error) {
		r->topic = TOPIC_APISERVER;
		report_add(r, SEVERITY_ERROR, str_of(c->kubeconfig), NO_FIX, STR_FMT, STR_ARG(buf_str(&err)));
	} else {
		check_all(&(struct doctor_visit){.r = r, .client = client, .d = &c->deployment});
		client_free(client);
	}
	r->topic = TOPIC_NONE;
	client_config_done(&config);
}
