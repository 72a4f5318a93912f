/* Does libmicrohttpd, in the version that is installed, do what we rely on (docs/explanation/http.md)? Asked by two requests of our own to our own
 * server, before anybody else is let in. */
#ifndef SERVER_HTTP_HTTP_PROBE_H
#define SERVER_HTTP_HTTP_PROBE_H

#include "server/http/http.h"

/* What serves the requests of the probe. */
struct http_handler http_probe_handler(void);

/* fd: the client's end of a connection to the server, not blocking; it is left open. 0; -EPROTO where TLS, so the certificate, does
 * not work; -EIO where libmicrohttpd does not; with a reason in err. */
int http_probe(int fd, bool is_tls, struct buf *err);

#endif
