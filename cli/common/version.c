/* Two versions are named because clients care about the second: which Kubernetes' behaviour this
 * is. */
#include "cli/common/command.h"

#include <stdio.h>

static int run(const struct command *command, int argc, char **argv)
{
	const struct option none[] = {{.name = NULL}};
	int r = command_parse(command, none, argc, argv, NULL, NULL);
	if (r >= 0) {
		return r;
	}
	puts("annals " ANNALS_VERSION " (API of Kubernetes " KUBE_VERSION ")");
	return EXIT_OK;
}

const struct command command_version = {
	.name = "version",
	.usage = "",
	.summary = "prints the version",
	.description = "Prints the version of annals and of the Kubernetes API it follows.",
	.run = run,
};
