/* What becomes of objects that upstream converts rather than decodes. */
#include "api/unstructured.h"

#include "tests/unit/api_world.h"

static const struct json *settled(struct api_world *w, const char *text)
{
	const struct door *door;
	const struct kind *kind = kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, &door);
	assert_non_null(kind);
	return unstructured_settle(world_parse(w, text), kind, door, &w->a);
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

static void test_unstructured__kind_and_version_are_the_doors(void **state)
{
	assert_settles(*state, "{\"kind\":\"X\",\"apiVersion\":\"x/v1\"}", "{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\"}");
	assert_settles(*state, "{\"kind\":5}", "{\"kind\":5}");
	assert_settles(*state, "{}", "{}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_unstructured__whole_numbers_are_integers),
		API_TEST(test_unstructured__what_an_int64_cannot_hold_is_its_least),
		API_TEST(test_unstructured__fractions_and_free_data_stay),
		API_TEST(test_unstructured__kind_and_version_are_the_doors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
