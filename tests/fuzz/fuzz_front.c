/* What a client may send, all of it, to the real front end: server, libmicrohttpd and sockets. Each request that the handler gets is
 * written again in the plainest way: the server must understand the same. It says the same where the bytes come in small pieces, gives
 * one answer to each request, refuses in its own words, and nothing follows a refusal. */
#include "base/clock.h"
#include "server/http/http.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BODY_MAX = 3000,
	INPUT_MAX = 8192,
	LIMIT = 8 << 20,
	PATIENCE_MS = 60000,
};

/* The handler. */

/* What it has been asked on the connection in hand, one request behind the other; and the same as plain requests. */
static struct {
	pthread_mutex_t lock;
	struct buf heard, plain;
	unsigned n_headers, n_requests, n_done;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void clear_seen(void)
{
	pthread_mutex_lock(&seen.lock);
	buf_done(&seen.heard);
	buf_done(&seen.plain);
	buf_init(&seen.heard, LIMIT);
	buf_init(&seen.plain, LIMIT);
	seen.n_headers = seen.n_requests = seen.n_done = 0;
	pthread_mutex_unlock(&seen.lock);
}

static bool is_about_connection(struct str name)
{
	static const char *const names[] = {"Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect"};
	bool is_found = false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		is_found |= str_eq_nocase(name, str_of(names[i]));
	}
	return is_found;
}

static void write_fields(struct buf *b, const struct http_exchange *x)
{
	const struct http_header *fields;
	size_t n = http_headers(x, &fields);
	for (size_t i = 0; i < n; i++) {
		CHECK(fields[i].name.n > 0);
		if (!is_about_connection(fields[i].name)) {
			buf_add_str(b, fields[i].name);
			buf_adds(b, ": ");
			buf_add_str(b, fields[i].value);
			buf_adds(b, "\r\n");
		}
	}
}

static void write_request(struct buf *b, const struct http_exchange *x)
{
	struct str body = http_body(x);
	buf_add_str(b, http_method(x));
	buf_addc(b, ' ');
	buf_add_str(b, http_target(x));
	buf_printf(b, " HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n", body.n);
	write_fields(b, x);
	buf_adds(b, "\r\n");
	buf_add_str(b, body);
}

static void on_headers(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	CHECK(http_method(x).n > 0 && http_target(x).n > 0);
	pthread_mutex_lock(&seen.lock);
	seen.n_headers++;
	pthread_mutex_unlock(&seen.lock);
}

static void on_request(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	pthread_mutex_lock(&seen.lock);
	seen.n_requests++;
	if (!http_body_too_large(x)) {
		write_request(&seen.plain, x);
	}
	write_request(&seen.heard, x);
	buf_printf(&seen.heard, "\n%d\n", http_body_too_large(x));
	pthread_mutex_unlock(&seen.lock);
	http_reply(x, http_body_too_large(x) ? 413 : 200, STR("served\n"));
}

static void on_done(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	(void)x;
	pthread_mutex_lock(&seen.lock);
	seen.n_done++;
	pthread_mutex_unlock(&seen.lock);
}

static struct http_server *the_server(void)
{
	static struct http_server *server;
	if (!server) {
		const struct http_options options = {.bind_address = "127.0.0.1",
			.threads = 1,
			.max_body = BODY_MAX,
			.handler = {.on_headers = on_headers, .on_request = on_request, .on_done = on_done}};
		struct buf err;
		buf_init(&err, 1000);
		CHECK(http_server_new(&server, &options, &err) == 0);
		buf_done(&err);
	}
	return server;
}

/* The client. */

/* What the socket is ready for, sooner or later. libFuzzer's SIGALRM interrupts: that is no silence of the server. */
static short wait_for(int fd, short events)
{
	struct pollfd poller = {.fd = fd, .events = events};
	int64_t until = clock_mono_ms() + PATIENCE_MS;
	int n;
	do {
		n = poll(&poller, 1, (int)MAX(until - clock_mono_ms(), 0));
	} while (n < 0 && errno == EINTR);
	CHECK(n > 0);
	return poller.revents;
}

static void hear(int fd, struct buf *answers)
{
	char p[16384];
	ssize_t n;
	do {
		wait_for(fd, POLLIN);
		n = recv(fd, p, sizeof(p), MSG_DONTWAIT);
		if (n > 0) {
			CHECK(buf_add(answers, p, (size_t)n));
		}
	} while (n > 0);
}

