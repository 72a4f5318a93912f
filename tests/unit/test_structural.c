/* Compiled schemas: their life and ceilings, and the passes that a request and a stored object go through. The single rules are
 * compared with Kubernetes' code in test_schema_vectors.c. */
#include "api/model/kind.h"
#include "api/schema/crd.h"
#include "api/schema/pattern.h"
#include "tests/unit/tree.h"

static struct schema *compile(const char *text)
{
	struct schema *s = NULL;
	struct str error = {0};
	if (schema_compile(&s, text ? parse(text) : NULL, &arena, &error)) {
		fail_msg("%s", arena_dup(&arena, error).p);
	}
	return s;
}

static void refuses(const struct json *openapi, int code, const char *message)
{
	struct schema *s = NULL;
	struct str error = {0};
	assert_int_equal(schema_compile(&s, openapi, &arena, &error), code);
	assert_null(s);
	assert_str(error, message);
}

static struct str accepted(const char *schema, const char *object, struct decode_report *report)
{
	struct schema *s = compile(schema);
	struct json *made = NULL;
	struct str error = {0};
	int r = schema_accept(&made, s, parse(object), &arena, report, &error);
	struct str shown = r ? error : encoded(schema_normal(schema_default(s, made, &arena), &arena));
	schema_unref(s);
	return shown;
}

static const char widget[] =
	"{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{"
	"\"n\":{\"type\":\"integer\",\"default\":3},\"s\":{\"type\":\"string\",\"pattern\":\"^a+$\"},\"null\":{\"type\":\"string\",\"nullable\":true},"
	"\"e\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,\"x-kubernetes-preserve-unknown-fields\":true}}}}}";

static void test_accept__prunes_and_defaults(void **state _unused_)
{
	struct decode_report report = {0};
	assert_str(
		accepted(widget,
			"{\"spec\":{\"x\":1,\"s\":null,\"null\":null,\"b\":{}},\"kind\":\"W\",\"apiVersion\":\"g/v1\",\"y\":[],"
			"\"metadata\":{\"name\":\"a\",\"other\":1}}",
			&report),
		"{\"apiVersion\":\"g/v1\",\"kind\":\"W\",\"metadata\":{\"name\":\"a\",\"other\":1},\"spec\":{\"n\":3,\"null\":null}}");
	assert_int_equal(report.n_strict, 3);
	assert_str(report.strict[0], "unknown field \"spec.b\"");
	assert_str(report.strict[1], "unknown field \"spec.x\"");
	assert_str(report.strict[2], "unknown field \"y\"");
}

static void test_accept__parents_are_not_made(void **state _unused_)
{
	assert_str(accepted(widget, "{\"kind\":\"W\"}", NULL), "{\"kind\":\"W\"}");
	assert_str(accepted(widget, "{\"spec\":null}", NULL), "{}");
	assert_str(accepted(NULL, "{\"kind\":\"W\",\"spec\":{}}", NULL), "{\"kind\":\"W\"}");
}

static void test_accept__malformed_metadata(void **state _unused_)
{
	static const char object[] =
		"{\"spec\":{\"e\":{\"kind\":5,\"apiVersion\":\"v1\",\"metadata\":{\"name\":1,\"labels\":{\"a\":\"b\"}}}}}";
	struct schema *s = compile(widget);
	assert_str(accepted(widget, object, NULL), "spec.e.kind: Invalid value: 5: must be a string");
	assert_str(encoded(schema_restore(s, parse(object), &arena)),
		"{\"spec\":{\"e\":{\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{\"a\":\"b\"}}}}}");
	schema_unref(s);
}

static void test_normal__as_go_writes_maps(void **state _unused_)
{
	assert_str(encoded(schema_normal(parse("{\"b\":1.0,\"a\":1e3,\"b\":[0.10,-0,1e21,1e-7,9007199254740993]}"), &arena)),
		"{\"a\":1000,\"b\":[0.1,0,1e+21,1e-7,9007199254740993]}");
	struct json *same = parse("{\"a\":{\"b\":[1,2.5]},\"c\":\"x\"}");
	assert_ptr_equal(schema_normal(same, &arena), same);
}

static void test_validate__ratchets(void **state _unused_)
{
	struct schema *s = compile(widget);
	struct field_errors errors;
	const struct json *bad = parse("{\"spec\":{\"s\":\"b\",\"n\":1}}"),
			  *worse = parse("{\"spec\":{\"s\":\"b\",\"n\":\"1\"}}");
	field_errors_init(&errors, &arena);
	schema_validate(s, NULL, bad, &errors);
	assert_int_equal(errors.n, 1);
	assert_str(field_error_text(&errors.v[0], &arena), "spec.s: Invalid value: \"b\": spec.s in body should match '^a+$'");
	field_errors_init(&errors, &arena);
	schema_validate_update(s, NULL, bad, bad, &errors);
	assert_int_equal(errors.n, 0);
	schema_validate_update(s, NULL, worse, bad, &errors);
	assert_int_equal(errors.n, 1);
	assert_str(errors.v[0].path, "spec.n");
	schema_unref(s);
}

