#include "server/parse/continue.h"
#include "server/parse/params.h"
#include "tests/unit/check.h"

struct fixture {
	struct arena a;
	struct status st;
};

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	arena_init(&f->a, (size_t)1 << 20);
	status_init(&f->st, &f->a);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_done(&f->a);
	mem_free(f);
	return 0;
}

static struct params parse(struct fixture *f, const char *query)
{
	struct params p;

	assert_true(params_parse(&p, str_of(query), &f->a));
	return p;
}

static void assert_message(struct fixture *f, int code, const char *message)
{
	assert_int_equal(f->st.code, code);
	assert_string_equal(arena_dup(&f->a, f->st.message).p, message);
}

static void test_params__unescapes_and_takes_the_first(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "a=1&b=x%20y+z&a=2&empty=&flag");

	assert_true(str_is(params_get(&p, "a"), "1"));
	assert_true(str_is(params_get(&p, "b"), "x y z"));
	assert_true(params_has(&p, "flag"));
	assert_int_equal(params_get(&p, "empty").n, 0);
	assert_false(params_has(&p, "none"));
}

static void test_params__drops_pairs_go_would_drop(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "a=%zz&b=1;c=2&d=3&e=%4");

	assert_false(params_has(&p, "a"));
	assert_false(params_has(&p, "b"));
	assert_true(str_is(params_get(&p, "d"), "3"));
	assert_false(params_has(&p, "e"));
}

static void test_params__too_many_are_refused(void **state)
{
	struct fixture *f = *state;
	struct params p;
	struct buf b;

	buf_init(&b, 1 << 16);
	for (int i = 0; i < PARAMS_MAX + 1; i++) {
		buf_adds(&b, "a=1&");
	}
	assert_false(params_parse(&p, buf_str(&b), &f->a));
	buf_done(&b);
}

static void test_params_bool__everything_but_zero_and_false_is_true(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "a=maybe&b=0&c=False&d=&e=1");

	assert_true(params_bool(&p, "a"));
	assert_false(params_bool(&p, "b"));
	assert_false(params_bool(&p, "c"));
	assert_false(params_bool(&p, "d"));
	assert_true(params_bool(&p, "e"));
	assert_false(params_bool(&p, "f"));
}

/* All that is read of options without a selector, in kube's order. */
static int parse_list(struct fixture *f, struct list_options *ret, const struct params *p, bool is_watch)
{
	return list_options_parse(ret, p, is_watch, &f->st) || list_options_validate(ret, &f->a, &f->st) ||
	       list_version_parse(ret, is_watch, &f->st);
}

static void test_list_options__plain(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "limit=5&resourceVersion=7&resourceVersionMatch=Exact&labelSelector=a%3Db");
	struct list_options o;

	assert_int_equal(parse_list(f, &o, &p, false), 0);
	assert_int_equal(o.limit, 5);
	assert_int_equal(o.version, 7);
	assert_int_equal(o.match, MATCH_EXACT);
	assert_true(str_is(o.label_selector, "a=b"));
	assert_int_equal(o.timeout_s, -1);
}

static void test_list_options__numbers_must_be_numbers(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "limit=abc");
	struct list_options o;

	assert_int_equal(parse_list(f, &o, &p, false), 1);
	assert_message(f, 400, "strconv.ParseInt: parsing \"abc\": invalid syntax");
}

static void test_list_options__an_empty_number_is_none(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "limit=");
	struct list_options o;

	assert_int_equal(parse_list(f, &o, &p, false), 1);
	assert_message(f, 400, "strconv.ParseInt: parsing \"\": invalid syntax");
}

static void test_list_options__an_empty_optional_boolean_is_true(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "sendInitialEvents=&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=");
	struct list_options o;

	assert_int_equal(parse_list(f, &o, &p, true), 0);
	assert_true(o.has_send_initial && o.send_initial);
	assert_false(o.allow_bookmarks);
}

static void test_list_options__match_needs_a_version(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "resourceVersionMatch=NotOlderThan&continue=x");
	struct list_options o;

	assert_int_equal(parse_list(f, &o, &p, false), 1);
	assert_message(f, 422,
		       "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
		       "resourceVersion is provided, resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is "
		       "provided]");
	assert_int_equal(f->st.n_causes, 2);
}

static void test_list_options__watch_has_rules_of_its_own(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "sendInitialEvents=true");
	struct list_options o;

	assert_int_equal(parse_list(f, &o, &p, true), 1);
	assert_message(f, 422,
		       "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
		       "resourceVersionMatch to NotOlderThan");
	status_init(&f->st, &f->a);
	p = parse(f, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
	assert_int_equal(parse_list(f, &o, &p, true), 0);
	assert_true(o.has_send_initial && o.send_initial);
}

static void test_write_options__dry_run_is_all_or_wrong(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "dryRun=All&dryRun=Bogus");
	struct write_options o;

	assert_int_equal(write_options_parse(&o, &p, "CreateOptions", false, &f->a, &f->st), 1);
	assert_message(f, 422,
		       "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"All\",\"Bogus\"]: supported values: \"All\"");
	status_init(&f->st, &f->a);
	p = parse(f, "dryRun=All&fieldValidation=Strict");
	assert_int_equal(write_options_parse(&o, &p, "CreateOptions", false, &f->a, &f->st), 0);
	assert_true(o.dry_run);
	assert_int_equal(o.field_validation, VALIDATE_STRICT);
}

