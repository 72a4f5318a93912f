/* The preconditions in the cluster before annals can serve it. They are: whom annals trusts,
 * what annals may do, and which admission rules have no effect on its objects. */
#include "api/model/kind.h"
#include "api/model/members.h"
#include "cli/doctor/doctor_cluster.h"
#include "cli/doctor/doctor_files.h"

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
		bool is_needed;
	} headers[] = {
		{"requestheader-username-headers", "X-Remote-User", true},
		{"requestheader-group-headers", "X-Remote-Group", false},
		{"requestheader-extra-headers-prefix", "X-Remote-Extra-", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		const struct json *list = list_of(data, headers[i].name, &r->arena);
		struct str subject = report_text(r, "%s of the ConfigMap", headers[i].name);
		if (list && list->n) {
			report_add(r, SEVERITY_OK, subject, NO_FIX, STR_FMT, STR_ARG(member_text(data, headers[i].name)));
		} else {
			report_add(r, headers[i].is_needed ? SEVERITY_ERROR : SEVERITY_WARNING, subject, fix_front(r, d),
				"no header is named: %s is usual, and without it %s", headers[i].usual,
				headers[i].is_needed ? "no user of the cluster is known to annals"
						     : "what it would say of a user is not known to annals");
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

/* ---- access: what annals may do ----
 *
 * SubjectAccessReviews ask about the user that annals runs as. Roles are not read: what counts is what the
 * cluster's authorizers say, whichever they are. The fixes also work where an object of that name exists. */

enum { TIMEOUT_MS = 10 * 1000 };

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

static bool is_same(const struct doctor_need *a, const struct doctor_need *b)
{
	return strcmp(a->resource, b->resource) == 0 && strcmp(a->group, b->group) == 0;
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
		bool goes_on = is_missing(is_allowed, i + 1, grant) && is_same(n, n + 1);
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
