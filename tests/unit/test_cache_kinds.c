/* Kinds that come and go with their definitions. A gadget RESOURCE.GROUP defines the kind Thing; its color is what the
 * definition says. */
#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"

#include <sched.h>

enum { LONG_MS = 30000 };

static _Atomic int n_alive; /* kinds */

struct thing {
	struct kind kind;
	struct kind_life life;
	struct version version;
	struct arena a;
	struct str color;
};

static void thing_free(struct kind *k)
{
	struct thing *t = container_of(k, struct thing, kind);

	arena_done(&t->a);
	mem_free(t);
	n_alive--;
}

static const char *text_in(struct arena *a, struct str s)
{
	return arena_printf(a, STR_FMT, STR_ARG(s)).p;
}

static const struct kind *define(const struct object *definition, const struct kind *present)
{
	struct str color = json_text(json_gets(definition->fields, "color")), resource, group;

	if (str_is(color, "refused")) {
		return NULL;
	}
	if (present && str_eq(container_of(present, struct thing, kind)->color, color)) {
		return kind_ref(present);
	}
	struct thing *t = mem_new(struct thing);
	arena_init(&t->a, SIZE_MAX);
	str_cut(definition->meta.name, '.', &resource, &group);
	t->color = arena_dup(&t->a, color);
	t->version = (struct version){.group = text_in(&t->a, group), .name = "v1"};
	t->life = (struct kind_life){.definition = arena_dup(&t->a, definition->meta.name),
		.definition_uid = arena_dup(&t->a, definition->meta.uid),
		.free = thing_free};
	t->kind = (struct kind){.kind = "Thing",
		.list_kind = "ThingList",
		.resource = text_in(&t->a, resource),
		.singular = "thing",
		.versions = &t->version,
		.n_versions = 1};
	kind_begin_life(&t->kind, &t->life);
	n_alive++;
	return &t->kind;
}

struct fixture {
	struct storage *memory;
	struct cache *cache;
	struct arena a;
};

static struct cache *open_cache(struct storage *s)
{
	return world_cache(s, (struct cache_options){.definitions = &gadget, .define = define, .fence_after_ms = 1});
}

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	f->memory = storage_memory_new();
	arena_init(&f->a, 1 << 30);
	f->cache = open_cache(f->memory);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cache_free(f->cache);
	storage_free(f->memory);
	arena_done(&f->a);
	mem_free(f);
	assert_int_equal(n_alive, 0);
	return 0;
}

static int64_t put_thing(struct fixture *f, const char *resource, const char *name)
{
	const char *key = arena_printf(&f->a, WORLD_PREFIX "/objects/aaa.example/%s/%s", resource, name).p;
	const char *text = arena_printf(&f->a,
		"{\"kind\":\"Thing\",\"apiVersion\":\"aaa.example/v1\",\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\"},\"n\":1}",
		name, name)
				   .p;

	return world_put_raw(f->memory, key, text);
}

static int64_t remove_thing(struct fixture *f, const char *resource, const char *name)
{
	struct storage_step step = {
		.kind = STEP_DELETE, .key = arena_printf(&f->a, WORLD_PREFIX "/objects/aaa.example/%s/%s", resource, name)};
	struct storage_txn t = {.success = &step, .n_success = 1};

	assert_int_equal(storage_txn_wait(f->memory, &t), STORAGE_OK);
	int64_t revision = t.op.revision;
	storage_op_clear(&t.op);
	return revision;
}

/* The kind as of that revision: a reference, or NULL. */
static const struct kind *find(struct fixture *f, struct cache *c, int64_t revision, const char *resource)
{
	const struct version *v;

	assert_int_equal(world_wait(c, revision, LONG_MS), STORAGE_OK);
	_cleanup_(kinds_unrefp) struct kinds *t = cache_kinds(c);
	(void)f;
	return kind_ref(kinds_by_resource(t, STR("aaa.example"), STR("v1"), str_of(resource), &v));
}

static const char *names(struct fixture *f, struct cache *c, const struct kind *k)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(c, k);
	const struct cache_filter all = {0};

	return arena_printf(&f->a, STR_FMT, STR_ARG(world_list(s, &all, &f->a))).p;
}

