#include "base/file.h"
#include "client/config.h"
#include "client/credentials.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define KUBECONFIG(cluster, user)                                         \
	"apiVersion: v1\nkind: Config\ncurrent-context: here\n"           \
	"contexts:\n"                                                     \
	"- {name: there, context: {cluster: b, user: v}}\n"               \
	"- {name: here, context: {cluster: a, user: u, namespace: ns}}\n" \
	"clusters:\n"                                                     \
	"- {name: a, cluster: {" cluster "}}\n"                           \
	"- {name: b, cluster: {server: \"https://b\"}}\n"                 \
	"users:\n"                                                        \
	"- {name: u, user: {" user "}}\n"                                 \
	"- {name: v, user: {token: vv}}\n"

static int parse(struct client_config *c, const char *text, const char *context, struct buf *err)
{
	buf_init(err, 4096);
	return client_config_parse(c, str_of(text), "/nowhere", context, err);
}

static void test_config__current_context_says_who_and_where(void **state _unused_)
{
	struct client_config c;
	struct buf err;
	assert_int_equal(parse(&c,
				 KUBECONFIG("server: \"https://h:1/\", certificate-authority-data: Y2E=",
					 "client-certificate-data: Y2VydA==, client-key-data: a2V5"),
				 NULL, &err),
		0);
	assert_string_equal(c.server, "https://h:1");
	assert_string_equal(c.ca, "ca");
	assert_string_equal(c.cert, "cert");
	assert_string_equal(c.key, "key");
	assert_string_equal(c.namespace, "ns");
	assert_null(c.token);
	assert_false(c.is_insecure);
	client_config_done(&c);
	buf_done(&err);
}

static void test_config__other_context_can_be_named(void **state _unused_)
{
	struct client_config c;
	struct buf err;
	assert_int_equal(parse(&c, KUBECONFIG("server: \"https://a\"", "token: uu"), "there", &err), 0);
	assert_string_equal(c.server, "https://b");
	assert_string_equal(c.token, "vv");
	assert_null(c.namespace);
	client_config_done(&c);
	buf_done(&err);
}

static void test_config__what_cannot_be_done_is_refused(void **state _unused_)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{KUBECONFIG("server: \"https://a\"", "exec: {command: x}"), "exec of the user is not supported"},
		{KUBECONFIG("server: \"https://a\"", "username: x, password: y"), "username of the user is not supported"},
		{KUBECONFIG("server: \"https://a\", proxy-url: x", ""), "proxy-url of the cluster is not supported"},
		{KUBECONFIG("certificate-authority-data: Y2E=", ""), "cluster \"a\" has no server"},
		{KUBECONFIG("server: \"https://a\"", "client-key-data: a2V5"),
			"client-certificate and client-key of user \"u\" go together"},
		{KUBECONFIG("server: \"https://a\", certificate-authority-data: \"?\"", ""),
			"certificate-authority-data is not base64"},
		{KUBECONFIG("server: \"https://a\", certificate-authority: ca.crt", ""),
			"cannot read /nowhere/ca.crt: No such file or directory"},
		{"a: [", "yaml: line 1: did not find expected node content"},
		{"{}", "no current-context is set"},
		{"current-context: x", "there is no context \"x\""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct client_config c;
		struct buf err;
		assert_true(parse(&c, cases[i].text, NULL, &err) < 0);
		assert_str(buf_str(&err), cases[i].why);
		buf_done(&err);
	}
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char *path = mem_printf("%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(file_write(fd, str_of(text)), 0);
	close(fd);
	mem_free(path);
}

static void remove_file(const char *folder, const char *name)
{
	char *path = mem_printf("%s/%s", folder, name);
	unlink(path);
	mem_free(path);
}

