/* How far a long command has come: one line on standard error that is drawn again and again, where that is a terminal; else nothing. */
#ifndef CLI_COMMON_PROGRESS_H
#define CLI_COMMON_PROGRESS_H

#include "base/buf.h"

struct progress {
	const char *verb, *unit; /* "exported", "objects" */
	uint64_t done, total;    /* total 0: nobody knows */
	/* private */
	bool is_shown, has_drawn;
	int64_t began_ms, next_ms;
};

void progress_init(struct progress *p, const char *verb, const char *unit, uint64_t total);
void progress_add(struct progress *p, uint64_t n);
/* Takes the line away, so that what is printed next stands at the beginning of one. Any number of times. */
void progress_clear(struct progress *p);

/* What the line says, without control characters: "exported 1,200 of 4,000 objects (30%), 400/s, 7s left". */
void progress_write(const struct progress *p, int64_t elapsed_ms, struct buf *out);

#endif
