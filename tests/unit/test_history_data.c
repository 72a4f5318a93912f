/* Bytes, hashes and names as kube-controller-manager makes them. What is expected here was
 * computed by Go: encoding/json, hash/fnv, and SafeEncodeString of
 * k8s.io/apimachinery/pkg/util/rand. */
#include "controllers/kit/history.h"

#include "tests/unit/history_world.h"

#include <stdlib.h>

static struct str data_of(struct arena *a, const struct json *state)
{
	struct buf b;
	buf_init(&b, 1 << 20);
	history_data_write(state, &b);
	assert_false(b.is_over);
	struct str data = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return data;
}

#define DATA(template) "{\"spec\":{\"template\":" template "}}"

/* seeds: H22 H53 */
static void test_data__is_what_upstream_writes(void **state _unused_)
{
	static const struct {
		const char *state, *data;
		const char *hash[3]; /* with 0, 1 and 12 collisions */
	} cases[] = {
		{"{}", DATA("{\"$patch\":\"replace\"}"), {"589f85db5b", "589f85db5c", "7f56c4fd77"}},
		{" { \"spec\": {\"containers\":[{\"resources\": {}, \"name\":\"c\",\"image\":\"i:1\"}]}, "
		 "\"metadata\":{\"labels\":{\"app\":\"web\"}}}",
			DATA("{\"$patch\":\"replace\",\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"
			     "\"image\":\"i:1\","
			     "\"name\":\"c\",\"resources\":{}}]}}"),
			{"5f6b5c675d", "5f6b5c675f", "5969f857c9"}},
		/* as sets were shown up to 1.33 */
		{"{\"metadata\":{\"creationTimestamp\":null}}",
			DATA("{\"$patch\":\"replace\",\"metadata\":{\"creationTimestamp\":null}}"),
			{"75b7dcf49c", "75b7dcf49b", "5d97df5c58"}},
		{"{\"spec\":{\"b\":[{\"z\":1,\"a\":{}}],\"a\":\"<&>\\u2028\\u0008\\u007f\\\"\\\\\\u00e9\\ud83d\\ude00\\t\","
		 "\"10\":1,\"9\":2,\"\":true,"
		 "\"Z\":null}}",
			DATA("{\"$patch\":\"replace\",\"spec\":{\"\":true,\"10\":1,\"9\":2,\"Z\":null,\"a\":"
			     "\"\\u003c\\u0026\\u003e\\u2028\\b\x7f"
			     "\\\"\\\\\xc3\xa9\xf0\x9f\x98\x80\\t\",\"b\":[{\"a\":{},\"z\":1}]}}"),
			{"565688495b", "565688495c", "66f67bd5c7"}},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const int64_t collisions[] = {0, 1, 12};
		struct str data = data_of(&a, parsed(&a, cases[i].state));
		assert_str(data, cases[i].data);
		for (size_t j = 0; j < ARRAY_SIZE(collisions); j++) {
			char hash[16];
			history_hash(data, collisions[j], hash);
			assert_string_equal(hash, cases[i].hash[j]);
		}
	}
	arena_done(&a);
}

/* Otherwise than upstream, which would round them: what it keeps of them cannot be applied to a
 * set. */
static void test_data__keeps_numbers_of_any_size(void **state _unused_)
{
	struct arena a;
	arena_init(&a, 1 << 20);
	assert_str(data_of(&a, parsed(&a, "{\"n\":9223372036854775807,\"m\":9007199254740993}")),
		DATA("{\"$patch\":\"replace\",\"m\":9007199254740993,\"n\":9223372036854775807}"));
	arena_done(&a);
}

static void test_data__counts_the_last_of_a_name(void **state _unused_)
{
	struct arena a;
	arena_init(&a, 1 << 20);
	assert_str(data_of(&a, parsed(&a, "{\"n\":1,\"$patch\":\"delete\",\"m\":0,\"n\":{\"x\":1,\"x\":2}}")),
		DATA("{\"$patch\":\"replace\",\"m\":0,\"n\":{\"x\":2}}"));
	arena_done(&a);
}

/* ---- random states ---- */

static struct str random_text(struct arena *a, unsigned *seed)
{
	static const char *const pieces[] = {"a", "Z", "9", "<", ">", "&", "\"", "\\", "\n", "\b", "\x7f", "\xc3\xa9",
		"\xe2\x80\xa8", "\xf0\x9f\x98\x80", " ", "$"};
	struct str s = {"", 0};
	for (int n = rand_r(seed) % 6; n > 0; n--) {
		s = arena_printf(a, STR_FMT "%s", STR_ARG(s), pieces[(size_t)rand_r(seed) % ARRAY_SIZE(pieces)]);
	}
	return s;
}

