#include "server/http.h"

#include "base/clock.h"
#include "base/list.h"
#include "server/client_trust.h"
#include "server/http_head.h"
#include "server/http_inlet.h"
#include "server/http_keeper.h"
#include "server/http_probe.h"
#include "server/http_pump.h"
#include "server/http_socket.h"
#include "server/http_tls.h"
#include "server/http_transport.h"
#include "server/http_wire.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	/* libmicrohttpd's memory for one connection: pieces of the body, and the head of the answer. */
	POOL = 32 << 10,

	PEER_CEILING = 32 << 10, /* of a certificate's names */
	PEER_SCRATCH = 160,      /* enough for an ordinary certificate's names */
	EXCHANGE_SIZE = 5120,    /* struct http_exchange and the beginning of its arena: enough for a GET or a watch */
	ARENA_CEILING = 128 << 20,
	ONE_BUFFER = 32 << 10,   /* bodies up to this are sent from one buffer */
	RECORD = 16384,          /* a full TLS record */
	BODY_FIRST = 64 << 10,   /* taken on a client's word before any of the body is there */
	SWALLOW_MAX = 256 << 10, /* of a body nobody wants, to keep the connection */
	OVERFLOW_MAX = 64 << 20, /* of a body that is too large, to be able to say so: there is no answering in the middle */
	OTHER_DESCRIPTORS = 512, /* lingering sockets, files, etcd, kube-apiserver */
	ANSWER_HEAD_MAX = 14
		<< 10, /* of what is added to an answer's head, which lies in libmicrohttpd's pool: else there is no answer */
	CROWD = 128,   /* libmicrohttpd's MAX_EVENTS */
	PATIENCE_NS = 100000000, /* a client waits this long before it is worth asking whether it still does */
	CUT_GRACE_MS = 5000,     /* for connections to notice that they have been cut */
};

/* One HTTP thread. libmicrohttpd could run a pool of them itself, but then nobody else could get at their epolls: it sleeps on a batch
 * of exactly CROWD events, when there is no further event, instead of handling them (0.9.75 to 1.0.1). So while it has
 * connections enough for that, its epoll gets an event of ours now and then. */
struct worker {
	struct http_server *server;
	struct MHD_Daemon *daemon;
	int nudge; /* an eventfd in the daemon's epoll */
	_Atomic uint32_t n_connections;
	_Atomic uint32_t n_polled; /* of them in the daemon's epoll: not those at the pump */
};

struct http_server {
	struct http_options options; /* defaults filled in */
	uint16_t port;
	struct worker *workers;
	struct tls_files *tls; /* NULL: plain */
	struct client_trust *trust; /* likewise */
	struct keeper *keeper;
	struct pump *pump;
	_Atomic bool is_leaving, is_draining, is_cutting;
	_Atomic uint32_t n_wakers; /* threads that are waking an exchange just now */

	pthread_mutex_t streams_lock;
	struct list streams; /* of http_exchange.stream_link */
	uint64_t n_streams;

	_Atomic uint64_t connections_total, handshakes_failed, requests_total, requests_invalid, bytes_sent;
};

struct connection {
	struct keeper_connection kept;
	struct http_server *server;
	struct worker *worker;
	struct MHD_Connection *mhd;
	gnutls_session_t session; /* NULL: plain */
	struct transport transport;    /* what libmicrohttpd reads and writes */
	struct inlet inlet;            /* what it reads comes through */
	struct wire wire;              /* under the session */
	struct http_exchange *next;    /* its head has been read; libmicrohttpd does not know of it yet */
	struct http_exchange *current; /* it does */
	struct tls_identity *identity;
	bool is_handshaken;
	bool must_linger; /* answered before the request's end */
	struct http_peer peer;
	struct verdict verdict; /* on its certificate */
	struct arena peer_arena;
	char peer_scratch[PEER_SCRATCH];
	char address[SOCKET_ADDRESS_SIZE];
};

/* Of a suspended exchange. A wake that finds nobody waiting leaves its mark. */
enum wait { WAIT_RUNNING, WAIT_PARKED, WAIT_WOKEN };

enum stream_kind {
	STREAM_NONE,
	STREAM_DRIVEN, /* libmicrohttpd asks for more when the socket takes more */
	STREAM_PUMPED, /* the pump does */
};

enum stream_end { END_OPEN, END_DONE, END_CUT };

struct answer_header {
	struct answer_header *next;
	const char *name, *value;
};

struct http_exchange {
	struct connection *connection;
	struct arena arena;
	struct http_head head;
	unsigned refusal;    /* the status for what is not HTTP as we know it; 0: none */
	const char *problem; /* with it */
	struct buf body;
	size_t n_discarded; /* bytes of the body */
	bool is_body_too_large;
	bool is_body_unwanted; /* by the handler */
	bool is_announced; /* to the handler */
	bool is_head_waiting; /* the handler waits before the body is read */
	int64_t started_ns;
	void *context;

	_Atomic int wait;   /* enum wait */
	bool is_suspending; /* http_suspend() was called in this call of on_request */
	bool was_suspended;

	unsigned status; /* 0: not answered */
	struct answer_header *answer_headers, **answer_headers_end;
	size_t answer_head_n;          /* bytes of them */
	struct MHD_Response *response; /* until it is queued */
	uint64_t sent;                 /* body bytes */
	bool is_cut;
	bool is_in_memory; /* the whole body, for libmicrohttpd to send */

	struct bytes **parts; /* a body of several pieces: those from `part` on are referenced */
	size_t n_parts, part, part_at;
	char *flat; /* or their copy in one piece, owned */

