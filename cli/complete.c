/* Completes command lines of `annals`, and prints the scripts by which shells ask for that. Everything comes from the
 * tables by which commands parse: names, flags, the values that a value's name lists, and whether it is a file. The
 * plugin itself completes the words behind `annals kubectl`. */
#include "cli/complete.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/kubectl/complete_plan.h"

#include <stdio.h>

struct completing {
	char *const *words; /* words[0] is the subcommand */
	size_t n;
	struct offers offers;
};

static void offer(struct completing *c, const char *text, const char *meaning)
{
	offers_add(&c->offers, str_of(c->words[c->n - 1]), str_of(text), str_of(meaning));
}

static void offer_commands(struct completing *c)
{
	for (size_t i = 0; commands[i]; i++) {
		offer(c, commands[i]->name, commands[i]->summary);
	}
}

static void offer_what_follows(void *ctx, const struct command *command, const struct option *options)
{
	struct completing *c = ctx;
	struct complete_plan plan;
	complete_plan_make(&plan, options, c->words, c->n);
	if (plan.what == COMPLETE_FLAGS) {
		offers_add_flags(&c->offers, plan.prefix, options);
	} else if (plan.what == COMPLETE_VALUES) {
		offers_add_values(&c->offers, plan.prefix, plan.flag);
	} else if (command == &command_completion && c->n == 2) {
		for (const struct embedded_text *t = completion_scripts; t->name; t++) {
			offer(c, t->name, NULL);
		}
	} else if (str_starts(str_of(command->usage), STR("FILE"))) {
		c->offers.directive = DIRECTIVE_FILES;
	}
}

static void complete_annals(struct completing *c)
{
	const struct command *command = commands_find(str_of(c->words[0]));
	if (c->n == 1) {
		offer_commands(c);
		offer(c, "help", "explains a command");
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
	struct completing c = {.words = argv + 1, .n = argc > 1 ? (size_t)argc - 1 : 0};
	offers_init(&c.offers);
	if (c.n > 0) {
		complete_annals(&c);
	}
	offers_print(&c.offers);
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
