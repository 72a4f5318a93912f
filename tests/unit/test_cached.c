#include "storage/cache/shared.h"
#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"

#define META "\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u-1\""
#define STORED(meta_end, rest) "{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/v1\"," META meta_end "}" rest "}"

static struct cached *make(const char *rest_of_key, const char *value)
{
	return cached_new(&widget, str_of(rest_of_key), str_of(value), 5, 7);
}

static void assert_body(const struct cached *o, const char *body)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	assert_non_null(o);
	assert_str(cached_body(o, &a), body);
	assert_int_equal(cached_body_size(o), strlen(body));
}

static void test_cached__body_shows_the_revision_behind_uid(void **state _unused_)
{
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a", STORED(",\"generation\":2", ",\"color\":\"red\""));
	assert_body(o, META ",\"resourceVersion\":\"7\",\"generation\":2},\"color\":\"red\"}");
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	assert_str(cached_metadata(o, &a), &(META ",\"resourceVersion\":\"7\",\"generation\":2}")[strlen("\"metadata\":")]);
	assert_str(o->ns, "ns");
	assert_str(o->name, "a");
	assert_str(o->uid, "u-1");
	assert_ptr_equal(o->stored_version, &widget.versions[0]);
	assert_int_equal(o->revision, 7);
	assert_int_equal(o->create_revision, 5);
	assert_false(o->is_deleting);
}

static void test_cached_body_of__is_what_the_object_will_show(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	const char *stored = STORED(",\"generation\":2", ",\"color\":\"red\"");
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a", stored);
	struct str body = cached_body_of(&widget, str_of(stored), 7, &a);
	assert_true(str_eq(body, cached_body(o, &a)));
	assert_int_equal(cached_body_of(&widget, STR("{\"apiVersion\":\"v1\",\"kind\":\"Widget\"}"), 7, &a).n, 0);
}

static void test_cached__revision_comes_first_without_uid(void **state _unused_)
{
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a",
		"{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/"
		"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}");
	assert_body(o, "\"metadata\":{\"resourceVersion\":\"7\",\"name\":\"a\",\"namespace\":\"ns\"}}");
	assert_int_equal(o->uid.n, 0);
}

static void test_cached__labels_are_sorted_and_unescaped(void **state _unused_)
{
	_cleanup_(cached_unrefp) struct cached *o =
		make("ns/a", STORED(",\"labels\":{\"z\":\"1\",\"b\":\"\",\"a\\u0062\":\"\\u0078y\"}", ""));
	assert_non_null(o);
	assert_int_equal(o->n_labels, 3);
	assert_str(cached_label(o, 0).key, "ab");
	assert_str(cached_label(o, 0).value, "xy");
	assert_str(cached_label(o, 1).key, "b");
	assert_str(cached_label(o, 1).value, "");
	assert_str(cached_label(o, 2).key, "z");
}

static void test_cached__selectable_values_are_kept(void **state _unused_)
{
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a", STORED("", ",\"color\":\"red\""));
	assert_str(cached_value(o, 0), "red");
	assert_str(cached_value(o, 1), "shape-of-red");
}

static void test_cached__deleting_is_known(void **state _unused_)
{
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a", STORED(",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", ""));
	assert_true(o->is_deleting);
}

static void test_cached__braces_and_quotes_in_strings_do_not_end_metadata(void **state _unused_)
{
	_cleanup_(cached_unrefp) struct cached *o =
		make("ns/a", STORED(",\"annotations\":{\"a\":\"}]\\\"}\\\\\",\"uid\":\"x\"}", ",\"data\":\"}\""));
	assert_body(
		o, META ",\"resourceVersion\":\"7\",\"annotations\":{\"a\":\"}]\\\"}\\\\\",\"uid\":\"x\"}},\"data\":\"}\"}");
}

