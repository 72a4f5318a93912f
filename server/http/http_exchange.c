/* An exchange: one request, from its head to the end of its answer.
 *
 * A wire makes it when it has a whole head, and takes it through these steps:
 *
 *   new      the head is read; a head that is refused makes an exchange too
 *   begin    the handler is asked (on_headers); it may answer, wait, or go on to the body
 *   receive  a piece of the body: kept, or let go by
 *   run      the request is complete: the handler is asked (on_request), again after each wake
 *   settle   the answer is there: on_answered; and on_done, but for a stream
 *   end      the answer is sent or the client has gone: on_done, if it has not been called
 *
 * Below: its answer, and a body that is produced while it is sent. */
#include "server/http/http_private.h"

#include <assert.h>

enum {
	/* A client's request fills the arena. Parsers give up here, so that one small body cannot become any amount of
	 * memory. */
	ARENA_CEILING = 128 << 20,

	/* Taken on a client's word before any of the body is there: an announcement costs a client
	 * nothing, so it must not cost the server max_body. */
	BODY_FIRST = 64 << 10,

	/* Bytes of a too large body that are discarded, so that it can be refused. Beyond them the connection is closed. */
	OVERFLOW_MAX = 64 << 20,
};

_Static_assert(offsetof(struct http_exchange, request) == 0, "http_request() would find something else");
_Static_assert(sizeof(struct http_exchange) + 3072 <= HTTP_EXCHANGE_SIZE, "no room for an ordinary request");

/* The request. */

struct str http_header(const struct http_exchange *x, const char *name)
{
	struct str wanted = str_of(name);
	for (size_t i = 0; i < x->request.head.n_fields; i++) {
		if (str_eq_nocase(x->request.head.fields[i].name, wanted)) {
			return x->request.head.fields[i].value;
		}
	}
	return (struct str){NULL, 0};
}

bool http_is_draining(const struct http_exchange *x)
{
	return atomic_load_explicit(&x->server->is_draining, memory_order_acquire);
}

void http_vouch(struct http_exchange *x)
{
	keeper_vouch(x->server->keeper, x->kept);
}

