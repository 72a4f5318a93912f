#include "storage/cache/cache_private.h"
#include "tests/double/fault.h"
#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"
#include "tests/unit/gate.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LONG_MS = 30000, SHORT_MS = 50 };

/* The cache sees the store through a gate, and that through faults. */
struct fixture {
	struct storage *memory, *gate, *fault;
	struct cache *cache;
	struct arena a;
};

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);
	f->memory = storage_memory_new();
	f->gate = gate_new(f->memory);
	f->fault = storage_fault_new(f->gate);
	arena_init(&f->a, 1 << 30);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	gate_open(f->gate); /* a failed test may have left it closed */
	cache_free(f->cache);
	storage_free(f->fault);
	arena_done(&f->a);
	mem_free(f);
	return 0;
}

static void start(struct fixture *f, struct cache_options options)
{
	f->cache = world_cache(f->fault, options);
}

static struct cache_stats stats_of(struct fixture *f)
{
	struct cache_stats stats;
	cache_stats(f->cache, NULL, &stats);
	return stats;
}

/* Waits that are looked at from outside. */
struct pending {
	struct cache *cache;
	struct cache_wait wait;
	sem_t is_over;
};

static void on_over(struct cache_wait *w)
{
	sem_post(&container_of(w, struct pending, wait)->is_over);
}

static void pending_start(struct pending *p, struct fixture *f, int64_t timeout_ms)
{
	*p = (struct pending){.cache = f->cache, .wait = {.done = on_over, .timeout_ms = timeout_ms}};
	sem_init(&p->is_over, 0, 0);
	cache_wait_fresh(f->cache, &p->wait);
}

static bool pending_is_over(struct pending *p)
{
	int n;
	sem_getvalue(&p->is_over, &n);
	return n > 0;
}

static enum storage_result pending_await(struct pending *p)
{
	while (sem_wait(&p->is_over) != 0) {
	}
	sem_destroy(&p->is_over);
	return p->wait.result;
}

static enum storage_result pending_end(struct pending *p)
{
	enum storage_result result = pending_await(p);
	cache_wait_settled(p->cache);
	return result;
}

/* ---- */

static void test_cache_fresh__sees_what_was_acknowledged(void **state)
{
	struct fixture *f = *state;
	start(f, (struct cache_options){0});
	for (int i = 0; i < 100; i++) {
		int64_t revision = world_put(f->memory, &widget, "a/x", "", "red");
		assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
		assert_true(cache_revision(f->cache) >= revision);
	}
}

static void test_cache_fresh__waits_for_a_late_watch(void **state)
{
	struct fixture *f = *state;
	struct pending p;
	start(f, (struct cache_options){0});
	gate_close(f->gate);
	int64_t revision = world_put(f->memory, &widget, "a/x", "", "red");
	uint64_t rounds = stats_of(f).n_read_index_rounds;
	pending_start(&p, f, LONG_MS);
	for (int i = 0; i < 10; i++) {
		world_put(f->memory, &gadget, "g", "", "red");
	}
	assert_int_equal(stats_of(f).n_read_index_rounds, rounds + 1);
	assert_false(pending_is_over(&p));
	assert_null(cache_get(f->cache, &widget, STR("a"), STR("x")));
	gate_open(f->gate);
	assert_int_equal(pending_end(&p), STORAGE_OK);
	assert_true(p.wait.revision >= revision);
	_cleanup_(cached_unrefp) struct cached *o = cache_get(f->cache, &widget, STR("a"), STR("x"));
	assert_non_null(o);
}

static void test_cache_fresh__those_who_wait_share_a_round(void **state)
{
	enum { N = 20 };
	struct fixture *f = *state;
	struct pending first, others[N];
	start(f, (struct cache_options){0});
	uint64_t rounds = stats_of(f).n_read_index_rounds;
	storage_fault_arm(f->fault, FAULT_DELAY, 1);
	pending_start(&first, f, LONG_MS);
	for (int i = 0; i < N; i++) {
		pending_start(&others[i], f, LONG_MS);
	}
	/* a round that has begun is of no use to those who come later */
	storage_fault_release(f->fault);
	assert_int_equal(pending_end(&first), STORAGE_OK);
	for (int i = 0; i < N; i++) {
		assert_int_equal(pending_end(&others[i]), STORAGE_OK);
	}
	assert_int_equal(stats_of(f).n_read_index_rounds, rounds + 2);
}

