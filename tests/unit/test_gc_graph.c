#include "base/buf.h"
#include "controllers/gc/gc_graph.h"
#include "tests/unit/check.h"

#include <malloc.h>
#include <stdlib.h>

/* Objects are called by their uid; what is not said is apps/v1 Thing, named as its uid, in the namespace "ns". */

enum { SAID_MAX = 256 };

struct world {
	struct gc_graph *graph;
	char *said[SAID_MAX]; /* what came out, once each */
	size_t n_said;
	uint64_t version;
};

static void say(struct world *w, const char *what, struct str uid)
{
	char *text = mem_printf("%s " STR_FMT, what, STR_ARG(uid));

	for (size_t i = 0; i < w->n_said; i++) {
		if (strcmp(w->said[i], text) == 0) {
			mem_free(text);
			return;
		}
	}
	assert_true(w->n_said < SAID_MAX);
	w->said[w->n_said++] = text;
}

static void on_delete(void *context, struct str uid)
{
	say(context, "delete", uid);
}

static void on_orphan(void *context, struct str uid)
{
	say(context, "orphan", uid);
}

static void on_invalid_namespace(void *context, const struct gc_ref *object, const struct gc_ref *owner)
{
	assert_true(owner->uid.n > 0);
	say(context, "invalid", object->uid);
}

static const struct gc_sink sink = {on_delete, on_orphan, on_invalid_namespace};

static void world_init(struct world *w, size_t max_nodes)
{
	*w = (struct world){.graph = gc_graph_new(max_nodes, 8, &sink, w)};
}

static void hush(struct world *w)
{
	while (w->n_said > 0) {
		mem_free(w->said[--w->n_said]);
	}
}

static void world_done(struct world *w)
{
	gc_graph_free(w->graph);
	hush(w);
}

static int text_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Everything said since the last time, in alphabetical order. */
static void expect_at(struct world *w, const char *wanted, const char *file, int line)
{
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, SAID_MAX * 64);
	qsort(w->said, w->n_said, sizeof(*w->said), text_cmp);
	for (size_t i = 0; i < w->n_said; i++) {
		buf_printf(&out, i > 0 ? ", %s" : "%s", w->said[i]);
	}
	hush(w);
	assert_str_at(buf_str(&out), wanted, file, line);
}
#define expect(w, wanted) expect_at((w), (wanted), __FILE__, __LINE__)

static struct gc_ref thing_in(const char *ns, const char *uid)
{
	return (struct gc_ref){STR("apps/v1"), STR("Thing"), str_of(ns), str_of(uid), str_of(uid)};
}

static struct gc_ref thing(const char *uid)
{
	return thing_in("ns", uid);
}

enum { DELETING = 1, ORPHAN = 2, FOREGROUND = 4 };

static int observe(struct world *w, struct gc_ref ref, unsigned flags, const struct gc_owner *owners, size_t n)
{
	const struct gc_object o = {
		.ref = ref,
		.version = ++w->version,
		.owners = owners,
		.n_owners = n,
		.is_deleting = flags & DELETING,
		.has_orphan_finalizer = flags & ORPHAN,
		.has_foreground_finalizer = flags & FOREGROUND,
	};
	return gc_graph_observe(w->graph, &o);
}

static void have(struct world *w, const char *uid)
{
	assert_int_equal(observe(w, thing(uid), 0, NULL, 0), 0);
}

static struct gc_owner owned_by(struct gc_ref dependent, struct gc_ref owner)
{
	owner.ns = dependent.ns; /* a reference has no namespace but its object's */
	return (struct gc_owner){.ref = owner};
}

static void have_owned(struct world *w, struct gc_ref dependent, struct gc_ref owner)
{
	const struct gc_owner o = owned_by(dependent, owner);
	assert_int_equal(observe(w, dependent, 0, &o, 1), 0);
}

static void have_blocking(struct world *w, const char *dependent, const char *owner, bool blocks)
{
	const struct gc_owner o = {.ref = thing(owner), .blocks = blocks};
	assert_int_equal(observe(w, thing(dependent), 0, &o, 1), 0);
}

