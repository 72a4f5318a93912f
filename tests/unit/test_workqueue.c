#include "base/clock.h"
#include "client/workqueue.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct workqueue *new_queue(void)
{
	return workqueue_new("test", 1, 4);
}

static struct workqueue_stats stats_of(struct workqueue *q)
{
	struct workqueue_stats s;
	workqueue_read_stats(q, &s);
	return s;
}

static void assert_next(struct workqueue *q, const char *expected)
{
	char *key = workqueue_get(q);
	assert_string_equal(key, expected);
	workqueue_done(q, key);
}

static void test_workqueue__comes_in_order_and_once(void **state _unused_)
{
	struct workqueue *q = new_queue();
	workqueue_add(q, STR("a"));
	workqueue_add(q, STR("b"));
	workqueue_add(q, STR("a"));
	assert_int_equal(stats_of(q).depth, 2);
	assert_int_equal(stats_of(q).adds, 2);
	assert_next(q, "a");
	assert_next(q, "b");
	assert_int_equal(stats_of(q).depth, 0);
	workqueue_free(q);
}

static void test_workqueue__key_added_while_worked_on_comes_once_more_afterwards(void **state _unused_)
{
	struct workqueue *q = new_queue();
	workqueue_add(q, STR("a"));
	char *key = workqueue_get(q);
	workqueue_add(q, STR("a"));
	workqueue_add(q, STR("a"));
	assert_int_equal(stats_of(q).depth, 0);
	assert_int_equal(stats_of(q).processing, 1);
	workqueue_done(q, key);
	assert_int_equal(stats_of(q).depth, 1);
	assert_next(q, "a");
	assert_int_equal(stats_of(q).depth, 0);
	workqueue_free(q);
}

static void test_workqueue__delayed_keys_come_by_their_time(void **state _unused_)
{
	struct workqueue *q = new_queue();
	int64_t began = clock_mono_ms();
	workqueue_add_after(q, STR("late"), 40);
	workqueue_add_after(q, STR("soon"), 20);
	assert_next(q, "soon");
	assert_true(clock_mono_ms() - began >= 20);
	assert_next(q, "late");
	assert_true(clock_mono_ms() - began >= 40);
	workqueue_free(q);
}

static void test_workqueue__earlier_of_two_delays_counts(void **state _unused_)
{
	struct workqueue *q = new_queue();
	workqueue_add_after(q, STR("a"), 1000 * 1000);
	workqueue_add_after(q, STR("a"), 1);
	workqueue_add_after(q, STR("a"), 1000 * 1000);
	assert_next(q, "a");
	assert_int_equal(stats_of(q).delayed, 0);
	workqueue_free(q);
}

static void test_workqueue__added_now_forgets_its_delay(void **state _unused_)
{
	struct workqueue *q = new_queue();
	workqueue_add_after(q, STR("a"), 1000 * 1000);
	workqueue_add_after(q, STR("b"), 1000 * 1000);
	assert_int_equal(stats_of(q).delayed, 2);
	workqueue_add(q, STR("a"));
	assert_int_equal(stats_of(q).delayed, 1);
	assert_next(q, "a");
	workqueue_free(q);
}

static void test_workqueue__retries_wait_longer_up_to_the_ceiling(void **state _unused_)
{
	enum { FIRST = 8, LAST = 32 };
	struct workqueue *q = workqueue_new("test", FIRST, LAST);
	const int64_t pauses[] = {8, 16, 32, 32};
	for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
		int64_t began = clock_mono_ms();
		workqueue_retry(q, STR("a"));
		assert_int_equal(workqueue_failures(q, STR("a")), i + 1);
		assert_next(q, "a");
		assert_true(clock_mono_ms() - began >= pauses[i]);
	}
	assert_int_equal(stats_of(q).retries, 4);
	workqueue_forget(q, STR("a"));
	assert_int_equal(workqueue_failures(q, STR("a")), 0);
	workqueue_free(q);
}

static void test_workqueue__polls_wait_longer_up_to_a_ceiling_and_are_no_failures(void **state _unused_)
{
	enum { FIRST = 8, LAST = 100 * 1000, LAST_POLL = 16 };
	struct workqueue *q = workqueue_new("test", FIRST, LAST);
	/* With the queue's own ceiling the last ones would take minutes. */
	for (size_t i = 0; i < 24; i++) {
		int64_t began = clock_mono_ms();
		workqueue_poll(q, STR("a"), LAST_POLL);
		assert_next(q, "a");
		assert_true(clock_mono_ms() - began >= (i ? LAST_POLL : FIRST));
	}
	assert_int_equal(workqueue_failures(q, STR("a")), 0);
	assert_int_equal(stats_of(q).retries, 0);
	workqueue_forget(q, STR("a"));
	workqueue_free(q);
}

