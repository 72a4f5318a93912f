/* Putting a recorded state back: what an object has to be, given what it is now. Pure.
 *
 * What was not recorded stays as it is: status, metadata but what belongs to the state, and what the Recorder ignored. So
 * does the live value in the place of one that was redacted. Where a list has to become another one, its items are told
 * apart by what identifies them (a name, a key, a port); one that stays keeps what was ignored or redacted in it. */
#ifndef CLI_KUBECTL_PUT_BACK_H
#define CLI_KUBECTL_PUT_BACK_H

#include "base/json.h"

struct put_back {
	const struct json *live;     /* the object as it is; NULL: it is gone */
	const struct json *state;    /* what of it is recorded, with nothing redacted (api/record/state.h); NULL: it is gone */
	const struct json *recorded; /* the state that is wanted */
	struct arena *arena;         /* holds all that is made */

	/* What comes of it. */
	struct json *
		object; /* what the object has to be: live itself, where nothing changes; of one that is gone without what was redacted */
	struct json *shown;   /* the live state for people: redacted where the recorded one is */
	struct json *kept;    /* pointers to values that were redacted, and stay as they are */
	struct json *missing; /* ... and are nowhere: they are left out */
	struct json *unclear; /* ... to lists whose items cannot be told apart, although something in them was ignored */

	struct buf pointer; /* private */
};

void put_back(struct put_back *p);
/* For people: of a Secret no value, but which of them change. Either may be NULL. */
void put_back_mask_secret(struct json **before, struct json **after, struct arena *a);

#endif