	_Atomic int stream_kind; /* enum stream_kind */
	_Atomic int stream_wait; /* enum wait, of a driven one */
	_Atomic int stream_end;  /* enum stream_end, of a pumped one */
	const struct http_stream_ops *stream_ops;
	void *stream_context;
	uint64_t stream_length;
	bool is_stream_closed;
	bool is_ended_by_closing;
	struct list stream_link;
	struct pump_stream pumped;
	struct alarm alarm;
	int64_t alarm_ms; /* as last set: a stream tends to ask for the same again and again */

	_Alignas(16) char scratch[];
};

static struct http_server *server_of(const struct http_exchange *x)
{
	return x->connection->server;
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static int64_t now_ms(void)
{
	return clock_mono_ms();
}

/* Waking. */

static void begin_wake(struct http_server *s)
{
	atomic_fetch_add_explicit(&s->n_wakers, 1, memory_order_relaxed);
}

/* The exchange may be over before MHD_resume_connection() returns, but libmicrohttpd must not be: the server waits for wakers. */
static void end_wake(struct http_server *s, struct MHD_Connection *mhd, bool is_parked)
{
	if (is_parked) {
		MHD_resume_connection(mhd);
	}
	atomic_fetch_sub_explicit(&s->n_wakers, 1, memory_order_release);
}

/* Who turns PARKED into something else resumes the connection, so that each suspension is resumed once. */
static bool take_parked(_Atomic int *wait)
{
	int expected = WAIT_PARKED;
	return atomic_compare_exchange_strong_explicit(
		wait, &expected, WAIT_RUNNING, memory_order_acq_rel, memory_order_acquire);
}

/* Suspends libmicrohttpd's connection until somebody resumes it; at once, where a wake came before. */
static void park(struct http_exchange *x, _Atomic int *wait)
{
	struct MHD_Connection *mhd = x->connection->mhd;
	MHD_suspend_connection(mhd);
	int expected = WAIT_RUNNING;
	if (!atomic_compare_exchange_strong_explicit(
		    wait, &expected, WAIT_PARKED, memory_order_acq_rel, memory_order_acquire)) {
		atomic_exchange_explicit(wait, WAIT_RUNNING, memory_order_acq_rel);
		MHD_resume_connection(mhd);
	}
}

void http_suspend(struct http_exchange *x)
{
	if (!x->is_suspending) {
		x->is_suspending = true;
		x->was_suspended = true;
		park(x, &x->wait);
	}
}

void http_wake(struct http_exchange *x)
{
	struct http_server *s = server_of(x);
	struct MHD_Connection *mhd = x->connection->mhd;
	begin_wake(s);
	int before = atomic_load_explicit(&x->wait, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&x->wait, &before, before == WAIT_PARKED ? WAIT_RUNNING : WAIT_WOKEN,
		memory_order_acq_rel, memory_order_relaxed)) {
	}
	end_wake(s, mhd, before == WAIT_PARKED);
}

/* The request. */

struct str http_method(const struct http_exchange *x)
{
	return x->head.method;
}

struct str http_target(const struct http_exchange *x)
{
	return x->head.target;
}

struct str http_header(const struct http_exchange *x, const char *name)
{
	struct str wanted = str_of(name);
	for (size_t i = 0; i < x->head.n_fields; i++) {
		if (str_eq_nocase(x->head.fields[i].name, wanted)) {
			return x->head.fields[i].value;
		}
	}
	return (struct str){NULL, 0};
}

size_t http_headers(const struct http_exchange *x, const struct http_header **ret)
{
	*ret = x->head.fields;
	return x->head.n_fields;
}

struct str http_body(const struct http_exchange *x)
{
	return buf_str(&x->body);
}

bool http_body_too_large(const struct http_exchange *x)
{
	return x->is_body_too_large;
}

const struct http_peer *http_peer(const struct http_exchange *x)
{
	return &x->connection->peer;
}

struct arena *http_arena(struct http_exchange *x)
{
	return &x->arena;
}

int64_t http_started_ns(const struct http_exchange *x)
{
	return x->started_ns;
}

void http_set_context(struct http_exchange *x, void *p)
{
	x->context = p;
}

void *http_context(const struct http_exchange *x)
{
	return x->context;
}

bool http_is_draining(const struct http_exchange *x)
{
	return atomic_load_explicit(&server_of(x)->is_draining, memory_order_acquire);
}

unsigned http_status(const struct http_exchange *x)
{
	return x->status;
}

uint64_t http_sent(const struct http_exchange *x)
{
	return x->sent;
}

bool http_was_cut(const struct http_exchange *x)
{
	return x->is_cut;
}

void http_vouch(struct http_exchange *x)
{
	keeper_vouch(server_of(x)->keeper, &x->connection->kept);
}

void http_set_alarm(struct http_exchange *x, int64_t mono_ms)
{
	if (mono_ms != x->alarm_ms) {
		x->alarm_ms = mono_ms;
		keeper_set_alarm(server_of(x)->keeper, &x->alarm, mono_ms);
	}
}

/* The answer. */

static bool has_control_byte(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) {
			return true;
		}
	}
	return false;
}

void http_add_header(struct http_exchange *x, const char *name, struct str value)
{
	size_t size = strlen(name) + value.n + sizeof(": \r\n") - 1;
	if (has_control_byte(value) || x->answer_head_n + size > ANSWER_HEAD_MAX) {
		return;
	}
	x->answer_head_n += size;
	struct answer_header *header = arena_new(&x->arena, struct answer_header);
	header->name = name;
	header->value = arena_dup(&x->arena, value).p;
	*x->answer_headers_end = header;
	x->answer_headers_end = &header->next;
}

static enum stream_kind stream_kind_of(const struct http_exchange *x)
{
	return (enum stream_kind)atomic_load_explicit(&x->stream_kind, memory_order_acquire);
}

