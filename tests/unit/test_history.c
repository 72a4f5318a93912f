/* The order of a history and its limit, over both carriers (seed 000, "History Reconstruction"
 * and "History Maintenance"; seed 002, the same). */
#include "controllers/kit/history.h"

#include "tests/unit/history_world.h"

#include <stdlib.h>

#define IMAGE(n) "{\"spec\":{\"image\":\"i:" #n "\"}}"

static const char *const images[] = {IMAGE(1), IMAGE(2), IMAGE(3), IMAGE(4), IMAGE(5), IMAGE(6), IMAGE(7), IMAGE(8), IMAGE(9),
	IMAGE(10), IMAGE(11), IMAGE(12)};

/* Revisions of n states, numbered from 1. */
static void make_history(struct history_world *w, const struct carrier *c, size_t n)
{
	struct revision r;
	world_init(w, c, "web");
	for (size_t i = 0; i < n; i++) {
		world_set(w, images[i]);
		assert_int_equal(world_pass(w, &r), HISTORY_CREATED);
		assert_int_equal(r.number, i + 1);
	}
}

static void check_order(struct history_world *w, size_t n)
{
	world_reconstruct(w);
	assert_int_equal(w->history.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(w->history.revisions[i].number, i + 1);
		assert_int_equal(w->history.revisions[i].generation, i + 1);
		assert_true(json_equal(w->history.revisions[i].state, parsed(&w->arena, images[i])));
	}
}

/* U50: 9 comes before 10. H4: whatever the clocks said when they were made. */
/* seeds: H4 U50 */
static void test_order__is_that_of_numbers_alone(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (unsigned seed = 0; seed < 20; seed++) {
			struct history_world w;
			make_history(&w, c, ARRAY_SIZE(images));
			for (size_t i = 0; i < w.n; i++) { /* every clock but the first's goes backwards, or stands still */
				struct str at = arena_printf(&w.arena, "2026-01-01T00:00:%02zuZ", seed % 2 ? 59 - i : 30);
				w.objects[i] =
					with_meta(&w.arena, w.objects[i], "creationTimestamp", json_string(&w.arena, at));
			}
			world_shuffle(&w, seed);
			check_order(&w, ARRAY_SIZE(images));
			world_done(&w);
		}
	}
}

/* Only others than controllers make these, and which of them is the newest must not depend on
 * the order of a list. */
static void test_order__of_equal_numbers_is_that_of_upstream(void **state _unused_)
{
	static const struct {
		const char *name, *created;
	} cases[] = {{"b", "2026-01-01T00:00:00Z"}, {"c", "2026-01-01T00:00:00Z"}, {"a", "2026-01-01T00:00:01Z"}};
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (unsigned seed = 0; seed < 10; seed++) {
			struct history_world w;
			make_history(&w, c, 1);
			const struct json *first = w.objects[0];
			w.n = 0;
			for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
				struct json *o =
					with_meta(&w.arena, first, "name", json_string(&w.arena, str_of(cases[i].name)));
				world_add(&w,
					with_meta(&w.arena, o, "creationTimestamp",
						json_string(&w.arena, str_of(cases[i].created))));
			}
			world_shuffle(&w, seed);
			world_reconstruct(&w);
			for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
				assert_str(w.history.revisions[i].name, cases[i].name);
			}
			world_done(&w);
		}
	}
}

/* H29, H24, H30: those of other controllers are never taken, whatever their labels say, and are
 * reported. */
