#include "controllers/recorder/ledger.h"
#include "tests/unit/check.h"

#include <malloc.h>
#include <stdio.h>

enum { WAITING = 4096 };

struct world {
	struct workqueue *queue;
	struct ledger *ledger;
	struct ledger_kind *kind;
	uint32_t list;
};

static int setup(void **state)
{
	struct world *w = mem_new(struct world);
	w->queue = workqueue_new("test", 1, 1000);
	w->ledger = ledger_new(&(struct ledger_options){.max_objects = 200000, .max_waiting = WAITING, .queue = w->queue});
	w->kind = ledger_kind(w->ledger, STR(""), STR("ConfigMap"));
	w->list = ledger_begin(w->ledger, NULL);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	workqueue_stop(w->queue);
	ledger_free(w->ledger);
	workqueue_free(w->queue);
	mem_free(w);
	return 0;
}

#define TEST_LEDGER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static struct ledger_key key_of(const struct world *w, const char *name)
{
	return (struct ledger_key){w->kind, STR("ns"), str_of(name)};
}

static struct ledger_print print_of(const char *uid, const char *digest)
{
	struct ledger_print p;
	ledger_print_of(&p, str_of(uid), str_of(digest));
	return p;
}

/* A state is seen, and waits where it is another one. */
static bool see(struct world *w, const char *name, const char *uid, const char *digest)
{
	const struct ledger_key key = key_of(w, name);
	const struct ledger_shown shown = {.print = print_of(uid, digest), .version = 1, .recorder = 1, .list = w->list};
	bool is_news = ledger_show(w->ledger, &key, &shown);
	if (is_news) {
		ledger_queue(w->ledger, &key, ledger_change_new(LEDGER_STATE, 1, str_of(digest)));
	}
	return is_news;
}

static void show_history(
	struct world *w, const char *name, uint64_t version, const char *uid, const char *digest, int64_t deleted_s)
{
	const struct ledger_key key = key_of(w, name);
	const struct ledger_history h = {
		.version = version, .print = print_of(uid, digest), .is_written = true, .deleted_s = deleted_s, .revisions = 1};
	ledger_show_history(w->ledger, &key, &h, w->list);
}

/* The next change of "a", as a letter or its text. */
static const char *take(struct world *w, struct ledger_work *work)
{
	static const char *const sorts[] = {[LEDGER_LOOK] = "look",
		[LEDGER_GONE] = "gone",
		[LEDGER_EXPIRE] = "expire",
		[LEDGER_TRIM] = "trim",
		[LEDGER_DROP] = "drop"};
	static char text[64];
	if (!ledger_take(w->ledger, STR("0/ns/a"), work)) {
		return "nothing";
	}
	snprintf(text, sizeof(text), "%.*s", (int)work->change->n, work->change->text);
	return work->change->sort == LEDGER_STATE ? text : sorts[work->change->sort];
}

static void settle(struct world *w, struct ledger_work *work, enum ledger_outcome outcome)
{
	ledger_settle(w->ledger, work, &(struct ledger_result){.outcome = outcome, .problem = STR("why")});
}

/* It was written: the History says so. */
static void settle_written(struct world *w, struct ledger_work *work, uint64_t version, const char *uid, const char *digest)
{
	const struct ledger_history h = {.version = version, .print = print_of(uid, digest), .is_written = true};
	ledger_settle(w->ledger, work, &(struct ledger_result){.outcome = LEDGER_DONE, .history = &h});
}

static void assert_next(struct world *w, const char *expected)
{
	struct ledger_work work;
	const char *found = take(w, &work);
	assert_string_equal(found, expected);
	if (strcmp(found, "nothing") != 0) {
		settle(w, &work, LEDGER_DONE);
	}
}

static void test_changes__wait_in_order(void **state)
{
	struct world *w = *state;
	assert_true(see(w, "a", "u", "1"));
	assert_false(see(w, "a", "u", "1")); /* a status changed */
	assert_true(see(w, "a", "u", "2"));
	assert_true(see(w, "a", "u", "1"));
	assert_next(w, "1");
	assert_next(w, "2");
	assert_next(w, "1");
	assert_next(w, "nothing");
}

static void test_changes__none_of_what_the_history_holds(void **state)
{
	struct world *w = *state;
	show_history(w, "a", 5, "u", "1", 0);
	assert_false(see(w, "a", "u", "1"));
	assert_true(see(w, "a", "u", "2"));
	assert_true(see(w, "a", "u2", "2")); /* recreated */
	show_history(w, "b", 5, "u", "1", 7);
	assert_true(see(w, "b", "u", "1")); /* the History says it is gone */
}

