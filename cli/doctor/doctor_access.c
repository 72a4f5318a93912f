/* Asked by SubjectAccessReviews about the user that annals runs as, not found out by reading
 * roles: what counts is what the cluster's authorizers say, whichever they are. The mends are
 * commands that serve also where something of that name exists. */
#include "cli/doctor/doctor_access.h"

#include "api/model/members.h"

enum { TIMEOUT_MS = 10 * 1000 };

#define PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"
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

/* ---- judging ---- */

static struct str subject_flag(struct report *r, const struct deployment *d)
{
	return d->account.n ? report_text(r, "--serviceaccount=" STR_FMT ":" STR_FMT, STR_ARG(d->ns), STR_ARG(d->account))
			    : report_text(r, "--user=" STR_FMT, STR_ARG(shell_word(&r->arena, d->user)));
}

/* `create --dry-run | apply` also serves where an object of that name is there already, with other subjects. */
static struct str apply(struct report *r, const struct deployment *d, struct str what)
{
	return report_text(r, STR_FMT " create " STR_FMT " --dry-run=client -o yaml | " STR_FMT " apply -f -",
		STR_ARG(d->kubectl), STR_ARG(what), STR_ARG(d->kubectl));
}

/* Bindings are called as those of deploy/ are; each subject has its own, since to apply one replaces its subjects. */
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

static struct str mend_of(struct report *r, const struct deployment *d, enum doctor_grant grant)
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
		enum severity severity; /* of its lack */
	} grants[N_GRANTS] = {
		[GRANT_DELEGATOR] = {"asking kube-apiserver who users are and what they may do", SEVERITY_ERROR},
		[GRANT_READER] = {"reading whom to believe", SEVERITY_ERROR},
		[GRANT_SERVER] = {"following namespaces and webhooks", SEVERITY_ERROR},
		[GRANT_POLICIES] = {"warning of policies that it does not run", SEVERITY_WARNING},
	};
	for (enum doctor_grant grant = 0; grant < N_GRANTS; grant++) {
		struct str subject = report_text(r, "RBAC: %s", grants[grant].what), lack = missing(r, grant, is_allowed);
		if (lack.n) {
			report_add(r, grants[grant].severity, subject, mend_of(r, d, grant), STR_FMT " may not " STR_FMT,
				STR_ARG(d->user), STR_ARG(lack));
		} else {
			report_add(r, SEVERITY_OK, subject, NO_MEND, STR_FMT " may", STR_ARG(d->user));
		}
	}
}

/* ---- asking ---- */

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

/* False when the question was not answered, which a finding says. */
static bool ask(const struct doctor_visit *v, const struct doctor_need *need, bool *ret)
{
	struct arena *a = &v->r->arena;
	_cleanup_(buf_done) struct buf body;
	struct answer answer;
	buf_init(&body, 64 * 1024);
	json_encode(&body, review_of(a, v->d, need));
	answer_init(&answer);
	int r = rest_do(v->client,
		&(struct rest_call){
			.method = "POST", .path = PATH, .body = buf_str(&body), .timeout_ms = TIMEOUT_MS, .is_single = true},
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
