/* Exchanges over HTTP/2: many on one connection, waiting and woken by other threads, cut short by their client, and left to end. The client is
 * nghttp2's. */
#include "tests/unit/http_world.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

enum { MAX_ASKED = 400, NOT_YET = -1 };

struct asked {
	int32_t id;
	unsigned status;
	int64_t code; /* of the end; NOT_YET: there was none */
	struct buf body;
	struct str sending;
	size_t sent;
};

struct h2_client {
	struct client c;
	nghttp2_session *session;
	struct asked asked[MAX_ASKED];
	size_t n, n_ended;
	bool is_over;   /* the connection has ended */
	unsigned n_goaways;
	uint32_t goaway_code;
};

/* What nghttp2 calls. */

static ssize_t on_send(nghttp2_session *session _unused_, const uint8_t *p, size_t n, int flags _unused_, void *arg)
{
	struct h2_client *h = arg;
	return client_try_send(&h->c, (struct str){(const char *)p, n}) ? (ssize_t)n : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n, const uint8_t *value,
	size_t value_n, uint8_t flags _unused_, void *arg _unused_)
{
	struct asked *a = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	uint64_t status;
	if (a && str_is((struct str){(const char *)name, name_n}, ":status") &&
		str_to_uint64((struct str){(const char *)value, value_n}, &status)) {
		a->status = (unsigned)status;
	}
	return 0;
}

static int on_chunk(
	nghttp2_session *session, uint8_t flags _unused_, int32_t id, const uint8_t *p, size_t n, void *arg _unused_)
{
	struct asked *a = nghttp2_session_get_stream_user_data(session, id);
	if (a) {
		buf_add(&a->body, p, n);
	}
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
	struct h2_client *h = arg;
	struct asked *a = nghttp2_session_get_stream_user_data(session, id);
	if (a) {
		a->code = code;
		h->n_ended++;
	}
	return 0;
}

static int on_frame(nghttp2_session *session _unused_, const nghttp2_frame *frame, void *arg)
{
	struct h2_client *h = arg;
	if (frame->hd.type == NGHTTP2_GOAWAY) {
		h->n_goaways++;
		h->goaway_code = frame->goaway.error_code;
	}
	return 0;
}

static ssize_t on_body(nghttp2_session *session _unused_, int32_t id _unused_, uint8_t *p, size_t max, uint32_t *flags,
	nghttp2_data_source *source, void *arg _unused_)
{
	struct asked *a = source->ptr;
	size_t n = MIN(max, a->sending.n - a->sent);
	memcpy(p, a->sending.p + a->sent, n);
	a->sent += n;
	if (a->sent == a->sending.n) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	return (ssize_t)n;
}

/* The client. */

static struct h2_client *h2_open(void)
{
	struct h2_client *h = mem_new(struct h2_client);
	nghttp2_session_callbacks *callbacks;
	gnutls_datum_t protocol;
	client_open(&h->c, port(), &(struct client_tls){.offers_http2 = true});
	assert_int_equal(gnutls_alpn_get_selected_protocol(h->c.session, &protocol), 0);
	assert_str(((struct str){(char *)protocol.data, protocol.size}), "h2");
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_chunk);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_client_new(&h->session, callbacks, h);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, NULL, 0);
	return h;
}

static void h2_close(struct h2_client *h)
{
	for (size_t i = 0; i < h->n; i++) {
		buf_done(&h->asked[i].body);
	}
	nghttp2_session_del(h->session);
	client_close(&h->c);
	mem_free(h);
}

static struct asked *submit(struct h2_client *h, const char *method, const char *target, struct str body)
{
	const char *const texts[][2] = {
		{":method", method}, {":scheme", "https"}, {":path", target}, {":authority", "x"}, {"X-TEST", "seen"}};
	struct asked *a = &h->asked[h->n++];
	nghttp2_nv fields[ARRAY_SIZE(texts)];
	nghttp2_data_provider provider = {.source.ptr = a, .read_callback = on_body};
	assert_true(h->n <= MAX_ASKED);
	*a = (struct asked){.code = NOT_YET, .sending = body};
	buf_init(&a->body, 16 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		fields[i] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)texts[i][0],
			.namelen = strlen(texts[i][0]),
			.value = (uint8_t *)(uintptr_t)texts[i][1],
			.valuelen = strlen(texts[i][1])};
	}
	a->id = nghttp2_submit_request(h->session, NULL, fields, ARRAY_SIZE(fields), body.n ? &provider : NULL, a);
	assert_true(a->id > 0);
	return a;
}

