/* Two sets of certificate authorities, of users and of front proxies, and what they say of a client's certificate. Immutable and counted:
 * any thread.
 *
 * What it has found good it remembers (verified_chains.h): the next connection with that chain costs no signatures.
 *
 * Time alone changes a verdict only when a certificate of the chain or of an authority begins or ceases to be valid; so a verdict comes
 * with the moment of the next such change. */
#ifndef SERVER_HTTP_VERIFIER_H
#define SERVER_HTTP_VERIFIER_H

#include "api/model/delegates.h"
#include "base/arena.h"
#include "server/http/http.h"

#include <gnutls/gnutls.h>

struct verifier;

/* Copies. An authority that is no PEM of certificates believes nobody, and a sentence says so in problems. */
struct verifier *verifier_new(const struct trust *trust, struct buf *problems);
struct verifier *verifier_ref(struct verifier *v);
struct verifier *verifier_unref(struct verifier *v); /* NULL */
DEFINE_CLEANUP(struct verifier *, verifier_unref)

/* What it was made of, without what is garbage; lives as long as the verifier. */
const struct trust *verifier_trust(const struct verifier *v);
/* Fills in the certificate's part of *ret, text in the arena, but for has_certificate. chain: as the client sent it, DER. Returns from which
 * moment on the verdict may be another: wall clock, in seconds, later than now_s. */
int64_t verifier_judge(const struct verifier *v, const gnutls_datum_t *chain, unsigned n, int64_t now_s, struct arena *a,
	struct http_peer *ret);

#endif
