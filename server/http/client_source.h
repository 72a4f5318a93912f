/* Whose share a question counts in before anybody knows who asks: the client's address. Of IPv6 it is the network of 64 bits, since whoever has
 * one address there has them all. Pure. */
#ifndef SERVER_HTTP_CLIENT_SOURCE_H
#define SERVER_HTTP_CLIENT_SOURCE_H

#include "base/arena.h"

/* peer: "192.0.2.1:40000" or "[2001:db8::1]:40000", as struct http_peer has it: IPv4 never in the clothes of
 * IPv6. */
struct str source_of(struct str peer, struct arena *a);

#endif
