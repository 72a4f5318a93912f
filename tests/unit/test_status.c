#include "tests/unit/api_world.h"

static void assert_status(struct api_world *w, const char *expected)
{
	assert_string_equal(world_print(w, status_to_json(&w->st, &w->a)), expected);
}

static void test_status__not_found_names_the_object(void **state)
{
	struct api_world *w = *state;
	status_not_found(&w->st, STR("apps"), STR("controllerrevisions"), STR("web-2"));
	assert_status(w,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
		"\"controllerrevisions.apps \\\"web-2\\\" not found\",\"reason\":\"NotFound\",\"details\":{\"name\":\"web-2\","
		"\"group\":\"apps\",\"kind\":\"controllerrevisions\"},\"code\":404}");
}

static void test_status__core_group_is_not_named(void **state)
{
	struct api_world *w = *state;
	status_already_exists(&w->st, STR(""), STR("configmaps"), STR("a"));
	assert_status(w,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
		"\"configmaps \\\"a\\\" already exists\",\"reason\":\"AlreadyExists\",\"details\":{\"name\":\"a\","
		"\"kind\":\"configmaps\"},\"code\":409}");
}

static void test_status__router_answers_have_empty_details(void **state)
{
	struct api_world *w = *state;
	status_method_not_allowed(&w->st);
	assert_status(w,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
		"\"the server does not allow this method on the requested resource\",\"reason\":\"MethodNotAllowed\","
		"\"details\":{},\"code\":405}");
	status_route_not_found(&w->st);
	assert_str(w->st.message, "the server could not find the requested resource");
	assert_true(w->st.has_details);
}

static void test_status__bad_request_has_no_details(void **state)
{
	struct api_world *w = *state;
	status_bad_request(&w->st, "the name of the object (%s) does not match the name on the URL (%s)", "b", "a");
	assert_status(w,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
		"\"the name of the object (b) does not match the name on the URL "
		"(a)\",\"reason\":\"BadRequest\",\"code\":400}");
}

static void test_status__no_reason_is_left_out(void **state)
{
	struct api_world *w = *state;
	status_set(&w->st, 500, NULL, "boom");
	assert_status(w,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"boom\","
		"\"code\":500}");
}

static void test_status__conflict_and_forbidden_give_their_reasons(void **state)
{
	struct api_world *w = *state;
	status_conflict(&w->st, STR("apps"), STR("controllerrevisions"), STR("a"), "the object has been modified");
	assert_str(
		w->st.message, "Operation cannot be fulfilled on controllerrevisions.apps \"a\": the object has been modified");
	status_forbidden(&w->st, STR(""), STR("namespaces"), STR("default"), "this namespace may not be deleted");
	assert_str(w->st.message, "namespaces \"default\" is forbidden: this namespace may not be deleted");
	status_forbidden(&w->st, STR("apps"), STR("controllerrevisions"), STR(""), "no");
	assert_str(w->st.message, "controllerrevisions.apps is forbidden: no");
}

static void test_status__retry_after_is_a_detail(void **state)
{
	struct api_world *w = *state;
	status_set(&w->st, 429, REASON_TOO_MANY_REQUESTS, "too many");
	w->st.retry_after_s = 1;
	world_assert_json(w, json_gets(status_to_json(&w->st, &w->a), "details"), "{\"retryAfterSeconds\":1}");
}

static void test_status__expired_carries_the_token_to_go_on_with(void **state)
{
	struct api_world *w = *state;
	status_expired(&w->st, "too old");
	w->st.continue_token = STR("abc");
	world_assert_json(w, json_gets(status_to_json(&w->st, &w->a), "metadata"), "{\"continue\":\"abc\"}");
}

static void test_status__internal_error_repeats_itself_as_cause(void **state)
{
	struct api_world *w = *state;
	status_internal(&w->st, "disk on fire");
	assert_str(w->st.message, "Internal error occurred: disk on fire");
	world_assert_json(
		w, json_gets(status_to_json(&w->st, &w->a), "details"), "{\"causes\":[{\"message\":\"disk on fire\"}]}");
}

static void test_status__success_of_a_delete(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(world_print(w, status_success(&w->a, STR("apps"), STR("controllerrevisions"), STR("a"), STR("u"))),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"details\":{\"name\":\"a\","
		"\"group\":\"apps\",\"kind\":\"controllerrevisions\",\"uid\":\"u\"}}");
}

static void test_invalid__one_error_stands_alone(void **state)
{
	struct api_world *w = *state;
	struct field_errors e;
	field_errors_init(&e, &w->a);
	field_required(&e, STR("data"), "data is mandatory");
	status_invalid(&w->st, STR("apps"), STR("ControllerRevision"), STR("a"), &e);
	assert_status(w,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
		"\"ControllerRevision.apps \\\"a\\\" is invalid: data: Required value: data is "
		"mandatory\",\"reason\":\"Invalid\","
		"\"details\":{\"name\":\"a\",\"group\":\"apps\",\"kind\":\"ControllerRevision\",\"causes\":[{\"reason\":"
		"\"FieldValueRequired\",\"message\":\"Required value: data is mandatory\",\"field\":\"data\"}]},\"code\":422}");
}