static size_t n_dependents(struct world *w, const char *uid)
{
	_cleanup_(arena_done) struct arena a;
	struct gc_item item = {0};
	struct gc_ref *refs = NULL;
	arena_init(&a, SIZE_MAX);
	size_t n = gc_graph_dependents(w->graph, str_of(uid), &a, &refs);
	if (gc_graph_get(w->graph, str_of(uid), &a, &item)) {
		assert_int_equal(item.n_dependents, n);
	}
	return n;
}

static bool is_known(struct world *w, const char *uid)
{
	_cleanup_(arena_done) struct arena a;
	struct gc_item item;
	arena_init(&a, SIZE_MAX);
	return gc_graph_get(w->graph, str_of(uid), &a, &item);
}

/* ---- owners that are seen, unseen, and go ---- */

static void test_gc_graph__an_observed_owner_needs_no_attempt(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	have(&w, "owner");
	have_owned(&w, thing("child"), thing("owner"));
	expect(&w, "");
	assert_int_equal(n_dependents(&w, "owner"), 1);
}

static void test_gc_graph__an_unseen_owner_is_looked_for_once(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	have_owned(&w, thing("child"), thing("owner"));
	expect(&w, "delete owner");
	have_owned(&w, thing("sister"), thing("owner"));
	expect(&w, "");
	have(&w, "owner");
	expect(&w, "");
	assert_int_equal(n_dependents(&w, "owner"), 2);
}

static void test_gc_graph_deny__an_absent_owner_leads_to_its_dependents(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref owner = thing("owner");
	have_owned(&w, thing("child"), owner);
	expect(&w, "delete owner");
	gc_graph_deny(w.graph, &owner);
	expect(&w, "delete child");
	assert_false(is_known(&w, "owner"));
	assert_true(gc_graph_is_absent(w.graph, &owner));
	assert_true(is_known(&w, "child"));
}

static void test_gc_graph_forget__an_owner_that_goes_leads_to_its_dependents(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref owner = thing("owner");
	have(&w, "owner");
	have_owned(&w, thing("child"), owner);
	have_owned(&w, thing("grandchild"), thing("child"));
	have(&w, "stranger");
	gc_graph_forget(w.graph, &owner, false);
	expect(&w, "delete child");
	assert_true(gc_graph_is_absent(w.graph, &owner));
}

static void test_gc_graph_forget__a_guess_is_no_proof(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref owner = thing("owner");
	have(&w, "owner");
	have_owned(&w, thing("child"), owner);
	gc_graph_forget(w.graph, &owner, true);
	expect(&w, "delete child");
	assert_false(gc_graph_is_absent(w.graph, &owner));
}

static void test_gc_graph_forget__of_nobodys_owner_is_not_remembered(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref single = thing("single");
	have(&w, "single");
	gc_graph_forget(w.graph, &single, false);
	gc_graph_forget(w.graph, &single, false);
	expect(&w, "");
	assert_false(gc_graph_is_absent(w.graph, &single));
	assert_int_equal(gc_graph_size(w.graph), 0);
}

static void test_gc_graph__references_follow_updates(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	have(&w, "a");
	have(&w, "b");
	have_owned(&w, thing("child"), thing("a"));
	have_owned(&w, thing("child"), thing("b"));
	expect(&w, "");
	assert_int_equal(n_dependents(&w, "a"), 0);
	assert_int_equal(n_dependents(&w, "b"), 1);
	have(&w, "child");
	assert_int_equal(n_dependents(&w, "b"), 0);
}

static void test_gc_graph__several_references_to_one_uid_are_one_dependent(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref alias = thing("owner");
	alias.name = STR("alias");
	const struct gc_owner owners[] = {{.ref = alias}, {.ref = thing("other")}, {.ref = thing("owner"), .blocks = true}};
	have(&w, "owner");
	have(&w, "other");
	observe(&w, thing("child"), 0, owners, 3);
	assert_int_equal(n_dependents(&w, "owner"), 1);
	hush(&w);
	observe(&w, thing("child"), 0, owners, 2);
	expect(&w, "delete owner"); /* the blocking one went */
	assert_int_equal(n_dependents(&w, "owner"), 1);
}

