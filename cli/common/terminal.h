/* The user's terminal: a line of progress, colours, and the keyboard. */
#ifndef CLI_COMMON_TERMINAL_H
#define CLI_COMMON_TERMINAL_H

#include "base/base.h"
#include "base/buf.h"
#include "base/options.h"

#include <stdio.h>

/* How far a long command has come: one line that is drawn again and again, if standard error is a terminal. */
struct progress {
	const char *verb, *unit; /* "exported", "objects" */
	uint64_t done, total;    /* total 0: unknown */
	/* private */
	bool is_shown, has_drawn;
	int64_t began_ms, next_ms;
};

void progress_init(struct progress *p, const char *verb, const char *unit, uint64_t total);
void progress_add(struct progress *p, uint64_t n);
/* Removes the line, so that the next text begins at the left. It may be called any number of times. */
void progress_clear(struct progress *p);

/* The text of the line, without control characters: "exported 1,200 of 4,000 objects (30%), 400/s, 7s left". */
void progress_write(const struct progress *p, int64_t elapsed_ms, struct buf *out);

/* ---- colours ---- */

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

/* Escape sequences (ECMA-48, SGR). */
#define COLOUR_RED "\033[31m"
#define COLOUR_GREEN "\033[32m"
#define COLOUR_YELLOW "\033[33m"
#define COLOUR_CYAN "\033[36m"
#define COLOUR_BOLD "\033[1m"
#define COLOUR_END "\033[0m"

/* ---- the keyboard, for programs that serve until they are stopped, and react to Enter ---- */

/* Standard input is a terminal, and this process is in its foreground. A process in the background that reads it is
 * stopped. */
bool keyboard_is_ours(void);
/* Reads a line once poll(2) reports one. Returns false if no more will come, or if this process
 * is in the background. */
bool keyboard_read(bool *ret_is_enter);

#endif
