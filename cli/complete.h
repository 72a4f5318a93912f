/* Completion of command lines by shells: `annals completion SHELL` prints the shell's set-up, which asks `annals __complete`
 * at each key. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "base/str.h"

#define COMPLETE_COMMAND "__complete"

/* A shell's script, which is in the program itself (tools/embed-text.py). */
struct embedded_text {
	const char *name; /* "bash" */
	const char *text;
};
extern const struct embedded_text completion_scripts[]; /* the last row has no name */

/* Completes a command line: argv[1] and the following are its words behind the program's name, and the last one is
 * unfinished. Prints what may follow, as cli/kubectl/complete_plan.h has it. */
int complete_words(int argc, char **argv);

#endif
