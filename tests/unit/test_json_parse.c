#include "base/json.h"
#include "tests/unit/check.h"

enum { CEILING = 64 << 20 };

struct fixture {
	struct arena a;
	struct json *j;
	struct str text;
	int r;
	size_t at;
};

static void fixture_done(struct fixture *f)
{
	arena_done(&f->a);
}

static void parse_limited(struct fixture *f, struct str text, struct json_limits limits)
{
	arena_init(&f->a, CEILING);
	f->text = text;
	f->j = NULL;
	f->at = 0;
	f->r = json_parse(&f->j, &f->a, text, limits, &f->at);
}

#define PARSE(name, text)                            \
	_cleanup_(fixture_done) struct fixture name; \
	parse_limited(&name, (text), JSON_LIMITS_DEFAULT)

static void test_json_parse__scalars(void **state _unused_)
{
	PARSE(literals, STR(" [ null , true , false ] "));
	assert_int_equal(literals.r, 0);
	assert_int_equal(literals.j->n, 3);
	assert_true(json_is(literals.j->items[0], JSON_NULL));
	assert_true(literals.j->items[1]->boolean);
	assert_false(literals.j->items[2]->boolean);

	PARSE(text, STR("\"a\""));
	assert_str(json_text(text.j), "a");
	assert_true(text.j->is_frozen);
}

static void test_json_parse__every_value_keeps_its_source(void **state _unused_)
{
	PARSE(f, STR(" {\"a\" : [ 1.50 , \"\\/\" ] , \"b\":{ }}\n"));
	assert_str(f.j->source, "{\"a\" : [ 1.50 , \"\\/\" ] , \"b\":{ }}");
	struct json *a = json_gets(f.j, "a");
	assert_str(a->source, "[ 1.50 , \"\\/\" ]");
	assert_str(a->items[0]->source, "1.50");
	assert_str(a->items[1]->source, "\"\\/\"");
	assert_str(json_gets(f.j, "b")->source, "{ }");
}

static void test_json_parse__numbers_stay_as_they_are_spelled(void **state _unused_)
{
	static const char *const lexemes[] = {"0", "-0", "1E400", "0.1", "1e3", "18446744073709551616", "-1.0e+07",
		"123456789012345678901234567890.123456789e-99999999999999999999"};
	for (size_t i = 0; i < ARRAY_SIZE(lexemes); i++) {
		PARSE(f, str_of(lexemes[i]));
		assert_int_equal(f.r, 0);
		assert_str(json_text(f.j), lexemes[i]);
	}
}

static void test_json_parse__duplicates_are_kept_and_the_last_is_found(void **state _unused_)
{
	PARSE(f, STR("{\"a\":1,\"b\":2,\"a\":3}"));
	assert_int_equal(f.j->n, 3);
	assert_str(f.j->members[0].name, "a");
	assert_str(f.j->members[0].value->source, "1");
	assert_str(json_gets(f.j, "a")->source, "3");
}

static void test_json_parse__many_duplicates_in_a_big_object(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, CEILING);
	buf_addc(&b, '{');
	for (int i = 0; i < 1000; i++) {
		buf_printf(&b, "%s\"n%d\":%d", i ? "," : "", i % 100, i);
	}
	buf_addc(&b, '}');
	PARSE(f, buf_str(&b));
	assert_int_equal(f.j->n, 1000);
	for (int i = 0; i < 100; i++) {
		int64_t n;
		char name[16];
		snprintf(name, sizeof(name), "n%d", i);
		assert_true(json_to_int64(json_gets(f.j, name), &n));
		assert_int_equal(n, 900 + i);
	}
	assert_null(json_gets(f.j, "n100"));
}

struct text_case {
	const char *json;
	struct str text;
};

