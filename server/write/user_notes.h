/* Notes of who made a change: a table of digests, each with the name of the user who requested the
 * state with that digest.
 *
 * A change is recorded after it was written, by a recorder that sees the object and not the
 * request. A note joins the two. The digest is that of the object's state (or of its deletion), so
 * it names exactly one state of one object. A note lasts for minutes. The table is bounded: the
 * oldest notes are dropped, and with them a name, never a change. If two users requested the same,
 * no name is given.
 *
 * It also decides which notes may go to the store, where other replicas find them: so many a
 * second, and none for a while after the store has failed. Any thread. Times are monotonic
 * milliseconds. */
#ifndef SERVER_WRITE_USER_NOTES_H
#define SERVER_WRITE_USER_NOTES_H

#include "api/model/digest.h"
#include "base/buf.h"

#include <stdbool.h>

struct request;
struct user_notes;
struct write;

enum {
	USER_NOTES_TTL_S = 300,
	USER_NOTES_NAME_MAX = 512,  /* bytes; the change of a user with a longer name has no name */
	USER_NOTES_MAX = 8192,      /* notes in memory: 8 MiB at most, with names of USER_NOTES_NAME_MAX */
	USER_NOTES_STORE_RATE = 50, /* to the store, notes a second, by each replica */
	USER_NOTES_STORE_BURST = 500,
	USER_NOTES_STORE_REST_MS = 5000,    /* without the store once it has failed */
	USER_NOTES_STORE_PATIENCE_MS = 300, /* with a lease, and with a write: a user's write waits meanwhile */
};

struct user_notes *user_notes_new(void);
struct user_notes *user_notes_free(struct user_notes *n);

/* digest: as digest_of() writes it; others, and long names, are not noted. A note that is there lasts anew. */
void user_notes_add(struct user_notes *n, struct str digest, struct str user, int64_t now_ms);
/* Takes a note back: the write did not happen. */
void user_notes_remove(struct user_notes *n, struct str digest, struct str user);

/* Users found so far, of whom there may be only one: at first {NULL, 0}, false. */
struct user_found {
	struct str user;
	bool is_ambiguous;
};
void user_found_add(struct user_found *f, struct str user, struct arena *a);
void user_notes_find(struct user_notes *n, struct str digest, int64_t now_ms, struct arena *a, struct user_found *f);
struct str user_found_name(const struct user_found *f); /* empty: nobody is known for certain */

/* May a note go to the store now? Counts it. */
bool user_notes_may_store(struct user_notes *n, int64_t now_ms);
void user_notes_store_failed(struct user_notes *n, int64_t now_ms);

void user_notes_write_metrics(struct user_notes *n, struct buf *out);

/* Computes the digest of a deletion; that of a state is digest_of() the state. */
void user_notes_deletion(char out[DIGEST_SIZE], struct str uid, struct arena *a);

/* ---- writes of this server ---- */

/* Standalone, these note who writes objects that some Recorder names. Behind a kube-apiserver its
 * webhook does (server/revisions/revisions.h). */

/* Before the transaction: the recorder may see what it writes before we do. */
void write_note_user(struct request *q, struct write *w);
/* After a transaction that has certainly not written: takes the note back. */
void write_forget_user(struct request *q, struct write *w);

#endif
