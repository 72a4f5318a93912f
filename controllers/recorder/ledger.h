/* All that is known of each recorded object: the state last seen, the state in its History, and the changes
 * that wait to be written. It keeps little more than two digests of an object: 100,000 objects take less than
 * 30 MiB.
 *
 * A change is what was seen: a state, or that the object is gone. The changes of an object wait
 * in order. A ceiling in bytes limits all waiting changes. Beyond it the changes of an object
 * become one LOOK: the object is read from the server when its turn comes. So intermediate
 * states may be lost, but never the last one, and the next change says so. States from a list may take only a small part of
 * the ceiling: most objects of a new Recorder wait as a mark on their entry.
 *
 * Any thread may call. One lock guards everything; it is never held during a request. */
#ifndef CONTROLLERS_RECORDER_LEDGER_H
#define CONTROLLERS_RECORDER_LEDGER_H

#include "api/diff/state.h"
#include "client/workqueue.h"
#include "controllers/recorder/recording.h"

#include <pthread.h>

/* A followed resource, as it was when the follow began; reference-counted. */
struct followed {
	struct resource resource;
	struct str kind, api_version;
	bool is_namespaced;
	struct recordings recordings;
	_Atomic uint32_t refs;
	struct arena arena;
};

struct followed *followed_unref(struct followed *f);
DEFINE_CLEANUP(struct followed *, followed_unref)

/* A group and kind. It lives as long as the ledger. */
struct ledger_kind {
	uint32_t index;
	char *group, *kind;
	struct followed *followed; /* NULL: not followed now */
	uint64_t refused;
	size_t n_waiting, n_refused;    /* objects whose last change is retried; objects whose last change was refused */
	int64_t skipped_at_ms;          /* when a change was last written that says that states are missing; 0: never */
	char *last_error, *watch_error; /* of a change, of the watch; NULL: none */

	/* private: each waiting change belongs to one of two cohorts. Each change that was seen up to `checkpoint` is in the
	 * other cohort than the present one, or is written. */
	uint64_t recorded, checkpoint;
	uint64_t gap_from; /* all up to it was recorded before the last list that was no beginning; 0: there was none */
	int64_t checkpoint_at_ms;
	size_t cohorts[2]; /* changes that wait or are being written */
	uint8_t cohort;    /* the present one */
};

/* Enough of the digests of two texts to distinguish them. */
struct ledger_print {
	unsigned char uid[16], digest[16];
};
void ledger_print_of(struct ledger_print *ret, struct str uid, struct str digest);

enum ledger_sort { LEDGER_STATE, LEDGER_LOOK, LEDGER_GONE, LEDGER_RELEASED, LEDGER_EXPIRE, LEDGER_TRIM, LEDGER_DROP };

struct ledger_change {
	struct ledger_change *next;
	enum ledger_sort sort;
	struct recording *recording; /* STATE only */
	struct ledger_print print;   /* of STATE */
	uint64_t version;            /* of the object; only of those that somebody saw */
	int64_t at_most;             /* TRIM: states that stay, if fewer than by the rules; -1: as those say */
	bool is_listed;              /* STATE: a list showed it, so nobody saw the change */
	bool is_after_gap;           /* the recorder may not have seen the states before it */
	int64_t seen_s;              /* wall clock */
	uint8_t cohort;              /* private */
	size_t bytes;                /* size of the whole change */
	size_t n;
	char text[]; /* STATE, RELEASED: the text for sighting_read() */
};
struct ledger_change *ledger_change_new(enum ledger_sort sort, uint64_t version, struct str text);
struct ledger_change *ledger_change_free(struct ledger_change *c);
DEFINE_CLEANUP(struct ledger_change *, ledger_change_free)

struct ledger;

struct ledger_options {
	size_t max_objects, max_waiting; /* bytes */
	struct workqueue *queue;         /* gets a key for each object with changes */
};
struct ledger *ledger_new(const struct ledger_options *options);
struct ledger *ledger_free(struct ledger *l);

/* Returns NULL if there are too many kinds. */
struct ledger_kind *ledger_kind(struct ledger *l, struct str group, struct str kind);
/* Takes the reference to followed, and drops the previous one. */
void ledger_set_followed(struct ledger *l, struct ledger_kind *k, struct followed *followed);
struct followed *ledger_followed(struct ledger *l, const struct ledger_kind *k); /* a reference, or NULL */

