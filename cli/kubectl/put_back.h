/* Computes what an object has to become, so that it is in an earlier state. Pure.
 *
 * put_back() is for recorded states. Parts that were not recorded stay as they are: status, most of metadata, and the paths
 * that the Recorder ignored. A live value stays where the recorded one was redacted. Items of a list are distinguished by what
 * identifies them (a name, a key, a port), and an item that stays keeps its ignored and redacted parts. */
#ifndef CLI_KUBECTL_PUT_BACK_H
#define CLI_KUBECTL_PUT_BACK_H

#include "base/json.h"

struct put_back {
	const struct json *live;     /* the object now; NULL: it is gone */
	const struct json *state;    /* its state now, with nothing redacted (api/diff/state.h); NULL: it is gone */
	const struct json *recorded; /* the wanted state */
	struct arena *arena;         /* holds all results */

	/* Results. */
	struct json *object;  /* the wanted object; live itself if nothing changes. Without redacted values if live is NULL */
	struct json *shown;   /* the live state for people: redacted where the recorded one is */
	struct json *kept;    /* pointers to redacted values that stay as they are */
	struct json *missing; /* pointers to redacted values that live does not have; they are left out */
	struct json *unclear; /* pointers to lists with ignored parts, whose items cannot be distinguished */

	struct buf pointer; /* private */
};

void put_back(struct put_back *p);
/* For people: replaces the values of a Secret by whether they change. Either may be NULL. */
void put_back_mask_secret(struct json **before, struct json **after, struct arena *a);

/* The API server derives labels of a Job's pods, and its selector, from the Job's uid. They are in the recorded state, but a
 * recreated Job has another uid, and the server refuses the old labels. A Job with spec.manualSelector keeps its labels.
 *
 * Returns the state with these labels as in live; without them if live is NULL, so that the server makes new ones. Returns the
 * state itself if nothing changes. */
const struct json *job_labels_renew(const struct json *state, const struct json *live, struct arena *a);

/* The merge patch (RFC 7396) by which an object gets the data of a revision. With "$patch": "replace" in the data, members
 * that the data does not mention are removed. */
struct json *undo_patch(const struct json *data, const struct json *object, struct arena *a);

#endif
