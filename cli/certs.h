/* The certificates of `annals up`, made in process: a CA (10 years), the serving certificate, the administrator's client
 * certificate and that of the controllers within (1 year each), all with P-256 keys, whose handshakes cost a fifth of RSA's.
 *
 *   ca.crt ca.key          CN=annals-ca
 *   server.crt server.key  127.0.0.1, ::1, localhost, kubernetes, the host's name
 *   admin.crt admin.key    O=system:masters, CN=annals-admin
 *   controllers.crt .key   O=system:masters, CN=system:annals-controllers
 */
#ifndef CLI_CERTS_H
#define CLI_CERTS_H

#include "cli/datadir.h"

/* Makes what is missing, broken, not ours, for another host name, or has less than a third of its life left; the rest stays
 * as it is. 0, with how many were made in *ret_n_made (may be NULL), or -errno with a sentence in err. */
int certs_ensure(const struct datadir *d, int64_t now_s, unsigned *ret_n_made, struct buf *err);

#endif
