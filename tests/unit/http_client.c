#include "tests/unit/http_client.h"

#include "tests/unit/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_S = 180, ENOUGH = 256 << 20 };

void client_dial(struct client *c, uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = PATIENCE_S};
	int one = 1;
	*c = (struct client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	assert_true(c->fd >= 0);
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	buf_init(&c->in, ENOUGH);
	assert_int_equal(connect(c->fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

int client_handshake(struct client *c, const struct client_tls *tls)
{
	static const gnutls_datum_t protocols[] = {
		{(unsigned char *)(uintptr_t) "h2", 2}, {(unsigned char *)(uintptr_t) "http/1.1", 8}};
	gnutls_certificate_allocate_credentials(&c->credentials);
	if (tls->cert_file) {
		assert_int_equal(gnutls_certificate_set_x509_key_file(
					 c->credentials, tls->cert_file, tls->key_file, GNUTLS_X509_FMT_PEM),
			0);
	}
	gnutls_init(&c->session, GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT | GNUTLS_NO_SIGNAL);
	gnutls_priority_set_direct(c->session, tls->priorities ? tls->priorities : "NORMAL", NULL);
	gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, c->credentials);
	unsigned first = tls->offers_http2 ? 0 : 1;
	gnutls_alpn_set_protocols(c->session, protocols + first, ARRAY_SIZE(protocols) - first, 0);
	gnutls_transport_set_int(c->session, c->fd);
	int r;
	do {
		r = gnutls_handshake(c->session);
	} while (r == GNUTLS_E_INTERRUPTED);
	return r;
}

void client_open(struct client *c, uint16_t port, const struct client_tls *tls)
{
	client_dial(c, port);
	if (tls) {
		assert_int_equal(client_handshake(c, tls), 0);
	}
}

void client_close(struct client *c)
{
	if (c->session) {
		gnutls_deinit(c->session);
		gnutls_certificate_free_credentials(c->credentials);
	}
	close(c->fd);
	buf_done(&c->in);
}

bool client_try_send(struct client *c, struct str bytes)
{
	while (bytes.n > 0) {
		ssize_t n = c->session ? gnutls_record_send(c->session, bytes.p, bytes.n)
				       : send(c->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
		if (n < 0) {
			return false;
		}
		bytes.p += n;
		bytes.n -= (size_t)n;
	}
	return true;
}

void client_send(struct client *c, struct str bytes)
{
	assert_true(client_try_send(c, bytes));
}

static ssize_t receive(struct client *c, char *p, size_t max)
{
	ssize_t n;
	do {
		n = c->session ? gnutls_record_recv(c->session, p, max) : recv(c->fd, p, max, 0);
	} while (c->session && n == GNUTLS_E_INTERRUPTED);
	bool is_late = c->session ? n == GNUTLS_E_AGAIN : n < 0 && errno == EAGAIN;
	assert_false(is_late);
	return n;
}

bool client_receive(struct client *c)
{
	char bytes[65536];
	ssize_t n = receive(c, bytes, sizeof(bytes));
	if (n <= 0) {
		return false;
	}
	assert_true(buf_add(&c->in, bytes, (size_t)n));
	return true;
}

static struct str rest(const struct client *c)
{
	return (struct str){c->in.p + c->at, c->in.n - c->at};
}

void client_expect_end(struct client *c)
{
	while (client_receive(c)) {
	}
	assert_int_equal(rest(c).n, 0);
}

/* Up to and with the first `end`, taken from the input; false when the connection ends before. */
static bool take_until(struct client *c, const char *end, size_t *ret_n)
{
	for (;;) {
		struct str s = rest(c);
		const char *found = s.n ? memmem(s.p, s.n, end, strlen(end)) : NULL;
		if (found) {
			*ret_n = (size_t)(found - s.p) + strlen(end);
			c->at += *ret_n;
			return true;
		}
		if (!client_receive(c)) {
			return false;
		}
	}
}

static bool take(struct client *c, size_t n, struct buf *to)
{
	while (rest(c).n < n) {
		if (!client_receive(c)) {
			return false;
		}
	}
	assert_true(buf_add(to, rest(c).p, n));
	c->at += n;
	return true;
}

struct str answer_header(const struct answer *a, const char *name)
{
	struct str line, left = a->head;
	while (str_cut(left, '\n', &line, &left)) {
		struct str key, value;
		if (str_cut(str_trim(line), ':', &key, &value) && str_eq_nocase(key, str_of(name))) {
			return str_trim(value);
		}
	}
	return (struct str){NULL, 0};
}

bool client_read_head(struct client *c, struct answer *ret)
{
	size_t start = c->at, n;
	*ret = (struct answer){0};
	buf_init(&ret->body, ENOUGH);
	if (!take_until(c, "\r\n\r\n", &n)) {
		return false;
	}
	ret->head = (struct str){mem_strndup(c->in.p + start, n), n};
	assert_true(str_starts(ret->head, STR("HTTP/1.1 ")));
	ret->status = (unsigned)strtoul(ret->head.p + 9, NULL, 10);
	ret->will_close = str_eq_nocase(answer_header(ret, "Connection"), STR("close"));
	return true;
}

bool client_read_chunk(struct client *c, struct buf *body)
{
	size_t start = c->at, n;
	struct buf end;
	assert_true(take_until(c, "\r\n", &n));
	size_t size = strtoul(c->in.p + start, NULL, 16);
	if (size) {
		assert_true(take(c, size, body));
	}
	buf_init(&end, 2);
	assert_true(take(c, 2, &end));
	assert_str(buf_str(&end), "\r\n");
	buf_done(&end);
	return size > 0;
}

static bool read_body(struct client *c, struct answer *ret)
{
	uint64_t length;
	if (ret->status == 204 || ret->status == 304 || ret->status == 100) {
		return true;
	}
	if (str_to_uint64(answer_header(ret, "Content-Length"), &length)) {
		return take(c, length, &ret->body);
	}
	if (str_eq_nocase(answer_header(ret, "Transfer-Encoding"), STR("chunked"))) {
		while (client_read_chunk(c, &ret->body)) {
		}
		return true;
	}
	while (client_receive(c)) {
	}
	return take(c, rest(c).n, &ret->body);
}

bool client_read_answer(struct client *c, struct answer *ret)
{
	if (!client_read_head(c, ret)) {
		return false;
	}
	ret->is_complete = read_body(c, ret);
	return true;
}

void answer_clear(struct answer *a)
{
	mem_free((void *)(uintptr_t)a->head.p);
	buf_done(&a->body);
}

void client_ask(struct client *c, const char *request, struct answer *ret)
{
	client_say(c, request);
	assert_true(client_read_answer(c, ret));
	assert_true(ret->is_complete);
}

void client_get(struct client *c, const char *target, struct answer *ret)
{
	_cleanup_(mem_freep) char *request = mem_printf("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target);
	client_ask(c, request, ret);
}
