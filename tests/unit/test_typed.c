#include "api/patch/typed.h"

#include "tests/unit/api_world.h"

/* Lists by key and by value, granular and atomic parts. */
static const struct field entry_fields[] = {
	{"name", &type_string, 0, "", NULL, NULL},
	{"value", &type_int64, 0, "", NULL, NULL},
	{"tags", &type_string_set, 0, "", NULL, NULL},
	{0},
};

static const struct type entry_type = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.Entry",
	.fields = entry_fields,
};
static const struct type entries_type = {
	.kind = TYPE_LIST, .elem = &entry_type, .list_type = LIST_MAP, .list_keys = (const char *const[]){"name", NULL}};
static const struct type point_type = {
	.kind = TYPE_OBJECT,
	.is_atomic = true,
	.fields = (const struct field[]){{"x", &type_int64, 0, "", NULL, NULL}, {"y", &type_int64, 0, "", NULL, NULL}, {0}},
};
static const struct field thing_fields[] = {
	{"hidden", &type_string, FIELD_UNOWNED, "", NULL, NULL},
	{"text", &type_string, 0, "", NULL, NULL},
	{"labels", &type_string_map, 0, "", NULL, NULL},
	{"entries", &entries_type, 0, "", NULL, NULL},
	{"tags", &type_string_set, 0, "", NULL, NULL},
	{"list", &type_string_list, 0, "", NULL, NULL},
	{"point", &point_type, 0, "", NULL, NULL},
	{"raw", &type_raw, 0, "", NULL, NULL},
	{0},
};

static const struct type thing_type = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.Thing",
	.fields = thing_fields,
};

static const char *show(struct api_world *w, const struct field_set *s)
{
	return world_print(w, field_set_to_json(s, &w->a));
}

static void assert_compared(struct api_world *w, const char *before, const char *after, const char *added, const char *modified,
	const char *removed)
{
	struct comparison c;
	typed_compare(&c, &thing_type, world_parse(w, before), world_parse(w, after), &w->a);
	assert_string_equal(show(w, c.added), added);
	assert_string_equal(show(w, c.modified), modified);
	assert_string_equal(show(w, c.removed), removed);
}

static void test_compare__nothing_changed(void **state)
{
	struct api_world *w = *state;
	const char *all = "{\"hidden\":\"h\",\"text\":\"t\",\"labels\":{\"a\":\"1\"},\"entries\":[{\"name\":\"x\"}],\"tags\":["
			  "\"a\",\"a\"],"
			  "\"list\":[\"b\"],\"point\":{\"x\":1},\"raw\":{\"r\":[1]}}";
	assert_compared(w, all, all, "{}", "{}", "{}");
	assert_compared(w, "{}", "{}", "{}", "{}", "{}");
	assert_compared(w, "{\"hidden\":\"a\"}", "{\"hidden\":\"b\"}", "{}", "{}", "{}");
}

static void test_compare__containers_come_with_what_is_in_them(void **state)
{
	struct api_world *w = *state;
	assert_compared(w, "{}", "{\"labels\":{\"a\":\"1\"},\"text\":\"t\"}",
		"{\"f:labels\":{\".\":{},\"f:a\":{}},\"f:text\":{}}", "{}", "{}");
	assert_compared(w, "{\"labels\":{\"a\":\"1\",\"b\":\"1\",\"c\":\"1\"}}",
		"{\"labels\":{\"a\":\"1\",\"b\":\"2\",\"d\":\"1\"}}", "{\"f:labels\":{\"f:d\":{}}}",
		"{\"f:labels\":{\"f:b\":{}}}", "{\"f:labels\":{\"f:c\":{}}}");
	assert_compared(w, "{\"labels\":{\"a\":\"1\"}}", "{}", "{}", "{}", "{\"f:labels\":{\".\":{},\"f:a\":{}}}");
}

static void test_compare__atomic_parts_are_one_leaf(void **state)
{
	struct api_world *w = *state;
	assert_compared(w, "{\"point\":{\"x\":1},\"list\":[\"a\"],\"raw\":{\"a\":1}}",
		"{\"point\":{\"x\":2},\"list\":[\"a\",\"b\"],\"raw\":null}", "{}",
		"{\"f:list\":{},\"f:point\":{},\"f:raw\":{}}", "{}");
}

static void test_compare__items_are_known_by_key_or_value(void **state)
{
	struct api_world *w = *state;
	assert_compared(w, "{\"entries\":[{\"name\":\"a\",\"value\":1},{\"name\":\"b\"}]}",
		"{\"entries\":[{\"name\":\"c\",\"value\":3},{\"name\":\"a\",\"value\":2}]}",
		"{\"f:entries\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}}}}",
		"{\"f:entries\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\"f:value\":{}}}}",
		"{\"f:entries\":{\"k:{\\\"name\\\":\\\"b\\\"}\":{\".\":{},\"f:name\":{}}}}");
	assert_compared(w, "{\"tags\":[\"b\",\"a\"]}", "{\"tags\":[\"c\",\"b\"]}", "{\"f:tags\":{\"v:\\\"c\\\"\":{}}}", "{}",
		"{\"f:tags\":{\"v:\\\"a\\\"\":{}}}");
}