static void test_changes__one_worker_at_a_time(void **state)
{
	struct world *w = *state;
	struct ledger_work work, other;
	see(w, "a", "u", "1");
	see(w, "a", "u", "2");
	assert_string_equal(take(w, &work), "1");
	assert_string_equal(take(w, &other), "nothing");
	settle(w, &work, LEDGER_RETRY);
	assert_next(w, "1");
	assert_next(w, "2");
}

static void test_changes__stay_in_order_after_a_write_that_failed(void **state)
{
	struct world *w = *state;
	struct ledger_work work;
	struct ledger_totals totals;
	see(w, "a", "u", "1");
	see(w, "a", "u", "2");
	see(w, "a", "u", "3");
	assert_string_equal(take(w, &work), "1");
	see(w, "a", "u", "4");
	settle(w, &work, LEDGER_RETRY);
	see(w, "a", "u", "5");
	assert_next(w, "1");
	assert_next(w, "2");
	assert_next(w, "3");
	assert_next(w, "4");
	assert_next(w, "5");
	assert_next(w, "nothing");
	ledger_read_totals(w->ledger, &totals);
	assert_int_equal(totals.waiting, 0);
	assert_int_equal(totals.waiting_bytes, 0);
}

static void test_changes__what_is_refused_makes_way(void **state)
{
	struct world *w = *state;
	struct ledger_work work;
	struct arena a;
	struct str problem;
	arena_init(&a, 1 << 20);
	see(w, "a", "u", "1");
	see(w, "a", "u", "2");
	take(w, &work);
	settle(w, &work, LEDGER_REFUSED);
	assert_int_equal(ledger_refused(w->ledger, w->kind, &problem, &a), 1);
	assert_str(problem, "why");
	assert_next(w, "2");
	assert_int_equal(ledger_refused(w->ledger, w->kind, &problem, &a), 1);
	assert_str(problem, "");
	assert_false(see(w, "a", "u", "2")); /* a status changed: it is not refused again */
	arena_done(&a);
}

static enum ledger_trouble settle_next(struct world *w, const char *name, enum ledger_outcome outcome)
{
	struct ledger_work work; /* points into the key */
	char key[64];
	int n = snprintf(key, sizeof(key), "0/ns/%s", name);
	assert_true(ledger_take(w->ledger, (struct str){key, (size_t)n}, &work));
	return ledger_settle(w->ledger, &work, &(struct ledger_result){.outcome = outcome, .problem = STR("why")}).trouble;
}

static void assert_problem(struct world *w, const char *expected)
{
	struct arena a;
	struct str problem;
	arena_init(&a, 1 << 20);
	ledger_refused(w->ledger, w->kind, &problem, &a);
	assert_str(problem, expected);
	arena_done(&a);
}

/* What goes well with others says nothing of an object whose change cannot be written. */
static void test_trouble__lasts_as_long_as_one_object_has_it(void **state)
{
	struct world *w = *state;
	static const char *const names[] = {"a", "b", "c"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		see(w, names[i], "u", "1");
		see(w, names[i], "u", "2");
	}
	assert_int_equal(settle_next(w, "a", LEDGER_RETRY), LEDGER_TROUBLE_BEGINS);
	assert_int_equal(settle_next(w, "b", LEDGER_DONE), LEDGER_TROUBLE_NONE);
	assert_problem(w, "why");
	assert_int_equal(settle_next(w, "c", LEDGER_REFUSED), LEDGER_TROUBLE_NONE);
	assert_int_equal(settle_next(w, "b", LEDGER_RETRY), LEDGER_TROUBLE_NONE);
	assert_int_equal(settle_next(w, "a", LEDGER_DONE), LEDGER_TROUBLE_NONE);
	assert_int_equal(settle_next(w, "b", LEDGER_DONE), LEDGER_TROUBLE_ENDS);
	assert_problem(w, "why"); /* of c */
	assert_int_equal(settle_next(w, "c", LEDGER_DONE), LEDGER_TROUBLE_NONE);
	assert_problem(w, "");
}

