#include "server/write/user_notes.h"

#include "tests/unit/check.h"

struct world {
	struct arena a;
	struct user_notes *notes;
};

static void begin(struct world *w)
{
	arena_init(&w->a, (size_t)16 << 20);
	w->notes = user_notes_new();
}

static void end(struct world *w)
{
	user_notes_free(w->notes);
	arena_done(&w->a);
}

/* Of the n-th state. */
static struct str digest(struct world *w, int n)
{
	char out[DIGEST_SIZE];
	digest_of(out, json_int(&w->a, n), &w->a);
	return arena_dup(&w->a, str_of(out));
}

static struct str find(struct world *w, int n, int64_t now_ms)
{
	struct user_found f = {0};
	struct str wanted = digest(w, n);
	user_notes_find(w->notes, &wanted, 1, now_ms, &w->a, &f);
	return user_found_name(&f);
}

static int64_t counted(struct world *w, const char *name)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	user_notes_write_metrics(w->notes, &out);
	struct str line, rest = buf_str(&out);
	struct str wanted = arena_printf(&w->a, "annals_user_notes_%s ", name);
	int64_t n = -1;
	while (rest.n) {
		str_cut(rest, '\n', &line, &rest);
		if (str_starts(line, wanted)) {
			assert_true(str_to_int64((struct str){line.p + wanted.n, line.n - wanted.n}, &n));
		}
	}
	buf_done(&out);
	return n;
}

static void test_notes__name_who_asked_for_that_very_state(void **state _unused_)
{
	struct world w;
	begin(&w);
	user_notes_add(w.notes, digest(&w, 1), STR("alice"), 1000);
	assert_str(find(&w, 1, 1001), "alice");
	assert_str(find(&w, 2, 1001), "");
	end(&w);
}

static void test_notes__end(void **state _unused_)
{
	struct world w;
	begin(&w);
	user_notes_add(w.notes, digest(&w, 1), STR("alice"), 1000);
	assert_str(find(&w, 1, 1000 + USER_NOTES_TTL_S * 1000 - 1), "alice");
	assert_str(find(&w, 1, 1000 + USER_NOTES_TTL_S * 1000), "");
	user_notes_add(w.notes, digest(&w, 1), STR("alice"), 2000);
	assert_str(find(&w, 1, 1000 + USER_NOTES_TTL_S * 1000), "alice");
	end(&w);
}

static void test_notes__two_users_of_one_state_are_none(void **state _unused_)
{
	struct world w;
	begin(&w);
	user_notes_add(w.notes, digest(&w, 1), STR("alice"), 0);
	user_notes_add(w.notes, digest(&w, 1), STR("alice"), 1);
	assert_str(find(&w, 1, 2), "alice");
	user_notes_add(w.notes, digest(&w, 1), STR("bob"), 2);
	assert_str(find(&w, 1, 3), "");
	assert_int_equal(counted(&w, "ambiguous_total"), 1);
	end(&w);
}

static void test_notes__of_another_place_count_too(void **state _unused_)
{
	struct world w;
	begin(&w);
	struct user_found f = {0};
	user_notes_add(w.notes, digest(&w, 1), STR("alice"), 0);
	struct str wanted = digest(&w, 1);
	user_notes_find(w.notes, &wanted, 1, 1, &w.a, &f);
	user_found_add(&f, STR("alice"), &w.a);
	assert_str(user_found_name(&f), "alice");
	user_found_add(&f, STR("bob"), &w.a);
	assert_str(user_found_name(&f), "");
	end(&w);
}

static void test_notes__odd_ones_are_not_taken(void **state _unused_)
{
	struct world w;
	begin(&w);
	char *name = arena_text(&w.a, USER_NOTES_NAME_MAX + 2);
	memset(name, 'x', USER_NOTES_NAME_MAX + 1);
	user_notes_add(w.notes, digest(&w, 1), (struct str){name, USER_NOTES_NAME_MAX + 1}, 0);
	user_notes_add(w.notes, digest(&w, 2), STR(""), 0);
	user_notes_add(w.notes, STR("short"), STR("alice"), 0);
	assert_int_equal(counted(&w, "total"), 0);
	user_notes_add(w.notes, digest(&w, 1), (struct str){name, USER_NOTES_NAME_MAX}, 0);
	assert_int_equal(counted(&w, "total"), 1);
	assert_int_equal(find(&w, 1, 1).n, USER_NOTES_NAME_MAX);
	end(&w);
}

