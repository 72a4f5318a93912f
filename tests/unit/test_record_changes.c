#include "api/diff/changes.h"
#include "tests/unit/tree.h"

static struct changed_paths paths;

/* The paths with blanks between them. */
static struct str changes(const char *before, const char *after)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1 << 20);
	changed_paths(&paths, parse(before), parse(after), &arena);
	for (size_t i = 0; i < paths.n; i++) {
		buf_printf(&b, "%s" STR_FMT, i ? " " : "", STR_ARG(paths.v[i]));
	}
	return arena_dup(&arena, buf_str(&b));
}

static void test_paths__name_what_came_went_and_changed(void **state _unused_)
{
	assert_str(changes("{\"spec\":{\"n\":1,\"gone\":{\"a\":1}},\"same\":{\"x\":[1]}}",
			   "{\"same\":{\"x\":[1]},\"spec\":{\"came\":{\"b\":{\"c\":1}},\"n\":2}}"),
		"/spec/came /spec/gone /spec/n");
}

static void test_paths__there_are_none_where_digests_are_equal(void **state _unused_)
{
	assert_str(changes("{\"a\":1.0,\"b\":{\"c\":{}},\"d\":null}", "{\"d\":[],\"a\":10e-1}"), "");
	assert_int_equal(paths.n, 0);
}

static void test_paths__are_escaped(void **state _unused_)
{
	assert_str(changes("{\"a/b\":{\"~c\":1}}", "{\"a/b\":{\"~c\":2}}"), "/a~1b/~0c");
}

static void test_paths__of_lists_leave_out_both_ends(void **state _unused_)
{
	assert_str(changes("{\"l\":[{\"n\":\"a\"},{\"n\":\"b\",\"v\":1},{\"n\":\"c\"}]}",
			   "{\"l\":[{\"n\":\"a\"},{\"n\":\"b\",\"v\":2},{\"n\":\"c\"}]}"),
		"/l/1/v");
	assert_str(changes("{\"l\":[1,2,3]}", "{\"l\":[0,1,2,3]}"), "/l/0");
	assert_str(changes("{\"l\":[0,1,2,3]}", "{\"l\":[0,3]}"), "/l/1 /l/2");
	assert_str(changes("{\"l\":[1,1]}", "{\"l\":[1,1,1]}"), "/l/2");
}

static void test_paths__another_type_is_a_change_of_the_whole(void **state _unused_)
{
	assert_str(changes("{\"a\":{\"b\":1}}", "{\"a\":[1]}"), "/a");
}

static void test_paths__too_long_ones_name_what_contains_them(void **state _unused_)
{
	char key[301], before[700], after[700];
	memset(key, 'k', 300);
	key[300] = '\0';
	snprintf(before, sizeof(before), "{\"data\":{\"%s\":{\"%s\":1}}}", "short", key);
	snprintf(after, sizeof(after), "{\"data\":{\"%s\":{\"%s\":2}}}", "short", key);
	assert_str(changes(before, after), "/data/short");
	snprintf(before, sizeof(before), "{\"%s\":1}", key);
	assert_str(changes(before, "{}"), "");
	assert_int_equal(paths.n, 1);
}

static void test_paths__are_bounded_and_the_others_counted(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1 << 20);
	buf_addc(&b, '{');
	for (int i = 0; i < 1000; i++) {
		buf_printf(&b, "%s\"k%d\":1", i ? "," : "", i);
	}
	buf_addc(&b, '}');
	changes("{}", b.p);
	assert_int_equal(paths.n, CHANGED_PATHS_SEEN_MAX);
	assert_int_equal(paths.more, 1000 - CHANGED_PATHS_SEEN_MAX);
}

