/* What a store over etcd does when etcd is not there, goes away, stands still, or comes back. */
#include "base/clock.h"
#include "tests/contract/contract.h"
#include "tests/contract/etcd_process.h"

#include <signal.h>

enum { EXIT_SKIPPED = 77, SHORT_MS = 500 };

static int start_etcd(void **state)
{
	_cleanup_(mem_freep) const char **binaries = etcd_binaries();
	struct etcd_process *p = etcd_process_new(binaries[0], ETCD_PLAIN, NULL);
	etcd_process_start(p);
	etcd_process_wait_ready(p);
	*state = p;
	return 0;
}

static int free_etcd(void **state)
{
	*state = etcd_process_free(*state);
	return 0;
}

static struct contract *open_case(struct etcd_process *p, int64_t timeout_ms)
{
	return contract_new(etcd_process_open(p, timeout_ms));
}

static enum storage_result try_put(struct contract *c, const char *name, const char *value)
{
	struct storage_step put = {.kind = STEP_PUT, .key = contract_key(c, name), .value = str_of(value)};
	struct storage_txn txn = {.success = &put, .n_success = 1};
	enum storage_result r = storage_txn_wait(c->s, &txn);
	storage_op_clear(&txn.op);
	return r;
}

static enum storage_result try_get(struct contract *c, const char *name)
{
	struct storage_range range = {.key = contract_key(c, name)};
	enum storage_result r = storage_range_wait(c->s, &range);
	storage_op_clear(&range.op);
	return r;
}

/* ---- nobody there ---- */

static void test_outage__a_write_that_found_no_etcd_is_certain(void **state)
{
	struct etcd_process *p = *state;
	etcd_process_stop(p, SIGKILL);
	struct contract *c = open_case(p, 0);
	struct storage_step put = {.kind = STEP_PUT, .key = contract_key(c, "a")};
	struct storage_txn txn = {.success = &put, .n_success = 1};
	storage_txn_wait(c->s, &txn);
	assert_result(&txn.op, STORAGE_UNAVAILABLE);
	assert_non_null(strstr(txn.op.message, "Connection refused"));
	storage_op_clear(&txn.op);
	assert_int_equal(try_get(c, "a"), STORAGE_UNAVAILABLE);
	contract_free(c);
}

static void test_outage__a_watch_waits_for_etcd_to_come(void **state)
{
	struct etcd_process *p = *state;
	etcd_process_stop(p, SIGKILL);
	struct contract *c = open_case(p, 0);
	struct recorder *r = recorder_new(c, 0);
	recorder_wait_interrupted(r, 1);
	etcd_process_start(p);
	recorder_wait_connected(r);
	recorder_free(r, c->s);
	contract_free(c);
}

static void test_outage__a_watch_that_waits_can_be_canceled(void **state)
{
	struct etcd_process *p = *state;
	etcd_process_stop(p, SIGKILL);
	struct contract *c = open_case(p, 0);
	struct recorder *r = recorder_new(c, 0);
	recorder_wait_interrupted(r, 1);
	recorder_free(r, c->s);
	r = recorder_new(c, 0);
	recorder_wait_interrupted(r, 1);
	c->s = storage_free(c->s);
	assert_int_equal(recorder_wait_end(r), STORAGE_CANCELED);
	recorder_free(r, NULL);
	contract_free(c);
}

/* ---- gone and back ---- */

static void test_outage__service_and_watches_come_back_by_themselves(void **state)
{
	struct etcd_process *p = *state;
	struct contract *c = open_case(p, 0);
	contract_put(c, "a", "before");
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	recorder_wait_connected(r);
	contract_put(c, "a", "seen");
	recorder_wait_events(r, 1);

	etcd_process_stop(p, SIGKILL);
	recorder_wait_interrupted(r, 1);
	assert_int_not_equal(try_put(c, "a", "lost"), STORAGE_OK);
	etcd_process_start(p);
	recorder_wait_connected(r);
	while (try_put(c, "b", "after") != STORAGE_OK) {
	}
	recorder_wait_events(r, 2);
	assert_string_equal(recorder_event(r, c, 0), "PUT a=seen");
	assert_string_equal(recorder_event(r, c, 1), "PUT b=after");
	recorder_free(r, c->s);
	contract_free(c);
}

