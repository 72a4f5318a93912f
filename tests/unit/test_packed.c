#include "api/model/packed.h"

#include "tests/unit/check.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#define GROUP STR("/history/ns/u/")

/* A text like a recorded state of n settings, of which one has that value. */
static struct str state_of(struct arena *a, unsigned n, unsigned which, const char *value)
{
	struct buf text;

	buf_init(&text, 4 * PACKED_TEXT_MAX);
	BUF_LITERAL(&text,
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/v1\",\"metadata\":{\"name\":\"a\"},\"data\":{");
	for (unsigned i = 0; i < n; i++) {
		buf_printf(&text, "%s\"setting-%u\":\"%08x %s\"", i ? "," : "", i, i * 2654435761u, i == which ? value : "");
	}
	BUF_LITERAL(&text, "},\"revision\":1}");
	struct str s = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return s;
}

static struct str value_of(struct arena *a, struct str text, const struct base *base)
{
	struct buf frame, value;

	buf_init(&frame, 2 * PACKED_TEXT_MAX);
	buf_init(&value, 2 * PACKED_TEXT_MAX);
	assert_true(packed_make_frame(&frame, text, base));
	packed_write(&value, "ControllerRevision", buf_str(&frame), base);
	struct str s = arena_dup(a, buf_str(&value));
	buf_done(&value);
	buf_done(&frame);
	return s;
}

static struct base *base_of(struct arena *a, struct str text, struct str *ret_value)
{
	struct buf value;

	buf_init(&value, 2 * PACKED_TEXT_MAX);
	struct base *b = base_make(GROUP, text, &value);
	assert_non_null(b);
	*ret_value = arena_dup(a, buf_str(&value));
	buf_done(&value);
	return b;
}

static void test_packed__texts_of_any_size_come_back(void **state _unused_)
{
	static const unsigned sizes[] = {1, 2, 10, 100, 1000, 20000};
	struct arena a;
	struct str back, ignored;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		arena_init(&a, SIZE_MAX);
		struct str before = state_of(&a, sizes[i], 0, "before"), text = state_of(&a, sizes[i], sizes[i] / 2, "after");
		_cleanup_(base_unrefp) struct base *b = base_of(&a, before, &ignored);
		struct str alone = value_of(&a, text, NULL), continued = value_of(&a, text, b);

		assert_true(packed_is(alone) && packed_is(continued) && !packed_is(text));
		assert_int_equal(packed_open(&back, alone, &a), 0);
		assert_true(str_eq(back, text));
		assert_int_equal(packed_open(&back, continued, &a), 0);
		assert_true(str_eq(back, text));
		assert_true(continued.n < 250);
		assert_true(str_eq(packed_base_name(continued), base_name(b)));
		assert_int_equal(packed_base_name(alone).n, 0);
		arena_done(&a);
	}
}

static void test_packed__plain_text_is_itself(void **state _unused_)
{
	struct arena a;
	struct str text = STR("{\"kind\":\"History\",\"apiVersion\":\"annals.dev/v1\"}"), back;

	arena_init(&a, SIZE_MAX);
	assert_int_equal(packed_open(&back, text, &a), 0);
	assert_ptr_equal(back.p, text.p);
	arena_done(&a);
}

static void test_packed__a_base_that_is_not_there_is_named(void **state _unused_)
{
	struct arena a;
	struct str key, value, back;
	char name[BASE_NAME_SIZE];

	arena_init(&a, SIZE_MAX);
	struct base *b = base_of(&a, state_of(&a, 100, 0, "x"), &key);
	memcpy(name, base_name(b).p, sizeof(name));
	value = value_of(&a, state_of(&a, 100, 1, "y"), b);
	base_unref(b);
	assert_null(base_find((struct str){name, sizeof(name)}));
	assert_int_equal(packed_open(&back, value, &a), -ENOENT);
	assert_true(str_eq(packed_base_name(value), (struct str){name, sizeof(name)}));

	b = base_read((struct str){name, sizeof(name)}, key);
	assert_non_null(b);
	assert_true(str_eq(base_group(b), GROUP));
	assert_int_equal(packed_open(&back, value, &a), 0);
	assert_true(str_eq(back, state_of(&a, 100, 1, "y")));
	_cleanup_(base_unrefp) struct base *again = base_find(base_name(b));
	assert_ptr_equal(again, b);
	base_unref(b);
	arena_done(&a);
}

static void test_packed__another_base_gives_no_other_text(void **state _unused_)
{
	struct arena a;
	struct str ignored, back;
	struct packed_value c;

	arena_init(&a, SIZE_MAX);
	_cleanup_(base_unrefp) struct base *b = base_of(&a, state_of(&a, 100, 0, "x"), &ignored);
	_cleanup_(base_unrefp) struct base *other = base_of(&a, state_of(&a, 100, 7, "another text of this length"), &ignored);
	struct str value = value_of(&a, state_of(&a, 100, 50, "y"), b);
	assert_int_equal(packed_value_read(&c, value, &a), 0);
	assert_int_equal(packed_text(&back, c.frame, other, &a), -EBADMSG);
	assert_int_equal(packed_text(&back, c.frame, NULL, &a), -EBADMSG);
	assert_int_equal(packed_text(&back, c.frame, b, &a), 0);
	packed_value_done(&c);
	arena_done(&a);
}

