#include "tests/unit/http_world.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

struct world world;
bool use_tls;
char *pki, *server_cert, *server_key, *ca_cert;

size_t list_length(const struct list *head)
{
	size_t n = 0;
	list_for_each(it, head) {
		n++;
	}
	return n;
}

static struct job *job_of(struct http_exchange *x)
{
	struct job *job = http_context(x);
	if (!job) {
		job = arena_new(http_arena(x), struct job);
		job->x = x;
		list_init(&job->link);
		http_set_context(x, job);
	}
	return job;
}

static void say_hello(struct http_exchange *x)
{
	http_add_header(x, "Content-Type", STR("text/plain"));
	http_reply(x, 200, STR("hello\n"));
}

static void say_headers(struct http_exchange *x)
{
	for (unsigned i = 0; i < 1000; i++) {
		http_add_header(x, "X-Many", arena_printf(http_arena(x), "%095u", i));
	}
	http_reply(x, 200, http_body(x));
}

static void say_known(struct http_exchange *x)
{
	http_vouch(x);
	http_reply(x, 200, STR("known\n"));
}

static void say_target(struct http_exchange *x)
{
	http_reply(x, 200, http_target(x));
}

static void say_header(struct http_exchange *x)
{
	http_reply(x, 200, http_header(x, "x-test"));
}

static void say_nothing(struct http_exchange *x)
{
	http_reply(x, 204, (struct str){NULL, 0});
}

static void echo(struct http_exchange *x)
{
	if (http_body_too_large(x)) {
		http_reply(x, 413, STR("too large\n"));
	} else {
		http_reply(x, 200, http_body(x));
	}
}

static void say_peer(struct http_exchange *x)
{
	const struct http_peer *p = http_peer(x);
	struct arena *a = http_arena(x);
	struct str text = arena_printf(a, "tls=%d sent=%d verified=%d front=%d cn=" STR_FMT, p->is_tls, p->has_certificate,
		p->is_verified, p->is_front_proxy, STR_ARG(p->common_name));
	for (size_t i = 0; i < p->n_organizations; i++) {
		text = arena_printf(a, STR_FMT " o=" STR_FMT, STR_ARG(text), STR_ARG(p->organizations[i]));
	}
	http_reply(x, 200, arena_printf(a, STR_FMT " problem=" STR_FMT, STR_ARG(text), STR_ARG(p->problem)));
}

static void inject(struct http_exchange *x)
{
	http_add_header(x, "X-Good", STR("yes"));
	http_add_header(x, "X-Evil", STR("a\r\nX-Injected: b"));
	say_hello(x);
}

char pattern(size_t i)
{
	return (char)('a' + i * 7 % 26);
}

/* /parts/COUNT/SIZE */
static void send_parts(struct http_exchange *x)
{
	char *end;
	size_t count = strtoul(http_target(x).p + strlen("/parts/"), &end, 10), size = strtoul(end + 1, NULL, 10);
	struct bytes **parts = arena_array(http_arena(x), struct bytes *, count);
	for (size_t i = 0; i < count; i++) {
		parts[i] = bytes_new(size);
		for (size_t j = 0; j < size; j++) {
			parts[i]->p[j] = pattern(i * size + j);
		}
	}
	http_reply_bytes(x, 200, parts, count);
}

static void wait_at_gate(struct http_exchange *x)
{
	struct job *job = job_of(x);
	bool is_ready;
	LOCKED(is_ready = job->is_ready);
	if (is_ready) {
		http_reply(x, 200, STR("open\n"));
		return;
	}
	http_suspend(x);
	LOCKED(list_append(&world.gated, &job->link));
}

void open_gate(void)
{
	struct list gated;
	list_init(&gated);
	LOCKED(list_splice(&gated, &world.gated));
	list_for_each_safe(it, &gated) {
		struct job *job = list_entry(it, struct job, link);
		struct http_exchange *x = job->x;
		list_remove(it);
		LOCKED(job->is_ready = true);
		http_wake(x);
	}
}

