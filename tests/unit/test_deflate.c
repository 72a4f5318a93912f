#include "base/buf.h"
#include "base/deflate.h"
#include "tests/unit/check.h"

#include <zlib.h>

enum { WINDOW = 32768, LONGEST = 300000 };

static int setup(void **state)
{
	*state = deflater_new();
	return 0;
}

static int teardown(void **state)
{
	deflater_free(*state);
	return 0;
}

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	return *random >> 8;
}

/* A reader who knows nothing but DEFLATE. */
static void assert_stands_for(const char *stream, size_t n, struct str text)
{
	char *found = mem_alloc(text.n + 1);
	z_stream z = {.next_in = (Bytef *)(uintptr_t)stream,
		.avail_in = (uInt)n,
		.next_out = (Bytef *)found,
		.avail_out = (uInt)text.n + 1};

	assert_int_equal(inflateInit2(&z, -15), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_true(str_eq((struct str){found, z.total_out}, text));
	inflateEnd(&z);
	mem_free(found);
}

/* How many bytes text becomes. What it is written to is no larger than deflate_bound() says. */
static size_t packed_size(struct deflater *d, struct str text)
{
	char *exact = mem_alloc(deflate_bound(text.n));
	size_t n = deflate_text(d, text, exact);
	char *stream = mem_alloc(n + DEFLATE_END.n);

	assert_in_range(n, 5, deflate_bound(text.n));
	memcpy(stream, exact, n);
	memcpy(stream + n, DEFLATE_END.p, DEFLATE_END.n);
	assert_stands_for(stream, n + DEFLATE_END.n, text);
	mem_free(stream);
	mem_free(exact);
	return n;
}

static size_t zlib_size(struct str text)
{
	size_t size = compressBound(text.n);
	char *out = mem_alloc(size);
	z_stream z = {.next_in = (Bytef *)(uintptr_t)text.p,
		.avail_in = (uInt)text.n,
		.next_out = (Bytef *)out,
		.avail_out = (uInt)size};

	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	size = z.total_out;
	deflateEnd(&z);
	mem_free(out);
	return size;
}

static void test_deflate__short_texts_survive(void **state)
{
	static const char *const texts[] = {"", "a", "ab", "aaaaaaaaaaaa", "aaaaaaaaaaaaa", "abcabcabcabcabcabcabcabc"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		packed_size(*state, str_of(texts[i]));
	}
}

/* Of a few letters or of all bytes; with repetitions from near and far, or without. */
static void make_text(char *p, size_t n, uint32_t *random)
{
	uint32_t letters = 1 + next_random(random) % (next_random(random) % 2 ? 256 : 4);
	uint32_t repeats = next_random(random) % 3;

	for (size_t i = 0; i < n;) {
		size_t length = MIN(n - i, (size_t)(1 + next_random(random) % 600));
		size_t distance = 1 + next_random(random) % (next_random(random) % 2 ? 100 : 2 * WINDOW);

		for (size_t end = i + length; i < end; i++) {
			p[i] = repeats > 0 && distance <= i ? p[i - distance] : (char)(next_random(random) % letters);
		}
	}
}

static void test_deflate__random_texts_survive(void **state)
{
	char *text = mem_alloc(LONGEST);
	uint32_t random = 1;

	for (int i = 0; i < 300; i++) {
		uint32_t most = i % 10 == 0 ? LONGEST : i % 2 ? 100 : 5000;
		size_t n = next_random(&random) % most;

		make_text(text, n, &random);
		packed_size(*state, (struct str){text, n});
	}
	mem_free(text);
}

static void test_deflate__matches_of_all_lengths_survive(void **state)
{
	char text[2000];
	uint32_t random = 2;

	for (size_t length = 1; length < 800; length++) {
		for (size_t i = 0; i < sizeof(text); i++) {
			text[i] = (char)next_random(&random);
		}
		memcpy(text + 1000, text + 100, length);
		packed_size(*state, (struct str){text, sizeof(text)});
	}
}

/* The farthest that may be referred to is found, and nothing beyond it is referred to. */
static void test_deflate__the_window_is_used_to_its_end(void **state)
{
	enum { NOISE = 2000, AT = 1000 };
	char *text = mem_alloc(2 * WINDOW);
	uint32_t random = 3;

	for (size_t distance = WINDOW - 1; distance <= WINDOW + 1; distance++) {
		memset(text, 'x', 2 * WINDOW);
		for (size_t i = AT; i < AT + NOISE; i++) {
			text[i] = (char)next_random(&random);
		}
		memcpy(text + AT + distance, text + AT, NOISE);
		size_t n = packed_size(*state, (struct str){text, 2 * WINDOW});
		assert_true(distance > WINDOW ? n > 3 * NOISE / 2 : n < 3 * NOISE / 2);
	}
	mem_free(text);
}

static void test_deflate__all_bytes_alike_are_nearly_nothing(void **state)
{
	char *text = mem_alloc(LONGEST);

	memset(text, 'x', LONGEST);
	assert_true(packed_size(*state, (struct str){text, LONGEST}) < LONGEST / 200);
	mem_free(text);
}

static void test_deflate__noise_grows_by_next_to_nothing(void **state)
{
	char *text = mem_alloc(LONGEST);
	uint32_t random = 4;

	for (size_t i = 0; i < LONGEST; i++) {
		text[i] = (char)next_random(&random);
	}
	assert_in_range(packed_size(*state, (struct str){text, LONGEST}), LONGEST, LONGEST + 100);
	mem_free(text);
}

/* Bytes as frequent as Fibonacci's numbers would have codes of 21 bits. */
static void test_deflate__codes_are_never_too_long(void **state)
{
	enum { BYTES = 22 };
	char text[65535];
	size_t n = 0, before = 0, count = 1;
	uint32_t random = 5;

	for (int byte = 0; byte < BYTES; byte++) {
		for (size_t i = 0; i < count && n < sizeof(text); i++) {
			text[n++] = (char)(byte * 11);
		}
		size_t next = before + count;
		before = count;
		count = next;
	}
	for (size_t i = n - 1; i > 0; i--) {
		size_t k = next_random(&random) % (i + 1);
		char c = text[i];

		text[i] = text[k];
		text[k] = c;
	}
	assert_true(packed_size(*state, (struct str){text, n}) < n / 2);
}

/* Texts that were compressed one by one are a stream, in any order. */
static void test_deflate__texts_are_a_stream_together(void **state)
{
	static const char *const texts[] = {"what is said once, ", "", "what is said once, is said again; ", "x"};
	_cleanup_(buf_done) struct buf stream, all;
	char packed[200];

	buf_init(&stream, 1000);
	buf_init(&all, 1000);
	for (size_t i = 0; i < 8; i++) {
		struct str text = str_of(texts[i * 3 % ARRAY_SIZE(texts)]);

		assert_true(deflate_bound(text.n) <= sizeof(packed));
		buf_add(&stream, packed, deflate_text(*state, text, packed));
		buf_add_str(&all, text);
	}
	buf_add_str(&stream, DEFLATE_END);
	assert_stands_for(stream.p, stream.n, buf_str(&all));
}

/* What this compression is for: else zlib would do. */
static void test_deflate__a_list_is_smaller_than_by_zlib(void **state)
{
	_cleanup_(buf_done) struct buf text;
	uint32_t random = 6;

	buf_init(&text, 1 << 20);
	for (int i = 0; i < 200; i++) {
		buf_printf(&text,
			"{\"metadata\":{\"name\":\"object-%d\",\"uid\":\"%x-%x\",\"labels\":{\"app\":\"x\"}},\"spec\":{", i,
			next_random(&random), next_random(&random));
		for (int k = 0; k < 10; k++) {
			buf_printf(&text, "{\"name\":\"SETTING_%02d\",\"value\":\"https://%x%x\"},", k, next_random(&random),
				next_random(&random));
		}
		buf_adds(&text, "}},");
	}
	assert_true(packed_size(*state, buf_str(&text)) < zlib_size(buf_str(&text)) * 9 / 10);
}

#define DEFLATE_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DEFLATE_TEST(test_deflate__short_texts_survive),
		DEFLATE_TEST(test_deflate__random_texts_survive),
		DEFLATE_TEST(test_deflate__matches_of_all_lengths_survive),
		DEFLATE_TEST(test_deflate__the_window_is_used_to_its_end),
		DEFLATE_TEST(test_deflate__all_bytes_alike_are_nearly_nothing),
		DEFLATE_TEST(test_deflate__noise_grows_by_next_to_nothing),
		DEFLATE_TEST(test_deflate__codes_are_never_too_long),
		DEFLATE_TEST(test_deflate__texts_are_a_stream_together),
		DEFLATE_TEST(test_deflate__a_list_is_smaller_than_by_zlib),
	};
	return cmocka_run_group_tests_name("deflate", tests, NULL, NULL);
}
