/* Pure decisions of a Snapshot: its effect on the history of its controller, and on the status of a History.
 *
 * The newest revision that holds the state stays, or becomes the newest by the next number, or there is none and a new one is made. The revision
 * that holds the state afterwards is the current one. Of the others, those that nothing needs are trimmed down to the limit, the oldest
 * first. */
#ifndef SERVER_VERBS_SNAPSHOT_PLAN_H
#define SERVER_VERBS_SNAPSHOT_PLAN_H

#include "api/model/kind.h"
#include "server/revisions/gap.h"

struct snapshot_past {
	struct str name, digest;
	int64_t number, create_revision; /* the order of history: by number, then by birth */
	bool is_live;                    /* something needs it: it is not trimmed, nor counted */
	bool is_deleting;
	const void *ctx; /* the caller's */
};

enum snapshot_result { SNAPSHOT_UNCHANGED, SNAPSHOT_ROLLED_BACK, SNAPSHOT_CREATED };

enum snapshot_refusal {
	SNAPSHOT_IS_GOING = 1, /* plan.target holds the state and is being deleted */
	SNAPSHOT_NO_NUMBER,    /* there is no higher number */
};

struct snapshot_plan {
	enum snapshot_result result;
	const struct snapshot_past *target; /* holds the state; NULL: is to be created */
	int64_t number;                     /* of what holds the state, afterwards */
	const struct snapshot_past **trimmed;
	size_t n_trimmed;
};

/* Sorts `past`, the oldest first. 0, or a refusal. */
int snapshot_plan(
	struct snapshot_plan *ret, struct snapshot_past *past, size_t n, struct str digest, size_t limit, struct arena *a);
const char *snapshot_result_name(enum snapshot_result r);

/* ---- the status of a History ----
 *
 * What a Snapshot's change makes of the status of the History that owns the state. */

/* status.changes keeps the last CHANGES_MAX changes, and of these as many of the newest as fit into CHANGES_BYTES_MAX as JSON. The
 * newest stays whatever its size. totalChanges counts all there ever were. */
enum { CHANGES_MAX = 50, CHANGES_BYTES_MAX = 64 << 10 };

/* The place that the state got in the history. A deletion has none. */
struct snapshot_held {
	struct str name;   /* of the revision that holds it; empty: the one before holds it, in another API version */
	struct str digest; /* of the state */
	int64_t number;
	int64_t revisions; /* how many there are afterwards */
};

/* status: of the History as it is. change: spec.change of the Snapshot. user: who made the change, where that is certain. authors: of the gap before it, if states were skipped; it is the server's and not the client's. The new status, in normal form; NULL: what is
 * stored is no status. */
struct json *snapshot_change_status(const struct kind *histories, const struct json *status, const struct json *change,
	const struct snapshot_held *held, struct str user, const struct gap_authors *authors, struct arena *a);

#endif
