#include "base/visible.h"
#include "tests/unit/check.h"

/* What becomes of a text, as a part of a line and as lines. */
static const struct {
	const char *text, *part, *lines;
} rows[] = {
	{"", "", ""},
	{"plain \\ text \"quoted\"", "plain \\ text \"quoted\"", "plain \\ text \"quoted\""},
	{"gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac \xf0\x9f\x98\x80",
		"gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac \xf0\x9f\x98\x80"},
	{"a\nb\tc\r", "a\\nb\\tc\\r", "a\nb\tc\\r"},
	{"\x1b[2J\x07\x7f\x01", "\\u001b[2J\\u0007\\u007f\\u0001", "\\u001b[2J\\u0007\\u007f\\u0001"},
	{"\xc2\x9b"
	 "2J\xc2\x80\xc2\x9f\xc2\xa0",
		"\\u009b2J\\u0080\\u009f\xc2\xa0", "\\u009b2J\\u0080\\u009f\xc2\xa0"},
	{"\x9b", "\\x9b", "\\x9b"},                  /* C1 to a terminal that knows no UTF-8 */
	{"x\xe2\x82", "x\\xe2\\x82", "x\\xe2\\x82"}, /* cut */
	{"\xc0\x9b", "\\xc0\\x9b", "\\xc0\\x9b"},    /* overlong */
	{"user\xe2\x80\xaetxt.exe\xe2\x81\xa6", "user\\u202etxt.exe\\u2066", "user\\u202etxt.exe\\u2066"},
	{"ad\xe2\x80\x8bmin\xef\xbb\xbf\xc2\xad", "ad\\u200bmin\\ufeff\\u00ad", "ad\\u200bmin\\ufeff\\u00ad"},
	{"\xf3\xa0\x81\x81x\xef\xb8\x8f\xe2\x80\x8d", "\\udb40\\udc41x\\ufe0f\\u200d",
		"\\udb40\\udc41x\\ufe0f\\u200d"}, /* a tag */
	/* A heart, a rainbow flag, and a joiner that joins nothing. */
	{"\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f"},
	{"\xf0\x9f\x8f\xb3\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x8c\x88", "\xf0\x9f\x8f\xb3\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x8c\x88",
		"\xf0\x9f\x8f\xb3\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x8c\x88"},
	{"\xf0\x9f\x98\x80\xe2\x80\x8d", "\xf0\x9f\x98\x80\\u200d", "\xf0\x9f\x98\x80\\u200d"},
	{"\xe2\x80\xa8\xe2\x80\x8f\xd8\x9c", "\\u2028\\u200f\\u061c", "\\u2028\\u200f\\u061c"},
};

static void test_visible__shows_what_a_terminal_would_obey(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf part, lines;
		buf_init(&part, 1024);
		buf_init(&lines, 1024);
		visible_add(&part, str_of(rows[i].text));
		visible_add_lines(&lines, str_of(rows[i].text));
		assert_str(buf_str(&part), rows[i].part);
		assert_str(buf_str(&lines), rows[i].lines);
		assert_int_equal(visible_is(str_of(rows[i].text)), strcmp(rows[i].text, rows[i].lines) == 0);
		buf_done(&part);
		buf_done(&lines);
	}
}

/* So it may be done twice. */
static void test_visible__leaves_what_it_has_made(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(visible_is(str_of(rows[i].part)));
		assert_true(visible_is(str_of(rows[i].lines)));
	}
}

/* Each byte, and each pair of bytes, as its own text: nothing but printable ASCII and sequences of two that are no C1. */
static void test_visible__of_all_pairs_of_bytes_nothing_is_left_to_obey(void **state _unused_)
{
	struct buf out;
	buf_init(&out, 1024);
	for (unsigned i = 0; i < 0x10000; i++) {
		const char pair[] = {(char)(i >> 8), (char)i};
		buf_clear(&out);
		visible_add(&out, (struct str){pair, 2});
		for (size_t k = 0; k < out.n; k++) {
			unsigned char c = (unsigned char)out.p[k];
			assert_true(c >= 0x20 && c != 0x7f);
			if (c >= 0x80) {
				assert_true(k == 0 && out.n == 2 && c >= 0xc2 && c < 0xe0);
				assert_true(c > 0xc2 || (unsigned char)out.p[1] >= 0xa0);
				break;
			}
		}
	}
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_visible__shows_what_a_terminal_would_obey),
		TEST(test_visible__leaves_what_it_has_made),
		TEST(test_visible__of_all_pairs_of_bytes_nothing_is_left_to_obey),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
