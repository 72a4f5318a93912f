/* An exchange: one request, from its head to the end of its answer.
 *
 * It is made when a wire has a whole head, and its wire takes it through these steps:
 *
 *   new      the head is read; a head that is refused makes an exchange too
 *   begin    the handler is asked (on_headers); it may answer, wait, or go on to the body
 *   receive  a piece of the body: kept, or let go by
 *   run      the request is complete: the handler is asked (on_request), again after each wake
 *   end      the answer is sent or the client has gone: on_done
 */
#include "server/http/http_private.h"

enum {
	EXCHANGE_SIZE = 5120, /* the struct and the beginning of its arena: enough for a GET or a watch */

	/* What a client sends fills the arena. Whoever reads it gives up here, lest one small body
	 * become any amount of memory. */
	ARENA_CEILING = 128 << 20,

	/* Taken on a client's word before any of the body is there: an announcement costs a client
	 * nothing, so it must not cost the server max_body. */
	BODY_FIRST = 64 << 10,

	/* Of a body that is too large, to be able to say so. Beyond it the connection is closed. */
	OVERFLOW_MAX = 64 << 20,
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
	return x->peer;
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
	return atomic_load_explicit(&x->server->is_draining, memory_order_acquire);
}

void http_vouch(struct http_exchange *x)
{
	keeper_vouch(x->server->keeper, x->kept);
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

/* Suspended first, then marked: whoever sees the mark may resume at once, and a resumption before
 * the suspension would be lost. */
void http_exchange_park(struct http_exchange *x, _Atomic int *wait)
{
	x->wire->suspend(x);
	int expected = WAIT_RUNNING;
	if (!atomic_compare_exchange_strong_explicit(
		    wait, &expected, WAIT_PARKED, memory_order_acq_rel, memory_order_acquire)) {
		atomic_exchange_explicit(wait, WAIT_RUNNING, memory_order_acq_rel);
		x->wire->resume(x);
	}
}

/* A wake and an alarm may come together. Who turns PARKED into something else resumes the
 * exchange, so each suspension is resumed once. */
static bool unpark(_Atomic int *wait)
{
	int expected = WAIT_PARKED;
	return atomic_compare_exchange_strong_explicit(
		wait, &expected, WAIT_RUNNING, memory_order_acq_rel, memory_order_acquire);
}

void http_begin_wake(struct http_server *s)
{
	atomic_fetch_add_explicit(&s->n_wakers, 1, memory_order_relaxed);
}

/* A parked exchange is there until it is resumed. It may be over before resume() returns, but its
 * thread must not be: the server waits for wakers before it stops its threads. */
void http_end_wake(struct http_server *s, struct http_exchange *parked)
{
	if (parked) {
		parked->wire->resume(parked);
	}
	atomic_fetch_sub_explicit(&s->n_wakers, 1, memory_order_release);
}

void http_suspend(struct http_exchange *x)
{
	if (!x->is_suspending) {
		x->is_suspending = true;
		x->was_suspended = true;
		http_exchange_park(x, &x->wait);
	}
}

/* The exchange may be over as soon as `wait` is written: what is needed behind that is fetched
 * before. */
void http_wake(struct http_exchange *x)
{
	struct http_server *s = x->server;
	http_begin_wake(s);
	int before = atomic_load_explicit(&x->wait, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&x->wait, &before, before == WAIT_PARKED ? WAIT_RUNNING : WAIT_WOKEN,
		memory_order_acq_rel, memory_order_relaxed)) {
	}
	http_end_wake(s, before == WAIT_PARKED ? x : NULL);
}

/* Only a change goes to the keeper: its heap of alarms has a lock, which all threads would meet
 * at. */