static const struct text_case text_cases[] = {
	{"\"\"", {"", 0}},
	{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", {"\"\\/\b\f\n\r\t", 8}},
	{"\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\"", {"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10}},
	{"\"a\\u0000b\"", {"a\0b", 3}},
	{"\"\\ud800\"", {"\xef\xbf\xbd", 3}},
	{"\"\\udc00x\"", {"\xef\xbf\xbdx", 4}},
	{"\"\\ud800\\ud800\\udc00\"", {"\xef\xbf\xbd\xf0\x90\x80\x80", 7}},
	{"\"\\ud800\\n\"", {"\xef\xbf\xbd\n", 4}},
	{"\"\\ud800\\u0041\"",
		{"\xef\xbf\xbd"
		 "A",
			4}},
	{"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"", {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f", 10}},
	{"\"long enough for several words at a time\\n and then some more of it\"",
		{"long enough for several words at a time\n and then some more of it", 65}},
};

static void test_json_parse__strings_are_unescaped(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(text_cases); i++) {
		PARSE(f, str_of(text_cases[i].json));
		assert_int_equal(f.r, 0);
		assert_true(str_eq(json_text(f.j), text_cases[i].text));
	}
}

static void test_json_parse__names_are_unescaped(void **state _unused_)
{
	PARSE(f, STR("{\"\\u0061b\":1}"));
	assert_non_null(json_gets(f.j, "ab"));
}

/* In every place of a word: the fast path looks at eight bytes together. */
static void test_json_parse__a_special_byte_is_seen_wherever_it_stands(void **state _unused_)
{
	static const struct text_case specials[] = {
		{"\x1f", {NULL, JSON_E_SYNTAX}},
		{"\x80", {NULL, JSON_E_UTF8}},
		{"\\x", {NULL, JSON_E_SYNTAX}},
		{"\"", {NULL, JSON_E_SYNTAX}},
	};
	for (size_t before = 0; before < 20; before++) {
		for (size_t i = 0; i < ARRAY_SIZE(specials); i++) {
			char text[64];
			snprintf(text, sizeof(text), "\"%.*s%szzzzzzzzzzzz\"", (int)before, "!!!!!!!!!!!!!!!!!!!!",
				specials[i].json);
			PARSE(f, str_of(text));
			assert_int_equal(f.r, specials[i].text.n);
		}
	}
}

struct error_case {
	const char *json;
	int error;
	size_t at;
	const char *sentence;
};