static void test_cached__other_spelling_becomes_canonical(void **state _unused_)
{
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a",
		"{ \"apiVersion\": \"test.annals.dev/v1\", \"color\": \"red\",\n \"kind\": \"Widget\","
		" \"metadata\": {\"name\": \"a\", \"namespace\": \"ns\", \"uid\": \"u-1\", \"resourceVersion\": \"99\"} }");
	assert_body(o, META ",\"resourceVersion\":\"7\"},\"color\":\"red\"}");
	_cleanup_(cached_unrefp) struct cached *blank = make("ns/a", STORED(",\"generation\" :2", ""));
	assert_body(blank, META ",\"resourceVersion\":\"7\",\"generation\":2}}");
}

static void test_cached__text_can_be_had_again(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a", STORED("", ",\"color\":\"red\""));
	assert_str(cached_text(o, &a), STORED(",\"resourceVersion\":\"7\"", ",\"color\":\"red\""));
}

static void test_cached__another_revision_is_another_object(void **state _unused_)
{
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a", STORED(",\"labels\":{\"l\":\"v\"}", ",\"color\":\"red\""));
	_cleanup_(cached_unrefp) struct cached *later = cached_gone(o, 1234567);
	_cleanup_(cached_unrefp) struct cached *latest = cached_gone(later, 89);
	o = cached_unref(o);
	assert_body(later, META ",\"resourceVersion\":\"1234567\",\"labels\":{\"l\":\"v\"}},\"color\":\"red\"}");
	assert_body(latest, META ",\"resourceVersion\":\"89\",\"labels\":{\"l\":\"v\"}},\"color\":\"red\"}");
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	assert_str(cached_metadata(latest, &a),
		&(META ",\"resourceVersion\":\"89\",\"labels\":{\"l\":\"v\"}}")[strlen("\"metadata\":")]);
	assert_int_equal(latest->revision, 89);
	assert_int_equal(latest->create_revision, 5);
	assert_str(cached_label(latest, 0).value, "v");
	assert_str(cached_value(latest, 1), "shape-of-red");
	assert_str(latest->name, "a");
	assert_str(latest->ns, "ns");
	assert_str(latest->uid, "u-1");
}

#define TIME_1 "2026-01-01T00:00:00Z"
#define TIME_2 "2026-01-02T00:00:00Z"
#define ENTRY(manager, time) "{\"manager\":\"" manager "\",\"time\":\"" time "\",\"fieldsV1\":{\"f:color\":{}}}"
#define FIELDS(entries) ",\"managedFields\":[" entries "]"

