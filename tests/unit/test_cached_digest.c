#include "storage/cache/cache.h"

#include "tests/unit/check.h"

#include <pthread.h>
#include <stdatomic.h>

#define META "\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u\""
#define SHOWN META ",\"resourceVersion\":\"7\""
#define REST ",\"data\":{\"a\":1.0},\"revision\":1}"
#define DIGEST_OF_A_1 "\"annals.dev/digest\":\"bdkl5l8gsssgjttzr8wnwj4nh9z747stwgrksxmmvw6nhfjx7rghrd\""
#define DIGEST_OF_NOTHING "\"annals.dev/digest\":\"gjgmgtmskp97c78cqlj5n9548nld5g2mzwdxchszb2c46ht57snd76\""

static const struct kind *revisions(void)
{
	return kind_by_hub(STR("annals.dev"), STR("controllerrevisions"));
}

static const struct version *version(const char *api_version)
{
	return kind_version(revisions(), str_of(api_version));
}

static struct cached *make(struct arena *a, const char *body)
{
	struct str value = arena_printf(a, "{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/v1\",%s", body);
	struct cached *o = cached_new(revisions(), STR("ns/a"), value, 5, 7);
	assert_non_null(o);
	return o;
}

static struct str shown(const struct cached *o, const char *api_version, struct arena *a)
{
	struct str text = {NULL, 0};
	for (size_t i = 0; i < cached_pieces(o, version(api_version)); i++) {
		struct str piece = cached_piece(o, version(api_version), i);
		text = arena_printf(a, STR_FMT STR_FMT, STR_ARG(text), STR_ARG(piece));
	}
	assert_int_equal(cached_shown_size(o, version(api_version)), text.n);
	return text;
}