/* Nested as deep as a request may be: neither the stack nor the time runs out. */
static void test_paths__of_deep_values_end_at_a_level(void **state _unused_)
{
	enum { DEEP = 500 };
	char before[2 * DEEP + 16], after[2 * DEEP + 16];
	memset(before, '[', DEEP);
	before[DEEP] = '1';
	memset(before + DEEP + 1, ']', DEEP);
	before[2 * DEEP + 1] = '\0';
	memcpy(after, before, sizeof(before));
	after[DEEP] = '2';
	changes(before, after);
	assert_int_equal(paths.n, 1);
	assert_int_equal(paths.v[0].n, 2 * 64);
}

/* ---- managers ---- */

#define ENTRY(manager, time, fields)                                                                                          \
	"{\"manager\":\"" manager "\",\"operation\":\"Update\",\"time\":\"2026-01-01T00:00:0" time "Z\",\"fieldsV1\":" fields \
	"}"

static struct change_authors authors;

static struct str managers(const char *state, const char *entries, const char *before, const char *after)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1 << 20);
	changes(before, after);
	struct str list = arena_printf(&arena, "[%s]", entries);
	change_authors(&authors, parse(list.p), parse(state), &paths, &arena);
	for (size_t i = 0; i < authors.n; i++) {
		buf_printf(&b, "%s" STR_FMT, i ? " " : "", STR_ARG(authors.names[i]));
	}
	return arena_dup(&arena, buf_str(&b));
}

static void test_managers__own_a_changed_path(void **state _unused_)
{
	const char *after = "{\"spec\":{\"n\":2,\"m\":1}}";
	assert_str(
		managers(after,
			ENTRY("scaler", "1", "{\"f:spec\":{\"f:n\":{}}}") "," ENTRY("later", "2", "{\"f:spec\":{\"f:m\":{}}}"),
			"{\"spec\":{\"n\":1,\"m\":1}}", after),
		"scaler");
}

static void test_managers__the_newest_of_those_who_own_it(void **state _unused_)
{
	const char *after = "{\"data\":{\"a\":\"2\",\"b\":\"2\"}}";
	const char *entries = ENTRY("old", "1", "{\"f:data\":{\".\":{},\"f:a\":{}}}") "," ENTRY(
		"one", "3", "{\"f:data\":{\"f:a\":{}}}") "," ENTRY("two", "3", "{\"f:data\":{\"f:b\":{}}}") "," ENTRY("one",
		"3", "{\"f:data\":{\"f:b\":{}}}");
	assert_str(managers(after, entries, "{\"data\":{\"a\":\"1\",\"b\":\"1\"}}", after), "one two");
}

static void test_managers__items_of_lists_by_keys_values_and_places(void **state _unused_)
{
	const char *before = "{\"c\":[{\"name\":\"x\",\"i\":1},{\"name\":\"y\",\"i\":1}],\"f\":[\"p\",\"q\"],\"z\":[1]}";
	const char *after = "{\"c\":[{\"name\":\"x\",\"i\":1},{\"name\":\"y\",\"i\":2}],\"f\":[\"p\",\"r\"],\"z\":[2]}";
	const char *entry = ENTRY("x", "1", "{\"f:c\":{\"k:{\\\"name\\\":\\\"x\\\"}\":{\"f:i\":{}}}}");
	assert_str(managers(after,
			   ENTRY("y", "1", "{\"f:c\":{\"k:{\\\"name\\\":\\\"y\\\"}\":{\"f:i\":{}}}}") "," ENTRY(
				   "no", "2", "{\"f:c\":{\"k:{\\\"name\\\":\\\"x\\\"}\":{\"f:i\":{}}}}"),
			   before, after),
		"y");
	assert_str(managers(after,
			   ENTRY("r", "1", "{\"f:f\":{\"v:\\\"r\\\"\":{}}}") "," ENTRY(
				   "no", "2", "{\"f:f\":{\"v:\\\"p\\\"\":{}}}"),
			   before, after),
		"r");
	assert_str(managers(after, ENTRY("i", "1", "{\"f:z\":{\"i:0\":{}}}") "," ENTRY("no", "2", "{\"f:z\":{\"i:1\":{}}}"),
			   before, after),
		"i");
	assert_str(managers(after, entry, before, after), "x"); /* nobody owns a path: the newest */
}