static bool is_last_answer(const struct http_exchange *x)
{
	bool is_leaving = atomic_load_explicit(&server_of(x)->is_leaving, memory_order_relaxed);
	return http_is_draining(x) || (is_leaving && stream_kind_of(x) == STREAM_NONE);
}

static void answer(struct http_exchange *x, unsigned status, struct MHD_Response *response)
{
	assert(x->status == 0 && response);
	x->status = status;
	x->response = response;
	for (struct answer_header *h = x->answer_headers; h; h = h->next) {
		MHD_add_response_header(response, h->name, h->value);
	}
	if (is_last_answer(x)) {
		MHD_add_response_header(response, "Connection", "close");
	}
}

/* The memory lives as long as the exchange. */
static void answer_memory(struct http_exchange *x, unsigned status, struct str body)
{
	x->is_in_memory = true;
	x->sent = body.n;
	answer(x, status, MHD_create_response_from_buffer(body.n, (void *)(uintptr_t)body.p, MHD_RESPMEM_PERSISTENT));
}

void http_reply(struct http_exchange *x, unsigned status, struct str body)
{
	answer_memory(x, status, body.n <= ONE_BUFFER ? arena_dup(&x->arena, body) : body);
}

static void release_parts(struct http_exchange *x, size_t until)
{
	for (; x->part < until; x->part++) {
		bytes_unref(x->parts[x->part]);
	}
}

/* Fills records, however small the parts are. */
static ssize_t read_parts(void *arg, uint64_t position, char *p, size_t max)
{
	struct http_exchange *x = arg;
	size_t n = 0;
	(void)position;
	while (n < max && x->part < x->n_parts) {
		const struct bytes *part = x->parts[x->part];
		size_t take = MIN(max - n, part->n - x->part_at);
		memcpy(p + n, part->p + x->part_at, take);
		n += take;
		x->part_at += take;
		if (x->part_at == part->n) {
			release_parts(x, x->part + 1);
			x->part_at = 0;
		}
	}
	x->sent += n;
	return (ssize_t)n;
}

static void flatten(struct http_exchange *x, size_t total)
{
	x->flat = mem_alloc(total);
	read_parts(x, 0, x->flat, total);
}

void http_reply_bytes(struct http_exchange *x, unsigned status, struct bytes *const *parts, size_t n)
{
	size_t total = 0;
	x->parts = arena_array(&x->arena, struct bytes *, n);
	x->n_parts = n;
	for (size_t i = 0; i < n; i++) {
		x->parts[i] = parts[i];
		total += parts[i]->n;
	}

	if (n == 1) {
		answer_memory(x, status, bytes_str(parts[0]));
	} else if (total <= ONE_BUFFER) {
		flatten(x, total);
		answer_memory(x, status, (struct str){x->flat, total});
	} else {
		answer(x, status, MHD_create_response_from_callback(total, RECORD, read_parts, x, NULL));
	}
}

/* Streams. */

static void wake_driven(struct http_exchange *x)
{
	struct http_server *s = server_of(x);
	struct MHD_Connection *mhd = x->connection->mhd;
	begin_wake(s);
	end_wake(s, mhd, atomic_exchange_explicit(&x->stream_wait, WAIT_WOKEN, memory_order_acq_rel) == WAIT_PARKED);
}

void http_stream_wake(struct http_exchange *x)
{
	if (stream_kind_of(x) == STREAM_PUMPED) {
		pump_wake(&x->pumped);
	} else {
		wake_driven(x);
	}
}

/* First everything in here that could wake it lets go of it, then the handler. */
static void close_stream(struct http_exchange *x)
{
	struct http_server *s = server_of(x);
	if (stream_kind_of(x) == STREAM_NONE || x->is_stream_closed) {
		return;
	}
	x->is_stream_closed = true;
	pthread_mutex_lock(&s->streams_lock);
	list_remove(&x->stream_link);
	s->n_streams--;
	pthread_mutex_unlock(&s->streams_lock);
	http_set_alarm(x, 0);
	x->stream_ops->closed(x->stream_context, x);
}

static ssize_t read_stream(struct http_exchange *x, char *p, size_t max)
{
	ssize_t n = x->stream_ops->read(x->stream_context, x, p, max);
	if (n > 0) {
		x->sent += (uint64_t)n;
	}
	return n;
}

/* Ends a body, and where nothing else can mark its end, the connection. When a reader says so libmicrohttpd (0.9.75) closes the
 * connection but forgets it, with its socket, as long as an older one lives; when there is a byte to send and the socket takes no more it
 * does not. */
static ssize_t end_body(struct http_exchange *x, char *p)
{
	struct connection *c = x->connection;
	bool is_delimited = x->stream_length != HTTP_LENGTH_UNKNOWN || !x->head.framing.is_http10;
	if (!x->is_cut && is_delimited) {
		return MHD_CONTENT_READER_END_OF_STREAM;
	}
	x->is_ended_by_closing = !x->is_cut;
	if (x->is_ended_by_closing && c->session) {
		gnutls_bye(c->session, GNUTLS_SHUT_WR);
	}
	shutdown(c->kept.fd, x->is_cut ? SHUT_RDWR : SHUT_WR);
	*p = '\0';
	return 1;
}

static ssize_t end_driven(struct http_exchange *x, bool is_cut, char *p)
{
	bool is_short = x->stream_length != HTTP_LENGTH_UNKNOWN && x->sent < x->stream_length;
	x->is_cut = is_cut || is_short;
	close_stream(x);
	return end_body(x, p);
}

