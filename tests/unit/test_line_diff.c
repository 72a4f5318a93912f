#include "api/diff/line_diff.h"
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

/* An item of a list is shown as a whole, not as the end of one and the beginning of another. */
static void test_line_diff__shows_items_as_they_are_read(void **state _unused_)
{
	check_diff("l:\n- n: 1\n  v: x\n", "l:\n- n: 0\n  v: x\n- n: 1\n  v: x\n",
		"--- a\n+++ b\n@@ -1,3 +1,5 @@\n l:\n+- n: 0\n+  v: x\n - n: 1\n   v: x\n");
	check_diff("l:\n- n: 1\n  v: x\nm: 1\n", "l:\n- n: 1\n  v: x\n- n: 2\n  v: x\nm: 1\n",
		"--- a\n+++ b\n@@ -1,4 +1,6 @@\n l:\n - n: 1\n   v: x\n+- n: 2\n+  v: x\n m: 1\n");
	check_diff("l:\n- n: 1\n  v: x\n- n: 2\n  v: x\nm: 1\n", "l:\n- n: 1\n  v: x\nm: 1\n",
		"--- a\n+++ b\n@@ -1,6 +1,4 @@\n l:\n - n: 1\n   v: x\n-- n: 2\n-  v: x\n m: 1\n");
	check_diff("x\n", "x\nx\n", "--- a\n+++ b\n@@ -1,1 +1,2 @@\n x\n+x\n");
}

/* ---- of any texts ---- */

struct random {
	uint64_t state;
};

static unsigned pick(struct random *r, unsigned n)
{
	r->state = r->state * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(r->state >> 33) % n;
}

/* Lines of few different letters: most of them can be matched in several ways. */
static void write_text(struct buf *text, struct random *r, unsigned n, unsigned n_letters)
{
	for (unsigned i = 0; i < n; i++) {
		buf_printf(text, "%*s%c\n", (int)pick(r, 3), "", (int)('a' + pick(r, n_letters)));
	}
}

/* The same with some lines that go, come, or become another one. */
static void write_edited(struct buf *out, struct str text, struct random *r, unsigned n_letters)
{
	struct str line;
	while (text.n > 0) {
		str_cut(text, '\n', &line, &text);
		unsigned what = pick(r, 8);
		if (what == 0 || what == 1) {
			write_text(out, r, 1, n_letters);
		}
		if (what != 1 && what != 2) {
			buf_printf(out, STR_FMT "\n", STR_ARG(line));
		}
	}
}

struct replay {
	struct str from; /* what is left of the first text */
	uint32_t at;     /* its lines that have been read */
	struct buf to;   /* made of it */
	unsigned n_edits;
};

static struct str next_line(struct replay *r)
{
	struct str line;
	assert_true(r->from.n > 0);
	str_cut(r->from, '\n', &line, &r->from);
	r->at++;
	return line;
}

static void copy_line(struct replay *r)
{
	struct str line = next_line(r);
	buf_printf(&r->to, STR_FMT "\n", STR_ARG(line));
}

static bool replay_line(void *ctx, const struct hunk_line *line)
{
	struct replay *r = ctx;
	if (line->sign != '+') {
		if (line->sign == '-') {
			assert_int_equal(line->number, r->at);
		}
		assert_true(str_eq(next_line(r), line->text));
	}
	if (line->sign != '-') {
		buf_printf(&r->to, STR_FMT "\n", STR_ARG(line->text));
	}
	r->n_edits += line->sign != ' ';
	return true;
}

/* Applies the hunks to the first text, which has to become the second. How many lines came or went. */
static unsigned check_replay(struct str from, struct str to, uint32_t context)
{
	struct line_changes changes;
	struct line_hunk hunk = {0};
	struct replay r = {.from = from};
	buf_init(&r.to, to.n);
	line_changes_init(&changes, from, to);
	while (line_hunk_next(&changes, context, &hunk)) {
		while (r.at < hunk.from) {
			copy_line(&r);
		}
		uint32_t end = r.at + hunk.n_from;
		assert_true(line_hunk_each(&changes, &hunk, replay_line, &r));
		assert_int_equal(r.at, end);
	}
	while (r.from.n > 0) {
		copy_line(&r);
	}
	assert_true(str_eq(buf_str(&r.to), to));
	line_changes_done(&changes);
	buf_done(&r.to);
	return r.n_edits;
}