/* What is written by others while this store cannot see it. */
static void test_outage__a_watch_resumes_where_it_was(void **state)
{
	struct etcd_process *p = *state;
	struct contract *c = open_case(p, 0);
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	for (int i = 0; i < 3; i++) {
		recorder_wait_connected(r); /* what is not there cannot be interrupted */
		contract_put(c, "a", "1");
		contract_put(c, "b", "1");
		contract_delete(c, "b");
		etcd_process_stop(p, i % 2 ? SIGTERM : SIGKILL);
		recorder_wait_interrupted(r, (unsigned)i + 1);
		etcd_process_start(p);
		struct contract other = {.s = etcd_process_open(p, 0), .prefix = c->prefix};
		arena_init(&other.arena, SIZE_MAX);
		while (try_put(&other, "c", "1") != STORAGE_OK) {
		}
		arena_done(&other.arena);
		storage_free(other.s);
	}
	recorder_wait_events(r, 3 * 4);
	static const char *const expected[] = {"PUT a=1", "PUT b=1", "DELETE b", "PUT c=1"};
	for (size_t i = 0; i < 3 * 4; i++) {
		assert_string_equal(recorder_event(r, c, i), expected[i % 4]);
	}
	recorder_free(r, c->s);
	contract_free(c);
}

static void test_outage__a_watch_whose_resume_point_is_compacted_ends(void **state)
{
	struct etcd_process *p = *state;
	struct contract *c = open_case(p, 0);
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	recorder_wait_connected(r);
	int64_t seen = contract_put(c, "a", "1");
	recorder_wait_revision(r, seen);

	/* Compacted while the watch is away: by a client that finds the same data at another address. */
	etcd_process_stop(p, SIGKILL);
	recorder_wait_interrupted(r, 1);
	struct etcd_process *moved = etcd_process_new(p->binary, ETCD_UNIX, NULL);
	char *own_dir = moved->dir;
	moved->dir = p->dir;
	mem_free(moved->endpoint);
	moved->endpoint = mem_printf("unix://%s/etcd.sock:0", p->dir);
	etcd_process_start(moved);
	struct contract other = {.s = etcd_process_open(moved, 0), .prefix = c->prefix};
	arena_init(&other.arena, SIZE_MAX);
	while (try_put(&other, "a", "2") != STORAGE_OK) {
	}
	contract_compact(&other, contract_delete(&other, "a"));
	arena_done(&other.arena);
	storage_free(other.s);
	etcd_process_stop(moved, SIGTERM);
	moved->dir = own_dir;
	etcd_process_free(moved);

	etcd_process_start(p);
	assert_int_equal(recorder_wait_end(r), STORAGE_COMPACTED);
	assert_int_equal(r->compact_revision, seen + 2);
	assert_int_equal(r->n, 1);
	recorder_free(r, c->s);
	contract_free(c);
}

/* ---- standing still ---- */

static void test_outage__a_call_has_a_deadline(void **state)
{
	struct etcd_process *p = *state;
	struct contract *c = open_case(p, SHORT_MS);
	while (try_put(c, "a", "1") != STORAGE_OK) { /* connecting may take longer */
	}
	etcd_process_signal(p, SIGSTOP);
	assert_int_equal(try_put(c, "a", "2"), STORAGE_TIMEOUT);
	assert_int_equal(try_get(c, "a"), STORAGE_TIMEOUT);

	struct storage_range range = {.op.timeout_ms = 10, .key = contract_key(c, "a")};
	int64_t started_ms = clock_mono_ms();
	storage_range_wait(c->s, &range);
	assert_result(&range.op, STORAGE_TIMEOUT);
	assert_true(clock_mono_ms() - started_ms >= 10);
	storage_op_clear(&range.op);
	etcd_process_signal(p, SIGCONT);
	contract_free(c);
}

struct pending {
	struct storage_txn txn;
	struct storage_step put;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_done;
};

static void on_pending_done(struct storage_op *op)
{
	struct pending *pending = container_of(op, struct pending, txn.op);
	pthread_mutex_lock(&pending->lock);
	pending->is_done = true;
	pthread_cond_signal(&pending->changed);
	pthread_mutex_unlock(&pending->lock);
}

static void test_outage__a_write_under_way_is_uncertain(void **state)
{
	struct etcd_process *p = *state;
	struct contract *c = open_case(p, 0);
	contract_put(c, "a", "1");
	etcd_process_signal(p, SIGSTOP);
	struct pending pending = {.put = {.kind = STEP_PUT, .key = contract_key(c, "a")}};
	pending.txn = (struct storage_txn){.op.done = on_pending_done, .success = &pending.put, .n_success = 1};
	pthread_mutex_init(&pending.lock, NULL);
	pthread_cond_init(&pending.changed, NULL);
	storage_txn(c->s, &pending.txn);
	etcd_process_stop(p, SIGKILL);
	pthread_mutex_lock(&pending.lock);
	while (!pending.is_done) {
		pthread_cond_wait(&pending.changed, &pending.lock);
	}
	pthread_mutex_unlock(&pending.lock);
	assert_result(&pending.txn.op, STORAGE_UNKNOWN);
	assert_false(storage_result_is_certain(pending.txn.op.result));
	storage_op_clear(&pending.txn.op);
	pthread_cond_destroy(&pending.changed);
	pthread_mutex_destroy(&pending.lock);
	contract_free(c);
}

