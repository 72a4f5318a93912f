#include "base/clock.h"
#include "tests/unit/cache_fixture.h"

#include <stdlib.h>

static struct str list_of(struct fixture *f, const struct kind *kind, struct cache_filter filter)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, kind);
	return world_list(s, &filter, &f->a);
}

static struct str list_at(struct fixture *f, int64_t revision)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = NULL;
	assert_int_equal(cache_snapshot_at(f->cache, &widget, revision, &s), CACHE_OK);
	assert_int_equal(cache_snapshot_revision(s), revision);
	return world_list(s, &(struct cache_filter){0}, &f->a);
}

/* ---- loading and following ---- */

static void test_cache__loads_what_is_there(void **state)
{
	struct fixture *f = *state;
	world_put(f->store, &widget, "b/y", "", "red");
	world_put(f->store, &widget, "a/z", "", "red");
	world_put(f->store, &gadget, "g", "", "red");
	int64_t revision = world_put(f->store, &widget, "a/x", "", "red");
	start(f, (struct cache_options){0});
	assert_true(cache_is_ready(f->cache));
	assert_int_equal(cache_revision(f->cache), revision);
	assert_str(list_of(f, &widget, (struct cache_filter){0}), "a/x a/z b/y");
	assert_str(list_of(f, &gadget, (struct cache_filter){0}), "g");
}

static void test_cache__loads_more_than_a_page(void **state)
{
	enum { N = 12345 };
	struct fixture *f = *state;
	for (int i = 0; i < N; i++) {
		world_put(f->store, &widget, arena_printf(&f->a, "ns-%d/object-%05d", i % 3, i).p, "", "red");
	}
	start(f, (struct cache_options){0});
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
	assert_int_equal(cache_snapshot_count(s, STR("")), N);
	assert_int_equal(cache_snapshot_count(s, STR("ns-1")), N / 3);
	assert_int_equal(cache_snapshot_count(s, STR("ns")), 0);
}

/* Two threads decode a page: what they find is in the order of keys, and what they cannot decode is counted once. */
static void test_cache__a_load_leaves_out_what_cannot_be_decoded(void **state)
{
	enum { N = 3000, BAD = 7 };
	struct fixture *f = *state;
	struct cache_stats stats;
	size_t n_bad = 0;
	for (int i = 0; i < N; i++) {
		const char *name = arena_printf(&f->a, "ns/object-%05d", i).p;
		if (i % BAD == 0) {
			world_put_raw(
				f->store, arena_printf(&f->a, WORLD_PREFIX "/objects/test.annals.dev/widgets/%s", name).p, "{");
			n_bad++;
		} else {
			world_put(f->store, &widget, name, "", "red");
		}
	}
	start(f, (struct cache_options){0});
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
	struct cache_filter all = {0};
	const struct cached *o;
	struct cache_iter it;
	cache_iter_init(&it, s, &all, STR(""));
	for (int i = 0; i < N; i++) {
		if (i % BAD != 0) {
			o = cache_iter_next(&it);
			assert_non_null(o);
			assert_str(o->name, arena_printf(&f->a, "object-%05d", i).p);
		}
	}
	assert_null(cache_iter_next(&it));
	cache_stats(f->cache, NULL, &stats);
	assert_int_equal(stats.n_undecodable, n_bad);
	assert_int_equal(stats.n_objects, N - n_bad);
	assert_int_equal(f->n_said, n_bad);
	struct cache_census census;
	cache_census(f->cache, &widget, &census);
	assert_int_equal(census.n_unreadable, n_bad);
	assert_int_equal(census.stored[0], N - n_bad);
}

/* Whatever becomes of a page, the load begins anew, and nothing is there twice. */
static void test_cache__a_load_survives_the_loss_of_a_page(void **state)
{
	enum { N = 1500, PAGE = 300 };
	static const enum storage_result results[] = {
		STORAGE_COMPACTED, STORAGE_UNAVAILABLE, STORAGE_TIMEOUT, STORAGE_TOO_LARGE, STORAGE_ERROR};
	struct fixture *f = *state;
	for (int i = 0; i < N; i++) {
		world_put(f->store, &widget, arena_printf(&f->a, "ns/object-%05d", i).p, "", "red");
	}
	gate_limit_pages(f->store, PAGE);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		for (unsigned page = 1; page <= 4; page++) {
			struct cache_stats stats;
			gate_refuse_page(f->store, page, results[i]);
			start(f, (struct cache_options){0});
			assert_true(gate_has_refused(f->store));
			cache_stats(f->cache, NULL, &stats);
			assert_int_equal(stats.n_objects, N);
			struct cache_census census;
			cache_census(f->cache, &widget, &census);
			assert_int_equal(census.stored[0], N);
			f->cache = cache_free(f->cache);
		}
	}
}