static unsigned count_lines(struct str text)
{
	unsigned n = 0;
	for (size_t i = 0; i < text.n; i++) {
		n += text.p[i] == '\n';
	}
	return n;
}

enum { SMALL = 64 };

static void cut_lines(struct str text, struct str *lines)
{
	for (size_t i = 0; text.n > 0; i++) {
		str_cut(text, '\n', &lines[i], &text);
	}
}

/* How many lines have to come or go, by the plain table of common subsequences. */
static unsigned shortest(struct str from, struct str to)
{
	unsigned n = count_lines(from), m = count_lines(to), common[SMALL + 1][SMALL + 1] = {{0}};
	struct str a[SMALL], b[SMALL];
	assert_true(n <= SMALL && m <= SMALL);
	cut_lines(from, a);
	cut_lines(to, b);
	for (unsigned i = n; i-- > 0;) {
		for (unsigned j = m; j-- > 0;) {
			common[i][j] = str_eq(a[i], b[j]) ? common[i + 1][j + 1] + 1 : MAX(common[i + 1][j], common[i][j + 1]);
		}
	}
	return n + m - 2 * common[0][0];
}

static void test_line_diff__leads_from_one_text_to_the_other(void **state _unused_)
{
	static const uint32_t contexts[] = {0, 1, 3, UINT32_MAX};
	struct random r = {1};
	struct buf from, to;
	buf_init(&from, 1 << 20);
	buf_init(&to, 1 << 20);
	for (int i = 0; i < 2000; i++) {
		unsigned n_letters = 1 + pick(&r, 8);
		buf_clear(&from);
		buf_clear(&to);
		write_text(&from, &r, pick(&r, SMALL / 2), n_letters);
		if (i % 2) {
			write_edited(&to, buf_str(&from), &r, n_letters);
		} else {
			write_text(&to, &r, pick(&r, SMALL / 2), n_letters);
		}
		unsigned n = check_replay(buf_str(&from), buf_str(&to), contexts[(size_t)i / 2 % ARRAY_SIZE(contexts)]);
		assert_int_equal(n, shortest(buf_str(&from), buf_str(&to)));
	}
	buf_done(&from);
	buf_done(&to);
}

/* Too many differences for the shortest way: it stays a way, and what is common in whole stretches is found. */
static void test_line_diff__of_very_many_changes_is_true(void **state _unused_)
{
	enum { LINES = 60000, BIG = 16 << 20 };
	struct random r = {2};
	struct buf from, to;
	buf_init(&from, BIG);
	buf_init(&to, BIG);
	write_text(&from, &r, LINES, 2);
	write_text(&to, &r, LINES, 2);
	unsigned n = check_replay(buf_str(&from), buf_str(&to), 3);
	assert_true(n < 2 * LINES);
	buf_clear(&to);
	write_edited(&to, buf_str(&from), &r, 20);
	n = check_replay(buf_str(&from), buf_str(&to), 3);
	assert_true(n < LINES);
	buf_done(&from);
	buf_done(&to);
}

static void test_line_diff__takes_texts_without_a_last_newline(void **state _unused_)
{
	check_diff("x\ny", "x\nz", "--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n");
	check_diff("x", "x\n", "");
	check_diff("\n\n", "\n", "--- a\n+++ b\n@@ -1,2 +1,1 @@\n \n-\n");
}

/* Nothing is common: all is replaced. */
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
		TEST(test_line_diff__shows_items_as_they_are_read),
		TEST(test_line_diff__takes_texts_without_a_last_newline),
		TEST(test_line_diff__leads_from_one_text_to_the_other),
		TEST(test_line_diff__of_very_many_changes_is_true),
		TEST(test_line_diff__of_many_lines_is_true),
	};
	return cmocka_run_group_tests_name("line_diff", tests, NULL, NULL);
}