static void test_cache_fresh__those_whom_readers_make_room_for_share_a_round(void **state)
{
	enum { N = 20 };
	struct fixture *f = *state;
	struct pending first, others[N];
	start(f, (struct cache_options){0});
	pending_start(&first, f, LONG_MS);
	assert_int_equal(pending_await(&first), STORAGE_OK);
	storage_fault_arm(f->fault, FAULT_DELAY, 1);
	uint64_t rounds = stats_of(f).n_read_index_rounds;
	for (int i = 0; i < N; i++) {
		pending_start(&others[i], f, LONG_MS);
	}
	cache_wait_settled(f->cache);
	storage_fault_release(f->fault);
	for (int i = 0; i < N; i++) {
		assert_int_equal(pending_end(&others[i]), STORAGE_OK);
	}
	/* two where starting the others took longer than a round is held */
	assert_in_range(stats_of(f).n_read_index_rounds, rounds + 1, rounds + 2);
}

static void test_cache_fresh__a_slow_reader_does_not_hold_others_for_long(void **state)
{
	struct fixture *f = *state;
	struct pending slow, other;
	start(f, (struct cache_options){0});
	pending_start(&slow, f, LONG_MS);
	assert_int_equal(pending_await(&slow), STORAGE_OK);
	pending_start(&other, f, LONG_MS);
	assert_int_equal(pending_end(&other), STORAGE_OK);
	cache_wait_settled(f->cache);
}

static void test_cache_fresh__who_never_settles_is_waited_for_once(void **state)
{
	struct fixture *f = *state;
	struct pending lost, other;
	start(f, (struct cache_options){0});
	pending_start(&lost, f, LONG_MS);
	assert_int_equal(pending_await(&lost), STORAGE_OK);
	pending_start(&other, f, LONG_MS);
	assert_int_equal(pending_end(&other), STORAGE_OK);
	uint64_t rounds = stats_of(f).n_read_index_rounds;
	pending_start(&other, f, LONG_MS);
	assert_int_equal(stats_of(f).n_read_index_rounds, rounds + 1);
	assert_int_equal(pending_end(&other), STORAGE_OK);
}

static void test_cache_fresh__late_joiners_see_writes_made_before_them(void **state)
{
	struct fixture *f = *state;
	struct pending first, second;
	start(f, (struct cache_options){0});
	/* the first round is answered, but the answer is held back: a write happens, and the second wait must see it */
	storage_fault_arm(f->fault, FAULT_DELAY_DONE, 1);
	pending_start(&first, f, LONG_MS);
	gate_close(f->gate);
	int64_t revision = world_put(f->memory, &widget, "a/x", "", "red");
	pending_start(&second, f, LONG_MS);
	storage_fault_release(f->fault);
	assert_int_equal(pending_end(&first), STORAGE_OK);
	assert_false(pending_is_over(&second));
	gate_open(f->gate);
	assert_int_equal(pending_end(&second), STORAGE_OK);
	assert_true(second.wait.revision >= revision);
}

static void test_cache_fresh__a_fence_covers_revisions_of_others(void **state)
{
	struct fixture *f = *state;
	start(f, (struct cache_options){.fence_after_ms = 1});
	for (int i = 0; i < 20; i++) {
		int64_t revision = world_put_raw(f->memory, "/other/user", "x");
		assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
		assert_true(cache_revision(f->cache) >= revision);
		assert_int_equal(stats_of(f).n_fences, i + 1);
	}
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	assert_int_equal(stats_of(f).n_fences, 20);
}

static void test_cache_fresh__a_proof_stands_in_for_a_lost_fence(void **state)
{
	struct fixture *f = *state;
	start(f, (struct cache_options){.fence_after_ms = 1});
	world_put_raw(f->memory, "/other/user", "x");
	storage_fault_arm(f->fault, FAULT_REFUSE, 2); /* round, fence */
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	assert_true(storage_fault_has_fired(f->fault));
	assert_int_equal(stats_of(f).n_fences, 1);
	assert_int_equal(stats_of(f).n_proofs, 1);
}

