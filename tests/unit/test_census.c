#include "tests/unit/cache_fixture.h"

/* A kind in three versions: the hub's form, the same by another name, and one in which colour is spelled otherwise and size does not exist. */

static struct json *renamed(const struct json *whole, const char *from, const char *to, bool has_size, struct arena *a)
{
	struct json *out = json_object(a);
	for (uint32_t i = 0; i < whole->n; i++) {
		struct str name = whole->members[i].name;
		if (has_size || !str_is(name, "size")) {
			json_add(a, out, str_is(name, from) ? str_of(to) : name, whole->members[i].value);
		}
	}
	return out;
}

static struct json *spool_from_hub(const struct json *hub, struct arena *a)
{
	return renamed(hub, "color", "colour", false, a);
}

static struct json *spool_to_hub(const struct json *sent, const struct json *stored_hub _unused_, struct arena *a)
{
	return renamed(sent, "colour", "color", true, a);
}

static struct str color_of(const struct object *o, struct arena *a _unused_)
{
	return json_text(json_gets(o->fields, "color"));
}

static const struct version versions[] = {
	{.group = "test.annals.dev", .name = "v1"},
	{.group = "test.annals.dev", .name = "v1beta2"},
	{.group = "test.annals.dev", .name = "v1beta1", .from_hub = spool_from_hub, .to_hub = spool_to_hub},
};
enum { V1, V1BETA2, V1BETA1 };

static const struct selectable_field selectable[] = {{.path = "color", .value = color_of}};

static struct kind spools = {
	.kind = "Spool",
	.list_kind = "SpoolList",
	.resource = "spools",
	.singular = "spool",
	.is_namespaced = true,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
};
KIND_REGISTER(spools)

/* ---- texts ---- */

#define SPOOL(version, name, fields)                                          \
	"{\"kind\":\"Spool\",\"apiVersion\":\"test.annals.dev/" version "\"," \
	"\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"u\",\"labels\":{\"l\":\"1\"}}," fields "}"
#define RED "\"color\":\"red\",\"size\":1.0"
#define RED_BETA "\"colour\":\"red\",\"annals.dev/hub\":{\"size\":1.0}"

static int64_t put(struct fixture *f, const char *name, const char *value)
{
	struct str key = arena_printf(&f->a, WORLD_PREFIX "/objects/test.annals.dev/spools/ns/%s", name);
	return world_put_raw(f->store, key.p, value);
}

static int64_t drop(struct fixture *f, const char *name)
{
	return world_delete(f->store, &spools, arena_printf(&f->a, "ns/%s", name).p);
}

/* "v1:2 v1beta1:1 unknown:1(g/v2) unreadable:1 at 7", without what is zero. */
static struct str census(struct fixture *f)
{
	struct cache_census s;
	struct buf b;
	cache_census(f->cache, &spools, &s);
	buf_init(&b, 1024);
	for (size_t i = 0; i < KIND_VERSIONS_MAX; i++) {
		if (s.stored[i] > 0) {
			buf_printf(&b, "%s:%zu ", versions[i].name, s.stored[i]);
		}
	}
	if (s.n_unknown > 0 || s.unknown_version[0]) {
		buf_printf(&b, "unknown:%zu(%s) ", s.n_unknown, s.unknown_version);
	}
	if (s.n_unreadable > 0) {
		buf_printf(&b, "unreadable:%zu ", s.n_unreadable);
	}
	assert_int_equal(s.revision, cache_revision(f->cache));
	buf_truncate(&b, b.n > 0 ? b.n - 1 : 0);
	struct str text = arena_dup(&f->a, buf_str(&b));
	buf_done(&b);
	return text;
}

/* ---- other forms ---- */

static struct cached *spool(struct fixture *f, const char *name)
{
	struct cached *o = cache_get(f->cache, &spools, STR("ns"), str_of(name));
	assert_non_null(o);
	return o;
}

static void test_cache__shows_the_hub_form_whatever_is_stored(void **state)
{
	struct fixture *f = *state;
	put(f, "a", SPOOL("v1beta1", "a", RED_BETA));
	start(f, (struct cache_options){0});
	catch_up(f, put(f, "b", SPOOL("v1beta1", "b", RED_BETA)));
	static const char *const names[] = {"a", "b"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(cached_unrefp) struct cached *o = spool(f, names[i]);
		struct str expected = arena_printf(&f->a,
			"\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"%lld\","
			"\"labels\":{\"l\":\"1\"}}," RED "}",
			names[i], (long long)o->revision);
		struct object *object;
		assert_str(cached_body(o, &f->a), expected.p);
		assert_str(cached_text(o, &f->a),
			arena_printf(&f->a, "{\"kind\":\"Spool\",\"apiVersion\":\"test.annals.dev/v1\",%s", expected.p).p);
		assert_str(o->uid, "u");
		assert_str(cached_value(o, 0), "red");
		assert_str(cached_label(o, 0).key, "l");
		assert_ptr_equal(o->stored_version, &versions[V1BETA1]);
		assert_false(o->is_respelled);
		assert_int_equal(cached_object(&object, o, &f->a), 0);
		assert_ptr_equal(object->stored_version, &versions[V1BETA1]);
		assert_int_equal(object->mod_revision, o->revision);
	}
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &spools);
	struct field_selector red = world_fields("color=red", &f->a);
	assert_str(world_list(s, &(struct cache_filter){.fields = &red}, &f->a), "ns/a ns/b");
}

