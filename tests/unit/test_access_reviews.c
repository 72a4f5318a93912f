#include "delegation/call.h"
#include "tests/unit/delegation_world.h"

#define REVIEW(status) "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"status\":" status "}"
#define ALLOWED REVIEW("{\"allowed\":true,\"reason\":\"RBAC: allowed by X\"}")
#define REFUSED REVIEW("{\"allowed\":false}")
#define DENIED REVIEW("{\"allowed\":false,\"denied\":true,\"reason\":\"never\"}")

/* A user who asks to get a ControllerRevision. */
struct person {
	struct access_question q;
	struct user user;
	struct asker asker;
};

static void person_init(struct person *p, const char *name, int64_t patience_ms)
{
	p->user = (struct user){.name = str_of(name)};
	p->q = (struct access_question){
		.base = asker_init(&p->asker, patience_ms),
		.what = {.user = &p->user,
			.verb = STR("get"),
			.is_resource = true,
			.group = STR("apps"),
			.version = STR("v1"),
			.resource = STR("controllerrevisions"),
			.ns = STR("ns"),
			.name = STR("n")},
	};
}

static void person_done(struct person *p)
{
	asker_done(&p->asker);
}

static bool ask(struct scene *s, struct person *p)
{
	return s->delegates->ask_access(s->delegates->ctx, &p->q);
}

enum said { ALLOWS, REFUSES, DENIES, FAILS };

static enum said said_to(const struct person *p)
{
	assert_false(p->q.is_allowed && (p->q.is_denied || p->q.base.failure.n));
	return p->q.base.failure.n ? FAILS : p->q.is_denied ? DENIES : p->q.is_allowed ? ALLOWS : REFUSES;
}

enum where { FROM_MEMORY, FROM_CLUSTER };

static enum said ask_as(struct scene *s, const char *name, enum where where)
{
	struct person p;
	person_init(&p, name, LONG_MS);
	bool is_answered = ask(s, &p);
	assert_int_equal(is_answered, where == FROM_MEMORY);
	if (!is_answered) {
		asker_await(&p.asker);
	}
	enum said said = said_to(&p);
	person_done(&p);
	return said;
}

static void assert_fails(struct scene *s, const char *why)
{
	struct person p;
	person_init(&p, "ann", LONG_MS);
	if (!ask(s, &p)) {
		asker_await(&p.asker);
	}
	assert_int_equal(said_to(&p), FAILS);
	assert_str(p.q.base.failure, why);
	person_done(&p);
}

static void test_access__what_was_decided_is_kept(void **state _unused_)
{
	SCENE(s, LONG_MS, {"\"user\":\"ann\"", SCRIPT_WHOLE, 201, NULL, ALLOWED},
		{"\"user\":\"ben\"", SCRIPT_WHOLE, 201, NULL, REFUSED}, {"\"user\":\"cid\"", SCRIPT_WHOLE, 201, NULL, DENIED});
	assert_int_equal(ask_as(&s, "ann", FROM_CLUSTER), ALLOWS);
	assert_int_equal(ask_as(&s, "ben", FROM_CLUSTER), REFUSES);
	assert_int_equal(ask_as(&s, "cid", FROM_CLUSTER), DENIES);
	assert_int_equal(ask_as(&s, "ann", FROM_MEMORY), ALLOWS);
	assert_int_equal(ask_as(&s, "ben", FROM_MEMORY), REFUSES);
	assert_int_equal(ask_as(&s, "cid", FROM_MEMORY), DENIES);
	close_scene(&s);
}

static void test_access__reason_comes_with_the_decision(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 201, NULL, ALLOWED});
	for (unsigned i = 0; i < 2; i++) {
		struct person p;
		person_init(&p, "ann", LONG_MS);
		if (!ask(&s, &p)) {
			asker_await(&p.asker);
		}
		assert_str(p.q.reason, "RBAC: allowed by X");
		person_done(&p);
	}
	close_scene(&s);
}

static void test_access__nothing_is_kept_for_no_time(void **state _unused_)
{
	SCENE(s, 0, {NULL, SCRIPT_WHOLE, 201, NULL, ALLOWED}, {NULL, SCRIPT_WHOLE, 201, NULL, REFUSED});
	assert_int_equal(ask_as(&s, "ann", FROM_CLUSTER), ALLOWS);
	assert_int_equal(ask_as(&s, "ann", FROM_CLUSTER), REFUSES);
	close_scene(&s);
}

static void test_access__long_questions_are_not_kept(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 201, NULL, ALLOWED}, {NULL, SCRIPT_WHOLE, 201, NULL, REFUSED});
	static char name[10000];
	memset(name, 'n', sizeof(name));
	for (unsigned i = 0; i < 2; i++) {
		struct person p;
		person_init(&p, "ann", LONG_MS);
		p.q.what.name = (struct str){name, sizeof(name)};
		assert_false(ask(&s, &p));
		asker_await(&p.asker);
		assert_int_equal(said_to(&p), i == 0 ? ALLOWS : REFUSES);
		person_done(&p);
	}
	close_scene(&s);
}

