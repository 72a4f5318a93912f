#include "api/diff/state.h"
#include "api/model/digest.h"
#include "tests/unit/tree.h"

#define SALT "\"salt\":\"MDEyMzQ1Njc4OWFiY2RlZg==\""

static struct state_rules rules_of(const char *spec)
{
	struct state_rules rules;
	assert_true(state_rules_read(&rules, parse(spec), &arena));
	return rules;
}

static struct str state(const char *object, const char *spec)
{
	if (!spec) {
		return encoded(state_of(parse(object), NULL, &arena));
	}
	struct state_rules rules = rules_of(spec);
	return encoded(state_of(parse(object), &rules, &arena));
}

static struct str digest(struct str text)
{
	char out[DIGEST_SIZE];
	digest_of(out, parse(arena_strdup(&arena, text.p)), &arena);
	return arena_dup(&arena, str_of(out));
}

static void test_state__has_no_status_and_little_metadata(void **state_ _unused_)
{
	const char *object =
		"{\"status\":{\"ready\":1},\"spec\":{\"n\":1},\"metadata\":{\"name\":\"web\",\"namespace\":"
		"\"prod\",\"uid\":\"u\","
		"\"resourceVersion\":\"7\",\"generation\":3,\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
		"\"finalizers\":[\"x\",\"foregroundDeletion\",\"orphan\"],\"generateName\":\"we\",\"managedFields\":[{\"manager\":\"m\"}],\"labels\":{\"a\":\"b\"},"
		"\"ownerReferences\":[{\"uid\":\"o\"}],\"annotations\":{\"note\":\"n\"}},\"kind\":\"Deployment\","
		"\"apiVersion\":\"apps/v1\"}";
	const char *expected =
		"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"namespace\":\"prod\","
		"\"labels\":{\"a\":\"b\"},\"annotations\":{\"note\":\"n\"},\"ownerReferences\":[{\"uid\":\"o\"}],"
		"\"finalizers\":[\"x\"],\"generateName\":\"we\"},"
		"\"spec\":{\"n\":1}}";
	assert_str(state(object, NULL), expected);
	assert_str(state(object, "{" SALT "}"), expected);
}

static void test_state__derived_annotations_and_then_empty_maps_go(void **state_ _unused_)
{
	assert_str(state("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"labels\":{},"
			 "\"annotations\":{"
			 "\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\",\"kubernetes.io/change-cause\":\"why\","
			 "\"deployment.kubernetes.io/revision\":\"3\",\"deprecated.daemonset.template.generation\":\"2\"}}}",
			   NULL),
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}}");
}

static void test_state__of_cluster_scoped_objects_has_no_namespace(void **state_ _unused_)
{
	assert_str(state("{\"apiVersion\":\"rbac.authorization.k8s.io/"
			 "v1\",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"system:a\"},"
			 "\"rules\":[]}",
			   "{}"),
		"{\"apiVersion\":\"rbac.authorization.k8s.io/"
		"v1\",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"system:a\"},\"rules\":"
		"[]}");
}

#define HOOKS                                                                                                      \
	"{\"apiVersion\":\"v1\",\"kind\":\"H\",\"metadata\":{\"name\":\"h\",\"labels\":{\"a\":\"1\"}},\"hooks\":[" \
	"{\"name\":\"x\",\"config\":{\"ca\":\"A\",\"url\":\"u\"}},{\"name\":\"y\",\"config\":{\"ca\":\"B\"}},"     \
	"{\"name\":\"z\",\"config\":{}}],\"a/b\":{\"~\":1,\"t\":2}}"

/* A map that had members, and has none any more, goes; one that was empty stays. */
static void test_ignore__reaches_into_lists_and_empties_maps(void **state_ _unused_)
{
	assert_str(state(HOOKS, "{\"ignore\":[\"/hooks/*/config/ca\",\"/a~1b/~0\",\"/metadata/labels/*\",\"/nothing/here\"]}"),
		"{\"apiVersion\":\"v1\",\"kind\":\"H\",\"metadata\":{\"name\":\"h\"},\"hooks\":[{\"name\":\"x\",\"config\":{"
		"\"url\":\"u\"}}"
		",{\"name\":\"y\"},{\"name\":\"z\",\"config\":{}}],\"a/b\":{\"t\":2}}");
}

