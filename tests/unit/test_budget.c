/* The budget: who gets how much, and how often its thread is woken. */
#include "server/request/budget.h"
#include "tests/unit/check.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 1 << 20 };

static void test_budget__grants_what_fits(void **state _unused_)
{
	struct budget *b = budget_new(LIMIT);
	size_t first = 0, second = 0;
	assert_true(budget_charge(b, &first, LIMIT / 2, true));
	assert_true(budget_charge(b, &second, LIMIT / 2, true));
	assert_false(budget_charge(b, &second, LIMIT / 2 + 1, true));
	assert_int_equal(second, LIMIT / 2);
	assert_false(budget_has_room(b, 1, true));
	assert_true(budget_charge(b, &first, 0, true));
	assert_true(budget_charge(b, &second, LIMIT, true));
	assert_int_equal(budget_used(b), LIMIT);
	assert_true(budget_charge(b, &second, 0, true));
	assert_int_equal(budget_used(b), 0);
	budget_free(b);
}

static void test_budget__who_would_be_alone_may_always(void **state _unused_)
{
	struct budget *b = budget_new(LIMIT);
	size_t charged = 0, other = 0;
	assert_true(budget_charge(b, &charged, 10 * LIMIT, true));
	assert_false(budget_charge(b, &other, 1, true));
	assert_true(budget_charge(b, &charged, 5 * LIMIT, true));
	assert_true(budget_charge(b, &charged, 0, true));
	budget_free(b);
}

/* The number behind a field of a thread's status; -1: the thread has another name. */
static long number_of(const char *path, const char *name, const char *field)
{
	char line[128], names[32] = "";
	long n = -1;
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "Name:\t%31s", names);
		if (strcmp(names, name) == 0 && strncmp(line, field, strlen(field)) == 0) {
			n = strtol(line + strlen(field), NULL, 10);
		}
	}
	if (f) {
		fclose(f);
	}
	return n;
}

/* How often the thread of that name has gone to sleep. */
static long sleeps_of(const char *name)
{
	char path[300];
	long n = -1;
	DIR *tasks = opendir("/proc/self/task");
	assert_non_null(tasks);
	for (struct dirent *e = readdir(tasks); e && n < 0; e = readdir(tasks)) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		n = number_of(path, name, "voluntary_ctxt_switches:");
	}
	closedir(tasks);
	return n;
}

static void charge_and_return(struct budget *b, size_t n)
{
	size_t charged = 0;
	assert_true(budget_charge(b, &charged, n, true));
	assert_true(budget_charge(b, &charged, 0, true));
}

/* Under load there is always something to give back to the kernel: who charges must not wake the
 * thread each time. */
static void test_budget__a_burst_does_not_wake_the_thread_again_and_again(void **state _unused_)
{
	enum { TIMES = 300, FEW = 30 };
	struct budget *b = budget_new(LIMIT);
	charge_and_return(b, 64 << 20); /* enough for a trim */
	long before = sleeps_of("budget");
	assert_true(before >= 0);
	for (size_t i = 0; i < TIMES; i++) {
		charge_and_return(b, 1);
		nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL); /* time to be woken in */
	}
	assert_in_range(sleeps_of("budget") - before, 0, FEW);
	budget_free(b);
}

static size_t resident(void)
{
	long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &size, &pages), 2);
	fclose(f);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Of connections, or of questions about tokens, which no request was charged for. What stays keeps the C library from giving it back by itself. */
static void test_budget__gives_back_what_was_never_charged(void **state _unused_)
{
	enum { N = 16384, SIZE = 4096, STAYS = 256, BURST = N * SIZE };
	static void *blocks[N];

	if (mallinfo2().arena == 0) {
		skip(); /* a sanitizer's heap */
	}
	struct budget *b = budget_new(LIMIT);
	for (size_t i = 0; i < N; i++) {
		blocks[i] = mem_alloc(SIZE);
		memset(blocks[i], 1, SIZE);
	}
	size_t most = resident();
	for (size_t i = 0; i < N; i++) {
		blocks[i] = i % STAYS == STAYS - 1 ? blocks[i] : mem_free(blocks[i]);
	}
	for (unsigned waited_ms = 0; resident() + BURST / 2 > most; waited_ms += 100) {
		assert_true(waited_ms < 60 * 1000);
		nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
	}
	budget_free(b);
	for (size_t i = 0; i < N; i++) {
		mem_free(blocks[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_budget__grants_what_fits),
		TEST(test_budget__who_would_be_alone_may_always),
		TEST(test_budget__a_burst_does_not_wake_the_thread_again_and_again),
		TEST(test_budget__gives_back_what_was_never_charged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
