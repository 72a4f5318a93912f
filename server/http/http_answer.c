/* The answer to an exchange, until its wire sends it: its headers, and what its body is made of.
 *
 *   memory   in one piece, also where small pieces were put together: right behind the head
 *   parts    several pieces, which are not copied to one
 *   stream   http_stream.c
 *
 * The wire sends it when it can: perhaps only after a body that nobody wants has been let go by. */
#include "server/http/http_private.h"

#include <assert.h>

enum {
	/* Bodies up to this are sent from one buffer: copying that is cheaper than another record. */
	ONE_BUFFER = 32 << 10,

	/* Of what is added to an answer's head, which lies in libmicrohttpd's pool: when the head
	 * does not fit there, the connection ends without an answer. */
	ANSWER_HEAD_MAX = 14 << 10,
};

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
bool http_answer_is_last(const struct http_exchange *x)
{
	bool is_leaving = atomic_load_explicit(&x->server->is_leaving, memory_order_relaxed);
	return x->refusal || http_is_draining(x) || (is_leaving && http_exchange_stream_kind(x) == STREAM_NONE);
}

void http_answer(struct http_exchange *x, unsigned status, enum answer_body body, uint64_t length)
{
	assert(x->status == 0);
	x->status = status;
	x->answer_body = body;
	x->answer_length = length;
}

/* The memory lives as long as the exchange. */
static void answer_memory(struct http_exchange *x, unsigned status, struct str body)
{
	x->memory = body;
	x->sent = body.n;
	http_answer(x, status, ANSWER_MEMORY, body.n);
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
size_t http_answer_read_parts(struct http_exchange *x, char *p, size_t max)
{
	size_t n = 0;
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
	return n;
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
		http_answer_read_parts(x, x->flat, total);
		answer_memory(x, status, (struct str){x->flat, total});
	} else {
		http_answer(x, status, ANSWER_PARTS, total);
	}
}

/* Of the statuses that a head or a body of chunks is refused with. */
static const char *reason(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} rows[] = {
		{400, "Bad Request"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{417, "Expectation Failed"},
		{431, "Request Header Fields Too Large"},
		{501, "Not Implemented"},
		{505, "HTTP Version Not Supported"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].status == status) {
			return rows[i].phrase;
		}
	}
	return "Refused";
}

/* Not HTTP as we know it: what follows on this connection cannot be trusted to be a request. */
bool http_answer_refuse(struct http_exchange *x)
{
	struct str body = arena_printf(&x->arena, "%u %s: %s\n", x->refusal, reason(x->refusal), x->problem);
	http_count(&x->server->requests_invalid, 1);
	http_add_header(x, "Content-Type", STR("text/plain; charset=utf-8"));
	answer_memory(x, x->refusal, body);
	return x->wire->answer(x);
}

/* The exchange may end before all of its answer was sent. */
void http_answer_done(struct http_exchange *x)
{
	release_parts(x, x->n_parts);
	mem_free(x->flat);
}
