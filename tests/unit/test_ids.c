#include "base/ids.h"
#include "tests/unit/check.h"

#include <ctype.h>

static void test_uuid__is_of_version_4(void **state _unused_)
{
	for (int round = 0; round < 100; round++) {
		char uuid[UUID_SIZE];
		uuid_new(uuid);
		assert_int_equal(strlen(uuid), UUID_SIZE - 1);
		for (size_t i = 0; i < UUID_SIZE - 1; i++) {
			bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
			assert_true(is_dash ? uuid[i] == '-' : isxdigit((unsigned char)uuid[i]) && !isupper((unsigned char)uuid[i]));
		}
		assert_int_equal(uuid[14], '4');
		assert_non_null(strchr("89ab", uuid[19]));
	}
}

static void test_uuid__two_differ(void **state _unused_)
{
	char a[UUID_SIZE], b[UUID_SIZE];
	uuid_new(a);
	uuid_new(b);
	assert_string_not_equal(a, b);
}

static void test_random_suffix__uses_all_of_the_alphabet_and_nothing_else(void **state _unused_)
{
	static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
	char text[5001];
	random_suffix(text, 5000);
	assert_int_equal(strlen(text), 5000);
	assert_int_equal(strspn(text, alphabet), 5000);
	for (const char *c = alphabet; *c; c++) {
		assert_non_null(strchr(text, *c)); /* missing by chance once in 10^80 */
	}
	random_suffix(text, 0);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_uuid__is_of_version_4),
		TEST(test_uuid__two_differ),
		TEST(test_random_suffix__uses_all_of_the_alphabet_and_nothing_else),
	};
	return cmocka_run_group_tests_name("ids", tests, NULL, NULL);
}
