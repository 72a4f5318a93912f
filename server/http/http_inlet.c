/* The inlet: what libmicrohttpd reads of a connection. It never sees what a client wrote before the body.
 *
 * Bytes are read into a buffer of the thread, and nothing stays there between two calls: what cannot be used yet goes
 * to `held`. So an idle connection has no buffer. A body of known length is not copied: it is read straight into
 * libmicrohttpd's buffer. */
#include "server/http/http_inlet.h"

#include <assert.h>
#include <gnutls/gnutls.h>
#include <stdio.h>

/* Chunks.
 *
 * One byte is one step of a state machine, whose states are the grammar of RFC 9112: what a state does not name is
 * refused. Dropped bytes are counted over the whole body, since a client could send extensions without end and never a
 * byte of data. */

enum {
	MAX_DIGITS = 16,        /* of a size: 64 bits */
	MAX_DROPPED = 16 << 10, /* extensions and trailers of a whole body */
};

enum chunks_state {
	CHUNKS_SIZE,      /* its digits */
	CHUNKS_BLANKS,    /* behind them, before an extension */
	CHUNKS_EXTENSION, /* until the line ends */
	CHUNKS_SIZE_LF,
	CHUNKS_DATA,
	CHUNKS_DATA_CR,
	CHUNKS_DATA_LF,
	CHUNKS_TRAILER_START, /* of a line: a field, or the end */
	CHUNKS_TRAILER_NAME,
	CHUNKS_TRAILER_VALUE,
	CHUNKS_TRAILER_LF,
	CHUNKS_LAST_LF,
	CHUNKS_OVER,
};

