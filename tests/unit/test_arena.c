#include "base/arena.h"
#include "tests/unit/check.h"

enum { CEILING = 1 << 20 };

static void test_arena__allocations_are_aligned_and_apart(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, CEILING);
	char *all[200];
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		arena_text(&a, i % 3);
		all[i] = arena_alloc(&a, i);
		assert_int_equal((uintptr_t)all[i] % 16, 0);
		memset(all[i], (int)i, i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		for (size_t k = 0; k < i; k++) {
			assert_int_equal((unsigned char)all[i][k], i);
		}
	}
}

static void test_arena__beyond_the_ceiling_is_told_not_refused(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 10000);
	arena_alloc(&a, 5000);
	assert_false(arena_is_full(&a));
	memset(arena_alloc(&a, 20000), 1, 20000);
	assert_true(arena_is_full(&a));
	arena_clear(&a);
	assert_false(arena_is_full(&a));
}

static void test_arena__starts_in_the_callers_memory(void **state _unused_)
{
	char first[256];
	_cleanup_(arena_done) struct arena a;
	arena_init_with(&a, CEILING, first, sizeof(first));
	char *p = arena_text(&a, 100);
	assert_true(p >= first && p + 100 <= first + sizeof(first));
	assert_int_equal(a.used, 0);
	arena_alloc(&a, 1000);
	assert_true(a.used >= 1000);
	arena_clear(&a);
	assert_int_equal(a.used, 0);
	assert_ptr_equal(arena_text(&a, 1), first);
}

static void test_arena__a_big_one_does_not_waste_the_rest_of_a_block(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, CEILING);
	char *before = arena_text(&a, 1);
	arena_alloc(&a, 100000);
	char *after = arena_text(&a, 1);
	assert_true(after > before && after < before + 64);
}

static void test_arena__clearing_keeps_the_first_block(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, CEILING);
	char *p = arena_alloc(&a, 10);
	for (int i = 0; i < 100; i++) {
		arena_alloc(&a, 1000);
	}
	arena_clear(&a);
	assert_true(a.used > 0 && a.used <= 4096);
	assert_ptr_equal(arena_alloc(&a, 10), p);
}

static void test_arena__clearing_gives_a_huge_first_block_back(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, CEILING);
	arena_alloc(&a, CEILING);
	arena_clear(&a);
	assert_int_equal(a.used, 0);
}

static void test_arena__zeroed_and_copied(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, CEILING);
	uint64_t *v = arena_array(&a, uint64_t, 50);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(v[i], 0);
	}
	struct str copy = arena_dup(&a, STR("abc"));
	assert_string_equal(copy.p, "abc");
	assert_string_equal(arena_dup(&a, str_of(NULL)).p, "");
	assert_string_equal(arena_strdup(&a, "def"), "def");
	assert_str(arena_printf(&a, "%s=%d", "n", 5), "n=5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_arena__allocations_are_aligned_and_apart),
		TEST(test_arena__beyond_the_ceiling_is_told_not_refused),
		TEST(test_arena__starts_in_the_callers_memory),
		TEST(test_arena__a_big_one_does_not_waste_the_rest_of_a_block),
		TEST(test_arena__clearing_keeps_the_first_block),
		TEST(test_arena__clearing_gives_a_huge_first_block_back),
		TEST(test_arena__zeroed_and_copied),
	};
	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
