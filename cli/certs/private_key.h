/* Private keys as files: PKCS #8, unencrypted, PEM.
 *
 * RFC 5915 gives the private value of a key on a curve as many octets as the curve's order has: 32 on P-256. GnuTLS writes it as an
 * integer: with a zero in front where its highest bit is set, and without the zeros it begins with. OpenSSL, GnuTLS and Go read that
 * all the same; rustls, and with it every client in Rust, refuses the key. So P-256, which is what we make, is written here. */
#ifndef CLI_CERTS_PRIVATE_KEY_H
#define CLI_CERTS_PRIVATE_KEY_H

#include "base/str.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

/* To be freed by gnutls_free(). 0 or an error of GnuTLS. Keys of other kinds are written as GnuTLS does. */
int private_key_export(gnutls_x509_privkey_t key, gnutls_datum_t *ret_pem);

/* Whether pem, which was read as a key, is PKCS #8 of a P-256 key whose private value has not 32 octets: what private_key_export()
 * makes of it is the same key in the right form. What others have written in other forms is theirs. */
bool private_key_is_misshapen(struct str pem);

#endif
