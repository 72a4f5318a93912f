/* Completes command lines of `annals`, and prints the scripts by which shells ask for that. Everything comes from the
 * tables by which commands parse: names, flags, the values that a value's name lists, and whether it is a file. The
 * plugin itself completes the words behind `annals kubectl`. */
#include "cli/complete.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/kubectl/complete_plan.h"

#include <stdio.h>

/* cobra's ShellCompDirective; and its letter for directories. */
enum { DIRECTIVE_FILES = 0, DIRECTIVE_NO_FILES = 4, DIRECTIVE_DIRECTORIES = 16 };

enum { OFFERS_MAX = 256 * 1024 };

struct completing {
	char *const *words; /* the first is the command */
	size_t n;
	struct str prefix;
	struct buf out;
	int directive;
};

static void offer(struct completing *c, const char *dashes, struct str text, struct str meaning)
{
	_cleanup_(buf_done) struct buf whole;
	buf_init(&whole, 4096);
	buf_adds(&whole, dashes);
	buf_add_str(&whole, text);
	if (str_starts(buf_str(&whole), c->prefix)) {
		buf_printf(
			&c->out, STR_FMT "%s" STR_FMT "\n", STR_ARG(buf_str(&whole)), meaning.n ? "\t" : "", STR_ARG(meaning));
	}
}

static void offer_commands(struct completing *c)
{
	for (size_t i = 0; commands[i]; i++) {
		offer(c, "", str_of(commands[i]->name), str_of(commands[i]->summary));
	}
}

static void offer_shells(struct completing *c)
{
	for (const struct embedded_text *t = completion_scripts; t->name; t++) {
		offer(c, "", str_of(t->name), STR(""));
	}
}

/* A shell's menu has one line for each flag. */
static struct str first_sentence(const char *help)
{
	const char *stop = strstr(help, ". ");
	return stop ? (struct str){help, (size_t)(stop - help) + 1} : str_of(help);
}

static void offer_flags(struct completing *c, const struct option *options)
{
	struct option_entry e = {0};
	while (options_next(options, &e)) {
		offer(c, "--", str_of(e.option->name), first_sentence(e.option->help));
		if (e.short_name) {
			offer(c, "-", str_of(e.short_name), first_sentence(e.option->help));
		}
	}
	offer(c, "--", STR("help"), STR("Explain the command."));
}

static void offer_values(struct completing *c, const struct option *o)
{
	struct str name, rest = str_of(o->type == OPTION_BOOL ? "true|false" : o->value_name);
	if (str_is(rest, "FILE") || str_is(rest, "PATH")) {
		c->directive = DIRECTIVE_FILES;
	} else if (str_is(rest, "DIR")) {
		c->directive = DIRECTIVE_DIRECTORIES;
	} else if (str_contains(rest, STR("|"))) {
		while (rest.n > 0) {
			str_cut(rest, '|', &name, &rest);
			offer(c, "", name, STR(""));
		}
	}
}

static void offer_what_follows(void *ctx, const struct command *command, const struct option *options)
{
	struct completing *c = ctx;
	struct complete_plan plan;
	complete_plan_make(&plan, options, c->words, c->n);
	c->prefix = plan.prefix;
	if (plan.what == COMPLETE_FLAGS) {
		offer_flags(c, options);
	} else if (plan.what == COMPLETE_VALUES) {
		offer_values(c, plan.flag);
	} else if (command == &command_completion && c->n == 2) {
		offer_shells(c);
	} else if (str_starts(str_of(command->usage), STR("FILE"))) {
		c->directive = DIRECTIVE_FILES;
	}
}

static void complete_annals(struct completing *c)
{
	const struct command *command = commands_find(str_of(c->words[0]));
	if (c->n == 1) {
		offer_commands(c);
		offer(c, "", STR("help"), STR("explains a command"));
	} else if (command) {
		command_table(command, offer_what_follows, c);
	} else if (c->n == 2 && strcmp(c->words[0], "help") == 0) {
		offer_commands(c);
	}
}

int complete_words(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], command_kubectl.name) == 0) {
		return command_kubectl_complete.run(&command_kubectl_complete, argc - 1, argv + 1);
	}
	struct completing c = {.words = argv + 1, .n = argc > 1 ? (size_t)argc - 1 : 0, .directive = DIRECTIVE_NO_FILES};
	buf_init(&c.out, OFFERS_MAX);
	if (c.n > 0) {
		c.prefix = str_of(c.words[c.n - 1]);
		complete_annals(&c);
	}
	command_print(stdout, buf_str(&c.out));
	printf(":%d\n", c.directive);
	buf_done(&c.out);
	return EXIT_OK;
}

/* ---- annals completion ----
 *
 * The scripts are the same for every version, since they ask the program at each key. */

static int refuse_shell(const struct command *command, const char *shell)
{
	_cleanup_(buf_done) struct buf err;
	struct suggestions near;
	buf_init(&err, 4096);
	suggestions_init(&near, str_of(shell));
	buf_printf(&err, shell ? "there is no completion for %.200s" : "give a shell: bash, zsh or fish", shell);
	for (const struct embedded_text *t = completion_scripts; t->name; t++) {
		suggestions_offer(&near, str_of(t->name));
	}
	suggestions_write(&near, "", &err);
	return command_misuse(command, &err);
}

static int run_completion(const struct command *command, int argc, char **argv)
{
	const struct option none[] = {{.name = NULL}};
	const char *shell = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
	int r = command_parse(command, none, shell ? argc - 1 : argc, shell ? argv + 1 : argv, NULL, NULL);
	if (r >= 0) {
		return r;
	}
	for (const struct embedded_text *t = completion_scripts; shell && t->name; t++) {
		if (strcmp(t->name, shell) == 0) {
			bool is_printed = fputs(t->text, stdout) >= 0 && fflush(stdout) == 0;
			return is_printed ? EXIT_OK : EXIT_FAILED;
		}
	}
	return refuse_shell(command, shell);
}

const struct command command_completion = {
	.name = "completion",
	.usage = "bash|zsh|fish",
	.summary = "prints what makes a shell complete commands, flags and their values",
	.description = "Prints a script that makes a shell complete the commands of annals, their flags, and values where a\n"
		       "flag has a list of them. Behind `annals kubectl` and kubectl-annals the shell completes types, names\n"
		       "and revisions of the cluster, too.\n\n"
		       "Completion of `kubectl annals` needs no script: kubectl finds kubectl_complete-annals on $PATH.",
	.examples = "  # bash, in ~/.bashrc\n"
		    "  source <(annals completion bash)\n"
		    "  # zsh, in ~/.zshrc, behind compinit\n"
		    "  source <(annals completion zsh)\n"
		    "  # fish, once\n"
		    "  annals completion fish > ~/.config/fish/completions/annals.fish\n",
	.run = run_completion,
};
