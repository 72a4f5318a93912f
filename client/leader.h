/* Leader election by a Lease (coordination.k8s.io/v1), as in client-go's leaderelection with a
 * LeaseLock. One of many candidates holds the Lease, renews it, and knows when it no longer holds
 * it.
 *
 * A candidate looks every retry_ms. It takes the Lease when that has not changed for lease_ms by
 * its own clock: clocks of different machines are never compared. A leader that cannot renew
 * within renew_ms steps down before another candidate may take the Lease. */
#ifndef CLIENT_LEADER_H
#define CLIENT_LEADER_H

#include "client/client.h"

struct leader;

/* All text is copied. */
struct leader_options {
	struct client *client;
	const char *namespace, *name;         /* of the Lease, which is created if it is missing */
	const char *identity;                 /* differs from those of all other candidates: HOST_UUID */
	int64_t lease_ms, renew_ms, retry_ms; /* 0: client-go's 15 s, 10 s, 2 s */
	void (*on_started)(void *ctx);        /* on the election's thread; must not block for long */
	void (*on_stopped)(void *ctx);        /* it is no longer leader: all work as leader must end before this returns */
	/* may be NULL; also called when this candidate becomes leader */
	void (*on_new_leader)(void *ctx, struct str identity);
	void (*on_problem)(void *ctx, struct str problem);     /* may be NULL */
	void *ctx;
};

/* Starts the election's thread. Returns 0, or -errno with a sentence in err. */
int leader_new(struct leader **ret, const struct leader_options *options, struct buf *err);
/* Steps down (on_stopped), releases the Lease so that another candidate can take it at once, and
 * ends the thread. */
struct leader *leader_free(struct leader *l);
DEFINE_CLEANUP(struct leader *, leader_free)
bool leader_is_leading(const struct leader *l); /* any thread */

#endif
