/* A request over HTTP/1.1 as the client writes it: its head (http_head.h), then its body (http_inlet.h), which libmicrohttpd reads
 * through the inlet. libmicrohttpd never sees what a client wrote before the body.
 *
 * A head is read in two passes. The scan looks for the end as bytes come and remembers how far it is, so a head that comes
 * byte by byte costs no more than one that comes at once. Only a whole head is parsed, once. The head for libmicrohttpd
 * is written anew from what was understood: what was not understood cannot reach it.
 *
 * Bytes are read into a buffer of the thread, and nothing stays there between two calls: what cannot be used yet goes
 * to `held`. So an idle connection has no buffer. A body of known length is not copied: it is read straight into
 * libmicrohttpd's buffer. */
#include "server/http/http_inlet.h"

#include <assert.h>
#include <gnutls/gnutls.h>
#include <stdio.h>

struct problem {
	unsigned status; /* 0: none */
	const char *sentence;
};

#define FINE ((struct problem){0, NULL})
#define REFUSE(status, sentence) ((struct problem){(status), (sentence)})

/* The fields that have been found so far. */
struct reading {
	struct http_head *head;
	bool has_host, has_length, has_coding;
};

/* Finding the end. */

static bool is_empty_line(const struct http_head_scan *s, const char *end_of_line, const char *p)
{
	return end_of_line - p == (ptrdiff_t)(s->line + 1);
}

/* RFC 9112, 2.2: an empty line in front of the head is let go by. */
size_t http_head_scan(struct http_head_scan *s, struct str text)
{
	while (s->at < text.n && !s->has_broken_line) {
		const char *lf = memchr(text.p + s->at, '\n', text.n - s->at);
		if (!lf) {
			s->at = text.n;
			break;
		}
		s->at = (size_t)(lf - text.p) + 1;
		if (s->at - s->line < 2 || lf[-1] != '\r') {
			s->has_broken_line = true;
		} else if (!is_empty_line(s, lf, text.p)) {
			s->n_lines++;
		} else if (s->n_lines) {
			return s->at;
		}
		s->line = s->at;
	}
	return 0;
}

/* Bytes. */

/* RFC 9110, 5.6.2. */
static bool is_token_byte(unsigned char c)
{
	static const char others[] = "!#$%&'*+-.^_`|~";
	unsigned char lower = c | 0x20;
	return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || memchr(others, c, sizeof(others) - 1);
}

static bool is_token(struct str s)
{
	bool is_good = s.n > 0;
	for (size_t i = 0; i < s.n; i++) {
		is_good &= is_token_byte((unsigned char)s.p[i]);
	}
	return is_good;
}

/* No control bytes; a tab where `allowed` says so. Goes on to the end: most requests are good, and the loop has no branches. */
static bool is_printable(struct str s, unsigned char allowed)
{
	bool is_good = true;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		is_good &= (c >= ' ' && c != 0x7f) || c == allowed;
	}
	return is_good;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The next line of *text, without its CR LF. */
static struct str next_line(struct str *text)
{
	const char *lf = memchr(text->p, '\n', text->n);
	struct str line = {text->p, (size_t)(lf - text->p) - 1};
	text->n -= line.n + 2;
	text->p = lf + 1;
	return line;
}

/* The request line. */

/* HTTP/1 in all its minor versions: those after 1.1 are to be read as it is. */
static struct problem read_version(struct http_head *head, struct str version)
{
	if (version.n != sizeof("HTTP/1.1") - 1 || !str_starts(version, STR("HTTP/")) || !is_digit(version.p[5]) ||
		version.p[6] != '.' || !is_digit(version.p[7])) {
		return REFUSE(400, "malformed HTTP version");
	}
	if (version.p[5] != '1') {
		return REFUSE(505, "unsupported HTTP version");
	}
	head->framing.is_http10 = version.p[7] == '0';
	return FINE;
}

static bool starts_nocase(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq_nocase((struct str){s.p, prefix.n}, prefix);
}

/* RFC 9112, 3.2.2: a client that takes annals for a proxy sends the whole URL. The path is behind the
 * authority, which counts as ours whatever it says; the path may be missing. */
static struct problem read_absolute_form(struct http_head *head, struct arena *a)
{
	struct str target = head->target;
	size_t scheme = starts_nocase(target, STR("https://")) ? 8 : starts_nocase(target, STR("http://")) ? 7 : 0;
	if (!scheme) {
		return FINE;
	}
	size_t at = scheme;
	while (at < target.n && target.p[at] != '/' && target.p[at] != '?') {
		at++;
	}
	if (at == scheme) {
		return REFUSE(400, "malformed request target");
	}
	struct str rest = {target.p + at, target.n - at};
	head->target = str_starts(rest, STR("/")) ? rest : arena_printf(a, "/%.*s", (int)rest.n, rest.p);
	return FINE;
}