/* Between read's "nothing" and the parking a wake may come: then park() finds its mark. */
static ssize_t drive(void *arg, uint64_t position, char *p, size_t max)
{
	struct http_exchange *x = arg;
	(void)position;
	if (atomic_load_explicit(&server_of(x)->is_cutting, memory_order_acquire)) {
		return end_driven(x, true, p);
	}
	atomic_exchange_explicit(&x->stream_wait, WAIT_RUNNING, memory_order_acq_rel);
	ssize_t n = read_stream(x, p, max);
	if (n < 0) {
		return end_driven(x, n != -1, p);
	}
	keeper_set_phase(&x->connection->kept, n ? KEEPER_SEND : KEEPER_WORK, now_ms());
	if (n == 0) {
		park(x, &x->stream_wait);
	}
	return n;
}

static struct http_exchange *exchange_of(struct pump_stream *s)
{
	return container_of(s, struct http_exchange, pumped);
}

static ssize_t on_pump_read(struct pump_stream *s, char *p, size_t max)
{
	return read_stream(exchange_of(s), p, max);
}

static void on_pump_closed(struct pump_stream *s)
{
	close_stream(exchange_of(s));
}

static void on_pump_finished(struct pump_stream *s, bool is_cut)
{
	struct http_exchange *x = exchange_of(s);
	struct http_server *server = server_of(x);
	struct MHD_Connection *mhd = x->connection->mhd;
	begin_wake(server);
	atomic_fetch_add_explicit(&x->connection->worker->n_polled, 1, memory_order_relaxed);
	atomic_store_explicit(&x->stream_end, is_cut ? END_CUT : END_DONE, memory_order_release);
	end_wake(server, mhd, true);
}

static const struct pump_ops pump_ops = {on_pump_read, on_pump_closed, on_pump_finished};

/* Gives the kernel back the whole pages of a buffer whose contents do not matter. */
static void release_pages(char *p, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)p + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)p + n) & ~(page - 1);
	if (from < to) {
		madvise((void *)from, to - from, MADV_DONTNEED);
	}
}

/* libmicrohttpd has sent the head and asks for the body: the connection goes to the pump, and the write buffer that libmicrohttpd
 * would have us fill (most of its pool) to the kernel. When the pump is done the question comes again. */
static ssize_t hand_over(void *arg, uint64_t position, char *p, size_t max)
{
	struct http_exchange *x = arg;
	(void)position;
	enum stream_end end = (enum stream_end)atomic_load_explicit(&x->stream_end, memory_order_acquire);
	if (end != END_OPEN) {
		x->is_cut = end == END_CUT;
		return end_body(x, p);
	}
	release_pages(p, max);
	atomic_fetch_sub_explicit(&x->connection->worker->n_polled, 1, memory_order_relaxed);
	MHD_suspend_connection(x->connection->mhd);
	pump_start(&x->pumped);
	return 0;
}

static void prepare_pump(struct http_exchange *x)
{
	x->pumped = (struct pump_stream){
		.ops = &pump_ops,
		.fd = x->connection->kept.fd,
		.tls = x->connection->session,
		.is_chunked = !x->head.framing.is_http10,
	};
	pump_prepare(server_of(x)->pump, &x->pumped);
}

/* The block is libmicrohttpd's own buffer, of no use to a chunked answer. And without the flag libmicrohttpd would send the last chunk
 * of an answer to HEAD. */
static struct MHD_Response *stream_response(struct http_exchange *x, MHD_ContentReaderCallback reader)
{
	bool is_endless = x->stream_length == HTTP_LENGTH_UNKNOWN;
	size_t block = is_endless && !x->head.framing.is_http10 ? 1 : RECORD;
	struct MHD_Response *response =
		MHD_create_response_from_callback(is_endless ? MHD_SIZE_UNKNOWN : x->stream_length, block, reader, x, NULL);
	if (is_endless && str_is(x->head.method, "HEAD")) {
		MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	}
	return response;
}

void http_reply_stream(struct http_exchange *x, unsigned status, uint64_t length, bool is_long_lived,
	const struct http_stream_ops *ops, void *ctx)
{
	struct http_server *s = server_of(x);
	bool is_pumped = is_long_lived && length == HTTP_LENGTH_UNKNOWN;
	x->stream_ops = ops;
	x->stream_context = ctx;
	x->stream_length = length;
	if (is_pumped) {
		prepare_pump(x);
	}
	atomic_store_explicit(&x->stream_kind, is_pumped ? STREAM_PUMPED : STREAM_DRIVEN, memory_order_release);

	pthread_mutex_lock(&s->streams_lock);
	list_append(&s->streams, &x->stream_link);
	s->n_streams++;
	pthread_mutex_unlock(&s->streams_lock);
	answer(x, status, stream_response(x, is_pumped ? hand_over : drive));
}

static void wake_streams(struct http_server *s)
{
	pthread_mutex_lock(&s->streams_lock);
	list_for_each(it, &s->streams) {
		http_stream_wake(list_entry(it, struct http_exchange, stream_link));
	}
	pthread_mutex_unlock(&s->streams_lock);
}

static void on_alarm(struct alarm *a)
{
	struct http_exchange *x = container_of(a, struct http_exchange, alarm);
	struct http_server *s = server_of(x);
	struct MHD_Connection *mhd = x->connection->mhd;
	if (stream_kind_of(x) != STREAM_NONE) {
		http_stream_wake(x);
		return;
	}
	begin_wake(s);
	end_wake(s, mhd, take_parked(&x->wait));
}

/* Who is there. */

