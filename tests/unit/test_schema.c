#include "tests/unit/api_world.h"

/* A type with one of everything. */
static const struct field item_fields[] = {
	{"name", &type_string, FIELD_ALWAYS, "", NULL, NULL},
	{"on", &type_bool, FIELD_KEEP_EMPTY, "", NULL, NULL},
	{0},
};

static const struct type item_type = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.Item",
	.fields = item_fields,
};
static const struct type items_type = {.kind = TYPE_LIST, .elem = &item_type};
static const struct field all_fields[] = {
	{"text", &type_string, 0, "", NULL, NULL},
	{"always", &type_string, FIELD_ALWAYS, "", NULL, NULL},
	{"flag", &type_bool, 0, "", NULL, NULL},
	{"small", &type_int32, 0, "", NULL, NULL},
	{"large", &type_int64, 0, "", NULL, NULL},
	{"kept", &type_int64, FIELD_KEEP_EMPTY, "", NULL, NULL},
	{"time", &type_time, 0, "", NULL, NULL},
	{"micro", &type_micro_time, 0, "", NULL, NULL},
	{"bytes", &type_bytes, 0, "", NULL, NULL},
	{"port", &type_int_or_string, 0, "", NULL, NULL},
	{"amount", &type_quantity, 0, "", NULL, NULL},
	{"map", &type_string_map, 0, "", NULL, NULL},
	{"items", &items_type, 0, "", NULL, NULL},
	{"raw", &type_raw, 0, "", NULL, NULL},
	{"level", &type_int32, 0, "", NULL, "7"},
	{0},
};

static const struct type all_type = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.All",
	.fields = all_fields,
};

static void assert_normal(struct api_world *w, const char *in, const char *expected)
{
	struct json *out;
	struct str error;
	if (schema_decode(&out, &all_type, world_parse(w, in), &w->a, NULL, &error)) {
		fail_msg("%s: " STR_FMT, in, STR_ARG(error));
	}
	assert_string_equal(world_print(w, out), expected);
}

static void assert_refused(struct api_world *w, const char *in, const char *expected)
{
	struct json *out;
	struct str error;
	assert_int_equal(schema_decode(&out, &all_type, world_parse(w, in), &w->a, NULL, &error), 1);
	assert_str(error, expected);
}

static void assert_strict(struct api_world *w, const char *in, const char *expected)
{
	struct decode_report report = {0};
	struct json *out;
	struct str error;
	struct buf list;
	assert_int_equal(schema_decode(&out, &all_type, world_parse(w, in), &w->a, &report, &error), 0);
	buf_init(&list, 1 << 20);
	for (size_t i = 0; i < report.n_strict; i++) {
		buf_adds(&list, i ? ", " : "");
		buf_add_str(&list, report.strict[i]);
	}
	assert_str(buf_str(&list), expected);
	buf_done(&list);
}

static void test_decode__puts_members_in_order_and_drops_what_is_empty(void **state)
{
	struct api_world *w = *state;
	assert_normal(w, "{}", "{\"always\":\"\",\"level\":7}");
	assert_normal(w, "null", "{\"always\":\"\",\"level\":7}");
	assert_normal(w, "{ \"flag\" : true, \"text\":\"a\" }", "{\"text\":\"a\",\"always\":\"\",\"flag\":true,\"level\":7}");
	assert_normal(w, "{\"text\":\"\",\"flag\":false,\"small\":0,\"map\":{},\"items\":[],\"level\":3}",
		"{\"always\":\"\",\"level\":3}");
	assert_normal(w, "{\"text\":null,\"map\":null,\"items\":null,\"raw\":null,\"time\":null,\"level\":null}",
		"{\"always\":\"\",\"level\":7}");
	assert_normal(w, "{\"kept\":0}", "{\"always\":\"\",\"kept\":0,\"level\":7}");
}

static void test_decode__last_of_repeated_members_counts(void **state)
{
	struct api_world *w = *state;
	assert_normal(w, "{\"text\":\"a\",\"text\":\"b\"}", "{\"text\":\"b\",\"always\":\"\",\"level\":7}");
	assert_normal(w, "{\"map\":{\"k\":\"1\",\"k\":\"2\"}}", "{\"always\":\"\",\"map\":{\"k\":\"2\"},\"level\":7}");
	assert_normal(w, "{\"items\":[{},{}],\"items\":[{}]}", "{\"always\":\"\",\"items\":[{\"name\":\"\"}],\"level\":7}");
}

