/* Which client certificates are believed: those of users, and those of front proxies, who speak for others.
 *
 * The authorities (`struct trust`) come from files, looked at again when they change, and from client_trust_set(); where there is a file
 * it decides for its half. What is in force is an immutable, counted `verifier`. A connection keeps the verdict on its certificate;
 * at the beginning of each request client_trust_judge() finds out with a few comparisons whether it still holds: it does until
 * another verifier is in force, or until a certificate of the chain, or of an authority, begins or ends to be valid.
 *
 * A file that is gone, empty or garbage believes nobody until it is mended; garbage that is set believes nobody. */
#ifndef SERVER_HTTP_CLIENT_TRUST_H
#define SERVER_HTTP_CLIENT_TRUST_H

#include "api/model/delegates.h"
#include "base/arena.h"
#include "base/watched_file.h"
#include "server/http/http.h"

#include <gnutls/gnutls.h>

struct client_trust;
struct verifier;

struct client_trust_options {
	const char *client_ca_file, *front_ca_file; /* PEM bundles, or NULL */
	const struct trust *front; /* with front_ca_file: names and headers of front proxies; copied. NULL: none */
	struct reload_hook on_reload; /* of trouble, and of its end */
};

/* 0, or -errno with a sentence in err. */
int client_trust_new(struct client_trust **ret, const struct client_trust_options *options, struct buf *err);
struct client_trust *client_trust_free(struct client_trust *t);
/* Any thread; copies. False, with a sentence in err, when part of it is garbage, which then believes nobody. */
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
