/* The HTTP server as a whole: its start, what the keeper asks of it, its certificate files and its end.
 *
 *   start  TLS files, the listener (a port in use is found early), the keeper, the pump, the workers. Then the server
 *          sends itself two requests: the installed libmicrohttpd may be a version that does not do what we rely on.
 *          Only then the keeper accepts clients.
 *   leave  Answers end their connections, so clients go elsewhere while new ones are still served.
 *   drain  Nobody is accepted, idle connections close, streams are asked to end. Connections that are left
 *          after the given time are cut.
 *   free   Waits until no connection is left: libmicrohttpd aborts the process when it is stopped with a suspended
 *          connection. */
#include "base/clock.h"
#include "server/http/h2.h"
#include "server/http/http_private.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	OTHER_DESCRIPTORS = 512, /* lingering sockets, files, etcd, kube-apiserver */
	CUT_GRACE_MS = 5000,     /* for connections to notice that they have been cut */
};

/* Callbacks of the keeper. */

static bool on_client(void *arg, const struct sockaddr *address)
{
	struct http_server *s = arg;
	return s->options.admits(s->options.handler.ctx, address);
}

static bool on_accept(void *arg, int fd, const struct sockaddr *address, socklen_t size, enum keeper_protocol protocol)
{
	struct http_server *s = arg;
	http_count(&s->connections_total, 1);
	return protocol == KEEPER_PROTOCOL_HTTP2 ? h2_admit(s->h2, fd, address, size) : worker_admit(s, fd, address, size);
}

/* HTTP/2 is what a client offers in the first message of its handshake. */
static enum keeper_protocol on_first_bytes(void *arg, struct str bytes, size_t *ret_wanted)
{
	(void)arg;
	switch (h2_hello_judge(bytes, ret_wanted)) {
	case H2_HELLO_MORE:
		return KEEPER_PROTOCOL_UNKNOWN;
	case H2_HELLO_OFFER:
		return KEEPER_PROTOCOL_HTTP2;
	case H2_HELLO_OTHER:
		break;
	}
	return KEEPER_PROTOCOL_HTTP1;
}

/* A client that never sent a byte never reached a worker. It is counted all the same: with TLS as a failed handshake. */
static void on_unheard(void *arg)
{
	struct http_server *s = arg;
	http_count(&s->connections_total, 1);
	if (s->tls) {
		http_count(&s->handshakes_failed, 1);
	}
}

static void on_suspend(struct keeper_connection *kept)
{
	connection_suspend(container_of(kept, struct connection, kept));
}

static void on_resume(struct keeper_connection *kept)
{
	connection_resume(container_of(kept, struct connection, kept));
}

static void on_crowd(void *arg)
{
	struct http_server *s = arg;
	for (unsigned i = 0; i < s->options.threads; i++) {
		worker_nudge(&s->workers[i]);
	}
}

/* Our certificate, and the authorities of client certificates. */

static void server_notify(struct http_server *s, struct str text)
{
	const struct http_handler *h = &s->options.handler;
	if (h->on_notice) {
		h->on_notice(h->ctx, text);
	}
}

/* The handshake names the authorities: clients with several certificates choose by them. */
static void hint_authorities(struct http_server *s)
{
	struct verifier *v = client_trust_current(s->trust);
	tls_files_hint(s->tls, v);
	verifier_unref(v);
}

/* A file that cannot be loaded leaves the certificate in force: only the log says so. */
static void on_tick(void *arg)
{
	struct http_server *s = arg;
	_cleanup_(buf_done) struct buf problem;
	buf_init(&problem, 4096);
	if (!s->tls) {
		return;
	}
	if (tls_files_refresh(s->tls, &problem) < 0) {
		server_notify(s, buf_str(&problem));
	}
	buf_clear(&problem);
	tls_files_check_dates(s->tls, clock_wall_s(), &problem);
	if (problem.n > 0) {
		server_notify(s, buf_str(&problem));
	}
	hint_authorities(s);
}

static void on_trust_file(void *ctx, const char *path, const char *problem)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 8192);
	if (problem) {
		buf_printf(&text, "%s: %s; no client is trusted by it until it is fixed", path, problem);
	} else {
		buf_printf(&text, "%s is valid again and in use", path);
	}
	server_notify(ctx, buf_str(&text));
}