static void test_gc_graph__an_object_may_own_itself(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref self = thing("self");
	have_owned(&w, self, self);
	expect(&w, "");
	assert_int_equal(n_dependents(&w, "self"), 1);
	gc_graph_forget(w.graph, &self, false);
	assert_int_equal(gc_graph_size(w.graph), 0);
}

static void test_gc_graph__a_circle_can_go_in_any_order(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref a = thing("a"), b = thing("b"), c = thing("c");
	have_owned(&w, a, b);
	have_owned(&w, b, c);
	have_owned(&w, c, a);
	hush(&w);
	gc_graph_forget(w.graph, &b, false);
	expect(&w, "delete a");
	gc_graph_forget(w.graph, &a, false);
	expect(&w, "delete c");
	gc_graph_forget(w.graph, &c, false);
	assert_int_equal(gc_graph_size(w.graph), 0);
}

static void test_gc_graph__older_versions_are_not_believed(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	const struct gc_owner owner = {.ref = thing("owner")};
	const struct gc_object old = {.ref = thing("child"), .version = 5, .owners = &owner, .n_owners = 1};
	const struct gc_object new = {.ref = thing("child"), .version = 6};
	have(&w, "owner");
	gc_graph_observe(w.graph, &new);
	gc_graph_observe(w.graph, &old);
	assert_int_equal(n_dependents(&w, "owner"), 0);
}

static void test_gc_graph__a_uid_that_cannot_be_is_not_waited_for(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref odd = thing("odd");
	odd.uid = STR("o\0d");
	have_owned(&w, thing("child"), odd);
	expect(&w, "delete child");
	assert_int_equal(gc_graph_size(w.graph), 1);
}

static void test_gc_graph__has_a_ceiling(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, 2);
	have(&w, "a");
	have(&w, "b");
	assert_int_equal(observe(&w, thing("c"), 0, NULL, 0), GC_GRAPH_FULL);
	expect(&w, "");
	have_owned(&w, thing("b"), thing("unseen"));
	expect(&w, "delete b"); /* no node will stand for the owner: look now */
	assert_int_equal(gc_graph_size(w.graph), 2);
}

/* ---- foreground and orphaning ---- */

static void test_gc_graph__foreground_leads_to_dependents_and_back(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref child = thing("child");
	have(&w, "owner");
	have_blocking(&w, "child", "owner", true);
	have_blocking(&w, "free", "owner", false);
	observe(&w, thing("owner"), DELETING | FOREGROUND, NULL, 0);
	expect(&w, "delete child, delete free, delete owner");
	assert_int_equal(gc_graph_attempt_blockers(w.graph, STR("owner")), 1);
	expect(&w, "delete child");
	observe(&w, thing("owner"), DELETING | FOREGROUND, NULL, 0);
	expect(&w, "");
	gc_graph_forget(w.graph, &child, false);
	expect(&w, "delete owner");
	assert_int_equal(gc_graph_attempt_blockers(w.graph, STR("owner")), 0);
	expect(&w, "");
}

static void test_gc_graph__a_waiting_blocker_is_left_to_itself(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	_cleanup_(arena_done) struct arena a;
	struct gc_item item;
	arena_init(&a, SIZE_MAX);
	const struct gc_owner owner = {.ref = thing("owner"), .blocks = true};
	observe(&w, thing("owner"), DELETING | FOREGROUND, NULL, 0);
	observe(&w, thing("child"), DELETING | FOREGROUND, &owner, 1);
	hush(&w);
	assert_int_equal(gc_graph_attempt_blockers(w.graph, STR("owner")), 1);
	expect(&w, "");
	assert_true(gc_graph_get(w.graph, STR("owner"), &a, &item));
	assert_true(item.is_waiting && item.is_deleting && item.has_waiting_dependent);
}

