#include "cli/kubectl/put_back.h"

#include "api/diff/state.h"
#include "tests/unit/tree.h"

#define HEX "0123456789abcdef0123456789abcdef"
#define REDACTED "annals.dev/redacted:" HEX

static struct put_back of(const char *live, const char *ignore, const char *recorded)
{
	struct state_rules rules = {.shows_secrets = true, .max_bytes = INT64_MAX};
	assert_true(pointer_patterns_read(&rules.ignore, parse(ignore), &arena));
	struct put_back p = {.live = live ? parse(live) : NULL, .recorded = parse(recorded), .arena = &arena};
	p.state = p.live ? state_of(p.live, &rules, &arena) : NULL;
	put_back(&p);
	return p;
}

static void expect(const struct put_back *p, const char *object, const char *kept, const char *missing, const char *unclear)
{
	if (!json_equal(p->object, parse(object))) {
		assert_str(encoded(p->object), object);
	}
	assert_str(encoded(p->kept), kept);
	assert_str(encoded(p->missing), missing);
	assert_str(encoded(p->unclear), unclear);
}

static void check(const char *live, const char *ignore, const char *recorded, const char *object)
{
	struct put_back p = of(live, ignore, recorded);
	expect(&p, object, "[]", "[]", "[]");
}

#define OBJECT "\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\"}"

static void test_put_back__members_come_go_and_change(void **state _unused_)
{
	check("{" OBJECT ",\"status\":{\"s\":1},\"data\":{\"a\":1,\"new\":2}}", "[]",
		"{" OBJECT ",\"data\":{\"a\":0,\"old\":{}}}",
		"{" OBJECT ",\"status\":{\"s\":1},\"data\":{\"a\":0,\"old\":{}}}");
	check("{" OBJECT ",\"data\":{\"a\":1}}", "[]", "{" OBJECT "}", "{" OBJECT "}");
	check("{" OBJECT "}", "[]", "{" OBJECT ",\"data\":{\"a\":[1,null]}}", "{" OBJECT ",\"data\":{\"a\":[1,null]}}");
	check("{" OBJECT ",\"a\":{\"b\":1}}", "[]", "{" OBJECT ",\"a\":[1]}", "{" OBJECT ",\"a\":[1]}");
}

/* Whoever undoes nothing writes nothing: numbers are as they were spelled. */
static void test_put_back__of_what_is_as_recorded_is_the_object(void **state _unused_)
{
	struct put_back p = of("{" OBJECT ",\"a\":1.0}", "[]", "{" OBJECT ",\"a\":1}");
	assert_true(json_equal(p.object, p.live));
	assert_str(encoded(p.object), "{" OBJECT ",\"a\":1.0}");
}

static void test_put_back__metadata_beyond_the_state_stays(void **state _unused_)
{
	check("{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"selfLink\":\"f\","
	      "\"annotations\":{"
	      "\"kubernetes.io/change-cause\":\"c\",\"a\":\"1\"},\"labels\":{\"l\":\"1\"}}}",
		"[]", "{" OBJECT "}",
		"{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"selfLink\":\"f\","
		"\"annotations\":{"
		"\"kubernetes.io/change-cause\":\"c\"}}}");
}

static void test_put_back__what_is_ignored_stays(void **state _unused_)
{
	check("{" OBJECT ",\"spec\":{\"replicas\":5,\"x\":1}}", "[\"/spec/replicas\"]", "{" OBJECT ",\"spec\":{\"x\":2}}",
		"{" OBJECT ",\"spec\":{\"replicas\":5,\"x\":2}}");
	/* also where all that was recorded beside it goes */
	check("{" OBJECT ",\"spec\":{\"in\":{\"replicas\":5,\"x\":1}}}", "[\"/spec/in/replicas\"]", "{" OBJECT "}",
		"{" OBJECT ",\"spec\":{\"in\":{\"replicas\":5}}}");
	/* and where nothing was recorded beside it */
	check("{" OBJECT ",\"spec\":{\"in\":{\"replicas\":5}}}", "[\"/spec/in/replicas\"]",
		"{" OBJECT ",\"spec\":{\"in\":{\"x\":1}}}", "{" OBJECT ",\"spec\":{\"in\":{\"replicas\":5,\"x\":1}}}");
}

