#include "cli/kubectl/log_entries.h"

#include "api/model/members.h"
#include "tests/unit/tree.h"

/* A History with changes first to total, of which the last n are there; each a minute after the one before. */
static const struct json *history(const char *uid, int64_t total, int64_t n)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 1 << 20);
	buf_printf(&text,
		"{\"metadata\":{\"namespace\":\"n\",\"name\":\"h\",\"uid\":\"%s\"},\"spec\":{\"subject\":{\"kind\":\"K\"}},",
		uid);
	buf_printf(&text, "\"status\":{\"totalChanges\":%lld,\"changes\":[", (long long)total);
	for (int64_t i = total - n + 1; i <= total; i++) {
		buf_printf(&text, "%s{\"time\":\"2026-01-01T00:%02lld:00Z\",\"resourceVersion\":\"%lld\",\"number\":%lld}",
			i > total - n + 1 ? "," : "", (long long)i, (long long)(100 - i), (long long)i);
	}
	buf_adds(&text, "]}}");
	return parse(arena_dup(&arena, buf_str(&text)).p);
}

static void expect_numbers(struct log_entries *e, const char *expected)
{
	_cleanup_(buf_done) struct buf numbers;
	buf_init(&numbers, 4096);
	log_entries_sort(e);
	for (size_t i = 0; i < e->n; i++) {
		const struct json *entry = parse(e->v[i].text);
		buf_printf(&numbers, "%lld ", (long long)member_int(json_gets(entry, "change"), "number"));
		assert_str(member_text(entry, "kind"), "Change");
	}
	assert_str(buf_str(&numbers), expected);
	log_entries_clear(e);
}

static void test_log__takes_each_change_once(void **state _unused_)
{
	struct log_entries e;
	log_entries_init(&e, 100, &(struct log_filter){0});
	log_entries_take(&e, history("u", 3, 3));
	log_entries_take(&e, history("u", 3, 3));
	expect_numbers(&e, "1 2 3 ");
	log_entries_take(&e, history("u", 2, 2)); /* an older form of it */
	log_entries_take(&e, history("u", 5, 3));
	expect_numbers(&e, "4 5 ");
	log_entries_take(&e, history("u", 5, 3));
	expect_numbers(&e, "");
	assert_int_equal(e.n_lost, 0);
	log_entries_done(&e);
}

static void test_log__counts_what_came_and_went(void **state _unused_)
{
	struct log_entries e;
	log_entries_init(&e, 100, &(struct log_filter){0});
	log_entries_take(&e, history("u", 10, 2)); /* what was before the first look is not lost */
	expect_numbers(&e, "9 10 ");
	assert_int_equal(e.n_lost, 0);
	log_entries_take(&e, history("u", 20, 3));
	expect_numbers(&e, "18 19 20 ");
	assert_int_equal(e.n_lost, 7);
	log_entries_done(&e);
}

static void test_log__a_history_that_was_made_again_is_another_one(void **state _unused_)
{
	struct log_entries e;
	log_entries_init(&e, 100, &(struct log_filter){0});
	log_entries_take(&e, history("u", 2, 2));
	log_entries_forget(&e, history("u", 2, 2));
	log_entries_take(&e, history("v", 1, 1));
	expect_numbers(&e, "1 1 2 ");
	log_entries_done(&e);
}

/* Two of one second are in the order of the server's versions, and those of one object in their own. */
static void test_log__is_in_the_order_of_time(void **state _unused_)
{
	struct log_entries e;
	log_entries_init(&e, 100, &(struct log_filter){0});
	log_entries_take(&e,
		parse("{\"metadata\":{\"uid\":\"a\"},\"status\":{\"changes\":[{\"time\":\"2026-01-01T00:00:01Z\",\"number\":4},"
		      "{\"time\":\"2026-01-01T00:00:00Z\",\"resourceVersion\":\"9\",\"number\":2}]}}"));
	log_entries_take(&e,
		parse("{\"metadata\":{\"uid\":\"b\"},\"status\":{\"changes\":[{\"time\":\"2026-01-01T00:00:00Z\","
		      "\"resourceVersion\":\"8\",\"number\":1},{\"time\":\"2026-01-01T00:00:00Z\",\"resourceVersion\":\"10\","
		      "\"number\":3}]}}"));
	expect_numbers(&e, "1 2 3 4 ");
	log_entries_done(&e);
}

static void test_log__keeps_the_newest(void **state _unused_)
{
	struct log_entries e;
	log_entries_init(&e, 3, &(struct log_filter){0});
	for (int i = 0; i < 10; i++) {
		char uid[8];
		snprintf(uid, sizeof(uid), "u%d", i);
		log_entries_take(&e, history(uid, 5, 5));
		assert_true(e.n <= 6);
	}
	expect_numbers(&e, "5 5 5 ");
	assert_int_equal(e.n_dropped, 47);
	log_entries_done(&e);
	const struct log_filter filter = {.since_us = 1767225600000000 + 4 * 60 * 1000000}; /* 2026-01-01T00:04:00Z */
	log_entries_init(&e, 100, &filter);
	log_entries_take(&e, history("u", 6, 6));
	expect_numbers(&e, "4 5 6 ");
	log_entries_done(&e);
}

