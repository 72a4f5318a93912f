#include "delegation/access_reviews.h"
#include "tests/unit/check.h"

#define HEAD "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},\"spec\":"

struct scene {
	struct arena arena;
	struct buf out;
};

static void open_scene(struct scene *s)
{
	arena_init(&s->arena, 1 << 20);
	buf_init(&s->out, 1 << 20);
}

static void close_scene(struct scene *s)
{
	buf_done(&s->out);
	arena_done(&s->arena);
}

static void assert_body(const struct authz_attributes *what, const char *expected)
{
	struct scene s;
	open_scene(&s);
	assert_true(access_body(&s.out, what, &s.arena));
	assert_str(buf_str(&s.out), expected);
	close_scene(&s);
}

static void test_access_body__of_a_resource(void **state _unused_)
{
	static const struct str groups[] = {{"devs", 4}, {"system:authenticated", 20}};
	static const struct user_extra extra[] = {{{"s", 1}, {"1", 1}}, {{"t", 1}, {"x", 1}}, {{"s", 1}, {"2", 1}}};
	const struct user ann = {.name = STR("ann \"a\""),
		.uid = STR("u1"),
		.groups = groups,
		.n_groups = 2,
		.extra = extra,
		.n_extra = 3};
	assert_body(&(struct authz_attributes){.user = &ann,
			    .is_resource = true,
			    .verb = STR("get"),
			    .group = STR("apps"),
			    .version = STR("v1"),
			    .resource = STR("controllerrevisions"),
			    .subresource = STR("status"),
			    .ns = STR("ns"),
			    .name = STR("n")},
		HEAD "{\"resourceAttributes\":{\"namespace\":\"ns\",\"verb\":\"get\",\"group\":\"apps\",\"version\":\"v1\","
		     "\"resource\":\"controllerrevisions\",\"subresource\":\"status\",\"name\":\"n\"},\"user\":\"ann \\\"a\\\"\","
		     "\"groups\":[\"devs\",\"system:authenticated\"],\"extra\":{\"s\":[\"1\",\"2\"],\"t\":[\"x\"]},\"uid\":\"u1\"}}");
}

static void test_access_body__of_a_path(void **state _unused_)
{
	const struct user nobody = {.name = STR("n")};
	assert_body(&(struct authz_attributes){.user = &nobody, .verb = STR("get"), .path = STR("/metrics")},
		HEAD "{\"nonResourceAttributes\":{\"path\":\"/metrics\",\"verb\":\"get\"},\"user\":\"n\"}}");
}

static void assert_selectors(const char *fields, const char *labels, const char *expected)
{
	const struct user nobody = {.name = STR("n")};
	char text[1024];
	snprintf(text, sizeof(text), HEAD "{\"resourceAttributes\":{\"verb\":\"list\"%s},\"user\":\"n\"}}", expected);
	assert_body(&(struct authz_attributes){.user = &nobody,
			    .is_resource = true,
			    .verb = STR("list"),
			    .field_selector = str_of(fields),
			    .label_selector = str_of(labels)},
		text);
}

static void test_access_body__fields_that_are_demanded(void **state _unused_)
{
	assert_selectors("spec.nodeName==n1,metadata.name!=x\\,y", "",
		",\"fieldSelector\":{\"requirements\":[{\"key\":\"metadata.name\",\"operator\":\"NotIn\",\"values\":[\"x,y\"]},"
		"{\"key\":\"spec.nodeName\",\"operator\":\"In\",\"values\":[\"n1\"]}]}");
	assert_selectors("a=", "", ",\"fieldSelector\":{\"requirements\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"\"]}]}");
	assert_selectors("nonsense", "", "");
}

static void test_access_body__labels_that_are_demanded(void **state _unused_)
{
	assert_selectors("", "b in (y,x),a!=1,c,!d",
		",\"labelSelector\":{\"requirements\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"1\"]},"
		"{\"key\":\"b\",\"operator\":\"In\",\"values\":[\"x\",\"y\"]},{\"key\":\"c\",\"operator\":\"Exists\"},"
		"{\"key\":\"d\",\"operator\":\"DoesNotExist\"}]}");
	assert_selectors("", "a=1,b>2", ",\"labelSelector\":{\"requirements\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"1\"]}]}");
	assert_selectors("", "b>2", "");
	assert_selectors("", "a in (", "");
}

static void test_access_body__says_when_it_does_not_fit(void **state _unused_)
{
	const struct user nobody = {.name = STR("n")};
	struct scene s;
	open_scene(&s);
	buf_done(&s.out);
	buf_init(&s.out, 100);
	assert_false(access_body(&s.out, &(struct authz_attributes){.user = &nobody, .verb = STR("get")}, &s.arena));
	close_scene(&s);
}

/* ---- keys ---- */

static const struct str one_group[] = {{"ab", 2}}, two_groups[] = {{"a", 1}, {"b", 1}};
static const struct user_extra one_extra[] = {{{"a", 1}, {"b", 1}}};

static const struct user users[] = {
	{.name = {"n", 1}},
	{.name = {"m", 1}},
	{.name = {"n", 1}, .uid = {"u", 1}},
	{.name = {"n", 1}, .groups = one_group, .n_groups = 1},
	{.name = {"n", 1}, .groups = two_groups, .n_groups = 2},
	{.name = {"n", 1}, .extra = one_extra, .n_extra = 1},
};

#define WHAT(...) {.user = &users[0], __VA_ARGS__}

/* No two of them are the same question. */
static const struct authz_attributes different[] = {
	WHAT(.verb = {"get", 3}),
	WHAT(.verb = {"list", 4}),
	WHAT(.verb = {"get", 3}, .is_resource = true),
	WHAT(.verb = {"get", 3}, .group = {"a", 1}),
	WHAT(.verb = {"get", 3}, .version = {"a", 1}),
	WHAT(.verb = {"get", 3}, .resource = {"a", 1}),
	WHAT(.verb = {"get", 3}, .subresource = {"a", 1}),
	WHAT(.verb = {"get", 3}, .ns = {"a", 1}),
	WHAT(.verb = {"get", 3}, .name = {"a", 1}),
	WHAT(.verb = {"get", 3}, .path = {"a", 1}),
	WHAT(.verb = {"get", 3}, .field_selector = {"a", 1}),
	WHAT(.verb = {"get", 3}, .label_selector = {"a", 1}),
	WHAT(.verb = {"get", 3}, .ns = {"a", 1}, .name = {"b", 1}),
	WHAT(.verb = {"get", 3}, .ns = {"ab", 2}),
	{.user = &users[1], .verb = {"get", 3}},
	{.user = &users[2], .verb = {"get", 3}},
	{.user = &users[3], .verb = {"get", 3}},
	{.user = &users[4], .verb = {"get", 3}},
	{.user = &users[5], .verb = {"get", 3}},
};

static void test_access_key__differs_where_the_question_does(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	for (size_t i = 0; i < ARRAY_SIZE(different); i++) {
		struct str key = access_key(&different[i], &s.arena);
		for (size_t k = 0; k < ARRAY_SIZE(different); k++) {
			assert_int_equal(str_eq(key, access_key(&different[k], &s.arena)), i == k);
		}
	}
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_access_body__of_a_resource),
		TEST(test_access_body__of_a_path),
		TEST(test_access_body__fields_that_are_demanded),
		TEST(test_access_body__labels_that_are_demanded),
		TEST(test_access_body__says_when_it_does_not_fit),
		TEST(test_access_key__differs_where_the_question_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
