/* Requests about revisions that are no CRUD: taking a snapshot of a state, comparing two revisions, and noting who writes.
 *
 * Each entry function is named in the table of server/verbs. All of them run on HTTP threads, and answer, or wait and
 * answer later, as every verb does. */
#ifndef SERVER_REVISIONS_REVISIONS_H
#define SERVER_REVISIONS_REVISIONS_H

#include "server/request/request.h"
#include "server/revisions/gap.h"

/* POST of a Snapshot: the history of a controller gets a state, and stays within its limit, in one etcd transaction.
 *
 * The cache's history decides what to do (server/revisions/snapshot_plan.h), and the engine of all writes does it (server/write/write.h): the
 * revision that is made or renumbered is its object, with the rules and guards of any write. Beside them the transaction is guarded by: no
 * revision has come into the history, or to another number, since the cache's revision; what is trimmed is as it was, and nothing has come
 * to refer to it. If a guard fails, the engine reads and decides again. */
void snapshot_answer(struct request *q, struct object *sent, struct str manager);

/* POST of a Recording: the server decides what each sighting changes in a History (api/diff/sighting.h), and takes a snapshot with that
 * change. Sightings are recorded one after the other, each in a transaction of its own. */
void recording_answer(struct request *q, struct object *sent, struct str manager);

/* A snapshot for requests that take several snapshots, one after the other. */
struct snapshot;
struct snapshot_order {
	struct object *sent;    /* a Snapshot of the request's namespace */
	struct str manager;     /* for managedFields */
	struct str digest;      /* digest_of() its data, if the caller has computed it; lives as long as the snapshot */
	struct arena *arena;    /* of what lives until the end of this snapshot */
	bool is_trim; /* no state comes: the rules of `keep` remove what they no longer keep, and the History says so */
	bool may_write_history; /* the user was asked about: the right to write the states of the History */
	int64_t revisions;      /* of the History, for done(): how many there are; -1: as many as before */
	int64_t bytes;          /* the same, of all of them */
	bool has_more;          /* for done(): more states are to go than one transaction can remove */
	/* Called in place of the answer: with the status that the Snapshot would get; or with q->st. Both NULL: the request is
	 * answered. */
	void (*done)(struct request *q, struct snapshot_order *order, const struct json *status);
	void (*refused)(struct request *q, struct snapshot_order *order);
};
/* The order must live as long. Made in q->a. */
struct snapshot *snapshot_prepare(struct request *q, struct snapshot_order *order);
/* q->route is that of another kind afterwards. */
void snapshot_run(struct request *q, struct snapshot *s);
struct snapshot *snapshot_release(struct snapshot *s);

/* GET .../controllerrevisions/NAME/diff?from=OTHER: what leads from the data of OTHER to that of NAME, as a JSON patch or a
 * merge patch; or how their YAML differs line by line, as hunks (api/diff/hunks.h). */
/* Which of them, by Accept: 0; or 1 with 406 in q->media_status. */
int diff_negotiate(struct request *q);
void diff_answer(struct request *q);

/* The validating webhook of Recorders: POST recorders/NAME/admission takes an AdmissionReview, notes who asks for which state of which
 * object (server/write/user_notes.h), and allows it. */
void hook_answer(struct request *q);

/* ---- the user of a change ---- */

enum { CHANGE_NOTES_MAX = 3 }; /* of one write: with the write, of the state, of a scale */

/* A change as a Snapshot brings it. */
struct change_asked {
	const struct json *change; /* spec.change; NULL: there is none, and nobody has made it */
	const struct json *data;
	const struct kind *histories;
	struct str history; /* the name of the one to which the change is added */
};

/* The search for the user of a change. The caller embeds it in its own state. */
struct change_user {
	void (*next)(struct request *q, struct change_user *u); /* goes on; q->state is what it was */
	void (*refused)(struct request *q, struct change_user *u); /* etcd cannot be asked: q->st says why */
	struct str name; /* empty: nobody is known for certain. Lives as long as the request */
	struct gap_authors authors; /* after a gap: the others */
	/* private */
	struct str paths[CHANGE_NOTES_MAX];
	size_t n_paths;
	struct user_found found;
	struct user_note_list notes;
	struct change_gap gap;
	struct change_asked asked;
	void *state;
};

/* Finds who made the change, in whichever way it can be known. */
void change_user_find_of(struct request *q, struct change_user *u, const struct change_asked *asked);

#endif
