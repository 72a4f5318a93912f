/* An exchange: one request, from its head to the end of its answer.
 *
 * It is made when the inlet has a whole head, and libmicrohttpd takes it through these steps:
 *
 *   new      the head is read; a head that is refused makes an exchange too
 *   begin    the handler is asked (on_headers); it may answer, wait, or go on to the body
 *   receive  a piece of the body: kept, or let go by
 *   run      the request is complete: the handler is asked (on_request), again after each wake
 *   end      the answer is sent or the client has gone: on_done
 *
 * libmicrohttpd has two moments for an answer: before the body and after it. An answer before the
 * body makes it close the connection. So an early answer to a small body waits until the body has
 * been let go by, and a body that grows too large is let go by to its end before it is refused. */
#include "server/http/http_private.h"

#include <sys/socket.h>

enum {
	EXCHANGE_SIZE = 5120, /* the struct and the beginning of its arena: enough for a GET or a watch */

	/* What a client sends fills the arena. Whoever reads it gives up here, lest one small body
	 * become any amount of memory. */
	ARENA_CEILING = 128 << 20,

	/* Taken on a client's word before any of the body is there: an announcement costs a client
	 * nothing, so it must not cost the server max_body. */
	BODY_FIRST = 64 << 10,

	/* Of a body nobody wants, to keep the connection: a new TLS handshake costs more to both sides. */
	SWALLOW_MAX = 256 << 10,

	/* Of a body that is too large, to be able to say so. Beyond it the connection is closed. */
	OVERFLOW_MAX = 64 << 20,

	/* A client waits this long before it is worth a system call to ask whether it still does. */
	PATIENCE_NS = 100000000,
};

_Static_assert(sizeof(struct http_exchange) + 3072 <= EXCHANGE_SIZE, "no room for an ordinary request");

/* The request. */

struct str http_method(const struct http_exchange *x)
{
	return x->head.method;
}

struct str http_target(const struct http_exchange *x)
{
	return x->head.target;
}

struct str http_header(const struct http_exchange *x, const char *name)
{
	struct str wanted = str_of(name);
	for (size_t i = 0; i < x->head.n_fields; i++) {
		if (str_eq_nocase(x->head.fields[i].name, wanted)) {
			return x->head.fields[i].value;
		}
	}
	return (struct str){NULL, 0};
}

size_t http_headers(const struct http_exchange *x, const struct http_header **ret)
{
	*ret = x->head.fields;
	return x->head.n_fields;
}

struct str http_body(const struct http_exchange *x)
{
	return buf_str(&x->body);
}

bool http_body_too_large(const struct http_exchange *x)
{
	return x->is_body_too_large;
}

const struct http_peer *http_peer(const struct http_exchange *x)
{
	return &x->connection->peer;
}

struct arena *http_arena(struct http_exchange *x)
{
	return &x->arena;
}

int64_t http_started_ns(const struct http_exchange *x)
{
	return x->started_ns;
}

void http_set_context(struct http_exchange *x, void *p)
{
	x->context = p;
}

void *http_context(const struct http_exchange *x)
{
	return x->context;
}

bool http_is_draining(const struct http_exchange *x)
{
	return atomic_load_explicit(&http_exchange_server(x)->is_draining, memory_order_acquire);
}

void http_vouch(struct http_exchange *x)
{
	keeper_vouch(http_exchange_server(x)->keeper, &x->connection->kept);
}

unsigned http_status(const struct http_exchange *x)
{
	return x->status;
}

uint64_t http_sent(const struct http_exchange *x)
{
	return x->sent;
}

bool http_was_cut(const struct http_exchange *x)
{
	return x->is_cut;
}

/* Waiting. */

void http_suspend(struct http_exchange *x)
{
	if (!x->is_suspending) {
		x->is_suspending = true;
		x->was_suspended = true;
		connection_park(x->connection, &x->wait);
	}
}

/* The exchange may be over as soon as `wait` is written: what is needed behind that is fetched
 * before. */
void http_wake(struct http_exchange *x)
{
	struct connection *c = x->connection;
	struct http_server *s = c->server;
	connection_begin_wake(s);
	int before = atomic_load_explicit(&x->wait, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&x->wait, &before, before == WAIT_PARKED ? WAIT_RUNNING : WAIT_WOKEN,
		memory_order_acq_rel, memory_order_relaxed)) {
	}
	connection_end_wake(s, before == WAIT_PARKED ? c : NULL);
}

/* Only a change goes to the keeper: its heap of alarms has a lock, which all threads would meet
 * at. */
void http_set_alarm(struct http_exchange *x, int64_t mono_ms)
{
	if (mono_ms != x->alarm_ms) {
		x->alarm_ms = mono_ms;
		keeper_set_alarm(http_exchange_server(x)->keeper, &x->alarm, mono_ms);
	}
}

/* An alarm leaves no mark, unlike a wake: one that finds the handler running has nobody to tell. */
void http_exchange_alarm(struct heap_node *a)
{
	struct http_exchange *x = container_of(a, struct http_exchange, alarm);
	if (http_exchange_stream_kind(x) != STREAM_NONE) {
		http_stream_wake(x);
		return;
	}
	struct connection *c = x->connection;
	struct http_server *s = c->server;
	connection_begin_wake(s);
	connection_end_wake(s, connection_unpark(&x->wait) ? c : NULL);
}

/* The handler called http_suspend() and did not wait after all. Where its wake has come, the
 * connection is resumed already. */
static void stop_waiting(struct http_exchange *x)
{
	if (x->is_suspending && connection_unpark(&x->wait)) {
		connection_resume(x->connection);
	}
}

/* Its life. */

