#include "base/base.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_ALLOCATOR 1
#endif
#endif
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_ALLOCATOR 1
#endif

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

#ifndef HAS_OWN_ALLOCATOR
static bool is_mapped(uintptr_t address)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char resident;
	return mincore((void *)(address / page * page), 1, &resident) == 0 || errno != ENOMEM;
}
#endif

static void test_mem__large_blocks_go_back_when_they_are_freed(void **state _unused_)
{
#ifdef HAS_OWN_ALLOCATOR
	skip();
#else
	mem_init();
	/* By itself the C library takes this for a sign that smaller ones are to be kept. */
	mem_free(mem_alloc(4 << 20));
	void *p = mem_alloc(1 << 20);
	uintptr_t address = (uintptr_t)p;
	assert_true(is_mapped(address));
	mem_free(p);
	assert_false(is_mapped(address));
#endif
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
		TEST(test_mem__large_blocks_go_back_when_they_are_freed),
		TEST(test_take_ptr__leaves_null_behind),
		TEST(test_error_trace__passes_its_argument),
	};
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