static void test_invalid__repetitions_are_causes_but_said_once(void **state)
{
	struct api_world *w = *state;
	struct field_errors e;
	field_errors_init(&e, &w->a);
	field_invalid_str(&e, STR("metadata.uid"), STR("x"), "field is immutable");
	field_invalid(&e, STR("revision"), world_parse(w, "-1"), "must be greater than or equal to %d", 0);
	field_invalid_str(&e, STR("metadata.uid"), STR("x"), "field is immutable");
	status_invalid(&w->st, STR(""), STR("Thing"), STR("a"), &e);
	assert_str(w->st.message,
		"Thing \"a\" is invalid: [metadata.uid: Invalid value: \"x\": field is immutable, revision: Invalid "
		"value: -1: must be greater than or equal to 0]");
	assert_int_equal(w->st.n_causes, 3);
}

static void test_invalid__without_path_it_is_nil(void **state)
{
	struct api_world *w = *state;
	struct field_errors e;
	field_errors_init(&e, &w->a);
	field_invalid_str(&e, STR(""), STR("x"), "no");
	status_invalid(&w->st, STR(""), STR("Thing"), STR(""), &e);
	assert_str(w->st.message, "Thing \"\" is invalid: <nil>: Invalid value: \"x\": no");
}

static void test_invalid__each_type_prints_its_way(void **state)
{
	struct api_world *w = *state;
	static const char *const supported[] = {"", "Ignore"};
	struct field_errors e;
	field_errors_init(&e, &w->a);
	field_not_supported(&e, STR("v"), STR("s"), supported, 2);
	field_too_long(&e, STR("t"), 128);
	field_forbidden(&e, STR("f"), "may not be %s", "set");
	field_duplicate(&e, STR("d"), world_parse(w, "\"a\""));
	field_invalid(&e, STR("n"), NULL, "field is immutable");
	field_invalid(&e, STR("o"), world_parse(w, "{ \"a\": [1, true] }"), "odd");
	status_invalid(&w->st, STR(""), STR("T"), STR("a"), &e);
	static const char *const messages[] = {
		"Unsupported value: \"s\": supported values: \"\", \"Ignore\"",
		"Too long: may not be more than 128 bytes",
		"Forbidden: may not be set",
		"Duplicate value: \"a\"",
		"Invalid value: null: field is immutable",
		"Invalid value: {\"a\":[1,true]}: odd",
	};
	assert_int_equal(w->st.n_causes, ARRAY_SIZE(messages));
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		assert_str(w->st.causes[i].message, messages[i]);
	}
}

/* However many errors a body provokes, what they take is bounded. */
static void test_invalid__a_full_arena_ends_the_list(void **state)
{
	struct api_world *w = *state;
	struct arena small;
	struct field_errors e;
	arena_init(&small, 64 * 1024);
	field_errors_init(&e, &small);
	struct str long_text = {arena_alloc(&w->a, 1000), 1000};
	memset((char *)(uintptr_t)long_text.p, 'x', long_text.n);
	for (int i = 0; i < 10000; i++) {
		field_invalid_str(&e, STR("f"), long_text, "no");
	}
	assert_true(arena_is_full(&small));
	assert_true(e.n < 1000);
	arena_done(&small);
}

/* An object that takes all the memory there is must not be right for that. */
static void test_invalid__the_first_error_counts_in_a_full_arena(void **state)
{
	(void)state;
	struct arena a;
	struct field_errors e;
	arena_init(&a, 64);
	arena_alloc(&a, 4096);
	assert_true(arena_is_full(&a));
	field_errors_init(&e, &a);
	field_required(&e, STR("x"), "%s", "");
	field_required(&e, STR("y"), "%s", "");
	assert_int_equal(e.n, 1);
	assert_str(e.v[0].path, "x");
	arena_done(&a);
}

enum { ANSWER_MAX = 2 << 20 }; /* bytes: what 3 MiB of mistakes may come to */

static void assert_small(struct api_world *w)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 64 << 20);
	json_encode(&text, status_to_json(&w->st, &w->a));
	assert_true(text.n > 0 && text.n < ANSWER_MAX);
}

/* Each byte of the worst is four when it is quoted, and twice as many in JSON. */
static void test_invalid__of_what_is_long_the_beginning_is_shown(void **state)
{
	struct api_world *w = *state;
	const size_t n = 1 << 20;
	char *bad = arena_text(&w->a, n);
	struct field_errors e;

	memset(bad, '\x01', n);
	field_errors_init(&e, &w->a);
	field_duplicate(&e, STR("y"), json_string(&w->a, STR("short")));
	field_invalid_str(&e, (struct str){bad, n}, (struct str){bad, n}, "%.*s", (int)n, bad);
	field_invalid(&e, STR("x"), json_string(&w->a, (struct str){bad, n}), "%s", "");
	status_invalid(&w->st, STR(""), STR("ConfigMap"), (struct str){bad, n}, &e);
	assert_int_equal(w->st.n_causes, 3);
	assert_str(w->st.causes[0].message, "Duplicate value: \"short\"");
	assert_true(str_ends(w->st.causes[2].message, STR("\\x01\"...")));
	assert_small(w);
}

