/* HTTP/1.1: all that knows libmicrohttpd.
 *
 *   worker      one HTTP thread, which is one struct MHD_Daemon
 *   connection  one client: its struct MHD_Connection, TLS session and inlet
 *   response    the answer on its way: its struct MHD_Response
 *
 * A client's bytes take this way:
 *
 *   socket -- wire -- GnuTLS -- inlet -- transport -- libmicrohttpd
 *
 * libmicrohttpd reads through the transport, which asks the inlet. The inlet holds a client's head back until it is
 * whole, and here an exchange is made of it (docs/explanation/http.md). A plain connection takes the same way, with a
 * session that is only a name.
 *
 * A connection is suspended while libmicrohttpd has nothing to do for it: in a handshake while the client is silent
 * (http_keeper.h), while a handler or a driven stream waits, and while the pump has it. One of these holds at a time,
 * so each suspension has one owner, who ends it.
 *
 * libmicrohttpd has two moments for an answer: before the body and after it. An answer before the body makes it close
 * the connection. So an early answer to a small body waits until the body has been discarded. A body that grows too
 * large is discarded to its end before it is refused.
 *
 * libmicrohttpd can run a pool of threads itself, but then nobody else gets at their epolls. We must: versions 0.9.75
 * to 1.0.1 go to sleep on a batch of exactly WORKER_CROWD events when no further event comes, instead of handling
 * them. So while a worker has that many connections, worker_nudge() gives its epoll an event of ours now and then. */
#include "server/http/http_private.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	/* Bytes of a certificate's names. They live as long as the connection, so they have a ceiling. */
	PEER_CEILING = 32 << 10,

	/* Bytes of an unwanted body that are discarded to keep the connection: a new TLS handshake costs both sides more. */
	SWALLOW_MAX = 256 << 10,

	/* A client waits this long before it is worth a system call to ask whether it still does. */
	PATIENCE_NS = 100000000,

	/* libmicrohttpd's memory for one connection: pieces of the body, and the head of the answer. It is malloc'ed up to
	 * this size; a larger one would be mapped, which costs system calls. */
	POOL = 32 << 10,

	RECORD = 16384, /* a full TLS record: what libmicrohttpd asks a reader for at a time */
};

_Static_assert(MHD_SIZE_UNKNOWN == HTTP_LENGTH_UNKNOWN, "an endless answer would have a length");

/* Waiting and waking. */

void connection_suspend(struct connection *c)
{
	MHD_suspend_connection(c->mhd);
}

void connection_resume(struct connection *c)
{
	MHD_resume_connection(c->mhd);
}

/* The answer on its way. libmicrohttpd writes its head, and sends the body:
 *
 *   in one piece       from memory, right behind the head: in as few system calls and records as possible
 *   in several pieces  response_read_parts() fills libmicrohttpd's buffer
 *   from a stream      response_drive() fills it, or the pump takes over */

/* Reading the body. */

static ssize_t response_read_parts(void *arg, uint64_t position, char *p, size_t max)
{
	(void)position;
	return (ssize_t)http_answer_read_parts(arg, p, max);
}

/* Ends a body, and where nothing else can mark its end, the connection. When a reader says so
 * libmicrohttpd (0.9.75) closes the connection but forgets it, with its socket, as long as an
 * older one lives; when there is a byte to send and the socket takes no more it does not. */
static ssize_t response_end_body(struct http_exchange *x, char *p)
{
	struct connection *c = x->connection;
	bool is_delimited = x->answer_length != HTTP_LENGTH_UNKNOWN || !x->request.head.framing.is_http10;
	if (!x->request.is_cut && is_delimited) {
		return MHD_CONTENT_READER_END_OF_STREAM;
	}
	x->is_ended_by_closing = !x->request.is_cut;
	if (x->is_ended_by_closing && c->session) {
		gnutls_bye(c->session, GNUTLS_SHUT_WR);
	}
	shutdown(c->kept.fd, x->request.is_cut ? SHUT_RDWR : SHUT_WR);
	*p = '\0';
	return 1;
}