static void test_cache__takes_smaller_pages_where_objects_are_large(void **state)
{
	enum { N = 300, LARGEST = 7 };
	struct fixture *f = *state;
	for (int i = 0; i < N; i++) {
		world_put(f->store, &widget, arena_printf(&f->a, "ns/object-%03d", i).p, "", "red");
	}
	gate_limit_pages(f->store, LARGEST);
	start(f, (struct cache_options){0});
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
	assert_int_equal(cache_snapshot_count(s, STR("")), N);
}

static void test_cache__follows_changes(void **state)
{
	struct fixture *f = *state;
	world_put(f->store, &widget, "a/x", "", "red");
	start(f, (struct cache_options){0});
	world_put(f->store, &widget, "a/y", "", "red");
	world_put(f->store, &widget, "a/x", "", "blue");
	catch_up(f, world_delete(f->store, &widget, "a/y"));
	_cleanup_(cached_unrefp) struct cached *x = cache_get(f->cache, &widget, STR("a"), STR("x"));
	assert_str(cached_value(x, 0), "blue");
	assert_null(cache_get(f->cache, &widget, STR("a"), STR("y")));
	assert_null(cache_get(f->cache, &widget, STR(""), STR("x")));
	assert_null(cache_get(f->cache, &gadget, STR("a"), STR("x")));
}

static void test_cache__order_is_that_of_keys(void **state)
{
	struct fixture *f = *state;
	/* '-' and '.' come before '/', digits behind it */
	start(f, (struct cache_options){0});
	world_put(f->store, &widget, "a/b", "", "red");
	world_put(f->store, &widget, "a-a/b", "", "red");
	world_put(f->store, &widget, "a0/b", "", "red");
	catch_up(f, world_put(f->store, &widget, "a/a", "", "red"));
	assert_str(list_of(f, &widget, (struct cache_filter){0}), "a-a/b a/a a/b a0/b");
	assert_str(list_of(f, &widget, (struct cache_filter){.ns = STR("a")}), "a/a a/b");
}

static void test_cache__snapshots_do_not_change(void **state)
{
	struct fixture *f = *state;
	world_put(f->store, &widget, "a/x", "", "red");
	start(f, (struct cache_options){0});
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
	world_put(f->store, &widget, "a/y", "", "red");
	catch_up(f, world_delete(f->store, &widget, "a/x"));
	assert_str(world_list(s, &(struct cache_filter){0}, &f->a), "a/x");
	assert_str(list_of(f, &widget, (struct cache_filter){0}), "a/y");
}

static void test_cache__a_revision_of_several_keys_appears_at_once(void **state)
{
	struct fixture *f = *state;
	enum { ROUNDS = 500 };
	start(f, (struct cache_options){0});
	for (int i = 0; i < ROUNDS; i++) {
		const struct kind *kinds[] = {&widget, &gadget};
		struct storage_step steps[2];
		for (size_t k = 0; k < 2; k++) {
			const char *rest = k ? "twin" : "ns/twin";
			const char *color = arena_printf(&f->a, "c%d", i).p;
			steps[k] = (struct storage_step){
				.kind = STEP_PUT,
				.key = arena_printf(
					&f->a, WORLD_PREFIX "/objects/test.annals.dev/%s/%s", kinds[k]->resource, rest),
				.value = world_text(&f->a, kinds[k], rest, "", color, 0),
			};
		}
		struct storage_txn t = {.success = steps, .n_success = 2};
		assert_int_equal(storage_txn_wait(f->store, &t), STORAGE_OK);
		storage_op_clear(&t.op);
		/* the second look-up cannot be older than the first */
		_cleanup_(cached_unrefp) struct cached *first = cache_get(f->cache, &widget, STR("ns"), STR("twin"));
		_cleanup_(cached_unrefp) struct cached *second = cache_get(f->cache, &gadget, STR(""), STR("twin"));
		assert_true((second ? second->revision : 0) >= (first ? first->revision : 0));
	}
}