/* The sentences are Go's (encoding/json, scanner.go). */
static const struct error_case error_cases[] = {
	{"", JSON_E_EOF, 0, "unexpected end of JSON input"},
	{" ", JSON_E_EOF, 1, "unexpected end of JSON input"},
	{"{", JSON_E_EOF, 1, "unexpected end of JSON input"},
	{"[1", JSON_E_EOF, 2, "unexpected end of JSON input"},
	{"{\"a\"", JSON_E_EOF, 4, "unexpected end of JSON input"},
	{"{\"a\":", JSON_E_EOF, 5, "unexpected end of JSON input"},
	{"\"a", JSON_E_EOF, 2, "unexpected end of JSON input"},
	{"\"\\", JSON_E_EOF, 2, "unexpected end of JSON input"},
	{"\"\\u12", JSON_E_EOF, 5, "unexpected end of JSON input"},
	{"-", JSON_E_EOF, 1, "unexpected end of JSON input"},
	{"1.", JSON_E_EOF, 2, "unexpected end of JSON input"},
	{"1e+", JSON_E_EOF, 3, "unexpected end of JSON input"},
	{"tru", JSON_E_EOF, 3, "unexpected end of JSON input"},
	{"}", JSON_E_SYNTAX, 0, "invalid character '}' looking for beginning of value"},
	{"[1,]", JSON_E_SYNTAX, 3, "invalid character ']' looking for beginning of value"},
	{"[,1]", JSON_E_SYNTAX, 1, "invalid character ',' looking for beginning of value"},
	{"+1", JSON_E_SYNTAX, 0, "invalid character '+' looking for beginning of value"},
	{"{1:2}", JSON_E_SYNTAX, 1, "invalid character '1' looking for beginning of object key string"},
	{"{\"a\":1,}", JSON_E_SYNTAX, 7, "invalid character '}' looking for beginning of object key string"},
	{"{\"a\" 1}", JSON_E_SYNTAX, 5, "invalid character '1' after object key"},
	{"{\"a\":1 \"b\"}", JSON_E_SYNTAX, 7, "invalid character '\"' after object key:value pair"},
	{"[1 2]", JSON_E_SYNTAX, 3, "invalid character '2' after array element"},
	{"[1}", JSON_E_SYNTAX, 2, "invalid character '}' after array element"},
	{"{} {}", JSON_E_SYNTAX, 3, "invalid character '{' after top-level value"},
	{"01", JSON_E_SYNTAX, 1, "invalid character '1' after top-level value"},
	{"-x", JSON_E_SYNTAX, 1, "invalid character 'x' in numeric literal"},
	{"1.x", JSON_E_SYNTAX, 2, "invalid character 'x' after decimal point in numeric literal"},
	{"1ex", JSON_E_SYNTAX, 2, "invalid character 'x' in exponent of numeric literal"},
	{"nul!", JSON_E_SYNTAX, 3, "invalid character '!' in literal null (expecting 'l')"},
	{"falsy", JSON_E_SYNTAX, 4, "invalid character 'y' in literal false (expecting 'e')"},
	{"\"\n\"", JSON_E_SYNTAX, 1, "invalid character '\\n' in string literal"},
	{"\"\x01\"", JSON_E_SYNTAX, 1, "invalid character '\\x01' in string literal"},
	{"\"\\'\"", JSON_E_SYNTAX, 2, "invalid character '\\'' in string escape code"},
	{"\"\\u00g0\"", JSON_E_SYNTAX, 5, "invalid character 'g' in \\u hexadecimal character escape"},
	{"\xef\xbb\xbf{}", JSON_E_SYNTAX, 0, "invalid character '\xc3\xaf' looking for beginning of value"},
	{"\x80", JSON_E_SYNTAX, 0, "invalid character '\\u0080' looking for beginning of value"},
	{"\"\xff\"", JSON_E_UTF8, 1, "invalid UTF-8 in string literal at byte 1"},
	{"\"\xc0\x80\"", JSON_E_UTF8, 1, "invalid UTF-8 in string literal at byte 1"},
	{"\"\xed\xa0\x80\"", JSON_E_UTF8, 1, "invalid UTF-8 in string literal at byte 1"},
	{"\"\xf4\x90\x80\x80\"", JSON_E_UTF8, 1, "invalid UTF-8 in string literal at byte 1"},
	{"\"\xe2\x82", JSON_E_UTF8, 1, "invalid UTF-8 in string literal at byte 1"},
};

static void test_json_parse__errors_are_told_as_go_tells_them(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(error_cases); i++) {
		const struct error_case *c = &error_cases[i];
		PARSE(f, str_of(c->json));
		assert_int_equal(f.r, c->error);
		assert_int_equal(f.at, c->at);
		assert_string_equal(json_error_text(&f.a, f.r, f.text, f.at), c->sentence);
	}
}

static void test_json_parse__nothing_is_an_early_end(void **state _unused_)
{
	PARSE(f, str_of(NULL));
	assert_int_equal(f.r, JSON_E_EOF);
	assert_string_equal(json_error_text(&f.a, f.r, f.text, f.at), "unexpected end of JSON input");
}

static void test_json_parse__a_nul_is_no_blank(void **state _unused_)
{
	PARSE(inside, STR("[1\0]"));
	assert_int_equal(inside.r, JSON_E_SYNTAX);
	assert_int_equal(inside.at, 2);
	assert_string_equal(
		json_error_text(&inside.a, inside.r, inside.text, inside.at), "invalid character '\\x00' after array element");
	PARSE(behind, STR("{}\0"));
	assert_int_equal(behind.r, JSON_E_SYNTAX);
	PARSE(in_text, STR("\"\0\""));
	assert_int_equal(in_text.r, JSON_E_SYNTAX);
}