/* Characters are not cut, and what just fits is whole. */
static void test_invalid__shows_whole_characters(void **state)
{
	struct api_world *w = *state;
	const size_t fits = 32 << 10;
	char *text = arena_text(&w->a, fits + 2);
	struct field_errors e;

	memset(text, 'a', fits + 2);
	field_errors_init(&e, &w->a);
	field_invalid_str(&e, STR("x"), (struct str){text, fits}, "%s", "");
	assert_int_equal(e.v[0].bad_value.n, fits + strlen("\"\""));
	memcpy(text + fits - 1, "\xe2\x82\xac", 3);
	field_invalid_str(&e, STR("x"), (struct str){text, fits + 2}, "%s", "");
	assert_int_equal(e.v[1].bad_value.n, fits - 1 + strlen("\"\"..."));
}

static void test_invalid__counts_what_is_too_much_to_tell(void **state)
{
	struct api_world *w = *state;
	enum { N = 100000 };
	struct field_errors e;
	char more[64];

	field_errors_init(&e, &w->a);
	for (size_t i = 0; i < N; i++) {
		field_not_found(&e, field_index(&w->a, STR("metadata.finalizers"), i), STR("no such thing"));
	}
	assert_true(e.n > 1000 && e.n < N);
	assert_int_equal(e.n + e.n_left_out, N);
	status_invalid(&w->st, STR(""), STR("ConfigMap"), STR("a"), &e);
	assert_int_equal(w->st.n_causes, e.n);
	snprintf(more, sizeof(more), ", and %zu more]", e.n_left_out);
	assert_true(str_ends(w->st.message, str_of(more)));
	assert_small(w);
}

static void test_paths__grow_by_child_index_and_key(void **state)
{
	struct api_world *w = *state;
	assert_str(field_path(&w->a, STR("metadata"), "name"), "metadata.name");
	assert_str(field_path(&w->a, STR(""), "data"), "data");
	assert_str(field_index(&w->a, STR("x"), 3), "x[3]");
	assert_str(field_key(&w->a, STR("x"), STR("k")), "x[k]");
}

static void test_go_quote__prints_like_go(void **state)
{
	struct api_world *w = *state;
	static const struct {
		struct str in;
		const char *out;
	} rows[] = {
		{{"", 0}, "\"\""},
		{{"plain", 5}, "\"plain\""},
		{{"a\"b\\", 4}, "\"a\\\"b\\\\\""},
		{{"\n\t\a\x01\x7f", 5}, "\"\\n\\t\\a\\x01\\x7f\""},
		{{"a\0b", 3}, "\"a\\x00b\""},
		{{"\xc3\xa9", 2}, "\"\xc3\xa9\""},
		{{"\xe2\x80\x8b", 3}, "\"\\u200b\""},
		{{"\xff"
		  "a\xc3",
			 3},
			"\"\\xffa\\xc3\""},
		{{"\xf3\xa0\x80\x81", 4}, "\"\\U000e0001\""},
		{{"\xed\xa0\x80", 3}, "\"\\xed\\xa0\\x80\""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_str(go_quote(&w->a, rows[i].in), rows[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_status__not_found_names_the_object),
		API_TEST(test_status__core_group_is_not_named),
		API_TEST(test_status__router_answers_have_empty_details),
		API_TEST(test_status__bad_request_has_no_details),
		API_TEST(test_status__no_reason_is_left_out),
		API_TEST(test_status__conflict_and_forbidden_give_their_reasons),
		API_TEST(test_status__retry_after_is_a_detail),
		API_TEST(test_status__expired_carries_the_token_to_go_on_with),
		API_TEST(test_status__internal_error_repeats_itself_as_cause),
		API_TEST(test_status__success_of_a_delete),
		API_TEST(test_invalid__one_error_stands_alone),
		API_TEST(test_invalid__repetitions_are_causes_but_said_once),
		API_TEST(test_invalid__without_path_it_is_nil),
		API_TEST(test_invalid__each_type_prints_its_way),
		API_TEST(test_invalid__a_full_arena_ends_the_list),
		cmocka_unit_test(test_invalid__the_first_error_counts_in_a_full_arena),
		API_TEST(test_invalid__of_what_is_long_the_beginning_is_shown),
		API_TEST(test_invalid__shows_whole_characters),
		API_TEST(test_invalid__counts_what_is_too_much_to_tell),
		API_TEST(test_paths__grow_by_child_index_and_key),
		API_TEST(test_go_quote__prints_like_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