static void test_cache_kinds__a_kind_is_there_before_its_objects(void **state)
{
	struct fixture *f = *state;

	assert_null(cache_kinds(f->cache));
	world_put(f->memory, &gadget, "things.aaa.example", "", "red");
	int64_t revision = put_thing(f, "things", "x");
	const struct kind *k = find(f, f->cache, revision, "things");
	assert_non_null(k);
	assert_false(kind_is_over(k));
	assert_string_equal(names(f, f->cache, k), "x");
	assert_int_equal(k->life->revision, revision - 1);
	kind_unref(k);
	assert_null(find(f, f->cache, revision, "others"));
}

static void test_cache_kinds__a_definition_that_says_the_same_keeps_the_kind(void **state)
{
	struct fixture *f = *state;
	int64_t revision = world_put(f->memory, &gadget, "things.aaa.example", "", "red");
	const struct kind *k = find(f, f->cache, revision, "things");

	revision = world_put(f->memory, &gadget, "things.aaa.example", "\"a\":\"b\"", "red");
	const struct kind *same = find(f, f->cache, revision, "things");
	assert_ptr_equal(same, k);
	assert_int_equal(k->life->revision, revision);
	kind_unref(same);
	kind_unref(k);
}

/* Keys of things sort before those of definitions. */
static void test_cache_kinds__a_load_reads_definitions_first(void **state)
{
	struct fixture *f = *state;

	world_put(f->memory, &gadget, "things.aaa.example", "", "red");
	world_put(f->memory, &gadget, "nothings.aaa.example", "", "refused");
	put_thing(f, "things", "x");
	int64_t revision = put_thing(f, "things", "y");
	struct cache *other = open_cache(f->memory);
	const struct kind *k = find(f, other, revision, "things");
	assert_non_null(k);
	assert_string_equal(names(f, other, k), "x y");
	assert_null(find(f, other, revision, "nothings"));
	kind_unref(k);
	cache_free(other);
}

static void on_wake(void *ctx)
{
	(*(_Atomic int *)ctx)++;
}

static struct cache_watcher *watch(struct cache *c, const struct kind *k, int64_t from, _Atomic int *n_wakes)
{
	struct cache_watcher *w;
	const struct cache_watch_options options = {.kind = k, .from_revision = from, .wake = on_wake, .ctx = n_wakes};

	assert_int_equal(cache_watch_open(c, &w, &options), CACHE_OK);
	return w;
}

static enum cache_next next_of(struct cache_watcher *w)
{
	enum watch_type type;
	_cleanup_(cached_unrefp) struct cached *o = NULL;

	return cache_watch_next(w, &type, &o);
}

static void test_cache_kinds__a_change_ends_the_kind_and_its_watches(void **state)
{
	struct fixture *f = *state;
	_Atomic int n_wakes = 0;

	world_put(f->memory, &gadget, "things.aaa.example", "", "red");
	int64_t revision = put_thing(f, "things", "x");
	const struct kind *k = find(f, f->cache, revision, "things");
	struct cache_watcher *w = watch(f->cache, k, revision - 1, &n_wakes);
	assert_int_equal(next_of(w), CACHE_NEXT_EVENT);
	assert_int_equal(next_of(w), CACHE_NEXT_NONE);

	put_thing(f, "things", "y");
	int64_t changed = world_put(f->memory, &gadget, "things.aaa.example", "", "blue");
	revision = put_thing(f, "things", "z");
	const struct kind *now = find(f, f->cache, revision, "things");
	assert_ptr_not_equal(now, k);
	assert_true(kind_is_over(k));
	assert_false(kind_is_over(now));
	assert_string_equal(names(f, f->cache, now), "x y z");
	/* The last state of a kind is that of the revision at which it ended. */
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *last = cache_snapshot(f->cache, k);
	assert_int_equal(cache_snapshot_revision(last), changed);
	assert_string_equal(names(f, f->cache, k), "x y");
	/* y was before the change; then it is over. */
	assert_int_equal(next_of(w), CACHE_NEXT_EVENT);
	assert_int_equal(next_of(w), CACHE_NEXT_LOST);
	assert_true(n_wakes > 0);
	cache_watch_close(w);
	last = cache_snapshot_unref(last);
	kind_unref(k);
	kind_unref(now);
	/* What came before the change is unknown to the new kind. */
	now = find(f, f->cache, revision, "things");
	struct cache_watcher *none;
	const struct cache_watch_options early = {.kind = now, .from_revision = changed - 1, .wake = on_wake, .ctx = &n_wakes};
	assert_int_equal(cache_watch_open(f->cache, &none, &early), CACHE_EXPIRED);
	kind_unref(now);
}