static void test_cache__what_cannot_be_decoded_is_counted_and_left_out(void **state)
{
	struct fixture *f = *state;
	struct cache_stats stats;
	world_put(f->store, &widget, "a/x", "", "red");
	world_put_raw(f->store, WORLD_PREFIX "/objects/test.annals.dev/widgets/a/bad", "{");
	world_put_raw(f->store, WORLD_PREFIX "/objects/test.annals.dev/widgets/no-namespace", "{}");
	world_put_raw(f->store, WORLD_PREFIX "/objects/other.group/things/a/b", "whatever");
	world_put_raw(f->store, WORLD_PREFIX "/objects/", "whatever");
	world_put_raw(f->store, WORLD_PREFIX "/objects/core", "whatever");
	start(f, (struct cache_options){0});
	assert_str(list_of(f, &widget, (struct cache_filter){0}), "a/x");
	cache_stats(f->cache, NULL, &stats);
	assert_int_equal(stats.n_undecodable, 2);
	assert_non_null(strstr(f->said, "widgets/no-namespace"));

	/* an object that turns into garbage is gone */
	catch_up(f, world_put_raw(f->store, WORLD_PREFIX "/objects/test.annals.dev/widgets/a/x", "garbage"));
	assert_str(list_of(f, &widget, (struct cache_filter){0}), "");
	catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	assert_str(list_of(f, &widget, (struct cache_filter){0}), "a/x");
}

static void test_cache__stats_add_up(void **state)
{
	struct fixture *f = *state;
	struct cache_stats all, widgets;
	world_put(f->store, &widget, "a/x", "", "red");
	world_put(f->store, &gadget, "x", "", "red");
	start(f, (struct cache_options){0});
	cache_stats(f->cache, &widget, &widgets);
	size_t n_bytes = widgets.n_bytes;
	world_put(f->store, &widget, "a/y", "", "red");
	catch_up(f, world_delete(f->store, &widget, "a/y"));
	cache_stats(f->cache, NULL, &all);
	cache_stats(f->cache, &widget, &widgets);
	assert_int_equal(all.n_objects, 2);
	assert_int_equal(widgets.n_objects, 1);
	assert_int_equal(widgets.n_bytes, n_bytes);
	assert_int_equal(widgets.n_events_window, 2);
	assert_int_equal(all.n_events, 2);
}

/* ---- the past ---- */

static void test_cache_snapshot_at__shows_each_revision_in_the_window(void **state)
{
	struct fixture *f = *state;
	world_put(f->store, &widget, "a/x", "\"l\":\"1\"", "red");
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	world_put(f->store, &widget, "a/y", "\"l\":\"1\"", "red");
	world_put(f->store, &gadget, "g", "", "red");
	world_delete(f->store, &widget, "a/x");
	catch_up(f, world_put(f->store, &widget, "a/y", "\"l\":\"2\"", "red"));
	assert_str(list_at(f, base), "a/x");
	assert_str(list_at(f, base + 1), "a/x a/y");
	assert_str(list_at(f, base + 2), "a/x a/y");
	assert_str(list_at(f, base + 3), "a/y");
	assert_str(list_at(f, base + 4), "a/y");

	struct label_selector l1 = world_labels("l=1", &f->a);
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = NULL;
	assert_int_equal(cache_snapshot_at(f->cache, &widget, base + 1, &s), CACHE_OK);
	assert_str(world_list(s, &(struct cache_filter){.labels = &l1}, &f->a), "a/x a/y");
}

static void test_cache_snapshot_at__knows_its_limits(void **state)
{
	struct fixture *f = *state;
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = NULL;
	world_put(f->store, &widget, "a/x", "", "red");
	start(f, (struct cache_options){.window_events = 4});
	int64_t base = cache_revision(f->cache);
	assert_int_equal(cache_snapshot_at(f->cache, &widget, base - 1, &s), CACHE_EXPIRED);
	assert_int_equal(cache_snapshot_at(f->cache, &widget, base + 1, &s), CACHE_FUTURE);
	for (int i = 0; i < 6; i++) {
		catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	}
	assert_int_equal(cache_snapshot_at(f->cache, &widget, base + 1, &s), CACHE_EXPIRED);
	assert_str(list_at(f, base + 2), "a/x");
	/* nothing has happened to this one */
	assert_int_equal(cache_snapshot_at(f->cache, &gadget, base, &s), CACHE_OK);
}

