#include "api/model/digest.h"
#include "tests/unit/tree.h"

static struct str canonical(const char *text)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 16 << 20);
	assert_true(digest_canonical(&b, parse(text), &arena));
	return arena_dup(&arena, buf_str(&b));
}

static struct str digest(const char *text)
{
	char out[DIGEST_SIZE];
	digest_of(out, parse(text), &arena);
	return arena_dup(&arena, str_of(out));
}

static void number(const char *lexeme, const char *expected)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 1 << 20);
	assert_true(digest_number(&b, str_of(lexeme)));
	assert_str(buf_str(&b), expected);
}

/* docs/reference/digest.md, and what does not show well there. */
static const struct vector {
	const char *text, *canonical, *digest;
} vectors[] = {
	{"{}", "{}", "gjgmgtmskp97c78cqlj5n9548nld5g2mzwdxchszb2c46ht57snd76"},
	{"{\"a\":1}", "{\"a\":1}", "bdkl5l8gsssgjttzr8wnwj4nh9z747stwgrksxmmvw6nhfjx7rghrd"},
	{"{\"a\": 1.0e0, \"gone\": null, \"b\": {}, \"c\": [], \"d\": {\"e\": {\"f\": []}}}", "{\"a\":1}",
		"bdkl5l8gsssgjttzr8wnwj4nh9z747stwgrksxmmvw6nhfjx7rghrd"},
	{"{\"b\":2,\"a\":1}", "{\"a\":1,\"b\":2}", "ggvkgtj9t7g7rd7m88tcj7r44btmxc4v7gvvkln7lmpppqnw2s4gtw"},
	{"{\"a\":1,\"a\":2}", "{\"a\":2}", "k6fzt5rfk8pjvrnxc4ngh8wgfftglmf98f8z8p4qt9pshnh9lxdjtz"},
	{"{\"l\":[null,{},[],{\"x\":null},1]}", "{\"l\":[null,{},[],{},1]}",
		"f2df7nz64ht4mwt5s8c8nvqjh8p5w4mqcn5npjcphmgk8d594txps2"},
	{"{\"n\":[0,-0,-0.0e9,10,1e1,100e-1,0.1,1e-1,0.10,1e21,1e20,123456789012345678901234567890,1E400,1e-7,0.000001,-12.50]"
	 "}",
		"{\"n\":[0,0,0,10,10,10,0.1,0.1,0.1,1e+21,100000000000000000000,1.2345678901234567890123456789e+29,1e+400,1e-7,"
		"0.000001,-12.5]}",
		"dncppsz52jjbkml2hgs6lw46jkl2hfmhh4h6d8rgc5lrlmt48dh9gv"},
	{"{\"n\":[9007199254740993,18446744073709551617,0.30000000000000004]}",
		"{\"n\":[9007199254740993,18446744073709551617,0.30000000000000004]}",
		"rc9llnm5z6rs2rcx5wh6szpqgtrvprdz56ktrd8dqs66vnvqtsbnk5"},
	{"{\"s\":\"\\u0041\\/\\u00e9\\ud83d\\ude00\\u2028<&>\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u007f\"}",
		"{\"s\":\"A/\303\251\360\237\230\200\342\200\250<&>\\\"\\\\\\b\\f\\n\\r\\t\\u0001\177\"}",
		"p4hcckbm4jqnnhz929jtg6fpcpfptmbr7wlbsgnxj2pz5nr6d6vmn6"},
	{"{\"\303\251\":1,\"z\":2,\"\\ud83d\\ude00\":3,\"\\uff5e\":4}",
		"{\"z\":2,\"\303\251\":1,\"\357\275\236\":4,\"\360\237\230\200\":3}",
		"lwtc65ftjsj8245b7wl2dgzrwnlk7gb6t2jxxm9njnxtckv9wfmgp9"},
	{"{\"apiVersion\":\"apps/"
	 "v1\",\"kind\":\"StatefulSet\",\"spec\":{\"template\":{\"metadata\":{\"creationTimestamp\":null,\"labels\":{\"app\":"
	 "\"web\"}},\"spec\":{\"containers\":[{\"name\":\"web\",\"image\":\"nginx:1.27\",\"resources\":{}}]}}}}",
		"{\"apiVersion\":\"apps/"
		"v1\",\"kind\":\"StatefulSet\",\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{"
		"\"containers\":[{\"image\":\"nginx:1.27\",\"name\":\"web\"}]}}}}",
		"sfrhpv6tdll7vvvldjc88pzvntz9blnnzrpp2dz9n8f56dx9tmfxpv"},
};

/* seeds: H22 */
static void test_digest__published_vectors(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		assert_str(canonical(vectors[i].text), vectors[i].canonical);
		assert_str(digest(vectors[i].text), vectors[i].digest);
	}
}

