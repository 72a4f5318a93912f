/* An answer on its way by HTTP/1.1: libmicrohttpd writes its head, and sends the body as it finds it.
 *
 *   in one piece       from memory, right behind the head: in as few system calls and records as can be
 *   in several pieces  read_parts() fills libmicrohttpd's buffer
 *   from a stream      drive() does, or the pump takes over
 */
#include "server/http/http_private.h"

#include <microhttpd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	RECORD = 16384, /* a full TLS record: what libmicrohttpd asks a reader for at a time */
};

_Static_assert(MHD_SIZE_UNKNOWN == HTTP_LENGTH_UNKNOWN, "an endless answer would have a length");

/* Reading the body. */

static ssize_t read_parts(void *arg, uint64_t position, char *p, size_t max)
{
	(void)position;
	return (ssize_t)http_answer_read_parts(arg, p, max);
}

/* Ends a body, and where nothing else can mark its end, the connection. When a reader says so
 * libmicrohttpd (0.9.75) closes the connection but forgets it, with its socket, as long as an
 * older one lives; when there is a byte to send and the socket takes no more it does not. */
static ssize_t end_body(struct http_exchange *x, char *p)
{
	struct connection *c = x->connection;
	bool is_delimited = x->answer_length != HTTP_LENGTH_UNKNOWN || !x->head.framing.is_http10;
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

static ssize_t drive(void *arg, uint64_t position, char *p, size_t max)
{
	(void)position;
	ssize_t n = http_stream_drive(arg, p, max);
	return n < 0 ? end_body(arg, p) : n;
}

/* Pumped. */

static struct http_exchange *exchange_of(struct pump_stream *s)
{
	return container_of(s, struct http_exchange, pumped);
}

static ssize_t on_pump_read(struct pump_stream *s, char *p, size_t max)
{
	return http_stream_read(exchange_of(s), p, max);
}

static void on_pump_closed(struct pump_stream *s)
{
	http_stream_close(exchange_of(s));
}

/* The connection goes back to libmicrohttpd, which asks for the body again. */
static void on_pump_finished(struct pump_stream *s, bool is_cut)
{
	struct http_exchange *x = exchange_of(s);
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
static ssize_t hand_over(void *arg, uint64_t position, char *p, size_t max)
{
	struct http_exchange *x = arg;
	struct connection *c = x->connection;
	(void)position;
	enum stream_end end = (enum stream_end)atomic_load_explicit(&x->stream_end, memory_order_acquire);
	if (end != END_OPEN) {
		x->is_cut = end == END_CUT;
		return end_body(x, p);
	}
	release_pages(p, max);
	atomic_fetch_sub_explicit(&c->worker->n_polled, 1, memory_order_relaxed);
	connection_suspend(c); /* before pump_start(): the pump may be done with it, and resume it, at once */
	pump_start(&x->pumped);
	return 0;
}

void http_response_prepare_pump(struct http_exchange *x)
{
	x->pumped = (struct pump_stream){
		.ops = &pump_ops,
		.fd = x->connection->kept.fd,
		.tls = x->connection->session,
		.is_chunked = !x->head.framing.is_http10,
	};
	pump_prepare(x->server->pump, &x->pumped);
}

/* Sending. */

/* The block is libmicrohttpd's own buffer, of no use to a chunked answer. And without the flag
 * libmicrohttpd would send the last chunk of an answer to HEAD. */
static struct MHD_Response *respond_from(struct http_exchange *x, MHD_ContentReaderCallback read)
{
	bool is_endless = x->answer_length == HTTP_LENGTH_UNKNOWN;
	size_t block = is_endless && !x->head.framing.is_http10 ? 1 : RECORD;
	struct MHD_Response *response = MHD_create_response_from_callback(x->answer_length, block, read, x, NULL);
	if (is_endless && x->head.framing.is_head_request) {
		MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	}
	return response;
}

static struct MHD_Response *respond(struct http_exchange *x)
{
	switch (x->answer_body) {
	case ANSWER_MEMORY:
		return MHD_create_response_from_buffer(x->memory.n, (void *)(uintptr_t)x->memory.p, MHD_RESPMEM_PERSISTENT);
	case ANSWER_PARTS:
		return respond_from(x, read_parts);
	case ANSWER_STREAM:
		break;
	}
	return respond_from(x, http_exchange_stream_kind(x) == STREAM_PUMPED ? hand_over : drive);
}

static void add_headers(const struct http_exchange *x, struct MHD_Response *response)
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
	return x->answer_body == ANSWER_MEMORY && x->memory.n > 0 && x->status != MHD_HTTP_NO_CONTENT &&
		x->status != MHD_HTTP_NOT_MODIFIED && !x->head.framing.is_head_request;
}

/* From now on the client's slowness counts. A watch's does not: the pump has a time of its own
 * for a client that takes nothing. */
bool http_response_send(struct http_exchange *x)
{
	struct connection *c = x->connection;
	struct MHD_Response *response = respond(x);
	bool is_pumped = http_exchange_stream_kind(x) == STREAM_PUMPED;
	add_headers(x, response);
	c->must_linger |= x->refusal != 0;
	c->wire.will_follow = will_body_follow_head(x);
	keeper_set_phase(&c->kept, is_pumped ? KEEPER_WORK : KEEPER_SEND, clock_mono_ms());
	enum MHD_Result r = MHD_queue_response(c->mhd, x->status, response);
	MHD_destroy_response(response);
	return r == MHD_YES;
}
