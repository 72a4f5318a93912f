/* Values in compressed form, and the bases that they continue: over a real agreement, a cache, and the store in memory. */
#include "storage/engine/plan.h"
#include "storage/keys.h"
#include "tests/unit/migration_world.h"

#include <errno.h>

#define REVISIONS_PATH "annals.dev/v1/controllerrevisions"
#define HISTORIES_PATH "annals.dev/v1/histories"
#define GROUP STR("/history/ns/hu/")
enum { REST_OF_WAIT_MS = 5000 };

static int setup(void **state)
{
	*state = world_new(storage_memory_new(), NULL);
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	struct storage *s = w->storage;

	world_free(w);
	storage_free(s);
	return 0;
}

/* ---- objects ---- */

/* Settings like in every state but one; seed 0: those of all states. */
static struct str data_of(struct world *w, unsigned which, unsigned seed)
{
	struct buf text;

	buf_init(&text, 1 << 20);
	for (unsigned i = 0; i < 150; i++) {
		unsigned value = (i == which ? which + 1000 : i + seed * 7919) * 2654435761u;
		buf_printf(&text, "%s\"s%u\":\"%08x\"", i ? "," : "", i, value);
	}
	struct str s = arena_dup(&w->a, buf_str(&text));
	buf_done(&text);
	return s;
}

static struct object *decode(struct world *w, const char *path, struct str text, const char *name)
{
	struct api_world parser = {.a = w->a};
	struct object *o = world_decode(&parser, path, arena_strdup(&parser.a, arena_dup(&parser.a, text).p));

	w->a = parser.a;
	o->meta.ns = STR("ns");
	o->meta.name = str_of(name);
	o->meta.uid = arena_printf(&w->a, "uid-of-%s", name);
	return o;
}

static struct object *revision(struct world *w, const char *name, int number, const char *owner_kind, struct str data)
{
	struct str text = arena_printf(&w->a,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\","
		"\"name\":\"h\",\"uid\":\"hu\",\"controller\":true}]},\"data\":{" STR_FMT "},\"revision\":%d}",
		name, strcmp(owner_kind, "History") ? "apps/v1" : "annals.dev/v1", owner_kind, STR_ARG(data), number);

	return decode(w, REVISIONS_PATH, text, name);
}

/* ---- writing ---- */

static bool may_write(struct world *w, const void *kind)
{
	struct agreement_ticket ticket;

	return agreement_write(w->agreement, kind, &ticket, NULL) == AGREEMENT_MAY_WRITE;
}

/* Plans the write of an object; before NULL: it is new. */
static void plan_object(struct world *w, struct plan *p, const struct object *before, const struct object *o, int64_t revision)
{
	struct agreement_ticket ticket;
	struct buf text;

	world_await(w, may_write, o->kind);
	assert_int_equal(agreement_write(w->agreement, o->kind, &ticket, NULL), AGREEMENT_MAY_WRITE);
	assert_true(ticket.may_pack == (o->kind->is_packed != NULL));
	buf_init(&text, 1 << 20);
	assert_true(object_encode_stored(&text, o, ticket.version));
	struct str stored = arena_dup(&w->a, buf_str(&text));
	buf_done(&text);
	plan_init(p, &w->a, STR(WORLD_PREFIX));
	plan_change(p,
		&(struct plan_change){.kind = o->kind,
			.ns = o->meta.ns,
			.name = o->meta.name,
			.before = before,
			.after = o,
			.revision = revision,
			.stored = stored,
			.bases = cache_bases(w->cache),
			.ticket = &ticket});
}

static bool has_come(struct world *w, const void *ctx)
{
	return cache_revision(w->cache) >= *(const int64_t *)ctx;
}

static enum plan_outcome send(struct world *w, struct plan *p, int64_t *ret)
{
	assert_int_equal(plan_wait(p, w->storage), STORAGE_OK);
	enum plan_outcome outcome = plan_judge(p, w->agreement);
	*ret = p->txn.op.revision;
	plan_clear(p);
	world_await(w, has_come, ret);
	return outcome;
}

static int64_t write_object(struct world *w, const struct object *before, const struct object *o, int64_t at)
{
	struct plan p;
	int64_t written;

	plan_object(w, &p, before, o, at);
	assert_int_equal(send(w, &p, &written), PLAN_DONE);
	return written;
}

/* ---- what is there ---- */

