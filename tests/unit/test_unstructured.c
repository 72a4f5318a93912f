/* What becomes of objects that upstream converts rather than decodes. */
#include "api/patch/unstructured.h"

#include "tests/unit/api_world.h"

static const struct json *settled(struct api_world *w, const char *text)
{
	const struct version *version;
	const struct kind *kind = kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, &version);
	assert_non_null(kind);
	return unstructured_settle(world_parse(w, text), kind, version, &w->a);
}

static void assert_settles(struct api_world *w, const char *text, const char *expected)
{
	assert_string_equal(world_print(w, settled(w, text)), expected);
}

static void test_unstructured__whole_numbers_are_integers(void **state)
{
	assert_settles(*state, "{\"revision\":1.0}", "{\"revision\":1}");
	assert_settles(*state, "{\"revision\":1e2}", "{\"revision\":100}");
	assert_settles(*state, "{\"revision\":10e-1}", "{\"revision\":1}");
	assert_settles(*state, "{\"metadata\":{\"generation\":2.0}}", "{\"metadata\":{\"generation\":2}}");
}

static void test_unstructured__what_an_int64_cannot_hold_is_its_least(void **state)
{
	assert_settles(*state, "{\"revision\":1e19}", "{\"revision\":-9223372036854775808}");
	assert_settles(*state, "{\"revision\":9223372036854775808}", "{\"revision\":-9223372036854775808}");
	assert_settles(*state, "{\"revision\":9223372036854775807}", "{\"revision\":9223372036854775807}");
}

static void test_unstructured__fractions_and_free_data_stay(void **state)
{
	assert_settles(*state, "{\"revision\":1.5}", "{\"revision\":1.5}");
	assert_settles(*state, "{\"data\":{\"revision\":1.0},\"other\":1.0}", "{\"data\":{\"revision\":1.0},\"other\":1.0}");
}

static void test_unstructured__kind_and_version_are_the_versions(void **state)
{
	assert_settles(*state, "{\"kind\":\"X\",\"apiVersion\":\"x/v1\"}", "{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\"}");
	assert_settles(*state, "{\"kind\":5}", "{\"kind\":5}");
	assert_settles(*state, "{}", "{}");
}

static void assert_refused(struct api_world *w, const char *text, const char *reason)
{
	const struct version *version;
	const struct kind *kind = kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, &version);
	struct str found = STR("");
	bool is_refused = unstructured_refuses(settled(w, text), kind, version, &w->a, &found);
	assert_int_equal(is_refused, reason != NULL);
	assert_str(found, reason ? reason : "");
}

/* In the words of kube-apiserver's converter, as tests/cluster compares them. */
static void test_unstructured__values_of_wrong_types(void **state)
{
	static const char *const rows[][2] = {
		{"{}", NULL},
		{"{\"metadata\":null,\"revision\":null}", NULL},
		{"{\"metadata\":\"x\"}", "cannot restore struct from: string"},
		{"{\"metadata\":{\"labels\":\"x\"}}", "cannot restore map from string"},
		{"{\"metadata\":{\"labels\":5}}", "cannot restore map from int64"},
		{"{\"metadata\":{\"labels\":{\"a\":5}}}", "cannot convert int64 to string"},
		{"{\"metadata\":{\"labels\":{\"a\":1.5}}}", "unrecognized type: string"},
		{"{\"metadata\":{\"uid\":5}}", "cannot convert int64 to types.UID"},
		{"{\"metadata\":{\"uid\":true}}", "unrecognized type: string"},
		{"{\"metadata\":{\"finalizers\":{}}}", "cannot restore slice from map"},
		{"{\"metadata\":{\"finalizers\":[false]}}", "unrecognized type: string"},
		{"{\"metadata\":{\"creationTimestamp\":5}}", "json: cannot unmarshal number into Go value of type string"},
		{"{\"metadata\":{\"ownerReferences\":[{\"controller\":\"x\"}]}}", "unrecognized type: bool"},
		{"{\"revision\":1.5}", "cannot convert float64 to int64"},
		{"{\"revision\":\"1\"}", "unrecognized type: int64"},
		{"{\"data\":5,\"bogus\":\"x\"}", NULL},
		/* The first in the order of Go's structs. */
		{"{\"revision\":\"1\",\"metadata\":{\"labels\":5,\"name\":[]}}", "unrecognized type: string"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_refused(*state, rows[i][0], rows[i][1]);
	}
}

static void test_unstructured__a_patch_is_shown_as_go_prints_it(void **state)
{
	static const char *const rows[][2] = {
		/* on {"m":{"x":0}} */
		{"{}", "map[]"},
		{"null", "<nil>"},
		{"{\"b\":[1,2.50,true,null,{\"d\":\"\",\"c\":[]}],\"a\":\"x y\"}",
			"map[a:x y b:[1 2.5 true <nil> map[c:[] d:]]]"},
		{"{\"a\":1e30,\"b\":1e20,\"c\":-0.00001,\"d\":0.0001,\"e\":1e2}",
			"map[a:1e+30 b:100000000000000000000 c:-1e-05 d:0.0001 e:100]"},
		{"{\"m\":{\"$patch\":\"replace\",\"x\":1,\"$retainKeys\":[\"x\"]}}", "map[m:map[x:1]]"},
		{"{\"n\":{\"$patch\":\"replace\",\"x\":1}}", "map[n:map[$patch:replace x:1]]"},
		{"{\"$setElementOrder/l\":[1],\"l\":[1],\"k\":[{\"$patch\":\"delete\"}]}", "map[k:[map[$patch:delete]]]"},
	};
	struct api_world *w = *state;
	const struct json *before = world_parse(w, "{\"m\":{\"x\":0}}");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_str(unstructured_patch_text(world_parse(w, rows[i][0]), before, &w->a), rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_unstructured__whole_numbers_are_integers),
		API_TEST(test_unstructured__what_an_int64_cannot_hold_is_its_least),
		API_TEST(test_unstructured__fractions_and_free_data_stay),
		API_TEST(test_unstructured__kind_and_version_are_the_versions),
		API_TEST(test_unstructured__values_of_wrong_types),
		API_TEST(test_unstructured__a_patch_is_shown_as_go_prints_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