/* A finalizer alone is no deletion: whoever makes an object may give it one. */
static void test_gc_graph__who_is_not_being_deleted_waits_for_nothing(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	_cleanup_(arena_done) struct arena a;
	struct gc_item item;
	arena_init(&a, SIZE_MAX);
	have(&w, "owner");
	have_blocking(&w, "child", "owner", true);
	hush(&w);
	observe(&w, thing("owner"), FOREGROUND, NULL, 0);
	expect(&w, "");
	assert_true(gc_graph_get(w.graph, STR("owner"), &a, &item));
	assert_false(item.is_waiting || item.is_deleting);
}

static void test_gc_graph__an_owner_no_longer_blocked_is_attempted(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	have(&w, "owner");
	have_blocking(&w, "child", "owner", true);
	have_blocking(&w, "child", "owner", false);
	expect(&w, "delete owner");
	have_blocking(&w, "child", "owner", true);
	expect(&w, "");
	have(&w, "child");
	expect(&w, "delete owner");
}

static void test_gc_graph__orphaning_goes_before_foreground(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	have_owned(&w, thing("child"), thing("owner"));
	hush(&w);
	observe(&w, thing("owner"), ORPHAN, NULL, 0);
	expect(&w, "");
	observe(&w, thing("owner"), DELETING | ORPHAN | FOREGROUND, NULL, 0);
	expect(&w, "orphan owner");
	observe(&w, thing("owner"), DELETING | ORPHAN | FOREGROUND, NULL, 0);
	expect(&w, "");
	observe(&w, thing("fresh"), DELETING | ORPHAN, NULL, 0);
	expect(&w, "orphan fresh"); /* seen for the first time, by a collector that has just started */
}

/* ---- references that disagree ---- */

static void test_gc_graph__an_owner_in_another_namespace_is_invalid(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	observe(&w, thing_in("there", "owner"), 0, NULL, 0);
	have_owned(&w, thing("late"), thing("owner"));
	expect(&w, "delete late, invalid late");
	have_owned(&w, thing("early"), thing("unseen"));
	expect(&w, "delete unseen");
	observe(&w, thing_in("there", "unseen"), 0, NULL, 0);
	expect(&w, "delete early, invalid early");
}

static void test_gc_graph__a_cluster_scoped_owner_is_everybodys(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	observe(&w, thing_in("", "owner"), 0, NULL, 0);
	have_owned(&w, thing_in("one", "a"), thing("owner"));
	have_owned(&w, thing_in("two", "b"), thing("owner"));
	have_owned(&w, thing_in("", "c"), thing("owner"));
	expect(&w, "");
}

static void test_gc_graph__a_cluster_scoped_dependent_cannot_have_a_namespaced_owner(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	have(&w, "owner");
	have_owned(&w, thing_in("", "late"), thing("owner"));
	expect(&w, "delete late, invalid late");
	have_owned(&w, thing_in("", "early"), thing("unseen"));
	have_owned(&w, thing("good"), thing("unseen"));
	expect(&w, "delete good, delete unseen"); /* perhaps there is no such thing in the namespace: look */
	have(&w, "unseen");
	expect(&w, "delete early, invalid early");
}

static void test_gc_graph__another_name_for_the_owner_is_doubted(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref alias = thing("owner");
	alias.name = STR("alias");
	have(&w, "owner");
	have_owned(&w, thing("late"), alias);
	expect(&w, "delete late");
	gc_graph_deny(w.graph, &alias); /* whoever asked by that name */
	expect(&w, "delete late");
	assert_true(gc_graph_is_absent(w.graph, &alias));
	assert_true(is_known(&w, "owner"));
}

static void test_gc_graph__names_of_an_unseen_owner_are_tried_in_turn(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	_cleanup_(arena_done) struct arena a;
	struct gc_item item;
	arena_init(&a, SIZE_MAX);
	struct gc_ref b = thing("owner"), c = thing("owner");
	b.name = STR("b");
	c.name = STR("c");
	have_owned(&w, thing("one"), b);
	have_owned(&w, thing("two"), c);
	expect(&w, "delete owner, delete two");
	gc_graph_deny(w.graph, &b);
	expect(&w, "delete one");
	assert_true(gc_graph_get(w.graph, STR("owner"), &a, &item) && item.is_virtual);
	assert_str(item.ref.name, "c");
	gc_graph_deny(w.graph, &c);
	expect(&w, "delete two");
	assert_true(gc_graph_get(w.graph, STR("owner"), &a, &item));
	assert_str(item.ref.name, "b"); /* behind the last comes the first */
	have(&w, "one");
	gc_graph_deny(w.graph, &c);
	expect(&w, "delete two");
	assert_false(is_known(&w, "owner"));
}

