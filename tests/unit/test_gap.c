/* Who wrote in a gap: what notes say for certain. */
#include "server/revisions/gap.h"

#include "tests/unit/check.h"

enum { VERSIONS_FROM = 10, VERSIONS_TO = 20 };

struct row {
	const char *name;
	struct gap_end from, to;
	const char *
		notes; /* "USER VERSION FROM>TO", by commas. A state is one letter, - is not known. !: was certainly written, to VERSION+1 */
	const char *expect; /* authors, "+" if there may be others; then ";" and the last, if all is known */
};

static struct str state_of_letter(const char *p)
{
	return *p == '-' ? STR("") : (struct str){p, 1};
}

static size_t read_notes(struct user_note *notes, const char *text, struct arena *a)
{
	struct str rest = str_of(text), one, user, version;
	size_t n = 0;

	while (rest.n > 0) {
		struct user_note note = {.uid = STR("u")};
		str_cut(rest, ',', &one, &rest);
		assert_true(str_cut(one, ' ', &user, &one) && str_cut(one, ' ', &version, &one) && one.n == 3);
		bool is_certain = user.p[0] == '!';
		note.user = arena_dup(a, (struct str){user.p + is_certain, user.n - is_certain});
		assert_true(str_to_uint64(version, &note.version));
		note.from = state_of_letter(one.p);
		note.to = state_of_letter(one.p + 2);
		note.sort = is_certain ? NOTE_WRITE : note.to.n ? NOTE_STATE : NOTE_SCALE;
		note.result = is_certain ? note.version + 1 : 0;
		note.time_s = (int64_t)note.version;
		notes[n++] = note;
	}
	return n;
}

static struct str said(const struct gap_authors *authors, struct arena *a)
{
	struct str out = STR("");

	for (size_t i = 0; i < authors->n; i++) {
		out = arena_printf(a, STR_FMT "%s" STR_FMT "@%lld", STR_ARG(out), i ? " " : "", STR_ARG(authors->v[i].user),
			(long long)authors->v[i].time_s);
	}
	return authors->has_more ? arena_printf(a, STR_FMT "+", STR_ARG(out))
				 : arena_printf(a, STR_FMT ";" STR_FMT, STR_ARG(out), STR_ARG(authors->last));
}

#define FROM                   \
	{                      \
		VERSIONS_FROM, \
		{              \
			"A", 1 \
		}              \
	}
#define TO(state)                \
	{                        \
		VERSIONS_TO,     \
		{                \
			state, 1 \
		}                \
	}
#define UNKNOWN(version)        \
	{                       \
		version,        \
		{               \
			NULL, 0 \
		}               \
	}