void http_server_set_trust(struct http_server *s, const struct trust *trust)
{
	_cleanup_(buf_done) struct buf problems;
	buf_init(&problems, 4096);
	if (s->trust && !client_trust_set(s->trust, trust, &problems)) {
		BUF_LITERAL(&problems, "; no client is trusted by it until it is fixed");
		server_notify(s, buf_str(&problems));
	}
}

/* The probe.
 *
 * Its two requests take a client's whole way: TLS, inlet, transport, libmicrohttpd, a suspension and a wake. They get
 * other answers where one of these is not as expected: there are arguments that libmicrohttpd would parse, two requests
 * in one write, and a body in chunks. If our functions did not stand in for GnuTLS', the first answer would differ. */

enum {
	PROBE_PATIENCE_MS = 60000, /* a machine may be very busy when its programs start */
	/* Bytes of the answers to the probe at the start; longer ones fail it. */
	PROBE_ANSWERS_MAX = 4096,
};

/* Arguments that libmicrohttpd must not see, two requests in one go, a body in chunks; each waits for a wake. */
#define PROBE_REQUESTS                                                   \
	"GET /probe?&a&b HTTP/1.1\r\nHost: probe\r\nCookie: a=b\r\n\r\n" \
	"PATCH /probe HTTP/1.1\r\nHost: probe\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
#define PROBE_FIRST "\r\n\r\nGET /probe?&a&b 2 fields, body: \n"
#define PROBE_SECOND "\r\n\r\nPATCH /probe 3 fields, body: abc\n"

static void probe_on_headers(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	(void)x;
}

/* Says what it has been asked, the second time that it is called. */
static void probe_on_request(void *ctx, struct http_exchange *x)
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

static const struct http_handler probe_handler = {
	.on_headers = probe_on_headers, .on_request = probe_on_request, .on_done = probe_on_headers};

struct probe_line {
	int fd;
	gnutls_session_t tls; /* NULL: plain */
	gnutls_certificate_credentials_t credentials;
	int64_t until_ms;
};

static void probe_line_done(struct probe_line *l)
{
	if (l->tls) {
		gnutls_deinit(l->tls);
	}
	if (l->credentials) {
		gnutls_certificate_free_credentials(l->credentials);
	}
}

/* Whether GnuTLS' call is to be repeated: the socket is ready, or a signal came, of a profiler for one. */
static bool probe_line_must_retry(const struct probe_line *l, ssize_t code)
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

