#include "delegation/webhook.h"
#include "tests/unit/api_world.h"

/* Through which version the write of `q` would be shown under these rules; NULL: not at all. */
struct row {
	const char *rules;
	bool is_equivalent;
	const char *version, *operation, *ns, *subresource;
	const char *expected; /* the name of a version; NULL: none */
};

#define RULE(operations, groups, versions, resources)                                             \
	"[{\"operations\":[" operations "],\"apiGroups\":[" groups "],\"apiVersions\":[" versions \
	"],\"resources\":[" resources "]}]"
#define SCOPED(scope)                                                                                                          \
	"[{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],\"resources\":[\"*\"],\"scope\":\"" scope "\"" \
															  "}]"
#define V1 "annals.dev/v1/controllerrevisions"
#define V1BETA1 "annals.dev/v1beta1/controllerrevisions"

static const struct row rows[] = {
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"*\""), false, V1, "CREATE", "a", "", "v1"},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"*/*\""), false, V1, "CREATE", "a", "", "v1"},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"*/*\""), false, V1, "CREATE", "a", "status", "v1"},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"*\""), false, V1, "CREATE", "a", "status", NULL},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"*/status\""), false, V1, "UPDATE", "a", "status", "v1"},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"*/scale\""), false, V1, "UPDATE", "a", "status", NULL},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"*/scale\""), false, V1, "UPDATE", "a", "", NULL},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"controllerrevisions/*\""), false, V1, "UPDATE", "a", "", "v1"},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"controllerrevisions/*\""), false, V1, "UPDATE", "a", "status", "v1"},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"controllerrevisions/status\""), false, V1, "UPDATE", "a", "", NULL},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"pods\",\"controllerrevisions\""), false, V1, "UPDATE", "a", "", "v1"},
	{RULE("\"*\"", "\"*\"", "\"*\"", "\"ControllerRevisions\""), false, V1, "UPDATE", "a", "", NULL},
	{RULE("\"*\"", "\"*\"", "\"*\"", ""), false, V1, "UPDATE", "a", "", NULL},
	{RULE("\"CREATE\"", "\"*\"", "\"*\"", "\"*\""), false, V1, "CREATE", "a", "", "v1"},
	{RULE("\"CREATE\"", "\"*\"", "\"*\"", "\"*\""), false, V1, "UPDATE", "a", "", NULL},
	{RULE("\"DELETE\",\"UPDATE\"", "\"*\"", "\"*\"", "\"*\""), false, V1, "UPDATE", "a", "", "v1"},
	{RULE("\"*\"", "\"annals.dev\"", "\"v1\"", "\"*\""), false, V1, "UPDATE", "a", "", "v1"},
	{RULE("\"*\"", "\"apps\"", "\"v1\"", "\"*\""), false, V1, "UPDATE", "a", "", NULL},
	{RULE("\"*\"", "\"\"", "\"v1\"", "\"*\""), false, V1, "UPDATE", "a", "", NULL},
	{RULE("\"*\"", "\"annals.dev\"", "\"v1beta1\"", "\"*\""), false, V1, "UPDATE", "a", "", NULL},
	/* The same object by another way: as it asks for, but not through a version that is closed behind a kube-apiserver. */
	{RULE("\"*\"", "\"annals.dev\"", "\"v1beta1\"", "\"*\""), true, V1, "UPDATE", "a", "", "v1beta1"},
	{RULE("\"*\"", "\"annals.dev\"", "\"v1\"", "\"*\""), true, V1BETA1, "UPDATE", "a", "", "v1"},
	{RULE("\"*\"", "\"annals.dev\"", "\"v1\",\"v1beta1\"", "\"*\""), true, V1BETA1, "UPDATE", "a", "", "v1beta1"},
	{RULE("\"*\"", "\"apps\"", "\"v1\"", "\"*\""), true, V1, "UPDATE", "a", "", NULL},
	{RULE("\"CREATE\"", "\"annals.dev\"", "\"v1beta1\"", "\"*\""), true, V1, "UPDATE", "a", "", NULL},
	{SCOPED("*"), false, V1, "CREATE", "a", "", "v1"},
	{SCOPED("*"), false, V1, "CREATE", "", "", "v1"},
	{SCOPED("Namespaced"), false, V1, "CREATE", "a", "", "v1"},
	{SCOPED("Namespaced"), false, V1, "CREATE", "", "", NULL},
	{SCOPED("Cluster"), false, V1, "CREATE", "a", "", NULL},
	{SCOPED("Cluster"), false, V1, "CREATE", "", "", "v1"},
	{SCOPED("Elsewhere"), false, V1, "CREATE", "a", "", NULL},
	{"[]", true, V1, "CREATE", "a", "", NULL},
};

static struct webhook webhook_of(struct api_world *w, const char *rules, bool is_equivalent)
{
	const struct json *list = world_parse(w, rules);
	struct webhook h = {.n_rules = list->n,
		.rules = arena_array(&w->a, struct webhook_rule, list->n + 1),
		.is_equivalent = is_equivalent};
	for (uint32_t i = 0; i < list->n; i++) {
		webhook_rule_read(&h.rules[i], list->items[i], &w->a);
	}
	return h;
}

static struct webhook_question question_of(const char *version, const char *operation, const char *ns, const char *subresource)
{
	struct webhook_question q = {.operation = operation, .ns = str_of(ns), .subresource = str_of(subresource)};
	q.kind = world_version(version, &q.version);
	return q;
}

