#include "base/json.h"
#include "tests/unit/check.h"

/* Ascending; lexemes on one line are the same number. */
static const char *const ladder[][5] = {
	{"-1e99999999999999999999"},
	{"-1e400", "-10e399", "-0.1E+401"},
	{"-18446744073709551617"},
	{"-18446744073709551616"},
	{"-10", "-1e1", "-1.0e01", "-100e-1"},
	{"-1", "-1.0", "-1e0", "-1e-0"},
	{"-1e-400"},
	{"-1e-99999999999999999999"},
	{"0", "-0", "0.000", "0e99999999999999999999", "-0.0e-5"},
	{"1e-99999999999999999999", "10e-100000000000000000000"},
	{"1e-99999999999999999998"},
	{"1e-400", "0.1e-399"},
	{"0.001", "1e-3", "0.0010", "1000e-6"},
	{"0.1", "0.10000", "1e-1"},
	{"0.10000000000000001"},
	{"1", "1.0", "1.0e0", "1E+0", "10e-1"},
	{"1.00000000000000000000000000000001"},
	{"9.99"},
	{"9007199254740992", "9.007199254740992e15"},
	{"9007199254740993"},
	{"18446744073709551616", "18446744073709551616.0"},
	{"18446744073709551617"},
	{"1e9223372036854775807"},
	{"1e9223372036854775808", "10e9223372036854775807", "0.1e9223372036854775809"},
	{"9e9223372036854775808"},
	{"1e99999999999999999998"},
	{"1e99999999999999999999", "1e00099999999999999999999"},
	{"1e100000000000000000000", "0.00001e100000000000000000005"},
};

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

static void compare_rows(size_t i, size_t k)
{
	for (size_t x = 0; x < 5 && ladder[i][x]; x++) {
		for (size_t y = 0; y < 5 && ladder[k][y]; y++) {
			int expected = (i > k) - (i < k);
			int order = sign(json_number_cmp(str_of(ladder[i][x]), str_of(ladder[k][y])));
			if (order != expected) {
				fail_msg("%s against %s: %d", ladder[i][x], ladder[k][y], order);
			}
		}
	}
}

static void test_json_number_cmp__orders_by_exact_value(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(ladder); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(ladder); k++) {
			compare_rows(i, k);
		}
	}
}

static void test_json_number_cmp__long_spellings(void **state _unused_)
{
	_cleanup_(buf_done) struct buf a, b;
	buf_init(&a, 1 << 20);
	buf_init(&b, 1 << 20);
	buf_adds(&a, "1");
	buf_adds(&b, "0.");
	for (int i = 0; i < 100000; i++) {
		buf_addc(&a, '0');
		buf_addc(&b, '0');
	}
	buf_adds(&b, "1e200001");
	assert_int_equal(json_number_cmp(buf_str(&a), buf_str(&b)), 0);
	buf_addc(&b, '0');
	assert_true(json_number_cmp(buf_str(&a), buf_str(&b)) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_json_number_cmp__orders_by_exact_value),
		TEST(test_json_number_cmp__long_spellings),
	};
	return cmocka_run_group_tests_name("json_number", tests, NULL, NULL);
}
