/* Which owners an event wakes, like upstream's handlers of pods. A controller asks for each
 * event of an object that may be owned, and wakes the owners that the answer names. No I/O. A
 * mistake here costs a delay, never a freeze: owners are also woken by their own events. */
#ifndef CONTROLLERS_KIT_ROUTE_H
#define CONTROLLERS_KIT_ROUTE_H

#include "controllers/kit/ownership.h"

enum {
	ROUTE_OWNER = 1 << 0,     /* the present or last controller of the object */
	ROUTE_OLD_OWNER = 1 << 1, /* the controller before the change */
	ROUTE_MATCHING = 1 << 2,  /* all owners whose selectors match the orphan's labels */
};

unsigned route_added(const struct json *meta);
unsigned route_updated(const struct json *old_meta, const struct json *meta);
unsigned route_deleted(const struct json *meta);

/* Does the reference mean exactly the owner `o`, by kind, name and uid? */
bool route_is_owner(const struct owner_reference *ref, const struct owner *o);

#endif