static void test_managers__who_owns_the_whole_owns_its_parts(void **state _unused_)
{
	const char *after = "{\"spec\":{\"selector\":{\"a\":\"2\"},\"other\":1,\"came\":{\"x\":1}}}";
	const char *before = "{\"spec\":{\"selector\":{\"a\":\"1\"},\"other\":1}}";
	const char *no = "," ENTRY("no", "9", "{\"f:spec\":{\"f:other\":{}}}");
	assert_str(managers(after, arena_printf(&arena, "%s%s", ENTRY("whole", "1", "{\"f:spec\":{\"f:selector\":{}}}"), no).p,
			   before, after),
		"whole");
	assert_str(managers(after,
			   arena_printf(&arena, "%s%s", ENTRY("part", "1", "{\"f:spec\":{\"f:came\":{\"f:x\":{}}}}"), no).p,
			   before, after),
		"part");
}

/* A field that went has no owner. Who writes status did not take it away. */
static void test_managers__of_what_went_are_the_newest_but_those_of_status(void **state _unused_)
{
	const char *entries =
		ENTRY("editor", "2", "{\"f:spec\":{\"f:m\":{}}}") "," ENTRY("old", "1", "{\"f:spec\":{\"f:m\":{}}}") "," ENTRY(
			"also", "2", "{}") ",{\"manager\":\"kubelet\",\"time\":\"2026-01-01T00:00:09Z\",\"subresource\":"
					   "\"status\",\"fieldsV1\":{\"f:status\":{}}}";
	assert_str(managers("{\"spec\":{\"m\":1}}", entries, "{\"spec\":{\"n\":1,\"m\":1}}", "{\"spec\":{\"m\":1}}"),
		"editor also");
	assert_false(authors.is_known);
	assert_str(authors.time, "2026-01-01T00:00:02Z");
	assert_str(managers("{\"spec\":{\"m\":1}}", "{}", "{\"n\":1}", "{}"), "");
	assert_str(managers("{\"spec\":{\"m\":1}}", "1", "{\"n\":1}", "{}"), "");
}

static void test_managers__are_eight_at_most(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1 << 20);
	for (int i = 0; i < 10; i++) {
		buf_printf(&b, "%s{\"manager\":\"m%d\"}", i ? "," : "", i);
	}
	assert_str(managers("{\"a\":1}", b.p, "{}", "{}"), "m0 m1 m2 m3 m4 m5 m6 m7");
}

static void test_cause__is_cut_between_characters(void **state _unused_)
{
	assert_str(change_cause(parse("{\"metadata\":{\"annotations\":{\"kubernetes.io/change-cause\":\"why\"}}}")), "why");
	assert_int_equal(change_cause(parse("{\"metadata\":{}}")).n, 0);
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1 << 20);
	buf_adds(&b, "{\"metadata\":{\"annotations\":{\"kubernetes.io/change-cause\":\"");
	for (int i = 0; i < 400; i++) {
		buf_adds(&b, "\342\202\254"); /* three bytes, and 1024 is no multiple of that */
	}
	buf_adds(&b, "\"}}}");
	assert_int_equal(change_cause(parse(b.p)).n, 1023);
}

/* ---- is a History as it was recorded? ---- */

static void note_doubt(void *ctx, enum record_doubt doubt, const struct json *change _unused_, const char *what _unused_)
{
	static const char letters[] = {[RECORD_UNVERIFIED] = 'u', [RECORD_ALTERED] = 'a', [RECORD_MISSING] = 'm'};
	buf_addc(ctx, letters[doubt]);
}