static void test_compare__repeated_items_count_as_one(void **state)
{
	struct api_world *w = *state;
	const char *one = "{\"entries\":[{\"name\":\"a\",\"value\":1}]}";
	const char *two = "{\"entries\":[{\"name\":\"a\",\"value\":1},{\"name\":\"a\",\"value\":2}]}";
	const char *others = "{\"entries\":[{\"name\":\"a\",\"value\":1},{\"name\":\"a\",\"value\":3}]}";
	assert_compared(w, two, others, "{}", "{\"f:entries\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{}}}", "{}");
	assert_compared(w, "{}", two, "{\"f:entries\":{\".\":{},\"k:{\\\"name\\\":\\\"a\\\"}\":{}}}", "{}", "{}");
	assert_compared(w, one, two, "{\"f:entries\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{}}}", "{}",
		"{\"f:entries\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}}}}");
}

static void test_fields__are_what_an_applier_owns(void **state)
{
	struct api_world *w = *state;
	struct json *j = world_parse(w,
		"{\"hidden\":\"h\",\"text\":null,\"labels\":{\"a\":\"1\"},\"entries\":[{\"name\":\"x\",\"value\":1}],"
		"\"tags\":[\"b\",\"a\"],\"point\":{\"x\":1},\"raw\":{\"r\":1}}");
	assert_string_equal(show(w, typed_fields(&thing_type, j, &w->a)),
		"{\"f:entries\":{\"k:{\\\"name\\\":\\\"x\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}}},\"f:labels\":{\"f:a\":"
		"{}},"
		"\"f:point\":{},\"f:raw\":{},\"f:tags\":{\"v:\\\"a\\\"\":{},\"v:\\\"b\\\"\":{}},\"f:text\":{}}");
	assert_string_equal(show(w, typed_fields(&thing_type, world_parse(w, "{\"labels\":{},\"entries\":[]}"), &w->a)),
		"{\"f:labels\":{}}");
}

static void assert_merged(struct api_world *w, const char *live, const char *applied, const char *expected)
{
	world_assert_json(w, typed_merge(&thing_type, world_parse(w, live), world_parse(w, applied), &w->a), expected);
}

static void test_merge__applied_values_win_where_there_are_any(void **state)
{
	struct api_world *w = *state;
	assert_merged(w, "{\"text\":\"a\",\"labels\":{\"a\":\"1\",\"b\":\"1\"},\"point\":{\"x\":1}}",
		"{\"labels\":{\"b\":\"2\",\"c\":\"2\"},\"point\":{\"y\":2}}",
		"{\"text\":\"a\",\"labels\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"2\"},\"point\":{\"y\":2}}");
	assert_merged(w, "{\"labels\":{\"a\":\"1\"},\"entries\":[{\"name\":\"a\"}]}", "{\"labels\":null,\"entries\":[]}",
		"{\"labels\":{\"a\":\"1\"},\"entries\":[{\"name\":\"a\"}]}");
	assert_merged(w, "{\"text\":\"a\"}", "{\"text\":null}", "{\"text\":null}");
	assert_merged(w, "{\"hidden\":\"a\"}", "{\"hidden\":\"b\"}", "{\"hidden\":\"b\"}");
}

static void test_merge__items_by_key(void **state)
{
	struct api_world *w = *state;
	assert_merged(w, "{\"entries\":[{\"name\":\"a\",\"value\":1},{\"name\":\"b\",\"value\":1}]}",
		"{\"entries\":[{\"name\":\"b\",\"value\":2},{\"name\":\"c\"}]}",
		"{\"entries\":[{\"name\":\"a\",\"value\":1},{\"name\":\"b\",\"value\":2},{\"name\":\"c\"}]}");
}

/* structured-merge-diff's order: applied items as applied, the others where they were. */
static void test_merge__order_of_lists(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *live, *applied, *merged;
	} rows[] = {
		{"[\"a\",\"b\",\"c\"]", "[\"c\",\"a\"]", "[\"b\",\"c\",\"a\"]"},
		{"[\"a\",\"b\"]", "[\"c\"]", "[\"a\",\"b\",\"c\"]"},
		{"[\"a\",\"b\",\"c\"]", "[\"a\",\"x\",\"c\"]", "[\"a\",\"b\",\"x\",\"c\"]"},
		{"[\"a\",\"b\",\"c\",\"d\"]", "[\"d\",\"b\"]", "[\"a\",\"c\",\"d\",\"b\"]"},
		{"[\"a\",\"x\",\"a\"]", "[\"a\"]", "[\"a\",\"x\"]"},
		{"[\"x\",\"x\"]", "[\"a\"]", "[\"x\",\"x\",\"a\"]"},
		/* a new one goes before the applied one behind it, and not behind what live has there */
		{"[\"a\",\"b\",\"x\"]", "[\"a\",\"n\",\"b\"]", "[\"a\",\"n\",\"b\",\"x\"]"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_merged(w, arena_printf(&w->a, "{\"tags\":%s}", rows[i].live).p,
			arena_printf(&w->a, "{\"tags\":%s}", rows[i].applied).p,
			arena_printf(&w->a, "{\"tags\":%s}", rows[i].merged).p);
	}
}

