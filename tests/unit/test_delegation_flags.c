#include "cli/run/server_flags.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

struct scene {
	struct delegation_flags flags;
	struct buf err;
};

static int check(struct scene *s, bool is_standalone, const char *argument)
{
	char name[] = "annals", *argv[] = {name, (char *)(uintptr_t)argument};
	struct option options[DELEGATION_FLAGS_MAX + 1] = {{.name = NULL}};
	int n_positional;
	delegation_flags_init(&s->flags);
	delegation_flags_rows(&s->flags, options);
	buf_init(&s->err, 1024);
	int r = options_parse(options, argument ? 2 : 1, argv, &n_positional, &s->err);
	return r ? r : delegation_flags_check(&s->flags, is_standalone, &s->err);
}

static void done(struct scene *s)
{
	delegation_flags_done(&s->flags);
	buf_done(&s->err);
}

static void assert_paths(const char *argument, const char *expected)
{
	struct scene s;
	struct buf paths;
	buf_init(&paths, 1024);
	assert_int_equal(check(&s, false, argument), 0);
	for (size_t i = 0; s.flags.always_allow_paths[i]; i++) {
		buf_printf(&paths, "%s ", s.flags.always_allow_paths[i]);
	}
	assert_str(buf_str(&paths), expected);
	buf_done(&paths);
	done(&s);
}

static void test_delegation_flags__defaults_are_upstreams(void **state _unused_)
{
	struct scene s;
	assert_int_equal(check(&s, false, NULL), 0);
	assert_int_equal(s.flags.token_ttl_ms, 10000);
	assert_int_equal(s.flags.allowed_ttl_ms, 10000);
	assert_int_equal(s.flags.not_allowed_ttl_ms, 10000);
	done(&s);
	assert_paths(NULL, "/healthz /readyz /livez ");
}

static void test_delegation_flags__paths_replace_the_default(void **state _unused_)
{
	assert_paths("--authorization-always-allow-paths=/healthz,livez/*,*", "/healthz /livez/* /* ");
	assert_paths("--authorization-always-allow-paths=", "");
}

static void assert_refused(bool is_standalone, const char *argument, const char *why)
{
	struct scene s;
	assert_true(check(&s, is_standalone, argument) < 0);
	assert_true(str_contains(buf_str(&s.err), str_of(why)));
	done(&s);
}

static void test_delegation_flags__what_makes_no_sense_is_refused(void **state _unused_)
{
	struct scene s;
	assert_refused(false, "--authorization-always-allow-paths=/a*b", "only trailing * allowed in \"/a*b\"");
	assert_refused(false, "--authentication-token-webhook-cache-ttl=soon", "soon");
	assert_refused(true, "--authentication-token-webhook-cache-ttl=1s", "--standalone asks no kube-apiserver");
	assert_refused(true, "--authorization-kubeconfig=x", "--standalone asks no kube-apiserver");
	assert_int_equal(check(&s, true, NULL), 0);
	done(&s);
}

/* ---- files ---- */

static void write_kubeconfig(char *path, const char *server)
{
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	fprintf(f,
		"clusters: [{name: c, cluster: {server: \"%s\"}}]\nusers: [{name: u, user: {token: t}}]\n"
		"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n",
		server);
	fclose(f);
}

static void test_delegation_flags__other_files_lead_elsewhere(void **state _unused_)
{
	char core[] = "/tmp/annals-core-XXXXXX", other[] = "/tmp/annals-other-XXXXXX";
	struct scene s;
	struct delegation_configs configs;
	struct delegation_options options;
	write_kubeconfig(core, "https://core");
	write_kubeconfig(other, "https://other");
	assert_int_equal(check(&s, false, NULL), 0);
	s.flags.authentication_kubeconfig = core;
	s.flags.authorization_kubeconfig = other;
	assert_int_equal(delegation_flags_load(&s.flags, core, &configs, &options, &s.err), 0);
	assert_string_equal(options.core->server, "https://core");
	assert_null(options.tokens); /* the same file: the same client */
	assert_string_equal(options.access->server, "https://other");
	delegation_configs_done(&configs);

	unlink(other);
	assert_true(delegation_flags_load(&s.flags, core, &configs, &options, &s.err) < 0);
	assert_true(str_contains(buf_str(&s.err), str_of(other)));
	delegation_configs_done(&configs);
	unlink(core);
	done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_delegation_flags__defaults_are_upstreams),
		TEST(test_delegation_flags__paths_replace_the_default),
		TEST(test_delegation_flags__what_makes_no_sense_is_refused),
		TEST(test_delegation_flags__other_files_lead_elsewhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
