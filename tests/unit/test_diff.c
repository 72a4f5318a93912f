#include "api/diff/diff.h"
#include "api/patch/patch.h"
#include "tests/unit/check.h"
#include "tests/unit/check_arena.h"

#include <stdlib.h>

static struct json *parse(struct arena *a, const char *text)
{
	struct json *j;
	size_t at;
	assert_int_equal(json_parse(&j, a, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

static void assert_json(struct arena *a, const struct json *j, const char *expected)
{
	struct buf text;
	buf_init(&text, SIZE_MAX / 2);
	json_encode(&text, j);
	assert_str(arena_dup(a, buf_str(&text)), expected);
	buf_done(&text);
}

static void test_diff__says_what_changes(void **state)
{
	static const struct {
		const char *from, *to, *json, *merge; /* merge NULL: cannot be said */
	} rows[] = {
		{"{}", "{}", "[]", "{}"},
		{"{\"a\":1.0,\"b\":{\"c\":2}}", "{\"b\":{\"c\":2e0},\"a\":1}", "[]", "{}"},
		{"{}", "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]", "{\"a\":1}"},
		{"{\"a\":1}", "{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", "{\"a\":null}"},
		{"{\"a\":1}", "{\"a\":\"1\"}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":\"1\"}]", "{\"a\":\"1\"}"},
		{"{\"a\":{\"b\":{\"c\":1,\"d\":2}}}", "{\"a\":{\"b\":{\"c\":1,\"d\":3}}}",
			"[{\"op\":\"replace\",\"path\":\"/a/b/d\",\"value\":3}]", "{\"a\":{\"b\":{\"d\":3}}}"},
		{"{\"a/b\":{\"~\":1}}", "{\"a/b\":{\"~\":2}}", "[{\"op\":\"replace\",\"path\":\"/a~1b/~0\",\"value\":2}]",
			"{\"a/b\":{\"~\":2}}"},
		{"{\"l\":[1,2,3,4]}", "{\"l\":[1,9,2,3,4]}", "[{\"op\":\"add\",\"path\":\"/l/1\",\"value\":9}]",
			"{\"l\":[1,9,2,3,4]}"},
		{"{\"l\":[1,2,3,4]}", "{\"l\":[1,4]}",
			"[{\"op\":\"remove\",\"path\":\"/l/2\"},{\"op\":\"remove\",\"path\":\"/l/1\"}]", "{\"l\":[1,4]}"},
		{"{\"l\":[{\"n\":\"x\",\"v\":1}]}", "{\"l\":[{\"n\":\"x\",\"v\":2}]}",
			"[{\"op\":\"replace\",\"path\":\"/l/0/v\",\"value\":2}]", "{\"l\":[{\"n\":\"x\",\"v\":2}]}"},
		{"{}", "{\"a\":null}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":null}]", NULL},
		{"{\"a\":1}", "{\"a\":{\"b\":null}}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":{\"b\":null}}]", NULL},
		{"{\"a\":null}", "{\"a\":null,\"l\":[null]}", "[{\"op\":\"add\",\"path\":\"/l\",\"value\":[null]}]",
			"{\"l\":[null]}"},
		{"{\"a\":null}", "{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", "{\"a\":null}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct json *from = parse(*state, rows[i].from), *to = parse(*state, rows[i].to);
		assert_json(*state, diff_json(from, to, *state), rows[i].json);
		struct json *merge = diff_merge(from, to, *state);
		assert_int_equal(merge != NULL, rows[i].merge != NULL);
		if (merge) {
			assert_json(*state, merge, rows[i].merge);
		}
	}
}

static void test_diff__of_too_much_replaces_the_whole(void **state)
{
	struct json *from = json_object(*state), *to = json_object(*state);
	for (int i = 0; i <= PATCH_MAX_OPERATIONS; i++) {
		json_add(*state, to, arena_printf(*state, "m%05d", i), json_int(*state, i));
	}
	struct json *patch = diff_json(from, to, *state), *result;
	struct status st;
	assert_int_equal(patch->n, 1);
	status_init(&st, *state);
	assert_int_equal(patch_json(&result, from, patch, *state, &st), 0);
	assert_true(json_equal(result, to));
}

static void test_diff__far_below_is_replaced(void **state)
{
	struct json *from = json_int(*state, 1), *to = json_int(*state, 2);
	for (int i = 0; i < 400; i++) {
		struct json *a = json_array(*state), *b = json_array(*state);
		json_append(*state, a, from);
		json_append(*state, b, to);
		from = a;
		to = b;
	}
	struct json *patch = diff_json(from, to, *state);
	assert_int_equal(patch->n, 1);
	assert_int_equal(json_text(json_gets(patch->items[0], "path")).n, 128);
}

enum { LONG_NAME = 512 * 1024, MANY = 30000 };

/* Members `m00000` to `m29999` below one member with a long name. */
static struct json *below_long_name(struct arena *a, struct str name, int value)
{
	struct json *whole = json_object(a), *members = json_object(a);

	for (int i = 0; i < MANY; i++) {
		json_add(a, members, arena_printf(a, "m%05d", i), json_int(a, i % 2 ? value : 0));
	}
	json_add(a, whole, name, members);
	return whole;
}

static void test_diff__costs_what_its_inputs_do(void **state)
{
	struct str name = {memset(arena_text(*state, LONG_NAME), '/', LONG_NAME), LONG_NAME};
	struct json *from = below_long_name(*state, name, 1), *to = below_long_name(*state, name, 2), *result;
	struct status st;
	size_t before = ((struct arena *)*state)->used;

	assert_int_equal(diff_json(from, from, *state)->n, 0);
	struct json *patch = diff_json(from, to, *state);
	assert_int_equal(patch->n, 1); /* its paths would be 15 GB */
	status_init(&st, *state);
	assert_int_equal(patch_json(&result, from, patch, *state, &st), 0);
	assert_true(json_equal(result, to));
	assert_non_null(diff_merge(from, to, *state));
	assert_true(((struct arena *)*state)->used - before < (size_t)64 << 20);
}

/* ---- any two values ---- */

enum { ROUNDS = 20000 };

static struct json *roll(struct arena *a, unsigned *dice, unsigned depth)
{
	static const char *const names[] = {"a", "b", "c/d", "~", ""};
	unsigned kind = (unsigned)rand_r(dice) % (depth < 4 ? 7 : 4), n = (unsigned)rand_r(dice) % 5;
	struct json *j = kind == 5 ? json_array(a) : json_object(a);

	switch (kind) {
	case 0:
		return json_null(a);
	case 1:
		return json_bool(a, n & 1);
	case 2:
		return json_string(a, str_of(names[n]));
	case 3:
		return json_int(a, n);
	case 5:
		for (unsigned i = 0; i < n; i++) {
			json_append(a, j, roll(a, dice, depth + 1));
		}
		return j;
	default:
		for (unsigned i = 0; i < n; i++) {
			json_set(a, j, str_of(names[(unsigned)rand_r(dice) % 5]), roll(a, dice, depth + 1));
		}
		return j;
	}
}

static struct json *roll_object(struct arena *a, unsigned *dice)
{
	struct json *j = roll(a, dice, 0);

	while (!json_is(j, JSON_OBJECT)) {
		j = roll(a, dice, 0);
	}
	return j;
}

static void test_diff__leads_from_one_to_the_other(void **state)
{
	unsigned dice = 11, n_merged = 0;
	for (int i = 0; i < ROUNDS; i++) {
		const struct json *from = roll_object(*state, &dice), *to = roll_object(*state, &dice);
		struct json *result, *merge = diff_merge(from, to, *state);
		struct status st;
		status_init(&st, *state);
		assert_int_equal(patch_json(&result, from, diff_json(from, to, *state), *state, &st), 0);
		assert_true(json_equal(result, to));
		if (merge) {
			assert_int_equal(patch_merge(&result, from, merge, *state, &st), 0);
			assert_true(json_equal(result, to));
			n_merged++;
		}
		arena_clear(*state);
	}
	assert_true(n_merged > ROUNDS / 10);
}

#define ARENA_TEST(f) cmocka_unit_test_setup_teardown(f, start_arena, free_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARENA_TEST(test_diff__says_what_changes),
		ARENA_TEST(test_diff__of_too_much_replaces_the_whole),
		ARENA_TEST(test_diff__far_below_is_replaced),
		ARENA_TEST(test_diff__costs_what_its_inputs_do),
		ARENA_TEST(test_diff__leads_from_one_to_the_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