static void test_validate__scale(void **state _unused_)
{
	struct schema *s = compile("{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}");
	const struct schema_scale scale = {STR(".spec.replicas"), STR(".status.replicas"), STR(".status.selector")};
	struct field_errors errors;
	field_errors_init(&errors, &arena);
	schema_validate(
		s, &scale, parse("{\"spec\":{\"replicas\":-1},\"status\":{\"replicas\":\"x\",\"selector\":[1]}}"), &errors);
	assert_int_equal(errors.n, 3);
	assert_str(
		field_error_text(&errors.v[0], &arena), ".spec.replicas: Invalid value: -1: should be a non-negative integer");
	assert_str(field_error_text(&errors.v[1], &arena),
		".status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64");
	assert_str(field_error_text(&errors.v[2], &arena),
		".status.selector: Invalid value: \"\": .status.selector accessor error: [1] is of the type []interface {}, expected string");
	schema_unref(s);
}

static void test_validate__ceilings_of_nothing(void **state _unused_)
{
	struct schema *s = compile("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"maxLength\":0},"
				   "\"b\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":-1}}}");
	struct field_errors errors;
	field_errors_init(&errors, &arena);
	schema_validate(s, NULL, parse("{\"a\":\"x\",\"b\":[]}"), &errors);
	assert_int_equal(errors.n, 2);
	assert_str(field_error_text(&errors.v[0], &arena), "a: Too long: may not be more than 0 bytes");
	assert_str(field_error_text(&errors.v[1], &arena), "b: Too many: 0: has too many items");
	schema_unref(s);
}

static struct json *deep(unsigned depth)
{
	struct json *schema = parse("{\"type\":\"string\"}");
	for (unsigned i = 0; i < depth; i++) {
		struct json *around = json_object(&arena), *properties = json_object(&arena);
		json_add(&arena, properties, STR("a"), schema);
		json_add(&arena, around, STR("type"), json_string(&arena, STR("object")));
		json_add(&arena, around, STR("properties"), properties);
		schema = around;
	}
	return schema;
}

static void test_compile__ceilings(void **state _unused_)
{
	struct json *wide = parse("{\"type\":\"object\"}"), *properties = json_object(&arena);
	struct schema *s = NULL;
	struct str error = {0};
	refuses(deep(1000), SCHEMA_TOO_BIG, "the schema is nested too deeply");
	refuses(parse("{\"type\":\"object\",\"definitions\":{\"a\":{}}}"), SCHEMA_UNSUPPORTED,
		"OpenAPIV3Schema 'definitions' is not supported");
	for (unsigned i = 0; i < 10000; i++) {
		json_add(&arena, properties, arena_printf(&arena, "p%u", i),
			parse("{\"type\":\"string\",\"description\":\"of some use\"}"));
	}
	wide = json_copy(&arena, wide);
	json_set(&arena, wide, STR("properties"), properties);
	assert_int_equal(schema_compile(&s, wide, &arena, &error), 0);
	assert_true(schema_memory(s) <= 3 * encoded(wide).n);
	schema_unref(s);
}

static void test_compile__counted(void **state _unused_)
{
	struct schema *s = compile(widget);
	assert_ptr_equal(schema_ref(s), s);
	assert_null(schema_unref(s));
	assert_false(schema_has_rules(s));
	schema_unref(s);
	s = compile(
		"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"x-kubernetes-validations\":[{\"rule\":\"true\"}]}}}");
	assert_true(schema_has_rules(s));
	schema_unref(s);
}

static void test_regexp__go_words(void **state _unused_)
{
	char error[REGEXP_ERROR_SIZE];
	assert_null(regexp_new("a(b", 3, error));
	assert_string_equal(error, "error parsing regexp: missing closing ): `a(b`");
	assert_null(regexp_new("[a", 2, error));
	assert_string_equal(error, "error parsing regexp: missing closing ]: `[a`");
	assert_null(regexp_new("a**", 3, error));
	assert_string_equal(error, "error parsing regexp: invalid nested repetition operator: `**`");
	assert_null(regexp_new("(\\pL{1000}){1000}", 17, error));
	struct regexp *r = regexp_new("^(a|b)+$", 8, error);
	assert_true(regexp_matches(r, "abba", 4));
	assert_false(regexp_matches(r, "abc", 3));
	assert_null(regexp_free(r));
}

/* One request could keep a thread for minutes: each of 2,000 such patterns takes tens of milliseconds
 * to compile, and each item of a list compiled its pattern anew. */
