/* Does a client that begins TLS offer HTTP/2? Judged from its first bytes, before anybody reads them. Pure.
 *
 * The answer only chooses a thread: what the two sides agree on, the handshake decides. So what is no ClientHello, or one that cannot
 * be read, is simply not HTTP/2. */
#ifndef SERVER_HTTP_H2_HELLO_H
#define SERVER_HTTP_H2_HELLO_H

#include "base/str.h"

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