/* Sends all in pieces, and hears what comes until the server ends the connection. */
static void talk(struct str text, size_t piece, struct buf *answers)
{
	int ends[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	clear_seen();
	http_server_admit(the_server(), ends[0]);
	while (text.n) {
		ssize_t n = send(ends[1], text.p, MIN(piece, text.n), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0) { /* the server has heard enough, or is slow */
			if (wait_for(ends[1], POLLOUT) & (POLLERR | POLLHUP)) {
				break;
			}
			continue;
		}
		text.p += n;
		text.n -= (size_t)n;
	}
	shutdown(ends[1], SHUT_WR);
	hear(ends[1], answers);
	close(ends[1]);

	struct http_stats stats;
	do {
		sched_yield();
		http_server_stats(the_server(), &stats);
	} while (stats.connections_open);
}

/* The answers. */

struct answers {
	unsigned n_served, n_refused;
	unsigned n_unclear; /* 413 to HEAD */
};

static bool skip(struct str *text, struct str prefix)
{
	bool has_prefix = str_starts(*text, prefix);
	if (has_prefix) {
		text->p += prefix.n;
		text->n -= prefix.n;
	}
	return has_prefix;
}

static unsigned take_number(struct str *text)
{
	unsigned n = 0;
	while (text->n && text->p[0] >= '0' && text->p[0] <= '9') {
		n = n * 10 + (unsigned)(text->p[0] - '0');
		text->p++;
		text->n--;
	}
	return n;
}

static bool is_refusal(unsigned status)
{
	static const unsigned known[] = {400, 413, 414, 417, 431, 501, 505};
	bool is_known = false;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		is_known |= known[i] == status;
	}
	return is_known;
}

/* Only the text of an answer tells a refusal from what the handler says; an answer to HEAD has none. */
static void read_answer(struct str *text, struct answers *ret)
{
	CHECK(skip(text, STR("HTTP/1.1 ")) || skip(text, STR("HTTP/1.0 ")));
	struct str status_text = *text;
	unsigned status = take_number(text);
	const char *end = text->n ? memmem(text->p, text->n, "\r\n\r\n", 4) : NULL;
	CHECK(end);
	text->n -= (size_t)(end + 4 - text->p);
	text->p = end + 4;
	CHECK(ret->n_refused == 0);
	if (status == 100) {
		return;
	}
	if (skip(text, STR("served\n"))) {
		CHECK(status == 200 || status == 413);
		ret->n_served++;
	} else if (str_starts(*text, (struct str){status_text.p, 3})) {
		const char *line_end = memchr(text->p, '\n', text->n);
		CHECK(is_refusal(status) && line_end);
		text->n -= (size_t)(line_end + 1 - text->p);
		text->p = line_end + 1;
		ret->n_refused++;
	} else {
		CHECK(status == 200 || is_refusal(status));
		ret->n_served += status == 200;
		ret->n_unclear += status == 413;
		ret->n_refused += status != 200 && status != 413;
	}
}

static struct answers read_answers(struct str text)
{
	struct answers all = {0};
	while (text.n) {
		read_answer(&text, &all);
	}
	return all;
}

/* An exchange whose body does not come to its end is announced and not served. */
static void check_exchanges(const struct answers *answers)
{
	CHECK(seen.n_requests <= seen.n_headers && seen.n_headers <= seen.n_requests + 1);
	CHECK(seen.n_done == seen.n_headers);
	CHECK(answers->n_served <= seen.n_requests && seen.n_requests <= answers->n_served + answers->n_unclear);
}

static struct answers ask(struct str text, size_t piece)
{
	_cleanup_(buf_done) struct buf heard;
	buf_init(&heard, LIMIT);
	talk(text, piece, &heard);
	struct answers answers = read_answers(buf_str(&heard));
	check_exchanges(&answers);
	return answers;
}

static void run(struct str text, size_t piece, struct arena *a)
{
	struct answers whole = ask(text, text.n + 1);
	struct str heard = arena_dup(a, buf_str(&seen.heard));
	struct str plain = arena_dup(a, buf_str(&seen.plain));
	unsigned n_requests = seen.n_requests;

	struct answers pieces = ask(text, piece);
	CHECK(str_eq(buf_str(&seen.heard), heard));
	CHECK(pieces.n_refused == whole.n_refused);

	struct answers again = ask(plain, plain.n + 1);
	CHECK(str_eq(buf_str(&seen.plain), plain));
	CHECK(again.n_refused == 0 && seen.n_requests <= n_requests);
}

/* The first byte says how small the pieces are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a;
	if (n > 0 && n <= INPUT_MAX) {
		arena_init(&a, CEILING);
		run((struct str){(const char *)data + 1, n - 1}, data[0] % 61 + 1, &a);
		arena_done(&a);
	}
	return 0;
}
