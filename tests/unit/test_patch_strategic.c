#include "api/model/kind.h"
#include "tests/unit/patches.h"

/* What ControllerRevision lacks: lists keyed by a member within such lists, and a list that is replaced. */
static const struct type port_type = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.Port",
	.fields = (const struct field[]){{.name = "number", .type = &type_int64}, {.name = "name", .type = &type_string}, {0}},
};
static const struct type ports_type = {.kind = TYPE_LIST, .elem = &port_type};
static const struct type container_type = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.Container",
	.fields =
		(const struct field[]){
			{.name = "name", .type = &type_string},
			{.name = "image", .type = &type_string},
			{.name = "args", .type = &type_string_list},
			{.name = "ports", .type = &ports_type, .flags = FIELD_PATCH_MERGE, .merge_key = "number"},
			{0},
		},
};
static const struct type containers_type = {.kind = TYPE_LIST, .elem = &container_type};
static const struct type pod_type = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.Pod",
	.fields =
		(const struct field[]){
			{.name = "containers", .type = &containers_type, .flags = FIELD_PATCH_MERGE, .merge_key = "name"},
			{.name = "plain", .type = &containers_type},
			{.name = "unkeyed", .type = &containers_type, .flags = FIELD_PATCH_MERGE},
			{0},
		},
};

static const struct type *revision_type(void)
{
	const struct kind *k = kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, NULL);
	assert_non_null(k);
	return k->type;
}

static void makes(const char *doc, const char *patch, const char *expected)
{
	expect(PATCH_STRATEGIC, revision_type(), doc, patch, expected);
}

static void fails(const char *doc, const char *patch, int code, const char *message)
{
	expect_refusal(PATCH_STRATEGIC, revision_type(), doc, patch, code, message);
}

static void pod(const char *doc, const char *patch, const char *expected)
{
	expect(PATCH_STRATEGIC, &pod_type, doc, patch, expected);
}

#define META(x) "{\"metadata\":{" x "}}"

static void test_patch_strategic__sets_merge_and_new_elements_come_first(void **state _unused_)
{
	const char *doc = META("\"finalizers\":[\"x/one\",\"x/two\"]");
	makes(doc, META("\"finalizers\":[\"x/three\"]"), META("\"finalizers\":[\"x/three\",\"x/one\",\"x/two\"]"));
	makes(doc, META("\"finalizers\":[\"x/one\"]"), doc);
	makes(doc, META("\"finalizers\":[\"x/two\",\"x/one\"]"), META("\"finalizers\":[\"x/two\",\"x/one\"]"));
	makes(doc, META("\"finalizers\":[]"), doc);
	makes(doc, META("\"finalizers\":null"), META(""));
}

static void test_patch_strategic__sets_lose_elements_by_directive(void **state _unused_)
{
	const char *doc = META("\"finalizers\":[\"x/one\",\"x/two\"]");
	makes(doc, META("\"$deleteFromPrimitiveList/finalizers\":[\"x/two\"]"), META("\"finalizers\":[\"x/one\"]"));
	makes(doc, META("\"$deleteFromPrimitiveList/finalizers\":[\"x/absent\"]"), doc);
	makes(doc, META("\"$deleteFromPrimitiveList/finalizers\":\"x/two\""), doc);
	makes(doc, META("\"$deleteFromPrimitiveList/finalizers\":[\"x/one\"],\"finalizers\":[\"x/three\"]"),
		META("\"finalizers\":[\"x/three\",\"x/two\"]"));
	makes(META(""), META("\"$deleteFromPrimitiveList/finalizers\":[\"x/one\"]"), META(""));
	fails(doc, META("\"$deleteFromPrimitiveListfinalizers\":[\"x/one\"]"), 400, "invalid patch format of primitive list");
}

static void test_patch_strategic__order_by_directive(void **state _unused_)
{
	const char *doc = META("\"finalizers\":[\"x/one\",\"x/two\",\"x/three\"]");
	makes(doc, META("\"$setElementOrder/finalizers\":[\"x/three\",\"x/one\"]"),
		META("\"finalizers\":[\"x/two\",\"x/three\",\"x/one\"]"));
	makes(doc, META("\"$setElementOrder/finalizers\":[\"x/one\",\"x/four\"],\"finalizers\":[\"x/four\"]"),
		META("\"finalizers\":[\"x/one\",\"x/four\",\"x/two\",\"x/three\"]"));
	fails(doc, META("\"$setElementOrder/finalizers\":[\"x/one\"],\"finalizers\":[\"x/four\"]"), 400,
		"The order in patch list:\n[\"x/four\"]\n doesn't match $setElementOrder list:\n[\"x/one\"]\n");
	fails(doc, META("\"$setElementOrderfinalizers\":[]"), 400, "invalid patch format of setElementOrder list");
	fails(doc, META("\"$setElementOrder/finalizers\":1"), 400,
		"expected a list, but received something else: $setElementOrder/finalizers");
}

