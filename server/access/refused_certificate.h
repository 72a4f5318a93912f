/* Tells the operator why a client certificate led to a 401: which authority, date or name is wrong. Once in ten seconds at most, since anybody may
 * show one. */
#ifndef SERVER_ACCESS_REFUSED_CERTIFICATE_H
#define SERVER_ACCESS_REFUSED_CERTIFICATE_H

#include "server/http/http.h"

struct refused_certificate {
	void (*on_notice)(void *ctx, struct str text); /* NULL: nobody is told. Any thread */
	void *ctx;
	_Atomic int64_t next_ms; /* private; monotonic */
};

void refused_certificate_tell(struct refused_certificate *r, const struct http_peer *peer);

#endif
