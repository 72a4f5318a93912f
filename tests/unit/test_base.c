#include "base/base.h"
#include "tests/unit/check.h"

static void test_mem__nothing_is_still_a_pointer(void **state _unused_)
{
	void *p = mem_alloc(0);
	assert_non_null(p);
	p = mem_realloc(p, 0);
	assert_non_null(p);
	assert_null(mem_free(p));
}

static void test_mem__arrays_are_zeroed(void **state _unused_)
{
	_cleanup_(mem_freep) uint64_t *v = mem_array(100, sizeof(*v));
	for (int i = 0; i < 100; i++) {
		assert_int_equal(v[i], 0);
	}
}

static void test_mem__copies_are_terminated(void **state _unused_)
{
	_cleanup_(mem_freep) char *s = mem_strndup("annals", 3);
	_cleanup_(mem_freep) char *empty = mem_strndup(NULL, 0);
	_cleanup_(mem_freep) char *formatted = mem_printf("%s-%d", "web", 7);
	assert_string_equal(s, "ann");
	assert_string_equal(empty, "");
	assert_string_equal(formatted, "web-7");
}

static void test_take_ptr__leaves_null_behind(void **state _unused_)
{
	char *owner = mem_strdup("x");
	_cleanup_(mem_freep) char *taken = take_ptr(owner);
	assert_null(owner);
	assert_string_equal(taken, "x");
}

static void test_error_trace__passes_its_argument(void **state _unused_)
{
	assert_int_equal(error_trace(-5), -5);
	assert_int_equal(error_trace(0), 0);
	assert_int_equal(error_trace(3), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_mem__nothing_is_still_a_pointer),
		TEST(test_mem__arrays_are_zeroed),
		TEST(test_mem__copies_are_terminated),
		TEST(test_take_ptr__leaves_null_behind),
		TEST(test_error_trace__passes_its_argument),
	};
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