static struct asked *get(struct h2_client *h, const char *target)
{
	return submit(h, "GET", target, (struct str){NULL, 0});
}

/* Sends what there is, and takes something that comes. */
static void turn(struct h2_client *h)
{
	if (nghttp2_session_send(h->session) < 0) {
		h->is_over = true;
	}
	if (!h->is_over && !client_receive(&h->c)) {
		h->is_over = true;
	}
	struct str in = {h->c.in.p + h->c.at, h->c.in.n - h->c.at};
	if (in.n && nghttp2_session_mem_recv(h->session, (const uint8_t *)in.p, in.n) < 0) {
		h->is_over = true;
	}
	buf_clear(&h->c.in);
	h->c.at = 0;
}

#define turn_until(h, condition)                                         \
	do {                                                             \
		while (!(condition) && !(h)->is_over) {                  \
			turn(h);                                         \
		}                                                        \
		assert_true(condition);                                  \
		nghttp2_session_send((h)->session);                      \
	} while (0)

static void assert_asked(const struct asked *a, unsigned status, const char *body)
{
	assert_int_equal(a->code, NGHTTP2_NO_ERROR);
	assert_int_equal(a->status, status);
	if (body) {
		assert_str(buf_str(&a->body), body);
	}
}

/* A body of that size, for the caller to free. */
static char *make_body(size_t n)
{
	char *p = mem_alloc(n);
	for (size_t i = 0; i < n; i++) {
		p[i] = pattern(i);
	}
	return p;
}

/* Tests. */

static void test_h2__requests_of_a_connection_are_answered(void **state _unused_)
{
	start(NULL);
	struct h2_client *h = h2_open();
	struct asked *hello = get(h, "/hello"), *target = get(h, "/a?b=%20&c"), *header = get(h, "/header"),
		     *nothing = get(h, "/nothing"), *head = submit(h, "HEAD", "/hello", STR("")), *who = get(h, "/who"),
		     *early = submit(h, "POST", "/early", STR("unread")), *cut = get(h, "/cut");
	turn_until(h, h->n_ended == h->n);
	assert_asked(hello, 200, "hello\n");
	assert_asked(target, 200, "/a?b=%20&c");
	assert_asked(header, 200, "seen");
	assert_asked(nothing, 204, "");
	assert_asked(head, 200, "");
	assert_asked(who, 200, "tls=1 sent=0 verified=0 front=0 cn= problem=");
	assert_asked(early, 401, "who are you\n");
	assert_int_equal(cut->code, NGHTTP2_INTERNAL_ERROR);
	h2_close(h);
}

static void test_h2__bodies_of_many_sizes_arrive_whole(void **state _unused_)
{
	static const size_t sizes[] = {1, 100, 16383, 16384, 16385, 100000, 300000, 3145728};
	_cleanup_(mem_freep) char *body = make_body(3145728);
	start(NULL);
	struct h2_client *h = h2_open();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		submit(h, "POST", i % 2 ? "/head/echo" : "/echo", (struct str){body, sizes[i]});
	}
	turn_until(h, h->n_ended == h->n);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_asked(&h->asked[i], 200, NULL);
		assert_int_equal(h->asked[i].body.n, sizes[i]);
		assert_memory_equal(h->asked[i].body.p, body, sizes[i]);
	}
	h2_close(h);
}

static void test_h2__pieces_are_put_together(void **state _unused_)
{
	start(NULL);
	struct h2_client *h = h2_open();
	for (size_t i = 0; i < 20; i++) {
		get(h, i % 2 ? "/parts/300/777" : "/parts/3/5");
	}
	turn_until(h, h->n_ended == h->n);
	for (size_t i = 0; i < h->n; i++) {
		size_t n = i % 2 ? (size_t)300 * 777 : 15;
		assert_asked(&h->asked[i], 200, NULL);
		assert_int_equal(h->asked[i].body.n, n);
		for (size_t j = 0; j < n; j++) {
			assert_true(h->asked[i].body.p[j] == pattern(j));
		}
	}
	h2_close(h);
}

static void test_h2__storm_of_wakes_loses_none(void **state _unused_)
{
	start(NULL);
	struct h2_client *h = h2_open();
	for (size_t round = 0; round < 4; round++) {
		for (size_t i = 0; i < 90; i++) {
			get(h, i % 8 ? "/later" : "/list");
		}
		LOCKED(world.n_events = LIST_EVENTS);
		turn_until(h, h->n_ended == h->n);
	}
	for (size_t i = 0; i < h->n; i++) {
		if (h->asked[i].body.n < 100) {
			assert_asked(&h->asked[i], 200, "later\n");
		} else {
			assert_asked(&h->asked[i], 200, NULL);
			assert_int_equal(h->asked[i].body.n, LIST_EVENTS * EVENT_SIZE);
		}
	}
	h2_close(h);
}

