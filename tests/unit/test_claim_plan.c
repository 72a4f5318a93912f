#include "controllers/dependents/claim_plan.h"

#include "tests/unit/check.h"

static struct json *parse(struct arena *a, const char *text)
{
	struct json *j = NULL;
	size_t at;
	assert_int_equal(json_parse(&j, a, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

#define DELETED "\"deletionTimestamp\":\"2023-11-14T22:13:10Z\""
#define PROTECTED "\"finalizers\":[\"x.io/y\",\"kubernetes.io/pvc-protection\"]"

static void test_claim__is_a_candidate_when_deleted_and_protected(void **state _unused_)
{
	static const struct {
		const char *meta;
		bool is_candidate;
	} cases[] = {
		{"{" DELETED "," PROTECTED "}", true},
		{"{" PROTECTED "}", false},
		{"{" DELETED ",\"finalizers\":[\"x.io/y\"]}", false},
		{"{" DELETED "}", false},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(claim_is_candidate(parse(&a, cases[i].meta)), cases[i].is_candidate);
	}
	arena_done(&a);
}

#define POD(meta, spec) "{\"metadata\":{\"name\":\"p\",\"uid\":\"u1\"" meta "},\"spec\":{" spec "}}"
#define ON_NODE "\"nodeName\":\"n\","
#define NAMES(claim) "\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}},{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"" claim "\"}}]"
#define EPHEMERAL "\"volumes\":[{\"name\":\"v\",\"ephemeral\":{\"volumeClaimTemplate\":{}}}]"
#define CLAIM(name, more) "{\"metadata\":{\"name\":\"" name "\"" more "}}"
#define OWNED(uid) ",\"ownerReferences\":[{\"uid\":\"u0\"},{\"uid\":\"" uid "\",\"controller\":true}]"

static void test_claim__is_used_by_pods_on_nodes(void **state _unused_)
{
	static const struct {
		const char *pod, *claim;
		bool is_used;
	} cases[] = {
		{POD("", ON_NODE NAMES("c")), CLAIM("c", ""), true},
		{POD("", ON_NODE NAMES("other")), CLAIM("c", ""), false},
		{POD("", NAMES("c")), CLAIM("c", ""), false},
		{POD("," DELETED ",\"deletionGracePeriodSeconds\":0", ON_NODE NAMES("c")), CLAIM("c", ""), true},
		{POD("", ON_NODE "\"volumes\":[]"), CLAIM("c", ""), false},
		{POD("", ON_NODE EPHEMERAL), CLAIM("p-v", OWNED("u1")), true},
		{POD("", ON_NODE EPHEMERAL), CLAIM("p-v", OWNED("u2")), false},
		{POD("", ON_NODE EPHEMERAL), CLAIM("p-v", ""), false},
		{POD("", ON_NODE EPHEMERAL), CLAIM("p-w", OWNED("u1")), false},
		{POD("", ON_NODE EPHEMERAL), CLAIM("pxv", OWNED("u1")), false},
		{POD("", ON_NODE EPHEMERAL), CLAIM("p-xv", OWNED("u1")), false},
		{POD("," DELETED ",\"deletionGracePeriodSeconds\":30", ON_NODE EPHEMERAL), CLAIM("p-v", OWNED("u1")), true},
		{POD("," DELETED ",\"deletionGracePeriodSeconds\":0", ON_NODE EPHEMERAL), CLAIM("p-v", OWNED("u1")), false},
		{POD(",\"deletionGracePeriodSeconds\":0", ON_NODE EPHEMERAL), CLAIM("p-v", OWNED("u1")), true},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(claim_is_used_by(parse(&a, cases[i].pod), parse(&a, cases[i].claim)), cases[i].is_used);
	}
	arena_done(&a);
}

static void test_claim__may_be_freed_by_pods_that_do_not_run(void **state _unused_)
{
	static const struct {
		const char *pod;
		bool is_gone, may_free;
	} cases[] = {
		{"{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}", false, false},
		{"{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}", true, true},
		{"{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Succeeded\"}}", false, true},
		{"{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Failed\"}}", false, true},
		{"{\"spec\":{},\"status\":{\"phase\":\"Pending\"}}", false, true},
		{"{\"metadata\":{" DELETED ",\"deletionGracePeriodSeconds\":0},\"spec\":{\"nodeName\":\"n\"}}", false, true},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(claim_may_be_freed_by(parse(&a, cases[i].pod), cases[i].is_gone), cases[i].may_free);
	}
	arena_done(&a);
}

static void test_claim_of_pod__names_each(void **state _unused_)
{
	struct arena a;
	struct str name;
	uint32_t i = 0;
	arena_init(&a, 1 << 20);
	const struct json *pod = parse(&a,
		"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"volumes\":[{\"name\":\"v\",\"ephemeral\":{}},{\"name\":\"e\",\"emptyDir\":{}},"
		"{\"name\":\"w\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]}}");
	assert_true(claim_of_pod(pod, &i, &a, &name));
	assert_str(name, "p-v");
	assert_true(claim_of_pod(pod, &i, &a, &name));
	assert_str(name, "c");
	assert_false(claim_of_pod(pod, &i, &a, &name));
	arena_done(&a);
}

static void test_claim_unprotected__keeps_the_rest(void **state _unused_)
{
	struct arena a;
	struct buf text;
	arena_init(&a, 1 << 20);
	buf_init(&text, 1 << 20);
	json_encode(&text, claim_unprotected(&a, parse(&a, "{\"metadata\":{\"name\":\"c\"," PROTECTED ",\"resourceVersion\":\"5\"},\"spec\":{}}")));
	assert_str(buf_str(&text), "{\"metadata\":{\"name\":\"c\",\"finalizers\":[\"x.io/y\"],\"resourceVersion\":\"5\"},\"spec\":{}}");
	buf_done(&text);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_claim__is_a_candidate_when_deleted_and_protected),
		TEST(test_claim__is_used_by_pods_on_nodes),
		TEST(test_claim__may_be_freed_by_pods_that_do_not_run),
		TEST(test_claim_of_pod__names_each),
		TEST(test_claim_unprotected__keeps_the_rest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
