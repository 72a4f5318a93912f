/* What is known of each object that is recorded, or was: which state was seen last, which state its History holds, and the
 * changes that wait to be written. Of an object little more than two digests are kept; 100,000 of them take less than 30 MiB.
 *
 * A change is what was seen: a state, or that the object is gone. Changes of an object wait in the order in which
 * they were seen. All that waits has a ceiling in bytes: beyond it the changes of an object become one LOOK, for which the
 * object is read from the server when its turn comes. So states in between may be lost, and the last one never is. States
 * that a list has shown may take a small part of it alone: while the objects of a new Recorder are written one after the
 * other, most of them wait as a mark on their entry.
 *
 * Any thread. One lock guards it all; it is never held during a request. */
#ifndef CONTROLLERS_RECORDER_LEDGER_H
#define CONTROLLERS_RECORDER_LEDGER_H

#include "api/record/names.h"
#include "client/workqueue.h"
#include "controllers/recorder/recording.h"

#include <pthread.h>

/* What is followed, as it was when it began; counted. */
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
	struct followed *followed; /* NULL: nobody follows it now */
	uint64_t refused;
	size_t n_waiting, n_refused;    /* objects whose last change could not be written, and is tried again; or was refused */
	char *last_error, *watch_error; /* of those; of the watch. NULL: there are none; it goes well */
};

/* Enough of the digests of two texts to tell them apart. */
struct ledger_print {
	unsigned char uid[16], digest[16];
};
void ledger_print_of(struct ledger_print *ret, struct str uid, struct str digest);

enum ledger_sort { LEDGER_STATE, LEDGER_LOOK, LEDGER_GONE, LEDGER_EXPIRE };

struct ledger_change {
	struct ledger_change *next;
	enum ledger_sort sort;
	struct recording *recording; /* of STATE */
	struct ledger_print print;   /* of STATE */
	uint64_t version;            /* of the object; of LOOK and EXPIRE none */
	bool is_listed;              /* of STATE: it was there, and nobody saw it change */
	int64_t seen_s;              /* wall clock */
	size_t bytes;                /* of all of it */
	size_t n;
	char text[]; /* of STATE: what scribe_sighting_read() takes */
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

/* NULL: there are too many. */
struct ledger_kind *ledger_kind(struct ledger *l, struct str group, struct str kind);
/* Takes the reference; the one before is dropped. */
void ledger_set_followed(struct ledger *l, struct ledger_kind *k, struct followed *followed);
struct followed *ledger_followed(struct ledger *l, const struct ledger_kind *k); /* a reference, or NULL */

struct ledger_key {
	const struct ledger_kind *kind;
	struct str ns, name;
};

/* ---- what is seen ---- */

/* A number for a list that begins, unlike any before. */
uint32_t ledger_begin(struct ledger *l);
/* The object is there, and one Recorder has it recorded. True: its state is another one than was seen last or is
 * recorded; ledger_queue() it. list: of the last list that began. */
bool ledger_show(
	struct ledger *l, const struct ledger_key *key, const struct ledger_print *print, uint64_t recorder, uint32_t list);
/* Takes the change. */
void ledger_queue(struct ledger *l, const struct ledger_key *key, struct ledger_change *change);
/* It is there, and no Recorder has it recorded. */
void ledger_pass_by(struct ledger *l, const struct ledger_key *key, uint32_t list);
void ledger_miss(struct ledger *l, const struct ledger_key *key, uint64_t version);
/* All that is there has been shown: of that kind, what was not is gone. */
void ledger_end(struct ledger *l, const struct ledger_kind *kind, uint32_t list);
/* Nobody follows it any more: nothing is known of what is there. */
void ledger_unfollow(struct ledger *l, struct ledger_kind *kind);

/* ---- histories ---- */

struct ledger_history {
	uint64_t version; /* resourceVersion */
	struct ledger_print print;
	bool is_written;   /* has a change */
	int64_t deleted_s; /* deletionTime; 0: the subject exists */
	uint32_t revisions;
};
void ledger_show_history(struct ledger *l, const struct ledger_key *key, const struct ledger_history *history, uint32_t list);
void ledger_miss_history(struct ledger *l, const struct ledger_key *key, uint64_t version);
void ledger_end_histories(struct ledger *l, uint32_t list);
/* Queues what outlived its object for too long. The seconds until the next is due; at most max_s. */
int64_t ledger_expire(struct ledger *l, int64_t now_s, int64_t max_s);

/* ---- writing ---- */

/* The first change of an object, which is the caller's until ledger_settle(). */
struct ledger_work {
	struct ledger_kind *kind;
	struct str ns, name; /* of the key */
	struct ledger_change *change;
	bool has_history; /* as far as the watch of Histories has told */
};
/* key: of the queue. False: nothing waits. */
bool ledger_take(struct ledger *l, struct str key, struct ledger_work *ret);

enum ledger_outcome {
	LEDGER_DONE,
	LEDGER_RETRY,   /* the change goes back to where it was */
	LEDGER_REFUSED, /* it will never be written */
};
/* seen: the state that was read for a LOOK; NULL: none, or the object is gone. history: as it is now; NULL: not known. */
struct ledger_result {
	enum ledger_outcome outcome;
	const struct ledger_print *seen;
	uint64_t recorder; /* with seen */
	bool is_gone;      /* a LOOK found nothing */
	const struct ledger_history *history;
	struct str problem; /* of RETRY and REFUSED */
};
/* Changes of the kind wait since they cannot be written: of the first object; of none any more. */
enum ledger_trouble { LEDGER_TROUBLE_NONE, LEDGER_TROUBLE_BEGINS, LEDGER_TROUBLE_ENDS };
struct ledger_settled {
	bool is_more; /* another change waits */
	enum ledger_trouble trouble;
};
struct ledger_settled ledger_settle(struct ledger *l, struct ledger_work *work, const struct ledger_result *result);

/* ---- counting ---- */

struct ledger_totals {
	size_t objects, entries, waiting, waiting_bytes;
	uint64_t collapsed;
	bool is_full;
};
void ledger_read_totals(struct ledger *l, struct ledger_totals *ret);

/* Of one kind and one Recorder: objects that are there, and revisions of all histories. */
struct ledger_tally {
	const struct ledger_kind *kind;
	uint64_t recorder;
	int64_t objects, revisions;
};
/* How many; what does not fit is left out. */
size_t ledger_tally(struct ledger *l, struct ledger_tally *rows, size_t max);
/* A watch has trouble; empty: none any more. */
void ledger_note_problem(struct ledger *l, struct ledger_kind *kind, struct str problem);
/* How often the kind's states were refused, and the last problem. It is empty when the watch goes well and the last change of
 * each object was written: what goes well with others does not hide it. */
uint64_t ledger_refused(struct ledger *l, const struct ledger_kind *kind, struct str *ret_problem, struct arena *a);
/* Changes whenever something was counted otherwise. */
uint64_t ledger_changes(struct ledger *l);

#endif