static struct json *random_state(struct arena *a, unsigned *seed, int depth)
{
	struct json *j;
	switch (depth > 4 ? rand_r(seed) % 4 : rand_r(seed) % 7) {
	case 0:
		return json_null(a);
	case 1:
		return json_bool(a, rand_r(seed) % 2);
	case 2:
		return json_int(a, (int64_t)rand_r(seed) * rand_r(seed) * (rand_r(seed) % 2 ? 2 : -2));
	case 3:
		return json_string(a, random_text(a, seed));
	case 4:
		j = json_array(a);
		for (int n = rand_r(seed) % 5; n > 0; n--) {
			json_append(a, j, random_state(a, seed, depth + 1));
		}
		return j;
	default:
		j = json_object(a);
		for (int n = rand_r(seed) % 6; n > 0; n--) {
			struct str text = random_text(a, seed);
			json_set(a, j, arena_printf(a, "m" STR_FMT, STR_ARG(text)), random_state(a, seed, depth + 1));
		}
		return j;
	}
}

/* H20: what is kept is all of the state. */
/* seeds: H20 */
static void test_data__gives_any_state_back(void **state _unused_)
{
	unsigned seed = 20;
	for (int i = 0; i < 2000; i++) {
		struct arena a;
		arena_init(&a, 16 << 20);
		struct json *whole = json_object(&a), *data = NULL;
		size_t at;
		json_add(&a, whole, STR("metadata"), random_state(&a, &seed, 0));
		json_add(&a, whole, STR("spec"), random_state(&a, &seed, 0));
		assert_int_equal(json_parse(&data, &a, data_of(&a, whole), JSON_LIMITS_DEFAULT, &at), 0);
		assert_true(json_equal(history_data_state(data, &a), whole));
		arena_done(&a);
	}
}

static void test_data__without_a_template_holds_no_state(void **state _unused_)
{
	static const char *const cases[] = {
		"null", "{}", "[]", "\"x\"", "{\"spec\":{}}", "{\"spec\":{\"template\":null}}", "{\"spec\":{\"template\":[]}}"};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_null(history_data_state(parsed(&a, cases[i]), &a));
	}
	assert_null(history_data_state(NULL, &a));
	arena_done(&a);
}

/* ---- names ---- */

/* seeds: H26 H56 */
static void test_name__ends_in_the_hash_and_is_no_longer_than_a_name_may_be(void **state _unused_)
{
	char long_name[254], dotted[254];
	struct arena a;
	arena_init(&a, 1 << 20);
	memset(long_name, 'x', 253);
	long_name[253] = '\0';
	memcpy(dotted, long_name, sizeof(dotted));
	dotted[221] = dotted[222] = '.';

	assert_str(revision_name(STR("w"), "c77f6d978", &a), "w-c77f6d978");
	struct str cut = revision_name(str_of(long_name), "5f6b5c675d", &a);
	assert_int_equal(cut.n, 223 + 1 + 10);
	assert_true(str_ends(cut, STR("x-5f6b5c675d")));
	/* Upstream would make "..-HASH" of it, which no server takes. */
	assert_true(str_ends(revision_name(str_of(dotted), "5f6b5c675d", &a), STR("xx-5f6b5c675d")));
	arena_done(&a);
}

/* seeds: H56 */
static void test_hash__has_no_vowels_and_no_more_than_ten_digits(void **state _unused_)
{
	for (int64_t i = 0; i < 1000; i++) {
		char hash[16];
		history_hash(STR("{}"), i, hash);
		assert_true(strlen(hash) >= 1 && strlen(hash) <= 10);
		assert_int_equal(strspn(hash, "bcdfghjklmnpqrstvwxz2456789"), strlen(hash));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_data__is_what_upstream_writes),
		TEST(test_data__keeps_numbers_of_any_size),
		TEST(test_data__counts_the_last_of_a_name),
		TEST(test_data__gives_any_state_back),
		TEST(test_data__without_a_template_holds_no_state),
		TEST(test_name__ends_in_the_hash_and_is_no_longer_than_a_name_may_be),
		TEST(test_hash__has_no_vowels_and_no_more_than_ten_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