/* ---- a store that takes no writes ---- */

static size_t n_shown(struct fixture *f)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
	return cache_snapshot_count(s, STR(""));
}

static void start_full(struct fixture *f)
{
	world_put(f->memory, &widget, "a/x", "", "red");
	world_put(f->memory, &widget, "a/y", "", "red");
	start(f, (struct cache_options){.fence_after_ms = 1});
}

static void test_cache_fresh__a_store_without_room_is_read_all_the_same(void **state)
{
	struct fixture *f = *state;
	start_full(f);
	world_put_raw(f->memory, "/other/user", "x");
	storage_memory_set_full(f->memory, true);
	int64_t revision = cache_revision(f->cache), began_ms = clock_mono_ms();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	}
	/* A refused fence is tried again after a pause, never at once. A machine that stands still may let the pause pass. */
	assert_in_range(stats_of(f).n_fences, 1, 1 + (clock_mono_ms() - began_ms) / CACHE_FENCE_AGAIN_MS);
	assert_true(stats_of(f).n_proofs >= 1);
	assert_int_equal(cache_revision(f->cache), revision);
}

/* What is gone leaves no key: only the number of keys shows it. */
static void test_cache_fresh__a_proof_waits_for_deletions(void **state)
{
	struct fixture *f = *state;
	struct pending p;
	start_full(f);
	storage_memory_set_full(f->memory, true);
	gate_close(f->gate);
	world_delete(f->memory, &widget, "a/x");
	pending_start(&p, f, LONG_MS);
	while (stats_of(f).n_proofs < 2) {
		sched_yield();
	}
	assert_false(pending_is_over(&p));
	gate_open(f->gate);
	assert_int_equal(pending_end(&p), STORAGE_OK);
	assert_int_equal(n_shown(f), 1);
}

static void test_cache_fresh__a_proof_waits_for_changes(void **state)
{
	struct fixture *f = *state;
	struct pending p;
	start_full(f);
	gate_close(f->gate);
	world_put(f->memory, &widget, "a/x", "", "blue");
	world_delete(f->memory, &widget, "a/y");
	world_put(f->memory, &widget, "a/z", "", "blue"); /* as many as there were */
	storage_memory_set_full(f->memory, true);
	pending_start(&p, f, LONG_MS);
	while (stats_of(f).n_proofs < 2) {
		sched_yield();
	}
	assert_false(pending_is_over(&p));
	gate_open(f->gate);
	assert_int_equal(pending_end(&p), STORAGE_OK);
	assert_int_equal(n_shown(f), 2);
}

/* Keys that are of no kind, or no objects, are counted, too. */
static void test_cache_fresh__a_proof_counts_what_is_not_shown(void **state)
{
	struct fixture *f = *state;
	world_put_raw(f->memory, WORLD_PREFIX "/objects/no.such.group/things/a", "?");
	start_full(f);
	world_put_raw(f->memory, WORLD_PREFIX "/objects/no.such.group/things/b", "?");
	world_put_raw(f->memory, WORLD_PREFIX "/objects/test.annals.dev/widgets/a/broken", "?");
	world_put(f->memory, &widget, "a/y", "", "blue");
	world_put_raw(f->memory, "/other/user", "x");
	storage_memory_set_full(f->memory, true);
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	assert_true(stats_of(f).n_proofs >= 1);
}

static void test_cache_wait_revision__future_times_out_and_costs_one_fence(void **state)
{
	struct fixture *f = *state;
	start(f, (struct cache_options){.fence_after_ms = 1});
	int64_t future = cache_revision(f->cache) + 1000000;
	assert_int_equal(world_wait(f->cache, future, 40 * SHORT_MS), STORAGE_TIMEOUT);
	assert_int_equal(stats_of(f).n_fences, 1);
	assert_int_equal(world_wait(f->cache, cache_revision(f->cache), 0), STORAGE_OK);
}

