#include "client/lines.h"
#include "tests/unit/check.h"

struct heard {
	struct buf text; /* lines, each with a | behind it */
	unsigned stop_at, n;
};

static bool hear(void *ctx, struct str line)
{
	struct heard *h = ctx;
	buf_add_str(&h->text, line);
	buf_addc(&h->text, '|');
	return ++h->n != h->stop_at;
}

static void test_lines__are_the_same_however_they_are_cut(void **state _unused_)
{
	static const char stream[] = "one\n{\"two\":2}\r\n\n\nthree\nrest";
	for (size_t piece = 1; piece <= sizeof(stream); piece++) {
		struct lines l;
		struct heard h = {0};
		lines_init(&l, 100);
		buf_init(&h.text, 1000);
		for (size_t at = 0; at < sizeof(stream) - 1; at += piece) {
			struct str bytes = {stream + at, MIN(piece, sizeof(stream) - 1 - at)};
			assert_true(lines_feed(&l, bytes, hear, &h));
		}
		assert_str(buf_str(&h.text), "one|{\"two\":2}|three|");
		buf_done(&h.text);
		lines_done(&l);
	}
}

static void test_lines__longest_is_taken_and_one_byte_more_refused(void **state _unused_)
{
	for (size_t piece = 1; piece <= 7; piece++) {
		for (size_t n = 5; n <= 6; n++) {
			struct lines l;
			struct heard h = {0};
			bool is_fine = true;
			lines_init(&l, 5);
			buf_init(&h.text, 1000);
			for (size_t at = 0; at < n + 1 && is_fine; at += piece) {
				struct str bytes = {&"123456\n"[6 - n] + at, MIN(piece, n + 1 - at)};
				is_fine = lines_feed(&l, bytes, hear, &h);
			}
			assert_int_equal(is_fine, n == 5);
			assert_int_equal(h.n, n == 5);
			buf_done(&h.text);
			lines_done(&l);
		}
	}
}

static void test_lines__end_where_the_reader_says_so(void **state _unused_)
{
	struct lines l;
	struct heard h = {.stop_at = 2};
	lines_init(&l, 100);
	buf_init(&h.text, 1000);
	assert_false(lines_feed(&l, STR("a\nb\nc\n"), hear, &h));
	assert_str(buf_str(&h.text), "a|b|");
	buf_done(&h.text);
	lines_done(&l);
}

static void test_lines_clear__forgets_half_a_line(void **state _unused_)
{
	struct lines l;
	struct heard h = {0};
	lines_init(&l, 100);
	buf_init(&h.text, 1000);
	assert_true(lines_feed(&l, STR("half of"), hear, &h));
	lines_clear(&l);
	assert_true(lines_feed(&l, STR("new\n"), hear, &h));
	assert_str(buf_str(&h.text), "new|");
	buf_done(&h.text);
	lines_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lines__are_the_same_however_they_are_cut),
		TEST(test_lines__longest_is_taken_and_one_byte_more_refused),
		TEST(test_lines__end_where_the_reader_says_so),
		TEST(test_lines_clear__forgets_half_a_line),
	};
	return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
