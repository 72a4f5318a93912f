#include "server/request/respond.h"
#include "tests/unit/check.h"

/* The headers of some warnings. */
struct scene {
	struct arena arena;
	const struct str *headers;
	size_t n;
};

static void make(struct scene *s, const struct str *texts, size_t n)
{
	arena_init(&s->arena, 1 << 20);
	s->n = warnings_to_headers(&s->headers, texts, n, &s->arena);
}

static struct str repeat(struct arena *a, const char *what, size_t times, char last)
{
	size_t n = strlen(what);
	char *out = arena_text(a, n * times + 1);

	for (size_t i = 0; i < times; i++) {
		memcpy(out + i * n, what, n);
	}
	out[n * times] = last;
	return (struct str){out, n * times + 1};
}

static void test_warnings__are_quoted_and_said_once(void **state _unused_)
{
	const struct str texts[] = {STR("a \"b\" \\"), STR("c"), STR(""), STR("a \"b\" \\")};
	struct scene s;

	make(&s, texts, ARRAY_SIZE(texts));
	assert_int_equal(s.n, 2);
	assert_str(s.headers[0], "299 - \"a \\\"b\\\" \\\\\"");
	assert_str(s.headers[1], "299 - \"c\"");
	arena_done(&s.arena);
}

static void test_warnings__that_cannot_be_headers_are_left_out(void **state _unused_)
{
	const struct str texts[] = {STR("a\nb"), STR("\x7f"), STR("\xc2\x85"), STR("\xff"), STR("\xc2\xa0 fine")};
	struct scene s;

	make(&s, texts, ARRAY_SIZE(texts));
	assert_int_equal(s.n, 1);
	assert_str(s.headers[0], "299 - \"\xc2\xa0 fine\"");
	arena_done(&s.arena);
}

/* Each is short, but its line is not; or each character is four bytes. */
static void test_warnings__that_do_not_fit_into_a_head_are_left_out(void **state _unused_)
{
	enum { N = 1000, LINES_MAX = 12 * 1024 };
	static const char *const ends[] = {"", "\xf0\x9f\x90\x9f\xf0\x9f\x90\x9f"};
	struct str texts[N];
	struct arena a;
	struct scene s;

	arena_init(&a, 1 << 20);
	for (size_t k = 0; k < ARRAY_SIZE(ends); k++) {
		size_t total = 0;
		for (size_t i = 0; i < N; i++) {
			texts[i] = arena_printf(&a, "%03zu%s", i, ends[k]);
		}
		make(&s, texts, N);
		for (size_t i = 0; i < s.n; i++) {
			total += strlen("Warning: \r\n") + s.headers[i].n;
		}
		assert_true(s.n > 100 && total <= LINES_MAX && total > LINES_MAX - 100);
		arena_done(&s.arena);
	}
	arena_done(&a);
}

static void test_warnings__of_4096_characters_are_whole(void **state _unused_)
{
	struct arena a;
	struct scene s;

	arena_init(&a, 1 << 20);
	const struct str texts[] = {repeat(&a, "\xc3\xa4", 2047, '1'), repeat(&a, "x", 2047, '2')};
	make(&s, texts, 2);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.headers[0].n, 8 + 2 * 2047 + 1);
	arena_done(&s.arena);
	arena_done(&a);
}

static void test_warnings__of_more_are_cut_from_the_first_on(void **state _unused_)
{
	struct arena a;
	struct scene s;

	arena_init(&a, 1 << 20);
	const struct str texts[] = {repeat(&a, "\xc3\xa4", 2047, '1'), repeat(&a, "x", 2048, '2'), STR("short")};
	make(&s, texts, 3);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.headers[0].n, 8 + 2 * 256);
	assert_int_equal(s.headers[1].n, 8 + 256);
	assert_str(s.headers[2], "299 - \"short\"");
	arena_done(&s.arena);
	arena_done(&a);
}

static void test_warnings__end_when_the_cut_ones_are_too_many(void **state _unused_)
{
	struct arena a;
	struct str texts[64];
	struct scene s;

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		texts[i] = arena_printf(&a, "%02zu" STR_FMT, i, STR_ARG(repeat(&a, "x", 500, 'y')));
	}
	make(&s, texts, ARRAY_SIZE(texts));
	assert_int_equal(s.n, 16);
	arena_done(&s.arena);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_warnings__are_quoted_and_said_once),
		TEST(test_warnings__that_cannot_be_headers_are_left_out),
		TEST(test_warnings__that_do_not_fit_into_a_head_are_left_out),
		TEST(test_warnings__of_4096_characters_are_whole),
		TEST(test_warnings__of_more_are_cut_from_the_first_on),
		TEST(test_warnings__end_when_the_cut_ones_are_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
