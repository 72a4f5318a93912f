#include "tests/unit/patches.h"

#define REFUSED "the server rejected our request due to an error in our request"

static const char *const labels = "{\"labels\":{\"x\":\"1\",\"y\":\"2\"},\"list\":[\"a\",\"b\"]}";

static void makes(const char *doc, const char *patch, const char *expected)
{
	expect(PATCH_JSON, NULL, doc, patch, expected);
}

static void is_refused(const char *doc, const char *patch)
{
	expect_refusal(PATCH_JSON, NULL, doc, patch, 422, REFUSED);
}

static void test_patch_json__operations(void **state _unused_)
{
	makes(labels, "[{\"op\":\"add\",\"path\":\"/labels/z\",\"value\":\"3\"}]",
		"{\"labels\":{\"x\":\"1\",\"y\":\"2\",\"z\":\"3\"},\"list\":[\"a\",\"b\"]}");
	makes(labels, "[{\"op\":\"replace\",\"path\":\"/labels/x\",\"value\":9}]",
		"{\"labels\":{\"x\":9,\"y\":\"2\"},\"list\":[\"a\",\"b\"]}");
	makes(labels, "[{\"op\":\"remove\",\"path\":\"/labels/y\"}]", "{\"labels\":{\"x\":\"1\"},\"list\":[\"a\",\"b\"]}");
	makes(labels, "[{\"op\":\"move\",\"path\":\"/labels/w\",\"from\":\"/labels/y\"}]",
		"{\"labels\":{\"w\":\"2\",\"x\":\"1\"},\"list\":[\"a\",\"b\"]}");
	makes(labels, "[{\"op\":\"copy\",\"path\":\"/c\",\"from\":\"/labels\"}]",
		"{\"c\":{\"x\":\"1\",\"y\":\"2\"},\"labels\":{\"x\":\"1\",\"y\":\"2\"},\"list\":[\"a\",\"b\"]}");
	makes(labels, "[{\"op\":\"test\",\"path\":\"/labels/x\",\"value\":\"1\"}]", labels);
	makes(labels, "[]", labels);
	makes(labels, "null", labels);
}

static void test_patch_json__whole_document(void **state _unused_)
{
	makes(labels, "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"b\":1,\"a\":2}}]", "{\"b\":1,\"a\":2}");
	makes("{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":1.0}}]", "{\"a\":1}");
	is_refused(labels, "[{\"op\":\"replace\",\"path\":\"\",\"value\":1}]");
	is_refused(labels, "[{\"op\":\"replace\",\"path\":\"\"}]");
	is_refused(labels, "[{\"op\":\"add\",\"path\":\"\",\"value\":{}}]");
	is_refused(labels, "[{\"op\":\"remove\",\"path\":\"\"}]");
	is_refused(labels, "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/c\"}]");
}

static void test_patch_json__what_cannot_be_done_fails_the_patch(void **state _unused_)
{
	is_refused(labels, "[{\"op\":\"test\",\"path\":\"/labels/x\",\"value\":\"2\"}]");
	is_refused(labels, "[{\"op\":\"remove\",\"path\":\"/labels/nope\"}]");
	is_refused(labels, "[{\"op\":\"add\",\"path\":\"/nope/deep\",\"value\":1}]");
	is_refused(labels, "[{\"op\":\"add\",\"path\":\"/labels/x/deep\",\"value\":1}]");
	is_refused(labels, "[{\"op\":\"move\",\"path\":\"/q\",\"from\":\"/labels/nope\"}]");
	is_refused(labels, "[{\"op\":\"move\",\"path\":\"/labels/in\",\"from\":\"/labels\"}]");
	is_refused(labels, "[{\"op\":\"explode\",\"path\":\"/labels/x\"}]");
	is_refused(labels, "[{\"op\":\"ADD\",\"path\":\"/labels/x\",\"value\":1}]");
	is_refused(labels, "[{\"path\":\"/labels/x\"}]");
	is_refused(labels, "[{\"op\":\"remove\"}]");
	is_refused(labels, "[null]");
	is_refused(labels,
		"[{\"op\":\"add\",\"path\":\"/labels/z\",\"value\":\"3\"},"
		"{\"op\":\"test\",\"path\":\"/labels/z\",\"value\":\"4\"}]");
}