/* A letter for each doubt about the changes of a status. */
static struct str doubts(const char *status)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1 << 20);
	record_check_changes(parse(status), &(struct record_report){note_doubt, &b}, &arena);
	return arena_dup(&arena, buf_str(&b));
}

#define FIRST "{\"type\":\"Created\",\"revision\":\"a\",\"number\":1,\"digest\":\"da\"}"
#define OLD "{\"type\":\"Created\",\"revision\":\"a\",\"number\":1}"

/* A change that follows another one. */
static const char *second(const char *before, const char *number)
{
	char print[CHANGE_PRINT_SIZE];
	change_print(print, parse(before), &arena);
	return arena_printf(&arena,
		"{\"type\":\"Changed\",\"revision\":\"b\",\"number\":%s,\"digest\":\"db\",\"previous\":\"%s\"}", number, print)
		.p;
}

static struct str doubts_about(const char *first, const char *next, int total)
{
	return doubts(arena_printf(&arena,
		"{\"digest\":\"db\",\"revision\":{\"name\":\"b\",\"revision\":2},\"totalChanges\":%d,\"changes\":[%s%s%s]}",
		total, first, *first ? "," : "", next)
			      .p);
}

static void test_record__print_is_that_of_the_canonical_text(void **state _unused_)
{
	char print[CHANGE_PRINT_SIZE];
	change_print(print, parse("{\"b\":[],\"a\":1.0}"), &arena);
	/* printf '{"a":1}' | sha256sum */
	assert_string_equal(print, "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
}

static void test_record__changes_are_a_chain(void **state _unused_)
{
	assert_str(doubts("{}"), "");
	assert_str(doubts_about(FIRST, second(FIRST, "2"), 2), "");
	assert_str(doubts_about(FIRST, second("{\"type\":\"Created\"}", "2"), 2), "a");
	assert_str(doubts_about("", second(FIRST, "2"), 2), ""); /* the first one is not listed any more */
	assert_str(doubts_about("", second(FIRST, "2"), 1), "m");
	assert_str(doubts_about(FIRST, second(FIRST, "2"), 3), "a");  /* it names none before it */
	assert_str(doubts_about(FIRST, second(FIRST, "2"), 1), "aa"); /* and more are listed than there are */
	assert_str(doubts_about(FIRST, second(FIRST, "3"), 2), "a");  /* the status says 2 */
}

static void test_record__of_the_first_release_is_unverified(void **state _unused_)
{
	assert_str(doubts_about(OLD, "{\"type\":\"Changed\",\"revision\":\"b\",\"number\":2}", 2), "uu");
	assert_str(doubts_about(OLD, second(OLD, "2"), 2), "u");
	assert_str(doubts_about(FIRST, "{\"type\":\"Changed\",\"revision\":\"b\",\"number\":2}", 2), "a");
}

#define TWO "{\"digest\":\"%s\",\"revision\":{\"name\":\"a\",\"revision\":%d},\"totalChanges\":2,\"changes\":[%s,%s]}"

/* Only the API version is another one, so the revision before holds the state. */
static void test_record__a_change_of_nobody_may_have_no_revision(void **state _unused_)
{
	char print[CHANGE_PRINT_SIZE];
	change_print(print, parse(FIRST), &arena);
	struct str next = arena_printf(&arena, "{\"type\":\"Rerecorded\",\"digest\":\"db\",\"previous\":\"%s\"}", print);
	struct str good = arena_printf(&arena, TWO, "db", 1, FIRST, next.p);
	struct str old = arena_printf(&arena, TWO, "db", 1, OLD, next.p);
	assert_str(doubts(good.p), "");
	assert_str(doubts(arena_printf(&arena, TWO, "dx", 1, FIRST, next.p).p), "a");
	assert_str(doubts(arena_printf(&arena, TWO, "db", 2, FIRST, next.p).p), "a");
	assert_str(record_digest(parse(good.p), STR("a")), "da");
	assert_str(record_digest(parse(old.p), STR("a")), ""); /* that of the status is of the other version */
}

#define STATUS                                                                                                                    \
	"{\"digest\":\"db\",\"revision\":{\"name\":\"b\",\"revision\":2},\"revisions\":2,\"totalChanges\":%d,\"changes\":[" FIRST \
	",{\"type\":\"Changed\",\"revision\":\"b\",\"number\":2}]}"

static struct str doubts_of(const char *name, int64_t number, const char *digest, int total)
{
	_cleanup_(buf_done) struct buf b;
	const struct record_state state = {.name = str_of(name), .digest = str_of(digest), .number = number};
	buf_init(&b, 1 << 20);
	record_check_state(parse(arena_printf(&arena, STATUS, total).p), &state, &(struct record_report){note_doubt, &b});
	return arena_dup(&arena, buf_str(&b));
}

static void test_record__states_have_their_digests(void **state _unused_)
{
	assert_str(doubts_of("a", 1, "da", 2), "");
	assert_str(doubts_of("a", 1, "dx", 2), "a");
	assert_str(doubts_of("a", 3, "da", 2), "a");
	assert_str(doubts_of("b", 2, "db", 2), ""); /* by the status alone */
	assert_str(doubts_of("b", 2, "dx", 2), "a");
	assert_str(doubts_of("x", 3, "dx", 2), "a");
	assert_str(doubts_of("x", 3, "dx", 9), "a");
	assert_str(doubts_of("x", 0, "dx", 9), "u"); /* an earlier change may have led to it */
}

static struct str missing(const struct record_state *states, size_t n)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1 << 20);
	record_check_missing(parse(arena_printf(&arena, STATUS, 2).p), states, n, &(struct record_report){note_doubt, &b});
	return arena_dup(&arena, buf_str(&b));
}

