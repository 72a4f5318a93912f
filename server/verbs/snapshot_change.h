/* What a Snapshot's change makes of the status of the History that owns the state: a pure decision.
 *
 * status.changes keeps the last CHANGES_MAX changes, and of these only as many of the newest as have CHANGES_BYTES_MAX as JSON; the newest stays
 * whatever its size. totalChanges counts all there ever were. */
#ifndef SERVER_VERBS_SNAPSHOT_CHANGE_H
#define SERVER_VERBS_SNAPSHOT_CHANGE_H

#include "api/model/kind.h"

enum { CHANGES_MAX = 50, CHANGES_BYTES_MAX = 64 << 10 };

/* What became of the state. Of a deletion, nothing. */
struct snapshot_held {
	struct str name, digest; /* of the revision that holds it */
	int64_t number;
	int64_t revisions; /* how many there are afterwards */
};

/* status: of the History as it is. change: spec.change of the Snapshot. user: who made the change, where that is certain. The new status, in normal form; NULL: what is
 * stored is no status. */
struct json *snapshot_change_status(const struct kind *histories, const struct json *status, const struct json *change,
	const struct snapshot_held *held, struct str user, struct arena *a);

#endif
