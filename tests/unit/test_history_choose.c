/* Which revision is the state of today, over both carriers (seed 000, "Controllers" 3; seed 002,
 * "Template Updates"). */
#include "controllers/kit/history.h"

#include "tests/unit/history_world.h"

#include "api/model/history.h"
#include "api/model/members.h"

#include <stdlib.h>

#define IMAGE(name) "{\"spec\":{\"image\":\"" name "\"}}"
/* The same state, otherwise written. */
#define LIKE_IMAGE(name)                                                         \
	"{\"metadata\":{\"creationTimestamp\":null},\"spec\":{\"image\":\"" name \
	"\",\"volumes\":[],\"restartPolicy\":\"Always\"}}"

static enum history_action pass(struct history_world *w, const char *state, struct revision *ret)
{
	world_set(w, state);
	return world_pass(w, ret);
}

/* An object that is in the way of nobody: another state, name and number of the first one's
 * kind. */
static struct json *revision_of(struct history_world *w, const char *name, int64_t number, const char *state)
{
	struct history_owner o = w->owner;
	o.state = parsed(&w->arena, state);
	o.generation = number;
	struct history_choice choice;
	struct history empty = {NULL, 0};
	assert_true(history_choose(&choice, w->carrier, &o, &empty, 0, &w->arena));
	struct json *object = with_meta(&w->arena, choice.revision.object, "name", json_string(&w->arena, str_of(name)));
	if (w->carrier->renumbers) {
		json_set(&w->arena, object, STR("revision"), json_int(&w->arena, number));
	}
	return object;
}

/* ---- objects ---- */

/* seeds: H22 H25 */
static void test_created__controllerrevision_is_upstreams(void **state _unused_)
{
	struct history_world w;
	struct revision r;
	world_init(&w, &carrier_controllerrevisions, "web");
	w.owner.annotations = parsed(&w.arena, "{\"kubernetes.io/change-cause\":\"why\"}");
	w.owner.state = parsed(&w.arena,
		"{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:1\","
		"\"resources\":{}}]}}");
	assert_int_equal(world_pass(&w, &r), HISTORY_CREATED);
	assert_str(encoded(&w.arena, r.object),
		"{\"apiVersion\":\"apps/"
		"v1\",\"kind\":\"ControllerRevision\",\"metadata\":{\"name\":\"web-5f6b5c675d\",\"namespace\":\"ns\","
		"\"labels\":{\"app\":\"web\",\"controller.kubernetes.io/hash\":\"5f6b5c675d\"},"
		"\"annotations\":{\"kubernetes.io/change-cause\":\"why\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"apps/"
		"v1\",\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"uid-of-owner\","
		"\"controller\":true,\"blockOwnerDeletion\":true}]},"
		"\"data\":{\"spec\":{\"template\":{\"$patch\":\"replace\",\"metadata\":{\"labels\":{\"app\":\"web\"}},"
		"\"spec\":{\"containers\":[{\"image\":\"i:1\",\"name\":\"c\",\"resources\":{}}]}}}},\"revision\":1}");
	assert_str(r.name, "web-5f6b5c675d");
	assert_int_equal(r.number, 1);
	assert_int_equal(r.generation, 0);
	assert_true(json_equal(r.state, w.owner.state));
	world_done(&w);
}

static void test_created__controllerrevision_names_the_generation_there_is(void **state _unused_)
{
	struct history_world w;
	struct revision r;
	world_init(&w, &carrier_controllerrevisions, "web");
	w.owner.generation = 6;
	w.owner.labels = NULL;
	w.owner.revision_api_version = STR("annals.dev/v1");
	pass(&w, IMAGE("a"), &r);
	assert_int_equal(r.generation, 7);
	const struct json *meta = json_gets(r.object, "metadata");
	assert_str(member_text(json_gets(meta, "labels"), HISTORY_LABEL_GENERATION), "7");
	assert_str(member_text(r.object, "apiVersion"), "annals.dev/v1");
	assert_null(json_gets(meta, "annotations"));
	world_done(&w);
}

