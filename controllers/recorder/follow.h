/* One resource that is followed: its watch, which tells the ledger what is there. */
#ifndef CONTROLLERS_RECORDER_FOLLOW_H
#define CONTROLLERS_RECORDER_FOLLOW_H

#include "base/list.h"
#include "controllers/recorder/core.h"

struct follow {
	struct list link;
	bool is_wanted; /* for who keeps the list */

	/* private */
	struct recorder_core *core;
	struct ledger_kind *kind;
	struct followed *followed;
	struct informer *informer;
	struct arena scratch; /* of an event */
	uint32_t list;
	_Atomic bool has_strangers, is_stale;
};

/* recordings: those that name the resource. Takes them. NULL: there are too many kinds. */
struct follow *follow_new(struct recorder_core *core, const struct api_resource *resource, struct recordings *recordings);
/* What is known of its objects is forgotten, unless another one for the same kind comes at once. */
struct follow *follow_free(struct follow *f, bool is_replaced);

/* A namespace came (before is NULL), or has other labels: may other objects be selected now? Then it is stale, and a new
 * one is to take its place. On the client's thread. */
bool follow_note_namespace(struct follow *f, const struct json *before, const struct json *labels);
bool follow_is_stale(const struct follow *f);
bool follow_has_synced(const struct follow *f);

#endif
