/* Finds the server, the user and the object, as kubectl does: kubeconfigs, then flags, which have precedence; and names of
 * types. */
#include "cli/common/terminal.h"
#include "cli/kubectl/kubectl.h"

#include <stdlib.h>

/* Bytes for everything that one command keeps; an answer beyond it cannot be read. */
enum { ARENA_MAX = 256 << 20 };

static int load(struct kubectl *k, struct client_config *ret)
{
	int r = client_config_find(ret, k->kubeconfig, k->context, POD_FOLDER, &k->err);
	bool say_flags_all = r == CLIENT_CONFIG_NONE && k->server && !k->context;
	if (say_flags_all) {
		buf_clear(&k->err);
		return 0;
	}
	if (r == CLIENT_CONFIG_NONE) {
		BUF_LITERAL(&k->err, "; name a kubeconfig by --kubeconfig or $KUBECONFIG, or a server by --server");
	}
	return r;
}

static void replace(char **text, const char *by)
{
	if (by) {
		mem_free(*text);
		*text = mem_strdup(by);
	}
}

/* Refuses line breaks in texts that become lines of HTTP. */
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
		/* Otherwise the server would look at the certificate first. */
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
	*k = (struct kubectl){.output = "text",
		.colour = COLOUR_AUTO,
		.dry_run = "none",
		.revision = -1,
		.to = -1,
		.to_revision = -1,
		.tail = TAIL_NOT_GIVEN};
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
	option_strings_done(&k->without);
	arena_done(&k->arena);
	buf_done(&k->notes);
	buf_done(&k->out);
	buf_done(&k->err);
}

/* ---- the object ----
 *
 * A type has the names that kubectl takes: plural, singular, short name or kind, with group and version behind dots
 * (k8s.io/apimachinery, schema.ParseResourceArg and the RESTMapper). */

static bool is_named(const struct api_resource *r, struct str name)
{
	struct str rest = r->short_names, each;
	if (str_eq_nocase(name, r->resource.plural) || str_eq_nocase(name, r->singular) || str_eq_nocase(name, r->kind)) {
		return true;
	}
	while (rest.n > 0) {
		str_cut(rest, ',', &each, &rest);
		if (str_eq(each, name)) {
			return true;
		}
	}
	return false;
}

/* statefulsets, sts, StatefulSet, statefulsets.apps, statefulsets.v1.apps */
static bool is_meant(const struct api_resource *r, struct str type)
{
	struct str name, group, version, rest;
	str_cut(type, '.', &name, &group);
	if (!is_named(r, name)) {
		return false;
	}
	if (group.n == 0) {
		return r->is_preferred;
	}
	if (str_eq(group, r->resource.group)) {
		return r->is_preferred;
	}
	return str_cut(group, '.', &version, &rest) && str_eq(version, r->resource.version) && str_eq(rest, r->resource.group);
}

/* If several groups have it, the first in the server's order, as kubectl chooses. */
static const struct api_resource *find_type(const struct kubectl *k, struct str type)
{
	for (size_t i = 0; i < k->discovery.n; i++) {
		const struct api_resource *r = &k->discovery.resources[i];
		if ((r->verbs & API_GET) && is_meant(r, type)) {
			return r;
		}
	}
	return NULL;
}

int kubectl_find(struct kubectl *k, struct str type_and_name, enum kubectl_words words)
{
	struct str type, name;
	bool has_name = str_cut(type_and_name, '/', &type, &name);
	bool is_right = has_name ? name.n > 0 && !str_contains(name, STR("/")) : words == WORDS_OBJECT_OR_NONE;
	if (!is_right || type.n == 0) {
		return kubectl_fail(k, "\"" STR_FMT "\" is not TYPE/NAME", STR_ARG(type_and_name));
	}
	k->type = find_type(k, type);
	if (!k->type) {
		const char *hint = k->discovery.n_failures ? " (not all groups of APIs could be asked)" : "";
		return kubectl_fail(k, "the server doesn't have a resource type \"" STR_FMT "\"%s", STR_ARG(type), hint);
	}
	k->target = (struct target){&k->type->resource, str_of(k->type->is_namespaced ? k->ns : ""), name, NULL};
	return 0;
}

static int find_pair(struct kubectl *k, struct str type, struct str name, int (*each)(struct kubectl *k, void *ctx), void *ctx)
{
	struct str both = name.n ? arena_printf(&k->arena, STR_FMT "/" STR_FMT, STR_ARG(type), STR_ARG(name)) : type;
	return kubectl_find(k, both, WORDS_OBJECT_OR_NONE) ? -1 : each(k, ctx);
}

/* Has the rules and the messages of cli-runtime's resource.Builder. */
int kubectl_find_all(struct kubectl *k, int (*each)(struct kubectl *k, void *ctx), void *ctx)
{
	size_t n_joined = 0;
	int r = 0;
	for (size_t i = 0; i < k->n_words; i++) {
		n_joined += strchr(k->words[i], '/') != NULL;
	}
	if (n_joined && n_joined < k->n_words) {
		return kubectl_fail(k,
			"there is no need to specify a resource type as a separate argument when passing arguments in "
			"resource/name form (e.g. 'TYPE/NAME TYPE/NAME' instead of 'TYPE TYPE/NAME')");
	}
	for (size_t i = 0; n_joined && i < k->n_words && !r; i++) {
		r = find_pair(k, str_of(k->words[i]), STR(""), each, ctx);
	}
	struct str rest = str_of(n_joined || !k->n_words ? NULL : k->words[0]), type;
	while (rest.n > 0 && !r) {
		str_cut(rest, ',', &type, &rest);
		for (size_t i = 1; i < MAX(k->n_words, (size_t)2) && !r; i++) {
			r = find_pair(k, type, str_of(i < k->n_words ? k->words[i] : NULL), each, ctx);
		}
	}
	return r;
}

bool kubectl_names_one(struct kubectl *k, struct str *ret)
{
	size_t n = k->n_words;
	bool is_joined = n == 1 && strchr(k->words[0], '/');
	bool is_pair = n == 2 && !strpbrk(k->words[0], "/,") && !strchr(k->words[1], '/');
	*ret = is_joined ? str_of(k->words[0]) : is_pair ? arena_printf(&k->arena, "%s/%s", k->words[0], k->words[1]) : STR("");
	return is_joined || is_pair;
}

int kubectl_get(struct kubectl *k)
{
	int r = rest_get(k->client, &k->target, &k->answer);
	if (r) {
		return kubectl_refused(k, r, &k->answer);
	}
	k->object = k->answer.body;
	return 0;
}

struct str kubectl_type_name(struct kubectl *k, const struct api_resource *type)
{
	struct str name = type->singular.n ? type->singular : type->resource.plural;
	struct str group = type->resource.group;
	return arena_printf(&k->arena, STR_FMT "%s" STR_FMT, STR_ARG(name), group.n ? "." : "", STR_ARG(group));
}

struct str kubectl_name(struct kubectl *k)
{
	return arena_printf(&k->arena, STR_FMT "/" STR_FMT, STR_ARG(kubectl_type_name(k, k->type)), STR_ARG(k->target.name));
}