/* A status holds 1,024 bytes, and what it holds is UTF-8. */
static void test_trouble__is_cut_between_characters(void **state)
{
	struct world *w = *state;
	struct ledger_work work;
	_cleanup_(arena_done) struct arena a;
	struct str problem;
	char text[1024 + 2];
	arena_init(&a, 1 << 20);
	for (size_t n = 1022; n <= 1024; n++) {
		memset(text, 'x', n);
		memcpy(text + n, "\xc3\xa9", 2);
		see(w, "a", "u", n % 2 ? "odd" : "even");
		take(w, &work);
		ledger_settle(w->ledger, &work,
			&(struct ledger_result){.outcome = LEDGER_REFUSED, .problem = (struct str){text, n + 2}});
		ledger_refused(w->ledger, w->kind, &problem, &a);
		assert_int_equal(problem.n, n == 1022 ? 1024 : n);
		assert_memory_equal(problem.p, text, problem.n);
	}
}

static void test_trouble__goes_with_its_object(void **state)
{
	struct world *w = *state;
	const struct ledger_key key = key_of(w, "a");
	see(w, "a", "u", "1");
	settle_next(w, "a", LEDGER_REFUSED);
	ledger_note_problem(w->ledger, w->kind, STR("watch"));
	assert_problem(w, "why");
	ledger_miss(w->ledger, &key, 2);
	assert_problem(w, "watch");
	ledger_note_problem(w->ledger, w->kind, STR(""));
	assert_problem(w, "");
}

static void test_ceiling__makes_the_changes_of_an_object_one_look(void **state)
{
	struct world *w = *state;
	struct ledger_totals totals;
	char digest[16];
	for (int i = 0; i < 100; i++) {
		snprintf(digest, sizeof(digest), "%d", i);
		see(w, "a", "u", digest);
		ledger_read_totals(w->ledger, &totals);
		assert_true(totals.waiting_bytes <= WAITING + sizeof(struct ledger_change));
	}
	assert_true(totals.skipped > 0);
	assert_next(w, "look");
	assert_next(w, "nothing");
	/* Who comes later waits again. */
	see(w, "a", "u", "x");
	assert_next(w, "x");
}

static void test_look__is_compared_with_what_came_meanwhile(void **state)
{
	struct world *w = *state;
	struct ledger_work work;
	const struct ledger_key key = key_of(w, "a");
	see(w, "a", "u", "1");
	ledger_queue(w->ledger, &key, ledger_change_new(LEDGER_LOOK, 0, STR("")));
	assert_next(w, "1");
	assert_string_equal(take(w, &work), "look");
	const struct ledger_print print = print_of("u", "2");
	ledger_settle(w->ledger, &work, &(struct ledger_result){.outcome = LEDGER_DONE, .seen = &print});
	assert_false(see(w, "a", "u", "2"));
}

static struct ledger_history archived_history(uint64_t version, int64_t deleted_s)
{
	struct ledger_history h = {.version = version, .is_written = true, .is_archived = true, .deleted_s = deleted_s};

	ledger_print_of(&h.print, STR("u"), STR("1"));
	return h;
}

/* The History of an object whose namespace is deleted goes here and comes there: in which order, the watch decides. */
static void test_archive__a_history_moves(void **state)
{
	struct world *w = *state;
	const struct ledger_key a = key_of(w, "a");
	const struct ledger_history moved = archived_history(7, 0);

	for (unsigned gone_first = 0; gone_first < 2; gone_first++) {
		show_history(w, "a", 5, "u", "1", 0);
		see(w, "a", "u", "1");
		if (gone_first) {
			ledger_miss_history(w->ledger, &a, 7, false);
			assert_next(w, "look"); /* perhaps somebody has deleted it */
		}
		assert_true(ledger_show_history(w->ledger, &a, &moved, 0));
		if (!gone_first) {
			ledger_miss_history(w->ledger, &a, 7, false);
		}
		/* What happens to the object still concerns it. */
		ledger_miss(w->ledger, &a, 8);
		assert_next(w, "gone");
		ledger_miss_history(w->ledger, &a, 9, true);
	}
}

/* Another object has that name now, and a History of its own. */
static void test_archive__a_newer_history_stays(void **state)
{
	struct world *w = *state;
	const struct ledger_key a = key_of(w, "a");
	const struct ledger_history moved = archived_history(7, 0);

	show_history(w, "a", 9, "u2", "2", 0);
	assert_false(ledger_show_history(w->ledger, &a, &moved, 0));
	ledger_miss_history(w->ledger, &a, 10, true);
	ledger_miss(w->ledger, &a, 11);
	assert_next(w, "gone");
}

