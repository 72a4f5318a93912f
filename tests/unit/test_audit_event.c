#include "server/audit/audit_body.h"
#include "server/audit/audit_event.h"
#include "tests/unit/check.h"

static char *encoded(const struct audit_event *e)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	assert_true(audit_event_encode(&out, e));
	return buf_take(&out, NULL);
}

static void test_audit_event__a_whole_event(void **state _unused_)
{
	static const struct str groups[] = {{"a", 1}, {"b", 1}}, ips[] = {{"1.2.3.4", 7}, {"::1", 3}};
	static const struct user_extra extra[] = {{{"z", 1}, {"1", 1}}, {{"k", 1}, {"2", 1}}, {{"z", 1}, {"3", 1}}};
	const struct user caller = {
		.name = STR("u"), .uid = STR("i"), .groups = groups, .n_groups = 2, .extra = extra, .n_extra = 3};
	const struct user other = {.name = STR("o")};
	const struct audit_object object = {
		STR("pods"), STR("ns"), STR("n"), STR("uid"), STR("g"), STR("v1"), STR("7"), STR("status")};
	struct audit_event e = {.level = AUDIT_REQUEST_RESPONSE,
		.stage = AUDIT_RESPONSE_COMPLETE,
		.id = STR("id"),
		.uri = STR("/x?a=<&"),
		.verb = STR("get"),
		.user = &caller,
		.impersonated = &other,
		.source_ips = ips,
		.n_source_ips = 2,
		.user_agent = STR("agent"),
		.object = &object,
		.has_status = true,
		.code = 404,
		.status = STR("\"status\":\"Failure\","),
		.request_object = STR("{\"a\":1}"),
		.response_object = STR("{\"b\":2}"),
		.received_us = 1,
		.stage_us = 1000002};

	audit_event_annotate(&e, "k2", STR("v"));
	audit_event_annotate(&e, "k1", STR(""));
	audit_event_annotate(&e, "k2", STR("later"));
	char *line = encoded(&e);
	assert_string_equal(line,
		"{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/"
		"v1\",\"level\":\"RequestResponse\",\"auditID\":\"id\",\"stage\":"
		"\"ResponseComplete\",\"requestURI\":\"/"
		"x?a=\\u003c\\u0026\",\"verb\":\"get\",\"user\":{\"username\":\"u\",\"uid\":\"i\","
		"\"groups\":[\"a\",\"b\"],\"extra\":{\"k\":[\"2\"],\"z\":[\"1\",\"3\"]}},\"impersonatedUser\":{\"username\":"
		"\"o\"},"
		"\"sourceIPs\":[\"1.2.3.4\",\"::1\"],\"userAgent\":\"agent\",\"objectRef\":{\"resource\":\"pods\","
		"\"namespace\":\"ns\",\"name\":"
		"\"n\",\"uid\":\"uid\",\"apiGroup\":\"g\",\"apiVersion\":\"v1\",\"resourceVersion\":\"7\",\"subresource\":"
		"\"status\"},"
		"\"responseStatus\":{\"metadata\":{},\"status\":\"Failure\",\"code\":404},\"requestObject\":{\"a\":1},"
		"\"responseObject\":{\"b\":"
		"2},\"requestReceivedTimestamp\":\"1970-01-01T00:00:00.000001Z\",\"stageTimestamp\":\"1970-01-01T00:00:01."
		"000002Z\","
		"\"annotations\":{\"k1\":\"\",\"k2\":\"v\"}}\n");
	mem_free(line);
}

static void test_audit_event__nobody_and_nothing(void **state _unused_)
{
	struct audit_event e = {.level = AUDIT_METADATA, .stage = AUDIT_REQUEST_RECEIVED, .uri = STR("/")};
	char *line = encoded(&e);

	assert_string_equal(line,
		"{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/"
		"v1\",\"level\":\"Metadata\",\"auditID\":\"\",\"stage\":\"RequestReceived\","
		"\"requestURI\":\"/\",\"verb\":\"\",\"user\":{},\"requestReceivedTimestamp\":\"1970-01-01T00:00:00.000000Z\","
		"\"stageTimestamp\":\"1970-01-01T00:00:00.000000Z\"}\n");
	mem_free(line);
}

static void test_audit_event__too_long_is_said(void **state _unused_)
{
	struct audit_event e = {.uri = STR("/")};
	struct buf out;

	buf_init(&out, 64);
	assert_false(audit_event_encode(&out, &e));
	buf_done(&out);
}

static void assert_sources(const char *forwarded, const char *real, const char *peer, const char *expected)
{
	struct arena a;
	const struct str *ips;
	char got[1024] = "";

	arena_init(&a, 1 << 20);
	size_t n = audit_source_ips(&ips, str_of(forwarded), str_of(real), str_of(peer), &a);
	for (size_t i = 0; i < n; i++) {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s" STR_FMT, i > 0 ? " " : "", STR_ARG(ips[i]));
	}
	assert_string_equal(got, expected);
	arena_done(&a);
}

