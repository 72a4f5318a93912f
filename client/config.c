/* Reads kubeconfigs as client-go's clientcmd does, except entries that need a program to be run.
 * Unsupported entries are refused rather than ignored: a client that ignored "as" would act as a
 * user with more rights. */
#include "client/config.h"
#include "api/model/members.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/yaml.h"
#include "client/credentials.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* FILE_MAX is far above a kubeconfig with its certificates: a wrong path is refused, not read
 * into memory. */
enum { FILE_MAX = 1 << 20, TREE_MAX = 16 << 20, SOURCES_MAX = 64 };

/* A kubeconfig; relative paths in it begin at its folder. */
struct source {
	const struct json *root;
	const char *folder;
};

/* The kubeconfigs of one $KUBECONFIG. The first file that has a name, or a current-context,
 * counts. */
struct reader {
	struct arena arena; /* holds roots and folders */
	struct source sources[SOURCES_MAX];
	size_t n;
	const char *folder; /* of the file in which reader_find() found its last entry */
	const char *label;  /* the prefix of error sentences; may be empty */
	struct buf *err;
};

static int reader_refuse(struct reader *r, const char *format, ...) _printf_(2, 3);
static int reader_refuse(struct reader *r, const char *format, ...)
{
	va_list ap;
	buf_printf(r->err, "%s%s", r->label, *r->label ? ": " : "");
	va_start(ap, format);
	buf_vprintf(r->err, format, ap);
	va_end(ap);
	return -EINVAL;
}

static char *copy_of(struct str s)
{
	return s.n ? mem_strndup(s.p, s.n) : NULL;
}

/* Finds the list's item with the wanted name, and sets *ret to its inner part `member`, or NULL.
 * As in client-go, the item comes whole from one file. */
static int reader_find(struct reader *r, const char *list, struct str wanted, const char *member, const struct json **ret)
{
	const struct json *found = NULL, *item;
	for (size_t at = 0; at < r->n && !found; at++) {
		const struct json *items = json_gets(r->sources[at].root, list);
		for (uint32_t i = 0; (item = list_item(items, i)); i++) {
			if (!str_eq(member_text(item, "name"), wanted)) {
				continue;
			}
			if (found) {
				return reader_refuse(r, "there are two %s \"" STR_FMT "\"", list, STR_ARG(wanted));
			}
			found = item;
			r->folder = r->sources[at].folder;
		}
	}
	*ret = json_gets(found, member);
	return 0;
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
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, 8192);
	int error = client_config_load_text(full, ret, &why);
	if (error) {
		reader_refuse(r, STR_FMT, STR_ARG(buf_str(&why)));
	}
	return error;
}

static int load_embedded(struct reader *r, const char *name, struct str encoded, char **ret)
{
	size_t n;
	_cleanup_(mem_freep) char *plain = mem_zalloc(encoded.n + 1);
	if (!base64_decode(plain, encoded, &n)) {
		return reader_refuse(r, "%s is not base64", name);
	}
	*ret = mem_strndup(plain, n);
	return 0;
}

/* Loads NAME-data, or else the file that NAME gives. */
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

static int reader_check(struct reader *r, const struct json *j, const char *what, const char *const *refused, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct json *value = json_gets(j, refused[i]);
		if (value && value->kind != JSON_NULL) {
			return reader_refuse(r, "%s of the %s is not supported", refused[i], what);
		}
	}
	return 0;
}

static int read_cluster(struct reader *r, struct client_config *c, struct str name)
{
	const struct json *cluster;
	int error = reader_find(r, "clusters", name, "cluster", &cluster);
	if (error) {
		return error;
	}
	struct str server = member_text(cluster, "server");
	if (!server.n) {
		return reader_refuse(r, "cluster \"" STR_FMT "\" has no server", STR_ARG(name));
	}
	error = reader_check(r, cluster, "cluster", refused_cluster, ARRAY_SIZE(refused_cluster));
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
	const struct json *user = NULL;
	int error = reader_find(r, "users", name, "user", &user);
	error = error ? error : reader_check(r, user, "user", refused_user, ARRAY_SIZE(refused_user));
	error = error ? error : load_pem(r, user, "client-certificate", &c->cert);
	error = error ? error : load_pem(r, user, "client-key", &c->key);
	if (error) {
		return error;
	}
	/* A certificate without its key would connect as anonymous, and show as a puzzling 403. */
	if (!c->cert != !c->key) {
		return reader_refuse(r, "client-certificate and client-key of user \"" STR_FMT "\" go together", STR_ARG(name));
	}
	struct str token_file = member_text(user, "tokenFile");
	c->token = copy_of(member_text(user, "token"));
	c->token_file = token_file.n ? full_path(r, token_file) : NULL;
	return 0;
}