uint64_t http_sent(const struct http_exchange *x)
{
	bool is_stream = x->answer_body == ANSWER_STREAM;
	return x->request.head.framing.is_head_request ? 0 : is_stream || !x->request.status ? x->sent : x->answer_length;
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

/* A wake and an alarm may come together. The thread that turns PARKED into something else resumes the exchange,
 * so each suspension is resumed once. */
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
static void exchange_stop_waiting(struct http_exchange *x)
{
	if (x->is_suspending && unpark(&x->wait)) {
		x->wire->resume(x);
	}
}

/* The steps of an exchange. */

/* Makes an exchange. One allocation holds it and the beginning of its arena: most requests need
 * no other. */
struct http_exchange *http_exchange_new(struct http_server *s, const struct exchange_wire *wire)
{
	struct http_exchange *x = mem_alloc(HTTP_EXCHANGE_SIZE);
	size_t own = (wire->own_size + 15) & ~(size_t)15;
	*x = (struct http_exchange){.server = s, .wire = wire};
	memset(x->scratch, 0, own);
	arena_init_with(&x->request.arena, ARENA_CEILING, x->scratch + own, HTTP_EXCHANGE_SIZE - sizeof(*x) - own);
	list_init(&x->stream_link);
	list_init(&x->unsent.link);
	buf_init(&x->request.body, s->options.max_body);
	x->answer_headers_end = &x->answer_headers;
	x->request.started_ns = clock_mono_ns();
	return x;
}

struct http_exchange *http_exchange_free(struct http_exchange *x)
{
	unsent_remove(x);
	http_answer_done(x);
	buf_done(&x->request.body);
	arena_done(&x->request.arena);
	return mem_free(x);
}

/* An answer in memory is out of the handler's hands: whatever is its client's pace, nothing of the
 * request waits for it. */
static void exchange_settle(struct http_exchange *x)
{
	const struct http_handler *h = &x->server->options.handler;
	if (!x->request.status || x->is_answered || !x->is_announced) {
		return;
	}
	x->is_answered = true;
	if (!x->is_long_lived) {
		http_answer_count(x);
	}
	if (h->on_answered) {
		h->on_answered(h->ctx, x);
	}
	if (http_exchange_stream_kind(x) == STREAM_NONE) {
		http_set_alarm(x, 0);
		x->is_done = true;
		h->on_done(h->ctx, x);
	}
}

void http_exchange_let_go(struct http_exchange *x)
{
	if (x->is_done) {
		x->answer_headers = NULL;
		x->answer_headers_end = &x->answer_headers;
		buf_done(&x->request.body);
		arena_clear(&x->request.arena);
	}
}

/* The head is there, or a wake came to who waited with it. An exchange that is suspended now comes
 * back to the same place: its wire resumes it with the head, and gives it no body before. */
static bool exchange_announce(struct http_exchange *x, int64_t began_ms)
{
	const struct http_handler *h = &x->server->options.handler;
	x->is_announced = true;
	x->is_suspending = false;
	x->wire->set_phase(x, x->request.head.framing.has_body ? KEEPER_BODY : KEEPER_WORK, began_ms);
	h->on_headers(h->ctx, x);
	x->is_head_waiting = !x->request.status && x->is_suspending;
	if (x->is_head_waiting) {
		x->wire->set_phase(x, KEEPER_WORK, 0);
		return true;
	}
	exchange_stop_waiting(x);
	exchange_settle(x);
	return !x->request.status || x->wire->answer_early(x);
}

bool http_exchange_begin(struct http_exchange *x)
{
	http_count(&x->server->requests_total, 1);
	if (x->refusal) {
		return http_answer_refuse(x);
	}
	x->request.is_body_too_large = x->request.head.framing.length > x->server->options.max_body;
	return exchange_announce(x, x->request.started_ns / 1000000);
}

/* The loaded value does not matter. The load meets the waker's release, so the handler sees what the operation wrote. The
 * body's time begins now: the client could not send while we made it wait. */
bool http_exchange_resume_head(struct http_exchange *x)
{
	atomic_load_explicit(&x->wait, memory_order_acquire);
	x->request.is_cut = x->wire->is_client_gone(x);
	return exchange_announce(x, clock_mono_ms());
}

/* Bytes that nobody wants, or beyond the limit, are discarded, up to OVERFLOW_MAX. */
bool http_exchange_receive(struct http_exchange *x, const char *p, size_t n)
{
	const struct http_handler *h = &x->server->options.handler;
	size_t max = x->server->options.max_body;
	bool fits = !x->request.status && !x->request.is_body_too_large && !x->is_body_unwanted && n <= max - x->request.body.n;
	x->is_body_unwanted |= fits && h->on_body && !h->on_body(h->ctx, x, x->request.body.n + n);
	if (fits && !x->is_body_unwanted) {
		if (x->request.body.cap == 0) {
			buf_reserve(
				&x->request.body, MAX(n, (size_t)MIN(x->request.head.framing.length, (uint64_t)BODY_FIRST)));
		}
		buf_add(&x->request.body, p, n);
		return true;
	}
	x->request.is_body_too_large |= !x->request.status && !x->is_body_unwanted;
	buf_done(&x->request.body);
	x->n_discarded += n;
	return x->n_discarded <= OVERFLOW_MAX;
}

/* A handler that neither answers nor waits was woken by an alarm, and still waits for its wake. */
bool http_exchange_run(struct http_exchange *x)
{
	const struct http_handler *h = &x->server->options.handler;
	if (!x->request.status && x->refusal) {
		return http_answer_refuse(x);
	}
	if (!x->request.status) {
		x->wire->set_phase(x, KEEPER_WORK, 0);
		atomic_load_explicit(&x->wait, memory_order_acquire); /* as in http_exchange_resume_head() */
		x->request.is_cut = x->wire->is_client_gone(x);
		x->is_suspending = false;
		h->on_request(h->ctx, x);
	}
	if (!x->request.status) {
		http_suspend(x);
		return true;
	}
	exchange_stop_waiting(x);
	exchange_settle(x);
	return x->wire->answer(x);
}

/* The alarm and the stream go first: behind them no other thread knows of the exchange. */
void http_exchange_end(struct http_exchange *x, bool is_complete)
{
	struct http_server *s = x->server;
	x->request.is_cut |= !is_complete && !x->is_ended_by_closing;
	http_set_alarm(x, 0);
	http_stream_close(x);
	x->wire->end(x);
	if (x->request.head.framing.is_head_request) {
		x->sent = 0;
	}
	http_count(&s->bytes_sent, x->sent);
	if (x->is_announced && !x->is_done) {
		s->options.handler.on_done(s->options.handler.ctx, x);
	}
	if (x->wire->release) {
		x->wire->release(x);
	}
	http_exchange_free(x);
}

/* The answer: its headers, and what its body is made of.
 *
 *   memory   in one piece, also where small pieces were put together: right behind the head
 *   parts    several pieces, which are not copied to one
 *   stream   produced while it is sent, below
 *
 * The wire sends the answer when it can: perhaps only after a body that nobody wants has been discarded. */

enum {
	/* Bodies up to this are sent from one buffer: copying that is cheaper than another record. */
	ONE_BUFFER = 32 << 10,

	/* Bytes of headers that are added to an answer. Its head lies in libmicrohttpd's pool: when it does not fit there,
	 * the connection ends without an answer. */
	ANSWER_HEAD_MAX = 14 << 10,
};

/* A line end in a value would let whoever chose the value add lines to the head. */
static bool has_control_byte(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) {
			return true;
		}
	}
	return false;
}