static struct problem read_request_line(struct http_head *head, struct arena *a, struct str line)
{
	struct str rest;
	struct str version;
	if (!str_cut(line, ' ', &head->method, &rest) || !is_token(head->method)) {
		head->method = (struct str){NULL, 0};
		return REFUSE(400, "malformed method");
	}
	head->framing.is_head_request = str_is(head->method, "HEAD");
	if (!str_cut(rest, ' ', &head->target, &version) || head->target.n == 0 || !is_printable(head->target, ' ')) {
		return REFUSE(400, "malformed request target");
	}
	struct problem problem = read_version(head, version);
	return problem.status ? problem : read_absolute_form(head, a);
}

/* The fields. */

static struct problem on_host(struct reading *r, struct str value)
{
	(void)value;
	if (r->has_host) {
		return REFUSE(400, "too many Host headers");
	}
	r->has_host = true;
	return FINE;
}

static struct problem on_content_length(struct reading *r, struct str value)
{
	uint64_t length;
	if (!str_to_uint64(value, &length)) {
		return REFUSE(400, "malformed Content-Length");
	}
	if (r->has_length && length != r->head->framing.length) {
		return REFUSE(400, "differing Content-Length headers");
	}
	r->has_length = true;
	r->head->framing.length = length;
	return FINE;
}

static struct problem on_transfer_encoding(struct reading *r, struct str value)
{
	if (r->has_coding) {
		return REFUSE(400, "too many Transfer-Encoding headers");
	}
	if (!str_eq_nocase(value, STR("chunked"))) {
		return REFUSE(501, "unsupported Transfer-Encoding");
	}
	r->has_coding = true;
	return FINE;
}

static struct problem on_expect(struct reading *r, struct str value)
{
	if (!str_eq_nocase(value, STR("100-continue"))) {
		return REFUSE(417, "unsupported Expect");
	}
	r->head->framing.awaits_continue = true;
	return FINE;
}

static struct problem on_connection(struct reading *r, struct str value)
{
	struct http_framing *f = &r->head->framing;
	for (struct str option, rest = value; rest.n > 0;) {
		str_cut(rest, ',', &option, &rest);
		f->wants_close |= str_eq_nocase(str_trim(option), STR("close"));
		f->wants_keep_alive |= str_eq_nocase(str_trim(option), STR("keep-alive"));
	}
	return FINE;
}

#define NAME(literal)                          \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

static const struct {
	struct str name;
	struct problem (*on_value)(struct reading *r, struct str value);
} special_fields[] = {
	/* The fields that decide where a body ends, and whether the connection goes on. */
	{NAME("Host"), on_host},
	{NAME("Content-Length"), on_content_length},
	{NAME("Transfer-Encoding"), on_transfer_encoding},
	{NAME("Expect"), on_expect},
	{NAME("Connection"), on_connection},
};

static struct problem judge_field(struct reading *r, struct http_header *field, struct str value)
{
	if (!is_token(field->name)) {
		return REFUSE(400, "malformed header name");
	}
	if (!is_printable(value, '\t')) {
		return REFUSE(400, "malformed header value");
	}
	field->value = str_trim(value);
	for (size_t i = 0; i < ARRAY_SIZE(special_fields); i++) {
		if (str_eq_nocase(field->name, special_fields[i].name)) {
			return special_fields[i].on_value(r, field->value);
		}
	}
	return FINE;
}

/* A folded line begins with a blank, so that its name is none. */
static struct problem read_field(struct reading *r, struct http_header *field, struct str line)
{
	struct str value;
	if (!str_cut(line, ':', &field->name, &value)) {
		return REFUSE(400, "malformed header line");
	}
	return judge_field(r, field, value);
}

static size_t count_lines(struct str text)
{
	size_t n = 0;
	for (const char *p = text.p; (p = memchr(p, '\n', (size_t)(str_end(text) - p))); p++) {
		n++;
	}
	return n;
}

/* rest: the field lines and the empty line behind them. */
static struct problem read_fields(struct reading *r, struct arena *a, struct str rest, size_t room)
{
	size_t n = count_lines(rest) - 1;
	/* Checked before memory is taken: a head of empty fields is many structs. */
	if (n > room / HTTP_FIELD_COST) {
		return REFUSE(431, "the request's head is too large");
	}
	struct http_header *fields = arena_alloc(a, n * sizeof(*fields));
	r->head->fields = fields;
	for (size_t i = 0; i < n; i++) {
		struct problem problem = read_field(r, &fields[i], next_line(&rest));
		if (problem.status) {
			return problem;
		}
		r->head->n_fields++;
	}
	return FINE;
}

