/* A client for tests of the HTTP front end: blocking, raw bytes in and out, plain or TLS. Whatever takes longer than a generous
 * time-out fails the test. */
#ifndef TESTS_UNIT_HTTP_CLIENT_H
#define TESTS_UNIT_HTTP_CLIENT_H

#include "base/buf.h"
#include <gnutls/gnutls.h>

struct client_tls {
	const char *cert_file, *key_file; /* NULL: no certificate */
	const char *priorities;           /* NULL: GnuTLS's */
	bool offers_http2;                /* also: its frames are the caller's business */
};

struct client {
	int fd;
	gnutls_session_t session; /* NULL: plain */
	gnutls_certificate_credentials_t credentials;
	struct buf in; /* received; from `at` on not yet looked at */
	size_t at;
};

struct answer {
	unsigned status;
	struct str head; /* status line and headers */
	struct buf body;
	bool is_complete; /* as its framing says */
	bool will_close;
};

/* A TCP connection alone. */
void client_dial(struct client *c, uint16_t port);
/* And TLS on it; 0 or GnuTLS's error. */
int client_handshake(struct client *c, const struct client_tls *tls);
/* Both; tls NULL: plain. */
void client_open(struct client *c, uint16_t port, const struct client_tls *tls);
void client_close(struct client *c);

void client_send(struct client *c, struct str bytes);
#define client_say(c, text) client_send((c), str_of(text))
bool client_try_send(struct client *c, struct str bytes); /* false: the other end has closed */
/* Waits for more in c->in; false at the end. */
bool client_receive(struct client *c);
/* Nothing but the end comes. */
void client_expect_end(struct client *c);

/* Reads one answer (not to HEAD); false when the connection ended before its head was complete. */
bool client_read_answer(struct client *c, struct answer *ret);
bool client_read_head(struct client *c, struct answer *ret);
/* Appends the next chunk; false: it was the last one. Fails the test when the stream breaks off. */
bool client_read_chunk(struct client *c, struct buf *body);
void answer_clear(struct answer *a);
struct str answer_header(const struct answer *a, const char *name);

/* Says it and reads the answer. */
void client_ask(struct client *c, const char *request, struct answer *ret);
void client_get(struct client *c, const char *target, struct answer *ret);

#endif
