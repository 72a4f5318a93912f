#include "tests/unit/api_world.h"

#include "api/model/storage_version.h"
/* Linked into this program as a file of api/kinds is into the server: nothing here or there names what it declares. */
#include "tests/toy/toy_kind.c"

#define TOYS "toys.example.com/v1/toys"

static void test_registry__is_sorted_and_dense(void **state)
{
	(void)state;
	assert_true(kind_count() >= 3);
	for (size_t i = 0; i < kind_count(); i++) {
		assert_int_equal(kind_at(i)->index, i);
		if (i) {
			const struct kind *a = kind_at(i - 1), *b = kind_at(i);
			int r = strcmp(a->versions[0].group, b->versions[0].group);
			assert_true(r < 0 || (r == 0 && strcmp(a->resource, b->resource) < 0));
		}
	}
}

static void test_registry__finds_versions_by_mode(void **state)
{
	(void)state;
	const struct version *v;
	assert_non_null(kind_by_resource(STR("annals.dev"), STR("v1"), STR("controllerrevisions"), false, &v));
	assert_string_equal(v->name, "v1");
	assert_non_null(kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, NULL));
	assert_null(kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), false, NULL));
	assert_null(kind_by_resource(STR("apps"), STR("v2"), STR("controllerrevisions"), true, NULL));
	assert_null(kind_by_resource(STR("annals.dev"), STR("v1"), STR("controllerrevision"), true, NULL));
}

static void test_registry__hub_names_the_storage_key(void **state)
{
	(void)state;
	assert_non_null(kind_by_hub(STR("annals.dev"), STR("controllerrevisions")));
	assert_null(kind_by_hub(STR("apps"), STR("controllerrevisions")));
	assert_non_null(kind_by_hub(STR(""), STR("namespaces")));
}

static void test_version__has_an_api_version(void **state)
{
	struct api_world *w = *state;
	const struct version *v;
	const struct kind *k = world_version(CR, &v);
	assert_str(version_api_version(v, &w->a), "apps/v1");
	assert_ptr_equal(kind_version(k, STR("apps/v1")), v);
	assert_ptr_equal(kind_version(k, STR("annals.dev/v1")), &k->versions[0]);
	assert_null(kind_version(k, STR("apps/v1beta1")));
	k = world_version(NS, &v);
	assert_str(version_api_version(v, &w->a), "v1");
	assert_ptr_equal(kind_version(k, STR("v1")), v);
}

/* base64 of the first 8 bytes of SHA-256 of "/v1/Namespace" and "apps/v1/ControllerRevision", as every Kubernetes cluster shows them */
static void test_storage_version_hash__is_that_of_kubernetes(void **state)
{
	(void)state;
	char hash[STORAGE_VERSION_HASH_SIZE];
	const struct kind *k = kind_by_hub(STR(""), STR("namespaces"));
	storage_version_hash(k, &k->versions[0], hash);
	assert_string_equal(hash, "Q3oi5N2YM8M=");
	k = kind_by_hub(STR("annals.dev"), STR("controllerrevisions"));
	storage_version_hash(k, kind_version(k, STR("apps/v1")), hash);
	assert_string_equal(hash, "85nkx63pcBU=");
}

static void test_verbs__have_names(void **state)
{
	(void)state;
	assert_string_equal(verb_name(VERB_GET), "get");
	assert_string_equal(verb_name(VERB_DELETECOLLECTION), "deletecollection");
}

static void test_toy__decodes_with_defaults(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, TOYS, "{\"metadata\":{\"name\":\"bear\"},\"spec\":{\"colour\":\"brown\"}}");
	assert_string_equal(world_print(w, o->fields), "{\"spec\":{\"size\":10,\"colour\":\"brown\"}}");
	o = world_decode(w, TOYS, "{}");
	assert_string_equal(world_print(w, o->fields), "{\"spec\":{\"size\":10}}");
}

static void test_toy__is_validated_by_its_own_rules(void **state)
{
	struct api_world *w = *state;
	struct field_errors e;
	field_errors_init(&e, &w->a);
	struct object *o = world_decode(w, TOYS, "{\"spec\":{\"size\":1}}");
	o->kind->validate(o, &e);
	assert_int_equal(e.n, 0);
	o = world_decode(w, TOYS, "{\"spec\":{\"size\":0}}");
	o->kind->validate(o, &e);
	assert_int_equal(e.n, 1);
	assert_str(e.v[0].path, "spec.size");
}

static void test_toy__has_a_status_of_its_own(void **state)
{
	struct api_world *w = *state;
	const struct subresource *status =
		kind_subresource(kind_by_hub(STR("toys.example.com"), STR("toys")), NULL, STR("status"));
	assert_non_null(status);
	struct object *stored = world_decode(w, TOYS, "{\"spec\":{\"size\":3}}");
	status->merge(stored, world_decode(w, TOYS, "{\"spec\":{\"size\":4},\"status\":{\"ready\":true}}"), &w->a);
	world_assert_json(w, stored->fields, "{\"spec\":{\"size\":3},\"status\":{\"ready\":true}}");
	assert_null(kind_subresource(stored->kind, NULL, STR("scale")));
}

static void test_toy__shows_columns_and_selectable_fields(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, TOYS,
		"{\"metadata\":{\"name\":\"bear\",\"creationTimestamp\":\"2020-01-01T00:00:00Z\"},"
		"\"spec\":{\"size\":3}}");
	static const char *const expected[] = {"\"bear\"", "3", "\"90s\""};
	assert_int_equal(o->kind->n_columns, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct buf cell;
		buf_init(&cell, 1024);
		o->kind->columns[i].cell(o, 1577836800 + 90, &cell);
		assert_str(buf_str(&cell), expected[i]);
		buf_done(&cell);
	}
	assert_str(o->kind->selectable[0].value(o, &w->a), "3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_registry__is_sorted_and_dense),
		API_TEST(test_registry__finds_versions_by_mode),
		API_TEST(test_registry__hub_names_the_storage_key),
		API_TEST(test_version__has_an_api_version),
		API_TEST(test_storage_version_hash__is_that_of_kubernetes),
		API_TEST(test_verbs__have_names),
		API_TEST(test_toy__decodes_with_defaults),
		API_TEST(test_toy__is_validated_by_its_own_rules),
		API_TEST(test_toy__has_a_status_of_its_own),
		API_TEST(test_toy__shows_columns_and_selectable_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
