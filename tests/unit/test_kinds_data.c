/* ConfigMaps and Secrets: what holds texts and bytes by name. */
#include "tests/unit/kind_world.h"

#define CM "/v1/configmaps"
#define SECRET "/v1/secrets"
#define KEY_DETAIL                                                                                                           \
	"a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or " \
	"'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
#define IMMUTABLE_DETAIL "field is immutable when `immutable` is set"

static void test_configmap__keys(void **state)
{
	static const struct invalid_row rows[] = {
		{"{\"data\":{\"A.b-c_9\":\"\"}}", NULL, NULL},
		{"{\"data\":{\".a\":\"\"}}", NULL, NULL},
		{"{\"data\":{\"\":\"\"}}", "data[]", KEY_DETAIL},
		{"{\"data\":{\"a/b\":\"\"}}", "data[a/b]", KEY_DETAIL},
		{"{\"binaryData\":{\"a b\":\"\"}}", "binaryData[a b]", KEY_DETAIL},
		{"{\"data\":{\".\":\"\"}}", "data[.]", "must not be '.'"},
		{"{\"data\":{\"..\":\"\"}}", "data[..]", "must not be '..'"},
		{"{\"binaryData\":{\"..a\":\"\"}}", "binaryData[..a]", "must not start with '..'"},
		{"{\"data\":{\"a\":\"1\"},\"binaryData\":{\"b\":\"MQ==\"}}", NULL, NULL},
		{"{\"data\":{\"a\":\"1\"},\"binaryData\":{\"a\":\"MQ==\"}}", "data[a]",
			"duplicate of key present in binaryData"},
	};
	assert_rows(*state, CM, rows, ARRAY_SIZE(rows));
}

/* n letters in data, 3 * triples bytes and one more in binaryData. */
static struct object *configmap_of_size(struct api_world *w, size_t n, size_t triples)
{
	char *text = arena_text(&w->a, n), *base64 = arena_text(&w->a, 4 * triples);
	memset(text, 'x', n);
	memset(base64, 'A', 4 * triples);
	const char *object = arena_printf(&w->a, "{\"data\":{\"a\":\"%.*s\"},\"binaryData\":{\"b\":\"%.*sYQ==\"}}", (int)n,
		text, (int)(4 * triples), base64)
				     .p;
	return world_decode(w, CM, object);
}

static void test_configmap__is_at_most_a_mebibyte(void **state)
{
	struct api_world *w = *state;
	assert_int_equal(errors_of(w, configmap_of_size(w, 1048575, 0), NULL).n, 0);
	assert_int_equal(errors_of(w, configmap_of_size(w, 75, 349500), NULL).n, 0);
	struct field_errors e = errors_of(w, configmap_of_size(w, 76, 349500), NULL);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.v[0].type, FIELD_TOO_LONG);
	assert_str(e.v[0].path, "[]");
	assert_str(e.v[0].detail, "may not be more than 1048576 bytes");
}

static void test_configmap__stays_immutable_with_what_it_holds(void **state)
{
	static const char old[] =
		"{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"data\":{\"a\":\"1\"},\"binaryData\":{\"b\":\"YQ==\"}}";
	static const struct invalid_row rows[] = {
		{old, NULL, NULL},
		{"{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"data\":{\"a\":\"1\"},\"binaryData\":{\"b\":\"YR==\\n\"}}",
			NULL, NULL},
		{"{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"data\":{\"a\":\"2\"},\"binaryData\":{\"b\":\"YQ==\"}}",
			"data", IMMUTABLE_DETAIL},
		{"{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"data\":{\"a\":\"1\"}}", "binaryData", IMMUTABLE_DETAIL},
		{"{\"metadata\":{\"name\":\"a\"},\"immutable\":false,\"data\":{\"a\":\"1\"},\"binaryData\":{\"b\":\"YQ==\"}}",
			"immutable", IMMUTABLE_DETAIL},
		{"{\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":\"1\"},\"binaryData\":{\"b\":\"YQ==\"}}", "immutable",
			IMMUTABLE_DETAIL},
	};
	assert_update_rows(*state, CM, old, rows, ARRAY_SIZE(rows));
}

static void test_configmap__may_become_immutable(void **state)
{
	static const struct invalid_row rows[] = {
		{"{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"data\":{\"a\":\"2\"}}", NULL, NULL},
		{"{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"data\":{\"..\":\"2\"}}", "data[..]", "must not be '..'"},
	};
	assert_update_rows(*state, CM, "{\"metadata\":{\"name\":\"a\"},\"immutable\":false,\"data\":{\"a\":\"1\"}}", rows,
		ARRAY_SIZE(rows));
}

static void test_configmap__bytes_are_written_as_go_writes_them(void **state)
{
	struct api_world *w = *state;
	world_assert_json(w, world_decode(w, CM, "{\"binaryData\":{\"a\":\"YR==\\n\",\"b\":null,\"c\":\"\"}}")->fields,
		"{\"binaryData\":{\"a\":\"YQ==\",\"b\":\"\",\"c\":\"\"}}");
}

static void test_configmap__column_counts_what_it_holds(void **state)
{
	struct api_world *w = *state;
	assert_cell(world_decode(w, CM, "{}"), "Data", "0");
	assert_cell(world_decode(w, CM, "{\"data\":{\"a\":\"\",\"b\":\"\"},\"binaryData\":{\"c\":\"\"}}"), "Data", "3");
}

