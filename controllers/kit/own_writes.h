/* The versions that a controller has written to each owner's objects. So no pass decides by a cache that lacks
 * these writes (KEP-5647). A pass begins only when every informer has seen the highest version written for its
 * owner. One number is kept for each owner and kind; any thread may call.
 *
 * A write whose answer is lost may have succeeded, but there is no version to wait for. It
 * leaves the object in doubt until somebody has compared the cache with the server.
 *
 * Versions go back when a server's backup is restored. The versions noted for that kind would
 * never be reached, so they are forgotten for all owners. */
#ifndef CONTROLLERS_KIT_OWN_WRITES_H
#define CONTROLLERS_KIT_OWN_WRITES_H

#include "base/buf.h"
#include "base/map.h"

#include <pthread.h>

enum { OWN_WRITES_KINDS = 4 };

/* Returns the version that the informer of that kind has reached; 0: it has lost its history and
 * starts again. Called with the lock held. */
typedef uint64_t own_writes_seen(void *ctx, unsigned kind);

struct own_writes {
	own_writes_seen *seen;
	void *ctx;
	pthread_mutex_t lock;
	struct map by_owner; /* key: the owner's uid; value: versions and doubts */
	uint64_t last_seen[OWN_WRITES_KINDS];
};

void own_writes_init(struct own_writes *w, own_writes_seen *seen, void *ctx);
void own_writes_done(struct own_writes *w);
/* version: metadata.resourceVersion of the answer. */
void own_writes_note(struct own_writes *w, struct str owner_uid, unsigned kind, struct str version);
/* Returns -1 if all informers have caught up, else the first kind whose cache is behind. */
int own_writes_behind(struct own_writes *w, struct str owner_uid);
/* Notes that a write to the object with that kind and name may or may not have succeeded. */
void own_writes_doubt(struct own_writes *w, struct str owner_uid, unsigned kind, struct str name);
/* Gives one object in doubt and appends its name. Returns false if there is none. */
bool own_writes_is_doubtful(struct own_writes *w, struct str owner_uid, unsigned *ret_kind, struct buf *ret_name);
void own_writes_believe(
	/* the cache has caught up with the server */
	struct own_writes *w, struct str owner_uid, unsigned kind, struct str name);
void own_writes_forget(struct own_writes *w, struct str owner_uid); /* the owner is gone */

#endif