static void test_cache_snapshot_at__random_history_can_be_seen_again(void **state)
{
	enum { N = 1500 };
	static struct str expected[N];
	struct fixture *f = *state;
	srandom(1);
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	for (int i = 0; i < N; i++) {
		const char *rest = arena_printf(&f->a, "ns-%ld/o-%02ld", random() % 3, random() % 20).p;
		_cleanup_(cached_unrefp) struct cached *o =
			cache_get(f->cache, &widget, (struct str){rest, 4}, str_of(rest + 5));
		catch_up(f,
			o && random() % 3 == 0 ? world_delete(f->store, &widget, rest)
					       : world_put(f->store, &widget, rest, "\"l\":\"v\"", "red"));
		expected[i] = list_of(f, &widget, (struct cache_filter){0});
	}
	for (int k = 0; k < 300; k++) {
		int i = (int)(random() % N);
		assert_str(list_at(f, base + i + 1), expected[i].p);
	}
}

static void test_cache_snapshot_pin__outlives_the_window(void **state)
{
	struct fixture *f = *state;
	world_put(f->store, &widget, "a/x", "", "red");
	start(f, (struct cache_options){.window_events = 2});
	struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
	int64_t pinned = cache_snapshot_revision(s);
	cache_snapshot_pin(f->cache, s);
	cache_snapshot_pin(f->cache, s);
	cache_snapshot_unref(s);
	for (int i = 0; i < 5; i++) {
		catch_up(f, world_put(f->store, &widget, "a/y", "", "red"));
	}
	assert_str(list_at(f, pinned), "a/x");
	assert_int_equal(cache_snapshot_at(f->cache, &widget, pinned + 1, &s), CACHE_EXPIRED);
}

static void test_cache_snapshot_pin__has_a_ceiling(void **state)
{
	enum { PINS = 100, CEILING = 64 };
	struct fixture *f = *state;
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *old = NULL;
	start(f, (struct cache_options){.window_events = 1});
	int64_t base = cache_revision(f->cache);
	for (int i = 0; i < PINS; i++) {
		catch_up(f, world_put(f->store, &widget, "a/y", "", "red"));
		_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
		cache_snapshot_pin(f->cache, s);
	}
	assert_int_equal(cache_snapshot_at(f->cache, &widget, base + PINS - CEILING, &old), CACHE_EXPIRED);
	assert_str(list_at(f, base + PINS - CEILING + 1), "a/y");
}

static void pin_newest(struct fixture *f)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);

	cache_snapshot_pin(f->cache, s);
}

/* Each version is a big one; they are kept by who pinned the state in which they were there. */
static void test_cache_snapshot_pin__keeps_no_more_than_its_bytes(void **state)
{
	enum { SIZE = 10000, KEPT = 4, PINS = 10 };
	struct fixture *f = *state;
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = NULL;
	char *filler = arena_text(&f->a, SIZE + 1);
	memset(filler, 'x', SIZE);
	filler[SIZE] = '\0';
	const char *big = arena_printf(&f->a, "\"l\":\"%s\"", filler).p;
	start(f, (struct cache_options){.window_events = 1, .pin_bytes = KEPT * (SIZE + 3000)});
	int64_t base = cache_revision(f->cache);
	for (int i = 0; i < PINS; i++) {
		catch_up(f, world_put(f->store, &widget, "a/y", big, "red"));
		pin_newest(f);
	}
	for (int i = 1; i <= PINS; i++) {
		bool is_kept = i > PINS - 1 - KEPT;
		assert_int_equal(cache_snapshot_at(f->cache, &widget, base + i, &s), is_kept ? CACHE_OK : CACHE_EXPIRED);
		s = is_kept ? cache_snapshot_unref(s) : NULL;
	}
	/* What came and went between two pins is nobody's. */
	for (int i = 0; i < PINS; i++) {
		catch_up(f, world_put(f->store, &widget, "a/z", "", "red"));
	}
	assert_int_equal(cache_snapshot_at(f->cache, &widget, base + PINS, &s), CACHE_OK);
}

static void test_cache_forget__ends_history_before_it(void **state)
{
	struct fixture *f = *state;
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = NULL, *pinned = NULL;
	world_put(f->store, &widget, "a/x", "", "red");
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	pinned = cache_snapshot(f->cache, &widget);
	cache_snapshot_pin(f->cache, pinned);
	catch_up(f, world_put(f->store, &widget, "a/y", "", "red"));
	catch_up(f, world_put(f->store, &widget, "a/z", "", "red"));
	/* as another replica's compactor writes it */
	catch_up(f,
		world_put_raw(f->store, WORLD_PREFIX "/compact_rev_key", arena_printf(&f->a, "%lld", (long long)base + 1).p));
	catch_up(f, world_put(f->store, &gadget, "barrier", "", "red"));
	assert_int_equal(cache_snapshot_at(f->cache, &widget, base, &s), CACHE_EXPIRED);
	assert_str(list_at(f, base + 1), "a/x a/y");
}