/* Go decodes into what is there: so objects and maps that come again are merged, and null changes no plain value. */
static void test_decode__repeated_objects_are_merged(void **state)
{
	struct api_world *w = *state;
	assert_normal(w, "{\"map\":{\"a\":\"1\",\"b\":\"1\"},\"map\":{\"b\":\"2\"},\"map\":{\"c\":\"3\"}}",
		"{\"always\":\"\",\"map\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"},\"level\":7}");
	assert_normal(w, "{\"map\":{\"a\":\"1\"},\"map\":null}", "{\"always\":\"\",\"level\":7}");
	assert_normal(w, "{\"text\":\"a\",\"text\":null,\"raw\":{},\"raw\":null,\"kept\":1,\"kept\":null}",
		"{\"text\":\"a\",\"always\":\"\",\"raw\":{},\"level\":7}");
	struct object *o = world_decode(w, CR,
		"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}},\"metadata\":{\"name\":\"b\",\"labels\":{\"y\":\"2\"}}"
		",\"metadata\":"
		"null}");
	assert_str(o->meta.name, "b");
	world_assert_json(w, o->meta.labels, "{\"x\":\"1\",\"y\":\"2\"}");
}

static void test_decode__maps_are_sorted_and_null_is_the_empty_text(void **state)
{
	struct api_world *w = *state;
	assert_normal(w, "{\"map\":{\"b\":\"2\",\"a\":null,\"B\":\"1\"}}",
		"{\"always\":\"\",\"map\":{\"B\":\"1\",\"a\":\"\",\"b\":\"2\"},\"level\":7}");
}

static void test_decode__items_are_normal_too(void **state)
{
	struct api_world *w = *state;
	assert_normal(w, "{\"items\":[{\"on\":false,\"name\":\"a\"},{},null]}",
		"{\"always\":\"\",\"items\":[{\"name\":\"a\",\"on\":false},{\"name\":\"\"},{\"name\":\"\"}],\"level\":7}");
}

/* Go writes what it read; only raw members keep the client's spelling. */
static void test_decode__spelling_is_kept_in_raw_members_only(void **state)
{
	struct api_world *w = *state;
	assert_normal(w, "{\"text\":\"\\u0061\\/<\",\"large\":-0,\"raw\":{\"b\": 1.0, \"a\":\"\\u0061\\/<\"}}",
		"{\"text\":\"a/\\u003c\",\"always\":\"\",\"raw\":{\"b\":1.0,\"a\":\"\\u0061\\/\\u003c\"},\"level\":7}");
	assert_normal(w, "{\"raw\":{\"z\":1,\"z\":2,\"a\":12345678901234567890123}}",
		"{\"always\":\"\",\"raw\":{\"z\":1,\"z\":2,\"a\":12345678901234567890123},\"level\":7}");
	assert_normal(w, "{\"raw\":{}}", "{\"always\":\"\",\"raw\":{},\"level\":7}");
}

static void test_decode__times_are_utc_to_the_second(void **state)
{
	struct api_world *w = *state;
	assert_normal(w, "{\"time\":\"2020-01-02T03:04:05.9+02:00\",\"micro\":\"2020-01-02T04:04:05,123456+01:00\"}",
		"{\"always\":\"\",\"time\":\"2020-01-02T01:04:05Z\",\"micro\":\"2020-01-02T03:04:05.123456Z\",\"level\":7}");
	assert_normal(w, "{\"time\":\"0001-01-01T00:00:00Z\"}", "{\"always\":\"\",\"level\":7}");
}

static void test_decode__unions_take_both_forms(void **state)
{
	struct api_world *w = *state;
	assert_normal(w, "{\"port\":80,\"amount\":1.5}", "{\"always\":\"\",\"port\":80,\"amount\":\"1500m\",\"level\":7}");
	assert_normal(w, "{\"port\":\"http\",\"amount\":\"64Mi\"}",
		"{\"always\":\"\",\"port\":\"http\",\"amount\":\"64Mi\",\"level\":7}");
	assert_normal(w, "{\"bytes\":\"YQ==\"}", "{\"always\":\"\",\"bytes\":\"YQ==\",\"level\":7}");
}