static void test_deletion__of_what_has_a_history(void **state)
{
	struct world *w = *state;
	const struct ledger_key a = key_of(w, "a"), b = key_of(w, "b");
	struct ledger_totals totals;
	ledger_miss(w->ledger, &b, 3); /* nobody knows it */
	show_history(w, "a", 5, "u", "1", 0);
	see(w, "a", "u", "1");
	ledger_miss(w->ledger, &a, 6);
	assert_next(w, "gone");
	show_history(w, "a", 7, "u", "1", 9);
	ledger_miss(w->ledger, &a, 8);
	assert_next(w, "nothing");
	ledger_miss_history(w->ledger, &a, 9, false);
	ledger_read_totals(w->ledger, &totals);
	assert_int_equal(totals.entries, 0);
}

/* Deleted and recreated before anything was written. */
static void test_deletion__waits_between_two_states(void **state)
{
	struct world *w = *state;
	const struct ledger_key a = key_of(w, "a");
	see(w, "a", "u1", "1");
	ledger_miss(w->ledger, &a, 6);
	assert_true(see(w, "a", "u2", "1"));
	assert_next(w, "1");
	assert_next(w, "gone");
	assert_next(w, "1");
}

static void test_list__what_is_not_shown_is_gone(void **state)
{
	struct world *w = *state;
	const struct ledger_key b = key_of(w, "b");
	show_history(w, "a", 5, "u", "1", 0);
	show_history(w, "b", 5, "u", "1", 0);
	see(w, "a", "u", "1");
	see(w, "b", "u", "1");
	w->list = ledger_begin(w->ledger, NULL);
	ledger_pass_by(w->ledger, &b, w->list); /* there, and not recorded any more */
	ledger_end(w->ledger, w->kind, w->list);
	assert_next(w, "gone");
	struct ledger_work work;
	assert_false(ledger_take(w->ledger, STR("0/ns/b"), &work));
}

static void test_history__that_somebody_else_changed_is_looked_at(void **state)
{
	struct world *w = *state;
	struct ledger_work work;
	const struct ledger_key a = key_of(w, "a");
	see(w, "a", "u", "1");
	take(w, &work);
	settle_written(w, &work, 5, "u", "1");
	show_history(w, "a", 5, "u", "1", 0); /* our own write */
	assert_next(w, "nothing");
	show_history(w, "a", 4, "u", "0", 0); /* the one before */
	assert_next(w, "nothing");
	show_history(w, "a", 6, "u", "other", 0);
	assert_next(w, "look");
	ledger_miss_history(w->ledger, &a, 7, false);
	assert_next(w, "look");
}

static void test_history__outlives_its_object_for_so_long(void **state)
{
	struct world *w = *state;
	show_history(w, "a", 5, "u", "1", 100);
	assert_int_equal(ledger_expire(w->ledger, 1000, 60), 60); /* nobody follows the kind */
	assert_next(w, "nothing");
}

/* ---- up to where it is written ---- */

static uint64_t settled_of(struct world *w, const char *name, enum ledger_outcome outcome)
{
	char text[64];
	struct ledger_work work = {0};
	snprintf(text, sizeof(text), "%u/ns/%s", w->kind->index, name);
	assert_true(ledger_take(w->ledger, str_of(text), &work));
	uint64_t version = work.settled_version;
	ledger_settle(w->ledger, &work, &(struct ledger_result){.outcome = outcome, .problem = STR("p")});
	return version;
}

/* Other rules: a list shows what was recorded before. */
static void show_settled(struct world *w, const char *name, const char *digest, uint64_t version)
{
	const struct ledger_key key = key_of(w, name);
	const struct ledger_shown shown = {
		.print = print_of("u", digest), .version = version, .recorder = 1, .list = w->list, .is_settled = true};
	assert_true(ledger_show(w->ledger, &key, &shown));
	ledger_queue(w->ledger, &key, ledger_change_new(LEDGER_STATE, version, STR("s")));
}

static void test_settled__is_what_was_recorded_by_other_rules(void **state)
{
	struct world *w = *state;
	see(w, "a", "u", "1");
	assert_int_equal(settled_of(w, "a", LEDGER_DONE), 0);
	show_settled(w, "a", "2", 5);
	assert_int_equal(settled_of(w, "a", LEDGER_DONE), 5);
	/* A state that waits, or was refused, is not recorded. */
	see(w, "b", "u", "1");
	show_settled(w, "b", "2", 6);
	assert_int_equal(settled_of(w, "b", LEDGER_DONE), 0);
	assert_int_equal(settled_of(w, "b", LEDGER_REFUSED), 0);
	show_settled(w, "b", "3", 7);
	assert_int_equal(settled_of(w, "b", LEDGER_DONE), 0);
}

