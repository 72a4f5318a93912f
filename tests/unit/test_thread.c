#include "base/thread.h"
#include "tests/unit/check.h"

#include <sys/wait.h>
#include <unistd.h>

struct seen {
	pthread_mutex_t named;
	char name[16];
};

static void *note_name(void *ctx)
{
	struct seen *s = ctx;

	pthread_mutex_lock(&s->named);
	pthread_getname_np(pthread_self(), s->name, sizeof(s->name));
	pthread_mutex_unlock(&s->named);
	return s;
}

static void test_thread__runs_by_its_name(void **state _unused_)
{
	struct seen s = {.named = PTHREAD_MUTEX_INITIALIZER};
	pthread_t thread;
	void *result;

	pthread_mutex_lock(&s.named);
	thread_must_start(&thread, "test-thread", note_name, &s);
	pthread_mutex_unlock(&s.named);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &s);
	assert_string_equal(s.name, "test-thread");
}

/* No machine has room for such a stack, whoever asks for it and whatever limits there are. */
static void start_without_room(int out)
{
	pthread_attr_t attr;
	pthread_t thread;

	dup2(out, STDERR_FILENO);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)1 << 50);
	pthread_setattr_default_np(&attr);
	thread_must_start(&thread, "test-thread", note_name, NULL);
	_exit(0);
}

static void test_thread__process_without_room_ends_with_a_sentence(void **state _unused_)
{
	char text[4096] = "";
	size_t n = 0;
	ssize_t got;
	int ends[2], status;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		start_without_room(ends[1]);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + n, sizeof(text) - 1 - n)) > 0) {
		n += (size_t)got;
	}
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_non_null(strstr(text, "error   threads: cannot start a thread for test-thread: "));
	assert_ptr_equal(strchr(text, '\n'), text + n - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_thread__runs_by_its_name),
		TEST(test_thread__process_without_room_ends_with_a_sentence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
