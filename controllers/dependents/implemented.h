/* Which Dependents are implemented, by the objects that they refer to.
 *
 * While one Dependent of a Provider is implemented, another can be, without another read of the
 * Provider. As long as the first exists, the Provider is referred to and cannot go. Anyone who
 * looks after the first is gone finds the second, which existed before that.
 *
 * So a worker relies on what is known of another Dependent. A Dependent must therefore leave
 * this map before its finalizer goes. The lock orders the two: a Dependent that was found here
 * still had its finalizer. */
#ifndef CONTROLLERS_DEPENDENTS_IMPLEMENTED_H
#define CONTROLLERS_DEPENDENTS_IMPLEMENTED_H

#include "base/map.h"
#include "controllers/dependents/provider_references.h"

#include <pthread.h>

struct implemented {
	pthread_mutex_t lock;
	struct map by_provided; /* provider_key() to the object as last read, and the Dependents implemented with it */
};

void implemented_init(struct implemented *h);
void implemented_done(struct implemented *h);

/* The object as last read from the server, if a Dependent is implemented with it: a reference,
 * or NULL. */
struct item *implemented_get(struct implemented *h, struct str provider_key);
/* Notes that the Dependent is implemented with that object. The object was read from the server
 * or by implemented_get(). */
void implemented_add(struct implemented *h, struct str provider_key, struct item *object, const struct item *dependent);
/* Notes that the Dependent is no longer implemented, or will not be soon. */
void implemented_release(struct implemented *h, const struct item *dependent);
/* The object is gone, even if Dependents relied on it. */
void implemented_forget(struct implemented *h, struct str provider_key);

#endif
