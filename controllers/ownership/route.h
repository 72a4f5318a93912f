/* Whom an event concerns (seed 001, "Watches"; upstream's handlers of pods). A controller asks for each event of an object that may be owned, and
 * wakes the owners that the answer names. Without I/O; a mistake here costs a delay, never a freeze: owners are also woken by their own events. */
#ifndef CONTROLLERS_OWNERSHIP_ROUTE_H
#define CONTROLLERS_OWNERSHIP_ROUTE_H

#include "controllers/ownership/ownership.h"

enum {
	ROUTE_OWNER = 1 << 0,     /* the controller of the object as it is now, or last was */
	ROUTE_OLD_OWNER = 1 << 1, /* that of the object as it was before */
	ROUTE_MATCHING = 1 << 2,  /* all owners whose selectors match the orphan's labels */
};

unsigned route_added(const struct json *meta);
unsigned route_updated(const struct json *old_meta, const struct json *meta);
unsigned route_deleted(const struct json *meta);

/* Is `o` the very owner the reference means: kind, name and uid? */
bool route_is_owner(const struct owner_reference *ref, const struct owner *o);

#endif
