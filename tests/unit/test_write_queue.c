#include "base/clock.h"
#include "server/write/write_memory.h"
#include "tests/unit/check.h"

#include <pthread.h>

/* A writer, and how often it was woken. */
struct writer {
	struct write_turn turn;
	struct str key;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned n_woken, n_seen;
	int64_t after;
};

static void wake(void *ctx)
{
	struct writer *w = ctx;

	pthread_mutex_lock(&w->lock);
	w->n_woken++;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

static struct writer *writer_new(const char *key)
{
	struct writer *w = mem_new(struct writer);

	w->key = str_of(key);
	pthread_mutex_init(&w->lock, NULL);
	clock_cond_init(&w->cond);
	return w;
}

static void writer_free(struct writer *w)
{
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	mem_free(w);
}

static bool take(struct write_queue *s, struct writer *w)
{
	return write_turn_take(s, &w->turn, w->key, wake, w, &w->after);
}

static void wait_woken(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->n_woken == w->n_seen) {
		pthread_cond_wait(&w->cond, &w->lock);
	}
	w->n_seen++;
	pthread_mutex_unlock(&w->lock);
}

/* Woken as often as it takes, as a request is. */
static void wait_turn(struct write_queue *s, struct writer *w)
{
	do {
		wait_woken(w);
	} while (!take(s, w));
}

static void test_write_queue__takes_writers_of_one_key_in_turn(void **state _unused_)
{
	struct write_queue *s = write_queue_new();
	struct writer *writers[8];

	for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
		writers[i] = writer_new("key");
		assert_int_equal(take(s, writers[i]), i == 0);
	}
	for (size_t i = 0; i + 1 < ARRAY_SIZE(writers); i++) {
		write_turn_leave(s, &writers[i]->turn, 100 + (int64_t)i);
		write_turn_leave(s, &writers[i]->turn, 0); /* harmless */
		wait_turn(s, writers[i + 1]);
		assert_int_equal(writers[i + 1]->after, 100 + (int64_t)i);
	}
	write_turn_leave(s, &writers[7]->turn, 0);
	for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
		writer_free(writers[i]);
	}
	write_queue_free(s);
}

static void test_write_queue__keys_have_nothing_to_do_with_each_other(void **state _unused_)
{
	struct write_queue *s = write_queue_new();
	struct writer *a = writer_new("a"), *b = writer_new("b"), *again = writer_new("a");

	assert_true(take(s, a));
	assert_true(take(s, b));
	assert_int_equal(b->after, 0);
	write_turn_leave(s, &a->turn, 7);
	assert_true(take(s, again));
	assert_int_equal(again->after, 0); /* nobody waited for it */
	write_turn_leave(s, &again->turn, 0);
	write_turn_leave(s, &b->turn, 0);
	writer_free(a);
	writer_free(b);
	writer_free(again);
	write_queue_free(s);
}

static void test_write_queue__goes_on_without_who_has_left(void **state _unused_)
{
	struct write_queue *s = write_queue_new();
	struct writer *first = writer_new("key"), *second = writer_new("key"), *third = writer_new("key");

	assert_true(take(s, first));
	assert_false(take(s, second));
	assert_false(take(s, third));
	wait_woken(second); /* to look after itself, although it is not its turn */
	write_turn_leave(s, &second->turn, 0);
	write_turn_leave(s, &first->turn, 9);
	wait_turn(s, third);
	assert_int_equal(third->after, 9);
	write_turn_leave(s, &third->turn, 0);
	writer_free(first);
	writer_free(second);
	writer_free(third);
	write_queue_free(s);
}

static void test_write_queue__passes_by_who_asks_the_cluster_for_long(void **state _unused_)
{
	struct write_queue *s = write_queue_new();
	struct writer *first = writer_new("key"), *second = writer_new("key"), *third = writer_new("key");

	assert_true(take(s, first));
	write_turn_set_asking(s, &first->turn, true);
	assert_false(take(s, second));
	assert_false(take(s, third));
	wait_turn(s, second);
	write_turn_set_asking(s, &first->turn, false);
	write_turn_leave(s, &first->turn, 3); /* it is not the first any more: nobody else's turn comes by that */
	write_turn_leave(s, &second->turn, 2);
	wait_turn(s, third);
	assert_int_equal(third->after, 3);
	write_turn_leave(s, &third->turn, 0);
	writer_free(first);
	writer_free(second);
	writer_free(third);
	write_queue_free(s);
}

enum { THREADS = 8, ROUNDS = 500 };

struct crowd {
	struct write_queue *queue;
	unsigned n_inside, n_writes; /* of those whose turn it is */
};

static void *write_often(void *arg)
{
	struct crowd *c = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct writer *w = writer_new("key");
		if (!take(c->queue, w)) {
			wait_turn(c->queue, w);
		}
		assert_int_equal(c->n_inside++, 0);
		c->n_writes++;
		c->n_inside--;
		write_turn_leave(c->queue, &w->turn, 0);
		writer_free(w);
	}
	return NULL;
}

static void test_write_queue__lets_one_in_at_a_time(void **state _unused_)
{
	struct crowd c = {.queue = write_queue_new()};
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, write_often, &c), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	assert_int_equal(c.n_writes, THREADS * ROUNDS);
	write_queue_free(c.queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_queue__takes_writers_of_one_key_in_turn),
		cmocka_unit_test(test_write_queue__keys_have_nothing_to_do_with_each_other),
		cmocka_unit_test(test_write_queue__goes_on_without_who_has_left),
		cmocka_unit_test(test_write_queue__passes_by_who_asks_the_cluster_for_long),
		cmocka_unit_test(test_write_queue__lets_one_in_at_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