static int digit_of(char c)
{
	char lower = (char)(c | 0x20);
	return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool is_printable(char c)
{
	unsigned char byte = (unsigned char)c;
	return (byte >= ' ' && byte != 0x7f) || byte == '\t';
}

static bool is_name_byte(char c)
{
	return is_printable(c) && !strchr(" \t\"(),/:;<=>?@[\\]{}", c) && (unsigned char)c < 0x80;
}

static enum http_chunks_event chunks_end_with(struct http_chunks *c, enum http_chunks_event event)
{
	c->state = CHUNKS_OVER;
	return event;
}

static enum http_chunks_event chunks_go_to(struct http_chunks *c, enum chunks_state state)
{
	c->state = (int)state;
	return HTTP_CHUNKS_MORE;
}

static enum http_chunks_event chunks_expect(struct http_chunks *c, bool is_expected, enum chunks_state next)
{
	return is_expected ? chunks_go_to(c, next) : chunks_end_with(c, HTTP_CHUNKS_MALFORMED);
}

static enum http_chunks_event chunks_on_size(struct http_chunks *c, char byte)
{
	int digit = digit_of(byte);
	if (digit >= 0) {
		c->left = c->left << 4 | (uint64_t)digit;
		return ++c->n_digits > MAX_DIGITS ? chunks_end_with(c, HTTP_CHUNKS_TOO_LARGE) : HTTP_CHUNKS_MORE;
	}
	if (c->n_digits == 0) {
		return chunks_end_with(c, HTTP_CHUNKS_MALFORMED);
	}
	bool is_blank = byte == ' ' || byte == '\t';
	return chunks_expect(c, byte == '\r' || byte == ';' || is_blank,
		byte == '\r'          ? CHUNKS_SIZE_LF
			: byte == ';' ? CHUNKS_EXTENSION
				      : CHUNKS_BLANKS);
}

static enum http_chunks_event chunks_on_size_line(struct http_chunks *c, char byte)
{
	if (byte != '\n') {
		return chunks_end_with(c, HTTP_CHUNKS_MALFORMED);
	}
	c->n_digits = 0;
	c->state = c->left ? CHUNKS_DATA : CHUNKS_TRAILER_START;
	return c->left ? HTTP_CHUNKS_SIZE : HTTP_CHUNKS_MORE;
}

/* Drops one byte of a line. `end` is the state behind its CR. */
static enum http_chunks_event chunks_drop(struct http_chunks *c, char byte, enum chunks_state end)
{
	if (byte == '\r') {
		return chunks_go_to(c, end);
	}
	return is_printable(byte) ? HTTP_CHUNKS_MORE : chunks_end_with(c, HTTP_CHUNKS_MALFORMED);
}

static enum http_chunks_event chunks_on_blank(struct http_chunks *c, char byte)
{
	bool is_blank = byte == ' ' || byte == '\t';
	return chunks_expect(c, is_blank || byte == ';', is_blank ? CHUNKS_BLANKS : CHUNKS_EXTENSION);
}

static enum http_chunks_event chunks_on_data_lf(struct http_chunks *c, char byte)
{
	c->state = CHUNKS_SIZE;
	return byte == '\n' ? HTTP_CHUNKS_DATA_END : chunks_end_with(c, HTTP_CHUNKS_MALFORMED);
}

static enum http_chunks_event chunks_on_trailer_start(struct http_chunks *c, char byte)
{
	return chunks_expect(c, byte == '\r' || is_name_byte(byte), byte == '\r' ? CHUNKS_LAST_LF : CHUNKS_TRAILER_NAME);
}

static enum http_chunks_event chunks_on_trailer_name(struct http_chunks *c, char byte)
{
	return chunks_expect(c, byte == ':' || is_name_byte(byte), byte == ':' ? CHUNKS_TRAILER_VALUE : CHUNKS_TRAILER_NAME);
}

static enum http_chunks_event chunks_on_byte(struct http_chunks *c, char byte)
{
	switch ((enum chunks_state)c->state) {
	case CHUNKS_SIZE:
		return chunks_on_size(c, byte);
	case CHUNKS_BLANKS:
		return chunks_on_blank(c, byte);
	case CHUNKS_EXTENSION:
		return chunks_drop(c, byte, CHUNKS_SIZE_LF);
	case CHUNKS_SIZE_LF:
		return chunks_on_size_line(c, byte);
	case CHUNKS_DATA:
		break;
	case CHUNKS_DATA_CR:
		return chunks_expect(c, byte == '\r', CHUNKS_DATA_LF);
	case CHUNKS_DATA_LF:
		return chunks_on_data_lf(c, byte);
	case CHUNKS_TRAILER_START:
		return chunks_on_trailer_start(c, byte);
	case CHUNKS_TRAILER_NAME:
		return chunks_on_trailer_name(c, byte);
	case CHUNKS_TRAILER_VALUE:
		return chunks_drop(c, byte, CHUNKS_TRAILER_LF);
	case CHUNKS_TRAILER_LF:
		return chunks_expect(c, byte == '\n', CHUNKS_TRAILER_START);
	case CHUNKS_LAST_LF:
		return chunks_end_with(c, byte == '\n' ? HTTP_CHUNKS_END : HTTP_CHUNKS_MALFORMED);
	case CHUNKS_OVER:
		break;
	}
	return HTTP_CHUNKS_MALFORMED;
}

static bool is_dropping(const struct http_chunks *c)
{
	return c->state == CHUNKS_BLANKS || c->state == CHUNKS_EXTENSION ||
		(c->state >= CHUNKS_TRAILER_START && c->state <= CHUNKS_TRAILER_LF);
}

/* Reads on in *text, which moves. Chunk data takes no steps: the caller copies it in pieces, http_chunks_take(). */
static enum http_chunks_event http_chunks_next(struct http_chunks *c, struct str *text)
{
	enum http_chunks_event event = HTTP_CHUNKS_MORE;
	while (event == HTTP_CHUNKS_MORE && text->n > 0) {
		if (c->state == CHUNKS_DATA) {
			return HTTP_CHUNKS_DATA;
		}
		event = chunks_on_byte(c, *text->p);
		text->p++;
		text->n--;
		c->n_dropped += is_dropping(c);
		if (c->n_dropped > MAX_DROPPED) {
			event = chunks_end_with(c, HTTP_CHUNKS_MALFORMED);
		}
	}
	return event;
}

static void http_chunks_take(struct http_chunks *c, size_t n)
{
	assert(c->state == CHUNKS_DATA && n <= c->left);
	c->left -= n;
	if (c->left == 0) {
		c->state = CHUNKS_DATA_CR;
	}
}

/* The inlet. */

enum {
	PIECE = 16384, /* a full TLS record */
};

/* The thread's: what has come and is not yet sorted out. */
static _Thread_local char piece[PIECE];

/* libmicrohttpd's buffer, as far as it is filled. */
struct outlet {
	char *p;
	size_t n, max;
};

void inlet_init(struct inlet *in, const struct inlet_ops *ops, size_t max_head)
{
	*in = (struct inlet){.ops = ops, .max_head = max_head};
	/* A head is held until it is too long by a piece; behind a body there may be another. */
	buf_init(&in->held, max_head + 2 * PIECE);
}

void inlet_done(struct inlet *in)
{
	buf_done(&in->held);
	in->staged = mem_free(in->staged);
}

void inlet_finish(struct inlet *in)
{
	in->is_busy = false;
}

/* Text that we write ourselves. Nearly always there is room for all of it. */

static void inlet_give(struct inlet *in, struct outlet *out, const char *p, size_t n)
{
	size_t now = MIN(n, out->max - out->n);
	memcpy(out->p + out->n, p, now);
	out->n += now;
	if (now < n) {
		in->staged = mem_dup(p + now, n - now);
		in->staged_n = n - now;
		in->staged_at = 0;
	}
}

static void inlet_give_staged(struct inlet *in, struct outlet *out)
{
	size_t now = MIN(in->staged_n - in->staged_at, out->max - out->n);
	memcpy(out->p + out->n, in->staged + in->staged_at, now);
	out->n += now;
	in->staged_at += now;
	if (in->staged_at == in->staged_n) {
		in->staged = mem_free(in->staged);
	}
}

/* Heads. */

static void inlet_begin(struct inlet *in, struct outlet *out, struct str text, unsigned status, const char *problem)
{
	struct http_framing framing = {0};
	char head[HTTP_HEAD_CANONICAL_MAX];
	bool is_taken = in->ops->begin(in, text, status, problem, &framing);
	if (!is_taken) {
		/* A refused head has a body of unknown length: libmicrohttpd is shown a request
		 * without one. */
		framing = (struct http_framing){.is_head_request = framing.is_head_request, .wants_close = true};
	}
	in->scan = (struct http_head_scan){0};
	in->chunks = (struct http_chunks){0};
	in->is_in_chunk = false;
	in->left = framing.length;
	in->is_busy = true;
	in->state = !is_taken ? INLET_SHUT : framing.is_chunked ? INLET_CHUNKS : framing.length > 0 ? INLET_LENGTH : INLET_HEAD;
	inlet_give(in, out, head, http_head_write(head, &framing));
}

/* A line that is too long is the first one: then the target is to blame. */
static size_t inlet_read_head(struct inlet *in, struct outlet *out, struct str text)
{
	size_t n = http_head_scan(&in->scan, text);
	if (n) {
		inlet_begin(in, out, (struct str){text.p, n}, 0, NULL);
		return n;
	}
	if (in->scan.has_broken_line) {
		inlet_begin(in, out, text, 400, "a line that does not end in CR LF");
		return text.n;
	}
	if (text.n > in->max_head && in->scan.n_lines == 0) {
		inlet_begin(in, out, text, 414, "the request line is too long");
		return text.n;
	}
	if (text.n > in->max_head) {
		inlet_begin(in, out, text, 431, "the request's head is too large");
		return text.n;
	}
	return 0;
}

/* Bodies. */

static size_t inlet_read_length(struct inlet *in, struct outlet *out, struct str text)
{
	size_t n = MIN(text.n, out->max - out->n);
	n = (size_t)MIN((uint64_t)n, in->left);
	memcpy(out->p + out->n, text.p, n);
	out->n += n;
	in->left -= n;
	in->state = in->left ? INLET_LENGTH : INLET_HEAD;
	return n;
}

static void inlet_give_size(struct inlet *in, struct outlet *out)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%llx\r\n", (unsigned long long)in->chunks.left);
	inlet_give(in, out, line, (size_t)n);
}

