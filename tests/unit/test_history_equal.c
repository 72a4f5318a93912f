/* When two states are the same (seed 000, "Version Equivalence"). */
#include "controllers/kit/history.h"

#include "tests/unit/history_world.h"

#include "api/core/pod_defaults.h"

static bool are_equal(const char *x, const char *y)
{
	struct history_world w;
	world_init(&w, &carrier_podtemplates, "web");
	bool is_equal = history_equal_states(&w.owner, parsed(&w.arena, x), parsed(&w.arena, y), &w.arena);
	/* Whichever of them is the one of today. */
	assert_int_equal(history_equal_states(&w.owner, parsed(&w.arena, y), parsed(&w.arena, x), &w.arena), is_equal);
	world_done(&w);
	return is_equal;
}

struct pair {
	const char *a, *b;
};

#define SPEC(members) "{\"spec\":{\"image\":\"i\"" members "}}"

/* H41 */
/* seeds: H41 */
static void test_states__are_equal_by_value(void **state _unused_)
{
	static const struct pair cases[] = {
		{SPEC(""), SPEC("")},
		{"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}"},
		{"{\"a\":1}", "{\"a\":1.0e0}"},
		{"{\"a\":\"<\"}", "{\"a\":\"\\u003c\"}"},
		{"{\"a\":0,\"a\":1}", "{\"a\":1}"},
		{SPEC(",\"volumes\":null"), SPEC("")},
		{SPEC(",\"volumes\":[]"), SPEC("")},
		{SPEC(",\"securityContext\":{}"), SPEC("")},
		{SPEC(",\"securityContext\":{}"), SPEC(",\"securityContext\":null")},
		{SPEC(",\"x\":{\"y\":{\"z\":[],\"u\":null}}"), SPEC("")},
		{SPEC(",\"list\":[{\"x\":{}},1]"), SPEC(",\"list\":[{},1]")},
		{"{\"metadata\":{\"creationTimestamp\":null}}", "{}"},
		/* what the owner's defaults fill in */
		{SPEC(",\"restartPolicy\":\"Always\""), SPEC("")},
		{SPEC(",\"requests\":{\"cpu\":\"1000m\"}"), SPEC(",\"requests\":{\"cpu\":\"1\"}")},
		{SPEC(",\"requests\":{\"memory\":\"1Gi\"}"), SPEC(",\"requests\":{\"memory\":\"1024Mi\"}")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!are_equal(cases[i].a, cases[i].b)) {
			fail_msg("should be equal: %s and %s", cases[i].a, cases[i].b);
		}
	}
}

