/* JSON trees for unit tests: texts in, texts out, one arena a test. Use TEST_TREE(f) in the table. */
#ifndef TESTS_UNIT_TREE_H
#define TESTS_UNIT_TREE_H

#include "base/json.h"
#include "tests/unit/check.h"

static struct arena arena;

static int tree_setup(void **state _unused_)
{
	arena_init(&arena, 64 << 20);
	return 0;
}

static int tree_teardown(void **state _unused_)
{
	arena_done(&arena);
	return 0;
}

#define TEST_TREE(f) cmocka_unit_test_setup_teardown(f, tree_setup, tree_teardown)

static _unused_ struct json *parse(const char *text)
{
	struct json *j;
	size_t at;
	assert_int_equal(json_parse(&j, &arena, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

static _unused_ struct str encoded(const struct json *j)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 16 << 20);
	assert_true(json_encode(&b, j));
	return arena_dup(&arena, buf_str(&b));
}

#endif
