#include "server/http/http_head.h"
#include "tests/unit/check.h"

enum { MAX_HEAD = 31 << 10 };

static struct arena arena;

static int setup(void **state _unused_)
{
	arena_init(&arena, 1 << 20);
	return 0;
}

static int teardown(void **state _unused_)
{
	arena_done(&arena);
	return 0;
}

static unsigned parse(struct str text, struct http_head *ret)
{
	struct http_head_scan scan = {0};
	const char *problem = NULL;
	assert_int_equal(http_head_scan(&scan, text), text.n);
	unsigned status = http_head_parse(ret, &arena, text, MAX_HEAD, &problem);
	assert_int_equal(status != 0, problem != NULL);
	return status;
}

struct row {
	const char *what;
	struct str text;
	unsigned status;
};

#define ROW(what, text, status)              \
	{                                    \
		what, STR_INIT(text), status \
	}
#define STR_INIT(literal)                      \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}
#define GET(what, lines, status) ROW(what, "GET / HTTP/1.1\r\n" lines "\r\n", status)
#define LINE(what, line, status) ROW(what, line "\r\nHost: x\r\n\r\n", status)
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
	GET("no colon", HOST "X-A\r\n", 400),
	GET("name with a separator", HOST "X(A): b\r\n", 400),
	GET("folded line", HOST "X-A: b\r\n c\r\n", 400),
	GET("folded line with a colon", HOST "X-A: b\r\n c: d\r\n", 400),
	GET("folded by a tab", HOST "X-A: b\r\n\tc: d\r\n", 400),
	GET("folded first line", " X-A: b\r\n" HOST, 400),
	GET("NUL in a value", HOST "X-A: a\0b\r\n", 400),
	GET("NUL behind a value", HOST "X-A: a\0\r\n", 400),
	GET("NUL in a name", HOST "X-A\0: b\r\n", 400),
	GET("NUL for a line", HOST "\0\r\n", 400),
	GET("control byte in a value", HOST "X-A: a\001b\r\n", 400),
	GET("carriage return in a value", HOST "X-A: a\rb\r\n", 400),
	GET("two carriage returns", HOST "X-A: a\r\r\n", 400),
	GET("delete in a value", HOST "X-A: a\x7f\r\n", 400),
	GET("length", HOST "Content-Length: 5\r\n", 0),
	GET("length twice alike", HOST "Content-Length: 5\r\nContent-Length: 5\r\n", 0),
	GET("length twice with other zeros", HOST "Content-Length: 5\r\nContent-Length: 05\r\n", 0),
	GET("differing lengths", HOST "Content-Length: 5\r\ncontent-length: 6\r\n", 400),
	GET("negative length", HOST "Content-Length: -1\r\n", 400),
	GET("length with a plus", HOST "Content-Length: +5\r\n", 400),
	GET("length with a letter", HOST "Content-Length: 5x\r\n", 400),
	GET("length in hexadecimal", HOST "Content-Length: 0x5\r\n", 400),
	GET("list of lengths", HOST "Content-Length: 5, 5\r\n", 400),
	GET("empty length", HOST "Content-Length:\r\n", 400),
	GET("length of 64 bits", HOST "Content-Length: 18446744073709551615\r\n", 0),
	GET("length beyond 64 bits", HOST "Content-Length: 18446744073709551616\r\n", 400),
	GET("chunked", HOST "Transfer-Encoding: chunked\r\n", 0),
	GET("chunked in capitals", HOST "TRANSFER-ENCODING: Chunked\r\n", 0),
	GET("chunked and a blank", HOST "Transfer-Encoding: chunked \r\n", 0),
	GET("chunked behind a control byte", HOST "Transfer-Encoding: \vchunked\r\n", 400),
	GET("gzip, chunked", HOST "Transfer-Encoding: gzip, chunked\r\n", 501),
	GET("identity", HOST "Transfer-Encoding: identity\r\n", 501),
	GET("empty coding", HOST "Transfer-Encoding:\r\n", 501),
	GET("chunked twice", HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
	GET("chunked, then length", HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400),
	GET("length, then chunked", HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
	GET("no length and chunked", HOST "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400),
	GET("expecting to go on", HOST "Expect: 100-Continue\r\nContent-Length: 5\r\n", 0),
	GET("expecting something else", HOST "Expect: 200-ok\r\n", 417),
	GET("cookies and lengths", HOST "Cookie: a=b; c\r\nContent-Length: 18446744073709551616\r\n", 400),
	ROW("HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", 0),
	ROW("HTTP/1.0 with two Hosts", "GET / HTTP/1.0\r\n" HOST HOST "\r\n", 400),
	ROW("HTTP/1.0 chunked", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
	ROW("empty lines in front", "\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 0),
	LINE("unknown method", "FROB / HTTP/1.1", 0),
	LINE("method with a separator", "GE/T / HTTP/1.1", 400),
	LINE("NUL in the method", "GET\0X / HTTP/1.1", 400),
	LINE("NUL behind the method", "GET\0 / HTTP/1.1", 400),
	LINE("no method", " / HTTP/1.1", 400),
	LINE("one word", "GET", 400),
	LINE("no version", "GET /", 400),
	LINE("blank behind the target", "GET / ", 400),
	LINE("two blanks in front of the target", "GET  / HTTP/1.1", 400),
	LINE("two blanks behind the target", "GET /  HTTP/1.1", 400),
	LINE("blank in front", " GET / HTTP/1.1", 400),
	LINE("blank behind", "GET / HTTP/1.1 ", 400),
	LINE("tab for a blank", "GET\t/\tHTTP/1.1", 400),
	LINE("escaped NUL in the target", "GET /a%00b HTTP/1.1", 0),
	LINE("beyond ASCII in the target", "GET /\xc3\xa9 HTTP/1.1", 0),
	LINE("NUL in the target", "GET /a\0b HTTP/1.1", 400),
	LINE("blank in the target", "GET /a b HTTP/1.1", 400),
	LINE("tab in the target", "GET /a\tb HTTP/1.1", 400),
	LINE("carriage return in the target", "GET /a\rb HTTP/1.1", 400),
	LINE("absolute target", "GET http://x/a HTTP/1.1", 0),
	LINE("absolute target of nobody", "GET http:///a HTTP/1.1", 400),
	LINE("asterisk", "OPTIONS * HTTP/1.1", 0),
	LINE("authority", "CONNECT x:443 HTTP/1.1", 0),
	LINE("later version", "GET / HTTP/1.2", 0),
	LINE("much later version", "PRI * HTTP/2.0", 505),
	LINE("earlier version", "GET / HTTP/0.9", 505),
	LINE("version in small letters", "GET / http/1.1", 400),
	LINE("version without a dot", "GET / HTTP/11", 400),
	LINE("version with more digits", "GET / HTTP/1.10", 400),
	LINE("NUL in the version", "GET / HTTP/1.1\0", 400),
	LINE("other protocol", "GET / ICAP/1.0", 400),
};

static void test_http_head__each_rule_by_itself(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct http_head head;
		unsigned status = parse(r->text, &head);
		if (status != r->status) {
			print_error("%s\n", r->what);
		}
		assert_int_equal(status, r->status);
	}
}

static void test_http_head__says_what_was_sent(void **state _unused_)
{
	struct http_head h;
	assert_int_equal(
		parse(STR("PATCH /a%2Fb?c=d&e HTTP/1.1\r\nHost: x\r\nX-A:b\r\nX-C: \t d e \t\r\nX-F:\r\n\r\n"), &h), 0);
	assert_str(h.method, "PATCH");
	assert_str(h.target, "/a%2Fb?c=d&e");
	assert_int_equal(h.n_fields, 4);
	assert_str(h.fields[1].name, "X-A");
	assert_str(h.fields[1].value, "b");
	assert_str(h.fields[2].value, "d e");
	assert_str(h.fields[3].value, "");
}

static struct str target_of(const char *target)
{
	struct http_head h;
	assert_int_equal(parse(arena_printf(&arena, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target), &h), 0);
	return h.target;
}

static void test_http_head__of_an_absolute_target_the_path_counts(void **state _unused_)
{
	assert_str(target_of("http://x/a?b"), "/a?b");
	assert_str(target_of("HTTPS://x:6443/a/http://y"), "/a/http://y");
	assert_str(target_of("http://x"), "/");
	assert_str(target_of("http://x?a=/b"), "/?a=/b");
	assert_str(target_of("/http://x/a"), "/http://x/a");
	assert_str(target_of("ftp://x/a"), "ftp://x/a");
}

static struct http_framing framing_of(struct str text)
{
	struct http_head h;
	assert_int_equal(parse(text, &h), 0);
	return h.framing;
}

static void test_http_head__framing_says_where_the_body_ends(void **state _unused_)
{
	assert_false(framing_of(STR("GET / HTTP/1.1\r\n" HOST "\r\n")).has_body);
	assert_false(framing_of(STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n")).has_body);

	struct http_framing f = framing_of(STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 7\r\nExpect: 100-continue\r\n\r\n"));
	assert_true(f.has_body && !f.is_chunked && f.awaits_continue && !f.is_http10);
	assert_int_equal(f.length, 7);

	f = framing_of(STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"));
	assert_true(f.has_body && f.is_chunked && !f.awaits_continue);
}

static void test_http_head__framing_says_what_becomes_of_the_connection(void **state _unused_)
{
	struct http_framing f = framing_of(STR("HEAD / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
	assert_true(f.is_http10 && f.is_head_request && f.wants_keep_alive && !f.wants_close);
	f = framing_of(STR("GET / HTTP/1.1\r\n" HOST "Connection: x ,\tClose,,y\r\n\r\n"));
	assert_true(f.wants_close && !f.wants_keep_alive && !f.is_head_request);
	f = framing_of(STR("GET / HTTP/1.1\r\n" HOST "Connection: closed\r\nConnection:\r\n\r\n"));
	assert_false(f.wants_close);
}

/* However it comes. */
static void test_http_head__end_is_found(void **state _unused_)
{
	static const char text[] = "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\nGET ";
	size_t end = sizeof(text) - 1 - 4;
	for (size_t step = 1; step < sizeof(text); step++) {
		struct http_head_scan scan = {0};
		size_t found = 0;
		size_t n = 0;
		while (!found && n < sizeof(text) - 1) {
			n = MIN(n + step, sizeof(text) - 1);
			found = http_head_scan(&scan, (struct str){text, n});
			assert_int_equal(found, n >= end ? end : 0);
		}
	}
}

static bool is_broken(struct str text)
{
	struct http_head_scan scan = {0};
	assert_int_equal(http_head_scan(&scan, text), 0);
	return scan.has_broken_line;
}

static void test_http_head__bare_line_feed_is_no_line_end(void **state _unused_)
{
	assert_true(is_broken(STR("\n")));
	assert_true(is_broken(STR("GET / HTTP/1.1\n")));
	assert_true(is_broken(STR("GET / HTTP/1.1\r\n\n")));
	assert_true(is_broken(STR("GET / HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n")));
	assert_true(is_broken(STR("GET / HTTP/1.1\r\nHost: x\r\n\n\r\n")));
	assert_false(is_broken(STR("GET / HTTP/1.1\r\nHost: x\r\n")));
}

static void test_http_head__fields_count_with_more_than_their_text(void **state _unused_)
{
	struct buf text;
	struct http_head h;
	const char *problem;
	buf_init(&text, MAX_HEAD);
	buf_adds(&text, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (unsigned i = 0; i < 100; i++) {
		buf_adds(&text, "a:\r\n");
	}
	buf_adds(&text, "\r\n");
	size_t cost = text.n + 101 * HTTP_FIELD_COST;
	assert_int_equal(http_head_parse(&h, &arena, buf_str(&text), cost, &problem), 0);
	assert_int_equal(http_head_parse(&h, &arena, buf_str(&text), cost - 1, &problem), 431);
	assert_int_equal(http_head_parse(&h, &arena, buf_str(&text), 10, &problem), 431);
	buf_done(&text);
}

static void assert_written(const struct http_framing *f, const char *expected)
{
	char out[HTTP_HEAD_CANONICAL_MAX];
	size_t n = http_head_write(out, f);
	assert_str(((struct str){out, n}), expected);
}

/* What is written says the same as what was read. */
static void test_http_head__is_written_as_short_as_can_be(void **state _unused_)
{
	assert_written(&(struct http_framing){0}, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_written(&(struct http_framing){.is_head_request = true, .wants_close = true},
		"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	assert_written(&(struct http_framing){.has_body = true, .length = UINT64_MAX, .awaits_continue = true},
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\nExpect: 100-continue\r\n\r\n");
	assert_written(&(struct http_framing){.has_body = true, .is_chunked = true, .wants_close = true},
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
	assert_written(&(struct http_framing){.is_http10 = true, .wants_keep_alive = true, .awaits_continue = true},
		"GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_http_head__each_rule_by_itself),
		CASE(test_http_head__says_what_was_sent),
		CASE(test_http_head__of_an_absolute_target_the_path_counts),
		CASE(test_http_head__framing_says_where_the_body_ends),
		CASE(test_http_head__framing_says_what_becomes_of_the_connection),
		CASE(test_http_head__end_is_found),
		CASE(test_http_head__bare_line_feed_is_no_line_end),
		CASE(test_http_head__fields_count_with_more_than_their_text),
		CASE(test_http_head__is_written_as_short_as_can_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
