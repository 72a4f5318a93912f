#include "storage/cache/shared.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdio.h>

/* What is made of a content: its length. */
struct length {
	size_t n;
};

static unsigned n_made;

static void make_length(void *made, struct str content)
{
	__atomic_add_fetch(&n_made, 1, __ATOMIC_RELAXED);
	*(struct length *)made = (struct length){content.n};
}

static const struct length *get(const char *content)
{
	return shared_get(str_of(content), sizeof(struct length), make_length);
}

static void test_shared__equal_content_is_kept_once(void **state _unused_)
{
	char copy[] = "abc";
	unsigned before = n_made;
	const struct length *x = get("abc"), *y = get(copy), *z = get("abd");
	assert_ptr_equal(x, y);
	assert_ptr_not_equal(x, z);
	assert_int_equal(n_made - before, 2);
	assert_int_equal(x->n, 3);
	copy[0] = 'x';
	assert_str(shared_content(x), "abc");
	assert_int_equal(shared_stats().n, 2);
	shared_unref(x);
	shared_unref(z);
	assert_str(shared_content(y), "abc");
	shared_unref(y);
	assert_int_equal(shared_stats().n, 0);
}

static void test_shared__the_last_reference_gives_all_back(void **state _unused_)
{
	const struct length *x = get("abc");
	size_t size = shared_size(x);
	assert_true(size > sizeof(struct length) + 3);
	assert_true(shared_stats().n_bytes >= size);
	shared_ref(x);
	shared_unref(x);
	assert_int_equal(shared_stats().n, 1);
	shared_unref(x);
	assert_int_equal(shared_stats().n_bytes, 0);
	shared_unref(NULL);
	assert_int_equal(shared_size(NULL), 0);
	assert_null(shared_ref(NULL));
}

static void test_shared__nothing_is_a_content_too(void **state _unused_)
{
	const struct length *x = get("");
	assert_int_equal(x->n, 0);
	assert_ptr_equal(get(""), x);
	shared_unref(x);
	shared_unref(x);
	assert_int_equal(shared_stats().n, 0);
}

static void test_shared__grows_and_shrinks(void **state _unused_)
{
	enum { MANY = 10000 };
	static const struct length *v[MANY];
	char text[16];
	for (size_t i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "%zu", i);
		v[i] = get(text);
	}
	assert_int_equal(shared_stats().n, MANY);
	size_t most = shared_stats().n_bytes;
	for (size_t i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "%zu", i);
		assert_ptr_equal(get(text), v[i]);
		shared_unref(v[i]);
	}
	for (size_t i = 0; i < MANY - 16; i++) {
		shared_unref(v[i]);
	}
	assert_true(shared_stats().n_bytes < most / 4);
	for (size_t i = MANY - 16; i < MANY; i++) {
		shared_unref(v[i]);
	}
	assert_int_equal(shared_stats().n_bytes, 0);
}

/* The last reference is given back by one thread while another takes: it must find a whole one, old or new. Else it returns arg. */
static void *take_and_give(void *arg)
{
	enum { ROUNDS = 20000, CONTENTS = 3 };
	static const char *const contents[CONTENTS] = {"a", "bb", "ccc"};
	for (size_t i = 0; i < ROUNDS; i++) {
		const char *content = contents[i % CONTENTS];
		const struct length *x = get(content), *y = shared_ref(x);
		shared_unref(x);
		if (y->n != strlen(content) || !str_is(shared_content(y), content)) {
			return arg;
		}
		shared_unref(y);
	}
	return NULL;
}

static void test_shared__threads_take_and_give_back(void **state _unused_)
{
	pthread_t threads[4];
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, threads), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		void *problem;
		assert_int_equal(pthread_join(threads[i], &problem), 0);
		assert_null(problem);
	}
	assert_int_equal(shared_stats().n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_shared__equal_content_is_kept_once),
		TEST(test_shared__the_last_reference_gives_all_back),
		TEST(test_shared__nothing_is_a_content_too),
		TEST(test_shared__grows_and_shrinks),
		TEST(test_shared__threads_take_and_give_back),
	};
	return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