/* seeds: H24 H29 H30 U47 U48 */
static void test_reconstruction__leaves_out_thousands_of_others(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		make_history(&w, c, 3);
		for (size_t i = 0; i < 5000; i++) {
			struct json *foreign =
				with_meta(&w.arena, w.objects[i % 3], "ownerReferences", controlled_by(&w.arena, "another"));
			world_add(&w,
				with_meta(&w.arena, foreign, "name", json_string(&w.arena, arena_printf(&w.arena, "f%zu", i))));
		}
		for (size_t i = 0; i < 5000; i++) { /* not even their labels */
			world_add(&w,
				with_meta(&w.arena, w.objects[i % 3], "labels",
					parsed(&w.arena, "{\"app\":\"db\",\"created-by-statefulset\":\"db\"}")));
		}
		world_shuffle(&w, 1);
		check_order(&w, 3);
		assert_int_equal(w.n_problems, 5000);
		assert_str(w.problem, "another controller has it");
		world_done(&w);
	}
}

/* A controller reference is identified by its uid: a recreated set of the same name has
 * another history. */
/* seeds: H24 */
static void test_reconstruction__goes_by_uid(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		make_history(&w, c, 2);
		w.owner.uid = STR("uid-of-another-web");
		assert_int_equal(world_reconstruct(&w)->n, 0);
		assert_int_equal(w.n_problems, 2);
		w.owner.uid = STR("");
		assert_int_equal(world_reconstruct(&w)->n, 0);
		world_done(&w);
	}
}

/* Orphans are listed before they are adopted, so that a number is not given twice. */
/* seeds: H28 */
static void test_reconstruction__takes_orphans_that_match(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		make_history(&w, c, 2);
		w.objects[0] = with_meta(&w.arena, w.objects[0], "ownerReferences", NULL);
		check_order(&w, 2);
		assert_int_equal(w.n_problems, 0);
		world_done(&w);
	}
}

/* U49 */
/* seeds: U49 */
static void test_reconstruction__reports_labels_that_are_no_generation(void **state _unused_)
{
	static const char *const labels[] = {"", "0", "-1", "+1", "01", "1.0", "1e1", " 1", "x", "9223372036854775808", NULL};
	struct history_world w;
	make_history(&w, &carrier_podtemplates, 2);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct json *value = labels[i] ? json_string(&w.arena, str_of(labels[i])) : NULL;
		world_add(&w, with_label(&w.arena, w.objects[0], HISTORY_LABEL_GENERATION, value));
		check_order(&w, 2);
		assert_int_equal(w.n_problems, 1);
		assert_str(w.problem, "its label statefulset-template-revision is no generation");
		w.n--;
	}
	world_add(&w,
		with_label(
			&w.arena, w.objects[0], HISTORY_LABEL_GENERATION, json_string(&w.arena, STR("9223372036854775807"))));
	assert_int_equal(world_reconstruct(&w)->n, 3);
	assert_int_equal(w.history.revisions[2].number, INT64_MAX);
	world_done(&w);
}

/* Those that kube-controller-manager has made have no such label. */
static void test_reconstruction__of_controllerrevisions_goes_by_their_revision(void **state _unused_)
{
	struct history_world w;
	make_history(&w, &carrier_controllerrevisions, 2);
	w.objects[1] = with_label(&w.arena, w.objects[1], HISTORY_LABEL_GENERATION, json_string(&w.arena, STR("none")));
	assert_int_equal(world_reconstruct(&w)->n, 2);
	assert_int_equal(w.n_problems, 0);
	assert_int_equal(w.history.revisions[1].generation, 0);
	struct json *unnumbered = json_copy(&w.arena, w.objects[0]);
	json_set(&w.arena, unnumbered, STR("revision"), json_string(&w.arena, STR("1")));
	world_add(&w, unnumbered);
	assert_int_equal(world_reconstruct(&w)->n, 2);
	assert_str(w.problem, "its revision is no number");
	world_done(&w);
}

/* One that holds no state is still one: it has a number, and goes when there are too many. */
static void test_reconstruction__keeps_what_holds_no_state(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct revision r;
		make_history(&w, c, 1);
		struct json *spoilt = json_copy(&w.arena, w.objects[0]);
		json_remove(spoilt, STR("data"));
		json_remove(spoilt, STR("template"));
		w.objects[0] = spoilt;
		assert_int_equal(world_reconstruct(&w)->n, 1);
		assert_null(w.history.revisions[0].state);
		world_set(&w, images[1]);
		assert_int_equal(world_pass(&w, &r), HISTORY_CREATED);
		assert_int_equal(r.number, 2);
		world_done(&w);
	}
}