/* When a request is there: before the first, the handshake is not over. */
static void learn_peer(struct connection *c)
{
	if (!c->peer.address.n) {
		socket_format_address(
			c->address, MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
		c->peer.address = str_of(c->address);
		c->peer.is_tls = c->session != NULL;
	}
	if (c->session) {
		client_trust_judge(c->server->trust, &c->verdict, c->session, &c->peer_arena, &c->peer);
	}
}

/* The life of an exchange. */

_Static_assert(sizeof(struct http_exchange) + 3072 <= EXCHANGE_SIZE, "no room for an ordinary request");

static struct http_exchange *exchange_new(struct connection *c)
{
	struct http_exchange *x = mem_alloc(EXCHANGE_SIZE);
	*x = (struct http_exchange){.connection = c};
	arena_init_with(&x->arena, ARENA_CEILING, x->scratch, EXCHANGE_SIZE - sizeof(*x));
	list_init(&x->stream_link);
	buf_init(&x->body, c->server->options.max_body);
	x->answer_headers_end = &x->answer_headers;
	x->started_ns = clock_mono_ns();
	return x;
}

static struct http_exchange *exchange_free(struct http_exchange *x)
{
	if (x->response) {
		MHD_destroy_response(x->response);
	}
	release_parts(x, x->n_parts);
	mem_free(x->flat);
	buf_done(&x->body);
	arena_done(&x->arena);
	return mem_free(x);
}

/* libmicrohttpd sends such a body right behind the head. */
static bool will_body_follow_head(const struct http_exchange *x)
{
	return x->is_in_memory && x->sent > 0 && x->status != MHD_HTTP_NO_CONTENT && x->status != MHD_HTTP_NOT_MODIFIED &&
		!str_is(x->head.method, "HEAD");
}

static enum MHD_Result exchange_queue(struct http_exchange *x)
{
	x->connection->wire.will_follow = will_body_follow_head(x);
	keeper_set_phase(&x->connection->kept, stream_kind_of(x) == STREAM_PUMPED ? KEEPER_WORK : KEEPER_SEND, now_ms());
	enum MHD_Result r = MHD_queue_response(x->connection->mhd, x->status, x->response);
	MHD_destroy_response(x->response);
	x->response = NULL;
	return r;
}

/* Not HTTP as we know it: what follows on this connection cannot be trusted to be a request. */
static enum MHD_Result refuse(struct http_exchange *x)
{
	unsigned status = x->refusal;
	struct str body = arena_printf(&x->arena, "%u %s: %s\n", status, MHD_get_reason_phrase_for(status), x->problem);
	count(&server_of(x)->requests_invalid, 1);
	x->connection->must_linger = true;
	http_add_header(x, "Content-Type", STR("text/plain; charset=utf-8"));
	answer_memory(x, status, body);
	MHD_add_response_header(x->response, "Connection", "close");
	return exchange_queue(x);
}

/* A body that is small and on its way is swallowed, then the answer goes out and the connection lives on. Else the answer goes out at
 * once, and libmicrohttpd closes the connection behind it. */
static bool will_swallow_body(const struct http_exchange *x)
{
	const struct http_framing *f = &x->head.framing;
	return !f->has_body || (!f->awaits_continue && !f->is_chunked && f->length <= SWALLOW_MAX);
}

/* Nobody watches a suspended connection: where the client had to wait, look before the answer is written. One that has only closed its
 * half gets the answer all the same. */
static bool is_client_gone(struct http_exchange *x)
{
	char byte;
	return x->was_suspended && clock_mono_ns() - x->started_ns > PATIENCE_NS &&
		recv(x->connection->kept.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* The head is there, or a wake came to who waited with it. A connection that is suspended now comes back to the same place: libmicrohttpd
 * calls for the head again, and reads no body before. */
static enum MHD_Result exchange_announce(struct http_exchange *x, int64_t began_ms)
{
	struct http_server *s = server_of(x);
	x->is_announced = true;
	x->is_suspending = false;
	keeper_set_phase(&x->connection->kept, x->head.framing.has_body ? KEEPER_BODY : KEEPER_WORK, began_ms);
	s->options.handler.on_headers(s->options.handler.ctx, x);
	x->is_head_waiting = !x->status && x->is_suspending;
	if (x->is_head_waiting) {
		keeper_set_phase(&x->connection->kept, KEEPER_WORK, 0);
		return MHD_YES;
	}
	if (x->is_suspending && take_parked(&x->wait)) {
		MHD_resume_connection(x->connection->mhd);
	}
	if (x->status && !will_swallow_body(x)) {
		x->connection->must_linger = true;
		return exchange_queue(x);
	}
	return MHD_YES;
}

static enum MHD_Result exchange_resume_head(struct http_exchange *x)
{
	atomic_load_explicit(&x->wait, memory_order_acquire);
	x->is_cut = is_client_gone(x);
	return exchange_announce(x, now_ms());
}

static enum MHD_Result exchange_begin(struct http_exchange *x)
{
	struct connection *c = x->connection;
	c->current = x;
	c->next = NULL;
	count(&c->server->requests_total, 1);
	if (x->refusal) {
		return refuse(x);
	}
	learn_peer(c);
	x->is_body_too_large = x->head.framing.length > c->server->options.max_body;
	return exchange_announce(x, x->started_ns / 1000000);
}

/* What nobody wants or what goes beyond the limit is let go by, as far as is reasonable. */
static enum MHD_Result exchange_receive(struct http_exchange *x, const char *p, size_t n)
{
	const struct http_handler *h = &server_of(x)->options.handler;
	size_t max = server_of(x)->options.max_body;
	bool fits = !x->status && !x->is_body_too_large && !x->is_body_unwanted && n <= max - x->body.n;
	x->is_body_unwanted |= fits && h->on_body && !h->on_body(h->ctx, x, x->body.n + n);
	if (fits && !x->is_body_unwanted) {
		if (x->body.cap == 0) {
			buf_reserve(&x->body, MAX(n, (size_t)MIN(x->head.framing.length, (uint64_t)BODY_FIRST)));
		}
		buf_add(&x->body, p, n);
		return MHD_YES;
	}
	x->is_body_too_large |= !x->status && !x->is_body_unwanted;
	buf_done(&x->body);
	x->n_discarded += n;
	return x->n_discarded <= OVERFLOW_MAX ? MHD_YES : MHD_NO;
}

/* The request is complete, or a wake or an alarm came. */
static enum MHD_Result exchange_run(struct http_exchange *x)
{
	struct http_server *s = server_of(x);
	if (!x->status && x->refusal) {
		return refuse(x);
	}
	if (!x->status) {
		keeper_set_phase(&x->connection->kept, KEEPER_WORK, 0);
		atomic_load_explicit(&x->wait, memory_order_acquire);
		x->is_cut = is_client_gone(x);
		x->is_suspending = false;
		s->options.handler.on_request(s->options.handler.ctx, x);
	}
	if (!x->status) {
		http_suspend(x);
		return MHD_YES;
	}
	if (x->is_suspending && take_parked(&x->wait)) {
		MHD_resume_connection(x->connection->mhd);
	}
	return exchange_queue(x);
}

static void exchange_end(struct http_exchange *x, enum MHD_RequestTerminationCode how)
{
	struct http_server *s = server_of(x);
	x->is_cut |= how != MHD_REQUEST_TERMINATED_COMPLETED_OK && !x->is_ended_by_closing;
	http_set_alarm(x, 0);
	close_stream(x);
	x->connection->current = NULL;
	inlet_finish(&x->connection->inlet);
	keeper_set_phase(&x->connection->kept, KEEPER_IDLE, now_ms());
	if (str_is(x->head.method, "HEAD")) {
		x->sent = 0;
	}
	count(&s->bytes_sent, x->sent);
	if (x->is_announced) {
		s->options.handler.on_done(s->options.handler.ctx, x);
	}
	exchange_free(x);
}

/* TLS on a socket. libmicrohttpd calls gnutls_handshake() again and again while it waits for the client; so while it does, the
 * connection is suspended. */

static void on_empty(struct wire *w)
{
	struct connection *c = container_of(w, struct connection, wire);
	if (!c->is_handshaken) {
		keeper_park(c->server->keeper, &c->kept);
	}
}

static int on_finished(
	gnutls_session_t session, unsigned type, unsigned when, unsigned is_incoming, const gnutls_datum_t *message)
{
	(void)type;
	(void)when;
	(void)message;
	struct connection *c = gnutls_session_get_ptr(session);
	if (is_incoming) {
		c->is_handshaken = true;
		keeper_set_phase(&c->kept, KEEPER_FIRST, now_ms());
	}
	return 0;
}

static ssize_t on_fetch(struct inlet *in, char *p, size_t n)
{
	struct connection *c = container_of(in, struct connection, inlet);
	return c->session ? transport_tls_receive(c->session, p, n) : wire_receive_plain(&c->wire, p, n);
}

/* A head is there: the exchange begins. libmicrohttpd will ask for it when it has read its own. */
static bool on_head(struct inlet *in, struct str text, unsigned status, const char *problem, struct http_framing *ret)
{
	struct connection *c = container_of(in, struct connection, inlet);
	struct http_exchange *x = exchange_new(c);
	x->refusal = status;
	x->problem = problem;
	if (!status) {
		x->refusal = http_head_parse(
			&x->head, &x->arena, arena_dup(&x->arena, text), c->server->options.max_header, &x->problem);
	}
	c->next = x;
	*ret = x->head.framing;
	return x->refusal == 0;
}

static void on_broken_body(struct inlet *in, unsigned status, const char *problem)
{
	struct connection *c = container_of(in, struct connection, inlet);
	struct http_exchange *x = c->next ? c->next : c->current;
	x->refusal = status;
	x->problem = problem;
}

static const struct inlet_ops inlet_ops = {on_fetch, on_head, on_broken_body};

static ssize_t on_receive(struct transport *t, void *p, size_t n)
{
	return inlet_read(&container_of(t, struct connection, transport)->inlet, p, n);
}

static ssize_t on_send_plain(struct transport *t, const void *p, size_t n)
{
	return wire_send_plain(&container_of(t, struct connection, transport)->wire, p, n);
}

static void prepare_tls(struct connection *c)
{
	c->identity = tls_files_identity(c->server->tls);
	tls_identity_apply(c->identity, c->session);
	wire_init(&c->wire);
	gnutls_session_set_ptr(c->session, c);
	gnutls_handshake_set_hook_function(c->session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, on_finished);
}

/* The life of a connection. */

static struct connection *connection_new(struct worker *w, struct MHD_Connection *mhd)
{
	struct http_server *s = w->server;
	gnutls_session_t session = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
	struct connection *c = mem_new(struct connection);
	c->server = s;
	c->worker = w;
	c->mhd = mhd;
	c->session = s->tls ? session : NULL;
	c->kept.fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->wire = (struct wire){.fd = c->kept.fd, .session = c->session, .on_empty = on_empty};
	c->transport =
		(struct transport){.receive = on_receive, .send = c->session ? NULL : on_send_plain, .is_plain = !c->session};
	transport_attach(&c->transport, session);
	inlet_init(&c->inlet, &inlet_ops, s->options.max_header);
	arena_init_with(&c->peer_arena, PEER_CEILING, c->peer_scratch, sizeof(c->peer_scratch));
	if (c->session) {
		prepare_tls(c);
	}
	atomic_fetch_add_explicit(&w->n_polled, 1, memory_order_relaxed);
	keeper_add(s->keeper, &c->kept, c->session ? KEEPER_HANDSHAKE : KEEPER_FIRST);
	return c;
}

static void connection_free(struct connection *c)
{
	struct http_server *s = c->server;
	int duplicate = c->must_linger ? dup(c->kept.fd) : -1;
	if (duplicate >= 0) {
		keeper_linger(s->keeper, duplicate);
	}
	if (c->identity && !c->is_handshaken) {
		count(&s->handshakes_failed, 1);
	}
	if (c->current) { /* libmicrohttpd forgot to say that it is over */
		exchange_end(c->current, MHD_REQUEST_TERMINATED_WITH_ERROR);
	}
	if (c->next) {
		exchange_free(c->next);
	}
	inlet_done(&c->inlet);
	wire_done(&c->wire);
	tls_identity_unref(c->identity);
	verdict_done(&c->verdict);
	arena_done(&c->peer_arena);
	atomic_fetch_sub_explicit(&c->worker->n_polled, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&c->worker->n_connections, 1, memory_order_relaxed);
	keeper_remove(s->keeper, &c->kept);
	mem_free(c);
}

static struct connection *connection_of(struct keeper_connection *kept)
{
	return container_of(kept, struct connection, kept);
}

static void on_suspend(struct keeper_connection *kept)
{
	MHD_suspend_connection(connection_of(kept)->mhd);
}

static void on_resume(struct keeper_connection *kept)
{
	MHD_resume_connection(connection_of(kept)->mhd);
}

/* What libmicrohttpd calls. */

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = connection_new(arg, mhd);
	} else {
		connection_free(*context);
		*context = NULL;
	}
}

static struct connection *connection_at(struct MHD_Connection *mhd)
{
	return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* What libmicrohttpd says of the request is what we told it. */
static enum MHD_Result on_access(void *arg, struct MHD_Connection *mhd, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_n, void **context)
{
	struct http_exchange *x = *context;
	(void)arg;
	(void)url;
	(void)method;
	(void)version;
	if (!x) {
		x = connection_at(mhd)->next;
		*context = x;
		return x ? exchange_begin(x) : MHD_NO;
	}
	if (x->is_head_waiting) {
		return exchange_resume_head(x);
	}
	if (*upload_n) {
		size_t n = *upload_n;
		*upload_n = 0;
		return exchange_receive(x, upload, n);
	}
	return exchange_run(x);
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode how)
{
	(void)arg;
	(void)mhd;
	if (*context) {
		exchange_end(*context, how);
		*context = NULL;
	}
}

/* Never asked: each session gets its own credentials before its handshake. But without it libmicrohttpd would not start. */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *names, int n_names,
	const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **certificate, unsigned *n,
	gnutls_privkey_t *key)
{
	(void)session, (void)names, (void)n_names, (void)algorithms, (void)n_algorithms, (void)certificate, (void)n, (void)key;
	return -1;
}

/* The server. */

static struct worker *choose_worker(struct http_server *s)
{
	struct worker *best = &s->workers[0];
	for (unsigned i = 1; i < s->options.threads; i++) {
		struct worker *w = &s->workers[i];
		if (atomic_load_explicit(&w->n_connections, memory_order_relaxed) <
			atomic_load_explicit(&best->n_connections, memory_order_relaxed)) {
			best = w;
		}
	}
	return best;
}

static bool on_accept(void *arg, int fd, const struct sockaddr *address, socklen_t size)
{
	struct http_server *s = arg;
	struct worker *w = choose_worker(s);
	count(&s->connections_total, 1);
	atomic_fetch_add_explicit(&w->n_connections, 1, memory_order_relaxed);
	if (MHD_add_connection(w->daemon, fd, address, size) != MHD_YES) {
		atomic_fetch_sub_explicit(&w->n_connections, 1, memory_order_relaxed);
		return false;
	}
	return true;
}

static void on_unheard(void *arg)
{
	struct http_server *s = arg;
	count(&s->connections_total, 1);
	if (s->tls) {
		count(&s->handshakes_failed, 1);
	}
}

static void on_crowd(void *arg)
{
	struct http_server *s = arg;
	for (unsigned i = 0; i < s->options.threads; i++) {
		if (atomic_load_explicit(&s->workers[i].n_polled, memory_order_relaxed) >= CROWD) {
			eventfd_write(s->workers[i].nudge, 1);
		}
	}
}

static void tell(struct http_server *s, struct str text)
{
	const struct http_handler *h = &s->options.handler;
	if (h->on_notice) {
		h->on_notice(h->ctx, text);
	}
}

static void hint_authorities(struct http_server *s)
{
	struct verifier *v = client_trust_current(s->trust);
	tls_files_hint(s->tls, v);
	verifier_unref(v);
}

static void on_tick(void *arg)
{
	struct http_server *s = arg;
	_cleanup_(buf_done) struct buf problem;
	buf_init(&problem, 4096);
	if (!s->tls) {
		return;
	}
	if (tls_files_refresh(s->tls, &problem) < 0) {
		tell(s, buf_str(&problem));
	}
	buf_clear(&problem);
	tls_files_check_dates(s->tls, clock_wall_s(), &problem);
	if (problem.n > 0) {
		tell(s, buf_str(&problem));
	}
	hint_authorities(s);
}

static void on_trust_file(void *ctx, const char *path, const char *problem)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 8192);
	if (problem) {
		buf_printf(&text, "%s: %s; nobody is believed because of it until it is mended", path, problem);
	} else {
		buf_printf(&text, "%s is mended: what it says counts", path);
	}
	tell(ctx, buf_str(&text));
}

