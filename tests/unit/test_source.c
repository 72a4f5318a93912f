#include "server/http/http.h"
#include "tests/unit/check.h"

static void test_source__is_the_address_or_its_network(void **state _unused_)
{
	static const struct {
		const char *peer, *source;
	} rows[] = {
		{"192.0.2.1:40000", "192.0.2.1"},
		{"192.0.2.1:1", "192.0.2.1"},
		{"[2001:db8:1:2:3:4:5:6]:40000", "2001:db8:1:2::"},
		{"[2001:db8:1:2::9]:7", "2001:db8:1:2::"},
		{"[2001:db8:1:3::9]:7", "2001:db8:1:3::"},
		{"[::1]:40000", "::"},
		{"[fe80::1%eth0]:40000", "fe80::"},
		{"", ""},
	};
	struct arena a;
	arena_init(&a, 1 << 16);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_str(http_source_of(str_of(rows[i].peer), &a), rows[i].source);
	}
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_source__is_the_address_or_its_network),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