static void test_decode__wrong_types_are_refused_in_go_words(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *in, *error;
	} rows[] = {
		{"[]", "json: cannot unmarshal array into Go value of type v1.All"},
		{"{\"text\":1}", "json: cannot unmarshal number into Go struct field All.text of type string"},
		{"{\"flag\":\"x\"}", "json: cannot unmarshal string into Go struct field All.flag of type bool"},
		{"{\"small\":2147483648}",
			"json: cannot unmarshal number 2147483648 into Go struct field All.small of type int32"},
		{"{\"large\":9223372036854775808}",
			"json: cannot unmarshal number 9223372036854775808 into Go struct field All.large of type int64"},
		{"{\"large\":2.0}", "json: cannot unmarshal number 2.0 into Go struct field All.large of type int64"},
		{"{\"large\":1e3}", "json: cannot unmarshal number 1e3 into Go struct field All.large of type int64"},
		{"{\"large\":\"1\"}", "json: cannot unmarshal string into Go struct field All.large of type int64"},
		{"{\"map\":[1]}", "json: cannot unmarshal array into Go struct field All.map of type map[string]string"},
		{"{\"map\":{\"k\":1}}", "json: cannot unmarshal number into Go struct field All.map of type string"},
		{"{\"items\":{}}", "json: cannot unmarshal object into Go struct field All.items of type []v1.Item"},
		{"{\"items\":[1]}", "json: cannot unmarshal number into Go struct field All.items of type v1.Item"},
		{"{\"items\":[{\"on\":1}]}", "json: cannot unmarshal number into Go struct field Item.items.on of type bool"},
		{"{\"time\":5}", "json: cannot unmarshal number into Go struct field All.time of type string"},
		{"{\"time\":\"2020-01-0x\"}",
			"parsing time \"2020-01-0x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"0x\" as \"02\""},
		{"{\"time\":\"2020-13-01T00:00:00Z\"}", "parsing time \"2020-13-01T00:00:00Z\": month out of range"},
		{"{\"time\":\"2020-02-30T00:00:00Z\"}", "parsing time \"2020-02-30T00:00:00Z\": day out of range"},
		{"{\"time\":\"\"}", "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\""},
		{"{\"micro\":\"2020-01-02T03:04:05Z\"}",
			"parsing time \"2020-01-02T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as "
			"\".000000\""},
		{"{\"micro\":\"2020-01-02T03:04:05.1234567Z\"}",
			"parsing time \"2020-01-02T03:04:05.1234567Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse "
			"\"7Z\" as \"Z07:00\""},
		{"{\"bytes\":\"a*\"}", "illegal base64 data at input byte 1"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_refused(w, rows[i].in, rows[i].error);
	}
}

static void test_decode__first_error_counts(void **state)
{
	struct api_world *w = *state;
	assert_refused(w, "{\"items\":[{\"on\":1}],\"text\":1}",
		"json: cannot unmarshal number into Go struct field Item.items.on of type bool");
}

static void test_strict__names_unknown_and_repeated_members_as_they_come(void **state)
{
	struct api_world *w = *state;
	assert_strict(w,
		"{\"items\":[{\"x\":1,\"name\":\"a\"},{\"name\":\"b\",\"name\":\"c\"}],\"bogus\":{\"deep\":1},\"text\":\"\","
		"\"text\":\"\"}",
		"unknown field \"items[0].x\", duplicate field \"items[1].name\", unknown field \"bogus\", duplicate field "
		"\"text\"");
	assert_strict(w, "{\"map\":{\"b\":\"1\",\"a\":\"1\",\"b\":\"2\",\"a\":\"2\"}}",
		"duplicate field \"map.b\", duplicate field \"map.a\"");
}

