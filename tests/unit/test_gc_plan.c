#include "controllers/gc/gc_plan.h"
#include "controllers/kit/patch.h"
#include "tests/unit/check.h"

/* ---- plans ---- */

struct plan_case {
	struct gc_situation s;
	enum gc_action action;
	const char *propagation;
	bool unblocks;
};

static void check_plan(const struct plan_case *c)
{
	struct gc_plan p = gc_plan_for(&c->s);

	assert_int_equal(p.action, c->action);
	assert_int_equal(p.unblocks, c->unblocks);
	if (c->action == GC_DELETE) {
		assert_string_equal(p.propagation, c->propagation);
	}
}

static void test_gc_plan__a_solid_owner_keeps_its_dependent(void **state _unused_)
{
	const struct plan_case cases[] = {
		{.s = {.n_owners = {1, 0, 0}}, .action = GC_KEEP},
		{.s = {.n_owners = {1, 1, 0}}, .action = GC_TRIM},
		{.s = {.n_owners = {1, 0, 1}}, .action = GC_TRIM},
		{.s = {.n_owners = {1, 2, 1}, .has_dependents = true, .has_waiting_dependent = true}, .action = GC_TRIM},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_plan(&cases[i]);
	}
}

static void test_gc_plan__who_has_no_owner_stays(void **state _unused_)
{
	check_plan(&(struct plan_case){.s = {.has_dependents = true}, .action = GC_KEEP});
}

