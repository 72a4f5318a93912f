#include "tests/unit/api_world.h"

/* A kind whose second version shows another form: spec.length in metres instead of spec.size in millimetres, and not spec.note. */

static struct json *rename_spec(const struct json *whole, const char *from, const char *to, struct arena *a)
{
	struct json *out = json_copy(a, whole), *spec = json_object(a);
	json_add(a, spec, str_of(to), json_gets(json_gets(whole, "spec"), from));
	json_set(a, out, STR("spec"), spec);
	return out;
}

static struct json *rope_from_hub(const struct json *hub, struct arena *a)
{
	return rename_spec(hub, "size", "length", a);
}

static struct json *rope_to_hub(const struct json *sent, const struct json *stored_hub, struct arena *a)
{
	struct json *hub = rename_spec(sent, "length", "size", a);
	struct json *note = json_gets(json_gets(stored_hub, "spec"), "note");
	if (note) {
		json_set(a, json_gets(hub, "spec"), STR("note"), note);
	}
	return hub;
}

#define ROPE_TYPE(name, ...)                                                                                        \
	static const struct type name##_spec = {                                                                    \
		.kind = TYPE_OBJECT, .go_type = "v1.RopeSpec", .fields = (const struct field[]){__VA_ARGS__, {0}}}; \
	static const struct type name = {.kind = TYPE_OBJECT,                                                       \
		.go_type = "v1.Rope",                                                                               \
		.fields = (const struct field[]){OBJECT_FIELDS, {"spec", &name##_spec, FIELD_ALWAYS, "", NULL, NULL}, {0}}}

ROPE_TYPE(rope_hub, {"size", &type_int64, FIELD_ALWAYS, "", NULL, NULL}, {"note", &type_string, 0, "", NULL, NULL});
ROPE_TYPE(rope_old, {"length", &type_int64, FIELD_ALWAYS, "", NULL, NULL});

static struct kind ropes = {
	.kind = "Rope",
	.list_kind = "RopeList",
	.resource = "ropes",
	.singular = "rope",
	.versions =
		(const struct version[]){
			{.group = "ropes.example.com", .name = "v2"},
			{.group = "ropes.example.com",
				.name = "v1",
				.type = &rope_old,
				.from_hub = rope_from_hub,
				.to_hub = rope_to_hub},
		},
	.n_versions = 2,
	.type = &rope_hub,
};
KIND_REGISTER(ropes)

static const char *stored_text(struct api_world *w, const struct object *o)
{
	struct buf b;
	buf_init(&b, 1 << 24);
	assert_true(object_encode_stored(&b, o, &o->kind->versions[0]));
	const char *text = arena_dup(&w->a, buf_str(&b)).p;
	buf_done(&b);
	return text;
}

/* The sentence for a whole body that is refused at apps/v1. */
static void assert_refused(struct api_world *w, const char *body, const char *message)
{
	const struct version *v;
	const struct kind *k = world_version(CR, &v);
	struct object *o;
	struct str reason;
	struct json *in = world_parse(w, body);
	int r = object_decode(&o, k, v, in, NULL, &w->a, NULL, &reason);
	assert_int_not_equal(r, 0);
	object_refuse(&w->st, k, v, str_of(body), in, r, reason);
	assert_int_equal(w->st.code, 400);
	assert_str(w->st.message, message);
}

static void test_decode__fills_meta_and_fields(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, CR,
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":\"a\","
		"\"namespace\":\"n\",\"generation\":7,\"deletionGracePeriodSeconds\":0,\"labels\":{\"l\":\"1\"},"
		"\"finalizers\":[\"x.y/z\"],\"resourceVersion\":\"5\"},\"revision\":2,\"data\":{\"x\": 1}}");
	assert_str(o->meta.name, "a");
	assert_str(o->meta.ns, "n");
	assert_str(o->meta.resource_version, "5");
	assert_int_equal(o->meta.generation, 7);
	assert_true(o->meta.has_grace_period);
	world_assert_json(w, o->meta.labels, "{\"l\":\"1\"}");
	assert_null(o->meta.annotations);
	assert_string_equal(world_print(w, o->fields), "{\"data\":{\"x\":1},\"revision\":2}");
}

static void test_decode__kind_and_version_may_be_left_out(void **state)
{
	struct api_world *w = *state;
	assert_str(world_decode(w, CR, "{\"metadata\":{\"name\":\"a\"}}")->meta.name, "a");
	assert_str(world_decode(w, CR, "{\"kind\":\"\",\"apiVersion\":null,\"metadata\":{\"name\":\"a\"}}")->meta.name, "a");
	assert_str(world_decode(w, CR, "{\"apiVersion\":\"apps/\",\"metadata\":{\"name\":\"a\"}}")->meta.name, "a");
	assert_string_equal(world_print(w, world_decode(w, CR, "null")->fields), "{\"data\":null,\"revision\":0}");
}

static void test_decode__refusals_speak_kube(void **state)
{
	struct api_world *w = *state;
	assert_refused(w, "{\"metadata\":{\"labels\":{\"k\":1}}}",
		"ControllerRevision in version \"v1\" cannot be handled as a ControllerRevision: json: cannot unmarshal number "
		"into Go "
		"struct field ObjectMeta.metadata.labels of type string");
	assert_refused(w, "{\"apiVersion\":\"apps/v1beta1\",\"kind\":\"ControllerRevision\"}",
		"the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)");
	assert_refused(w, "{\"apiVersion\":\"annals.dev/v1\",\"kind\":\"ControllerRevision\"}",
		"the API version in the data (annals.dev/v1) does not match the expected API version (apps/v1)");
	assert_refused(w, "{\"apiVersion\":\"v1\",\"kind\":\"ControllerRevision\"}",
		"ControllerRevision in version \"v1\" cannot be handled as a ControllerRevision: no kind "
		"\"ControllerRevision\" is "
		"registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"");
	assert_refused(w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\"}",
		"Namespace in version \"v1\" cannot be handled as a ControllerRevision: converting (v1.Namespace) to "
		"(apps.ControllerRevision): unknown conversion");
	assert_refused(w, "{\"apiVersion\":\"no/such/version\",\"kind\":\"ControllerRevision\"}",
		"the object provided is unrecognized (must be of type ControllerRevision): unexpected GroupVersion string: "
		"no/such/version ({\"apiVersion\":\"no/such/version ...)");
	assert_refused(w, "[]",
		"the object provided is unrecognized (must be of type ControllerRevision): couldn't get version/kind; json "
		"parse "
		"error: json: cannot unmarshal array into Go value of type struct { APIVersion string "
		"\"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } (5b5d)");
	assert_refused(w, "{\"kind\":5}",
		"the object provided is unrecognized (must be of type ControllerRevision): couldn't get version/kind; "
		"json parse error: json: cannot unmarshal number into Go struct field .kind of type string "
		"({\"kind\":5})");
}

static void test_refuse_body__shows_how_it_begins(void **state)
{
	struct api_world *w = *state;
	const struct kind *k = world_version(CR, NULL);
	object_refuse_body(&w->st, k, STR("nonsense"), STR("why"));
	assert_str(w->st.message,
		"the object provided is unrecognized (must be of type ControllerRevision): couldn't get version/kind; json "
		"parse error: why (6e6f6e73656e7365)");
	object_refuse_body(&w->st, k, STR(""), STR("why"));
	assert_str(w->st.message,
		"the object provided is unrecognized (must be of type ControllerRevision): couldn't get version/kind; json "
		"parse error: why (<empty>)");
}

static void test_refuse_strict__lists_everything(void **state)
{
	struct api_world *w = *state;
	const struct version *v;
	const struct kind *k = world_version(CR, &v);
	struct decode_report report = {0};
	struct object *o;
	struct str reason;
	struct json *in = world_parse(w, "{\"metadata\":{\"name\":\"a\",\"extra\":{\"x\":1}},\"data\":{},\"bogus\":1}");
	assert_int_equal(object_decode(&o, k, v, in, NULL, &w->a, &report, &reason), 0);
	object_refuse_strict(&w->st, k, v, in, &report);
	assert_str(w->st.message,
		"ControllerRevision in version \"v1\" cannot be handled as a ControllerRevision: strict decoding error: "
		"unknown field \"metadata.extra\", unknown field \"bogus\"");
}

static void test_stored__is_compact_in_the_storage_version_without_resource_version(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(
		w, CR, "{\"data\":{\"b\": 1.0,\"a\":\"<\"},\"metadata\":{\"resourceVersion\":\"7\",\"name\":\"a\"}}");
	assert_string_equal(stored_text(w, o),
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/v1\",\"metadata\":{\"name\":\"a\"},"
		"\"data\":{\"b\":1.0,\"a\":\"\\u003c\"},\"revision\":0}");
}

static void test_stored__comes_back_as_it_was(void **state)
{
	struct api_world *w = *state;
	static const char *const objects[] = {
		"{}",
		"{\"metadata\":{\"name\":\"a\",\"labels\":{\"b\":\"\",\"a\":\"\\u0001<\"},\"annotations\":{\"x\":\"\\n\"},"
		"\"generation\":3,"
		"\"deletionGracePeriodSeconds\":0},\"data\":{\"z\":1,\"z\":2,\"f\":0.1000,\"big\":12345678901234567890123,"
		"\"s\":\"\\/\"},"
		"\"revision\":9223372036854775807}",
		"{\"metadata\":{\"ownerReferences\":[{\"uid\":\"u\",\"controller\":false},null],\"finalizers\":[\"a\",\"a\"],"
		"\"managedFields\":"
		"[{\"manager\":\"m\",\"operation\":\"Update\",\"time\":\"2020-01-01T00:00:00Z\",\"fieldsV1\":{\"f:a\":{}}}]},"
		"\"data\":[1,null]}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		struct object *o = world_decode(w, CR, objects[i]), *back;
		const char *text = stored_text(w, o);
		assert_int_equal(object_decode_stored(&back, o->kind, str_of(text), 7, &w->a), 0);
		assert_string_equal(stored_text(w, back), text);
		assert_int_equal(back->mod_revision, 7);
		assert_str(back->meta.resource_version, "7");
		assert_true(object_equal(o, back));
	}
}

static void test_stored__anything_else_is_not_believed(void **state)
{
	struct api_world *w = *state;
	const struct kind *k = world_version(CR, NULL);
	static const char *const values[] = {
		"",
		"[]",
		"{\"kind\":\"ControllerRevision\"",
		"{\"kind\":\"Namespace\",\"apiVersion\":\"v1\"}",
	};
	struct object *o;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		assert_int_equal(object_decode_stored(&o, k, str_of(values[i]), 1, &w->a), OBJECT_UNRECOGNIZED);
	}
	struct str newer = STR("{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v9\"}");
	assert_int_equal(object_decode_stored(&o, k, newer, 1, &w->a), OBJECT_WRONG_VERSION);
}

static void test_to_json__is_the_object_as_a_version_shows_it(void **state)
{
	struct api_world *w = *state;
	const struct version *v;
	world_version(CR, &v);
	struct object *o =
		world_decode(w, CR, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\",\"uid\":\"u\"},\"data\":{}}");
	assert_string_equal(world_print(w, object_to_json(o, v, &w->a)),
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\","
		"\"resourceVersion\":\"5\"},\"data\":{},\"revision\":0}");
}

static void test_version__with_another_form_converts_both_ways(void **state)
{
	struct api_world *w = *state;
	struct object *stored = world_decode(w, "ropes.example.com/v2/ropes", "{\"spec\":{\"size\":3,\"note\":\"blue\"}}");
	const struct version *old = &stored->kind->versions[1];
	world_assert_json(w, json_gets(object_to_json(stored, old, &w->a), "spec"), "{\"length\":3}");

	struct object *o;
	struct str error;
	assert_int_equal(
		object_decode(&o, stored->kind, old, world_parse(w, "{\"spec\":{\"length\":4}}"), stored, &w->a, NULL, &error),
		0);
	world_assert_json(w, o->fields, "{\"spec\":{\"size\":4,\"note\":\"blue\"}}");
	assert_int_equal(object_decode(&o, stored->kind, old, world_parse(w, "{\"spec\":{\"size\":\"unknown here\"}}"), NULL,
				 &w->a, NULL, &error),
		0);
	world_assert_json(w, o->fields, "{\"spec\":{\"size\":0}}");
}

static void test_equal__ignores_version_and_times_of_managers(void **state)
{
	struct api_world *w = *state;
	const char *a =
		"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\",\"managedFields\":[{\"manager\":\"m\",\"time\":"
		"\"2020-01-01T00:00:00Z\"}]},\"data\":{\"x\":1,\"y\":2}}";
	const char *same =
		"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"2\",\"managedFields\":[{\"manager\":\"m\",\"time\":"
		"\"2021-01-01T00:00:00Z\"}]},\"data\":{\"y\":2.0,\"x\":1}}";
	static const char *const others[] = {
		"{\"metadata\":{\"name\":\"b\"}}",
		"{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"manager\":\"n\"}]},\"data\":{\"x\":1,\"y\":2}}",
		"{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"manager\":\"m\"}],\"labels\":{\"l\":\"\"}},\"data\":{"
		"\"x\":1,\"y\":2}}",
		"{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"manager\":\"m\"}],\"deletionGracePeriodSeconds\":0},"
		"\"data\":{\"x\":1,"
		"\"y\":2}}",
		"{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"manager\":\"m\"}]},\"data\":{\"x\":1,\"y\":3}}",
	};
	assert_true(object_equal(world_decode(w, CR, a), world_decode(w, CR, same)));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_false(object_equal(world_decode(w, CR, a), world_decode(w, CR, others[i])));
	}
}

static void test_meta__finalizers_come_and_go(void **state)
{
	struct api_world *w = *state;
	struct meta m = {0};
	meta_add_finalizer(&m, &w->a, STR("a"));
	meta_add_finalizer(&m, &w->a, STR("b"));
	meta_add_finalizer(&m, &w->a, STR("a"));
	world_assert_json(w, m.finalizers, "[\"a\",\"b\"]");
	meta_remove_finalizer(&m, &w->a, STR("a"));
	assert_false(meta_has_finalizer(&m, STR("a")));
	assert_true(meta_has_finalizer(&m, STR("b")));
	meta_remove_finalizer(&m, &w->a, STR("b"));
	assert_null(m.finalizers);
}

/* The stored object is shared with others: a change must not reach it. */
static void test_meta__changing_finalizers_leaves_the_original_alone(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, CR, "{\"metadata\":{\"finalizers\":[\"a\"]}}");
	struct object *copy = object_copy(o, &w->a);
	meta_add_finalizer(&copy->meta, &w->a, STR("b"));
	json_set(&w->a, copy->fields, STR("revision"), json_int(&w->a, 5));
	world_assert_json(w, o->meta.finalizers, "[\"a\"]");
	world_assert_json(w, json_gets(o->fields, "revision"), "0");
}