/* What is stored, and what a version of ours makes of it. */
static const struct {
	const char *stored, *shown;
} rows[] = {
	{META "}" REST, SHOWN ",\"annotations\":{" DIGEST_OF_A_1 "}}" REST},
	{META "},\"data\":{},\"revision\":1}", SHOWN ",\"annotations\":{" DIGEST_OF_NOTHING "}},\"data\":{},\"revision\":1}"},
	{META ",\"labels\":{\"annotations\":\"}\"}}" REST,
		SHOWN ",\"labels\":{\"annotations\":\"}\"},\"annotations\":{" DIGEST_OF_A_1 "}}" REST},
	{META ",\"labels\":{\"l\":\"v\"},\"ownerReferences\":[],\"managedFields\":[{\"fieldsV1\":{\"f:metadata\":{"
	      "\"annotations\":{}}}}]}" REST,
		SHOWN
		",\"labels\":{\"l\":\"v\"},\"annotations\":{" DIGEST_OF_A_1
		"},\"ownerReferences\":[],\"managedFields\":[{\"fieldsV1\":{\"f:metadata\":{\"annotations\":{}}}}]}" REST},
	{META ",\"finalizers\":[\"x.io/y\"]}" REST,
		SHOWN ",\"annotations\":{" DIGEST_OF_A_1 "},\"finalizers\":[\"x.io/y\"]}" REST},
	{META ",\"annotations\":{\"z\":\"1\"}}" REST, SHOWN ",\"annotations\":{" DIGEST_OF_A_1 ",\"z\":\"1\"}}" REST},
	{META ",\"annotations\":{\"a\":\"1\"}}" REST, SHOWN ",\"annotations\":{\"a\":\"1\"," DIGEST_OF_A_1 "}}" REST},
	{META ",\"annotations\":{\"a\":\"\\\",},{\",\"b\":\"\\\\\",\"z\":\"\"},\"finalizers\":[]}" REST,
		SHOWN ",\"annotations\":{\"a\":\"\\\",},{\"," DIGEST_OF_A_1
		      ",\"b\":\"\\\\\",\"z\":\"\"},\"finalizers\":[]}" REST},
	/* managedFields, which are shared */
	{META ",\"managedFields\":[{\"time\":\"2026-01-01T00:00:00Z\"}]}" REST,
		SHOWN ",\"annotations\":{" DIGEST_OF_A_1 "},\"managedFields\":[{\"time\":\"2026-01-01T00:00:00Z\"}]}" REST},
	{META ",\"annotations\":{\"a\":\"1\"},\"managedFields\":[{\"manager\":\"m\"}]}" REST,
		SHOWN ",\"annotations\":{\"a\":\"1\"," DIGEST_OF_A_1 "},\"managedFields\":[{\"manager\":\"m\"}]}" REST},
	{META ",\"finalizers\":[\"f\"],\"managedFields\":[{\"time\":\"2026-01-01T00:00:00Z\"}]}" REST,
		SHOWN ",\"annotations\":{" DIGEST_OF_A_1
		      "},\"finalizers\":[\"f\"],\"managedFields\":[{\"time\":\"2026-01-01T00:00:00Z\"}]}" REST},
	/* as annals would not have written it */
	{META ",\"managedFields\":[{\"manager\":\"m\"}],\"annotations\":{\"a\":\"1\"}}" REST,
		SHOWN ",\"managedFields\":[{\"manager\":\"m\"}],\"annotations\":{\"a\":\"1\"," DIGEST_OF_A_1 "}}" REST},
	{META ",\"annotations\":{}}" REST, SHOWN ",\"annotations\":{" DIGEST_OF_A_1 "}}" REST},
	{META ",\"ownerReferences\":[],\"annotations\":{\"z\":\"1\"}}" REST,
		SHOWN ",\"ownerReferences\":[],\"annotations\":{" DIGEST_OF_A_1 ",\"z\":\"1\"}}" REST},
	{"\"metadata\":{\"finalizers\":[],\"name\":\"a\",\"namespace\":\"ns\"}" REST,
		"\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":{" DIGEST_OF_A_1
		"},\"finalizers\":[],\"name\":\"a\",\"namespace\":\"ns\"}" REST},
	/* nothing to add */
	{META ",\"annotations\":{\"a\":\"1\"," DIGEST_OF_A_1 "}}" REST,
		SHOWN ",\"annotations\":{\"a\":\"1\"," DIGEST_OF_A_1 "}}" REST},
	{META "},\"data\":[1],\"revision\":1}", SHOWN "},\"data\":[1],\"revision\":1}"},
};

static void test_cached_digest__versions_of_ours_show_it_where_it_belongs(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(arena_done) struct arena a;
		arena_init(&a, 1 << 20);
		_cleanup_(cached_unrefp) struct cached *o = make(&a, rows[i].stored);
		assert_str(shown(o, "annals.dev/v1", &a), rows[i].shown);
		assert_str(shown(o, "annals.dev/v1beta1", &a), rows[i].shown);
	}
}

static void test_cached_digest__other_versions_and_the_text_itself_know_nothing_of_it(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(arena_done) struct arena a;
		arena_init(&a, 1 << 20);
		_cleanup_(cached_unrefp) struct cached *o = make(&a, rows[i].stored), *untouched = make(&a, rows[i].stored);
		shown(o, "annals.dev/v1", &a);
		assert_true(str_eq(shown(o, "apps/v1", &a), cached_body(untouched, &a)));
		assert_true(str_ends(cached_text(o, &a), cached_body(untouched, &a)));
	}
}

/* As if it were stored: the same object, spelled the same. */
static void test_cached_digest__is_what_would_be_stored(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(arena_done) struct arena a;
		struct object *object;
		struct buf stored;
		arena_init(&a, 1 << 20);
		buf_init(&stored, 1 << 20);
		_cleanup_(cached_unrefp) struct cached *o = make(&a, rows[i].stored);
		assert_int_equal(cached_object(&object, o, &a), 0);
		const struct object *whole = history_shown(object, version("annals.dev/v1"), &a);
		assert_ptr_equal(history_shown(object, version("apps/v1"), &a), object);
		assert_true(object_encode_stored(&stored, whole, version("annals.dev/v1")));
		_cleanup_(cached_unrefp) struct cached *again = cached_new(revisions(), STR("ns/a"), buf_str(&stored), 5, 7);
		struct object *shown_object;
		struct str text = arena_printf(&a, "{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/v1\"," STR_FMT,
			STR_ARG(shown(o, "annals.dev/v1", &a)));
		assert_int_equal(object_decode_stored(&shown_object, revisions(), text, 7, &a), 0);
		assert_true(object_equal(shown_object, whole));
		if (!o->is_respelled && !strstr(rows[i].stored, "[]") && !strstr(rows[i].stored, "{}}") &&
			!strstr(rows[i].stored, "],\"annotations\"")) {
			assert_true(str_eq(shown(o, "annals.dev/v1", &a), cached_body(again, &a)));
		}
		buf_done(&stored);
	}
}

