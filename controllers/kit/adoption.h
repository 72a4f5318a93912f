/* Adopts and releases objects through the API server. The calls block, on a worker's thread.
 *
 * Before the first adoption of a pass the owner is read from the server. A cache that has not
 * seen the owner's deletion must not adopt again what the garbage collector has just orphaned.
 * One read serves the whole pass. */
#ifndef CONTROLLERS_KIT_ADOPTION_H
#define CONTROLLERS_KIT_ADOPTION_H

#include "client/rest.h"
#include "controllers/kit/ownership.h"

enum adoption_result {
	ADOPTION_DONE = 1,
	ADOPTION_GONE,   /* the object is gone or replaced by another: not an error */
	ADOPTION_FAILED, /* see problem; the pass should end and be repeated */
};

struct adoption {
	struct client *client;
	const struct owner *owner;
	const struct target *owner_target; /* where to read the owner */
	enum { OWNER_UNREAD, OWNER_STAYS, OWNER_LEAVES } owner_state;
	struct str problem; /* in the arena */
	struct arena *arena;
};

/* Adopts the object at that target with that uid. answer (initialised) gets the object's last
 * state, if there is one. */
enum adoption_result adoption_take(struct adoption *a, const struct target *object, struct str uid, struct answer *answer);
enum adoption_result adoption_let_go(struct adoption *a, const struct target *object, struct str uid, struct answer *answer);

#endif
