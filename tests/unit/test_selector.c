#include "api/rules/selector.h"
#include "tests/unit/tree.h"

static const struct label web[] = {
	{{"app", 3}, {"web", 3}}, {{"empty", 5}, {"", 0}}, {{"example.com/k", 13}, {"v", 1}}, {{"n", 1}, {"5", 1}}};

static bool matches(const char *text, const struct label *labels, size_t n)
{
	struct label_selector s;
	struct status st;
	status_init(&st, &arena);
	if (label_selector_parse(&s, str_of(text), &arena, &st)) {
		fail_msg("%s: %s", text, st.message.p);
	}
	return label_selector_matches(&s, labels, n);
}

static void refuses(const char *text, const char *message)
{
	struct label_selector s;
	struct status st;
	status_init(&st, &arena);
	assert_int_equal(label_selector_parse(&s, str_of(text), &arena, &st), 1);
	assert_int_equal(st.code, 400);
	assert_string_equal(st.reason, REASON_BAD_REQUEST);
	assert_false(st.has_details);
	assert_str(st.message, message);
}

static void is_written(const char *text, const char *expected)
{
	struct label_selector s;
	struct status st;
	status_init(&st, &arena);
	assert_int_equal(label_selector_parse(&s, str_of(text), &arena, &st), 0);
	assert_str(label_selector_string(&s, &arena), expected);
}

#define assert_matches(text) assert_true(matches(text, web, ARRAY_SIZE(web)))
#define assert_no_match(text) assert_false(matches(text, web, ARRAY_SIZE(web)))

static void test_selector__empty_matches_all(void **state _unused_)
{
	assert_matches("");
	assert_matches("  ");
	assert_true(matches("", NULL, 0));
}

static void test_selector__equality(void **state _unused_)
{
	assert_matches("app=web");
	assert_matches("app==web");
	assert_matches("app = web , n == 5");
	assert_no_match("app=db");
	assert_no_match("app=web,n=6");
	assert_no_match("absent=web");
	assert_matches("empty=");
	assert_matches("empty=,app");
	assert_no_match("app=");
	assert_no_match("absent=");
}

static void test_selector__inequality_holds_for_absent_labels(void **state _unused_)
{
	assert_no_match("app!=web");
	assert_matches("app!=db");
	assert_matches("absent!=web");
	assert_matches("absent notin (web,db)");
	assert_no_match("app notin (web,db)");
}

static void test_selector__sets(void **state _unused_)
{
	assert_matches("app in (web,db)");
	assert_matches("app in ( db , web )");
	assert_matches("app in (a,b,c,d,e,web,z)");
	assert_no_match("app in (db)");
	assert_no_match("absent in (web)");
	assert_matches("empty in ()");
	assert_matches("empty in (,)");
	assert_matches("empty in (x,)");
	assert_matches("empty in (,x)");
	assert_matches("empty in (x,,y)");
	assert_no_match("app in ()");
}

static void test_selector__existence(void **state _unused_)
{
	assert_matches("app");
	assert_matches("!absent");
	assert_matches("! absent");
	assert_no_match("!app");
	assert_no_match("absent");
	assert_matches("example.com/k,!example.com/l");
}

static void test_selector__numbers(void **state _unused_)
{
	assert_matches("n>4");
	assert_matches("n<6");
	assert_no_match("n>5");
	assert_no_match("n<5");
	assert_no_match("app>1");
	assert_no_match("absent<1");
}

static void test_selector__operators_may_be_names(void **state _unused_)
{
	const struct label labels[] = {{{"in", 2}, {"notin", 5}}};
	assert_true(matches("in=notin", labels, 1));
	assert_true(matches("in in (in,notin)", labels, 1));
	assert_true(matches("!notin", labels, 1));
}

