/* Shares of a budget: what one user may take, and what stays for the others. */
#include "base/shares.h"
#include "base/str.h"
#include "tests/unit/check.h"

#include <stdio.h>

enum { BUDGET = 64 << 20, LIMIT = BUDGET - BUDGET / 8 };

static void test_limit__the_last_eighth_is_a_reserve(void **state _unused_)
{
	assert_int_equal(share_limit(BUDGET, true), BUDGET);
	assert_int_equal(share_limit(BUDGET, false), LIMIT);
	assert_int_equal(share_limit(0, false), 0);
}

static void test_share__is_half_of_what_the_others_leave(void **state _unused_)
{
	assert_int_equal(share_of(LIMIT, 0, 0), LIMIT / 2);
	assert_int_equal(share_of(LIMIT, LIMIT / 2, LIMIT / 2), LIMIT / 2); /* one's own does not matter */
	assert_int_equal(share_of(LIMIT, LIMIT / 2, 0), LIMIT / 4);
	assert_int_equal(share_of(LIMIT, LIMIT, LIMIT / 4), LIMIT / 8);
	assert_int_equal(share_of(LIMIT, LIMIT + 1, 0), 0);
	assert_int_equal(share_of(LIMIT, 10, 20), LIMIT / 2); /* another thread is about to count the rest */
}

static void test_fits__up_to_the_share(void **state _unused_)
{
	size_t mine = LIMIT / 2 - 100;
	assert_true(share_fits(LIMIT, mine, mine, 100));
	assert_false(share_fits(LIMIT, mine, mine, 101));
	assert_false(share_fits(LIMIT, mine, mine, SIZE_MAX));
	assert_false(share_fits(LIMIT, LIMIT, mine, 0)); /* the others have come meanwhile */
}

static void test_fits__one_that_is_larger_than_a_share(void **state _unused_)
{
	size_t share = LIMIT / 2;
	assert_true(share_fits(LIMIT, 0, 0, 2 * share));
	assert_true(share_fits(LIMIT, share / 4, share / 4, 2 * share));
	assert_false(share_fits(LIMIT, share / 4 + 1, share / 4 + 1, 2 * share));
}

/* Each takes by turns whatever is granted, in pieces, and gives nothing back. */
static void test_users__who_take_all_they_can_leave_as_much_for_the_next(void **state _unused_)
{
	enum { PIECE = 4096, USERS = 12 };
	for (size_t k = 1; k <= USERS; k++) {
		size_t mine[USERS] = {0}, used = 0;
		for (bool is_granted = true; is_granted;) {
			is_granted = false;
			for (size_t i = 0; i < k; i++) {
				if (share_fits(LIMIT, used, mine[i], PIECE)) {
					mine[i] += PIECE;
					used += PIECE;
					is_granted = true;
				}
			}
		}
		size_t expected = LIMIT / (k + 1);
		for (size_t i = 0; i < k; i++) {
			assert_in_range(mine[i], expected - 2 * USERS * PIECE, expected + 2 * USERS * PIECE);
		}
		assert_in_range(LIMIT - used, expected - 2 * USERS * PIECE, expected + 2 * USERS * PIECE);
		assert_true(share_fits(LIMIT, used, 0, PIECE));
	}
}

static void test_users__are_counted_by_themselves(void **state _unused_)
{
	static struct shares s;
	shares_count(&s, 1, 100);
	shares_count(&s, 2, 10);
	assert_int_equal(shares_held(&s, 1), 100);
	assert_int_equal(shares_held(&s, 2), 10);
	assert_int_equal(shares_held(&s, 3), 0);
	shares_count(&s, 1, -100);
	assert_int_equal(shares_held(&s, 1), 0);
	assert_int_equal(shares_held(&s, 2), 10);
}

static void test_users__with_one_counter_in_common_have_no_share_in_common(void **state _unused_)
{
	static struct shares s;
	const uint64_t user = 7, other_low = user | (uint64_t)1 << 32, other_high = user + 1;
	shares_count(&s, other_low, 1000);
	shares_count(&s, other_high, 2000);
	assert_int_equal(shares_held(&s, other_low), 1000);
	shares_count(&s, user, 5);
	/* One counter has 1005, the other 2005: a user may count as more than it holds, never as less. */
	assert_int_equal(shares_held(&s, user), 1005);
	shares_count(&s, other_low, -1000);
	assert_int_equal(shares_held(&s, user), 5);
}

/* Many users with something each, and one who holds much: few others count as holding much. */
static void test_users__many_of_them_seldom_suffer_from_another(void **state _unused_)
{
	enum { MANY = 20000, MUCH = 1 << 20 };
	static struct shares s;
	char name[32];
	size_t n_suffering = 0;
	shares_count(&s, str_hash(STR("greedy")), MUCH);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "user-%zu", i);
		n_suffering += shares_held(&s, str_hash(str_of(name))) >= MUCH;
	}
	assert_in_range(n_suffering, 0, 3); /* 0.08 of 20,000 are expected */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_limit__the_last_eighth_is_a_reserve),
		TEST(test_share__is_half_of_what_the_others_leave),
		TEST(test_fits__up_to_the_share),
		TEST(test_fits__one_that_is_larger_than_a_share),
		TEST(test_users__who_take_all_they_can_leave_as_much_for_the_next),
		TEST(test_users__are_counted_by_themselves),
		TEST(test_users__with_one_counter_in_common_have_no_share_in_common),
		TEST(test_users__many_of_them_seldom_suffer_from_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