void http_add_header(struct http_exchange *x, const char *name, struct str value)
{
	size_t size = strlen(name) + value.n + sizeof(": \r\n") - 1;
	if (has_control_byte(value) || x->answer_head_n + size > ANSWER_HEAD_MAX) {
		return;
	}
	x->answer_head_n += size;
	struct answer_header *header = arena_new(&x->request.arena, struct answer_header);
	header->name = name;
	header->value = arena_dup(&x->request.arena, value).p;
	*x->answer_headers_end = header;
	x->answer_headers_end = &header->next;
}

/* A server that leaves spares its streams: they go on until it drains. */
bool http_answer_is_last(const struct http_exchange *x)
{
	bool is_leaving = atomic_load_explicit(&x->server->is_leaving, memory_order_relaxed);
	return x->refusal || http_is_draining(x) || (is_leaving && http_exchange_stream_kind(x) == STREAM_NONE);
}

void http_answer(struct http_exchange *x, unsigned status, enum answer_body body, uint64_t length)
{
	assert(x->request.status == 0);
	x->request.status = status;
	x->answer_body = body;
	x->answer_length = length;
}

/* Bytes that the answer holds until it is sent. A stream needs all of the request. Pieces that others hold too cost
 * nothing. */
static size_t answer_held_bytes(const struct http_exchange *x)
{
	size_t n = HTTP_EXCHANGE_SIZE + x->flat_n;
	if (x->answer_body == ANSWER_STREAM) {
		return n + x->request.arena.used + x->request.body.cap + x->granted;
	}
	for (size_t i = x->part; i < x->n_parts; i++) {
		bool is_shared = atomic_load_explicit(&x->parts[i]->refs, memory_order_relaxed) > 1;
		n += is_shared ? 0 : x->parts[i]->n;
	}
	return n;
}

void http_answer_count(struct http_exchange *x)
{
	unsent_add(x, answer_held_bytes(x));
}

void http_set_payer(struct http_exchange *x, const struct payer *payer)
{
	assert(x->unsent.n == 0);
	x->request.payer = x->kept->payer = *payer;
}

bool http_grant(struct http_exchange *x, size_t n)
{
	x->granted = n;
	return unsent_grant(x, n);
}

bool http_has_room(const struct http_exchange *x)
{
	const struct unsent *u = &x->server->unsent;
	const struct payer *payer = &x->request.payer;
	return unsent_has_room_for_writes(u, payer) && (payer->is_privileged || x->kept->unsent_n < u->limit / 2);
}

void http_hurry_bodies(const struct http_exchange *x)
{
	keeper_hurry_bodies(x->server->keeper);
}

/* body lives as long as the exchange, outside of its arena. */
static void answer_with_memory(struct http_exchange *x, unsigned status, struct str body)
{
	x->memory = body;
	x->sent = body.n;
	http_answer(x, status, ANSWER_MEMORY, body.n);
}

