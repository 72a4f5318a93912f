#include "base/json.h"
#include "tests/unit/check.h"

struct write_case {
	struct str in;
	const char *out;
};

#define IN(literal) {(literal), sizeof(literal) - 1}

/* As Go 1.22's json.Marshal writes them. */
static const struct write_case string_cases[] = {
	{IN(""), "\"\""},
	{{NULL, 0}, "\"\""},
	{IN("plain text, longer than a word"), "\"plain text, longer than a word\""},
	{IN("\"\\/"), "\"\\\"\\\\/\""},
	{IN("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
	{IN("\x01\x1f\x7f"), "\"\\u0001\\u001f\x7f\""},
	{IN("a\0b"), "\"a\\u0000b\""},
	{IN("<a href=\"x\">&amp;</a>"), "\"\\u003ca href=\\\"x\\\"\\u003e\\u0026amp;\\u003c/a\\u003e\""},
	{IN("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"), "\"\\u2028\\u2029\xe2\x80\xaa\""},
	{IN("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\""},
	{IN("\xff-\xe2\x80"), "\"\\ufffd-\\ufffd\\ufffd\""},
};

static void test_json_encode_string__escapes_as_go(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(string_cases); i++) {
		_cleanup_(buf_done) struct buf b;
		buf_init(&b, 1000);
		assert_true(json_encode_string(&b, string_cases[i].in));
		assert_str(buf_str(&b), string_cases[i].out);
	}
}

static const struct write_case compact_cases[] = {
	{IN(" { \"a b\" : [ 1.0 ,\t-0 ,1E400 ] ,\r\n \"a b\" : null } "), "{\"a b\":[1.0,-0,1E400],\"a b\":null}"},
	{IN("\"\\/\\u00e9\\\" x \\\\\""), "\"\\/\\u00e9\\\" x \\\\\""},
	{IN("{\"<&>\":\"\xe2\x80\xa8\"}"), "{\"\\u003c\\u0026\\u003e\":\"\\u2028\"}"},
	{IN("0.1"), "0.1"},
};

static void test_json_compact__keeps_every_token(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(compact_cases); i++) {
		_cleanup_(buf_done) struct buf b;
		buf_init(&b, 1000);
		assert_true(json_compact(&b, compact_cases[i].in));
		assert_str(buf_str(&b), compact_cases[i].out);
	}
}

static const struct write_case indent_cases[] = {
	{IN("{}"), "{}"},
	{IN(" [ ] "), "[]"},
	{IN("1"), "1"},
	{IN("{\"a\":[1,{},\"x,]\\\"}\"],\"b\" : {\"c\":[ ]}}"),
		"{\n  \"a\": [\n    1,\n    {},\n    \"x,]\\\"}\"\n  ],\n  \"b\": {\n    \"c\": []\n  }\n}"},
	{IN("[[[]],true]"), "[\n  [\n    []\n  ],\n  true\n]"},
};

static void test_json_indent__is_gos(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(indent_cases); i++) {
		_cleanup_(buf_done) struct buf b;
		buf_init(&b, 1000);
		assert_true(json_indent(&b, indent_cases[i].in, 2));
		assert_str(buf_str(&b), indent_cases[i].out);
	}
}

static void test_json_encode__parsed_parts_of_a_built_tree_are_verbatim(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	struct json *data;
	size_t at;
	assert_int_equal(json_parse(&data, &a, STR("{ \"x\" : 1.0, \"x\" : \"\\/\" }"), JSON_LIMITS_DEFAULT, &at), 0);
	struct json *o = json_object(&a);
	json_set(&a, o, STR("<data>"), data);
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1000);
	assert_true(json_encode(&b, o));
	assert_str(buf_str(&b), "{\"\\u003cdata\\u003e\":{\"x\":1.0,\"x\":\"\\/\"}}");
}

static void test_json_encode__stops_at_the_ceiling(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	struct json *list = json_array(&a);
	for (int i = 0; i < 100; i++) {
		json_append(&a, list, json_string(&a, STR("<<<<")));
	}
	for (size_t ceiling = 0; ceiling < 2000; ceiling += 7) {
		_cleanup_(buf_done) struct buf b;
		buf_init(&b, ceiling);
		assert_false(json_encode(&b, list));
		assert_true(b.n <= ceiling);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_json_encode_string__escapes_as_go),
		TEST(test_json_compact__keeps_every_token),
		TEST(test_json_indent__is_gos),
		TEST(test_json_encode__parsed_parts_of_a_built_tree_are_verbatim),
		TEST(test_json_encode__stops_at_the_ceiling),
	};
	return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
