#include "server/revisions/snapshot_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/check_arena.h"

#include <stdlib.h>

static struct snapshot_past past(const char *name, const char *digest, int64_t number)
{
	return (struct snapshot_past){
		.name = str_of(name), .digest = str_of(digest), .number = number, .create_revision = number};
}

static void test_plan__first_state_is_created(void **state)
{
	struct snapshot_plan p;
	assert_int_equal(snapshot_plan(&p, NULL, 0, STR("d"), 10, *state), 0);
	assert_int_equal(p.result, SNAPSHOT_CREATED);
	assert_null(p.target);
	assert_int_equal(p.number, 1);
	assert_int_equal(p.n_trimmed, 0);
}

static void test_plan__newest_state_stays(void **state)
{
	struct snapshot_past h[] = {past("b", "y", 5), past("a", "x", 2)};
	struct snapshot_plan p;
	assert_int_equal(snapshot_plan(&p, h, ARRAY_SIZE(h), STR("y"), 10, *state), 0);
	assert_int_equal(p.result, SNAPSHOT_UNCHANGED);
	assert_str(p.target->name, "b");
	assert_int_equal(p.number, 5);
}

static void test_plan__older_state_becomes_the_newest(void **state)
{
	struct snapshot_past h[] = {past("b", "y", 5), past("a", "x", 2)};
	struct snapshot_plan p;
	assert_int_equal(snapshot_plan(&p, h, ARRAY_SIZE(h), STR("x"), 10, *state), 0);
	assert_int_equal(p.result, SNAPSHOT_ROLLED_BACK);
	assert_str(p.target->name, "a");
	assert_int_equal(p.number, 6);
}

static void test_plan__equal_numbers_are_ordered_by_birth(void **state)
{
	struct snapshot_past h[] = {past("a", "x", 2), past("b", "y", 2)};
	struct snapshot_plan p;
	h[0].create_revision = 9;
	assert_int_equal(snapshot_plan(&p, h, ARRAY_SIZE(h), STR("x"), 10, *state), 0);
	assert_int_equal(p.result, SNAPSHOT_UNCHANGED);
}

static void test_plan__current_one_is_neither_trimmed_nor_counted(void **state)
{
	struct snapshot_past h[] = {past("a", "x", 1), past("b", "y", 2), past("c", "z", 3)};
	struct snapshot_plan p;
	assert_int_equal(snapshot_plan(&p, h, ARRAY_SIZE(h), STR("x"), 1, *state), 0);
	assert_int_equal(p.n_trimmed, 1);
	assert_str(p.trimmed[0]->name, "b");
	assert_int_equal(snapshot_plan(&p, h, ARRAY_SIZE(h), STR("new"), 1, *state), 0);
	assert_int_equal(p.n_trimmed, 2);
	assert_int_equal(snapshot_plan(&p, h, ARRAY_SIZE(h), STR("new"), 3, *state), 0);
	assert_int_equal(p.n_trimmed, 0);
}

static void test_plan__live_ones_are_neither_trimmed_nor_counted(void **state)
{
	struct snapshot_past h[] = {past("a", "x", 1), past("b", "y", 2), past("c", "z", 3)};
	struct snapshot_plan p;
	h[0].is_live = true;
	assert_int_equal(snapshot_plan(&p, h, ARRAY_SIZE(h), STR("z"), 1, *state), 0);
	assert_int_equal(p.n_trimmed, 0);
	assert_int_equal(snapshot_plan(&p, h, ARRAY_SIZE(h), STR("z"), 0, *state), 0);
	assert_int_equal(p.n_trimmed, 1);
	assert_str(p.trimmed[0]->name, "b");
}

static void test_plan__state_that_is_going_is_refused(void **state)
{
	struct snapshot_past h[] = {past("a", "x", 1)};
	struct snapshot_plan p;
	h[0].is_deleting = true;
	assert_int_equal(snapshot_plan(&p, h, 1, STR("x"), 1, *state), SNAPSHOT_IS_GOING);
	assert_str(p.target->name, "a");
	assert_int_equal(snapshot_plan(&p, h, 1, STR("y"), 1, *state), 0);
}

static void test_plan__numbers_end(void **state)
{
	struct snapshot_past h[] = {past("a", "x", 1), past("b", "y", INT64_MAX)};
	struct snapshot_plan p;
	assert_int_equal(snapshot_plan(&p, h, 2, STR("y"), 1, *state), 0);
	assert_int_equal(snapshot_plan(&p, h, 2, STR("x"), 1, *state), SNAPSHOT_NO_NUMBER);
	assert_int_equal(snapshot_plan(&p, h, 2, STR("z"), 1, *state), SNAPSHOT_NO_NUMBER);
}

