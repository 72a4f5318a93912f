#include "tests/unit/kind_world.h"

#define LEASE "coordination.k8s.io/v1/leases"

static void test_lease__numbers_have_floors(void **state)
{
	static const struct invalid_row rows[] = {
		{"{\"spec\":{}}", NULL, NULL},
		{"{\"spec\":{\"leaseDurationSeconds\":1,\"leaseTransitions\":0}}", NULL, NULL},
		{"{\"spec\":{\"leaseDurationSeconds\":0}}", "spec.leaseDurationSeconds", "must be greater than 0"},
		{"{\"spec\":{\"leaseTransitions\":-1}}", "spec.leaseTransitions", "must be greater than or equal to 0"},
	};
	assert_rows(*state, LEASE, rows, ARRAY_SIZE(rows));
	assert_update_rows(*state, LEASE, "{}", rows, ARRAY_SIZE(rows));
}

static void test_lease__has_no_coordination(void **state)
{
	struct api_world *w = *state;
	struct object *o =
		world_decode(w, LEASE, "{\"spec\":{\"holderIdentity\":\"\",\"strategy\":\"x\",\"preferredHolder\":\"y\"}}");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, o->fields, "{\"spec\":{\"holderIdentity\":\"\"}}");
}

static void test_lease__column_names_the_holder(void **state)
{
	struct api_world *w = *state;
	assert_cell(world_decode(w, LEASE, "{\"spec\":{\"holderIdentity\":\"me\"}}"), "Holder", "\"me\"");
	assert_cell(world_decode(w, LEASE, "{}"), "Holder", "\"\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_lease__numbers_have_floors),
		API_TEST(test_lease__has_no_coordination),
		API_TEST(test_lease__column_names_the_holder),
	};
	return cmocka_run_group_tests_name("kinds_lease", tests, NULL, NULL);
}
