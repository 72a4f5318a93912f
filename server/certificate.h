/* Whom a client's certificate names, as k8s.io/apiserver's x509.CommonNameUserConversion reads it. */
#ifndef SERVER_CERTIFICATE_H
#define SERVER_CERTIFICATE_H

#include "base/arena.h"
#include "server/http.h"

#include <gnutls/x509.h>

/* Fills in common name, uid, organizations and fingerprint, text in the arena. False when there is more than one uid, or one that is no
 * text, or is empty: then the certificate names no user. */
bool certificate_read(gnutls_x509_crt_t cert, const gnutls_datum_t *der, struct arena *a, struct http_peer *ret);

#endif
