/* The head of a request, over HTTP/1.1 as text and over HTTP/2 field by field.
 *
 * Text is read in two passes. The scan looks for the end as bytes come and remembers how far it is, so a head that comes
 * byte by byte costs no more than one that comes at once. Only a whole head is parsed, once. The head for libmicrohttpd
 * is written anew from what was understood: what was not understood cannot reach it. */
#include "server/http/http_head.h"

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

/* Over HTTP/2. The limit counts each field as it comes, so a head that is packed small (a byte can stand for four KiB)
 * costs no more memory than any other. Fields beyond the limit are counted on, but not kept. */

enum { FIRST_FIELDS = 12 };

static void h2_head_grow(struct h2_head *h, struct arena *a)
{
	size_t room = h->room ? MIN(h->room * 2, (size_t)H2_HEAD_FIELDS + 1) : FIRST_FIELDS;
	struct http_header *fields = arena_alloc(a, room * sizeof(*fields));
	if (h->n_fields) {
		memcpy(fields, h->fields, h->n_fields * sizeof(*fields));
	}
	h->fields = fields;
	h->room = room;
}

static void h2_head_add_field(struct h2_head *h, struct arena *a, struct str name, struct str value)
{
	if (h->n_fields == h->room) {
		h2_head_grow(h, a);
	}
	h->fields[h->n_fields++] = (struct http_header){name, value};
}

static void h2_head_add_pseudo(struct h2_head *h, struct http_head *head, struct str name, struct str value)
{
	if (str_is(name, ":method")) {
		head->method = value;
	} else if (str_is(name, ":path")) {
		head->target = value;
	} else if (str_is(name, ":authority")) {
		h->authority = value;
	} else if (str_is(name, ":scheme")) {
		h->scheme = value;
	}
}

bool h2_head_add(struct h2_head *h, struct http_head *head, struct arena *a, struct str name, struct str value, size_t max)
{
	h->size += name.n + value.n + H2_HEAD_FIELD_COST;
	h->is_too_large |= h->size > max || h->n_fields == H2_HEAD_FIELDS;
	if (h->is_too_large) {
		return h->size <= 2 * max;
	}
	name = arena_dup(a, name);
	value = arena_dup(a, value);
	if (str_starts(name, STR(":"))) {
		h2_head_add_pseudo(h, head, name, value);
	} else {
		h->has_host |= str_is(name, "host");
		h2_head_add_field(h, a, name, str_trim(value));
	}
	return true;
}

static bool is_host(const struct http_header *field, struct str host)
{
	return !str_is(field->name, "host") || str_eq_nocase(field->value, host);
}

/* Handlers look for Host. Two that differ would be two servers. */
static bool h2_head_settle_host(struct h2_head *h, struct arena *a)
{
	if (!h->authority.n) {
		return true;
	}
	if (!h->has_host) {
		h2_head_add_field(h, a, STR("host"), h->authority);
		return true;
	}
	for (size_t i = 0; i < h->n_fields; i++) {
		if (!is_host(&h->fields[i], h->authority)) {
			return false;
		}
	}
	return true;
}

unsigned h2_head_finish(struct h2_head *h, struct http_head *head, struct arena *a, bool has_body, const char **ret_problem)
{
	head->framing.has_body = has_body;
	head->framing.is_head_request = str_is(head->method, "HEAD");
	if (h->is_too_large) {
		*ret_problem = "the request's head is too large";
		return 431;
	}
	if (str_is(head->method, "CONNECT")) {
		*ret_problem = "this is no proxy";
		return 400;
	}
	if (h->scheme.n && !str_eq_nocase(h->scheme, STR("https")) && !str_eq_nocase(h->scheme, STR("http"))) {
		*ret_problem = "unsupported scheme";
		return 400;
	}
	if (!h2_head_settle_host(h, a)) {
		*ret_problem = "Host differs from the authority";
		return 400;
	}
	head->fields = h->fields;
	head->n_fields = h->n_fields;
	return http_head_judge(head, ret_problem);
}
