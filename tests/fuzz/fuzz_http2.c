/* Frames that a client may send, in any order, to the real front end over TLS: server, nghttp2, GnuTLS and sockets. What comes back must
 * be frames that belong to streams which are open, and each exchange that the handler has heard of must end.
 *
 * The input is a program: raw frames with any flags, lengths that lie, and whole requests, so that what follows meets streams in every
 * state. Handlers answer at once, later, and by streams that wait. */
#include "base/clock.h"
#include "server/http/http.h"
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	BODY_MAX = 3000,
	INPUT_MAX = 4096,
	SENT_MAX = 256 << 10,
	LIMIT = 8 << 20,
	PATIENCE_MS = 60000,
	PIECES = 5, /* of a stream */
	STREAMS_MAX = 4096,
};

/* Frames. */
enum {
	DATA,
	HEADERS,
	PRIORITY,
	RST_STREAM,
	SETTINGS,
	PUSH_PROMISE,
	PING,
	GOAWAY,
	WINDOW_UPDATE,
	CONTINUATION,
	END_STREAM = 0x1,
	ACK = 0x1,
	END_HEADERS = 0x4,
	FRAME_MAX = 16384,
	HEAD_SIZE = 9,
};

/* The handler. */

static _Atomic unsigned n_headers, n_done;

/* What waits for the other thread. */
struct waiting {
	struct waiting *next;
	struct http_exchange *x;
	bool is_stream;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct waiting *first;
	struct http_exchange *busy; /* its wake is under way */
} late = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void put_late(struct http_exchange *x, bool is_stream)
{
	struct waiting *w = malloc(sizeof(*w));
	CHECK(w);
	pthread_mutex_lock(&late.lock);
	*w = (struct waiting){.next = late.first, .x = x, .is_stream = is_stream};
	late.first = w;
	pthread_cond_broadcast(&late.changed);
	pthread_mutex_unlock(&late.lock);
}

static void *wake_late(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&late.lock);
	for (;;) {
		struct waiting *w = late.first;
		if (!w) {
			pthread_cond_wait(&late.changed, &late.lock);
			continue;
		}
		late.first = w->next;
		late.busy = w->x;
		pthread_mutex_unlock(&late.lock);
		if (w->is_stream) {
			http_stream_wake(w->x);
		} else {
			http_wake(w->x);
		}
		free(w);
		pthread_mutex_lock(&late.lock);
		late.busy = NULL;
		pthread_cond_broadcast(&late.changed);
	}
	return NULL;
}

struct flow {
	unsigned n_read;
};

static ssize_t read_flow(void *ctx, struct http_exchange *x, char *p, size_t max)
{
	struct flow *flow = ctx;
	if (++flow->n_read % 2) {
		put_late(x, true);
		return 0;
	}
	size_t n = MIN(max, (size_t)1000);
	memset(p, 'f', n);
	return flow->n_read / 2 <= PIECES ? (ssize_t)n : -1;
}

/* No wake of it may come afterwards. */
static void close_flow(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	pthread_mutex_lock(&late.lock);
	for (struct waiting **at = &late.first; *at;) {
		struct waiting *w = *at;
		if (w->x == x) {
			*at = w->next;
			free(w);
		} else {
			at = &w->next;
		}
	}
	while (late.busy == x) {
		pthread_cond_wait(&late.changed, &late.lock);
	}
	pthread_mutex_unlock(&late.lock);
}

static const struct http_stream_ops flow_ops = {.read = read_flow, .closed = close_flow};

static bool is_asked(const struct http_exchange *x, const char *target)
{
	return str_eq(http_target(x), str_of(target));
}

/* Suspends it, once: the handler is called again when it is woken. */
static bool must_wait(struct http_exchange *x, const char *target)
{
	static char woken;
	if (!is_asked(x, target) || http_context(x) == &woken) {
		return false;
	}
	http_set_context(x, &woken);
	http_suspend(x);
	put_late(x, false);
	return true;
}