#define O1 "{\"uid\":\"1\",\"name\":\"o\",\"controller\":true}"
#define O2 "{\"uid\":\"2\",\"name\":\"p\"}"

static void test_patch_strategic__keyed_lists_merge_by_key(void **state _unused_)
{
	const char *doc = META("\"ownerReferences\":[" O1 "," O2 "]");
	makes(doc, META("\"ownerReferences\":[{\"uid\":\"2\",\"name\":\"q\"}]"),
		META("\"ownerReferences\":[" O1 ",{\"name\":\"q\",\"uid\":\"2\"}]"));
	makes(doc, META("\"ownerReferences\":[{\"uid\":\"3\"}]"), META("\"ownerReferences\":[{\"uid\":\"3\"}," O1 "," O2 "]"));
	makes(doc, META("\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"1\"}]"), META("\"ownerReferences\":[" O2 "]"));
	makes(doc, META("\"ownerReferences\":[{\"$patch\":\"replace\"},{\"uid\":\"4\"}]"),
		META("\"ownerReferences\":[{\"uid\":\"4\"}]"));
	makes(doc, META("\"ownerReferences\":[{\"uid\":\"1\",\"controller\":null}]"),
		META("\"ownerReferences\":[{\"name\":\"o\",\"uid\":\"1\"}," O2 "]"));
}

static void test_patch_strategic__the_first_of_two_with_one_key_is_merged(void **state _unused_)
{
	makes(META("\"ownerReferences\":[{\"uid\":\"1\",\"name\":\"a\"},{\"uid\":\"1\",\"name\":\"b\"}]"),
		META("\"ownerReferences\":[{\"uid\":\"1\",\"name\":\"c\"}]"),
		META("\"ownerReferences\":[{\"name\":\"c\",\"uid\":\"1\"},{\"uid\":\"1\",\"name\":\"b\"}]"));
	makes(META("\"ownerReferences\":[]"), META("\"ownerReferences\":[{\"uid\":\"1\",\"a\":1},{\"uid\":\"1\",\"b\":2}]"),
		META("\"ownerReferences\":[{\"a\":1,\"b\":2,\"uid\":\"1\"}]"));
}

static void test_patch_strategic__mistakes_in_keyed_lists(void **state _unused_)
{
	const char *doc = META("\"ownerReferences\":[" O1 "]");
	fails(doc, META("\"ownerReferences\":[{\"name\":\"x\"}]"), 400,
		"map: {\"name\":\"x\"} does not contain declared merge key: uid");
	fails(doc, META("\"ownerReferences\":[{\"$patch\":\"delete\"}]"), 400,
		"map: {\"$patch\":\"delete\"} does not contain declared merge key: uid");
	fails(doc, META("\"ownerReferences\":[{\"$patch\":\"merge\",\"uid\":\"1\"}]"), 400,
		"merging lists cannot yet be specified in the patch");
	fails(doc, META("\"ownerReferences\":[{\"$patch\":\"bogus\",\"uid\":\"1\"}]"), 400,
		"unknown patch type: bogus in map: {\"$patch\":\"bogus\",\"uid\":\"1\"}");
	fails(doc, META("\"ownerReferences\":[1]"), 400, "list element types are not identical: [[" O1 "] [1]]");
	fails(META("\"ownerReferences\":[]"), META("\"ownerReferences\":[[]]"), 422,
		"the server rejected our request due to an error in our request");
	expect_refusal(PATCH_STRATEGIC, &pod_type, "{\"unkeyed\":[{}]}", "{\"unkeyed\":[{}]}", 400,
		"cannot merge lists without merge key for struct");
}