static void test_cache__tells_texts_that_are_spelled_otherwise(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *name, *text;
		bool is_respelled;
	} rows[] = {
		{"a", SPOOL("v1", "a", RED), false},
		{"b", SPOOL("v1beta2", "b", RED), false},
		{"c", " " SPOOL("v1", "c", RED), true},
		{"d", SPOOL("v1beta1", "d", RED_BETA), false},
		{"e", SPOOL("v1beta1", "e", "\"colour\": \"red\""), true},
		{"f", SPOOL("v1beta1", "f", "\"colour\":\"red\",\"annals.dev/hub\":{}"), true},
		{"g", SPOOL("v1beta1", "g", "\"colour\":\"red\",\"annals.dev/hub\":{\"color\":\"red\"}"), true},
	};
	start(f, (struct cache_options){0});
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		catch_up(f, put(f, rows[i].name, rows[i].text));
		_cleanup_(cached_unrefp) struct cached *o = spool(f, rows[i].name);
		assert_int_equal(o->is_respelled, rows[i].is_respelled);
		assert_str(cached_value(o, 0), "red");
	}
}

static void test_cache__a_body_of_another_form_is_not_made_from_its_text(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(cached_body_of(&spools, STR(SPOOL("v1beta1", "a", RED_BETA)), 7, &f->a).n, 0);
	assert_int_equal(cached_body_of(&spools, STR(SPOOL("v9", "a", RED)), 7, &f->a).n, 0);
	assert_true(cached_body_of(&spools, STR(SPOOL("v1beta2", "a", RED)), 7, &f->a).n > 0);
}

/* ---- the census ---- */

static void test_census__counts_objects_by_version(void **state)
{
	struct fixture *f = *state;
	put(f, "a", SPOOL("v1", "a", RED));
	put(f, "b", SPOOL("v1beta1", "b", RED_BETA));
	put(f, "c", SPOOL("v1beta1", "c", RED_BETA));
	start(f, (struct cache_options){0});
	assert_str(census(f), "v1:1 v1beta1:2");
	catch_up(f, put(f, "b", SPOOL("v1", "b", RED)));
	assert_str(census(f), "v1:2 v1beta1:1");
	catch_up(f, put(f, "d", SPOOL("v1beta2", "d", RED)));
	assert_str(census(f), "v1:2 v1beta2:1 v1beta1:1");
	drop(f, "c");
	catch_up(f, drop(f, "a"));
	assert_str(census(f), "v1:1 v1beta2:1");
	catch_up(f, world_put(f->store, &widget, "ns/w", "", "red")); /* of another kind: only the revision moves */
	assert_str(census(f), "v1:1 v1beta2:1");
}

static void test_census__knows_versions_that_are_not_known_here(void **state)
{
	struct fixture *f = *state;
	put(f, "a", SPOOL("v3", "a", RED));
	start(f, (struct cache_options){0});
	assert_str(census(f), "unknown:1(test.annals.dev/v3)");
	assert_int_equal(f->n_said, 1);
	assert_non_null(strstr(f->said, "/objects/test.annals.dev/spools/ns/a since revision"));
	assert_non_null(strstr(f->said, "is stored as test.annals.dev/v3, which this server does not know"));

	catch_up(f, put(f, "b", SPOOL("v4", "b", RED)));
	assert_str(census(f), "unknown:2(test.annals.dev/v3)");
	assert_int_equal(f->n_said, 1); /* there may be very many */
	catch_up(f, put(f, "a", SPOOL("v3", "a", RED)));
	assert_str(census(f), "unknown:2(test.annals.dev/v4)");
	catch_up(f, put(f, "a", SPOOL("v1", "a", RED)));
	assert_str(census(f), "v1:1 unknown:1(test.annals.dev/v4)");
	catch_up(f, drop(f, "b"));
	assert_str(census(f), "v1:1");

	catch_up(f, put(f, "a", SPOOL("v5", "a", RED)));
	assert_str(census(f), "unknown:1(test.annals.dev/v5)");
	assert_int_equal(f->n_said, 2);
	catch_up(f, put(f, "a", SPOOL("v\xc3\xa4\\n\\u00006", "a", RED)));
	assert_str(census(f), "unknown:1(test.annals.dev/v????6)");
}

