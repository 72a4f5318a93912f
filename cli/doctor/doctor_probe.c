/* Shakes hands with a TLS server, and verifies nothing. The HTTP client and gRPC give up at a chain that they do
 * not trust, but doctor wants to judge that very chain. */
#include "cli/doctor/doctor_cert.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_MS = 3000, ANSWER_MS = 3000 };

/* ---- a connection ---- */

static int wait_connected(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	int error = 0, n = poll(&p, 1, CONNECT_MS);
	socklen_t size = sizeof(error);
	if (n == 0) {
		return -ETIMEDOUT;
	}
	if (n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) {
		return -errno;
	}
	return -error;
}

static int connect_one(const struct addrinfo *to)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return -errno;
	}
	int r = connect(fd, to->ai_addr, to->ai_addrlen) == 0 ? 0 : errno == EINPROGRESS ? wait_connected(fd) : -errno;
	if (r == 0) {
		return fd;
	}
	close(fd);
	return r;
}

/* A descriptor, or -1. */
static int connect_any(const struct probe *p, struct buf *err)
{
	struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
	int e = getaddrinfo(p->host, p->port, &hints, &found);
	if (e) {
		buf_printf(err, "%s cannot be looked up: %s", p->host, gai_strerror(e));
		return -1;
	}
	int fd = -EHOSTUNREACH;
	for (const struct addrinfo *to = found; to && fd < 0; to = to->ai_next) {
		fd = connect_one(to);
	}
	freeaddrinfo(found);
	if (fd < 0) {
		buf_printf(err, "no connection to %s port %s: %s", p->host, p->port, strerror(-fd));
		return -1;
	}
	return fd;
}

/* ---- a handshake ---- */

struct session {
	gnutls_session_t tls;
	gnutls_certificate_credentials_t credentials;
};

static void session_done(struct session *s)
{
	if (s->tls) {
		gnutls_deinit(s->tls);
	}
	if (s->credentials) {
		gnutls_certificate_free_credentials(s->credentials);
	}
}

static gnutls_datum_t datum(struct str s)
{
	return (gnutls_datum_t){(unsigned char *)(uintptr_t)s.p, (unsigned)s.n};
}

static int set_certificate(struct session *s, const struct probe *p)
{
	if (!p->cert.n) {
		return 0;
	}
	gnutls_datum_t cert = datum(p->cert), key = datum(p->key);
	return gnutls_certificate_set_x509_key_mem2(s->credentials, &cert, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
}

static int set_session(struct session *s, const struct probe *p)
{
	int e = gnutls_init(&s->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
	if (e >= 0) {
		e = gnutls_set_default_priority(s->tls);
	}
	if (e >= 0) {
		e = gnutls_credentials_set(s->tls, GNUTLS_CRD_CERTIFICATE, s->credentials);
	}
	if (e >= 0 && p->server_name) {
		e = gnutls_server_name_set(s->tls, GNUTLS_NAME_DNS, p->server_name, strlen(p->server_name));
	}
	if (e >= 0 && p->speaks_http2) {
		e = gnutls_alpn_set_protocols(s->tls, &(gnutls_datum_t){(unsigned char[]){'h', '2'}, 2}, 1, 0);
	}
	return e;
}

static int session_init(struct session *s, const struct probe *p)
{
	*s = (struct session){NULL, NULL};
	int e = gnutls_certificate_allocate_credentials(&s->credentials);
	if (e >= 0) {
		e = set_certificate(s, p);
	}
	return e < 0 ? e : set_session(s, p);
}

/* False if nothing happens on the socket within ms. */
static bool wait_for_peer(const struct session *s, int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = gnutls_record_get_direction(s->tls) ? POLLOUT : POLLIN};
	return poll(&p, 1, ms) > 0;
}

static int shake_hands(struct session *s, int fd)
{
	int e;
	gnutls_transport_set_int(s->tls, fd);
	while ((e = gnutls_handshake(s->tls)) < 0 && !gnutls_error_is_fatal(e)) {
		if (e == GNUTLS_E_AGAIN && !wait_for_peer(s, fd, ANSWER_MS)) {
			return GNUTLS_E_TIMEDOUT;
		}
	}
	return e;
}

/* A server with TLS 1.3 refuses a client's certificate after the handshake. One with HTTP/2 speaks first, so that
 * waiting for its first bytes shows the refusal. */
static int hear_verdict(struct session *s, int fd)
{
	char bytes[64];
	ssize_t n;
	while ((n = gnutls_record_recv(s->tls, bytes, sizeof(bytes))) == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED) {
		if (!wait_for_peer(s, fd, ANSWER_MS)) {
			return 0;
		}
	}
	return n < 0 && gnutls_error_is_fatal((int)n) ? (int)n : 0;
}

static void take_chain(const struct session *s, struct certs *ret, struct arena *a)
{
	unsigned n = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(s->tls, &n);
	for (unsigned i = 0; i < n; i++) {
		certs_add_der(ret, &chain[i], a);
	}
}

/* Errors of a greeting that got no answer in TLS. A reset is among them: a server that closes a connection
 * before it has read everything resets it. */
static bool is_no_answer(int e)
{
	return e == GNUTLS_E_UNEXPECTED_PACKET_LENGTH || e == GNUTLS_E_UNSUPPORTED_VERSION_PACKET ||
		e == GNUTLS_E_UNEXPECTED_PACKET || e == GNUTLS_E_PREMATURE_TERMINATION || e == GNUTLS_E_PULL_ERROR ||
		e == GNUTLS_E_PUSH_ERROR;
}

static void say_error(const struct session *s, int e, bool has_answered, struct buf *err)
{
	if (e == GNUTLS_E_FATAL_ALERT_RECEIVED || e == GNUTLS_E_WARNING_ALERT_RECEIVED) {
		buf_printf(err, "it refuses: %s", gnutls_alert_get_name(gnutls_alert_get(s->tls)));
	} else if (is_no_answer(e) && has_answered) {
		buf_adds(err, "TLS fails: it ended the connection");
	} else if (is_no_answer(e)) {
		buf_adds(err, "it does not speak TLS");
	} else {
		buf_printf(err, "TLS fails: %s", gnutls_strerror(e));
	}
}

enum probe_result probe_run(const struct probe *p, struct certs *ret, struct arena *a, struct buf *err)
{
	struct session s;
	*ret = (struct certs){NULL, 0};
	int fd = connect_any(p, err);
	if (fd < 0) {
		return PROBE_UNREACHABLE;
	}
	int e = session_init(&s, p);
	if (e >= 0) {
		e = shake_hands(&s, fd);
		take_chain(&s, ret, a);
	}
	if (e >= 0 && p->speaks_http2) {
		e = hear_verdict(&s, fd);
	}
	if (e < 0) {
		say_error(&s, e, ret->n > 0, err);
	}
	session_done(&s);
	close(fd);
	return e < 0 ? PROBE_REFUSED : PROBE_OK;
}