/* ---- a history that goes through many snapshots ---- */

enum { LENGTH_MAX = 64, STATES = 12, ROUNDS = 20000 };

struct life {
	struct snapshot_past past[LENGTH_MAX];
	size_t n;
	int64_t clock;
};

static const char *const digests[STATES] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};

static bool is_trimmed(const struct snapshot_plan *p, const struct snapshot_past *one)
{
	for (size_t i = 0; i < p->n_trimmed; i++) {
		if (p->trimmed[i] == one) {
			return true;
		}
	}
	return false;
}

/* Of those that can be trimmed, none that stays is older than one that goes. */
static void check_trimmed(const struct snapshot_plan *p, const struct life *l, size_t limit)
{
	size_t n_idle = 0;
	bool has_kept = false;
	for (size_t i = 0; i < l->n; i++) {
		const struct snapshot_past *one = &l->past[i];
		bool goes = is_trimmed(p, one), is_idle = !one->is_live && one != p->target;
		assert_true(is_idle || !goes);
		assert_false(goes && has_kept);
		has_kept = has_kept || (is_idle && !goes);
		n_idle += is_idle && !goes;
	}
	assert_true(n_idle <= limit);
	assert_true(p->n_trimmed == 0 || n_idle == limit);
}

static void check_numbers(const struct snapshot_plan *p, const struct life *l)
{
	if (p->result == SNAPSHOT_UNCHANGED) {
		assert_ptr_equal(p->target, &l->past[l->n - 1]);
	} else {
		assert_true(p->number > (l->n > 0 ? l->past[l->n - 1].number : 0));
	}
}

static void carry_out(struct life *l, const struct snapshot_plan *p, const char *digest)
{
	struct life after = {.clock = l->clock};
	for (size_t i = 0; i < l->n; i++) {
		if (!is_trimmed(p, &l->past[i])) {
			after.past[after.n] = l->past[i];
			after.past[after.n++].number = p->target == &l->past[i] ? p->number : l->past[i].number;
		}
	}
	if (p->result == SNAPSHOT_CREATED) {
		after.past[after.n] = past(digest, digest, p->number);
		after.past[after.n++].create_revision = ++after.clock;
	}
	*l = after;
}

static void check_states_are_apart(const struct life *l)
{
	for (size_t i = 0; i < l->n; i++) {
		for (size_t j = 0; j < i; j++) {
			assert_false(str_eq(l->past[i].digest, l->past[j].digest));
			assert_int_not_equal(l->past[i].number, l->past[j].number);
		}
	}
}

/* seeds: H6 H21 H32 */
static void test_plan__keeps_order_limits_and_what_is_live_through_any_life(void **state)
{
	struct life l = {0};
	unsigned dice = 7;
	for (int round = 0; round < ROUNDS; round++) {
		const char *digest = digests[(unsigned)rand_r(&dice) % STATES];
		size_t limit = (unsigned)rand_r(&dice) % 6;
		struct snapshot_plan p;
		for (size_t i = 0; i < l.n; i++) {
			l.past[i].is_live = rand_r(&dice) % 4 == 0;
		}
		assert_int_equal(snapshot_plan(&p, l.past, l.n, str_of(digest), limit, *state), 0);
		check_numbers(&p, &l);
		check_trimmed(&p, &l, limit);
		carry_out(&l, &p, digest);
		check_states_are_apart(&l);
		arena_clear(*state);
	}
}

#define ARENA_TEST(f) cmocka_unit_test_setup_teardown(f, start_arena, free_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARENA_TEST(test_plan__first_state_is_created),
		ARENA_TEST(test_plan__newest_state_stays),
		ARENA_TEST(test_plan__older_state_becomes_the_newest),
		ARENA_TEST(test_plan__equal_numbers_are_ordered_by_birth),
		ARENA_TEST(test_plan__current_one_is_neither_trimmed_nor_counted),
		ARENA_TEST(test_plan__live_ones_are_neither_trimmed_nor_counted),
		ARENA_TEST(test_plan__state_that_is_going_is_refused),
		ARENA_TEST(test_plan__numbers_end),
		ARENA_TEST(test_plan__keeps_order_limits_and_what_is_live_through_any_life),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