static void test_census__knows_what_is_no_object(void **state)
{
	struct fixture *f = *state;
	put(f, "a", "{");
	start(f, (struct cache_options){0});
	assert_str(census(f), "unreadable:1");
	catch_up(f, put(f, "b", SPOOL("v3", "another-name", RED)));
	catch_up(f, put(f, "c", SPOOL("v1", "another-name", RED)));
	assert_str(census(f), "unknown:1(test.annals.dev/v3) unreadable:2");
	catch_up(f, put(f, "b", "nonsense"));
	assert_str(census(f), "unreadable:3");
	catch_up(f, put(f, "b", SPOOL("v1", "b", RED)));
	drop(f, "a");
	catch_up(f, drop(f, "c"));
	assert_str(census(f), "v1:1");
}

static void test_census__a_reload_counts_anew(void **state)
{
	struct fixture *f = *state;
	put(f, "a", SPOOL("v1", "a", RED));
	put(f, "b", SPOOL("v3", "b", RED));
	put(f, "c", "{");
	start(f, (struct cache_options){0});
	assert_str(census(f), "v1:1 unknown:1(test.annals.dev/v3) unreadable:1");
	gate_close(f->store);
	put(f, "a", SPOOL("v1beta1", "a", RED_BETA));
	drop(f, "c");
	int64_t revision = put(f, "d", SPOOL("v4", "d", RED));
	world_compact(f->store, revision);
	gate_open(f->store);
	catch_up(f, revision);
	assert_str(census(f), "v1beta1:1 unknown:2(test.annals.dev/v3)");
	catch_up(f, drop(f, "b"));
	assert_str(census(f), "v1beta1:1 unknown:1(test.annals.dev/v4)");
}

static void wake(void *ctx _unused_)
{
}

static int watch_from(struct fixture *f, int64_t revision, struct cache_watcher **ret)
{
	const struct cache_watch_options options = {.kind = &spools, .from_revision = revision, .wake = wake};
	return cache_watch_open(f->cache, ret, &options);
}

static void assert_lost(struct cache_watcher *w)
{
	enum watch_type type;
	struct cached *o;
	assert_int_equal(cache_watch_next(w, &type, &o), CACHE_NEXT_LOST);
	cache_watch_close(w);
}

/* Only that it is not known any more, or was not: whoever watches lists again. */
static void test_census__nobody_is_told_that_an_unknown_one_is_gone(void **state)
{
	struct fixture *f = *state;
	struct cache_watcher *before, *between, *none;
	int64_t known = put(f, "a", SPOOL("v1", "a", RED));
	start(f, (struct cache_options){0});
	assert_int_equal(watch_from(f, known, &before), CACHE_OK);
	int64_t unknown = put(f, "a", SPOOL("v3", "a", RED));
	catch_up(f, unknown);
	assert_lost(before);
	assert_int_equal(watch_from(f, known, &none), CACHE_EXPIRED);
	assert_int_equal(watch_from(f, unknown, &between), CACHE_OK);
	catch_up(f, drop(f, "a"));
	assert_lost(between);
	assert_int_equal(watch_from(f, unknown, &none), CACHE_EXPIRED);
}

static void test_census__many_unknown_ones_come_and_go(void **state)
{
	enum { N = 500 };
	struct fixture *f = *state;
	int64_t revision = 0;
	start(f, (struct cache_options){0});
	for (int i = 0; i < N; i++) {
		revision = put(f, arena_printf(&f->a, "n%d", i).p, SPOOL("v3", "x", RED));
	}
	catch_up(f, revision);
	assert_str(census(f), "unknown:500(test.annals.dev/v3)");
	for (int i = 0; i < N; i++) {
		revision = drop(f, arena_printf(&f->a, "n%d", i).p);
	}
	catch_up(f, revision);
	assert_str(census(f), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_STORE(test_cache__shows_the_hub_form_whatever_is_stored),
		WITH_STORE(test_cache__tells_texts_that_are_spelled_otherwise),
		WITH_STORE(test_cache__a_body_of_another_form_is_not_made_from_its_text),
		WITH_STORE(test_census__counts_objects_by_version),
		WITH_STORE(test_census__knows_versions_that_are_not_known_here),
		WITH_STORE(test_census__knows_what_is_no_object),
		WITH_STORE(test_census__a_reload_counts_anew),
		WITH_STORE(test_census__nobody_is_told_that_an_unknown_one_is_gone),
		WITH_STORE(test_census__many_unknown_ones_come_and_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
