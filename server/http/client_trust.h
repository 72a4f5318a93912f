/* Decides which client certificates are trusted: those of users, and those of front proxies, who
 * speak for others.
 *
 * The authorities (`struct trust`) come from files, read again when they change, and from
 * client_trust_set(). A file decides for its half. An immutable, counted `verifier` is in force. A
 * connection keeps the verdict on its certificate. At the beginning of each request
 * client_trust_judge() checks with a few comparisons whether the verdict still holds. It does until
 * another verifier is in force, or until a certificate of the chain, or of an authority, begins or
 * ends to be valid.
 *
 * A file that is gone, empty or garbage trusts nobody until it is fixed; so does garbage that is
 * set. */
#ifndef SERVER_HTTP_CLIENT_TRUST_H
#define SERVER_HTTP_CLIENT_TRUST_H

#include "api/model/delegates.h"
#include "base/arena.h"
#include "base/sha256.h"
#include "base/watched_file.h"
#include "server/http/http.h"

#include <gnutls/gnutls.h>

/* Two sets of certificate authorities, of users and of front proxies, and what they say of a client's certificate. Immutable and counted:
 * any thread.
 *
 * A verifier remembers good verdicts: the next connection with that chain costs no signatures.
 *
 * Time alone changes a verdict only when a certificate of the chain or of an authority begins or ceases to be valid; so a verdict comes
 * with the moment of the next such change. */
struct verifier;

/* Copies. An authority that is no PEM of certificates trusts nobody, and a sentence says so in problems. */
struct verifier *verifier_new(const struct trust *trust, struct buf *problems);
struct verifier *verifier_ref(struct verifier *v);
struct verifier *verifier_unref(struct verifier *v); /* NULL */
DEFINE_CLEANUP(struct verifier *, verifier_unref)

/* The trust that the verifier was made of, without the parts that are garbage. Lives as long as the verifier. */
const struct trust *verifier_trust(const struct verifier *v);
/* Fills in the certificate's part of *ret, text in the arena, but for has_certificate. chain: as the client sent it, DER. Returns from which
 * moment on the verdict may be another: wall clock, in seconds, later than now_s. */
int64_t verifier_judge(const struct verifier *v, const gnutls_datum_t *chain, unsigned n, int64_t now_s, struct arena *a,
	struct http_peer *ret);

/* The latest good verdicts of one verifier, each for a chain of certificates. A front proxy keeps 25 connections, and opens others for
 * each burst. Its signatures are checked once. A client that has only seen a certificate gains nothing: the handshake has proved that
 * the client has the key.
 *
 * Bad verdicts are not kept, so that strangers push nobody out. Any thread. */
enum { VERDICTS_MAX = 64 }; /* chains; the least recently used one makes room */

struct verified_chains;

/* Tells a chain from any other. */
struct chain_id {
	unsigned char sha256[SHA256_SIZE];
};

struct verified_chains *verified_chains_new(void);
struct verified_chains *verified_chains_free(struct verified_chains *s);

/* Fills in the certificate's part of *ret, text in the arena, and until when it holds. False: nothing is known that holds now. */
bool verified_chains_find(struct verified_chains *s, const struct chain_id *id, int64_t now_s, struct arena *a,
	struct http_peer *ret, int64_t *ret_until_s);
/* Copies; peer is of a certificate that is verified. Holds from from_s on, but not at until_s. */
void verified_chains_keep(
	struct verified_chains *s, const struct chain_id *id, int64_t from_s, int64_t until_s, const struct http_peer *peer);

struct client_trust;

struct client_trust_options {
	const char *client_ca_file, *front_ca_file; /* PEM bundles, or NULL */
	const struct trust *front;    /* with front_ca_file: names and headers of front proxies; copied. NULL: none */
	struct reload_hook on_reload; /* of trouble, and of its end */
};

/* 0, or -errno with a sentence in err. */
int client_trust_new(struct client_trust **ret, const struct client_trust_options *options, struct buf *err);
struct client_trust *client_trust_free(struct client_trust *t);
/* Any thread; copies. False, with a sentence in err, when part of it is garbage, which then trusts nobody. */
bool client_trust_set(struct client_trust *t, const struct trust *trust, struct buf *err);

/* A reference on what is in force, once the files have been looked at. Any thread. */
struct verifier *client_trust_current(struct client_trust *t);

/* On the certificate of one connection. Zero: not judged yet. */
struct verdict {
	struct verifier *by;
	int64_t from_s, until_s; /* wall clock: holds at from_s and later, but not at until_s */
	bool is_final;           /* there is no certificate */
};

/* After the handshake, before each request: brings the verdict and the certificate's part of *peer up to date. Text is in the arena, which is
 * cleared first. */
void client_trust_judge(
	struct client_trust *t, struct verdict *v, gnutls_session_t session, struct arena *a, struct http_peer *peer);
/* False: client_trust_judge() would judge anew. */
bool client_trust_holds(struct client_trust *t, const struct verdict *v);
void verdict_done(struct verdict *v);

#endif