/* One allocation holds the exchange and the beginning of its arena: most requests need no other. */
struct http_exchange *http_exchange_new(struct connection *c)
{
	struct http_exchange *x = mem_alloc(EXCHANGE_SIZE);
	*x = (struct http_exchange){.connection = c};
	arena_init_with(&x->arena, ARENA_CEILING, x->scratch, EXCHANGE_SIZE - sizeof(*x));
	list_init(&x->stream_link);
	buf_init(&x->body, c->server->options.max_body);
	x->answer_headers_end = &x->answer_headers;
	x->started_ns = clock_mono_ns();
	return x;
}

struct http_exchange *http_exchange_free(struct http_exchange *x)
{
	http_answer_done(x);
	buf_done(&x->body);
	arena_done(&x->arena);
	return mem_free(x);
}

/* A body that is small and on its way is swallowed, then the answer goes out and the connection
 * lives on. Else the answer goes out at once, and libmicrohttpd closes the connection behind it. */
static bool will_swallow_body(const struct http_exchange *x)
{
	const struct http_framing *f = &x->head.framing;
	return !f->has_body || (!f->awaits_continue && !f->is_chunked && f->length <= SWALLOW_MAX);
}

/* Nobody watches a suspended connection: where the client had to wait, look before the answer is
 * written. One that has only closed its half gets the answer all the same. */
static bool is_client_gone(struct http_exchange *x)
{
	char byte;
	return x->was_suspended && clock_mono_ns() - x->started_ns > PATIENCE_NS &&
		recv(x->connection->kept.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* The head is there, or a wake came to who waited with it. A connection that is suspended now
 * comes back to the same place: libmicrohttpd calls for the head again, and reads no body
 * before. */
static bool announce(struct http_exchange *x, int64_t began_ms)
{
	const struct http_handler *h = &http_exchange_server(x)->options.handler;
	x->is_announced = true;
	x->is_suspending = false;
	keeper_set_phase(&x->connection->kept, x->head.framing.has_body ? KEEPER_BODY : KEEPER_WORK, began_ms);
	h->on_headers(h->ctx, x);
	x->is_head_waiting = !x->status && x->is_suspending;
	if (x->is_head_waiting) {
		keeper_set_phase(&x->connection->kept, KEEPER_WORK, 0);
		return true;
	}
	stop_waiting(x);
	if (x->status && !will_swallow_body(x)) {
		x->connection->must_linger = true;
		return http_answer_queue(x);
	}
	return true;
}

bool http_exchange_begin(struct http_exchange *x)
{
	struct connection *c = x->connection;
	c->current = x;
	c->next = NULL;
	http_count(&c->server->requests_total, 1);
	if (x->refusal) {
		return http_answer_refuse(x);
	}
	connection_learn_peer(c);
	x->is_body_too_large = x->head.framing.length > c->server->options.max_body;
	return announce(x, x->started_ns / 1000000);
}

/* Its value does not matter. The load meets the waker's release: the handler sees what the
 * operation wrote. The body's time begins now: the client could not send while we made it wait. */
bool http_exchange_resume_head(struct http_exchange *x)
{
	atomic_load_explicit(&x->wait, memory_order_acquire);
	x->is_cut = is_client_gone(x);
	return announce(x, clock_mono_ms());
}

/* What nobody wants or what goes beyond the limit is let go by, as far as is reasonable. */
bool http_exchange_receive(struct http_exchange *x, const char *p, size_t n)
{
	const struct http_handler *h = &http_exchange_server(x)->options.handler;
	size_t max = http_exchange_server(x)->options.max_body;
	bool fits = !x->status && !x->is_body_too_large && !x->is_body_unwanted && n <= max - x->body.n;
	x->is_body_unwanted |= fits && h->on_body && !h->on_body(h->ctx, x, x->body.n + n);
	if (fits && !x->is_body_unwanted) {
		if (x->body.cap == 0) {
			buf_reserve(&x->body, MAX(n, (size_t)MIN(x->head.framing.length, (uint64_t)BODY_FIRST)));
		}
		buf_add(&x->body, p, n);
		return true;
	}
	x->is_body_too_large |= !x->status && !x->is_body_unwanted;
	buf_done(&x->body);
	x->n_discarded += n;
	return x->n_discarded <= OVERFLOW_MAX;
}

/* A handler that neither answers nor waits was woken by an alarm, and still waits for its wake. */
bool http_exchange_run(struct http_exchange *x)
{
	const struct http_handler *h = &http_exchange_server(x)->options.handler;
	if (!x->status && x->refusal) {
		return http_answer_refuse(x);
	}
	if (!x->status) {
		keeper_set_phase(&x->connection->kept, KEEPER_WORK, 0);
		atomic_load_explicit(&x->wait, memory_order_acquire); /* as in http_exchange_resume_head() */
		x->is_cut = is_client_gone(x);
		x->is_suspending = false;
		h->on_request(h->ctx, x);
	}
	if (!x->status) {
		http_suspend(x);
		return true;
	}
	stop_waiting(x);
	return http_answer_queue(x);
}

/* The alarm and the stream go first: behind them no other thread knows of the exchange. Then the
 * inlet may give out the next head. */
void http_exchange_end(struct http_exchange *x, bool is_complete)
{
	struct http_server *s = http_exchange_server(x);
	x->is_cut |= !is_complete && !x->is_ended_by_closing;
	http_set_alarm(x, 0);
	http_stream_close(x);
	x->connection->current = NULL;
	inlet_finish(&x->connection->inlet);
	keeper_set_phase(&x->connection->kept, KEEPER_IDLE, clock_mono_ms());
	if (str_is(x->head.method, "HEAD")) {
		x->sent = 0;
	}
	http_count(&s->bytes_sent, x->sent);
	if (x->is_announced) {
		s->options.handler.on_done(s->options.handler.ctx, x);
	}
	http_exchange_free(x);
}
