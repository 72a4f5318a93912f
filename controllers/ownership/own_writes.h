/* What a controller has written of each owner's objects, so that a pass never decides by a cache that has not seen it (KEP-5647). A pass begins
 * only when every informer has come as far as the highest version written for that owner, and for that owner alone (seed 001, "Watches": "charged
 * to that controller"). One number for each owner and kind of object; any thread.
 *
 * A write whose answer is lost may have been carried out, and has no version to wait for. It leaves a doubt about the object, until somebody has
 * compared what the cache has of it with what the server has.
 *
 * Versions go back when a server's backup is restored. What was noted of that kind would never be reached, and is forgotten for all owners. */
#ifndef CONTROLLERS_OWNERSHIP_OWN_WRITES_H
#define CONTROLLERS_OWNERSHIP_OWN_WRITES_H

#include "base/buf.h"
#include "base/map.h"

#include <pthread.h>

enum { OWN_WRITES_KINDS = 4 };

/* How far the informer of that kind is; 0: it has lost its history, and begins again. Called with the lock. */
typedef uint64_t own_writes_seen(void *ctx, unsigned kind);

struct own_writes {
	own_writes_seen *seen;
	void *ctx;
	pthread_mutex_t lock;
	struct map by_owner; /* uid to the versions and the doubts */
	uint64_t last_seen[OWN_WRITES_KINDS];
};

void own_writes_init(struct own_writes *w, own_writes_seen *seen, void *ctx);
void own_writes_done(struct own_writes *w);
/* version: metadata.resourceVersion of the answer. */
void own_writes_note(struct own_writes *w, struct str owner_uid, unsigned kind, struct str version);
/* -1: all informers are as far as needed; else the first kind whose cache is behind. */
int own_writes_behind(struct own_writes *w, struct str owner_uid);
/* Nobody knows what became of a write to the object of that kind and name. */
void own_writes_doubt(struct own_writes *w, struct str owner_uid, unsigned kind, struct str name);
/* One object in doubt; its name is appended. False: there is none. */
bool own_writes_is_doubtful(struct own_writes *w, struct str owner_uid, unsigned *ret_kind, struct buf *ret_name);
void own_writes_believe(
	struct own_writes *w, struct str owner_uid, unsigned kind, struct str name); /* the cache was found to be abreast */
void own_writes_forget(struct own_writes *w, struct str owner_uid); /* the owner is gone */

#endif