static void test_patterns__have_a_ceiling(void **state _unused_)
{
	struct patterns p = {0};
	struct arena a;
	uint64_t steps = 0;
	size_t n_refused = 0;
	arena_init(&a, 1 << 20);
	struct pattern *usual = patterns_add(&p, &a, STR("^[a-z]+$"));
	assert_null(pattern_error(usual));
	size_t memory = patterns_memory(&p);
	assert_true(memory > 0);
	assert_ptr_equal(patterns_add(&p, &a, STR("^[a-z]+$")), usual);
	assert_true(pattern_matches(usual, STR("abc"), &steps));
	assert_true(steps > 0);
	assert_int_equal(patterns_memory(&p), memory);
	for (int i = 0; i < 100; i++) {
		n_refused += pattern_error(patterns_add(&p, &a, arena_printf(&a, "^[\\pL\\pN]{2%02d}$", i))) != NULL;
		assert_true(patterns_memory(&p) <= PATTERNS_MEMORY_MAX + REGEXP_MEMORY_MAX);
	}
	assert_true(n_refused >= 90);
	struct pattern *beyond = patterns_add(&p, &a, STR("b"));
	assert_string_equal(pattern_error(beyond), "error parsing regexp: expression too large");
	assert_false(pattern_matches(beyond, STR("b"), &steps));
	for (int i = 0; i < 2 * PATTERNS_MAX; i++) {
		patterns_add(&p, &a, arena_printf(&a, "x%d", i));
	}
	assert_int_equal(p.n, PATTERNS_MAX);
	assert_non_null(pattern_error(patterns_add(&p, &a, STR("one more"))));
	assert_true(pattern_matches(usual, STR("abc"), &steps)); /* those before still work */
	patterns_done(&p);

	/* A definition is judged in one order, and its values are validated in another: both must find the same. */
	static const char large[] = "^[\\pL\\pN]{40}$";
	struct patterns large_last = {0};
	for (int i = 0; patterns_memory(&large_last) < PATTERNS_MEMORY_MAX - REGEXP_MEMORY_MAX / 2; i++) {
		assert_null(pattern_error(patterns_add(&large_last, &a, arena_printf(&a, "x%d", i))));
	}
	assert_non_null(pattern_error(patterns_add(&large_last, &a, STR(large))));
	patterns_done(&large_last);
	assert_null(pattern_error(patterns_add(&p, &a, STR(large)))); /* alone it fits */
	patterns_done(&p);
	arena_done(&a);
}

static const char definition[] =
	"{\"metadata\":{\"name\":\"widgets.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\","
	"\"kind\":\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
	"\"properties\":{\"spec\":{\"type\":\"object\",\"x-kubernetes-validations\":[{\"rule\":\"true\"}],\"properties\":{\"a\":{\"type\":\"string\","
	"\"format\":\"colour\"}}}}}}}]}}";

static struct object *crd(void)
{
	static const struct kind kind = {.kind = "CustomResourceDefinition"};
	return object_from_hub(&kind, parse(definition), &arena);
}

static void test_crd__defaults_and_warnings(void **state _unused_)
{
	struct object *o = crd();
	struct str warnings[CRD_WARNINGS_MAX];
	struct field_errors errors;
	crd_set_defaults(o, &arena);
	crd_prepare_create(o, &arena);
	field_errors_init(&errors, &arena);
	crd_validate(o, &errors);
	assert_int_equal(errors.n, 0);
	assert_str(encoded(json_gets(json_gets(o->fields, "spec"), "names")),
		"{\"plural\":\"widgets\",\"kind\":\"Widget\",\"singular\":\"widget\",\"listKind\":\"WidgetList\"}");
	assert_str(encoded(json_gets(o->fields, "status")), "{\"storedVersions\":[\"v1\"]}");
	assert_int_equal(crd_warn(o, NULL, &arena, warnings), 2);
	assert_str(warnings[0], "unrecognized format \"colour\"");
	assert_str(warnings[1], "x-kubernetes-validations are not evaluated by this server");
	assert_int_equal(crd_warn(o, o, &arena, warnings), 1);
}

static void test_crd__conditions(void **state _unused_)
{
	struct object *o = crd();
	struct str reason;
	assert_int_equal(crd_approval(o, &arena, &reason), CRD_APPROVAL_NOT_NEEDED);
	assert_str(crd_nonstructural(o, &arena), "");
	struct json *schema = json_copy(&arena, parse("{\"type\":\"object\",\"properties\":{\"a\":{}}}"));
	const struct json *version = json_gets(json_gets(o->fields, "spec"), "versions")->items[0];
	struct json *versions = json_array(&arena), *changed = json_copy(&arena, version), *validation = json_object(&arena);
	struct json *spec = json_copy(&arena, json_gets(o->fields, "spec"));
	json_set(&arena, validation, STR("openAPIV3Schema"), schema);
	json_set(&arena, changed, STR("schema"), validation);
	json_append(&arena, versions, changed);
	json_set(&arena, spec, STR("versions"), versions);
	json_set(&arena, o->fields, STR("spec"), spec);
	assert_str(crd_nonstructural(o, &arena),
		"spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_accept__prunes_and_defaults),
		TEST_TREE(test_accept__parents_are_not_made),
		TEST_TREE(test_accept__malformed_metadata),
		TEST_TREE(test_normal__as_go_writes_maps),
		TEST_TREE(test_validate__ratchets),
		TEST_TREE(test_validate__scale),
		TEST_TREE(test_validate__ceilings_of_nothing),
		TEST_TREE(test_compile__ceilings),
		TEST_TREE(test_compile__counted),
		TEST_TREE(test_regexp__go_words),
		TEST_TREE(test_patterns__have_a_ceiling),
		TEST_TREE(test_crd__defaults_and_warnings),
		TEST_TREE(test_crd__conditions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