static void test_workqueue__failed_key_may_wait_while_it_is_worked_on(void **state _unused_)
{
	struct workqueue *q = new_queue();
	workqueue_add(q, STR("a"));
	char *key = workqueue_get(q);
	workqueue_retry(q, STR("a"));
	workqueue_done(q, key);
	assert_next(q, "a");
	workqueue_free(q);
}

static void *get_one(void *queue)
{
	return workqueue_get(queue);
}

static void test_workqueue_stop__wakes_everybody_and_drops_the_rest(void **state _unused_)
{
	pthread_t threads[3];
	struct workqueue *q = new_queue();
	workqueue_add_after(q, STR("a"), 1000 * 1000);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_create(&threads[i], NULL, get_one, q);
	}
	workqueue_stop(q);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		void *key;
		pthread_join(threads[i], &key);
		assert_null(key);
	}
	workqueue_add(q, STR("b"));
	assert_null(workqueue_get(q));
	workqueue_free(q);
}

/* Many workers, few keys: each key is with one of them at most, and nothing added is lost. */
enum { KEYS = 4, WORKERS = 4, ROUNDS = 20000 };

struct crowd {
	struct workqueue *queue;
	_Atomic int holders[KEYS];
	_Atomic uint64_t asked[KEYS], served[KEYS]; /* served: what had been asked when work on it began */
	_Atomic bool is_shared;
};

static void *work(void *ctx)
{
	struct crowd *c = ctx;
	char *key;
	while ((key = workqueue_get(c->queue))) {
		int i = atoi(key);
		if (atomic_fetch_add(&c->holders[i], 1) != 0) {
			atomic_store(&c->is_shared, true);
		}
		atomic_store(&c->served[i], atomic_load(&c->asked[i]));
		atomic_fetch_sub(&c->holders[i], 1);
		workqueue_done(c->queue, key);
	}
	return NULL;
}

static bool is_all_served(struct crowd *c)
{
	struct workqueue_stats s = stats_of(c->queue);
	return s.depth == 0 && s.processing == 0;
}

static void test_workqueue__key_is_never_with_two_workers(void **state _unused_)
{
	struct crowd c = {.queue = new_queue()};
	pthread_t threads[WORKERS];
	for (size_t i = 0; i < WORKERS; i++) {
		pthread_create(&threads[i], NULL, work, &c);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		char key[2] = {(char)('0' + i % KEYS), 0};
		atomic_fetch_add(&c.asked[i % KEYS], 1);
		workqueue_add(c.queue, str_of(key));
	}
	while (!is_all_served(&c)) {
	}
	workqueue_stop(c.queue);
	for (size_t i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
	}
	assert_false(atomic_load(&c.is_shared));
	for (size_t i = 0; i < KEYS; i++) {
		assert_int_equal(atomic_load(&c.served[i]), ROUNDS / KEYS);
	}
	workqueue_free(c.queue);
}

/* Each before all that wait already: whoever looks through them is at it for minutes. */
static void test_workqueue__many_may_be_delayed(void **state _unused_)
{
	enum { N = 300 * 1000, LATEST_MS = 24 * 60 * 60 * 1000 };
	struct workqueue *q = new_queue();
	char key[32];
	for (int i = 0; i < N; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		workqueue_add_after(q, str_of(key), LATEST_MS - i);
	}
	assert_int_equal(stats_of(q).delayed, N);
	workqueue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_workqueue__comes_in_order_and_once),
		TEST(test_workqueue__key_added_while_worked_on_comes_once_more_afterwards),
		TEST(test_workqueue__delayed_keys_come_by_their_time),
		TEST(test_workqueue__earlier_of_two_delays_counts),
		TEST(test_workqueue__added_now_forgets_its_delay),
		TEST(test_workqueue__retries_wait_longer_up_to_the_ceiling),
		TEST(test_workqueue__polls_wait_longer_up_to_a_ceiling_and_are_no_failures),
		TEST(test_workqueue__failed_key_may_wait_while_it_is_worked_on),
		TEST(test_workqueue_stop__wakes_everybody_and_drops_the_rest),
		TEST(test_workqueue__key_is_never_with_two_workers),
		TEST(test_workqueue__many_may_be_delayed),
	};
	return cmocka_run_group_tests_name("workqueue", tests, NULL, NULL);
}