/* The one that stays keeps its own; the recreated one has none. */
static void test_put_back__items_keep_what_is_ignored_in_them(void **state _unused_)
{
	check("{" OBJECT ",\"hooks\":[{\"name\":\"b\",\"ca\":\"B\",\"x\":2},{\"name\":\"a\",\"ca\":\"A\",\"x\":1}]}",
		"[\"/hooks/*/ca\"]",
		"{" OBJECT ",\"hooks\":[{\"name\":\"a\",\"x\":0},{\"name\":\"c\"},{\"name\":\"b\",\"x\":2}]}",
		"{" OBJECT
		",\"hooks\":[{\"name\":\"a\",\"ca\":\"A\",\"x\":0},{\"name\":\"c\"},{\"name\":\"b\",\"ca\":\"B\",\"x\":2}]}");
	/* Nothing else identifies these, but the list is as it was. */
	check("{" OBJECT ",\"x\":1,\"l\":[{\"a\":1,\"ca\":\"A\"}]}", "[\"/l/*/ca\"]", "{" OBJECT ",\"x\":2,\"l\":[{\"a\":1}]}",
		"{" OBJECT ",\"x\":2,\"l\":[{\"a\":1,\"ca\":\"A\"}]}");
}

static void test_put_back__items_that_nothing_tells_apart_are_unclear(void **state _unused_)
{
	struct put_back p =
		of("{" OBJECT ",\"l\":[{\"a\":1,\"ca\":\"A\"},{\"a\":2}]}", "[\"/l/*/ca\"]", "{" OBJECT ",\"l\":[{\"a\":2}]}");
	assert_str(encoded(p.unclear), "[\"/l\"]");
	p = of("{" OBJECT ",\"l\":[{\"name\":\"x\",\"ca\":\"A\"},{\"name\":\"x\"}]}", "[\"/l/*/ca\"]",
		"{" OBJECT ",\"l\":[{\"name\":\"x\"}]}");
	assert_str(encoded(p.unclear), "[\"/l\"]"); /* two of a name */
	p = of("{" OBJECT ",\"l\":[1,2,3]}", "[\"/l/0\"]", "{" OBJECT ",\"l\":[2]}");
	assert_str(encoded(p.unclear), "[\"/l\"]"); /* one of them is no state */
	p = of("{" OBJECT ",\"l\":[1]}", "[\"/l/*\"]", "{" OBJECT ",\"l\":[2]}");
	assert_str(encoded(p.unclear), "[\"/l\"]"); /* none of them is */
	p = of("{" OBJECT ",\"l\":[{\"name\":\"y\"},{\"name\":\"x\",\"v\":1}]}", "[\"/l/0\"]",
		"{" OBJECT ",\"l\":[{\"name\":\"x\",\"v\":0}]}");
	assert_str(encoded(p.unclear), "[\"/l\"]"); /* names distinguish them, but one is no state: places do not agree */
	assert_str(encoded(json_get(p.object, STR("l"))), "[{\"name\":\"y\"},{\"name\":\"x\",\"v\":1}]");
	check("{" OBJECT ",\"l\":[{\"a\":1},{\"a\":2}]}", "[]", "{" OBJECT ",\"l\":[{\"a\":2}]}",
		"{" OBJECT ",\"l\":[{\"a\":2}]}");
}

static void test_put_back__what_was_redacted_stays_or_is_missed(void **state _unused_)
{
	struct put_back p = of("{" OBJECT ",\"data\":{\"a\":\"A\",\"x\":\"2\"}}", "[]",
		"{" OBJECT ",\"data\":{\"a\":\"" REDACTED "\",\"b~/\":\"" REDACTED "\",\"x\":\"1\"}}");
	expect(&p, "{" OBJECT ",\"data\":{\"a\":\"A\",\"x\":\"1\"}}", "[\"/data/a\"]", "[\"/data/b~0~1\"]", "[]");
	assert_str(encoded(json_gets(p.shown, "data")), "{\"a\":\"" REDACTED "\",\"x\":\"2\"}");
	/* A text that only looks like it is one. */
	check("{" OBJECT ",\"a\":\"A\"}", "[]", "{" OBJECT ",\"a\":\"annals.dev/redacted:\"}",
		"{" OBJECT ",\"a\":\"annals.dev/redacted:\"}");
}

