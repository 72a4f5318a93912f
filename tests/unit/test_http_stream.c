#include "tests/unit/http_world.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void read_events_until(struct client *c, struct buf *body, uint64_t n)
{
	while (body->n < n * EVENT_SIZE) {
		assert_true(client_read_chunk(c, body));
	}
}

static void assert_events(const struct buf *body, uint64_t n)
{
	assert_int_equal(body->n, n * EVENT_SIZE);
	for (uint64_t i = 0; i < n; i++) {
		char event[EVENT_SIZE + 1];
		snprintf(event, sizeof(event), "event %-57lu\n", (unsigned long)i);
		assert_memory_equal(body->p + i * EVENT_SIZE, event, EVENT_SIZE);
	}
}

static void test_http__stream_sends_what_there_is_when_it_is_there(void **state _unused_)
{
	struct client c;
	struct buf body;
	start(NULL);
	buf_init(&body, 1 << 20);
	open_stream(&c);
	for (unsigned i = 1; i <= 50; i++) {
		feed(1);
		read_events_until(&c, &body, i);
	}
	end_streams();
	assert_false(client_read_chunk(&c, &body));
	assert_events(&body, 50);
	/* And the connection is as good as new. */
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	client_close(&c);
	buf_done(&body);
	await(world.n_done == 2);
	assert_int_equal(world.n_closed, 1);
	assert_int_equal(world.n_cut, 0);
	assert_int_equal(world.n_sent, 50 * EVENT_SIZE + 6);
}

/* A socket with TCP_CORK keeps what is no whole segment for 200 ms. */
static void test_http__stream_is_not_held_back_on_a_connection_in_use(void **state _unused_)
{
	struct client c;
	struct answer a;
	struct buf body;
	int is_corked = -1;
	socklen_t size = sizeof(is_corked);
	start(NULL);
	buf_init(&body, 1 << 20);
	dial(&c);
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	client_send(&c, STR(GET("/stream")));
	assert_true(client_read_head(&c, &a));
	feed(1);
	read_events_until(&c, &body, 1);
	assert_int_equal(getsockopt(server_end(&c), IPPROTO_TCP, TCP_CORK, &is_corked, &size), 0);
	assert_int_equal(is_corked, 0);
	answer_clear(&a);
	client_close(&c);
	buf_done(&body);
}

static void *watch(void *arg)
{
	struct client c;
	struct buf body;
	buf_init(&body, 1 << 20);
	open_stream(&c);
	while (client_read_chunk(&c, &body)) {
	}
	assert_events(&body, 500);
	buf_done(&body);
	client_close(&c);
	return arg;
}

static void test_http__every_one_of_many_streams_gets_everything(void **state _unused_)
{
	enum { N_CLIENTS = 200 };
	pthread_t threads[N_CLIENTS];
	start(NULL);
	for (size_t i = 0; i < N_CLIENTS; i++) {
		pthread_create(&threads[i], NULL, watch, NULL);
	}
	for (unsigned i = 0; i < 500; i++) {
		feed(1);
	}
	await(list_length(&world.streams) == N_CLIENTS);
	end_streams();
	for (size_t i = 0; i < N_CLIENTS; i++) {
		pthread_join(threads[i], NULL);
	}
	await(world.n_done == N_CLIENTS);
	assert_int_equal(world.n_closed, N_CLIENTS);
	struct http_stats stats;
	http_server_stats(world.server, &stats);
	assert_int_equal(stats.streams_open, 0);
}

static void test_http__slow_reader_gets_everything_in_the_end(void **state _unused_)
{
	enum { N = 500000 }; /* 30 MiB: more than sockets hold */
	struct client slow, quick;
	struct buf body;
	start(&(struct http_options){.body_timeout_ms = 600000}); /* the quick one takes its time on a busy machine */
	buf_init(&body, (size_t)N * EVENT_SIZE);
	open_stream(&slow);
	open_stream(&quick);
	feed(N);
	read_events_until(&quick, &body, N);
	assert_events(&body, N);
	buf_clear(&body);
	end_streams();
	while (client_read_chunk(&slow, &body)) {
	}
	assert_events(&body, N);
	buf_done(&body);
	client_close(&slow);
	client_close(&quick);
}

/* The socket takes what is kept aside piece by piece. */
static void test_http__small_socket_gets_each_byte_once(void **state _unused_)
{
	enum { N = 4000, SMALL = 2048 };
	struct client c;
	struct buf body;
	start(&(struct http_options){.body_timeout_ms = 600000});
	buf_init(&body, (size_t)N * EVENT_SIZE);
	open_stream(&c);
	assert_int_equal(setsockopt(server_end(&c), SOL_SOCKET, SO_SNDBUF, &(int){SMALL}, sizeof(int)), 0);
	assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &(int){SMALL}, sizeof(int)), 0);
	feed(N);
	end_streams();
	while (client_read_chunk(&c, &body)) {
	}
	assert_events(&body, N);
	buf_done(&body);
	client_close(&c);
}