static void test_cache_fresh__waits_end_by_their_deadline(void **state)
{
	struct fixture *f = *state;
	start(f, (struct cache_options){0});
	gate_close(f->gate);
	int64_t revision = world_put(f->memory, &widget, "a/x", "", "red");
	assert_int_equal(world_wait_fresh(f->cache, SHORT_MS), STORAGE_TIMEOUT);
	assert_int_equal(world_wait(f->cache, revision, SHORT_MS), STORAGE_TIMEOUT);
	gate_open(f->gate);
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);

	/* nor does a round that is not answered hold anybody */
	struct pending first;
	storage_fault_arm(f->fault, FAULT_DELAY, 1);
	pending_start(&first, f, SHORT_MS);
	assert_int_equal(world_wait_fresh(f->cache, SHORT_MS), STORAGE_TIMEOUT);
	assert_int_equal(pending_end(&first), STORAGE_TIMEOUT);
	storage_fault_release(f->fault);
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
}

static void test_cache_fresh__without_etcd_it_says_so(void **state)
{
	struct fixture *f = *state;
	struct pending p;
	start(f, (struct cache_options){0});
	storage_fault_arm(f->fault, FAULT_REFUSE, 1);
	pending_start(&p, f, LONG_MS);
	assert_int_equal(pending_end(&p), STORAGE_UNAVAILABLE);
	assert_non_null(p.wait.message);
	storage_fault_arm(f->fault, FAULT_LOSE, 1);
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_UNAVAILABLE);
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
}

static void test_cache_fresh__a_cache_not_loaded_yet_makes_wait(void **state)
{
	struct fixture *f = *state;
	world_put(f->memory, &widget, "a/x", "", "red");
	storage_fault_arm(f->fault, FAULT_DELAY, 1);
	f->cache = cache_new(&(struct cache_options){.storage = f->fault, .prefix = STR(WORLD_PREFIX)});
	assert_int_equal(world_wait_fresh(f->cache, SHORT_MS), STORAGE_TIMEOUT);
	assert_false(cache_is_ready(f->cache));
	assert_null(cache_snapshot(f->cache, &widget));
	assert_null(cache_get(f->cache, &widget, STR("a"), STR("x")));
	struct cache_snapshot *s;
	assert_int_equal(cache_snapshot_at(f->cache, &widget, 1, &s), CACHE_FUTURE);
	storage_fault_release(f->fault);
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	assert_true(cache_is_ready(f->cache));
}

/* Whatever call fails at the start or soon after, it comes up, and right. */
static void start_with_fault(enum fault_kind kind, unsigned n, bool *ret_has_fired)
{
	enum { OBJECTS = 250 };
	struct storage *memory = storage_memory_new(), *store = storage_fault_new(memory);
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 30);
	for (int i = 0; i < OBJECTS; i++) {
		world_put(memory, &widget, arena_printf(&a, "ns/o-%03d", i).p, "", "red");
	}
	world_put_raw(memory, "/other/user", "x");
	storage_fault_arm(store, kind, n);
	struct cache *c =
		cache_new(&(struct cache_options){.storage = store, .prefix = STR(WORLD_PREFIX), .fence_after_ms = 1});
	while (world_wait_fresh(c, LONG_MS) != STORAGE_OK) {
	}
	world_put_raw(memory, "/other/user", "y");
	while (world_wait_fresh(c, LONG_MS) != STORAGE_OK) {
	}
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(c, &widget);
	assert_int_equal(cache_snapshot_count(s, STR("ns")), OBJECTS);
	*ret_has_fired = storage_fault_has_fired(store);
	cache_free(c);
	storage_free(store);
}

static void test_cache__comes_up_whatever_call_fails(void **state _unused_)
{
	static const enum fault_kind kinds[] = {FAULT_REFUSE, FAULT_LOSE};
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		bool has_fired = true;
		for (unsigned n = 1; has_fired; n++) {
			start_with_fault(kinds[k], n, &has_fired);
		}
	}
}

/* ---- linearizability: no read is older than anything acknowledged before it began ---- */