static struct problem judge_framing(struct reading *r)
{
	struct http_framing *f = &r->head->framing;
	if (!r->has_host && !f->is_http10) {
		return REFUSE(400, "missing required Host header");
	}
	if (r->has_coding && r->has_length) {
		return REFUSE(400, "Content-Length together with Transfer-Encoding");
	}
	if (r->has_coding && f->is_http10) {
		return REFUSE(400, "Transfer-Encoding in HTTP/1.0");
	}
	f->is_chunked = r->has_coding;
	f->has_body = r->has_coding || f->length > 0;
	return FINE;
}

static struct problem read_head(struct reading *r, struct arena *a, struct str text, size_t max)
{
	while (str_starts(text, STR("\r\n"))) {
		next_line(&text);
	}
	if (text.n > max) {
		return REFUSE(431, "the request's head is too large");
	}
	size_t room = max - text.n;
	struct problem problem = read_request_line(r->head, a, next_line(&text));
	if (!problem.status) {
		problem = read_fields(r, a, text, room);
	}
	return problem.status ? problem : judge_framing(r);
}

unsigned http_head_parse(struct http_head *ret, struct arena *a, struct str text, size_t max, const char **ret_problem)
{
	*ret = (struct http_head){0};
	struct reading r = {.head = ret};
	struct problem problem = read_head(&r, a, text, max);
	*ret_problem = problem.sentence;
	return problem.status;
}

/* In pieces. */

static struct problem judge_head(struct reading *r)
{
	struct http_head *head = r->head;
	if (!is_token(head->method)) {
		return REFUSE(400, "malformed method");
	}
	if (head->target.n == 0 || !is_printable(head->target, ' ')) {
		return REFUSE(400, "malformed request target");
	}
	for (size_t i = 0; i < head->n_fields; i++) {
		struct http_header field = head->fields[i];
		struct problem problem = judge_field(r, &field, field.value);
		if (problem.status) {
			return problem;
		}
	}
	bool has_body = head->framing.has_body;
	struct problem problem = judge_framing(r);
	head->framing.has_body = has_body;
	return problem;
}

unsigned http_head_judge(struct http_head *head, const char **ret_problem)
{
	struct reading r = {.head = head};
	struct problem problem = judge_head(&r);
	*ret_problem = problem.sentence;
	return problem.status;
}

/* Writing. */

/* A request with a body is a POST: libmicrohttpd (0.9.75) closes the connection behind an early answer to no other method. A length
 * beyond all bounds would be none to it; nobody lives to send so much. */
size_t http_head_write(char out[HTTP_HEAD_CANONICAL_MAX], const struct http_framing *f)
{
	const char *method = f->is_head_request ? "HEAD" : f->has_body ? "POST" : "GET";
	int n = snprintf(out, HTTP_HEAD_CANONICAL_MAX, "%s / HTTP/1.%d\r\nHost: a\r\n", method, !f->is_http10);
	char *at = out + n;
#define ADD(...) at += snprintf(at, (size_t)(out + HTTP_HEAD_CANONICAL_MAX - at), __VA_ARGS__)
	if (f->is_chunked) {
		ADD("Transfer-Encoding: chunked\r\n");
	} else if (f->has_body) {
		ADD("Content-Length: %llu\r\n", (unsigned long long)MIN(f->length, (uint64_t)INT64_MAX));
	}
	if (f->has_body && f->awaits_continue && !f->is_http10) {
		ADD("Expect: 100-continue\r\n");
	}
	if (f->wants_close) {
		ADD("Connection: close\r\n");
	} else if (f->is_http10 && f->wants_keep_alive) {
		ADD("Connection: Keep-Alive\r\n");
	}
	ADD("\r\n");
#undef ADD
	return (size_t)(at - out);
}

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

static bool is_chunk_printable(char c)
{
	unsigned char byte = (unsigned char)c;
	return (byte >= ' ' && byte != 0x7f) || byte == '\t';
}

static bool is_name_byte(char c)
{
	return is_chunk_printable(c) && !strchr(" \t\"(),/:;<=>?@[\\]{}", c) && (unsigned char)c < 0x80;
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
	return is_chunk_printable(byte) ? HTTP_CHUNKS_MORE : chunks_end_with(c, HTTP_CHUNKS_MALFORMED);
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