static void test_patch_strategic__maps(void **state _unused_)
{
	const char *doc = META("\"labels\":{\"x\":\"1\",\"y\":\"2\"}");
	makes(doc, META("\"labels\":{\"x\":null,\"z\":\"3\"}"), META("\"labels\":{\"y\":\"2\",\"z\":\"3\"}"));
	makes(doc, META("\"labels\":{\"$patch\":\"replace\",\"only\":\"1\"}"), META("\"labels\":{\"only\":\"1\"}"));
	makes(doc, META("\"labels\":{\"$patch\":\"delete\"}"), META("\"labels\":{}"));
	makes(META(""), META("\"labels\":{\"l\":\"1\",\"n\":null}"), META("\"labels\":{\"l\":\"1\"}"));
	makes(META(""), META("\"labels\":{\"$patch\":\"replace\",\"l\":\"1\"}"), META(""));
	fails(doc, META("\"labels\":{\"$patch\":\"bogus\",\"m\":\"1\"}"), 400,
		"unknown patch type: bogus in map: {\"$patch\":\"bogus\",\"m\":\"1\"}");
}

static void test_patch_strategic__retained_keys(void **state _unused_)
{
	const char *doc = META("\"labels\":{\"x\":\"1\",\"y\":\"2\"}");
	makes(doc, META("\"labels\":{\"$retainKeys\":[\"y\",\"z\"],\"z\":\"3\"}"),
		META("\"labels\":{\"y\":\"2\",\"z\":\"3\"}"));
	makes(doc, META("\"labels\":{\"$retainKeys\":[\"y\"],\"z\":null}"), META("\"labels\":{\"y\":\"2\"}"));
	fails(doc, META("\"labels\":{\"$retainKeys\":[\"y\"],\"z\":\"3\"}"), 400, "invalid patch format of retainKeys");
	fails(doc, META("\"labels\":{\"$retainKeys\":\"y\"}"), 400, "invalid patch format of retainKeys");
}

static void test_patch_strategic__data_is_a_map_without_a_schema(void **state _unused_)
{
	const char *doc = "{\"data\":{\"y\":[1,2],\"x\":1,\"o\":{\"b\":1,\"a\":2}},\"revision\":1}";
	makes(doc, "{\"data\":{\"x\":2}}", "{\"data\":{\"o\":{\"a\":2,\"b\":1},\"x\":2,\"y\":[1,2]},\"revision\":1}");
	makes(doc, "{\"data\":{\"$patch\":\"replace\",\"x\":1}}", "{\"data\":{\"x\":1},\"revision\":1}");
	makes(doc, "{\"data\":null}", "{\"revision\":1}");
	fails(doc, "{\"data\":{\"y\":[1,2]}}", 400, "unable to find api field in struct RawExtension for the json field \"y\"");
	fails(doc, "{\"data\":{\"o\":{\"a\":2}}}", 400,
		"unable to find api field in struct RawExtension for the json field \"o\"");
}

static void test_patch_strategic__untouched_data_keeps_its_text(void **state _unused_)
{
	makes("{\"data\":{\"z\":1.0,\"a\":1e3,\"s\":\"\\/\"},\"metadata\":{}}", META("\"labels\":{\"l\":\"1\"}"),
		"{\"data\":{\"z\":1.0,\"a\":1e3,\"s\":\"\\/\"},\"metadata\":{\"labels\":{\"l\":\"1\"}}}");
}

static void test_patch_strategic__null_and_unknown_members(void **state _unused_)
{
	makes("{\"revision\":1}", "null", "{\"revision\":1}");
	makes("{\"revision\":1}", "{\"bogus\":1}", "{\"bogus\":1,\"revision\":1}");
	makes("{\"revision\":1}", "{\"revision\":\"x\"}", "{\"revision\":\"x\"}");
	fails("{\"bogus\":{}}", "{\"bogus\":{}}", 400,
		"unable to find api field in struct ControllerRevision for the json field \"bogus\"");
}

static void test_patch_strategic__lists_within_lists(void **state _unused_)
{
	const char *doc = "{\"containers\":[{\"name\":\"web\",\"image\":\"a:1\",\"args\":[\"-v\"],\"ports\":[{\"number\":80,"
			  "\"name\":\"http\"}]}]}";
	pod(doc, "{\"containers\":[{\"name\":\"web\",\"image\":\"a:2\"}]}",
		"{\"containers\":[{\"args\":[\"-v\"],\"image\":\"a:2\",\"name\":\"web\",\"ports\":[{\"number\":80,\"name\":"
		"\"http\"}]}]}");
	pod(doc,
		"{\"containers\":[{\"name\":\"web\",\"args\":[\"-q\"],\"ports\":[{\"number\":80.0,\"name\":\"h\"},{\"number\":"
		"443}]}]}",
		"{\"containers\":[{\"args\":[\"-q\"],\"image\":\"a:1\",\"name\":\"web\","
		"\"ports\":[{\"name\":\"h\",\"number\":80.0},{\"number\":443}]}]}");
	pod("{\"plain\":[{\"name\":\"a\"}]}", "{\"plain\":[{\"name\":\"b\",\"image\":null}]}",
		"{\"plain\":[{\"name\":\"b\",\"image\":null}]}");
}

