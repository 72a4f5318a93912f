/* Whose program is at the other end of a connection from this machine to itself.
 *
 * A link is an argument of the program that opens it, and every user of a machine may read the arguments of all programs. So another
 * user could be first with the token. On Linux the kernel tells whose a socket is. */
#ifndef CLI_UI_PEER_H
#define CLI_UI_PEER_H

#include "base/str.h"

#include <sys/types.h>

/* Of a table in the manner of /proc/net/tcp: the user whose socket at `address` ("127.0.0.1:40000" or "[::1]:40000") is connected to
 * our port. False: it is not there. */
bool peer_find(struct str table, struct str address, uint16_t port, uid_t *ret);
/* Is it ours, or root's, or, where sudo has made us root, of whoever called sudo? True also where nobody can say. */
bool peer_may_come(struct str address, uint16_t port);

#endif