/* The server is ourselves, so the certificate is not checked. */
static int probe_line_open(struct probe_line *l, struct buf *err)
{
	int e = gnutls_certificate_allocate_credentials(&l->credentials);
	e = e < 0 ? e : gnutls_init(&l->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
	e = e < 0 ? e : gnutls_priority_set_direct(l->tls, "NORMAL:%COMPAT", NULL);
	e = e < 0 ? e : gnutls_credentials_set(l->tls, GNUTLS_CRD_CERTIFICATE, l->credentials);
	if (e >= 0) {
		gnutls_transport_set_int(l->tls, l->fd);
		do {
			e = gnutls_handshake(l->tls);
		} while (e < 0 && probe_line_must_retry(l, e));
	}
	if (e < 0) {
		buf_printf(err, "%s", gnutls_strerror(e));
		return -EPROTO;
	}
	return 0;
}

static ssize_t gnutls_code_of(ssize_t r)
{
	return r >= 0 ? r : errno == EAGAIN ? GNUTLS_E_AGAIN : errno == EINTR ? GNUTLS_E_INTERRUPTED : GNUTLS_E_PULL_ERROR;
}

static int probe_line_send(struct probe_line *l, struct str text, struct buf *err)
{
	ssize_t r;
	do {
		r = l->tls ? gnutls_record_send(l->tls, text.p, text.n)
			   : gnutls_code_of(send(l->fd, text.p, text.n, MSG_NOSIGNAL));
	} while (r < 0 && probe_line_must_retry(l, r));
	if (r != (ssize_t)text.n) {
		buf_printf(err, "the request cannot be sent: %s", gnutls_strerror((int)MIN(r, (ssize_t)0)));
		return -EIO;
	}
	return 0;
}

/* Until the server ends the connection: how it does is its own affair. */
static void probe_line_receive(struct probe_line *l, struct buf *ret)
{
	char p[1024];
	ssize_t r;
	do {
		r = l->tls ? gnutls_record_recv(l->tls, p, sizeof(p)) : gnutls_code_of(recv(l->fd, p, sizeof(p), 0));
		if (r > 0 && !buf_add(ret, p, (size_t)r)) {
			break;
		}
	} while (r > 0 || probe_line_must_retry(l, r));
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

static bool has_probe_answers(struct str heard)
{
	return str_starts(heard, STR("HTTP/1.1 200 ")) && skip_to(&heard, STR(PROBE_FIRST)) &&
		str_starts(heard, STR("HTTP/1.1 200 ")) && skip_to(&heard, STR(PROBE_SECOND)) && heard.n == 0;
}

static int probe_ask(int fd, bool is_tls, struct buf *err)
{
	_cleanup_(probe_line_done) struct probe_line l = {.fd = fd, .until_ms = clock_mono_ms() + PROBE_PATIENCE_MS};
	_cleanup_(buf_done) struct buf heard;
	buf_init(&heard, PROBE_ANSWERS_MAX);
	int r = is_tls ? probe_line_open(&l, err) : 0;
	r = r ? r : probe_line_send(&l, STR(PROBE_REQUESTS), err);
	if (r < 0) {
		return r;
	}
	probe_line_receive(&l, &heard);
	if (!has_probe_answers(buf_str(&heard))) {
		buf_printf(err, "two requests to itself got other answers than they should");
		return -EIO;
	}
	return 0;
}

/* Starting. */

#define DEFAULT(option, value) ((option) = (option) ? (option) : (value))

/* Where descriptors ran out before the limit is reached nobody would give way. */
static size_t descriptors_for_clients(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) {
		return SIZE_MAX;
	}
	return limit.rlim_cur > 4 * OTHER_DESCRIPTORS ? limit.rlim_cur - OTHER_DESCRIPTORS : limit.rlim_cur / 4 * 3;
}

static void options_fill_in(struct http_options *o)
{
	DEFAULT(o->threads, 2);
	DEFAULT(o->max_connections, 16384);
	DEFAULT(o->max_body, 3145728);
	DEFAULT(o->max_unsent, (size_t)64 << 20);
	DEFAULT(o->unsent_ceiling, 2 * o->max_unsent);
	DEFAULT(o->max_header, 31 << 10);
	DEFAULT(o->handshake_timeout_ms, 10000);
	DEFAULT(o->header_timeout_ms, 32000);
	DEFAULT(o->body_timeout_ms, 60000);
	DEFAULT(o->idle_timeout_ms, 180000);
	DEFAULT(o->drain_stall_ms, 5000);
	o->drain_stall_ms = MIN(o->drain_stall_ms, o->body_timeout_ms);
	DEFAULT(o->stranger_grace_ms, 1000);
	DEFAULT(o->http2_max_streams, 100);
	o->max_connections = MIN(o->max_connections, descriptors_for_clients());
}

static void open_keeper(struct http_server *s, int listener)
{
	const struct http_options *o = &s->options;
	s->keeper = keeper_new(&(struct keeper_options){
		.ctx = s,
		.listener = listener,
		.admits = o->admits ? on_client : NULL,
		.accept = on_accept,
		.judge = s->tls && !o->has_no_http2 ? on_first_bytes : NULL,
		.unheard = on_unheard,
		.suspend = on_suspend,
		.resume = on_resume,
		.alarm = http_exchange_alarm,
		.tick = on_tick,
		.crowd = on_crowd,
		.crowd_size = WORKER_CROWD,
		.max_connections = o->max_connections,
		.first_byte_ms = s->tls ? o->handshake_timeout_ms : o->header_timeout_ms,
		.handshake_ms = o->handshake_timeout_ms,
		.header_ms = o->header_timeout_ms,
		.body_ms = o->body_timeout_ms,
		.idle_ms = o->idle_timeout_ms,
		.drain_stall_ms = o->drain_stall_ms,
		.grace_ms = o->stranger_grace_ms,
	});
}

/* Where one fails, those before it run: http_server_free() stops them. */
static int open_workers(struct http_server *s, struct buf *err)
{
	int r = 0;
	s->workers = mem_array(s->options.threads, sizeof(*s->workers));
	for (unsigned i = 0; i < s->options.threads && r == 0; i++) {
		r = worker_open(&s->workers[i], s, err);
	}
	return r;
}

static int open_tls(struct http_server *s, struct buf *err)
{
	const struct http_options *o = &s->options;
	const struct client_trust_options trust = {.client_ca_file = o->client_ca_file,
		.front_ca_file = o->front_ca_file,
		.front = o->front,
		.on_reload = {.report = on_trust_file, .ctx = s}};
	bool asks_client = o->client_ca_file || o->front_ca_file || o->is_trust_set_later;
	int r = tls_files_new(&s->tls, o->cert_file, o->key_file, asks_client, err);
	r = r ? r : client_trust_new(&s->trust, &trust, err);
	if (r == 0) {
		hint_authorities(s);
	}
	return r;
}

/* libmicrohttpd knows addresses of the Internet only. */
void http_server_admit(struct http_server *s, int fd)
{
	const struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	keeper_admit(s->keeper, fd, (const struct sockaddr *)&nobody, sizeof(nobody));
}

/* The connection must be gone before the server_probe's handler is: shut down at our end, it goes by
 * itself. */
static int server_probe_on(struct http_server *s, const int ends[2], struct buf *reason)
{
	http_server_admit(s, ends[0]);
	int r = probe_ask(ends[1], s->tls != NULL, reason);
	shutdown(ends[1], SHUT_RDWR);
	close(ends[1]);
	keeper_wait_until_empty(s->keeper, INT64_MAX);
	return r;
}

/* Through a pair of sockets: whatever the address, the network and the clients that are allowed.
 * The handler is exchanged for the server_probe's without a lock: nobody else can be there before the
 * keeper opens. */
static int server_probe(struct http_server *s, struct buf *err)
{
	int ends[2];
	struct http_handler handler = s->options.handler;
	_cleanup_(buf_done) struct buf reason;
	buf_init(&reason, 1024);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) {
		int error = errno;
		buf_printf(err, "no pair of sockets: %s", strerror(error));
		return -error;
	}
	s->options.handler = probe_handler;
	int r = server_probe_on(s, ends, &reason);
	s->options.handler = handler;
	/* Nobody has been here yet: this probe does not count. */
	_Atomic uint64_t *const counters[] = {&s->connections_total, &s->handshakes_failed, &s->requests_total,
		&s->requests_invalid, &s->bytes_sent, &s->http2_connections, &s->http2_abuses, &s->http2_refused};
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		atomic_store_explicit(counters[i], 0, memory_order_relaxed);
	}
	if (r == -EPROTO) {
		buf_printf(err,
			"no TLS client can connect with the certificate %s (%.*s): does its key usage allow signatures?",
			s->options.cert_file, (int)reason.n, reason.p);
	} else if (r < 0) {
		buf_printf(err, "libmicrohttpd %s does not serve as it must (%.*s); versions 0.9.75 to 1.0.1 are known to",
			worker_library_version(), (int)reason.n, reason.p);
	}
	return r;
}