/* ---- one kubeconfig, or several ---- */

static struct str current_context(const struct reader *r)
{
	struct str name = STR("");
	for (size_t i = 0; i < r->n && !name.n; i++) {
		name = member_text(r->sources[i].root, "current-context");
	}
	return name;
}

/* Returns CLIENT_CONFIG_NONE when no context has been chosen. */
static int read_context(struct reader *r, struct client_config *ret, const char *wanted)
{
	struct client_config c = {0};
	struct str name = wanted && *wanted ? str_of(wanted) : current_context(r);
	const struct json *context = NULL;
	if (!name.n) {
		reader_refuse(r, "no current-context is set");
		return CLIENT_CONFIG_NONE;
	}
	int error = reader_find(r, "contexts", name, "context", &context);
	if (!error && !context) {
		error = reader_refuse(r, "there is no context \"" STR_FMT "\"", STR_ARG(name));
	}
	if (error) {
		return error;
	}
	c.context = copy_of(name);
	c.namespace = copy_of(member_text(context, "namespace"));
	error = read_cluster(r, &c, member_text(context, "cluster"));
	error = error ? error : read_user(r, &c, member_text(context, "user"));
	if (error) {
		client_config_done(&c);
		return error;
	}
	*ret = c;
	return 0;
}

static int reader_parse(struct reader *r, struct str yaml, struct str folder)
{
	size_t at;
	struct str error;
	struct json *root;
	_cleanup_(buf_done) struct buf json;
	buf_init(&json, FILE_MAX * 2);
	if (yaml_to_json(&json, yaml, YAML_LIMITS_DEFAULT, &r->arena, &error, NULL)) {
		return reader_refuse(r, STR_FMT, STR_ARG(error));
	}
	if (json_parse(&root, &r->arena, arena_dup(&r->arena, buf_str(&json)), JSON_LIMITS_DEFAULT, &at)) {
		return reader_refuse(r, "it is not a kubeconfig");
	}
	assert(r->n < SOURCES_MAX);
	r->sources[r->n++] = (struct source){root, arena_dup(&r->arena, folder).p};
	return 0;
}

static void reader_init(struct reader *r, const char *label, struct buf *err)
{
	*r = (struct reader){.label = label, .err = err};
	arena_init(&r->arena, TREE_MAX);
}

int client_config_parse(struct client_config *ret, struct str text, const char *folder, const char *context, struct buf *err)
{
	struct reader r;
	reader_init(&r, "", err);
	int error = reader_parse(&r, text, str_of(folder));
	error = error ? error : read_context(&r, ret, context);
	arena_done(&r.arena);
	return error > 0 ? -EINVAL : error;
}

/* Returns -ENOENT without a sentence when the file is missing: only the caller knows whether
 * that matters. */
static int read_source(struct reader *r, const char *path)
{
	_cleanup_(buf_done) struct buf text;
	const char *label = r->label, *slash = strrchr(path, '/');
	buf_init(&text, FILE_MAX);
	int error = file_read_path(path, &text);
	if (error == -ENOENT) {
		return error;
	}
	r->label = path;
	if (error) {
		reader_refuse(r, "%s", strerror(-error));
	} else {
		error = reader_parse(r, buf_str(&text), slash ? (struct str){path, (size_t)(slash - path)} : STR("."));
	}
	r->label = label;
	return error;
}

int client_config_load(struct client_config *ret, const char *path, const char *context, struct buf *err)
{
	struct reader r;
	reader_init(&r, path, err);
	int error = read_source(&r, path);
	if (error == -ENOENT) {
		buf_printf(err, "cannot read %s: %s", path, strerror(ENOENT));
	}
	error = error ? error : read_context(&r, ret, context);
	arena_done(&r.arena);
	return error > 0 ? -EINVAL : error;
}

/* Missing files, and empty names between colons, are skipped. */
static int read_sources(struct reader *r, const char *paths)
{
	struct str rest = str_of(paths), path;
	int error = 0;
	while (rest.n > 0 && (!error || error == -ENOENT)) {
		str_cut(rest, ':', &path, &rest);
		if (r->n == SOURCES_MAX) {
			return reader_refuse(r, "more than %d files", SOURCES_MAX);
		}
		error = path.n ? read_source(r, arena_dup(&r->arena, path).p) : error;
	}
	return error == -ENOENT && r->n ? 0 : error;
}

/* ~/.kube/config */
static char *home_path(void)
{
	const char *home = getenv("HOME");
	return home && *home ? mem_printf("%s/.kube/config", home) : mem_strdup(".kube/config");
}

