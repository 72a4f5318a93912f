/* Notes of who made a change: each names the user who requested one write.
 *
 * A change is recorded after it was written, by a recorder that sees the object and not the
 * request. A note joins the two. It identifies one write: the object's uid, the version that the
 * write replaces, and the state that it leads to. One version has one successor, so a later return
 * to that state is another write. It also has the digest of the state before, so that notes can be
 * followed from one state to the next where the recorder saw none of them (server/revisions/gap.h).
 * A note lasts for minutes. The table is bounded: the oldest notes are dropped, and with them a
 * name, never a change. If two users requested the same write, no name is given.
 *
 * It also decides which notes may go to the store, where other replicas find them: so many a
 * second, and none for a while after the store has failed. Any thread. Times are monotonic
 * milliseconds. */
#ifndef SERVER_WRITE_USER_NOTES_H
#define SERVER_WRITE_USER_NOTES_H

#include "api/model/digest.h"
#include "base/buf.h"
#include "storage/storage.h"

#include <stdbool.h>

struct request;
struct user_notes;
struct write;

enum {
	USER_NOTES_TTL_S = 300,
	USER_NOTES_NAME_MAX = 512,  /* bytes; the change of a user with a longer name has no name */
	USER_NOTES_UID_MAX = 64,    /* bytes; the changes of an object with a longer uid have no user */
	USER_NOTES_MAX = 8192,      /* notes in memory: 8 MiB at most, with names of USER_NOTES_NAME_MAX */
	USER_NOTES_STORE_RATE = 50, /* to the store, notes a second, by each replica */
	USER_NOTES_STORE_BURST = 500,
	USER_NOTES_STORE_REST_MS = 5000,    /* without the store once it has failed */
	USER_NOTES_STORE_PATIENCE_MS = 300, /* with a lease, and with a write: a user's write waits meanwhile */
};

enum user_note_sort {
	NOTE_STATE,    /* of a request that leads to the state `to`, if it is carried out */
	NOTE_SCALE,    /* of a request of the subresource scale, which shows no state */
	NOTE_WRITE,    /* of a write that certainly happened, since its note was written with it */
	NOTE_DELETION, /* of a request that deletes the object */
	N_NOTE_SORTS,
};

/* One note. Texts are the caller's. */
struct user_note {
	enum user_note_sort sort;
	struct str uid;
	uint64_t version;    /* the object's resourceVersion that the write replaces; 0: it creates the object */
	struct str from, to; /* digest_of() the states before and after; empty: not known */
	int64_t replicas;    /* NOTE_SCALE: after */
	struct str user;
	int64_t time_s;  /* wall clock */
	uint64_t result; /* the resourceVersion that the write led to; 0: not known */
};

/* Notes that were found. A reader gives it a ceiling. */
struct user_note_list {
	struct user_note *v; /* room for `max` */
	size_t n, max;
	bool is_cut; /* there are others */
};
void user_note_list_init(struct user_note_list *l, size_t max, struct arena *a);
/* Copies the texts. */
void user_note_list_add(struct user_note_list *l, const struct user_note *note, struct arena *a);

struct user_notes *user_notes_new(void);
struct user_notes *user_notes_free(struct user_notes *n);

/* Notes that are not whole are left out, such as those with a long name. A note that is there lasts anew. */
void user_notes_add(struct user_notes *n, const struct user_note *note, int64_t now_ms);
/* Counts a note that went to the store in the transaction of its write. */
void user_notes_count(struct user_notes *n);

/* Users found so far, of whom there may be only one: at first {NULL, 0}, false. */
struct user_found {
	struct str user;
	bool is_ambiguous;
};
void user_found_add(struct user_found *f, struct str user, struct arena *a);
/* Looks for the notes with these paths, which may be of one write. */
void user_notes_find(
	struct user_notes *n, const struct str *paths, size_t n_paths, int64_t now_ms, struct arena *a, struct user_found *f);
struct str user_found_name(const struct user_found *f); /* empty: nobody is known for certain */
/* Adds all notes of the object, in no order. Looks at each note that there is. */
void user_notes_list(struct user_notes *n, struct str uid, int64_t now_ms, struct arena *a, struct user_note_list *l);

/* May a note go to the store now? Counts it. */
bool user_notes_may_store(struct user_notes *n, int64_t now_ms);
void user_notes_store_failed(struct user_notes *n, int64_t now_ms);

void user_notes_write_metrics(struct user_notes *n, struct buf *out);

/* ---- in the store ----
 *
 * UID/VERSION/WHAT.USER, where UID is escaped, VERSION has 20 digits, and USER is the digest of the
 * name. WHAT is the digest of the new state, replicas-N, or write. A deletion is
 * UID/deletion/.USER, which sorts behind all versions. */

/* The directory of an object's notes, and of those that replace this version: without the prefix of
 * the store. Both end with a slash. */
struct str user_note_object(struct arena *a, struct str uid);
struct str user_note_version(struct arena *a, struct str uid, uint64_t version);
struct str user_note_deletions(struct arena *a, struct str uid);
/* All but ".USER". It identifies the write. */
struct str user_note_path(struct arena *a, const struct user_note *note);
struct str user_note_key(struct arena *a, struct str prefix, const struct user_note *note);
struct str user_note_value(struct arena *a, const struct user_note *note);
/* Reads what the store has. False: it is no note. Texts share those of kv, or are the arena's. */
bool user_note_read(struct user_note *ret, const struct storage_kv *kv, struct arena *a);

/* ---- writes of this server ---- */

/* Standalone, a write that some Recorder may record takes its note along: one transaction writes
 * both, so each server on the same etcd finds it, and there is no note of a write that did not
 * happen. Behind a kube-apiserver its webhook notes users (server/revisions/revisions.h).
 *
 * A note needs no more room than its write, and lasts for USER_NOTES_TTL_S: so the notes in etcd are
 * bounded by the writes of that time. */

/* Decides whether the write has a note: w->is_noted, w->noted. */
void write_note_user(struct request *q, struct write *w);
/* Adds the note to the plan. lease: 0 if there is none, and then there is no note. */
void write_plan_note(struct request *q, struct write *w, int64_t lease);

#endif
