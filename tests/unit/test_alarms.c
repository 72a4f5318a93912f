/* Alarms of a store: reported once when they begin and once when they are over. */
#include "storage/memory/memory.h"
#include "storage/upkeep.h"
#include "tests/unit/check.h"

#include <pthread.h>

struct fixture {
	struct storage *memory;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned n_begun, n_over;
};

static void on_notice(void *ctx, bool is_trouble, struct str text)
{
	struct fixture *f = ctx;

	assert_true(str_contains(text, STR("NOSPACE")));
	pthread_mutex_lock(&f->lock);
	*(is_trouble ? &f->n_begun : &f->n_over) += 1;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

static void wait_count(struct fixture *f, const unsigned *count, unsigned wanted)
{
	pthread_mutex_lock(&f->lock);
	while (*count < wanted) {
		pthread_cond_wait(&f->changed, &f->lock);
	}
	pthread_mutex_unlock(&f->lock);
}

static bool metrics_say(struct alarms *a, const char *line)
{
	struct buf out;

	buf_init(&out, 4096);
	alarms_write_metrics(a, &out);
	bool is_there = str_contains(buf_str(&out), str_of(line));
	buf_done(&out);
	return is_there;
}

static void put_something(struct storage *s)
{
	struct storage_step put = {.kind = STEP_PUT, .key = STR("/a"), .value = STR("b")};
	struct storage_txn txn = {.success = &put, .n_success = 1};

	assert_int_equal(storage_txn_wait(s, &txn), STORAGE_OK);
	storage_op_clear(&txn.op);
}

static void test_alarms__are_told_once_and_so_is_their_end(void **state)
{
	struct fixture f = {.memory = storage_memory_new()};

	(void)state;
	pthread_mutex_init(&f.lock, NULL);
	pthread_cond_init(&f.changed, NULL);
	put_something(f.memory);
	struct alarms *a =
		alarms_new(&(struct alarms_options){.storage = f.memory, .interval_ms = 1, .on_notice = on_notice, .ctx = &f});
	assert_null(alarms_explain(a));
	assert_true(metrics_say(a, "annals_etcd_alarm{type=\"NOSPACE\"} 0\n"));
	for (unsigned i = 1; i <= 3; i++) {
		storage_memory_set_full(f.memory, true);
		wait_count(&f, &f.n_begun, i);
		assert_non_null(alarms_explain(a));
		assert_true(metrics_say(a, "annals_etcd_alarm{type=\"NOSPACE\"} 1\n"));
		assert_true(metrics_say(a, "annals_etcd_alarm{type=\"CORRUPT\"} 0\n"));
		storage_memory_set_full(f.memory, false);
		wait_count(&f, &f.n_over, i);
		assert_null(alarms_explain(a));
	}
	assert_true(metrics_say(a, "\napiserver_storage_size_bytes{storage_cluster_id=\"etcd-0\"} "));
	assert_false(metrics_say(a, "annals_etcd_quota_bytes")); /* the store in memory has none */
	alarms_free(a);
	assert_int_equal(f.n_begun, 3);
	assert_int_equal(f.n_over, 3);
	pthread_cond_destroy(&f.changed);
	pthread_mutex_destroy(&f.lock);
	storage_free(f.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_alarms__are_told_once_and_so_is_their_end)};
	return cmocka_run_group_tests_name("alarms", tests, NULL, NULL);
}
