/* Notes of who made a change: a table of digests, each with the name of the user who requested that
 * write.
 *
 * A change is recorded after it was written, by a recorder that sees the object and not the
 * request. A note joins the two. Its digest names one write: the object's uid, the version that the
 * write replaces, and the state that it leads to. One version has one successor, so a later return
 * to that state is another write. A note lasts for minutes. The table is bounded: the oldest notes
 * are dropped, and with them a name, never a change. If two users requested the same write, no name
 * is given.
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
/* Counts a note that went to the store in the transaction of its write. */
void user_notes_count(struct user_notes *n);

/* Users found so far, of whom there may be only one: at first {NULL, 0}, false. */
struct user_found {
	struct str user;
	bool is_ambiguous;
};
void user_found_add(struct user_found *f, struct str user, struct arena *a);
/* Looks for all these digests, which may be of one write. */
void user_notes_find(struct user_notes *n, const struct str *digests, size_t n_digests, int64_t now_ms, struct arena *a,
	struct user_found *f);
struct str user_found_name(const struct user_found *f); /* empty: nobody is known for certain */

/* May a note go to the store now? Counts it. */
bool user_notes_may_store(struct user_notes *n, int64_t now_ms);
void user_notes_store_failed(struct user_notes *n, int64_t now_ms);

void user_notes_write_metrics(struct user_notes *n, struct buf *out);

/* The digests of notes. version: the object's resourceVersion that the write replaces; empty: the write
 * creates the object. */
/* A write that leads to the state of that digest (digest_of()). */
void user_notes_state(char out[DIGEST_SIZE], struct str uid, struct str version, struct str state, struct arena *a);
/* A write of the subresource scale. */
void user_notes_scale(char out[DIGEST_SIZE], struct str uid, struct str version, int64_t replicas, struct arena *a);
/* A write that certainly happened, since its note was written with it. */
void user_notes_write(char out[DIGEST_SIZE], struct str uid, struct str version, struct arena *a);
void user_notes_deletion(char out[DIGEST_SIZE], struct str uid, struct arena *a);

/* The key of a note in the store. */
struct str user_notes_key(struct arena *a, struct str prefix, struct str digest, struct str user);

/* ---- writes of this server ---- */

/* Standalone, a write that some Recorder may record takes its note along: one transaction writes
 * both, so each server on the same etcd finds it, and there is no note of a write that did not
 * happen. Behind a kube-apiserver its webhook notes users (server/revisions/revisions.h).
 *
 * A note needs no more room than its write, and lasts for USER_NOTES_TTL_S: so the notes in etcd are
 * bounded by the writes of that time. */

/* Decides whether the write has a note: w->noted. */
void write_note_user(struct request *q, struct write *w);
/* Adds the note to the plan. lease: 0 if there is none, and then there is no note. */
void write_plan_note(struct request *q, struct write *w, int64_t lease);

#endif
