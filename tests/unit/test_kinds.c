#include "tests/unit/kind_world.h"

static void test_revision__needs_data_that_is_an_object(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *object, *detail;
	} rows[] = {
		{"{\"data\":{}}", NULL},
		{"{\"data\":{\"x\":null}}", NULL},
		{"{}", "data is mandatory"},
		{"{\"data\":null}", "data is mandatory"},
		{"{\"data\":\"text\"}", "data must be a valid JSON object"},
		{"{\"data\":[1,2]}", "data must be a valid JSON object"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct field_errors e = errors_of(w, world_decode(w, CR, rows[i].object), NULL);
		assert_int_equal(e.n, rows[i].detail != NULL);
		if (rows[i].detail) {
			assert_int_equal(e.v[0].type, FIELD_REQUIRED);
			assert_str(e.v[0].path, "data");
			assert_str(e.v[0].detail, rows[i].detail);
		}
	}
}

static void test_revision__number_is_not_negative(void **state)
{
	struct api_world *w = *state;
	assert_int_equal(errors_of(w, world_decode(w, CR, "{\"data\":{},\"revision\":0}"), NULL).n, 0);
	struct object *o = world_decode(w, CR, "{\"metadata\":{\"name\":\"a\"},\"data\":{},\"revision\":-1}");
	o->meta.ns = STR("default");
	struct field_errors e = errors_of(w, o, NULL);
	assert_int_equal(e.n, 1);
	assert_str(e.v[0].path, "revision");
	assert_str(e.v[0].bad_value, "-1");
	assert_str(e.v[0].detail, "must be greater than or equal to 0");
	assert_int_equal(errors_of(w, o, o->kind->validate_update).n, 1);
}

static void test_revision__columns(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, CR,
		"{\"metadata\":{\"name\":\"web-1\",\"creationTimestamp\":\"2019-12-31T23:59:55Z\","
		"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":"
		"\"u\",\"controller\":true}]},\"data\":{\"x\": 1},\"revision\":3}");
	assert_cell(o, "Name", "\"web-1\"");
	assert_cell(o, "Controller", "\"statefulset.apps/web\"");
	assert_cell(o, "Revision", "3");
	assert_cell(o, "Size", "7");
	assert_cell(o, "Live", "\"\\u003cunknown\\u003e\"");
	assert_cell(o, "Age", "\"5s\"");
	assert_cell(world_decode(w, CR, "{}"), "Controller", "\"\\u003cnone\\u003e\"");
	assert_cell(world_decode(w, CR, "{}"), "Age", "\"\\u003cunknown\\u003e\"");
	assert_cell(world_decode(w, CR,
			    "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"x\","
			    "\"controller\":true}]}}"),
		"Controller", "\"pod/x\"");
}

static void test_revision__selectable_fields(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, CR,
		"{\"metadata\":{\"ownerReferences\":[{\"name\":\"other\",\"uid\":\"v\"},{\"name\":\"web\",\"uid\":"
		"\"u\",\"controller\":true}]},\"data\":{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\"},"
		"\"revision\":3}");
	assert_selects(w, o, "revision", "3");
	assert_selects(w, o, "controller.uid", "u");
	assert_selects(w, o, "controller.name", "web");
	assert_selects(w, o, "data.kind", "Deployment");
	assert_selects(w, o, "data.apiVersion", "apps/v1");
	o = world_decode(w, CR, "{\"data\":{\"kind\":1}}");
	assert_selects(w, o, "controller.uid", "");
	assert_selects(w, o, "data.kind", "");
}

static void test_revision__old_version_is_deprecated(void **state)
{
	(void)state;
	const struct version *v;
	world_version("annals.dev/v1beta1/controllerrevisions", &v);
	assert_non_null(v->deprecation);
	world_version("annals.dev/v1/controllerrevisions", &v);
	assert_null(v->deprecation);
}

static void test_namespace__is_born_active_with_label_and_finalizer(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, NS,
		"{\"metadata\":{\"name\":\"x\",\"labels\":{\"z\":\"1\",\"a\":\"2\"}},\"status\":{\"phase\":"
		"\"Terminating\"}}");
	assert_string_equal(world_print(w, o->meta.labels), "{\"a\":\"2\",\"kubernetes.io/metadata.name\":\"x\",\"z\":\"1\"}");
	o->kind->prepare_create(o, &w->a);
	assert_string_equal(
		world_print(w, o->fields), "{\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}");
}

static void test_namespace__keeps_finalizers_it_is_given(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, NS, "{\"spec\":{\"finalizers\":[\"example.com/x\"]}}");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, object_spec(o), "{\"finalizers\":[\"example.com/x\",\"kubernetes\"]}");
}

static void test_namespace__name_label_cannot_be_changed(void **state)
{
	struct api_world *w = *state;
	struct object *o =
		world_decode(w, NS, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"kubernetes.io/metadata.name\":\"other\"}}}");
	world_assert_json(w, o->meta.labels, "{\"kubernetes.io/metadata.name\":\"x\"}");
}

