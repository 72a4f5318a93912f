#include "delegation/webhook_call.h"
#include "tests/unit/api_world.h"

#define UID "0a0a"
#define REVIEW(response)                                                                                                       \
	"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":{\"uid\":\"" UID "\"," response "}" \
															   "}"
#define MUTATES WEBHOOKS_MUTATING
#define VALIDATES WEBHOOKS_VALIDATING
#define FAILED "failed calling webhook \"a.example.com\": "
#define DENIED "admission webhook \"a.example.com\" denied the request"

static const struct webhook hook = {.name = {"a.example.com", 13}, .review_version = "v1"};
static const struct webhook old_hook = {.name = {"a.example.com", 13}, .review_version = "v1beta1"};

static struct webhook_answer read_answer(
	struct api_world *w, const struct webhook *h, enum webhook_phase phase, int code, const char *text)
{
	struct webhook_answer answer;
	webhook_answer_read(&answer, h, phase, UID, code, STR("application/json"), arena_dup(&w->a, str_of(text)), &w->a);
	return answer;
}

static const struct {
	const char *text;
	enum webhook_phase phase;
	enum webhook_outcome outcome;
	const char *said; /* problem, or message of the status */
} rows[] = {
	{REVIEW("\"allowed\":true"), VALIDATES, OUTCOME_ALLOWED, NULL},
	{REVIEW("\"allowed\":true"), MUTATES, OUTCOME_ALLOWED, NULL},
	{REVIEW("\"allowed\":true,\"status\":{\"code\":403,\"message\":\"m\"}"), VALIDATES, OUTCOME_ALLOWED, NULL},
	{REVIEW("\"allowed\":false"), VALIDATES, OUTCOME_DENIED, DENIED " without explanation"},
	{REVIEW("\"warnings\":[]"), VALIDATES, OUTCOME_DENIED, DENIED " without explanation"},
	{REVIEW("\"status\":{\"message\":\"m\",\"reason\":\"R\"}"), VALIDATES, OUTCOME_DENIED, DENIED ": m"},
	{REVIEW("\"status\":{\"reason\":\"R\"}"), MUTATES, OUTCOME_DENIED, DENIED ": R"},
	{REVIEW("\"allowed\":false,\"patch\":\"e30=\",\"patchType\":\"JSONPatch\""), MUTATES, OUTCOME_DENIED,
		DENIED " without explanation"},
	{"", VALIDATES, OUTCOME_FAILED,
		FAILED "failed to call webhook: 0-length response with status code: 200 and content type: application/json"},
	{"{}", VALIDATES, OUTCOME_FAILED, FAILED "received invalid webhook response: webhook response was absent"},
	{"{\"response\":null}", VALIDATES, OUTCOME_FAILED,
		FAILED "received invalid webhook response: webhook response was absent"},
	{"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":{\"uid\":\"b\"}}", VALIDATES,
		OUTCOME_FAILED, FAILED "received invalid webhook response: expected response.uid=\"" UID "\", got \"b\""},
	{"{\"response\":{\"uid\":\"" UID "\",\"allowed\":true}}", VALIDATES, OUTCOME_FAILED,
		FAILED "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
		       "Kind=AdmissionReview, got /, Kind="},
	{REVIEW("\"allowed\":\"yes\""), VALIDATES, OUTCOME_FAILED,
		FAILED "failed to call webhook: json: cannot unmarshal string into Go struct field "
		       "AdmissionResponse.response.allowed of type bool"},
	{REVIEW("\"allowed\":true,\"patch\":\"e30=\""), VALIDATES, OUTCOME_FAILED,
		FAILED "received invalid webhook response: validating webhook may not return response.patch"},
	{REVIEW("\"allowed\":true,\"patchType\":\"JSONPatch\""), VALIDATES, OUTCOME_FAILED,
		FAILED "received invalid webhook response: validating webhook may not return response.patchType"},
	{REVIEW("\"allowed\":true,\"patch\":\"e30=\""), MUTATES, OUTCOME_FAILED,
		FAILED "received invalid webhook response: webhook returned response.patch but not response.patchType"},
	{REVIEW("\"allowed\":true,\"patchType\":\"JSONPatch\""), MUTATES, OUTCOME_FAILED,
		FAILED "received invalid webhook response: webhook returned response.patchType but not response.patch"},
	{REVIEW("\"allowed\":true,\"patch\":\"e30=\",\"patchType\":\"\""), MUTATES, OUTCOME_FAILED,
		FAILED "received invalid webhook response: webhook returned invalid response.patchType of \"\""},
};

static void test_webhook_answer__means_what_upstream_says(void **state)
{
	struct api_world *w = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct webhook_answer answer = read_answer(w, &hook, rows[i].phase, 200, rows[i].text);
		struct str said = answer.outcome == OUTCOME_FAILED ? answer.problem : answer.status.message;
		if (answer.outcome != rows[i].outcome || (rows[i].said && !str_is(said, rows[i].said))) {
			fail_msg("%s\nis %d: " STR_FMT, rows[i].text, answer.outcome, STR_ARG(said));
		}
	}
}

static void test_webhook_answer__denials_carry_the_webhooks_status(void **state)
{
	struct api_world *w = *state;
	struct webhook_answer answer = read_answer(w, &hook, VALIDATES, 200,
		REVIEW("\"status\":{\"code\":422,\"reason\":\"Invalid\",\"message\":\"m\",\"status\":\"Success\",\"details\":{"
		       "\"name\":\"n\","
		       "\"group\":\"g\",\"kind\":\"k\",\"uid\":\"u\",\"retryAfterSeconds\":3,"
		       "\"causes\":[{\"reason\":\"R\",\"message\":\"c\",\"field\":\"f\"},{}]}}"));
	world_assert_json(w, status_to_json(&answer.status, &w->a),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"code\":422,\"reason\":"
		"\"Invalid\","
		"\"message\":\""
		"admission webhook \\\"a.example.com\\\" denied the request"
		": m\",\"details\":{\"name\":\"n\",\"group\":\"g\",\"kind\":\"k\","
		"\"uid\":\"u\",\"retryAfterSeconds\":3,\"causes\":[{\"reason\":\"R\",\"message\":\"c\",\"field\":\"f\"},{}]}}");
	assert_int_equal(answer.code, 422);
}

static void test_webhook_answer__denials_are_errors_whatever_their_code(void **state)
{
	static const struct {
		const char *status;
		int code;
	} cases[] = {
		{"\"status\":{}", 400},
		{"\"status\":{\"code\":200}", 400},
		{"\"status\":{\"code\":-7}", 400},
		{"\"status\":{\"code\":403}", 403},
		{"\"status\":{\"code\":599}", 599},
		{"\"status\":{\"code\":2000000000}", 500},
	};
	struct api_world *w = *state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = arena_printf(&w->a,
			"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":{\"uid\":\"" UID
			"\",%s}}",
			cases[i].status)
					   .p;
		struct webhook_answer answer = read_answer(w, &hook, VALIDATES, 200, text);
		assert_int_equal(answer.outcome, OUTCOME_DENIED);
		assert_int_equal(answer.status.code, cases[i].code);
	}
}

static void test_webhook_answer__codes_that_are_no_success_fail(void **state)
{
	static const struct {
		int code;
		const char *text, *problem;
	} cases[] = {
		{404, "404 page not found", FAILED "failed to call webhook: the server could not find the requested resource"},
		{302, "",
			FAILED "failed to call webhook: the server responded with the status code 302 but did not return more "
			       "information"},
		{500, "x",
			FAILED "failed to call webhook: an error on the server (\"unknown\") has prevented the request from "
			       "succeeding"},
		{403, "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"who?\"}",
			FAILED "failed to call webhook: who?"},
		{403, "{\"kind\":\"Status\",\"status\":\"Success\",\"message\":\"who?\"}",
			FAILED "failed to call webhook: unknown"},
	};
	struct api_world *w = *state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct webhook_answer answer = read_answer(w, &hook, VALIDATES, cases[i].code, cases[i].text);
		assert_int_equal(answer.outcome, OUTCOME_FAILED);
		assert_int_equal(answer.code, cases[i].code);
		assert_str(answer.problem, cases[i].problem);
		assert_int_equal(answer.status.code, 500);
	}
}

