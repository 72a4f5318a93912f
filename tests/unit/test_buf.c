#include "base/buf.h"
#include "tests/unit/check.h"

static void test_buf__appends_and_stays_terminated(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1000);
	assert_true(buf_adds(&b, "a"));
	assert_true(buf_addc(&b, 'b'));
	assert_true(buf_add_str(&b, str_of(NULL)));
	assert_true(BUF_LITERAL(&b, "cd"));
	assert_true(buf_printf(&b, "%d", 42));
	assert_string_equal(b.p, "abcd42");
	assert_int_equal(b.n, 6);
	buf_truncate(&b, 2);
	assert_string_equal(b.p, "ab");
}

static void test_buf__numbers_at_the_ends_of_the_range(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1000);
	buf_add_int(&b, INT64_MIN);
	buf_addc(&b, ' ');
	buf_add_int(&b, INT64_MAX);
	buf_addc(&b, ' ');
	buf_add_int(&b, 0);
	assert_string_equal(b.p, "-9223372036854775808 9223372036854775807 0");
}

static void test_buf__holds_exactly_its_ceiling(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 3);
	assert_true(buf_adds(&b, "abc"));
	assert_false(b.is_over);
	assert_false(buf_addc(&b, 'd'));
	assert_string_equal(b.p, "abc");
	assert_true(b.cap <= 4);
}

static void test_buf__once_over_stays_over_until_cleared(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 3);
	assert_false(buf_adds(&b, "abcd"));
	assert_false(buf_addc(&b, 'a'));
	assert_int_equal(b.n, 0);
	buf_clear(&b);
	assert_true(buf_addc(&b, 'a'));
}

static void test_buf_printf__over_the_ceiling_leaves_the_text(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 5);
	assert_true(buf_printf(&b, "%s", "abc"));
	assert_false(buf_printf(&b, "%s", "defg"));
	assert_string_equal(b.p, "abc");
	assert_true(b.is_over);
}

static void test_buf_printf__grows_when_the_text_does_not_fit(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1000);
	for (int i = 0; i < 9; i++) {
		assert_true(buf_printf(&b, "%0100d", i));
	}
	assert_int_equal(b.n, 900);
	assert_int_equal(b.p[899], '8');
}

static void test_buf_take__hands_over_and_starts_anew(void **state _unused_)
{
	struct buf b;
	buf_init(&b, 10);
	size_t n;
	_cleanup_(mem_freep) char *nothing = buf_take(&b, &n);
	assert_string_equal(nothing, "");
	assert_int_equal(n, 0);

	buf_adds(&b, "abc");
	_cleanup_(mem_freep) char *text = buf_take(&b, NULL);
	assert_string_equal(text, "abc");
	assert_int_equal(b.n, 0);
	assert_true(buf_adds(&b, "0123456789"));
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_buf__appends_and_stays_terminated),
		TEST(test_buf__numbers_at_the_ends_of_the_range),
		TEST(test_buf__holds_exactly_its_ceiling),
		TEST(test_buf__once_over_stays_over_until_cleared),
		TEST(test_buf_printf__over_the_ceiling_leaves_the_text),
		TEST(test_buf_printf__grows_when_the_text_does_not_fit),
		TEST(test_buf_take__hands_over_and_starts_anew),
	};
	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
