/* HTTP/2 for bare_server.c, by nghttp2: GET /N is answered by N bytes, whatever else is asked. */
#pragma once

#include <gnutls/gnutls.h>
#include <stdbool.h>

struct bare_http2;

/* On a connection whose handshake is done, which it does not own. Never NULL. */
struct bare_http2 *bare_http2_new(gnutls_session_t tls);
void bare_http2_free(struct bare_http2 *h);

/* Reads what has arrived and sends what can be sent; false: the connection is at its end. */
bool bare_http2_turn(struct bare_http2 *h);

/* Whether there is more to send than the socket has taken. */
bool bare_http2_is_sending(const struct bare_http2 *h);