static void test_strict__names_each_once_and_none_in_raw(void **state)
{
	struct api_world *w = *state;
	assert_strict(w, "{\"raw\":{\"x\":1,\"x\":2},\"text\":\"\",\"text\":\"\",\"text\":\"\",\"u\":1,\"u\":2}",
		"duplicate field \"text\", unknown field \"u\"");
	assert_strict(w, "{\"TEXT\":\"case matters\"}", "unknown field \"TEXT\"");
}

static void test_strict__stops_at_a_hundred(void **state)
{
	struct api_world *w = *state;
	struct decode_report report = {0};
	struct json *out;
	struct str error;
	struct buf text;
	buf_init(&text, 1 << 20);
	for (int i = 0; i < 150; i++) {
		buf_printf(&text, "%c\"u%d\":1", i ? ',' : '{', i);
	}
	buf_addc(&text, '}');
	assert_int_equal(schema_decode(&out, &all_type, world_parse(w, text.p), &w->a, &report, &error), 0);
	assert_int_equal(report.n_strict, 100);
	buf_done(&text);
}

/* A few bytes of client's text can stand for many of ours. */
static void test_decode__memory_is_bounded_by_the_arena(void **state)
{
	struct api_world *w = *state;
	struct arena small;
	struct json *out;
	struct str error;
	struct buf text;
	buf_init(&text, 1 << 20);
	buf_adds(&text, "{\"items\":[{}");
	for (int i = 0; i < 20000; i++) {
		buf_adds(&text, ",{}");
	}
	buf_adds(&text, "]}");
	struct json *in = world_parse(w, text.p);
	arena_init(&small, 100 * 1024);
	assert_int_equal(schema_decode(&out, &all_type, in, &small, NULL, &error), 1);
	assert_str(error, "the object takes too much memory");
	assert_true(small.used < 2 * 1024 * 1024);
	arena_done(&small);
	buf_done(&text);
}

static void test_decode__normal_form_is_its_own_normal_form(void **state)
{
	struct api_world *w = *state;
	static const char *const texts[] = {
		"{}",
		"{\"text\":\"\\u00e9\",\"kept\":0,\"items\":[{\"on\":true}],\"map\":{\"b\":\"1\",\"a\":\"2\"}}",
		"{\"raw\":{\"b\": [1.0, {\"a\": null}]},\"time\":\"2020-01-02T03:04:05+01:00\",\"large\":-9223372036854775808}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct json *once, *twice;
		struct str error;
		assert_int_equal(schema_decode(&once, &all_type, world_parse(w, texts[i]), &w->a, NULL, &error), 0);
		const char *text = world_print(w, once);
		assert_int_equal(schema_decode(&twice, &all_type, world_parse(w, text), &w->a, NULL, &error), 0);
		assert_string_equal(world_print(w, twice), text);
	}
}

static void test_field_index__finds_from_any_hint(void **state)
{
	(void)state;
	for (int hint = -1; hint < 15; hint++) {
		assert_int_equal(type_field_index(&all_type, STR("text"), hint), 0);
		assert_int_equal(type_field_index(&all_type, STR("level"), hint), 14);
		assert_int_equal(type_field_index(&all_type, STR("nothing"), hint), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_decode__puts_members_in_order_and_drops_what_is_empty),
		API_TEST(test_decode__last_of_repeated_members_counts),
		API_TEST(test_decode__repeated_objects_are_merged),
		API_TEST(test_decode__maps_are_sorted_and_null_is_the_empty_text),
		API_TEST(test_decode__items_are_normal_too),
		API_TEST(test_decode__spelling_is_kept_in_raw_members_only),
		API_TEST(test_decode__times_are_utc_to_the_second),
		API_TEST(test_decode__unions_take_both_forms),
		API_TEST(test_decode__wrong_types_are_refused_in_go_words),
		API_TEST(test_decode__first_error_counts),
		API_TEST(test_strict__names_unknown_and_repeated_members_as_they_come),
		API_TEST(test_strict__names_each_once_and_none_in_raw),
		API_TEST(test_strict__stops_at_a_hundred),
		API_TEST(test_decode__memory_is_bounded_by_the_arena),
		API_TEST(test_decode__normal_form_is_its_own_normal_form),
		API_TEST(test_field_index__finds_from_any_hint),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
