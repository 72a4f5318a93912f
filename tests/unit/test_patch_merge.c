#include "tests/unit/patches.h"

static void merges(const char *doc, const char *patch, const char *expected)
{
	expect(PATCH_MERGE, NULL, doc, patch, expected);
}

static void test_patch_merge__null_removes_and_maps_merge(void **state _unused_)
{
	const char *doc = "{\"labels\":{\"x\":\"1\",\"y\":\"2\"},\"list\":[1,2]}";
	merges(doc, "{\"labels\":{\"x\":null,\"z\":\"3\"}}", "{\"labels\":{\"y\":\"2\",\"z\":\"3\"},\"list\":[1,2]}");
	merges(doc, "{\"labels\":null}", "{\"list\":[1,2]}");
	merges(doc, "{\"labels\":{\"gone\":null}}", doc);
	merges(doc, "{\"labels\":{}}", doc);
	merges(doc, "{}", doc);
}

static void test_patch_merge__lists_are_replaced(void **state _unused_)
{
	merges("{\"list\":[1,2]}", "{\"list\":[3]}", "{\"list\":[3]}");
	merges("{\"list\":[1,2]}", "{\"list\":{\"a\":1}}", "{\"list\":{\"a\":1}}");
	merges("{\"list\":1}", "{\"list\":[]}", "{\"list\":[]}");
}

static void test_patch_merge__nulls_in_new_values_are_dropped(void **state _unused_)
{
	merges("{}", "{\"a\":{\"b\":null,\"c\":[null,{\"d\":null}]}}", "{\"a\":{\"c\":[null,{}]}}");
	merges("{\"a\":null}", "{\"a\":{\"b\":null}}", "{\"a\":{}}");
	merges("{\"a\":1}", "{\"a\":[{\"d\":null}]}", "{\"a\":[{}]}");
}

static void test_patch_merge__a_list_instead_of_an_object_keeps_its_nulls(void **state _unused_)
{
	merges("{\"a\":{}}", "{\"a\":[{\"d\":null}]}", "{\"a\":[{\"d\":null}]}");
}

static void test_patch_merge__what_is_opened_is_sorted(void **state _unused_)
{
	merges("{\"z\":1,\"data\":{\"y\":{\"d\":1,\"c\":2},\"x\":1}}", "{\"data\":{\"x\":2}}",
		"{\"data\":{\"x\":2,\"y\":{\"d\":1,\"c\":2}},\"z\":1}");
	merges("{\"data\":{\"b\":1,\"a\":1,\"b\":2}}", "{\"data\":{\"c\":3}}", "{\"data\":{\"a\":1,\"b\":2,\"c\":3}}");
}

static void test_patch_merge__untouched_values_keep_their_text(void **state _unused_)
{
	merges("{\"data\":{\"z\":1.0,\"a\":1e5,\"big\":12345678901234567890123,\"s\":\"\\/\",\"z\":-0}}", "{\"revision\":2}",
		"{\"data\":{\"z\":1.0,\"a\":1e5,\"big\":12345678901234567890123,\"s\":\"\\/\",\"z\":-0},\"revision\":2}");
	merges("{\"a\":1}", "{\"n\":18446744073709551617.0}", "{\"a\":1,\"n\":18446744073709551617.0}");
}

static void test_patch_merge__shares_what_it_does_not_change(void **state _unused_)
{
	struct attempt t = {.type = PATCH_MERGE};
	assert_int_equal(attempt_run(&t, "{\"data\":{\"k\":[1]},\"revision\":1}", STR("{\"revision\":2}")), 0);
	assert_ptr_equal(json_gets(t.result, "data"), json_gets(t.doc, "data"));
}

static void test_patch_merge__the_last_of_repeated_members_counts(void **state _unused_)
{
	merges("{\"a\":{\"k\":1}}", "{\"a\":null,\"a\":{\"l\":2}}", "{\"a\":{\"k\":1,\"l\":2}}");
	merges("{\"a\":1}", "{\"a\":2,\"a\":null}", "{}");
}

static void test_patch_merge__big_objects_merge(void **state _unused_)
{
	_cleanup_(buf_done) struct buf doc, patch;
	buf_init(&doc, 8 << 20);
	buf_init(&patch, 8 << 20);
	for (int i = 0; i < 50000; i++) {
		buf_printf(&doc, "%c\"k%d\":1", i ? ',' : '{', i);
		buf_printf(&patch, "%c\"k%d\":2", i ? ',' : '{', 50000 - i);
	}
	buf_addc(&doc, '}');
	buf_addc(&patch, '}');

	struct attempt t = {.type = PATCH_MERGE};
	assert_int_equal(attempt_run(&t, doc.p, buf_str(&patch)), 0);
	assert_int_equal(t.result->n, 50001);
	assert_str(json_text(json_gets(t.result, "k0")), "1");
	assert_str(json_text(json_gets(t.result, "k777")), "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_patch_merge__null_removes_and_maps_merge),
		TEST_TREE(test_patch_merge__lists_are_replaced),
		TEST_TREE(test_patch_merge__nulls_in_new_values_are_dropped),
		TEST_TREE(test_patch_merge__a_list_instead_of_an_object_keeps_its_nulls),
		TEST_TREE(test_patch_merge__what_is_opened_is_sorted),
		TEST_TREE(test_patch_merge__untouched_values_keep_their_text),
		TEST_TREE(test_patch_merge__shares_what_it_does_not_change),
		TEST_TREE(test_patch_merge__the_last_of_repeated_members_counts),
		TEST_TREE(test_patch_merge__big_objects_merge),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
