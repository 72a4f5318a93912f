#include "api/rules/selector.h"
#include "tests/unit/kind_world.h"

#define SELF "authorization.k8s.io/v1/selfsubjectaccessreviews"
#define SUBJECT "authorization.k8s.io/v1/subjectaccessreviews"
#define LOCAL "authorization.k8s.io/v1/localsubjectaccessreviews"

#define ABOUT(more) "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\"" more "}}}"
#define FIELDS(selector) ABOUT(",\"fieldSelector\":{" selector "}")
#define LABELS(selector) ABOUT(",\"labelSelector\":{" selector "}")
#define FIELD_PATH "spec.resourceAttributes.fieldSelector"
#define LABEL_PATH "spec.resourceAttributes.labelSelector"

static void test_review__asks_one_thing(void **state)
{
	static const struct invalid_row rows[] = {
		{ABOUT(""), NULL, NULL},
		{"{\"spec\":{\"nonResourceAttributes\":{}}}", NULL, NULL},
		{"{}", "spec.resourceAttributes",
			"exactly one of nonResourceAttributes or resourceAttributes must be specified"},
		{"{\"spec\":{\"resourceAttributes\":{},\"nonResourceAttributes\":{\"path\":\"/x\"}}}",
			"spec.nonResourceAttributes", "cannot be specified in combination with resourceAttributes"},
	};
	assert_rows(*state, SELF, rows, ARRAY_SIZE(rows));
}

static void test_review__has_no_metadata(void **state)
{
	static const struct invalid_row rows[] = {
		{"{\"spec\":{\"nonResourceAttributes\":{}},\"metadata\":{\"managedFields\":[{\"manager\":\"me\"}]}}", NULL,
			NULL},
		{"{\"spec\":{\"nonResourceAttributes\":{}},\"metadata\":{\"labels\":{}}}", NULL, NULL},
		{"{\"spec\":{\"nonResourceAttributes\":{}},\"metadata\":{\"name\":\"x\"}}", "metadata", "must be empty"},
		{"{\"spec\":{\"nonResourceAttributes\":{}},\"metadata\":{\"namespace\":\"x\"}}", "metadata", "must be empty"},
	};
	assert_rows(*state, SELF, rows, ARRAY_SIZE(rows));
}

static void test_review__of_a_subject_names_it(void **state)
{
	static const struct invalid_row rows[] = {
		{"{\"spec\":{\"user\":\"u\",\"nonResourceAttributes\":{}}}", NULL, NULL},
		{"{\"spec\":{\"groups\":[\"g\"],\"nonResourceAttributes\":{}}}", NULL, NULL},
		{"{\"spec\":{\"groups\":[],\"nonResourceAttributes\":{}}}", "spec.user",
			"at least one of user or group must be specified"},
	};
	assert_rows(*state, SUBJECT, rows, ARRAY_SIZE(rows));
}

static void test_review__local_one_stays_in_its_namespace(void **state)
{
	static const struct invalid_row rows[] = {
		{"{\"metadata\":{\"namespace\":\"x\"},\"spec\":{\"user\":\"u\",\"resourceAttributes\":{\"namespace\":\"x\"}}}",
			NULL, NULL},
		{"{\"metadata\":{\"namespace\":\"x\"},\"spec\":{\"user\":\"u\",\"resourceAttributes\":{\"namespace\":\"y\"}}}",
			"spec.resourceAttributes.namespace", "must match metadata.namespace"},
		{"{\"metadata\":{\"namespace\":\"x\"},\"spec\":{\"user\":\"u\",\"nonResourceAttributes\":{}}}",
			"spec.nonResourceAttributes", "disallowed on this kind of request"},
		{"{\"metadata\":{\"namespace\":\"x\",\"name\":\"n\"},\"spec\":{\"user\":\"u\",\"resourceAttributes\":{"
		 "\"namespace\":\"x\"}}}",
			"metadata", "must be empty except for namespace"},
	};
	assert_rows(*state, LOCAL, rows, ARRAY_SIZE(rows));
}

static void test_review__selectors_are_of_one_form(void **state)
{
	static const struct invalid_row rows[] = {
		{FIELDS("\"rawSelector\":\"((\""), NULL, NULL},
		{FIELDS("\"requirements\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b\"]}]"), NULL, NULL},
		{FIELDS("\"requirements\":[{\"key\":\"a\",\"operator\":\"Unheard\"}]"), NULL, NULL},
		{FIELDS(""), FIELD_PATH ".requirements",
			"when " FIELD_PATH " is specified, requirements or rawSelector is required"},
		{FIELDS("\"rawSelector\":\"a=b\",\"requirements\":[{\"key\":\"a\",\"operator\":\"Exists\"}]"),
			FIELD_PATH ".rawSelector", "may not specified at the same time as requirements"},
		{FIELDS("\"requirements\":[{\"operator\":\"Exists\"}]"), FIELD_PATH ".requirements[0].key",
			"must be specified"},
		{FIELDS("\"requirements\":[{\"key\":\"a\",\"operator\":\"NotIn\"}]"), FIELD_PATH ".requirements[0].values",
			"must be specified when `operator` is 'In' or 'NotIn'"},
		{LABELS("\"requirements\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"b\"]}]"),
			LABEL_PATH ".requirements[0].values",
			"may not be specified when `operator` is 'Exists' or 'DoesNotExist'"},
		{LABELS("\"requirements\":[{\"key\":\"a.io/b\",\"operator\":\"In\",\"values\":[\"ok\",\"\"]}]"), NULL, NULL},
		{LABELS("\"requirements\":[{\"key\":\"/b\",\"operator\":\"Exists\"}]"), LABEL_PATH ".requirements[0].key",
			"prefix part must be non-empty"},
	};
	assert_rows(*state, SELF, rows, ARRAY_SIZE(rows));
	assert_int_equal(errors_of(*state,
				 world_decode(*state, SELF,
					 LABELS("\"requirements\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b c\"]}]")),
				 NULL)
				 .n,
		1);
}

static void test_field_selector__can_be_read_without_a_kind(void **state)
{
	struct api_world *w = *state;
	assert_true(field_selector_is_readable(STR("any.field=x,other!=y"), &w->a));
	assert_true(field_selector_is_readable(STR(""), &w->a));
	assert_false(field_selector_is_readable(STR("any.field"), &w->a));
	assert_false(field_selector_is_readable(STR("a=b=c"), &w->a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_review__asks_one_thing),
		API_TEST(test_review__has_no_metadata),
		API_TEST(test_review__of_a_subject_names_it),
		API_TEST(test_review__local_one_stays_in_its_namespace),
		API_TEST(test_review__selectors_are_of_one_form),
		API_TEST(test_field_selector__can_be_read_without_a_kind),
	};
	return cmocka_run_group_tests_name("kinds_review", tests, NULL, NULL);
}