static void test_patch_json__missing_members_count_as_null(void **state _unused_)
{
	makes("{}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":1}]", "{\"a\":1}");
	makes("{}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]", "{\"b\":null}");
	makes("{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "{\"a\":null}");
	makes("{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null},{\"op\":\"test\",\"path\":\"/a\"}]", "{}");
	is_refused("{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]");
	is_refused("{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\"}]");
	is_refused("{\"a\":null}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]");
}

static void test_patch_json__list_elements(void **state _unused_)
{
	const char *doc = "{\"l\":[0,1,2]}";
	makes(doc, "[{\"op\":\"add\",\"path\":\"/l/1\",\"value\":9}]", "{\"l\":[0,9,1,2]}");
	makes(doc, "[{\"op\":\"add\",\"path\":\"/l/3\",\"value\":9}]", "{\"l\":[0,1,2,9]}");
	makes(doc, "[{\"op\":\"add\",\"path\":\"/l/-\",\"value\":9}]", "{\"l\":[0,1,2,9]}");
	makes(doc, "[{\"op\":\"add\",\"path\":\"/l/-1\",\"value\":9}]", "{\"l\":[0,1,2,9]}");
	makes(doc, "[{\"op\":\"add\",\"path\":\"/l/-4\",\"value\":9}]", "{\"l\":[9,0,1,2]}");
	makes(doc, "[{\"op\":\"replace\",\"path\":\"/l/-1\",\"value\":9}]", "{\"l\":[0,1,9]}");
	makes(doc, "[{\"op\":\"remove\",\"path\":\"/l/00\"}]", "{\"l\":[1,2]}");
	makes(doc, "[{\"op\":\"move\",\"from\":\"/l/0\",\"path\":\"/l/-\"}]", "{\"l\":[1,2,0]}");
	is_refused(doc, "[{\"op\":\"add\",\"path\":\"/l/4\",\"value\":9}]");
	is_refused(doc, "[{\"op\":\"add\",\"path\":\"/l/-5\",\"value\":9}]");
	is_refused(doc, "[{\"op\":\"replace\",\"path\":\"/l/3\",\"value\":9}]");
	is_refused(doc, "[{\"op\":\"remove\",\"path\":\"/l/-\"}]");
	is_refused(doc, "[{\"op\":\"test\",\"path\":\"/l/x\",\"value\":9}]");
}

static void test_patch_json__pointers(void **state _unused_)
{
	makes("{\"a/b\":1,\"c~d\":2,\"~1\":3,\"\":4}",
		"[{\"op\":\"remove\",\"path\":\"/a~1b\"},{\"op\":\"remove\",\"path\":\"/c~0d\"},{\"op\":\"remove\",\"path\":\"/"
		"~01\"},"
		"{\"op\":\"replace\",\"path\":\"/\",\"value\":5}]",
		"{\"\":5}");
	makes("{\"revision\":1}", "[{\"op\":\"replace\",\"path\":\"ignored/revision\",\"value\":2}]", "{\"revision\":2}");
	is_refused(labels, "[{\"op\":\"add\",\"path\":\"labels/nope/x\",\"value\":\"v\"}]");
	is_refused(labels, "[{\"op\":\"add\",\"path\":\"labels\",\"value\":\"v\"}]");
}

static void test_patch_json__test_compares_values(void **state _unused_)
{
	makes("{\"a\":{\"x\":1.0,\"y\":\"\\u0041\"}}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":\"A\",\"x\":1e0}}]",
		"{\"a\":{\"x\":1.0,\"y\":\"\\u0041\"}}");
	is_refused("{\"a\":9007199254740993}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":9007199254740992}]");
}

static void test_patch_json__copies_are_independent(void **state _unused_)
{
	makes("{\"a\":{\"k\":{\"l\":1}}}",
		"[{\"op\":\"add\",\"path\":\"/a/k/m\",\"value\":2},{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"},"
		"{\"op\":\"replace\",\"path\":\"/b/k/l\",\"value\":3},{\"op\":\"remove\",\"path\":\"/a/k/m\"}]",
		"{\"a\":{\"k\":{\"l\":1}},\"b\":{\"k\":{\"l\":3,\"m\":2}}}");
	makes("{\"a\":[[1]]}",
		"[{\"op\":\"copy\",\"from\":\"/a/0\",\"path\":\"/a/-\"},{\"op\":\"add\",\"path\":\"/a/1/0\",\"value\":0}]",
		"{\"a\":[[1],[0,1]]}");
}

