#include "storage/leases.h"

#include "storage/memory/memory.h"
#include "tests/double/fault.h"
#include "tests/unit/check.h"

#include <pthread.h>

/* Somebody who waits for a lease. */
struct taker {
	struct lease_wait wait;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_done;
};

static void on_lease(struct lease_wait *w)
{
	struct taker *t = container_of(w, struct taker, wait);
	pthread_mutex_lock(&t->lock);
	t->is_done = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static bool begin(struct taker *t, struct leases *l)
{
	*t = (struct taker){.wait.done = on_lease};
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	bool is_there = leases_take(l, &t->wait);
	if (is_there) {
		t->is_done = true;
	}
	return is_there;
}

static int64_t end(struct taker *t)
{
	pthread_mutex_lock(&t->lock);
	while (!t->is_done) {
		pthread_cond_wait(&t->changed, &t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	return t->wait.id;
}

static int64_t take(struct leases *l)
{
	struct taker t;
	begin(&t, l);
	return end(&t);
}

static int64_t remaining_s(struct storage *s, int64_t id)
{
	struct storage_lease lease = {.id = id};
	enum storage_result r = storage_lease_keep_alive_wait(s, &lease);
	int64_t ttl_s = lease.ttl_s;
	storage_op_clear(&lease.op);
	return r == STORAGE_OK ? ttl_s : 0;
}

static void test_leases__are_shared_and_live_longer_than_wanted(void **state _unused_)
{
	struct storage *s = storage_memory_new();
	struct leases *l = leases_new(s, 3600);
	struct taker first, second, third;
	assert_false(begin(&first, l));
	int64_t id = end(&first);
	assert_true(id != 0);
	assert_true(begin(&second, l));
	assert_true(begin(&third, l));
	assert_int_equal(end(&second), id);
	assert_int_equal(end(&third), id);
	assert_int_equal(remaining_s(s, id), 3660);
	leases_free(l);
	storage_free(s);
}

static void test_leases__a_short_time_has_a_surplus_too(void **state _unused_)
{
	struct storage *s = storage_memory_new();
	struct leases *l = leases_new(s, 5);
	assert_true(remaining_s(s, take(l)) > 5);
	leases_free(l);
	storage_free(s);
}

static void test_leases__bear_a_thousand_keys(void **state _unused_)
{
	struct storage *s = storage_memory_new();
	struct leases *l = leases_new(s, 3600);
	int64_t id = take(l);
	for (int i = 1; i < 1000; i++) {
		assert_int_equal(take(l), id);
	}
	assert_int_not_equal(take(l), id);
	leases_free(l);
	storage_free(s);
}

/* Who comes while the store is being asked waits for the same answer. */
static void test_leases__one_grant_serves_all_who_wait(void **state _unused_)
{
	struct storage *s = storage_fault_new(storage_memory_new());
	struct leases *l = leases_new(s, 3600);
	struct taker takers[10];
	storage_fault_arm(s, FAULT_DELAY, 1);
	for (size_t i = 0; i < ARRAY_SIZE(takers); i++) {
		assert_false(begin(&takers[i], l));
	}
	storage_fault_release(s);
	int64_t id = end(&takers[0]);
	assert_true(id != 0);
	for (size_t i = 1; i < ARRAY_SIZE(takers); i++) {
		assert_int_equal(end(&takers[i]), id);
	}
	leases_free(l);
	storage_free(s);
}

static void test_leases__forgotten_ones_are_replaced(void **state _unused_)
{
	struct storage *s = storage_memory_new();
	struct leases *l = leases_new(s, 3600);
	int64_t first = take(l);
	leases_forget(l, first + 1);
	assert_int_equal(take(l), first);
	leases_forget(l, first);
	assert_int_not_equal(take(l), first);
	leases_free(l);
	storage_free(s);
}

static void test_leases__tell_when_there_is_none(void **state _unused_)
{
	struct storage *s = storage_fault_new(storage_memory_new());
	struct leases *l = leases_new(s, 3600);
	struct taker t;
	storage_fault_arm(s, FAULT_REFUSE, 1);
	assert_false(begin(&t, l));
	assert_int_equal(end(&t), 0);
	assert_int_equal(t.wait.result, STORAGE_UNAVAILABLE);
	assert_true(t.wait.message[0] != '\0');
	assert_true(take(l) != 0);
	leases_free(l);
	storage_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_leases__are_shared_and_live_longer_than_wanted),
		TEST(test_leases__a_short_time_has_a_surplus_too),
		TEST(test_leases__bear_a_thousand_keys),
		TEST(test_leases__one_grant_serves_all_who_wait),
		TEST(test_leases__forgotten_ones_are_replaced),
		TEST(test_leases__tell_when_there_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