static void test_write_options__apply_needs_a_manager(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "");
	struct write_options o;

	assert_int_equal(write_options_parse(&o, &p, "PatchOptions", true, &f->a, &f->st), 1);
	assert_message(f, 422,
		       "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch");
}

static void test_delete_options__body_beats_query(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "dryRun=All&propagationPolicy=Foreground");
	struct delete_options o;
	struct json *body;
	size_t at;

	assert_int_equal(delete_options_parse(&o, &p, NULL, &f->a, &f->st), 0);
	assert_true(o.dry_run);
	assert_int_equal(o.propagation, PROPAGATE_FOREGROUND);
	assert_int_equal(json_parse(&body, &f->a, STR("{\"preconditions\":{\"uid\":\"u\"}}"), JSON_LIMITS_DEFAULT, &at), 0);
	assert_int_equal(delete_options_parse(&o, &p, body, &f->a, &f->st), 0);
	assert_false(o.dry_run);
	assert_int_equal(o.propagation, PROPAGATE_DEFAULT);
	assert_true(o.has_uid && str_is(o.uid, "u"));
	assert_false(o.has_version);
}

static void test_delete_options__query_has_preconditions_too(void **state)
{
	struct fixture *f = *state;
	struct params p = parse(f, "uid=u&resourceVersion=");
	struct delete_options o;

	assert_int_equal(delete_options_parse(&o, &p, NULL, &f->a, &f->st), 0);
	assert_true(o.has_uid && str_is(o.uid, "u"));
	assert_false(o.has_version);
}

static void test_delete_options__what_has_no_effect_is_checked(void **state)
{
	static const char *const bodies[] = {"{\"gracePeriodSeconds\":1.5}",
					     "{\"ignoreStoreReadErrorWithClusterBreakingPotential\":\"x\"}"};
	struct fixture *f = *state;
	struct delete_options o;
	struct json *body;
	size_t at;

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		status_init(&f->st, &f->a);
		assert_int_equal(json_parse(&body, &f->a, str_of(bodies[i]), JSON_LIMITS_DEFAULT, &at), 0);
		assert_int_equal(delete_options_parse(&o, NULL, body, &f->a, &f->st), 1);
		assert_int_equal(f->st.code, 400);
	}
}

static void assert_comes_back(struct fixture *f, int64_t revision, struct str start)
{
	struct continue_token t;
	struct str text = continue_token_make(&(struct continue_token){revision, start}, &f->a);

	assert_int_equal(continue_token_parse(&t, text, &f->a, &f->st), 0);
	assert_int_equal(t.revision, revision);
	assert_true(str_eq(t.start, start));
}

static void test_continue_token__comes_back(void **state)
{
	assert_comes_back(*state, 42, STR("name\0"));
	assert_comes_back(*state, -1, STR("ns/name\0"));
	assert_comes_back(*state, 1, STR("from-this-one"));
}

static void assert_refused(struct fixture *f, const char *token, const char *why)
{
	struct continue_token t;

	status_init(&f->st, &f->a);
	assert_int_equal(continue_token_parse(&t, str_of(token), &f->a, &f->st), 1);
	assert_int_equal(f->st.code, 400);
	assert_true(str_eq(f->st.message, arena_printf(&f->a, "invalid continue token: continue key is not valid: %s", why)));
}

static void test_continue_token__rubbish_is_a_400(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, "!!", "illegal base64 data at input byte 0");
	assert_refused(f, "YQ==", "illegal base64 data at input byte 2");
	assert_refused(f, "YWJjZ", "illegal base64 data at input byte 4");
	assert_refused(f, "e30", "server does not recognize this encoded version ");
	assert_refused(f, "bnVsbA", "server does not recognize this encoded version ");
	assert_refused(f, "W10", "json: cannot unmarshal array into Go value of type storage.continueToken");
	assert_refused(f, "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
}

static void test_continue_token__leads_nowhere_else(void **state)
{
	static const char *const starts[] = {"../a", "a/../b", "a//b", "./a", "a/", ".", "//a"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		const struct continue_token token = {7, str_of(starts[i])};
		assert_refused(f, arena_printf(&f->a, STR_FMT, STR_ARG(continue_token_make(&token, &f->a))).p, starts[i]);
	}
}

#define WITH_ARENA(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ARENA(test_params__unescapes_and_takes_the_first),
		WITH_ARENA(test_params__drops_pairs_go_would_drop),
		WITH_ARENA(test_params__too_many_are_refused),
		WITH_ARENA(test_params_bool__everything_but_zero_and_false_is_true),
		WITH_ARENA(test_list_options__plain),
		WITH_ARENA(test_list_options__numbers_must_be_numbers),
		WITH_ARENA(test_list_options__match_needs_a_version),
		WITH_ARENA(test_list_options__watch_has_rules_of_its_own),
		WITH_ARENA(test_write_options__dry_run_is_all_or_wrong),
		WITH_ARENA(test_write_options__apply_needs_a_manager),
		WITH_ARENA(test_delete_options__body_beats_query),
		WITH_ARENA(test_list_options__an_empty_number_is_none),
		WITH_ARENA(test_list_options__an_empty_optional_boolean_is_true),
		WITH_ARENA(test_delete_options__query_has_preconditions_too),
		WITH_ARENA(test_delete_options__what_has_no_effect_is_checked),
		WITH_ARENA(test_continue_token__comes_back),
		WITH_ARENA(test_continue_token__rubbish_is_a_400),
		WITH_ARENA(test_continue_token__leads_nowhere_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