static void test_access__equal_questions_share_a_request(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_HOLD, 201, NULL, ALLOWED});
	struct person people[5];
	for (size_t i = 0; i < ARRAY_SIZE(people); i++) {
		person_init(&people[i], "ann", LONG_MS);
		assert_false(ask(&s, &people[i]));
	}
	script_await(s.script, 1);
	script_release(s.script);
	for (size_t i = 0; i < ARRAY_SIZE(people); i++) {
		asker_await(&people[i].asker);
		assert_int_equal(said_to(&people[i]), ALLOWS);
		person_done(&people[i]);
	}
	close_scene(&s);
}

static void test_access__others_do_not_wait_for_the_first_ones_deadline(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_HOLD, 201, NULL, ALLOWED});
	struct person first, second;
	person_init(&first, "ann", LONG_MS);
	person_init(&second, "ann", 1);
	assert_false(ask(&s, &first));
	assert_false(ask(&s, &second));
	asker_await(&second.asker);
	assert_int_equal(said_to(&second), FAILS);
	assert_true(str_contains(second.q.base.failure, STR("context deadline exceeded")));
	script_await(s.script, 1);
	assert_false(asker_has_answer(&first.asker));
	script_release(s.script);
	asker_await(&first.asker);
	assert_int_equal(said_to(&first), ALLOWS);
	person_done(&second);
	person_done(&first);
	close_scene(&s);
}

static void test_access__request_ends_with_the_last_who_waits(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_SILENT, 0, NULL, NULL}, {NULL, SCRIPT_WHOLE, 201, NULL, ALLOWED});
	struct person p;
	person_init(&p, "ann", 2000);
	assert_false(ask(&s, &p));
	script_await(s.script, 1);
	asker_await(&p.asker);
	assert_int_equal(said_to(&p), FAILS);
	person_done(&p);
	assert_int_equal(ask_as(&s, "ann", FROM_CLUSTER), ALLOWS);
	close_scene(&s);
}

static void test_access__what_may_pass_is_tried_again(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 500, NULL, STATUS(500, "InternalError")}, {NULL, SCRIPT_CUT, 201, NULL, "{"},
		{NULL, SCRIPT_WHOLE, 429, "Retry-After: 0\r\n", STATUS(429, "TooManyRequests")},
		{NULL, SCRIPT_WHOLE, 201, NULL, ALLOWED});
	assert_int_equal(ask_as(&s, "ann", FROM_CLUSTER), ALLOWS);
	close_scene(&s);
}

static void test_access__five_tries_are_enough(void **state _unused_)
{
	struct script_step steps[5];
	struct scene s;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		steps[i] = (struct script_step){"POST", SCRIPT_WHOLE, 500, NULL, STATUS(500, "InternalError")};
	}
	open_scene(&s, LONG_MS, steps, ARRAY_SIZE(steps));
	assert_fails(&s, "because");
	close_scene(&s);
}

static void test_access__failures_are_told_and_not_kept(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 403, NULL, STATUS(403, "Forbidden")},
		{NULL, SCRIPT_WHOLE, 503, NULL, "<html>busy"}, {NULL, SCRIPT_WHOLE, 502, NULL, "<html>bad gateway"},
		{NULL, SCRIPT_WHOLE, 418, NULL, ""}, {NULL, SCRIPT_WHOLE, 201, NULL, "allowed"},
		{NULL, SCRIPT_WHOLE, 201, NULL, "{\"kind\":\"SubjectAccessReview\"}"}, {NULL, SCRIPT_WHOLE, 200, NULL, ""},
		{NULL, SCRIPT_WHOLE, 403, NULL, ALLOWED}, {NULL, SCRIPT_WHOLE, 201, NULL, ALLOWED});
#define SUBJECT " (post subjectaccessreviews.authorization.k8s.io)"
	assert_fails(&s, "because");
	assert_fails(&s, "the server is currently unable to handle the request" SUBJECT);
	assert_fails(&s, "an error on the server (\"<html>bad gateway\") has prevented the request from succeeding" SUBJECT);
	assert_fails(&s, "the server responded with the status code 418 but did not return more information" SUBJECT);
	assert_fails(&s, "the answer is no JSON" SUBJECT);
	assert_fails(&s,
		"the answer is \"SubjectAccessReview\" of version \"\", not SubjectAccessReview of authorization.k8s.io/v1");
	assert_fails(&s, "the answer is no JSON" SUBJECT);
	assert_fails(&s, "the server responded with the status code 403 but did not return more information" SUBJECT);
	assert_int_equal(ask_as(&s, "ann", FROM_CLUSTER), ALLOWS);
	close_scene(&s);
}