static void test_matches__no_selector_matches_nothing(void **state _unused_)
{
	struct history_world w;
	make_history(&w, &carrier_controllerrevisions, 1);
	static const struct {
		const char *selector;
		bool is_match;
	} cases[] = {
		{"{}", true},
		{"{\"matchLabels\":{\"app\":\"web\"}}", true},
		{"{\"matchLabels\":{\"app\":\"db\"}}", false},
		{"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"db\",\"web\"]}]}", true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		world_select(&w, cases[i].selector);
		assert_int_equal(history_matches(w.carrier, &w.owner, w.objects[0]), cases[i].is_match);
	}
	w.owner.selector = NULL;
	assert_false(history_matches(w.carrier, &w.owner, w.objects[0]));
	world_done(&w);
}

static void test_revisions__are_found_by_name_and_generation(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		make_history(&w, c, 3);
		world_reconstruct(&w);
		struct revision *second = &w.history.revisions[1];
		assert_ptr_equal(history_by_name(&w.history, second->name), second);
		assert_ptr_equal(history_by_generation(&w.history, 2), second);
		assert_null(history_by_name(&w.history, STR("web")));
		assert_null(history_by_name(&w.history, STR("")));
		assert_null(history_by_generation(&w.history, 4));
		second->generation = 0; /* as upstream makes them */
		assert_null(history_by_generation(&w.history, 0));
		world_done(&w);
	}
}

/* ---- the limit ---- */

struct live {
	uint32_t numbers; /* a bit each */
};

static bool is_live(void *ctx, const struct revision *r)
{
	return ((struct live *)ctx)->numbers >> r->number & 1;
}

static uint32_t excess_of(struct history_world *w, int64_t limit, uint32_t live)
{
	struct revision **excess;
	uint32_t numbers = 0;
	world_reconstruct(w);
	size_t n = history_excess(w->carrier, &w->history, limit, is_live, &(struct live){live}, &excess, &w->arena);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 ||
			excess[i - 1]->number < excess[i]->number); /* oldest first, so that a failure leaves no gap */
		numbers |= 1u << excess[i]->number;
	}
	return numbers;
}

enum { R1 = 1 << 1, R2 = 1 << 2, R3 = 1 << 3, R4 = 1 << 4, R5 = 1 << 5, R6 = 1 << 6 };

/* H32, H34: live ones are neither counted nor deleted. */
/* seeds: H32 H34 */
static void test_limit__of_controllerrevisions_counts_those_that_are_not_live(void **state _unused_)
{
	static const struct {
		int64_t limit;
		uint32_t live, excess;
	} cases[] = {
		{10, R6, 0},
		{5, R6, 0},
		{4, R6, R1},
		{2, R6, R1 | R2 | R3},
		{0, R6, R1 | R2 | R3 | R4 | R5},
		{0, R1 | R6, R2 | R3 | R4 | R5},
		{2, R1 | R6, R2 | R3}, /* rolled back to the oldest, and it is still the current one */
		{0, R1 | R2 | R3 | R4 | R5 | R6, 0},
		{0, 0, R1 | R2 | R3 | R4 | R5 | R6},
		{-1, 0, 0},
		{INT64_MIN, 0, 0},
		{INT64_MAX, 0, 0},
	};
	struct history_world w;
	make_history(&w, &carrier_controllerrevisions, 6);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(excess_of(&w, cases[i].limit, cases[i].live), cases[i].excess);
	}
	world_done(&w);
}

/* U51, U52: all are counted, and live ones are not deleted though they are the oldest (checklist
 * X5). */