static ssize_t response_drive(void *arg, uint64_t position, char *p, size_t max)
{
	(void)position;
	ssize_t n = http_stream_drive(arg, p, max);
	return n < 0 ? response_end_body(arg, p) : n;
}

/* Pumped. */

static struct http_exchange *pumped_exchange(struct pump_stream *s)
{
	return container_of(s, struct http_exchange, pumped);
}

static ssize_t on_pump_read(struct pump_stream *s, char *p, size_t max)
{
	return http_stream_read(pumped_exchange(s), p, max);
}

static void on_pump_closed(struct pump_stream *s)
{
	http_stream_close(pumped_exchange(s));
}

/* The connection goes back to libmicrohttpd, which asks for the body again. */
static void on_pump_finished(struct pump_stream *s, bool is_cut)
{
	struct http_exchange *x = pumped_exchange(s);
	struct http_server *server = x->server;
	http_begin_wake(server);
	atomic_fetch_add_explicit(&x->connection->worker->n_polled, 1, memory_order_relaxed);
	atomic_store_explicit(&x->stream_end, is_cut ? END_CUT : END_DONE, memory_order_release);
	http_end_wake(server, x);
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

/* libmicrohttpd has sent the head and asks for the body: the connection goes to the pump, and
 * the write buffer that libmicrohttpd would have us fill (most of its pool) to the kernel. When
 * the pump is done the question comes again. */
static ssize_t response_hand_over(void *arg, uint64_t position, char *p, size_t max)
{
	struct http_exchange *x = arg;
	struct connection *c = x->connection;
	(void)position;
	enum stream_end end = (enum stream_end)atomic_load_explicit(&x->stream_end, memory_order_acquire);
	if (end != END_OPEN) {
		x->request.is_cut = end == END_CUT;
		return response_end_body(x, p);
	}
	release_pages(p, max);
	atomic_fetch_sub_explicit(&c->worker->n_polled, 1, memory_order_relaxed);
	connection_suspend(c); /* before pump_start(): the pump may be done with it, and resume it, at once */
	pump_start(&x->pumped);
	return 0;
}

static void response_prepare_pump(struct http_exchange *x)
{
	x->pumped = (struct pump_stream){
		.ops = &pump_ops,
		.fd = x->connection->kept.fd,
		.tls = x->connection->session,
		.is_chunked = !x->request.head.framing.is_http10,
	};
	pump_prepare(x->server->pump, &x->pumped);
}

/* Sending. */

/* The block is libmicrohttpd's own buffer, of no use to a chunked answer. And without the flag
 * libmicrohttpd would send the last chunk of an answer to HEAD. */
static struct MHD_Response *response_new_from(struct http_exchange *x, MHD_ContentReaderCallback read)
{
	bool is_endless = x->answer_length == HTTP_LENGTH_UNKNOWN;
	size_t block = is_endless && !x->request.head.framing.is_http10 ? 1 : RECORD;
	struct MHD_Response *response = MHD_create_response_from_callback(x->answer_length, block, read, x, NULL);
	if (is_endless && x->request.head.framing.is_head_request) {
		MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	}
	return response;
}

static struct MHD_Response *response_new(struct http_exchange *x)
{
	switch (x->answer_body) {
	case ANSWER_MEMORY:
		return MHD_create_response_from_buffer(x->memory.n, (void *)(uintptr_t)x->memory.p, MHD_RESPMEM_PERSISTENT);
	case ANSWER_PARTS:
		return response_new_from(x, response_read_parts);
	case ANSWER_STREAM:
		break;
	}
	return response_new_from(x, http_exchange_stream_kind(x) == STREAM_PUMPED ? response_hand_over : response_drive);
}

static void response_add_headers(const struct http_exchange *x, struct MHD_Response *response)
{
	for (struct answer_header *h = x->answer_headers; h; h = h->next) {
		MHD_add_response_header(response, h->name, h->value);
	}
	const char *const(*common)[2] = x->server->options.answer_headers;
	for (; common && (*common)[0]; common++) {
		MHD_add_response_header(response, (*common)[0], (*common)[1]);
	}
	if (http_answer_is_last(x)) {
		MHD_add_response_header(response, "Connection", "close");
	}
}

/* libmicrohttpd sends such a body right behind the head. */
static bool will_body_follow_head(const struct http_exchange *x)
{
	return x->answer_body == ANSWER_MEMORY && x->memory.n > 0 && x->request.status != MHD_HTTP_NO_CONTENT &&
		x->request.status != MHD_HTTP_NOT_MODIFIED && !x->request.head.framing.is_head_request;
}

/* From now on the client's slowness counts. A watch's does not: the pump has a time of its own
 * for a client that takes nothing. */
static bool response_send(struct http_exchange *x)
{
	struct connection *c = x->connection;
	struct MHD_Response *response = response_new(x);
	bool is_pumped = http_exchange_stream_kind(x) == STREAM_PUMPED;
	response_add_headers(x, response);
	c->must_linger |= x->refusal != 0;
	c->wire.will_follow = will_body_follow_head(x);
	keeper_set_phase(&c->kept, is_pumped ? KEEPER_STREAM : KEEPER_SEND, clock_mono_ms());
	enum MHD_Result r = MHD_queue_response(c->mhd, x->request.status, response);
	MHD_destroy_response(response);
	http_exchange_let_go(x);
	return r == MHD_YES;
}

/* The peer's identity. */

/* Called when a request is there: before the first, the handshake is not over. */
static void connection_learn_peer(struct connection *c)
{
	if (!c->peer.address.n) {
		socket_format_address(
			c->address, MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
		c->peer.address = str_of(c->address);
		c->peer.is_tls = c->session != NULL;
	}
	if (c->session && !c->verdict.is_final) {
		client_trust_judge(c->server->trust, &c->verdict, c->session, &c->peer_arena, &c->peer);
	}
}

/* TLS on a socket. libmicrohttpd calls gnutls_handshake() again and again while it waits for the
 * client; so while it does, the connection is suspended. */

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
		keeper_set_phase(&c->kept, KEEPER_FIRST, clock_mono_ms());
	}
	return 0;
}

