#include "cli/run/server_flags.h"
#include "tests/unit/check.h"

/* What these flags lead to; expected_error NULL: none. */
static void read_flags(struct trust_flags *f, bool is_standalone, const char *const *arguments, const char *expected_error)
{
	struct option rows[TRUST_FLAGS_MAX + 1] = {0};
	const char *argv[16] = {"annals"};
	int n_positional, argc = 1;
	struct buf err;
	buf_init(&err, 4096);
	*f = (struct trust_flags){0};
	trust_flags_rows(f, rows);
	for (; arguments[argc - 1]; argc++) {
		argv[argc] = arguments[argc - 1];
	}
	assert_int_equal(options_parse(rows, argc, (char **)(uintptr_t)argv, &n_positional, &err), 0);
	int r = trust_flags_check(f, is_standalone, &err);
	assert_int_equal(r < 0, expected_error != NULL);
	assert_str(buf_str(&err), expected_error ? expected_error : "");
	buf_done(&err);
}

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_ARGUMENTS ((const char *const[]){NULL})

static void assert_one(const struct str *list, size_t n, const char *expected)
{
	assert_int_equal(n, 1);
	assert_str(list[0], expected);
}

static void test_trust_flags__defaults_are_upstreams(void **state _unused_)
{
	struct trust_flags f;
	read_flags(&f, false, NO_ARGUMENTS, NULL);
	assert_null(f.front_ca_file);
	assert_false(f.skips_lookup || f.tolerates_failure);
	assert_int_equal(f.front.n_front_names, 0);
	assert_int_equal(f.front.n_uid_headers, 0);
	assert_one(f.front.user_headers, f.front.n_user_headers, "x-remote-user");
	assert_one(f.front.group_headers, f.front.n_group_headers, "x-remote-group");
	assert_one(f.front.extra_prefixes, f.front.n_extra_prefixes, "x-remote-extra-");
	trust_flags_done(&f);
}

static void test_trust_flags__lists_take_the_place_of_defaults(void **state _unused_)
{
	struct trust_flags f;
	read_flags(&f, true,
		ARGUMENTS("--requestheader-client-ca-file=ca", "--requestheader-allowed-names=a,b", "--requestheader-allowed-names=c",
			"--requestheader-username-headers=X-User", "--requestheader-uid-headers=X-Uid",
			"--requestheader-group-headers=", "--requestheader-extra-headers-prefix=X-1-,X-2-"),
		NULL);
	assert_string_equal(f.front_ca_file, "ca");
	assert_int_equal(f.front.n_front_names, 3);
	assert_str(f.front.front_names[2], "c");
	assert_one(f.front.user_headers, f.front.n_user_headers, "X-User");
	assert_one(f.front.uid_headers, f.front.n_uid_headers, "X-Uid");
	assert_int_equal(f.front.n_group_headers, 0);
	assert_int_equal(f.front.n_extra_prefixes, 2);
	trust_flags_done(&f);
}

static void test_trust_flags__what_cannot_be_meant_is_refused(void **state _unused_)
{
	static const struct {
		bool is_standalone;
		const char *const arguments[3];
		const char *error;
	} rows[] = {
		{false, {"--requestheader-extra-headers-prefix=a,,b"},
			"--requestheader-extra-headers-prefix: there is an empty name among them"},
		{false, {"--requestheader-client-ca-file=ca", "--requestheader-username-headers="},
			"--requestheader-username-headers: there must be one, or nobody could be named"},
		{true, {"--authentication-skip-lookup"},
			"--standalone asks no kube-apiserver: --authentication-skip-lookup and "
			"--authentication-tolerate-lookup-failure do not go with it"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trust_flags f;
		read_flags(&f, rows[i].is_standalone, rows[i].arguments, rows[i].error);
		trust_flags_done(&f);
	}
}

static void test_trust_flags__what_is_hardly_meant_is_told(void **state _unused_)
{
	static const struct {
		const char *const arguments[4];
		const char *warning;
	} rows[] = {
		{{"--requestheader-client-ca-file=ca", "--requestheader-username-headers=x-remote-user,X-User"}, ""},
		{{"--requestheader-client-ca-file=ca", "--requestheader-group-headers=X-Group", "--requestheader-uid-headers=X-Uid"},
			"--requestheader-uid-headers lacks X-Remote-Uid, which kube-apiserver sends; "
			"--requestheader-group-headers lacks X-Remote-Group, which kube-apiserver sends"},
		{{"--requestheader-allowed-names=front"},
			"--requestheader-allowed-names and the flags of headers say nothing without --requestheader-client-ca-file"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trust_flags f;
		struct buf text;
		buf_init(&text, 4096);
		read_flags(&f, true, rows[i].arguments, NULL);
		trust_flags_warn(&f, &text);
		assert_str(buf_str(&text), rows[i].warning);
		buf_done(&text);
		trust_flags_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_trust_flags__defaults_are_upstreams),
		TEST(test_trust_flags__lists_take_the_place_of_defaults),
		TEST(test_trust_flags__what_cannot_be_meant_is_refused),
		TEST(test_trust_flags__what_is_hardly_meant_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
