/* What tests of the cache start from: a store whose watch can be interrupted, and, once it is started, a cache over it. */
#ifndef TESTS_UNIT_CACHE_FIXTURE_H
#define TESTS_UNIT_CACHE_FIXTURE_H

#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"
#include "tests/unit/gate.h"

struct fixture {
	struct storage *store; /* a gate */
	struct cache *cache;
	struct arena a;
	int n_said; /* what the cache has said that it does not show, and the last of it */
	char said[512];
};

static inline int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);
	f->store = gate_new(storage_memory_new());
	arena_init(&f->a, 1 << 30);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	gate_open(f->store); /* a failed test may have left it closed */
	cache_free(f->cache);
	storage_free(f->store);
	arena_done(&f->a);
	mem_free(f);
	return 0;
}

static inline void remember(void *ctx, bool is_ready _unused_, const char *message)
{
	struct fixture *f = ctx;
	if (strstr(message, "is not shown")) {
		f->n_said++;
		snprintf(f->said, sizeof(f->said), "%s", message);
	}
}

static inline void start(struct fixture *f, struct cache_options options)
{
	options.on_state = remember;
	options.ctx = f;
	f->cache = world_cache(f->store, options);
}

static inline void catch_up(struct fixture *f, int64_t revision)
{
	assert_int_equal(world_wait(f->cache, revision, 30000), STORAGE_OK);
}

#define WITH_STORE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