static void parse_nested(struct fixture *f, struct buf *b, unsigned depth, unsigned limit)
{
	buf_init(b, CEILING);
	for (unsigned i = 0; i < depth; i++) {
		buf_adds(b, i % 2 ? "[" : "{\"a\":");
	}
	buf_adds(b, "0");
	for (unsigned i = depth; i > 0; i--) {
		buf_addc(b, (i - 1) % 2 ? ']' : '}');
	}
	parse_limited(f, buf_str(b), (struct json_limits){.depth = limit, .values = SIZE_MAX});
}

static void test_json_parse__depth_is_limited_not_fatal(void **state _unused_)
{
	_cleanup_(fixture_done) struct fixture within, beyond, deep;
	_cleanup_(buf_done) struct buf b1, b2, b3;
	parse_nested(&within, &b1, 100, 100);
	assert_int_equal(within.r, 0);
	parse_nested(&beyond, &b2, 101, 100);
	assert_int_equal(beyond.r, JSON_E_DEPTH);
	assert_string_equal(json_error_text(&beyond.a, beyond.r, beyond.text, beyond.at), "exceeded max depth");
	parse_nested(&deep, &b3, 500000, UINT32_MAX);
	assert_int_equal(deep.r, 0);
}

static void test_json_parse__values_are_limited(void **state _unused_)
{
	_cleanup_(fixture_done) struct fixture within, beyond;
	parse_limited(&within, STR("[1,{\"a\":2}]"), (struct json_limits){.depth = 9, .values = 4});
	assert_int_equal(within.r, 0);
	parse_limited(&beyond, STR("[1,{\"a\":2}]"), (struct json_limits){.depth = 9, .values = 3});
	assert_int_equal(beyond.r, JSON_E_VALUES);
}

static void test_json_parse__stops_when_the_arena_is_full(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, CEILING);
	buf_addc(&b, '[');
	for (int i = 0; i < 10000; i++) {
		buf_adds(&b, "[],");
	}
	buf_adds(&b, "[]]");

	_cleanup_(arena_done) struct arena small;
	arena_init(&small, 16 * 1024);
	struct json *j;
	size_t at;
	assert_int_equal(json_parse(&j, &small, buf_str(&b), JSON_LIMITS_DEFAULT, &at), JSON_E_FULL);
	assert_true(small.used < 64 * 1024);
}

/* Sanitizers see a byte read too far: each prefix is its own allocation. */
static void test_json_parse__never_reads_behind_the_text(void **state _unused_)
{
	static const char whole[] = "{\"a\\u00e9\\ud83d\\ude00\":[-1.5e+3,true,false,null,\"\xe2\x82\xac\"]}";
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		_cleanup_(mem_freep) char *part = mem_dup(whole, n);
		PARSE(f, ((struct str){part, n}));
		assert_int_not_equal(f.r, 0);
		assert_true(f.at <= n);
		assert_non_null(json_error_text(&f.a, f.r, f.text, f.at));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_json_parse__scalars),
		TEST(test_json_parse__every_value_keeps_its_source),
		TEST(test_json_parse__numbers_stay_as_they_are_spelled),
		TEST(test_json_parse__duplicates_are_kept_and_the_last_is_found),
		TEST(test_json_parse__many_duplicates_in_a_big_object),
		TEST(test_json_parse__strings_are_unescaped),
		TEST(test_json_parse__names_are_unescaped),
		TEST(test_json_parse__a_special_byte_is_seen_wherever_it_stands),
		TEST(test_json_parse__errors_are_told_as_go_tells_them),
		TEST(test_json_parse__nothing_is_an_early_end),
		TEST(test_json_parse__a_nul_is_no_blank),
		TEST(test_json_parse__depth_is_limited_not_fatal),
		TEST(test_json_parse__values_are_limited),
		TEST(test_json_parse__stops_when_the_arena_is_full),
		TEST(test_json_parse__never_reads_behind_the_text),
	};
	return cmocka_run_group_tests_name("json_parse", tests, NULL, NULL);
}
