#include "base/json.h"
#include "server/discovery/discovery.h"
#include "tests/unit/check.h"

/* Only the kinds of api/kinds are linked: ControllerRevision and Namespace. */
struct fixture {
	struct arena arena;
	struct discovery *standalone, *aggregated;
};

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);
	struct storage_versions versions;

	storage_versions_init(&versions);
	struct discovery_options options = {.is_standalone = true,
		.storage_version_hash = true,
		.common = versions.versions,
		.server_address = STR("127.0.0.1:6443")};

	arena_init(&f->arena, 16 << 20);
	f->standalone = discovery_new(&options);
	options.is_standalone = false;
	options.storage_version_hash = false;
	f->aggregated = discovery_new(&options);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	discovery_unref(f->standalone);
	discovery_unref(f->aggregated);
	arena_done(&f->arena);
	mem_free(f);
	return 0;
}

static struct str find(const struct discovery *d, const char *path, bool is_aggregated)
{
	struct discovery_answer answer;

	return discovery_find(&answer, d, str_of(path), is_aggregated) ? bytes_str(answer.body) : (struct str){NULL, 0};
}

static struct json *find_json(struct fixture *f, const struct discovery *d, const char *path, bool is_aggregated)
{
	struct json *j;
	size_t at;

	assert_int_equal(json_parse(&j, &f->arena, find(d, path, is_aggregated), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

static struct json *item(struct json *list, const char *key, const char *value)
{
	for (uint32_t i = 0; i < list->n; i++) {
		if (str_is(json_text(json_gets(list->items[i], key)), value)) {
			return list->items[i];
		}
	}
	return NULL;
}

static void test_discovery__roots_and_groups(void **state)
{
	struct fixture *f = *state;

	assert_str(find(f->standalone, "/api", false),
		"{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":"
		"[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"127.0.0.1:6443\"}]}\n");
	assert_str(find(f->standalone, "/apis/apps", false),
		"{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"apps\",\"versions\":"
		"[{\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}],\"preferredVersion\":{\"groupVersion\":\"apps/"
		"v1\",\"version\":\"v1\"}}\n");
	struct json *groups = json_gets(find_json(f, f->standalone, "/apis", false), "groups");
	assert_str(json_text(json_gets(groups->items[0], "name")), "apps");
	struct json *own = item(groups, "name", "annals.dev");
	assert_non_null(own);
	assert_str(json_text(json_gets(json_gets(own, "preferredVersion"), "version")), "v1");
	assert_str(json_text(json_gets(json_gets(own, "versions")->items[1], "version")), "v1beta1");
}

static void test_discovery__resources_of_a_version(void **state)
{
	struct fixture *f = *state;
	struct json *list = find_json(f, f->standalone, "/apis/apps/v1", false);
	struct json *revisions = item(json_gets(list, "resources"), "name", "controllerrevisions");

	assert_str(json_text(json_gets(list, "apiVersion")), "v1");
	assert_str(json_gets(revisions, "verbs")->source,
		"[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]");
	assert_str(json_text(json_gets(revisions, "singularName")), "controllerrevision");
	assert_int_equal(json_text(json_gets(revisions, "storageVersionHash")).n, 12);
}

static void test_discovery__only_what_can_be_written_has_a_hash(void **state)
{
	struct fixture *f = *state;
	struct json *resources = json_gets(find_json(f, f->standalone, "/apis/annals.dev/v1", false), "resources");

	assert_int_equal(json_text(json_gets(item(resources, "name", "storagemigrations"), "storageVersionHash")).n, 12);
	assert_non_null(item(resources, "name", "storageversions"));
	assert_null(json_gets(item(resources, "name", "storageversions"), "storageVersionHash"));
	assert_null(json_gets(item(resources, "name", "snapshots"), "storageVersionHash"));
}

static struct str hash_at(struct fixture *f, const struct discovery *d, const char *path)
{
	struct json *resources = json_gets(find_json(f, d, path, false), "resources");

	return json_text(json_gets(item(resources, "name", "controllerrevisions"), "storageVersionHash"));
}

/* One object, one stored version: whichever version it is asked at. No version, no hash, and nothing else changes. */
static void test_discovery__hash_is_that_of_the_common_version(void **state)
{
	static const char *const paths[] = {"/apis/annals.dev/v1", "/apis/annals.dev/v1beta1", "/apis/apps/v1"};
	struct fixture *f = *state;
	const struct kind *k = kind_by_hub(STR("annals.dev"), STR("controllerrevisions"));
	struct storage_versions versions;
	char hash[STORAGE_VERSION_HASH_SIZE];

	storage_versions_init(&versions);
	for (size_t i = 0; i <= k->n_versions; i++) {
		versions.versions[k->index] = i < k->n_versions ? &k->versions[i] : NULL;
		struct discovery *d = discovery_new(&(struct discovery_options){
			.is_standalone = true, .storage_version_hash = true, .common = versions.versions});
		hash[0] = 0;
		if (i < k->n_versions) {
			storage_version_hash(k, &k->versions[i], hash);
		}
		for (size_t j = 0; j < ARRAY_SIZE(paths); j++) {
			assert_str(hash_at(f, d, paths[j]), hash);
			assert_str(hash_at(f, f->aggregated, "/apis/annals.dev/v1"), "");
		}
		assert_true(discovery_shows(d, versions.versions, NULL));
		assert_int_equal(discovery_shows(f->standalone, versions.versions, NULL), i == 0);
		discovery_unref(d);
	}
}

static void test_discovery__core_has_subresources_and_short_names(void **state)
{
	struct fixture *f = *state;
	struct json *list = find_json(f, f->standalone, "/api/v1", false);
	struct json *resources = json_gets(list, "resources"), *namespaces = item(resources, "name", "namespaces");

	assert_null(json_gets(list, "apiVersion"));
	assert_str(json_gets(namespaces, "shortNames")->source, "[\"ns\"]");
	assert_str(item(resources, "name", "namespaces/status")->source,
		"{\"name\":\"namespaces/status\",\"singularName\":\"\",\"namespaced\":false,\"kind\":\"Namespace\",\"verbs\":"
		"[\"get\",\"patch\",\"update\"]}");
}

static void test_discovery__aggregated_form(void **state)
{
	struct fixture *f = *state;
	struct json *list = find_json(f, f->standalone, "/api", true);
	struct json *version = json_gets(json_gets(list, "items")->items[0], "versions")->items[0];
	struct json *namespaces = item(json_gets(version, "resources"), "resource", "namespaces");

	assert_str(json_text(json_gets(list, "apiVersion")), "apidiscovery.k8s.io/v2");
	assert_str(json_text(json_gets(version, "freshness")), "Current");
	assert_str(json_gets(namespaces, "responseKind")->source, "{\"group\":\"\",\"version\":\"\",\"kind\":\"Namespace\"}");
	assert_str(json_text(json_gets(namespaces, "scope")), "Cluster");
	assert_str(json_text(json_gets(json_gets(namespaces, "subresources")->items[0], "subresource")), "finalize");
	assert_null(json_gets(namespaces, "storageVersionHash"));
	assert_int_equal(find(f->standalone, "/apis/apps", true).n, 0);
}

static void test_discovery__etag_follows_the_content(void **state)
{
	struct fixture *f = *state;
	struct discovery_answer a, b, legacy;

	assert_true(discovery_find(&a, f->standalone, STR("/apis"), true));
	assert_true(discovery_find(&b, f->aggregated, STR("/apis"), true));
	assert_true(discovery_find(&legacy, f->standalone, STR("/apis"), false));
	assert_int_equal(a.etag.n, 66);
	assert_false(str_eq(a.etag, b.etag));
	assert_true(a.is_public);
	assert_int_equal(legacy.etag.n, 0);
	assert_false(legacy.is_public);
}

static void test_discovery__shows_only_what_the_mode_has(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(find(f->aggregated, "/api", false).n, 0);
	assert_int_equal(find(f->aggregated, "/apis/apps/v1", false).n, 0);
	struct json *list = find_json(f, f->aggregated, "/apis/annals.dev/v1", false);
	assert_non_null(item(json_gets(list, "resources"), "name", "controllerrevisions"));
	assert_null(json_gets(item(json_gets(list, "resources"), "name", "controllerrevisions"), "storageVersionHash"));
}

static void test_discovery__methods_by_path(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *path;
		bool only_get;
	} cases[] = {{"/api", true}, {"/api/v1", true}, {"/apis", false}, {"/apis/apps", false}, {"/apis/apps/v1", true}};
	struct discovery_answer answer;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(discovery_find(&answer, f->standalone, str_of(cases[i].path), false));
		assert_int_equal(answer.only_get, cases[i].only_get);
	}
}

static void test_discovery__knows_which_groups_are_here(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *path;
		bool is_here;
	} cases[] = {
		{"/api/v2", true},
		{"/apis/apps", true},
		{"/apis/apps/v9", true},
		{"/apis/apps/v1/nothing", true},
		{"/apis/nothing.example.com", false},
		{"/apis/nothing.example.com/v1", false},
		{"/apis/appsx/v1", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(discovery_has_group(f->standalone, str_of(cases[i].path)), cases[i].is_here);
	}
	assert_false(discovery_has_group(f->aggregated, STR("/api/v2")));
}

static void test_discovery__lists_each_path_once(void **state)
{
	struct fixture *f = *state;
	unsigned roots = 0, versions = 0;
	struct str path;

	for (size_t i = 0; discovery_next_path(f->standalone, &i, &path);) {
		roots += str_is(path, "/apis");
		versions += str_is(path, "/apis/apps/v1");
	}
	assert_int_equal(roots, 1);
	assert_int_equal(versions, 1);
}

#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_discovery__roots_and_groups),
		WITH_FIXTURE(test_discovery__resources_of_a_version),
		WITH_FIXTURE(test_discovery__only_what_can_be_written_has_a_hash),
		WITH_FIXTURE(test_discovery__hash_is_that_of_the_common_version),
		WITH_FIXTURE(test_discovery__core_has_subresources_and_short_names),
		WITH_FIXTURE(test_discovery__aggregated_form),
		WITH_FIXTURE(test_discovery__etag_follows_the_content),
		WITH_FIXTURE(test_discovery__shows_only_what_the_mode_has),
		WITH_FIXTURE(test_discovery__methods_by_path),
		WITH_FIXTURE(test_discovery__knows_which_groups_are_here),
		WITH_FIXTURE(test_discovery__lists_each_path_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
