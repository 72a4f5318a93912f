/* Leader election by a Lease (coordination.k8s.io/v1), as client-go's leaderelection with a LeaseLock: one of many holds it, renews it,
 * and knows when it no longer does.
 *
 * Who does not hold it looks every retry_ms and takes it when it has not changed for lease_ms by the own clock: clocks of different machines
 * are never compared. Who holds it and cannot renew within renew_ms steps down, before anybody else may take it. */
#ifndef CLIENT_LEADER_H
#define CLIENT_LEADER_H

#include "client/client.h"

struct leader;

/* Text is copied. */
struct leader_options {
	struct client *client;
	const char *namespace, *name;         /* of the Lease, which is made when it is not there */
	const char *identity;                 /* unlike all others': HOST_UUID */
	int64_t lease_ms, renew_ms, retry_ms; /* 0: client-go's 15 s, 10 s, 2 s */
	void (*on_started)(void *ctx);        /* on the election's thread; must not block for long */
	void (*on_stopped)(void *ctx);        /* was leader, is no more: whoever acts on it must stop before this returns */
	void (*on_new_leader)(void *ctx, struct str identity); /* may be NULL; also of oneself */
	void (*on_problem)(void *ctx, struct str problem);     /* may be NULL */
	void *ctx;
};

/* Starts a thread. 0, or -errno with a sentence in err. */
int leader_new(struct leader **ret, const struct leader_options *options, struct buf *err);
/* Steps down (on_stopped), gives the lease back so that another can have it at once, and ends the thread. */
struct leader *leader_free(struct leader *l);
DEFINE_CLEANUP(struct leader *, leader_free)
bool leader_is_leading(const struct leader *l); /* any thread */

#endif
