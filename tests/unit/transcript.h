/* Decisions as transcripts: one plain file has what is asked and all that is answered, block by block.
 *
 *     == missing_pod__of_the_lowest_ordinal_is_made_first
 *     # Comments stay as they are.
 *     > delete 0
 *     > pass
 *     +web-0 =status
 *
 * Each "> " is a step. The lines behind it, up to an empty line or the next step, are what it must print. Each block is a test of its
 * own, by its name. With UPDATE_TRANSCRIPTS=1 the file is rewritten with what the steps print now: the difference in git is to be read. */
#ifndef TESTS_UNIT_TRANSCRIPT_H
#define TESTS_UNIT_TRANSCRIPT_H

#include "base/buf.h"

struct transcript {
	const char *file;                                           /* tests/unit/transcripts/NAME.txt */
	void *(*begin)(void);                                       /* of a block; the rest get what it returns */
	void (*step)(void *ctx, struct str input, struct buf *out); /* prints lines, each with its end */
	void (*end)(void *ctx);
};

/* How many blocks failed, as main() returns it. */
int transcript_run(const struct transcript *t);

/* The next word of a step's input; empty: there is none. */
struct str transcript_word(struct str *rest);

#endif
