#include "base/yaml.h"
#include "tests/unit/check.h"

#include <stdlib.h>

struct fixture {
	struct arena arena;
	struct buf out;
	struct str error, repeated;
};

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	arena_init(&f->arena, 64 << 20);
	buf_init(&f->out, 1 << 20);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	buf_done(&f->out);
	arena_done(&f->arena);
	mem_free(f);
	return 0;
}

static int read_yaml(struct fixture *f, struct str yaml, struct yaml_limits limits)
{
	buf_clear(&f->out);
	f->error = f->repeated = (struct str){NULL, 0};
	return yaml_to_json(&f->out, yaml, limits, &f->arena, &f->error, &f->repeated);
}

struct yaml_case {
	const char *in, *out;
};

static void check_reading(struct fixture *f, const struct yaml_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (read_yaml(f, str_of(cases[i].in), YAML_LIMITS_DEFAULT)) {
			fail_msg("%s: " STR_FMT, cases[i].in, STR_ARG(f->error));
		}
		assert_str(buf_str(&f->out), cases[i].out);
	}
}

/* What go.yaml.in/yaml/v2 makes of them. */
static const struct yaml_case scalar_cases[] = {
	{"y", "true"},
	{"Off", "false"},
	{"~", "null"},
	{"", "null"},
	{"010", "8"},
	{"08", "8"},
	{"0x1F", "31"},
	{"0b101", "5"},
	{"0o17", "15"},
	{"1_000", "1000"},
	{"-0", "0"},
	{"+5", "5"},
	{"1.0", "1"},
	{"1e3", "1000"},
	{".5", "0.5"},
	{"5.", "5"},
	{"-00.50", "-0.5"},
	{"0.0000001", "1e-7"},
	{"1e21", "1e+21"},
	{"1e400", "\"1e400\""},
	{"1:30", "\"1:30\""},
	{"2001-01-01", "\"2001-01-01\""},
	{"'1'", "\"1\""},
	{"!!str 12", "\"12\""},
	{"!!float 3", "3"},
	{"!!binary aGVsbG8=", "\"hello\""},
	{"\"\\u0041<\"", "\"A\\u003c\""},
	{"|\n  a\n  b\n", "\"a\\nb\\n\""},
	{">\n  a\n  b\n", "\"a b\\n\""},
};

static void test_yaml_to_json__reads_scalars_as_yaml_1_1(void **state)
{
	check_reading(*state, scalar_cases, ARRAY_SIZE(scalar_cases));
}

static const struct yaml_case number_cases[] = {
	{"18446744073709551615", "18446744073709551615"},
	{"18446744073709551617", "18446744073709551617"},
	{"0.1000000000000000055511", "0.1000000000000000055511"},
	{"+0012345678901234567890.", "12345678901234567890.0"},
};

static void test_yaml_to_json__keeps_numbers_that_a_double_would_change(void **state)
{
	check_reading(*state, number_cases, ARRAY_SIZE(number_cases));
}

static const struct yaml_case document_cases[] = {
	{"b: 1\na: 2\n", "{\"a\":2,\"b\":1}"},
	{"on: 1\nn: 2\n1.5: 3\n007: 4\n", "{\"1.5\":3,\"7\":4,\"false\":2,\"true\":1}"},
	{"- a\n-\n- [b, {c: d}]\n", "[\"a\",null,[\"b\",{\"c\":\"d\"}]]"},
	{"{\"a\": [1, {\"b\": null}], \"c\": \"d\"}", "{\"a\":[1,{\"b\":null}],\"c\":\"d\"}"},
	{"a: &x {k: 1}\nb: *x\n", "{\"a\":{\"k\":1},\"b\":{\"k\":1}}"},
	{"a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n", "{\"a\":{\"k\":1,\"l\":2},\"b\":{\"k\":3,\"l\":2}}"},
	{"<<: [{a: 1}, {a: 2, b: 3}]\n", "{\"a\":1,\"b\":3}"},
	{"--- first\n--- second\n", "\"first\""},
	{"# nothing\n", "null"},
};