static void on_headers(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	if (!http_context(x)) {
		n_headers++;
	}
	CHECK(http_method(x).n > 0 && http_target(x).n > 0);
	const struct http_header *fields;
	size_t n = http_headers(x, &fields);
	for (size_t i = 0; i < n; i++) {
		CHECK(fields[i].name.n > 0);
		CHECK(!memchr(fields[i].value.p, '\n', fields[i].value.n) &&
			!memchr(fields[i].value.p, '\0', fields[i].value.n));
	}
	if (is_asked(x, "/refused")) {
		http_reply(x, 429, STR("no\n"));
	} else {
		must_wait(x, "/late");
	}
}

static void on_request(void *ctx, struct http_exchange *x)
{
	static const char large[100000];
	(void)ctx;
	CHECK(http_body(x).n <= BODY_MAX);
	if (must_wait(x, "/later")) {
		return;
	}
	if (http_body_too_large(x)) {
		http_reply(x, 413, STR("large\n"));
	} else if (is_asked(x, "/large")) {
		http_reply(x, 200, (struct str){large, sizeof(large)});
	} else if (is_asked(x, "/flow")) {
		struct flow *flow = arena_alloc(http_arena(x), sizeof(*flow));
		CHECK(flow);
		*flow = (struct flow){0};
		http_reply_stream(x, 200, HTTP_LENGTH_UNKNOWN, true, &flow_ops, flow);
	} else {
		http_reply(x, 200, STR("served\n"));
	}
}

static void on_done(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	(void)x;
	n_done++;
}

/* The server, and who it says it is. */

static char *keep_pem(gnutls_datum_t pem)
{
	char path[64];
	int fd = memfd_create("pem", 0);
	CHECK(fd >= 0 && write(fd, pem.data, pem.size) == (ssize_t)pem.size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	gnutls_free(pem.data);
	return strdup(path);
}

static void make_certificate(char **ret_cert, char **ret_key)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t cert;
	gnutls_datum_t pem;
	gnutls_x509_privkey_init(&key);
	CHECK(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) == 0);
	gnutls_x509_crt_init(&cert);
	gnutls_x509_crt_set_version(cert, 3);
	gnutls_x509_crt_set_serial(cert, "\1", 1);
	gnutls_x509_crt_set_activation_time(cert, time(NULL) - 86400);
	gnutls_x509_crt_set_expiration_time(cert, time(NULL) + 30 * 86400);
	gnutls_x509_crt_set_key(cert, key);
	CHECK(gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0) == 0);
	CHECK(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &pem) == 0);
	*ret_cert = keep_pem(pem);
	CHECK(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem) == 0);
	*ret_key = keep_pem(pem);
	gnutls_x509_crt_deinit(cert);
	gnutls_x509_privkey_deinit(key);
}

static struct http_server *the_server(void)
{
	static struct http_server *server;
	static char *cert, *key;
	if (!server) {
		pthread_t thread;
		make_certificate(&cert, &key);
		const struct http_options options = {.bind_address = "127.0.0.1",
			.threads = 1,
			.cert_file = cert,
			.key_file = key,
			.max_body = BODY_MAX,
			.handler = {.on_headers = on_headers, .on_request = on_request, .on_done = on_done}};
		struct buf err;
		buf_init(&err, 1000);
		CHECK(http_server_new(&server, &options, &err) == 0);
		buf_done(&err);
		CHECK(pthread_create(&thread, NULL, wake_late, NULL) == 0);
	}
	return server;
}

/* What comes back. */

enum stream_state {
	IDLE,
	ASKED, /* by the client, at least with a frame */
	OVER,  /* for the server: nothing may follow */
};

struct client {
	int fd;
	gnutls_session_t tls;
	struct buf in, out;
	bool is_over; /* nothing comes any more */
	unsigned n_frames, n_pongs;
	uint32_t unfinished;         /* the stream of a head that goes on */
	uint32_t last;               /* what the client has begun */
	uint8_t states[STREAMS_MAX]; /* of the lowest ones */
};

