/* An index of which Dependents refer to which objects. A look-up costs the same for one
 * Dependent of a Provider as for 100,000. The informer's handlers change it; any thread may ask. It
 * is a cache: what it shows has existed, what it does not show may exist. */
#ifndef CONTROLLERS_DEPENDENTS_DEPENDENTS_H
#define CONTROLLERS_DEPENDENTS_DEPENDENTS_H

#include "base/map.h"
#include "controllers/dependents/provider_references.h"

#include <pthread.h>

struct dependents {
	pthread_mutex_t lock;
	struct map by_name;     /* "NAMESPACE/NAME" to items, whose references it holds */
	struct map by_provided; /* provider_key() to maps of the same */
};

void dependents_init(struct dependents *d);
void dependents_done(struct dependents *d);

/* Replaces the Dependent that had this name. */
void dependents_put(struct dependents *d, struct item *dependent);
void dependents_remove(struct dependents *d, struct str namespace, struct str name);

bool dependents_refer_to(struct dependents *d, struct str provider_key);
/* Calls each() under the lock: it must be quick and not call this. */
void dependents_each(
	struct dependents *d, struct str provider_key, void (*each)(void *ctx, const struct item *dependent), void *ctx);

#endif