/* By keepalive alone: nothing else moves on the connection. */
static void test_outage__a_watch_notices_an_etcd_that_stands_still(void **state)
{
	struct etcd_process *p = *state;
	p->keepalive_ms = SHORT_KEEPALIVE_MS;
	struct contract *c = open_case(p, 0);
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	recorder_wait_connected(r);
	etcd_process_signal(p, SIGSTOP);
	recorder_wait_interrupted(r, 1);
	etcd_process_signal(p, SIGCONT);
	recorder_wait_connected(r);
	while (try_put(c, "a", "1") != STORAGE_OK) {
	}
	recorder_wait_events(r, 1);
	recorder_free(r, c->s);
	contract_free(c);
}

/* ---- full ---- */

enum { QUOTA = 16 << 20, BIG_VALUE = 1 << 20, N_BIG = 64 };

/* The write that crosses the quota may have been applied, and etcd uses the same words for it as for all that follow. */
static void test_outage__writes_to_a_full_etcd_are_uncertain_and_told_why(void **state)
{
	struct etcd_process *p = *state;
	etcd_process_stop(p, SIGTERM);
	p->quota = QUOTA;
	etcd_process_start(p);
	etcd_process_wait_ready(p);
	struct contract *c = open_case(p, 0);
	char *value = arena_text(&c->arena, BIG_VALUE);
	memset(value, 'v', BIG_VALUE);
	struct storage_step put = {.kind = STEP_PUT, .key = contract_key(c, "a"), .value = {value, BIG_VALUE}};
	struct storage_txn txn = {.success = &put, .n_success = 1};
	enum storage_result r = STORAGE_OK;
	for (int i = 0; i < N_BIG && r == STORAGE_OK; i++) {
		storage_op_clear(&txn.op);
		r = storage_txn_wait(c->s, &txn);
	}
	assert_result(&txn.op, STORAGE_NO_SPACE);
	assert_non_null(strstr(txn.op.message, "database space exceeded"));
	storage_op_clear(&txn.op);
	assert_int_equal(try_get(c, "a"), STORAGE_OK);
	contract_free(c);
}

/* ---- acknowledged is kept, whatever dies ---- */

enum { N_KILLS = 3, N_PER_LIFE = 200 };

static void test_outage__what_was_acknowledged_is_there(void **state)
{
	struct etcd_process *p = *state;
	struct contract *c = open_case(p, 0);
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	recorder_wait_connected(r);
	int n_tried = 0;
	bool was_acknowledged[N_KILLS * N_PER_LIFE] = {false};
	for (int life = 0; life < N_KILLS; life++) {
		for (int i = 0; i < N_PER_LIFE; i++, n_tried++) {
			const char *name = arena_printf(&c->arena, "%d", n_tried).p;
			if (i == N_PER_LIFE / 2) {
				etcd_process_stop(p, SIGKILL);
				etcd_process_start(p);
			}
			was_acknowledged[n_tried] = try_put(c, name, "x") == STORAGE_OK;
		}
		recorder_wait_interrupted(r, (unsigned)life + 1);
		recorder_wait_connected(r);
	}
	while (try_put(c, "last", "x") != STORAGE_OK) {
	}
	recorder_wait_revision(r, contract_get(c, "last").mod_revision);
	for (int i = 0; i < n_tried; i++) {
		if (was_acknowledged[i]) {
			assert_int_equal(contract_get(c, arena_printf(&c->arena, "%d", i).p).version, 1);
		}
	}
	recorder_free(r, c->s);
	contract_free(c);
}

#define OUTAGE_TEST(f) cmocka_unit_test_setup_teardown(f, start_etcd, free_etcd)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTAGE_TEST(test_outage__a_write_that_found_no_etcd_is_certain),
		OUTAGE_TEST(test_outage__a_watch_waits_for_etcd_to_come),
		OUTAGE_TEST(test_outage__a_watch_that_waits_can_be_canceled),
		OUTAGE_TEST(test_outage__service_and_watches_come_back_by_themselves),
		OUTAGE_TEST(test_outage__a_watch_resumes_where_it_was),
		OUTAGE_TEST(test_outage__a_watch_whose_resume_point_is_compacted_ends),
		OUTAGE_TEST(test_outage__a_call_has_a_deadline),
		OUTAGE_TEST(test_outage__a_write_under_way_is_uncertain),
		OUTAGE_TEST(test_outage__a_watch_notices_an_etcd_that_stands_still),
		OUTAGE_TEST(test_outage__writes_to_a_full_etcd_are_uncertain_and_told_why),
		OUTAGE_TEST(test_outage__what_was_acknowledged_is_there),
	};
	_cleanup_(mem_freep) const char **binaries = etcd_binaries();
	if (!binaries[0]) {
		return EXIT_SKIPPED;
	}
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	storage_etcd_shutdown();
	return n_failed;
}
