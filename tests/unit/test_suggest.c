/* Which names a misspelt one is near to. */
#include "base/suggest.h"
#include "tests/unit/check.h"

static const char *const names[] = {"up", "serve", "controllers", "certs", "doctor", "fsck", "kubectl", "version", "audit-log-maxage",
	"audit-log-maxsize", "audit-log-maxbackup", "audit-log-path"};

static void test_suggest__names_are_near(void **state _unused_)
{
	static const struct {
		const char *misspelt, *said;
	} cases[] = {
		{"sevre", ". Did you mean serve?"},
		{"server", ". Did you mean serve?"},
		{"pu", ". Did you mean up?"},
		{"docter", ". Did you mean doctor?"},
		{"ver", ". Did you mean version?"},
		{"audit-log-max", ". Did you mean audit-log-maxage, audit-log-maxsize or audit-log-maxbackup?"},
		{"audit-log-paht", ". Did you mean audit-log-path?"},
		{"frobnicate", ""},
		{"", ""},
		{"x", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct suggestions s;
		_cleanup_(buf_done) struct buf out;
		buf_init(&out, 1000);
		suggestions_init(&s, str_of(cases[i].misspelt));
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			suggestions_offer(&s, str_of(names[k]));
		}
		suggestions_write(&s, "", &out);
		assert_str(buf_str(&out), cases[i].said);
	}
}

static void test_suggest__distance(void **state _unused_)
{
	assert_int_equal(edit_distance(STR(""), STR("")), 0);
	assert_int_equal(edit_distance(STR("abc"), STR("")), 3);
	assert_int_equal(edit_distance(STR("abc"), STR("acb")), 1);
	assert_int_equal(edit_distance(STR("abc"), STR("xbc")), 1);
	assert_int_equal(edit_distance(STR("kitten"), STR("sitting")), 3);
	char longest[SUGGEST_LENGTH_MAX + 1];
	memset(longest, 'a', sizeof(longest));
	struct str fits = {longest, SUGGEST_LENGTH_MAX}, does_not = {longest, SUGGEST_LENGTH_MAX + 1};
	assert_int_equal(edit_distance(fits, fits), 0);
	assert_true(edit_distance(does_not, does_not) == SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_suggest__names_are_near),
		TEST(test_suggest__distance),
	};
	return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
