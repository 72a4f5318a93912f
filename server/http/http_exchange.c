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
 * Below: its answer, and how many bytes answers hold until they are sent (http_unsent.h). A body that is produced while
 * it is sent is in http_pump.c. */
#include "base/thread.h"
#include "server/http/http_private.h"

#include <assert.h>

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
	if (!x->kept->is_vouched) {
		keeper_vouch(x->server->keeper, x->kept);
	}
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
	if (http_exchange_stream_kind(x) != STREAM_NONE) {
		http_stream_close(x);
	}
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

/* Joins small parts, so that each TLS record is full. */
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

/* Unsent answers.
 *
 * Each HTTP thread puts its answers into a list of its own, so threads do not contend for a lock while there is room.
 * Progress is only noted: an answer that has moved goes to its new place at the next search for the oldest. */

enum {
	GRACE_MS = 1000, /* without progress: then an answer gives way to one that is about to be made */
	HASTE_MS = 100,  /* the same for answers of a user who is far above the share */
	WALK_MAX = 4096, /* answers of others that are passed in a shard while looking for one of a connection or user */
};

static unsigned this_shard(void)
{
	static _Atomic unsigned n_threads;
	static _Thread_local unsigned number;
	if (!number) {
		number = 1 + atomic_fetch_add_explicit(&n_threads, 1, memory_order_relaxed);
	}
	return number % UNSENT_SHARDS;
}

void unsent_init(struct unsent *u, size_t limit, size_t ceiling)
{
	u->limit = limit;
	u->ceiling = MAX(ceiling, limit);
	for (size_t i = 0; i < UNSENT_SHARDS; i++) {
		pthread_mutex_init(&u->shards[i].lock, NULL);
		list_init(&u->shards[i].answers);
	}
}

void unsent_done(struct unsent *u)
{
	for (size_t i = 0; i < UNSENT_SHARDS; i++) {
		pthread_mutex_destroy(&u->shards[i].lock);
	}
}

static struct http_exchange *exchange_at(struct list *link)
{
	return container_of(list_entry(link, struct unsent_answer, link), struct http_exchange, unsent);
}

/* Giving way. */

/* Over HTTP/1.1 libmicrohttpd sends what is in memory, and does not say how far it is. */
static int64_t moved_ms(struct http_exchange *x)
{
	_Atomic int64_t *moved = x->connection ? &x->connection->wire.moved_ms : &x->unsent.moved_ms;
	return atomic_load_explicit(moved, memory_order_relaxed);
}

/* The answer that has moved longest ago; NULL: there is none. With the shard's lock. */
static struct http_exchange *oldest_of(struct unsent_shard *shard)
{
	while (!list_is_empty(&shard->answers)) {
		struct http_exchange *x = exchange_at(shard->answers.next);
		int64_t moved = moved_ms(x);
		if (moved <= x->unsent.since_ms) {
			return x;
		}
		x->unsent.since_ms = moved;
		list_remove(&x->unsent.link);
		list_append(&shard->answers, &x->unsent.link);
	}
	return NULL;
}

/* With the shard's lock, behind which the exchange is still there. */
static void evict(struct unsent *u, struct http_exchange *x)
{
	assert_locked(&x->unsent.shard->lock);
	assert(x->unsent.n > 0 && !atomic_load_explicit(&x->unsent.is_evicted, memory_order_relaxed));
	list_remove(&x->unsent.link);
	atomic_store_explicit(&x->unsent.is_evicted, true, memory_order_relaxed);
	atomic_fetch_add_explicit(&u->leaving, x->unsent.n, memory_order_relaxed);
	atomic_fetch_add_explicit(&x->kept->leaving_n, x->unsent.n, memory_order_relaxed);
	shares_count(&u->shares, x->request.payer.user, -(ptrdiff_t)x->unsent.n);
	http_count(&x->server->answers_evicted, 1);
	x->wire->evict(x);
}

