#include "tests/unit/admission_world.h"

/* Objects with this data, or with what else is in text. */
static const char *with(const char *members)
{
	return arena_printf(&arena, "{\"metadata\":{\"name\":\"a\"},%s}", members).p;
}

static int update(struct write *w, const char *group, const char *old, const char *new)
{
	write_init(w, ADMIT_UPDATE, group, "v1", "controllerrevisions");
	w->attributes.name = STR("a");
	w->attributes.old = write_decode(w, old);
	w->attributes.object = write_decode(w, new);
	return write_admit(w);
}

static void stays(const char *old, const char *sent)
{
	struct write w;
	assert_int_equal(update(&w, "apps", with(old), with(sent)), 0);
	assert_ptr_equal(json_gets(w.attributes.object->fields, "data"), json_gets(w.attributes.old->fields, "data"));
}

static void is_refused(const char *old, const char *sent, const char *message)
{
	struct write w;
	assert_int_equal(update(&w, "apps", with(old), with(sent)), 1);
	assert_int_equal(w.st.code, 422);
	assert_string_equal(w.st.reason, REASON_INVALID);
	assert_int_equal(w.st.n_causes, 1);
	assert_string_equal(w.st.causes[0].reason, "FieldValueInvalid");
	assert_str(w.st.causes[0].field, "data");
	assert_str(w.st.causes[0].message, message);
	assert_str(w.st.message, arena_printf(&arena, "ControllerRevision.apps \"a\" is invalid: data: %s", message).p);
}

static void test_data_immutable__the_same_value_keeps_its_first_spelling(void **state _unused_)
{
	stays("\"data\":{\"a\":1,\"b\":2}", "\"data\":{\"b\":2,\"a\":1}");
	stays("\"data\":{\"a\":1,\"b\":2}", "\"data\":{\"a\": 1,\"b\":2.0}");
	stays("\"data\":{\"s\":\"<\\/\",\"n\":1e3,\"big\":18446744073709551617}",
		"\"data\":{\"big\":1.8446744073709551617e19,\"n\":1000,\"s\":\"\\u003c/\"}");
	stays("\"data\":{\"k\":1,\"k\":2}", "\"data\":{\"k\":2}");
	stays("\"data\":null", "\"revision\":1");
}

static void test_data_immutable__another_value_is_refused(void **state _unused_)
{
	is_refused("\"data\":{\"x\":1}", "\"data\":{\"x\":2}", "Invalid value: {\"x\":2}: field is immutable");
	is_refused(
		"\"data\":{\"x\":1}", "\"data\":{ \"x\":1, \"y\" : 2}", "Invalid value: {\"x\":1,\"y\":2}: field is immutable");
	is_refused("\"data\":{\"x\":1}", "\"data\":null", "Invalid value: null: field is immutable");
	is_refused("\"data\":{\"x\":1}", "\"revision\":1", "Invalid value: null: field is immutable");
	is_refused("\"data\":{\"x\":1}", "\"data\":[1]", "Invalid value: [1]: field is immutable");
	is_refused("\"data\":{\"x\":1}", "\"data\":\"text\"", "Invalid value: \"text\": field is immutable");
	is_refused("\"data\":{\"n\":9007199254740993}", "\"data\":{\"n\":9007199254740992}",
		"Invalid value: {\"n\":9007199254740992}: field is immutable");
}

static void test_data_immutable__null_is_not_absent(void **state _unused_)
{
	is_refused("\"data\":{\"x\":null}", "\"data\":{}", "Invalid value: {}: field is immutable");
}

static void test_data_immutable__comes_after_what_else_is_wrong(void **state _unused_)
{
	struct write w;
	write_init(&w, ADMIT_UPDATE, "apps", "v1", "controllerrevisions");
	w.attributes.name = STR("a");
	w.attributes.old = write_decode(&w, with("\"data\":{\"x\":1},\"revision\":1"));
	w.attributes.object = write_decode(&w, with("\"data\":{\"x\":2},\"revision\":-1"));
	w.attributes.object->meta.ns = STR("default");
	w.attributes.kind->validate_update(w.attributes.object, w.attributes.old, &w.errors);
	assert_int_equal(write_admit(&w), 1);
	assert_str(w.st.message,
		"ControllerRevision.apps \"a\" is invalid: [revision: Invalid value: -1: must be greater than or equal to 0, "
		"data: Invalid value: {\"x\":2}: field is immutable]");
}

/* The digest. */

#define DIGEST_OF_A_1 "bdkl5l8gsssgjttzr8wnwj4nh9z747stwgrksxmmvw6nhfjx7rghrd"