static void test_secret__texts_become_bytes(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *sent, *kept;
	} rows[] = {
		{"{}", "{\"type\":\"Opaque\"}"},
		{"{\"type\":\"x\",\"immutable\":true}", "{\"immutable\":true,\"type\":\"x\"}"},
		{"{\"stringData\":{\"b\":\"1\"}}", "{\"data\":{\"b\":\"MQ==\"},\"type\":\"Opaque\"}"},
		{"{\"data\":{\"a\":\"MQ==\",\"c\":\"Mg==\",\"e\":\"\"},\"stringData\":{\"b\":\"1\",\"c\":\"\",\"d\":\"3\"}}",
			"{\"data\":{\"a\":\"MQ==\",\"b\":\"MQ==\",\"c\":\"\",\"d\":\"Mw==\",\"e\":\"\"},\"type\":\"Opaque\"}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_string_equal(world_print(w, world_decode(w, SECRET, rows[i].sent)->fields), rows[i].kept);
	}
}

static void test_secret__types_demand_names(void **state)
{
#define OF_TYPE(type, data) "{\"type\":\"kubernetes.io/" type "\",\"data\":{" data "}}"
	static const struct invalid_row rows[] = {
		{"{\"data\":{\"a b\":\"\"}}", "data[a b]", KEY_DETAIL},
		{"{\"type\":\"any\"}", NULL, NULL},
		{OF_TYPE("service-account-token", ""), "metadata.annotations[kubernetes.io/service-account.name]", ""},
		{"{\"type\":\"kubernetes.io/service-account-token\",\"metadata\":{\"annotations\":{\"kubernetes.io/"
		 "service-account.name\":"
		 "\"x\"}}}",
			NULL, NULL},
		{OF_TYPE("dockercfg", ""), "data[.dockercfg]", ""},
		{OF_TYPE("dockercfg", "\".dockercfg\":\"e30=\""), NULL, NULL},
		{OF_TYPE("dockercfg", "\".dockercfg\":\"bnVsbA==\""), NULL, NULL},
		{OF_TYPE("dockerconfigjson", "\".dockerconfigjson\":\"e30=\""), NULL, NULL},
		{OF_TYPE("dockerconfigjson", "\".dockerconfigjson\":\"\""), "data[.dockerconfigjson]",
			"unexpected end of JSON input"},
		{OF_TYPE("dockerconfigjson", "\".dockerconfigjson\":\"W10=\""), "data[.dockerconfigjson]",
			"json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{OF_TYPE("basic-auth", "\"username\":\"\""), NULL, NULL},
		{OF_TYPE("basic-auth", "\"password\":\"\""), NULL, NULL},
		{OF_TYPE("ssh-auth", "\"ssh-privatekey\":\"eA==\""), NULL, NULL},
		{OF_TYPE("ssh-auth", "\"ssh-privatekey\":\"\""), "data[ssh-privatekey]", ""},
		{OF_TYPE("tls", "\"tls.crt\":\"\",\"tls.key\":\"\""), NULL, NULL},
		{OF_TYPE("tls", "\"tls.crt\":\"\""), "data[tls.key]", ""},
		{OF_TYPE("tls", "\"tls.key\":\"\""), "data[tls.crt]", ""},
	};
	assert_rows(*state, SECRET, rows, ARRAY_SIZE(rows));
	assert_int_equal(errors_of(*state, world_decode(*state, SECRET, OF_TYPE("basic-auth", "")), NULL).n, 2);
	assert_int_equal(errors_of(*state, world_decode(*state, SECRET, OF_TYPE("tls", "")), NULL).n, 2);
}

static void test_secret__type_and_immutable_data_stay(void **state)
{
#define OLD "{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"data\":{\"a\":\"MQ==\"},\"type\":\"x\"}"
	static const struct invalid_row rows[] = {
		{OLD, NULL, NULL},
		{"{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"stringData\":{\"a\":\"1\"},\"type\":\"x\"}", NULL, NULL},
		{"{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"stringData\":{\"a\":\"2\"},\"type\":\"x\"}", "data",
			IMMUTABLE_DETAIL},
		{"{\"metadata\":{\"name\":\"a\"},\"stringData\":{\"a\":\"1\"},\"type\":\"x\"}", "immutable", IMMUTABLE_DETAIL},
		{"{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"stringData\":{\"a\":\"1\"}}", "type",
			"field is immutable"},
	};
	assert_update_rows(*state, SECRET, OLD, rows, ARRAY_SIZE(rows));
}

static void test_secret__is_found_by_type(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, SECRET, "{\"type\":\"x\",\"stringData\":{\"a\":\"\"}}");
	assert_selects(w, o, "type", "x");
	assert_cell(o, "Type", "\"x\"");
	assert_cell(o, "Data", "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_configmap__keys),
		API_TEST(test_configmap__is_at_most_a_mebibyte),
		API_TEST(test_configmap__stays_immutable_with_what_it_holds),
		API_TEST(test_configmap__may_become_immutable),
		API_TEST(test_configmap__bytes_are_written_as_go_writes_them),
		API_TEST(test_configmap__column_counts_what_it_holds),
		API_TEST(test_secret__texts_become_bytes),
		API_TEST(test_secret__types_demand_names),
		API_TEST(test_secret__type_and_immutable_data_stay),
		API_TEST(test_secret__is_found_by_type),
	};
	return cmocka_run_group_tests_name("kinds_data", tests, NULL, NULL);
}
