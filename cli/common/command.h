/* A subcommand of `annals`: its row of the table of commands, how its arguments are read, and how it speaks. */
#ifndef CLI_COMMON_COMMAND_H
#define CLI_COMMON_COMMAND_H

#include "base/options.h"

#include <stdio.h>

/* The status that the process ends with. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define KUBE_VERSION "v1.36.3" /* the release whose behaviour annals has */

#define EXIT_STATUS_HELP "0\tsuccess\n1\tsomething went wrong\n2\tthe command line was wrong\n"

/* A row of a table of options, without limits for its value. */
#define FLAG(name, type, target, value, help)         \
	{                                             \
		name, type, target, value, help, 0, 0 \
	}

struct command {
	const char *name;
	const char *usage;       /* follows the name in the help: "[flags]" */
	const char *summary;     /* a line of the overview */
	const char *description; /* paragraphs, between empty lines */
	const char *examples;    /* lines: "  # what it does\n  annals ...\n"; or NULL */
	const char *files;       /* lines: "PATH\twhat it is\n"; or NULL */
	const char *exit_status; /* lines: "1\twhat it means\n"; NULL: EXIT_STATUS_HELP */
	int section;             /* section of the manual: 1 (0 counts as 1) or 8 */
	/* argv[0] is the command's name. Returns an EXIT_*. */
	int (*run)(const struct command *command, int argc, char **argv);
};

extern const struct command command_up, command_serve, command_controllers, command_certs, command_doctor, command_fsck,
	command_export, command_import, command_kubectl, command_kubectl_complete, command_version;

/* The text that `annals help COMMAND` prints. */
struct command_help {
	const char *program, *name, *usage, *description, *examples, *exit_status;
};
void command_add_help(struct buf *out, const struct command_help *help, const struct option *options);

/* Reads flags, and refuses positional arguments. Then check, unless it is NULL, says in err which flags do not go
 * together. Returns -1: go on; else the EXIT_* to end with, and the reason has been printed. */
int command_parse(const struct command *command, const struct option *options, int argc, char **argv,
	int (*check)(void *flags, struct buf *err), void *flags);
/* The same for a command that takes one argument without dashes, a file. *ret_file: NULL if none was given. It is set
 * before check is called. */
int command_parse_file(const struct command *command, const struct option *options, int argc, char **argv,
	int (*check)(void *flags, struct buf *err), void *flags, const char **ret_file);
/* Calls use with the table of flags that the command parses, with all defaults in place. */
void command_table(
	const struct command *command, void (*use)(void *ctx, const struct command *, const struct option *), void *ctx);
/* Prints text that may come from objects, servers or files: no control character in it reaches a
 * terminal (base/visible.h). Returns false if it could not be written. */
bool command_print(FILE *out, struct str text);
/* Says why a command cannot go on, and returns EXIT_FAILED or EXIT_USAGE. */
int command_fail(const struct command *command, const struct buf *err);
int command_misuse(const struct command *command, const struct buf *err);
/* Appends a sentence about a flag; -EINVAL. */
int command_refuse(struct buf *err, const char *format, ...) _printf_(2, 3);

#endif
