/* HTTP/2 by nghttp2, beside HTTP/1.1 by libmicrohttpd: the same exchanges, by another wire (docs/explanation/http.md).
 *
 * A connection comes here when the keeper has seen that its ClientHello offers "h2" (h2_hello.h). It is pinned to one of a few threads of
 * this module, which do all of its work: handshake, frames, handlers. */
#ifndef SERVER_HTTP_H2_H
#define SERVER_HTTP_H2_H

#include "base/buf.h"
#include <sys/socket.h>

struct h2;
struct http_server;

/* Starts the threads. The server's options, certificate and keeper are there. 0, or -EIO with a sentence in err. */
int h2_new(struct h2 **ret, struct http_server *s, struct buf *err);
/* Takes a connection; false: it cannot, and has closed fd. The keeper's thread. */
bool h2_admit(struct h2 *h, int fd, const struct sockaddr *address, socklen_t size);
/* The server's flags have changed: connections are told to leave when it drains. Any thread. */
void h2_nudge(struct h2 *h);
struct h2 *h2_free(struct h2 *h); /* no connection may be left, nor anyone waking a stream */

#endif