/* libmicrohttpd gets an end in the right place, so that the owner can answer. */
static void inlet_break_off(struct inlet *in, struct outlet *out, unsigned status, const char *problem)
{
	in->ops->fail(in, status, problem);
	in->state = INLET_SHUT;
	struct str end = in->is_in_chunk ? STR("\r\n0\r\n\r\n") : STR("0\r\n\r\n");
	inlet_give(in, out, end.p, end.n);
}

static size_t inlet_read_chunks(struct inlet *in, struct outlet *out, struct str text)
{
	struct str rest = text;
	size_t n;
	switch (http_chunks_next(&in->chunks, &rest)) {
	case HTTP_CHUNKS_MORE:
		break;
	case HTTP_CHUNKS_SIZE:
		in->is_in_chunk = true;
		inlet_give_size(in, out);
		break;
	case HTTP_CHUNKS_DATA:
		n = MIN(rest.n, out->max - out->n);
		n = (size_t)MIN((uint64_t)n, in->chunks.left);
		memcpy(out->p + out->n, rest.p, n);
		out->n += n;
		http_chunks_take(&in->chunks, n);
		rest.p += n;
		rest.n -= n;
		break;
	case HTTP_CHUNKS_DATA_END:
		in->is_in_chunk = false;
		inlet_give(in, out, "\r\n", 2);
		break;
	case HTTP_CHUNKS_END:
		in->state = INLET_HEAD;
		inlet_give(in, out, "0\r\n\r\n", 5);
		break;
	case HTTP_CHUNKS_MALFORMED:
		inlet_break_off(in, out, 400, "malformed chunk");
		break;
	case HTTP_CHUNKS_TOO_LARGE:
		inlet_break_off(in, out, 413, "the chunk is too large");
		break;
	}
	return text.n - rest.n;
}

