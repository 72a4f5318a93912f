#include "server/http_check.h"

/* What the checks share. */
struct check {
	const struct http_head *head;
	struct http_framing framing;
	bool has_host, has_length, has_coding;
};

struct problem {
	unsigned status; /* 0: none */
	const char *sentence;
};

#define FINE ((struct problem){0, NULL})
#define REFUSE(status, sentence) ((struct problem){(status), (sentence)})

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

static struct problem check_request_line(struct check *c)
{
	if (!is_token(c->head->method)) {
		return REFUSE(400, "malformed method");
	}
	if (c->head->target.n == 0 || !is_printable(c->head->target, ' ') ||
		memchr(c->head->target.p, ' ', c->head->target.n)) {
		return REFUSE(400, "malformed request target");
	}
	c->framing.is_http10 = str_is(c->head->version, "HTTP/1.0");
	return FINE;
}

/* The end of the field line at *at, moved to the next line; NULL unless the line is `name NUL blanks value NUL NUL`. */
static const char *line_skip(const struct http_header *field, const char *at, const char *end)
{
	if (field->name.p != at || field->value.p <= at + field->name.n || field->value.p > end) {
		return NULL;
	}
	for (const char *p = at + field->name.n + 1; p < field->value.p; p++) {
		if (*p != ' ' && *p != '\t') {
			return NULL;
		}
	}
	const char *tail = field->value.p + field->value.n;
	if (end - tail < 2 || tail[0] || tail[1]) {
		return NULL;
	}
	return tail + 2;
}

/* Folded lines, lines that end in a bare LF, and NULs inside a line all leave a gap between one field and the next. */
static struct problem check_lines(struct check *c)
{
	const char *at = c->head->lines.p;
	const char *end = at + c->head->lines.n;
	for (size_t i = 0; i < c->head->n_fields; i++) {
		at = line_skip(&c->head->fields[i], at, end);
		if (!at) {
			return REFUSE(400, "malformed header line");
		}
	}
	if (end - at != 2 || at[0] || at[1]) {
		return REFUSE(400, "malformed header line");
	}
	return FINE;
}

static struct problem on_host(struct check *c, struct str value)
{
	(void)value;
	if (c->has_host) {
		return REFUSE(400, "too many Host headers");
	}
	c->has_host = true;
	return FINE;
}

static struct problem on_content_length(struct check *c, struct str value)
{
	uint64_t length;
	if (!str_to_uint64(value, &length)) {
		return REFUSE(400, "malformed Content-Length");
	}
	if (c->has_length && length != c->framing.length) {
		return REFUSE(400, "differing Content-Length headers");
	}
	c->has_length = true;
	c->framing.length = length;
	return FINE;
}

/* Compared with its trailing blanks: libmicrohttpd does not see `chunked` in "chunked ", and would wait for ever. */
static struct problem on_transfer_encoding(struct check *c, struct str value)
{
	if (c->has_coding) {
		return REFUSE(400, "too many Transfer-Encoding headers");
	}
	if (!str_eq_nocase(value, STR("chunked"))) {
		return REFUSE(501, "unsupported Transfer-Encoding");
	}
	c->has_coding = true;
	return FINE;
}

static struct problem on_expect(struct check *c, struct str value)
{
	if (!str_eq_nocase(value, STR("100-continue"))) {
		return REFUSE(417, "unsupported Expect");
	}
	c->framing.awaits_continue = true;
	return FINE;
}

#define NAME(literal)                          \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

static const struct {
	struct str name;
	struct problem (*on_value)(struct check *c, struct str value);
} special_fields[] = {
	{NAME("Host"), on_host},
	{NAME("Content-Length"), on_content_length},
	{NAME("Transfer-Encoding"), on_transfer_encoding},
	{NAME("Expect"), on_expect},
};

static struct problem check_field(struct check *c, const struct http_header *field)
{
	if (!is_token(field->name)) {
		return REFUSE(400, "malformed header name");
	}
	if (!is_printable(field->value, '\t')) {
		return REFUSE(400, "malformed header value");
	}
	for (size_t i = 0; i < ARRAY_SIZE(special_fields); i++) {
		if (str_eq_nocase(field->name, special_fields[i].name)) {
			return special_fields[i].on_value(c, field->value);
		}
	}
	return FINE;
}

static struct problem check_fields(struct check *c)
{
	for (size_t i = 0; i < c->head->n_fields; i++) {
		struct problem problem = check_field(c, &c->head->fields[i]);
		if (problem.status) {
			return problem;
		}
	}
	return FINE;
}

static struct problem check_whole(struct check *c)
{
	if (!c->has_host && !c->framing.is_http10) {
		return REFUSE(400, "missing required Host header");
	}
	if (c->has_coding && c->has_length) {
		return REFUSE(400, "Content-Length together with Transfer-Encoding");
	}
	if (c->has_coding && c->framing.is_http10) {
		return REFUSE(400, "Transfer-Encoding in HTTP/1.0");
	}
	c->framing.is_chunked = c->has_coding;
	c->framing.has_body = c->has_coding || c->framing.length > 0;
	return FINE;
}

static struct problem (*const checks[])(struct check *c) = {
	check_request_line,
	check_lines,
	check_fields,
	check_whole,
};

unsigned http_check(const struct http_head *head, struct http_framing *ret, const char **ret_problem)
{
	struct check c = {.head = head};
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct problem problem = checks[i](&c);
		if (problem.status) {
			*ret_problem = problem.sentence;
			return problem.status;
		}
	}
	*ret = c.framing;
	return 0;
}