static void test_yaml_to_json__reads_one_document(void **state)
{
	check_reading(*state, document_cases, ARRAY_SIZE(document_cases));
}

static const struct yaml_case error_cases[] = {
	{"a: b: c", "yaml: mapping values are not allowed in this context"},
	{"a: 1\nb: [", "yaml: line 2: did not find expected node content"},
	{"a: *b", "yaml: unknown anchor 'b' referenced"},
	{"&a [*a]", "yaml: line 1: an anchor's value contains itself"},
	{"&a {<<: *a}", "yaml: line 1: an anchor's value contains itself"},
	{"<<: 5", "yaml: map merge requires map or sequence of maps as the value"},
	{"~: 1", "unsupported map key of type: null"},
	{"[a]: 1", "yaml: line 1: invalid map key"},
	{"!!int x", "yaml: cannot decode !!str `x` as a !!int"},
	{"!!binary '%'", "yaml: !!binary value contains invalid base64 data"},
	{"a: .nan", "json: unsupported value: NaN"},
	{"a: -.inf", "json: unsupported value: -Inf"},
};

static void test_yaml_to_json__says_what_is_wrong(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(error_cases); i++) {
		assert_int_equal(read_yaml(f, str_of(error_cases[i].in), YAML_LIMITS_DEFAULT), 1);
		assert_str(f->error, error_cases[i].out);
	}
}

static void test_yaml_to_json__last_of_repeated_keys_counts_and_is_reported(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(read_yaml(f, STR("a: 1\nb:\n  c: 2\n  c: 3\na: 4\n"), YAML_LIMITS_DEFAULT), 0);
	assert_str(buf_str(&f->out), "{\"a\":4,\"b\":{\"c\":3}}");
	assert_str(f->repeated,
		"yaml: unmarshal errors:\n  line 4: key \"c\" already set in map\n  line 5: key \"a\" already set in map");
}

static void test_yaml_to_json__billion_laughs_are_refused(void **state)
{
	struct fixture *f = *state;
	struct buf text;

	buf_init(&text, 1 << 16);
	buf_adds(&text, "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
	for (int i = 1; i < 20; i++) {
		buf_printf(&text, "a%d: &a%d [", i, i);
		for (int j = 0; j < 10; j++) {
			buf_printf(&text, "%s*a%d", j ? ", " : "", i - 1);
		}
		buf_adds(&text, "]\n");
	}
	assert_int_equal(read_yaml(f, buf_str(&text), YAML_LIMITS_DEFAULT), 1);
	assert_str(f->error, "yaml: document contains excessive aliasing");
	buf_done(&text);
}

static void test_yaml_to_json__merges_nested_by_aliases_are_refused(void **state)
{
	struct fixture *f = *state;
	struct buf text;

	buf_init(&text, 1 << 20);
	buf_adds(&text, "a0: &a0 {k: v}\n");
	for (int i = 1; i < 2000; i++) {
		buf_printf(&text, "a%d: &a%d {<<: *a%d}\n", i, i, i - 1);
	}
	assert_int_equal(read_yaml(f, buf_str(&text), YAML_LIMITS_DEFAULT), 1);
	buf_done(&text);
}

static void test_yaml_to_json__depth_and_values_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct yaml_limits limits = {.depth = 3, .values = 5};

	assert_int_equal(read_yaml(f, STR("[[[1]]]"), limits), 0);
	assert_int_equal(read_yaml(f, STR("[[[[1]]]]"), limits), 1);
	assert_str(f->error, "yaml: more than 3 levels");
	assert_int_equal(read_yaml(f, STR("[1, 2, 3, 4]"), limits), 0);
	assert_int_equal(read_yaml(f, STR("[1, 2, 3, 4, 5]"), limits), 1);
	assert_str(f->error, "yaml: more than 5 values");
}