static void assert_rest(struct api_world *w, const char *j, const char *fields, const char *expected)
{
	struct field_set *s;
	assert_true(field_set_from_json(&s, world_parse(w, fields), &w->a));
	struct json *rest = typed_remove(&thing_type, world_parse(w, j), s, &w->a);
	if (!expected) {
		assert_null(rest);
	} else {
		world_assert_json(w, rest, expected);
	}
}

static void test_remove__takes_fields_and_items(void **state)
{
	struct api_world *w = *state;
	const char *j = "{\"text\":\"t\",\"labels\":{\"a\":\"1\",\"b\":\"2\"},\"entries\":[{\"name\":\"a\",\"value\":1},{"
			"\"name\":\"b\"}],\"tags\":"
			"[\"x\",\"y\"]}";
	assert_rest(w, j,
		"{\"f:text\":{},\"f:labels\":{\"f:a\":{}},\"f:entries\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\"f:value\":{}},"
		"\"k:{\\\"name\\\":\\\"b\\\"}\":{}},\"f:tags\":{\"v:\\\"y\\\"\":{}}}",
		"{\"labels\":{\"b\":\"2\"},\"entries\":[{\"name\":\"a\"}],\"tags\":[\"x\"]}");
	assert_rest(w, "{\"labels\":{\"a\":\"1\"},\"text\":\"t\"}", "{\"f:labels\":{\"f:a\":{}}}",
		"{\"labels\":null,\"text\":\"t\"}");
	assert_rest(w, "{\"text\":\"t\"}", "{\"f:text\":{}}", NULL);
	assert_rest(w, j, "{}", j);
}

static void test_validate__puts_members_in_order(void **state)
{
	struct api_world *w = *state;
	struct json *ordered;
	struct str error;
	assert_int_equal(
		typed_validate(&ordered, &thing_type,
			world_parse(w, "{\"labels\":{\"b\":\"1\",\"a\":null,\"b\":\"2\"},\"text\":\"t\"}"), &w->a, &error),
		0);
	assert_string_equal(world_print(w, ordered), "{\"text\":\"t\",\"labels\":{\"a\":null,\"b\":\"2\"}}");
}

static void test_validate__says_what_does_not_fit(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *in, *error;
	} rows[] = {
		{"{\"bogus\":1}", ".bogus: field not declared in schema"},
		{"{\"entries\":[{\"name\":\"a\",\"bogus\":1}]}", ".entries[name=\"a\"].bogus: field not declared in schema"},
		{"{\"entries\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", ".entries: duplicate entries for key [name=\"a\"]"},
		{"{\"tags\":[\"a\",\"a\"]}", ".tags: duplicate entries for key [=\"a\"]"},
		{"{\"entries\":[{\"value\":1}]}",
			".entries: element 0: associative list with keys has an element that omits all key fields "
			"[\"name\"] (and doesn't have default values for any key fields)"},
		{"{\"entries\":[null]}", ".entries: element 0: associative list with keys may not have a null element"},
		{"{\"entries\":[1]}", ".entries: element 0: associative list with keys may not have non-map elements"},
		{"{\"tags\":[{}]}", ".tags: element 0: associative list without keys has an element that's a map type"},
		{"{\"list\":[\"a\",1]}", ".list[1]: expected string, got &value.valueUnstructured{Value:1}"},
		{"{\"labels\":[]}", ".labels: expected map, got &{[]}"},
		{"{\"entries\":{}}", ".entries: expected list, got &{{}}"},
		{"{\"text\":1,\"list\":{}}",
			"errors:\n  .text: expected string, got &value.valueUnstructured{Value:1}\n  .list: expected list, got "
			"&{{}}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *ordered;
		struct str error;
		assert_int_equal(typed_validate(&ordered, &thing_type, world_parse(w, rows[i].in), &w->a, &error), 1);
		assert_str(error, rows[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_compare__nothing_changed),
		API_TEST(test_compare__containers_come_with_what_is_in_them),
		API_TEST(test_compare__atomic_parts_are_one_leaf),
		API_TEST(test_compare__items_are_known_by_key_or_value),
		API_TEST(test_compare__repeated_items_count_as_one),
		API_TEST(test_fields__are_what_an_applier_owns),
		API_TEST(test_merge__applied_values_win_where_there_are_any),
		API_TEST(test_merge__items_by_key),
		API_TEST(test_merge__order_of_lists),
		API_TEST(test_remove__takes_fields_and_items),
		API_TEST(test_validate__puts_members_in_order),
		API_TEST(test_validate__says_what_does_not_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