static void test_selector__mistakes_are_named_as_kube_names_them(void **state _unused_)
{
	refuses("app=a=b", "found '=', expected: ',' or 'end of string'");
	refuses("app in web", "unable to parse requirement: found 'web' expected: '('");
	refuses("app in (web", "unable to parse requirement: found '', expected: ',' or ')'");
	refuses("app in (web db)", "unable to parse requirement: found 'db', expected: ',' or ')'");
	refuses("app in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier");
	refuses("app in (a,=)", "unable to parse requirement: found '=', expected: ',', or identifier");
	refuses("=web", "found '=', expected: !, identifier, or 'end of string'");
	refuses("app!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt");
	refuses("!app=web", "found '=', expected: ',' or 'end of string'");
	refuses("!", "unable to parse requirement: found '', expected: identifier");
	refuses("app=)", "unable to parse requirement: found ')', expected: identifier");
	refuses("app,", "found '', expected: identifier after ','");
	refuses("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
	refuses("app=web db", "found 'db', expected: ',' or 'end of string'");
}

static void test_selector__keys_and_values_are_checked(void **state _unused_)
{
	refuses("v>x",
		"unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an "
		"integer");
	refuses("Bad..Prefix/k=v",
		"unable to parse requirement: <nil>: Invalid value: \"Bad..Prefix/k\": prefix part a lowercase RFC 1123 "
		"subdomain must "
		"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
		"character "
		"(e.g. 'example.com', regex used for validation is "
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
	refuses("a in (-,b)",
		"unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid label must be an empty string or "
		"consist of "
		"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
		"'MyValue',  or "
		"'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
	refuses("n>.",
		"unable to parse requirement: [values[0]: Invalid value: \".\": for 'Gt', 'Lt' operators, the value must be an "
		"integer, "
		"values[0][n]: Invalid value: \".\": a valid label must be an empty string or consist of "
		"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
		"'MyValue',  or "
		"'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]");
}

static void test_selector__has_one_text(void **state _unused_)
{
	is_written("", "");
	is_written("z , a == 1,!m , k!=v", "a=1,k!=v,!m,z");
	is_written("b in (y, x ,x),a notin (q,)", "a notin (,q),b in (x,y)");
	is_written("a in (x),n>5,o<6", "a=x,n>5,o<6");
}

static void test_selector__nul_ends_or_is_swallowed(void **state _unused_)
{
	struct label_selector s;
	struct status st;
	status_init(&st, &arena);
	assert_int_equal(label_selector_parse(&s, STR("app\0=web"), &arena, &st), 0);
	assert_str(label_selector_string(&s, &arena), "app=web");
	assert_int_equal(label_selector_parse(&s, STR("app \0=web"), &arena, &st), 0);
	assert_str(label_selector_string(&s, &arena), "app");
}

/* Fields. */

enum { OWN, UPSTREAM };
static const struct version versions[] = {[OWN] = {.group = "annals.dev"}, [UPSTREAM] = {.group = "apps"}};
static const struct selectable_field selectable[] = {
	{.path = "revision", .annals_only = true}, {.path = "controller.uid", .annals_only = true}};
static const struct kind revision = {.is_namespaced = true,
	.versions = versions,
	.n_versions = 2,
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable)};
static const struct version core[] = {{.group = ""}};
static const struct selectable_field phase[] = {{.path = "status.phase"}};
static const struct kind ns = {.versions = core, .n_versions = 1, .selectable = phase, .n_selectable = 1};

static bool field_matches(const struct kind *kind, const struct version *version, const char *text, const struct str *values)
{
	struct field_selector s;
	struct status st;
	status_init(&st, &arena);
	if (field_selector_parse(&s, str_of(text), kind, version, &arena, &st)) {
		fail_msg("%s: %s", text, st.message.p);
	}
	return field_selector_matches(&s, STR("a"), STR("default"), &(struct field_values){.values = values});
}

static void field_refuses(const struct kind *kind, const struct version *version, const char *text, const char *message)
{
	struct field_selector s;
	struct status st;
	status_init(&st, &arena);
	assert_int_equal(field_selector_parse(&s, str_of(text), kind, version, &arena, &st), 1);
	assert_int_equal(st.code, 400);
	assert_str(st.message, message);
}

static void test_selector__of_objects_means_what_its_text_means(void **state _unused_)
{
	static const struct {
		const char *object, *text; /* text: or what is wrong */
		bool is_wrong;
	} cases[] = {
		{"{}", "", false},
		{"{\"matchLabels\":{\"b\":\"2\",\"a\":\"\"}}", "a=,b=2", false},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"y\",\"x\",\"y\"]}]}", "a in (x,y)",
			false},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"x\",\"y\"]}]}", "a notin (x,y)",
			false},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"},{\"key\":\"b\",\"operator\":\"DoesNotExist\"}]"
		 "}",
			"a,!b", false},
		{"{\"matchLabels\":{\"z\":\"1\"},\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}", "a,z=1",
			false},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"in\"}]}",
			"\"in\" is not a valid label selector operator", true},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}",
			"for 'in', 'notin' operators, values set can't be empty", true},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"x\"]}]}",
			"values set must be empty for exists and does not exist", true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct label_selector s;
		struct json *object;
		struct str problem;
		size_t at;
		assert_int_equal(json_parse(&object, &arena, str_of(cases[i].object), JSON_LIMITS_DEFAULT, &at), 0);
		assert_int_equal(label_selector_read(&s, object, &arena, &problem), cases[i].is_wrong);
		assert_str(cases[i].is_wrong ? problem : label_selector_string(&s, &arena), cases[i].text);
	}
}