/* Places are those of the object, not those that are left. */
static void test_ignore__an_item_by_its_place(void **state_ _unused_)
{
	assert_str(state(HOOKS, "{\"ignore\":[\"/hooks/0\",\"/hooks/1/name\",\"/a~1b\"]}"),
		"{\"apiVersion\":\"v1\",\"kind\":\"H\",\"metadata\":{\"name\":\"h\",\"labels\":{\"a\":\"1\"}},\"hooks\":[{"
		"\"config\":{"
		"\"ca\":\"B\"}},{\"name\":\"z\",\"config\":{}}]}");
}

static void test_ignore__cannot_take_an_object_s_identity(void **state_ _unused_)
{
	assert_str(state(HOOKS, "{\"ignore\":[\"/*\",\"/*/*\",\"/metadata/name\",\"/kind\"]}"),
		"{\"apiVersion\":\"v1\",\"kind\":\"H\",\"metadata\":{\"name\":\"h\"}}");
}

static void test_ignore__sixty_four_patterns(void **state_ _unused_)
{
	_cleanup_(buf_done) struct buf spec;
	buf_init(&spec, 1 << 16);
	buf_adds(&spec, "{\"ignore\":[");
	for (int i = 0; i < 63; i++) {
		buf_printf(&spec, "\"/never/%d\",", i);
	}
	buf_adds(&spec, "\"/hooks\"]}");
	assert_str(state(HOOKS, spec.p),
		"{\"apiVersion\":\"v1\",\"kind\":\"H\",\"metadata\":{\"name\":\"h\",\"labels\":{\"a\":\"1\"}},\"a/"
		"b\":{\"~\":1,\"t\":2}}");
}

static void test_rules__invalid_pointers_are_refused(void **state_ _unused_)
{
	static const char *const invalid[] = {"{\"ignore\":[\"a\"]}", "{\"redact\":[\"\"]}", "{\"ignore\":[\"/a~\"]}",
		"{\"ignore\":[\"/a~2\"]}", "{\"ignore\":[1]}", "{\"ignore\":\"/a\"}", "{\"salt\":\"?\"}"};
	struct state_rules rules;
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++) {
		assert_false(state_rules_read(&rules, parse(invalid[i]), &arena));
	}
	char longest[POINTER_PATTERN_MAX + 1];
	memset(longest, '/', sizeof(longest));
	assert_null(pointer_pattern_problem((struct str){longest, POINTER_PATTERN_MAX}));
	assert_non_null(pointer_pattern_problem((struct str){longest, POINTER_PATTERN_MAX + 1}));
}

static struct json *secret(const char *name, const char *password, const char *spec)
{
	struct state_rules rules = rules_of(spec);
	struct str text = arena_printf(&arena,
		"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"type\":"
		"\"Opaque\","
		"\"data\":{\"password\":\"%s\",\"other\":\"%s\"},\"stringData\":{\"s\":\"%s\"}}",
		name, password, password, password);
	return state_of(parse(text.p), &rules, &arena);
}

static struct str value(const struct json *state, const char *map, const char *key)
{
	return json_text(json_gets(json_gets(state, map), key));
}

static void test_secrets__show_that_they_changed_and_not_what_they_are(void **state_ _unused_)
{
	const struct json *one = secret("a", "aHVudGVyMg==", "{" SALT "}"), *same = secret("a", "aHVudGVyMg==", "{" SALT "}");
	const struct json *changed = secret("a", "aHVudGVyMw==", "{" SALT "}"),
			  *other = secret("b", "aHVudGVyMg==", "{" SALT "}");
	const struct json *salted = secret("a", "aHVudGVyMg==", "{\"salt\":\"MDEyMzQ1Njc4OWFiY2RlZQ==\"}");

	assert_false(str_contains(encoded(one), STR("aHVudGVyMg")));
	assert_true(state_is_redacted(json_gets(json_gets(one, "data"), "password")));
	assert_true(state_is_redacted(json_gets(json_gets(one, "stringData"), "s")));
	assert_str(value(one, "data", "password"), arena_strdup(&arena, value(same, "data", "password").p));
	assert_false(str_eq(value(one, "data", "password"), value(changed, "data", "password")));
	/* Nobody learns that two values are equal. */
	assert_false(str_eq(value(one, "data", "password"), value(one, "data", "other")));
	assert_false(str_eq(value(one, "data", "password"), value(other, "data", "password")));
	assert_false(str_eq(value(one, "data", "password"), value(salted, "data", "password")));
	/* The text is the same for ever: another one would be a change of every Secret. */
	assert_str(value(one, "data", "password"), "annals.dev/redacted:290226f39a45d84f661741e3e0b7480d");
	assert_str(json_text(json_gets(one, "type")), "Opaque");
}

