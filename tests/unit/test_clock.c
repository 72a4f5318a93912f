#include "base/clock.h"
#include "tests/unit/check.h"

static void test_clock__monotonic_time_does_not_go_back(void **state _unused_)
{
	int64_t a = clock_mono_ns(), b = clock_mono_ns();
	assert_true(b >= a);
	assert_true(clock_mono_ms() >= a / 1000000);
	assert_true(clock_boot_ms() >= a / 1000000); /* the time the machine slept counts */
	assert_true(clock_cpu_ns() >= 0);
}

static void test_clock__wall_time_is_this_century(void **state _unused_)
{
	assert_true(clock_wall_s() > 1600000000);
	assert_true(clock_wall_us() / 1000000 >= 1600000000);
}

struct time_case {
	int64_t wall_s;
	const char *text;
};

static const struct time_case time_cases[] = {
	{0, "1970-01-01T00:00:00Z"},
	{-1, "1969-12-31T23:59:59Z"},
	{951782400, "2000-02-29T00:00:00Z"},
	{951868800, "2000-03-01T00:00:00Z"},
	{1136214245, "2006-01-02T15:04:05Z"},
	{1735689599, "2024-12-31T23:59:59Z"},
	{4107542400, "2100-03-01T00:00:00Z"},
	{253402300799, "9999-12-31T23:59:59Z"},
	{-62135596800, "0001-01-01T00:00:00Z"},
};

static void test_time__formats_and_parses_back(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(time_cases); i++) {
		char text[TIME_RFC3339_SIZE];
		time_format_rfc3339(text, time_cases[i].wall_s);
		assert_string_equal(text, time_cases[i].text);
		int64_t us;
		assert_true(time_parse_rfc3339(str_of(text), &us));
		assert_true(us == time_cases[i].wall_s * 1000000);
	}
}

static void test_time__agrees_with_the_c_library_on_every_day(void **state _unused_)
{
	for (int64_t s = -86400 * (int64_t)40000; s < 86400 * (int64_t)60000; s += 86400) {
		char ours[TIME_RFC3339_SIZE], theirs[64];
		time_t t = s;
		struct tm tm;
		strftime(theirs, sizeof(theirs), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
		time_format_rfc3339(ours, s);
		assert_string_equal(ours, theirs);
	}
}

static void test_time__years_of_five_digits_are_clamped(void **state _unused_)
{
	char text[TIME_RFC3339_SIZE];
	time_format_rfc3339(text, INT64_MAX);
	assert_string_equal(text, "9999-12-31T23:59:59Z");
	time_format_rfc3339(text, INT64_MIN);
	assert_string_equal(text, "0000-01-01T00:00:00Z");
}

static void test_time__microseconds(void **state _unused_)
{
	char text[TIME_RFC3339_MICRO_SIZE];
	time_format_rfc3339_micro(text, 1136214245000007);
	assert_string_equal(text, "2006-01-02T15:04:05.000007Z");
	time_format_rfc3339_micro(text, -1);
	assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
}

struct parse_case {
	const char *text;
	bool is_time;
	int64_t wall_us;
};

static const struct parse_case parse_cases[] = {
	{"2006-01-02T15:04:05.5Z", true, 1136214245500000},
	{"2006-01-02T15:04:05.123456789Z", true, 1136214245123456},
	{"2006-01-02T15:04:05,5Z", true, 1136214245500000},
	{"2006-01-02T15:04:05+01:00", true, 1136210645000000},
	{"2006-01-02T15:04:05-07:30", true, 1136241245000000},
	{"2004-02-29T00:00:00Z", true, 1078012800000000},
	{"2005-02-29T00:00:00Z", false, 0},
	{"2006-13-02T15:04:05Z", false, 0},
	{"2006-00-02T15:04:05Z", false, 0},
	{"2006-01-32T15:04:05Z", false, 0},
	{"2006-01-02T24:04:05Z", false, 0},
	{"2006-01-02T15:60:05Z", false, 0},
	{"2006-01-02T15:04:60Z", false, 0},
	{"2006-01-02T15:04:05.Z", false, 0},
	{"2006-01-02T15:04:05", false, 0},
	{"2006-01-02T15:04:05z", false, 0},
	{"2006-01-02t15:04:05Z", false, 0},
	{"2006-01-02T15:04:05+0100", false, 0},
	{"2006-01-02T15:04:05Z ", false, 0},
	{"2006-01-02", false, 0},
	{"", false, 0},
	{NULL, false, 0},
};

static void test_time_parse__takes_what_go_takes(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(parse_cases); i++) {
		int64_t us = 0;
		assert_int_equal(time_parse_rfc3339(str_of(parse_cases[i].text), &us), parse_cases[i].is_time);
		assert_true(!parse_cases[i].is_time || us == parse_cases[i].wall_us);
	}
}

struct age_case {
	int64_t seconds;
	const char *text;
};

enum { MINUTE = 60, HOUR = 3600, DAY = 86400, YEAR = 365 * DAY };

/* From k8s.io/apimachinery/pkg/util/duration's own tests, and the borders between them. */
static const struct age_case age_cases[] = {
	{-2, "<invalid>"},
	{-1, "0s"},
	{0, "0s"},
	{1, "1s"},
	{70, "70s"},
	{119, "119s"},
	{120, "2m"},
	{190, "3m10s"},
	{10 * MINUTE - 1, "9m59s"},
	{10 * MINUTE, "10m"},
	{70 * MINUTE, "70m"},
	{3 * HOUR - 1, "179m"},
	{3 * HOUR, "3h"},
	{3 * HOUR + 10 * MINUTE, "3h10m"},
	{8 * HOUR - 1, "7h59m"},
	{8 * HOUR, "8h"},
	{47 * HOUR, "47h"},
	{2 * DAY, "2d"},
	{2 * DAY + HOUR, "2d1h"},
	{8 * DAY - 1, "7d23h"},
	{8 * DAY, "8d"},
	{100 * DAY, "100d"},
	{2 * YEAR - 1, "729d"},
	{2 * YEAR, "2y"},
	{2 * (int64_t)YEAR + DAY, "2y1d"},
	{3 * (int64_t)YEAR + 14 * DAY, "3y14d"},
	{8 * (int64_t)YEAR - 1, "7y364d"},
	{8 * (int64_t)YEAR, "8y"},
	{100 * (int64_t)YEAR, "100y"},
	{INT64_MAX, "292471208677y"},
};

static void test_duration_format_human__is_kubectls_age(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(age_cases); i++) {
		char text[32];
		duration_format_human(text, age_cases[i].seconds);
		assert_string_equal(text, age_cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_clock__monotonic_time_does_not_go_back),
		TEST(test_clock__wall_time_is_this_century),
		TEST(test_time__formats_and_parses_back),
		TEST(test_time__agrees_with_the_c_library_on_every_day),
		TEST(test_time__years_of_five_digits_are_clamped),
		TEST(test_time__microseconds),
		TEST(test_time_parse__takes_what_go_takes),
		TEST(test_duration_format_human__is_kubectls_age),
	};
	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
