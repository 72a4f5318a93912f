/* What a request costs a server that does nothing for it: one thread, epoll and GnuTLS, no storage. "make bench" asks it for as many
 * bytes, over as many connections, right after each workload, and divides by what it spends: such figures hardly depend on the
 * machine. It speaks HTTP/2, too, where its client offers that (bare_http2.c).
 *
 *     bare_server PORT CERTIFICATE KEY        GET /N: N bytes. A body that is sent is read, and answered in the same way.
 *
 * It trusts its one client, the load generator, to send what HTTP/1.1 allows, and heads of 8 KiB at most. */
#include "tests/bench/bare_http2.h"

#include <arpa/inet.h>
#include <err.h>
#include <gnutls/gnutls.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { HEAD_MAX = 8 << 10, ANSWER_MAX = 16 << 20, EVENTS = 256, BACKLOG = 1024 };

struct connection {
	gnutls_session_t tls;
	int fd;
	bool is_open; /* the handshake is done */
	struct bare_http2 *http2; /* NULL: HTTP/1.1 */
	char head[HEAD_MAX + 1];
	size_t head_n;
	size_t body_left; /* of the request that is being read */
	size_t asked;     /* bytes of its answer's body */
	/* Of the answer that is being sent: its head, then so much of `answer`. */
	char out[256];
	size_t out_n, out_at, answer_n;
};

static char answer[ANSWER_MAX];
static gnutls_certificate_credentials_t credentials;
static gnutls_priority_t priorities;
static int poller;

static void check(int r, const char *what)
{
	if (r < 0) {
		errx(1, "%s: %s", what, gnutls_strerror(r));
	}
}

static void watch_fd(int how, int fd, uint32_t events, struct connection *c)
{
	struct epoll_event event = {.events = events, .data.ptr = c};

	if (epoll_ctl(poller, how, fd, &event) != 0) {
		err(1, "epoll_ctl");
	}
}

static void connection_new(int fd)
{
	static const gnutls_datum_t protocols[] = {{(unsigned char *)"h2", 2}, {(unsigned char *)"http/1.1", 8}};
	struct connection *c = calloc(1, sizeof(*c));
	int one = 1;

	if (!c) {
		err(1, "calloc");
	}
	c->fd = fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	check(gnutls_init(&c->tls, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS), "gnutls_init");
	check(gnutls_priority_set(c->tls, priorities), "gnutls_priority_set");
	check(gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, credentials), "gnutls_credentials_set");
	check(gnutls_alpn_set_protocols(c->tls, protocols, 2, 0), "gnutls_alpn_set_protocols");
	gnutls_transport_set_int(c->tls, fd);
	watch_fd(EPOLL_CTL_ADD, fd, EPOLLIN, c);
}

static void connection_free(struct connection *c)
{
	bare_http2_free(c->http2);
	gnutls_deinit(c->tls);
	close(c->fd);
	free(c);
}

static bool is_later(ssize_t r)
{
	return r == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED;
}

/* ---- answers ---- */

static bool is_sending(const struct connection *c)
{
	return c->http2 ? bare_http2_is_sending(c->http2) : c->out_at < c->out_n + c->answer_n;
}

/* False: the connection is broken. The head and the first of the body are one record, as annals sends them. */
static bool send_some(struct connection *c)
{
	static char record[16384];

	while (is_sending(c)) {
		size_t from_head = c->out_at < c->out_n ? c->out_n - c->out_at : 0;
		size_t left = c->out_n + c->answer_n - c->out_at, n = left < sizeof(record) ? left : sizeof(record);

		memcpy(record, c->out + c->out_n - from_head, from_head);
		memcpy(record + from_head, answer, n - from_head);
		ssize_t sent = gnutls_record_send(c->tls, record, n);
		if (is_later(sent)) {
			return true;
		}
		if (sent <= 0) {
			return false;
		}
		c->out_at += (size_t)sent;
	}
	return true;
}

