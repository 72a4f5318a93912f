/* That an object is one state in the history of another, its controller (seed 000): what a ControllerRevision is.
 *
 * A controller has one revision of each state and of each number. That is kept in an index beside the objects, written in the very transactions
 * that create, change and remove them (storage/keys.h, server/write/write_history.h). */
#ifndef API_MODEL_HISTORY_H
#define API_MODEL_HISTORY_H

#include "api/model/object.h"

/* The digest of its data (docs/reference/digest.md); of objects that do not show it, it is computed. */
#define ANNOTATION_DIGEST STR("annals.dev/digest")
/* "true": the object may be another one of the same state or number. */
#define ANNOTATION_DUPLICATES STR("annals.dev/allow-duplicates")

/* Of a state that a Recorder had kept: the JSON pointers, as JSON, to what it had left out of the object. Absent: nothing. */
#define ANNOTATION_IGNORED STR("annals.dev/ignored")

struct history_place {
	struct str owner; /* uid of the controller */
	int64_t number;
};

struct str history_digest(const struct object *o, struct arena *a);
/* Doors of the kind's own group show the digest of every object. What was created through another door is stored without, and stays so: that
 * door is to show what upstream's would. */
bool history_hides_digest(const struct object *o); /* is it one of those? */
/* The object as the door shows it: itself, or a copy with its digest. */
const struct object *history_shown(const struct object *o, const struct door *d, struct arena *a);
/* Takes back what history_shown() has put into `from`, of which a client has made o. */
void history_take_back(struct object *o, const struct object *from, const struct door *d, struct arena *a);
bool history_allows_duplicates(const struct object *o);

#endif
