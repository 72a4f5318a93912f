#include "base/bytes.h"
#include "tests/unit/check.h"

#include <pthread.h>

static void test_bytes__copies_and_terminates(void **state _unused_)
{
	_cleanup_(bytes_unrefp) struct bytes *b = bytes_dup(STR("abc"));
	assert_str(bytes_str(b), "abc");
	assert_int_equal(b->p[3], '\0');
	assert_str(bytes_str(NULL), "");
}

static void test_bytes__null_is_welcome(void **state _unused_)
{
	assert_null(bytes_ref(NULL));
	assert_null(bytes_unref(NULL));
}

static void *ref_and_unref(void *shared)
{
	for (int i = 0; i < 10000; i++) {
		bytes_unref(bytes_ref(shared));
	}
	bytes_unref(shared);
	return NULL;
}

static void test_bytes__the_last_of_many_threads_frees(void **state _unused_)
{
	struct bytes *shared = bytes_dup(STR("shared"));
	pthread_t threads[4];
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, ref_and_unref, bytes_ref(shared)), 0);
	}
	bytes_unref(shared);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bytes__copies_and_terminates),
		TEST(test_bytes__null_is_welcome),
		TEST(test_bytes__the_last_of_many_threads_frees),
	};
	return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
