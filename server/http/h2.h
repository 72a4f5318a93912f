/* HTTP/2 by nghttp2, beside HTTP/1.1 by libmicrohttpd: the same exchanges, by another wire (docs/explanation/http.md).
 *
 * A connection comes here when the keeper has seen that its ClientHello offers "h2". It is pinned to one of a few threads of
 * this module, which do all of its work: handshake, frames, handlers. */
#ifndef SERVER_HTTP_H2_H
#define SERVER_HTTP_H2_H

#include "base/buf.h"
#include "base/str.h"
#include <sys/socket.h>

struct h2;
struct http_server;

/* Starts the threads. The server's options, certificate and keeper are there. 0, or -EIO with a sentence in err. */
int h2_new(struct h2 **ret, struct http_server *s, struct buf *err);
/* Takes a connection; false: it cannot, and has closed fd. The keeper's thread. */
bool h2_admit(struct h2 *h, int fd, const struct sockaddr *address, socklen_t size);
/* The server's flags have changed: connections get GOAWAY when it drains. Any thread. */
void h2_nudge(struct h2 *h);
struct h2 *h2_free(struct h2 *h); /* no connection may be left, nor anyone waking a stream */

/* Does a client that begins TLS offer HTTP/2? Judged from its first bytes, before anybody reads them. Pure.
 *
 * The answer only chooses a thread: what the two sides agree on, the handshake decides. So what is no ClientHello, or one that cannot
 * be read, is simply not HTTP/2. */
enum { H2_HELLO_MAX = 16 << 10 }; /* bytes looked at; a longer ClientHello is nobody's */

enum h2_hello {
	H2_HELLO_MORE,  /* it is not whole */
	H2_HELLO_OFFER, /* of "h2" */
	H2_HELLO_OTHER,
};

/* bytes: all that has come so far. *ret_wanted: with H2_HELLO_MORE, how many there must be at least before it is worth looking again; at most
 * H2_HELLO_MAX. */
enum h2_hello h2_hello_judge(struct str bytes, size_t *ret_wanted);

#endif