static const struct row rows[] = {
	{"one", FROM, TO("B"), "eve 10 A>B", "eve@10;eve"},
	{"three", FROM, TO("D"), "eve 10 A>B,bob 13 B>C,al 17 C>D", "eve@10 bob@13 al@17;al"},
	{"status was written first", FROM, TO("B"), "eve 12 A>B", "eve@12;eve"},
	{"in any order", FROM, TO("C"), "bob 13 B>C,eve 10 A>B", "eve@10 bob@13;bob"},
	{"each once, with the last time", FROM, TO("D"), "eve 10 A>B,bob 12 B>C,eve 14 C>D", "eve@14 bob@12;eve"},
	{"there and back", FROM, TO("A"), "eve 10 A>B,bob 12 B>A", "eve@10 bob@12;bob"},
	{"two servers noted it", FROM, TO("B"), "eve 10 A>B,eve 10 A>B", "eve@10;eve"},
	{"nothing happened", FROM, TO("A"), "", ";"},
	{"nobody noted it", FROM, TO("B"), "", "+"},
	{"the first is missing", FROM, TO("C"), "bob 13 B>C", "bob@13+"},
	{"the middle is missing", FROM, TO("D"), "eve 10 A>B,al 17 C>D", "al@17+"},
	{"the last is missing", FROM, TO("D"), "eve 10 A>B,bob 13 B>C", "eve@10+"},
	{"a refused one before", FROM, TO("C"), "mal 10 A>X,eve 11 A>C", "eve@11;eve"},
	{"a refused one of that version", FROM, TO("C"), "mal 10 A>X,eve 10 A>C", "eve@10;eve"},
	{"a refused one in the middle", FROM, TO("C"), "eve 10 A>B,mal 12 B>X,bob 14 B>C", "eve@10 bob@14;bob"},
	{"a refused one at the end", FROM, TO("B"), "eve 10 A>B,mal 12 B>X", "eve@10;eve"},
	{"a refused one alone", FROM, TO("A"), "mal 10 A>X", ";"},
	{"a refused one alone, and another state", FROM, TO("B"), "mal 10 A>X", "+"},
	{"one tried again", FROM, TO("B"), "eve 10 A>B,eve 11 A>B", "eve@11;eve"},
	{"two for one write", FROM, TO("B"), "eve 10 A>B,bob 10 A>B", "+"},
	{"two for the middle", FROM, TO("C"), "eve 10 A>B,bob 10 A>B,al 12 B>C", "al@12+"},
	{"of later versions", FROM, TO("B"), "eve 10 A>B,mal 20 B>C", "eve@10;eve"},
	{"of earlier versions", FROM, TO("B"), "mal 5 X>Y,mal 7 Y>A,eve 12 A>B", "eve@12;eve"},
	{"a scale", FROM, TO("C"), "eve 10 A>B,bob 12 ->-", "+"},
	{"the recorded state is not known", {VERSIONS_FROM, {NULL, 0}}, TO("B"), "eve 10 A>B", "eve@10;eve"},
	{"nor is the version", {VERSIONS_FROM, {NULL, 0}}, TO("B"), "eve 11 A>B", "eve@11+"},
	{"but the note of its write is", {VERSIONS_FROM, {NULL, 0}}, TO("B"), "mal 7 Z>A,eve 11 A>B", "eve@11;eve"},
	{"of a server itself", FROM, UNKNOWN(12), "!eve 10 ->-,!bob 11 ->-", "eve@10 bob@11;bob"},
	{"and something in between", FROM, UNKNOWN(15), "!eve 10 ->-,!bob 13 ->-", "eve@10 bob@13+"},
	{"by states", FROM, TO("C"), "!eve 10 A>B,!bob 13 B>C", "eve@10 bob@13;bob"},
	{"written, and taken back by somebody", FROM, TO("A"), "!eve 10 A>B", "eve@10+"},
	{"the end is not known", FROM, UNKNOWN(0), "eve 10 A>B,bob 13 B>C", "eve@10+"},
	{"from the beginning", UNKNOWN(0), TO("B"), "eve 0 ->A,bob 13 A>B", "eve@0 bob@13;bob"},
};

static void test_gap__names_who_is_certain(void **state _unused_)
{
	struct user_note notes[16];
	struct gap_authors authors;
	struct arena a;

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = read_notes(notes, rows[i].notes, &a);
		gap_find_authors(&authors, notes, n, &rows[i].from, &rows[i].to);
		struct str got = said(&authors, &a);
		if (!str_is(got, rows[i].expect)) {
			fail_msg("%s: " STR_FMT " and not %s", rows[i].name, STR_ARG(got), rows[i].expect);
		}
	}
	arena_done(&a);
}

/* Only the write that replaced the recorded version is the first. */
static void test_gap__has_a_first_author(void **state _unused_)
{
	const struct gap_end from = UNKNOWN(0), to = TO("B");
	struct user_note notes[4];
	struct gap_authors authors;
	struct arena a;

	arena_init(&a, 1 << 20);
	gap_find_authors(&authors, notes, read_notes(notes, "eve 0 ->A,bob 13 A>B", &a), &from, &to);
	assert_str(authors.first, "eve");
	gap_leave_out(&authors, authors.first);
	assert_int_equal(authors.n, 1);
	gap_find_authors(&authors, notes, read_notes(notes, "bob 13 A>B", &a), &from, &to);
	assert_str(authors.first, "");
	arena_done(&a);
}

static void test_gap__has_a_ceiling_of_authors(void **state _unused_)
{
	enum { WRITES = GAP_AUTHORS_MAX + 1 };
	const struct gap_end from = UNKNOWN(1), to = UNKNOWN(WRITES + 1);
	struct user_note notes[WRITES];
	struct gap_authors authors;
	struct arena a;

	arena_init(&a, 1 << 20);
	for (size_t n = WRITES - 1; n <= WRITES; n++) {
		const struct gap_end end = {.version = n + 1};
		for (size_t i = 0; i < n; i++) {
			notes[i] = (struct user_note){
				.sort = NOTE_WRITE, .version = i + 1, .result = i + 2, .user = arena_printf(&a, "u%zu", i)};
		}
		gap_find_authors(&authors, notes, n, &from, n == WRITES ? &to : &end);
		assert_int_equal(authors.n, GAP_AUTHORS_MAX);
		assert_int_equal(authors.has_more, n == WRITES);
	}
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_gap__names_who_is_certain),
		TEST(test_gap__has_a_first_author),
		TEST(test_gap__has_a_ceiling_of_authors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
