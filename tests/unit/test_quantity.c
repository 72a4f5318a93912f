#include "api/model/quantity.h"
#include "tests/unit/check.h"

static struct str written(struct arena *a, const char *text)
{
	struct quantity q;
	const char *wrong = quantity_parse(&q, str_of(text), a);
	assert_null(wrong);
	return quantity_text(&q, a);
}

static void check_rows(const char *const (*rows)[2], size_t n, int64_t round_to)
{
	for (size_t i = 0; i < n; i++) {
		struct arena a;
		arena_init(&a, 1 << 20);
		struct quantity q;
		assert_null(quantity_parse(&q, str_of(rows[i][0]), &a));
		quantity_round_up(&q, round_to, &a);
		struct str text = quantity_text(&q, &a);
		if (!str_is(text, rows[i][1])) {
			fail_msg("%s is written " STR_FMT ", not %s", rows[i][0], STR_ARG(text), rows[i][1]);
		}
		arena_done(&a);
	}
}

static void test_quantity__largest_unit_without_loss(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"0", "0"},
		{"0.0", "0"},
		{"0Ki", "0"},
		{"-0", "0"},
		{"1000m", "1"},
		{"0.5", "500m"},
		{"1.5", "1500m"},
		{"1000", "1k"},
		{"1024Mi", "1Gi"},
		{"1024", "1024"},
		{"1.5Gi", "1536Mi"},
		{"0.5Ki", "512"},
		{"0.1Ki", "102400m"},
		{"1023Ki", "1023Ki"},
		{"12000000", "12M"},
		{"12e6", "12e6"},
		{"12000e3", "12e6"},
		{"1E", "1E"},
		{"1e-3", "1e-3"},
		{"100e-4", "10e-3"},
		{"-1000m", "-1"},
		{"-1024Ki", "-1Mi"},
		{"9223372036854775808", "9223372036854775808"},
		{"1e21", "1e21"},
	};
	check_rows(rows, ARRAY_SIZE(rows), INT32_MIN);
}

/* Nothing but beauty is at stake, and upstream leaves them as they are. */
static void test_quantity__small_numbers_keep_their_spelling(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"+5", "+5"},
		{"005", "005"},
		{"1.500", "1.500"},
		{"5E3", "5E3"},
		{"+7Ki", "+7Ki"},
		{"1.50", "1500m"},
		{"+8Ki", "8Ki"},
		{"1.0", "1"},
		{"+0.5", "500m"},
	};
	check_rows(rows, ARRAY_SIZE(rows), INT32_MIN);
}

static void test_quantity__rounds_away_from_zero(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"1u", "1m"},
		{"-1u", "-1m"},
		{"1500u", "2m"},
		{"999999u", "1"},
		{"0.9991", "1"},
		{"1.0001Ki", "1024103m"},
		{"1e-100", "1e-3"},
		{"0.0", "0"},
		{"2m", "2m"},
	};
	check_rows(rows, ARRAY_SIZE(rows), -3);
	static const char *const finest[][2] = {{"0.1n", "1n"}, {"1.1n", "2n"}, {"-0.1n", "-1n"}};
	check_rows(finest, ARRAY_SIZE(finest), INT32_MIN);
}

static void test_quantity__binary_amounts_end_at_63_bits(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"8Ei", "9223372036854775807"},
		{"7Ei", "7Ei"},
		{"99999999Ei", "9223372036854775807"},
		{"-99999999Ei", "-9223372036854775807"},
	};
	check_rows(rows, ARRAY_SIZE(rows), INT32_MIN);
}

static void test_quantity__loses_nothing_beyond_the_largest_unit(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"5000E", "5000E"}, {"1234567890123456789012345678901E", "1234567890123456789012345678901E"}};
	check_rows(rows, ARRAY_SIZE(rows), INT32_MIN);
}

static void test_quantity__refuses_in_upstream_words(void **state)
{
	(void)state;
	static const char format[] =
		"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
	static const char suffix[] = "unable to parse quantity's suffix";
	static const char *const rows[][2] = {
		{"", format},
		{"abc", format},
		{"1x", format},
		{"1e5x", format},
		{"1 ", format},
		{"1.2.3", format},
		{"1mm", suffix},
		{"1e", suffix},
		{"1ki", suffix},
		{"--1", suffix},
		{"1e99999999999999999999", suffix},
		{"Pi", "unable to parse numeric part of quantity"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena a;
		struct quantity q;
		arena_init(&a, 1 << 20);
		assert_string_equal(quantity_parse(&q, str_of(rows[i][0]), &a), rows[i][1]);
		arena_done(&a);
	}
}

/* In ascending order; neighbours of one value are written differently. */
static const char *const ascending[][2] = {
	{"-1Gi", "-1024Mi"},
	{"-1500m", "-1.5"},
	{"-1n", "-1e-9"},
	{"0", "0Ki"},
	{"1n", "0.000000001"},
	{"999m", "0.999"},
	{"1", "1000m"},
	{"1001m", "1.001"},
	{"1k", "1000"},
	{"1Ki", "1024"},
	{"1e18", "1E"},
	{"1e400", "10e399"},
};

static void test_quantity__order_is_that_of_values(void **state)
{
	(void)state;
	struct arena a;
	struct quantity x, y, same;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(ascending); i++) {
		quantity_parse(&x, str_of(ascending[i][0]), &a);
		quantity_parse(&same, str_of(ascending[i][1]), &a);
		assert_int_equal(quantity_cmp(&x, &same), 0);
		for (size_t k = i + 1; k < ARRAY_SIZE(ascending); k++) {
			quantity_parse(&y, str_of(ascending[k][0]), &a);
			assert_true(quantity_cmp(&x, &y) < 0 && quantity_cmp(&y, &x) > 0);
		}
	}
	arena_done(&a);
}

/* Whatever is read and written is read as the same value and written the same: numbers of all lengths with all units. */
static void test_quantity__writing_is_stable(void **state)
{
	(void)state;
	static const char *const units[] = {
		"n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e7", "e-5"};
	static const char digits[] = "90070000000123400056";
	for (size_t i = 0; i < ARRAY_SIZE(units) * (sizeof(digits) - 1) * (sizeof(digits) - 1); i++) {
		size_t unit = i % ARRAY_SIZE(units), rest = i / ARRAY_SIZE(units);
		int n_whole = (int)(rest % (sizeof(digits) - 1)), n_fraction = (int)(rest / (sizeof(digits) - 1));
		struct arena a;
		struct quantity x, y;
		arena_init(&a, 1 << 20);
		struct str text = arena_printf(
			&a, "%.*s.%.*s%s", n_whole, digits, n_fraction, digits + sizeof(digits) - 1 - n_fraction, units[unit]);
		if (!quantity_parse(&x, text, &a)) {
			struct str once = arena_dup(&a, quantity_text(&x, &a));
			assert_null(quantity_parse(&y, once, &a));
			assert_int_equal(quantity_cmp(&x, &y), 0);
			assert_true(str_eq(written(&a, once.p), once));
		}
		arena_done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantity__largest_unit_without_loss),
		cmocka_unit_test(test_quantity__small_numbers_keep_their_spelling),
		cmocka_unit_test(test_quantity__rounds_away_from_zero),
		cmocka_unit_test(test_quantity__binary_amounts_end_at_63_bits),
		cmocka_unit_test(test_quantity__loses_nothing_beyond_the_largest_unit),
		cmocka_unit_test(test_quantity__refuses_in_upstream_words),
		cmocka_unit_test(test_quantity__order_is_that_of_values),
		cmocka_unit_test(test_quantity__writing_is_stable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
