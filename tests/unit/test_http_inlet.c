#include "server/http/http_inlet.h"
#include "tests/unit/check.h"

#include <gnutls/gnutls.h>

/* A connection whose bytes come in pieces, and a reader in the place of libmicrohttpd. */
struct world {
	struct inlet inlet;
	struct str coming;
	size_t step;      /* how much comes at a time */
	struct buf heads; /* method and target of each */
	struct buf received;
	unsigned refusal; /* what the owner refuses heads with */
	unsigned status;  /* what the inlet wants refused */
	unsigned n_fetches;
};

static ssize_t on_fetch(struct inlet *in, char *p, size_t n)
{
	struct world *w = container_of(in, struct world, inlet);
	w->n_fetches++;
	if (w->coming.n == 0) {
		return GNUTLS_E_AGAIN;
	}
	n = MIN(MIN(n, w->step), w->coming.n);
	memcpy(p, w->coming.p, n);
	w->coming.p += n;
	w->coming.n -= n;
	return (ssize_t)n;
}

static bool on_head(struct inlet *in, struct str text, unsigned status, const char *problem, struct http_framing *ret)
{
	struct world *w = container_of(in, struct world, inlet);
	struct http_head head = {0};
	struct arena arena;
	arena_init(&arena, 1 << 20);
	unsigned refusal = status ? status : http_head_parse(&head, &arena, text, in->max_head, &problem);
	w->status = refusal ? refusal : w->refusal;
	buf_printf(&w->heads, "%.*s %.*s\n", (int)head.method.n, head.method.n ? head.method.p : "", (int)head.target.n,
		head.target.n ? head.target.p : "");
	*ret = head.framing;
	arena_done(&arena);
	return w->status == 0;
}

static void on_broken_body(struct inlet *in, unsigned status, const char *problem)
{
	container_of(in, struct world, inlet)->status = status;
	assert_non_null(problem);
}

static const struct inlet_ops ops = {on_fetch, on_head, on_broken_body};

static void world_init(struct world *w, struct str coming, size_t step)
{
	*w = (struct world){.coming = coming, .step = step};
	inlet_init(&w->inlet, &ops, 1000);
	buf_init(&w->heads, 1 << 20);
	buf_init(&w->received, 1 << 20);
}

static void world_done(struct world *w)
{
	inlet_done(&w->inlet);
	buf_done(&w->heads);
	buf_done(&w->received);
}

/* Until nothing comes any more, or the exchange must end first; max bytes at a time. */
static ssize_t read_all(struct world *w, size_t max)
{
	char p[4096];
	ssize_t n;
	while ((n = inlet_read(&w->inlet, p, MIN(max, sizeof(p)))) > 0) {
		buf_add(&w->received, p, (size_t)n);
	}
	return n;
}

/* Reads all that `sent` is, whatever the pieces: the same is received. */
static void assert_read(const char *sent, const char *heads, const char *received, unsigned status)
{
	static const size_t steps[] = {1, 2, 3, 7, 20, 16384};
	for (size_t i = 0; i < ARRAY_SIZE(steps) * 2; i++) {
		struct world w;
		world_init(&w, str_of(sent), steps[i / 2]);
		ssize_t r;
		while ((r = read_all(&w, i % 2 ? 3 : 4096)) == GNUTLS_E_INTERRUPTED || w.coming.n) {
			if (w.inlet.state == INLET_SHUT) {
				break;
			}
			inlet_finish(&w.inlet);
		}
		assert_int_equal(r, GNUTLS_E_AGAIN);
		assert_str(buf_str(&w.heads), heads);
		assert_str(buf_str(&w.received), received);
		assert_int_equal(w.status, status);
		world_done(&w);
	}
}

#define GET_SENT(target) "GET " target " HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\n\r\n"
#define GET_RECEIVED "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define CHUNKED_SENT "PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
#define CHUNKED_RECEIVED "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CLOSED_RECEIVED "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

static void test_http_inlet__nothing_of_a_head_is_let_through(void **state _unused_)
{
	assert_read(GET_SENT("/a?&a&a&a"), "GET /a?&a&a&a\n", GET_RECEIVED, 0);
	assert_read("\r\n\r\n" GET_SENT("/"), "GET /\n", GET_RECEIVED, 0);
	assert_read("GET / HTTP/1.1\r\nHost: x", "", "", 0);
	assert_read("", "", "", 0);
}

static void test_http_inlet__bodies_come_whole(void **state _unused_)
{
	assert_read("PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 007\r\n\r\nab\r\n\r\nc", "PUT /b\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\nab\r\n\r\nc", 0);
	assert_read(CHUNKED_SENT "3\r\nabc\r\n00A;x=\"y\" ; z\r\n0123456789\r\n0\r\nX-A: b\r\nX-C:\r\n\r\n", "PUT /c\n",
		CHUNKED_RECEIVED "3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n", 0);
	assert_read(CHUNKED_SENT "0\r\n\r\n", "PUT /c\n", CHUNKED_RECEIVED "0\r\n\r\n", 0);
}

static void test_http_inlet__requests_follow_each_other(void **state _unused_)
{
	assert_read(GET_SENT("/1") CHUNKED_SENT "1\r\na\r\n0\r\n\r\n"
						"POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nbc" GET_SENT("/3"),
		"GET /1\nPUT /c\nPOST /2\nGET /3\n",
		GET_RECEIVED CHUNKED_RECEIVED "1\r\na\r\n0\r\n\r\n"
					      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nbc" GET_RECEIVED,
		0);
}

