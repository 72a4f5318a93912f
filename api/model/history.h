/* That an object is one state in the history of another, its controller (seed 000): what a ControllerRevision is.
 *
 * A controller has one revision of each state and of each number. That is kept in an index beside the objects, written in the very transactions
 * that create, change and remove them (storage/keys.h, server/write/write_history.h). */
#ifndef API_MODEL_HISTORY_H
#define API_MODEL_HISTORY_H

#include "api/model/object.h"

/* The digest of its data (docs/digest.md); of objects that do not show it, it is computed. */
#define ANNOTATION_DIGEST STR("annals.dev/digest")
/* "true": the object may be another one of the same state or number. */
#define ANNOTATION_DUPLICATES STR("annals.dev/allow-duplicates")

struct history_place {
	struct str owner; /* uid of the controller */
	int64_t number;
};

struct str history_digest(const struct object *o, struct arena *a);
bool history_allows_duplicates(const struct object *o);

#endif
