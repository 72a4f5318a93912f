/* The scripts are the same for every version: what they offer, they ask the program each time. */
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/complete.h"

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

static int run(const struct command *command, int argc, char **argv)
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
	.run = run,
};