static void test_webhook_answer__of_v1beta1_need_not_say_who_it_is(void **state)
{
	struct api_world *w = *state;
	struct webhook_answer answer =
		read_answer(w, &old_hook, MUTATES, 200, "{\"response\":{\"allowed\":true,\"patch\":\"e30=\"}}");
	assert_int_equal(answer.outcome, OUTCOME_ALLOWED);
	assert_str(answer.patch, "{}");
	assert_str(answer.patch_type, "JSONPatch");
	answer = read_answer(w, &old_hook, VALIDATES, 200, REVIEW("\"allowed\":true"));
	assert_int_equal(answer.outcome, OUTCOME_FAILED);
}

static void test_webhook_answer__keeps_warnings_and_annotations(void **state)
{
	struct api_world *w = *state;
	struct webhook_answer answer = read_answer(w, &hook, VALIDATES, 200,
		REVIEW("\"warnings\":[\"a\",\"b\"],\"auditAnnotations\":{\"k\":\"v\"},\"allowed\":true"));
	world_assert_json(w, answer.warnings, "[\"a\",\"b\"]");
	world_assert_json(w, answer.annotations, "{\"k\":\"v\"}");
}

static void test_webhook_answer__dry_runs_ask_only_who_has_no_effects(void **state)
{
	struct api_world *w = *state;
	struct webhook_answer answer;
	struct webhook h = hook;
	h.side_effects = SIDE_EFFECTS_NONE_ON_DRY_RUN;
	assert_false(webhook_answer_of_dry_run(&answer, &h, &w->a));
	h.side_effects = SIDE_EFFECTS_SOME;
	assert_true(webhook_answer_of_dry_run(&answer, &h, &w->a));
	assert_int_equal(answer.outcome, OUTCOME_ERROR);
	assert_int_equal(answer.status.code, 400);
	assert_str(answer.status.message, "admission webhook \"a.example.com\" does not support dry run");
	h.side_effects = SIDE_EFFECTS_UNSAID;
	assert_true(webhook_answer_of_dry_run(&answer, &h, &w->a));
	assert_int_equal(answer.outcome, OUTCOME_FAILED);
	assert_str(answer.problem, FAILED "Webhook SideEffects is nil");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_webhook_answer__means_what_upstream_says),
		API_TEST(test_webhook_answer__denials_carry_the_webhooks_status),
		API_TEST(test_webhook_answer__denials_are_errors_whatever_their_code),
		API_TEST(test_webhook_answer__codes_that_are_no_success_fail),
		API_TEST(test_webhook_answer__of_v1beta1_need_not_say_who_it_is),
		API_TEST(test_webhook_answer__keeps_warnings_and_annotations),
		API_TEST(test_webhook_answer__dry_runs_ask_only_who_has_no_effects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