static int find_file(struct client_config *ret, const char *context, struct buf *err)
{
	struct reader r;
	const char *list = getenv("KUBECONFIG");
	bool is_list = list && *list;
	_cleanup_(mem_freep) char *paths = is_list ? mem_strdup(list) : home_path();
	reader_init(&r, paths, err);
	int error = is_list ? read_sources(&r, paths) : read_source(&r, paths);
	if (error == -ENOENT || (!error && !r.n)) {
		buf_printf(err, "%s %s", is_list ? "$KUBECONFIG names no file that exists:" : "there is no", paths);
		error = CLIENT_CONFIG_NONE;
	}
	error = error ? error : read_context(&r, ret, context);
	arena_done(&r.arena);
	return error;
}

int client_config_find(
	struct client_config *ret, const char *path, const char *context, const char *pod_folder, struct buf *err)
{
	if (path && *path) {
		return client_config_load(ret, path, context, err);
	}
	int error = find_file(ret, context, err);
	_cleanup_(mem_freep) char *token = mem_printf("%s/token", pod_folder);
	if (error == CLIENT_CONFIG_NONE && !(context && *context) && client_config_is_in_pod() && access(token, F_OK) == 0) {
		buf_clear(err);
		error = client_config_load_pod(ret, pod_folder, err);
	}
	return error;
}

/* ---- in a pod ---- */

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

/* ---- lifetime ---- */

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

/* ---- credentials ---- */

/* libcurl's GnuTLS flavour of Debian 12 takes certificates as files only. A temporary file on a
 * disk could be left behind with a key in it; memory with a name in /proc cannot. */
/* A minute is client-go's: kubelet renews the tokens of pods long before they end. */
enum { TOKEN_MAX = 64 * 1024, TOKEN_AGE_MS = 60 * 1000 };

/* /proc/self/fd/N with a serial number spelled in its slashes: "/./" is a one, "/" a zero. */
static void name_file(struct pem *p)
{
	static _Atomic uint32_t serial;
	size_t n = (size_t)snprintf(p->path, sizeof(p->path), "/proc/self/fd");
	for (uint32_t left = atomic_fetch_add(&serial, 1) + 1; left; left >>= 1) {
		n += (size_t)snprintf(p->path + n, sizeof(p->path) - n, "%s", left & 1 ? "/./" : "/");
	}
	snprintf(p->path + n, sizeof(p->path) - n, "%d", p->fd);
}

int pem_open(struct pem *p, const char *text, struct buf *err)
{
	p->fd = -1;
	if (!text) {
		return 0;
	}
	p->fd = memfd_create("pem", MFD_CLOEXEC);
	int r = p->fd < 0 ? -errno : file_write(p->fd, str_of(text));
	if (r) {
		buf_printf(err, "cannot keep a certificate in memory: %s", strerror(-r));
		return r;
	}
	name_file(p);
	return 0;
}

void pem_close(struct pem *p)
{
	if (p->fd >= 0) {
		close(p->fd);
	}
	p->fd = -1;
}

bool pem_is_there(const struct pem *p)
{
	return p->fd >= 0;
}

int credentials_init(struct credentials *c, const struct client_config *config, struct buf *err)
{
	*c = (struct credentials){.config = config, .ca = {.fd = -1}, .cert = {.fd = -1}, .key = {.fd = -1}};
	buf_init(&c->token, TOKEN_MAX);
	int r = pem_open(&c->ca, config->ca, err);
	r = r ? r : pem_open(&c->cert, config->cert, err);
	return r ? r : pem_open(&c->key, config->key, err);
}

void credentials_done(struct credentials *c)
{
	if (c->config) {
		pem_close(&c->key);
		pem_close(&c->cert);
		pem_close(&c->ca);
		buf_done(&c->token);
	}
}

static void read_token_file(struct credentials *c)
{
	int64_t now = clock_mono_ms();
	if (c->token_read_ms && now - c->token_read_ms < TOKEN_AGE_MS) {
		return;
	}
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, TOKEN_MAX);
	if (file_read_path(c->config->token_file, &text) == 0) {
		buf_clear(&c->token);
		buf_add_str(&c->token, str_trim(buf_str(&text)));
		c->token_read_ms = now;
	}
}

/* As in client-go, the token file, or its last good content, takes precedence over the token in
 * the configuration. */
struct str credentials_token(struct credentials *c)
{
	if (c->config->token_file) {
		read_token_file(c);
	}
	return c->config->token && buf_str(&c->token).n == 0 ? str_of(c->config->token) : buf_str(&c->token);
}
