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

static struct str digest(struct world *w, int n)
{
	char out[DIGEST_SIZE];
	digest_of(out, json_int(&w->a, n), &w->a);
	return arena_dup(&w->a, str_of(out));
}

/* Of the write of the n-th state. */
static struct user_note note(struct world *w, int n, const char *user)
{
	return (struct user_note){.uid = STR("u"), .version = 7, .to = digest(w, n), .user = str_of(user)};
}

static void add(struct world *w, int n, const char *user, int64_t now_ms)
{
	struct user_note one = note(w, n, user);
	user_notes_add(w->notes, &one, now_ms);
}

static struct str path(struct world *w, int n)
{
	struct user_note one = note(w, n, "");
	return user_note_path(&w->a, &one);
}

static struct str find(struct world *w, int n, int64_t now_ms)
{
	struct user_found f = {0};
	struct str wanted = path(w, n);
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
	add(&w, 1, "alice", 1000);
	assert_str(find(&w, 1, 1001), "alice");
	assert_str(find(&w, 2, 1001), "");
	end(&w);
}

static void test_notes__end(void **state _unused_)
{
	struct world w;
	begin(&w);
	add(&w, 1, "alice", 1000);
	assert_str(find(&w, 1, 1000 + USER_NOTES_TTL_S * 1000 - 1), "alice");
	assert_str(find(&w, 1, 1000 + USER_NOTES_TTL_S * 1000), "");
	add(&w, 1, "alice", 2000);
	assert_str(find(&w, 1, 1000 + USER_NOTES_TTL_S * 1000), "alice");
	end(&w);
}

static void test_notes__two_users_of_one_state_are_none(void **state _unused_)
{
	struct world w;
	begin(&w);
	add(&w, 1, "alice", 0);
	add(&w, 1, "alice", 1);
	assert_str(find(&w, 1, 2), "alice");
	add(&w, 1, "bob", 2);
	assert_str(find(&w, 1, 3), "");
	assert_int_equal(counted(&w, "ambiguous_total"), 1);
	end(&w);
}

static void test_notes__of_another_place_count_too(void **state _unused_)
{
	struct world w;
	begin(&w);
	struct user_found f = {0};
	add(&w, 1, "alice", 0);
	struct str wanted = path(&w, 1);
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
	name[USER_NOTES_NAME_MAX + 1] = '\0';
	add(&w, 1, name, 0);
	add(&w, 2, "", 0);
	struct user_note odd[] = {note(&w, 1, "alice"), note(&w, 1, "alice"), note(&w, 1, "alice"), note(&w, 1, "alice")};
	odd[0].to = STR("short");
	odd[1].from = STR("short");
	odd[2].uid = STR("");
	odd[3].uid = (struct str){name, USER_NOTES_UID_MAX + 1};
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		user_notes_add(w.notes, &odd[i], 0);
	}
	assert_int_equal(counted(&w, "total"), 0);
	name[USER_NOTES_NAME_MAX] = '\0';
	add(&w, 1, name, 0);
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
		add(&w, i, "alice", i);
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

/* Notes of one write may have several paths, and count as one. */
static void test_notes__of_one_write_are_found_together(void **state _unused_)
{
	struct world w;
	begin(&w);
	struct str wanted[] = {path(&w, 1), path(&w, 2)};
	struct user_found one = {0}, two = {0};
	add(&w, 2, "alice", 0);
	user_notes_find(w.notes, wanted, 2, 1, &w.a, &one);
	assert_str(user_found_name(&one), "alice");
	assert_int_equal(counted(&w, "missed_total"), 0);
	add(&w, 1, "bob", 0);
	user_notes_find(w.notes, wanted, 2, 1, &w.a, &two);
	assert_str(user_found_name(&two), "");
	end(&w);
}

static void assert_same(const struct user_note *a, const struct user_note *b)
{
	assert_int_equal(a->sort, b->sort);
	assert_int_equal(a->version, b->version);
	assert_int_equal(a->replicas, b->replicas);
	assert_int_equal(a->time_s, b->time_s);
	assert_true(str_eq(a->uid, b->uid) && str_eq(a->from, b->from) && str_eq(a->to, b->to) && str_eq(a->user, b->user));
}

