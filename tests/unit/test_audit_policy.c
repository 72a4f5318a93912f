#include "server/audit/audit_policy.h"
#include "tests/unit/check.h"

/* ---- matching ---- */

#define HEAD "apiVersion: audit.k8s.io/v1\nkind: Policy\n"

static struct audit_policy *policy_of(const char *text)
{
	struct audit_policy *p;
	struct buf err;

	buf_init(&err, 4096);
	if (audit_policy_parse(&p, str_of(text), &err)) {
		print_error("%s\n", err.p);
		fail();
	}
	buf_done(&err);
	return p;
}

static const struct str dev_groups[] = {{"dev", 3}, {"system:authenticated", 20}};
static const struct user alice = {.name = {"alice", 5}, .groups = dev_groups, .n_groups = 2};

static struct authz_attributes about_pod(void)
{
	return (struct authz_attributes){.user = &alice,
		.verb = STR("update"),
		.is_resource = true,
		.group = STR(""),
		.version = STR("v1"),
		.resource = STR("pods"),
		.ns = STR("web"),
		.name = STR("p")};
}

/* What a single rule with this condition says of a request. */
static bool matches(const char *condition, struct authz_attributes what)
{
	char text[1024];

	snprintf(text, sizeof(text), HEAD "rules: [{level: Request, %s}]", condition);
	struct audit_policy *p = policy_of(text);
	enum audit_level level = audit_policy_decide(p, &what).level;
	audit_policy_free(p);
	return level == AUDIT_REQUEST;
}

static void test_audit_policy__users_and_groups(void **state _unused_)
{
	assert_true(matches("users: [bob, alice]", about_pod()));
	assert_false(matches("users: [bob]", about_pod()));
	assert_true(matches("userGroups: [ops, dev]", about_pod()));
	assert_false(matches("userGroups: [ops]", about_pod()));
	assert_false(matches("users: [alice], userGroups: [ops]", about_pod()));
}

static void test_audit_policy__nobody_is_no_user(void **state _unused_)
{
	struct authz_attributes what = about_pod();

	what.user = NULL;
	assert_false(matches("users: [alice]", what));
	assert_false(matches("userGroups: [dev]", what));
	assert_true(matches("verbs: [update]", what));
}

static void test_audit_policy__verbs_and_namespaces(void **state _unused_)
{
	struct authz_attributes what = about_pod();

	assert_true(matches("verbs: [update, patch]", what));
	assert_false(matches("verbs: [get]", what));
	assert_true(matches("namespaces: [web]", what));
	assert_false(matches("namespaces: [\"\"]", what));
	what.ns = STR("");
	assert_true(matches("namespaces: [\"\"]", what));
}

static void test_audit_policy__resources(void **state _unused_)
{
	static const struct {
		const char *pattern;
		bool of_pod, of_status;
	} rows[] = {{"pods", true, false}, {"pods/status", false, true}, {"*", true, true}, {"*/status", false, true},
		{"*/log", false, false}, {"pods/*", true, true}, {"secrets", false, false}, {"secrets/*", false, false}};
	struct authz_attributes pod = about_pod(), status = about_pod();
	char condition[128];

	status.subresource = STR("status");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(condition, sizeof(condition), "resources: [{group: \"\", resources: [\"%s\"]}]", rows[i].pattern);
		assert_int_equal(matches(condition, pod), rows[i].of_pod);
		assert_int_equal(matches(condition, status), rows[i].of_status);
	}
}

static void test_audit_policy__resource_groups_and_names(void **state _unused_)
{
	assert_true(matches("resources: [{}]", about_pod()));
	assert_true(matches("resources: [{group: \"*\"}]", about_pod()));
	assert_false(matches("resources: [{group: apps}]", about_pod()));
	assert_true(matches("resources: [{resources: [pods], resourceNames: [q, p]}]", about_pod()));
	assert_false(matches("resources: [{resources: [pods], resourceNames: [q]}]", about_pod()));
}

static void test_audit_policy__paths(void **state _unused_)
{
	struct authz_attributes what = {.user = &alice, .verb = STR("get"), .path = STR("/livez/ping")};

	assert_true(matches("nonResourceURLs: [/livez*]", what));
	assert_true(matches("nonResourceURLs: [/version, /livez/ping]", what));
	assert_true(matches("nonResourceURLs: [\"*\"]", what));
	assert_false(matches("nonResourceURLs: [/livez]", what));
	assert_false(matches("resources: [{}]", what));
	assert_false(matches("nonResourceURLs: [\"*\"]", about_pod()));
	assert_true(matches("omitStages: []", what));
}

static void test_audit_policy__first_rule_decides_and_none_is_none(void **state _unused_)
{
	struct audit_policy *p =
		policy_of(HEAD "rules:\n- level: None\n  verbs: [get]\n- level: RequestResponse\n  verbs: [get, update]\n");
	struct authz_attributes what = about_pod();

	assert_int_equal(audit_policy_decide(p, &what).level, AUDIT_REQUEST_RESPONSE);
	what.verb = STR("get");
	assert_int_equal(audit_policy_decide(p, &what).level, AUDIT_NONE);
	what.verb = STR("list");
	assert_int_equal(audit_policy_decide(p, &what).level, AUDIT_NONE);
	audit_policy_free(p);
}