static bool answer_request(struct connection *c)
{
	c->answer_n = c->asked;
	c->out_at = 0;
	c->out_n = (size_t)snprintf(c->out, sizeof(c->out),
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", c->answer_n);
	return send_some(c);
}

/* ---- requests ---- */

static size_t number_behind(const char *head, const char *name)
{
	const char *at = strcasestr(head, name);

	return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* Takes the head that is complete, and what there is of its body. */
static bool read_request(struct connection *c, char *end)
{
	size_t n = (size_t)(end - c->head) + 4, rest = c->head_n - n;

	*end = '\0';
	c->asked = number_behind(c->head, " /");
	if (c->asked > ANSWER_MAX) {
		c->asked = ANSWER_MAX;
	}
	c->body_left = number_behind(c->head, "\r\nContent-Length: ");
	size_t of_body = rest < c->body_left ? rest : c->body_left;
	c->body_left -= of_body;
	c->head_n = rest - of_body;
	memmove(c->head, end + 4 + of_body, c->head_n);
	return c->body_left > 0 || answer_request(c);
}

static bool read_body(struct connection *c)
{
	size_t n = c->head_n < c->body_left ? c->head_n : c->body_left;

	c->body_left -= n;
	c->head_n -= n;
	memmove(c->head, c->head + n, c->head_n);
	return c->body_left > 0 || answer_request(c);
}

/* What has arrived leads to at most one answer at a time: its client waits for it. */
static bool receive(struct connection *c)
{
	ssize_t n;

	do {
		n = gnutls_record_recv(c->tls, c->head + c->head_n, HEAD_MAX - c->head_n);
		if (is_later(n)) {
			return true;
		}
		if (n <= 0) {
			return false;
		}
		c->head_n += (size_t)n;
		c->head[c->head_n] = '\0';
		char *end = c->body_left > 0 ? NULL : strstr(c->head, "\r\n\r\n");
		if (c->body_left > 0 ? !read_body(c) : end ? !read_request(c, end) : c->head_n == HEAD_MAX) {
			return false;
		}
	} while (gnutls_record_check_pending(c->tls) > 0);
	return true;
}

static bool shake_hands(struct connection *c)
{
	gnutls_datum_t protocol;
	int r = gnutls_handshake(c->tls);

	c->is_open = r == 0;
	if (r == 0 && gnutls_alpn_get_selected_protocol(c->tls, &protocol) == 0 && protocol.size == 2) {
		c->http2 = bare_http2_new(c->tls);
		return bare_http2_turn(c->http2);
	}
	return r == 0 || !gnutls_error_is_fatal(r);
}

static void serve(struct connection *c, uint32_t events)
{
	bool was_sending = is_sending(c);
	bool ok = !c->is_open ? shake_hands(c) : c->http2 ? bare_http2_turn(c->http2) : was_sending ? send_some(c) : receive(c);

	if (!ok || events & (EPOLLERR | EPOLLHUP)) {
		connection_free(c);
	} else if (is_sending(c) != was_sending) {
		watch_fd(EPOLL_CTL_MOD, c->fd, is_sending(c) ? EPOLLOUT : EPOLLIN, c);
	}
}

static int listen_at(const char *port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, BACKLOG) != 0) {
		err(1, "port %s", port);
	}
	return fd;
}

int main(int argc, char **argv)
{
	struct epoll_event events[EVENTS];

	if (argc != 4) {
		errx(2, "usage: bare_server PORT CERTIFICATE KEY");
	}
	signal(SIGPIPE, SIG_IGN);
	memset(answer, 'x', sizeof(answer));
	check(gnutls_certificate_allocate_credentials(&credentials), "credentials");
	check(gnutls_certificate_set_x509_key_file(credentials, argv[2], argv[3], GNUTLS_X509_FMT_PEM), argv[2]);
	check(gnutls_priority_init(&priorities, "NORMAL:-VERS-ALL:+VERS-TLS1.3", NULL), "priorities");
	int listener = listen_at(argv[1]);
	poller = epoll_create1(0);
	watch_fd(EPOLL_CTL_ADD, listener, EPOLLIN, NULL);
	for (;;) {
		int n = epoll_wait(poller, events, EVENTS, -1), fd;

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr) {
				serve(events[i].data.ptr, events[i].events);
			} else {
				while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
					connection_new(fd);
				}
			}
		}
	}
}