int http_server_new(struct http_server **ret, const struct http_options *options, struct buf *err)
{
	struct http_server *s = mem_new(struct http_server);
	struct http_options *o = &s->options;
	*o = *options;
	options_fill_in(o);
	list_init(&s->streams);
	pthread_mutex_init(&s->streams_lock, NULL);
	unsent_init(&s->unsent, s->options.max_unsent, s->options.unsent_ceiling);

	int listener = -1;
	int r = o->cert_file ? open_tls(s, err) : 0;
	if (r == 0) {
		r = socket_listen(&listener, &s->port, o->bind_address, o->port, err);
	}
	if (r == 0) {
		open_keeper(s, listener);
		s->pump = pump_new(o->threads);
		r = open_workers(s, err);
	}
	if (r == 0 && s->tls && !o->has_no_http2) {
		r = h2_new(&s->h2, s, err);
	}
	if (r == 0) {
		r = server_probe(s, err);
	}
	if (r < 0) {
		http_server_free(s);
		return r;
	}
	keeper_open(s->keeper);
	*ret = s;
	return 0;
}

/* Serving and ending. */

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

void http_server_leave(struct http_server *s)
{
	atomic_store_explicit(&s->is_leaving, true, memory_order_relaxed);
}

static uint64_t count_stalled(struct http_server *s)
{
	return atomic_load_explicit(&s->stalled, memory_order_relaxed) + keeper_count_stalled(s->keeper) +
		pump_count_stalled(s->pump);
}