enum { READERS = 4, READS = 300 };

struct race {
	struct fixture *f;
	_Atomic int64_t acknowledged;
	_Atomic bool is_over;
	_Atomic unsigned n_violations;
};

static void *race_write(void *arg)
{
	struct race *r = arg;
	while (!atomic_load(&r->is_over)) {
		int64_t revision = world_put(r->f->memory, &widget, "a/x", "", "red");
		atomic_store(&r->acknowledged, revision);
		if (revision % 7 == 0) {
			world_put_raw(r->f->memory, "/other/user", "x");
		}
	}
	return NULL;
}

static void *race_interrupt(void *arg)
{
	struct race *r = arg;
	while (!atomic_load(&r->is_over)) {
		gate_close(r->f->gate);
		world_put(r->f->memory, &gadget, "g", "", "red");
		gate_open(r->f->gate);
		world_wait(r->f->cache, atomic_load(&r->acknowledged), LONG_MS);
	}
	return NULL;
}

static void *race_read(void *arg)
{
	struct race *r = arg;
	for (int i = 0; i < READS; i++) {
		int64_t acknowledged = atomic_load(&r->acknowledged);
		enum storage_result result = world_wait_fresh(r->f->cache, LONG_MS);
		_cleanup_(cached_unrefp) struct cached *o = cache_get(r->f->cache, &widget, STR("a"), STR("x"));
		if (result != STORAGE_OK || !o || o->revision < acknowledged) {
			atomic_fetch_add(&r->n_violations, 1);
		}
	}
	return NULL;
}

static void test_cache_fresh__reads_are_linearizable(void **state)
{
	struct fixture *f = *state;
	struct race race = {.f = f};
	pthread_t writer, interrupter, readers[READERS];
	world_put(f->memory, &widget, "a/x", "", "red");
	start(f, (struct cache_options){.fence_after_ms = 2});
	pthread_create(&writer, NULL, race_write, &race);
	pthread_create(&interrupter, NULL, race_interrupt, &race);
	for (int i = 0; i < READERS; i++) {
		pthread_create(&readers[i], NULL, race_read, &race);
	}
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i], NULL);
	}
	atomic_store(&race.is_over, true);
	pthread_join(writer, NULL);
	pthread_join(interrupter, NULL);
	assert_int_equal(race.n_violations, 0);
}

#define FRESH_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH_TEST(test_cache_fresh__sees_what_was_acknowledged),
		FRESH_TEST(test_cache_fresh__waits_for_a_late_watch),
		FRESH_TEST(test_cache_fresh__those_who_wait_share_a_round),
		FRESH_TEST(test_cache_fresh__those_whom_readers_make_room_for_share_a_round),
		FRESH_TEST(test_cache_fresh__a_slow_reader_does_not_hold_others_for_long),
		FRESH_TEST(test_cache_fresh__who_never_settles_is_waited_for_once),
		FRESH_TEST(test_cache_fresh__late_joiners_see_writes_made_before_them),
		FRESH_TEST(test_cache_fresh__a_fence_covers_revisions_of_others),
		FRESH_TEST(test_cache_fresh__a_proof_stands_in_for_a_lost_fence),
		FRESH_TEST(test_cache_fresh__a_store_without_room_is_read_all_the_same),
		FRESH_TEST(test_cache_fresh__a_proof_waits_for_deletions),
		FRESH_TEST(test_cache_fresh__a_proof_waits_for_changes),
		FRESH_TEST(test_cache_fresh__a_proof_counts_what_is_not_shown),
		FRESH_TEST(test_cache_wait_revision__future_times_out_and_costs_one_fence),
		FRESH_TEST(test_cache_fresh__waits_end_by_their_deadline),
		FRESH_TEST(test_cache_fresh__without_etcd_it_says_so),
		FRESH_TEST(test_cache_fresh__a_cache_not_loaded_yet_makes_wait),
		TEST(test_cache__comes_up_whatever_call_fails),
		FRESH_TEST(test_cache_fresh__reads_are_linearizable),
	};
	return cmocka_run_group_tests_name("cache_fresh", tests, NULL, NULL);
}