void http_server_set_trust(struct http_server *s, const struct trust *trust)
{
	_cleanup_(buf_done) struct buf problems;
	buf_init(&problems, 4096);
	if (s->trust && !client_trust_set(s->trust, trust, &problems)) {
		BUF_LITERAL(&problems, "; nobody is believed because of it until it is mended");
		tell(s, buf_str(&problems));
	}
}

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

static void fill_in(struct http_options *o)
{
	DEFAULT(o->threads, 2);
	DEFAULT(o->max_connections, 16384);
	DEFAULT(o->max_body, 3145728);
	DEFAULT(o->max_header, 31 << 10);
	DEFAULT(o->handshake_timeout_ms, 10000);
	DEFAULT(o->header_timeout_ms, 32000);
	DEFAULT(o->body_timeout_ms, 60000);
	DEFAULT(o->idle_timeout_ms, 180000);
	DEFAULT(o->stranger_grace_ms, 1000);
	o->max_connections = MIN(o->max_connections, descriptors_for_clients());
}

static void open_keeper(struct http_server *s, int listener)
{
	const struct http_options *o = &s->options;
	s->keeper = keeper_new(&(struct keeper_options){
		.ctx = s,
		.listener = listener,
		.accept = on_accept,
		.unheard = on_unheard,
		.suspend = on_suspend,
		.resume = on_resume,
		.alarm = on_alarm,
		.tick = on_tick,
		.crowd = on_crowd,
		.crowd_size = CROWD,
		.max_connections = o->max_connections,
		.first_byte_ms = s->tls ? o->handshake_timeout_ms : o->header_timeout_ms,
		.handshake_ms = o->handshake_timeout_ms,
		.header_ms = o->header_timeout_ms,
		.body_ms = o->body_timeout_ms,
		.idle_ms = o->idle_timeout_ms,
		.grace_ms = o->stranger_grace_ms,
	});
}

