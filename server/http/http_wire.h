/* GnuTLS on a socket that does not block, with as few system calls as the records allow.
 *
 * Reading, GnuTLS asks for the five bytes before a record, then for the record: here one recv(2) brings what has come, into a buffer of the
 * thread; what is left over when another connection needs the buffer moves to memory of its own. Writing, libmicrohttpd makes the
 * head of an answer one record and the body the next: a record known to be followed by another at once is held back for it. */
#ifndef SERVER_HTTP_HTTP_WIRE_H
#define SERVER_HTTP_HTTP_WIRE_H

#include "base/base.h"
#include <gnutls/gnutls.h>
#include <sys/types.h>

struct wire {
	int fd;
	gnutls_session_t session;         /* NULL: plain */
	void (*on_empty)(struct wire *w); /* the socket has nothing to read; may be NULL */
	bool will_follow;                 /* the next record is followed by another at once: set by the owner, cleared here */

	/* Private. */
	char *held; /* a record held back, owned */
	size_t held_n;
	const char *ahead; /* read, not yet asked for: in the thread's buffer, or in `left_over` */
	size_t ahead_n;
	char *left_over; /* owned */
};

/* Becomes the transport of w->session, whose fd and session are set. Reading is for one thread; writing for one at a time. */
void wire_init(struct wire *w);
/* On a plain connection, likewise; with GnuTLS' codes. */
ssize_t wire_receive_plain(struct wire *w, void *p, size_t n);
ssize_t wire_send_plain(struct wire *w, const void *p, size_t n);
void wire_done(struct wire *w); /* on the reading thread */

#endif
