#include "delegation/cluster_trust.h"
#include "tests/unit/check.h"

#define GOOD                                           \
	"\"client-ca-file\":\"USERS\","                \
	"\"requestheader-client-ca-file\":\"FRONTS\"," \
	"\"requestheader-username-headers\":\"[\\\"U\\\"]\""

/* Of the ConfigMap's data; NULL: there is no ConfigMap. */
struct scene {
	struct arena arena;
	struct buf problems;
	struct trust trust;
};

static void read_data(struct scene *s, const char *data)
{
	struct json *config_map = NULL;
	size_t at;
	*s = (struct scene){.trust = {.n_front_names = 0}};
	arena_init(&s->arena, 1 << 20);
	buf_init(&s->problems, 4096);
	if (data) {
		struct str text = arena_printf(&s->arena, "{\"data\":{%s}}", data);
		assert_int_equal(json_parse(&config_map, &s->arena, text, JSON_LIMITS_DEFAULT, &at), 0);
	}
	trust_read_users(&s->trust, config_map, &s->problems);
	trust_read_fronts(&s->trust, config_map, &s->arena, &s->problems);
}

static void scene_done(struct scene *s)
{
	buf_done(&s->problems);
	arena_done(&s->arena);
}

static void assert_list(const struct str *list, size_t n, const char *expected)
{
	struct buf text;
	buf_init(&text, 4096);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&text, "%s" STR_FMT, i ? " " : "", STR_ARG(list[i]));
	}
	assert_str(buf_str(&text), expected);
	buf_done(&text);
}

static void test_trust_read__all_is_read(void **state _unused_)
{
	struct scene s;
	read_data(&s,
		"\"client-ca-file\":\"USERS\",\"requestheader-client-ca-file\":\"FRONTS\","
		"\"requestheader-allowed-names\":\"[\\\"front\\\", \\\"\\\"]\","
		"\"requestheader-username-headers\":\"[\\\"X-Remote-User\\\",\\\"X-User\\\"]\","
		"\"requestheader-uid-headers\":\"[\\\"X-Remote-Uid\\\"]\","
		"\"requestheader-group-headers\":\"[\\\"X-Remote-Group\\\"]\","
		"\"requestheader-extra-headers-prefix\":\"[\\\"X-Remote-Extra-\\\"]\"");
	assert_str(buf_str(&s.problems), "");
	assert_str(s.trust.client_ca, "USERS");
	assert_str(s.trust.front_ca, "FRONTS");
	assert_int_equal(s.trust.n_front_names, 2);
	assert_list(s.trust.front_names, s.trust.n_front_names, "front ");
	assert_list(s.trust.user_headers, s.trust.n_user_headers, "X-Remote-User X-User");
	assert_list(s.trust.uid_headers, s.trust.n_uid_headers, "X-Remote-Uid");
	assert_list(s.trust.group_headers, s.trust.n_group_headers, "X-Remote-Group");
	assert_list(s.trust.extra_prefixes, s.trust.n_extra_prefixes, "X-Remote-Extra-");
	scene_done(&s);
}

static void test_trust_read__lists_may_be_absent_empty_or_null(void **state _unused_)
{
	static const char *const lists[] = {"", ",\"requestheader-allowed-names\":\"\"",
		",\"requestheader-allowed-names\":\"[]\"", ",\"requestheader-allowed-names\":\"null\""};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct scene s;
		char data[512];
		snprintf(data, sizeof(data), "%s%s", GOOD, lists[i]);
		read_data(&s, data);
		assert_str(buf_str(&s.problems), "");
		assert_str(s.trust.front_ca, "FRONTS");
		assert_int_equal(s.trust.n_front_names, 0);
		assert_int_equal(s.trust.n_group_headers, 0);
		scene_done(&s);
	}
}