/* Says which requests a drain has ended before their time. */
static void report_drain(struct http_server *s, uint64_t n_stalled, size_t n_late)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 1024);
	if (n_stalled > 0) {
		buf_printf(&text, "%llu requests were cut: their clients had neither read nor sent anything for %g s",
			(unsigned long long)n_stalled, (double)s->options.drain_stall_ms / 1000);
		server_notify(s, buf_str(&text));
	}
	if (n_late > 0) {
		buf_clear(&text);
		buf_printf(&text, "%zu connections were cut: their requests took longer than there was time", n_late);
		server_notify(s, buf_str(&text));
	}
}

/* Drains. Each flag is set before the streams are woken: a stream that reads because of the wake
 * must see it. */
bool http_server_drain(struct http_server *s, int64_t timeout_ms)
{
	int64_t until = clock_mono_ms() + timeout_ms;
	uint64_t n_before = count_stalled(s);
	atomic_store_explicit(&s->is_draining, true, memory_order_release);
	keeper_drain(s->keeper);
	pump_set_patience(s->pump, s->options.drain_stall_ms);
	h2_nudge(s->h2);
	http_stream_wake_all(s);
	bool is_empty = keeper_wait_until_empty(s->keeper, until);
	report_drain(s, count_stalled(s) - n_before, is_empty ? 0 : keeper_count(s->keeper));
	if (is_empty) {
		return true;
	}
	atomic_store_explicit(&s->is_cutting, true, memory_order_release);
	keeper_cut_all(s->keeper);
	http_stream_wake_all(s);
	return keeper_wait_until_empty(s->keeper, clock_mono_ms() + CUT_GRACE_MS);
}

/* libmicrohttpd aborts when it is stopped with a suspended connection: so first there must be
 * none at all, nor anyone waking one. A wake is over in microseconds, so a lock for them all
 * would cost more than yielding to the last. */
static void close_workers(struct http_server *s)
{
	if (!s->workers) {
		return;
	}
	http_server_drain(s, 0);
	keeper_wait_until_empty(s->keeper, INT64_MAX);
	while (atomic_load_explicit(&s->n_wakers, memory_order_acquire)) {
		sched_yield();
	}
	for (unsigned i = 0; i < s->options.threads; i++) {
		worker_close(&s->workers[i]);
	}
	mem_free(s->workers);
}

struct http_server *http_server_free(struct http_server *s)
{
	if (!s) {
		return NULL;
	}
	close_workers(s);
	h2_free(s->h2);
	pump_free(s->pump);
	keeper_free(s->keeper);
	client_trust_free(s->trust);
	tls_files_free(s->tls);
	pthread_mutex_destroy(&s->streams_lock);
	unsent_done(&s->unsent);
	return mem_free(s);
}

/* The streams' number is the one that has a lock anyway. */
void http_server_stats(struct http_server *s, struct http_stats *ret)
{
	pthread_mutex_lock(&s->streams_lock);
	ret->streams_open = s->n_streams;
	pthread_mutex_unlock(&s->streams_lock);
	ret->connections_open = keeper_count(s->keeper);
	ret->connections_total = atomic_load_explicit(&s->connections_total, memory_order_relaxed);
	ret->handshakes_failed = atomic_load_explicit(&s->handshakes_failed, memory_order_relaxed);
	ret->requests_total = atomic_load_explicit(&s->requests_total, memory_order_relaxed);
	ret->requests_invalid = atomic_load_explicit(&s->requests_invalid, memory_order_relaxed);
	ret->bytes_sent = atomic_load_explicit(&s->bytes_sent, memory_order_relaxed);
	ret->http2_connections = atomic_load_explicit(&s->http2_connections, memory_order_relaxed);
	ret->http2_abuses = atomic_load_explicit(&s->http2_abuses, memory_order_relaxed);
	ret->http2_refused = atomic_load_explicit(&s->http2_refused, memory_order_relaxed);
	ret->unsent_bytes = atomic_load_explicit(&s->unsent.used, memory_order_relaxed);
	ret->answers_evicted = atomic_load_explicit(&s->answers_evicted, memory_order_relaxed);
}
