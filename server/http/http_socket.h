/* A client's socket, from the listener to the bytes that libmicrohttpd reads and writes.
 *
 *   listening   a socket for clients, and their addresses as text
 *   wire        GnuTLS, or plain bytes, on a socket that does not block, with few system calls
 *   transport   stands in for GnuTLS where libmicrohttpd reads and writes
 *   options     TCP_CORK and TCP_NODELAY, which libmicrohttpd may not set
 *
 * libmicrohttpd calls gnutls_record_recv(), setsockopt() and others by name, so functions of ours can stand in for
 * the libraries'. This relies on the dynamic linker, which finds a program's own symbols before those of a library.
 * Where GnuTLS is an archive it relies on the linker's --wrap. The probe in http_server.c checks whether it works. */
#ifndef SERVER_HTTP_HTTP_SOCKET_H
#define SERVER_HTTP_HTTP_SOCKET_H

#include "base/buf.h"
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Listening. */

enum { SOCKET_ADDRESS_SIZE = INET6_ADDRSTRLEN + sizeof("[]:65535") };

/* Listens on a numeric IPv4 or IPv6 address ("::" takes IPv4 too), port 0 for any, without blocking. 0, or -errno
 * with a sentence in err. */
int socket_listen(int *ret_fd, uint16_t *ret_port, const char *host, uint16_t port, struct buf *err);
/* "127.0.0.1:40000", "[::1]:40000". */
void socket_format_address(char out[SOCKET_ADDRESS_SIZE], const struct sockaddr *a);
/* Closes with a reset and without TIME_WAIT: a flood of clients that are turned away leaves nothing behind. */
void socket_reset(int fd);

/* The kernel's view of a TCP connection. */
struct socket_progress {
	int64_t silent_ms;    /* since bytes came last */
	uint64_t acked_bytes; /* of what we have sent */
};
/* False: it is no TCP socket. */
bool socket_probe(int fd, struct socket_progress *ret);

/* The wire.
 *
 * GnuTLS asks first for the five bytes before a record, then for the record. Here one recv(2) brings all that has
 * come into a buffer of the thread. When another connection needs that buffer, unread bytes move to memory of
 * their own. libmicrohttpd makes the head of an answer one record and the body the next. A record that another
 * will follow at once is held back, and both go out in one call. */
struct wire {
	int fd;
	_Atomic int64_t moved_ms;         /* when the socket last took something; any thread may read it */
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
/* The same for a plain connection; with GnuTLS' codes. */
ssize_t wire_receive_plain(struct wire *w, void *p, size_t n);
ssize_t wire_send_plain(struct wire *w, const void *p, size_t n);
void wire_done(struct wire *w); /* on the reading thread */

/* The transport: a session that has one is read and written through it. All other sessions, such as libcurl's, are
 * GnuTLS' alone. */
struct transport {
	/* As gnutls_record_recv() and gnutls_record_send(), with their codes. */
	ssize_t (*receive)(struct transport *t, void *p, size_t n);
	ssize_t (*send)(struct transport *t, const void *p, size_t n); /* NULL: GnuTLS' own */
	bool is_plain; /* no TLS: there is no handshake, and the session serves as a name only */
};

/* Before its handshake. t must live as long as the session. */
void transport_attach(struct transport *t, gnutls_session_t session);
/* GnuTLS' own gnutls_record_recv(). */
ssize_t transport_tls_receive(gnutls_session_t session, void *p, size_t n);

/* Options.
 *
 * libmicrohttpd sets TCP_CORK or TCP_NODELAY around each piece that it sends. Those are two system calls for an
 * answer that change nothing: the wire sends together what belongs together, and sockets inherit TCP_NODELAY from
 * the listener. On a socket whose options are hidden, setsockopt() refuses both as "not supported", and libmicrohttpd
 * does not ask again. */
void socket_options_hide(int fd);
void socket_options_show(int fd);        /* before fd is closed: the next socket of this number may need them */
uint64_t socket_options_n_refused(void); /* how often a call got "not supported"; for tests */

/* Polls.
 *
 * While libmicrohttpd has a connection in hand, it looks at its epoll before each step, without waiting: three system
 * calls for a request that has waited. In a thread that polls lazily only each fourth such look is a system call. The
 * others find nothing, so an event waits until libmicrohttpd has taken a few more steps. */
void socket_poll_lazily(void); /* this thread */

#endif
