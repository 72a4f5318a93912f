#include "cli/kubectl/line_diff.h"
#include "tests/unit/check.h"

static void check_diff(const char *from, const char *to, const char *expected)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	line_diff(&out, str_of(from), str_of(to), "a", "b");
	assert_str(buf_str(&out), expected);
	buf_done(&out);
}

static void test_line_diff__equal_texts_have_none(void **state _unused_)
{
	check_diff("", "", "");
	check_diff("x\ny\n", "x\ny\n", "");
}

static void test_line_diff__shows_lines_that_come_and_go(void **state _unused_)
{
	check_diff("x\n", "x\ny\n", "--- a\n+++ b\n@@ -1,1 +1,2 @@\n x\n+y\n");
	check_diff("x\ny\n", "y\n", "--- a\n+++ b\n@@ -1,2 +1,1 @@\n-x\n y\n");
	check_diff("x\ny\nz\n", "x\nw\nz\n", "--- a\n+++ b\n@@ -1,3 +1,3 @@\n x\n-y\n+w\n z\n");
	check_diff("", "y\n", "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+y\n");
	check_diff("y\n", "", "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-y\n");
}

static void test_line_diff__keeps_what_both_have(void **state _unused_)
{
	check_diff("a\nb\nc\n", "b\nc\nd\n", "--- a\n+++ b\n@@ -1,3 +1,3 @@\n-a\n b\n c\n+d\n");
}

static void test_line_diff__changes_far_apart_are_two_hunks(void **state _unused_)
{
	check_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n",
		"--- a\n+++ b\n@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+nine\n");
	check_diff("1\n2\n3\n4\n5\n6\n7\n8\n", "one\n2\n3\n4\n5\n6\n7\neight\n",
		"--- a\n+++ b\n@@ -1,8 +1,8 @@\n-1\n+one\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+eight\n");
}

/* Beyond the table of common subsequences all in between is replaced, which is true, if not short. */
static void test_line_diff__of_many_lines_is_true(void **state _unused_)
{
	enum { LINES = 3000 };
	struct buf from, to, out;
	size_t n_gone = 0, n_new = 0;
	buf_init(&from, 1 << 20);
	buf_init(&to, 1 << 20);
	buf_init(&out, 1 << 20);
	for (int i = 0; i < LINES; i++) {
		buf_printf(&from, "%d\n", i);
		buf_printf(&to, "%d\n", i + LINES);
	}
	line_diff(&out, buf_str(&from), buf_str(&to), "a", "b");
	struct str rest = buf_str(&out), line;
	while (rest.n > 0) {
		str_cut(rest, '\n', &line, &rest);
		n_gone += line.p[0] == '-' && !str_starts(line, STR("---"));
		n_new += line.p[0] == '+' && !str_starts(line, STR("+++"));
	}
	assert_int_equal(n_gone, LINES);
	assert_int_equal(n_new, LINES);
	buf_done(&from);
	buf_done(&to);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_line_diff__equal_texts_have_none),
		TEST(test_line_diff__shows_lines_that_come_and_go),
		TEST(test_line_diff__keeps_what_both_have),
		TEST(test_line_diff__changes_far_apart_are_two_hunks),
		TEST(test_line_diff__of_many_lines_is_true),
	};
	return cmocka_run_group_tests_name("line_diff", tests, NULL, NULL);
}
