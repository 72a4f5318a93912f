#include "tests/double/fault.h"

#include "storage/memory/memory.h"
#include "tests/unit/check.h"

#include <pthread.h>

static int start_store(void **state)
{
	*state = storage_fault_new(storage_memory_new());
	return 0;
}

static int free_store(void **state)
{
	*state = storage_free(*state);
	return 0;
}

static enum storage_result put(struct storage *s, const char *key)
{
	struct storage_step step = {.kind = STEP_PUT, .key = str_of(key), .value = STR("v")};
	struct storage_txn txn = {.success = &step, .n_success = 1};
	enum storage_result r = storage_txn_wait(s, &txn);
	storage_op_clear(&txn.op);
	return r;
}

static bool exists(struct storage *s, const char *key)
{
	struct storage_range range = {.key = str_of(key)};
	assert_int_equal(storage_range_wait(s, &range), STORAGE_OK);
	bool is_there = range.n_kvs > 0;
	storage_op_clear(&range.op);
	return is_there;
}

static void test_fault__refused_does_not_happen(void **state)
{
	struct storage *s = *state;
	storage_fault_arm(s, FAULT_REFUSE, 1);
	assert_int_equal(put(s, "a"), STORAGE_UNAVAILABLE);
	assert_true(storage_fault_has_fired(s));
	assert_false(exists(s, "a"));
}

static void test_fault__lost_happens(void **state)
{
	struct storage *s = *state;
	storage_fault_arm(s, FAULT_LOSE, 1);
	assert_int_equal(put(s, "a"), STORAGE_UNKNOWN);
	assert_true(exists(s, "a"));
}

static void test_fault__strikes_the_nth_call_only(void **state)
{
	struct storage *s = *state;
	storage_fault_arm(s, FAULT_REFUSE, 3);
	assert_int_equal(put(s, "a"), STORAGE_OK);
	assert_false(exists(s, "c"));
	assert_false(storage_fault_has_fired(s));
	assert_int_equal(put(s, "c"), STORAGE_UNAVAILABLE);
	assert_int_equal(put(s, "c"), STORAGE_OK);
}

static void test_fault__disarmed_it_is_harmless(void **state)
{
	struct storage *s = *state;
	storage_fault_arm(s, FAULT_REFUSE, 1);
	storage_fault_arm(s, FAULT_REFUSE, 0);
	assert_int_equal(put(s, "a"), STORAGE_OK);
	assert_false(storage_fault_has_fired(s));
}

static void test_fault__every_kind_of_call_is_counted(void **state)
{
	struct storage *s = *state;
	storage_fault_arm(s, FAULT_REFUSE, 1);
	struct storage_status status = {0};
	assert_int_equal(storage_status_wait(s, &status), STORAGE_UNAVAILABLE);
	storage_op_clear(&status.op);
	storage_fault_arm(s, FAULT_REFUSE, 1);
	struct storage_compact compact = {.at_revision = 1};
	assert_int_equal(storage_compact_wait(s, &compact), STORAGE_UNAVAILABLE);
	storage_op_clear(&compact.op);
	storage_fault_arm(s, FAULT_REFUSE, 1);
	struct storage_lease lease = {.ttl_s = 10};
	assert_int_equal(storage_lease_grant_wait(s, &lease), STORAGE_UNAVAILABLE);
	storage_op_clear(&lease.op);
	storage_fault_arm(s, FAULT_LOSE, 1);
	struct storage_range range = {.key = STR("a")};
	assert_int_equal(storage_range_wait(s, &range), STORAGE_UNKNOWN);
	storage_op_clear(&range.op);
}

/* ---- delays ---- */

struct delayed {
	struct storage_txn txn;
	struct storage_step step;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_done;
};

static void on_delayed_done(struct storage_op *op)
{
	struct delayed *d = container_of(op, struct delayed, txn.op);
	pthread_mutex_lock(&d->lock);
	d->is_done = true;
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

static void delayed_start(struct delayed *d, struct storage *s, const char *key)
{
	*d = (struct delayed){.step = {.kind = STEP_PUT, .key = str_of(key)}};
	d->txn = (struct storage_txn){.op.done = on_delayed_done, .success = &d->step, .n_success = 1};
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	storage_txn(s, &d->txn);
}

static enum storage_result delayed_wait(struct delayed *d)
{
	pthread_mutex_lock(&d->lock);
	while (!d->is_done) {
		pthread_cond_wait(&d->changed, &d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	enum storage_result r = d->txn.op.result;
	storage_op_clear(&d->txn.op);
	pthread_cond_destroy(&d->changed);
	pthread_mutex_destroy(&d->lock);
	return r;
}

static bool delayed_is_done(struct delayed *d)
{
	pthread_mutex_lock(&d->lock);
	bool is_done = d->is_done;
	pthread_mutex_unlock(&d->lock);
	return is_done;
}

static void test_fault__delayed_happens_when_released(void **state)
{
	struct storage *s = *state;
	struct delayed d;
	storage_fault_arm(s, FAULT_DELAY, 1);
	delayed_start(&d, s, "a");
	assert_false(exists(s, "a"));
	assert_false(delayed_is_done(&d));
	storage_fault_release(s);
	assert_int_equal(delayed_wait(&d), STORAGE_OK);
	assert_true(exists(s, "a"));
}

static void test_fault__delayed_answer_comes_when_released(void **state)
{
	struct storage *s = *state;
	struct delayed d;
	storage_fault_arm(s, FAULT_DELAY_DONE, 1);
	delayed_start(&d, s, "a");
	assert_true(exists(s, "a"));
	assert_false(delayed_is_done(&d));
	storage_fault_release(s);
	assert_int_equal(delayed_wait(&d), STORAGE_OK);
}

static void test_fault__released_early_nothing_waits(void **state)
{
	struct storage *s = *state;
	struct delayed d;
	storage_fault_arm(s, FAULT_DELAY, 1);
	storage_fault_release(s);
	delayed_start(&d, s, "a");
	assert_int_equal(delayed_wait(&d), STORAGE_OK);
}

static void test_fault__freeing_the_store_ends_what_is_delayed(void **state)
{
	struct delayed before, after;
	storage_fault_arm(*state, FAULT_DELAY, 1);
	delayed_start(&before, *state, "a");
	storage_fault_arm(*state, FAULT_DELAY_DONE, 1);
	delayed_start(&after, *state, "b");
	assert_true(exists(*state, "b"));
	*state = storage_free(*state);
	assert_int_equal(delayed_wait(&before), STORAGE_CANCELED);
	assert_int_equal(delayed_wait(&after), STORAGE_CANCELED);
}

#define FAULT_TEST(f) cmocka_unit_test_setup_teardown(f, start_store, free_store)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_TEST(test_fault__refused_does_not_happen),
		FAULT_TEST(test_fault__lost_happens),
		FAULT_TEST(test_fault__strikes_the_nth_call_only),
		FAULT_TEST(test_fault__disarmed_it_is_harmless),
		FAULT_TEST(test_fault__every_kind_of_call_is_counted),
		FAULT_TEST(test_fault__delayed_happens_when_released),
		FAULT_TEST(test_fault__delayed_answer_comes_when_released),
		FAULT_TEST(test_fault__released_early_nothing_waits),
		FAULT_TEST(test_fault__freeing_the_store_ends_what_is_delayed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
