/* A whole migrator: a real cache and a real agreement over the store in memory. */
#include "tests/unit/migration_world.h"

#define DEPENDENT "{\"spec\":{\"providers\":[{\"kind\":\"Provider\",\"name\":\"p\"}]}}"
#define TWO_PROVIDERS \
	"{\"spec\":{\"providers\":[{\"kind\":\"Provider\",\"name\":\"p\"},{\"kind\":\"Provider\",\"name\":\"q\"}]}}"
#define MIGRATE_DEPENDENTS "{\"spec\":{\"resource\":{\"group\":\"annals.dev\",\"resource\":\"dependents\"}}}"

static int setup(void **state)
{
	*state = storage_memory_new();
	return 0;
}

static int teardown(void **state)
{
	*state = storage_free(*state);
	return 0;
}

#define MIGRATOR_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void store_dependents(struct world *w, const char *version, int from, int to)
{
	for (int i = from; i < to; i++) {
		char name[32];
		snprintf(name, sizeof(name), "ns/d%04d", i);
		world_store(w, DEPENDENTS_PATH, version, name, i % 2 ? DEPENDENT : TWO_PROVIDERS, 0);
	}
}

static struct world_stored dependent(struct world *w, int i)
{
	struct world_stored stored;
	char name[32];

	snprintf(name, sizeof(name), "ns/d%04d", i);
	assert_true(world_stored(w, DEPENDENTS_PATH, name, &stored));
	return stored;
}

static void assert_versions(struct world *w, int from, int to, const char *version)
{
	for (int i = from; i < to; i++) {
		assert_str(dependent(w, i).version, version);
	}
}

static int64_t count_of(struct world *w, const char *migration, const char *name)
{
	const struct json *status = json_gets(world_fields(w, MIGRATIONS_PATH, migration), "status");

	return member_int(json_gets(status, "objects"), name);
}

static void test_migrator__rewrites_what_is_stored_otherwise(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 100);
	store_dependents(w, "v1", 100, 110);
	struct world_stored old = dependent(w, 0), untouched = dependent(w, 105);
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	const char *name = world_await_state(w, "dependents", "Succeeded");
	assert_versions(w, 0, 110, "annals.dev/v1");
	assert_int_equal(dependent(w, 105).mod_revision, untouched.mod_revision);
	assert_int_equal(count_of(w, name, "migrated"), 100);
	assert_int_equal(count_of(w, name, "total"), 110);
	assert_int_equal(count_of(w, name, "remaining"), 0);
	assert_int_equal(count_of(w, name, "conflicts"), 0);
	assert_str(member_text(world_condition(w, name, "Succeeded"), "reason"), "StorageVersionMigrationSucceeded");
	assert_str(member_text(world_condition(w, name, "Running"), "status"), "False");

	const struct kind *k = kind_by_hub(STR("annals.dev"), STR("dependents"));
	struct object *before, *after;
	assert_int_equal(object_decode_stored(&before, k, old.value, 1, &w->a), 0);
	assert_int_equal(object_decode_stored(&after, k, dependent(w, 0).value, 1, &w->a), 0);
	assert_true(object_equal(before, after));
	assert_int_equal(member_count(json_gets(after->fields, "spec"), "providers"), 2);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MIGRATOR_TEST(test_migrator__rewrites_what_is_stored_otherwise),
	};
	return cmocka_run_group_tests_name("migrator", tests, NULL, NULL);
}
