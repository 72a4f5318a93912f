#include "base/map.h"
#include "tests/unit/check.h"

static int values[2000];

static struct str key_of(char out[16], int i)
{
	return (struct str){out, (size_t)snprintf(out, 16, "key-%d", i)};
}

static void fill(struct map *m, int n)
{
	for (int i = 0; i < n; i++) {
		char key[16];
		assert_true(map_set(m, key_of(key, i), &values[i], NULL));
	}
}

static void test_map__finds_what_was_set(void **state _unused_)
{
	_cleanup_(map_done) struct map m;
	map_init(&m, SIZE_MAX);
	assert_null(map_get(&m, STR("key-0")));
	fill(&m, 2000);
	for (int i = 0; i < 2000; i++) {
		char key[16];
		assert_ptr_equal(map_get(&m, key_of(key, i)), &values[i]);
	}
	assert_null(map_get(&m, STR("key-2000")));
	assert_int_equal(m.n, 2000);
}

static void test_map__the_empty_key_is_a_key(void **state _unused_)
{
	_cleanup_(map_done) struct map m;
	map_init(&m, 10);
	map_set(&m, str_of(NULL), &values[0], NULL);
	assert_ptr_equal(map_get(&m, STR("")), &values[0]);
	assert_ptr_equal(map_remove(&m, STR("")), &values[0]);
}

static void test_map_set__replaces_and_tells_the_old(void **state _unused_)
{
	_cleanup_(map_done) struct map m;
	map_init(&m, 1);
	void *old = &values[9];
	assert_true(map_set(&m, STR("a"), &values[0], &old));
	assert_null(old);
	assert_true(map_set(&m, STR("a"), &values[1], &old));
	assert_ptr_equal(old, &values[0]);
	assert_int_equal(m.n, 1);
}

static void test_map_set__refuses_more_than_max(void **state _unused_)
{
	_cleanup_(map_done) struct map m;
	map_init(&m, 2);
	fill(&m, 2);
	assert_false(map_set(&m, STR("one more"), &values[0], NULL));
	assert_true(map_set(&m, STR("key-1"), &values[5], NULL));
	map_remove(&m, STR("key-0"));
	assert_true(map_set(&m, STR("one more"), &values[0], NULL));
}

static void test_map_remove__while_walking_leaves_the_others(void **state _unused_)
{
	_cleanup_(map_done) struct map m;
	map_init(&m, SIZE_MAX);
	fill(&m, 1000);
	int n_seen = 0;
	for (struct map_entry *e = map_next(&m, NULL); e; e = map_next(&m, e)) {
		if (n_seen++ % 2 == 0) {
			assert_non_null(map_remove(&m, e->key));
		}
	}
	assert_int_equal(n_seen, 1000);
	assert_int_equal(m.n, 500);

	n_seen = 0;
	for (struct map_entry *e = map_next(&m, NULL); e; e = map_next(&m, e)) {
		assert_ptr_equal(map_get(&m, e->key), e->value);
		n_seen++;
	}
	assert_int_equal(n_seen, 500);
}

static void test_map__coming_and_going_does_not_grow(void **state _unused_)
{
	_cleanup_(map_done) struct map m;
	map_init(&m, SIZE_MAX);
	for (int i = 0; i < 2000; i++) {
		char key[16];
		map_set(&m, key_of(key, i), &values[i], NULL);
		assert_ptr_equal(map_remove(&m, key_of(key, i)), &values[i]);
		assert_null(map_remove(&m, key_of(key, i)));
	}
	assert_true(m.cap <= 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_map__finds_what_was_set),
		TEST(test_map__the_empty_key_is_a_key),
		TEST(test_map_set__replaces_and_tells_the_old),
		TEST(test_map_set__refuses_more_than_max),
		TEST(test_map_remove__while_walking_leaves_the_others),
		TEST(test_map__coming_and_going_does_not_grow),
	};
	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
