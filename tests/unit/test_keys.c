#include "storage/keys.h"
#include "storage/storage.h"
#include "tests/unit/check.h"
#include "tests/unit/check_arena.h"

static void test_keys__namespaced_and_cluster_scoped(void **state)
{
	struct arena *a = *state;
	struct str none = {NULL, 0};
	assert_str(key_object(a, STR("/annals"), STR("apps"), STR("statefulsets"), STR("default"), STR("web")),
		"/annals/objects/apps/statefulsets/default/web");
	assert_str(key_object(a, STR("/annals"), none, STR("namespaces"), none, STR("default")),
		"/annals/objects/core/namespaces/default");
}

static void test_keys__history_of_an_owner(void **state)
{
	struct arena *a = *state;
	struct str history = key_history(a, STR("/annals"), STR("ns"), STR("12-ab"));
	assert_str(history, "/annals/history/ns/12-ab/");
	assert_str(key_below(a, key_history_digest(a, history, STR("bcd")), STR("web-1")),
		"/annals/history/ns/12-ab/digest/bcd/web-1");
	assert_str(key_below(a, key_history_number(a, history, 7), STR("web-1")), "/annals/history/ns/12-ab/number/7/web-1");
	assert_str(key_history(a, STR("/annals"), STR("ns"), (struct str){"a/b%c\0d e", 9}),
		"/annals/history/ns/a%2Fb%25c%00d%20e/");
}

static void test_keys__fixed_ones(void **state)
{
	struct arena *a = *state;
	assert_str(key_objects_prefix(a, STR("/annals")), "/annals/objects/");
	assert_str(key_compact(a, STR("/annals")), "/annals/compact_rev_key");
	assert_str(key_fence(a, STR("/annals")), "/annals/fence");
	assert_str(key_recorder_salts(a, STR("/annals")), "/annals/recorder-salts");
}

static void test_keys__split_is_the_way_back(void **state)
{
	struct arena *a = *state;
	struct str none = {NULL, 0}, prefix = key_objects_prefix(a, STR("/annals"));
	struct key_parts parts;
	assert_true(key_split(
		key_object(a, STR("/annals"), STR("apps"), STR("statefulsets"), STR("ns"), STR("web")), prefix, &parts));
	assert_str(parts.group, "apps");
	assert_str(parts.resource, "statefulsets");
	assert_str(parts.rest, "ns/web");
	assert_true(key_split(key_object(a, STR("/annals"), none, STR("namespaces"), none, STR("x")), prefix, &parts));
	assert_str(parts.group, "");
	assert_str(parts.resource, "namespaces");
	assert_str(parts.rest, "x");
}

static void test_keys__split_refuses_other_shapes(void **state _unused_)
{
	static const char *const keys[] = {
		"/other/objects/apps/statefulsets/ns/web",
		"/annals/objects/",
		"/annals/objects/apps",
		"/annals/objects/apps/statefulsets",
		"/annals/objects/apps/statefulsets/",
		"/annals/objects//statefulsets/web",
		"/annals/objects/apps//web",
		"/annals/compact_rev_key",
	};
	struct key_parts parts;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_false(key_split(str_of(keys[i]), STR("/annals/objects/"), &parts));
	}
}

static void test_prefix_end__is_the_next_that_is_no_longer(void **state)
{
	struct arena *a = *state;
	assert_str(storage_prefix_end(a, STR("/a/")), "/a0");
	assert_str(storage_prefix_end(a, STR("a\xff")), "b");
	assert_str(storage_prefix_end(a, STR("\xfe")), "\xff");
}

static void test_prefix_end__of_everything_is_open(void **state)
{
	struct arena *a = *state;
	struct str open = STR("\0");
	assert_true(str_eq(storage_prefix_end(a, STR("")), open));
	assert_true(str_eq(storage_prefix_end(a, STR("\xff\xff")), open));
}

#define ARENA_TEST(f) cmocka_unit_test_setup_teardown(f, start_arena, free_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARENA_TEST(test_keys__namespaced_and_cluster_scoped),
		ARENA_TEST(test_keys__history_of_an_owner),
		ARENA_TEST(test_keys__fixed_ones),
		ARENA_TEST(test_keys__split_is_the_way_back),
		TEST(test_keys__split_refuses_other_shapes),
		ARENA_TEST(test_prefix_end__is_the_next_that_is_no_longer),
		ARENA_TEST(test_prefix_end__of_everything_is_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
