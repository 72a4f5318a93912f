#include "api/patch/fieldset.h"

#include "tests/unit/api_world.h"

static struct field_set *set(struct api_world *w, const char *fields_v1)
{
	struct field_set *s;
	if (!field_set_from_json(&s, world_parse(w, fields_v1), &w->a)) {
		fail_msg("no set: %s", fields_v1);
	}
	return s;
}

static void assert_set(struct api_world *w, const struct field_set *s, const char *fields_v1)
{
	assert_string_equal(world_print(w, field_set_to_json(s, &w->a)), fields_v1);
}

#define X "{\"f:a\":{},\"f:b\":{\".\":{},\"f:c\":{},\"f:d\":{}}}"
#define Y "{\"f:a\":{},\"f:b\":{\"f:c\":{}},\"f:e\":{}}"

static void test_json__has_one_spelling(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"{}", "{}"},
		{"null", "{}"},
		{X, X},
		{"{\"f:b\":{\"f:d\":{},\"f:c\":{},\".\":{}},\"f:a\":{}}", X},
		{"{\"f:a\":{\".\":{}}}", "{\"f:a\":{}}"},
		{"{\"f:a\":null}", "{\"f:a\":{}}"},
		{"{\"f:a\":{\"f:b\":{}},\"f:a\":{}}", "{\"f:a\":{\".\":{},\"f:b\":{}}}"},
		{"{\"k:{\\\"b\\\": 1,\\\"a\\\":\\\"\\\\u0078\\\"}\":{}}", "{\"k:{\\\"a\\\":\\\"x\\\",\\\"b\\\":1}\":{}}"},
		{"{\"v: \\\"x\\\"\":{},\"v:1\":{},\"v:true\":{}}", "{\"v:\\\"x\\\"\":{},\"v:1\":{},\"v:true\":{}}"},
		{"{\"i:10\":{},\"i:9\":{}}", "{\"i:9\":{},\"i:10\":{}}"},
		{"{\"v:10\":{},\"v:9\":{},\"v:-9\":{},\"v:-10\":{}}", "{\"v:-10\":{},\"v:-9\":{},\"v:9\":{},\"v:10\":{}}"},
		{"{\"v:1.5\":{},\"v:1.25\":{}}", "{\"v:1.25\":{},\"v:1.5\":{}}"},
		{"{\"k:{\\\"p\\\":443,\\\"q\\\":\\\"T\\\"}\":{},\"k:{\\\"p\\\":80,\\\"q\\\":\\\"U\\\"}\":{},\"k:{\\\"p\\\":80}\":{}}",
			"{\"k:{\\\"p\\\":80}\":{},\"k:{\\\"p\\\":80,\\\"q\\\":\\\"U\\\"}\":{},\"k:{\\\"p\\\":443,\\\"q\\\":\\\"T\\\"}\":{}}"},
		{"{\"k:{\\\"n\\\":\\\"a10\\\"}\":{},\"k:{\\\"n\\\":\\\"a9\\\"}\":{}}",
			"{\"k:{\\\"n\\\":\\\"a10\\\"}\":{},\"k:{\\\"n\\\":\\\"a9\\\"}\":{}}"},
		{"{\"z:unknown\":{\"f:x\":{}},\"f:a\":{}}", "{\"f:a\":{}}"},
		{"{\"i:0\":{},\"v:1\":{},\"k:{\\\"a\\\":1}\":{},\"f:a\":{}}",
			"{\"f:a\":{},\"k:{\\\"a\\\":1}\":{},\"v:1\":{},\"i:0\":{}}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_set(w, set(w, rows[i].in), rows[i].out);
	}
}