static struct str stored(struct world *w, const char *path, const char *name)
{
	struct world_stored s;

	assert_true(world_stored(w, path, arena_printf(&w->a, "ns/%s", name).p, &s));
	return s.value;
}

static size_t n_bases(struct world *w)
{
	struct str bases = key_bases(&w->a, STR(WORLD_PREFIX));
	struct storage_range r = {.key = bases, .range_end = storage_prefix_end(&w->a, bases), .count_only = true};

	assert_int_equal(storage_range_wait(w->storage, &r), STORAGE_OK);
	size_t n = (size_t)r.count;
	storage_op_clear(&r.op);
	return n;
}

static void assert_data(struct world *w, const char *name, struct str data)
{
	struct cached *c =
		cache_get(w->cache, kind_by_hub(STR("annals.dev"), STR("controllerrevisions")), STR("ns"), str_of(name));

	assert_non_null(c);
	assert_true(str_contains(cached_body(c, &w->a), data));
	cached_unref(c);
}

/* ---- tests ---- */

static void test_bases__states_continue_the_first_one(void **state)
{
	struct world *w = *state;

	for (int i = 1; i <= 5; i++) {
		const char *name = arena_printf(&w->a, "r%d", i).p;
		write_object(w, NULL, revision(w, name, i, "History", data_of(w, (unsigned)i, 0)), 0);
		assert_true(packed_base_name(stored(w, REVISIONS_PATH, name)).n > 0);
		assert_true(stored(w, REVISIONS_PATH, name).n < 400);
		assert_data(w, name, data_of(w, (unsigned)i, 0));
	}
	assert_int_equal(n_bases(w), 1);
	write_object(w, NULL, revision(w, "other", 9, "History", data_of(w, 0, 5)), 0);
	assert_int_equal(n_bases(w), 2);
	assert_false(str_eq(
		packed_base_name(stored(w, REVISIONS_PATH, "other")), packed_base_name(stored(w, REVISIONS_PATH, "r5"))));
	write_object(w, NULL, revision(w, "r6", 10, "History", data_of(w, 6, 5)), 0);
	assert_true(str_eq(
		packed_base_name(stored(w, REVISIONS_PATH, "other")), packed_base_name(stored(w, REVISIONS_PATH, "r6"))));
	assert_int_equal(n_bases(w), 2);
	assert_data(w, "r3", data_of(w, 3, 0));
}

static void test_bases__other_controllers_keep_plain_text(void **state)
{
	struct world *w = *state;

	write_object(w, NULL, revision(w, "r", 1, "StatefulSet", data_of(w, 1, 0)), 0);
	assert_false(packed_is(stored(w, REVISIONS_PATH, "r")));
	assert_int_equal(n_bases(w), 0);
}

/* Only what takes a place in the history begins to use a base, since that writes a key of the base's group. */
static void test_bases__another_write_of_a_state_continues_nothing(void **state)
{
	struct world *w = *state;
	struct object *o = revision(w, "r1", 1, "History", data_of(w, 1, 0)), *labelled, *moved;

	int64_t at = write_object(w, NULL, o, 0);
	labelled = object_copy(o, &w->a);
	labelled->meta.labels = json_object(&w->a);
	json_add(&w->a, labelled->meta.labels, STR("a"), json_string(&w->a, STR("b")));
	at = write_object(w, o, labelled, at);
	assert_true(packed_is(stored(w, REVISIONS_PATH, "r1")));
	assert_int_equal(packed_base_name(stored(w, REVISIONS_PATH, "r1")).n, 0);
	moved = revision(w, "r1", 2, "History", data_of(w, 1, 0));
	write_object(w, labelled, moved, at);
	assert_true(packed_base_name(stored(w, REVISIONS_PATH, "r1")).n > 0);
}

static struct base_unused only_unused(struct world *w)
{
	struct base_unused unused[2];

	assert_int_equal(bases_unused(cache_bases(w->cache), -1000, unused, 2), 1);
	return unused[0];
}

static bool remove_base(struct world *w, const struct base_unused *unused, int64_t at)
{
	struct plan p;

	plan_init(&p, &w->a, STR(WORLD_PREFIX));
	plan_remove_base(&p, unused, at);
	assert_int_equal(plan_wait(&p, w->storage), STORAGE_OK);
	bool is_done = p.txn.succeeded;
	plan_clear(&p);
	return is_done;
}

