#include "server/http_check.h"
#include "tests/unit/check.h"

enum { MAX_FIELDS = 16, MAX_HEAD = 1024 };

/* A head as libmicrohttpd parses it: in place, NUL for each colon and line end, values without the blanks in front. */
struct parsed {
	char text[MAX_HEAD];
	struct http_header fields[MAX_FIELDS];
	struct http_head head;
};

static void parse_line(struct parsed *p, char *line, size_t n)
{
	char *colon = memchr(line, ':', n);
	assert_non_null(colon);
	*colon = '\0';
	char *value = colon + 1;
	while (*value == ' ' || *value == '\t') {
		value++;
	}
	p->fields[p->head.n_fields++] = (struct http_header){str_of(line), {value, (size_t)(line + n - value)}};
}

static void parse_lines(struct parsed *p, const char *lines)
{
	size_t n = strlen(lines);
	memcpy(p->text, lines, n + 1);
	p->head.fields = p->fields;
	p->head.lines = (struct str){p->text, n};
	for (char *line = p->text, *end; (end = strstr(line, "\r\n")); line = end + 2) {
		end[0] = end[1] = '\0';
		if (end > line) {
			parse_line(p, line, (size_t)(end - line));
		}
	}
}

static unsigned check(const char *method, const char *target, const char *version, const char *lines, struct http_framing *ret)
{
	struct parsed p = {.head = {.method = str_of(method), .target = str_of(target), .version = str_of(version)}};
	const char *problem = NULL;
	parse_lines(&p, lines);
	unsigned status = http_check(&p.head, ret, &problem);
	assert_int_equal(status != 0, problem != NULL);
	return status;
}

struct row {
	const char *what, *method, *target, *version, *lines;
	unsigned status;
};

#define GET(what, lines, status)                                   \
	{                                                          \
		what, "GET", "/", "HTTP/1.1", lines "\r\n", status \
	}
#define HOST "Host: x\r\n"

