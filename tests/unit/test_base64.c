#include "base/base64.h"
#include "tests/unit/check.h"

static bool decode(const char *text, struct str *ret, size_t *ret_n)
{
	static char out[64];
	bool ok = base64_decode(out, str_of(text), ret_n);
	*ret = (struct str){out, ok ? *ret_n : 0};
	return ok;
}

static void test_decode__takes_what_encode_makes(void **state _unused_)
{
	static const char bytes[] = "\x00\xff\x10\x83\x7f\xfe";
	for (size_t n = 0; n < sizeof(bytes); n++) {
		char text[16] = "";
		struct str out;
		size_t size;
		base64_encode(text, (struct str){bytes, n});
		assert_true(decode(text, &out, &size));
		assert_true(str_eq(out, (struct str){bytes, n}));
	}
}

static void test_decode__passes_over_line_breaks_and_bits_too_many(void **state _unused_)
{
	static const struct {
		const char *text, *bytes;
	} rows[] = {{"YQ==\n", "a"}, {"Y\nQ\r==", "a"}, {"YQ=\n=", "a"}, {"YR==", "a"}, {"YWJ=", "ab"}, {"\n", ""},
		{"YWJj\nYQ==", "abca"}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str out;
		size_t n;
		assert_true(decode(rows[i].text, &out, &n));
		assert_str(out, rows[i].bytes);
	}
}

/* The places are those that Go's encoding/base64 names. */
static void test_decode__says_where_it_goes_wrong(void **state _unused_)
{
	static const struct {
		const char *text;
		size_t wrong;
	} rows[] = {{"YQ=", 3}, {"YQ", 0}, {"YQ===", 4}, {"YQ==x", 4}, {"Y=Q=", 1}, {"=", 0}, {"a", 0}, {"ab!d", 2},
		{"abcd=", 4}, {"abcdef=", 7}, {"abcdefg", 4}, {"abcd efgh", 4}, {"ab==cd==", 4}, {"abc=\nd", 5}, {"YQ=x", 2},
		{" YQ==", 0}, {"YQ== ", 4}, {"-_-_", 0}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str out;
		size_t n;
		assert_false(decode(rows[i].text, &out, &n));
		assert_int_equal(n, rows[i].wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_decode__takes_what_encode_makes),
		TEST(test_decode__passes_over_line_breaks_and_bits_too_many),
		TEST(test_decode__says_where_it_goes_wrong),
	};
	return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