static void test_http_inlet__broken_chunks_end_the_body(void **state _unused_)
{
	static const char *const bad[] = {"\r\n", "x\r\n", "-1\r\n", "+1\r\n", " 1\r\n", "0x1\r\n", "1\n", "1 \r\n", "1 x\r\n",
		";a\r\n", "1\r\r\n", "1;a\n", "1;\001\r\n", "0\n", "0\r\n\n", "0\r\nX-A\r\n", "0\r\n: b\r\n",
		"0\r\nX-A : b\r\n", "0\r\nX-A: b\n", "0\r\nX-A: b\r\n c\r\n", "0\r\n\rx"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(mem_freep) char *sent = mem_printf("%s2\r\nab\r\n%s" GET_SENT("/evil"), CHUNKED_SENT, bad[i]);
		assert_read(sent, "PUT /c\n", CHUNKED_RECEIVED "2\r\nab\r\n0\r\n\r\n", 400);
	}
	assert_read(CHUNKED_SENT "2\r\nabc\r\n0\r\n\r\n", "PUT /c\n", CHUNKED_RECEIVED "2\r\nab\r\n0\r\n\r\n", 400);
	assert_read(CHUNKED_SENT "2\r\nab\n0\r\n\r\n", "PUT /c\n", CHUNKED_RECEIVED "2\r\nab\r\n0\r\n\r\n", 400);
	assert_read(CHUNKED_SENT "10000000000000000\r\n", "PUT /c\n", CHUNKED_RECEIVED "0\r\n\r\n", 413);
}

/* Extensions and trailers are no way around the limits. */
static void test_http_inlet__what_is_dropped_has_a_limit(void **state _unused_)
{
	struct buf sent;
	buf_init(&sent, 1 << 20);
	buf_adds(&sent, CHUNKED_SENT);
	for (unsigned i = 0; i < 2000; i++) {
		buf_adds(&sent, "1;0123456789\r\na\r\n");
	}
	buf_adds(&sent, "0\r\n\r\n");
	struct world w;
	world_init(&w, buf_str(&sent), 1000);
	assert_int_equal(read_all(&w, 4096), GNUTLS_E_AGAIN);
	assert_int_equal(w.status, 400);
	world_done(&w);
	buf_done(&sent);
}

static void test_http_inlet__what_is_refused_is_the_last(void **state _unused_)
{
	assert_read("GET\r\n\r\n" GET_SENT("/evil"), " \n", CLOSED_RECEIVED, 400);
	assert_read("HEAD / HTTP/1.1\r\n\r\n" GET_SENT("/evil"), "HEAD /\n",
		"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 400);
	assert_read("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", "POST /\n", CLOSED_RECEIVED, 400);
}

static void test_http_inlet__broken_line_is_not_waited_upon(void **state _unused_)
{
	assert_read("GET / HTTP/1.1\n", " \n", CLOSED_RECEIVED, 400);
	assert_read("GET / HTTP/1.1\r\nHost: x\n", " \n", CLOSED_RECEIVED, 400);
}

static void assert_too_long(const char *line, unsigned status)
{
	struct buf sent;
	struct world w;
	buf_init(&sent, 1 << 20);
	buf_adds(&sent, line);
	for (unsigned i = 0; i < 3000; i++) {
		buf_addc(&sent, 'x');
	}
	world_init(&w, buf_str(&sent), 100);
	assert_int_equal(read_all(&w, 4096), GNUTLS_E_AGAIN);
	assert_int_equal(w.status, status);
	assert_true(w.coming.n > 1500); /* no more is taken than was needed to see it */
	assert_str(buf_str(&w.received), CLOSED_RECEIVED);
	world_done(&w);
	buf_done(&sent);
}

static void test_http_inlet__head_has_a_limit(void **state _unused_)
{
	assert_too_long("GET /", 414);
	assert_too_long("GET / HTTP/1.1\r\nX-A: ", 431);
	assert_too_long("", 414);
}

/* With the answer "nothing", the reader would wait for an event that has been. */
static void test_http_inlet__next_request_waits_without_being_forgotten(void **state _unused_)
{
	struct world w;
	world_init(&w, STR(GET_SENT("/1") GET_SENT("/2")), 16384);
	assert_int_equal(read_all(&w, 4096), GNUTLS_E_INTERRUPTED);
	assert_str(buf_str(&w.heads), "GET /1\n");
	assert_int_equal(w.n_fetches, 1);
	inlet_finish(&w.inlet);
	assert_int_equal(read_all(&w, 4096), GNUTLS_E_AGAIN);
	assert_str(buf_str(&w.heads), "GET /1\nGET /2\n");
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_http_inlet__nothing_of_a_head_is_let_through),
		TEST(test_http_inlet__bodies_come_whole),
		TEST(test_http_inlet__requests_follow_each_other),
		TEST(test_http_inlet__broken_chunks_end_the_body),
		TEST(test_http_inlet__what_is_dropped_has_a_limit),
		TEST(test_http_inlet__what_is_refused_is_the_last),
		TEST(test_http_inlet__broken_line_is_not_waited_upon),
		TEST(test_http_inlet__head_has_a_limit),
		TEST(test_http_inlet__next_request_waits_without_being_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