static void test_list__has_all_of_one_object(void **state _unused_)
{
	struct world w;
	struct user_note_list l;
	begin(&w);
	struct user_note all[] = {
		{.sort = NOTE_STATE,
			.uid = STR("u/1"),
			.version = 7,
			.from = digest(&w, 1),
			.to = digest(&w, 2),
			.user = STR("eve")},
		{.sort = NOTE_SCALE, .uid = STR("u/1"), .version = 8, .replicas = -3, .user = STR("eve"), .time_s = 99},
		{.sort = NOTE_DELETION, .uid = STR("u/1"), .version = 9, .from = digest(&w, 2), .user = STR("bob")},
	};
	add(&w, 1, "mallory", 0);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		user_notes_add(w.notes, &all[i], (int64_t)i);
	}
	user_note_list_init(&l, 8, &w.a);
	user_notes_list(w.notes, STR("u/1"), USER_NOTES_TTL_S * 1000 - 1, &w.a, &l);
	assert_true(l.n == ARRAY_SIZE(all) && !l.is_cut);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_same(&l.v[i], &all[i]);
	}
	user_note_list_init(&l, 1, &w.a);
	user_notes_list(w.notes, STR("u/1"), USER_NOTES_TTL_S * 1000, &w.a, &l); /* the first has ended */
	assert_true(l.n == 1 && l.is_cut && l.v[0].sort == NOTE_SCALE);
	end(&w);
}

static void test_store__holds_all_of_a_note(void **state _unused_)
{
	static const enum user_note_sort sorts[] = {NOTE_STATE, NOTE_SCALE, NOTE_WRITE, NOTE_DELETION};
	struct world w;
	struct user_note read;
	begin(&w);
	for (size_t i = 0; i < ARRAY_SIZE(sorts); i++) {
		struct user_note one = note(&w, 1, "eve \" \xc3\xa9");
		one.sort = sorts[i];
		one.replicas = sorts[i] == NOTE_SCALE ? 4 : 0;
		one.from = i % 2 ? digest(&w, 2) : STR("");
		one.time_s = 1700000000;
		const struct storage_kv kv = {.value = user_note_value(&w.a, &one), .mod_revision = 42};
		assert_true(user_note_read(&read, &kv, &w.a));
		assert_same(&read, &one);
		assert_int_equal(read.result, sorts[i] == NOTE_WRITE ? 42 : 0);
	}
	end(&w);
}

static void test_store__of_another_release_is_no_note(void **state _unused_)
{
	static const char *const values[] = {"alice", "", "{}",
		"{\"sort\":\"Odd\",\"uid\":\"u\",\"user\":\"a\",\"replaces\":\"7\"}",
		"{\"sort\":\"Write\",\"uid\":\"u\",\"user\":\"a\",\"replaces\":\"x\"}"};
	struct world w;
	struct user_note read;
	begin(&w);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		const struct storage_kv kv = {.value = str_of(values[i])};
		assert_false(user_note_read(&read, &kv, &w.a));
	}
	end(&w);
}

/* Another object, version, state or number of replicas is another write. */
static void test_paths__name_one_write(void **state _unused_)
{
	struct world w;
	begin(&w);
	struct str s = digest(&w, 1), t = digest(&w, 2);
	const struct user_note all[] = {
		{.uid = STR("u"), .version = 7, .to = s},
		{.uid = STR("v"), .version = 7, .to = s},
		{.uid = STR("u"), .version = 8, .to = s},
		{.uid = STR("u"), .version = 7, .to = t},
		{.sort = NOTE_SCALE, .uid = STR("u"), .version = 7, .replicas = 1},
		{.sort = NOTE_SCALE, .uid = STR("u"), .version = 7},
		{.sort = NOTE_WRITE, .uid = STR("u"), .version = 7},
		{.sort = NOTE_WRITE, .uid = STR("u")},
		{.sort = NOTE_DELETION, .uid = STR("u")},
		{.sort = NOTE_DELETION, .uid = STR("v")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		for (size_t k = 0; k < i; k++) {
			assert_false(str_eq(user_note_path(&w.a, &all[i]), user_note_path(&w.a, &all[k])));
		}
	}
	end(&w);
}

/* So that a gap is one range of the store. */
static void test_paths__are_in_the_order_of_versions(void **state _unused_)
{
	static const uint64_t versions[] = {0, 9, 10, 99, UINT64_MAX};
	struct world w;
	begin(&w);
	struct str before = STR("");
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct str next = user_note_version(&w.a, STR("u"), versions[i]);
		assert_true(str_cmp(before, next) < 0 && str_starts(next, user_note_object(&w.a, STR("u"))));
		before = next;
	}
	assert_true(str_cmp(before, user_note_deletions(&w.a, STR("u"))) < 0);
	assert_str(user_note_object(&w.a, STR("a/b")), "a%2Fb/");
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
		TEST(test_list__has_all_of_one_object),
		TEST(test_store__holds_all_of_a_note),
		TEST(test_store__of_another_release_is_no_note),
		TEST(test_paths__name_one_write),
		TEST(test_paths__are_in_the_order_of_versions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
