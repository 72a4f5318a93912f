/* One look at an object that is recorded, and the rules for what its History says of it. No I/O.
 *
 * The recording controller sends a sighting, and the server decides; or the controller decides itself, and sends a Snapshot. Both
 * use these functions, so they come to the same decision. */
#ifndef API_DIFF_SIGHTING_H
#define API_DIFF_SIGHTING_H

#include "api/diff/changes.h"
#include "api/diff/state.h"
#include "api/model/digest.h"

/* One observation of an object. */
struct sighting {
	bool is_gone;
	bool is_released; /* it exists, but no Recorder selects it: the state is not known */
	bool is_unseen;   /* nobody looked: only the rules of `keep` are applied to its History */
	/* The object was read from the server after the History: nothing is newer. */
	bool is_live;
	/* Nobody saw the change itself: seen_s is the time of the look. */
	bool is_late;
	/* States before this one may not have been seen. Of these, at least n_skipped were seen, and dropped. */
	bool is_after_gap;
	uint32_t n_skipped;
	uint64_t gap_from; /* with is_after_gap: up to that resourceVersion all objects of the kind were recorded; 0: unknown */
	uint64_t version; /* resourceVersion; 0: unknown */
	uint64_t after;   /* the resourceVersion just before; 0: unknown */
	uint64_t settled; /* up to that resourceVersion the object was recorded, though perhaps by other rules; 0: unknown */
	int64_t seen_s;   /* wall clock */
	/* The rest is only set if the object exists. */
	const struct json *ignore; /* JSON pointers to the values that were left out of the state; NULL: none were */
	struct str uid, api_version, cause, created;
	int64_t generation; /* 0: it has none */
	const struct json *managed_fields, *state;
	char digest[DIGEST_SIZE], raw_digest[DIGEST_SIZE];
};

/* Fills in the sighting of an object, except what only a change needs. It points into the arena
 * or the object. */
void sighting_of(struct sighting *ret, const struct json *object, const struct state_rules *rules, struct arena *a);
/* Fills in the sighting of an object that no Recorder selects. */
void sighting_without_state(struct sighting *ret, const struct json *object, struct arena *a);
/* Adds the digest of the object's whole state, which costs more than the rest of a sighting. */
void sighting_complete(struct sighting *s, const struct json *object, struct arena *a);

/* ---- as JSON: dev.annals.v1.Sighting (api/kinds/history.c) ---- */

/* The member `found`. */
#define SIGHTING_PRESENT "Present"
#define SIGHTING_ABSENT "Absent"
#define SIGHTING_UNSELECTED "Unselected"
#define SIGHTING_UNSEEN "Unseen"

/* Sightings of one request: it must end within its time, though etcd answers each transaction only after its disk has. */
enum { SIGHTINGS_MAX = 64 };

/* Add the members: of the look, and of the object. They share memory with the sighting. */
void sighting_add_look(struct json *to, const struct sighting *s, struct arena *a);
void sighting_add_object(struct json *to, const struct sighting *s, struct arena *a);
/* Returns false if it says neither when nor what was found. */
bool sighting_of_json(struct sighting *ret, const struct json *j);
/* Write the members of the object as text, for waiting changes, and read them back. Reading returns false if the text is
 * invalid. */
struct str sighting_write(const struct sighting *s, struct buf *out, struct arena *a);
bool sighting_read(struct sighting *ret, struct str text, struct arena *a);

/* ---- deciding ---- */

enum record_step {
	RECORD_NOTHING,
	RECORD_LOOK, /* the History has something newer: only the object itself can decide */
	RECORD_CREATED,
	RECORD_CHANGED,
	RECORD_DELETED,
	RECORD_RELEASED,
	RECORD_ADOPTED,
	RECORD_RERECORDED, /* nobody changed the object: other rules, or another API version, make another state */
};
/* Created, Changed and so on: of a step that writes. */
const char *record_type(enum record_step step);
/* Returns false for a type that is none. */
bool record_step_of(enum record_step *ret, struct str type);
/* history: the present one; NULL: there is none, as before the first change. */
enum record_step record_decide(const struct json *history, const struct sighting *s);

/* Does the History list the deletion of this very object, by its uid? */
bool record_was_deleted(const struct json *history, const struct sighting *s);
/* The change that lists this very sighting, if it was recorded before; else NULL. */
const struct json *record_listed(const struct json *history, const struct sighting *s);
/* Must the change say that states before it may be missing? */
bool record_skips(const struct json *history, const struct sighting *s);
/* How many are known to be missing; 0: nobody knows. */
uint64_t record_states_skipped(const struct json *history, const struct sighting *s);
/* Makes a History without changes. */
struct json *record_history(const struct history_subject *subject, struct str name, struct str namespace, struct arena *a);
/* Must the state that was recorded last be known, to say what changed? */
bool record_needs_before(const struct json *history, enum record_step step);
/* The name of the revision that holds it; empty: none. */
struct str record_revision(const struct json *history);
/* Makes a Snapshot that describes the step. before: the state of the revision that the History
 * names; NULL: not known. keep: NULL: the limit alone counts. */
struct json *record_snapshot(const struct json *history, enum record_step step, const struct sighting *s,
	const struct json *before, int64_t history_limit, const struct json *keep, struct arena *a);
/* Makes a Snapshot of no state, by which the server trims the History. */
struct json *record_trim(const struct json *history, const struct json *keep, struct arena *a);

/* Does the last change say that no Recorder selects the subject? */
bool record_is_released(const struct json *history);
/* The object's resourceVersion in the last change of a History; 0: there is none, or it says none. */
uint64_t record_last_version(const struct json *history);
/* Has the subject been gone for that long? */
bool record_is_expired(const struct json *history, int64_t keep_s, int64_t now_s);

#endif
