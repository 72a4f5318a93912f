/* The kubeconfig of the administrator: everything in one file of mode 0600, so that it can be copied elsewhere. */
#ifndef CLI_CERTS_KUBECONFIG_H
#define CLI_CERTS_KUBECONFIG_H

#include "cli/common/datadir.h"

/* DIR/kubeconfig for a server at `url`, with ca.crt, admin.crt and admin.key of the folder. Left alone when it says so
 * already. 0, or -errno with a sentence in err. */
int kubeconfig_ensure(const struct datadir *d, const char *url, struct buf *err);

#endif
