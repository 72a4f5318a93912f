/* Output is gathered and printed only when the command has succeeded, so an error never follows
 * half a table. Flags and kubeconfigs mean what they mean to kubectl, as the commands are used
 * as its plugin. */
#include "cli/kubectl/kubectl.h"

#include "cli/common/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ARENA_MAX = 256 << 20 };

static const struct kubectl_command *const commands[] = {&kubectl_history, &kubectl_diff, &kubectl_undo, &kubectl_who_uses};

/* ---- connecting ---- */

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

static int connect_client(struct kubectl *k)
{
	_cleanup_(mem_freep) char *path = find_kubeconfig(k);
	struct client_config config = {0};
	bool is_in_pod = !k->kubeconfig && access(path, F_OK) != 0 && client_config_is_in_pod();
	int r = is_in_pod ? client_config_load_pod(&config, POD_FOLDER, &k->err)
			  : client_config_load(&config, path, k->context, &k->err);
	r = r ? r : client_new(&k->client, &config, &k->err);
	k->config_ns = mem_strdup(config.namespace && *config.namespace ? config.namespace : "default");
	client_config_done(&config);
	if (r) {
		return -1;
	}
	k->ns = k->ns ? k->ns : k->config_ns;
	int error = discovery_fetch(k->client, &k->discovery, &k->answer);
	return error ? kubectl_refused(k, error, &k->answer) : 0;
}

/* ---- flags ---- */

static bool takes(const struct kubectl_command *c, const char *flag)
{
	struct str rest = str_of(c->flags), name;
	while (rest.n > 0) {
		str_cut(rest, ',', &name, &rest);
		if (str_is(name, flag)) {
			return true;
		}
	}
	return false;
}

enum { FLAGS_MAX = 11 };

static void make_flags(struct kubectl *k, const struct kubectl_command *c, struct option ret[FLAGS_MAX + 1])
{
	const struct option all[FLAGS_MAX] = {
		FLAG("namespace", OPTION_STRING, &k->ns, "NAME", "Where the object is."),
		FLAG("n", OPTION_STRING, &k->ns, "NAME", "The same."),
		FLAG("kubeconfig", OPTION_STRING, &k->kubeconfig, "FILE",
			"Where the API server is, and who we are there; $KUBECONFIG or ~/.kube/config by default."),
		FLAG("context", OPTION_STRING, &k->context, "NAME", "Which one of the kubeconfig."),
		FLAG("output", OPTION_STRING, &k->output, "FORM", "text, json or yaml."),
		FLAG("o", OPTION_STRING, &k->output, "FORM", "The same."),
		FLAG("revision", OPTION_INT, &k->revision, "N", "The one to begin at."),
		FLAG("to", OPTION_INT, &k->to, "N", "The one to end at; the newest by default."),
		FLAG("to-revision", OPTION_INT, &k->to_revision, "N",
			"The one to go back to; by default the one before the newest."),
		FLAG("dry-run", OPTION_STRING, &k->dry_run, "none|server|client",
			"server: have the server say what would be; client: say what would be asked of it."),
	};
	size_t n = 0;
	for (size_t i = 0; all[i].name; i++) {
		if (i < 6 || takes(c, all[i].name)) {
			ret[n++] = all[i];
		}
	}
	ret[n] = (struct option){0};
}

static int misuse(const struct kubectl_command *c, const struct buf *why)
{
	fputs("error: ", stderr);
	command_print(stderr, buf_str(why));
	fprintf(stderr, "\nSee kubectl annals %s --help.\n", c->name);
	return EXIT_USAGE;
}

static int print_help(const struct kubectl_command *c, const struct option *options)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 64 * 1024);
	buf_printf(&text, "usage: kubectl annals %s %s\n\n%s\n\nflags:\n", c->name, c->usage, c->description);
	options_print_help(options, &text);
	fwrite(text.p, 1, text.n, stdout);
	return EXIT_OK;
}

static bool is_help(const char *s)
{
	return strcmp(s, "--help") == 0 || strcmp(s, "-h") == 0 || strcmp(s, "help") == 0;
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (is_help(argv[i])) {
			return true;
		}
	}
	return false;
}

static bool is_one_of(const char *value, const char *a, const char *b, const char *c)
{
	return strcmp(value, a) == 0 || strcmp(value, b) == 0 || strcmp(value, c) == 0;
}

