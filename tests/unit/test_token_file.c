#include "server/access/token_file.h"
#include "tests/unit/check.h"

static struct tokens *parse(const char *csv)
{
	struct tokens *t;
	struct buf err;
	buf_init(&err, 1024);
	assert_int_equal(tokens_parse(&t, str_of(csv), &err), 0);
	buf_done(&err);
	return t;
}

static void assert_refused(const char *csv, const char *why)
{
	struct tokens *t;
	struct buf err;
	buf_init(&err, 1024);
	assert_true(tokens_parse(&t, str_of(csv), &err) < 0);
	assert_string_equal(err.p, why);
	buf_done(&err);
}

static void test_tokens__find_who_a_token_belongs_to(void **state _unused_)
{
	struct tokens *t = parse("t1,alice,u1\nt2,bob,u2,\"dev,ops\"\r\nt3,carol,u3,dev\n");
	const struct token_user *bob = tokens_find(t, STR("t2"));
	assert_true(str_is(bob->name, "bob") && str_is(bob->uid, "u2"));
	assert_int_equal(bob->n_groups, 2);
	assert_true(str_is(bob->groups[0], "dev") && str_is(bob->groups[1], "ops"));
	assert_int_equal(tokens_find(t, STR("t1"))->n_groups, 0);
	assert_int_equal(tokens_find(t, STR("t3"))->n_groups, 1);
	tokens_free(t);
}

static void test_tokens__know_nobody_by_part_of_a_token(void **state _unused_)
{
	struct tokens *t = parse("secret,alice,u1");
	assert_null(tokens_find(t, STR("secre")));
	assert_null(tokens_find(t, STR("secrets")));
	assert_null(tokens_find(t, STR("")));
	assert_non_null(tokens_find(t, STR("secret")));
	tokens_free(t);
}

static void test_tokens__empty_file_knows_nobody(void **state _unused_)
{
	struct tokens *t = parse("\n\r\n");
	assert_null(tokens_find(t, STR("x")));
	tokens_free(t);
}

static void test_tokens__last_of_equal_tokens_counts(void **state _unused_)
{
	struct tokens *t = parse("t,alice,1\nother,x,9\nt,bob,2\nt,carol,3");
	assert_true(str_is(tokens_find(t, STR("t"))->name, "carol"));
	tokens_free(t);
}

static void test_tokens__empty_token_is_nobody(void **state _unused_)
{
	struct tokens *t = parse(",alice,1\n\"\",bob,2\n");
	assert_null(tokens_find(t, STR("")));
	tokens_free(t);
}

static void test_tokens__quotes_hold_commas_quotes_and_lines(void **state _unused_)
{
	struct tokens *t = parse("\"a,b\",\"say \"\"hi\"\"\",\"1\n2\"\n");
	const struct token_user *u = tokens_find(t, STR("a,b"));
	assert_true(str_is(u->name, "say \"hi\"") && str_is(u->uid, "1\n2"));
	tokens_free(t);
}

static void test_tokens__further_columns_are_ignored(void **state _unused_)
{
	struct tokens *t = parse("t,alice,1,dev,ignored,too");
	assert_int_equal(tokens_find(t, STR("t"))->n_groups, 1);
	tokens_free(t);
}

static void test_tokens__say_which_line_is_wrong(void **state _unused_)
{
	assert_refused("t,alice,1\n\nt,bob", "line 3: a user has at least 3 columns: token, user name, user uid");
	assert_refused("t,a\"b,1", "line 1: a quote within a field that does not begin with one");
	assert_refused("t,alice,1\n\"t,bob,2\n", "line 2: a quoted field has no end");
	assert_refused("\"t\"x,bob,2\n", "line 1: a quoted field must be followed by a comma or the end of the line");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tokens__find_who_a_token_belongs_to),
		TEST(test_tokens__know_nobody_by_part_of_a_token),
		TEST(test_tokens__empty_file_knows_nobody),
		TEST(test_tokens__last_of_equal_tokens_counts),
		TEST(test_tokens__empty_token_is_nobody),
		TEST(test_tokens__quotes_hold_commas_quotes_and_lines),
		TEST(test_tokens__further_columns_are_ignored),
		TEST(test_tokens__say_which_line_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
