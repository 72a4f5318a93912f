#include "storage/upkeep.h"

#include "storage/memory/memory.h"
#include "tests/double/fault.h"
#include "tests/unit/check.h"

#include <pthread.h>

/* The notices of compactors, from any thread. */
struct told {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int64_t revision;
	unsigned n;
	bool is_done;
	enum storage_result result;
	int64_t done_revision;
};

static void told_init(struct told *t)
{
	*t = (struct told){0};
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
}

static void told_done(struct told *t)
{
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
}

static void on_compacted(void *ctx, int64_t revision)
{
	struct told *t = ctx;
	pthread_mutex_lock(&t->lock);
	t->revision = revision;
	t->n++;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static void on_run_now(void *ctx, enum storage_result r, int64_t revision)
{
	struct told *t = ctx;
	pthread_mutex_lock(&t->lock);
	t->is_done = true;
	t->result = r;
	t->done_revision = revision;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static int64_t told_wait(struct told *t, unsigned n)
{
	pthread_mutex_lock(&t->lock);
	while (t->n < n) {
		pthread_cond_wait(&t->changed, &t->lock);
	}
	int64_t revision = t->revision;
	pthread_mutex_unlock(&t->lock);
	return revision;
}

static int64_t run_now(struct compactor *c, struct told *t)
{
	t->is_done = false;
	compactor_run_now(c, on_run_now, t);
	pthread_mutex_lock(&t->lock);
	while (!t->is_done) {
		pthread_cond_wait(&t->changed, &t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return t->done_revision;
}

static struct compactor *compactor(struct storage *s, int64_t interval_ms, struct told *t)
{
	return compactor_new(&(struct compactor_options){
		.storage = s,
		.prefix = STR("/annals"),
		.interval_ms = interval_ms,
		.on_compacted = on_compacted,
		.ctx = t,
	});
}

static int64_t put(struct storage *s, const char *value)
{
	struct storage_step step = {.kind = STEP_PUT, .key = STR("a"), .value = str_of(value)};
	struct storage_txn txn = {.success = &step, .n_success = 1};
	assert_int_equal(storage_txn_wait(s, &txn), STORAGE_OK);
	int64_t revision = txn.op.revision;
	storage_op_clear(&txn.op);
	return revision;
}

static enum storage_result read_at(struct storage *s, int64_t revision)
{
	struct storage_range range = {.key = STR("a"), .at_revision = revision};
	enum storage_result r = storage_range_wait(s, &range);
	storage_op_clear(&range.op);
	return r;
}

static void test_compact__now_means_the_present_revision(void **state _unused_)
{
	struct storage *s = storage_memory_new();
	struct told t;
	told_init(&t);
	struct compactor *c = compactor(s, 0, &t);
	int64_t first = put(s, "1");
	int64_t second = put(s, "2");
	assert_int_equal(run_now(c, &t), second);
	assert_int_equal(t.result, STORAGE_OK);
	assert_int_equal(t.revision, second);
	assert_int_equal(read_at(s, first), STORAGE_COMPACTED);
	assert_int_equal(read_at(s, second), STORAGE_OK);
	int64_t third = put(s, "3");
	assert_int_equal(run_now(c, &t), third);
	compactor_free(c);
	storage_free(s);
	told_done(&t);
}

enum { TICK_MS = 5, N_TOLD = 5 };

static void test_compact__goes_to_what_the_round_before_saw(void **state _unused_)
{
	struct storage *s = storage_memory_new();
	struct told t;
	told_init(&t);
	int64_t first = put(s, "1");
	int64_t second = put(s, "2");
	struct compactor *c = compactor(s, TICK_MS, &t);
	int64_t compacted = told_wait(&t, 1);
	assert_true(compacted >= second);
	assert_int_equal(read_at(s, first), STORAGE_COMPACTED);
	assert_true(told_wait(&t, N_TOLD) > compacted);
	compactor_free(c);
	storage_free(s);
	told_done(&t);
}

/* One of two wins each round; the other reads in the key how far the winner has gone. */
static void test_compact__replicas_learn_of_each_other(void **state _unused_)
{
	struct storage *s = storage_memory_new();
	struct told fast_told, slow_told;
	told_init(&fast_told);
	told_init(&slow_told);
	put(s, "1");
	struct compactor *fast = compactor(s, TICK_MS, &fast_told);
	told_wait(&fast_told, 1);
	struct compactor *slow = compactor(s, TICK_MS, &slow_told);
	int64_t learnt = told_wait(&slow_told, 1);
	assert_true(learnt > 0);
	told_wait(&slow_told, N_TOLD);
	told_wait(&fast_told, N_TOLD);
	compactor_free(slow);
	compactor_free(fast);

	struct storage_range key = {.key = STR("/annals/compact_rev_key")};
	assert_int_equal(storage_range_wait(s, &key), STORAGE_OK);
	assert_int_equal(key.n_kvs, 1);
	int64_t value;
	assert_true(str_to_int64(key.kvs[0].value, &value));
	assert_true(value >= learnt);
	storage_op_clear(&key.op);
	storage_free(s);
	told_done(&fast_told);
	told_done(&slow_told);
}

/* Whatever call of a round fails or is lost, "now" says so or has compacted, and the next one works. */
static void test_compact__survives_every_failure(void **state _unused_)
{
	static const enum fault_kind kinds[] = {FAULT_REFUSE, FAULT_LOSE};
	struct storage *s = storage_fault_new(storage_memory_new());
	struct told t;
	told_init(&t);
	struct compactor *c = compactor(s, 0, &t);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool has_fired = true;
		for (unsigned n = 1; has_fired; n++) {
			put(s, "x");
			storage_fault_arm(s, kinds[i], n);
			int64_t compacted = run_now(c, &t);
			has_fired = storage_fault_has_fired(s);
			storage_fault_arm(s, kinds[i], 0);
			assert_int_equal(t.result == STORAGE_OK, !has_fired);
			assert_int_equal(compacted > 0, !has_fired);
			int64_t now = put(s, "y");
			assert_int_equal(run_now(c, &t), now);
		}
	}
	compactor_free(c);
	storage_free(s);
	told_done(&t);
}

static void test_compact__free_waits_for_a_round_under_way(void **state _unused_)
{
	struct storage *s = storage_memory_new();
	struct told t;
	told_init(&t);
	struct compactor *c = compactor(s, 0, &t);
	put(s, "1");
	compactor_run_now(c, on_run_now, &t);
	compactor_free(c);
	assert_true(t.is_done);
	storage_free(s);
	told_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_compact__now_means_the_present_revision),
		TEST(test_compact__goes_to_what_the_round_before_saw),
		TEST(test_compact__replicas_learn_of_each_other),
		TEST(test_compact__survives_every_failure),
		TEST(test_compact__free_waits_for_a_round_under_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