/* One byte of many is changed at a time. What is read all the same is the text. */
static void test_packed__damage_is_found(void **state _unused_)
{
	struct arena a, scratch;
	struct str key, back;
	unsigned seed = 7, n_found = 0;

	arena_init(&a, SIZE_MAX);
	arena_init(&scratch, SIZE_MAX);
	_cleanup_(base_unrefp) struct base *b = base_of(&a, state_of(&a, 60, 0, "x"), &key);
	struct str text = state_of(&a, 60, 30, "y");
	const struct str values[] = {value_of(&a, text, b), value_of(&a, text, NULL)};
	for (unsigned i = 0; i < 20000; i++) {
		struct str value = arena_dup(&scratch, values[i % 2]);
		((char *)(uintptr_t)value.p)[(size_t)rand_r(&seed) % value.n] ^= (char)(1 << rand_r(&seed) % 8);
		value.n -= rand_r(&seed) % 4 == 0 ? (size_t)rand_r(&seed) % value.n : 0;
		int r = packed_open(&back, value, &scratch);
		n_found += r != 0;
		assert_true(r != 0 || !packed_is(value) || str_eq(back, text));
		struct str damaged = arena_dup(&scratch, key);
		((char *)(uintptr_t)damaged.p)[(size_t)rand_r(&seed) % damaged.n] ^= (char)(1 << rand_r(&seed) % 8);
		struct base *read = base_read(base_name(b), damaged);
		assert_true(!read || read == b); /* a bit that means nothing */
		base_unref(read);
		arena_clear(&scratch);
	}
	assert_true(n_found > 10000);
	arena_done(&scratch);
	arena_done(&a);
}

static struct str value_around(struct arena *a, struct str frame)
{
	struct buf value;

	buf_init(&value, 2 * PACKED_TEXT_MAX);
	packed_write(&value, "History", frame, NULL);
	struct str s = arena_dup(a, buf_str(&value));
	buf_done(&value);
	return s;
}

/* A few bytes that say they are gigabytes, and a text that is just too long. */
static void test_packed__nothing_is_allocated_for_a_bomb(void **state _unused_)
{
	struct arena a;
	struct str back;
	struct buf frame;

	arena_init(&a, (size_t)64 << 20);
	char *zeros = arena_zalloc(&a, PACKED_TEXT_MAX + 1), *packed = arena_text(&a, 1 << 16);
	size_t n = ZSTD_compress(packed, 1 << 16, zeros, PACKED_TEXT_MAX + 1, 3), used = a.used;
	assert_false(ZSTD_isError(n));
	assert_int_equal(packed_open(&back, value_around(&a, (struct str){packed, n}), &a), -EBADMSG);
	/* magic, single segment with 8 bytes of size: 2^40 */
	assert_int_equal(
		packed_open(&back, value_around(&a, STR("\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\1\0\0\x01\0\0")), &a), -EBADMSG);
	assert_true(a.used - used < PACKED_TEXT_MAX / 2); /* blocks of the arena */
	buf_init(&frame, 8 * PACKED_TEXT_MAX);
	assert_false(packed_make_frame(&frame, (struct str){zeros, PACKED_TEXT_MAX + 1}, NULL));
	assert_true(packed_make_frame(&frame, (struct str){zeros, PACKED_TEXT_MAX}, NULL));
	assert_int_equal(packed_open(&back, value_around(&a, buf_str(&frame)), &a), 0);
	assert_int_equal(back.n, PACKED_TEXT_MAX);
	buf_done(&frame);
	arena_done(&a);
}

/* Values that are nearly in this form. */
static void test_packed__form_is_exact(void **state _unused_)
{
	static const char *const rows[] = {
		"{\"kind\":\"History\",\"apiVersion\":\"annals.dev/zstd\",}",
		"{\"kind\":\"History\",\"apiVersion\":\"annals.dev/zstd\",\"zstd\":\"\"}",
		"{\"kind\":\"History\",\"apiVersion\":\"annals.dev/zstd\",\"zstd\":\"KLUv\"}",
		"{\"kind\":\"History\",\"apiVersion\":\"annals.dev/zstd\",\"zstd\":\"%\"}",
		"{\"kind\":\"History\",\"apiVersion\":\"annals.dev/zstd\",\"zstd\":\"",
		"{\"kind\":\"History\",\"apiVersion\":\"annals.dev/zstd\",\"base\":\"short\"}",
		"{\"kind\":\"History\",\"apiVersion\":\"annals.dev/zstd\",\"metadata\":{}}",
	};
	struct arena a;
	struct str back;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(packed_is(str_of(rows[i])));
		assert_int_equal(packed_open(&back, str_of(rows[i]), &a), -EBADMSG);
	}
	arena_done(&a);
}

/* The fixed words are a part of the form: this value was written by the first release that had it. */
static void test_packed__values_of_the_first_release_are_read(void **state _unused_)
{
	static const char value[] =
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/zstd\",\""
		"zstd\":\"KLUv/SSxbQIA1AJDYSJzZXR0aW5nLTAiOiIwMSI6IjllMzc3OWIxIHkyIjoiM2M2ZWYzNjIgMX0KAIJlgSrYj6fRnQRmhQHA87+DgagiZNQQlvuzyEGtaVHZ\"}";
	struct arena a;
	struct str back;

	arena_init(&a, SIZE_MAX);
	assert_int_equal(packed_open(&back, (struct str){value, sizeof(value) - 1}, &a), 0);
	assert_true(str_eq(back, state_of(&a, 3, 1, "y")));
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_packed__texts_of_any_size_come_back),
		TEST(test_packed__plain_text_is_itself),
		TEST(test_packed__a_base_that_is_not_there_is_named),
		TEST(test_packed__another_base_gives_no_other_text),
		TEST(test_packed__damage_is_found),
		TEST(test_packed__nothing_is_allocated_for_a_bomb),
		TEST(test_packed__form_is_exact),
		TEST(test_packed__values_of_the_first_release_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
