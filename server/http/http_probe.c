/* The probe's requests go the whole way of a client's: TLS, inlet, transport, libmicrohttpd, a
 * suspension and a wake. They are chosen so that another answer comes where any of these is not as
 * expected: arguments that would be parsed, two requests in one write, a body in chunks. If our
 * functions did not stand in for GnuTLS', the very first answer would differ. */
#include "server/http/http_probe.h"

#include "base/clock.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 60000, /* a machine may be very busy when its programs start */
	ANSWERS_MAX = 4096,
};

/* Arguments that libmicrohttpd must not see, two requests in one go, a body in chunks; each waits for a wake. */
#define REQUESTS                                                         \
	"GET /probe?&a&b HTTP/1.1\r\nHost: probe\r\nCookie: a=b\r\n\r\n" \
	"PATCH /probe HTTP/1.1\r\nHost: probe\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
#define FIRST "\r\n\r\nGET /probe?&a&b 2 fields, body: \n"
#define SECOND "\r\n\r\nPATCH /probe 3 fields, body: abc\n"

/* Serving. */

static void on_headers(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	(void)x;
}

/* Says what it has been asked, the second time that it is called. */
static void on_request(void *ctx, struct http_exchange *x)
{
	static char has_waited;
	(void)ctx;
	if (!http_context(x)) {
		http_set_context(x, &has_waited);
		http_suspend(x);
		http_wake(x);
		return;
	}
	const struct http_header *fields;
	size_t n = http_headers(x, &fields);
	struct str method = http_method(x);
	struct str target = http_target(x);
	struct str body = http_body(x);
	http_reply(x, 200,
		arena_printf(http_arena(x), "%.*s %.*s %zu fields, body: %.*s\n", (int)method.n, method.p, (int)target.n,
			target.p, n, (int)body.n, body.n ? body.p : ""));
}

struct http_handler http_probe_handler(void)
{
	return (struct http_handler){.on_headers = on_headers, .on_request = on_request, .on_done = on_headers};
}

/* Asking. */

struct line {
	int fd;
	gnutls_session_t tls; /* NULL: plain */
	gnutls_certificate_credentials_t credentials;
	int64_t until_ms;
};

static void line_done(struct line *l)
{
	if (l->tls) {
		gnutls_deinit(l->tls);
	}
	if (l->credentials) {
		gnutls_certificate_free_credentials(l->credentials);
	}
}

/* Whether GnuTLS' call is to be made again: the socket is ready, or a signal came, of a profiler for one. */
static bool is_worth_another_try(const struct line *l, ssize_t code)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};
	if (code == GNUTLS_E_INTERRUPTED) {
		return true;
	}
	if (code != GNUTLS_E_AGAIN) {
		return code < 0 && l->tls && !gnutls_error_is_fatal((int)code);
	}
	if (l->tls && gnutls_record_get_direction(l->tls)) {
		p.events = POLLOUT;
	}
	int n = poll(&p, 1, (int)MAX(l->until_ms - clock_mono_ms(), 0));
	return n > 0 || (n < 0 && errno == EINTR);
}

/* It is ourselves: whose certificate it is does not matter, nor how good. */
static int line_open(struct line *l, struct buf *err)
{
	int e = gnutls_certificate_allocate_credentials(&l->credentials);
	e = e < 0 ? e : gnutls_init(&l->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
	e = e < 0 ? e : gnutls_priority_set_direct(l->tls, "NORMAL:%COMPAT", NULL);
	e = e < 0 ? e : gnutls_credentials_set(l->tls, GNUTLS_CRD_CERTIFICATE, l->credentials);
	if (e >= 0) {
		gnutls_transport_set_int(l->tls, l->fd);
		do {
			e = gnutls_handshake(l->tls);
		} while (e < 0 && is_worth_another_try(l, e));
	}
	if (e < 0) {
		buf_printf(err, "%s", gnutls_strerror(e));
		return -EPROTO;
	}
	return 0;
}

static ssize_t code_of(ssize_t r)
{
	return r >= 0 ? r : errno == EAGAIN ? GNUTLS_E_AGAIN : errno == EINTR ? GNUTLS_E_INTERRUPTED : GNUTLS_E_PULL_ERROR;
}

static int say(struct line *l, struct str text, struct buf *err)
{
	ssize_t r;
	do {
		r = l->tls ? gnutls_record_send(l->tls, text.p, text.n) : code_of(send(l->fd, text.p, text.n, MSG_NOSIGNAL));
	} while (r < 0 && is_worth_another_try(l, r));
	if (r != (ssize_t)text.n) {
		buf_printf(err, "the request cannot be sent: %s", gnutls_strerror((int)MIN(r, (ssize_t)0)));
		return -EIO;
	}
	return 0;
}

/* Until the server ends the connection: how it does is its own affair. */
static void hear(struct line *l, struct buf *ret)
{
	char p[1024];
	ssize_t r;
	do {
		r = l->tls ? gnutls_record_recv(l->tls, p, sizeof(p)) : code_of(recv(l->fd, p, sizeof(p), 0));
		if (r > 0 && !buf_add(ret, p, (size_t)r)) {
			break;
		}
	} while (r > 0 || is_worth_another_try(l, r));
}

static bool skip_to(struct str *text, struct str wanted)
{
	const char *at = text->n ? memmem(text->p, text->n, wanted.p, wanted.n) : NULL;
	if (!at) {
		return false;
	}
	text->n -= (size_t)(at - text->p) + wanted.n;
	text->p = at + wanted.n;
	return true;
}

static bool has_answers(struct str heard)
{
	return str_starts(heard, STR("HTTP/1.1 200 ")) && skip_to(&heard, STR(FIRST)) &&
		str_starts(heard, STR("HTTP/1.1 200 ")) && skip_to(&heard, STR(SECOND)) && heard.n == 0;
}

int http_probe(int fd, bool is_tls, struct buf *err)
{
	_cleanup_(line_done) struct line l = {.fd = fd, .until_ms = clock_mono_ms() + PATIENCE_MS};
	_cleanup_(buf_done) struct buf heard;
	buf_init(&heard, ANSWERS_MAX);
	int r = is_tls ? line_open(&l, err) : 0;
	r = r ? r : say(&l, STR(REQUESTS), err);
	if (r < 0) {
		return r;
	}
	hear(&l, &heard);
	if (!has_answers(buf_str(&heard))) {
		buf_printf(err, "two requests to itself got other answers than they should");
		return -EIO;
	}
	return 0;
}