/* False: none has been still since then. */
static bool evict_oldest(struct unsent *u, int64_t still_since_ms)
{
	struct unsent_shard *best = NULL;
	int64_t oldest = still_since_ms;
	for (size_t i = 0; i < UNSENT_SHARDS; i++) {
		struct unsent_shard *shard = &u->shards[i];
		pthread_mutex_lock(&shard->lock);
		const struct http_exchange *x = oldest_of(shard);
		if (x && x->unsent.since_ms <= oldest) {
			oldest = x->unsent.since_ms;
			best = shard;
		}
		pthread_mutex_unlock(&shard->lock);
	}
	if (!best) {
		return false;
	}
	pthread_mutex_lock(&best->lock);
	struct http_exchange *x = oldest_of(best);
	bool is_still = x && x->unsent.since_ms <= still_since_ms;
	if (is_still) {
		evict(u, x);
	}
	pthread_mutex_unlock(&best->lock);
	return is_still;
}

/* Evicts one answer in the shard: of the connection, or where there is none of the user. */
static bool evict_in(
	struct unsent *u, struct unsent_shard *shard, const struct keeper_connection *c, uint64_t user, int64_t still_since_ms)
{
	unsigned n_passed = 0;
	bool is_found = false;
	pthread_mutex_lock(&shard->lock);
	oldest_of(shard);
	list_for_each_safe(it, &shard->answers) {
		struct http_exchange *x = exchange_at(it);
		if (is_found || ++n_passed > WALK_MAX || x->unsent.since_ms > still_since_ms) {
			break;
		}
		bool is_meant = c ? x->kept == c : x->request.payer.user == user && !x->request.payer.is_privileged;
		if (is_meant && moved_ms(x) <= still_since_ms) {
			evict(u, x);
			is_found = true;
		}
	}
	pthread_mutex_unlock(&shard->lock);
	return is_found;
}

/* All answers of a connection belong to this thread, so they are in its shard. */
static bool evict_of_connection(struct unsent *u, const struct keeper_connection *c, int64_t still_since_ms)
{
	return evict_in(u, &u->shards[this_shard()], c, 0, still_since_ms);
}

/* Looks in this thread's shard first, where others wait least for the lock. */
static bool evict_of_user(struct unsent *u, uint64_t user, int64_t still_since_ms)
{
	for (size_t i = 0; i < UNSENT_SHARDS; i++) {
		struct unsent_shard *shard = &u->shards[(this_shard() + i) % UNSENT_SHARDS];
		if (evict_in(u, shard, NULL, user, still_since_ms)) {
			return true;
		}
	}
	return false;
}

/* Counting. */

static size_t used(const struct unsent *u)
{
	return atomic_load_explicit(&u->used, memory_order_relaxed);
}

/* Bytes without those that have been asked to give way: they will be gone soon. */
static size_t staying(const struct unsent *u)
{
	size_t n = used(u), leaving = atomic_load_explicit(&u->leaving, memory_order_relaxed);
	return n - MIN(n, leaving);
}

static size_t staying_on(const struct keeper_connection *c)
{
	size_t leaving = atomic_load_explicit(&c->leaving_n, memory_order_relaxed);
	return c->unsent_n - MIN(c->unsent_n, leaving);
}

void unsent_count(struct unsent *u, uint64_t user, ptrdiff_t n)
{
	atomic_fetch_add_explicit(&u->used, (size_t)n, memory_order_relaxed);
	shares_count(&u->shares, user, n);
}

enum above { BY_ANYTHING, BY_HALF };

/* Nobody privileged is. */
static bool is_above_share(const struct unsent *u, const struct payer *payer, enum above above)
{
	size_t mine = shares_held(&u->shares, payer->user);
	size_t share = share_of(share_limit(u->limit, false), staying(u), mine);

	return !payer->is_privileged && mine > share + (above == BY_HALF ? share / 2 : 0);
}

bool unsent_is_full(const struct unsent *u, const struct payer *payer)
{
	return staying(u) > share_limit(u->limit, false) || is_above_share(u, payer, BY_ANYTHING);
}

bool unsent_has_room_for_writes(const struct unsent *u, const struct payer *payer)
{
	bool has_room = staying(u) <= u->limit + share_limit(u->ceiling - u->limit, false);

	return payer->is_privileged || (has_room && !is_above_share(u, payer, BY_ANYTHING));
}