/* All together. */

static size_t inlet_read_some(struct inlet *in, struct outlet *out, struct str text)
{
	switch (in->state) {
	case INLET_HEAD:
		return in->is_busy ? 0 : inlet_read_head(in, out, text);
	case INLET_LENGTH:
		return inlet_read_length(in, out, text);
	case INLET_CHUNKS:
		return inlet_read_chunks(in, out, text);
	case INLET_SHUT:
		break;
	}
	return text.n;
}

/* Returns how many bytes of text could be used. */
static size_t inlet_read_on(struct inlet *in, struct outlet *out, struct str text)
{
	size_t used = 0;
	while (used < text.n && !in->staged && out->n < out->max) {
		size_t n = inlet_read_some(in, out, (struct str){text.p + used, text.n - used});
		if (n == 0) {
			break;
		}
		used += n;
	}
	return used;
}

static void inlet_read_held(struct inlet *in, struct outlet *out)
{
	size_t used = inlet_read_on(in, out, buf_str(&in->held));
	if (used == in->held.n) {
		buf_done(&in->held);
	} else if (used) {
		in->held.n -= used;
		memmove(in->held.p, in->held.p + used, in->held.n);
	}
}

static void inlet_read_new(struct inlet *in, struct outlet *out, struct str text)
{
	if (in->held.n == 0) {
		size_t used = inlet_read_on(in, out, text);
		text.p += used;
		text.n -= used;
	}
	if (text.n) {
		buf_add_str(&in->held, text);
		inlet_read_held(in, out);
	}
}

/* The body's bytes go straight to where they belong. */
static ssize_t inlet_fetch_body(struct inlet *in, struct outlet *out)
{
	ssize_t r = in->ops->fetch(in, out->p, (size_t)MIN((uint64_t)out->max, in->left));
	if (r > 0) {
		out->n = (size_t)r;
		in->left -= (uint64_t)r;
		in->state = in->left ? INLET_LENGTH : INLET_HEAD;
	}
	return r;
}

static ssize_t inlet_fetch(struct inlet *in, struct outlet *out)
{
	if (in->state == INLET_LENGTH && in->held.n == 0) {
		return inlet_fetch_body(in, out);
	}
	ssize_t r = in->ops->fetch(in, piece, sizeof(piece));
	if (r > 0) {
		inlet_read_new(in, out, (struct str){piece, (size_t)r});
	}
	return r;
}

/* libmicrohttpd does not read on while an exchange is under way, so that what waits here waits for no new event. If ever it does, it
 * is asked to try again: if it got nothing, it would sleep until more comes. */
ssize_t inlet_read(struct inlet *in, char *p, size_t n)
{
	struct outlet out = {.p = p, .max = n};
	if (in->staged) {
		inlet_give_staged(in, &out);
	}
	if (in->held.n && out.n < n) {
		inlet_read_held(in, &out);
	}
	while (out.n == 0) {
		if (in->state == INLET_SHUT) {
			return GNUTLS_E_AGAIN;
		}
		/* A pipelined head is here, and its turn has not come. */
		if (in->is_busy && in->state == INLET_HEAD && in->held.n) {
			return GNUTLS_E_INTERRUPTED;
		}
		ssize_t r = inlet_fetch(in, &out);
		if (r <= 0) {
			return r;
		}
	}
	return (ssize_t)out.n;
}