static void test_json__what_is_no_path_is_refused(void **state)
{
	struct api_world *w = *state;
	static const char *const texts[] = {"{\"bad\":{}}", "{\"f\":{}}", "{\"\":{}}", "{\"k:x\":{}}", "{\"k:[]\":{}}",
		"{\"v:\":{}}", "{\"i:x\":{}}", "{\"f:a\":1}", "[]", "\"x\"", "{\"f:a\":{\"b\":{}}}"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct field_set *s;
		assert_false(field_set_from_json(&s, world_parse(w, texts[i]), &w->a));
	}
}

static void test_union__has_the_paths_of_both(void **state)
{
	struct api_world *w = *state;
	assert_set(w, field_set_union(set(w, X), set(w, Y), &w->a),
		"{\"f:a\":{},\"f:b\":{\".\":{},\"f:c\":{},\"f:d\":{}},\"f:e\":{}}");
	assert_set(w, field_set_union(set(w, X), NULL, &w->a), X);
	assert_set(w, field_set_union(NULL, set(w, X), &w->a), X);
	assert_null(field_set_union(NULL, NULL, &w->a));
}

static void test_intersection__has_the_paths_in_both(void **state)
{
	struct api_world *w = *state;
	assert_set(w, field_set_intersection(set(w, X), set(w, Y), &w->a), "{\"f:a\":{},\"f:b\":{\"f:c\":{}}}");
	assert_null(field_set_intersection(set(w, "{\"f:b\":{}}"), set(w, "{\"f:b\":{\"f:c\":{}}}"), &w->a));
	assert_null(field_set_intersection(set(w, X), NULL, &w->a));
}

static void test_difference__takes_paths_but_not_what_is_below(void **state)
{
	struct api_world *w = *state;
	assert_set(w, field_set_difference(set(w, X), set(w, Y), &w->a), "{\"f:b\":{\".\":{},\"f:d\":{}}}");
	assert_set(w, field_set_difference(set(w, X), set(w, "{\"f:b\":{}}"), &w->a),
		"{\"f:a\":{},\"f:b\":{\"f:c\":{},\"f:d\":{}}}");
	assert_null(field_set_difference(set(w, X), set(w, X), &w->a));
	assert_set(w, field_set_difference(set(w, X), NULL, &w->a), X);
}

static void test_without__takes_all_below_a_name(void **state)
{
	struct api_world *w = *state;
	static const char *const b[] = {"b", NULL}, *const all[] = {"a", "b", NULL};
	assert_set(w, field_set_without(set(w, X), b, &w->a), "{\"f:a\":{}}");
	assert_null(field_set_without(set(w, X), all, &w->a));
	assert_set(w, field_set_without(set(w, X), NULL, &w->a), X);
	static const char *const deep[] = {"b.c", NULL}, *const deeper[] = {"b.c", "b.d", NULL};
	const char *below = "{\"f:a\":{},\"f:b\":{\"f:c\":{\"f:x\":{}},\"f:d\":{}}}";
	assert_set(w, field_set_without(set(w, below), deep, &w->a), "{\"f:a\":{},\"f:b\":{\"f:d\":{}}}");
	assert_set(w, field_set_without(set(w, below), deeper, &w->a), "{\"f:a\":{}}");
	/* the field on the way is owned as before */
	assert_set(w, field_set_without(set(w, X), deep, &w->a), "{\"f:a\":{},\"f:b\":{\".\":{},\"f:d\":{}}}");
	assert_set(w, field_set_without(set(w, X), deeper, &w->a), "{\"f:a\":{},\"f:b\":{}}");
}

static void test_sets__obey_the_laws(void **state)
{
	struct api_world *w = *state;
	static const char *const sets[] = {
		"{}", X, Y, "{\"f:b\":{}}", "{\"f:b\":{\"f:c\":{\"v:1\":{},\"v:2\":{}}}}", "{\"k:{\\\"n\\\":1}\":{}}"};
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(sets); k++) {
			struct field_set *x = set(w, sets[i]), *y = set(w, sets[k]);
			struct field_set *both = field_set_intersection(x, y, &w->a);
			struct field_set *rest = field_set_difference(x, y, &w->a);
			assert_set(w, field_set_union(both, rest, &w->a), sets[i]);
			assert_null(field_set_intersection(rest, y, &w->a));
			assert_string_equal(world_print(w, field_set_to_json(field_set_union(x, y, &w->a), &w->a)),
				world_print(w, field_set_to_json(field_set_union(y, x, &w->a), &w->a)));
		}
	}
}

