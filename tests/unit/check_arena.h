/* For tests that want an arena each: cmocka_unit_test_setup_teardown(f, start_arena, free_arena); *state is a struct arena. */
#ifndef TESTS_UNIT_CHECK_ARENA_H
#define TESTS_UNIT_CHECK_ARENA_H

#include "base/arena.h"

static inline int start_arena(void **state)
{
	struct arena *a = mem_new(struct arena);
	arena_init(a, SIZE_MAX);
	*state = a;
	return 0;
}

static inline int free_arena(void **state)
{
	arena_done(*state);
	mem_free(*state);
	return 0;
}

#endif