static void test_cache_kinds__a_deletion_ends_the_kind(void **state)
{
	struct fixture *f = *state;
	_Atomic int n_wakes = 0;

	world_put(f->memory, &gadget, "things.aaa.example", "", "red");
	int64_t revision = put_thing(f, "things", "x");
	const struct kind *k = find(f, f->cache, revision, "things");
	struct cache_watcher *w = watch(f->cache, k, revision, &n_wakes);
	assert_int_equal(next_of(w), CACHE_NEXT_NONE);
	remove_thing(f, "things", "x");
	revision = world_delete(f->memory, &gadget, "things.aaa.example");
	assert_null(find(f, f->cache, revision, "things"));
	assert_int_equal(next_of(w), CACHE_NEXT_EVENT);
	assert_int_equal(next_of(w), CACHE_NEXT_LOST);
	cache_watch_close(w);
	assert_true(kind_is_over(k));
	assert_int_equal(n_alive, 1);
	kind_unref(k);
	while (n_alive > 0) { /* the writer lets go of it after it has published */
		sched_yield();
	}
}

static void test_cache_kinds__a_load_after_a_restore_finds_what_has_gone(void **state)
{
	struct fixture *f = *state;

	int64_t before = world_put(f->memory, &gadget, "olds.aaa.example", "", "red");
	world_put(f->memory, &gadget, "news.aaa.example", "", "red");
	int64_t revision = world_delete(f->memory, &gadget, "olds.aaa.example");
	const struct kind *k = find(f, f->cache, revision, "news");
	assert_non_null(k);
	storage_memory_restore(f->memory, before, RESTORE_NOTICED);
	while (!kind_is_over(k) || !cache_is_ready(f->cache)) {
		sched_yield();
	}
	const struct kind *old = find(f, f->cache, before, "olds");
	assert_non_null(old);
	assert_null(find(f, f->cache, before, "news"));
	kind_unref(old);
	kind_unref(k);
}

static void test_cache_kinds__a_thousand_come_and_go(void **state)
{
	enum { MANY = 1000 };
	struct fixture *f = *state;
	int64_t revision = 0;

	for (int i = 0; i < MANY; i++) {
		world_put(f->memory, &gadget, arena_printf(&f->a, "t%d.aaa.example", i).p, "", "red");
		revision = put_thing(f, arena_printf(&f->a, "t%d", i).p, "x");
	}
	assert_int_equal(world_wait(f->cache, revision, LONG_MS), STORAGE_OK);
	assert_int_equal(n_alive, MANY);
	_cleanup_(kinds_unrefp) struct kinds *t = cache_kinds(f->cache);
	assert_int_equal(kinds_count(t), MANY);
	assert_string_equal(names(f, f->cache, kinds_at(t, 0)), "x");
	t = kinds_unref(t);
	for (int i = 0; i < MANY; i++) {
		remove_thing(f, arena_printf(&f->a, "t%d", i).p, "x");
		revision = world_delete(f->memory, &gadget, arena_printf(&f->a, "t%d.aaa.example", i).p);
	}
	assert_int_equal(world_wait(f->cache, revision, LONG_MS), STORAGE_OK);
	while (n_alive > 0) {
		sched_yield();
	}
	struct cache_stats stats;
	cache_stats(f->cache, NULL, &stats);
	assert_int_equal(stats.n_objects, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cache_kinds__a_kind_is_there_before_its_objects, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_cache_kinds__a_definition_that_says_the_same_keeps_the_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cache_kinds__a_load_reads_definitions_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cache_kinds__a_change_ends_the_kind_and_its_watches, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cache_kinds__a_deletion_ends_the_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cache_kinds__a_load_after_a_restore_finds_what_has_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cache_kinds__a_thousand_come_and_go, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
