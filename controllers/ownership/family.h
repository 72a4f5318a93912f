/* An informer's objects by who controls them, and the orphans by namespace: a pass looks at its own and at those that it might take, and never
 * at all there are. Or all by namespace alone. The informer's handlers change it, any thread may ask. */
#ifndef CONTROLLERS_OWNERSHIP_FAMILY_H
#define CONTROLLERS_OWNERSHIP_FAMILY_H

#include "base/map.h"
#include "client/item.h"

#include <pthread.h>

struct family {
	pthread_mutex_t lock;
	struct map by_uid; /* of the object; holds the references */
	struct map by_key; /* the controller's uid, or "/" and the namespace, to maps from the object's own uid to the same */
	bool ignores_controllers;
};

void family_init(struct family *f, bool ignores_controllers); /* those that have one are by namespace, too */
void family_done(struct family *f);

void family_put(struct family *f, struct item *item); /* in the place of what had its uid */
/* In one step: nobody sees both, or neither. uid: of the object that had its name before; it may be the same. */
void family_replace(struct family *f, struct str uid, struct item *item);
void family_remove(struct family *f, struct str uid);

struct item *family_get(struct family *f, struct str uid); /* a reference, or NULL */
/* Those controlled by that uid (empty: none), and behind them those of the namespace, with references: for family_release(). How many. */
size_t family_of(struct family *f, struct str owner_uid, struct str ns, struct item ***ret);
void family_release(struct item **items, size_t n);

#endif
