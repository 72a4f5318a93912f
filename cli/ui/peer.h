/* The user at the other end of a connection from this machine to itself.
 *
 * Every user of a machine can connect to its loopback addresses, and may read the arguments of all programs; and the link
 * is an argument of the program that opens it. The kernel knows the user of a socket. */
#ifndef CLI_UI_PEER_H
#define CLI_UI_PEER_H

#include "base/str.h"

#include <netinet/in.h>
#include <sys/types.h>

/* One end of a connection, in network order; an IPv4 address is in the first word. */
struct peer_end {
	sa_family_t family;
	uint16_t port;
	uint32_t words[4];
};

/* Finds in a table like /proc/net/tcp the user whose socket at `theirs` is connected to `ours`.
 * Returns false if there is none, or if its program has closed it. */
bool peer_find(struct str table, const struct peer_end *theirs, const struct peer_end *ours, uid_t *ret);

enum peer_owner {
	PEER_OURS,     /* our user, root, or the user of sudo if sudo has made us root */
	PEER_STRANGER, /* the user in *ret_uid */
	PEER_UNKNOWN,  /* the kernel names no user */
};
/* Judges a client at the address `theirs`, whose server listens at 127.0.0.1 and ::1. */
enum peer_owner peer_judge(const struct sockaddr *theirs, uint16_t port, uid_t *ret_uid);

#endif
