/* Bytes are read into a buffer of the thread, and nothing stays there between two calls: what
 * cannot be used yet goes to `held`. So an idle connection has no buffer. Of a body of known length
 * nothing is copied: it is read straight into libmicrohttpd's buffer. */
#include "server/http/http_inlet.h"

#include <gnutls/gnutls.h>
#include <stdio.h>

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

/* What we write ourselves. Nearly always there is room for all of it. */

static void give(struct inlet *in, struct outlet *out, const char *p, size_t n)
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

static void give_staged(struct inlet *in, struct outlet *out)
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

static void begin(struct inlet *in, struct outlet *out, struct str text, unsigned status, const char *problem)
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
	give(in, out, head, http_head_write(head, &framing));
}

/* A line that is too long is the first one: then the target is to blame. */
static size_t read_head(struct inlet *in, struct outlet *out, struct str text)
{
	size_t n = http_head_scan(&in->scan, text);
	if (n) {
		begin(in, out, (struct str){text.p, n}, 0, NULL);
		return n;
	}
	if (in->scan.has_broken_line) {
		begin(in, out, text, 400, "a line that does not end in CR LF");
		return text.n;
	}
	if (text.n > in->max_head && in->scan.n_lines == 0) {
		begin(in, out, text, 414, "the request line is too long");
		return text.n;
	}
	if (text.n > in->max_head) {
		begin(in, out, text, 431, "the request's head is too large");
		return text.n;
	}
	return 0;
}

/* Bodies. */

static size_t read_length(struct inlet *in, struct outlet *out, struct str text)
{
	size_t n = MIN(text.n, out->max - out->n);
	n = (size_t)MIN((uint64_t)n, in->left);
	memcpy(out->p + out->n, text.p, n);
	out->n += n;
	in->left -= n;
	in->state = in->left ? INLET_LENGTH : INLET_HEAD;
	return n;
}

static void give_size(struct inlet *in, struct outlet *out)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%llx\r\n", (unsigned long long)in->chunks.left);
	give(in, out, line, (size_t)n);
}

/* libmicrohttpd is told of an end in the right place, so that the owner can answer. */
static void break_off(struct inlet *in, struct outlet *out, unsigned status, const char *problem)
{
	in->ops->fail(in, status, problem);
	in->state = INLET_SHUT;
	struct str end = in->is_in_chunk ? STR("\r\n0\r\n\r\n") : STR("0\r\n\r\n");
	give(in, out, end.p, end.n);
}

static size_t read_chunks(struct inlet *in, struct outlet *out, struct str text)
{
	struct str rest = text;
	size_t n;
	switch (http_chunks_next(&in->chunks, &rest)) {
	case HTTP_CHUNKS_MORE:
		break;
	case HTTP_CHUNKS_SIZE:
		in->is_in_chunk = true;
		give_size(in, out);
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
		give(in, out, "\r\n", 2);
		break;
	case HTTP_CHUNKS_END:
		in->state = INLET_HEAD;
		give(in, out, "0\r\n\r\n", 5);
		break;
	case HTTP_CHUNKS_MALFORMED:
		break_off(in, out, 400, "malformed chunk");
		break;
	case HTTP_CHUNKS_TOO_LARGE:
		break_off(in, out, 413, "the chunk is too large");
		break;
	}
	return text.n - rest.n;
}

/* All together. */

static size_t read_some(struct inlet *in, struct outlet *out, struct str text)
{
	switch (in->state) {
	case INLET_HEAD:
		return in->is_busy ? 0 : read_head(in, out, text);
	case INLET_LENGTH:
		return read_length(in, out, text);
	case INLET_CHUNKS:
		return read_chunks(in, out, text);
	case INLET_SHUT:
		break;
	}
	return text.n;
}

/* How much of text could be used. */
static size_t read_on(struct inlet *in, struct outlet *out, struct str text)
{
	size_t used = 0;
	while (used < text.n && !in->staged && out->n < out->max) {
		size_t n = read_some(in, out, (struct str){text.p + used, text.n - used});
		if (n == 0) {
			break;
		}
		used += n;
	}
	return used;
}

static void read_held(struct inlet *in, struct outlet *out)
{
	size_t used = read_on(in, out, buf_str(&in->held));
	if (used == in->held.n) {
		buf_done(&in->held);
	} else if (used) {
		in->held.n -= used;
		memmove(in->held.p, in->held.p + used, in->held.n);
	}
}

static void read_new(struct inlet *in, struct outlet *out, struct str text)
{
	if (in->held.n == 0) {
		size_t used = read_on(in, out, text);
		text.p += used;
		text.n -= used;
	}
	if (text.n) {
		buf_add_str(&in->held, text);
		read_held(in, out);
	}
}

/* The body's bytes go straight to where they belong. */
static ssize_t fetch_body(struct inlet *in, struct outlet *out)
{
	ssize_t r = in->ops->fetch(in, out->p, (size_t)MIN((uint64_t)out->max, in->left));
	if (r > 0) {
		out->n = (size_t)r;
		in->left -= (uint64_t)r;
		in->state = in->left ? INLET_LENGTH : INLET_HEAD;
	}
	return r;
}

static ssize_t fetch(struct inlet *in, struct outlet *out)
{
	if (in->state == INLET_LENGTH && in->held.n == 0) {
		return fetch_body(in, out);
	}
	ssize_t r = in->ops->fetch(in, piece, sizeof(piece));
	if (r > 0) {
		read_new(in, out, (struct str){piece, (size_t)r});
	}
	return r;
}

/* libmicrohttpd does not read on while an exchange is under way, so that what waits here waits for no new event. If ever it does, it
 * is asked to try again: told that there is nothing, it would sleep until more comes. */
ssize_t inlet_read(struct inlet *in, char *p, size_t n)
{
	struct outlet out = {.p = p, .max = n};
	if (in->staged) {
		give_staged(in, &out);
	}
	if (in->held.n && out.n < n) {
		read_held(in, &out);
	}
	while (out.n == 0) {
		if (in->state == INLET_SHUT) {
			return GNUTLS_E_AGAIN;
		}
		/* A pipelined head is here, and its turn has not come. */
		if (in->is_busy && in->state == INLET_HEAD && in->held.n) {
			return GNUTLS_E_INTERRUPTED;
		}
		ssize_t r = fetch(in, &out);
		if (r <= 0) {
			return r;
		}
	}
	return (ssize_t)out.n;
}