/* A base whose last user is gone is about to be removed, while a new state begins to use it. Whoever is first, the other one is refused. */
static void test_bases__removal_and_use_exclude_each_other(void **state)
{
	struct world *w = *state;
	struct object *first = revision(w, "r1", 1, "History", data_of(w, 1, 0));
	struct plan p;
	int64_t at;

	for (int uses_first = 0; uses_first < 2; uses_first++) {
		write_object(w, NULL, first, 0);
		struct str key = key_object(
			&w->a, STR(WORLD_PREFIX), STR("annals.dev"), STR("controllerrevisions"), STR("ns"), STR("r1"));
		int64_t gone = world_step(w, (struct storage_step){.kind = STEP_DELETE, .key = key});
		world_await(w, has_come, &gone);
		struct base_unused unused = only_unused(w);
		plan_object(w, &p, NULL, revision(w, "r2", 2, "History", data_of(w, 2, 0)), 0);
		if (uses_first) {
			assert_int_equal(send(w, &p, &at), PLAN_DONE);
			assert_false(remove_base(w, &unused, gone));
			assert_data(w, "r2", data_of(w, 2, 0));
		} else {
			assert_true(remove_base(w, &unused, gone));
			assert_int_equal(send(w, &p, &at), PLAN_REFUSED);
			assert_int_equal(n_bases(w), 0);
			bases_remove(cache_bases(w->cache), base_name(unused.base), INT64_MAX);
		}
		base_unref(unused.base);
	}
}

static void test_bases__are_removed_when_nobody_uses_them(void **state)
{
	struct world *w = *state;

	write_object(w, NULL, revision(w, "r1", 1, "History", data_of(w, 1, 0)), 0);
	struct base_unused none;
	assert_int_equal(bases_unused(cache_bases(w->cache), -1000, &none, 1), 0);
	struct str key =
		key_object(&w->a, STR(WORLD_PREFIX), STR("annals.dev"), STR("controllerrevisions"), STR("ns"), STR("r1"));
	int64_t gone = world_step(w, (struct storage_step){.kind = STEP_DELETE, .key = key});
	world_await(w, has_come, &gone);
	struct base_unused unused = only_unused(w);
	assert_int_equal(bases_unused(cache_bases(w->cache), REST_OF_WAIT_MS, &none, 1), 0);
	assert_true(str_eq(base_group(unused.base), GROUP));
	assert_true(remove_base(w, &unused, gone));
	base_unref(unused.base);
}

/* ---- a tool that reads etcd itself ---- */

static void test_base_shelf__fetches_what_a_value_continues(void **state)
{
	struct world *w = *state;
	struct base_shelf shelf = {.storage = w->storage, .prefix = STR(WORLD_PREFIX)};

	write_object(w, NULL, revision(w, "r1", 1, "History", data_of(w, 1, 0)), 0);
	struct str value = stored(w, REVISIONS_PATH, "r1"), name = packed_base_name(value);
	assert_int_equal(base_shelf_fetch(&shelf, value, 0), 0);
	assert_int_equal(base_shelf_fetch(&shelf, STR("{}"), 0), 0);
	bases_remove(cache_bases(w->cache), name, INT64_MAX);
	struct str lost = arena_printf(&w->a,
		"{\"kind\":\"History\",\"apiVersion\":\"annals.dev/zstd\",\"base\":\"%s\",\"zstd\":\"\"}", "0123456789abcdef");
	assert_int_equal(base_shelf_fetch(&shelf, lost, 0), -ENOENT);
	world_step(w,
		(struct storage_step){.kind = STEP_PUT,
			.key = key_below(&w->a, key_bases(&w->a, STR(WORLD_PREFIX)), STR("0123456789abcdef")),
			.value = STR("/history/ns/hu/\nno frame")});
	assert_int_equal(base_shelf_fetch(&shelf, lost, 0), -EBADMSG);
	base_shelf_done(&shelf);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_bases__states_continue_the_first_one),
		WORLD_TEST(test_bases__other_controllers_keep_plain_text),
		WORLD_TEST(test_bases__another_write_of_a_state_continues_nothing),
		WORLD_TEST(test_bases__removal_and_use_exclude_each_other),
		WORLD_TEST(test_bases__are_removed_when_nobody_uses_them),
		WORLD_TEST(test_base_shelf__fetches_what_a_value_continues),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
