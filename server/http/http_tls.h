/* The server's own certificate, which follows its files, and the authorities that are named to clients.
 * server/http/client_trust.h finds out who the client is.
 *
 * Certificate and key are loaded together into an immutable, counted `tls_identity`. A connection keeps the one it began with, so a
 * reload touches no connection; new ones get the new identity. */
#ifndef SERVER_HTTP_HTTP_TLS_H
#define SERVER_HTTP_HTTP_TLS_H

#include "server/http/client_trust.h"
#include <gnutls/gnutls.h>

/* TLS 1.2 and 1.3, AEAD ciphers with forward secrecy only, the cheaper of equally good ones first. */
#define TLS_PRIORITIES                                                                                         \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:+AES-128-GCM:" \
	"+AES-256-GCM:+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:%SERVER_PRECEDENCE"

struct tls_identity;
struct tls_files;

/* Loads the two files and remembers them. asks_client: clients are asked for a certificate, which they need not have. 0, or -errno with a
 * sentence in err. The names must live as long as the result. */
int tls_files_new(struct tls_files **ret, const char *cert_file, const char *key_file, bool asks_client, struct buf *err);
struct tls_files *tls_files_free(struct tls_files *f);
/* Loads them again if one has changed since: 0 when nothing changed, 1 when there is a new identity, or -errno with a sentence in
 * err, said once per change; then the identity before stays in use. For one thread. */
int tls_files_refresh(struct tls_files *f, struct buf *err);

/* From now on clients are sent the names of these authorities with the request for a certificate, users' and front proxies' alike. Keeps a
 * reference. Cheap when they are the same as before. For that thread. */
void tls_files_hint(struct tls_files *f, struct verifier *v);
/* Says in `notice` when what clients are shown begins to be out of date, and when that is over. For that thread. */
void tls_files_check_dates(struct tls_files *f, int64_t now_s, struct buf *notice);

/* A reference on what new connections are to use; any thread. */
struct tls_identity *tls_files_identity(struct tls_files *f);
struct tls_identity *tls_identity_unref(struct tls_identity *id);
/* Gives a server session, before its handshake, this identity instead of what it had. The caller keeps its reference until the session
 * is gone. */
void tls_identity_apply(const struct tls_identity *id, gnutls_session_t session);

#endif
