#include "cli/kubectl/complete_plan.h"

#include "tests/unit/check.h"

static const char *text;
static bool flag;
static const struct option flags[] = {
	{"namespace", OPTION_STRING, &text, "NAME", "", 0, 0},
	{"n", OPTION_STRING, &text, "NAME", "", 0, 0},
	{"w", OPTION_BOOL, &flag, NULL, "", 0, 0},
	{0},
};

/* The words are cut at blanks; one behind the last blank is empty. */
static struct complete_plan plan(char *line)
{
	char *words[16];
	size_t n = 0;
	for (char *at = line; at && n < ARRAY_SIZE(words); at = strchr(at, ' ')) {
		if (n > 0) {
			*at++ = '\0';
		}
		words[n++] = at;
	}
	struct complete_plan p;
	complete_plan_make(&p, flags, words, n);
	return p;
}
#define PLAN(line) plan(strcpy((char[sizeof(line)]){0}, line))

static void test_plan__the_first_word_is_a_command(void **state _unused_)
{
	assert_int_equal(PLAN("").what, COMPLETE_COMMANDS);
	assert_int_equal(PLAN("-").what, COMPLETE_COMMANDS);
	assert_str(PLAN("un").prefix, "un");
}

static void test_plan__then_types_and_names(void **state _unused_)
{
	assert_int_equal(PLAN("log ").what, COMPLETE_TYPES);
	assert_int_equal(PLAN("log -w co").what, COMPLETE_TYPES);
	assert_int_equal(PLAN("log -n x ").what, COMPLETE_TYPES);
	assert_int_equal(PLAN("log --namespace=x ").what, COMPLETE_TYPES);
	struct complete_plan p = PLAN("log cm/a");
	assert_int_equal(p.what, COMPLETE_NAMES);
	assert_true(p.is_joined);
	assert_str(p.type, "cm");
	assert_str(p.prefix, "a");
	p = PLAN("log cm -n x ");
	assert_int_equal(p.what, COMPLETE_NAMES);
	assert_false(p.is_joined);
	assert_str(p.type, "cm");
	assert_int_equal(p.prefix.n, 0);
	assert_int_equal(PLAN("log cm/a ").what, COMPLETE_NOTHING);
	assert_int_equal(PLAN("log cm a ").what, COMPLETE_NOTHING);
}

static void test_plan__flags_and_their_values(void **state _unused_)
{
	assert_int_equal(PLAN("log -").what, COMPLETE_FLAGS);
	assert_str(PLAN("log cm/a --na").prefix, "--na");
	struct complete_plan p = PLAN("log cm/a --namespace=x");
	assert_int_equal(p.what, COMPLETE_VALUES);
	assert_string_equal(p.flag->name, "namespace");
	assert_str(p.prefix, "x");
	p = PLAN("log cm a -n ");
	assert_int_equal(p.what, COMPLETE_VALUES);
	assert_string_equal(p.flag->name, "n");
	assert_str(p.type, "cm");
	assert_str(p.name, "a");
	assert_int_equal(PLAN("log --none=x").what, COMPLETE_NOTHING);
	assert_int_equal(PLAN("log --none x").what, COMPLETE_TYPES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plan__the_first_word_is_a_command),
		TEST(test_plan__then_types_and_names),
		TEST(test_plan__flags_and_their_values),
	};
	return cmocka_run_group_tests_name("complete_plan", tests, NULL, NULL);
}