static void be_hurried(struct http_exchange *x)
{
	struct job *job = job_of(x);
	if (job->is_ready) {
		http_reply(x, 200, STR("later\n"));
		return;
	}
	http_suspend(x);
	LOCKED(list_append(&world.hurried, &job->link));
}

static void *waker_main(void *arg)
{
	for (;;) {
		struct job *job = NULL;
		pthread_mutex_lock(&world.lock);
		while (list_is_empty(&world.hurried) && !world.are_wakers_stopping) {
			pthread_cond_wait(&world.changed, &world.lock);
		}
		if (!list_is_empty(&world.hurried)) {
			job = list_entry(world.hurried.next, struct job, link);
			list_remove(&job->link);
		}
		pthread_mutex_unlock(&world.lock);
		if (!job) {
			return arg;
		}
		LOCKED(job->is_ready = true);
		http_wake(job->x);
	}
}

/* Suspended with an alarm: /alarm takes its operation back and answers, /patience goes on waiting. */
static void be_alarmed(struct http_exchange *x)
{
	bool is_new = !http_context(x);
	struct job *job = job_of(x);
	if (is_new) {
		http_suspend(x);
		LOCKED(list_append(&world.gated, &job->link));
		http_set_alarm(x, clock_mono_ms() + 150);
		return;
	}
	LOCKED(world.n_alarms++);
	bool takes_back = str_is(http_target(x), "/alarm"), is_ready;
	LOCKED({
		is_ready = job->is_ready;
		if (takes_back && !is_ready) {
			list_remove(&job->link);
		}
	});
	if (is_ready) {
		http_reply(x, 200, STR("open\n"));
	} else if (takes_back) {
		http_reply(x, 504, STR("too late\n"));
	}
}

static char event_byte(uint64_t at)
{
	static _Thread_local char event[EVENT_SIZE + 1];
	static _Thread_local uint64_t number = UINT64_MAX;
	if (number != at / EVENT_SIZE) {
		number = at / EVENT_SIZE;
		snprintf(event, sizeof(event), "event %-57lu\n", (unsigned long)number);
	}
	return event[at % EVENT_SIZE];
}

static ssize_t read_events(void *ctx, struct http_exchange *x, char *p, size_t max)
{
	struct job *job = ctx;
	size_t n = 0;
	bool is_over;
	pthread_mutex_lock(&world.lock);
	uint64_t until = world.n_events * EVENT_SIZE;
	is_over = world.is_over;
	pthread_mutex_unlock(&world.lock);
	for (; n < max && job->at < until; n++, job->at++) {
		p[n] = event_byte(job->at);
	}
	return n || !(is_over || http_is_draining(x)) ? (ssize_t)n : -1;
}

static void events_closed(void *ctx, struct http_exchange *x _unused_)
{
	struct job *job = ctx;
	LOCKED({
		list_remove(&job->link);
		world.n_closed++;
	});
}

static const struct http_stream_ops event_ops = {read_events, events_closed};

static void stream(struct http_exchange *x)
{
	bool is_list = str_is(http_target(x), "/list");
	struct job *job = job_of(x);
	http_reply_stream(
		x, 200, is_list ? (uint64_t)LIST_EVENTS * EVENT_SIZE : HTTP_LENGTH_UNKNOWN, !is_list, &event_ops, job);
	LOCKED(list_append(&world.streams, &job->link));
	http_stream_wake(x);
}

void feed(uint64_t n)
{
	pthread_mutex_lock(&world.lock);
	world.n_events += n;
	list_for_each(it, &world.streams) {
		http_stream_wake(list_entry(it, struct job, link)->x);
	}
	pthread_mutex_unlock(&world.lock);
}

void end_streams(void)
{
	LOCKED(world.is_over = true);
	feed(0);
}