static void test_gc_graph__a_name_in_another_namespace_is_another_name(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref one = thing_in("one", "owner"), two = thing_in("two", "owner");
	have_owned(&w, thing_in("one", "a"), one);
	have_owned(&w, thing_in("two", "b"), two);
	expect(&w, "delete b, delete owner");
	gc_graph_deny(w.graph, &one);
	expect(&w, "delete a");
	gc_graph_deny(w.graph, &two);
	expect(&w, "delete b");
	observe(&w, two, 0, NULL, 0);
	expect(&w, "delete a, invalid a");
}

static void list(struct world *w, const char *kind, const char *uid, uint32_t listing)
{
	struct gc_owner owner = owned_by(thing(uid), thing("set"));
	struct gc_object o = {.ref = thing(uid), .version = 1, .owners = &owner, .n_owners = 1, .listing = listing};

	o.ref.kind = str_of(kind);
	assert_int_equal(gc_graph_observe(w->graph, &o), 0);
}

static void test_gc_graph_end_list__what_it_did_not_show_is_gone_by_a_guess(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	uint32_t first = gc_graph_begin_list(w.graph), other = gc_graph_begin_list(w.graph);
	list(&w, "Thing", "stays", first);
	list(&w, "Thing", "goes", first);
	list(&w, "Other", "other", other);
	w.version = 1;
	have_owned(&w, thing_in("ns", "child"), thing("goes"));
	expect(&w, "delete set");

	uint32_t second = gc_graph_begin_list(w.graph);
	list(&w, "Thing", "stays", second); /* in the version that is known */
	list(&w, "Thing", "child", second); /* in an older one than is known, which shows that it is there, and no more */
	gc_graph_end_list(w.graph, STR("apps/v1"), STR("Thing"), second);
	expect(&w, "delete child");
	struct gc_ref goes = thing("goes");
	assert_false(gc_graph_is_absent(w.graph, &goes));
	assert_false(is_known(&w, "goes"));
	assert_true(is_known(&w, "stays") && is_known(&w, "child") && is_known(&w, "other") && is_known(&w, "set"));
}

/* A read would not prove it: gc_ref_may_live_elsewhere(). */
static void test_gc_graph_end_list__proves_that_an_owner_without_controller_is_gone(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	list(&w, "Deployment", "web", gc_graph_begin_list(w.graph));
	w.version = 1;
	struct gc_ref web = thing("web");
	web.kind = STR("Deployment");
	have_owned(&w, thing_in("ns", "child"), web);
	expect(&w, "delete set");
	gc_graph_end_list(w.graph, STR("apps/v1"), STR("Deployment"), gc_graph_begin_list(w.graph));
	expect(&w, "delete child");
	assert_true(gc_graph_is_absent(w.graph, &web));
	assert_false(is_known(&w, "web"));
}