static void test_put_back__redacted_items(void **state _unused_)
{
	/* of the same item, by name; of one that is not there any more */
	struct put_back p = of("{" OBJECT ",\"env\":[{\"name\":\"b\",\"value\":\"B\"},{\"name\":\"a\",\"value\":\"A\"}]}", "[]",
		"{" OBJECT ",\"env\":[{\"name\":\"a\",\"value\":\"" REDACTED "\"},{\"name\":\"c\",\"value\":\"" REDACTED
		"\"}]}");
	expect(&p, "{" OBJECT ",\"env\":[{\"name\":\"a\",\"value\":\"A\"},{\"name\":\"c\"}]}", "[\"/env/0/value\"]",
		"[\"/env/1/value\"]", "[]");
	/* as many, and alike but for what is redacted: nothing changes */
	p = of("{" OBJECT ",\"args\":[\"x\",\"secret\"]}", "[]", "{" OBJECT ",\"args\":[\"x\",\"" REDACTED "\"]}");
	expect(&p, "{" OBJECT ",\"args\":[\"x\",\"secret\"]}", "[\"/args/1\"]", "[]", "[]");
	/* which of them it was nobody knows */
	p = of("{" OBJECT ",\"args\":[\"y\",\"secret\"]}", "[]", "{" OBJECT ",\"args\":[\"x\",\"" REDACTED "\"]}");
	expect(&p, "{" OBJECT ",\"args\":[\"x\"]}", "[]", "[\"/args/1\"]", "[]");
}

static void test_put_back__of_what_is_gone(void **state _unused_)
{
	struct put_back p = of(NULL, "[]", "{" OBJECT ",\"data\":{\"a\":\"" REDACTED "\",\"x\":[{\"y\":\"" REDACTED "\"}]}}");
	expect(&p, "{" OBJECT ",\"data\":{\"x\":[{}]}}", "[]", "[\"/data/a\",\"/data/x/0/y\"]", "[]");
}

static void test_mask__shows_which_values_of_a_secret_change(void **state _unused_)
{
	struct json *before = parse("{\"data\":{\"a\":\"1\",\"b\":\"2\",\"gone\":\"3\"},\"type\":\"Opaque\"}");
	struct json *after = parse("{\"data\":{\"a\":\"1\",\"b\":\"4\"},\"stringData\":{\"new\":\"5\"}}");
	put_back_mask_secret(&before, &after, &arena);
	assert_str(encoded(before),
		"{\"data\":{\"a\":\"***\",\"b\":\"*** (before)\",\"gone\":\"*** (before)\"},\"type\":\"Opaque\"}");
	assert_str(encoded(after), "{\"data\":{\"a\":\"***\",\"b\":\"*** (after)\"},\"stringData\":{\"new\":\"*** (after)\"}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_put_back__members_come_go_and_change),
		TEST_TREE(test_put_back__of_what_is_as_recorded_is_the_object),
		TEST_TREE(test_put_back__metadata_beyond_the_state_stays),
		TEST_TREE(test_put_back__what_is_ignored_stays),
		TEST_TREE(test_put_back__items_keep_what_is_ignored_in_them),
		TEST_TREE(test_put_back__items_that_nothing_tells_apart_are_unclear),
		TEST_TREE(test_put_back__what_was_redacted_stays_or_is_missed),
		TEST_TREE(test_put_back__redacted_items),
		TEST_TREE(test_put_back__of_what_is_gone),
		TEST_TREE(test_mask__shows_which_values_of_a_secret_change),
	};
	return cmocka_run_group_tests_name("put_back", tests, NULL, NULL);
}
