/* kubeconfig as client-go's clientcmd reads it, without what would need a program to be run.
 * What is not supported is refused rather than ignored: a client that left out "as" would act as
 * somebody with more rights. */
#include "client/config.h"

#include "api/model/members.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Far beyond a kubeconfig with its certificates: a wrong path is refused, not read into memory. */
enum { FILE_MAX = 1 << 20, TREE_MAX = 16 << 20 };

/* What is being read. */
struct reader {
	struct arena arena;
	const struct json *root;
	const char *folder;
	struct buf *err;
};

static int refuse(struct reader *r, const char *format, ...) _printf_(2, 3);
static int refuse(struct reader *r, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_vprintf(r->err, format, ap);
	va_end(ap);
	return -EINVAL;
}

static char *copy_of(struct str s)
{
	return s.n ? mem_strndup(s.p, s.n) : NULL;
}

/* {name: wanted, member: {...}} of the list: its inner part, or NULL. */
static const struct json *find(const struct reader *r, const char *list, struct str wanted, const char *member)
{
	const struct json *items = json_gets(r->root, list);
	for (uint32_t i = 0; json_is(items, JSON_ARRAY) && i < items->n; i++) {
		if (str_eq(member_text(items->items[i], "name"), wanted)) {
			return json_gets(items->items[i], member);
		}
	}
	return NULL;
}

/* ---- certificates and keys: embedded, or in a file ---- */

static char *full_path(const struct reader *r, struct str path)
{
	if (path.p[0] == '/') {
		return mem_strndup(path.p, path.n);
	}
	return mem_printf("%s/" STR_FMT, r->folder, STR_ARG(path));
}

int client_config_load_text(const char *path, char **ret, struct buf *err)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, FILE_MAX);
	int r = file_read_path(path, &text);
	if (r) {
		buf_printf(err, "cannot read %s: %s", path, strerror(-r));
		return r;
	}
	*ret = buf_take(&text, NULL);
	return 0;
}

static int load_file(struct reader *r, struct str path, char **ret)
{
	_cleanup_(mem_freep) char *full = full_path(r, path);
	return client_config_load_text(full, ret, r->err);
}

static int load_embedded(struct reader *r, const char *name, struct str encoded, char **ret)
{
	size_t n;
	_cleanup_(mem_freep) char *plain = mem_zalloc(encoded.n + 1);
	if (!base64_decode(plain, encoded, &n)) {
		return refuse(r, "%s is not base64", name);
	}
	*ret = mem_strndup(plain, n);
	return 0;
}

/* NAME-data, or else the file NAME. */
static int load_pem(struct reader *r, const struct json *j, const char *name, char **ret)
{
	_cleanup_(mem_freep) char *embedded = mem_printf("%s-data", name);
	struct str data = member_text(j, embedded), path = member_text(j, name);
	if (data.n) {
		return load_embedded(r, embedded, data, ret);
	}
	return path.n ? load_file(r, path, ret) : 0;
}

/* ---- cluster, user, context ---- */

static const char *const refused_cluster[] = {"tls-server-name", "proxy-url"};
static const char *const refused_user[] = {"exec", "auth-provider", "username", "as", "as-uid", "as-groups", "as-user-extra"};

static int check(struct reader *r, const struct json *j, const char *what, const char *const *refused, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct json *value = json_gets(j, refused[i]);
		if (value && value->kind != JSON_NULL) {
			return refuse(r, "%s of the %s is not supported", refused[i], what);
		}
	}
	return 0;
}

static int read_cluster(struct reader *r, struct client_config *c, struct str name)
{
	const struct json *cluster = find(r, "clusters", name, "cluster");
	struct str server = member_text(cluster, "server");
	if (!server.n) {
		return refuse(r, "cluster \"" STR_FMT "\" has no server", STR_ARG(name));
	}
	int error = check(r, cluster, "cluster", refused_cluster, ARRAY_SIZE(refused_cluster));
	if (error) {
		return error;
	}
	/* Paths are appended to it, and begin with "/". */
	while (str_ends(server, STR("/"))) {
		server.n--;
	}
	const struct json *insecure = json_gets(cluster, "insecure-skip-tls-verify");
	c->server = copy_of(server);
	c->is_insecure = json_is(insecure, JSON_BOOL) && insecure->boolean;
	return load_pem(r, cluster, "certificate-authority", &c->ca);
}

static int read_user(struct reader *r, struct client_config *c, struct str name)
{
	const struct json *user = find(r, "users", name, "user");
	int error = check(r, user, "user", refused_user, ARRAY_SIZE(refused_user));
	error = error ? error : load_pem(r, user, "client-certificate", &c->cert);
	error = error ? error : load_pem(r, user, "client-key", &c->key);
	if (error) {
		return error;
	}
	/* One without the other would connect as anonymous, and show as a puzzling 403. */
	if (!c->cert != !c->key) {
		return refuse(r, "client-certificate and client-key of user \"" STR_FMT "\" go together", STR_ARG(name));
	}
	struct str token_file = member_text(user, "tokenFile");
	c->token = copy_of(member_text(user, "token"));
	c->token_file = token_file.n ? full_path(r, token_file) : NULL;
	return 0;
}

