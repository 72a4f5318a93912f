/* The authors of a gap: who wrote an object while no recorder saw it. Pure.
 *
 * Notes (server/write/user_notes.h) say which version a write replaced, and from which state to
 * which state it led. They are links from the last recorded state to the present one:
 *
 *     recorded: version 7, state A
 *     alice     replaced 7,  A -> B    (then status was written: versions 8 and 9)
 *     bob       replaced 9,  B -> C
 *     seen:     version 10, state C
 *
 * A link holds only if the next note began with the state that this one led to, or with the very
 * version. So the note of a request that failed names nobody: the object stayed as it was. Where
 * a link is missing, or two users may have written it, the chain is broken. The links that hold
 * are named nevertheless, and nobody is invented. */
#ifndef SERVER_REVISIONS_GAP_H
#define SERVER_REVISIONS_GAP_H

#include "base/json.h"
#include "server/write/user_notes.h"

enum {
	GAP_NOTES_MAX = 128,       /* notes that are read of the store for one change, and as many of memory */
	GAP_NOTES_BEFORE_MAX = 64, /* of these, before the last recorded version: they say what state that was */
	GAP_AUTHORS_MAX = 16,      /* users that a change lists; an entry has 600 bytes at most */
};

/* A state of the object that is known. */
struct gap_end {
	uint64_t version;  /* 0: of the beginning, that the object did not exist */
	struct str digest; /* of the state; empty: not known */
};

/* A change after a gap: between two states of the object that are known. */
struct change_gap {
	struct str uid;
	struct gap_end from, to;
	bool is_creation; /* from the beginning; another object of the name may have been before it */
	bool is_deletion; /* to its end */
};

/* status: of the History, as the change was decided on; NULL: nothing is known of it. change: of the Snapshot, with skipped.
 * Copies the texts. ret->uid is empty where the gap has no beginning that is known. */
void gap_read(struct change_gap *ret, const struct json *status, const struct json *change, struct arena *a);

struct gap_author {
	struct str user;
	int64_t time_s; /* of the user's last write in the gap */
};

struct gap_authors {
	struct gap_author v[GAP_AUTHORS_MAX]; /* each user once, in the order of first writes */
	size_t n;
	struct str first; /* who replaced the version of the recorded state; empty: not known */
	struct str last;  /* who wrote the last link that is known */
	bool has_more;    /* the notes do not cover the whole gap: unknown users may have written */
};

/* notes: of this object; those of deletions do not count. Sorts them. */
void gap_find_authors(
	struct gap_authors *ret, struct user_note *notes, size_t n, const struct gap_end *from, const struct gap_end *to);
/* Removes the user from the list. */
void gap_leave_out(struct gap_authors *authors, struct str user);

#endif
