/* A server other than the client's own (an admission webhook): its address, and the authorities
 * that prove its identity. It never gets the client's token or certificate. A peer is immutable,
 * and must outlive the exchanges that go there. */
#ifndef CLIENT_PEER_H
#define CLIENT_PEER_H

#include "client/credentials.h"

struct peer {
	char *base;    /* https://host:port */
	struct pem ca; /* none: the system's */
};

/* ca is PEM; NULL: the system's authorities. Returns 0, or -errno with a sentence in err. */
int peer_new(struct peer **ret, struct str base, const char *ca, struct buf *err);
struct peer *peer_free(struct peer *p);
DEFINE_CLEANUP(struct peer *, peer_free)

#endif
