/* What is said of how far a command has come. */
#include "cli/common/terminal.h"
#include "tests/unit/check.h"

static void assert_says(const struct progress *p, int64_t elapsed_ms, const char *wanted)
{
	struct buf out;
	buf_init(&out, 256);
	progress_write(p, elapsed_ms, &out);
	assert_string_equal(out.p, wanted);
	buf_done(&out);
}

static void test_progress__tells_rate_and_time_left(void **state _unused_)
{
	const struct progress p = {.verb = "exported", .unit = "objects", .done = 1200, .total = 4000};
	assert_says(&p, 3000, "exported 1,200 of 4,000 objects (30%), 400/s, 7s left");
}

static void test_progress__promises_nothing_before_it_knows(void **state _unused_)
{
	const struct progress none = {.verb = "imported", .unit = "objects", .total = 1000000};
	assert_says(&none, 0, "imported 0 of 1,000,000 objects (0%)");
	assert_says(&none, 5000, "imported 0 of 1,000,000 objects (0%)");
	const struct progress endless = {.verb = "checked", .unit = "keys", .done = 123};
	assert_says(&endless, 1000, "checked 123 keys, 123/s");
}

static void test_progress__is_never_beyond_the_whole(void **state _unused_)
{
	const struct progress p = {.verb = "checked", .unit = "keys", .done = 12, .total = 10};
	assert_says(&p, 1000, "checked 12 of 10 keys (100%), 12/s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_progress__tells_rate_and_time_left),
		cmocka_unit_test(test_progress__promises_nothing_before_it_knows),
		cmocka_unit_test(test_progress__is_never_beyond_the_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