static void test_secrets__are_recorded_where_a_recorder_says_so(void **state_ _unused_)
{
	assert_str(value(secret("a", "eA==", "{\"secretData\":\"Record\"," SALT "}"), "data", "password"), "eA==");
	assert_true(state_is_redacted(json_gets(
		json_gets(secret("a", "eA==", "{\"secretData\":\"Record\",\"redact\":[\"/data/password\"]," SALT "}"), "data"),
		"password")));
}

/* Of another group it is another kind. */
static void test_redact__names_values_of_any_kind(void **state_ _unused_)
{
	struct state_rules rules = rules_of("{\"redact\":[\"/data/p\",\"/list/*/p\",\"/data/e\"]," SALT "}");
	const struct json *j = state_of(
		parse("{\"apiVersion\":\"x/v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"},\"data\":{\"p\":{\"q\":"
		      "1},\"r\":\"shown\",\"e\":{}},\"list\":[{\"p\":1},{\"p\":\"annals.dev/redacted:\"}]}"),
		&rules, &arena);
	assert_true(state_is_redacted(json_gets(json_gets(j, "data"), "p")));
	assert_str(value(j, "data", "r"), "shown");
	assert_int_equal(json_gets(json_gets(j, "data"), "e")->kind, JSON_OBJECT);
	assert_true(state_is_redacted(json_gets(json_gets(j, "list")->items[0], "p")));
	assert_true(state_is_redacted(json_gets(json_gets(j, "list")->items[1], "p")));
}

static void test_redact__ignore_comes_first(void **state_ _unused_)
{
	assert_str(state("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"},\"data\":{\"p\":\"x\"}}",
			   "{\"ignore\":[\"/data/p\"],\"redact\":[\"/data/p\"]," SALT "}"),
		"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"}}");
}

static void test_omitted__beyond_the_limit_only_a_digest_is_kept(void **state_ _unused_)
{
	const char *object = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\","
			     "\"labels\":{\"l\":\"l\"}},"
			     "\"data\":{\"k\":\"v\"}}";
	struct str whole = state(object, NULL);
	char at_limit[64], beyond[64];
	snprintf(at_limit, sizeof(at_limit), "{\"maxObjectBytes\":%zu}", whole.n);
	snprintf(beyond, sizeof(beyond), "{\"maxObjectBytes\":%zu}", whole.n - 1);
	assert_str(state(object, at_limit), whole.p);
	assert_str(state(object, beyond),
		arena_printf(&arena,
			"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"},"
			"\"annals.dev/omitted\":{\"digest\":\"%s\",\"bytes\":%zu}}",
			digest(whole).p, whole.n)
			.p);
	struct state_rules rules = rules_of(beyond);
	assert_true(state_is_omitted(state_of(parse(object), &rules, &arena)));
	assert_false(state_is_omitted(state_of(parse(object), NULL, &arena)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_state__has_no_status_and_little_metadata),
		TEST_TREE(test_state__derived_annotations_and_then_empty_maps_go),
		TEST_TREE(test_state__of_cluster_scoped_objects_has_no_namespace),
		TEST_TREE(test_ignore__reaches_into_lists_and_empties_maps),
		TEST_TREE(test_ignore__an_item_by_its_place),
		TEST_TREE(test_ignore__cannot_take_an_object_s_identity),
		TEST_TREE(test_ignore__sixty_four_patterns),
		TEST_TREE(test_rules__invalid_pointers_are_refused),
		TEST_TREE(test_secrets__show_that_they_changed_and_not_what_they_are),
		TEST_TREE(test_secrets__are_recorded_where_a_recorder_says_so),
		TEST_TREE(test_redact__names_values_of_any_kind),
		TEST_TREE(test_redact__ignore_comes_first),
		TEST_TREE(test_omitted__beyond_the_limit_only_a_digest_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
