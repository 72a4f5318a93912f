#include "cli/run/server_flags.h"
#include "tests/unit/check.h"

/* The flags after a command line, and the sentence when it was refused. */
struct scene {
	struct server_flags flags;
	struct buf err;
};

static int check(struct scene *s, const char *arguments)
{
	char text[512], *argv[16] = {(char[]){"annals"}}, *rest = text;
	struct option options[SERVER_FLAGS_MAX + 1] = {{.name = NULL}};
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
	server_flags_init(&s->flags);
	server_flags_rows(&s->flags, options);
	buf_init(&s->err, 1024);
	int r = options_parse(options, argc, argv, &n_positional, &s->err);
	return r ? r : server_flags_check(&s->flags, &s->err);
}

static void done(struct scene *s)
{
	server_flags_done(&s->flags);
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
	assert_refused("--feature-gates=Other=true", "--feature-gates Other: the feature gates are StorageVersionHash, MaxUnavailableStatefulSet");
	assert_refused(
		"--feature-gates=StorageVersionHash", "--feature-gates StorageVersionHash: must be NAME=true or NAME=false");
	assert_refused("--feature-gates=StorageVersionHash=1",
		"--feature-gates StorageVersionHash=1: must be NAME=true or NAME=false");
}

static const struct version *stored_in(const struct scene *s, const char *group, const char *resource)
{
	return s->flags.storage_versions.versions[kind_by_hub(str_of(group), str_of(resource))->index];
}

static void assert_version(const struct version *v, const char *group, const char *version)
{
	assert_string_equal(v->group, group);
	assert_string_equal(v->name, version);
}

static void test_flags__storage_version_names_a_version_of_a_resource(void **state _unused_)
{
	struct scene s;
	assert_int_equal(check(&s, ""), 0);
	assert_version(stored_in(&s, "annals.dev", "dependents"), "annals.dev", "v1");
	assert_version(stored_in(&s, "", "events"), "", "v1");
	done(&s);
	assert_int_equal(check(&s,
				 "--storage-version=dependents=v1beta1,events=events.k8s.io/v1 --storage-version "
				 "providers.annals.dev=v1beta1"),
		0);
	assert_version(stored_in(&s, "annals.dev", "dependents"), "annals.dev", "v1beta1");
	assert_version(stored_in(&s, "", "events"), "events.k8s.io", "v1");
	assert_version(stored_in(&s, "annals.dev", "providers"), "annals.dev", "v1beta1");
	assert_version(stored_in(&s, "annals.dev", "controllerrevisions"), "annals.dev", "v1");
	done(&s);
}

static void test_flags__the_last_storage_version_of_a_resource_holds(void **state _unused_)
{
	struct scene s;
	assert_int_equal(check(&s, "--storage-version=dependents=v1beta1 --storage-version=dependents=v1"), 0);
	assert_version(stored_in(&s, "annals.dev", "dependents"), "annals.dev", "v1");
	done(&s);
}

static void test_flags__unknown_storage_versions_are_refused(void **state _unused_)
{
	assert_refused("--storage-version=dependents=v2",
		"--storage-version dependents=v2: dependents has no such version; it has annals.dev/v1, annals.dev/v1beta1");
	assert_refused("--storage-version=dependants=v1", "--storage-version dependants: there is no such resource");
	assert_refused("--storage-version=dependents.apps=v1", "--storage-version dependents.apps: there is no such resource");
	assert_refused("--storage-version=tokenreviews=v1", "--storage-version tokenreviews: there is no such resource");
	assert_refused("--storage-version=dependents", "--storage-version dependents: must be RESOURCE=VERSION");
	assert_refused(
		"--storage-version=providers=v1beta1,dependents=", "--storage-version dependents=: must be RESOURCE=VERSION");
}

static void test_flags__storage_migration_has_three_modes(void **state _unused_)
{
	static const char *const modes[] = {"Auto", "Manual", "Off"};
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct scene s;
		char argument[64];
		snprintf(argument, sizeof(argument), "--storage-migration=%s --storage-migration-rate=0", modes[i]);
		assert_int_equal(check(&s, argument), 0);
		assert_int_equal(s.flags.storage_migration, i);
		assert_int_equal(s.flags.storage_migration_rate, 0);
		done(&s);
	}
	assert_refused("--storage-migration=auto", "--storage-migration auto: must be Auto, Manual or Off");
	assert_refused("--storage-migration-rate=-1",
		"invalid argument \"-1\" for \"--storage-migration-rate\" flag: must be at least 0 and at most 1000000");
}

static void test_flags__replica_lease_is_whole_seconds(void **state _unused_)
{
	struct scene s;
	assert_int_equal(check(&s, ""), 0);
	assert_int_equal(s.flags.replica_lease_ms, 10000);
	done(&s);
	assert_int_equal(check(&s, "--replica-lease-duration=2s"), 0);
	done(&s);
	assert_refused(
		"--replica-lease-duration=2500ms", "--replica-lease-duration: must be whole seconds, as leases of etcd are");
	assert_true(check(&s, "--replica-lease-duration=1s") < 0);
	done(&s);
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
		TEST(test_flags__storage_version_names_a_version_of_a_resource),
		TEST(test_flags__the_last_storage_version_of_a_resource_holds),
		TEST(test_flags__unknown_storage_versions_are_refused),
		TEST(test_flags__storage_migration_has_three_modes),
		TEST(test_flags__replica_lease_is_whole_seconds),
		TEST(test_flags__authorization_mode_and_policy_go_together),
		TEST(test_flags__logging_format_is_text_or_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