/* U38 to U42 */
/* seeds: U38 U39 U40 U41 U42 */
static void test_created__podtemplate_is_that_of_the_seed(void **state _unused_)
{
	struct history_world w;
	struct revision r;
	world_init(&w, &carrier_podtemplates, "web");
	w.owner.annotations = parsed(&w.arena, "{\"kubernetes.io/change-cause\":\"why\"}");
	w.owner.generation = 10;
	assert_int_equal(pass(&w, IMAGE("a"), &r), HISTORY_CREATED);
	assert_str(encoded(&w.arena, r.object),
		"{\"apiVersion\":\"v1\",\"kind\":\"PodTemplate\",\"metadata\":{\"name\":\"web-11\",\"namespace\":\"ns\","
		"\"labels\":{\"created-by-statefulset\":\"web\",\"statefulset-template-revision\":\"11\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"apps/"
		"v1\",\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"uid-of-owner\","
		"\"controller\":true,\"blockOwnerDeletion\":true}]},"
		"\"template\":{\"spec\":{\"image\":\"a\"}}}");
	assert_int_equal(r.number, 11);
	assert_int_equal(r.generation, 11);
	world_done(&w);
}

/* X7: "web" and 11 are not "web1" and 1. */
/* seeds: U42 */
static void test_created__podtemplates_of_two_sets_have_two_names(void **state _unused_)
{
	struct history_world w;
	struct revision a, b;
	world_init(&w, &carrier_podtemplates, "web");
	w.owner.generation = 10;
	pass(&w, IMAGE("a"), &a);
	w.owner.name = STR("web1");
	w.owner.generation = 0;
	pass(&w, IMAGE("a"), &b);
	assert_false(str_eq(a.name, b.name));
	world_done(&w);
}

/* H26: as long as a name may be, and two that begin alike. */
/* seeds: H26 */
static void test_created__names_and_labels_fit_for_any_owner(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (size_t n = 1; n <= 253; n++) {
			char name[254];
			struct history_world w;
			struct revision r, again;
			memset(name, 'x', n);
			name[n] = '\0';
			world_init(&w, c, name);
			w.owner.generation = INT64_MAX - 1;
			assert_int_equal(pass(&w, IMAGE("a"), &r), HISTORY_CREATED);
			assert_true(r.name.n <= 253);
			const struct json *labels = json_gets(json_gets(r.object, "metadata"), "labels");
			for (uint32_t i = 0; i < labels->n; i++) {
				assert_true(json_text(labels->members[i].value).n <= 63);
			}
			assert_int_equal(world_pass(&w, &again), HISTORY_UNCHANGED);
			name[n - 1] = 'y';
			assert_int_equal(history_matches(c, &w.owner, w.objects[0]), c == &carrier_controllerrevisions);
			world_done(&w);
		}
	}
}

static void test_choice__of_what_is_no_state_fails(void **state _unused_)
{
	static const char *const cases[] = {"null", "[]", "1", "\"x\""};
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct history_choice choice;
		world_init(&w, c, "web");
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			w.owner.state = parsed(&w.arena, cases[i]);
			assert_false(history_choose(&choice, c, &w.owner, world_reconstruct(&w), 0, &w.arena));
		}
		w.owner.state = NULL;
		assert_false(history_choose(&choice, c, &w.owner, world_reconstruct(&w), 0, &w.arena));
		world_done(&w);
	}
}

/* ---- choices ---- */

/* H14, X12 */
/* seeds: H14 */
static void test_choice__of_an_equal_state_writes_nothing(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct revision first, r;
		world_init(&w, c, "web");
		assert_int_equal(pass(&w, IMAGE("a"), &first), HISTORY_CREATED);
		assert_int_equal(first.number, 1);
		assert_int_equal(world_pass(&w, &r), HISTORY_UNCHANGED);
		assert_int_equal(pass(&w, IMAGE("a"), &r), HISTORY_UNCHANGED); /* and of another generation */
		assert_int_equal(pass(&w, LIKE_IMAGE("a"), &r), HISTORY_UNCHANGED);
		assert_true(str_eq(r.name, first.name));
		assert_int_equal(w.n_writes, 1);
		world_done(&w);
	}
}

/* H40: the revision was kept by an older program, which wrote the same state otherwise. */
/* seeds: H40 */
static void test_choice__takes_a_state_that_is_written_otherwise(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct revision first, r;
		world_init(&w, c, "web");
		pass(&w, LIKE_IMAGE("a"), &first);
		assert_int_equal(pass(&w, IMAGE("a"), &r), HISTORY_UNCHANGED);
		assert_true(str_eq(r.name, first.name));
		pass(&w, IMAGE("b"), &r);
		assert_int_equal(pass(&w, IMAGE("a"), &r), c->renumbers ? HISTORY_RENUMBERED : HISTORY_REUSED);
		assert_true(str_eq(r.name, first.name));
		assert_int_equal(w.n, 2);
		world_done(&w);
	}
}