/* What is shown is the stored text, whatever of it is shared. */
static void test_cached__managed_fields_are_shown_as_they_are_stored(void **state _unused_)
{
	static const struct {
		const char *meta_end;
		size_t n_shared;
	} rows[] = {
		{FIELDS(ENTRY("m", TIME_1)), 1},
		{FIELDS(ENTRY("m", TIME_1)) ",\"z\":{\"managedFields\":[1]}", 1},
		{",\"a\":{\"managedFields\":[1]}" FIELDS(ENTRY("m", TIME_1) "," ENTRY("n", TIME_2)), 1},
		{FIELDS(ENTRY("a", TIME_1) "," ENTRY("b", TIME_1) "," ENTRY("c", TIME_2)), 1},
		{FIELDS(ENTRY("a", TIME_1) "," ENTRY("b", TIME_1) "," ENTRY("c", TIME_2) "," ENTRY("d", TIME_1)), 1},
		{FIELDS("{\"manager\":\"]},\\\"time\\\":\\\"2026\"}"), 1},
		{FIELDS("{\"time\":\"2026\"}"), 1},
		{FIELDS("{\"time\":\"2026-01-01T00:00:00.0Z\"},{\"time\":\"" TIME_2 "\"}"), 1},
		{FIELDS(""), 1},
		{",\"generation\":1", 0},
		{",\"managedFields\":null", 0},
		{",\"managedFields\":7,\"generation\":1", 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(arena_done) struct arena a;
		arena_init(&a, 1 << 20);
		struct str stored = arena_printf(&a,
			"{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/v1\"," META "%s},\"color\":\"red\"}",
			rows[i].meta_end);
		_cleanup_(cached_unrefp) struct cached *o = make("ns/a", stored.p);
		assert_non_null(o);
		assert_int_equal(shared_stats().n, rows[i].n_shared);
		struct str metadata = arena_printf(&a,
			"{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":\"7\"%s}", rows[i].meta_end);
		assert_body(o, arena_printf(&a, "\"metadata\":" STR_FMT ",\"color\":\"red\"}", STR_ARG(metadata)).p);
		assert_str(cached_metadata(o, &a), metadata.p);
		assert_str(cached_value(o, 0), "red");
		_cleanup_(cached_unrefp) struct cached *later = cached_gone(o, 1234567);
		assert_int_equal(shared_stats().n, rows[i].n_shared);
		assert_int_equal(later->size, o->size + strlen("234567"));
		o = cached_unref(o);
		assert_body(later,
			arena_printf(&a,
				"\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":"
				"\"1234567\"%s}"
				",\"color\":\"red\"}",
				rows[i].meta_end)
				.p);
		later = cached_unref(later);
		assert_int_equal(shared_stats().n, 0);
	}
}

static void test_cached__managed_fields_that_differ_in_times_are_kept_once(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a", STORED(FIELDS(ENTRY("m", TIME_1) "," ENTRY("n", TIME_1)), ""));
	_cleanup_(cached_unrefp) struct cached *same =
		make("ns/a", STORED(FIELDS(ENTRY("m", TIME_2) "," ENTRY("n", TIME_1)), ""));
	_cleanup_(cached_unrefp) struct cached *other =
		make("ns/a", STORED(FIELDS(ENTRY("m", TIME_2) "," ENTRY("x", TIME_1)), ""));
	_cleanup_(cached_unrefp) struct cached *bare = make("ns/a", STORED("", ""));
	assert_ptr_equal(o->fields, same->fields);
	assert_ptr_not_equal(o->fields, other->fields);
	assert_int_equal(shared_stats().n, 2);
	/* What an object may keep in memory is counted as if nobody shared it. */
	assert_int_equal(cached_own_size(o), cached_own_size(bare) + strlen(TIME_1 TIME_2));
	assert_true(o->size > bare->size + strlen(FIELDS(ENTRY("m", TIME_1) "," ENTRY("n", TIME_1))));
	assert_body(o, META ",\"resourceVersion\":\"7\"" FIELDS(ENTRY("m", TIME_1) "," ENTRY("n", TIME_1)) "}}");
	assert_body(same, META ",\"resourceVersion\":\"7\"" FIELDS(ENTRY("m", TIME_2) "," ENTRY("n", TIME_1)) "}}");
	o = cached_unref(o);
	assert_body(same, META ",\"resourceVersion\":\"7\"" FIELDS(ENTRY("m", TIME_2) "," ENTRY("n", TIME_1)) "}}");
}

/* resourceVersion goes behind uid: it would have to be put into what is shared. */
static void test_cached__managed_fields_before_uid_are_not_shared(void **state _unused_)
{
	_cleanup_(cached_unrefp) struct cached *o = make("ns/a",
		"{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/"
		"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"" FIELDS(ENTRY("m", TIME_1)) ",\"uid\":\"u-1\"}}");
	assert_non_null(o);
	assert_null(o->fields);
	assert_body(o,
		"\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"" FIELDS(
			ENTRY("m", TIME_1)) ",\"uid\":\"u-1\",\"resourceVersion\":\"7\"}}");
}