/* ---- iterating ---- */

static void test_cache_iter__starts_behind_a_key(void **state)
{
	struct fixture *f = *state;
	start(f, (struct cache_options){0});
	world_put(f->store, &widget, "a/x", "\"l\":\"1\"", "red");
	world_put(f->store, &widget, "a/y", "\"l\":\"1\"", "red");
	world_put(f->store, &widget, "b/x", "\"l\":\"1\"", "red");
	catch_up(f, world_put(f->store, &widget, "c/x", "\"l\":\"2\"", "red"));
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
	struct cache_iter it;
	struct cache_filter all = {0}, in_a = {.ns = STR("a")};

	cache_iter_init(&it, s, &all, STR("a/x\0"));
	assert_int_equal(cache_iter_remaining(&it), 3);
	assert_str(cache_iter_next(&it)->name, "y");
	assert_int_equal(cache_iter_remaining(&it), 2);
	assert_str(cache_iter_next(&it)->ns, "b");
	assert_str(cache_iter_next(&it)->ns, "c");
	assert_int_equal(cache_iter_remaining(&it), 0);
	assert_null(cache_iter_next(&it));
	assert_null(cache_iter_next(&it));

	/* a key itself */
	cache_iter_init(&it, s, &all, STR("a/x"));
	assert_str(cache_iter_next(&it)->name, "x");
	cache_iter_init(&it, s, &all, STR("b"));
	assert_str(cache_iter_next(&it)->ns, "b");

	/* need not exist */
	cache_iter_init(&it, s, &all, STR("a/xx\0"));
	assert_str(cache_iter_next(&it)->name, "y");
	cache_iter_init(&it, s, &in_a, STR("a/x\0"));
	assert_int_equal(cache_iter_remaining(&it), 1);
	assert_str(cache_iter_next(&it)->name, "y");
	assert_null(cache_iter_next(&it));
	cache_iter_init(&it, s, &in_a, STR("b/x\0"));
	assert_null(cache_iter_next(&it));
	assert_int_equal(cache_iter_remaining(&it), 0);

	/* in an index, too */
	struct label_selector l1 = world_labels("l=1", &f->a);
	struct cache_filter by_label = {.labels = &l1};
	cache_iter_init(&it, s, &by_label, STR("a/y\0"));
	assert_str(cache_iter_next(&it)->ns, "b");
	assert_null(cache_iter_next(&it));
}

static void test_cache_iter__names_are_looked_up(void **state)
{
	struct fixture *f = *state;
	start(f, (struct cache_options){0});
	world_put(f->store, &widget, "a/x", "", "red");
	world_put(f->store, &widget, "a/xx", "", "red");
	world_put(f->store, &widget, "b/w", "", "red");
	world_put(f->store, &gadget, "x", "", "red");
	world_put(f->store, &gadget, "y", "", "red");
	catch_up(f, world_put(f->store, &widget, "c/x", "", "red"));
	struct field_selector x = world_fields("metadata.name=x", &f->a), in_c = world_fields("metadata.namespace=c", &f->a),
			      x_in_c = world_fields("metadata.name=x,metadata.namespace=c", &f->a),
			      nobody = world_fields("metadata.name=none", &f->a);
	assert_str(list_of(f, &widget, (struct cache_filter){.fields = &x}), "a/x c/x");
	assert_str(list_of(f, &widget, (struct cache_filter){.fields = &x, .ns = STR("a")}), "a/x");
	assert_str(list_of(f, &widget, (struct cache_filter){.fields = &x, .ns = STR("b")}), "");
	assert_str(list_of(f, &widget, (struct cache_filter){.fields = &in_c}), "c/x");
	assert_str(list_of(f, &widget, (struct cache_filter){.fields = &in_c, .ns = STR("a")}), "");
	assert_str(list_of(f, &widget, (struct cache_filter){.fields = &x_in_c}), "c/x");
	assert_str(list_of(f, &widget, (struct cache_filter){.fields = &nobody}), "");
	assert_str(list_of(f, &gadget, (struct cache_filter){.fields = &x}), "x");
}