static void test_patch_json__untouched_values_keep_their_text(void **state _unused_)
{
	makes("{\"data\":{\"z\":1.0,\"a\":\"\\/\"},\"labels\":{\"b\":\"1\",\"a\":\"2\"}}",
		"[{\"op\":\"test\",\"path\":\"/data/z\",\"value\":1},{\"op\":\"add\",\"path\":\"/labels/c\",\"value\":\"3\"}]",
		"{\"data\":{\"z\":1.0,\"a\":\"\\/\"},\"labels\":{\"a\":\"2\",\"b\":\"1\",\"c\":\"3\"}}");
}

/* n times the same operation. */
static struct str repeated(const char *operation, int n)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 16 << 20);
	for (int i = 0; i < n; i++) {
		buf_printf(&b, "%c%s", i ? ',' : '[', operation);
	}
	buf_addc(&b, ']');
	return arena_dup(&arena, buf_str(&b));
}

static void test_patch_json__too_many_operations(void **state _unused_)
{
	const char *operation = "{\"op\":\"add\",\"path\":\"/a\",\"value\":1}";
	expect(PATCH_JSON, NULL, "{}", repeated(operation, PATCH_MAX_OPERATIONS).p, "{\"a\":1}");
	expect_refusal(PATCH_JSON, NULL, "{}", repeated(operation, PATCH_MAX_OPERATIONS + 1).p, 413,
		"Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001");
}

static void test_patch_json__doubling_ends(void **state _unused_)
{
	is_refused("{\"a\":[\"0123456789\"]}", repeated("{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}", 64).p);
}

static void test_patch_json__depth_ends(void **state _unused_)
{
	const char *nest =
		"{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b/a\"},{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/a\"},"
		"{\"op\":\"add\",\"path\":\"/b\",\"value\":{}}";
	struct attempt t = {.type = PATCH_JSON};
	assert_int_equal(attempt_run(&t, "{\"a\":{},\"b\":{}}", repeated(nest, PATCH_MAX_DEPTH - 2)), 0);
	is_refused("{\"a\":{},\"b\":{}}", repeated(nest, PATCH_MAX_DEPTH).p);
	is_refused("{\"a\":{},\"b\":{}}", repeated(nest, PATCH_MAX_OPERATIONS / 3).p);
}

/* A list of n zeros. */
static const char *zeros(int n)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 16 << 20);
	buf_adds(&b, "{\"l\":[0");
	for (int i = 1; i < n; i++) {
		buf_adds(&b, ",0");
	}
	buf_adds(&b, "]}");
	return arena_dup(&arena, buf_str(&b)).p;
}

static void test_patch_json__moving_many_elements_often_ends(void **state _unused_)
{
	const char *operation = "{\"op\":\"add\",\"path\":\"/l/0\",\"value\":1}";
	struct attempt t = {.type = PATCH_JSON};
	assert_int_equal(attempt_run(&t, zeros(1000), repeated(operation, PATCH_MAX_OPERATIONS)), 0);
	is_refused(zeros(500000), repeated(operation, PATCH_MAX_OPERATIONS).p);
}

static void test_patch_json__memory_ends(void **state _unused_)
{
	struct arena small;
	struct json *result;
	struct status st;
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1 << 20);
	for (int i = 0; i < 2000; i++) {
		buf_printf(&b, "%c\"k%d\":{}", i ? ',' : '{', i);
	}
	buf_addc(&b, '}');
	struct json *doc = parse(b.p), *patch = parse("[{\"op\":\"add\",\"path\":\"/k1/x\",\"value\":1}]");

	arena_init(&small, 1 << 14);
	status_init(&st, &arena);
	assert_int_equal(patch_json(&result, doc, patch, &small, &st), 1);
	assert_int_equal(st.code, 413);
	arena_done(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_patch_json__operations),
		TEST_TREE(test_patch_json__whole_document),
		TEST_TREE(test_patch_json__what_cannot_be_done_fails_the_patch),
		TEST_TREE(test_patch_json__missing_members_count_as_null),
		TEST_TREE(test_patch_json__list_elements),
		TEST_TREE(test_patch_json__pointers),
		TEST_TREE(test_patch_json__test_compares_values),
		TEST_TREE(test_patch_json__copies_are_independent),
		TEST_TREE(test_patch_json__untouched_values_keep_their_text),
		TEST_TREE(test_patch_json__too_many_operations),
		TEST_TREE(test_patch_json__doubling_ends),
		TEST_TREE(test_patch_json__depth_ends),
		TEST_TREE(test_patch_json__moving_many_elements_often_ends),
		TEST_TREE(test_patch_json__memory_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