static void test_insert__keeps_order_whatever_comes_first(void **state)
{
	struct api_world *w = *state;
	struct field_set *s = field_set_new(&w->a);
	static const char *const names[] = {"m", "c", "x", "a", "m", "d", "b"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct path top = {NULL, {PATH_FIELD, str_of(names[i])}};
		struct path below = {&top, {PATH_FIELD, STR("z")}};
		field_set_insert(s, i % 2 ? &below : &top, &w->a);
	}
	assert_set(w, s, "{\"f:a\":{\"f:z\":{}},\"f:b\":{},\"f:c\":{\"f:z\":{}},\"f:d\":{\"f:z\":{}},\"f:m\":{},\"f:x\":{}}");
	assert_non_null(field_set_find(s, (struct path_element){PATH_FIELD, STR("d")}));
	assert_null(field_set_find(s, (struct path_element){PATH_FIELD, STR("e")}));
	assert_null(field_set_find(NULL, (struct path_element){PATH_FIELD, STR("e")}));
}

static void test_with_fields__adds_the_fields_on_the_way(void **state)
{
	struct api_world *w = *state;
	const struct type *type = world_version(NS, NULL)->type;
	assert_set(w,
		field_set_with_fields(
			set(w,
				"{\"f:metadata\":{\"f:labels\":{\"f:a\":{}}},\"f:status\":{\"f:conditions\":"
				"{\"k:{\\\"type\\\":\\\"R\\\"}\":{\"f:status\":{}}}},\"f:unknown\":{\"f:x\":{}}}"),
			type, &w->a),
		"{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:a\":{}}},\"f:status\":{\".\":{},\"f:conditions\":{\".\":{},"
		"\"k:{\\\"type\\\":\\\"R\\\"}\":{\"f:status\":{}}}},\"f:unknown\":{\"f:x\":{}}}");
}

static void collect(void *data, const struct path *p)
{
	struct api_world *w = ((void **)data)[0];
	struct buf *lines = ((void **)data)[1];
	buf_add_str(lines, path_print(p, &w->a));
	buf_addc(lines, ' ');
}

static void test_each__leaves_come_before_what_is_deeper(void **state)
{
	struct api_world *w = *state;
	struct buf lines;
	buf_init(&lines, 4096);
	void *data[] = {w, &lines};
	field_set_each(set(w,
			       "{\"f:metadata\":{\"f:labels\":{\"f:l\":{}},\"f:ownerReferences\":{\"k:{\\\"n\\\":1,\\\"uid\\\":"
			       "\\\"x\\\"}\":{}}},"
			       "\"f:revision\":{},\"f:set\":{\"v:\\\"a/b\\\"\":{},\"v:1\":{},\"i:3\":{}}}"),
		collect, data);
	assert_str(buf_str(&lines),
		".revision .metadata.labels.l .metadata.ownerReferences[n=1,uid=\"x\"] .set[=\"a/b\"] .set[=1] .set[3] ");
	buf_done(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_json__has_one_spelling),
		API_TEST(test_json__what_is_no_path_is_refused),
		API_TEST(test_union__has_the_paths_of_both),
		API_TEST(test_intersection__has_the_paths_in_both),
		API_TEST(test_difference__takes_paths_but_not_what_is_below),
		API_TEST(test_without__takes_all_below_a_name),
		API_TEST(test_sets__obey_the_laws),
		API_TEST(test_insert__keeps_order_whatever_comes_first),
		API_TEST(test_with_fields__adds_the_fields_on_the_way),
		API_TEST(test_each__leaves_come_before_what_is_deeper),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
