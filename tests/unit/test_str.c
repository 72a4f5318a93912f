#include "base/str.h"
#include "tests/unit/check.h"

static void test_str__absent_equals_empty(void **state _unused_)
{
	assert_true(str_eq(str_of(NULL), STR("")));
	assert_true(str_is(STR("a"), "a"));
	assert_false(str_is(STR("a"), "b"));
	assert_false(str_is(STR("a"), "ab"));
}

static void test_str_sort__sorts(void **state _unused_)
{
	struct str texts[] = {STR("b"), STR("ab"), STR(""), STR("a")};
	str_sort(texts, ARRAY_SIZE(texts));
	assert_true(str_is(texts[0], "") && str_is(texts[1], "a") && str_is(texts[2], "ab") && str_is(texts[3], "b"));
	str_sort(NULL, 0);
}

static void test_char_shown__is_never_anything_else(void **state _unused_)
{
	assert_int_equal(char_shown('!'), '!');
	assert_int_equal(char_shown('~'), '~');
	for (const char *odd = " \n\x7f\xc3"; *odd; odd++) {
		assert_int_equal(char_shown(*odd), '?');
	}
	assert_int_equal(char_shown('\0'), '?');
}

static void test_str_cmp__orders_by_bytes_then_length(void **state _unused_)
{
	assert_true(str_cmp(STR("a"), STR("b")) < 0);
	assert_true(str_cmp(STR("a"), STR("ab")) < 0);
	assert_true(str_cmp(STR("\x7f"), STR("\x80")) < 0);
	assert_int_equal(str_cmp(STR("a"), STR("a")), 0);
	assert_int_equal(str_cmp(str_of(NULL), STR("")), 0);
	assert_true(str_cmp(str_of(NULL), STR("a")) < 0);
}

static void test_str_eq_nocase__folds_ascii_letters_only(void **state _unused_)
{
	assert_true(str_eq_nocase(STR("Content-TYPE"), STR("content-type")));
	assert_false(str_eq_nocase(STR("a["), STR("A{")));
	assert_false(str_eq_nocase(STR("\xc3\x84"), STR("\xc3\xa4")));
}

static void test_str__prefix_suffix_and_infix(void **state _unused_)
{
	assert_true(str_starts(STR("apis/apps"), STR("apis/")));
	assert_false(str_starts(STR("api"), STR("apis")));
	assert_true(str_ends(STR("web-0"), STR("-0")));
	assert_false(str_ends(STR("0"), STR("-0")));
	assert_true(str_ends(STR("x"), STR("")));
	assert_true(str_contains(STR("abc"), STR("bc")));
	assert_true(str_contains(str_of(NULL), STR("")));
	assert_false(str_contains(STR("abc"), STR("cb")));
}

static void test_str_trim__takes_blanks_off_both_ends(void **state _unused_)
{
	assert_str(str_trim(STR(" \t a b\r\n")), "a b");
	assert_str(str_trim(STR("  ")), "");
	assert_str(str_trim(str_of(NULL)), "");
}

static void test_str_cut__cuts_at_the_first_separator(void **state _unused_)
{
	struct str head, tail;
	assert_true(str_cut(STR("a=b=c"), '=', &head, &tail));
	assert_str(head, "a");
	assert_str(tail, "b=c");
	assert_true(str_cut(STR("="), '=', &head, &tail));
	assert_str(head, "");
	assert_str(tail, "");
	assert_false(str_cut(STR("abc"), '=', &head, &tail));
	assert_str(head, "abc");
	assert_false(str_cut(str_of(NULL), '=', &head, &tail));
}

struct int_case {
	const char *text;
	bool is_int64, is_uint64;
	int64_t value;
};

static const struct int_case int_cases[] = {
	{"0", true, true, 0},
	{"007", true, true, 7},
	{"-1", true, false, -1},
	{"+1", true, false, 1},
	{"9223372036854775807", true, true, INT64_MAX},
	{"-9223372036854775808", true, false, INT64_MIN},
	{"9223372036854775808", false, true, INT64_MIN},
	{"-9223372036854775809", false, false, 0},
	{"18446744073709551615", false, true, -1},
	{"18446744073709551616", false, false, 0},
	{"", false, false, 0},
	{"-", false, false, 0},
	{"--1", false, false, 0},
	{" 1", false, false, 0},
	{"1 ", false, false, 0},
	{"1a", false, false, 0},
	{"1.0", false, false, 0},
};

static void test_str_to_int__takes_whole_numbers_in_range(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(int_cases); i++) {
		const struct int_case *c = &int_cases[i];
		int64_t n;
		uint64_t u;
		assert_int_equal(str_to_int64(str_of(c->text), &n), c->is_int64);
		assert_int_equal(str_to_uint64(str_of(c->text), &u), c->is_uint64);
		assert_true(!c->is_int64 || n == c->value);
		assert_true(!c->is_uint64 || u == (uint64_t)c->value);
	}
}

static void test_str_hash__depends_on_every_byte_and_the_length(void **state _unused_)
{
	char zeros[40] = {0};
	for (size_t n = 0; n < sizeof(zeros); n++) {
		struct str s = {zeros, n};
		uint64_t plain = str_hash(s);
		assert_int_equal(plain, str_hash(s));
		assert_int_not_equal(plain, str_hash((struct str){zeros, n + 1}));
		for (size_t i = 0; i < n; i++) {
			zeros[i] = 1;
			assert_int_not_equal(plain, str_hash(s));
			zeros[i] = 0;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_str__absent_equals_empty),
		TEST(test_str_cmp__orders_by_bytes_then_length),
		TEST(test_str_sort__sorts),
		TEST(test_char_shown__is_never_anything_else),
		TEST(test_str_eq_nocase__folds_ascii_letters_only),
		TEST(test_str__prefix_suffix_and_infix),
		TEST(test_str_trim__takes_blanks_off_both_ends),
		TEST(test_str_cut__cuts_at_the_first_separator),
		TEST(test_str_to_int__takes_whole_numbers_in_range),
		TEST(test_str_hash__depends_on_every_byte_and_the_length),
	};
	return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