static struct str create(const char *group, const char *text)
{
	struct write w;
	write_init(&w, ADMIT_CREATE, group, "v1", "controllerrevisions");
	w.attributes.object = write_decode(&w, text);
	assert_int_equal(write_admit(&w), 0);
	struct json *annotations = w.attributes.object->meta.annotations;
	return annotations ? encoded(annotations) : STR("none");
}

static void test_digest__is_shown_at_our_versions(void **state _unused_)
{
	assert_str(create("annals.dev", with("\"data\":{\"a\":1.0}")), "{\"annals.dev/digest\":\"" DIGEST_OF_A_1 "\"}");
	assert_str(create("annals.dev", "{\"metadata\":{\"annotations\":{\"z\":\"1\",\"a\":\"2\"}},\"data\":{\"a\":1}}"),
		"{\"a\":\"2\",\"annals.dev/digest\":\"" DIGEST_OF_A_1 "\",\"z\":\"1\"}");
}

static void test_digest__upstreams_version_adds_nothing(void **state _unused_)
{
	assert_str(create("apps", with("\"data\":{\"a\":1}")), "none");
}

static void test_digest__what_a_client_sends_is_replaced(void **state _unused_)
{
	const char *lie = "{\"metadata\":{\"annotations\":{\"annals.dev/digest\":\"lie\"}},\"data\":{\"a\":1}}";
	assert_str(create("annals.dev", lie), "{\"annals.dev/digest\":\"" DIGEST_OF_A_1 "\"}");
	assert_str(create("apps", lie), "{\"annals.dev/digest\":\"" DIGEST_OF_A_1 "\"}");
}

static void test_digest__nothing_is_shown_of_no_data(void **state _unused_)
{
	assert_str(create("annals.dev", with("\"revision\":1")), "none");
	assert_str(create("annals.dev", with("\"data\":[1]")), "none");
}

static void test_digest__stays_through_updates(void **state _unused_)
{
	struct write w;
	const char *shown = "{\"metadata\":{\"annotations\":{\"annals.dev/digest\":\"kept\"}},\"data\":{\"a\":1}}";
	assert_int_equal(update(&w, "apps", shown, with("\"data\":{\"a\":1}")), 0);
	assert_str(encoded(w.attributes.object->meta.annotations), "{\"annals.dev/digest\":\"kept\"}");

	assert_int_equal(update(&w, "annals.dev", with("\"data\":{\"a\":1}"), with("\"data\":{\"a\":1}")), 0);
	assert_null(w.attributes.object->meta.annotations);
	assert_int_equal(update(&w, "apps", with("\"data\":{\"a\":1}"), shown), 0);
	assert_str(encoded(w.attributes.object->meta.annotations), "{\"annals.dev/digest\":\"" DIGEST_OF_A_1 "\"}");
}

/* Our versions show it of every object; who sends it back there asks for nothing. */
static void test_digest__what_is_only_shown_is_not_stored(void **state _unused_)
{
	struct write w;
	const char *shown = "{\"metadata\":{\"annotations\":{\"annals.dev/digest\":\"" DIGEST_OF_A_1 "\"}},\"data\":{\"a\":1}}";
	assert_int_equal(update(&w, "annals.dev", with("\"data\":{\"a\":1}"), shown), 0);
	assert_null(w.attributes.object->meta.annotations);

	const char *more =
		"{\"metadata\":{\"annotations\":{\"z\":\"1\",\"annals.dev/digest\":\"lie\",\"a\":\"2\"}},\"data\":{\"a\":1}}";
	assert_int_equal(update(&w, "annals.dev", with("\"data\":{\"a\":1}"), more), 0);
	assert_str(encoded(w.attributes.object->meta.annotations), "{\"a\":\"2\",\"z\":\"1\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_data_immutable__the_same_value_keeps_its_first_spelling),
		TEST_TREE(test_data_immutable__another_value_is_refused),
		TEST_TREE(test_data_immutable__null_is_not_absent),
		TEST_TREE(test_data_immutable__comes_after_what_else_is_wrong),
		TEST_TREE(test_digest__is_shown_at_our_versions),
		TEST_TREE(test_digest__upstreams_version_adds_nothing),
		TEST_TREE(test_digest__what_a_client_sends_is_replaced),
		TEST_TREE(test_digest__nothing_is_shown_of_no_data),
		TEST_TREE(test_digest__stays_through_updates),
		TEST_TREE(test_digest__what_is_only_shown_is_not_stored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