static void test_meta__knows_the_controller(void **state)
{
	struct api_world *w = *state;
	struct owner_reference owner;
	struct object *o = world_decode(w, CR,
		"{\"metadata\":{\"ownerReferences\":[{\"name\":\"x\"},{\"apiVersion\":\"apps/v1\",\"kind\":"
		"\"StatefulSet\",\"name\":\"web\",\"uid\":\"u\",\"controller\":true,\"blockOwnerDeletion\":true}]}}");
	assert_int_equal(meta_owner_count(&o->meta), 2);
	assert_true(meta_controller(&o->meta, &owner));
	assert_str(owner.name, "web");
	assert_str(owner.api_version, "apps/v1");
	assert_true(owner.blocks_deletion);
	assert_false(meta_controller(&world_decode(w, CR, "{}")->meta, &owner));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_decode__fills_meta_and_fields),
		API_TEST(test_decode__kind_and_version_may_be_left_out),
		API_TEST(test_decode__refusals_speak_kube),
		API_TEST(test_refuse_body__shows_how_it_begins),
		API_TEST(test_refuse_strict__lists_everything),
		API_TEST(test_stored__is_compact_in_the_storage_version_without_resource_version),
		API_TEST(test_stored__comes_back_as_it_was),
		API_TEST(test_stored__anything_else_is_not_believed),
		API_TEST(test_to_json__is_the_object_as_a_version_shows_it),
		API_TEST(test_version__with_another_form_converts_both_ways),
		API_TEST(test_equal__ignores_version_and_times_of_managers),
		API_TEST(test_meta__finalizers_come_and_go),
		API_TEST(test_meta__changing_finalizers_leaves_the_original_alone),
		API_TEST(test_meta__knows_the_controller),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
