/* A certificate and its key, made in process by GnuTLS: P-256, whose handshakes cost a fifth of RSA's. */
#ifndef CLI_CERTS_KEY_PAIR_H
#define CLI_CERTS_KEY_PAIR_H

#include "base/str.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

struct key_pair {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
	bool has_misshapen_key; /* it was read, and should be written again (private_key.h) */
};

enum key_pair_purpose { PAIR_SERVES = 1 << 0, PAIR_CALLS = 1 << 1 }; /* who has neither is a CA */

/* What is wanted of one. */
struct key_pair_recipe {
	const char *common_name, *organization; /* organization: NULL for none */
	unsigned purposes;                      /* of enum pair_purpose */
	const char *const *names;               /* of a server: DNS names and IP addresses, none twice */
	size_t n_names;
};

void key_pair_done(struct key_pair *p); /* also of a zeroed one, and usable again afterwards */
static inline bool key_pair_is_ca(const struct key_pair_recipe *r)
{
	return r->purposes == 0;
}

/* Fills in a certificate for `life_s` seconds from now on, and a key where p has none yet. issuer NULL: signed by itself. 0 or an
 * error of GnuTLS; key_pair_done() either way. */
int key_pair_make(
	struct key_pair *p, const struct key_pair_recipe *r, const struct key_pair *issuer, int64_t now_s, int64_t life_s);

int key_pair_import_crt(struct key_pair *p, struct str pem);
int key_pair_import_key(struct key_pair *p, struct str pem);
/* To be freed by gnutls_free(). */
int key_pair_export_crt(const struct key_pair *p, gnutls_datum_t *ret_pem);
int key_pair_export_key(const struct key_pair *p, gnutls_datum_t *ret_pem);

bool key_pair_belongs_together(const struct key_pair *p);
bool key_pair_is_signed_by(const struct key_pair *p, const struct key_pair *issuer); /* at whatever time */
bool key_pair_has_names(const struct key_pair *p, const struct key_pair_recipe *r);  /* these and no others */
int64_t key_pair_begin_s(const struct key_pair *p);
int64_t key_pair_end_s(const struct key_pair *p);

#endif
