/* When two states are the same (seed 000, "Version Equivalence"). */
#include "controllers/history/history.h"

#include "tests/unit/history_world.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_states__are_equal_by_value),
		TEST(test_states__differ_by_value),
		TEST(test_selectors__that_are_there_are_compared_by_value),
		TEST(test_states__that_cannot_be_read_equal_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