static void test_record__what_is_missing_was_not_trimmed(void **state _unused_)
{
	struct record_state states[] = {{.name = STR("b"), .number = 2}, {.name = STR("a"), .number = 1}};
	assert_str(missing(states, 2), "");
	assert_str(missing(states + 1, 1), "m");
	assert_str(missing(states, 1), "m"); /* two were recorded */
	states[0] = (struct record_state){.name = STR("z"), .number = 0};
	assert_str(missing(states, 1), "mm");
	states[0].is_held = true;
	assert_str(missing(states, 1), "m"); /* the last one */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_paths__name_what_came_went_and_changed),
		TEST_TREE(test_paths__there_are_none_where_digests_are_equal),
		TEST_TREE(test_paths__are_escaped),
		TEST_TREE(test_paths__of_lists_leave_out_both_ends),
		TEST_TREE(test_paths__another_type_is_a_change_of_the_whole),
		TEST_TREE(test_paths__too_long_ones_name_what_contains_them),
		TEST_TREE(test_paths__are_bounded_and_the_others_counted),
		TEST_TREE(test_paths__of_deep_values_end_at_a_level),
		TEST_TREE(test_managers__own_a_changed_path),
		TEST_TREE(test_managers__the_newest_of_those_who_own_it),
		TEST_TREE(test_managers__items_of_lists_by_keys_values_and_places),
		TEST_TREE(test_managers__who_owns_the_whole_owns_its_parts),
		TEST_TREE(test_managers__of_what_went_are_the_newest_but_those_of_status),
		TEST_TREE(test_managers__are_eight_at_most),
		TEST_TREE(test_cause__is_cut_between_characters),
		TEST_TREE(test_record__print_is_that_of_the_canonical_text),
		TEST_TREE(test_record__changes_are_a_chain),
		TEST_TREE(test_record__of_the_first_release_is_unverified),
		TEST_TREE(test_record__a_change_of_nobody_may_have_no_revision),
		TEST_TREE(test_record__states_have_their_digests),
		TEST_TREE(test_record__what_is_missing_was_not_trimmed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
