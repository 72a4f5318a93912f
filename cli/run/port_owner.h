/* Which process listens on a TCP port of this machine, as far as /proc tells. */
#ifndef CLI_RUN_PORT_OWNER_H
#define CLI_RUN_PORT_OWNER_H

#include "base/buf.h"

/* Appends "kube-apiserver (pid 123)". False, appending nothing, when nobody is found: other users' processes are hidden
 * from us. */
bool port_owner(uint16_t port, struct buf *out);

#endif