static size_t heap_used(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* docs/how-to/run-the-server.md says 600 bytes for an object with an owner. N: where the map has just grown, and is emptiest. */
static void test_gc_graph__what_an_object_costs(void **state _unused_)
{
	enum { N = 3 * 4096 + 1, OBJECT_MAX = 600, LONE_MAX = 400 };
	size_t before = heap_used();
	if (before == 0) {
		skip(); /* a sanitizer's heap says nothing */
	}
	for (unsigned n_owners = 0; n_owners < 2; n_owners++) {
		_cleanup_(world_done) struct world w;
		world_init(&w, SIZE_MAX);
		struct gc_ref set = {STR("apps/v1"), STR("StatefulSet"), STR("some-namespace"), STR("the-name-of-a-set"),
			STR("6f1b7f5a-95a8-4b4b-b5f6-0c1e6ad4a2f0")};
		struct gc_owner owner = {.ref = set, .blocks = true};
		assert_int_equal(observe(&w, set, 0, NULL, 0), 0);
		size_t empty = heap_used();
		for (unsigned i = 0; i < N; i++) {
			struct arena a;
			char scratch[512];
			arena_init_with(&a, SIZE_MAX, scratch, sizeof(scratch));
			struct gc_ref pod = {STR("v1"), STR("ConfigMap"), set.ns, arena_printf(&a, "the-name-of-a-set-%u", i),
				arena_printf(&a, "6f1b7f5a-95a8-4b4b-b5f6-%012x", i)};
			assert_int_equal(observe(&w, pod, 0, &owner, n_owners), 0);
			arena_done(&a);
		}
		size_t each = (heap_used() - empty) / N;
		print_message("an object with %u owners takes %zu bytes\n", n_owners, each);
		assert_true(each <= (n_owners ? OBJECT_MAX : LONE_MAX));
	}
}

static void test_gc_absent__keeps_the_latest_used(void **state _unused_)
{
	_cleanup_(world_done) struct world w;
	world_init(&w, SIZE_MAX);
	struct gc_ref first = thing("0"), second = thing("1");
	for (int i = 0; i < 9; i++) { /* the ninth takes the place of the longest unused */
		const char name[] = {(char)('0' + i), 0};
		struct gc_ref r = thing(name);
		gc_graph_note_absent(w.graph, &r);
		assert_true(gc_graph_is_absent(w.graph, &first));
	}
	assert_false(gc_graph_is_absent(w.graph, &second));
	first.ns = str_of(NULL);
	assert_false(gc_graph_is_absent(w.graph, &first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_gc_graph__an_observed_owner_needs_no_attempt),
		TEST(test_gc_graph__an_unseen_owner_is_looked_for_once),
		TEST(test_gc_graph_deny__an_absent_owner_leads_to_its_dependents),
		TEST(test_gc_graph_forget__an_owner_that_goes_leads_to_its_dependents),
		TEST(test_gc_graph_forget__a_guess_is_no_proof),
		TEST(test_gc_graph_forget__of_nobodys_owner_is_not_remembered),
		TEST(test_gc_graph__references_follow_updates),
		TEST(test_gc_graph__several_references_to_one_uid_are_one_dependent),
		TEST(test_gc_graph__an_object_may_own_itself),
		TEST(test_gc_graph__a_circle_can_go_in_any_order),
		TEST(test_gc_graph__older_versions_are_not_believed),
		TEST(test_gc_graph__a_uid_that_cannot_be_is_not_waited_for),
		TEST(test_gc_graph__has_a_ceiling),
		TEST(test_gc_graph__foreground_leads_to_dependents_and_back),
		TEST(test_gc_graph__who_is_not_being_deleted_waits_for_nothing),
		TEST(test_gc_graph__a_waiting_blocker_is_left_to_itself),
		TEST(test_gc_graph__an_owner_no_longer_blocked_is_attempted),
		TEST(test_gc_graph__orphaning_goes_before_foreground),
		TEST(test_gc_graph__an_owner_in_another_namespace_is_invalid),
		TEST(test_gc_graph__a_cluster_scoped_owner_is_everybodys),
		TEST(test_gc_graph__a_cluster_scoped_dependent_cannot_have_a_namespaced_owner),
		TEST(test_gc_graph__another_name_for_the_owner_is_doubted),
		TEST(test_gc_graph__names_of_an_unseen_owner_are_tried_in_turn),
		TEST(test_gc_graph__a_name_in_another_namespace_is_another_name),
		TEST(test_gc_graph_end_list__what_it_did_not_show_is_gone_by_a_guess),
		TEST(test_gc_graph_end_list__proves_that_an_owner_without_controller_is_gone),
		TEST(test_gc_graph__what_an_object_costs),
		TEST(test_gc_absent__keeps_the_latest_used),
	};
	return cmocka_run_group_tests_name("gc_graph", tests, NULL, NULL);
}