static void check_answer(struct client *c, unsigned kind, unsigned flags, uint32_t stream)
{
	if (stream >= STREAMS_MAX) {
		return;
	}
	CHECK(c->states[stream] == ASKED);
	if (kind == RST_STREAM || (kind != CONTINUATION && kind != WINDOW_UPDATE && flags & END_STREAM)) {
		c->states[stream] = OVER;
	}
}

static void check_frame(struct client *c, unsigned kind, unsigned flags, uint32_t stream, size_t n)
{
	CHECK(n <= FRAME_MAX);
	CHECK(c->n_frames++ || kind == SETTINGS);
	CHECK(!c->unfinished || (kind == CONTINUATION && stream == c->unfinished));
	switch (kind) {
	case DATA:
	case HEADERS:
	case CONTINUATION:
		CHECK(kind != CONTINUATION || c->unfinished);
		check_answer(c, kind, flags, stream);
		c->unfinished = kind == DATA || flags & END_HEADERS ? 0 : stream;
		break;
	case RST_STREAM:
		CHECK(n == 4);
		/* Another may have been under way when the client's own came. */
		if (stream < STREAMS_MAX && c->states[stream] != OVER) {
			check_answer(c, kind, flags, stream);
		}
		break;
	case SETTINGS:
		CHECK(stream == 0 && n % 6 == 0 && !(flags & ACK && n));
		break;
	case PING:
		CHECK(stream == 0 && n == 8 && flags & ACK);
		c->n_pongs++;
		break;
	case GOAWAY:
		CHECK(stream == 0 && n >= 8);
		break;
	case WINDOW_UPDATE:
		CHECK(n == 4);
		break;
	default:
		CHECK(false);
	}
}

static void read_frames(struct client *c)
{
	const unsigned char *p = (const unsigned char *)c->in.p;
	size_t at = 0;
	while (c->in.n - at >= HEAD_SIZE) {
		const unsigned char *head = p + at;
		size_t n = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
		CHECK(n <= FRAME_MAX);
		if (c->in.n - at < HEAD_SIZE + n) {
			break;
		}
		uint32_t stream = (uint32_t)(head[5] & 0x7f) << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
		check_frame(c, head[3], head[4], stream, n);
		at += HEAD_SIZE + n;
	}
	memmove(c->in.p, c->in.p + at, c->in.n - at);
	c->in.n -= at;
}

/* libFuzzer's SIGALRM interrupts: that is no silence of the server. */
static void wait_for(struct client *c, short events)
{
	struct pollfd poller = {.fd = c->fd, .events = events};
	int64_t until = clock_mono_ms() + PATIENCE_MS;
	int n;
	do {
		n = poll(&poller, 1, (int)MAX(until - clock_mono_ms(), 0));
	} while (n < 0 && errno == EINTR);
	CHECK(n > 0);
}

static bool is_to_be_tried_again(ssize_t n)
{
	return n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED;
}

/* What is there. */
static void hear(struct client *c)
{
	char p[FRAME_MAX];
	while (!c->is_over) {
		ssize_t n = gnutls_record_recv(c->tls, p, sizeof(p));
		if (n == GNUTLS_E_AGAIN) {
			return;
		}
		if (n > 0) {
			CHECK(buf_add(&c->in, p, (size_t)n));
			read_frames(c);
		}
		c->is_over = n <= 0 && n != GNUTLS_E_INTERRUPTED;
	}
}

static void flush(struct client *c, size_t piece)
{
	size_t at = 0;
	while (at < c->out.n && !c->is_over) {
		ssize_t n = gnutls_record_send(c->tls, c->out.p + at, MIN(piece, c->out.n - at));
		if (n > 0) {
			at += (size_t)n;
		} else if (is_to_be_tried_again(n)) {
			wait_for(c, POLLIN | POLLOUT);
			hear(c);
		} else {
			break; /* the server has heard enough */
		}
	}
	c->out.n = 0;
}

/* The program. */

