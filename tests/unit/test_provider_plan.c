#include "controllers/dependents/provider_plan.h"

#include "tests/unit/items.h"

static void test_provider__is_let_go_by_nothing_but_a_live_list(void **state _unused_)
{
	static const struct {
		const char *meta;
		bool is_referred_to;
		enum provider_step step;
	} cases[] = {
		{"{\"name\":\"p\"" DELETED PROTECTED "}", false, PROVIDER_ASK},
		{"{\"name\":\"p\"" DELETED PROTECTED "}", true, PROVIDER_LEAVE},
		{"{\"name\":\"p\"" PROTECTED "}", false, PROVIDER_LEAVE},
		{"{\"name\":\"p\"" DELETED ",\"finalizers\":[\"x.io/y\"]}", false, PROVIDER_LEAVE},
		{"{\"name\":\"p\"" DELETED "}", false, PROVIDER_LEAVE},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(provider_next(make_json(&a, cases[i].meta), cases[i].is_referred_to), cases[i].step);
	}
	arena_done(&a);
}

static void test_provider__list_must_be_empty_and_whole(void **state _unused_)
{
	static const struct {
		const char *list;
		enum provider_step step;
	} cases[] = {
		{"{\"metadata\":{},\"items\":[]}", PROVIDER_LET_GO},
		{"{\"metadata\":{},\"items\":null}", PROVIDER_LET_GO},
		{"{\"metadata\":{},\"items\":[{}]}", PROVIDER_LEAVE},
		{"{\"metadata\":{\"continue\":\"more\"},\"items\":[]}", PROVIDER_LEAVE},
		{"{\"metadata\":{}}", PROVIDER_LEAVE},
		{"{\"metadata\":{},\"items\":{}}", PROVIDER_LEAVE},
		{"[]", PROVIDER_LEAVE},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(provider_next_by_list(make_json(&a, cases[i].list)), cases[i].step);
	}
	assert_int_equal(provider_next_by_list(NULL), PROVIDER_LEAVE);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_provider__is_let_go_by_nothing_but_a_live_list),
		TEST(test_provider__list_must_be_empty_and_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
