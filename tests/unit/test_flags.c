#include "cli/command.h"
#include "tests/unit/check.h"

/* The flags after a command line, and the sentence when it was refused. */
struct scene {
	struct common_flags flags;
	struct buf err;
};

static int check(struct scene *s, const char *arguments)
{
	char text[512], *argv[16] = {(char[]){"annals"}}, *rest = text;
	struct option options[COMMON_FLAGS_MAX + 1] = {{.name = NULL}};
	int argc = 1, n_positional;
	snprintf(text, sizeof(text), "%s", arguments);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		argv[argc++] = word;
	}

	static char kept[sizeof(text)]; /* flags point into argv */
	memcpy(kept, text, sizeof(text));
	for (int i = 1; i < argc; i++) {
		argv[i] = kept + (argv[i] - text);
	}
	common_flags_init(&s->flags);
	common_flags_rows(&s->flags, options);
	buf_init(&s->err, 1024);
	int r = options_parse(options, argc, argv, &n_positional, &s->err);
	return r ? r : common_flags_check(&s->flags, &s->err);
}

static void done(struct scene *s)
{
	common_flags_done(&s->flags);
	buf_done(&s->err);
}

static void assert_refused(const char *arguments, const char *why)
{
	struct scene s;
	assert_true(check(&s, arguments) < 0);
	assert_str(buf_str(&s.err), why);
	done(&s);
}

static void test_flags__defaults_are_kubes(void **state _unused_)
{
	struct scene s;
	assert_int_equal(check(&s, ""), 0);
	assert_true(s.flags.anonymous_auth && s.flags.storage_version_hash && !s.flags.always_allow);
	assert_int_equal(s.flags.max_requests_inflight, 400);
	assert_int_equal(s.flags.max_mutating_requests_inflight, 200);
	assert_int_equal(s.flags.request_timeout_ms, 60000);
	assert_int_equal(s.flags.etcd_compaction_interval_ms, 300000);
	done(&s);
}

static void test_flags__feature_gate_turns_the_hash_off(void **state _unused_)
{
	struct scene s;
	assert_int_equal(check(&s, "--feature-gates=StorageVersionHash=false"), 0);
	assert_false(s.flags.storage_version_hash);
	done(&s);
	assert_int_equal(check(&s, "--feature-gates StorageVersionHash=false,StorageVersionHash=true"), 0);
	assert_true(s.flags.storage_version_hash);
	done(&s);
}

static void test_flags__unknown_gates_and_values_are_refused(void **state _unused_)
{
	assert_refused("--feature-gates=Other=true", "--feature-gates Other: the only feature gate is StorageVersionHash");
	assert_refused(
		"--feature-gates=StorageVersionHash", "--feature-gates StorageVersionHash: must be NAME=true or NAME=false");
	assert_refused("--feature-gates=StorageVersionHash=1",
		"--feature-gates StorageVersionHash=1: must be NAME=true or NAME=false");
}

static void test_flags__authorization_mode_and_policy_go_together(void **state _unused_)
{
	struct scene s;
	assert_int_equal(check(&s, "--authorization-policy-file p"), 0);
	done(&s);
	assert_int_equal(check(&s, "--authorization-mode=AlwaysAllow"), 0);
	assert_true(s.flags.always_allow);
	done(&s);
	assert_refused("--authorization-mode=ABAC", "--authorization-mode ABAC needs --authorization-policy-file");
	assert_refused(
		"--authorization-mode=RBAC", "--authorization-mode RBAC: a stand-alone server knows ABAC and AlwaysAllow");
	assert_refused("--authorization-mode=AlwaysAllow --authorization-policy-file=p",
		"--authorization-mode AlwaysAllow makes --authorization-policy-file pointless: give one of them");
}

static void test_flags__logging_format_is_text_or_json(void **state _unused_)
{
	struct scene s;
	assert_int_equal(check(&s, "--logging-format=json"), 0);
	assert_int_equal(s.flags.log_format, LOG_JSON);
	done(&s);
	assert_refused("--logging-format=xml", "--logging-format xml: must be text or json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_flags__defaults_are_kubes),
		TEST(test_flags__feature_gate_turns_the_hash_off),
		TEST(test_flags__unknown_gates_and_values_are_refused),
		TEST(test_flags__authorization_mode_and_policy_go_together),
		TEST(test_flags__logging_format_is_text_or_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