struct program {
	const uint8_t *p;
	size_t n;
};

static unsigned take(struct program *program)
{
	unsigned byte = program->n ? program->p[0] : 0;
	program->p += program->n > 0;
	program->n -= program->n > 0;
	return byte;
}

static void add_number(struct buf *b, uint32_t number, int size)
{
	while (size--) {
		buf_addc(b, (char)(number >> (8 * size)));
	}
}

static void add_head(struct client *c, size_t n, unsigned kind, unsigned flags, uint32_t stream)
{
	if (stream < STREAMS_MAX && c->states[stream] == IDLE) {
		c->states[stream] = ASKED;
	}
	add_number(&c->out, (uint32_t)n, 3);
	add_number(&c->out, kind, 1);
	add_number(&c->out, flags, 1);
	add_number(&c->out, stream, 4);
}

static void add_field(struct buf *b, struct str name, struct str value)
{
	buf_addc(b, '\0');
	buf_addc(b, (char)MIN(name.n, (size_t)126));
	buf_add(b, name.p, MIN(name.n, (size_t)126));
	buf_addc(b, (char)MIN(value.n, (size_t)126));
	buf_add(b, value.p, MIN(value.n, (size_t)126));
}

static void add_request(struct client *c, const char *method, const char *target, struct program *more, unsigned flags)
{
	_cleanup_(buf_done) struct buf block;
	buf_init(&block, LIMIT);
	add_field(&block, STR(":method"), str_of(method));
	add_field(&block, STR(":scheme"), STR("https"));
	add_field(&block, STR(":authority"), STR("x"));
	add_field(&block, STR(":path"), str_of(target));
	for (unsigned n = more ? take(more) % 4 : 0; n > 0; n--) {
		size_t name = MIN((size_t)take(more) % 16, more->n), value = MIN((size_t)take(more) % 32, more->n);
		value = MIN(value, more->n - MIN(name, more->n));
		name = MIN(name, more->n);
		add_field(&block, (struct str){(const char *)more->p, name}, (struct str){(const char *)more->p + name, value});
		more->p += name + value;
		more->n -= name + value;
	}
	c->last += 2;
	add_head(c, block.n, HEADERS, flags, c->last);
	buf_add_str(&c->out, buf_str(&block));
}

static void add_raw(struct client *c, unsigned operation, struct program *program)
{
	unsigned flags = take(program), chosen = take(program);
	uint32_t stream = chosen == 255 ? INT32_MAX : chosen >= 128 ? c->last : chosen;
	size_t n = take(program) | (size_t)(take(program) & 3) << 8;
	n = MIN(n, program->n);
	c->last = operation % 16 == HEADERS && stream % 2 && stream < INT32_MAX - 1000 ? MAX(c->last, stream) : c->last;
	add_head(c, n + (operation & 0x80 ? 1 : 0), operation % 16, flags, stream);
	buf_add(&c->out, program->p, n);
	program->p += n;
	program->n -= n;
}

/* Until the server has read all this. It need not have answered. */
static void meet(struct client *c, size_t piece)
{
	unsigned n_pongs = c->n_pongs;
	add_head(c, 8, PING, 0, 0);
	buf_adds(&c->out, "together");
	flush(c, piece);
	while (!c->is_over && c->n_pongs == n_pongs && c->n_frames) {
		hear(c);
		if (!c->is_over && c->n_pongs == n_pongs) {
			struct pollfd poller = {.fd = c->fd, .events = POLLIN};
			if (poll(&poller, 1, 100) == 0) {
				return; /* a frame that lies about its length has swallowed the ping */
			}
		}
	}
}

