#include "cli/doctor/doctor_cluster.h"
#include "tests/unit/doctor_world.h"
#include "tests/unit/script_server.h"
#include "tests/unit/tls_pki.h"

#include <stdio.h>
#include <time.h>

static const struct deployment deployment = {
	.kubectl = {"kubectl", 7},
	.ns = {"annals-system", 13},
	.service = {"annals", 6},
	.user = {"system:serviceaccount:annals-system:annals", 42},
	.account = {"annals", 6},
	.now_s = 1800000000,
};
#define D (&deployment)

#define NAMED "\"metadata\":{\"name\":\"v1.annals.dev\"}"
#define LEADS "\"service\":{\"namespace\":\"annals-system\",\"name\":\"annals\",\"port\":443}"
#define AVAILABLE                                                                                                           \
	",\"status\":{\"conditions\":[{\"type\":\"Available\",\"status\":\"True\",\"reason\":\"Passed\",\"message\":\"all " \
	"checks passed\"}]}"

/* ---- APIServices ---- */

static void test_api_service__each_of_its_faults(void **state _unused_)
{
	static const struct {
		const char *json;
		enum severity severity;
		const char *found, *fix;
	} cases[] = {
		{"{" NAMED ",\"spec\":{" LEADS ",\"groupPriorityMinimum\":1000}" AVAILABLE "}", SEVERITY_OK,
			"Available: all checks passed", ""},
		{"{" NAMED ",\"spec\":{" LEADS "}}", SEVERITY_WARNING, "not looked at it yet", ""},
		{"{" NAMED ",\"spec\":{" LEADS
		 "},\"status\":{\"conditions\":[{\"type\":\"Available\",\"status\":\"False\",\"reason\":\"MissingEndpoints\","
		 "\"message\":\"no endpoints\"}]}}",
			SEVERITY_ERROR, "not Available: MissingEndpoints: no endpoints", "logs deployment/annals"},
		{"{" NAMED ",\"spec\":{\"service\":{\"namespace\":\"a\",\"name\":\"b\",\"port\":8443}}" AVAILABLE "}",
			SEVERITY_ERROR, "it leads to Service a/b, not to annals-system/annals",
			"kubectl patch apiservice v1.annals.dev --type=merge -p "
			"\"{\\\"spec\\\":{\\\"service\\\":{\\\"namespace\\\":\\\"annals-system\\\","
			"\\\"name\\\":\\\"annals\\\",\\\"port\\\":8443}}}\""},
		{"{" NAMED ",\"spec\":{}" AVAILABLE "}", SEVERITY_ERROR, "it names no Service", "\\\"port\\\":443"},
		{"{" NAMED ",\"spec\":{" LEADS ",\"groupPriorityMinimum\":17800}" AVAILABLE "}", SEVERITY_WARNING,
			"before apps", "\\\"groupPriorityMinimum\\\":1000"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		report_init(&r);
		const struct json *service = parse_json(&r.arena, cases[i].json);
		judge_api_service(&r, D, "v1", 0, service, NULL);
		judge_availability(&r, D, service);
		assert_str(expect_finding(&r, cases[i].severity, cases[i].found, cases[i].fix)->subject,
			"APIService v1.annals.dev");
		assert_int_equal(r.n, cases[i].severity == SEVERITY_OK || i < 3 ? 1 : 2);
		report_done(&r);
	}
}

static void test_api_service__missing_one_is_made_like_its_sibling(void **state _unused_)
{
	struct report r;
	report_init(&r);
	judge_api_service(&r, D, "v1beta1", 1, NULL, parse_json(&r.arena, "{\"spec\":{\"service\":{\"port\":8443}}}"));
	expect_finding(&r, SEVERITY_ERROR, "there is none",
		"versionPriority: 70\n  service: {namespace: annals-system, name: annals, port: 8443}");
	report_done(&r);
}

static void test_api_service__order_of_versions(void **state _unused_)
{
	static const struct {
		const char *first, *second;
		bool is_fine;
	} cases[] = {{"80", "70", true}, {"70", "70", false}, {"5", "70", false}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		char first[128], second[128];
		report_init(&r);
		snprintf(first, sizeof(first), "{" NAMED ",\"spec\":{\"versionPriority\":%s}}", cases[i].first);
		snprintf(second, sizeof(second),
			"{\"metadata\":{\"name\":\"v1beta1.annals.dev\"},\"spec\":{\"versionPriority\":%s}}", cases[i].second);
		judge_version_order(&r, D, parse_json(&r.arena, first), parse_json(&r.arena, second));
		assert_int_equal(r.counts[SEVERITY_WARNING], cases[i].is_fine ? 0 : 1);
		if (!cases[i].is_fine) {
			expect_finding(
				&r, SEVERITY_WARNING, "not above that of v1beta1.annals.dev, 70", "\\\"versionPriority\\\":80");
		}
		report_done(&r);
	}
}

static void test_api_service__ca_bundles_that_are_none(void **state _unused_)
{
	static const struct {
		const char *spec;
		enum severity severity;
		const char *found;
	} cases[] = {
		{"{}", SEVERITY_ERROR, "there is none"},
		{"{\"insecureSkipTLSVerify\":true}", SEVERITY_WARNING, "insecureSkipTLSVerify"},
		{"{\"caBundle\":\"????\"}", SEVERITY_ERROR, "it is not base64"},
		{"{\"caBundle\":\"YQ==\"}", SEVERITY_ERROR, "no certificates in PEM"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		char json[256];
		report_init(&r);
		snprintf(json, sizeof(json), "{" NAMED ",\"spec\":%s}", cases[i].spec);
		judge_ca_bundle(&r, D, parse_json(&r.arena, json));
		expect_finding(&r, cases[i].severity, cases[i].found,
			"\\\"caBundle\\\":\\\"$(kubectl --namespace=annals-system get secret annals-serving -o "
			"jsonpath='{.data.ca\\.crt}')\\\"");
		assert_int_equal(r.n, 1);
		report_done(&r);
	}
}

/* kube-apiserver names the fault of the served certificate. */
static void test_api_service__certificates_that_kube_apiserver_refuses(void **state _unused_)
{
	static const char *const cases[][2] = {
		{"x509: certificate signed by unknown authority", "patch apiservice v1.annals.dev"},
		{"x509: certificate has expired", "annals certs --dir=DIR --namespace=annals-system --service=annals"},
		{"connection refused", "logs deployment/annals"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		char json[512];
		report_init(&r);
		snprintf(json, sizeof(json),
			"{" NAMED ",\"status\":{\"conditions\":[{\"type\":\"Available\",\"status\":\"False\",\"reason\":"
			"\"FailedDiscoveryCheck\",\"message\":\"failing or missing response: %s\"}]}}",
			cases[i][0]);
		judge_availability(&r, D, parse_json(&r.arena, json));
		expect_finding(&r, SEVERITY_ERROR, cases[i][0], cases[i][1]);
		report_done(&r);
	}
}

/* annals serve under systemd: no fix of it may name a Deployment. */
static void test_on_hosts__fixes_are_for_hosts(void **state _unused_)
{
	struct deployment on_hosts = deployment;
	struct report r;
	report_init(&r);
	on_hosts.account = NO_FIX;
	judge_availability(&r, &on_hosts,
		parse_json(&r.arena,
			"{" NAMED ",\"spec\":{" LEADS
			"},\"status\":{\"conditions\":[{\"type\":\"Available\",\"status\":\"False\",\"reason\":"
			"\"MissingEndpoints\",\"message\":\"no endpoints\"}]}}"));
	const struct finding *f = expect_finding(&r, SEVERITY_ERROR, "not Available: MissingEndpoints", "journalctl -u annals");
	assert_false(str_contains(f->fix, STR("deployment/")));
	report_done(&r);
}

/* ---- trust ---- */

/* {"data": {...}} with the PEM text of a throw-away CA. */
static struct json *config_of(struct report *r, const char *folder, const char *rest)
{
	_cleanup_(mem_freep) char *path = pki_path(folder, "ca", "crt");
	char pem[8192];
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	pem[fread(pem, 1, sizeof(pem) - 1, f)] = '\0';
	fclose(f);
	struct json *config = json_object(&r->arena), *data = json_copy(&r->arena, parse_json(&r->arena, rest));
	json_set(&r->arena, data, STR("requestheader-client-ca-file"),
		json_string(&r->arena, arena_dup(&r->arena, str_of(pem))));
	json_add(&r->arena, config, STR("data"), data);
	return config;
}

static void test_trust__each_of_its_faults(void **state _unused_)
{
	static const struct {
		const char *data;
		enum severity severity;
		const char *found;
	} cases[] = {
		{"{\"requestheader-allowed-names\":\"[\\\"front\\\"]\",\"requestheader-username-headers\":\"[\\\"X-Remote-"
		 "User\\\"]\"}",
			SEVERITY_OK, "a CA of their own"},
		{"{\"requestheader-allowed-names\":\"[]\"}", SEVERITY_WARNING, "no names are given"},
		{"{\"requestheader-allowed-names\":\"front\"}", SEVERITY_ERROR, "no list of names"},
		{"{\"requestheader-username-headers\":\"[]\"}", SEVERITY_ERROR, "X-Remote-User is usual"},
		{"{\"requestheader-group-headers\":\"[]\"}", SEVERITY_WARNING, "X-Remote-Group is usual"},
		{"{\"client-ca-file\":\"nothing\"}", SEVERITY_ERROR, "no certificates in PEM"},
	};
	char *folder = pki_open();
	struct deployment now = deployment;
	now.now_s = (int64_t)time(NULL);
	pki_make(folder, &(struct pki_spec){.name = "ca", .common_name = "front-ca"});
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		report_init(&r);
		judge_trust(&r, &now, config_of(&r, folder, cases[i].data));
		expect_finding(
			&r, cases[i].severity, cases[i].found, cases[i].severity == SEVERITY_OK ? "" : "kube-apiserver --");
		report_done(&r);
	}
	pki_close(folder);
}

static void test_trust__is_missing(void **state _unused_)
{
	struct report r;
	report_init(&r);
	judge_trust(&r, D, NULL);
	expect_finding(&r, SEVERITY_ERROR, "there is none", "--requestheader-client-ca-file");
	report_done(&r);
	report_init(&r);
	judge_trust(&r, D, parse_json(&r.arena, "{\"data\":{}}"));
	expect_only(&r, SEVERITY_ERROR, 1);
	report_done(&r);
}

/* ---- rights ---- */

static void test_access__names_the_binding_that_is_missing(void **state _unused_)
{
	static const struct {
		enum doctor_grant grant;
		enum severity severity;
		const char *found, *fix;
	} cases[] = {
		{GRANT_DELEGATOR, SEVERITY_ERROR,
			"may not create tokenreviews.authentication.k8s.io; create subjectaccessreviews.authorization.k8s.io",
			"clusterrolebinding annals-auth-delegator --clusterrole=system:auth-delegator "
			"--serviceaccount=annals-system:annals"},
		{GRANT_READER, SEVERITY_ERROR, "may not get, list, watch configmaps extension-apiserver-authentication",
			"--role=extension-apiserver-authentication-reader"},
		{GRANT_SERVER, SEVERITY_ERROR, "may not get, list, watch namespaces; get, list, watch mutating",
			"metadata: {name: annals}\nrules:"},
		{GRANT_POLICIES, SEVERITY_WARNING,
			"may not get, list, watch mutatingadmissionpolicies.admissionregistration.k8s.io; get,",
			"--clusterrole=annals --serviceaccount=annals-system:annals"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		bool is_allowed[64];
		for (size_t k = 0; k < doctor_n_needs; k++) {
			is_allowed[k] = doctor_needs[k].grant != cases[i].grant;
		}
		report_init(&r);
		judge_access(&r, D, is_allowed);
		expect_finding(&r, cases[i].severity, cases[i].found, cases[i].fix);
		assert_int_equal(r.counts[SEVERITY_OK], N_GRANTS - 1);
		report_done(&r);
	}
}

static void test_access__names_a_user_that_is_no_account(void **state _unused_)
{
	struct report r;
	bool is_allowed[64] = {false};
	struct deployment d = deployment;
	d.user = STR("some body");
	d.account = NO_FIX;
	report_init(&r);
	judge_access(&r, &d, is_allowed);
	expect_finding(&r, SEVERITY_ERROR, "some body may not", "--user='some body'");
	assert_int_equal(r.counts[SEVERITY_OK], 0);
	report_done(&r);
}

/* ---- admission ---- */

static void test_policies__only_those_for_kinds_of_ours(void **state _unused_)
{
	static const struct {
		const char *match;
		size_t n;
		const char *fix;
	} cases[] = {
		{"{\"resourceRules\":[{\"apiGroups\":[\"annals.dev\"],\"resources\":[\"*\"]}]}", 1,
			"excludeResourceRules\",\"value\":[{"},
		{"{\"resourceRules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"controllerrevisions\"]}]}", 1,
			"patch ValidatingAdmissionPolicy p"},
		{"{\"resourceRules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"controllerrevisions/*\"]}]}", 1, ""},
		{"{\"resourceRules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"pods\"]}]}", 0, ""},
		{"{\"resourceRules\":[{\"apiGroups\":[\"apps\"],\"resources\":[\"controllerrevisions\"]}]}", 0, ""},
		{"{\"resourceRules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}],\"excludeResourceRules\":[{\"apiGroups\":["
		 "\"annals.dev\"],"
		 "\"resources\":[\"*\"]}]}",
			0, ""},
		{"{\"resourceRules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}],\"excludeResourceRules\":[{\"apiGroups\":["
		 "\"apps\"],"
		 "\"resources\":[\"*\"]}]}",
			1, "excludeResourceRules/-\",\"value\":{"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		char json[1024];
		report_init(&r);
		snprintf(json, sizeof(json), "{\"items\":[{\"metadata\":{\"name\":\"p\"},\"spec\":{\"matchConstraints\":%s}}]}",
			cases[i].match);
		assert_int_equal(judge_policies(&r, D, "ValidatingAdmissionPolicy", parse_json(&r.arena, json)), cases[i].n);
		assert_int_equal(r.n, cases[i].n);
		if (cases[i].n) {
			expect_finding(&r, SEVERITY_WARNING, "it has no effect", cases[i].fix);
		}
		report_done(&r);
	}
}

static void test_policies__webhooks_with_conditions(void **state _unused_)
{
	static const char list[] =
		"{\"items\":[{\"metadata\":{\"name\":\"w\"},\"webhooks\":[{\"name\":\"none\",\"rules\":[{\"apiGroups\":[\"*\"],"
		"\"resources\":[\"*\"]}]},"
		"{\"name\":\"ours\",\"matchConditions\":[{}],\"rules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}]},"
		"{\"name\":\"pods\",\"matchConditions\":[{}],\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]}]}]}";
	struct report r;
	report_init(&r);
	assert_int_equal(judge_webhooks(&r, D, "ValidatingWebhookConfiguration", parse_json(&r.arena, list)), 1);
	expect_finding(&r, SEVERITY_WARNING, "webhook ours has matchConditions", "\"path\":\"/webhooks/1/matchConditions\"");
	report_done(&r);
}

/* ---- asking ---- */

/* What check() finds when kube-apiserver answers by the script. */
static void ask(struct report *r, void (*check)(const struct doctor_visit *v), const struct script_step *steps, size_t n)
{
	struct script *script = script_start(steps, n);
	_cleanup_(mem_freep) char *url = script_url(script);
	struct client_config config = {.server = url};
	struct client *client;
	struct buf err;
	buf_init(&err, 4096);
	assert_int_equal(client_new(&client, &config, &err), 0);
	report_init(r);
	check(&(struct doctor_visit){.r = r, .client = client, .d = D});
	client_free(client);
	script_stop(script);
	buf_done(&err);
}

#define TRUST_PATH "GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication "
#define NOT_FOUND                                                                                                                      \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404,\"message\":\"none\"," \
	"\"details\":{\"name\":\"extension-apiserver-authentication\",\"kind\":\"configmaps\"}}"

static void test_asking__only_a_status_that_names_the_object_proves_its_absence(void **state _unused_)
{
	struct report r;
	ask(&r, doctor_check_trust, &(struct script_step){TRUST_PATH, SCRIPT_WHOLE, 404, NULL, "404 page not found\n"}, 1);
	expect_finding(&r, SEVERITY_ERROR, "kube-apiserver answers 404", "");
	expect_only(&r, SEVERITY_ERROR, 1);
	report_done(&r);
	ask(&r, doctor_check_trust,
		&(struct script_step){TRUST_PATH, SCRIPT_WHOLE, 404, "Content-Type: application/json\r\n", NOT_FOUND}, 1);
	expect_finding(&r, SEVERITY_ERROR, "there is none: kube-apiserver makes it at its start", "delete configmap");
	expect_only(&r, SEVERITY_ERROR, 1);
	report_done(&r);
}

static void test_asking__discovery_says_which_policies_there_may_be(void **state _unused_)
{
#define GROUP "GET /apis/admissionregistration.k8s.io/v1"
	static const struct script_step none[] = {{GROUP " ", SCRIPT_WHOLE, 200, NULL, "{\"resources\":[]}"}};
	static const struct script_step hidden[] = {
		{GROUP " ", SCRIPT_WHOLE, 200, NULL, "{\"resources\":[{\"name\":\"mutatingadmissionpolicies\"}]}"},
		{GROUP "/mutatingadmissionpolicies ", SCRIPT_WHOLE, 404, NULL, "404 page not found\n"}};
	struct report r;
	ask(&r, doctor_check_policies, none, ARRAY_SIZE(none));
	expect_finding(&r, SEVERITY_OK, "no policy and no match condition", "");
	report_done(&r);
	ask(&r, doctor_check_policies, hidden, ARRAY_SIZE(hidden));
	expect_finding(&r, SEVERITY_ERROR, "kube-apiserver answers 404", "");
	expect_only(&r, SEVERITY_ERROR, 1);
	report_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_api_service__each_of_its_faults),
		TEST(test_api_service__missing_one_is_made_like_its_sibling),
		TEST(test_api_service__order_of_versions),
		TEST(test_api_service__ca_bundles_that_are_none),
		TEST(test_api_service__certificates_that_kube_apiserver_refuses),
		TEST(test_on_hosts__fixes_are_for_hosts),
		TEST(test_trust__each_of_its_faults),
		TEST(test_trust__is_missing),
		TEST(test_access__names_the_binding_that_is_missing),
		TEST(test_access__names_a_user_that_is_no_account),
		TEST(test_policies__only_those_for_kinds_of_ours),
		TEST(test_policies__webhooks_with_conditions),
		TEST(test_asking__only_a_status_that_names_the_object_proves_its_absence),
		TEST(test_asking__discovery_says_which_policies_there_may_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