static void test_yaml_to_json__aliases_cannot_outgrow_the_buffer(void **state)
{
	struct fixture *f = *state;
	struct str error;
	struct buf small;

	buf_init(&small, 64);
	assert_int_equal(yaml_to_json(&small, STR("a: &a \"0123456789012345678901234567890123456789\"\nb: *a\n"),
				 YAML_LIMITS_DEFAULT, &f->arena, &error, NULL),
		1);
	assert_str(error, "yaml: more than 64 bytes");
	buf_done(&small);
}

/* As yaml.JSONToYAML writes them. */
static const struct yaml_case writing_cases[] = {
	{"{}", "{}\n"},
	{"{\"a\":[],\"b\":{}}", "a: []\nb: {}\n"},
	{"{\"list\":[\"y\",null,{\"z\":\"1\"}],\"b\":1}", "b: 1\nlist:\n- \"y\"\n- null\n- z: \"1\"\n"},
	{"[[1,2],[]]", "- - 1\n  - 2\n- []\n"},
	{"{\"f10\":1,\"f2\":2,\".\":3,\"f:x\":4}", ".: 3\nf:x: 4\nf2: 2\nf10: 1\n"},
	{"{\"a\":1,\"a\":2}", "a: 2\n"},
	{"\"2001-01-01T00:00:00Z\"", "\"2001-01-01T00:00:00Z\"\n"},
	{"\"1:30\"", "\"1:30\"\n"},
	{"\"a\\nb\"", "|-\n  a\n  b\n"},
	{"\"a\\n\\n\"", "|+\n  a\n\n"},
	{"\"\"", "\"\"\n"},
	{"\"a: b\"", "'a: b'\n"},
	{"\"\\u0007\"", "\"\\a\"\n"},
	{"[1.0,1e3,1234567.5,1e21,-0,0.00001]", "- 1\n- 1000\n- 1.2345675e+06\n- 1e+21\n- 0\n- 1e-05\n"},
	{"18446744073709551617", "18446744073709551617\n"},
};

static void test_yaml_from_json__writes_as_go(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(writing_cases); i++) {
		struct json *j;
		size_t at;
		assert_int_equal(json_parse(&j, &f->arena, str_of(writing_cases[i].in), JSON_LIMITS_DEFAULT, &at), 0);
		buf_clear(&f->out);
		assert_true(yaml_from_json(&f->out, j));
		assert_str(buf_str(&f->out), writing_cases[i].out);
	}
}

static void test_yaml_writer__slices_are_the_same_document(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(writing_cases); i++) {
		enum yaml_progress progress = YAML_UNFINISHED;
		struct json *j;
		size_t at;
		assert_int_equal(json_parse(&j, &f->arena, str_of(writing_cases[i].in), JSON_LIMITS_DEFAULT, &at), 0);
		buf_clear(&f->out);
		struct yaml_writer *w = yaml_writer_new(&f->out, j);
		while (progress == YAML_UNFINISHED) {
			progress = yaml_writer_step(w, 1);
		}
		yaml_writer_free(w);
		assert_int_equal(progress, YAML_WRITTEN);
		assert_str(buf_str(&f->out), writing_cases[i].out);
	}
}

static void test_yaml_writer__may_be_left_unfinished(void **state)
{
	struct fixture *f = *state;
	struct json *j;
	size_t at;

	assert_int_equal(json_parse(&j, &f->arena, STR("{\"b\":[{\"c\":[1]}],\"a\":1}"), JSON_LIMITS_DEFAULT, &at), 0);
	struct yaml_writer *w = yaml_writer_new(&f->out, j);
	assert_int_equal(yaml_writer_step(w, 4), YAML_UNFINISHED);
	yaml_writer_free(w); /* its memory is the leak checker's business */
	buf_done(&f->out);
	buf_init(&f->out, 3);
	w = yaml_writer_new(&f->out, j);
	assert_int_equal(yaml_writer_step(w, 100), YAML_FAILED);
	yaml_writer_free(w);
}