static void test_access__what_is_no_review_is_not_believed(void **state _unused_)
{
	static const struct {
		const char *answer, *why;
	} rows[] = {
		{REVIEW("{\"allowed\":\"true\"}"), CANNOT("string", "SubjectAccessReviewStatus.status.allowed", "bool")},
		{REVIEW("{\"allowed\":1}"), CANNOT("number", "SubjectAccessReviewStatus.status.allowed", "bool")},
		{REVIEW("{\"allowed\":true,\"denied\":\"\"}"),
			CANNOT("string", "SubjectAccessReviewStatus.status.denied", "bool")},
		{REVIEW("{\"allowed\":true,\"reason\":{}}"),
			CANNOT("object", "SubjectAccessReviewStatus.status.reason", "string")},
		{REVIEW("{\"allowed\":true,\"evaluationError\":[]}"),
			CANNOT("array", "SubjectAccessReviewStatus.status.evaluationError", "string")},
		{REVIEW("true"), CANNOT("bool", "SubjectAccessReview.status", "v1.SubjectAccessReviewStatus")},
		{"{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\"}", "the answer has no status"},
		{"{\"status\":{\"allowed\":true}}",
			"the answer is \"\" of version \"\", not SubjectAccessReview of authorization.k8s.io/v1"},
		{"{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/"
		 "v1\",\"status\":{\"allowed\":true}}",
			"the answer is \"SelfSubjectAccessReview\" of version \"authorization.k8s.io/v1\", not "
			"SubjectAccessReview of "
			"authorization.k8s.io/v1"},
	};
	struct script_step steps[ARRAY_SIZE(rows)];
	struct scene s;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		steps[i] = (struct script_step){NULL, SCRIPT_WHOLE, 201, NULL, rows[i].answer};
	}
	open_scene(&s, LONG_MS, steps, ARRAY_SIZE(steps));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_fails(&s, rows[i].why);
	}
	close_scene(&s);
}

static void test_access__operator_hears_once_that_it_fails(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 403, NULL, STATUS(403, "Forbidden")},
		{NULL, SCRIPT_WHOLE, 403, NULL, STATUS(403, "Forbidden")}, {NULL, SCRIPT_WHOLE, 201, NULL, REFUSED},
		{NULL, SCRIPT_WHOLE, 503, NULL, ""});
	ask_as(&s, "ann", FROM_CLUSTER);
	ask_as(&s, "ann", FROM_CLUSTER);
	assert_str(buf_str(&s.notices), "cannot ask the cluster who may do what: because\n");
	ask_as(&s, "ann", FROM_CLUSTER);
	ask_as(&s, "ben", FROM_CLUSTER);
	assert_str(buf_str(&s.notices),
		"cannot ask the cluster who may do what: because\ncannot ask the cluster who may do what: the "
		"server is currently unable to handle the request (post subjectaccessreviews.authorization.k8s.io)\n");
	close_scene(&s);
}

static void test_access__allowed_and_denied_is_neither(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 201, NULL, REVIEW("{\"allowed\":true,\"denied\":true}")});
	assert_fails(&s, "webhook subject access review returned both allow and deny response");
	close_scene(&s);
}

static void test_access__nobody_there_fails_and_is_asked_again_at_once(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 201, NULL, ALLOWED});
	assert_int_equal(ask_as(&s, "ann", FROM_CLUSTER), ALLOWS);
	script_stop(s.script);
	assert_int_equal(ask_as(&s, "ben", FROM_CLUSTER), FAILS);
	assert_int_equal(ask_as(&s, "ben", FROM_CLUSTER), FAILS);
	assert_int_equal(ask_as(&s, "ann", FROM_MEMORY), ALLOWS);
	delegation_free(s.delegation);
	buf_done(&s.notices);
}

static void test_access__stop_ends_all_questions(void **state _unused_)
{
	enum { RUNNING = 64, PEOPLE = 80 };
	static struct script_step steps[RUNNING];
	static struct person people[PEOPLE];
	static char names[PEOPLE][16];
	struct scene s;
	for (size_t i = 0; i < RUNNING; i++) {
		/* One pauses before its next try, the others run; what is beyond RUNNING waits for its turn. */
		steps[i] = i == 0 ? (struct script_step){NULL, SCRIPT_WHOLE, 500, "Retry-After: 1000\r\n", NULL}
				  : (struct script_step){NULL, SCRIPT_SILENT, 0, NULL, NULL};
	}
	open_scene(&s, LONG_MS, steps, RUNNING);
	for (size_t i = 0; i < PEOPLE; i++) {
		snprintf(names[i], sizeof(names[i]), "u%zu", i);
		person_init(&people[i], names[i], LONG_MS);
		assert_false(ask(&s, &people[i]));
	}
	script_await(s.script, RUNNING);
	delegation_stop(s.delegation);
	for (size_t i = 0; i < PEOPLE; i++) {
		asker_await(&people[i].asker);
		assert_int_equal(said_to(&people[i]), FAILS);
		person_done(&people[i]);
	}
	assert_int_equal(ask_as(&s, "late", FROM_MEMORY), FAILS);
	close_scene(&s);
}

