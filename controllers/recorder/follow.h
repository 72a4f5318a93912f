/* The watch of one followed resource, which reports its objects to the ledger. */
#ifndef CONTROLLERS_RECORDER_FOLLOW_H
#define CONTROLLERS_RECORDER_FOLLOW_H

#include "base/list.h"
#include "controllers/recorder/core.h"

struct follow {
	struct list link;
	bool is_wanted;    /* for the code that keeps the list of follows */
	enum ledger_standing standing; /* for it too, as last reported */
	uint64_t reported; /* for it too: the version up to which all is recorded, as last reported */

	/* private */
	struct recorder_core *core;
	struct ledger_kind *kind;
	struct followed *followed;
	struct informer *informer;
	struct arena scratch; /* for one event */
	uint32_t list;
	/* Until the first list is whole: the version from which the watch goes on. Then events up to `replayed_to` may have been
	 * recorded before. 0: neither. */
	uint64_t resume_from, replayed_to;
	bool is_stranger; /* the namespace of the object under way is unknown */
	_Atomic bool has_strangers, is_stale;
	/* For each recording: 1 + the index of a recording that sorts before it and has recorded
	 * an object that both select. 0: none so far. Written on the client's thread. */
	_Atomic uint32_t *overridden_by;
	size_t n_overridden;
};

/* recordings: those that name the resource; the follow takes them. resume_from: all events up to that version have been recorded, or
 * wait in the ledger; 0: unknown. Returns NULL if there are too many kinds. */
struct follow *follow_new(
	struct recorder_core *core, const struct api_resource *resource, struct recordings *recordings, uint64_t resume_from);
/* Forgets what is known of the resource's objects, unless is_replaced: a new follow for the same
 * kind comes at once. */
struct follow *follow_free(struct follow *f, bool is_replaced);

/* Reports a new namespace (before is NULL) or changed labels. Returns true if other objects may
 * be selected now: the follow is stale and a new one must replace it. Called on the client's
 * thread. */
bool follow_note_namespace(struct follow *f, const struct json *before, const struct json *labels);
bool follow_is_stale(const struct follow *f);
bool follow_has_synced(const struct follow *f);
/* The version up to which all events have come to the ledger; 0: unknown. */
uint64_t follow_version(const struct follow *f);
/* Returns the Recorder that records objects in place of r, because its name sorts first. NULL:
 * none so far. */
const struct recording *follow_overrider(const struct follow *f, const struct recording *r);

#endif