/* The oldest go. */
static void test_notes__are_bounded(void **state _unused_)
{
	enum { EXTRA = 100 };
	struct world w;
	begin(&w);
	for (int i = 0; i < USER_NOTES_MAX + EXTRA; i++) {
		user_notes_add(w.notes, digest(&w, i), STR("alice"), i);
		arena_clear(&w.a);
	}
	for (int i = 0; i < USER_NOTES_MAX + EXTRA; i++) {
		assert_str(find(&w, i, USER_NOTES_MAX), i >= EXTRA ? "alice" : "");
		arena_clear(&w.a);
	}
	assert_int_equal(counted(&w, "evicted_total"), EXTRA);
	end(&w);
}

static int stored(struct world *w, int n, int64_t now_ms)
{
	int taken = 0;
	for (int i = 0; i < n; i++) {
		taken += user_notes_may_store(w->notes, now_ms);
	}
	return taken;
}

static void test_store__takes_a_burst_and_then_so_many_a_second(void **state _unused_)
{
	enum { FLOOD = 10000 };
	struct world w;
	begin(&w);
	assert_int_equal(stored(&w, FLOOD, 1000), USER_NOTES_STORE_BURST);
	assert_int_equal(stored(&w, FLOOD, 1000), 0);
	assert_int_equal(stored(&w, FLOOD, 3000), 2 * USER_NOTES_STORE_RATE);
	assert_int_equal(counted(&w, "dropped_total"), 3 * FLOOD - USER_NOTES_STORE_BURST - 2 * USER_NOTES_STORE_RATE);
	assert_int_equal(stored(&w, FLOOD, INT64_MAX / 2), USER_NOTES_STORE_BURST);
	end(&w);
}

static void test_store__rests_when_it_has_failed(void **state _unused_)
{
	struct world w;
	begin(&w);
	user_notes_store_failed(w.notes, 1000);
	assert_int_equal(stored(&w, 10, 1000 + USER_NOTES_STORE_REST_MS - 1), 0);
	assert_int_equal(stored(&w, 10, 1000 + USER_NOTES_STORE_REST_MS), 10);
	end(&w);
}

/* Notes of one write may have several digests, and count as one. */
static void test_notes__of_one_write_are_found_together(void **state _unused_)
{
	struct world w;
	begin(&w);
	struct str wanted[] = {digest(&w, 1), digest(&w, 2)};
	struct user_found one = {0}, two = {0};
	user_notes_add(w.notes, wanted[1], STR("alice"), 0);
	user_notes_find(w.notes, wanted, 2, 1, &w.a, &one);
	assert_str(user_found_name(&one), "alice");
	assert_int_equal(counted(&w, "missed_total"), 0);
	user_notes_add(w.notes, wanted[0], STR("bob"), 0);
	user_notes_find(w.notes, wanted, 2, 1, &w.a, &two);
	assert_str(user_found_name(&two), "");
	end(&w);
}

/* Another object, version, state or number of replicas is another write. */
static void test_digests__name_one_write(void **state _unused_)
{
	char all[8][DIGEST_SIZE];
	struct world w;
	begin(&w);
	user_notes_state(all[0], STR("u"), STR("7"), STR("s"), &w.a);
	user_notes_state(all[1], STR("v"), STR("7"), STR("s"), &w.a);
	user_notes_state(all[2], STR("u"), STR("8"), STR("s"), &w.a);
	user_notes_state(all[3], STR("u"), STR("7"), STR("1"), &w.a);
	user_notes_scale(all[4], STR("u"), STR("7"), 1, &w.a);
	user_notes_scale(all[5], STR("u"), STR("7"), 0, &w.a);
	user_notes_write(all[6], STR("u"), STR("7"), &w.a);
	user_notes_write(all[7], STR("u"), STR(""), &w.a);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(all[i], all[k]);
		}
	}
	end(&w);
}

static void test_deletion__is_that_of_one_object(void **state _unused_)
{
	struct world w;
	char one[DIGEST_SIZE], other[DIGEST_SIZE];
	begin(&w);
	user_notes_deletion(one, STR("4e8e2e60"), &w.a);
	user_notes_deletion(other, STR("4e8e2e61"), &w.a);
	assert_string_not_equal(one, other);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_notes__name_who_asked_for_that_very_state),
		TEST(test_notes__end),
		TEST(test_notes__two_users_of_one_state_are_none),
		TEST(test_notes__of_another_place_count_too),
		TEST(test_notes__odd_ones_are_not_taken),
		TEST(test_notes__are_bounded),
		TEST(test_store__takes_a_burst_and_then_so_many_a_second),
		TEST(test_store__rests_when_it_has_failed),
		TEST(test_notes__of_one_write_are_found_together),
		TEST(test_digests__name_one_write),
		TEST(test_deletion__is_that_of_one_object),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