static void test_cached_digest__stays_in_its_place_at_another_revision(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	_cleanup_(cached_unrefp) struct cached *o = make(&a, META ",\"annotations\":{\"z\":\"1\"}}" REST);
	shown(o, "annals.dev/v1", &a);
	_cleanup_(cached_unrefp) struct cached *later = cached_gone(o, 123456789);
	o = cached_unref(o);
	assert_str(shown(later, "annals.dev/v1", &a),
		META ",\"resourceVersion\":\"123456789\",\"annotations\":{" DIGEST_OF_A_1 ",\"z\":\"1\"}}" REST);
}

static void test_cached_digest__is_told_of_a_body_alone(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool is_shown = strstr(rows[i].shown, "annals.dev/digest"),
		     is_stored = strstr(rows[i].stored, "annals.dev/digest");
		if (is_shown) {
			assert_int_equal(
				cached_body_hides_digest(revisions(), str_of(rows[i].stored), version("annals.dev/v1")),
				!is_stored);
		}
		assert_false(cached_body_hides_digest(revisions(), str_of(rows[i].stored), version("apps/v1")));
	}
}

/* Ceilings count what an object may become. */
static void test_cached_digest__is_counted_before_it_is_made(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	_cleanup_(cached_unrefp) struct cached *hidden = make(&a, rows[0].stored), *stored = make(&a, rows[0].shown);
	uint32_t before = hidden->size;
	assert_true(before >= stored->size);
	assert_null(atomic_load(&hidden->digest));
	assert_true(cached_shown_size(hidden, version("annals.dev/v1")) > cached_body_size(hidden));
	assert_null(atomic_load(&hidden->digest));
	shown(hidden, "annals.dev/v1", &a);
	assert_non_null(atomic_load(&hidden->digest));
	assert_int_equal(hidden->size, before);
}

static void *ask(void *o)
{
	return (void *)(uintptr_t)cached_piece(o, version("annals.dev/v1"), 1).p;
}

static void test_cached_digest__threads_are_given_the_same(void **state _unused_)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	for (int round = 0; round < 50; round++) {
		_cleanup_(cached_unrefp) struct cached *o = make(&a, rows[0].stored);
		pthread_t threads[4];
		for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
			assert_int_equal(pthread_create(&threads[i], NULL, ask, o), 0);
		}
		_cleanup_(cached_unrefp) struct cached *gone = cached_gone(o, 8);
		for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
			void *text;
			assert_int_equal(pthread_join(threads[i], &text), 0);
			assert_ptr_equal(text, cached_piece(o, version("annals.dev/v1"), 1).p);
		}
		assert_true(
			str_eq(cached_piece(gone, version("annals.dev/v1"), 1), cached_piece(o, version("annals.dev/v1"), 1)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cached_digest__versions_of_ours_show_it_where_it_belongs),
		TEST(test_cached_digest__other_versions_and_the_text_itself_know_nothing_of_it),
		TEST(test_cached_digest__is_what_would_be_stored),
		TEST(test_cached_digest__stays_in_its_place_at_another_revision),
		TEST(test_cached_digest__is_told_of_a_body_alone),
		TEST(test_cached_digest__is_counted_before_it_is_made),
		TEST(test_cached_digest__threads_are_given_the_same),
	};
	return cmocka_run_group_tests_name("cached_digest", tests, NULL, NULL);
}