/* seeds: H41 */
static void test_digest__what_is_no_mutation_makes_no_difference(void **state _unused_)
{
	struct str expected = digest("{\"spec\":{\"n\":1,\"s\":\"/\"}}");
	static const char *const same[] = {
		" {\n\"spec\" : { \"s\":\"\\/\", \"n\":1.0 } }",
		"{\"spec\":{\"n\":10e-1,\"s\":\"\\u002f\",\"gone\":null}}",
		"{\"a\":{\"b\":{\"c\":[]}},\"spec\":{\"n\":1,\"s\":\"/\"},\"z\":{}}",
		"{\"spec\":0,\"spec\":{\"n\":2,\"n\":1,\"s\":\"/\"}}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		assert_true(str_eq(digest(same[i]), expected));
	}
}

static void test_digest__what_is_a_mutation_makes_one(void **state _unused_)
{
	struct str one = digest("{\"a\":1,\"l\":[1,2]}");
	static const char *const others[] = {
		"{\"a\":2,\"l\":[1,2]}",
		"{\"a\":\"1\",\"l\":[1,2]}",
		"{\"a\":1,\"l\":[2,1]}",
		"{\"a\":1,\"l\":[1,2,null]}",
		"{\"a\":1}",
		"{\"A\":1,\"l\":[1,2]}",
		"{\"a\":true,\"l\":[1,2]}",
		"{\"a\":1,\"l\":[1,2],\"b\":false}",
		"{\"a\":1,\"l\":[1,2],\"b\":0}",
		"{\"a\":1,\"l\":[1,2],\"b\":\"\"}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_false(str_eq(digest(others[i]), one));
	}
}

static void test_digest_number__plain(void **state _unused_)
{
	number("0", "0");
	number("-0", "0");
	number("0.000e99999999999999999999", "0");
	number("100", "100");
	number("1e2", "100");
	number("1E+2", "100");
	number("-1.50e1", "-15");
	number("0.10", "0.1");
	number("12.340", "12.34");
	number("1234e-2", "12.34");
	number("0.0001234e4", "1.234");
	number("100000000000000000000", "100000000000000000000");
	number("999999999999999999999", "999999999999999999999");
	number("0.000001", "0.000001");
}

static void test_digest_number__with_exponent(void **state _unused_)
{
	number("1e21", "1e+21");
	number("1000000000000000000000", "1e+21");
	number("12345678901234567890123", "1.2345678901234567890123e+22");
	number("-0.0000001", "-1e-7");
	number("123e-9", "1.23e-7");
	number("1e999999999999999999", "1e+999999999999999999");
}

static void test_digest_number__exponents_beyond_any_integer(void **state _unused_)
{
	number("1e1000000000000000000000", "1e+1000000000000000000000");
	number("10e999999999999999999999", "1e+1000000000000000000000");
	number("0.1e1000000000000000000000", "1e+999999999999999999999");
	number("1e-1000000000000000000000", "1e-1000000000000000000000");
	number("0.01e-999999999999999999998", "1e-1000000000000000000000");
	number("120e-1000000000000000000001", "1.2e-999999999999999999999");
	number("1e0000000000000000000000005", "100000");
}

static void test_digest__never_begins_with_a_number(void **state _unused_)
{
	for (int i = 0; i < 2000; i++) {
		struct str d = digest(arena_printf(&arena, "{\"i\":%d}", i).p);
		assert_int_equal(d.n, DIGEST_SIZE - 1);
		assert_non_null(strchr("bcdfghjklmnpqrst", d.p[0]));
		assert_int_equal(strspn(d.p, "bcdfghjklmnpqrstvwxz2456789"), DIGEST_SIZE - 1);
	}
}

static void test_digest_canonical__is_over_at_the_ceiling(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 4);
	assert_false(digest_canonical(&b, parse("{\"a\":1}"), &arena));
}

static void test_digest_canonical__is_its_own_canonical_text(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		assert_str(canonical(vectors[i].canonical), vectors[i].canonical);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_digest__published_vectors),
		TEST_TREE(test_digest__what_is_no_mutation_makes_no_difference),
		TEST_TREE(test_digest__what_is_a_mutation_makes_one),
		TEST_TREE(test_digest_number__plain),
		TEST_TREE(test_digest_number__with_exponent),
		TEST_TREE(test_digest_number__exponents_beyond_any_integer),
		TEST_TREE(test_digest__never_begins_with_a_number),
		TEST_TREE(test_digest_canonical__is_over_at_the_ceiling),
		TEST_TREE(test_digest_canonical__is_its_own_canonical_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