static void test_http__stream_ends_when_its_client_leaves(void **state _unused_)
{
	struct client c;
	start(NULL);
	open_stream(&c);
	await(list_length(&world.streams) == 1);
	client_close(&c);
	await(world.n_done == 1);
	assert_int_equal(world.n_closed, 1);
	assert_int_equal(world.n_cut, 1);
}

static void test_http__ended_connections_are_gone_though_an_older_one_lives(void **state _unused_)
{
	static const char *const requests[] = {GET("/stream"), GET("/list"), GET("/cut"), "GET /cut HTTP/1.0\r\n\r\n",
		GET("/parts/1000/100000"), "GET /stream HTTP/1.0\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"};
	struct client old;
	start(&(struct http_options){.threads = 1});
	dial(&old);
	assert_answer(&old, GET("/hello"), 200, "hello\n");
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct client c;
		dial(&c);
		client_say(&c, requests[i]);
		await(world.n_announced == i + 2);
		client_close(&c);
		feed(1);
		await_connections(1);
	}
	assert_answer(&old, GET("/hello"), 200, "hello\n");
	client_close(&old);
}

static void test_http__client_that_leaves_in_the_middle_of_a_flood_ends_its_stream(void **state _unused_)
{
	struct client c;
	start(NULL);
	open_stream(&c);
	feed(500000);
	client_receive(&c);
	client_close(&c);
	await(world.n_done == 1);
	assert_int_equal(world.n_cut, 1);
}

static void test_http__stream_can_be_cut(void **state _unused_)
{
	struct client c;
	struct answer a;
	start(NULL);
	dial(&c);
	client_say(&c, GET("/cut"));
	assert_true(client_read_head(&c, &a));
	while (client_receive(&c)) {
	}
	assert_str(((struct str){c.in.p + c.at, c.in.n - c.at}), "1\r\nx\r\n");
	answer_clear(&a);
	client_close(&c);
	await(world.n_done == 1);
	assert_int_equal(world.n_cut, 1);
}

static void test_http__old_client_gets_a_stream_until_the_end(void **state _unused_)
{
	struct client c;
	struct answer a;
	start(NULL);
	feed(100);
	dial(&c);
	client_say(&c, "GET /stream HTTP/1.0\r\n\r\n");
	await(list_length(&world.streams) == 1);
	end_streams();
	client_ask(&c, "", &a);
	await(world.n_done == 1);
	assert_int_equal(world.n_cut, 0);
	assert_events(&a.body, 100);
	assert_int_equal(answer_header(&a, "Transfer-Encoding").n, 0);
	answer_clear(&a);
	client_close(&c);
}

static void test_http__stream_of_known_length_may_wait_too(void **state _unused_)
{
	struct client c;
	struct answer a;
	start(NULL);
	dial(&c);
	client_say(&c, GET("/list"));
	for (unsigned i = 0; i < LIST_EVENTS / 100; i++) {
		feed(100);
	}
	client_ask(&c, "", &a);
	assert_events(&a.body, LIST_EVENTS);
	answer_clear(&a);
	assert_answer(&c, GET("/hello"), 200, "hello\n");
	client_close(&c);
	await(world.n_done == 2);
	assert_int_equal(world.n_cut, 0);
}

static void test_http__stream_that_falls_short_is_cut(void **state _unused_)
{
	struct client c;
	struct answer a;
	start(NULL);
	dial(&c);
	feed(10);
	LOCKED(world.is_over = true);
	client_say(&c, GET("/list"));
	assert_true(client_read_answer(&c, &a));
	assert_false(a.is_complete);
	answer_clear(&a);
	client_close(&c);
	await(world.n_done == 1);
	assert_int_equal(world.n_cut, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_http__stream_sends_what_there_is_when_it_is_there),
		CASE(test_http__stream_is_not_held_back_on_a_connection_in_use),
		CASE(test_http__every_one_of_many_streams_gets_everything),
		CASE(test_http__slow_reader_gets_everything_in_the_end),
		CASE(test_http__small_socket_gets_each_byte_once),
		CASE(test_http__stream_ends_when_its_client_leaves),
		CASE(test_http__ended_connections_are_gone_though_an_older_one_lives),
		CASE(test_http__client_that_leaves_in_the_middle_of_a_flood_ends_its_stream),
		CASE(test_http__stream_can_be_cut),
		CASE(test_http__old_client_gets_a_stream_until_the_end),
		CASE(test_http__stream_of_known_length_may_wait_too),
		CASE(test_http__stream_that_falls_short_is_cut),
	};
	return run_both_ways(tests);
}