static ssize_t read_one_then_cut(void *ctx, struct http_exchange *x _unused_, char *p, size_t max _unused_)
{
	struct job *job = ctx;
	*p = 'x';
	return job->at++ ? -2 : 1;
}

static const struct http_stream_ops cutting_ops = {read_one_then_cut, events_closed};

static void stream_and_cut(struct http_exchange *x)
{
	http_reply_stream(x, 200, HTTP_LENGTH_UNKNOWN, true, &cutting_ops, job_of(x));
}

static const struct {
	const char *prefix;
	void (*on_request)(struct http_exchange *x);
} targets[] = {
	{"/hello", say_hello},
	{"/echo", echo},
	{"/head/", echo},
	{"/header", say_header},
	{"/many", say_headers},
	{"/known", say_known},
	{"/nothing", say_nothing},
	{"/who", say_peer},
	{"/parts", send_parts},
	{"/gate", wait_at_gate},
	{"/later", be_hurried},
	{"/alarm", be_alarmed},
	{"/patience", be_alarmed},
	{"/stream", stream},
	{"/list", stream},
	{"/cut", stream_and_cut},
	{"/inject", inject},
	{"", say_target},
};

/* /head...: waits before its body is read, for a waker or, /head/gate, for open_gate(). */
static bool waits_first(struct http_exchange *x)
{
	bool is_ready;
	if (!str_starts(http_target(x), STR("/head/"))) {
		return false;
	}
	struct job *job = job_of(x);
	LOCKED(is_ready = job->is_ready);
	if (is_ready) {
		return false;
	}
	http_suspend(x);
	LOCKED({
		list_append(str_is(http_target(x), "/head/gate") ? &world.gated : &world.hurried, &job->link);
		pthread_cond_signal(&world.changed);
	});
	return true;
}

static void on_headers(void *ctx _unused_, struct http_exchange *x)
{
	LOCKED(world.n_announced++);
	if (waits_first(x)) {
		return;
	}
	if (str_is(http_target(x), "/head/refuse")) {
		http_reply(x, 401, STR("who are you\n"));
	} else if (str_is(http_target(x), "/early")) {
		http_reply(x, 401, STR("who are you\n"));
	} else if (http_body_too_large(x)) {
		http_reply(x, 413, STR("too large\n"));
	}
}

static void on_request(void *ctx _unused_, struct http_exchange *x)
{
	LOCKED(world.n_requests++);
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		if (str_starts(http_target(x), str_of(targets[i].prefix))) {
			targets[i].on_request(x);
			return;
		}
	}
}

static void on_done(void *ctx _unused_, struct http_exchange *x)
{
	LOCKED({
		world.n_done++;
		world.n_cut += http_was_cut(x);
		world.n_sent += http_sent(x);
	});
}

static void on_notice(void *ctx _unused_, struct str text)
{
	assert_true(text.n > 0);
	LOCKED({
		world.n_notices++;
		snprintf(world.notice, sizeof(world.notice), STR_FMT, STR_ARG(text));
	});
}

/* Setting up. */

static int try_start(const struct http_options *wanted, struct buf *err)
{
	struct http_options o = wanted ? *wanted : (struct http_options){0};
	o.bind_address = "127.0.0.1";
	o.handler = (struct http_handler){
		.on_headers = on_headers, .on_request = on_request, .on_done = on_done, .on_notice = on_notice};
	if (use_tls) {
		o.cert_file = o.cert_file ? o.cert_file : server_cert;
		o.key_file = o.key_file ? o.key_file : server_key;
		o.client_ca_file = o.client_ca_file || o.is_trust_set_later ? o.client_ca_file : ca_cert;
	}
	return http_server_new(&world.server, &o, err);
}

void start(const struct http_options *wanted)
{
	struct buf err;
	buf_init(&err, 1000);
	if (try_start(wanted, &err) < 0) {
		fail_msg("%s", err.p);
	}
	buf_done(&err);
}

uint16_t port(void)
{
	return http_server_port(world.server);
}