void http_set_alarm(struct http_exchange *x, int64_t mono_ms)
{
	if (mono_ms != x->alarm_ms) {
		x->alarm_ms = mono_ms;
		keeper_set_alarm(x->server->keeper, &x->alarm, mono_ms);
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
	struct http_server *s = x->server;
	http_begin_wake(s);
	http_end_wake(s, unpark(&x->wait) ? x : NULL);
}

/* The handler called http_suspend() and did not wait after all. Where its wake has come, it is
 * resumed already. */
static void stop_waiting(struct http_exchange *x)
{
	if (x->is_suspending && unpark(&x->wait)) {
		x->wire->resume(x);
	}
}

/* Its life. */

/* One allocation holds the exchange and the beginning of its arena: most requests need no other. */
struct http_exchange *http_exchange_new(struct http_server *s, const struct exchange_wire *wire)
{
	struct http_exchange *x = mem_alloc(EXCHANGE_SIZE);
	*x = (struct http_exchange){.server = s, .wire = wire};
	arena_init_with(&x->arena, ARENA_CEILING, x->scratch, EXCHANGE_SIZE - sizeof(*x));
	list_init(&x->stream_link);
	buf_init(&x->body, s->options.max_body);
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

/* The head is there, or a wake came to who waited with it. An exchange that is suspended now comes
 * back to the same place: its wire resumes it with the head, and gives it no body before. */
static bool announce(struct http_exchange *x, int64_t began_ms)
{
	const struct http_handler *h = &x->server->options.handler;
	x->is_announced = true;
	x->is_suspending = false;
	x->wire->set_phase(x, x->head.framing.has_body ? KEEPER_BODY : KEEPER_WORK, began_ms);
	h->on_headers(h->ctx, x);
	x->is_head_waiting = !x->status && x->is_suspending;
	if (x->is_head_waiting) {
		x->wire->set_phase(x, KEEPER_WORK, 0);
		return true;
	}
	stop_waiting(x);
	return !x->status || x->wire->answer_early(x);
}

bool http_exchange_begin(struct http_exchange *x)
{
	http_count(&x->server->requests_total, 1);
	if (x->refusal) {
		return http_answer_refuse(x);
	}
	x->is_body_too_large = x->head.framing.length > x->server->options.max_body;
	return announce(x, x->started_ns / 1000000);
}

/* Its value does not matter. The load meets the waker's release: the handler sees what the
 * operation wrote. The body's time begins now: the client could not send while we made it wait. */
bool http_exchange_resume_head(struct http_exchange *x)
{
	atomic_load_explicit(&x->wait, memory_order_acquire);
	x->is_cut = x->wire->is_client_gone(x);
	return announce(x, clock_mono_ms());
}

/* What nobody wants or what goes beyond the limit is let go by, as far as is reasonable. */
bool http_exchange_receive(struct http_exchange *x, const char *p, size_t n)
{
	const struct http_handler *h = &x->server->options.handler;
	size_t max = x->server->options.max_body;
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
	const struct http_handler *h = &x->server->options.handler;
	if (!x->status && x->refusal) {
		return http_answer_refuse(x);
	}
	if (!x->status) {
		x->wire->set_phase(x, KEEPER_WORK, 0);
		atomic_load_explicit(&x->wait, memory_order_acquire); /* as in http_exchange_resume_head() */
		x->is_cut = x->wire->is_client_gone(x);
		x->is_suspending = false;
		h->on_request(h->ctx, x);
	}
	if (!x->status) {
		http_suspend(x);
		return true;
	}
	stop_waiting(x);
	return x->wire->answer(x);
}

/* The alarm and the stream go first: behind them no other thread knows of the exchange. */
void http_exchange_end(struct http_exchange *x, bool is_complete)
{
	struct http_server *s = x->server;
	x->is_cut |= !is_complete && !x->is_ended_by_closing;
	http_set_alarm(x, 0);
	http_stream_close(x);
	x->wire->end(x);
	if (str_is(x->head.method, "HEAD")) {
		x->sent = 0;
	}
	http_count(&s->bytes_sent, x->sent);
	if (x->is_announced) {
		s->options.handler.on_done(s->options.handler.ctx, x);
	}
	if (x->wire->release) {
		x->wire->release(x);
	}
	http_exchange_free(x);
}
