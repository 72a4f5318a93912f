/* One program for all parts, so that they are always of one version. mem_init() comes first,
 * before any thread has made an arena of malloc's. */
#include "cli/common/command.h"

#include <stdio.h>

static const struct command *const commands[] = {&command_up, &command_serve, &command_controllers, &command_certs,
	&command_doctor, &command_fsck, &command_kubectl, &command_version};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0) {
			return commands[i];
		}
	}
	return NULL;
}

static void print_overview(FILE *out)
{
	fputs("annals keeps the immutable revisions of Kubernetes objects, and objects while they are in use, in etcd.\n\n"
	      "usage: annals COMMAND [flags]\n\n",
		out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		fprintf(out, "  %-11s  %s\n", commands[i]->name, commands[i]->summary);
	}
	fputs("  help         explains a command: annals help up\n", out);
}

static int refuse_command(const char *name)
{
	fprintf(stderr, "annals: there is no command %s. See annals help.\n", name);
	return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
	if (argc < 2) {
		print_overview(stdout);
		return EXIT_OK;
	}
	const struct command *command = find_command(argv[1]);
	if (!command) {
		return refuse_command(argv[1]);
	}
	char *arguments[] = {argv[1], (char[]){"--help"}, NULL};
	return command->run(command, 2, arguments);
}

static bool is_help(const char *name)
{
	return strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
}

/* kubectl finds plugins, and what completes their command lines, by their names: both are this program under another one. */
static const struct command *find_plugin(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	if (strcmp(name, "kubectl-annals") == 0) {
		return &command_kubectl;
	}
	return strcmp(name, "kubectl_complete-annals") == 0 ? &command_kubectl_complete : NULL;
}

int main(int argc, char **argv)
{
	mem_init();
	const struct command *plugin = argc > 0 ? find_plugin(argv[0]) : NULL;
	if (plugin) {
		return plugin->run(plugin, argc, argv);
	}
	if (argc < 2) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (is_help(argv[1])) {
		return help(argc - 1, argv + 1);
	}
	const struct command *command = find_command(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
	return command ? command->run(command, argc - 1, argv + 1) : refuse_command(argv[1]);
}
