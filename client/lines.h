/* Cuts a stream into lines, each with a ceiling: how a watch's events come. */
#ifndef CLIENT_LINES_H
#define CLIENT_LINES_H

#include "base/buf.h"

struct lines {
	struct buf rest; /* of a line whose end has not come */
};

void lines_init(struct lines *l, size_t longest);
void lines_done(struct lines *l);
void lines_clear(struct lines *l); /* a new stream begins */
/* Calls each() for every line that ends in these bytes, without its end; empty lines are skipped. False: a line is too long, or each() said
 * so; the stream is of no more use. */
bool lines_feed(struct lines *l, struct str bytes, bool (*each)(void *ctx, struct str line), void *ctx);

#endif
