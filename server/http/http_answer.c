/* The answer to an exchange: its headers, a body that is there already, and the way to
 * libmicrohttpd.  libmicrohttpd writes the head of an answer, and sends the body as it finds it:
 * in one piece      from memory, right behind the head: in as few system calls and records as
 * can be   in several pieces read_parts() fills libmicrohttpd's buffer; large answers are not
 * copied to one   from a stream     http_stream.c fills it, or the pump takes over  The response
 * is made when the handler answers, and queued when libmicrohttpd can take it: perhaps only
 * after a body that nobody wants has been let go by. */
#include "server/http/http_private.h"

#include <assert.h>
#include <microhttpd.h>

enum {
	/* Bodies up to this are sent from one buffer: copying that is cheaper than another record. */
	ONE_BUFFER = 32 << 10,

	RECORD = 16384, /* a full TLS record: what libmicrohttpd asks a reader for at a time */

	/* Of what is added to an answer's head, which lies in libmicrohttpd's pool: when the head
	 * does not fit there, the connection ends without an answer. */
	ANSWER_HEAD_MAX = 14 << 10,
};

/* http_stream.c knows these by names of ours. */
_Static_assert(MHD_CONTENT_READER_END_OF_STREAM == HTTP_READ_END, "a reader would not end");
_Static_assert(MHD_SIZE_UNKNOWN == HTTP_LENGTH_UNKNOWN, "an endless answer would have a length");

/* A line end in a value would let whoever chose the value add lines to the head. */
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

/* A server that leaves spares its streams: they go on until it drains. */
static bool is_last_answer(const struct http_exchange *x)
{
	bool is_leaving = atomic_load_explicit(&http_exchange_server(x)->is_leaving, memory_order_relaxed);
	return http_is_draining(x) || (is_leaving && http_exchange_stream_kind(x) == STREAM_NONE);
}

static void answer(struct http_exchange *x, unsigned status, struct MHD_Response *response)
{
	assert(x->status == 0 && response);
	x->status = status;
	x->response = response;
	for (struct answer_header *h = x->answer_headers; h; h = h->next) {
		MHD_add_response_header(response, h->name, h->value);
	}
	const char *const(*common)[2] = http_exchange_server(x)->options.answer_headers;
	for (; common && (*common)[0]; common++) {
		MHD_add_response_header(response, (*common)[0], (*common)[1]);
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

/* The block is libmicrohttpd's own buffer, of no use to a chunked answer. And without the flag
 * libmicrohttpd would send the last chunk of an answer to HEAD. */
void http_answer_from(struct http_exchange *x, unsigned status, uint64_t length,
	ssize_t (*read)(void *x, uint64_t position, char *p, size_t max))
{
	bool is_endless = length == HTTP_LENGTH_UNKNOWN;
	size_t block = is_endless && !x->head.framing.is_http10 ? 1 : RECORD;
	struct MHD_Response *response = MHD_create_response_from_callback(length, block, read, x, NULL);
	if (is_endless && str_is(x->head.method, "HEAD")) {
		MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	}
	answer(x, status, response);
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
		x->flat = mem_alloc(total);
		read_parts(x, 0, x->flat, total);
		answer_memory(x, status, (struct str){x->flat, total});
	} else {
		http_answer_from(x, status, total, read_parts);
	}
}

/* libmicrohttpd sends such a body right behind the head. */
static bool will_body_follow_head(const struct http_exchange *x)
{
	return x->is_in_memory && x->sent > 0 && x->status != MHD_HTTP_NO_CONTENT && x->status != MHD_HTTP_NOT_MODIFIED &&
		!str_is(x->head.method, "HEAD");
}

/* From now on the client's slowness counts. A watch's does not: the pump has a time of its own
 * for a client that takes nothing. */
bool http_answer_queue(struct http_exchange *x)
{
	struct connection *c = x->connection;
	bool is_pumped = http_exchange_stream_kind(x) == STREAM_PUMPED;
	c->wire.will_follow = will_body_follow_head(x);
	keeper_set_phase(&c->kept, is_pumped ? KEEPER_WORK : KEEPER_SEND, clock_mono_ms());
	enum MHD_Result r = MHD_queue_response(c->mhd, x->status, x->response);
	MHD_destroy_response(x->response);
	x->response = NULL;
	return r == MHD_YES;
}

/* Not HTTP as we know it: what follows on this connection cannot be trusted to be a request. */
bool http_answer_refuse(struct http_exchange *x)
{
	unsigned status = x->refusal;
	struct str body = arena_printf(&x->arena, "%u %s: %s\n", status, MHD_get_reason_phrase_for(status), x->problem);
	http_count(&http_exchange_server(x)->requests_invalid, 1);
	x->connection->must_linger = true;
	http_add_header(x, "Content-Type", STR("text/plain; charset=utf-8"));
	answer_memory(x, status, body);
	MHD_add_response_header(x->response, "Connection", "close");
	return http_answer_queue(x);
}

/* The exchange may end before its answer was queued, or before all of it was sent. */
void http_answer_done(struct http_exchange *x)
{
	if (x->response) {
		MHD_destroy_response(x->response);
	}
	release_parts(x, x->n_parts);
	mem_free(x->flat);
}
