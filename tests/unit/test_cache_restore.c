/* A cache whose store is restored from a backup: it notices, shows nothing of what never was, and tells everybody who followed. */
#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"

#include <sched.h>

enum { LONG_MS = 30000 };

struct fixture {
	struct storage *memory;
	struct cache *cache;
	struct arena a;
	int64_t backup; /* x is there, and y is red */
};

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	f->memory = storage_memory_new();
	arena_init(&f->a, 1 << 30);
	world_put(f->memory, &widget, "a/x", "", "red");
	f->backup = world_put(f->memory, &widget, "a/y", "", "red");
	f->cache = world_cache(f->memory, (struct cache_options){.fence_after_ms = 1});
	world_delete(f->memory, &widget, "a/x");
	world_put(f->memory, &widget, "a/y", "", "blue");
	int64_t last = world_put(f->memory, &widget, "a/z", "", "red");
	assert_int_equal(world_wait(f->cache, last, LONG_MS), STORAGE_OK);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cache_free(f->cache);
	storage_free(f->memory);
	arena_done(&f->a);
	mem_free(f);
	return 0;
}

static uint64_t n_restores(struct fixture *f)
{
	struct cache_stats stats;

	cache_stats(f->cache, NULL, &stats);
	return stats.n_restores;
}

static const char *shown(struct fixture *f)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
	const struct cache_filter all = {0};

	return arena_printf(&f->a, STR_FMT, STR_ARG(world_list(s, &all, &f->a))).p;
}

static void wait_restored(struct fixture *f)
{
	while (n_restores(f) == 0 || !cache_is_ready(f->cache) || !cache_is_connected(f->cache)) {
		sched_yield();
	}
}

static void check_is_as_the_backup(struct fixture *f)
{
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	assert_string_equal(shown(f), "a/x a/y");
	_cleanup_(cached_unrefp) struct cached *y = cache_get(f->cache, &widget, STR("a"), STR("y"));
	assert_int_equal(y->revision, f->backup);
	assert_true(str_eq(cached_value(y, 0), STR("red")));
}

static void test_cache_restore__a_watch_that_ends_begins_everything_anew(void **state)
{
	struct fixture *f = *state;

	storage_memory_restore(f->memory, f->backup, RESTORE_NOTICED);
	wait_restored(f);
	assert_int_equal(cache_revision(f->cache), f->backup);
	check_is_as_the_backup(f);
	world_put(f->memory, &widget, "a/w", "", "red");
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	assert_string_equal(shown(f), "a/w a/x a/y");
	assert_int_equal(n_restores(f), 1);
}

/* The stream goes on, from a member that does not know, or into the future: answers to questions show it. */
static void test_cache_restore__a_fresh_read_notices_an_earlier_revision(void **state)
{
	struct fixture *f = *state;

	storage_memory_restore(f->memory, f->backup, 0);
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_UNAVAILABLE);
	wait_restored(f);
	check_is_as_the_backup(f);
}

static void test_cache_restore__a_fresh_read_notices_another_cluster(void **state)
{
	struct fixture *f = *state;
	int64_t present = cache_revision(f->cache);

	storage_memory_restore(f->memory, f->backup, RESTORE_OTHER_CLUSTER);
	while (world_put_raw(f->memory, "/other/user", "x") < present + 10) { /* as with --bump-revision */
	}
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_UNAVAILABLE);
	wait_restored(f);
	check_is_as_the_backup(f);
}

static void nobody_wakes(void *ctx _unused_)
{
}

static int open_watch(struct fixture *f, struct cache_watcher **ret, int64_t from)
{
	const struct cache_watch_options options = {.kind = &widget, .from_revision = from, .wake = nobody_wakes};

	return cache_watch_open(f->cache, ret, &options);
}

static enum cache_next next_of(struct cache_watcher *w)
{
	enum watch_type type;
	struct cached *object = NULL;
	enum cache_next next = cache_watch_next(w, &type, &object);