static void set(struct http_exchange *x, size_t n)
{
	struct unsent *u = &x->server->unsent;
	ptrdiff_t more = (ptrdiff_t)n - (ptrdiff_t)x->unsent.n;
	if (more == 0) {
		return;
	}
	x->unsent.n = n;
	x->kept->unsent_n += (size_t)more;
	atomic_fetch_add_explicit(&u->used, (size_t)more, memory_order_relaxed);
	if (!atomic_load_explicit(&x->unsent.is_evicted, memory_order_relaxed)) {
		shares_count(&u->shares, x->request.payer.user, more);
	}
}

static bool fits_user(const struct unsent *u, const struct payer *payer, size_t n)
{
	return payer->is_privileged ||
		share_fits(share_limit(u->limit, false), staying(u), shares_held(&u->shares, payer->user), n);
}

bool unsent_grant(struct http_exchange *x, size_t n)
{
	struct unsent *u = &x->server->unsent;
	const struct payer *payer = &x->request.payer;
	size_t limit = share_limit(u->limit, payer->is_privileged), share = u->limit / 2;
	int64_t still_since_ms = clock_mono_ms() - GRACE_MS;
	set(x, 0);
	/* An answer larger than a connection's share is granted to one at a time. */
	bool fits_share = n <= share || staying_on(x->kept) <= share / 4;
	size_t wanted = n <= share ? n : 0;
	while (staying_on(x->kept) + wanted > share && evict_of_connection(u, x->kept, still_since_ms)) {
	}
	while (!fits_user(u, payer, n) && evict_of_user(u, payer->user, still_since_ms)) {
	}
	if (!fits_user(u, payer, n)) {
		return false;
	}
	while (staying(u) + n > limit && evict_oldest(u, still_since_ms)) {
	}
	fits_share &= staying_on(x->kept) + wanted <= share;
	set(x, n);
	bool is_alone = staying(u) - n <= u->limit / 8;
	bool has_room = staying(u) <= limit && used(u) <= u->limit + u->limit / 8;
	if (fits_share && (is_alone || has_room)) {
		return true;
	}
	set(x, 0);
	return false;
}

void unsent_add(struct http_exchange *x, size_t n)
{
	assert(!x->unsent.shard);
	struct unsent *u = &x->server->unsent;
	struct unsent_shard *shard = &u->shards[this_shard()];
	int64_t now_ms = clock_mono_ms();
	set(x, n);
	while (is_above_share(u, &x->request.payer, BY_ANYTHING) &&
		evict_of_user(u, x->request.payer.user, now_ms - GRACE_MS)) {
	}
	while (is_above_share(u, &x->request.payer, BY_HALF) && evict_of_user(u, x->request.payer.user, now_ms - HASTE_MS)) {
	}
	while (staying(u) > u->ceiling && evict_oldest(u, now_ms)) {
	}
	pthread_mutex_lock(&shard->lock);
	x->unsent.shard = shard;
	x->unsent.since_ms = now_ms;
	list_append(&shard->answers, &x->unsent.link);
	pthread_mutex_unlock(&shard->lock);
}

void unsent_remove(struct http_exchange *x)
{
	struct unsent *u = &x->server->unsent;
	struct unsent_shard *shard = x->unsent.shard;
	size_t n = x->unsent.n;
	if (shard) {
		pthread_mutex_lock(&shard->lock);
		list_remove(&x->unsent.link);
		x->unsent.shard = NULL;
		pthread_mutex_unlock(&shard->lock);
	}
	if (n == 0) {
		return;
	}
	if (atomic_load_explicit(&x->unsent.is_evicted, memory_order_relaxed)) {
		atomic_fetch_sub_explicit(&u->leaving, n, memory_order_relaxed);
		atomic_fetch_sub_explicit(&x->kept->leaving_n, n, memory_order_relaxed);
	}
	set(x, 0);
	if (x->server->options.handler.on_freed) {
		x->server->options.handler.on_freed(x->server->options.handler.ctx, n);
	}
}