struct ledger_key {
	const struct ledger_kind *kind;
	struct str ns, name;
};

/* ---- what is seen ---- */

/* Starts a list and returns its number, which differs from all before. kind: of objects whose changes up to this list no watch has
 * shown; NULL: none. */
uint32_t ledger_begin(struct ledger *l, struct ledger_kind *kind);
struct ledger_shown {
	struct ledger_print print;
	uint64_t version;  /* resourceVersion */
	uint64_t recorder; /* the Recorder that records it */
	uint32_t list;     /* the number of the latest list */
	/* A watch that resumed shows it. If its History already holds this version, it is not news. */
	bool is_replayed;
	/* Everything up to this version was recorded before, though perhaps by other rules. */
	bool is_settled;
};
/* Notes that the object exists and a Recorder records it. Returns true if its state differs from
 * the one last seen or recorded: call ledger_queue(). */
bool ledger_show(struct ledger *l, const struct ledger_key *key, const struct ledger_shown *shown);
/* Notes the version at which an object was shown, after ledger_show(). Returns the version that it
 * had just before; 0: not known, as of a list, which may skip versions. A watch skips none. */
uint64_t ledger_succeed(struct ledger *l, const struct ledger_key *key, uint64_t version, bool is_listed);
/* Takes the change. */
void ledger_queue(struct ledger *l, const struct ledger_key *key, struct ledger_change *change);
/* Notes that the object exists but no Recorder records it. Returns true if its History must say so: call ledger_queue() with a change
 * of the sort RELEASED. */
bool ledger_pass_by(struct ledger *l, const struct ledger_key *key, uint32_t list);
void ledger_miss(struct ledger *l, const struct ledger_key *key, uint64_t version);
/* Ends a list: objects of that kind that it did not show are gone. */
void ledger_end(struct ledger *l, const struct ledger_kind *kind, uint32_t list);
/* The kind is no longer followed: forgets which objects exist. */
void ledger_unfollow(struct ledger *l, struct ledger_kind *kind);

/* ---- up to where it is written ---- */

/* Everything up to that version has been written before, perhaps by another process. */
void ledger_resume(struct ledger *l, struct ledger_kind *kind, uint64_t version);
/* Everything up to that version has been shown. Returns the version up to which all changes have been written, or will never be
 * written, since they were refused; 0: unknown. It never decreases while the kind is followed. Calls must repeat: each one takes a
 * constant time, and finds what the calls before have begun. */
uint64_t ledger_recorded(struct ledger *l, struct ledger_kind *kind, uint64_t version);

enum ledger_standing {
	LEDGER_UP_TO_DATE,
	LEDGER_BEHIND, /* changes have waited for more than a minute */
	/* Within the last half minute a change was written that says that states are missing, which a Recorder should have seen. */
	LEDGER_SKIPPED,
};
/* Says whether the kind's recording keeps up. States that were skipped before since_ms do not count. */
enum ledger_standing ledger_standing(struct ledger *l, const struct ledger_kind *kind, int64_t now_ms, int64_t since_ms);

/* ---- histories ---- */

struct ledger_history {
	uint64_t version;  /* resourceVersion */
	uint64_t recorded; /* the object's resourceVersion in the last change; 0: unknown */
	struct ledger_print print;
	bool is_written;   /* it has at least one change */
	bool is_released;  /* the last change says that no Recorder selects the subject */
	bool is_archived;  /* its namespace was deleted, and it has moved into the archive */
	int64_t deleted_s; /* deletionTime; 0: the subject exists */
	uint32_t revisions;
	uint64_t bytes; /* of the revisions; 0: not counted yet */
};
/* Returns false if the object has a newer History, which is not archived: then the archived one is shown in vain. */
bool ledger_show_history(struct ledger *l, const struct ledger_key *key, const struct ledger_history *history, uint32_t list);
/* is_archived: of the History that is gone, so that one which moves is not missed where it is now. */
void ledger_miss_history(struct ledger *l, const struct ledger_key *key, uint64_t version, bool is_archived);
void ledger_end_histories(struct ledger *l, uint32_t list);
/* Queues Histories that have outlived their objects for too long. Returns the seconds until the
 * next is due, at most max_s. */
