#include "tests/unit/script_server.h"

#include "base/buf.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, REQUEST_MAX = 1 << 20, PATIENCE_S = 60 };

struct connection {
	struct script *script;
	pthread_t thread;
	int fd;
};

struct script {
	const struct script_step *steps;
	size_t n;
	int listener;
	uint16_t port;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	size_t at, n_answered, n_connections;
	unsigned n_released;
	bool is_over;
	char *complaint; /* the first */
	struct connection connections[CONNECTIONS_MAX];
};

/* ---- a connection ---- */

static size_t body_length(struct str head)
{
	const char *found = strcasestr(head.p, "\r\nContent-Length:");
	return found && found < head.p + head.n ? strtoul(found + 17, NULL, 10) : 0;
}

/* All of a request; false when the client has gone. */
static bool read_request(int fd, struct buf *request)
{
	char piece[4096];
	for (;;) {
		const char *end = request->n ? strstr(request->p, "\r\n\r\n") : NULL;
		if (end) {
			size_t head = (size_t)(end - request->p) + 4;
			if (request->n >= head + body_length((struct str){request->p, head})) {
				return true;
			}
		}
		ssize_t n = recv(fd, piece, sizeof(piece), 0);
		if (n <= 0) {
			return false;
		}
		buf_add(request, piece, (size_t)n);
	}
}

static void send_all(int fd, const struct buf *text)
{
	for (size_t at = 0; at < text->n;) {
		ssize_t n = send(fd, text->p + at, text->n - at, MSG_NOSIGNAL);
		if (n <= 0) {
			return;
		}
		at += (size_t)n;
	}
}

static void send_text(int fd, const char *text)
{
	struct buf all;
	buf_init(&all, 4096);
	buf_adds(&all, text);
	send_all(fd, &all);
	buf_done(&all);
}

static void send_answer(int fd, const struct script_step *step)
{
	struct buf out;
	const char *body = step->body ? step->body : "";
	buf_init(&out, REQUEST_MAX);
	buf_printf(&out, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%s", step->status,
		step->headers ? step->headers : "");
	if (step->way == SCRIPT_WHOLE) {
		buf_printf(&out, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
	} else {
		buf_printf(&out, "Transfer-Encoding: chunked\r\n\r\n");
		if (body[0]) {
			buf_printf(&out, "%zx\r\n%s\r\n", strlen(body), body);
		}
		buf_adds(&out, step->way == SCRIPT_STREAM ? "0\r\n\r\n" : "");
	}
	send_all(fd, &out);
	buf_done(&out);
}

static void complain(struct script *s, const char *what, const char *expected, const char *request)
{
	if (!s->complaint) {
		s->complaint = mem_printf("%s\nexpected: %s\nrequest: %s", what, expected, request);
	}
}

/* Under the lock. */
static const struct script_step *next_step(struct script *s, const char *request)
{
	static const struct script_step none = {.status = 500};
	if (s->at == s->n) {
		complain(s, "one request too many", "none", request);
		return &none;
	}
	const struct script_step *step = &s->steps[s->at++];
	if (step->expected && !strstr(request, step->expected)) {
		complain(s, "another request", step->expected, request);
	}
	return step;
}

/* False: the connection is not to be used any more. */
static bool answer(struct connection *c, const struct script_step *step)
{
	struct script *s = c->script;
	bool is_silent = step->way == SCRIPT_SILENT || step->way == SCRIPT_MISSED;
	/* Before the answer: whoever hears it may release it at once. */
	pthread_mutex_lock(&s->lock);
	unsigned released = s->n_released;
	pthread_mutex_unlock(&s->lock);
	if (!is_silent) {
		send_answer(c->fd, step);
	}
	pthread_mutex_lock(&s->lock);
	s->n_answered++;
	pthread_cond_broadcast(&s->changed);
	while ((step->way == SCRIPT_HOLD || is_silent) && s->n_released == released && !s->is_over) {
		pthread_cond_wait(&s->changed, &s->lock);
	}
	bool is_over = s->is_over;
	pthread_mutex_unlock(&s->lock);
	if (step->way == SCRIPT_HOLD && !is_over) {
		send_text(c->fd, "0\r\n\r\n");
	}
	return !is_over && step->way != SCRIPT_CUT && !is_silent;
}

static void *serve(void *ctx)
{
	struct connection *c = ctx;
	bool is_alive = true;
	while (is_alive) {
		struct buf request;
		buf_init(&request, REQUEST_MAX);
		is_alive = read_request(c->fd, &request);
		if (is_alive) {
			pthread_mutex_lock(&c->script->lock);
			const struct script_step *step = next_step(c->script, request.p);
			pthread_mutex_unlock(&c->script->lock);
			is_alive = answer(c, step);
		}
		buf_done(&request);
	}
	shutdown(c->fd, SHUT_RDWR);
	return NULL;
}

static void *accept_all(void *ctx)
{
	struct script *s = ctx;
	for (int fd; (fd = accept(s->listener, NULL, NULL)) >= 0;) {
		pthread_mutex_lock(&s->lock);
		assert_true(s->n_connections < CONNECTIONS_MAX);
		struct connection *c = &s->connections[s->n_connections++];
		*c = (struct connection){.script = s, .fd = fd};
		pthread_create(&c->thread, NULL, serve, c);
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

/* ---- the server ---- */

struct script *script_start(const struct script_step *steps, size_t n)
{
	struct script *s = mem_new(struct script);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	*s = (struct script){.steps = steps, .n = n};
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(s->listener, CONNECTIONS_MAX), 0);
	assert_int_equal(getsockname(s->listener, (struct sockaddr *)&address, &size), 0);
	s->port = ntohs(address.sin_port);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	pthread_create(&s->thread, NULL, accept_all, s);
	return s;
}

char *script_url(const struct script *s)
{
	return mem_printf("http://127.0.0.1:%u", s->port);
}

void script_await(struct script *s, size_t n)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&s->lock);
	int r = 0;
	while (s->n_answered < n && r != ETIMEDOUT) {
		r = pthread_cond_timedwait(&s->changed, &s->lock, &until);
	}
	size_t n_answered = s->n_answered;
	pthread_mutex_unlock(&s->lock);
	assert_true(n_answered >= n);
}

void script_release(struct script *s)
{
	pthread_mutex_lock(&s->lock);
	s->n_released++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

size_t script_connections(struct script *s)
{
	pthread_mutex_lock(&s->lock);
	size_t n = s->n_connections;
	pthread_mutex_unlock(&s->lock);
	return n;
}

static void end_connections(struct script *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_over = true;
	pthread_cond_broadcast(&s->changed);
	size_t n = s->n_connections;
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < n; i++) {
		shutdown(s->connections[i].fd, SHUT_RDWR);
		pthread_join(s->connections[i].thread, NULL);
		close(s->connections[i].fd);
	}
}

void script_stop(struct script *s)
{
	shutdown(s->listener, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->listener);
	end_connections(s);
	if (s->at != s->n && s->steps[s->at].way != SCRIPT_MISSED) {
		complain(s, "requests are missing", s->steps[s->at].expected, "none");
	}
	char *complaint = s->complaint;
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
	if (complaint) {
		print_error("%s\n", complaint);
		mem_free(complaint);
		fail();
	}
}