static int read_context(struct reader *r, struct client_config *c, const char *wanted)
{
	struct str name = wanted ? str_of(wanted) : member_text(r->root, "current-context");
	const struct json *context = find(r, "contexts", name, "context");
	if (!context) {
		return refuse(
			r, name.n ? "there is no context \"" STR_FMT "\"" : "no current-context is set" STR_FMT, STR_ARG(name));
	}
	c->context = copy_of(name);
	c->namespace = copy_of(member_text(context, "namespace"));
	int error = read_cluster(r, c, member_text(context, "cluster"));
	return error ? error : read_user(r, c, member_text(context, "user"));
}

static int parse(struct reader *r, struct str yaml)
{
	size_t at;
	struct str error;
	struct json *root;
	_cleanup_(buf_done) struct buf json;
	buf_init(&json, FILE_MAX * 2);
	if (yaml_to_json(&json, yaml, YAML_LIMITS_DEFAULT, &r->arena, &error, NULL)) {
		return refuse(r, STR_FMT, STR_ARG(error));
	}
	if (json_parse(&root, &r->arena, arena_dup(&r->arena, buf_str(&json)), JSON_LIMITS_DEFAULT, &at)) {
		return refuse(r, "it is not a kubeconfig");
	}
	r->root = root;
	return 0;
}

int client_config_parse(struct client_config *ret, struct str text, const char *folder, const char *context, struct buf *err)
{
	struct reader r = {.folder = folder, .err = err};
	struct client_config c = {0};
	arena_init(&r.arena, TREE_MAX);
	int error = parse(&r, text);
	error = error ? error : read_context(&r, &c, context);
	arena_done(&r.arena);
	if (error) {
		client_config_done(&c);
		return error;
	}
	*ret = c;
	return 0;
}

int client_config_load(struct client_config *ret, const char *path, const char *context, struct buf *err)
{
	_cleanup_(buf_done) struct buf text, why;
	buf_init(&text, FILE_MAX);
	buf_init(&why, 4096);
	int r = file_read_path(path, &text);
	if (r) {
		buf_printf(err, "cannot read %s: %s", path, strerror(-r));
		return r;
	}
	const char *slash = strrchr(path, '/');
	_cleanup_(mem_freep) char *folder = slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(".");
	r = client_config_parse(ret, buf_str(&text), folder, context, &why);
	if (r) {
		buf_printf(err, "%s: " STR_FMT, path, STR_ARG(buf_str(&why)));
	}
	return r;
}

/* ---- of a pod ---- */

static const char *environment(const char *name)
{
	const char *value = getenv(name);
	return value && value[0] ? value : NULL;
}

bool client_config_is_in_pod(void)
{
	return environment("KUBERNETES_SERVICE_HOST") && environment("KUBERNETES_SERVICE_PORT");
}

static int load_pod_file(const char *folder, const char *name, char **ret, struct buf *err)
{
	_cleanup_(mem_freep) char *path = mem_printf("%s/%s", folder, name);
	return client_config_load_text(path, ret, err);
}

int client_config_load_pod(struct client_config *ret, const char *folder, struct buf *err)
{
	const char *host = environment("KUBERNETES_SERVICE_HOST"), *port = environment("KUBERNETES_SERVICE_PORT");
	if (!host || !port) {
		BUF_LITERAL(err, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod");
		return -ENOENT;
	}
	struct client_config c = {0};
	int r = load_pod_file(folder, "ca.crt", &c.ca, err);
	r = r ? r : load_pod_file(folder, "namespace", &c.namespace, err);
	if (r) {
		client_config_done(&c);
		return r;
	}
	/* An IPv6 address needs brackets. */
	c.server = mem_printf(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	c.token_file = mem_printf("%s/token", folder);
	*ret = c;
	return 0;
}

/* ---- its life ---- */

static char **texts(struct client_config *c, size_t i)
{
	char **all[] = {&c->server, &c->ca, &c->cert, &c->key, &c->token, &c->token_file, &c->user_agent, &c->namespace,
		&c->context, &c->as, &c->as_groups};
	return i < ARRAY_SIZE(all) ? all[i] : NULL;
}

void client_config_copy(struct client_config *to, const struct client_config *from)
{
	*to = *from;
	for (size_t i = 0; texts(to, i); i++) {
		char **text = texts(to, i);
		*text = *text ? mem_strdup(*text) : NULL;
	}
}

void client_config_done(struct client_config *c)
{
	for (size_t i = 0; texts(c, i); i++) {
		mem_free(*texts(c, i));
	}
	*c = (struct client_config){0};
}
