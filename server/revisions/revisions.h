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

/* The search for the user of a change. The caller embeds it in its own state. */
struct change_user {
	void (*next)(struct request *q, struct change_user *u); /* goes on; q->state is what it was */
	struct str name; /* empty: nobody is known for certain. Lives as long as the request */
	struct gap_authors authors; /* after a gap: the others */
	/* private */
	struct str paths[CHANGE_NOTES_MAX];
	size_t n_paths;
	struct user_found found;
	struct user_note_list notes;
	struct change_gap gap;
	void *state;
};

/* A write that a recorder has seen. */
struct change_write {
	struct str uid;
	uint64_t version;              /* resourceVersion that it replaced; 0: it created the object */
	struct str state;              /* digest_of() the whole state that it led to */
	const struct json *only_value; /* if it changed one value only: the new one; else NULL */
};

/* Finds who made the write. Answers the request itself where etcd cannot be asked. */
void change_user_find(struct request *q, struct change_user *u, const struct change_write *write);
/* Finds who deleted the object of that uid. */
void change_user_find_deletion(struct request *q, struct change_user *u, struct str uid);
/* Finds who wrote in the gap: u->name is who made the change that ends it, where all of the gap is known. */
void change_user_find_authors(struct request *q, struct change_user *u, const struct change_gap *gap);

#endif