static void step(struct client *c, struct program *program, size_t piece)
{
	static const char *const targets[] = {"/", "/late", "/large", "/flow", "/refused", "/later"};
	unsigned operation = take(program);
	size_t before = c->out.n;
	switch (operation % 16) {
	case 10:
		add_request(c, "GET", targets[take(program) % ARRAY_SIZE(targets)], NULL, END_HEADERS | END_STREAM);
		break;
	case 11:
		add_request(c, "POST", targets[take(program) % ARRAY_SIZE(targets)], program, END_HEADERS);
		break;
	case 12: {
		size_t n = (size_t)take(program) * 64;
		add_head(c, n, DATA, take(program) & END_STREAM, c->last);
		for (size_t i = 0; i < n; i++) {
			buf_addc(&c->out, 'd');
		}
		break;
	}
	case 13:
		add_request(c, "GET", targets[take(program) % ARRAY_SIZE(targets)], program, take(program));
		break;
	case 14: {
		add_raw(c, take(program), program);
		_cleanup_(buf_done) struct buf again;
		buf_init(&again, LIMIT);
		buf_add(&again, c->out.p + before, c->out.n - before);
		for (unsigned n = take(program) * 8; n > 0 && c->out.n < SENT_MAX; n--) {
			buf_add_str(&c->out, buf_str(&again));
		}
		break;
	}
	case 15:
		meet(c, piece);
		break;
	default:
		add_raw(c, operation, program);
	}
}

/* Thousands in a minute: none may leave a port behind that waits. */
static int dial(uint16_t port)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger none = {.l_onoff = 1};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	int r;
	CHECK(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	do {
		r = connect(fd, (const struct sockaddr *)&address, sizeof(address));
	} while (r < 0 && errno == EINTR);
	CHECK((r == 0 || errno == EISCONN) && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	return fd;
}

static bool shake_hands(struct client *c)
{
	int r;
	do {
		r = gnutls_handshake(c->tls);
		if (r == GNUTLS_E_AGAIN) {
			wait_for(c, gnutls_record_get_direction(c->tls) ? POLLOUT : POLLIN);
		}
	} while (is_to_be_tried_again(r));
	return r == 0;
}

static void open_client(struct client *c, int fd, gnutls_certificate_credentials_t credentials)
{
	static const gnutls_datum_t protocol = {(unsigned char *)(uintptr_t) "h2", 2};
	*c = (struct client){.fd = fd, .last = (uint32_t)-1};
	buf_init(&c->in, LIMIT);
	buf_init(&c->out, LIMIT);
	gnutls_init(&c->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
	gnutls_set_default_priority(c->tls);
	gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, credentials);
	gnutls_alpn_set_protocols(c->tls, &protocol, 1, 0);
	gnutls_transport_set_int(c->tls, fd);
}

static void close_client(struct client *c)
{
	gnutls_deinit(c->tls);
	close(c->fd);
	buf_done(&c->in);
	buf_done(&c->out);
}

static void run(struct program program)
{
	static gnutls_certificate_credentials_t credentials;
	struct client c;
	if (!credentials) {
		CHECK(gnutls_certificate_allocate_credentials(&credentials) == 0);
	}
	n_headers = n_done = 0;
	open_client(&c, dial(http_server_port(the_server())), credentials);
	CHECK(shake_hands(&c));
	gnutls_datum_t protocol;
	CHECK(gnutls_alpn_get_selected_protocol(c.tls, &protocol) == 0 && protocol.size == 2);

	size_t piece = take(&program) * 67 + 1;
	if (take(&program) % 8) { /* else without */
		buf_adds(&c.out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
		add_head(&c, 0, SETTINGS, 0, 0);
	}
	size_t sent = 0;
	while (program.n && sent < SENT_MAX && !c.is_over) {
		step(&c, &program, piece);
		sent += c.out.n;
		flush(&c, piece);
	}
	shutdown(c.fd, SHUT_WR);
	while (!c.is_over) {
		wait_for(&c, POLLIN);
		hear(&c);
	}
	close_client(&c);

	struct http_stats stats;
	do {
		sched_yield();
		http_server_stats(the_server(), &stats);
	} while (stats.connections_open);
	CHECK(n_done == n_headers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n > 2 && n <= INPUT_MAX) {
		run((struct program){data, n});
	}
	return 0;
}