/* What the index finds must be what looking at each object finds. */
static void assert_index_is_right(struct fixture *f, const struct cache_snapshot *s, const struct cache_filter *filter)
{
	struct cache_filter none = {0};
	struct cache_iter indexed, plain;
	const struct cached *o;
	cache_iter_init(&indexed, s, filter, STR(""));
	cache_iter_init(&plain, s, &none, STR(""));
	while ((o = cache_iter_next(&plain))) {
		if (cache_filter_matches(filter, o)) {
			assert_ptr_equal(cache_iter_next(&indexed), o);
			if (filter->ns.n == 0) {
				assert_int_equal(cache_iter_remaining(&indexed), cache_iter_remaining(&plain));
			}
		}
	}
	assert_null(cache_iter_next(&indexed));
	arena_clear(&f->a);
}

static void test_cache_iter__indexes_agree_with_brute_force(void **state)
{
	static const char *const labels[] = {"", "a=1", "a=2", "a!=1", "a", "!a", "a in (1,2)", "a in (1,2,3),b=1",
		"a notin (1)", "b=1,c=2", "a=1,b=1,c=1", "a in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23)",
		"c>1", "c<2,a", "z=1", "z in (1,2)"};
	static const char *const fields[] = {"", "color=red", "color=red,shape=shape-of-red", "color!=red", "color=none",
		"color=", "metadata.name=o-07", "metadata.name=o-07,color=red", "metadata.namespace=ns-1,color=red",
		"metadata.namespace!=ns-1"};
	static const char *const namespaces[] = {NULL, "ns-0", "ns-2", "nowhere"};
	static const char *const colors[] = {"red", "green", "blue", ""};
	struct fixture *f = *state;
	int64_t revision = 0;
	srandom(2);
	start(f, (struct cache_options){0});
	for (int i = 0; i < 1500; i++) {
		char rest[64], text[128];
		snprintf(rest, sizeof(rest), "ns-%ld/o-%02ld", random() % 4, random() % 60);
		snprintf(text, sizeof(text), random() % 4 ? "\"a\":\"%ld\",\"b\":\"%ld\",\"c\":\"%ld\"" : "\"b\":\"%ld\"",
			random() % 4, random() % 3, random() % 3);
		revision = random() % 5 ? world_put(f->store, &widget, rest, text, colors[random() % 4])
					: world_delete(f->store, &widget, rest);
	}
	catch_up(f, revision);
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(f->cache, &widget);
	for (size_t l = 0; l < ARRAY_SIZE(labels); l++) {
		for (size_t k = 0; k < ARRAY_SIZE(fields); k++) {
			for (size_t n = 0; n < ARRAY_SIZE(namespaces); n++) {
				struct label_selector ls = world_labels(labels[l], &f->a);
				struct field_selector fs = world_fields(fields[k], &f->a);
				struct cache_filter filter = {str_of(namespaces[n]), &ls, &fs};
				assert_index_is_right(f, s, &filter);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_STORE(test_cache__loads_what_is_there),
		WITH_STORE(test_cache__loads_more_than_a_page),
		WITH_STORE(test_cache__a_load_leaves_out_what_cannot_be_decoded),
		WITH_STORE(test_cache__a_load_survives_the_loss_of_a_page),
		WITH_STORE(test_cache__takes_smaller_pages_where_objects_are_large),
		WITH_STORE(test_cache__follows_changes),
		WITH_STORE(test_cache__order_is_that_of_keys),
		WITH_STORE(test_cache__snapshots_do_not_change),
		WITH_STORE(test_cache__a_revision_of_several_keys_appears_at_once),
		WITH_STORE(test_cache__what_cannot_be_decoded_is_counted_and_left_out),
		WITH_STORE(test_cache__stats_add_up),
		WITH_STORE(test_cache_snapshot_at__shows_each_revision_in_the_window),
		WITH_STORE(test_cache_snapshot_at__knows_its_limits),
		WITH_STORE(test_cache_snapshot_at__random_history_can_be_seen_again),
		WITH_STORE(test_cache_snapshot_pin__outlives_the_window),
		WITH_STORE(test_cache_snapshot_pin__has_a_ceiling),
		WITH_STORE(test_cache_snapshot_pin__keeps_no_more_than_its_bytes),
		WITH_STORE(test_cache_forget__ends_history_before_it),
		WITH_STORE(test_cache_iter__starts_behind_a_key),
		WITH_STORE(test_cache_iter__names_are_looked_up),
		WITH_STORE(test_cache_iter__indexes_agree_with_brute_force),
	};
	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