/* An event without a pointer is none of libmicrohttpd's, which does not look at it. Edge-triggered: each write is one event, and nobody
 * need read. */
static int open_nudge(struct worker *w)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
	w->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return epoll_ctl(MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, EPOLL_CTL_ADD, w->nudge, &event);
}

/* The limit on connections is the keeper's; libmicrohttpd's is never reached. */
static int worker_open(struct worker *w, struct http_server *s, struct buf *err)
{
	const struct http_options *o = &s->options;
	size_t connections = o->max_connections + KEEPER_LEAVING_MAX(o->max_connections) + 1;
	struct MHD_OptionItem options[] = {
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, POOL, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, (intptr_t)MIN(connections, (size_t)INT32_MAX), NULL},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, w},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, w},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)no_certificate},
		{MHD_OPTION_END, 0, NULL},
	};
	/* TLS also where there is none: then libmicrohttpd reads and writes through GnuTLS' calls, where our transport stands in. */
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TLS;
	w->server = s;
	w->nudge = -1;
	w->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_access, w, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!w->daemon || open_nudge(w) < 0) {
		buf_printf(err, "libmicrohttpd does not start");
		return -EIO;
	}
	return 0;
}

static void worker_close(struct worker *w)
{
	if (w->daemon) {
		MHD_stop_daemon(w->daemon);
		close(w->nudge);
	}
}

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

