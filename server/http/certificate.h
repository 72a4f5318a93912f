/* Whom a client's certificate names, as k8s.io/apiserver's x509.CommonNameUserConversion reads it. */
#ifndef SERVER_HTTP_CERTIFICATE_H
#define SERVER_HTTP_CERTIFICATE_H

#include "base/arena.h"
#include "server/http/http.h"

#include <gnutls/x509.h>

/* Fills in common name, uid, organizations and fingerprint, text in the arena. NULL; or a sentence that says why the certificate names no
 * user: more than one uid, or one that is no text or empty; more organizations than are taken, or one that is too long. */
const char *certificate_read(gnutls_x509_crt_t cert, const gnutls_datum_t *der, struct arena *a, struct http_peer *ret);

#endif
