/* The history of a controller as the cache has it: what a snapshot's plan is made of. */
#ifndef SERVER_VERBS_SNAPSHOT_HISTORY_H
#define SERVER_VERBS_SNAPSHOT_HISTORY_H

#include "server/request/request.h"
#include "server/verbs/snapshot_plan.h"

enum { HISTORY_LENGTH_MAX = 2000 };

struct snapshot_history {
	struct cache_snapshot *seen; /* keeps what `past` points to: ctx is its struct cached */
	int64_t revision;            /* as of when */
	struct snapshot_past *past;
	size_t n;
};

/* The revisions of the request's namespace whose controller has that uid, in `a`, as far as they are to be known for a limit. 0; or 1 with q->st:
 * there are too many, or some in versions that are not known here. history_done() lets go of it; it may be read again. */
int snapshot_history_read(struct snapshot_history *h, struct request *q, const struct kind *revisions, struct str owner,
	size_t limit, struct arena *a);
void snapshot_history_done(struct snapshot_history *h);

#endif
