#include "api/patch/managed.h"
#include "tests/unit/kind_world.h"

#define ACCOUNT "/v1/serviceaccounts"

static void test_account__keeps_names_of_secrets(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, ACCOUNT,
		"{\"secrets\":[{\"kind\":\"Secret\",\"name\":\"a\",\"uid\":\"u\"},{\"kind\":\"x\"}],"
		"\"automountServiceAccountToken\":false}");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, o->fields, "{\"secrets\":[{\"name\":\"a\"},{}],\"automountServiceAccountToken\":false}");
}

static void test_account__warns_of_what_is_newly_deprecated(void **state)
{
	struct api_world *w = *state;
	struct str warnings[KIND_WARNINGS_MAX];
	struct object *plain = world_decode(w, ACCOUNT, "{}");
	struct object *limited =
		world_decode(w, ACCOUNT, "{\"metadata\":{\"annotations\":{\"kubernetes.io/enforce-mountable-secrets\":\"\"}}}");
	assert_int_equal(plain->kind->warn(plain, NULL, warnings), 0);
	assert_int_equal(plain->kind->warn(limited, NULL, warnings), 1);
	assert_int_equal(plain->kind->warn(limited, plain, warnings), 1);
	assert_int_equal(plain->kind->warn(limited, limited, warnings), 0);
}

static uint32_t count_managers(struct api_world *w, const char *object)
{
	const struct version *version;
	world_version(ACCOUNT, &version);
	struct object *o = world_decode(w, ACCOUNT, object);
	managed_update(o, NULL, version, STR(""), STR("me"), STR("2020-01-01T00:00:00Z"), &w->a);
	return o->meta.managed_fields ? o->meta.managed_fields->n : 0;
}

static void test_account__with_a_nameless_secret_is_nobodys(void **state)
{
	assert_int_equal(count_managers(*state, "{\"secrets\":[{\"name\":\"a\"}]}"), 1);
	assert_int_equal(count_managers(*state, "{\"secrets\":[{\"name\":\"a\"},{\"kind\":\"x\"}]}"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_account__keeps_names_of_secrets),
		API_TEST(test_account__warns_of_what_is_newly_deprecated),
		API_TEST(test_account__with_a_nameless_secret_is_nobodys),
	};
	return cmocka_run_group_tests_name("kinds_account", tests, NULL, NULL);
}