static bool has_each(const struct h2_client *h, size_t n)
{
	bool has = true;
	for (size_t i = 0; i < h->n; i++) {
		has &= h->asked[i].body.n >= n;
	}
	return has;
}

static void test_h2__every_watch_of_a_connection_gets_everything(void **state _unused_)
{
	enum { WATCHES = 60, ROUNDS = 40, EVENTS = 25 };
	start(NULL);
	struct h2_client *h = h2_open();
	for (size_t i = 0; i < WATCHES; i++) {
		get(h, "/stream");
	}
	nghttp2_session_send(h->session);
	await(list_length(&world.streams) == WATCHES);
	for (size_t i = 1; i <= ROUNDS; i++) {
		feed(EVENTS);
		if (i % 10 == 0) {
			turn_until(h, has_each(h, i * EVENTS * EVENT_SIZE));
		}
	}
	end_streams();
	turn_until(h, h->n_ended == WATCHES);
	for (size_t i = 0; i < WATCHES; i++) {
		assert_asked(&h->asked[i], 200, NULL);
		assert_int_equal(h->asked[i].body.n, ROUNDS * EVENTS * EVENT_SIZE);
		assert_memory_equal(h->asked[i].body.p, h->asked[0].body.p, h->asked[0].body.n);
	}
	h2_close(h);
}

/* While the handler waits, the other streams of its connection have their windows. */
static void test_h2__bodies_come_in_while_handlers_wait(void **state _unused_)
{
	enum { WAITING = 20, SIZE = 40000 };
	_cleanup_(mem_freep) char *body = make_body(1 << 20);
	start(NULL);
	struct h2_client *h = h2_open();
	for (size_t i = 0; i < WAITING; i++) {
		submit(h, "POST", "/head/gate", (struct str){body, SIZE});
	}
	struct asked *other = submit(h, "POST", "/echo", (struct str){body, 1 << 20});
	turn_until(h, other->code != NOT_YET);
	assert_int_equal(other->body.n, 1 << 20);
	await(list_length(&world.gated) == WAITING);
	open_gate();
	turn_until(h, h->n_ended == h->n);
	for (size_t i = 0; i < WAITING; i++) {
		assert_asked(&h->asked[i], 200, NULL);
		assert_int_equal(h->asked[i].body.n, SIZE);
	}
	h2_close(h);
}

/* A connection holds 1 MiB of bodies whose handlers wait. These five are more, but never at once. Each is larger than its window, so
 * the rest comes only after the handler has taken what was held. */
static void test_h2__held_bodies_make_room_for_the_next(void **state _unused_)
{
	enum { ROUNDS = 6, SIZE = 500 << 10 };
	_cleanup_(mem_freep) char *body = make_body(SIZE);
	start(NULL);
	struct h2_client *h = h2_open();
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct asked *held = submit(h, "POST", "/head/gate", (struct str){body, SIZE});
		nghttp2_session_send(h->session);
		await(list_length(&world.gated) == 1);
		struct asked *behind = get(h, "/hello"); /* answered when what is in front of it has come */
		turn_until(h, behind->code != NOT_YET);
		open_gate();
		turn_until(h, held->code != NOT_YET);
		assert_asked(held, 200, NULL);
		assert_int_equal(held->body.n, SIZE);
		assert_memory_equal(held->body.p, body, SIZE);
	}
	h2_close(h);
}

/* Whose client has lost interest keeps its place until its handler is done: resets do not multiply handlers. */
static void test_h2__handlers_never_exceed_the_limit(void **state _unused_)
{
	enum { LIMIT = 7 };
	start(&(struct http_options){.http2_max_streams = LIMIT});
	struct h2_client *h = h2_open();
	for (size_t i = 0; i < LIMIT; i++) {
		get(h, "/gate");
	}
	nghttp2_session_send(h->session);
	await(list_length(&world.gated) == LIMIT);
	for (size_t i = 0; i < LIMIT; i++) {
		nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, h->asked[i].id, NGHTTP2_CANCEL);
	}
	nghttp2_session_send(h->session);
	struct asked *refused = get(h, "/hello");
	turn_until(h, refused->code != NOT_YET);
	assert_int_equal(refused->code, NGHTTP2_REFUSED_STREAM);
	assert_int_equal(world.n_announced, LIMIT);

	open_gate();
	await(world.n_done == LIMIT);
	assert_int_equal(world.n_cut, LIMIT);
	struct asked *served = get(h, "/hello");
	turn_until(h, served->code != NOT_YET);
	assert_asked(served, 200, "hello\n");
	h2_close(h);
}

