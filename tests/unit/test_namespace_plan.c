#include "base/clock.h"
#include "controllers/kit/controller.h"
#include "controllers/namespace/namespace_plan.h"
#include "tests/unit/check.h"

enum { NOW_S = 1700000000 }; /* 2023-11-14T22:13:20Z */

struct scene {
	struct arena arena;
	struct namespace_found found;
};

static void open_scene(struct scene *s)
{
	*s = (struct scene){0};
	arena_init(&s->arena, 1 << 20);
	s->found.arena = &s->arena;
}

static void close_scene(struct scene *s)
{
	mem_free(s->found.problems);
	mem_free(s->found.remaining);
	mem_free(s->found.finalizers);
	arena_done(&s->arena);
}

static struct json *parse(struct scene *s, const char *text)
{
	struct json *j = NULL;
	size_t at;
	assert_int_equal(json_parse(&j, &s->arena, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

static const struct json *member(const struct json *j, const char *a, const char *b)
{
	return json_gets(json_gets(j, a), b);
}

static void assert_json(const struct json *j, const char *expected)
{
	struct buf text;
	buf_init(&text, 1 << 20);
	json_encode(&text, j);
	assert_str(buf_str(&text), expected);
	buf_done(&text);
}

#define DELETED "\"metadata\":{\"name\":\"x\",\"deletionTimestamp\":\"2023-11-14T22:13:10Z\"}" /* 10 s before NOW_S */

static void test_namespace_next__goes_by_deletion_phase_and_finalizers(void **state _unused_)
{
	static const struct {
		const char *namespace;
		enum namespace_step step;
	} cases[] = {
		{"{\"metadata\":{\"name\":\"x\"},\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}",
			NAMESPACE_NOTHING},
		{"{" DELETED ",\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}", NAMESPACE_MARK},
		{"{" DELETED ",\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Terminating\"}}",
			NAMESPACE_EMPTY},
		{"{" DELETED ",\"spec\":{\"finalizers\":[]},\"status\":{\"phase\":\"Terminating\"}}", NAMESPACE_NOTHING},
		{"{" DELETED ",\"spec\":{},\"status\":{\"phase\":\"Terminating\"}}", NAMESPACE_NOTHING},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene s;
		open_scene(&s);
		assert_int_equal(namespace_next(parse(&s, cases[i].namespace)), cases[i].step);
		close_scene(&s);
	}
}

#define CONDITION(type, status, time, reason, message)                                                                    \
	"{\"type\":\"" type "\",\"status\":\"" status "\",\"lastTransitionTime\":\"" time "\",\"reason\":\"" reason "\"," \
	"\"message\":\"" message "\"}"
#define OK_DISCOVERY(t)                                                                   \
	CONDITION("NamespaceDeletionDiscoveryFailure", "False", t, "ResourcesDiscovered", \
		"All resources successfully discovered")
#define OK_PARSING(t)                                                                               \
	CONDITION("NamespaceDeletionGroupVersionParsingFailure", "False", t, "ParsedGroupVersions", \
		"All legacy kube types successfully parsed")
#define OK_CONTENT(t)                                                              \
	CONDITION("NamespaceDeletionContentFailure", "False", t, "ContentDeleted", \
		"All content successfully deleted, may be waiting on finalization")
#define OK_REMAINING(t) CONDITION("NamespaceContentRemaining", "False", t, "ContentRemoved", "All content successfully removed")
#define OK_FINALIZERS(t)                                                                \
	CONDITION("NamespaceFinalizersRemaining", "False", t, "ContentHasNoFinalizers", \
		"All content-preserving finalizers finished")
#define NOW "2023-11-14T22:13:20Z"
#define ALL_OK(t) "[" OK_DISCOVERY(t) "," OK_PARSING(t) "," OK_CONTENT(t) "," OK_REMAINING(t) "," OK_FINALIZERS(t) "]"

static void test_conditions__say_that_all_is_well(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	struct json *n = parse(&s, "{" DELETED ",\"status\":{\"phase\":\"Terminating\"}}");
	struct json *changed = namespace_with_conditions(&s.arena, n, &s.found, NOW_S);
	assert_json(member(changed, "status", "conditions"), ALL_OK(NOW));
	assert_json(member(changed, "status", "phase"), "\"Terminating\"");
	assert_null(namespace_with_conditions(&s.arena, changed, &s.found, NOW_S + 100));
	close_scene(&s);
}

static void test_conditions__name_what_remains_and_what_holds_it(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	const struct resource maps = {STR(""), STR("v1"), STR("configmaps")},
			      leases = {STR("coordination.k8s.io"), STR("v1"), STR("leases")};
	namespace_found_remaining(&s.found, &leases, 1);
	namespace_found_remaining(&s.found, &maps, 12);
	namespace_found_remaining(&s.found, &leases, 0);
	namespace_found_finalizer(&s.found, STR("z/z"));
	namespace_found_finalizer(&s.found, STR("a/a"));
	namespace_found_finalizer(&s.found, STR("z/z"));
	struct json *changed = namespace_with_conditions(&s.arena, parse(&s, "{" DELETED "}"), &s.found, NOW_S);
	assert_json(member(changed, "status", "conditions"),
		"[" OK_DISCOVERY(NOW) "," OK_PARSING(NOW) "," OK_CONTENT(NOW) "," CONDITION("NamespaceContentRemaining", "True",
			NOW, "SomeResourcesRemain",
			"Some resources are remaining: configmaps. has 12 resource instances, leases.coordination.k8s.io has 1 "
			"resource "
			"instances") "," CONDITION("NamespaceFinalizersRemaining", "True", NOW, "SomeFinalizersRemain",
			"Some content in the namespace has finalizers remaining: a/a in 1 resource instances, z/z in 2 "
			"resource "
			"instances") "]");
	assert_true(namespace_found_any(&s.found));
	close_scene(&s);
}

static void test_conditions__tell_failures_sorted(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	struct discovery_failure failures[] = {
		{STR("metrics.k8s.io"), STR("v1beta1"), STR("stale")}, {STR(""), STR("v1"), STR("away")}};
	const struct discovery d = {.failures = failures, .n_failures = 2};
	s.found.discovery_problem = namespace_discovery_problem(&s.arena, &d);
	namespace_found_problem(&s.found, STR("two"));
	namespace_found_problem(&s.found, STR("one"));
	struct json *changed = namespace_with_conditions(&s.arena, parse(&s, "{" DELETED "}"), &s.found, NOW_S);
	assert_json(member(changed, "status", "conditions"),
		"[" CONDITION("NamespaceDeletionDiscoveryFailure", "True", NOW, "DiscoveryFailed",
			"Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: "
			"metrics.k8s.io/v1beta1: stale, v1: away") "," OK_PARSING(NOW) "," CONDITION("NamespaceDeletionContentF"
												     "ailure",
			"True", NOW, "ContentDeletionFailed",
			"Failed to delete all resource types, 2 remaining: one, two") "," OK_REMAINING(NOW) "," OK_FINALIZERS(NOW) "]");
	close_scene(&s);
}

static void test_found__each_reason_alone_keeps_the_namespace(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	assert_false(namespace_found_any(&s.found));
	s.found.discovery_problem = STR("no answer");
	assert_true(namespace_found_any(&s.found));
	s.found.discovery_problem = STR("");
	s.found.estimate_s = 1;
	assert_true(namespace_found_any(&s.found));
	s.found.estimate_s = 0;
	namespace_found_remaining(&s.found, &(struct resource){STR("apps"), STR("v1"), STR("things")}, 0);
	assert_false(namespace_found_any(&s.found));
	namespace_found_remaining(&s.found, &(struct resource){STR("apps"), STR("v1"), STR("things")}, 1);
	assert_true(namespace_found_any(&s.found));
	close_scene(&s);
	open_scene(&s);
	namespace_found_problem(&s.found, STR("refused"));
	assert_true(namespace_found_any(&s.found));
	close_scene(&s);
}

static void test_conditions__time_is_when_the_status_changed(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	const struct resource maps = {STR(""), STR("v1"), STR("configmaps")};
	struct json *old = parse(&s,
		"{" DELETED ",\"status\":{\"conditions\":[" CONDITION("Other", "True", "t", "r", "m") "," CONDITION(
			"NamespaceContentRemaining", "True", "long ago", "SomeResourcesRemain",
			"Some resources are remaining: x") "," OK_DISCOVERY("long ago") "," OK_PARSING("long ago") "," OK_CONTENT("long ago") "," OK_FINALIZERS("long ago") "]}}");
	namespace_found_remaining(&s.found, &maps, 1);
	struct json *changed = namespace_with_conditions(&s.arena, old, &s.found, NOW_S);
	assert_json(member(changed, "status", "conditions"),
		"[" CONDITION("Other", "True", "t", "r", "m") "," CONDITION("NamespaceContentRemaining", "True", "long ago", "SomeResourcesRemain", "Some resources are remaining: configmaps. has 1 resource instances") "," OK_DISCOVERY(
			"long ago") "," OK_PARSING("long ago") "," OK_CONTENT("long ago") "," OK_FINALIZERS("long ago") "]");

	s.found.n_remaining = 0;
	changed = namespace_with_conditions(&s.arena, changed, &s.found, NOW_S);
	assert_json(member(changed, "status", "conditions")->items[1], OK_REMAINING(NOW));
	close_scene(&s);
}

static void test_finalized__takes_off_only_its_own(void **state _unused_)
{
	static const struct {
		const char *before, *after;
	} cases[] = {
		{"[\"kubernetes\"]", "[]"},
		{"[\"z/z\",\"kubernetes\",\"a/a\",\"z/z\"]", "[\"a/a\",\"z/z\"]"},
		{"[\"a/a\"]", "[\"a/a\"]"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene s;
		open_scene(&s);
		char *text = mem_printf("{" DELETED ",\"spec\":{\"finalizers\":%s}}", cases[i].before);
		struct json *changed = namespace_finalized(&s.arena, parse(&s, text));
		assert_json(member(changed, "spec", "finalizers"), cases[i].after);
		assert_json(member(changed, "metadata", "name"), "\"x\"");
		close_scene(&s);
		mem_free(text);
	}
}

static void test_resources__only_namespaced_deletable_and_preferred_ones_count(void **state _unused_)
{
	assert_true(namespace_resource_counts(
		&(struct api_resource){.is_namespaced = true, .is_preferred = true, .verbs = API_DELETE}));
	assert_false(namespace_resource_counts(&(struct api_resource){.is_preferred = true, .verbs = API_DELETE}));
	assert_false(namespace_resource_counts(&(struct api_resource){.is_namespaced = true, .verbs = API_DELETE}));
	assert_false(namespace_resource_counts(
		&(struct api_resource){.is_namespaced = true, .is_preferred = true, .verbs = API_LIST | API_DELETECOLLECTION}));
}

static void test_pods_estimate__is_the_longest_grace_that_has_not_passed(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	const struct json *n = parse(&s, "{" DELETED "}");
#define POD(phase, grace) "{\"spec\":{\"terminationGracePeriodSeconds\":" #grace "},\"status\":{\"phase\":\"" phase "\"}}"
	const struct json *pods = parse(&s,
		"{\"items\":[" POD("Running", 20) "," POD("Running", 30) "," POD("Failed", 99) "," POD("Succeeded", 99) "]}");
	assert_int_equal(namespace_pods_estimate_s(pods, n, NOW_S), 30);
	assert_int_equal(namespace_pods_estimate_s(pods, n, NOW_S + 19), 30);
	assert_int_equal(namespace_pods_estimate_s(pods, n, NOW_S + 20), 0);
	assert_int_equal(namespace_pods_estimate_s(parse(&s, "{\"items\":[]}"), n, NOW_S), 0);
	close_scene(&s);
}

static void test_look_again__is_soon_at_first_and_never_later_than_kubes(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	const struct json *n = parse(&s, "{" DELETED "}");
	assert_int_equal(namespace_look_again_ms(15, n, NOW_S - 10), 100);
	assert_int_equal(namespace_look_again_ms(15, n, NOW_S - 20), 100); /* clocks differ */
	assert_int_equal(namespace_look_again_ms(15, n, NOW_S - 6), 1000);
	assert_int_equal(namespace_look_again_ms(15, n, NOW_S + 1000), 8000);
	close_scene(&s);
}

static bool is_chosen(const char *a, const char *b)
{
	char *choice[] = {mem_strdup(a), b ? mem_strdup(b) : NULL};
	bool answer = controller_is_chosen(&namespace_controller, choice, b ? 2 : 1, false);
	mem_free(choice[0]);
	mem_free(choice[1]);
	return answer;
}

static void test_controllers__are_chosen_as_kube_controller_manager_does(void **state _unused_)
{
	assert_true(controller_is_chosen(&namespace_controller, NULL, 0, false));
	assert_true(is_chosen("*", NULL));
	assert_true(is_chosen("namespace", NULL));
	assert_true(is_chosen("namespace-controller", NULL));
	assert_false(is_chosen("other", NULL));
	assert_false(is_chosen("-namespace", NULL));
	assert_false(is_chosen("*", "-namespace"));
	assert_false(is_chosen("-namespace-controller", "*"));
	assert_true(is_chosen("*", "-other"));
}

static void test_controllers__on_request_are_chosen_by_name_alone(void **state _unused_)
{
	char star[] = "*", name[] = "fake-kubelet";
	assert_false(controller_is_chosen(&fake_kubelet, NULL, 0, false));
	assert_false(controller_is_chosen(&fake_kubelet, (char *[]){star}, 1, false));
	assert_true(controller_is_chosen(&fake_kubelet, (char *[]){star, name}, 2, false));
	assert_true(controller_is_chosen(&namespace_controller, (char *[]){star, name}, 2, false));
	assert_false(controller_is_chosen(&namespace_controller, (char *[]){name}, 1, false));
}

static void test_controllers__of_up_are_not_for_clusters(void **state _unused_)
{
	char star[] = "*", name[] = "default-objects";
	assert_true(controller_is_chosen(&default_objects_controller, NULL, 0, true));
	assert_false(controller_is_chosen(&default_objects_controller, NULL, 0, false));
	assert_false(controller_is_chosen(&default_objects_controller, (char *[]){star}, 1, false));
	assert_true(controller_is_chosen(&default_objects_controller, (char *[]){name}, 1, false));
}

static void test_controllers__of_an_empty_value_are_none(void **state _unused_)
{
	char empty[] = "", star[] = "*";
	struct buf err;
	buf_init(&err, 4096);
	assert_true(controllers_check((char *[]){empty}, 1, &err));
	assert_false(controllers_check((char *[]){star, empty}, 2, &err));
	buf_done(&err);
	for (const struct controller *const *c = all_controllers; *c; c++) {
		assert_false(controller_is_chosen(*c, (char *[]){empty}, 1, true));
	}
}

static void test_controllers_check__knows_all_names(void **state _unused_)
{
	struct buf err;
	buf_init(&err, 4096);
	char star[] = "*", minus[] = "-namespace", stranger[] = "-stranger";
	assert_true(controllers_check((char *[]){star, minus}, 2, &err));
	assert_false(controllers_check((char *[]){star, stranger}, 2, &err));
	assert_true(str_starts(buf_str(&err), STR("--controllers: \"stranger\" is not in the list of known controllers: ")));
	assert_true(str_contains(buf_str(&err), STR("namespace-controller")));
	buf_done(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_namespace_next__goes_by_deletion_phase_and_finalizers),
		TEST(test_conditions__say_that_all_is_well),
		TEST(test_conditions__name_what_remains_and_what_holds_it),
		TEST(test_conditions__tell_failures_sorted),
		TEST(test_found__each_reason_alone_keeps_the_namespace),
		TEST(test_conditions__time_is_when_the_status_changed),
		TEST(test_finalized__takes_off_only_its_own),
		TEST(test_resources__only_namespaced_deletable_and_preferred_ones_count),
		TEST(test_pods_estimate__is_the_longest_grace_that_has_not_passed),
		TEST(test_look_again__is_soon_at_first_and_never_later_than_kubes),
		TEST(test_controllers__are_chosen_as_kube_controller_manager_does),
		TEST(test_controllers__on_request_are_chosen_by_name_alone),
		TEST(test_controllers__of_up_are_not_for_clusters),
		TEST(test_controllers__of_an_empty_value_are_none),
		TEST(test_controllers_check__knows_all_names),
	};
	return cmocka_run_group_tests_name("namespace_plan", tests, NULL, NULL);
}