static void test_webhook_rules__say_what_is_shown(void **state)
{
	struct api_world *w = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct webhook h = webhook_of(w, row->rules, row->is_equivalent);
		struct webhook_question q = question_of(row->version, row->operation, row->ns, row->subresource);
		const struct version *version = webhook_version(&h, &q);
		const char *got = version ? version->name : NULL;
		if (!got != !row->expected || (got && strcmp(got, row->expected) != 0)) {
			fail_msg("%zu: %s of %s under %s: %s", i, row->operation, row->version, row->rules, got ? got : "none");
		}
	}
}

static void test_webhook_rules__earlier_ones_choose_the_version(void **state)
{
	struct api_world *w = *state;
	struct webhook h = webhook_of(w,
		"[{\"operations\":[\"DELETE\"],\"apiGroups\":[\"*\"],\"apiVersions\":[\"v1\"],\"resources\":[\"*\"]},"
		"{\"operations\":[\"CREATE\"],\"apiGroups\":[\"*\"],\"apiVersions\":[\"v1\"],\"resources\":[\"*\"]}]",
		true);
	struct webhook_question q = question_of(V1BETA1, "CREATE", "a", "");
	assert_string_equal(webhook_version(&h, &q)->name, "v1");
}

static void test_webhook_rules__that_could_never_mean_us_are_known(void **state)
{
	static const struct {
		const char *rule;
		bool concerns_us;
	} cases[] = {
		{"{\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],\"resources\":[\"*\"]}", true},
		{"{\"apiGroups\":[\"*\"],\"apiVersions\":[\"v1\"],\"resources\":[\"*/*\"]}", true},
		{"{\"apiGroups\":[\"annals.dev\"],\"apiVersions\":[\"v1beta1\"],\"resources\":[\"controllerrevisions/"
		 "status\"]}",
			true},
		{"{\"apiGroups\":[\"annals.dev\"],\"apiVersions\":[\"v2\"],\"resources\":[\"*\"]}", false},
		{"{\"apiGroups\":[\"apps\"],\"apiVersions\":[\"v1\"],\"resources\":[\"controllerrevisions\"]}", false},
		{"{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"resources\":[\"pods\"]}", false},
		{"{}", false},
	};
	struct api_world *w = *state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct webhook_rule rule;
		webhook_rule_read(&rule, world_parse(w, cases[i].rule), &w->a);
		if (webhook_rule_concerns_us(&rule) != cases[i].concerns_us) {
			fail_msg("%s", cases[i].rule);
		}
	}
}

static struct webhook_selector selector_of(struct api_world *w, const char *text)
{
	struct webhook_selector s = {0};
	label_selector_read(&s.labels, world_parse(w, text), &w->a, &s.problem);
	return s;
}

static struct object *labelled(struct api_world *w, const char *labels)
{
	return world_decode(w, V1,
		arena_printf(&w->a,
			"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/"
			"v1\",\"metadata\":{\"name\":\"a\",\"labels\":%s}}",
			labels)
			.p);
}

static void test_webhook_objects__either_will_do(void **state)
{
	struct api_world *w = *state;
	struct webhook h = {.objects = selector_of(w, "{\"matchLabels\":{\"b\":\"1\"}}")};
	const struct object *yes = labelled(w, "{\"b\":\"1\",\"a\":\"2\"}"), *no = labelled(w, "{\"b\":\"2\"}");
	assert_true(webhook_selects_object(&h, yes, no, &w->a));
	assert_true(webhook_selects_object(&h, no, yes, &w->a));
	assert_true(webhook_selects_object(&h, NULL, yes, &w->a));
	assert_false(webhook_selects_object(&h, no, no, &w->a));
	assert_false(webhook_selects_object(&h, no, NULL, &w->a));
}

static void test_webhook_objects__an_empty_selector_selects_all_and_an_absent_one_nothing(void **state)
{
	struct api_world *w = *state;
	struct webhook h = {.objects = selector_of(w, "{}")};
	const struct object *o = labelled(w, "{}");
	assert_true(webhook_selects_object(&h, o, NULL, &w->a));
	assert_true(webhook_selects_object(&h, NULL, NULL, &w->a));
	h.objects.is_absent = true;
	assert_false(webhook_selects_object(&h, o, NULL, &w->a));
}

static void test_webhook_namespaces__matter_only_within_one(void **state)
{
	struct api_world *w = *state;
	struct webhook h = {.namespaces = selector_of(w, "{\"matchLabels\":{\"b\":\"1\"}}")};
	struct webhook_question within = question_of(V1, "CREATE", "a", ""), without = question_of(V1, "CREATE", "", "");
	assert_true(webhook_looks_at_namespace(&h, &within));
	assert_false(webhook_looks_at_namespace(&h, &without));
	h.namespaces = selector_of(w, "{}");
	assert_false(webhook_looks_at_namespace(&h, &within));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_webhook_rules__say_what_is_shown),
		API_TEST(test_webhook_rules__earlier_ones_choose_the_version),
		API_TEST(test_webhook_rules__that_could_never_mean_us_are_known),
		API_TEST(test_webhook_objects__either_will_do),
		API_TEST(test_webhook_objects__an_empty_selector_selects_all_and_an_absent_one_nothing),
		API_TEST(test_webhook_namespaces__matter_only_within_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
