/* Another server than the client's own (an admission webhook): where it is, and whom to believe that it is the one. It is never shown a
 * token or certificate of the client's. Immutable; it must outlive the exchanges that go there. */
#ifndef CLIENT_PEER_H
#define CLIENT_PEER_H

#include "client/credentials.h"

struct peer {
	char *base;    /* https://host:port */
	struct pem ca; /* none: the system's */
};

/* ca: PEM, NULL: the system's. 0, or -errno with a sentence in err. */
int peer_new(struct peer **ret, struct str base, const char *ca, struct buf *err);
struct peer *peer_free(struct peer *p);
DEFINE_CLEANUP(struct peer *, peer_free)

#endif
