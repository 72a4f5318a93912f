#include "delegation/flights.h"
#include "tests/unit/check.h"

static unsigned n_freed;

static void free_value(void *value)
{
	n_freed++;
	mem_free(value);
}

static void put(struct answers *a, const char *key, const char *value, int64_t until_ms)
{
	answers_put(a, str_of(key), mem_strdup(value), strlen(value), until_ms);
}

static void assert_answer(struct answers *a, const char *key, int64_t now_ms, const char *expected)
{
	assert_str(str_of(answers_get(a, str_of(key), now_ms)), expected);
}

static void open_answers(struct answers *a, size_t max, size_t max_bytes)
{
	n_freed = 0;
	answers_init(a, max, max_bytes, free_value);
}

static void test_answers__last_until_their_time_is_over(void **state _unused_)
{
	struct answers a;
	open_answers(&a, 10, 1 << 20);
	put(&a, "k", "v", 100);
	assert_answer(&a, "k", 99, "v");
	assert_null(answers_get(&a, STR("k"), 100));
	answers_done(&a);
	assert_int_equal(n_freed, 1);
}

static void test_answers__are_remembered_while_there_is_room(void **state _unused_)
{
	struct answers a;
	open_answers(&a, 2, 1 << 20);
	put(&a, "k", "v", 100);
	assert_null(answers_get(&a, STR("k"), 100));
	assert_true(answers_remembers(&a, STR("k")));
	assert_false(answers_remembers(&a, STR("other")));
	put(&a, "l", "w", 200);
	put(&a, "m", "x", 200);
	assert_false(answers_remembers(&a, STR("k")));
	answers_remove(&a, STR("l"));
	assert_false(answers_remembers(&a, STR("l")));
	assert_int_equal(n_freed, 2);
	answers_done(&a);
}

static void test_answers__none_are_kept_where_there_is_no_room_at_all(void **state _unused_)
{
	struct answers a;
	open_answers(&a, 0, 1 << 20);
	put(&a, "k", "v", 100);
	assert_int_equal(n_freed, 1);
	assert_null(answers_get(&a, STR("k"), 0));
	answers_done(&a);
}

static void test_answers__later_ones_replace_earlier_ones(void **state _unused_)
{
	struct answers a;
	open_answers(&a, 10, 1 << 20);
	put(&a, "k", "old", 100);
	put(&a, "k", "new", 200);
	assert_answer(&a, "k", 150, "new");
	assert_int_equal(a.by_key.n, 1);
	assert_int_equal(n_freed, 1);
	answers_done(&a);
	assert_int_equal(n_freed, 2);
}

static void test_answers__least_recently_used_goes_first(void **state _unused_)
{
	struct answers a;
	open_answers(&a, 2, 1 << 20);
	put(&a, "a", "1", 100);
	put(&a, "b", "2", 100);
	assert_answer(&a, "a", 1, "1");
	put(&a, "c", "3", 100);
	assert_null(answers_get(&a, STR("b"), 1));
	assert_answer(&a, "a", 1, "1");
	assert_answer(&a, "c", 1, "3");
	answers_done(&a);
}

static void test_answers__take_no_more_bytes_than_they_may(void **state _unused_)
{
	enum { MAX_BYTES = 1 << 12 };
	struct answers a;
	char key[16], big[MAX_BYTES + 1];
	open_answers(&a, 1000, MAX_BYTES);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		put(&a, key, "value", 100);
		assert_true(a.n_bytes <= MAX_BYTES);
	}
	size_t n = a.by_key.n;
	assert_true(n > 1 && n < 1000);
	assert_answer(&a, key, 1, "value");

	memset(big, 'b', MAX_BYTES);
	big[MAX_BYTES] = '\0';
	put(&a, "big", big, 100);
	assert_null(answers_get(&a, STR("big"), 1));
	assert_int_equal(a.by_key.n, n);
	answers_done(&a);
	assert_int_equal(a.n_bytes, 0);
	assert_int_equal(n_freed, 1001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answers__last_until_their_time_is_over),
		TEST(test_answers__are_remembered_while_there_is_room),
		TEST(test_answers__none_are_kept_where_there_is_no_room_at_all),
		TEST(test_answers__later_ones_replace_earlier_ones),
		TEST(test_answers__least_recently_used_goes_first),
		TEST(test_answers__take_no_more_bytes_than_they_may),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
