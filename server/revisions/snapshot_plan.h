/* Pure decisions of a Snapshot: its effect on the history of its controller, and on the status of a History.
 *
 * The newest revision that holds the state stays, or becomes the newest by the next number, or there is none and a new one is made. The revision
 * that holds the state afterwards is the current one. Of the others, those that nothing needs are trimmed down to the limit, the oldest
 * first. */
#ifndef SERVER_VERBS_SNAPSHOT_PLAN_H
#define SERVER_VERBS_SNAPSHOT_PLAN_H

#include "api/diff/keep.h"
#include "api/model/kind.h"
#include "server/revisions/gap.h"

struct snapshot_past {
	struct str name, digest;
	int64_t number, create_revision; /* the order of history: by number, then by birth */
	bool is_live;                    /* something needs it: it is not trimmed, nor counted */
	bool is_deleting;
	int64_t time_s;  /* of the change that led to it; for keeping, as the next two */
	struct str user; /* who made that; empty: not known */
	size_t bytes;    /* as it is stored */
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

/* How long the states are kept, if not by the limit alone; and what is known of the state that a Snapshot brings. */
struct snapshot_keeping {
	struct keep_rules rules;
	int64_t now_s;
	int64_t time_s;
	struct str user;
	size_t bytes;
};

/* Sorts `past`, the oldest first. keeping: takes the place of the limit; NULL: none. 0, or a refusal. */
int snapshot_plan(struct snapshot_plan *ret, struct snapshot_past *past, size_t n, struct str digest, size_t limit,
	const struct snapshot_keeping *keeping, struct arena *a);
/* Sorts `past`, of which there is at least one, and returns the newest. */
const struct snapshot_past *snapshot_newest(struct snapshot_past *past, size_t n);
/* Plans which states go if no other comes: the newest is the target. past: sorted. keeping: has the bytes of the newest. */
void snapshot_plan_trim(struct snapshot_plan *ret, const struct snapshot_past *past, size_t n,
	const struct snapshot_keeping *keeping, struct arena *a);
/* The numbers that are left after the first n_trims of the trimmed, as ranges: 1,17-60. */
struct str snapshot_numbers(
	const struct snapshot_plan *p, const struct snapshot_past *past, size_t n, size_t n_trims, struct arena *a);
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
	struct str kept;   /* their numbers; empty: the oldest went first, so nobody needs to say */
	int64_t bytes;     /* of all of them */
};

/* status: of the History as it is. change: spec.change of the Snapshot. user: who made the change, where that is certain. authors: of the gap before it, if states were skipped; it is the server's and not the client's. The new status, in normal form; NULL: what is
 * stored is no status. */
struct json *snapshot_change_status(const struct kind *histories, const struct json *status, const struct json *change,
	const struct snapshot_held *held, struct str user, const struct gap_authors *authors, struct arena *a);
/* The same after a trim, which is no change: only the revisions are counted anew. */
struct json *snapshot_trim_status(
	const struct kind *histories, const struct json *status, const struct snapshot_held *held, struct arena *a);

#endif