/* seeds: U51 U52 */
static void test_limit__of_podtemplates_counts_all(void **state _unused_)
{
	static const struct {
		int64_t limit;
		uint32_t live, excess;
	} cases[] = {
		{6, R6, 0},
		{5, R6, R1},
		{2, R5 | R6, R1 | R2 | R3 | R4},
		{2, R1 | R6, R2 | R3 | R4 | R5},
		{2, R1, R2 | R3 | R4 | R5},
		{2, R1 | R2 | R3 | R6, R4 | R5}, /* more live ones than the limit: they stay */
		{0, R1 | R2 | R3 | R4 | R5 | R6, 0},
		{-1, 0, 0},
	};
	struct history_world w;
	make_history(&w, &carrier_podtemplates, 6);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(excess_of(&w, cases[i].limit, cases[i].live), cases[i].excess);
	}
	world_done(&w);
}

/* Rolled back, a state of old is what the set is made from: it is the youngest to one carrier,
 * and the oldest to the other, and both keep it. */
/* seeds: U52 */
static void test_limit__keeps_what_was_rolled_back_to(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		struct revision back;
		make_history(&w, c, 6);
		world_set(&w, images[0]);
		world_pass(&w, &back);
		assert_int_equal(back.generation, 1);
		assert_int_equal(back.number, c->renumbers ? 7 : 1);
		uint32_t gone = excess_of(&w, 2, 1u << back.number | R6);
		assert_int_equal(gone, c->is_total_limited ? R2 | R3 | R4 | R5 : R2 | R3);
		world_done(&w);
	}
}

static bool is_named(void *ctx, const struct revision *r)
{
	const struct str *names = ctx;
	return str_eq(r->name, names[0]) || str_eq(r->name, names[1]);
}

/* However it is used: the limit holds after every pass, and nothing live is lost. */
/* seeds: H6 H19 U51 */
static void test_limit__holds_over_random_updates_and_rollbacks(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct history_world w;
		unsigned seed = 32;
		struct str current = {NULL, 0};
		world_init(&w, c, "web");
		for (int i = 0; i < 1000; i++) {
			struct revision r, **excess;
			int64_t limit = 2 + rand_r(&seed) % 4;
			world_set(&w, images[(size_t)rand_r(&seed) % ARRAY_SIZE(images)]);
			world_pass(&w, &r);
			world_reconstruct(&w);
			current = current.n && rand_r(&seed) % 3 ? current : r.name; /* an update is completed now and then */
			struct str live[2] = {current, r.name};
			size_t n = history_excess(c, &w.history, limit, is_named, live, &excess, &w.arena);
			for (size_t k = 0; k < n; k++) {
				world_remove(&w, excess[k]->name);
			}
			world_reconstruct(&w);
			size_t n_live = str_eq(live[0], live[1]) ? 1 : 2;
			assert_non_null(history_by_name(&w.history, current));
			assert_non_null(history_by_name(&w.history, r.name));
			assert_true(w.history.n <= (size_t)limit + (c->is_total_limited ? 0 : n_live));
			assert_int_equal(w.n_problems, 0);
		}
		world_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order__is_that_of_numbers_alone),
		TEST(test_order__of_equal_numbers_is_that_of_upstream),
		TEST(test_reconstruction__leaves_out_thousands_of_others),
		TEST(test_reconstruction__goes_by_uid),
		TEST(test_reconstruction__takes_orphans_that_match),
		TEST(test_reconstruction__reports_labels_that_are_no_generation),
		TEST(test_reconstruction__of_controllerrevisions_goes_by_their_revision),
		TEST(test_reconstruction__keeps_what_holds_no_state),
		TEST(test_matches__no_selector_matches_nothing),
		TEST(test_revisions__are_found_by_name_and_generation),
		TEST(test_limit__of_controllerrevisions_counts_those_that_are_not_live),
		TEST(test_limit__of_podtemplates_counts_all),
		TEST(test_limit__keeps_what_was_rolled_back_to),
		TEST(test_limit__holds_over_random_updates_and_rollbacks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