static void test_namespace__update_changes_neither_spec_nor_status(void **state)
{
	struct api_world *w = *state;
	struct object *old =
		world_decode(w, NS, "{\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}");
	struct object *o = world_decode(w, NS, "{\"spec\":{},\"status\":{\"phase\":\"Terminating\"}}");
	o->kind->prepare_update(o, old, &w->a);
	assert_true(json_equal(o->fields, old->fields));
}

static void test_namespace__subresources_change_their_half(void **state)
{
	struct api_world *w = *state;
	const char *stored = "{\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}";
	struct object *sent = world_decode(
		w, NS, "{\"metadata\":{\"labels\":{\"l\":\"1\"}},\"spec\":{},\"status\":{\"phase\":\"Terminating\"}}");
	struct object *o = world_decode(w, NS, stored);
	kind_subresource(o->kind, NULL, STR("finalize"))->merge(o, sent, &w->a);
	world_assert_json(w, o->fields, "{\"spec\":{},\"status\":{\"phase\":\"Active\"}}");
	o = world_decode(w, NS, stored);
	kind_subresource(o->kind, NULL, STR("status"))->merge(o, sent, &w->a);
	world_assert_json(w, o->fields, "{\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Terminating\"}}");
	world_assert_json(w, o->meta.labels, "{\"l\":\"1\"}");
}

static void test_namespace__phase_must_fit_deletion(void **state)
{
	struct api_world *w = *state;
	const struct subresource *status = kind_subresource(world_version(NS, NULL), NULL, STR("status"));
	struct object *active = world_decode(w, NS, "{\"status\":{\"phase\":\"Active\"}}");
	struct object *terminating = world_decode(w, NS, "{\"status\":{\"phase\":\"Terminating\"}}");
	assert_int_equal(errors_of(w, active, status->validate_update).n, 0);
	struct field_errors e = errors_of(w, terminating, status->validate_update);
	assert_int_equal(e.n, 1);
	assert_str(e.v[0].detail, "may only be 'Active' if `deletionTimestamp` is empty");
	terminating->meta.deletion_timestamp = STR("2020-01-01T00:00:00Z");
	assert_int_equal(errors_of(w, terminating, status->validate_update).n, 0);
}

static void test_namespace__finalizers_need_a_domain(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, NS, "{\"spec\":{\"finalizers\":[\"kubernetes\",\"plain\"]}}");
	struct field_errors e = errors_of(w, o, NULL);
	assert_int_equal(e.n, 1);
	assert_str(e.v[0].path, "spec.finalizers");
	e = errors_of(w, o, kind_subresource(o->kind, NULL, STR("finalize"))->validate_update);
	assert_int_equal(e.n, 1);
	assert_str(e.v[0].path, "spec.finalizers[1]");
}

/* The first delete only says so, even where nothing is left to wait for. */
static void test_namespace__goes_in_two_deletes(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, NS, "{\"spec\":{},\"status\":{\"phase\":\"Active\"}}");
	assert_true(o->kind->keep_on_delete(o, &w->a));
	world_assert_json(w, object_status(o), "{\"phase\":\"Terminating\"}");
	o->meta.deletion_timestamp = STR("2020-01-01T00:00:00Z");
	assert_false(o->kind->keep_on_delete(o, &w->a));
	assert_true(o->kind->may_remove(o));

	o = world_decode(w, NS,
		"{\"metadata\":{\"deletionTimestamp\":\"2020-01-01T00:00:00Z\"},\"spec\":{\"finalizers\":[\"kubernetes\"]}}");
	assert_true(o->kind->keep_on_delete(o, &w->a));
	assert_false(o->kind->may_remove(o));
}

static void test_namespace__columns_and_fields(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, NS, "{\"metadata\":{\"name\":\"x\"}}");
	assert_cell(o, "Status", "\"Active\"");
	assert_selects(w, o, "status.phase", "Active");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_revision__needs_data_that_is_an_object),
		API_TEST(test_revision__number_is_not_negative),
		API_TEST(test_revision__columns),
		API_TEST(test_revision__selectable_fields),
		API_TEST(test_revision__old_version_is_deprecated),
		API_TEST(test_namespace__is_born_active_with_label_and_finalizer),
		API_TEST(test_namespace__keeps_finalizers_it_is_given),
		API_TEST(test_namespace__name_label_cannot_be_changed),
		API_TEST(test_namespace__update_changes_neither_spec_nor_status),
		API_TEST(test_namespace__subresources_change_their_half),
		API_TEST(test_namespace__phase_must_fit_deletion),
		API_TEST(test_namespace__finalizers_need_a_domain),
		API_TEST(test_namespace__goes_in_two_deletes),
		API_TEST(test_namespace__columns_and_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