static void test_config_load__files_are_relative_to_the_kubeconfig(void **state _unused_)
{
	char folder[] = "/tmp/test_client_config.XXXXXX";
	struct client_config c;
	struct buf err;
	buf_init(&err, 4096);
	assert_non_null(mkdtemp(folder));
	write_file(folder, "ca.crt", "CA");
	write_file(folder, "config", KUBECONFIG("server: \"https://a\", certificate-authority: ca.crt", "tokenFile: t"));

	char *path = mem_printf("%s/config", folder), *token = mem_printf("%s/t", folder);
	assert_int_equal(client_config_load(&c, path, NULL, &err), 0);
	assert_string_equal(c.ca, "CA");
	assert_string_equal(c.token_file, token);

	client_config_done(&c);
	mem_free(token);
	mem_free(path);
	remove_file(folder, "config");
	remove_file(folder, "ca.crt");
	rmdir(folder);
	buf_done(&err);
}

/* Files of one folder, and an environment that says which of them count. */
struct found {
	char folder[40];
	struct client_config c;
	struct buf err;
	int result;
};

static void find(struct found *f, const char *home, const char *kubeconfig, const char *path, const char *context)
{
	char *list = mem_strdup(kubeconfig ? kubeconfig : ""), *at;
	struct buf full;
	buf_init(&full, 4096);
	for (char *each = list; each; each = at) {
		at = strchr(each, ':');
		if (at) {
			*at++ = '\0';
		}
		buf_printf(&full, "%s%s%s%s", each == list ? "" : ":", *each ? f->folder : "", *each ? "/" : "", each);
	}
	buf_addc(&full, '\0');
	char *file = path ? mem_printf("%s/%s", f->folder, path) : NULL, *dir = mem_printf("%s/%s", f->folder, home);
	setenv("HOME", dir, 1);
	if (kubeconfig) {
		setenv("KUBECONFIG", full.p, 1);
	} else {
		unsetenv("KUBECONFIG");
	}
	buf_clear(&f->err);
	f->result = client_config_find(&f->c, file, context, f->folder, &f->err);
	mem_free(dir);
	mem_free(file);
	mem_free(list);
	buf_done(&full);
}

static void assert_found(struct found *f, const char *server)
{
	assert_str(buf_str(&f->err), "");
	assert_int_equal(f->result, 0);
	assert_string_equal(f->c.server, server);
	client_config_done(&f->c);
}

static void assert_not_found(struct found *f, int result, const char *why)
{
	assert_int_equal(f->result, result);
	buf_addc(&f->err, '\0');
	assert_non_null(strstr(f->err.p, why));
}