void http_reply(struct http_exchange *x, unsigned status, struct str body)
{
	x->flat = body.n > 0 ? mem_dup(body.p, body.n) : NULL;
	x->flat_n = body.n;
	answer_with_memory(x, status, (struct str){x->flat, body.n});
}

static void answer_release_parts(struct http_exchange *x, size_t until)
{
	for (; x->part < until; x->part++) {
		bytes_unref(x->parts[x->part]);
	}
}

/* Fills records, however small the parts are. */
size_t http_answer_read_parts(struct http_exchange *x, char *p, size_t max)
{
	size_t n = 0;
	while (n < max && x->part < x->n_parts) {
		const struct bytes *part = x->parts[x->part];
		size_t take = MIN(max - n, part->n - x->part_at);
		memcpy(p + n, part->p + x->part_at, take);
		n += take;
		x->part_at += take;
		if (x->part_at == part->n) {
			answer_release_parts(x, x->part + 1);
			x->part_at = 0;
		}
	}
	x->sent += n;
	return n;
}

void http_reply_bytes(struct http_exchange *x, unsigned status, struct bytes *const *parts, size_t n)
{
	size_t total = 0;
	x->parts = mem_array(n, sizeof(struct bytes *));
	x->n_parts = n;
	for (size_t i = 0; i < n; i++) {
		x->parts[i] = parts[i];
		total += parts[i]->n;
	}

	if (n == 1) {
		answer_with_memory(x, status, bytes_str(parts[0]));
	} else if (total <= ONE_BUFFER) {
		x->flat = mem_alloc(total);
		x->flat_n = total;
		http_answer_read_parts(x, x->flat, total);
		answer_with_memory(x, status, (struct str){x->flat, total});
	} else {
		http_answer(x, status, ANSWER_PARTS, total);
	}
}

/* The phrase of a status that a head or a body of chunks is refused with. */
static const char *reason_phrase(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} rows[] = {
		{400, "Bad Request"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{417, "Expectation Failed"},
		{431, "Request Header Fields Too Large"},
		{501, "Not Implemented"},
		{505, "HTTP Version Not Supported"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].status == status) {
			return rows[i].phrase;
		}
	}
	return "Refused";
}

/* Not HTTP as we know it: what follows on this connection cannot be trusted to be a request. */
bool http_answer_refuse(struct http_exchange *x)
{
	struct str body = arena_printf(&x->request.arena, "%u %s: %s\n", x->refusal, reason_phrase(x->refusal), x->problem);
	http_count(&x->server->requests_invalid, 1);
	http_add_header(x, "Content-Type", STR("text/plain; charset=utf-8"));
	http_reply(x, x->refusal, body);
	http_answer_count(x);
	return x->wire->answer(x);
}

/* The exchange may end before all of its answer was sent. */
void http_answer_done(struct http_exchange *x)
{
	answer_release_parts(x, x->n_parts);
	mem_free(x->parts);
	mem_free(x->flat);
}

/* Streams: bodies that are produced while they are sent. There are two ways:
 *
 *   driven  The wire asks for more when the socket takes more. While there is nothing to send, the exchange is parked.
 *   pumped  Watches over HTTP/1.1. libmicrohttpd sends the head only. Then the pump has the socket until the stream
 *           ends: waking a connection in libmicrohttpd costs too much for every event (http_pump.h).
 *
 * A wake may come at any time from any thread until `closed` has returned. So each stream is closed exactly once, and
 * before that everything in here that could wake it lets go of it: the list that a drain walks, and the alarm. */

void http_stream_wake(struct http_exchange *x)
{
	if (http_exchange_stream_kind(x) == STREAM_PUMPED) {
		pump_wake(&x->pumped);
		return;
	}
	struct http_server *s = x->server;
	http_begin_wake(s);
	bool was_parked = atomic_exchange_explicit(&x->stream_wait, WAIT_WOKEN, memory_order_acq_rel) == WAIT_PARKED;
	http_end_wake(s, was_parked ? x : NULL);
}

/* libmicrohttpd has no turns: so after a burst of expensive work there is a pause, in which each of
 * its connections is looked at. */