/* Nobody has been here yet: the probe does not count. */
static void reset_stats(struct http_server *s)
{
	_Atomic uint64_t *const counters[] = {
		&s->connections_total, &s->handshakes_failed, &s->requests_total, &s->requests_invalid, &s->bytes_sent};
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		atomic_store_explicit(counters[i], 0, memory_order_relaxed);
	}
}

static int probe_on(struct http_server *s, const int ends[2], struct buf *reason)
{
	http_server_admit(s, ends[0]);
	int r = http_probe(ends[1], s->tls != NULL, reason);
	shutdown(ends[1], SHUT_RDWR);
	close(ends[1]);
	keeper_wait_until_empty(s->keeper, INT64_MAX);
	return r;
}

/* Through a pair of sockets: whatever the address, the network and the clients that are allowed. */
static int probe(struct http_server *s, struct buf *err)
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
	s->options.handler = http_probe_handler();
	int r = probe_on(s, ends, &reason);
	s->options.handler = handler;
	reset_stats(s);
	if (r == -EPROTO) {
		buf_printf(err,
			"no TLS client can connect with the certificate %s (%.*s): does its key usage allow signatures?",
			s->options.cert_file, (int)reason.n, reason.p);
	} else if (r < 0) {
		buf_printf(err, "libmicrohttpd %s does not serve as it must (%.*s); versions 0.9.75 to 1.0.1 are known to",
			MHD_get_version(), (int)reason.n, reason.p);
	}
	return r;
}

int http_server_new(struct http_server **ret, const struct http_options *options, struct buf *err)
{
	struct http_server *s = mem_new(struct http_server);
	struct http_options *o = &s->options;
	*o = *options;
	fill_in(o);
	list_init(&s->streams);
	pthread_mutex_init(&s->streams_lock, NULL);

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
	if (r == 0) {
		r = probe(s, err);
	}
	if (r < 0) {
		http_server_free(s);
		return r;
	}
	keeper_open(s->keeper);
	*ret = s;
	return 0;
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

static void cut_what_is_left(struct http_server *s)
{
	atomic_store_explicit(&s->is_cutting, true, memory_order_release);
	keeper_cut_all(s->keeper);
	wake_streams(s);
}

void http_server_leave(struct http_server *s)
{
	atomic_store_explicit(&s->is_leaving, true, memory_order_relaxed);
}

bool http_server_drain(struct http_server *s, int64_t timeout_ms)
{
	int64_t until = now_ms() + timeout_ms;
	atomic_store_explicit(&s->is_draining, true, memory_order_release);
	keeper_drain(s->keeper);
	wake_streams(s);
	if (keeper_wait_until_empty(s->keeper, until)) {
		return true;
	}
	cut_what_is_left(s);
	return keeper_wait_until_empty(s->keeper, now_ms() + CUT_GRACE_MS);
}

/* libmicrohttpd aborts when it is stopped with a suspended connection: so first there must be none at all, nor anyone waking one. */
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
	pump_free(s->pump);
	keeper_free(s->keeper);
	client_trust_free(s->trust);
	tls_files_free(s->tls);
	pthread_mutex_destroy(&s->streams_lock);
	return mem_free(s);
}

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
}