/* seeds: H41 */
static void test_states__differ_by_value(void **state _unused_)
{
	static const struct pair cases[] = {
		{SPEC(""), "{\"spec\":{\"image\":\"j\"}}"},
		{SPEC(""), SPEC(",\"x\":\"\"")},
		{SPEC(""), SPEC(",\"x\":0")},
		{SPEC(""), SPEC(",\"x\":false")},
		{SPEC(",\"x\":1"), SPEC(",\"x\":\"1\"")},
		{SPEC(",\"x\":1"), SPEC(",\"y\":1")},
		{SPEC(",\"x\":9007199254740993"), SPEC(",\"x\":9007199254740992")},
		{SPEC(",\"list\":[1,2]"), SPEC(",\"list\":[2,1]")},
		{SPEC(",\"list\":[1]"), SPEC(",\"list\":[1,null]")},
		{SPEC(",\"list\":[{}]"), SPEC("")},
		{SPEC(",\"list\":[{}]"), SPEC(",\"list\":[null]")},
		{SPEC(",\"x\":{\"y\":1}"), SPEC(",\"x\":[1]")},
		{SPEC(",\"x\":{\"y\":1}"), SPEC(",\"x\":{}")},
		{SPEC(",\"restartPolicy\":\"Never\""), SPEC("")},
		{SPEC(",\"requests\":{\"cpu\":\"1001m\"}"), SPEC(",\"requests\":{\"cpu\":\"1\"}")},
		/* {} selects everything, and none selects nothing */
		{SPEC(",\"labelSelector\":{}"), SPEC("")},
		{SPEC(",\"term\":{\"namespaceSelector\":{}}"), SPEC(",\"term\":{\"namespaceSelector\":null}")},
		{SPEC(",\"securityContext\":{\"seLinuxOptions\":{}}"), SPEC(",\"securityContext\":{}")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (are_equal(cases[i].a, cases[i].b)) {
			fail_msg("should differ: %s and %s", cases[i].a, cases[i].b);
		}
	}
}

/* No selector is no selector, however it is said; and one that says something is compared as
 * everything else is. */
static void test_selectors__that_are_there_are_compared_by_value(void **state _unused_)
{
	assert_true(are_equal(SPEC(",\"labelSelector\":null"), SPEC("")));
	assert_true(are_equal(SPEC(",\"labelSelector\":{\"matchLabels\":{}}"), SPEC(",\"labelSelector\":{}")));
	assert_false(are_equal(SPEC(",\"labelSelector\":{\"matchLabels\":{\"a\":\"b\"}}"), SPEC(",\"labelSelector\":{}")));
}

static struct json *normal_of_none(const struct json *state _unused_, struct arena *a _unused_)
{
	return NULL;
}

static void test_states__that_cannot_be_read_equal_nothing(void **state _unused_)
{
	struct history_world w;
	world_init(&w, &carrier_podtemplates, "web");
	const struct json *s = parsed(&w.arena, "{\"a\":1}"), *t = parsed(&w.arena, "{\"a\":1,\"b\":null}");
	assert_false(history_equal_states(&w.owner, s, NULL, &w.arena));
	assert_false(history_equal_states(&w.owner, NULL, s, &w.arena));
	assert_false(history_equal_states(&w.owner, NULL, NULL, &w.arena));
	assert_true(history_equal_states(&w.owner, s, t, &w.arena));
	w.owner.normal = normal_of_none;
	assert_false(history_equal_states(&w.owner, s, t, &w.arena));
	w.owner.normal = NULL;
	assert_true(history_equal_states(&w.owner, s, t, &w.arena));
	world_done(&w);
}

/* A cache has the state, and other threads read it. */
static struct json *normal_in_place(const struct json *state, struct arena *a)
{
	struct json *list = json_gets(state, "list");
	list->items[0] = json_string(a, STR("filled in"));
	return (struct json *)(uintptr_t)state;
}

static void test_states__stay_as_they_were_given(void **state _unused_)
{
	struct history_world w;
	world_init(&w, &carrier_podtemplates, "web");
	const struct json *s = parsed(&w.arena, "{\"list\":[1]}"), *t = parsed(&w.arena, "{\"list\":[2]}");
	w.owner.normal = normal_in_place;
	assert_true(history_equal_states(&w.owner, s, t, &w.arena));
	assert_true(json_equal(s, parsed(&w.arena, "{\"list\":[1]}")));
	assert_true(json_equal(t, parsed(&w.arena, "{\"list\":[2]}")));
	world_done(&w);
}

/* ---- templates of pods, with the defaults that the server has ---- */

static struct json *normal_template(const struct json *template, struct arena *a)
{
	struct json *normal;
	struct str problem;
	if (schema_decode(&normal, &type_pod_template_spec, template, a, NULL, &problem)) {
		return NULL;
	}
	return pod_template_defaults(normal, a);
}

static bool are_templates_equal(const char *x, const char *y)
{
	struct history_world w;
	world_init(&w, &carrier_controllerrevisions, "web");
	w.owner.normal = normal_template;
	bool is_equal = history_equal_states(&w.owner, parsed(&w.arena, x), parsed(&w.arena, y), &w.arena);
	world_done(&w);
	return is_equal;
}

#define POD(container, members) "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:1\"" container "}]" members "}}"
#define TERM(members)                                                                                                   \
	POD("",                                                                                                         \
		",\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":" \
		"\"t\"" members "}]}}")

/* H40, H42: none of these restarts a pod. */
/* seeds: H40 H41 */
static void test_templates__are_equal_whoever_has_written_them(void **state _unused_)
{
	static const struct pair cases[] = {
		/* as sets were shown up to 1.33, and with all that a server fills in */
		{POD("", ""),
			"{\"metadata\":{\"creationTimestamp\":null},\"spec\":{\"containers\":[{\"image\":\"i:1\",\"name\":"
			"\"c\","
			"\"imagePullPolicy\":\"IfNotPresent\",\"resources\":{},\"terminationMessagePath\":\"/dev/"
			"termination-log\","
			"\"terminationMessagePolicy\":\"File\"}],\"dnsPolicy\":\"ClusterFirst\",\"restartPolicy\":\"Always\","
			"\"schedulerName\":\"default-scheduler\",\"securityContext\":{},\"terminationGracePeriodSeconds\":30}"
			"}"},
		{POD(",\"resources\":{\"limits\":{\"cpu\":\"1000m\"},\"requests\":{\"cpu\":\"1000m\"}}", ""),
			POD(",\"resources\":{\"limits\":{\"cpu\":\"1\"},\"requests\":{\"cpu\":1}}", "")},
		{POD(",\"ports\":[{\"containerPort\":80}]", ""),
			POD(",\"ports\":[{\"containerPort\":80,\"protocol\":\"TCP\"}]", "")},
		{POD(",\"env\":[{\"name\":\"A\",\"value\":\"\"}]", ""), POD(",\"env\":[{\"name\":\"A\"}]", "")},
		{POD("", ",\"volumes\":[{\"name\":\"v\"}]"), POD("", ",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]")},
		{POD("", ",\"nodeSelector\":{},\"tolerations\":[],\"affinity\":{}"), POD("", "")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!are_templates_equal(cases[i].a, cases[i].b)) {
			fail_msg("should be equal: %s and %s", cases[i].a, cases[i].b);
		}
	}
}

/* seeds: H41 */
static void test_templates__differ_where_pods_would(void **state _unused_)
{
	static const struct pair cases[] = {
		{POD(",\"resources\":{\"requests\":{\"cpu\":\"1\"}}", ""),
			POD(",\"resources\":{\"requests\":{\"cpu\":\"1001m\"}}", "")},
		{POD("", ",\"terminationGracePeriodSeconds\":0"), POD("", "")},
		{POD(",\"env\":[{\"name\":\"A\"},{\"name\":\"B\"}]", ""),
			POD(",\"env\":[{\"name\":\"B\"},{\"name\":\"A\"}]", "")},
		{POD(",\"securityContext\":{\"runAsUser\":0}", ""), POD("", "")},
		{POD(",\"securityContext\":{\"seLinuxOptions\":{}}", ""), POD("", "")},
		{TERM(",\"labelSelector\":{}"), TERM("")},
		{TERM(",\"namespaceSelector\":{}"), TERM("")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (are_templates_equal(cases[i].a, cases[i].b)) {
			fail_msg("should differ: %s and %s", cases[i].a, cases[i].b);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_states__are_equal_by_value),
		TEST(test_states__differ_by_value),
		TEST(test_selectors__that_are_there_are_compared_by_value),
		TEST(test_states__that_cannot_be_read_equal_nothing),
		TEST(test_states__stay_as_they_were_given),
		TEST(test_templates__are_equal_whoever_has_written_them),
		TEST(test_templates__differ_where_pods_would),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
