/* A certificate and its key, which GnuTLS makes. The key is one of P-256, whose handshakes cost a fifth of RSA's. */
#ifndef CLI_CERTS_KEY_PAIR_H
#define CLI_CERTS_KEY_PAIR_H

#include "base/str.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

struct key_pair {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
	bool has_misshapen_key; /* the file that was read should be written again; see below */
};

enum key_pair_purpose { PAIR_SERVES = 1 << 0, PAIR_CALLS = 1 << 1 }; /* a certificate with neither is a CA's */

/* The properties of a new pair. */
struct key_pair_recipe {
	const char *common_name, *organization; /* organization: NULL for none */
	unsigned purposes;                      /* PAIR_*, or 0: a CA */
	const char *const *names;               /* of a server: DNS names and IP addresses, none twice */
	size_t n_names;
};

void key_pair_done(struct key_pair *p); /* a zeroed pair is fine, too; the pair can be used again */
static inline bool key_pair_is_ca(const struct key_pair_recipe *r)
{
	return r->purposes == 0;
}

/* Makes a certificate for `life_s` seconds from now on, and a key unless p has one. issuer NULL: it signs itself.
 * Returns 0, or an error of GnuTLS. Call key_pair_done() in both cases. */
int key_pair_make(
	struct key_pair *p, const struct key_pair_recipe *r, const struct key_pair *issuer, int64_t now_s, int64_t life_s);

int key_pair_import_crt(struct key_pair *p, struct str pem);
int key_pair_import_key(struct key_pair *p, struct str pem);
/* To be freed by gnutls_free(). */
int key_pair_export_crt(const struct key_pair *p, gnutls_datum_t *ret_pem);
int key_pair_export_key(const struct key_pair *p, gnutls_datum_t *ret_pem);

bool key_pair_belongs_together(const struct key_pair *p);
bool key_pair_is_signed_by(const struct key_pair *p, const struct key_pair *issuer); /* ignores whether they are expired */
bool key_pair_has_names(const struct key_pair *p, const struct key_pair_recipe *r);  /* these and no others */
int64_t key_pair_begin_s(const struct key_pair *p);
int64_t key_pair_end_s(const struct key_pair *p);

/* ---- private keys as files: PKCS #8, unencrypted, PEM ----
 *
 * By RFC 5915, the private value of a key on a curve has as many octets as the curve's order: 32 on P-256. GnuTLS writes it
 * as an integer: with a zero in front if its highest bit is set, and without leading zeros. OpenSSL, GnuTLS and Go read
 * such a key; rustls refuses it, and so does every client in Rust. So annals writes keys of P-256 itself. */

/* To be freed by gnutls_free(). 0 or an error of GnuTLS. Keys of other kinds are written as GnuTLS does. */
int private_key_export(gnutls_x509_privkey_t key, gnutls_datum_t *ret_pem);

/* Is it PKCS #8 of a P-256 key whose private value does not have 32 octets? Then private_key_export() writes the same key
 * in the right form. False for keys in all other forms. pem has been read as a key. */
bool private_key_is_misshapen(struct str pem);

#endif
