/* Cuts a stream into lines, such as a watch's events. Each line has a maximum length. */
#ifndef CLIENT_LINES_H
#define CLIENT_LINES_H

#include "base/buf.h"

struct lines {
	struct buf rest; /* the beginning of a line whose end has not arrived */
};

void lines_init(struct lines *l, size_t longest);
void lines_done(struct lines *l);
void lines_clear(struct lines *l); /* a new stream begins */
/* Calls each() for every line that ends in these bytes, without its newline; empty lines are
 * skipped. Returns false when a line is too long or each() returned false; the stream cannot be
 * used any more. */
bool lines_feed(struct lines *l, struct str bytes, bool (*each)(void *ctx, struct str line), void *ctx);

#endif
