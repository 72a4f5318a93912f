#include "api/core/pod_defaults.h"
#include "tests/unit/check.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_image__latest_without_tag_and_digest(void **state)
{
	(void)state;
	static const char *const latest[] = {"nginx", "nginx:latest", "a/b", "example.com/a", "localhost/a",
		"localhost:5000/a/b", "example.com:5000/a:latest", "a__b", "a--b", "a.b/c_d", "[::1]:80/a",
		("nginx:latest@sha256:" HEX64), "Host/a"};
	for (size_t i = 0; i < ARRAY_SIZE(latest); i++) {
		if (!image_is_latest(str_of(latest[i]))) {
			fail_msg("%s is not the latest", latest[i]);
		}
	}
}

static void test_image__others_and_no_names(void **state)
{
	(void)state;
	static const char *const others[] = {"nginx:1", "nginx@sha256:" HEX64, "localhost:5000/a:v1", "", "Nginx", "a/B",
		"a:", "a:la test", "a___b", "a..b", "-a", "a-", "a//b", "a@sha256:00", "a@md5:" HEX64, HEX64, "a:-x", "x.y/",
		"a:b:c"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (image_is_latest(str_of(others[i]))) {
			fail_msg("%s is the latest", others[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_image__latest_without_tag_and_digest),
		cmocka_unit_test(test_image__others_and_no_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
