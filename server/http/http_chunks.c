/* One byte is one step of a machine whose states are RFC 9112's grammar: whatever a state does not
 * name is refused. Chunk data takes no steps: its caller copies it in pieces. What is dropped is
 * counted over the whole body, since a client could send extensions without end and never a byte of
 * data. */
#include "server/http/http_chunks.h"

#include <assert.h>

enum {
	MAX_DIGITS = 16,        /* of a size: 64 bits */
	MAX_DROPPED = 16 << 10, /* extensions and trailers of a whole body */
};

enum state {
	SIZE,      /* its digits */
	BLANKS,    /* behind them, before an extension */
	EXTENSION, /* until the line ends */
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER_START, /* of a line: a field, or the end */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	LAST_LF,
	OVER,
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

static enum http_chunks_event end_with(struct http_chunks *c, enum http_chunks_event event)
{
	c->state = OVER;
	return event;
}

static enum http_chunks_event go_to(struct http_chunks *c, enum state state)
{
	c->state = (int)state;
	return HTTP_CHUNKS_MORE;
}

static enum http_chunks_event expect(struct http_chunks *c, bool is_expected, enum state next)
{
	return is_expected ? go_to(c, next) : end_with(c, HTTP_CHUNKS_MALFORMED);
}

static enum http_chunks_event on_size(struct http_chunks *c, char byte)
{
	int digit = digit_of(byte);
	if (digit >= 0) {
		c->left = c->left << 4 | (uint64_t)digit;
		return ++c->n_digits > MAX_DIGITS ? end_with(c, HTTP_CHUNKS_TOO_LARGE) : HTTP_CHUNKS_MORE;
	}
	if (c->n_digits == 0) {
		return end_with(c, HTTP_CHUNKS_MALFORMED);
	}
	bool is_blank = byte == ' ' || byte == '\t';
	return expect(c, byte == '\r' || byte == ';' || is_blank, byte == '\r' ? SIZE_LF : byte == ';' ? EXTENSION : BLANKS);
}

static enum http_chunks_event on_size_line(struct http_chunks *c, char byte)
{
	if (byte != '\n') {
		return end_with(c, HTTP_CHUNKS_MALFORMED);
	}
	c->n_digits = 0;
	c->state = c->left ? DATA : TRAILER_START;
	return c->left ? HTTP_CHUNKS_SIZE : HTTP_CHUNKS_MORE;
}

/* Part of a line that is dropped; `end` when its CR comes. */
static enum http_chunks_event drop(struct http_chunks *c, char byte, enum state end)
{
	if (byte == '\r') {
		return go_to(c, end);
	}
	return is_printable(byte) ? HTTP_CHUNKS_MORE : end_with(c, HTTP_CHUNKS_MALFORMED);
}

static enum http_chunks_event on_blank(struct http_chunks *c, char byte)
{
	bool is_blank = byte == ' ' || byte == '\t';
	return expect(c, is_blank || byte == ';', is_blank ? BLANKS : EXTENSION);
}

static enum http_chunks_event on_data_lf(struct http_chunks *c, char byte)
{
	c->state = SIZE;
	return byte == '\n' ? HTTP_CHUNKS_DATA_END : end_with(c, HTTP_CHUNKS_MALFORMED);
}

static enum http_chunks_event on_trailer_start(struct http_chunks *c, char byte)
{
	return expect(c, byte == '\r' || is_name_byte(byte), byte == '\r' ? LAST_LF : TRAILER_NAME);
}

static enum http_chunks_event on_trailer_name(struct http_chunks *c, char byte)
{
	return expect(c, byte == ':' || is_name_byte(byte), byte == ':' ? TRAILER_VALUE : TRAILER_NAME);
}

static enum http_chunks_event on_byte(struct http_chunks *c, char byte)
{
	switch ((enum state)c->state) {
	case SIZE:
		return on_size(c, byte);
	case BLANKS:
		return on_blank(c, byte);
	case EXTENSION:
		return drop(c, byte, SIZE_LF);
	case SIZE_LF:
		return on_size_line(c, byte);
	case DATA:
		break;
	case DATA_CR:
		return expect(c, byte == '\r', DATA_LF);
	case DATA_LF:
		return on_data_lf(c, byte);
	case TRAILER_START:
		return on_trailer_start(c, byte);
	case TRAILER_NAME:
		return on_trailer_name(c, byte);
	case TRAILER_VALUE:
		return drop(c, byte, TRAILER_LF);
	case TRAILER_LF:
		return expect(c, byte == '\n', TRAILER_START);
	case LAST_LF:
		return end_with(c, byte == '\n' ? HTTP_CHUNKS_END : HTTP_CHUNKS_MALFORMED);
	case OVER:
		break;
	}
	return HTTP_CHUNKS_MALFORMED;
}

static bool is_dropping(const struct http_chunks *c)
{
	return c->state == BLANKS || c->state == EXTENSION || (c->state >= TRAILER_START && c->state <= TRAILER_LF);
}

enum http_chunks_event http_chunks_next(struct http_chunks *c, struct str *text)
{
	enum http_chunks_event event = HTTP_CHUNKS_MORE;
	while (event == HTTP_CHUNKS_MORE && text->n > 0) {
		if (c->state == DATA) {
			return HTTP_CHUNKS_DATA;
		}
		event = on_byte(c, *text->p);
		text->p++;
		text->n--;
		c->n_dropped += is_dropping(c);
		if (c->n_dropped > MAX_DROPPED) {
			event = end_with(c, HTTP_CHUNKS_MALFORMED);
		}
	}
	return event;
}

void http_chunks_take(struct http_chunks *c, size_t n)
{
	assert(c->state == DATA && n <= c->left);
	c->left -= n;
	if (c->left == 0) {
		c->state = DATA_CR;
	}
}
