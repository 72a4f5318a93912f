/* Names and defaults are those of k8s.io/apiserver's DelegatingAuthenticationOptions and
 * DelegatingAuthorizationOptions, so manifests of other aggregated servers can be taken over. */
#include "cli/run/delegation_flags.h"

#include <errno.h>

/* k8s.io/apiserver's default. What is revoked meanwhile still counts so long. */
enum { TTL_MS = 10 * 1000 };

static const char *const default_paths[] = {"/healthz", "/readyz", "/livez"};

void delegation_flags_init(struct delegation_flags *f)
{
	*f = (struct delegation_flags){.token_ttl_ms = TTL_MS, .allowed_ttl_ms = TTL_MS, .not_allowed_ttl_ms = TTL_MS};
}

void delegation_flags_done(struct delegation_flags *f)
{
	for (size_t i = 0; f->always_allow_paths && f->always_allow_paths[i]; i++) {
		mem_free(f->always_allow_paths[i]);
	}
	f->always_allow_paths = mem_free(f->always_allow_paths);
	option_strings_done(&f->allowed_paths);
}

size_t delegation_flags_rows(struct delegation_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Delegated authentication and authorization"),
		{"authentication-kubeconfig", OPTION_STRING, &f->authentication_kubeconfig, "FILE",
			"The kube-apiserver, and the user there, to ask for the user whom a token names; as --kubeconfig by "
			"default.",
			0, 0},
		{"authentication-token-webhook-cache-ttl", OPTION_DURATION, &f->token_ttl_ms, "DURATION",
			"How long the answer about a token is kept; 0: not at all.", 0, 0},
		{"authorization-kubeconfig", OPTION_STRING, &f->authorization_kubeconfig, "FILE",
			"The kube-apiserver, and the user there, to ask whether a request is allowed; as --kubeconfig by "
			"default.",
			0, 0},
		{"authorization-webhook-cache-authorized-ttl", OPTION_DURATION, &f->allowed_ttl_ms, "DURATION",
			"How long the answer \"allowed\" is kept; 0: not at all.", 0, 0},
		{"authorization-webhook-cache-unauthorized-ttl", OPTION_DURATION, &f->not_allowed_ttl_ms, "DURATION",
			"How long the answer \"not allowed\" is kept; 0: not at all.", 0, 0},
		{"authorization-always-allow-paths", OPTION_STRINGS, &f->allowed_paths, "PATH,...",
			"Paths that need no authorization, in the place of /healthz, /readyz and /livez; a final * matches any "
			"rest, and an "
			"empty list means none.",
			0, 0},
	};
	_Static_assert(ARRAY_SIZE(rows) <= DELEGATION_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
	return ARRAY_SIZE(rows);
}

/* ---- checking ---- */

static bool is_given(const struct delegation_flags *f)
{
	return f->authentication_kubeconfig || f->authorization_kubeconfig || f->allowed_paths.n || f->token_ttl_ms != TTL_MS ||
		f->allowed_ttl_ms != TTL_MS || f->not_allowed_ttl_ms != TTL_MS;
}

/* As k8s.io/apiserver's path authorizer reads them: a slash in front is not needed. */
static int add_path(struct delegation_flags *f, size_t i, const char *path, struct buf *err)
{
	const char *star = strchr(path, '*');
	if (star && star[1]) {
		buf_printf(err, "--authorization-always-allow-paths: only trailing * allowed in \"%s\"", path);
		return -EINVAL;
	}
	f->always_allow_paths[i] = mem_printf("/%s", path[0] == '/' ? path + 1 : path);
	return 0;
}

/* `--authorization-always-allow-paths=`: somebody is asked for all. */
static bool is_none(const struct option_strings *paths)
{
	return paths->n == 1 && !paths->v[0][0];
}

int delegation_flags_check(struct delegation_flags *f, bool is_standalone, struct buf *err)
{
	bool is_default = f->allowed_paths.n == 0;
	size_t n = is_default ? ARRAY_SIZE(default_paths) : is_none(&f->allowed_paths) ? 0 : f->allowed_paths.n;
	if (is_standalone && is_given(f)) {
		buf_adds(err,
			"--standalone asks no kube-apiserver: --authentication-kubeconfig, --authorization-kubeconfig, "
			"--authorization-always-allow-paths and the times for which answers are kept do not go with it");
		return -EINVAL;
	}
	f->always_allow_paths = mem_array(n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++) {
		int r = add_path(f, i, is_default ? default_paths[i] : f->allowed_paths.v[i], err);
		if (r) {
			return r;
		}
	}
	return 0;
}

/* ---- files ---- */

static int load_core(const char *kubeconfig, struct client_config *ret, struct buf *err)
{
	return kubeconfig ? client_config_load(ret, kubeconfig, NULL, err) : client_config_load_pod(ret, POD_FOLDER, err);
}

/* One that is the core's, too, needs no client of its own. */
static bool is_other(const char *kubeconfig, const char *core)
{
	return kubeconfig && !(core && strcmp(kubeconfig, core) == 0);
}

static int load_other(const char *kubeconfig, const char *core, struct client_config *ret, struct buf *err)
{
	return is_other(kubeconfig, core) ? client_config_load(ret, kubeconfig, NULL, err) : 0;
}

int delegation_flags_load(const struct delegation_flags *f, const char *kubeconfig, struct delegation_configs *c,
	struct delegation_options *ret, struct buf *err)
{
	*c = (struct delegation_configs){0};
	int r = load_core(kubeconfig, &c->core, err);
	r = r ? r : load_other(f->authentication_kubeconfig, kubeconfig, &c->tokens, err);
	r = r ? r : load_other(f->authorization_kubeconfig, kubeconfig, &c->access, err);
	if (r) {
		return r;
	}
	*ret = (struct delegation_options){.core = &c->core,
		.tokens = c->tokens.server ? &c->tokens : NULL,
		.access = c->access.server ? &c->access : NULL,
		.token_ttl_ms = f->token_ttl_ms,
		.allowed_ttl_ms = f->allowed_ttl_ms,
		.not_allowed_ttl_ms = f->not_allowed_ttl_ms};
	return 0;
}

void delegation_configs_done(struct delegation_configs *c)
{
	client_config_done(&c->access);
	client_config_done(&c->tokens);
	client_config_done(&c->core);
}