static void test_h2__handlers_outlive_their_connection(void **state _unused_)
{
	start(NULL);
	struct h2_client *h = h2_open();
	for (size_t i = 0; i < 30; i++) {
		get(h, i % 3 == 0 ? "/stream" : i % 3 == 1 ? "/gate" : "/patience");
	}
	nghttp2_session_send(h->session);
	await(list_length(&world.gated) == 20 && list_length(&world.streams) == 10);
	h2_close(h);
	await(world.n_closed == 10);
	open_gate();
	await(world.n_done == 30);
	assert_int_equal(world.n_cut, 30);
	await_connections(0);
}

static void test_h2__alarms_ring(void **state _unused_)
{
	start(NULL);
	struct h2_client *h = h2_open();
	struct asked *late = get(h, "/alarm"), *patient = get(h, "/patience");
	turn_until(h, late->code != NOT_YET);
	assert_asked(late, 504, "too late\n");
	await(world.n_alarms >= 2);
	open_gate();
	turn_until(h, patient->code != NOT_YET);
	assert_asked(patient, 200, "open\n");
	h2_close(h);
}

static void *drain_main(void *arg)
{
	bool *ret = arg;
	*ret = http_server_drain(world.server, PATIENCE_S * 1000);
	return NULL;
}

/* What was asked is answered; then the connection ends, after two GOAWAYs. */
static void test_h2__drain_loses_nothing(void **state _unused_)
{
	pthread_t drainer;
	bool has_drained = false;
	start(NULL);
	struct h2_client *h = h2_open();
	struct asked *gated = get(h, "/gate"), *watch = get(h, "/stream");
	nghttp2_session_send(h->session);
	await(list_length(&world.gated) == 1 && list_length(&world.streams) == 1);
	pthread_create(&drainer, NULL, drain_main, &has_drained);
	turn_until(h, h->n_goaways == 2 && watch->code != NOT_YET);
	assert_int_equal(h->goaway_code, NGHTTP2_NO_ERROR);
	assert_asked(watch, 200, NULL);
	open_gate();
	turn_until(h, gated->code != NOT_YET);
	assert_asked(gated, 200, "open\n");
	pthread_join(drainer, NULL);
	assert_true(has_drained);
	h2_close(h);
}

static void test_h2__floods_end_their_connection_and_no_other(void **state _unused_)
{
	start(NULL);
	struct h2_client *h = h2_open(), *other = h2_open();
	while (!h->is_over) {
		for (size_t i = 0; i < 1000; i++) {
			nghttp2_submit_ping(h->session, NGHTTP2_FLAG_NONE, NULL);
		}
		turn(h);
	}
	struct asked *hello = get(other, "/hello");
	turn_until(other, hello->code != NOT_YET);
	assert_asked(hello, 200, "hello\n");
	struct http_stats stats;
	http_server_stats(world.server, &stats);
	assert_int_equal(stats.http2_abuses, 1);
	h2_close(other);
	h2_close(h);
}

static void test_h2__chance_sends_clients_away(void **state _unused_)
{
	start(&(struct http_options){.goaway_chance = 1});
	struct h2_client *h = h2_open();
	struct asked *hello = get(h, "/hello");
	turn_until(h, h->n_goaways > 0 && hello->code != NOT_YET);
	assert_asked(hello, 200, "hello\n");
	while (!h->is_over) {
		turn(h);
	}
	assert_int_equal(h->goaway_code, NGHTTP2_NO_ERROR);
	h2_close(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_h2__requests_of_a_connection_are_answered),
		CASE(test_h2__bodies_of_many_sizes_arrive_whole),
		CASE(test_h2__pieces_are_put_together),
		CASE(test_h2__storm_of_wakes_loses_none),
		CASE(test_h2__every_watch_of_a_connection_gets_everything),
		CASE(test_h2__bodies_come_in_while_handlers_wait),
		CASE(test_h2__held_bodies_make_room_for_the_next),
		CASE(test_h2__handlers_never_exceed_the_limit),
		CASE(test_h2__handlers_outlive_their_connection),
		CASE(test_h2__alarms_ring),
		CASE(test_h2__drain_loses_nothing),
		CASE(test_h2__floods_end_their_connection_and_no_other),
		CASE(test_h2__chance_sends_clients_away),
	};
	return cmocka_run_group_tests_name("HTTP/2", tests, open_pki, close_pki);
}
