/* Taking and letting go of objects, through the API server (seed 001, "Adoption", "Orphaning"). Blocking calls, of a worker's thread.
 *
 * Before the first adoption of a pass the owner is read from the server: a cache that has not heard of its deletion must not take back what the
 * garbage collector has just made an orphan. One read for a pass, whatever it adopts. */
#ifndef CONTROLLERS_OWNERSHIP_ADOPTION_H
#define CONTROLLERS_OWNERSHIP_ADOPTION_H

#include "client/rest.h"
#include "controllers/ownership/ownership.h"

enum adoption_result {
	ADOPTION_DONE = 1,
	ADOPTION_GONE,   /* the object is no more, or is another one by now: nobody's mistake */
	ADOPTION_FAILED, /* see problem; the pass should end, and come again */
};

struct adoption {
	struct client *client;
	const struct owner *owner;
	const struct target *owner_target; /* where the owner is read */
	enum { OWNER_UNREAD, OWNER_STAYS, OWNER_LEAVES } owner_state;
	struct str problem; /* in the arena */
	struct arena *arena;
};

/* Of the object at that target with that uid. answer (initialised): its last state, where there is one. */
enum adoption_result adoption_take(struct adoption *a, const struct target *object, struct str uid, struct answer *answer);
enum adoption_result adoption_let_go(struct adoption *a, const struct target *object, struct str uid, struct answer *answer);

#endif