/* A list of names that cannot be read must not become "any". */
static void test_trust_read__garbage_believes_no_front_proxy(void **state _unused_)
{
	static const struct {
		const char *more, *problem;
	} rows[] = {
		{"\"requestheader-allowed-names\":\"[\\\"front\\\"\"", "requestheader-allowed-names is no list of strings"},
		{"\"requestheader-allowed-names\":\"front\"", "requestheader-allowed-names is no list of strings"},
		{"\"requestheader-allowed-names\":\"{}\"", "requestheader-allowed-names is no list of strings"},
		{"\"requestheader-allowed-names\":\"[1]\"", "requestheader-allowed-names is no list of strings"},
		{"\"requestheader-allowed-names\":\"[[]]\"", "requestheader-allowed-names is no list of strings"},
		{"\"requestheader-allowed-names\":\"[[[]]]\"", "requestheader-allowed-names is no list of strings"},
		{"\"requestheader-username-headers\":\"[]\"", "requestheader-username-headers is missing"},
		{"\"requestheader-username-headers\":\"[\\\" \\\"]\"",
			"requestheader-username-headers has an empty name in it"},
		{"\"requestheader-extra-headers-prefix\":\"[\\\"\\\"]\"",
			"requestheader-extra-headers-prefix has an empty name in it"},
		{"\"requestheader-uid-headers\":\"[\",\"requestheader-group-headers\":\"[\"",
			"requestheader-uid-headers is no list of strings; requestheader-group-headers is no list of strings"},
		{"\"requestheader-client-ca-file\":\"\"", "requestheader-client-ca-file is missing"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene s;
		char data[512];
		snprintf(data, sizeof(data), "%s,%s", GOOD, rows[i].more);
		read_data(&s, data);
		assert_str(buf_str(&s.problems), rows[i].problem);
		assert_str(s.trust.client_ca, "USERS");
		assert_str(s.trust.front_ca, "");
		assert_int_equal(s.trust.n_user_headers, 0);
		scene_done(&s);
	}
}

static void test_trust_read__lists_have_a_ceiling(void **state _unused_)
{
	for (size_t n = 256; n <= 257; n++) {
		struct scene s;
		struct buf data;
		buf_init(&data, 1 << 16);
		buf_adds(&data, GOOD ",\"requestheader-allowed-names\":\"[\\\"a\\\"");
		for (size_t i = 1; i < n; i++) {
			buf_adds(&data, ",\\\"a\\\"");
		}
		buf_adds(&data, "]\"");
		read_data(&s, data.p);
		assert_str(buf_str(&s.problems), n > 256 ? "requestheader-allowed-names has too many names" : "");
		assert_int_equal(s.trust.n_front_names, n > 256 ? 0 : n);
		assert_str(s.trust.front_ca, n > 256 ? "" : "FRONTS");
		buf_done(&data);
		scene_done(&s);
	}
}

static void test_trust_read__long_names_are_refused(void **state _unused_)
{
	struct scene s;
	char data[4096];
	snprintf(data, sizeof(data), GOOD ",\"requestheader-group-headers\":\"[\\\"%01025d\\\"]\"", 0);
	read_data(&s, data);
	assert_str(buf_str(&s.problems), "requestheader-group-headers has too long a name in it");
	assert_str(s.trust.front_ca, "");
	scene_done(&s);
}

static void test_trust_read__without_cas_nobody_is_believed(void **state _unused_)
{
	struct scene s;
	read_data(&s, "\"requestheader-username-headers\":\"[\\\"U\\\"]\"");
	assert_str(buf_str(&s.problems), "client-ca-file is missing; requestheader-client-ca-file is missing");
	assert_str(s.trust.client_ca, "");
	assert_str(s.trust.front_ca, "");
	scene_done(&s);
	read_data(&s, NULL);
	assert_str(buf_str(&s.problems), "");
	assert_str(s.trust.client_ca, "");
	assert_str(s.trust.front_ca, "");
	scene_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_trust_read__all_is_read),
		TEST(test_trust_read__lists_may_be_absent_empty_or_null),
		TEST(test_trust_read__garbage_believes_no_front_proxy),
		TEST(test_trust_read__lists_have_a_ceiling),
		TEST(test_trust_read__long_names_are_refused),
		TEST(test_trust_read__without_cas_nobody_is_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