bool http_is_late(const struct http_exchange *x)
{
	enum { BURST_NS = 5000000, PAUSE_NS = 2000000 };
	static _Thread_local int64_t began_ns, pause_ns;
	int64_t now_ns = clock_mono_ns();
	if (x->stream) {
		return h2_stream_is_late(x->stream);
	}
	if (now_ns < pause_ns) {
		return true;
	}
	if (began_ns < pause_ns) {
		began_ns = now_ns;
	} else if (now_ns - began_ns > BURST_NS) {
		pause_ns = now_ns + PAUSE_NS;
		return true;
	}
	return false;
}

/* With the lock: a stream in the list is not closed, so it may be woken. A wake takes no lock of
 * ours. */
void http_stream_wake_all(struct http_server *s)
{
	pthread_mutex_lock(&s->streams_lock);
	list_for_each(it, &s->streams) {
		http_stream_wake(list_entry(it, struct http_exchange, stream_link));
	}
	pthread_mutex_unlock(&s->streams_lock);
}

/* The lock is not held while the alarm's or the handler's locks are taken. */
void http_stream_close(struct http_exchange *x)
{
	struct http_server *s = x->server;
	if (http_exchange_stream_kind(x) == STREAM_NONE || x->is_stream_closed) {
		return;
	}
	x->is_stream_closed = true;
	pthread_mutex_lock(&s->streams_lock);
	list_remove(&x->stream_link);
	s->n_streams--;
	pthread_mutex_unlock(&s->streams_lock);
	http_set_alarm(x, 0);
	x->stream_ops->closed(x->stream_context, x);
}

ssize_t http_stream_read(struct http_exchange *x, char *p, size_t max)
{
	ssize_t n = x->stream_ops->read(x->stream_context, x, p, max);
	if (n > 0) {
		x->sent += (uint64_t)n;
	}
	return n;
}

/* A body shorter than its announced length is cut: the client would take the next answer for its
 * rest. */
static ssize_t stream_end_driven(struct http_exchange *x, bool is_cut)
{
	bool is_short = x->answer_length != HTTP_LENGTH_UNKNOWN && x->sent < x->answer_length;
	x->request.is_cut = is_cut || is_short;
	http_stream_close(x);
	return x->request.is_cut ? -2 : -1;
}

/* Between read's "nothing" and the parking a wake may come: then http_exchange_park() finds its
 * mark. So the mark of earlier wakes is wiped before the read, which sees what they were for. */
ssize_t http_stream_drive(struct http_exchange *x, char *p, size_t max)
{
	if (atomic_load_explicit(&x->server->is_cutting, memory_order_acquire)) {
		return stream_end_driven(x, true);
	}
	atomic_exchange_explicit(&x->stream_wait, WAIT_RUNNING, memory_order_acq_rel);
	ssize_t n = http_stream_read(x, p, max);
	if (n < 0) {
		return stream_end_driven(x, n != -1);
	}
	x->wire->set_phase(x, n ? KEEPER_SEND : KEEPER_STREAM, clock_mono_ms());
	if (n == 0) {
		http_exchange_park(x, &x->stream_wait);
	}
	return n;
}

/* The list comes behind the kind: a drain on another thread wakes what it finds there. */
void http_reply_stream(struct http_exchange *x, unsigned status, uint64_t length, bool is_long_lived,
	const struct http_stream_ops *ops, void *ctx)
{
	struct http_server *s = x->server;
	bool is_pumped = is_long_lived && length == HTTP_LENGTH_UNKNOWN && x->wire->prepare_pump;
	x->stream_ops = ops;
	x->stream_context = ctx;
	x->is_long_lived = is_long_lived;
	http_answer(x, status, ANSWER_STREAM, length);
	/* A wake may come as soon as it is said who is to be woken. */
	if (is_pumped) {
		x->wire->prepare_pump(x);
	}
	atomic_store_explicit(&x->stream_kind, is_pumped ? STREAM_PUMPED : STREAM_DRIVEN, memory_order_release);

	pthread_mutex_lock(&s->streams_lock);
	list_append(&s->streams, &x->stream_link);
	s->n_streams++;
	pthread_mutex_unlock(&s->streams_lock);
}