/* The identity is taken now and kept: the files may change while the handshake goes on. */
static void connection_prepare_tls(struct connection *c)
{
	c->identity = tls_files_identity(c->server->tls);
	tls_identity_apply(c->identity, c->session);
	wire_init(&c->wire);
	gnutls_session_set_ptr(c->session, c);
	gnutls_handshake_set_hook_function(c->session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, on_finished);
}

/* The functions of struct exchange_wire. */

static void on_exchange_suspend(struct http_exchange *x)
{
	connection_suspend(x->connection);
}

static void on_exchange_resume(struct http_exchange *x)
{
	connection_resume(x->connection);
}

static void on_exchange_phase(struct http_exchange *x, enum keeper_phase phase, int64_t now_ms)
{
	keeper_set_phase(x->kept, phase, now_ms);
}

/* Nobody watches a suspended connection: where the client had to wait, look before the answer is
 * written. One that has only closed its half gets the answer all the same. */
static bool is_client_gone(struct http_exchange *x)
{
	char byte;
	return x->was_suspended && clock_mono_ns() - x->request.started_ns > PATIENCE_NS &&
		recv(x->kept->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* A body that is small and on its way is swallowed, then the answer goes out and the connection
 * lives on. Else the answer goes out at once, and libmicrohttpd closes the connection behind it. */
static bool on_exchange_answer_early(struct http_exchange *x)
{
	const struct http_framing *f = &x->request.head.framing;
	if (!f->has_body || (!f->awaits_continue && !f->is_chunked && f->length <= SWALLOW_MAX)) {
		return true;
	}
	x->connection->must_linger = true;
	return response_send(x);
}

/* libmicrohttpd finds the socket broken, and ends the exchange. */
static void on_exchange_evict(struct http_exchange *x)
{
	shutdown(x->kept->fd, SHUT_RDWR);
}

/* Now the inlet may give out the next head. */
static void on_exchange_end(struct http_exchange *x)
{
	x->connection->current = NULL;
	inlet_finish(&x->connection->inlet);
	keeper_set_phase(x->kept, KEEPER_IDLE, clock_mono_ms());
}

static const struct exchange_wire connection_wire = {
	.suspend = on_exchange_suspend,
	.resume = on_exchange_resume,
	.set_phase = on_exchange_phase,
	.is_client_gone = is_client_gone,
	.answer_early = on_exchange_answer_early,
	.answer = response_send,
	.prepare_pump = response_prepare_pump,
	.evict = on_exchange_evict,
	.end = on_exchange_end,
};

/* Reading and writing for libmicrohttpd. */

static ssize_t on_fetch(struct inlet *in, char *p, size_t n)
{
	struct connection *c = container_of(in, struct connection, inlet);
	return c->session ? transport_tls_receive(c->session, p, n) : wire_receive_plain(&c->wire, p, n);
}

/* A head is there: the exchange begins. libmicrohttpd will ask for it when it has read its own. */
static bool on_head(struct inlet *in, struct str text, unsigned status, const char *problem, struct http_framing *ret)
{
	struct connection *c = container_of(in, struct connection, inlet);
	struct http_exchange *x = http_exchange_new(c->server, &connection_wire);
	x->connection = c;
	x->kept = &c->kept;
	x->request.peer = &c->peer;
	x->refusal = status;
	x->problem = problem;
	if (!status) {
		x->refusal = http_head_parse(&x->request.head, &x->request.arena, arena_dup(&x->request.arena, text),
			c->server->options.max_header, &x->problem);
	}
	c->next = x;
	*ret = x->request.head.framing;
	return x->refusal == 0;
}

/* The body's first bytes may come together with the head, before libmicrohttpd knows of the
 * exchange. */
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

/* Making and ending a connection. */

/* The keeper gets it last: from then on its thread may cut the connection. */
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
	socket_options_hide(c->kept.fd);
	inlet_init(&c->inlet, &inlet_ops, s->options.max_header);
	arena_init_with(&c->peer_arena, PEER_CEILING, c->peer_scratch, sizeof(c->peer_scratch));
	if (c->session) {
		connection_prepare_tls(c);
	}
	atomic_fetch_add_explicit(&w->n_polled, 1, memory_order_relaxed);
	keeper_add(s->keeper, &c->kept, c->session ? KEEPER_HANDSHAKE : KEEPER_FIRST);
	return c;
}

/* The socket is closed behind this. Where a client may still be sending behind an early answer,
 * the keeper has a duplicate of it linger: a reset would destroy the answer on its way. */
static void connection_free(struct connection *c)
{
	struct http_server *s = c->server;
	int duplicate = c->must_linger ? dup(c->kept.fd) : -1;
	if (duplicate >= 0) {
		keeper_linger(s->keeper, duplicate);
	}
	if (c->identity && !c->is_handshaken) {
		http_count(&s->handshakes_failed, 1);
	}
	if (c->current) { /* libmicrohttpd forgot to say that it is over */
		http_exchange_end(c->current, false);
	}
	if (c->next) {
		http_exchange_free(c->next);
	}
	inlet_done(&c->inlet);
	wire_done(&c->wire);
	tls_identity_unref(c->identity);
	verdict_done(&c->verdict);
	arena_done(&c->peer_arena);
	atomic_fetch_sub_explicit(&c->worker->n_polled, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&c->worker->n_connections, 1, memory_order_relaxed);
	keeper_remove(s->keeper, &c->kept);
	socket_options_show(c->kept.fd);
	mem_free(c);
}

/* Callbacks of libmicrohttpd. */

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

/* Takes one step of a request. Returns false when the connection is to be closed. */
static bool exchange_take_step(struct http_exchange *x, const char *upload, size_t *upload_n)
{
	if (x->is_head_waiting) {
		return http_exchange_resume_head(x);
	}
	if (*upload_n) {
		size_t n = *upload_n;
		*upload_n = 0;
		return http_exchange_receive(x, upload, n);
	}
	return http_exchange_run(x);
}

/* libmicrohttpd knows of it now. */
static bool connection_begin_exchange(struct connection *c)
{
	struct http_exchange *x = c->next;
	c->current = x;
	c->next = NULL;
	if (!x->refusal) {
		connection_learn_peer(c);
	}
	return http_exchange_begin(x);
}

/* The method, the target and the version are those of the head that the inlet made up: the exchange
 * has those of the client. The first call for a request is the one that finds no context. */
static enum MHD_Result on_access(void *arg, struct MHD_Connection *mhd, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_n, void **context)
{
	struct http_exchange *x = *context;
	(void)arg;
	(void)url;
	(void)method;
	(void)version;
	if (!x) {
		struct connection *c = connection_at(mhd);
		socket_poll_lazily();
		*context = c->next;
		return c->next && connection_begin_exchange(c) ? MHD_YES : MHD_NO;
	}
	return exchange_take_step(x, upload, upload_n) ? MHD_YES : MHD_NO;
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode how)
{
	(void)arg;
	(void)mhd;
	if (*context) {
		http_exchange_end(*context, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
		*context = NULL;
	}
}

/* Never asked: each session gets its own credentials before its handshake. But without it
 * libmicrohttpd would not start. */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *names, int n_names,
	const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **certificate, unsigned *n,
	gnutls_privkey_t *key)
{
	(void)session, (void)names, (void)n_names, (void)algorithms, (void)n_algorithms, (void)certificate, (void)n, (void)key;
	return -1;
}

/* The thread. */

/* An event without a pointer is none of libmicrohttpd's, which does not look at it.
 * Edge-triggered: each write is one event, and nobody need read. */
static int worker_open_nudge(struct worker *w)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
	w->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return epoll_ctl(MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, EPOLL_CTL_ADD, w->nudge, &event);
}

