#include "server/http/http_alarm.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { N = 500 };

static void test_alarms__empty_set_has_no_first(void **state _unused_)
{
	struct alarms s;
	alarms_init(&s);
	assert_null(alarms_first(&s));
	alarms_done(&s);
}

static void test_alarms__first_is_the_earliest(void **state _unused_)
{
	struct alarms s;
	struct alarm late = {0}, early = {0};
	alarms_init(&s);
	alarms_set(&s, &late, 20);
	assert_ptr_equal(alarms_first(&s), &late);
	alarms_set(&s, &early, 10);
	assert_ptr_equal(alarms_first(&s), &early);
	alarms_done(&s);
}

static void test_alarms__setting_again_moves_it(void **state _unused_)
{
	struct alarms s;
	struct alarm a = {0}, b = {0};
	alarms_init(&s);
	alarms_set(&s, &a, 10);
	alarms_set(&s, &b, 20);
	alarms_set(&s, &a, 30);
	assert_ptr_equal(alarms_first(&s), &b);
	assert_int_equal(s.n, 2);
	alarms_done(&s);
}

static void test_alarms__cancelling_what_is_not_set_is_harmless(void **state _unused_)
{
	struct alarms s;
	struct alarm a = {0};
	alarms_init(&s);
	alarms_cancel(&s, &a);
	alarms_set(&s, &a, 1);
	alarms_cancel(&s, &a);
	alarms_cancel(&s, &a);
	assert_null(alarms_first(&s));
	alarms_done(&s);
}

/* Against the plainest model: an array and a search for its minimum. */
static int64_t earliest(const struct alarm *alarms)
{
	int64_t at = INT64_MAX;
	for (size_t i = 0; i < N; i++) {
		at = alarms[i].place ? MIN(at, alarms[i].at_ms) : at;
	}
	return at;
}

static void test_alarms__random_use_keeps_the_earliest_first(void **state _unused_)
{
	static struct alarm alarms[N];
	struct alarms s;
	alarms_init(&s);
	srandom(1);
	for (unsigned step = 0; step < 20000; step++) {
		struct alarm *a = &alarms[(size_t)random() % N];
		if (random() % 3) {
			alarms_set(&s, a, random() % 1000);
		} else {
			alarms_cancel(&s, a);
		}
		assert_int_equal(alarms_first(&s) ? alarms_first(&s)->at_ms : INT64_MAX, earliest(alarms));
	}
	alarms_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_alarms__empty_set_has_no_first),
		TEST(test_alarms__first_is_the_earliest),
		TEST(test_alarms__setting_again_moves_it),
		TEST(test_alarms__cancelling_what_is_not_set_is_harmless),
		TEST(test_alarms__random_use_keeps_the_earliest_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