	cached_unref(object);
	return next;
}

static void test_cache_restore__watchers_are_ended(void **state)
{
	struct fixture *f = *state;
	struct cache_watcher *present, *future, *again;
	int64_t old = cache_revision(f->cache);

	assert_int_equal(open_watch(f, &present, old), CACHE_OK);
	assert_int_equal(open_watch(f, &future, old + 100), CACHE_OK);
	storage_memory_restore(f->memory, f->backup, RESTORE_NOTICED);
	wait_restored(f);
	assert_int_equal(next_of(present), CACHE_NEXT_RESTORED);
	assert_int_equal(next_of(future), CACHE_NEXT_RESTORED);
	cache_watch_close(present);
	cache_watch_close(future);

	/* nor does anybody go on where the other history was: not even where that had not come to */
	assert_int_equal(open_watch(f, &again, old), CACHE_EXPIRED);
	assert_int_equal(open_watch(f, &again, old + 100), CACHE_EXPIRED);
	assert_int_equal(open_watch(f, &again, f->backup - 1), CACHE_EXPIRED);
	assert_int_equal(open_watch(f, &again, f->backup), CACHE_OK);
	world_put(f->memory, &widget, "a/w", "", "red");
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	assert_int_equal(next_of(again), CACHE_NEXT_EVENT);
	cache_watch_close(again);

	/* once this one has come further, a revision to come may be anybody's */
	while (world_put_raw(f->memory, WORLD_PREFIX "/fence", "") <= old) {
	}
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	assert_int_equal(open_watch(f, &again, old + 100), CACHE_OK);
	cache_watch_close(again);
}

static void test_cache_restore__states_of_the_other_history_are_gone(void **state)
{
	struct fixture *f = *state;
	struct cache_snapshot *s = cache_snapshot(f->cache, &widget), *found = NULL;
	int64_t old = cache_snapshot_revision(s);

	cache_snapshot_pin(f->cache, s);
	cache_snapshot_unref(s);
	storage_memory_restore(f->memory, f->backup, RESTORE_NOTICED);
	wait_restored(f);
	assert_int_equal(cache_snapshot_at(f->cache, &widget, old, &found), CACHE_FUTURE);
	while (world_put_raw(f->memory, WORLD_PREFIX "/fence", "") <= old) {
	}
	assert_int_equal(world_wait_fresh(f->cache, LONG_MS), STORAGE_OK);
	assert_int_equal(cache_snapshot_at(f->cache, &widget, old, &found), CACHE_OK);
	assert_int_equal(cache_snapshot_count(found, STR("")), 2);
	cache_snapshot_unref(found);
}

/* A compactor of the other history may name a revision that this one has not come to. */
static void test_cache_restore__a_compaction_to_come_forgets_no_more_than_there_is(void **state)
{
	struct fixture *f = *state;
	struct cache_watcher *w;

	int64_t revision = world_put_raw(f->memory, WORLD_PREFIX "/compact_rev_key", "1000000");
	assert_int_equal(world_wait(f->cache, revision, LONG_MS), STORAGE_OK);
	assert_int_equal(open_watch(f, &w, revision), CACHE_OK);
	cache_watch_close(w);
	assert_int_equal(open_watch(f, &w, revision - 1), CACHE_EXPIRED);
}

#define RESTORE_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RESTORE_TEST(test_cache_restore__a_watch_that_ends_begins_everything_anew),
		RESTORE_TEST(test_cache_restore__a_fresh_read_notices_an_earlier_revision),
		RESTORE_TEST(test_cache_restore__a_fresh_read_notices_another_cluster),
		RESTORE_TEST(test_cache_restore__watchers_are_ended),
		RESTORE_TEST(test_cache_restore__states_of_the_other_history_are_gone),
		RESTORE_TEST(test_cache_restore__a_compaction_to_come_forgets_no_more_than_there_is),
	};
	return cmocka_run_group_tests_name("cache_restore", tests, NULL, NULL);
}
