/* Which Dependents are implemented, by what they refer to: seed 004's second correct optimization.
 *
 * While one Dependent of a Provider is implemented, another may be, without the Provider being looked at again: as long as the first is
 * there, nobody finds the Provider unreferred to, and whoever looks after it is gone finds the second, which was there before. So a worker
 * that works on one Dependent relies on what is known of another. For that a Dependent must leave here before it is let go, and this
 * lock is the order of both: who was found here had not been let go. */
#ifndef CONTROLLERS_DEPENDENTS_IMPLEMENTED_H
#define CONTROLLERS_DEPENDENTS_IMPLEMENTED_H

#include "base/map.h"
#include "controllers/dependents/provider_references.h"

#include <pthread.h>

struct implemented {
	pthread_mutex_t lock;
	struct map by_provided; /* provider_key() to what is known of it, and who is implemented with it */
};

void implemented_init(struct implemented *h);
void implemented_done(struct implemented *h);

/* What was last read of the object from the server, if a Dependent is implemented with it: a reference, or NULL. */
struct item *implemented_get(struct implemented *h, struct str provider_key);
/* The Dependent is implemented with that object, which was read from the server, or came out of here. */
void implemented_add(struct implemented *h, struct str provider_key, struct item *object, const struct item *dependent);
/* The Dependent is not implemented any more, or is about to be so. */
void implemented_release(struct implemented *h, const struct item *dependent);
/* The object is gone, whatever was relied on. */
void implemented_forget(struct implemented *h, struct str provider_key);

#endif
