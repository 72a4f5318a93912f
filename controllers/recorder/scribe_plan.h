/* What is to be written of an object that was seen, and how: decided without asking anybody. */
#ifndef CONTROLLERS_RECORDER_SCRIBE_PLAN_H
#define CONTROLLERS_RECORDER_SCRIBE_PLAN_H

#include "api/model/digest.h"
#include "api/record/changes.h"
#include "api/record/names.h"
#include "controllers/recorder/recording.h"

/* What was seen of an object. */
struct sighting {
	bool is_gone;
	/* Read from the server after the History was: nothing is newer. */
	bool is_live;
	/* Nobody saw when it happened: seen_s is when somebody looked. */
	bool is_late;
	uint64_t version; /* resourceVersion; 0: unknown */
	int64_t seen_s;   /* wall clock */
	/* The rest is of objects that are there. */
	const struct recording *recording;
	struct str uid, api_version, cause, created;
	const struct json *managed_fields, *state;
	char digest[DIGEST_SIZE], raw_digest[DIGEST_SIZE];
};

/* An object as its sighting, but for what only a change needs; what it points to is in the arena or in the object. */
void sighting_of(struct sighting *ret, const struct json *object, const struct recording *recording, struct arena *a);
/* That, too. */
void sighting_complete(struct sighting *s, const struct json *object, struct arena *a);
/* As text, for changes that wait, and back. False where it cannot be read. */
struct str sighting_write(const struct sighting *s, struct buf *out, struct arena *a);
bool sighting_read(struct sighting *ret, struct str text, struct arena *a);

enum scribe_step {
	SCRIBE_NOTHING,
	SCRIBE_LOOK, /* the History tells of something newer: only the object itself can say what is true */
	SCRIBE_CREATED,
	SCRIBE_CHANGED,
	SCRIBE_DELETED,
};
/* history: the present one; NULL: there is none, as before the first change. */
enum scribe_step scribe_decide(const struct json *history, const struct sighting *s);

/* A History without changes. */
struct json *scribe_history(const struct history_subject *subject, struct str name, struct str namespace, struct arena *a);
/* A Snapshot that tells of the step. before: the state of the revision that the History names; NULL: not known. */
struct json *scribe_snapshot(const struct json *history, enum scribe_step step, const struct sighting *s,
	const struct json *before, int64_t history_limit, struct arena *a);

/* Has the subject been gone for so long? */
bool scribe_is_expired(const struct json *history, int64_t keep_s, int64_t now_s);

#endif
