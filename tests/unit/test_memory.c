/* The limit of the store in memory. What it shares with etcd is tested by tests/contract. */
#include "storage/memory/memory.h"
#include "tests/unit/check.h"

enum { LIMIT = 256 * 1024, VALUE_SIZE = 4096 };

static const char value[VALUE_SIZE];

static struct storage_step put(struct arena *a, int64_t number)
{
	return (struct storage_step){
		.kind = STEP_PUT, .key = arena_printf(a, "/k/%05lld", (long long)number), .value = {value, sizeof(value)}};
}

static struct storage_step delete (struct arena *a, int64_t number)
{
	struct storage_step step = put(a, number);
	return (struct storage_step){.kind = STEP_DELETE, .key = step.key};
}

static enum storage_result run(struct storage *s, struct storage_step *step, const char **ret_message)
{
	struct storage_txn t = {.success = step, .n_success = 1};
	enum storage_result r = storage_txn_wait(s, &t);
	if (ret_message) {
		*ret_message = t.op.message; /* of this store: static */
	}
	storage_op_clear(&t.op);
	return r;
}

static bool is_full(struct storage *s, int64_t *ret_size)
{
	struct storage_status status = {0};
	assert_int_equal(storage_status_wait(s, &status), STORAGE_OK);
	*ret_size = status.db_size;
	storage_op_clear(&status.op);
	return status.has_nospace;
}

static int64_t count(struct storage *s)
{
	struct storage_range range = {.key = STR("/k/"), .range_end = STR("/k0"), .count_only = true};
	assert_int_equal(storage_range_wait(s, &range), STORAGE_OK);
	storage_op_clear(&range.op);
	return range.count;
}

static void test_memory__history_makes_room_for_what_is_new(void **state)
{
	struct storage *s = storage_memory_new_limited(LIMIT);
	int64_t size;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	for (unsigned i = 0; i < 1000; i++) { /* 4 MB of history, of eight keys */
		struct storage_step step = put(&a, i % 8);
		assert_int_equal(run(s, &step, NULL), STORAGE_OK);
		assert_false(is_full(s, &size));
		assert_true(size <= LIMIT);
	}
	assert_int_equal(count(s), 8);
	/* Some of it is still there: room is made as it is needed, not all at once. */
	assert_true(size > LIMIT / 4);
	struct storage_range old = {.key = STR("/k/"), .range_end = STR("/k0"), .at_revision = 2};
	assert_int_equal(storage_range_wait(s, &old), STORAGE_COMPACTED);
	storage_op_clear(&old.op);
	storage_free(s);
	arena_done(&a);
}

static int64_t fill(struct storage *s, struct arena *a)
{
	int64_t n = 0;
	const char *message;
	struct storage_step step = put(a, n);
	enum storage_result r;
	while ((r = run(s, &step, &message)) == STORAGE_OK) {
		assert_true(n < 2 * LIMIT / VALUE_SIZE);
		step = put(a, ++n);
	}
	assert_int_equal(r, STORAGE_NO_SPACE);
	assert_string_equal(message, "etcdserver: mvcc: database space exceeded");
	return n;
}

static void test_memory__full_is_nospace_until_there_is_room(void **state)
{
	struct storage *s = storage_memory_new_limited(8 * LIMIT);
	int64_t size;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	struct storage_step big = {.kind = STEP_PUT, .key = STR("/other"), .value = {mem_zalloc(7 * LIMIT - VALUE_SIZE), 0}};
	for (unsigned i = 0; i < 7; i++) { /* no put may have more than 1.5 MiB */
		big.key = arena_printf(&a, "/other/%u", i);
		big.value.n = LIMIT - VALUE_SIZE;
		assert_int_equal(run(s, &big, NULL), STORAGE_OK);
	}
	int64_t n = fill(s, &a);
	assert_true(n > LIMIT / VALUE_SIZE / 2);
	assert_true(is_full(s, &size));
	assert_true(size <= 8 * LIMIT);

	/* One deletion is room for one more like it, and yet not the end of the alarm: as of etcd, no put is taken until then. */
	struct storage_step step = delete (&a, 0);
	assert_int_equal(run(s, &step, NULL), STORAGE_OK);
	assert_int_equal(count(s), n - 1);
	step = put(&a, 0);
	assert_int_equal(run(s, &step, NULL), STORAGE_NO_SPACE);
	assert_true(is_full(s, &size));
	for (unsigned i = 0; i < 7; i++) {
		step = (struct storage_step){.kind = STEP_DELETE, .key = arena_printf(&a, "/other/%u", i)};
		assert_int_equal(run(s, &step, NULL), STORAGE_OK);
	}
	assert_false(is_full(s, &size));
	step = put(&a, n + 1);
	assert_int_equal(run(s, &step, NULL), STORAGE_OK);
	mem_free((void *)(uintptr_t)big.value.p);
	storage_free(s);
	arena_done(&a);
}

static void test_memory__transaction_without_room_does_nothing(void **state)
{
	struct storage *s = storage_memory_new_limited(LIMIT);
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	int64_t n = fill(s, &a);
	struct storage_step steps[] = {delete (&a, 0), put(&a, n + 1), put(&a, n + 2)};
	struct storage_txn t = {.success = steps, .n_success = 3};
	assert_int_equal(storage_txn_wait(s, &t), STORAGE_NO_SPACE);
	storage_op_clear(&t.op);
	assert_int_equal(count(s), n);
	storage_free(s);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory__history_makes_room_for_what_is_new),
		cmocka_unit_test(test_memory__full_is_nospace_until_there_is_room),
		cmocka_unit_test(test_memory__transaction_without_room_does_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
