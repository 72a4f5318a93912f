/* Claims of a StatefulSet's pods: what is made, and whose they are by the retention policy. The tables hold what upstream's tests of the same rules say. */
#include "tests/unit/history_world.h"

#include "api/model/members.h"
#include "controllers/statefulset/claim.h"

struct world {
	struct arena arena;
	struct set set;
	struct claim_pod pod;
};

static void init(struct world *w, bool deletes_with_set, bool deletes_when_scaled, bool is_in_range)
{
	*w = (struct world){
		.set = {.owner = {.api_version = STR("apps/v1"),
				.kind = STR("StatefulSet"),
				.ns = STR("ns"),
				.name = STR("set"),
				.uid = STR("set-uid")},
			.claims = {.deletes_with_set = deletes_with_set, .deletes_when_scaled = deletes_when_scaled}},
		.pod = {.name = STR("set-1"), .uid = STR("pod-uid"), .is_in_range = is_in_range},
	};
	arena_init(&w->arena, 1 << 24);
}

static void done(struct world *w)
{
	arena_done(&w->arena);
}

/* References of a claim. */
#define REF(api_version, kind, name, uid) \
	"{\"apiVersion\":\"" api_version "\",\"kind\":\"" kind "\",\"name\":\"" name "\",\"uid\":\"" uid "\""
#define CONTROLLER ",\"controller\":true,\"blockOwnerDeletion\":true}"
#define PLAIN "}"
#define SET(uid) REF("apps/v1", "StatefulSet", "set", uid)
#define POD(uid) REF("v1", "Pod", "set-1", uid)
#define RANDOM_POD(name, uid) REF("v1", "Pod", name, uid)
#define CUSTOM REF("custom/v1", "Custom", "custom", "custom-uid")

static const struct json *claim_with(struct world *w, const char *refs)
{
	return parsed(&w->arena, arena_printf(&w->arena, "{\"name\":\"www-set-1\",\"ownerReferences\":[%s]}%c", refs, '\0').p);
}

static const struct json *claim_of(struct world *w, bool has_set, bool has_pod, const char *others)
{
	struct str refs =
		arena_printf(&w->arena, "%s%s%s%s%s%c", has_pod ? POD("pod-uid") CONTROLLER : "", has_pod && has_set ? "," : "",
			has_set ? SET("set-uid") CONTROLLER : "", (has_set || has_pod) && *others ? "," : "", others, '\0');
	return claim_with(w, refs.p);
}

/* The reference with that uid, if it is a controller's. */
static bool is_controlled_by(const struct json *refs, const char *uid)
{
	const struct json *ref;
	for (uint32_t i = 0; (ref = list_item(refs, i)); i++) {
		if (str_is(member_text(ref, "uid"), uid)) {
			return member_is_true(ref, "controller");
		}
	}
	return false;
}

static const struct policy_case {
	bool deletes_with_set, deletes_when_scaled, is_in_range;
	bool needs_set, needs_pod;
} policy_cases[] = {
	{false, false, true, false, false},
	{false, false, false, false, false},
	{true, false, true, true, false},
	{true, false, false, true, false},
	{false, true, true, false, false},
	{false, true, false, false, true},
	{true, true, true, true, false},
	{true, true, false, false, true},
};

static const char *const others[] = {
	"",
	RANDOM_POD("rand1", "rand1-uid") PLAIN "," RANDOM_POD("rand2", "rand2-uid") PLAIN,
	CUSTOM PLAIN,
};

/* Upstream's TestIsClaimOwnerUpToDate and TestUpdateClaimOwnerRefForSetAndPod: all policies, by all that may stand there. */
/* seeds: D5 */
static void test_owners__are_right_or_are_put_right(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(policy_cases) * ARRAY_SIZE(others) * 4; i++) {
		const struct policy_case *c = &policy_cases[i / 4 / ARRAY_SIZE(others)];
		bool has_set = i & 1, has_pod = i & 2;
		struct world w;
		init(&w, c->deletes_with_set, c->deletes_when_scaled, c->is_in_range);
		const struct json *meta = claim_of(&w, has_set, has_pod, others[i / 4 % ARRAY_SIZE(others)]);
		assert_int_equal(
			claim_has_right_owners(&w.set, &w.pod, meta), has_set == c->needs_set && has_pod == c->needs_pod);

		const struct json *refs = claim_right_owners(&w.set, &w.pod, meta, &w.arena);
		assert_int_equal(is_controlled_by(refs, "set-uid"), c->needs_set);
		assert_int_equal(is_controlled_by(refs, "pod-uid"), c->needs_pod);
		struct json *fixed = json_object(&w.arena);
		json_add(&w.arena, fixed, STR("ownerReferences"), json_copy(&w.arena, refs));
		assert_true(claim_has_right_owners(&w.set, &w.pod, fixed));
		/* Those of others are left. */
		size_t n = meta->n ? json_gets(meta, "ownerReferences")->n : 0;
		assert_int_equal(refs->n, n - has_set - has_pod + c->needs_set + c->needs_pod);
		done(&w);
	}
}