/* What a filter keeps of three changes: by a user through a manager, by two managers, and a deletion. */
static void test_log__of_users_paths_and_times(void **state _unused_)
{
	static const struct {
		struct log_filter filter;
		const char *expected;
	} rows[] = {
		{{0}, "1 2 3 "},
		{{.by = {"alice", 5}}, "1 "},
		{{.by = {"kubectl-edit", 12}}, ""}, /* a manager is no user */
		{{.by = {"ali", 3}}, ""},
		{{.path = {"/data/limit", 11}}, "1 2 "},
		{{.path = {"/data/limit/x", 13}}, "1 2 "},
		{{.path = {"/data/lim", 9}}, "2 "}, /* all of data became another */
		{{.path = {"/spec", 5}}, ""},       /* as long as /data */
		{{.path = {"/data", 5}, .by = {"alice", 5}}, "1 "},
		{{.until_us = 1767225600000000 + 2 * 60 * 1000000}, "1 "},
		{{.since_us = 1767225600000000 + 2 * 60 * 1000000, .until_us = 1767225600000000 + 3 * 60 * 1000000}, "2 "},
	};
	const struct json *h = parse(
		"{\"metadata\":{\"namespace\":\"n\",\"name\":\"h\",\"uid\":\"u\"},\"spec\":{\"subject\":{\"kind\":\"K\"}},"
		"\"status\":{"
		"\"totalChanges\":3,\"changes\":["
		"{\"type\":\"Changed\",\"time\":\"2026-01-01T00:01:00Z\",\"number\":1,\"user\":\"alice\",\"managers\":["
		"\"kubectl-edit\"],"
		"\"paths\":[\"/data/limit\"],\"revision\":\"r1\"},"
		"{\"type\":\"Changed\",\"time\":\"2026-01-01T00:02:00Z\",\"number\":2,\"managers\":[\"helm\",\"kubectl-edit\"],"
		"\"paths\":[\"/data\"],\"morePaths\":2,\"revision\":\"r2\"},"
		"{\"type\":\"Deleted\",\"time\":\"2026-01-01T00:03:00Z\",\"number\":3}]}}");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct log_entries e;
		log_entries_init(&e, 100, &rows[i].filter);
		log_entries_take(&e, h);
		expect_numbers(&e, rows[i].expected);
		assert_int_equal(e.n_changes, 3);
		log_entries_done(&e);
	}
	struct log_entries e;
	log_entries_init(&e, 100, &(struct log_filter){.path = {"/metadata", 9}});
	log_entries_take(&e, h);
	assert_int_equal(e.n_unsure, 1); /* two of its paths are not listed */
	log_entries_done(&e);
}

/* What -p compares. */
static void test_log__knows_what_was_before(void **state _unused_)
{
	struct log_entries e;
	log_entries_init(&e, 100, &(struct log_filter){0});
	log_entries_take(&e,
		parse("{\"metadata\":{\"uid\":\"u\"},\"status\":{\"totalChanges\":4,\"changes\":[{\"time\":\"2026-01-01T00:01:"
		      "00Z\","
		      "\"revision\":\"a\"},{\"time\":\"2026-01-01T00:02:00Z\"},{\"time\":\"2026-01-01T00:03:00Z\",\"revision\":"
		      "\"b\"}]}}"));
	log_entries_take(&e,
		parse("{\"metadata\":{\"uid\":\"v\"},\"status\":{\"totalChanges\":1,\"changes\":[{\"time\":\"2026-01-01T00:04:"
		      "00Z\","
		      "\"revision\":\"c\"}]}}"));
	log_entries_sort(&e);
	assert_int_equal(e.n, 4);
	assert_null(e.v[0].before);
	assert_false(e.v[0].is_first); /* an older one is not listed any more */
	assert_string_equal(e.v[1].before, "a");
	assert_string_equal(e.v[2].before, "a"); /* a deletion has no revision */
	assert_true(e.v[3].is_first);
	assert_int_equal(e.n_unlisted, 1);
	log_entries_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_log__takes_each_change_once),
		TEST_TREE(test_log__of_users_paths_and_times),
		TEST_TREE(test_log__knows_what_was_before),
		TEST_TREE(test_log__counts_what_came_and_went),
		TEST_TREE(test_log__a_history_that_was_made_again_is_another_one),
		TEST_TREE(test_log__is_in_the_order_of_time),
		TEST_TREE(test_log__keeps_the_newest),
	};
	return cmocka_run_group_tests_name("log_entries", tests, NULL, NULL);
}