static void queue_at(struct world *w, const char *name, uint64_t version)
{
	const struct ledger_key key = key_of(w, name);
	char digest[24];
	snprintf(digest, sizeof(digest), "%d", (int)version);
	const struct ledger_shown shown = {.print = print_of("u", digest), .version = version, .recorder = 1, .list = w->list};
	assert_true(ledger_show(w->ledger, &key, &shown));
	ledger_queue(w->ledger, &key, ledger_change_new(LEDGER_STATE, version, STR("s")));
}

static void settle_first(struct world *w, const char *name, enum ledger_outcome outcome)
{
	char text[64];
	struct ledger_work work;
	snprintf(text, sizeof(text), "%u/ns/%s", w->kind->index, name);
	assert_true(ledger_take(w->ledger, str_of(text), &work));
	ledger_settle(w->ledger, &work, &(struct ledger_result){.outcome = outcome, .problem = STR("p")});
}

static void test_recorded__is_what_is_written(void **state)
{
	struct world *w = *state;
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 0), 0);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 10), 10);
	queue_at(w, "a", 11);
	queue_at(w, "b", 12);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 12), 10);
	queue_at(w, "a", 13);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 13), 10);
	settle_first(w, "b", LEDGER_DONE);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 13), 10);
	settle_first(w, "a", LEDGER_RETRY); /* it still waits */
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 13), 10);
	settle_first(w, "a", LEDGER_DONE);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 13), 12); /* 13 still waits */
	settle_first(w, "a", LEDGER_REFUSED);                          /* it will never be written */
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 14), 14);
}

static void test_recorded__grows_while_an_object_changes_all_the_time(void **state)
{
	struct world *w = *state;
	uint64_t recorded = 0;

	queue_at(w, "a", 1);
	for (uint64_t version = 2; version < 100; version++) {
		queue_at(w, "a", version);
		settle_first(w, "a", LEDGER_DONE);
		recorded = ledger_recorded(w->ledger, w->kind, version);
		assert_true(recorded < version && recorded + 4 > version);
	}
}

static void test_recorded__waits_for_a_look(void **state)
{
	struct world *w = *state;
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 10), 10);
	queue_at(w, "a", 11);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 11), 10);
	for (uint64_t version = 12; version < 600; version++) {
		queue_at(w, "a", version); /* beyond the ceiling: they become one LOOK */
	}
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 599), 10);
	settle_first(w, "a", LEDGER_RETRY);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 599), 10);
	settle_first(w, "a", LEDGER_DONE);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 599), 599);
}

static void test_recorded__begins_with_what_is_known(void **state)
{
	struct world *w = *state;
	ledger_resume(w->ledger, w->kind, 50);
	queue_at(w, "a", 51);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 60), 50);
	ledger_unfollow(w->ledger, w->kind);
	assert_int_equal(ledger_recorded(w->ledger, w->kind, 0), 0);
}

static void test_replay__of_what_the_history_holds_is_no_news(void **state)
{
	struct world *w = *state;
	const struct ledger_key key = key_of(w, "a");
	const struct ledger_history h = {.version = 5, .recorded = 8, .print = print_of("u", "3"), .is_written = true};
	struct ledger_shown shown = {.recorder = 1, .list = w->list, .is_replayed = true};

	ledger_show_history(w->ledger, &key, &h, w->list);
	for (uint64_t version = 6; version <= 8; version++) {
		shown.version = version;
		shown.print = print_of("u", version == 6 ? "1" : version == 7 ? "2" : "3");
		assert_false(ledger_show(w->ledger, &key, &shown));
	}
	shown.version = 9;
	shown.print = print_of("u", "1");
	assert_true(ledger_show(w->ledger, &key, &shown));
}

static void test_tally__by_kind_and_recorder(void **state)
{
	struct world *w = *state;
	struct ledger_tally rows[4];
	show_history(w, "a", 5, "u", "1", 0);
	show_history(w, "b", 5, "u", "1", 0);
	show_history(w, "deleted", 5, "u", "1", 7);
	see(w, "a", "u", "1");
	see(w, "b", "u", "1");
	assert_int_equal(ledger_tally(w->ledger, rows, 4), 1);
	assert_int_equal(rows[0].objects, 2);
	assert_int_equal(rows[0].revisions, 2);
}

/* A hundred thousand objects with their histories. */
static void test_memory__is_less_than_300_bytes_an_object(void **state)
{
	struct world *w = *state;
	enum { N = 100000 };
	char name[32];
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "config-of-a-team-%06d", i);
		show_history(w, name, 5, "u", "1", 0);
		assert_false(see(w, name, "u", "1"));
	}
	size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
	/* Where a sanitizer allocates, nothing is counted. */
	assert_true(after - before < (size_t)N * 300);
}