static void test_gc_plan__who_lost_all_owners_goes(void **state _unused_)
{
	const struct plan_case cases[] = {
		{{.n_owners = {0, 1, 0}}, GC_DELETE, "Background", false},
		{{.n_owners = {0, 1, 0}, .has_dependents = true, .has_waiting_dependent = true}, GC_DELETE, "Background",
			false},
		{{.n_owners = {0, 2, 0}, .has_orphan_finalizer = true}, GC_DELETE, "Orphan", false},
		{{.n_owners = {0, 1, 0}, .has_foreground_finalizer = true}, GC_DELETE, "Foreground", false},
		{{.n_owners = {0, 0, 1}}, GC_DELETE, "Background", false},
		{{.n_owners = {0, 0, 1}, .has_orphan_finalizer = true}, GC_DELETE, "Orphan", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_plan(&cases[i]);
	}
}

static void test_gc_plan__foreground_goes_down_the_tree(void **state _unused_)
{
	check_plan(&(struct plan_case){{.n_owners = {0, 1, 1}, .has_dependents = true}, GC_DELETE, "Foreground", false});
	check_plan(&(struct plan_case){
		{.n_owners = {0, 0, 1}, .has_dependents = true, .has_waiting_dependent = true}, GC_DELETE, "Foreground", true});
}

/* ---- patches ---- */

struct patching {
	struct arena a;
	struct json *meta;
	struct buf out;
};

static void setup(struct patching *t, const char *meta)
{
	size_t at;
	arena_init(&t->a, 1 << 20);
	buf_init(&t->out, 1 << 20);
	assert_int_equal(json_parse(&t->meta, &t->a, str_of(meta), JSON_LIMITS_DEFAULT, &at), 0);
}

static void done(struct patching *t)
{
	buf_done(&t->out);
	arena_done(&t->a);
}

static const char two_owners[] = "{\"uid\":\"me\",\"resourceVersion\":\"7\",\"ownerReferences\":[{\"uid\":\"a\",\"name\":\"x\","
				 "\"blockOwnerDeletion\":true},"
				 "{\"uid\":\"b\",\"name\":\"y\"}]}";

static void test_gc_patch_unrefer__names_object_and_owners(void **state _unused_)
{
	_cleanup_(done) struct patching t;
	setup(&t, two_owners);
	gc_patch_unrefer(&t.out, STR("me"), (const struct str[]){STR("a"), STR("c")}, 2);
	assert_str(buf_str(&t.out),
		"{\"metadata\":{\"uid\":\"me\",\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"a\"},"
		"{\"$patch\":\"delete\",\"uid\":\"c\"}]}}");
}

static void test_gc_patch_unrefer_merge__keeps_the_others(void **state _unused_)
{
	_cleanup_(done) struct patching t;
	setup(&t, two_owners);
	gc_patch_unrefer_merge(&t.out, STR("me"), t.meta, (const struct str[]){STR("a")}, 1);
	assert_str(buf_str(&t.out),
		"{\"metadata\":{\"uid\":\"me\",\"resourceVersion\":\"7\",\"ownerReferences\":[{\"uid\":\"b\",\"name\":\"y\"}]}"
		"}");
	buf_clear(&t.out);
	gc_patch_unrefer_merge(&t.out, STR("me"), t.meta, (const struct str[]){STR("a"), STR("b")}, 2);
	assert_str(buf_str(&t.out), "{\"metadata\":{\"uid\":\"me\",\"resourceVersion\":\"7\",\"ownerReferences\":null}}");
}

static void test_gc_patch_unblock__changes_only_what_blocks(void **state _unused_)
{
	_cleanup_(done) struct patching t;
	setup(&t, two_owners);
	gc_patch_unblock(&t.out, t.meta);
	assert_str(buf_str(&t.out),
		"{\"metadata\":{\"uid\":\"me\",\"resourceVersion\":\"7\",\"ownerReferences\":[{\"uid\":\"a\","
		"\"blockOwnerDeletion\":false}]}}");
	buf_clear(&t.out);
	gc_patch_unblock_merge(&t.out, t.meta);
	assert_str(buf_str(&t.out),
		"{\"metadata\":{\"uid\":\"me\",\"resourceVersion\":\"7\",\"ownerReferences\":[{\"uid\":\"a\",\"name\":\"x\","
		"\"blockOwnerDeletion\":false},{\"uid\":\"b\",\"name\":\"y\"}]}}");
}

static void test_gc_patch_finalize__takes_one_away(void **state _unused_)
{
	_cleanup_(done) struct patching t;
	setup(&t, "{\"uid\":\"me\",\"resourceVersion\":\"7\",\"finalizers\":[\"x/y\",\"orphan\"]}");
	assert_true(gc_patch_finalize(&t.out, t.meta, "orphan"));
	assert_str(buf_str(&t.out), "{\"metadata\":{\"uid\":\"me\",\"resourceVersion\":\"7\",\"finalizers\":[\"x/y\"]}}");
	buf_clear(&t.out);
	assert_false(gc_patch_finalize(&t.out, t.meta, "foregroundDeletion"));
	assert_str(buf_str(&t.out), "");
}

static void test_gc_patch_finalize__the_last_leaves_null(void **state _unused_)
{
	_cleanup_(done) struct patching t;
	setup(&t, "{\"uid\":\"me\",\"resourceVersion\":\"7\",\"finalizers\":[\"orphan\"]}");
	assert_true(gc_patch_finalize(&t.out, t.meta, "orphan"));
	assert_str(buf_str(&t.out), "{\"metadata\":{\"uid\":\"me\",\"resourceVersion\":\"7\",\"finalizers\":null}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_gc_plan__a_solid_owner_keeps_its_dependent),
		TEST(test_gc_plan__who_has_no_owner_stays),
		TEST(test_gc_plan__who_lost_all_owners_goes),
		TEST(test_gc_plan__foreground_goes_down_the_tree),
		TEST(test_gc_patch_unrefer__names_object_and_owners),
		TEST(test_gc_patch_unrefer_merge__keeps_the_others),
		TEST(test_gc_patch_unblock__changes_only_what_blocks),
		TEST(test_gc_patch_finalize__takes_one_away),
		TEST(test_gc_patch_finalize__the_last_leaves_null),
	};
	return cmocka_run_group_tests_name("gc_plan", tests, NULL, NULL);
}