static const struct row rows[] = {
	GET("ordinary", HOST "Accept: */*\r\nUser-Agent: kubectl/v1.36 (linux/amd64)\r\n", 0),
	GET("blanks around a value", "Host: \t x \t\r\n", 0),
	GET("empty value", HOST "X-Empty:\r\n", 0),
	GET("tab in a value", HOST "X-A: a\tb\r\n", 0),
	GET("beyond ASCII in a value", HOST "X-A: \xc3\xa9\r\n", 0),
	GET("no Host", "X-A: b\r\n", 400),
	GET("nothing", "", 400),
	GET("two Hosts", HOST "host: y\r\n", 400),
	GET("two Hosts alike", HOST HOST, 400),
	GET("blank before the colon", HOST "X-A : b\r\n", 400),
	GET("empty name", HOST ": b\r\n", 400),
	GET("name with a separator", HOST "X(A): b\r\n", 400),
	GET("control byte in a value", HOST "X-A: a\001b\r\n", 400),
	GET("carriage return in a value", HOST "X-A: a\rb\r\n", 400),
	GET("delete in a value", HOST "X-A: a\x7f\r\n", 400),
	GET("length", HOST "Content-Length: 5\r\n", 0),
	GET("length twice alike", HOST "Content-Length: 5\r\nContent-Length: 5\r\n", 0),
	GET("length twice with other zeros", HOST "Content-Length: 5\r\nContent-Length: 05\r\n", 0),
	GET("differing lengths", HOST "Content-Length: 5\r\ncontent-length: 6\r\n", 400),
	GET("negative length", HOST "Content-Length: -1\r\n", 400),
	GET("length with a plus", HOST "Content-Length: +5\r\n", 400),
	GET("length with a letter", HOST "Content-Length: 5x\r\n", 400),
	GET("list of lengths", HOST "Content-Length: 5, 5\r\n", 400),
	GET("empty length", HOST "Content-Length:\r\n", 400),
	GET("length beyond 64 bits", HOST "Content-Length: 18446744073709551616\r\n", 400),
	GET("chunked", HOST "Transfer-Encoding: chunked\r\n", 0),
	GET("chunked in capitals", HOST "TRANSFER-ENCODING: Chunked\r\n", 0),
	GET("chunked and a blank", HOST "Transfer-Encoding: chunked \r\n", 501),
	GET("gzip, chunked", HOST "Transfer-Encoding: gzip, chunked\r\n", 501),
	GET("identity", HOST "Transfer-Encoding: identity\r\n", 501),
	GET("empty coding", HOST "Transfer-Encoding:\r\n", 501),
	GET("chunked twice", HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
	GET("chunked, then length", HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400),
	GET("length, then chunked", HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
	GET("expecting to go on", HOST "Expect: 100-Continue\r\nContent-Length: 5\r\n", 0),
	GET("expecting something else", HOST "Expect: 200-ok\r\n", 417),
	{"HTTP/1.0 without Host", "GET", "/", "HTTP/1.0", "\r\n", 0},
	{"HTTP/1.0 with two Hosts", "GET", "/", "HTTP/1.0", HOST HOST "\r\n", 400},
	{"HTTP/1.0 chunked", "POST", "/", "HTTP/1.0", "Transfer-Encoding: chunked\r\n\r\n", 400},
	{"unknown method", "FROB", "/", "HTTP/1.1", HOST "\r\n", 0},
	{"method with a separator", "GE/T", "/", "HTTP/1.1", HOST "\r\n", 400},
	{"escaped NUL in the target", "GET", "/a%00b", "HTTP/1.1", HOST "\r\n", 0},
	{"beyond ASCII in the target", "GET", "/\xc3\xa9", "HTTP/1.1", HOST "\r\n", 0},
	{"absolute target", "GET", "http://x/a", "HTTP/1.1", HOST "\r\n", 0},
	{"asterisk", "OPTIONS", "*", "HTTP/1.1", HOST "\r\n", 0},
	{"blank in the target", "GET", "/a b", "HTTP/1.1", HOST "\r\n", 400},
	{"tab in the target", "GET", "/a\tb", "HTTP/1.1", HOST "\r\n", 400},
	{"no target", "GET", "", "HTTP/1.1", HOST "\r\n", 400},
};

static void test_http_check__each_rule_by_itself(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct http_framing framing;
		unsigned status = check(r->method, r->target, r->version, r->lines, &framing);
		if (status != r->status) {
			print_error("%s\n", r->what);
		}
		assert_int_equal(status, r->status);
	}
}

static void test_http_check__framing_says_where_the_body_ends(void **state _unused_)
{
	struct http_framing f;
	assert_int_equal(check("GET", "/", "HTTP/1.1", HOST "\r\n", &f), 0);
	assert_false(f.has_body);
	assert_int_equal(check("POST", "/", "HTTP/1.1", HOST "Content-Length: 0\r\n\r\n", &f), 0);
	assert_false(f.has_body);

	assert_int_equal(check("POST", "/", "HTTP/1.1", HOST "Content-Length: 7\r\nExpect: 100-continue\r\n\r\n", &f), 0);
	assert_true(f.has_body && !f.is_chunked && f.awaits_continue && !f.is_http10);
	assert_int_equal(f.length, 7);

	assert_int_equal(check("POST", "/", "HTTP/1.1", HOST "Transfer-Encoding: chunked\r\n\r\n", &f), 0);
	assert_true(f.has_body && f.is_chunked && !f.awaits_continue);
}

static void test_http_check__old_clients_are_told_apart(void **state _unused_)
{
	struct http_framing f;
	assert_int_equal(check("GET", "/", "HTTP/1.0", "\r\n", &f), 0);
	assert_true(f.is_http10);
}

/* What libmicrohttpd makes of lines that are not well-formed shows only in where the pieces lie. */
static unsigned check_tampered(void (*tamper)(struct parsed *p))
{
	struct parsed p = {.head = {.method = STR("GET"), .target = STR("/"), .version = STR("HTTP/1.1")}};
	struct http_framing framing;
	const char *problem;
	parse_lines(&p, HOST "X-A: bcdef\r\nX-G: h\r\n\r\n");
	tamper(&p);
	return http_check(&p.head, &framing, &problem);
}

static void untouched(struct parsed *p _unused_)
{
}

/* "X-A: b\0def": the value ends at the NUL. */
static void cut_value(struct parsed *p)
{
	p->fields[1].value.n = 1;
	((char *)(uintptr_t)p->fields[1].value.p)[1] = '\0';
}

/* A folded line: its text is glued to a copy of the name. */
static void move_name(struct parsed *p)
{
	p->fields[1].name = STR("X-Adef");
}

static void drop_field(struct parsed *p)
{
	p->fields[1] = p->fields[2];
	p->head.n_fields--;
}

static void drop_last_field(struct parsed *p)
{
	p->head.n_fields--;
}

/* A line that ends in LF alone: one byte less before the next. */
static void shorten_end(struct parsed *p)
{
	p->fields[2].name.p--;
	p->fields[2].name.n++;
}

static void test_http_check__lines_that_do_not_join_are_refused(void **state _unused_)
{
	assert_int_equal(check_tampered(untouched), 0);
	assert_int_equal(check_tampered(cut_value), 400);
	assert_int_equal(check_tampered(move_name), 400);
	assert_int_equal(check_tampered(drop_field), 400);
	assert_int_equal(check_tampered(drop_last_field), 400);
	assert_int_equal(check_tampered(shorten_end), 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_http_check__each_rule_by_itself),
		TEST(test_http_check__framing_says_where_the_body_ends),
		TEST(test_http_check__old_clients_are_told_apart),
		TEST(test_http_check__lines_that_do_not_join_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