static uint64_t succeed(struct world *w, const char *name, uint64_t version, bool is_listed)
{
	const struct ledger_key key = key_of(w, name);
	return ledger_succeed(w->ledger, &key, version, is_listed);
}

/* A watch shows each version of an object. A list may skip some, and so may a time in which nobody watches the object. */
static void test_versions__the_one_before_is_known_of_a_watch_only(void **state)
{
	struct world *w = *state;
	const struct ledger_key key = key_of(w, "a");
	assert_int_equal(succeed(w, "a", 4, false), 0); /* nobody has shown it */
	see(w, "a", "u", "1");
	assert_int_equal(succeed(w, "a", 5, true), 0);
	assert_int_equal(succeed(w, "a", 7, false), 5);
	assert_int_equal(succeed(w, "a", 7, false), 0); /* shown again */
	assert_int_equal(succeed(w, "a", 8, false), 7);
	assert_int_equal(succeed(w, "a", 9, true), 0);
	assert_int_equal(succeed(w, "a", 10, false), 9);
	ledger_pass_by(w->ledger, &key, w->list);
	see(w, "a", "u", "2");
	assert_int_equal(succeed(w, "a", 14, false), 0);
	ledger_miss(w->ledger, &key, 15);
	see(w, "a", "v", "3");
	assert_int_equal(succeed(w, "a", 16, false), 0);
	assert_int_equal(succeed(w, "a", 17, false), 16);
}

/* A state of a list, of 1 KiB. */
static void list_state(struct world *w, int i)
{
	char name[32], text[1024] = {0};
	snprintf(name, sizeof(name), "config-of-a-team-%06d", i);
	const struct ledger_key key = key_of(w, name);
	const struct ledger_shown shown = {.print = print_of("u", "1"), .version = 1, .recorder = 1, .list = w->list};
	assert_true(ledger_show(w->ledger, &key, &shown));
	struct ledger_change *c = ledger_change_new(LEDGER_STATE, 1, (struct str){text, sizeof(text)});
	c->is_listed = true;
	ledger_queue(w->ledger, &key, c);
}

/* Works on whatever the queue has. How many there were. */
static size_t work_all_with(struct world *w, enum ledger_outcome outcome)
{
	struct workqueue_stats stats;
	struct ledger_work work;
	size_t n = 0;
	for (workqueue_read_stats(w->queue, &stats); stats.depth > 0; workqueue_read_stats(w->queue, &stats)) {
		char *key = workqueue_get(w->queue);
		assert_true(ledger_take(w->ledger, str_of(key), &work));
		bool is_more = ledger_settle(w->ledger, &work, &(struct ledger_result){.outcome = outcome}).is_more;
		assert_int_equal(is_more, outcome == LEDGER_RETRY);
		workqueue_done(w->queue, key);
		n++;
	}
	return n;
}

static size_t work_all(struct world *w)
{
	return work_all_with(w, LEDGER_DONE);
}

static void test_memory__of_a_list_that_waits_is_a_mark_on_each_object(void **state)
{
	struct world *w = *state;
	struct workqueue_stats stats;
	struct ledger_totals totals;
	enum { N = 100000 };
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (int i = 0; i < N; i++) {
		list_state(w, i);
	}
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before < (size_t)N * 300);
	ledger_read_totals(w->ledger, &totals);
	workqueue_read_stats(w->queue, &stats);
	assert_int_equal(totals.waiting, N);
	assert_int_equal(totals.skipped, 0); /* nothing is lost */
	assert_true(stats.depth < N / 50);
	assert_int_equal(work_all(w), N);
}

static void test_list__does_not_hold_up_what_happens(void **state)
{
	struct world *w = *state;
	struct workqueue_stats before, after;
	for (int i = 0; i < 5000; i++) {
		list_state(w, i);
	}
	workqueue_read_stats(w->queue, &before);
	see(w, "a", "u", "1");
	workqueue_read_stats(w->queue, &after);
	assert_int_equal(after.depth, before.depth + 1);
	assert_int_equal(work_all(w), 5001);
}

