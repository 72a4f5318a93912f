/* Output is gathered and printed only when the command has succeeded, so an error never follows
 * half a table. Only what follows the server without end is printed as it comes. */
#include "cli/kubectl/kubectl.h"

#include "base/suggest.h"
#include "cli/common/command.h"

#include <stdlib.h>

const struct kubectl_command *const kubectl_commands[] = {&kubectl_log, &kubectl_history, &kubectl_show, &kubectl_diff,
	&kubectl_undo, &kubectl_restore, &kubectl_who_uses, &kubectl_migrations, &kubectl_ui, NULL};

const struct kubectl_command *kubectl_find_command(struct str name)
{
	for (size_t i = 0; kubectl_commands[i]; i++) {
		if (str_is(name, kubectl_commands[i]->name)) {
			return kubectl_commands[i];
		}
	}
	return NULL;
}

/* ---- words ---- */

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
	command_add_help(&text,
		&(struct command_help){.program = "kubectl annals",
			.name = c->name,
			.usage = c->usage,
			.description = c->description,
			.examples = c->examples},
		options);
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

/* TYPE/NAME or TYPE NAME, as kubectl takes both. False: too many, or one that is needed is not there. */
static bool read_name(struct kubectl *k, const struct kubectl_command *c, int n, char **words, struct str *ret)
{
	bool is_pair = n == 2 && !strchr(words[0], '/') && !strchr(words[1], '/');
	*ret = is_pair ? arena_printf(&k->arena, "%s/%s", words[0], words[1]) : str_of(n == 1 ? words[0] : NULL);
	return c->words == WORDS_NONE ? n == 0 : ret->n > 0 || (n == 0 && c->words == WORDS_OBJECT_OR_NONE);
}

/* -1: go on; else what to end with. */
static int parse_flags(struct kubectl *k, const struct kubectl_command *c, int argc, char **argv, struct str *ret_name)
{
	struct option options[KUBECTL_FLAGS_MAX];
	int n_words;
	kubectl_flags(k, c, options);
	if (wants_help(argc, argv)) {
		return print_help(c, options);
	}
	if (options_parse(options, argc, argv, &n_words, &k->err) < 0) {
		return misuse(c, &k->err);
	}
	if (!read_name(k, c, n_words, argv + 1, ret_name)) {
		kubectl_fail(k,
			c->words == WORDS_NONE ? "it is about no object: give flags alone" : "give one object, as TYPE/NAME");
		return misuse(c, &k->err);
	}
	return kubectl_check_flags(k, c) ? misuse(c, &k->err) : -1;
}

/* ---- a command ---- */

static int fail(const struct kubectl *k)
{
	bool is_from_server = str_starts(buf_str(&k->err), STR("from server"));
	command_print(stderr, buf_str(&k->notes));
	fputs(is_from_server ? "Error " : "error: ", stderr);
	command_print(stderr, buf_str(&k->err));
	fputc('\n', stderr);
	return EXIT_FAILED;
}

static bool print_result(const struct kubectl *k)
{
	bool is_printed =
		k->is_diff ? kubectl_write_diff(k, stdout, buf_str(&k->out)) : command_print(stdout, buf_str(&k->out));
	return is_printed && fflush(stdout) == 0;
}

static int work(struct kubectl *k, const struct kubectl_command *c, struct str name)
{
	if (kubectl_connect(k) || (name.n && kubectl_find(k, name, c->words)) || c->run(k)) {
		return fail(k);
	}
	command_print(stderr, buf_str(&k->notes));
	buf_clear(&k->notes);
	if (k->out.is_over || !print_result(k)) {
		kubectl_fail(k, "cannot print the result");
		return fail(k);
	}
	return EXIT_OK;
}

static int run_command(const struct kubectl_command *c, int argc, char **argv)
{
	struct kubectl k;
	struct str name;
	kubectl_init(&k);
	int r = parse_flags(&k, c, argc, argv, &name);
	r = r >= 0 ? r : work(&k, c, name);
	kubectl_done(&k);
	return r;
}

static void print_overview(FILE *out)
{
	fputs("kubectl annals shows changes of objects, undoes them, and says what keeps an object.\n\n"
	      "usage: kubectl annals COMMAND [TYPE/NAME] [flags]\n\n",
		out);
	for (size_t i = 0; kubectl_commands[i]; i++) {
		fprintf(out, "  %-9s  %s\n", kubectl_commands[i]->name, kubectl_commands[i]->summary);
	}
	fputs("\nkubectl annals COMMAND --help explains a command.\n", out);
}

static int refuse_command(const char *name)
{
	struct suggestions near;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 4096);
	suggestions_init(&near, str_of(name));
	for (size_t i = 0; kubectl_commands[i]; i++) {
		suggestions_offer(&near, str_of(kubectl_commands[i]->name));
	}
	buf_printf(&text, "error: there is no command %.200s", name);
	suggestions_write(&near, "", &text);
	buf_printf(&text, "%s See kubectl annals help.\n", near.n ? "" : ".");
	command_print(stderr, buf_str(&text));
	return EXIT_USAGE;
}

static int run(const struct command *command _unused_, int argc, char **argv)
{
	if (argc < 2 || is_help(argv[1])) {
		print_overview(argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	const struct kubectl_command *c = kubectl_find_command(str_of(argv[1]));
	if (c) {
		return run_command(c, argc - 1, argv + 1);
	}
	return refuse_command(argv[1]);
}

const struct command command_kubectl = {
	.name = "kubectl",
	.usage = "COMMAND [TYPE/NAME] [flags]",
	.summary = "the kubectl plugin (kubectl annals): log, history, show, diff, undo, restore, who-uses, migrations, ui",
	.description = "",
	.run = run,
};