/* H15, U55 */
/* seeds: H15 U55 */
static void test_choice__of_an_older_state_is_a_rollback(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct revision a, b, r;
		world_init(&w, c, "web");
		pass(&w, IMAGE("a"), &a);
		pass(&w, IMAGE("b"), &b);
		pass(&w, IMAGE("c"), &r);
		assert_int_equal(r.number, 3);
		for (int64_t i = 0; i < 4;
			i++) { /* and back, and forth: two revisions, and numbers that rise where they are given anew */
			const struct revision *target = i % 2 ? &b : &a;
			assert_int_equal(pass(&w, i % 2 ? IMAGE("b") : IMAGE("a"), &r),
				c->renumbers ? HISTORY_RENUMBERED : HISTORY_REUSED);
			assert_true(str_eq(r.name, target->name));
			assert_int_equal(r.generation, target->generation);
			assert_int_equal(r.number, c->renumbers ? 4 + i : target->number);
			assert_int_equal(world_pass(&w, &r), c->renumbers ? HISTORY_UNCHANGED : HISTORY_REUSED);
			assert_int_equal(w.n, 3);
		}
		world_done(&w);
	}
}

/* H12: a revision that somebody deletes is recreated when it is needed. */
/* seeds: H12 */
static void test_choice__makes_again_what_was_deleted(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct revision a, b, r;
		world_init(&w, c, "web");
		pass(&w, IMAGE("a"), &a);
		pass(&w, IMAGE("b"), &b);
		world_remove(&w, b.name);
		assert_int_equal(world_pass(&w, &r), HISTORY_CREATED);
		assert_true(str_eq(r.name, b.name));
		assert_int_equal(r.number, b.number);
		world_done(&w);
	}
}

/* Which of several: kube-controller-manager looks for the same bytes first, and the seed for the
 * youngest. */
/* seeds: U55 */
static void test_choice__among_equal_ones(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct history_choice choice;
		world_init(&w, c, "web");
		world_add(&w, revision_of(&w, "one", 1, IMAGE("a")));
		world_add(&w, revision_of(&w, "two", 2, LIKE_IMAGE("a")));
		w.owner.state = parsed(&w.arena, IMAGE("a"));
		w.owner.generation = 3;
		/* The newest is the state: the pods made from it conform, and none is restarted. */
		assert_true(history_choose(&choice, c, &w.owner, world_reconstruct(&w), 0, &w.arena));
		assert_int_equal(choice.action, HISTORY_UNCHANGED);
		assert_str(choice.revision.name, "two");

		world_add(&w, revision_of(&w, "three", 3, IMAGE("b")));
		assert_true(history_choose(&choice, c, &w.owner, world_reconstruct(&w), 0, &w.arena));
		assert_str(choice.revision.name, c->renumbers ? "one" : "two");
		world_done(&w);
	}
}

/* H28, R37: a set is recreated beside its predecessor's remains. Its generations begin
 * anew, and the order goes on. */
/* seeds: H28 */
static void test_choice__goes_on_from_an_adopted_history(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct revision r;
		world_init(&w, c, "web");
		for (int64_t i = 1; i <= 3; i++) {
			static const char *const names[] = {"web-1", "web-2", "web-3"},
						 *const states[] = {IMAGE("a"), IMAGE("b"), IMAGE("c")};
			world_add(&w,
				with_meta(&w.arena, revision_of(&w, names[i - 1], i, states[i - 1]), "ownerReferences", NULL));
		}
		w.owner.generation = 0;
		assert_int_equal(pass(&w, IMAGE("c"), &r), HISTORY_UNCHANGED);
		assert_int_equal(pass(&w, IMAGE("d"), &r), HISTORY_CREATED);
		assert_int_equal(r.number, 4);
		assert_int_equal(pass(&w, IMAGE("e"), &r), HISTORY_CREATED);
		assert_int_equal(r.number, 5);
		world_done(&w);
	}
}

static void test_numbers__end_at_the_highest(void **state _unused_)
{
	struct history_world w;
	struct revision r;
	world_init(&w, &carrier_controllerrevisions, "web");
	world_add(&w, revision_of(&w, "last", INT64_MAX, IMAGE("a")));
	assert_int_equal(pass(&w, IMAGE("b"), &r), HISTORY_CREATED);
	assert_int_equal(r.number, INT64_MAX);
	world_done(&w);
}

/* The group annals.dev refuses a second revision of one digest, and two states of one digest may
 * yet be two. */
