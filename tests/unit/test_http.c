#include "tests/unit/http_world.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Requests. */

static void test_http__connection_serves_one_request_after_the_other(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	for (unsigned i = 0; i < 100; i++) {
		assert_answer(&c, GET("/hello"), 200, "hello\n");
	}
	client_close(&c);
	await(world.n_done == 100);
	assert_int_equal(world.n_cut, 0);
	assert_int_equal(world.n_sent, 600);
}

static void test_http__pipelined_requests_are_answered_in_order(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	client_say(&c,
		GET("/1") GET("/later") "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" GET("/parts/1000/100")
			GET("/2"));
	assert_next_answer(&c, 200, "/1");
	assert_next_answer(&c, 200, "later\n");
	assert_next_answer(&c, 200, "abc");
	struct answer a;
	client_ask(&c, "", &a);
	assert_int_equal(a.body.n, 100000);
	answer_clear(&a);
	assert_next_answer(&c, 200, "/2");
	client_close(&c);
}

static void test_http__target_is_as_sent(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	assert_answer(&c, GET("/a%00b%2Fc?x=%20+y&z"), 200, "/a%00b%2Fc?x=%20+y&z");
	assert_answer(&c, GET("http://x/a?b"), 200, "/a?b");
	assert_answer(&c, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 200, "*");
	client_close(&c);
}

static void test_http__header_values_are_without_blanks_around(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	assert_answer(&c, "GET /header HTTP/1.1\r\nHost: x\r\nX-Test: \t a b \t\r\nX-Test: second\r\n\r\n", 200, "a b");
	client_close(&c);
}

static void test_http__answer_headers_cannot_be_injected(void **state _unused_)
{
	struct client c;
	struct answer a;
	start(NULL);
	dial(&c);
	client_get(&c, "/inject", &a);
	assert_str(answer_header(&a, "X-Good"), "yes");
	assert_int_equal(answer_header(&a, "X-Evil").n + answer_header(&a, "X-Injected").n, 0);
	answer_clear(&a);
	client_close(&c);
}

static void test_http__head_is_answered_without_body(void **state _unused_)
{
	struct client c;
	struct answer a;
	start(NULL);
	dial(&c);
	static const char *const heads[] = {"/hello", "/parts/1/5", "/parts/3/1000", "/parts/1000/100", "/list", "/stream"};
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		_cleanup_(mem_freep) char *request = mem_printf("HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n", heads[i]);
		client_say(&c, request);
		assert_true(client_read_head(&c, &a));
		assert_int_equal(a.status, 200);
		answer_clear(&a);
	}
	client_expect_end(&c); /* the length of a stream is not known */
	client_close(&c);
	await(world.n_done == ARRAY_SIZE(heads));
	assert_int_equal(world.n_sent, 0);
	assert_int_equal(world.n_closed, 2);
}

static void test_http__answer_without_content_has_no_body(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	assert_answer(&c, GET("/nothing"), 204, "");
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	client_close(&c);
}

static void assert_parts(struct client *c, size_t count, size_t size)
{
	struct answer a;
	_cleanup_(mem_freep) char *target = mem_printf("/parts/%zu/%zu", count, size);
	client_get(c, target, &a);
	assert_int_equal(a.body.n, count * size);
	for (size_t i = 0; i < a.body.n; i++) {
		if (a.body.p[i] != pattern(i)) {
			fail_msg("wrong byte at %zu", i);
		}
	}
	answer_clear(&a);
}

static void test_http__bodies_of_many_sizes_and_pieces_arrive_whole(void **state _unused_)
{
	static const size_t shapes[][2] = {{0, 0}, {1, 0}, {3, 0}, {1, 1}, {1, 1024}, {1, 16384}, {1, 16385}, {1, 1 << 20},
		{7, 100}, {32, 1024}, {33, 1024}, {5000, 17}, {10, 100000}, {2, 32768}, {1000, 1500}, {40000, 1}};
	struct client c;
	start(NULL);
	dial(&c);
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		assert_parts(&c, shapes[i][0], shapes[i][1]);
	}
	client_close(&c);
}