static void test_access__too_many_questions_are_turned_away(void **state _unused_)
{
	enum { RUNNING = 64, FLIGHTS = 4096 };
	static struct script_step steps[RUNNING];
	static struct person people[FLIGHTS + 1];
	static char names[FLIGHTS + 1][16];
	struct scene s;
	for (size_t i = 0; i < RUNNING; i++) {
		steps[i] = (struct script_step){NULL, SCRIPT_SILENT, 0, NULL, NULL};
	}
	open_scene(&s, LONG_MS, steps, RUNNING);
	for (size_t i = 0; i < ARRAY_SIZE(people); i++) {
		snprintf(names[i], sizeof(names[i]), "u%zu", i);
		person_init(&people[i], names[i], LONG_MS);
		assert_int_equal(ask(&s, &people[i]), i == FLIGHTS);
	}
	assert_str(people[FLIGHTS].q.base.failure, "too many reviews are under way");
	script_await(s.script, RUNNING);
	delegation_stop(s.delegation);
	for (size_t i = 0; i < ARRAY_SIZE(people); i++) {
		if (i < FLIGHTS) {
			asker_await(&people[i].asker);
		}
		person_done(&people[i]);
	}
	close_scene(&s);
}

static void test_access__is_counted_by_code(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 201, NULL, ALLOWED}, {NULL, SCRIPT_WHOLE, 403, NULL, STATUS(403, "Forbidden")});
	struct buf out;
	buf_init(&out, 1 << 20);
	assert_false(str_contains(scene_metrics(&s, &out), STR("apiserver_delegated_authz")));
	ask_as(&s, "ann", FROM_CLUSTER);
	ask_as(&s, "ann", FROM_MEMORY);
	ask_as(&s, "ben", FROM_CLUSTER);
	struct str text = scene_metrics(&s, &out);
	assert_true(str_contains(text, STR("apiserver_delegated_authz_request_total{code=\"201\"} 1\n")));
	assert_true(str_contains(text, STR("apiserver_delegated_authz_request_total{code=\"403\"} 1\n")));
	assert_true(str_contains(text, STR("apiserver_delegated_authz_request_duration_seconds_count{code=\"201\"} 1\n")));
	buf_done(&out);
	close_scene(&s);
}

static void test_access__no_server_silences_us_for_long(void **state _unused_)
{
	static const struct {
		const char *answer;
		int64_t header_s, expected_s;
	} rows[] = {
		{"{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":7}}", -1, 7},
		{"{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":7}}", 9, 9},
		{"{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":86400}}", 1, RETRY_AFTER_MAX_S},
		{"{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":9223372036854775807}}", -1, RETRY_AFTER_MAX_S},
		{"{\"kind\":\"Other\",\"details\":{\"retryAfterSeconds\":7}}", -1, -1},
	};
	struct arena a;
	arena_init(&a, 1 << 16);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *answer;
		size_t at;
		assert_int_equal(json_parse(&answer, &a, str_of(rows[i].answer), JSON_LIMITS_DEFAULT, &at), 0);
		const struct call c = {.answer = answer, .x = {.retry_after_s = rows[i].header_s}};
		assert_true(call_retry_after_s(&c) == rows[i].expected_s ||
			(rows[i].expected_s < 0 && call_retry_after_s(&c) <= 0));
	}
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_access__what_was_decided_is_kept),
		TEST(test_access__reason_comes_with_the_decision),
		TEST(test_access__nothing_is_kept_for_no_time),
		TEST(test_access__long_questions_are_not_kept),
		TEST(test_access__equal_questions_share_a_request),
		TEST(test_access__others_do_not_wait_for_the_first_ones_deadline),
		TEST(test_access__request_ends_with_the_last_who_waits),
		TEST(test_access__what_may_pass_is_tried_again),
		TEST(test_access__five_tries_are_enough),
		TEST(test_access__failures_are_told_and_not_kept),
		TEST(test_access__what_is_no_review_is_not_believed),
		TEST(test_access__operator_hears_once_that_it_fails),
		TEST(test_access__allowed_and_denied_is_neither),
		TEST(test_access__nobody_there_fails_and_is_asked_again_at_once),
		TEST(test_access__stop_ends_all_questions),
		TEST(test_access__too_many_questions_are_turned_away),
		TEST(test_access__is_counted_by_code),
		TEST(test_access__no_server_silences_us_for_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