static void test_cached__what_is_no_object_of_the_kind_is_refused(void **state _unused_)
{
	static const struct {
		const char *key, *value;
	} rows[] = {
		{"ns/a", ""},
		{"ns/a", "null"},
		{"ns/a", "[]"},
		{"ns/a", "{"},
		{"ns/a", "{}"},
		{"ns/a", "\xff\xfe"},
		{"ns/a", "{\"kind\":\"Widget\"}"},
		{"ns/a", "{\"kind\":\"Widget\"," META "}}"},
		{"ns/a", "{\"apiVersion\":\"test.annals.dev/v1\"," META "}}"},
		{"ns/a", "{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/v1\"}"},
		{"ns/a", "{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/v1\",\"metadata\":null}"},
		{"ns/a", "{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/v1\",\"metadata\":\"}\"}"},
		{"ns/a", "{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/v1\",\"metadata\":{}}"},
		{"ns/a", "{\"kind\":\"Gadget\",\"apiVersion\":\"test.annals.dev/v1\"," META "}}"},
		{"ns/a", "{\"kind\":\"Widget\",\"apiVersion\":\"apps/v9\"," META "}}"},
		{"ns/a", "{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/v1\"," META},
		{"ns/a", "{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/v1\"," META "}"},
		{"ns/a", "{\"kind\":\"Widget\",\"apiVersion\":\"test.annals.dev/v1\"," META "}}garbage"},
		/* not where it says it is */
		{"ns/b", STORED("", "")},
		{"other/a", STORED("", "")},
		{"a", STORED("", "")},
		{"ns/", STORED("", "")},
		{"/a", STORED("", "")},
		{"ns/a/b", STORED("", "")},
		{"", STORED("", "")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(cached_unrefp) struct cached *o = make(rows[i].key, rows[i].value);
		if (o) {
			fail_msg("%s: %s", rows[i].key, rows[i].value);
		}
	}
}

static void test_cached__odd_members_do_no_harm(void **state _unused_)
{
	static const char *const values[] = {
		STORED(",\"labels\":\"text\"", ""),
		STORED(",\"labels\":[1]", ""),
		STORED(",\"labels\":{\"a\":1,\"b\":null,\"c\":{}}", ""),
		STORED(",\"finalizers\":{}", ""),
		STORED("", ",\"color\":{}"),
		STORED("", ",\"color\":null,\"color\":[]"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		_cleanup_(cached_unrefp) struct cached *o = make("ns/a", values[i]);
		if (o) {
			assert_str(o->name, "a");
		}
	}
}

static void test_cached__truncated_text_never_passes(void **state _unused_)
{
	static const char whole[] = STORED(",\"labels\":{\"l\":\"v\"}", ",\"color\":\"red\"");
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		/* a copy of exactly that size, so that reading on would be noticed */
		char *p = mem_dup(whole, n);
		assert_null(cached_new(&widget, STR("ns/a"), (struct str){p, n}, 5, 7));
		mem_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cached__body_shows_the_revision_behind_uid),
		TEST(test_cached_body_of__is_what_the_object_will_show),
		TEST(test_cached__revision_comes_first_without_uid),
		TEST(test_cached__labels_are_sorted_and_unescaped),
		TEST(test_cached__selectable_values_are_kept),
		TEST(test_cached__deleting_is_known),
		TEST(test_cached__braces_and_quotes_in_strings_do_not_end_metadata),
		TEST(test_cached__other_spelling_becomes_canonical),
		TEST(test_cached__text_can_be_had_again),
		TEST(test_cached__another_revision_is_another_object),
		TEST(test_cached__managed_fields_are_shown_as_they_are_stored),
		TEST(test_cached__managed_fields_that_differ_in_times_are_kept_once),
		TEST(test_cached__managed_fields_before_uid_are_not_shared),
		TEST(test_cached__what_is_no_object_of_the_kind_is_refused),
		TEST(test_cached__odd_members_do_no_harm),
		TEST(test_cached__truncated_text_never_passes),
	};
	return cmocka_run_group_tests_name("cached", tests, NULL, NULL);
}