void dial(struct client *c)
{
	client_open(c, port(), use_tls ? &(struct client_tls){0} : NULL);
}

void assert_no_start(const struct http_options *o, int error, const char *sentence)
{
	struct buf err;
	buf_init(&err, 1000);
	assert_int_equal(try_start(o, &err), error);
	if (!str_contains(buf_str(&err), str_of(sentence))) {
		fail_msg("%s", err.p);
	}
	buf_done(&err);
	world.server = NULL;
}

int world_setup(void **state _unused_)
{
	memset(&world, 0, sizeof(world));
	pthread_mutex_init(&world.lock, NULL);
	pthread_cond_init(&world.changed, NULL);
	list_init(&world.gated);
	list_init(&world.hurried);
	list_init(&world.streams);
	for (size_t i = 0; i < N_WAKERS; i++) {
		pthread_create(&world.wakers[i], NULL, waker_main, NULL);
	}
	return 0;
}

int world_teardown(void **state _unused_)
{
	world.server = http_server_free(world.server);
	LOCKED(world.are_wakers_stopping = true);
	for (size_t i = 0; i < N_WAKERS; i++) {
		pthread_join(world.wakers[i], NULL);
	}
	pthread_cond_destroy(&world.changed);
	pthread_mutex_destroy(&world.lock);
	return 0;
}

void assert_answer(struct client *c, const char *request, unsigned status, const char *body)
{
	struct answer a;
	client_ask(c, request, &a);
	assert_int_equal(a.status, status);
	if (body) {
		assert_str(buf_str(&a.body), body);
	}
	answer_clear(&a);
}

void assert_next_answer(struct client *c, unsigned status, const char *body)
{
	assert_answer(c, "", status, body);
}

void await_connections(uint64_t n)
{
	struct http_stats stats;
	do {
		http_server_stats(world.server, &stats);
	} while (stats.connections_open != n);
}

void await_end(struct client *c)
{
	while (client_receive(c)) {
	}
}

int server_end(const struct client *c)
{
	struct sockaddr_in own, peer;
	socklen_t size = sizeof(own);
	assert_int_equal(getsockname(c->fd, (struct sockaddr *)&own, &size), 0);
	for (int fd = 0; fd < 1024; fd++) {
		size = sizeof(peer);
		if (!getpeername(fd, (struct sockaddr *)&peer, &size) && size == sizeof(peer) &&
			peer.sin_port == own.sin_port) {
			return fd;
		}
	}
	fail_msg("nobody is connected to port %u", ntohs(own.sin_port));
	return -1;
}

void open_stream(struct client *c)
{
	struct answer a;
	dial(c);
	client_say(c, GET("/stream"));
	assert_true(client_read_head(c, &a));
	assert_int_equal(a.status, 200);
	answer_clear(&a);
}

void make_cert(const char *name, const char *issuer, const char *common_name, bool is_server)
{
	pki_make(pki, &(struct pki_spec){.name = name, .issuer = issuer, .common_name = common_name, .is_server = is_server});
}

int open_pki(void **state _unused_)
{
	pki = pki_open();
	make_cert("ca", NULL, "CA", false);
	make_cert("other", NULL, "other CA", false);
	make_cert("server", "ca", "localhost", true);
	make_cert("stranger", "other", "stranger", false);
	pki_make(pki, &(struct pki_spec){.name = "alice", .issuer = "ca", .common_name = "alice", .organizations = {"system:masters", "devs"}});
	pki_make(pki, &(struct pki_spec){.name = "expired", .issuer = "ca", .common_name = "alice", .ends_in_s = -86400});
	server_cert = pki_path(pki, "server", "crt");
	server_key = pki_path(pki, "server", "key");
	ca_cert = pki_path(pki, "ca", "crt");
	use_tls = true;
	return 0;
}

int close_pki(void **state _unused_)
{
	mem_free(server_cert);
	mem_free(server_key);
	mem_free(ca_cert);
	pki_close(pki);
	return 0;
}
