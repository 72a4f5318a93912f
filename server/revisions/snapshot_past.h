/* The states that a controller has, as a Snapshot sees them. */
#ifndef SERVER_REVISIONS_SNAPSHOT_PAST_H
#define SERVER_REVISIONS_SNAPSHOT_PAST_H

#include "server/request/request.h"
#include "server/revisions/snapshot_plan.h"

enum {
	/* Revisions of one history: etcd checks the guard of each; a Snapshot beyond it gets 409. */
	HISTORY_LENGTH_MAX = 2000,
};

/* The history of a controller as one snapshot of the cache shows it. The transaction is guarded by its revision. */
struct snapshot_history {
	struct cache_snapshot *seen;  /* keeps what `past` points to: ctx is its struct cached */
	int64_t revision;             /* as of when */
	struct owner_reference other; /* the controller of a revision with the owner's uid, if that names another object */
	struct snapshot_past *past;
	size_t n;
	bool is_blind; /* nobody knows which revisions are in use, and there are more than the limit */
};

struct snapshot_asked {
	const struct kind *revisions;
	const struct owner_reference *owner;
	const struct json *live; /* names of revisions that the client says are in use; NULL: it says nothing */
	bool is_recorded;        /* the owner is a History */
	size_t limit;            /* with more revisions something may be trimmed */
};

/* Reads the revisions of the request's namespace whose controller has the uid of the owner into the arena. Only where there are
 * more than the limit does it ask which of them something needs. Returns 1 with q->st where there are too many, or some are
 * stored in versions that are unknown here. It may read again. */
int snapshot_history_read(
	struct request *q, struct snapshot_history *h, const struct snapshot_asked *asked, struct arena *scratch);
void snapshot_history_done(struct snapshot_history *h);

#endif