/* TYPE/NAME or TYPE NAME, as kubectl takes both. */
static struct str read_name(struct kubectl *k, int n, char **words)
{
	bool is_pair = n == 2 && !strchr(words[0], '/') && !strchr(words[1], '/');
	if (is_pair) {
		return arena_printf(&k->arena, "%s/%s", words[0], words[1]);
	}
	return str_of(n == 1 ? words[0] : NULL);
}

/* -1: go on; else what to end with. */
static int parse_flags(struct kubectl *k, const struct kubectl_command *c, int argc, char **argv, struct str *ret_name)
{
	struct option options[FLAGS_MAX + 1];
	int n_words;
	make_flags(k, c, options);
	if (wants_help(argc, argv)) {
		return print_help(c, options);
	}
	if (options_parse(options, argc, argv, &n_words, &k->err) < 0) {
		return misuse(c, &k->err);
	}
	*ret_name = read_name(k, n_words, argv + 1);
	if (ret_name->n == 0) {
		kubectl_fail(k, "give one object, as TYPE/NAME");
		return misuse(c, &k->err);
	}
	if (!is_one_of(k->output, "text", "json", "yaml")) {
		kubectl_fail(k, "--output must be text, json or yaml");
		return misuse(c, &k->err);
	}
	if (!is_one_of(k->dry_run, "none", "server", "client")) {
		kubectl_fail(k, "--dry-run must be none, server or client");
		return misuse(c, &k->err);
	}
	return -1;
}

/* ---- a command ---- */

static int fail(const struct kubectl *k)
{
	bool is_from_server = str_starts(buf_str(&k->err), STR("from server"));
	fputs(is_from_server ? "Error " : "error: ", stderr);
	command_print(stderr, buf_str(&k->err));
	fputc('\n', stderr);
	return EXIT_FAILED;
}

static int work(struct kubectl *k, const struct kubectl_command *c, struct str name)
{
	if (connect_client(k) || kubectl_find(k, name) || c->run(k)) {
		return fail(k);
	}
	bool is_printed = !k->out.is_over && command_print(stdout, buf_str(&k->out)) && fflush(stdout) == 0;
	if (!is_printed) {
		kubectl_fail(k, "cannot print the result");
	}
	return is_printed ? EXIT_OK : fail(k);
}

static int run_command(const struct kubectl_command *c, int argc, char **argv)
{
	struct kubectl k = {.output = "text", .dry_run = "none", .revision = -1, .to = -1, .to_revision = -1};
	struct str name;
	buf_init(&k.out, OUTPUT_MAX);
	buf_init(&k.err, 64 * 1024);
	arena_init(&k.arena, ARENA_MAX);
	discovery_init(&k.discovery);
	answer_init(&k.answer);
	int r = parse_flags(&k, c, argc, argv, &name);
	r = r >= 0 ? r : work(&k, c, name);
	answer_done(&k.answer);
	discovery_done(&k.discovery);
	if (k.client) {
		client_free(k.client);
	}
	mem_free(k.config_ns);
	arena_done(&k.arena);
	buf_done(&k.out);
	buf_done(&k.err);
	return r;
}

static void print_overview(FILE *out)
{
	fputs("kubectl annals shows revisions of objects, goes back to one, and says what keeps an object.\n\n"
	      "usage: kubectl annals COMMAND TYPE/NAME [flags]\n\n",
		out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		fprintf(out, "  %-9s  %s\n", commands[i]->name, commands[i]->summary);
	}
	fputs("\nkubectl annals COMMAND --help explains a command.\n", out);
}

static int run(const struct command *command _unused_, int argc, char **argv)
{
	if (argc < 2 || is_help(argv[1])) {
		print_overview(argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i]->name, argv[1]) == 0) {
			return run_command(commands[i], argc - 1, argv + 1);
		}
	}
	fprintf(stderr, "error: there is no command %s. See kubectl annals help.\n", argv[1]);
	return EXIT_USAGE;
}

const struct command command_kubectl = {
	.name = "kubectl",
	.usage = "COMMAND TYPE/NAME [flags]",
	.summary = "the kubectl plugin (kubectl annals): history, diff, undo, who-uses",
	.description = "",
	.run = run,
};