/* What kubectl apply sends: the order of the list, and only what has changed of it. */
static void test_patch_strategic__kubectls_list_orders(void **state _unused_)
{
	pod("{\"containers\":[{\"name\":\"sidecar\"},{\"name\":\"web\",\"image\":\"a:1\"},{\"name\":\"old\"}]}",
		"{\"$setElementOrder/containers\":[{\"name\":\"new\"},{\"name\":\"web\"}],"
		"\"containers\":[{\"name\":\"new\"},{\"name\":\"web\",\"image\":\"a:2\"},{\"$patch\":\"delete\",\"name\":"
		"\"old\"}]}",
		"{\"containers\":[{\"name\":\"new\"},{\"name\":\"sidecar\"},{\"image\":\"a:2\",\"name\":\"web\"}]}");
}

static void test_patch_strategic__long_lists_merge(void **state _unused_)
{
	_cleanup_(buf_done) struct buf doc, patch;
	struct attempt t = {.type = PATCH_STRATEGIC, .schema = revision_type()};
	buf_init(&doc, 8 << 20);
	buf_init(&patch, 8 << 20);
	for (int i = 0; i < 60000; i++) {
		buf_printf(&doc, "%s\"x/%d\"", i ? "," : "{\"metadata\":{\"finalizers\":[", i);
		buf_printf(&patch, "%s\"x/%d\"", i ? "," : "{\"metadata\":{\"finalizers\":[", 90000 - i);
	}
	buf_adds(&doc, "]}}");
	buf_adds(&patch, "]}}");
	assert_int_equal(attempt_run(&t, doc.p, buf_str(&patch)), 0);
	assert_int_equal(json_gets(json_gets(t.result, "metadata"), "finalizers")->n, 90001);
}

static void test_patch_strategic__repeated_copies_end(void **state _unused_)
{
	_cleanup_(buf_done) struct buf doc, patch;
	struct attempt t = {.type = PATCH_STRATEGIC, .schema = revision_type()};
	buf_init(&doc, 8 << 20);
	buf_init(&patch, 8 << 20);
	buf_adds(&doc, "{\"metadata\":{\"ownerReferences\":[{\"uid\":\"1\"");
	for (int i = 0; i < 10000; i++) {
		buf_printf(&doc, ",\"k%d\":1", i);
		buf_printf(&patch, "%s{\"uid\":\"1\"}", i ? "," : "{\"metadata\":{\"ownerReferences\":[");
	}
	buf_adds(&doc, "}]}}");
	buf_adds(&patch, "]}}");
	assert_int_equal(attempt_run(&t, doc.p, buf_str(&patch)), 1);
	assert_int_equal(t.st.code, 413);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_patch_strategic__sets_merge_and_new_elements_come_first),
		TEST_TREE(test_patch_strategic__sets_lose_elements_by_directive),
		TEST_TREE(test_patch_strategic__order_by_directive),
		TEST_TREE(test_patch_strategic__keyed_lists_merge_by_key),
		TEST_TREE(test_patch_strategic__the_first_of_two_with_one_key_is_merged),
		TEST_TREE(test_patch_strategic__mistakes_in_keyed_lists),
		TEST_TREE(test_patch_strategic__maps),
		TEST_TREE(test_patch_strategic__retained_keys),
		TEST_TREE(test_patch_strategic__data_is_a_map_without_a_schema),
		TEST_TREE(test_patch_strategic__untouched_data_keeps_its_text),
		TEST_TREE(test_patch_strategic__null_and_unknown_members),
		TEST_TREE(test_patch_strategic__lists_within_lists),
		TEST_TREE(test_patch_strategic__kubectls_list_orders),
		TEST_TREE(test_patch_strategic__long_lists_merge),
		TEST_TREE(test_patch_strategic__repeated_copies_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
