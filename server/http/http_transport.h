/* libmicrohttpd calls GnuTLS by name, so that names of ours can stand in for GnuTLS' own: for sessions that have a transport, what is read
 * and written goes through it. All other sessions, libcurl's say, are GnuTLS' alone.
 *
 * This relies on the dynamic linker, which finds the program's own symbols before a library's, or, where the libraries are archives, on
 * the linker's --wrap; http_probe.h looks whether it does. */
#ifndef SERVER_HTTP_HTTP_TRANSPORT_H
#define SERVER_HTTP_HTTP_TRANSPORT_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <sys/types.h>

struct transport {
	/* As gnutls_record_recv() and gnutls_record_send(), with their codes. */
	ssize_t (*receive)(struct transport *t, void *p, size_t n);
	ssize_t (*send)(struct transport *t, const void *p, size_t n); /* NULL: GnuTLS' own */
	bool is_plain; /* no TLS: there is no handshake, and the session serves as a name only */
};

/* Before its handshake. t must live as long as the session. */
void transport_attach(struct transport *t, gnutls_session_t session);
/* GnuTLS' own. */
ssize_t transport_tls_receive(gnutls_session_t session, void *p, size_t n);

#endif