int64_t ledger_expire(struct ledger *l, int64_t now_s, int64_t max_s);

/* ---- writing ---- */

/* The first change of an object. The caller owns it until ledger_settle(). */
struct ledger_work {
	struct ledger_kind *kind;
	struct str ns, name; /* of the key */
	struct ledger_change *change;
	bool has_history; /* according to the watch of Histories */
	bool is_counted;  /* it says the bytes of its states */
	uint64_t recorder;  /* that records the object; 0: unknown */
	bool is_after_gap;  /* the recorder may not have seen the states before it */
	uint64_t gap_from;  /* with is_after_gap: all objects of the kind were recorded up to it; 0: unknown */
	uint32_t n_skipped; /* of these states, at least so many were seen, and dropped since too much waited */
	uint64_t settled_version; /* up to it the object was recorded, though perhaps by other rules; 0: unknown */
};
/* Takes the change of a key from the queue. Returns false if none waits. */
bool ledger_take(struct ledger *l, struct str key, struct ledger_work *ret);

enum ledger_outcome {
	LEDGER_DONE,
	LEDGER_RETRY,   /* the change goes back to where it was */
	LEDGER_REFUSED, /* it will never be written */
};
/* seen: the state that a LOOK has read; NULL: none, or the object is gone. history: its present
 * state; NULL: not known. */
struct ledger_result {
	enum ledger_outcome outcome;
	const struct ledger_print *seen;
	uint64_t seen_version, recorder; /* with seen */
	bool is_gone;      /* a LOOK found no object */
	const struct ledger_history *history;
	struct str problem; /* of RETRY and REFUSED */
	bool has_skipped;   /* the change that was written says that states are missing */
	bool has_more;      /* of a TRIM: more states are to go */
};
/* Whether changes of the kind fail to be written: since this one, or no longer. */
enum ledger_trouble { LEDGER_TROUBLE_NONE, LEDGER_TROUBLE_BEGINS, LEDGER_TROUBLE_ENDS };
struct ledger_settled {
	bool is_more; /* another change waits */
	enum ledger_trouble trouble;
};
struct ledger_settled ledger_settle(struct ledger *l, struct ledger_work *work, const struct ledger_result *result);

/* ---- keeping ---- */

/* Queues up to `max` Histories whose states were not trimmed in this round. Returns how many. So a pass over all goes on where it was, and
 * begins again in a new process. */
size_t ledger_trim(struct ledger *l, uint32_t round, size_t max);
/* The bytes of all Histories go down to the budget, as far as possible: up to `max` of them are queued. Histories of deleted objects are
 * dropped, the ones that were deleted first. If these are not enough, the largest Histories lose half of their states. Returns the bytes before. */
struct ledger_relief {
	size_t dropped, halved;
};
uint64_t ledger_relieve(struct ledger *l, uint64_t budget, size_t max, struct ledger_relief *ret);

/* ---- counting ---- */

struct ledger_totals {
	size_t objects, entries, waiting, waiting_bytes;
	uint64_t skipped; /* states that were dropped, since too much waited */
	uint64_t history_bytes; /* of the states of all Histories */
	bool is_full;
};
void ledger_read_totals(struct ledger *l, struct ledger_totals *ret);

/* Numbers for one kind and one Recorder: existing objects, and the revisions of all Histories. */
struct ledger_tally {
	const struct ledger_kind *kind;
	uint64_t recorder;
	int64_t objects, revisions, bytes;
};
/* Returns how many rows there are; rows beyond max are left out. */
size_t ledger_tally(struct ledger *l, struct ledger_tally *rows, size_t max);
/* Notes a problem of the kind's watch; empty: the problem is over. */
void ledger_note_problem(struct ledger *l, struct ledger_kind *kind, struct str problem);
/* Returns how often the kind's states were refused. ret_problem gets the last problem. It is
 * empty only if the watch works and the last change of every object was written. */
uint64_t ledger_refused(struct ledger *l, const struct ledger_kind *kind, struct str *ret_problem, struct arena *a);
/* A number that changes whenever a count changes. */
uint64_t ledger_changes(struct ledger *l);

#endif
