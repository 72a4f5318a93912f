#include "cli/common/command.h"
#include "cli/run/loop.h"
#include "tests/unit/check.h"

#include <sys/wait.h>
#include <unistd.h>

static void test_deadline__ends_a_process_that_hangs(void **state _unused_)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		deadline_start(50 - DEADLINE_CLOSING_MS);
		for (;;) {
			pause();
		}
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_deadline__ends_a_process_that_hangs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
