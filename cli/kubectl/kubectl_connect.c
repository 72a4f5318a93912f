/* Where the server is and who we are there: of a kubeconfig as kubectl finds it, then of flags,
 * which go before it. */
#include "cli/common/colour.h"
#include "cli/kubectl/kubectl.h"

#include <stdlib.h>
#include <unistd.h>

enum { ARENA_MAX = 256 << 20 };

/* --kubeconfig, the first file of $KUBECONFIG, ~/.kube/config; mem_free. */
static char *find_kubeconfig(const struct kubectl *k)
{
	const char *variable = getenv("KUBECONFIG"), *home = getenv("HOME");
	struct str rest = str_of(variable), file;
	if (k->kubeconfig) {
		return mem_strdup(k->kubeconfig);
	}
	while (rest.n > 0) {
		str_cut(rest, ':', &file, &rest);
		char *path = mem_strndup(file.p ? file.p : "", file.n);
		if (access(path, F_OK) == 0) {
			return path;
		}
		mem_free(path);
	}
	return mem_printf("%s/.kube/config", home ? home : "");
}

static int load(struct kubectl *k, struct client_config *ret)
{
	_cleanup_(mem_freep) char *path = find_kubeconfig(k);
	bool is_there = access(path, F_OK) == 0;
	if (!k->kubeconfig && !is_there && k->server) {
		return 0; /* flags say it all */
	}
	if (!k->kubeconfig && !is_there && client_config_is_in_pod()) {
		return client_config_load_pod(ret, POD_FOLDER, &k->err);
	}
	return client_config_load(ret, path, k->context, &k->err);
}

static void replace(char **text, const char *by)
{
	if (by) {
		mem_free(*text);
		*text = mem_strdup(by);
	}
}

/* They become lines of HTTP. */
static int check_headers(struct kubectl *k)
{
	const char *texts[] = {k->as, k->token};
	for (size_t i = 0; i < ARRAY_SIZE(texts) + k->as_groups.n; i++) {
		const char *text = i < ARRAY_SIZE(texts) ? texts[i] : k->as_groups.v[i - ARRAY_SIZE(texts)];
		if (text && strpbrk(text, "\r\n")) {
			return kubectl_fail(k, "--as, --as-group and --token are one line each");
		}
	}
	return 0;
}

static void apply_identity(struct kubectl *k, struct client_config *c)
{
	_cleanup_(buf_done) struct buf groups;
	buf_init(&groups, 1 << 20);
	if (k->token) {
		/* The server would believe a certificate first. */
		c->cert = mem_free(c->cert);
		c->key = mem_free(c->key);
		c->token_file = mem_free(c->token_file);
	}
	replace(&c->token, k->token);
	replace(&c->as, k->as);
	for (size_t i = 0; i < k->as_groups.n; i++) {
		buf_printf(&groups, "%s\n", k->as_groups.v[i]);
	}
	replace(&c->as_groups, groups.n ? groups.p : NULL);
}

static int apply_flags(struct kubectl *k, struct client_config *c)
{
	if (check_headers(k)) {
		return -1;
	}
	apply_identity(k, c);
	replace(&c->server, k->server);
	for (size_t n = strlen(c->server); n > 0 && c->server[n - 1] == '/'; n--) {
		c->server[n - 1] = '\0'; /* paths are appended to it */
	}
	c->request_timeout_ms = k->request_timeout_ms;
	if (k->is_insecure) {
		c->is_insecure = true;
	}
	if (!k->ca_file) {
		return 0;
	}
	c->ca = mem_free(c->ca);
	return client_config_load_text(k->ca_file, &c->ca, &k->err) ? -1 : 0;
}

int kubectl_open(struct kubectl *k)
{
	struct client_config config = {0};
	int r = load(k, &config);
	r = r ? r : apply_flags(k, &config);
	r = r ? r : client_new(&k->client, &config, &k->err);
	k->config_ns = mem_strdup(config.namespace && *config.namespace ? config.namespace : "default");
	k->config_context = take_ptr(config.context);
	k->config_server = take_ptr(config.server);
	client_config_done(&config);
	if (r) {
		return -1;
	}
	k->ns = k->ns ? k->ns : k->config_ns;
	return 0;
}

int kubectl_connect(struct kubectl *k)
{
	if (kubectl_open(k)) {
		return -1;
	}
	int error = discovery_fetch(k->client, &k->discovery, &k->answer);
	return error ? kubectl_refused(k, error, &k->answer) : 0;
}

void kubectl_init(struct kubectl *k)
{
	*k = (struct kubectl){
		.output = "text", .colour = COLOUR_AUTO, .dry_run = "none", .revision = -1, .to = -1, .to_revision = -1};
	buf_init(&k->out, OUTPUT_MAX);
	buf_init(&k->err, 64 * 1024);
	buf_init(&k->notes, 1 << 20);
	arena_init(&k->arena, ARENA_MAX);
	discovery_init(&k->discovery);
	answer_init(&k->answer);
}

void kubectl_done(struct kubectl *k)
{
	answer_done(&k->answer);
	discovery_done(&k->discovery);
	if (k->client) {
		client_free(k->client);
	}
	mem_free(k->config_ns);
	mem_free(k->config_context);
	mem_free(k->config_server);
	option_strings_done(&k->as_groups);
	arena_done(&k->arena);
	buf_done(&k->notes);
	buf_done(&k->out);
	buf_done(&k->err);
}
