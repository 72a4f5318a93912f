/* One program contains all parts, so they always have the same version. mem_init() comes first,
 * before any thread has created an arena of malloc's. */
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/complete.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void print_overview(FILE *out)
{
	fputs("annals: revision history and in-use protection for Kubernetes objects, in its own etcd.\n\n"
	      "usage: annals COMMAND [flags]\n\n",
		out);
	for (size_t i = 0; commands[i]; i++) {
		fprintf(out, "  %-11s  %s\n", commands[i]->name, commands[i]->summary);
	}
	fputs("  help         explains a command: annals help up\n", out);
}

static int refuse_command(const char *name)
{
	struct suggestions near;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 4096);
	suggestions_init(&near, str_of(name));
	for (size_t i = 0; commands[i]; i++) {
		suggestions_offer(&near, str_of(commands[i]->name));
	}
	buf_printf(&text, "annals: there is no command %.200s", name);
	suggestions_write(&near, "", &text);
	buf_printf(&text, "%s See annals help.\n", near.n ? "" : ".");
	command_print(stderr, buf_str(&text));
	return EXIT_USAGE;
}

static int print_description(void)
{
	struct buf text;
	buf_init(&text, COMMANDS_DESCRIPTION_MAX);
	commands_describe(&text);
	bool is_printed = !text.is_over && fwrite(text.p, 1, text.n, stdout) == text.n && fflush(stdout) == 0;
	buf_done(&text);
	return is_printed ? EXIT_OK : EXIT_FAILED;
}

static int help(int argc, char **argv)
{
	if (argc < 2) {
		print_overview(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--output=json") == 0) {
		return print_description();
	}
	const struct command *command = commands_find(str_of(argv[1]));
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

/* kubectl finds a plugin, and the program that completes its command lines, by their names. Both are this program under
 * another name. */
static const struct command *find_plugin(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	if (strcmp(name, "kubectl-annals") == 0) {
		return &command_kubectl;
	}
	return strcmp(name, "kubectl_complete-annals") == 0 ? &command_kubectl_complete : NULL;
}

static int complete(const struct command *plugin, int argc, char **argv)
{
	return plugin ? command_kubectl_complete.run(&command_kubectl_complete, argc - 1, argv + 1)
		      : complete_words(argc - 1, argv + 1);
}

/* If a standard file is closed, the next file to be opened gets its number. Then printed text would go to an etcd or to a
 * client. */
static void open_standard_files(void)
{
	int fd;
	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0) {
		close(fd);
	}
}

int main(int argc, char **argv)
{
	mem_init();
	open_standard_files();
	const struct command *plugin = argc > 0 ? find_plugin(argv[0]) : NULL;
	if (argc > 1 && strcmp(argv[1], COMPLETE_COMMAND) == 0 && plugin != &command_kubectl_complete) {
		return complete(plugin, argc, argv);
	}
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
	const struct command *command = commands_find(str_of(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]));
	return command ? command->run(command, argc - 1, argv + 1) : refuse_command(argv[1]);
}