static void test_field_selector__name_and_namespace(void **state _unused_)
{
	assert_true(field_matches(&revision, &versions[UPSTREAM], "", NULL));
	assert_true(field_matches(&revision, &versions[UPSTREAM], "metadata.name=a", NULL));
	assert_true(field_matches(&revision, &versions[UPSTREAM], "metadata.name==a,metadata.namespace=default", NULL));
	assert_true(field_matches(&revision, &versions[UPSTREAM], ",metadata.name!=b,", NULL));
	assert_false(field_matches(&revision, &versions[UPSTREAM], "metadata.name!=a", NULL));
	assert_false(field_matches(&revision, &versions[UPSTREAM], "metadata.name=a,metadata.namespace=other", NULL));
	assert_false(field_matches(&revision, &versions[UPSTREAM], "metadata.name=a,metadata.name=b", NULL));
}

static void test_field_selector__fields_of_the_kind(void **state _unused_)
{
	const struct str values[] = {STR("7"), STR("")};
	assert_true(field_matches(&revision, &versions[OWN], "revision=7,controller.uid=", values));
	assert_false(field_matches(&revision, &versions[OWN], "revision=8", values));
	assert_true(field_matches(&revision, &versions[OWN], "controller.uid!=x,metadata.namespace=default", values));
	field_refuses(&revision, &versions[OWN], "revisions=7", "field label not supported: revisions");
	field_refuses(&revision, &versions[UPSTREAM], "revision=1",
		"\"revision\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
}

static void test_field_selector__namespaces_have_no_namespace(void **state _unused_)
{
	assert_true(field_matches(&ns, core, "status.phase=Active,metadata.name=a", (const struct str[]){STR("Active")}));
	field_refuses(&ns, core, "metadata.namespace=x", "field label not supported: metadata.namespace");
	field_refuses(&ns, core, "spec.finalizers=x", "field label not supported: spec.finalizers");
}

static void test_field_selector__escapes(void **state _unused_)
{
	const struct str values[] = {STR("a,b=c\\"), STR("")};
	assert_true(field_matches(&revision, &versions[OWN], "revision=a\\,b\\=c\\\\", values));
	field_refuses(&revision, &versions[OWN], "revision=a=b", "invalid field selector: unescaped character in value: 61");
	field_refuses(&revision, &versions[OWN], "revision=\\n", "invalid field selector: invalid escape sequence: \\n");
	field_refuses(&revision, &versions[OWN], "revision=\\é", "invalid field selector: invalid escape sequence: \\é");
	field_refuses(&revision, &versions[OWN], "revision=\\", "invalid field selector: invalid escape sequence: \\");
}

static void test_field_selector__mistakes(void **state _unused_)
{
	field_refuses(&revision, &versions[UPSTREAM], "metadata.name",
		"invalid selector: 'metadata.name'; can't understand 'metadata.name'");
	field_refuses(&revision, &versions[UPSTREAM], "z=1,metadata.name in (a)",
		"invalid selector: 'z=1,metadata.name in (a)'; can't understand 'metadata.name in (a)'");
	field_refuses(&revision, &versions[UPSTREAM], "=a",
		"\"\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
	assert_true(field_matches(&revision, &versions[UPSTREAM], "=,!=", NULL));
}

static void test_field_selector__tells_what_it_requires(void **state _unused_)
{
	struct field_selector s;
	struct status st;
	struct str name;
	status_init(&st, &arena);
	assert_int_equal(
		field_selector_parse(&s, STR("metadata.namespace!=x,metadata.name=a"), &revision, &versions[OWN], &arena, &st),
		0);
	assert_true(field_selector_requires(&s, FIELD_TERM_NAME, &name));
	assert_str(name, "a");
	assert_false(field_selector_requires(&s, FIELD_TERM_NAMESPACE, &name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_selector__empty_matches_all),
		TEST_TREE(test_selector__equality),
		TEST_TREE(test_selector__inequality_holds_for_absent_labels),
		TEST_TREE(test_selector__sets),
		TEST_TREE(test_selector__existence),
		TEST_TREE(test_selector__numbers),
		TEST_TREE(test_selector__operators_may_be_names),
		TEST_TREE(test_selector__mistakes_are_named_as_kube_names_them),
		TEST_TREE(test_selector__keys_and_values_are_checked),
		TEST_TREE(test_selector__has_one_text),
		TEST_TREE(test_selector__nul_ends_or_is_swallowed),
		TEST_TREE(test_selector__of_objects_means_what_its_text_means),
		TEST_TREE(test_field_selector__name_and_namespace),
		TEST_TREE(test_field_selector__fields_of_the_kind),
		TEST_TREE(test_field_selector__namespaces_have_no_namespace),
		TEST_TREE(test_field_selector__escapes),
		TEST_TREE(test_field_selector__mistakes),
		TEST_TREE(test_field_selector__tells_what_it_requires),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