static const struct {
	const char *in, *out;
} visible_cases[] = {
	{"\"hot \\ud83d\\ude00\"", "hot \xf0\x9f\x98\x80\n"},
	{"\"one\\n\\ud83d\\ude00 two\\n\"", "|\n  one\n  \xf0\x9f\x98\x80 two\n"},
	{"{\"a\":\"ad\\u200bmin\",\"b\":\"gr\\u00fcn\",\"c\":\"\\ud83d\\ude00\\u202e\"}",
		"a: \"ad\\u200bmin\"\nb: gr\xc3\xbcn\nc: \"\xf0\x9f\x98\x80\\u202e\"\n"},
	{"\"\\udb40\\udc41\"", "\"\\U000E0041\"\n"}, {"\"a\\u001b[2J\\u009b\"", "\"a\\e[2J\\x9B\"\n"},
	{"\"\\ue000\\ue400 \\ud83d\\ude00\"",
		"\"\xee\x80\x80\xee\x90\x80 \\U0001F600\"\n"}, /* private characters are themselves */
};

static void test_yaml_from_json_visible__escapes_what_needs_it_alone(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < ARRAY_SIZE(visible_cases); i++) {
		struct json *j, *again;
		struct str error;
		struct buf json;
		size_t at;
		buf_init(&json, 4096);
		assert_int_equal(json_parse(&j, &f->arena, str_of(visible_cases[i].in), JSON_LIMITS_DEFAULT, &at), 0);
		buf_clear(&f->out);
		assert_true(yaml_from_json_visible(&f->out, j));
		assert_str(buf_str(&f->out), visible_cases[i].out);
		assert_int_equal(yaml_to_json(&json, buf_str(&f->out), YAML_LIMITS_DEFAULT, &f->arena, &error, NULL), 0);
		assert_int_equal(json_parse(&again, &f->arena, buf_str(&json), JSON_LIMITS_DEFAULT, &at), 0);
		assert_true(json_equal(j, again));
		buf_done(&json);
	}
}

static void test_yaml_from_json__stops_at_the_ceiling(void **state)
{
	struct fixture *f = *state;
	struct json *j;
	struct buf small;
	size_t at;

	assert_int_equal(json_parse(&j, &f->arena, STR("[1,2,3,4,5]"), JSON_LIMITS_DEFAULT, &at), 0);
	buf_init(&small, 8);
	assert_false(yaml_from_json(&small, j));
	buf_done(&small);
}

#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_yaml_to_json__reads_scalars_as_yaml_1_1),
		WITH_FIXTURE(test_yaml_to_json__keeps_numbers_that_a_double_would_change),
		WITH_FIXTURE(test_yaml_to_json__reads_one_document),
		WITH_FIXTURE(test_yaml_to_json__says_what_is_wrong),
		WITH_FIXTURE(test_yaml_to_json__last_of_repeated_keys_counts_and_is_reported),
		WITH_FIXTURE(test_yaml_to_json__billion_laughs_are_refused),
		WITH_FIXTURE(test_yaml_to_json__merges_nested_by_aliases_are_refused),
		WITH_FIXTURE(test_yaml_to_json__depth_and_values_are_bounded),
		WITH_FIXTURE(test_yaml_to_json__aliases_cannot_outgrow_the_buffer),
		WITH_FIXTURE(test_yaml_from_json__writes_as_go),
		WITH_FIXTURE(test_yaml_writer__slices_are_the_same_document),
		WITH_FIXTURE(test_yaml_writer__may_be_left_unfinished),
		WITH_FIXTURE(test_yaml_from_json__stops_at_the_ceiling),
		WITH_FIXTURE(test_yaml_from_json_visible__escapes_what_needs_it_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