/* The limit on connections is the keeper's; libmicrohttpd's is never reached. */
int worker_open(struct worker *w, struct http_server *s, struct buf *err)
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
	if (!w->daemon || worker_open_nudge(w) < 0) {
		buf_printf(err, "libmicrohttpd does not start");
		return -EIO;
	}
	return 0;
}

void worker_close(struct worker *w)
{
	if (w->daemon) {
		MHD_stop_daemon(w->daemon);
		close(w->nudge);
	}
}

/* The counts are read without a lock: one that is a moment old makes a choice that is a little
 * worse. */
static struct worker *least_loaded_worker(struct http_server *s)
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

/* Counted before libmicrohttpd has it: it may be over before MHD_add_connection() returns. */
bool worker_admit(struct http_server *s, int fd, const struct sockaddr *address, socklen_t size)
{
	struct worker *w = least_loaded_worker(s);
	atomic_fetch_add_explicit(&w->n_connections, 1, memory_order_relaxed);
	if (MHD_add_connection(w->daemon, fd, address, size) != MHD_YES) {
		atomic_fetch_sub_explicit(&w->n_connections, 1, memory_order_relaxed);
		return false;
	}
	return true;
}

void worker_nudge(struct worker *w)
{
	if (atomic_load_explicit(&w->n_polled, memory_order_relaxed) >= WORKER_CROWD) {
		eventfd_write(w->nudge, 1);
	}
}

const char *worker_library_version(void)
{
	return MHD_get_version();
}
