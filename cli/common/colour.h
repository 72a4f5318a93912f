/* Whether what is printed has colours: on terminals alone, and as the user says. */
#ifndef CLI_COMMON_COLOUR_H
#define CLI_COMMON_COLOUR_H

#include "base/options.h"

#include <stdio.h>

/* The row of a command's table; the target is a const char * that begins as COLOUR_AUTO. */
#define COLOUR_AUTO "auto"
#define COLOUR_FLAG(target)                                                                                              \
	{                                                                                                                \
		"color", OPTION_STRING, target, "auto|always|never",                                                     \
			"Whether to print colours. auto: on a terminal, unless $NO_COLOR is set or $TERM is dumb.", 0, 0 \
	}

/* 0, or -EINVAL with a sentence in err. */
int colour_check(const char *mode, struct buf *err);
bool colour_is_wanted(const char *mode, FILE *out);

/* What a terminal makes of them (ECMA-48, SGR). */
#define COLOUR_RED "\033[31m"
#define COLOUR_GREEN "\033[32m"
#define COLOUR_YELLOW "\033[33m"
#define COLOUR_CYAN "\033[36m"
#define COLOUR_BOLD "\033[1m"
#define COLOUR_END "\033[0m"

#endif