static void test_audit_event__source_ips(void **state _unused_)
{
	assert_sources(NULL, NULL, "127.0.0.1:4000", "127.0.0.1");
	assert_sources(NULL, NULL, "[::1]:4000", "::1");
	assert_sources("1.2.3.4, junk,::1,10.0.0.01,", "9.9.9.9", "127.0.0.1:1", "1.2.3.4 ::1 10.0.0.1 9.9.9.9 127.0.0.1");
	assert_sources("9.9.9.9,127.0.0.1", "9.9.9.9", "127.0.0.1:1", "9.9.9.9 127.0.0.1");
	assert_sources("127.0.0.1", NULL, "127.0.0.1:1", "127.0.0.1");
	assert_sources("::ffff:1.2.3.4", "1.2.3.4", "1.2.3.4:5", "1.2.3.4");
	assert_sources("000.1.2.003,256.1.1.1,1.2.3", NULL, "[fe80::1]:9", "0.1.2.3 fe80::1");
}

static void test_audit_event__source_ips_have_a_ceiling(void **state _unused_)
{
	char text[4096] = "";
	const struct str *ips;
	struct arena a;

	for (int i = 0; i < 200; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "1.2.3.%d,", i);
	}
	arena_init(&a, 1 << 20);
	size_t n = audit_source_ips(&ips, str_of(text), str_of("9.9.9.9"), str_of("127.0.0.1:1"), &a);
	assert_int_equal(n, 65);
	assert_str(ips[n - 1], "127.0.0.1");
	arena_done(&a);
}

static void test_audit_event__uris(void **state _unused_)
{
	struct arena a;

	arena_init(&a, 1 << 20);
	assert_str(audit_uri(STR("/a/b%20c?x=<>&y=%zz"), &a), "/a/b%20c?x=<>&y=%zz");
	assert_str(audit_uri(STR("/a<b>/\"c\"?<"), &a), "/a%3Cb%3E/%22c%22?<");
	assert_str(audit_uri(STR("/~a:b@c;d=(e)"), &a), "/~a:b@c;d=(e)");
	arena_done(&a);
}

/* ---- bodies ---- */

static void assert_stripped(const char *text, const char *expected)
{
	struct arena a;
	struct json *j;
	struct buf out;
	size_t at;

	arena_init(&a, 1 << 20);
	buf_init(&out, 1 << 20);
	assert_int_equal(json_parse(&j, &a, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	assert_true(json_encode(&out, audit_without_managed_fields(&a, j)));
	assert_str(buf_str(&out), expected);
	buf_done(&out);
	arena_done(&a);
}

static void test_audit_body__managed_fields_go_everywhere(void **state _unused_)
{
	assert_stripped("{\"metadata\":{\"name\":\"a\",\"managedFields\":[1]},\"data\":{\"managedFields\":1.0}}",
		"{\"metadata\":{\"name\":\"a\"},\"data\":{\"managedFields\":1.0}}");
	assert_stripped("{\"metadata\":{},\"items\":[{\"metadata\":{\"managedFields\":[]}},{\"metadata\":{\"name\":\"b\"}}]}",
		"{\"metadata\":{},\"items\":[{\"metadata\":{}},{\"metadata\":{\"name\":\"b\"}}]}");
	assert_stripped("{\"rows\":[{\"cells\":[1],\"object\":{\"metadata\":{\"managedFields\":[]}}},{\"object\":null}]}",
		"{\"rows\":[{\"cells\":[1],\"object\":{\"metadata\":{}}},{\"object\":null}]}");
	assert_stripped("{\"items\":null}", "{\"items\":null}");
	assert_stripped("[1]", "[1]");
}

static void assert_patch(const char *body, bool is_yaml, const char *expected)
{
	struct arena a;
	struct buf out;

	arena_init(&a, 1 << 20);
	buf_init(&out, 1 << 20);
	audit_patch_body(&out, str_of(body), is_yaml, &a);
	assert_str(buf_str(&out), expected);
	buf_done(&out);
	arena_done(&a);
}

static void test_audit_body__patches_become_json(void **state _unused_)
{
	assert_patch("{ \"a\" : \"<\" }", false, "{\"a\":\"\\u003c\"}");
	assert_patch("[ {\"op\": \"test\"} ]", false, "[{\"op\":\"test\"}]");
	assert_patch("b: 1\na: {x: z}\n", true, "{\"a\":{\"x\":\"z\"},\"b\":1}");
	assert_patch("b: 1", false, "\"b: 1\"");
	assert_patch("b: [", true, "\"b: [\"");
	assert_patch("", true, "null");
}

static void test_audit_body__delete_options(void **state _unused_)
{
	struct arena a;
	struct json *j;
	struct buf out;
	size_t at;

	arena_init(&a, 1 << 20);
	buf_init(&out, 1 << 20);
	json_parse(&j, &a,
		STR("{\"apiVersion\":\"v1\",\"dryRun\":[\"All\"],\"x\":1,\"preconditions\":null,\"gracePeriodSeconds\":0}"),
		JSON_LIMITS_DEFAULT, &at);
	json_encode(&out, audit_delete_options(&a, j));
	assert_str(buf_str(&out),
		"{\"kind\":\"DeleteOptions\",\"apiVersion\":\"meta.k8s.io/"
		"__internal\",\"gracePeriodSeconds\":0,\"dryRun\":[\"All\"]}");
	buf_done(&out);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_audit_event__a_whole_event),
		TEST(test_audit_event__nobody_and_nothing),
		TEST(test_audit_event__too_long_is_said),
		TEST(test_audit_event__source_ips),
		TEST(test_audit_event__source_ips_have_a_ceiling),
		TEST(test_audit_event__uris),
		TEST(test_audit_body__managed_fields_go_everywhere),
		TEST(test_audit_body__patches_become_json),
		TEST(test_audit_body__delete_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