/* Upstream's TestClaimOwnerUpToDateEdgeCases. */
/* seeds: D5 */
static void test_owners__that_are_stale_or_foreign_or_plain(void **state _unused_)
{
	static const struct {
		const char *refs;
		bool deletes_when_scaled, is_in_range, is_right;
	} cases[] = {
		{POD("pod-uid") CONTROLLER, true, false, true},
		{POD("pod-uid") PLAIN, true, false, false},
		{POD("pod-stale") CONTROLLER, true, false, true},
		{POD("pod-uid") CONTROLLER "," RANDOM_POD("random", "random") CONTROLLER, true, false, false},
		{RANDOM_POD("random", "random") CONTROLLER, true, false, true},
		{SET("set-uid") CONTROLLER, false, true, true},
		{SET("set-uid") PLAIN, false, true, false},
		{REF("appsv1", "StatefulSet", "set", "set-uid") PLAIN, false, true, false},
		{SET("set-stale") CONTROLLER, false, true, true},
		{SET("set-uid") CONTROLLER "," CUSTOM CONTROLLER, false, true, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w;
		init(&w, true, cases[i].deletes_when_scaled, cases[i].is_in_range);
		assert_int_equal(claim_has_right_owners(&w.set, &w.pod, claim_with(&w, cases[i].refs)), cases[i].is_right);
		done(&w);
	}
}

/* Upstream's TestHasUnexpectedController. */
/* seeds: D5 */
static void test_controller_of_somebody_else__is_noticed_where_there_is_a_policy(void **state _unused_)
{
	static const struct {
		const char *refs;
		bool is_other;
	} cases[] = {
		{CUSTOM CONTROLLER, true},
		{CUSTOM ",\"controller\":false}", false},
		{CUSTOM PLAIN, false},
		{RANDOM_POD("simon", "other-uid") CONTROLLER, true},
		{REF("apps/v1", "Set", "simon", "other-uid") CONTROLLER, true},
		{SET("set-uid") CONTROLLER, false},
		{SET("stale-uid") CONTROLLER, true},
		{SET("stale-uid") PLAIN, true},
		{POD("pod-uid") CONTROLLER, false},
		{POD("stale-uid") CONTROLLER, true},
		{POD("pod-uid") CONTROLLER "," CUSTOM CONTROLLER, true},
		{POD("pod-uid") CONTROLLER "," CUSTOM PLAIN, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int policy = 0; policy < 4; policy++) {
			struct world w;
			init(&w, policy & 1, policy & 2, true);
			const struct json *meta = claim_with(&w, cases[i].refs);
			assert_int_equal(claim_has_other_controller(&w.set, &w.pod, meta), policy && cases[i].is_other);
			done(&w);
		}
	}
}

/* Upstream's TestUpdateClaimOwnerRefForSetAndPod, "unexpected controller". */
/* seeds: D5 */
static void test_controller_of_somebody_else__stays_the_only_one(void **state _unused_)
{
	for (int has = 0; has < 4; has++) {
		struct world w;
		init(&w, true, true, false);
		const struct json *refs =
			claim_right_owners(&w.set, &w.pod, claim_of(&w, has & 1, has & 2, CUSTOM CONTROLLER), &w.arena);
		assert_int_equal(refs->n, 1);
		assert_true(is_controlled_by(refs, "custom-uid"));
		done(&w);
	}
}

/* Upstream's TestHasStaleOwnerRef, for claims that go when their pod is scaled away. */
/* seeds: D5 */
static void test_claim_of_an_earlier_pod__is_stale(void **state _unused_)
{
	static const struct {
		const char *refs;
		bool is_stale;
	} cases[] = {
		{"", false},
		{POD("pod-uid") PLAIN, false},
		{POD("789") PLAIN, true},
		{POD("789") CONTROLLER, true},
		{RANDOM_POD("yvonne", "345") PLAIN, false},
		{SET("789") CONTROLLER, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int deletes = 0; deletes < 2; deletes++) {
			struct world w;
			init(&w, true, deletes, true);
			assert_int_equal(
				claim_is_stale(&w.set, &w.pod, claim_with(&w, cases[i].refs)), deletes && cases[i].is_stale);
			done(&w);
		}
	}
}

/* Upstream's TestGetPersistentVolumeClaims: labels of the template and of the selector, which wins. */
/* seeds: D5 */
static void test_claim__has_the_labels_of_template_and_selector(void **state _unused_)
{
	static const struct {
		const char *selector, *of_template, *labels;
	} cases[] = {
		{"{}", "", "{}"},
		{"{\"matchLabels\":{\"test\":\"test\"}}", "", "{\"test\":\"test\"}"},
		{"{\"matchLabels\":{\"name\":\"foo\"}}", ",\"labels\":{\"test\":\"test\"}",
			"{\"test\":\"test\",\"name\":\"foo\"}"},
		{"{\"matchLabels\":{\"test\":\"foo\"}}", ",\"labels\":{\"test\":\"test\"}", "{\"test\":\"foo\"}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w;
		init(&w, false, false, true);
		w.set.selector_json = parsed(&w.arena, cases[i].selector);
		const struct json *template = parsed(&w.arena,
			arena_printf(&w.arena,
				"{\"metadata\":{\"name\":\"datadir\"%s,\"annotations\":{\"a\":\"b\"}},\"spec\":{\"volumeName\":"
				"\"v\"}}%c",
				cases[i].of_template, '\0')
				.p);
		const struct json *claim = claim_make(&w.set, template, 7, &w.arena);
		struct str expected = arena_printf(&w.arena,
			"{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",\"metadata\":{\"name\":\"datadir-set-7\","
			"\"namespace\":\"ns\","
			"\"labels\":%s,\"annotations\":{\"a\":\"b\"}},\"spec\":{\"volumeName\":\"v\"}}%c",
			cases[i].labels, '\0');
		assert_true(json_equal(claim, parsed(&w.arena, expected.p)));
		done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_owners__are_right_or_are_put_right),
		TEST(test_owners__that_are_stale_or_foreign_or_plain),
		TEST(test_controller_of_somebody_else__is_noticed_where_there_is_a_policy),
		TEST(test_controller_of_somebody_else__stays_the_only_one),
		TEST(test_claim_of_an_earlier_pod__is_stale),
		TEST(test_claim__has_the_labels_of_template_and_selector),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