static int set_up_found(void **state)
{
	struct found *f = mem_new(struct found);
	char *command;
	strcpy(f->folder, "/tmp/test_client_config.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	command = mem_printf("mkdir -p %s/home/.kube %s/empty %s/sub", f->folder, f->folder, f->folder);
	assert_int_equal(system(command), 0);
	mem_free(command);
	write_file(f->folder, "home/.kube/config", KUBECONFIG("server: \"https://home\"", "token: t"));
	write_file(f->folder, "a", KUBECONFIG("server: \"https://a\"", "token: t"));
	/* Of another file: contexts that a has, too, and one of its own. */
	write_file(f->folder, "sub/b",
		"current-context: other\n"
		"contexts:\n- {name: here, context: {cluster: c, user: u}}\n- {name: other, context: {cluster: c, user: u}}\n"
		"clusters:\n- {name: c, cluster: {server: \"https://c\", certificate-authority: ca.crt}}\n"
		"users:\n- {name: u, user: {token: of-b}}\n");
	write_file(f->folder, "sub/ca.crt", "CA of b");
	write_file(f->folder, "twice", "current-context: x\ncontexts:\n- {name: x, context: {}}\n- {name: x, context: {}}\n");
	write_file(f->folder, "nothing", "");
	write_file(f->folder, "broken", "a: [");
	buf_init(&f->err, 8192);
	unsetenv("KUBERNETES_SERVICE_HOST");
	*state = f;
	return 0;
}

static int tear_down_found(void **state)
{
	struct found *f = *state;
	char *command = mem_printf("rm -rf %s", f->folder);
	assert_int_equal(system(command), 0);
	mem_free(command);
	buf_done(&f->err);
	mem_free(f);
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBECONFIG");
	return 0;
}

static void test_config_find__one_file(void **state)
{
	struct found *f = *state;
	find(f, "home", NULL, NULL, NULL);
	assert_found(f, "https://home");
	find(f, "home", "", NULL, NULL); /* as if it were not set */
	assert_found(f, "https://home");
	find(f, "home", "a", NULL, NULL);
	assert_found(f, "https://a");
	find(f, "home", "a", "home/.kube/config", NULL); /* --kubeconfig */
	assert_found(f, "https://home");
	find(f, "home", "a", NULL, "there");
	assert_found(f, "https://b");
	find(f, "home", "a", NULL, "nowhere");
	assert_not_found(f, -EINVAL, "there is no context \"nowhere\"");
}

/* Never the file in the home directory instead: that may be another cluster. */
static void test_config_find__what_is_named_and_missing_is_not_replaced(void **state)
{
	struct found *f = *state;
	find(f, "home", "missing", NULL, NULL);
	assert_not_found(f, CLIENT_CONFIG_NONE, "$KUBECONFIG names no file that exists: ");
	find(f, "home", ":", NULL, NULL);
	assert_not_found(f, CLIENT_CONFIG_NONE, "$KUBECONFIG names no file that exists: :");
	find(f, "home", "a", "missing", NULL);
	assert_not_found(f, -ENOENT, "/missing: No such file or directory");
	find(f, "empty", NULL, NULL, NULL);
	assert_not_found(f, CLIENT_CONFIG_NONE, "there is no ");
	find(f, "home", "nothing", NULL, NULL);
	assert_not_found(f, CLIENT_CONFIG_NONE, "no current-context is set");
}

static void test_config_find__files_are_merged(void **state)
{
	struct found *f = *state;
	find(f, "home", "missing::a:nothing:sub/b", NULL, NULL);
	assert_found(f, "https://a");
	find(f, "home", "nothing:sub/b:a", NULL, NULL); /* current-context, context, user: each of the first that has it */
	assert_str(buf_str(&f->err), "");
	assert_string_equal(f->c.server, "https://c");
	assert_string_equal(f->c.token, "of-b");
	assert_string_equal(f->c.ca, "CA of b"); /* relative to its own file */
	client_config_done(&f->c);
	find(f, "home", "a:sub/b", NULL, "other"); /* the context and the cluster of b, the user of a */
	assert_string_equal(f->c.server, "https://c");
	assert_string_equal(f->c.token, "t");
	client_config_done(&f->c);
	find(f, "home", "a:broken", NULL, NULL);
	assert_not_found(f, -EINVAL, "/broken: yaml: line 1");
	find(f, "home", "a:sub", NULL, NULL);
	assert_not_found(f, -EISDIR, "/sub: Is a directory");
	find(f, "home", "twice", NULL, NULL);
	assert_not_found(f, -EINVAL, "there are two contexts \"x\"");
}

static void test_config_find__a_pod_is_what_remains(void **state)
{
	struct found *f = *state;
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	find(f, "empty", NULL, NULL, NULL);
	assert_not_found(f, CLIENT_CONFIG_NONE, "there is no ");
	write_file(f->folder, "token", "t");
	write_file(f->folder, "ca.crt", "ca");
	write_file(f->folder, "namespace", "ns");
	static const char *const lists[] = {NULL, "missing", "nothing"};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		find(f, "empty", lists[i], NULL, NULL);
		assert_found(f, "https://10.0.0.1:443");
	}
	find(f, "home", NULL, NULL, NULL);
	assert_found(f, "https://home");
	find(f, "empty", NULL, "missing", NULL);
	assert_not_found(f, -ENOENT, "/missing: No such file");
	find(f, "empty", NULL, NULL, "there");
	assert_not_found(f, CLIENT_CONFIG_NONE, "there is no ");
}

/* What a kubelet puts into every pod. */
static void write_text(const char *folder, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(file_write(fd, str_of(text)), 0);
	close(fd);
}