/* Whatever cannot be written now is tried again later, and takes no place in the queue until then. */
static void test_list__is_not_held_up_by_what_cannot_be_written(void **state)
{
	struct world *w = *state;
	struct ledger_totals totals;
	for (int i = 0; i < 5000; i++) {
		list_state(w, i);
	}
	assert_int_equal(work_all_with(w, LEDGER_RETRY), 5000);
	for (int i = 0; i < 5000; i++) {
		char key[64];
		snprintf(key, sizeof(key), "0/ns/config-of-a-team-%06d", i);
		workqueue_add(w->queue, str_of(key)); /* its time has come */
	}
	for (int i = 5000; i < 10000; i++) {
		list_state(w, i);
	}
	assert_int_equal(work_all(w), 10000);
	ledger_read_totals(w->ledger, &totals);
	assert_int_equal(totals.waiting, 0);
}

/* Those that wait for a place in the queue, and are of no interest any more when it comes. */
static void test_list__what_goes_while_it_waits(void **state)
{
	struct world *w = *state;
	struct ledger_totals totals;
	for (int i = 0; i < 5000; i++) {
		list_state(w, i);
	}
	ledger_end(w->ledger, w->kind, ledger_begin(w->ledger, NULL)); /* another list showed nothing */
	assert_int_equal(work_all(w), 5000); /* a look finds that it is gone */
	ledger_read_totals(w->ledger, &totals);
	assert_int_equal(totals.entries, 0);
	assert_int_equal(totals.waiting, 0);
}

/* ---- keeping ---- */

static void show_size(struct world *w, const char *name, uint64_t bytes, uint32_t revisions, int64_t deleted_s)
{
	const struct ledger_key key = key_of(w, name);
	const struct ledger_history h = {.version = 5,
		.print = print_of(name, "1"),
		.is_written = true,
		.deleted_s = deleted_s,
		.revisions = revisions,
		.bytes = bytes};
	ledger_show_history(w->ledger, &key, &h, w->list);
}

static void follow(struct world *w)
{
	struct followed *f = mem_new(struct followed);
	f->refs = 1;
	arena_init(&f->arena, 4096);
	ledger_set_followed(w->ledger, w->kind, f);
}

/* The waiting change of that object: its sort, and for a trim how many states stay. */
static const char *waiting(struct world *w, const char *name)
{
	static char text[64];
	struct ledger_work work;
	char key[64];
	snprintf(key, sizeof(key), "0/ns/%s", name);
	if (!ledger_take(w->ledger, str_of(key), &work)) {
		return "nothing";
	}
	if (work.change->sort == LEDGER_TRIM) {
		snprintf(text, sizeof(text), "trim %lld", (long long)work.change->at_most);
	} else {
		snprintf(text, sizeof(text), "%s", work.change->sort == LEDGER_DROP ? "drop" : "other");
	}
	settle(w, &work, LEDGER_DONE);
	return text;
}

static void test_trim__each_history_once_in_a_round(void **state)
{
	struct world *w = *state;
	show_size(w, "a", 100, 2, 0);
	assert_int_equal(ledger_trim(w->ledger, 1, 9), 0); /* nobody follows the kind */
	follow(w);
	show_size(w, "b", 100, 1, 0); /* the newest alone never goes */
	show_size(w, "c", 0, 1, 0);   /* earlier versions counted no bytes */
	show_size(w, "d", 100, 3, 7);
	assert_int_equal(ledger_trim(w->ledger, 1, 2), 2);
	assert_int_equal(ledger_trim(w->ledger, 1, 2), 1);
	assert_int_equal(ledger_trim(w->ledger, 1, 2), 0);
	assert_string_equal(waiting(w, "a"), "trim -1");
	assert_string_equal(waiting(w, "b"), "nothing");
	assert_string_equal(waiting(w, "c"), "trim -1");
	assert_string_equal(waiting(w, "d"), "trim -1");
	assert_int_equal(ledger_trim(w->ledger, 2, 9), 3);
}

static void test_trim__goes_on_where_more_is_to_go(void **state)
{
	struct world *w = *state;
	struct ledger_work work;
	follow(w);
	show_size(w, "a", 100, 90, 0);
	assert_int_equal(ledger_trim(w->ledger, 1, 9), 1);
	assert_string_equal(take(w, &work), "trim");
	assert_int_equal(ledger_trim(w->ledger, 1, 9), 0);
	ledger_settle(w->ledger, &work, &(struct ledger_result){.outcome = LEDGER_DONE, .has_more = true});
	assert_int_equal(ledger_trim(w->ledger, 1, 9), 1);
}

