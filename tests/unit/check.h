/* What every unit test includes: cmocka (which wants these four before it) and comparisons of slices. */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

#include <stdio.h>

#define TEST(f) cmocka_unit_test(f)

/* Compares a slice with a literal and shows both when they differ. */
#define assert_str(s, expected) assert_str_at((s), (expected), __FILE__, __LINE__)

static inline void assert_str_at(struct str s, const char *expected, const char *file, int line)
{
	if (!str_is(s, expected)) {
		fprintf(stderr, "got:      " STR_FMT "\nexpected: %s\n", STR_ARG(s), expected);
		_fail(file, line);
	}
}

/* Random tests of one thread try this fraction of their seeds under a sanitizer, which takes ten times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SEEDS_SHARE = 8 };
#else
enum { SEEDS_SHARE = 1 };
#endif

#endif
