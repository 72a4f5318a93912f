#include "tests/unit/kind_world.h"

#define VERSION "annals.dev/v1/storageversions"
#define MIGRATION "annals.dev/v1/storagemigrations"
#define OF(resource) "{\"spec\":{\"resource\":" resource "}}"
#define DEPENDENTS OF("{\"group\":\"annals.dev\",\"resource\":\"dependents\"}")

static void test_storagemigration__names_a_stored_resource(void **state)
{
	static const char *const unknown = "no objects of such a resource are stored here";
	const struct invalid_row rows[] = {
		{DEPENDENTS, NULL, NULL},
		{OF("{\"group\":\"\",\"resource\":\"namespaces\"}"), NULL, NULL},
		{OF("{\"resource\":\"namespaces\"}"), NULL, NULL},
		{OF("{\"group\":\"example.com\",\"resource\":\"widgets\"}"), NULL, NULL},
		{OF("{\"group\":\"example\",\"resource\":\"widgets\"}"), "spec.resource", unknown},
		{"{}", "spec.resource.resource", "resource is required to be set"},
		{OF("{\"group\":\"annals.dev\"}"), "spec.resource.resource", "resource is required to be set"},
		{OF("{\"group\":\"annals.dev\",\"resource\":\"toys\"}"), "spec.resource", unknown},
		{OF("{\"resource\":\"dependents\"}"), "spec.resource", unknown},
		{OF("{\"group\":\"annals.dev\",\"resource\":\"snapshots\"}"), "spec.resource", unknown},
	};
	assert_rows(*state, MIGRATION, rows, ARRAY_SIZE(rows));
}

static void test_storagemigration__spec_is_immutable(void **state)
{
	static const struct invalid_row rows[] = {
		{DEPENDENTS, NULL, NULL},
		{OF("{\"resource\":\"namespaces\"}"), "spec", "field is immutable"},
	};
	assert_update_rows(*state, MIGRATION, DEPENDENTS, rows, ARRAY_SIZE(rows));
}

static void test_storagemigration__clients_do_not_write_status(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, MIGRATION, "{\"status\":{\"storageVersion\":\"v9\",\"objects\":{\"migrated\":3}}}");
	struct object *old = world_decode(w, MIGRATION, "{\"status\":{\"storageVersion\":\"v1\"}}");
	const struct subresource *status = kind_subresource(o->kind, NULL, STR("status"));

	o->kind->prepare_update(o, old, &w->a);
	assert_str(json_text(json_gets(object_status(o), "storageVersion")), "v1");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, object_status(o), "{\"objects\":{\"total\":0,\"migrated\":0,\"remaining\":0,\"conflicts\":0}}");
	assert_int_equal(status->verbs, VERB_GET);
}

static void test_storagemigration__columns(void **state)
{
	static const struct {
		const char *conditions, *state;
	} rows[] = {
		{"", "Pending"},
		{"{\"type\":\"Running\",\"status\":\"False\"}", "Waiting"},
		{"{\"type\":\"Running\",\"status\":\"True\"}", "Running"},
		{"{\"type\":\"Running\",\"status\":\"False\"},{\"type\":\"Succeeded\",\"status\":\"True\"}", "Succeeded"},
		{"{\"type\":\"Running\",\"status\":\"False\"},{\"type\":\"Failed\",\"status\":\"True\"}", "Failed"},
	};
	struct api_world *w = *state;
	struct object *o;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[512], cell[32];
		snprintf(text, sizeof(text), "{\"status\":{\"conditions\":[%s]}}", rows[i].conditions);
		o = world_decode(w, MIGRATION, text);
		snprintf(cell, sizeof(cell), "\"%s\"", rows[i].state);
		assert_cell(o, "Status", cell);
		assert_selects(w, o, "status.state", rows[i].state);
	}
	o = world_decode(w, MIGRATION,
		"{\"spec\":{\"resource\":{\"group\":\"annals.dev\",\"resource\":\"dependents\"}},\"status\":{"
		"\"storageVersion\":"
		"\"annals.dev/v1\",\"objects\":{\"migrated\":3,\"remaining\":4}}}");
	assert_cell(o, "Resource", "\"dependents.annals.dev\"");
	assert_cell(o, "Version", "\"annals.dev/v1\"");
	assert_cell(o, "Migrated", "3");
	assert_cell(o, "Remaining", "4");
	assert_selects(w, o, "spec.resource.group", "annals.dev");
	assert_selects(w, o, "spec.resource.resource", "dependents");
	o = world_decode(w, MIGRATION, OF("{\"resource\":\"namespaces\"}"));
	assert_cell(o, "Resource", "\"namespaces\"");
	assert_cell(o, "Version", "\"\\u003cnone\\u003e\"");
}

static void test_storageversion__can_only_be_read(void **state _unused_)
{
	const struct version *v;
	assert_int_equal(world_version(VERSION, &v)->verbs, VERB_GET | VERB_LIST | VERB_WATCH);
	assert_false(v->standalone_only);
}

static void test_storageversion__columns(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, VERSION,
		"{\"status\":{\"commonEncodingVersion\":\"annals.dev/v1\",\"storedObjects\":[{\"version\":\"annals.dev/v1\","
		"\"count\":2},{\"version\":\"annals.dev/v1beta1\",\"count\":5}]}}");

	assert_cell(o, "Common", "\"annals.dev/v1\"");
	assert_cell(o, "Stored", "\"annals.dev/v1,annals.dev/v1beta1\"");
	assert_cell(o, "Objects", "7");
	o = world_decode(w, VERSION, "{}");
	assert_cell(o, "Common", "\"\\u003cnone\\u003e\"");
	assert_cell(o, "Stored", "\"\\u003cnone\\u003e\"");
	assert_cell(o, "Objects", "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_storagemigration__names_a_stored_resource),
		API_TEST(test_storagemigration__spec_is_immutable),
		API_TEST(test_storagemigration__clients_do_not_write_status),
		API_TEST(test_storagemigration__columns),
		API_TEST(test_storageversion__can_only_be_read),
		API_TEST(test_storageversion__columns),
	};
	return cmocka_run_group_tests_name("kinds_storage", tests, NULL, NULL);
}