static void test_relieve__drops_deleted_objects_and_then_halves_the_largest(void **state)
{
	struct world *w = *state;
	struct ledger_relief relief;
	struct ledger_totals totals;
	follow(w);
	show_size(w, "small", 100, 9, 0);
	show_size(w, "large", 1000, 9, 0);
	show_size(w, "single", 5000, 1, 0);
	show_size(w, "gone-late", 100, 3, 20);
	show_size(w, "gone-early", 100, 3, 10);
	ledger_read_totals(w->ledger, &totals);
	assert_int_equal(totals.history_bytes, 6300);
	assert_int_equal(ledger_relieve(w->ledger, 6300, 9, &relief), 6300);
	assert_int_equal(relief.dropped + relief.halved, 0);
	assert_int_equal(ledger_relieve(w->ledger, 6250, 9, &relief), 6300);
	assert_int_equal(relief.dropped, 1);
	assert_int_equal(relief.halved, 0);
	/* What is under way counts, and is not queued again. */
	ledger_relieve(w->ledger, 6250, 9, &relief);
	assert_int_equal(relief.dropped + relief.halved, 0);
	ledger_relieve(w->ledger, 5700, 9, &relief);
	assert_int_equal(relief.dropped, 1);
	assert_int_equal(relief.halved, 1);
	assert_string_equal(waiting(w, "gone-early"), "drop");
	assert_string_equal(waiting(w, "gone-late"), "drop");
	assert_string_equal(waiting(w, "large"), "trim 4");
	assert_string_equal(waiting(w, "small"), "nothing");
	ledger_relieve(w->ledger, 1, 9, &relief); /* as far as possible */
	assert_string_equal(waiting(w, "single"), "nothing");
	assert_string_equal(waiting(w, "small"), "trim 4");
}

static void test_relieve__queues_no_more_than_it_may(void **state)
{
	struct world *w = *state;
	struct ledger_relief relief;
	char name[16];
	follow(w);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		show_size(w, name, 100, 2, i < 5 ? 1 + i : 0);
	}
	ledger_relieve(w->ledger, 0, 8, &relief);
	assert_int_equal(relief.dropped, 5);
	assert_int_equal(relief.halved, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_LEDGER(test_changes__wait_in_order),
		TEST_LEDGER(test_changes__none_of_what_the_history_holds),
		TEST_LEDGER(test_changes__one_worker_at_a_time),
		TEST_LEDGER(test_changes__stay_in_order_after_a_write_that_failed),
		TEST_LEDGER(test_changes__what_is_refused_makes_way),
		TEST_LEDGER(test_trouble__lasts_as_long_as_one_object_has_it),
		TEST_LEDGER(test_trouble__is_cut_between_characters),
		TEST_LEDGER(test_trouble__goes_with_its_object),
		TEST_LEDGER(test_ceiling__makes_the_changes_of_an_object_one_look),
		TEST_LEDGER(test_look__is_compared_with_what_came_meanwhile),
		TEST_LEDGER(test_archive__a_history_moves),
		TEST_LEDGER(test_archive__a_newer_history_stays),
		TEST_LEDGER(test_deletion__of_what_has_a_history),
		TEST_LEDGER(test_deletion__waits_between_two_states),
		TEST_LEDGER(test_list__what_is_not_shown_is_gone),
		TEST_LEDGER(test_history__that_somebody_else_changed_is_looked_at),
		TEST_LEDGER(test_history__outlives_its_object_for_so_long),
		TEST_LEDGER(test_settled__is_what_was_recorded_by_other_rules),
		TEST_LEDGER(test_recorded__is_what_is_written),
		TEST_LEDGER(test_recorded__grows_while_an_object_changes_all_the_time),
		TEST_LEDGER(test_recorded__waits_for_a_look),
		TEST_LEDGER(test_recorded__begins_with_what_is_known),
		TEST_LEDGER(test_replay__of_what_the_history_holds_is_no_news),
		TEST_LEDGER(test_tally__by_kind_and_recorder),
		TEST_LEDGER(test_memory__is_less_than_300_bytes_an_object),
		TEST_LEDGER(test_memory__of_a_list_that_waits_is_a_mark_on_each_object),
		TEST_LEDGER(test_list__does_not_hold_up_what_happens),
		TEST_LEDGER(test_list__is_not_held_up_by_what_cannot_be_written),
		TEST_LEDGER(test_list__what_goes_while_it_waits),
		TEST_LEDGER(test_versions__the_one_before_is_known_of_a_watch_only),
		TEST_LEDGER(test_trim__each_history_once_in_a_round),
		TEST_LEDGER(test_trim__goes_on_where_more_is_to_go),
		TEST_LEDGER(test_relieve__drops_deleted_objects_and_then_halves_the_largest),
		TEST_LEDGER(test_relieve__queues_no_more_than_it_may),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
