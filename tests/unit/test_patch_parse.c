#include "tests/unit/patches.h"

static void is_refused(enum patch_type type, const char *patch, int code, const char *message)
{
	expect_refusal(type, NULL, "{}", patch, code, message);
}

static void reports(enum patch_type type, const char *patch, const char *expected)
{
	struct attempt t = {.type = type};
	struct json *parsed;
	_cleanup_(buf_done) struct buf all;
	buf_init(&all, 1 << 20);
	status_init(&t.st, &arena);
	assert_int_equal(patch_parse(&parsed, type, str_of(patch), JSON_LIMITS_DEFAULT, &arena, &t.report, &t.st), 0);
	for (size_t i = 0; i < t.report.n_strict; i++) {
		buf_printf(&all, "%s" STR_FMT, i ? "; " : "", STR_ARG(t.report.strict[i]));
	}
	assert_str(buf_str(&all), expected);
}

static void test_patch_type_of__exact_names_without_parameters(void **state _unused_)
{
	enum patch_type type;
	assert_true(patch_type_of(STR("application/merge-patch+json"), &type));
	assert_int_equal(type, PATCH_MERGE);
	assert_true(patch_type_of(STR("application/json-patch+json; charset=utf-8"), &type));
	assert_int_equal(type, PATCH_JSON);
	assert_true(patch_type_of(STR("application/strategic-merge-patch+json"), &type));
	assert_int_equal(type, PATCH_STRATEGIC);
	assert_true(patch_type_of(STR("application/apply-patch+yaml"), &type));
	assert_int_equal(type, PATCH_APPLY);
	assert_false(patch_type_of(STR("application/Merge-Patch+json"), &type));
	assert_false(patch_type_of(STR("application/apply-patch+json"), &type));
	assert_false(patch_type_of(STR("application/json"), &type));
	assert_false(patch_type_of(STR(""), &type));
}

static void test_patch_parse__wrong_shapes(void **state _unused_)
{
	is_refused(PATCH_JSON, "{}", 400,
		"error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
	is_refused(PATCH_JSON, "[\"x\"]", 400,
		"error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp");
	is_refused(PATCH_JSON, "[{\"op\":1}]", 400,
		"error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string");
	is_refused(PATCH_JSON, "[}", 400, "error decoding patch: invalid character '}' looking for beginning of value");
	is_refused(PATCH_JSON, "", 400, "error decoding patch: unexpected end of JSON input");
	is_refused(PATCH_MERGE, "[]", 400,
		"error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}");
	is_refused(PATCH_MERGE, "\"x\"", 400,
		"error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}");
	is_refused(PATCH_MERGE, "null", 400, "Invalid JSON Patch");
	is_refused(PATCH_MERGE, "{", 400, "error decoding patch: unexpected end of JSON input");
	is_refused(PATCH_STRATEGIC, "[]", 400, "json: cannot unmarshal array into Go value of type map[string]interface {}");
	is_refused(PATCH_STRATEGIC, "", 400, "unexpected end of JSON input");
}

static void test_patch_parse__returns_nothing_when_it_refuses(void **state _unused_)
{
	static const enum patch_type types[] = {PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct json *patch = NULL;
		struct status st;
		status_init(&st, &arena);
		assert_int_equal(patch_parse(&patch, types[i], STR("[1]"), JSON_LIMITS_DEFAULT, &arena, NULL, &st), 1);
		assert_null(patch);
	}
}

/* A test of the whole document, as often as is wanted. */
static struct str operations(struct buf *text, int n)
{
	for (int i = 0; i < n; i++) {
		buf_printf(text, "%c{\"op\":\"test\",\"path\":\"\",\"value\":{}}", i ? ',' : '[');
	}
	buf_addc(text, ']');
	return buf_str(text);
}

static void test_patch_parse__operations_have_a_ceiling(void **state _unused_)
{
	for (int more = 0; more < 2; more++) {
		_cleanup_(buf_done) struct buf text;
		struct json *patch;
		struct status st;
		buf_init(&text, 1 << 20);
		status_init(&st, &arena);
		assert_int_equal(patch_parse(&patch, PATCH_JSON, operations(&text, PATCH_MAX_OPERATIONS + more),
					 JSON_LIMITS_DEFAULT, &arena, NULL, &st),
			more);
		assert_int_equal(st.code, more ? 413 : 0);
	}
}

static void test_patch_parse__reports_repeated_members(void **state _unused_)
{
	reports(PATCH_MERGE, "{\"a\":1,\"b\":{\"c\":1,\"c\":2,\"c\":3},\"a\":2}",
		"duplicate field \"b.c\"; duplicate field \"a\"");
	reports(PATCH_STRATEGIC, "{\"l\":[{},{\"x\":1,\"x\":1}],\"revision\":2,\"revision\":3}",
		"duplicate field \"l[1].x\"; duplicate field \"revision\"");
	reports(PATCH_MERGE, "{\"z\":1,\"a\":2}", "");
	reports(PATCH_MERGE, "{\"\":{\"\":1,\"\":2}}", "duplicate field \".\"");
}

static void test_patch_parse__reports_members_of_operations(void **state _unused_)
{
	reports(PATCH_JSON, "[{\"op\":\"add\",\"Op\":1,\"path\":\"/a\",\"path\":\"/b\",\"value\":{\"k\":1,\"k\":2},\"Op\":2}]",
		"json patch unknown field \"[0].Op\"; json patch duplicate field \"[0].path\"; "
		"json patch duplicate field \"[0].value.k\"");
}

static void test_patch_parse__reports_no_more_than_a_hundred(void **state _unused_)
{
	_cleanup_(buf_done) struct buf patch;
	struct attempt t = {.type = PATCH_MERGE};
	buf_init(&patch, 1 << 20);
	for (int i = 0; i < 300; i++) {
		buf_printf(&patch, "%c\"a%d\":1,\"a%d\":2", i ? ',' : '{', i, i);
	}
	buf_addc(&patch, '}');
	assert_int_equal(attempt_run(&t, "{}", buf_str(&patch)), 0);
	assert_int_equal(t.report.n_strict, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_patch_type_of__exact_names_without_parameters),
		TEST_TREE(test_patch_parse__wrong_shapes),
		TEST_TREE(test_patch_parse__returns_nothing_when_it_refuses),
		TEST_TREE(test_patch_parse__operations_have_a_ceiling),
		TEST_TREE(test_patch_parse__reports_repeated_members),
		TEST_TREE(test_patch_parse__reports_members_of_operations),
		TEST_TREE(test_patch_parse__reports_no_more_than_a_hundred),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
