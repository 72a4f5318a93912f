#include "cli/kubectl/put_back.h"

#include "tests/unit/patches.h"

/* The patch, and what the object becomes by it. */
static void check_undo(const char *data, const char *object, const char *patch, const char *result)
{
	struct attempt t = {.type = PATCH_MERGE};
	struct str made = encoded(undo_patch(parse(data), parse(object), &arena));
	assert_str(made, patch);
	assert_int_equal(attempt_run(&t, object, made), 0);
	assert_true(json_equal(t.result, parse(result)));
}

static void test_undo_patch__merges_what_the_revision_says(void **state _unused_)
{
	check_undo(
		"{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":2,\"b\":3}}", "{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":1,\"b\":3}}");
	check_undo("{\"spec\":{\"l\":[1]}}", "{}", "{\"spec\":{\"l\":[1]}}", "{\"spec\":{\"l\":[1]}}");
}

static void test_undo_patch__replaces_where_it_says_so(void **state _unused_)
{
	check_undo("{\"spec\":{\"t\":{\"$patch\":\"replace\",\"a\":1}}}", "{\"spec\":{\"t\":{\"a\":2,\"b\":3},\"n\":4}}",
		"{\"spec\":{\"t\":{\"a\":1,\"b\":null}}}", "{\"spec\":{\"t\":{\"a\":1},\"n\":4}}");
}

static void test_undo_patch__replaces_all_the_way_down(void **state _unused_)
{
	check_undo("{\"t\":{\"$patch\":\"replace\",\"a\":{\"x\":1},\"c\":{\"y\":1}}}",
		"{\"t\":{\"a\":{\"x\":1,\"z\":2},\"b\":{}}}", "{\"t\":{\"a\":{\"x\":1,\"z\":null},\"c\":{\"y\":1},\"b\":null}}",
		"{\"t\":{\"a\":{\"x\":1},\"c\":{\"y\":1}}}");
}

static void test_undo_patch__replaces_what_is_not_there(void **state _unused_)
{
	check_undo("{\"t\":{\"$patch\":\"replace\",\"a\":1}}", "{}", "{\"t\":{\"a\":1}}", "{\"t\":{\"a\":1}}");
	check_undo("{\"t\":{\"$patch\":\"replace\",\"a\":1}}", "{\"t\":7}", "{\"t\":{\"a\":1}}", "{\"t\":{\"a\":1}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_undo_patch__merges_what_the_revision_says),
		TEST_TREE(test_undo_patch__replaces_where_it_says_so),
		TEST_TREE(test_undo_patch__replaces_all_the_way_down),
		TEST_TREE(test_undo_patch__replaces_what_is_not_there),
	};
	return cmocka_run_group_tests_name("undo_patch", tests, NULL, NULL);
}