static void test_audit_policy__omitted_stages_add_up(void **state _unused_)
{
	struct audit_policy *p =
		policy_of(HEAD "omitStages: [RequestReceived]\nrules:\n- level: Metadata\n  omitStages: [Panic]\n");
	struct authz_attributes what = about_pod();

	assert_int_equal(audit_policy_decide(p, &what).omitted_stages, 1u << AUDIT_REQUEST_RECEIVED | 1u << AUDIT_PANIC);
	audit_policy_free(p);
}

static void test_audit_policy__a_rule_overrides_managed_fields(void **state _unused_)
{
	struct audit_policy *p = policy_of(
		"{\"apiVersion\":\"audit.k8s.io/v1\",\"kind\":\"Policy\",\"omitManagedFields\":true,\"rules\":["
		"{\"level\":\"Request\",\"verbs\":[\"update\"],\"omitManagedFields\":false},{\"level\":\"Request\"}]}");
	struct authz_attributes what = about_pod();

	assert_false(audit_policy_decide(p, &what).omits_managed_fields);
	what.verb = STR("get");
	assert_true(audit_policy_decide(p, &what).omits_managed_fields);
	audit_policy_free(p);
}

/* ---- files that are wrong ---- */

static void refused(const char *text, const char *why)
{
	struct audit_policy *p;
	struct buf err;

	buf_init(&err, 64 * 1024);
	assert_true(audit_policy_parse(&p, str_of(text), &err) < 0);
	assert_str(buf_str(&err), why);
	buf_done(&err);
}

static void test_audit_policy__other_kinds_are_refused(void **state _unused_)
{
	refused("rules: [{level: None}]", "must have apiVersion audit.k8s.io/v1 and kind Policy, not \"\" and \"\"");
	refused("apiVersion: audit.k8s.io/v1beta1\nkind: Policy\n",
		"must have apiVersion audit.k8s.io/v1 and kind Policy, not \"audit.k8s.io/v1beta1\" and \"Policy\"");
}

static void test_audit_policy__everything_wrong_is_named(void **state _unused_)
{
	refused(HEAD "metadata: {name: x}\nomitStages: [Never]\nrules:\n- {}\n- level: All\n- level: None\n  nonResourceURLs: "
		     "[livez, /a*b]\n  "
		     "namespaces: [a]\n- level: None\n  resources: [{group: A, resourceNames: [x]}]\n",
		"Policy.audit.k8s.io \"x\" is invalid: [omitStages[0]: Invalid value: \"Never\": allowed stages are "
		"RequestReceived,ResponseStarted,ResponseComplete,Panic, rules[0].level: Required value, rules[1].level: "
		"Unsupported value: "
		"\"All\": supported values: \"None\", \"Metadata\", \"Request\", \"RequestResponse\", "
		"rules[2].nonResourceURLs[0]: Invalid value: "
		"\"livez\": non-resource URL rules must begin with a '/' character, rules[2].nonResourceURLs[1]: Invalid "
		"value: \"/a*b\": "
		"non-resource URL wildcards '*' must be the final character of the rule, rules[2].nonResourceURLs: Invalid "
		"value: \"livez\": "
		"rules cannot apply to both regular resources and non-resource URLs, rules[3].resources[0].group: Invalid "
		"value: \"A\": a "
		"lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
		"and end with an "
		"alphanumeric character (e.g. 'example.com', regex used for validation is "
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), rules[3].resources[0].resourceNames: "
		"Invalid value: "
		"\"x\": using resourceNames requires at least one resource]");
}

static void test_audit_policy__unknown_names_and_wrong_types(void **state _unused_)
{
	refused(HEAD "rules: [{level: None, user: [x]}]",
		"Policy.audit.k8s.io \"\" is invalid: rules[0].user: Forbidden: there is no such field");
	refused(HEAD "rules: [{level: None, verbs: get}]",
		"Policy.audit.k8s.io \"\" is invalid: rules[0].verbs: Invalid value: \"get\": must be a list of strings");
	refused(HEAD "rules: {}", "Policy.audit.k8s.io \"\" is invalid: rules: Invalid value: {}: must be a list");
	refused(HEAD, "Policy.audit.k8s.io \"\" is invalid: rules: Required value: a policy without rules would audit nothing");
}

static void test_audit_policy__text_that_is_no_yaml(void **state _unused_)
{
	refused("a: [", "yaml: line 1: did not find expected node content");
	refused(HEAD "kind: Policy\nrules: []\n", "yaml: unmarshal errors:\n  line 3: key \"kind\" already set in map");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_audit_policy__users_and_groups),
		TEST(test_audit_policy__nobody_is_no_user),
		TEST(test_audit_policy__verbs_and_namespaces),
		TEST(test_audit_policy__resources),
		TEST(test_audit_policy__resource_groups_and_names),
		TEST(test_audit_policy__paths),
		TEST(test_audit_policy__first_rule_decides_and_none_is_none),
		TEST(test_audit_policy__omitted_stages_add_up),
		TEST(test_audit_policy__a_rule_overrides_managed_fields),
		TEST(test_audit_policy__other_kinds_are_refused),
		TEST(test_audit_policy__everything_wrong_is_named),
		TEST(test_audit_policy__unknown_names_and_wrong_types),
		TEST(test_audit_policy__text_that_is_no_yaml),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