static void test_http__old_client_gets_its_answer_and_the_end(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	assert_answer(&c, "GET /hello HTTP/1.0\r\n\r\n", 200, "hello\n");
	client_expect_end(&c);
	client_close(&c);

	dial(&c);
	assert_answer(&c, "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, "/1");
	assert_answer(&c, "GET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 200, "/2");
	client_expect_end(&c);
	client_close(&c);
}

static const struct {
	const char *what, *request;
	unsigned status; /* 0: no answer */
	bool is_closed;
} odd_requests[] = {
	{"length and chunked",
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
		"chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		400, true},
	{"differing lengths", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", 400,
		true},
	{"equal lengths", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 200, false},
	{"bare LF", "GET /hello HTTP/1.1\nHost: x\n\n", 400, true},
	{"one bare LF", "GET /hello HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n", 400, true},
	{"no Host", "GET /hello HTTP/1.1\r\n\r\n", 400, true},
	{"two Hosts", "GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400, true},
	{"folded line", "GET /hello HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n", 400, true},
	{"folded first line", "GET /hello HTTP/1.1\r\n X-A: b\r\nHost: x\r\n\r\n", 400, true},
	{"folded last line", "GET /hello HTTP/1.1\r\nHost: x\r\n y\r\n\r\n", 400, true},
	{"blank before the colon", "GET /hello HTTP/1.1\r\nHost: x\r\nX-A : b\r\n\r\n", 400, true},
	{"line without a colon", "GET /hello HTTP/1.1\r\nHost: x\r\nX-A\r\n\r\n", 400, true},
	{"bad chunk size", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", 400,
		true},
	{"huge chunk size", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc",
		413, true},
	{"chunk extension, trailer",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", 200,
		false},
	{"blanks before a chunk extension",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3 \t;a=b\r\nabc\r\n0\r\n\r\n", 200, false},
	{"bare LF behind a chunk size",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", 400, true},
	{"bare LF behind a chunk", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n",
		400, true},
	{"chunk longer than its size",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400, true},
	{"bare LF behind the last chunk",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\n\r\n", 400, true},
	{"bare LF in the trailer",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\n\r\n", 400, true},
	{"bare LF at the end", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\n", 400,
		true},
	{"folded trailer", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: 1\r\n 2\r\n\r\n", 400,
		true},
	{"chunked and a blank", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked \r\n\r\n0\r\n\r\n", 200, false},
	{"absolute target", "GET http://x/hello HTTP/1.1\r\nHost: x\r\n\r\n", 200, false},
	{"cookies", "GET /hello HTTP/1.1\r\nHost: x\r\nCookie: a=b; c=\"d\"; ;=\r\n\r\n", 200, false},
	{"gzip, chunked", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, true},
	{"identity", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n", 501, true},
	{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, true},
	{"negative length", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, true},
	{"length with a letter", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5x\r\n\r\nabcde", 400, true},
	{"no version", "GET /hello\r\n\r\n", 400, true},
	{"two blanks in the request line", "GET /hello  HTTP/1.1\r\nHost: x\r\n\r\n", 400, true},
	{"blank in the target", "GET /hel lo HTTP/1.1\r\nHost: x\r\n\r\n", 400, true},
	{"length beyond 64 bits", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n", 400, true},
	{"length beyond 64 bits, and a cookie",
		"POST /echo HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\nContent-Length: 18446744073709551616\r\n\r\n", 400, true},
	{"length of 64 bits", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n", 413, true},
	{"unknown version", "GET /hello HTTP/1.2\r\nHost: x\r\n\r\n", 200, false},
	{"leading empty line", "\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200, false},
	{"unknown method", "FROB /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200, false},
	{"GET with a body", "GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 200, false},
	{"unknown expectation", "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\na", 417, true},
	{"offer to upgrade", "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 200, false},
};

static void test_http__odd_requests_get_what_they_deserve(void **state _unused_)
{
	start(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(odd_requests); i++) {
		struct client c;
		struct answer a;
		dial(&c);
		client_say(&c, odd_requests[i].request);
		bool is_answered = client_read_answer(&c, &a);
		if (!is_answered || a.status != odd_requests[i].status) {
			print_error("%s: %u\n", odd_requests[i].what, a.status);
		}
		assert_int_equal(a.status, odd_requests[i].status);
		answer_clear(&a);
		if (odd_requests[i].is_closed) {
			client_expect_end(&c);
		} else {
			assert_answer(&c, GET("/hello"), 200, "hello\n");
		}
		client_close(&c);
	}
}

#define BYTES(literal)                         \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

/* Bytes that a C string cannot hold. */
static void test_http__nul_in_the_head_is_refused(void **state _unused_)
{
	static const struct str requests[] = {
		BYTES("GET /hello HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n"),
		BYTES("GET /hello HTTP/1.1\r\nHost: x\r\nX-A\0: b\r\n\r\n"),
		BYTES("GET /hel\0lo HTTP/1.1\r\nHost: x\r\n\r\n"),
		BYTES("GET\0 /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
		BYTES("GET\0X /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
		BYTES("GET /hello HTTP/1.1\0\r\nHost: x\r\n\r\n"),
	};
	start(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct client c;
		struct answer a;
		dial(&c);
		client_send(&c, requests[i]);
		assert_true(client_read_answer(&c, &a));
		assert_int_equal(a.status, 400);
		answer_clear(&a);
		client_expect_end(&c);
		client_close(&c);
	}
	assert_int_equal(world.n_requests, 0);
}

/* libmicrohttpd keeps an index of arguments: when it had no memory for it, it forgot the request, and with it the connection. */
static void test_http__many_arguments_are_part_of_the_target(void **state _unused_)
{
	static const unsigned counts[] = {1, 400, 500, 1000, 5000, 15000};
	struct http_stats stats;
	start(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct client c;
		struct buf request;
		buf_init(&request, 64 << 10);
		buf_adds(&request, "GET /a?");
		for (unsigned n = 0; n < counts[i]; n++) {
			buf_adds(&request, "&a");
		}
		size_t end = request.n;
		buf_adds(&request, " HTTP/1.1\r\nHost: x\r\n\r\n");
		_cleanup_(mem_freep) char *target = mem_strndup(request.p + 4, end - 4);
		dial(&c);
		assert_answer(&c, request.p, 200, target);
		client_close(&c);
		buf_done(&request);
	}
	await(world.n_done == ARRAY_SIZE(counts));
	http_server_drain(world.server, INT32_MAX);
	http_server_stats(world.server, &stats);
	assert_int_equal(stats.connections_open, 0);
}

static void test_http__heads_up_to_the_limit_are_taken(void **state _unused_)
{
	static const struct {
		size_t size;
		unsigned status;
	} rows[] = {{1000, 200}, {20000, 200}, {30800, 200}, {31000, 200}, {31700, 431}, {60000, 431}};
	start(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct client c;
		dial(&c);
		_cleanup_(mem_freep) char *padding = mem_alloc(rows[i].size + 1);
		memset(padding, 'x', rows[i].size);
		padding[rows[i].size] = '\0';
		_cleanup_(mem_freep) char *request =
			mem_printf("GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n", padding);
		struct answer a;
		client_try_send(&c, str_of(request));
		assert_true(client_read_answer(&c, &a));
		assert_int_equal(a.status, rows[i].status);
		answer_clear(&a);
		client_close(&c);
	}
}

/* Bodies. */

static void test_http__chunked_upload_is_put_together(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	client_say(&c, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (unsigned i = 0; i < 1000; i++) {
		client_say(&c, "a\r\n0123456789\r\n");
	}
	struct answer a;
	client_ask(&c, "0\r\n\r\n", &a);
	assert_int_equal(a.body.n, 10000);
	answer_clear(&a);
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	client_close(&c);
}

static char *make_body(size_t n)
{
	char *body = mem_alloc(n + 1);
	for (size_t i = 0; i < n; i++) {
		body[i] = pattern(i);
	}
	body[n] = '\0';
	return body;
}

static void post(struct client *c, const char *target, size_t announced, const char *body, size_t n)
{
	_cleanup_(mem_freep) char *head =
		mem_printf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", target, announced);
	client_say(c, head);
	client_try_send(c, (struct str){body, n});
}

static void test_http__body_as_large_as_allowed_arrives(void **state _unused_)
{
	enum { MAX = 3145728 };
	struct client c;
	struct answer a;
	_cleanup_(mem_freep) char *body = make_body(MAX);
	start(NULL);
	dial(&c);
	post(&c, "/echo", MAX, body, MAX);
	client_ask(&c, "", &a);
	assert_int_equal(a.status, 200);
	assert_int_equal(a.body.n, MAX);
	assert_memory_equal(a.body.p, body, MAX);
	answer_clear(&a);
	client_close(&c);
}

static void test_http__too_large_a_body_is_refused_before_it_is_read(void **state _unused_)
{
	struct client c;
	start(&(struct http_options){.max_body = 1000});
	dial(&c);
	post(&c, "/echo", 100000000, "", 0);
	assert_next_answer(&c, 413, "too large\n");
	client_close(&c);
}

static void test_http__body_that_grows_too_large_is_refused(void **state _unused_)
{
	struct client c;
	start(&(struct http_options){.max_body = 1000});
	dial(&c);
	client_say(&c, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (unsigned i = 0; i < 1000; i++) {
		client_say(&c, "a\r\n0123456789\r\n");
	}
	assert_answer(&c, "0\r\n\r\n", 413, "too large\n");
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	client_close(&c);
}

/* The refusal must not be lost in the reset that a close with unread input makes. */
static void test_http__refusal_reaches_a_client_that_goes_on_sending(void **state _unused_)
{
	enum { SIZE = 4000000 };
	struct client c;
	_cleanup_(mem_freep) char *body = make_body(SIZE);
	start(&(struct http_options){.max_body = 1000});
	dial(&c);
	post(&c, "/echo", SIZE, body, SIZE);
	assert_next_answer(&c, 413, "too large\n");
	client_close(&c);
}

static void test_http__client_that_asks_is_told_to_go_on(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	assert_answer(&c, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n", 100, "");
	assert_answer(&c, "abc", 200, "abc");
	assert_answer(&c, "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n", 401,
		"who are you\n");
	client_expect_end(&c);
	client_close(&c);
}

static void test_http__early_answer_keeps_the_connection_where_it_can(void **state _unused_)
{
	struct client c;
	_cleanup_(mem_freep) char *body = make_body(100000);
	start(NULL);
	dial(&c);
	assert_answer(&c, GET("/early"), 401, "who are you\n");
	post(&c, "/early", 100000, body, 100000);
	assert_next_answer(&c, 401, "who are you\n");
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	post(&c, "/early", 10000000, body, 100000);
	struct answer a;
	client_ask(&c, "", &a);
	assert_int_equal(a.status, 401);
	assert_true(a.will_close);
	answer_clear(&a);
	client_close(&c);
	await(world.n_done == 4);
	assert_int_equal(world.n_requests, 1);
}

/* Waiting. */

static void *ask_later(void *arg)
{
	struct client c;
	dial(&c);
	for (unsigned i = 0; i < 200; i++) {
		assert_answer(&c, i % 5 ? GET("/later") : GET("/hello"), 200, i % 5 ? "later\n" : "hello\n");
	}
	client_close(&c);
	return arg;
}

static void test_http__storm_of_wakes_loses_none(void **state _unused_)
{
	enum { N_CLIENTS = 16 };
	pthread_t threads[N_CLIENTS];
	start(NULL);
	for (size_t i = 0; i < N_CLIENTS; i++) {
		pthread_create(&threads[i], NULL, ask_later, NULL);
	}
	for (size_t i = 0; i < N_CLIENTS; i++) {
		pthread_join(threads[i], NULL);
	}
	await(world.n_done == N_CLIENTS * 200);
	assert_int_equal(world.n_cut, 0);
	assert_int_equal(world.n_requests, N_CLIENTS * 200 + N_CLIENTS * 160);
}

static void *ask_behind_head(void *arg)
{
	static const char *const requests[] = {
		"POST /head/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		"POST /head/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
		GET("/head/echo"),
		"POST /head/refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		GET("/head/refuse"),
	};
	struct client c;
	dial(&c);
	for (unsigned i = 0; i < 200; i++) {
		unsigned k = i % ARRAY_SIZE(requests);
		assert_answer(&c, requests[k], k < 3 ? 200 : 401, k < 2 ? "abc" : k == 2 ? "" : "who are you\n");
	}
	client_close(&c);
	return arg;
}

static void test_http__waiting_before_the_body_loses_nothing(void **state _unused_)
{
	enum { N_CLIENTS = 8 };
	pthread_t threads[N_CLIENTS];
	start(NULL);
	for (size_t i = 0; i < N_CLIENTS; i++) {
		pthread_create(&threads[i], NULL, ask_behind_head, NULL);
	}
	for (size_t i = 0; i < N_CLIENTS; i++) {
		pthread_join(threads[i], NULL);
	}
	await(world.n_done == N_CLIENTS * 200);
	assert_int_equal(world.n_cut, 0);
	assert_int_equal(world.n_announced, 2 * N_CLIENTS * 200);
	assert_int_equal(world.n_requests, N_CLIENTS * 120);
}

static void test_http__body_is_not_asked_for_before_the_head_is_through(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	client_say(&c, "POST /head/gate HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
	await(!list_is_empty(&world.gated));
	assert_int_equal(c.in.n - c.at, 0);
	open_gate();
	assert_next_answer(&c, 100, "");
	assert_answer(&c, "abc", 200, "abc");
	client_close(&c);
}

static void test_http__large_body_is_read_only_once_the_head_is_through(void **state _unused_)
{
	struct client c;
	struct answer a;
	_cleanup_(mem_freep) char *body = make_body(2000000);
	start(NULL);
	dial(&c);
	post(&c, "/head/gate", 2000000, body, 1000);
	await(!list_is_empty(&world.gated));
	assert_int_equal(world.n_requests, 0);
	open_gate();
	client_send(&c, (struct str){body + 1000, 2000000 - 1000});
	client_ask(&c, "", &a);
	assert_int_equal(a.body.n, 2000000);
	assert_memory_equal(a.body.p, body, 2000000);
	answer_clear(&a);
	client_close(&c);
}

static void test_http__client_that_leaves_while_its_head_waits_is_noticed(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	client_say(&c, "POST /head/gate HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n");
	await(!list_is_empty(&world.gated));
	client_close(&c);
	assert_int_equal(world.n_done, 0);
	open_gate();
	await(world.n_done == 1);
	assert_int_equal(world.n_requests, 0);
}

/* The server's kernel has acknowledged that nothing more comes from this end. */
static void await_fin_received(int fd)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);
	while (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state != TCP_FIN_WAIT2) {
		poll(NULL, 0, 1);
	}
}

static void test_http__client_that_leaves_while_it_waits_is_noticed_when_woken(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	client_say(&c, GET("/gate"));
	await(!list_is_empty(&world.gated));
	int64_t since = clock_mono_ms();
	shutdown(c.fd, SHUT_WR);
	await_fin_received(c.fd);
	/* The server looks at the socket of a client that has waited for 100 ms. */
	while (clock_mono_ms() - since <= 100) {
		poll(NULL, 0, 10);
	}
	assert_int_equal(world.n_done, 0);
	open_gate();
	await(world.n_done == 1);
	assert_int_equal(world.n_cut, 1);
	client_close(&c);
}

static void test_http__alarm_lets_a_waiting_exchange_give_up(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	assert_answer(&c, GET("/alarm"), 504, "too late\n");
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	client_close(&c);
}

static void test_http__exchange_may_go_on_waiting_after_an_alarm(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	client_say(&c, GET("/patience"));
	await(world.n_alarms == 1);
	open_gate();
	assert_next_answer(&c, 200, "open\n");
	client_close(&c);
}

/* Limits. */

static void test_http__slow_clients_are_shown_the_door(void **state _unused_)
{
	static const char *const beginnings[] = {
		"",
		"GET /hello HT",
		"GET /hello HTTP/1.1\r\nHost: x\r\nX-A",
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n",
	};
	start(&(struct http_options){.header_timeout_ms = 300, .body_timeout_ms = 300, .idle_timeout_ms = 300});
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		struct client c;
		dial(&c);
		client_say(&c, beginnings[i]);
		await_end(&c);
		client_close(&c);
	}
}

/* One that sends a byte now and then is never idle. */
static void test_http__head_that_drips_in_is_cut_off(void **state _unused_)
{
	struct client c;
	start(&(struct http_options){.header_timeout_ms = 2000});
	dial(&c);
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	bool is_open = true;
	for (unsigned i = 0; is_open; i++) {
		assert_true(i < 1000);
		is_open = client_try_send(&c, STR("G"));
		poll(&(struct pollfd){.fd = c.fd, .events = POLLIN}, 1, 60);
	}
	client_close(&c);
}

static void test_http__client_that_does_not_read_its_answer_is_cut_off(void **state _unused_)
{
	struct client c;
	start(&(struct http_options){.body_timeout_ms = 400});
	dial(&c);
	client_say(&c, GET("/parts/1000/100000"));
	/* The handler is done with an answer in memory long before its client. */
	await(world.n_done == 1);
	assert_int_equal(world.n_cut, 0);
	await_connections(0);
	client_close(&c);
}

static void test_http__idle_connection_gives_way_to_a_new_one(void **state _unused_)
{
	struct client c[4];
	start(&(struct http_options){.max_connections = 4});
	for (size_t i = 0; i < 4; i++) {
		dial(&c[i]);
		assert_answer(&c[i], GET("/known"), 200, "known\n");
	}
	await_end(&c[0]);
	for (size_t i = 1; i < 4; i++) {
		assert_answer(&c[i], GET("/known"), 200, "known\n");
	}
	for (size_t i = 0; i < 4; i++) {
		client_close(&c[i]);
	}
}

/* Far more of them than there is room for: a share of 2 of 16. */
enum { N_KNOWN = 8, N_STRANGERS = 40 };

static void assert_strangers_hurt_nobody(void (*open_stranger)(struct client *c))
{
	struct client known[N_KNOWN], strangers[N_STRANGERS], late;
	start(&(struct http_options){.max_connections = 16, .stranger_grace_ms = 1});
	for (size_t i = 0; i < N_KNOWN; i++) {
		dial(&known[i]);
		assert_answer(&known[i], GET("/known"), 200, "known\n");
	}
	for (size_t i = 0; i < N_STRANGERS; i++) {
		open_stranger(&strangers[i]);
	}
	dial(&late); /* accepted in turn: when all strangers have been */
	assert_answer(&late, GET("/known"), 200, "known\n");
	for (size_t i = 0; i < N_KNOWN; i++) {
		assert_answer(&known[i], GET("/known"), 200, "known\n");
		client_close(&known[i]);
	}
	client_close(&late);
	for (size_t i = 0; i < N_STRANGERS; i++) {
		client_close(&strangers[i]);
	}
}

static void open_silent(struct client *c)
{
	client_dial(c, port());
}

static void open_without_request(struct client *c)
{
	dial(c);
	client_say(c, "GET ");
}

static void open_idle(struct client *c)
{
	dial(c);
	assert_answer(c, GET("/hello"), 200, "hello\n");
}

static void test_http__silent_connections_hurt_nobody(void **state _unused_)
{
	assert_strangers_hurt_nobody(open_silent);
}

static void test_http__connections_without_request_hurt_nobody(void **state _unused_)
{
	assert_strangers_hurt_nobody(open_without_request);
}

static void test_http__connections_nobody_vouched_for_hurt_nobody(void **state _unused_)
{
	assert_strangers_hurt_nobody(open_idle);
}

static void test_http__newcomers_have_their_time_of_grace(void **state _unused_)
{
	struct client patient, c;
	start(&(struct http_options){.max_connections = 4, .stranger_grace_ms = 300});
	int64_t before = clock_mono_ms();
	client_dial(&patient, port());
	client_dial(&c, port());
	client_say(&c, GET("/hello"));
	await_end(&patient);
	assert_true(clock_mono_ms() - before >= 300);
	client_close(&patient);
	client_close(&c);
}

static void test_http__client_vouched_for_does_not_count_among_strangers(void **state _unused_)
{
	struct client known, c[2];
	start(&(struct http_options){.max_connections = 4, .stranger_grace_ms = 1});
	dial(&known);
	assert_answer(&known, GET("/known"), 200, "known\n");
	for (size_t i = 0; i < 2; i++) {
		dial(&c[i]);
		assert_answer(&c[i], GET("/hello"), 200, "hello\n");
	}
	await_end(&c[0]);
	assert_answer(&known, GET("/hello"), 200, "hello\n");
	client_close(&known);
	client_close(&c[0]);
	client_close(&c[1]);
}

static void test_http__new_connection_is_closed_where_all_are_busy(void **state _unused_)
{
	struct client c[3];
	start(&(struct http_options){.max_connections = 16});
	for (size_t i = 0; i < 2; i++) {
		dial(&c[i]);
		client_say(&c[i], GET("/gate"));
	}
	await(list_length(&world.gated) == 2);
	client_dial(&c[2], port());
	assert_false(client_receive(&c[2]));
	open_gate();
	for (size_t i = 0; i < 2; i++) {
		assert_next_answer(&c[i], 200, "open\n");
	}
	for (size_t i = 0; i < 3; i++) {
		client_close(&c[i]);
	}
}

/* libmicrohttpd takes up to 128 events from its epoll at a time. */
static void test_http__crowd_that_speaks_at_once_is_heard(void **state _unused_)
{
	enum { CROWD = 128, ROUNDS = 20 };
	static struct client c[CROWD];
	start(&(struct http_options){.threads = 1});
	for (size_t i = 0; i < CROWD; i++) {
		dial(&c[i]);
	}
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < CROWD; i++) {
			client_say(&c[i], GET("/hello"));
		}
		for (size_t i = 0; i < CROWD; i++) {
			assert_next_answer(&c[i], 200, "hello\n");
		}
	}
	for (size_t i = 0; i < CROWD; i++) {
		client_close(&c[i]);
	}
}

/* The end. */

static void *drain(void *arg)
{
	http_server_drain(world.server, PATIENCE_S * 1000);
	return arg;
}

static void test_http__drain_lets_everybody_finish(void **state _unused_)
{
	struct client waiting, idle, watching;
	struct buf body;
	pthread_t thread;
	start(NULL);
	buf_init(&body, 1 << 20);
	dial(&idle);
	assert_answer(&idle, GET("/hello"), 200, "hello\n");
	open_stream(&watching);
	dial(&waiting);
	client_say(&waiting, GET("/gate"));
	await(list_length(&world.gated) == 1);

	pthread_create(&thread, NULL, drain, NULL);
	await_end(&idle);
	assert_false(client_read_chunk(&watching, &body));
	await_end(&watching);
	open_gate();
	struct answer a;
	client_ask(&waiting, "", &a);
	assert_str(buf_str(&a.body), "open\n");
	assert_true(a.will_close);
	answer_clear(&a);
	pthread_join(thread, NULL);

	assert_int_equal(world.n_done, 3);
	assert_int_equal(world.n_cut, 0);
	struct http_stats stats;
	http_server_stats(world.server, &stats);
	assert_int_equal(stats.connections_open, 0);
	client_close(&waiting);
	client_close(&watching);
	client_close(&idle);
	buf_done(&body);
}

static void test_http__leaving_server_sends_connections_away(void **state _unused_)
{
	struct client kept, fresh, watching;
	struct answer a;
	struct buf body;
	start(NULL);
	buf_init(&body, 1 << 20);
	dial(&kept);
	assert_answer(&kept, GET("/hello"), 200, "hello\n");
	http_server_leave(world.server);
	client_get(&kept, "/hello", &a);
	assert_true(a.will_close);
	answer_clear(&a);
	await_end(&kept);

	dial(&fresh);
	client_get(&fresh, "/hello", &a);
	assert_int_equal(a.status, 200);
	assert_true(a.will_close);
	answer_clear(&a);
	open_stream(&watching);
	feed(1);
	assert_true(client_read_chunk(&watching, &body));
	client_close(&kept);
	client_close(&fresh);
	client_close(&watching);
	buf_done(&body);
}

static void test_http__drained_server_takes_no_connection(void **state _unused_)
{
	start(NULL);
	http_server_drain(world.server, 1000);
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port()), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
}

static void test_http__drain_says_whether_connections_are_left(void **state _unused_)
{
	struct client c;
	start(NULL);
	dial(&c);
	client_say(&c, GET("/gate"));
	await(list_length(&world.gated) == 1);
	assert_false(http_server_drain(world.server, 0)); /* its handler still waits */
	open_gate();
	assert_true(http_server_drain(world.server, PATIENCE_S * 1000));
	client_close(&c);
}

static void *open_gate_late(void *arg)
{
	await(world.n_cut == 2);
	open_gate();
	return arg;
}

static void test_http__end_cuts_all_but_what_waits_for_its_operation(void **state _unused_)
{
	struct client waiting, flooded, sending, half;
	pthread_t thread;
	start(NULL);
	dial(&waiting);
	client_say(&waiting, GET("/gate"));
	await(list_length(&world.gated) == 1);
	open_stream(&flooded);
	feed(500000);
	client_receive(&flooded);
	dial(&sending);
	client_say(&sending, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
	await(world.n_announced == 3);
	client_dial(&half, port());

	pthread_create(&thread, NULL, open_gate_late, NULL);
	world.server = http_server_free(world.server);
	pthread_join(thread, NULL);
	assert_int_equal(world.n_done, 3);
	assert_int_equal(world.n_closed, 1);
	client_close(&waiting);
	client_close(&flooded);
	client_close(&sending);
	client_close(&half);
}

/* After a head as long as it may be, and a body in pieces. */
static void test_http__head_of_an_answer_that_is_too_long_is_cut_rather_than_lost(void **state _unused_)
{
	static char padding[30000];
	struct client c;
	struct answer a;
	_cleanup_(buf_done) struct buf request;
	start(NULL);
	buf_init(&request, 1 << 20);
	memset(padding, 'a', sizeof(padding));
	buf_printf(&request, "POST /many HTTP/1.1\r\nHost: x\r\nX-Long: %.*s\r\nTransfer-Encoding: chunked\r\n\r\n",
		(int)sizeof(padding), padding);
	buf_printf(&request, "7530\r\n%.*s\r\n0\r\n\r\n", (int)sizeof(padding), padding);
	dial(&c);
	for (unsigned i = 0; i < 3; i++) {
		client_send(&c, buf_str(&request));
		assert_true(client_read_answer(&c, &a));
		assert_int_equal(a.status, 200);
		assert_int_equal(a.body.n, sizeof(padding));
		assert_true(str_contains(a.head, STR("0000000100\r\n")) && a.head.n < 15 << 10);
		answer_clear(&a);
	}
	client_close(&c);
}

static void test_http__statistics_count(void **state _unused_)
{
	struct client c;
	struct http_stats stats;
	start(NULL);
	dial(&c);
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	assert_answer(&c, "GET /hello HTTP/1.1\r\n\r\n", 400, "400 Bad Request: missing required Host header\n");
	await_end(&c);
	client_close(&c);
	http_server_stats(world.server, &stats);
	assert_int_equal(stats.connections_total, 1);
	assert_int_equal(stats.requests_total, 2);
	assert_int_equal(stats.requests_invalid, 1);
	assert_true(stats.bytes_sent >= 6);
}

static void test_http__port_in_use_is_said(void **state _unused_)
{
	start(NULL);
	struct http_server *first = world.server;
	struct http_options o = {.port = port()};
	assert_no_start(&o, -EADDRINUSE, "cannot listen on 127.0.0.1 port");
	world.server = first;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_http__connection_serves_one_request_after_the_other),
		CASE(test_http__pipelined_requests_are_answered_in_order),
		CASE(test_http__target_is_as_sent),
		CASE(test_http__header_values_are_without_blanks_around),
		CASE(test_http__answer_headers_cannot_be_injected),
		CASE(test_http__head_is_answered_without_body),
		CASE(test_http__answer_without_content_has_no_body),
		CASE(test_http__bodies_of_many_sizes_and_pieces_arrive_whole),
		CASE(test_http__old_client_gets_its_answer_and_the_end),
		CASE(test_http__odd_requests_get_what_they_deserve),
		CASE(test_http__nul_in_the_head_is_refused),
		CASE(test_http__many_arguments_are_part_of_the_target),
		CASE(test_http__heads_up_to_the_limit_are_taken),
		CASE(test_http__chunked_upload_is_put_together),
		CASE(test_http__body_as_large_as_allowed_arrives),
		CASE(test_http__too_large_a_body_is_refused_before_it_is_read),
		CASE(test_http__body_that_grows_too_large_is_refused),
		CASE(test_http__refusal_reaches_a_client_that_goes_on_sending),
		CASE(test_http__client_that_asks_is_told_to_go_on),
		CASE(test_http__early_answer_keeps_the_connection_where_it_can),
		CASE(test_http__storm_of_wakes_loses_none),
		CASE(test_http__waiting_before_the_body_loses_nothing),
		CASE(test_http__body_is_not_asked_for_before_the_head_is_through),
		CASE(test_http__large_body_is_read_only_once_the_head_is_through),
		CASE(test_http__client_that_leaves_while_its_head_waits_is_noticed),
		CASE(test_http__client_that_leaves_while_it_waits_is_noticed_when_woken),
		CASE(test_http__alarm_lets_a_waiting_exchange_give_up),
		CASE(test_http__exchange_may_go_on_waiting_after_an_alarm),
		CASE(test_http__slow_clients_are_shown_the_door),
		CASE(test_http__head_that_drips_in_is_cut_off),
		CASE(test_http__client_that_does_not_read_its_answer_is_cut_off),
		CASE(test_http__idle_connection_gives_way_to_a_new_one),
		CASE(test_http__silent_connections_hurt_nobody),
		CASE(test_http__connections_without_request_hurt_nobody),
		CASE(test_http__connections_nobody_vouched_for_hurt_nobody),
		CASE(test_http__newcomers_have_their_time_of_grace),
		CASE(test_http__client_vouched_for_does_not_count_among_strangers),
		CASE(test_http__new_connection_is_closed_where_all_are_busy),
		CASE(test_http__crowd_that_speaks_at_once_is_heard),
		CASE(test_http__drain_lets_everybody_finish),
		CASE(test_http__leaving_server_sends_connections_away),
		CASE(test_http__drained_server_takes_no_connection),
		CASE(test_http__drain_says_whether_connections_are_left),
		CASE(test_http__end_cuts_all_but_what_waits_for_its_operation),
		CASE(test_http__head_of_an_answer_that_is_too_long_is_cut_rather_than_lost),
		CASE(test_http__statistics_count),
		CASE(test_http__port_in_use_is_said),
	};
	return run_both_ways(tests);
}