static void test_config_load_pod__is_the_service_accounts(void **state _unused_)
{
	static const struct {
		const char *host, *server;
	} rows[] = {{"10.0.0.1", "https://10.0.0.1:443"}, {"fd00::1", "https://[fd00::1]:443"}};
	char folder[] = "/tmp/annals-pod-XXXXXX", command[64], token_file[64];
	struct client_config c;
	struct buf err;
	buf_init(&err, 4096);
	assert_non_null(mkdtemp(folder));
	snprintf(token_file, sizeof(token_file), "%s/token", folder);

	unsetenv("KUBERNETES_SERVICE_HOST");
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	assert_false(client_config_is_in_pod());
	assert_true(client_config_load_pod(&c, folder, &err) < 0);
	assert_non_null(strstr(err.p, "this is no pod"));
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	assert_true(client_config_is_in_pod());
	assert_true(client_config_load_pod(&c, folder, &err) < 0);
	assert_non_null(strstr(err.p, "ca.crt: No such file"));

	write_text(folder, "ca.crt", "ca");
	write_text(folder, "namespace", "ns");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		setenv("KUBERNETES_SERVICE_HOST", rows[i].host, 1);
		assert_int_equal(client_config_load_pod(&c, folder, &err), 0);
		assert_string_equal(c.server, rows[i].server);
		assert_string_equal(c.ca, "ca");
		assert_string_equal(c.namespace, "ns");
		assert_string_equal(c.token_file, token_file);
		client_config_done(&c);
	}
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
	buf_done(&err);
}

/* client-go's way: the text counts until the file can be read, and what was read stays when it no longer can. */
static void test_credentials__file_with_a_token_goes_before_the_text(void **state _unused_)
{
	char folder[] = "/tmp/test_client_config.XXXXXX", text[] = "text";
	struct client_config c = {.token = text};
	struct credentials before, after;
	struct buf err;
	buf_init(&err, 4096);
	assert_non_null(mkdtemp(folder));
	c.token_file = mem_printf("%s/token", folder);
	assert_int_equal(credentials_init(&before, &c, &err), 0);
	assert_str(credentials_token(&before), "text");

	write_text(folder, "token", "file\n");
	assert_int_equal(credentials_init(&after, &c, &err), 0);
	assert_str(credentials_token(&after), "file");
	assert_str(credentials_token(&before), "file");
	remove_file(folder, "token");
	assert_str(credentials_token(&after), "file");

	credentials_done(&after);
	credentials_done(&before);
	mem_free(c.token_file);
	rmdir(folder);
	buf_done(&err);
}

static void test_config_copy__owns_everything(void **state _unused_)
{
	struct client_config c, copy;
	struct buf err;
	assert_int_equal(parse(&c, KUBECONFIG("server: \"https://a\"", "token: uu"), NULL, &err), 0);
	client_config_copy(&copy, &c);
	client_config_done(&c);
	assert_string_equal(copy.server, "https://a");
	assert_string_equal(copy.token, "uu");
	client_config_done(&copy);
	buf_done(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_config__current_context_says_who_and_where),
		TEST(test_config__other_context_can_be_named),
		TEST(test_config__what_cannot_be_done_is_refused),
		TEST(test_config_load__files_are_relative_to_the_kubeconfig),
		cmocka_unit_test_setup_teardown(test_config_find__one_file, set_up_found, tear_down_found),
		cmocka_unit_test_setup_teardown(
			test_config_find__what_is_named_and_missing_is_not_replaced, set_up_found, tear_down_found),
		cmocka_unit_test_setup_teardown(test_config_find__files_are_merged, set_up_found, tear_down_found),
		cmocka_unit_test_setup_teardown(test_config_find__a_pod_is_what_remains, set_up_found, tear_down_found),
		TEST(test_config_load_pod__is_the_service_accounts),
		TEST(test_credentials__file_with_a_token_goes_before_the_text),
		TEST(test_config_copy__owns_everything),
	};
	return cmocka_run_group_tests_name("client_config", tests, NULL, NULL);
}