static void test_created__says_when_another_only_looks_the_same(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct revision r;
		world_init(&w, c, "web");
		pass(&w, "{\"spec\":{\"namespaceSelector\":null}}", &r);
		assert_null(json_gets(json_gets(r.object, "metadata"), "annotations"));
		assert_int_equal(pass(&w, "{\"spec\":{\"namespaceSelector\":{}}}", &r), HISTORY_CREATED);
		const struct json *annotations = json_gets(json_gets(r.object, "metadata"), "annotations");
		assert_str(json_text(json_get(annotations, ANNOTATION_DUPLICATES)), "true");
		world_done(&w);
	}
}

/* ---- names that are taken ---- */

/* U43, U58, H54, H55: a client that asks again for its own creation gets it; nobody gets what another
 * has. */
/* seeds: H54 H55 U43 */
static void test_same__is_the_own_revision_of_that_state(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct revision r;
		world_init(&w, c, "web");
		pass(&w, IMAGE("a"), &r);
		const struct json *found = w.objects[0], *other = revision_of(&w, "web-1", 1, IMAGE("b"));
		assert_true(history_is_same(c, &w.owner, &r, found, &w.arena));
		assert_true(history_is_same(c, &w.owner, &r, revision_of(&w, "web-1", 1, LIKE_IMAGE("a")), &w.arena));
		assert_false(history_is_same(c, &w.owner, &r, other, &w.arena));
		const struct json *foreign = with_meta(&w.arena, found, "ownerReferences", controlled_by(&w.arena, "another"));
		assert_false(history_is_same(c, &w.owner, &r, foreign, &w.arena));
		assert_false(history_is_same(c, &w.owner, &r, with_meta(&w.arena, found, "ownerReferences", NULL), &w.arena));
		assert_false(history_is_same(c, &w.owner, &r, with_meta(&w.arena, found, "labels", NULL), &w.arena));
		assert_false(history_is_same(c, &w.owner, &r, NULL, &w.arena));
		world_done(&w);
	}
}

/* ---- everything at once ---- */

/* H16, H21: never two revisions of one state, nor of one number, however states come and go. */
/* seeds: H16 H21 U56 */
static void test_history__has_each_state_once(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		unsigned seed = 16;
		world_init(&w, c, "web");
		for (int i = 0; i < 600; i++) {
			static const char *const states[] = {IMAGE("a"), LIKE_IMAGE("a"), IMAGE("b"), LIKE_IMAGE("b"),
				IMAGE("c"), IMAGE("d"), "{}", LIKE_IMAGE("d")};
			struct revision r;
			size_t before = w.n_writes;
			enum history_action action = pass(&w, states[(size_t)rand_r(&seed) % ARRAY_SIZE(states)], &r);
			bool is_write = action == HISTORY_CREATED || action == HISTORY_RENUMBERED;
			assert_int_equal(w.n_writes - before, is_write);
			assert_true(history_equal_states(&w.owner, w.owner.state, r.state, &w.arena));
			world_shuffle(&w, (unsigned)i);
			world_reconstruct(&w);
			assert_true(w.history.n <= 5);
			for (size_t k = 1; k < w.history.n; k++) {
				assert_true(w.history.revisions[k - 1].number < w.history.revisions[k].number);
				for (size_t m = 0; m < k; m++) {
					assert_false(history_equal_states(&w.owner, w.history.revisions[k].state,
						w.history.revisions[m].state, &w.arena));
				}
			}
			if (c->renumbers) {
				assert_true(str_eq(w.history.revisions[w.history.n - 1].name, r.name));
			}
			if (rand_r(&seed) % 8 == 0) { /* somebody tidies up */
				world_remove(&w, w.history.revisions[(size_t)rand_r(&seed) % w.history.n].name);
			}
		}
		world_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_created__controllerrevision_is_upstreams),
		TEST(test_created__controllerrevision_names_the_generation_there_is),
		TEST(test_created__podtemplate_is_that_of_the_seed),
		TEST(test_created__podtemplates_of_two_sets_have_two_names),
		TEST(test_created__names_and_labels_fit_for_any_owner),
		TEST(test_choice__of_what_is_no_state_fails),
		TEST(test_choice__of_an_equal_state_writes_nothing),
		TEST(test_choice__takes_a_state_that_is_written_otherwise),
		TEST(test_choice__of_an_older_state_is_a_rollback),
		TEST(test_choice__makes_again_what_was_deleted),
		TEST(test_choice__among_equal_ones),
		TEST(test_choice__goes_on_from_an_adopted_history),
		TEST(test_numbers__end_at_the_highest),
		TEST(test_created__says_when_another_only_looks_the_same),
		TEST(test_same__is_the_own_revision_of_that_state),
		TEST(test_history__has_each_state_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
