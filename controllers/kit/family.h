/* Indexes an informer's objects by their controller, and orphans by namespace. So a pass looks
 * only at its own objects and at those it might adopt, never at all of them. Alternatively indexes
 * everything by namespace alone. The informer's handlers change the index; any thread may ask. */
#ifndef CONTROLLERS_KIT_FAMILY_H
#define CONTROLLERS_KIT_FAMILY_H

#include "base/map.h"
#include "client/item.h"

#include <pthread.h>

struct family {
	pthread_mutex_t lock;
	struct map by_uid; /* key: the object's uid; the map holds the references */
	/* key: the controller's uid, or "/" and the namespace; values: maps from the objects'
	 * uids to the objects */
	struct map by_key;
	bool ignores_controllers;
};

/* ignores_controllers: also puts objects with a controller under their namespace */
void family_init(struct family *f, bool ignores_controllers);
void family_done(struct family *f);

void family_put(struct family *f, struct item *item); /* replaces the object with that uid */
/* Replaces an object in one step: no reader sees both, or neither. uid: of the object that had
 * the name before; it may be the same. */
void family_replace(struct family *f, struct str uid, struct item *item);
void family_remove(struct family *f, struct str uid);

struct item *family_get(struct family *f, struct str uid); /* returns a reference, or NULL */
/* Lists the objects controlled by that uid (empty: none), followed by those under the namespace.
 * Returns how many. They are references: call family_release(). */
size_t family_of(struct family *f, struct str owner_uid, struct str ns, struct item ***ret);
void family_release(struct item **items, size_t n);

#endif
