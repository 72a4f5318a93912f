#include "base/json.h"
#include "tests/unit/check.h"

static struct arena arena;

static int setup(void **state _unused_)
{
	arena_init(&arena, 64 << 20);
	return 0;
}

static int teardown(void **state _unused_)
{
	arena_done(&arena);
	return 0;
}

static struct json *parse(const char *text)
{
	struct json *j;
	size_t at;
	assert_int_equal(json_parse(&j, &arena, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

static struct str encoded(const struct json *j)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 16 << 20);
	assert_true(json_encode(&b, j));
	return arena_dup(&arena, buf_str(&b));
}

static struct str name_of(int i)
{
	return arena_printf(&arena, "name-%d", i);
}

static void test_json__builds_every_kind(void **state _unused_)
{
	struct json *o = json_object(&arena);
	json_set(&arena, o, STR("null"), json_null(&arena));
	json_set(&arena, o, STR("bool"), json_bool(&arena, true));
	json_set(&arena, o, STR("int"), json_int(&arena, INT64_MIN));
	json_set(&arena, o, STR("number"), json_number(&arena, STR("1.50")));
	json_set(&arena, o, STR("string"), json_string(&arena, STR("a\"b")));
	struct json *list = json_array(&arena);
	json_append(&arena, list, json_object(&arena));
	json_set(&arena, o, STR("array"), list);
	assert_str(encoded(o),
		"{\"null\":null,\"bool\":true,\"int\":-9223372036854775808,\"number\":1.50,"
		"\"string\":\"a\\\"b\",\"array\":[{}]}");
}

static void test_json__looking_into_nothing_finds_nothing(void **state _unused_)
{
	int64_t n;
	assert_null(json_gets(NULL, "a"));
	assert_null(json_gets(parse("[1]"), "a"));
	assert_false(json_is(NULL, JSON_NULL));
	assert_str(json_text(NULL), "");
	assert_str(json_text(parse("true")), "");
	assert_false(json_to_int64(NULL, &n));
	assert_false(json_to_int64(parse("\"1\""), &n));
}

static void test_json_to_int64__takes_plain_integers_only(void **state _unused_)
{
	int64_t n;
	assert_true(json_to_int64(parse("-9223372036854775808"), &n));
	assert_true(n == INT64_MIN);
	assert_true(json_to_int64(parse("-0"), &n));
	assert_int_equal(n, 0);
	assert_false(json_to_int64(parse("9223372036854775808"), &n));
	assert_false(json_to_int64(parse("1.0"), &n));
	assert_false(json_to_int64(parse("1e2"), &n));
}

static void test_json_array__inserts_and_removes_anywhere(void **state _unused_)
{
	struct json *list = json_array(&arena);
	for (int i = 0; i < 10; i++) {
		json_insert(&arena, list, 0, json_int(&arena, i));
	}
	json_append(&arena, list, json_int(&arena, 99));
	json_remove_at(list, 10);
	json_remove_at(list, 0);
	json_insert(&arena, list, 4, json_int(&arena, 77));
	assert_str(encoded(list), "[8,7,6,5,77,4,3,2,1,0]");
}

static void test_json_set__replaces_the_last_of_that_name(void **state _unused_)
{
	struct json *o = json_copy(&arena, parse("{\"a\":1,\"b\":2,\"a\":3}"));
	json_set(&arena, o, STR("a"), json_int(&arena, 4));
	json_set(&arena, o, STR("c"), json_int(&arena, 5));
	assert_str(encoded(o), "{\"a\":1,\"b\":2,\"a\":4,\"c\":5}");
}

static void test_json_remove__removes_all_of_that_name(void **state _unused_)
{
	struct json *o = json_copy(&arena, parse("{\"a\":1,\"b\":2,\"a\":3}"));
	assert_true(json_remove(o, STR("a")));
	assert_false(json_remove(o, STR("a")));
	assert_str(encoded(o), "{\"b\":2}");
}

static void test_json_copy__leaves_the_original_alone(void **state _unused_)
{
	struct json *original = parse("{\"a\":{\"x\":1.0},\"b\":[1]}");
	struct json *copy = json_copy(&arena, original);
	assert_false(copy->is_frozen);
	assert_int_equal(copy->source.n, 0);
	json_set(&arena, copy, STR("c"), json_null(&arena));
	assert_ptr_equal(json_gets(copy, "a"), json_gets(original, "a"));
	assert_str(encoded(original), "{\"a\":{\"x\":1.0},\"b\":[1]}");
	assert_str(encoded(copy), "{\"a\":{\"x\":1.0},\"b\":[1],\"c\":null}");

	struct json *list = json_copy(&arena, json_gets(original, "b"));
	json_append(&arena, list, json_copy(&arena, json_gets(original, "b")->items[0]));
	assert_str(encoded(list), "[1,1]");
}

static void test_json_object__big_ones_behave_as_small_ones(void **state _unused_)
{
	enum { N = 5000 };
	struct json *o = json_object(&arena);
	for (int i = 0; i < N; i++) {
		json_set(&arena, o, name_of(i), json_int(&arena, i));
	}
	json_add(&arena, o, name_of(7), json_int(&arena, -7));
	json_set(&arena, o, name_of(8), json_int(&arena, -8));
	assert_int_equal(o->n, N + 1);
	assert_true(json_remove(o, name_of(9)));
	assert_null(json_get(o, name_of(9)));
	json_set(&arena, o, name_of(9), json_int(&arena, -9));
	for (int i = 0; i < N; i++) {
		int64_t n;
		assert_true(json_to_int64(json_get(o, name_of(i)), &n));
		assert_int_equal(n, i >= 7 && i <= 9 ? -i : i);
	}
}

struct equal_case {
	const char *a, *b;
	bool is_equal;
};

static const struct equal_case equal_cases[] = {
	{"1", "1.0e0", true},
	{"18446744073709551616", "18446744073709551617", false},
	{"9007199254740993", "9007199254740992.0", false},
	{"\"\\u0041\\/\"", "\"A/\"", true},
	{"\"a\"", "\"b\"", false},
	{"\"1\"", "1", false},
	{"null", "false", false},
	{"true", "false", false},
	{"true", "true", true},
	{"[1,2]", "[ 1.0, 2 ]", true},
	{"[1,2]", "[2,1]", false},
	{"[1,2]", "[1,2,3]", false},
	{"[]", "{}", false},
	{"{}", "{ }", true},
	{"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
	{"{\"a\":1,\"b\":2}", "{\"a\":1}", false},
	{"{\"a\":null}", "{}", false},
	{"{\"a\":null}", "{\"b\":null}", false},
	{"{\"a\":1,\"a\":2}", "{\"a\":2}", true},
	{"{\"a\":1,\"a\":2}", "{\"a\":1}", false},
	{"{\"a\":1,\"a\":2}", "{\"a\":2,\"b\":1}", false},
	{"{\"a\":{\"b\":[{\"c\":1}]}}", "{\"a\":{\"b\":[{\"c\":1.00}]}}", true},
	{"{\"a\":{\"b\":[{\"c\":1}]}}", "{\"a\":{\"b\":[{\"c\":2}]}}", false},
};

static void test_json_equal__is_by_value(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(equal_cases); i++) {
		const struct equal_case *c = &equal_cases[i];
		assert_int_equal(json_equal(parse(c->a), parse(c->b)), c->is_equal);
		assert_int_equal(json_equal(parse(c->b), parse(c->a)), c->is_equal);
	}
	assert_true(json_equal(NULL, NULL));
	assert_false(json_equal(NULL, parse("null")));
}

static struct json *big_object(int n, int step)
{
	struct json *o = json_object(&arena);
	for (int i = 0; i < n; i++) {
		int k = (int)((int64_t)i * step % n);
		json_add(&arena, o, name_of(k), json_int(&arena, k));
	}
	return o;
}

static void test_json_equal__big_objects_in_any_order(void **state _unused_)
{
	enum { N = 100003 }; /* prime, so that every step visits all */
	struct json *a = big_object(N, 1), *b = big_object(N, 7919);
	assert_true(json_equal(a, b));
	json_add(&arena, b, name_of(5), json_int(&arena, 5));
	assert_true(json_equal(a, b));
	json_add(&arena, b, name_of(5), json_int(&arena, 6));
	assert_false(json_equal(a, b));
	json_add(&arena, a, name_of(N), json_null(&arena));
	assert_false(json_equal(b, a));
}

static void test_json__trees_may_be_deeper_than_the_stack(void **state _unused_)
{
	struct json *a = json_array(&arena), *b = json_array(&arena);
	for (int i = 0; i < 300000; i++) {
		struct json *outer_a = json_array(&arena), *outer_b = json_array(&arena);
		json_append(&arena, outer_a, a);
		json_append(&arena, outer_b, b);
		a = outer_a;
		b = outer_b;
	}
	assert_true(json_equal(a, b));
	assert_int_equal(encoded(a).n, 600002);
}

int main(void)
{
#define WITH_ARENA(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_ARENA(test_json__builds_every_kind),
		WITH_ARENA(test_json__looking_into_nothing_finds_nothing),
		WITH_ARENA(test_json_to_int64__takes_plain_integers_only),
		WITH_ARENA(test_json_array__inserts_and_removes_anywhere),
		WITH_ARENA(test_json_set__replaces_the_last_of_that_name),
		WITH_ARENA(test_json_remove__removes_all_of_that_name),
		WITH_ARENA(test_json_copy__leaves_the_original_alone),
		WITH_ARENA(test_json_object__big_ones_behave_as_small_ones),
		WITH_ARENA(test_json_equal__is_by_value),
		WITH_ARENA(test_json_equal__big_objects_in_any_order),
		WITH_ARENA(test_json__trees_may_be_deeper_than_the_stack),
	};
	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
