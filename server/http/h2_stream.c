/* A stream: an exchange's wire over HTTP/2, and what nghttp2 says of it.
 *
 * A stream and its exchange are one allocation. nghttp2 may close the stream at any time; the exchange goes when the handler does not
 * wait for anything any more. Until then it has its place among the streams of its connection: a client that resets what it has just
 * asked for does not get more handlers at work than the limit.
 *
 * Windows are opened when bytes arrive, not when somebody wants them: otherwise a handler that waits would hold
 * up all others (the window of the connection), and two that wait for each other would wait for ever. Bytes
 * that arrive are charged to the budget of bodies. Only while a handler still waits in on_headers nobody knows
 * yet whose body it is: then it is held, within one stream's window and the limits below. */
#include "server/http/h2_private.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

enum {
	UNWANTED_MAX = 8 << 20,    /* bytes of bodies behind their answers */
	HELD_CONNECTION = 1 << 20, /* bytes of bodies held for handlers that wait in on_headers */
	HELD_ALL = 64 << 20,       /* of all connections */
	ANSWER_FIELDS = 32,        /* more are in memory of the exchange */
	UPDATE_BYTES = 1024,       /* of an answer explain one WINDOW_UPDATE; */
	UPDATE_BYTES_MIN = 128,    /* and a frame of these, two */
};

static struct http_server *server_of(const struct h2_stream *s)
{
	return s->connection->thread->server;
}

static nghttp2_session *session_of(const struct h2_stream *s)
{
	return s->connection->session;
}

static void set_phase(struct h2_stream *s, enum keeper_phase phase, int64_t since_ms)
{
	struct h2_connection *c = s->connection;
	unsigned n_before = c->n_working;
	c->n_working += phase == KEEPER_WORK;
	c->n_working -= s->phase == KEEPER_WORK;
	s->phase = phase;
	s->since_ms = since_ms;
	if (!c->n_working != !n_before) {
		h2_connection_settle(c);
	}
}

/* The end of a stream. */

static void drop_held(struct h2_stream *s)
{
	atomic_fetch_sub_explicit(&server_of(s)->h2->held, s->held.n, memory_order_relaxed);
	s->connection->held_n -= s->held.n;
	buf_done(&s->held);
}

static void stream_reset(struct h2_stream *s, uint32_t code)
{
	if (s->id >= 0 && !s->was_reset) {
		s->was_reset = true;
		nghttp2_submit_rst_stream(session_of(s), NGHTTP2_FLAG_NONE, s->id, code);
		h2_thread_enqueue(s->connection);
	}
}

/* A stream's reader lets go of it first. Then nobody may wake it any more; but a wake may have put it on the stack, and it is ended when
 * it comes off. */
static void stream_finish(struct h2_stream *s)
{
	struct http_exchange *x = s->x;
	if (http_exchange_stream_kind(x) != STREAM_NONE) {
		http_set_alarm(x, 0);
		http_stream_close(x);
		if (s->is_suspended && !s->is_answer_due &&
			atomic_exchange_explicit(&x->stream_wait, WAIT_RUNNING, memory_order_acq_rel) == WAIT_PARKED) {
			s->is_suspended = false;
		}
	}
	s->is_over = true;
	if (!s->is_suspended) {
		http_exchange_end(x, s->is_sent);
	}
}

/* nghttp2 knows it no more. A handler that waits for its operation gets the outcome all the same. */
static void lose(struct h2_stream *s)
{
	s->id = -1;
	drop_held(s);
	if (s->has_begun && !s->x->request.status) {
		s->x->request.is_cut = true;
		if (s->is_suspended) {
			s->is_abandoned = true;
			h2_connection_add_abandoned(s->connection);
			return;
		}
	}
	stream_finish(s);
}

void h2_stream_lost(struct h2_stream *s)
{
	if (s->id >= 0) {
		lose(s);
	}
}

/* The answer's head. */

static nghttp2_nv field_of(const char *name, size_t name_n, const char *value, size_t value_n)
{
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
		.namelen = name_n,
		.value = (uint8_t *)(uintptr_t)value,
		.valuelen = value_n};
}

/* HTTP/2 has no such fields. */
static bool is_of_connection(const char *name)
{
	static const char *const names[] = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_eq_nocase(str_of(name), str_of(names[i]))) {
			return true;
		}
	}
	return false;
}

struct answer_fields {
	nghttp2_nv *nv;
	size_t n, room;
	struct arena *arena;
};

static void fields_add(struct answer_fields *f, const char *name, const char *value)
{
	if (is_of_connection(name)) {
		return;
	}
	if (f->n == f->room) {
		nghttp2_nv *nv = arena_alloc(f->arena, 2 * f->room * sizeof(*nv));
		memcpy(nv, f->nv, f->n * sizeof(*nv));
		f->nv = nv;
		f->room *= 2;
	}
	f->nv[f->n++] = field_of(name, strlen(name), value, strlen(value));
}

static bool has_no_content(unsigned status)
{
	return status == 204 || status == 304;
}

/* nghttp2 copies them, and puts names in lower case. */
static void fill_fields(struct h2_stream *s, struct answer_fields *f)
{
	struct http_exchange *x = s->x;
	fields_add(f, ":status", arena_printf(&x->request.arena, "%u", x->request.status).p);
	for (const struct answer_header *h = x->answer_headers; h; h = h->next) {
		fields_add(f, h->name, h->value);
	}
	const char *const(*common)[2] = x->server->options.answer_headers;
	for (; common && (*common)[0]; common++) {
		fields_add(f, (*common)[0], (*common)[1]);
	}
	if (x->answer_length != HTTP_LENGTH_UNKNOWN && !has_no_content(x->request.status)) {
		fields_add(
			f, "content-length", arena_printf(&x->request.arena, "%llu", (unsigned long long)x->answer_length).p);
	}
	fields_add(f, "date", h2_thread_date(s->connection->thread));
}

/* The answer's body. */

static void note_progress(struct h2_stream *s, int64_t now_ms)
{
	s->since_ms = now_ms;
	atomic_store_explicit(&s->x->unsent.moved_ms, now_ms, memory_order_relaxed);
}

/* n bytes are to come right behind the frame's head (on_send_data). */
static ssize_t give_known(struct h2_stream *s, size_t *at, uint64_t total, size_t max, uint32_t *flags)
{
	size_t n = (size_t)MIN(total - *at, (uint64_t)max);
	*at += n;
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY | (*at == total ? NGHTTP2_DATA_FLAG_EOF : 0);
	note_progress(s, s->connection->thread->now_ms);
	return (ssize_t)n;
}

static ssize_t give_stream(struct h2_stream *s, uint8_t *p, size_t max, uint32_t *flags)
{
	struct http_exchange *x = s->x;
	if (x->answer_length != HTTP_LENGTH_UNKNOWN) {
		max = (size_t)MIN((uint64_t)max, x->answer_length - x->sent);
	}
	ssize_t n = http_stream_drive(x, (char *)p, max);
	if (n == 0) {
		return NGHTTP2_ERR_DEFERRED;
	}
	if (n < -1) {
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	if (n < 0 || x->sent == x->answer_length) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	return MAX(n, (ssize_t)0);
}

static ssize_t on_read(
	nghttp2_session *session, int32_t id, uint8_t *p, size_t max, uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct h2_stream *s = source->ptr;
	struct http_exchange *x = s->x;
	(void)session, (void)id, (void)arg;
	switch (x->answer_body) {
	case ANSWER_MEMORY:
		return give_known(s, &s->memory_at, x->memory.n, max, flags);
	case ANSWER_PARTS:
		return give_known(s, &s->parts_at, x->answer_length, max, flags);
	case ANSWER_STREAM:
		break;
	}
	return give_stream(s, p, max, flags);
}

/* The bytes that on_read() has promised are the last n before memory_at, or the next n of the parts: frames of a stream are sent in
 * the order in which they were made. */
static int on_send_data(
	nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t n, nghttp2_data_source *source, void *arg)
{
	enum { HEAD = 9 };
	struct h2_stream *s = source->ptr;
	struct h2_connection *c = arg;
	struct h2_thread *t = c->thread;
	struct http_exchange *x = s->x;
	(void)session, (void)frame;
	if (H2_OUT - t->out_n < HEAD + n) {
		h2_thread_enqueue(c);
		return NGHTTP2_ERR_WOULDBLOCK;
	}
	memcpy(t->out + t->out_n, head, HEAD);
	t->out_n += HEAD;
	if (x->answer_body == ANSWER_MEMORY) {
		memcpy(t->out + t->out_n, x->memory.p + s->memory_at - n, n);
	} else {
		http_answer_read_parts(x, t->out + t->out_n, n);
	}
	t->out_n += n;
	return 0;
}

static bool submit(struct h2_stream *s)
{
	struct http_exchange *x = s->x;
	nghttp2_nv first[ANSWER_FIELDS];
	struct answer_fields fields = {.nv = first, .room = ANSWER_FIELDS, .arena = &x->request.arena};
	nghttp2_data_provider provider = {.source.ptr = s, .read_callback = on_read};
	bool is_empty = x->request.head.framing.is_head_request || x->answer_length == 0 || has_no_content(x->request.status);
	fill_fields(s, &fields);
	set_phase(s, KEEPER_SEND, s->connection->thread->now_ms);
	h2_thread_enqueue(s->connection);
	bool is_submitted =
		nghttp2_submit_response(session_of(s), s->id, fields.nv, fields.n, is_empty ? NULL : &provider) == 0;
	http_exchange_let_go(x);
	return is_submitted;
}

/* The functions of struct exchange_wire. */

static void on_suspend(struct http_exchange *x)
{
	x->stream->is_suspended = true;
}

static void on_resume(struct http_exchange *x)
{
	h2_thread_push(x->stream->connection->thread, x->stream);
}

static void on_set_phase(struct http_exchange *x, enum keeper_phase phase, int64_t now_ms)
{
	set_phase(x->stream, phase, now_ms);
	note_progress(x->stream, now_ms);
}

static bool is_client_gone(struct http_exchange *x)
{
	return x->stream->id < 0;
}

static bool is_drawn(double chance)
{
	static _Thread_local unsigned seed;
	if (chance > 0 && !seed) {
		seed = (unsigned)clock_mono_ns() | 1;
	}
	return chance > 0 && rand_r(&seed) < chance * RAND_MAX;
}

/* Clients that come back choose a server anew: so a replica that has just come gets its share of them. */
static bool is_to_leave(const struct http_exchange *x)
{
	return (http_answer_is_last(x) && !x->refusal) || is_drawn(x->server->options.goaway_chance);
}

/* A wake may still be on its way to the thread: the answer goes behind it. */
static bool stream_answer(struct http_exchange *x)
{
	struct h2_stream *s = x->stream;
	if (s->is_suspended) {
		s->is_answer_due = true;
		return true;
	}
	if (s->id < 0) {
		return true;
	}
	if (!submit(s)) {
		stream_reset(s, NGHTTP2_INTERNAL_ERROR);
	}
	if (is_to_leave(x)) {
		h2_connection_leave(s->connection);
	}
	return true;
}

static void on_evict(struct http_exchange *x)
{
	h2_thread_evict(x->stream->connection->thread);
}

static void on_end(struct http_exchange *x)
{
	struct h2_stream *s = x->stream;
	struct h2_connection *c = s->connection;
	if (s->id >= 0) {
		nghttp2_session_set_stream_user_data(c->session, s->id, NULL);
	}
	drop_held(s);
	list_remove(&s->link);
	c->n_streams--;
	if (s->is_abandoned) {
		h2_connection_drop_abandoned(c);
	}
	c->n_working -= s->phase == KEEPER_WORK;
	h2_connection_settle(c);
}

/* The connection may know its client by another verdict meanwhile: then this is the last reference. */
static void on_release(struct http_exchange *x)
{
	struct h2_stream *s = x->stream;
	s->peer = h2_peer_unref(s->peer);
}

static const struct exchange_wire h2_wire = {
	.suspend = on_suspend,
	.resume = on_resume,
	.set_phase = on_set_phase,
	.is_client_gone = is_client_gone,
	.answer_early = stream_answer,
	.answer = stream_answer,
	.evict = on_evict,
	.end = on_end,
	.release = on_release,
	.own_size = sizeof(struct h2_stream),
};

/* The request. */

static struct h2_stream *stream_new(struct h2_connection *c, int32_t id)
{
	struct http_exchange *x = http_exchange_new(c->thread->server, &h2_wire);
	struct h2_stream *s = http_exchange_own(x);
	*s = (struct h2_stream){.x = x, .connection = c, .id = id, .phase = KEEPER_BODY, .since_ms = c->thread->now_ms};
	x->stream = s;
	x->kept = &c->kept;
	list_init(&s->link);
	list_append(&c->streams, &s->link);
	buf_init(&s->held, HELD_CONNECTION);
	c->n_streams++;
	c->n_begun++;
	h2_connection_settle(c);
	return s;
}

/* The client holds its body back until a 100 Continue. */
static void tell_to_continue(struct h2_stream *s)
{
	const nghttp2_nv status = field_of(":status", 7, "100", 3);
	if (s->x->request.head.framing.awaits_continue && !s->is_complete) {
		nghttp2_submit_headers(session_of(s), NGHTTP2_FLAG_NONE, s->id, NULL, &status, 1, NULL);
	}
}

/* The head's handler does not wait any more. */
static void stream_go_on(struct h2_stream *s)
{
	struct http_exchange *x = s->x;
	if (s->is_suspended || x->request.status || s->id < 0) {
		return;
	}
	tell_to_continue(s);
	if (s->held.n) {
		size_t n = s->held.n;
		bool is_kept = http_exchange_receive(x, s->held.p, n);
		drop_held(s);
		nghttp2_session_consume_stream(session_of(s), s->id, n);
		h2_thread_enqueue(s->connection);
		if (!is_kept) {
			stream_reset(s, NGHTTP2_CANCEL);
			return;
		}
	}
	if (s->is_complete && h2_thread_is_late(s->connection->thread)) {
		s->is_suspended = true;
		h2_thread_push(s->connection->thread, s);
	} else if (s->is_complete) {
		http_exchange_run(x);
	}
}

static void stream_begin(struct h2_stream *s, bool is_complete)
{
	struct http_exchange *x = s->x;
	x->refusal = h2_head_finish(&s->head, &x->request.head, &x->request.arena, !is_complete, &x->problem);
	s->is_complete = is_complete;
	s->peer = h2_connection_peer(s->connection);
	s->has_begun = true;
	x->request.peer = &s->peer->peer;
	x->request.started_ns = clock_mono_ns();
	http_exchange_begin(x);
	stream_go_on(s);
}

static void complete(struct h2_stream *s)
{
	s->is_complete = true;
	stream_go_on(s);
}

/* The stream has come off the stack of woken ones: does what it was suspended for. */
void h2_stream_resumed(struct h2_stream *s)
{
	struct http_exchange *x = s->x;
	s->is_suspended = false;
	if (s->is_over) {
		http_exchange_end(x, s->is_sent);
		return;
	}
	if (s->is_answer_due) {
		s->is_answer_due = false;
		stream_answer(x);
	} else if (x->request.status) {
		if (s->id >= 0) {
			nghttp2_session_resume_data(session_of(s), s->id);
		}
	} else if (x->is_head_waiting) {
		http_exchange_resume_head(x);
		stream_go_on(s);
	} else {
		http_exchange_run(x);
	}
	if (s->id < 0 && !s->is_suspended) {
		stream_finish(s);
	}
}

/* From nghttp2. */

static struct h2_stream *stream_at(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

static bool is_request(const nghttp2_frame *frame)
{
	return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

/* Serves streams in turn: a client cannot make one stream go before another. */
static void serve_in_turn(nghttp2_session *session, int32_t id)
{
	nghttp2_extpri priority = {.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
	nghttp2_session_change_extpri_stream_priority(session, id, &priority, 1);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_connection *c = arg;
	int32_t id = frame->hd.stream_id;
	c->dropped_n = 0;
	if (!is_request(frame)) {
		return 0;
	}
	c->cancels_earned++;
	if (!h2_connection_has_room(c)) {
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
		return 0;
	}
	nghttp2_session_set_stream_user_data(session, id, stream_new(c, id));
	serve_in_turn(session, id);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
	const uint8_t *value, size_t value_n, uint8_t flags, void *arg)
{
	struct h2_connection *c = arg;
	struct h2_stream *s = stream_at(session, frame->hd.stream_id);
	size_t max = c->thread->server->options.max_header;
	struct str n = {(const char *)name, name_n};
	struct str v = {(const char *)value, value_n};
	(void)flags;
	if (!is_request(frame) || !s) {
		/* Nobody wants them; but opening them costs time. */
		c->dropped_n += name_n + value_n + H2_HEAD_FIELD_COST;
		return c->dropped_n <= 2 * max ? 0 : h2_judge_abuse(c, "fields");
	}
	return h2_head_add(&s->head, &s->x->request.head, &s->x->request.arena, n, v, max) ? 0 : h2_judge_abuse(c, "fields");
}

/* A field that nghttp2 does not let through. Its way would be to leave it out. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
	const uint8_t *value, size_t value_n, uint8_t flags, void *arg)
{
	(void)session, (void)frame, (void)name, (void)name_n, (void)value, (void)value_n, (void)flags, (void)arg;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_frame_received(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_connection *c = arg;
	struct h2_stream *s;
	bool is_end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		s = stream_at(session, frame->hd.stream_id);
		if (s && is_request(frame)) {
			stream_begin(s, is_end);
		} else if (s && is_end) {
			complete(s);
		}
		break;
	case NGHTTP2_DATA:
		s = is_end ? stream_at(session, frame->hd.stream_id) : NULL;
		if (s) {
			complete(s);
		}
		break;
	case NGHTTP2_PING:
		if (frame->hd.flags & NGHTTP2_FLAG_ACK) {
			h2_connection_on_pong(c, frame->ping.opaque_data);
		}
		break;
	default:
		break;
	}
	return 0;
}

/* Keeps bytes of a body whose handler still waits in on_headers. */
static void hold(struct h2_stream *s, const char *p, size_t n)
{
	struct h2_connection *c = s->connection;
	_Atomic uint64_t *all = &server_of(s)->h2->held;
	if (c->held_n + n > HELD_CONNECTION || atomic_load_explicit(all, memory_order_relaxed) + n > HELD_ALL) {
		stream_reset(s, NGHTTP2_REFUSED_STREAM);
		return;
	}
	buf_add(&s->held, p, n);
	c->held_n += n;
	atomic_fetch_add_explicit(all, n, memory_order_relaxed);
}

/* Discards n bytes of a body that nobody wants any more. */
static void let_go_by(struct h2_connection *c, int32_t id, size_t n)
{
	nghttp2_session_consume_stream(c->session, id, n);
	c->unwanted_n += n;
	if (c->unwanted_n > UNWANTED_MAX) {
		c->unwanted_n = 0;
		nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
	}
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *arg)
{
	struct h2_connection *c = arg;
	struct h2_stream *s = stream_at(session, id);
	(void)flags;
	nghttp2_session_consume_connection(session, n);
	h2_thread_enqueue(c);
	if (!s) {
		let_go_by(c, id, n);
		return 0;
	}
	if (s->was_reset) {
		return 0;
	}
	s->heard_ms = c->thread->now_ms;
	if (s->x->is_head_waiting) {
		hold(s, (const char *)p, n);
		return 0;
	}
	nghttp2_session_consume_stream(session, id, n);
	if (!http_exchange_receive(s->x, (const char *)p, n)) {
		stream_reset(s, NGHTTP2_CANCEL);
	}
	return 0;
}

/* Where the answer is out before the request is in, the exchange is over. Some clients take an answer only when they could send all of
 * the request; so what still comes is let go by for a while. */
static void on_answered(struct h2_stream *s)
{
	s->is_sent = true;
	if (!s->is_complete) {
		nghttp2_session_set_stream_user_data(session_of(s), s->id, NULL);
		lose(s);
	}
}

/* We end it because of our limits, or of what we answer. That is no mistake of the client's, but a stranger pays for it all the same. */
static bool is_free(const struct h2_connection *c, const struct h2_stream *s, uint32_t code)
{
	bool is_ours = code == NGHTTP2_REFUSED_STREAM || code == NGHTTP2_CANCEL ||
		(code == NGHTTP2_INTERNAL_ERROR && s && s->x->request.status);
	return code == NGHTTP2_NO_ERROR || (is_ours && c->kept.is_vouched);
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_connection *c = arg;
	if (frame->hd.type == NGHTTP2_RST_STREAM) {
		h2_judge_note_closed(c, frame->hd.stream_id, true);
		http_count(&c->thread->server->http2_refused, frame->rst_stream.error_code == NGHTTP2_REFUSED_STREAM);
		if (!is_free(c, stream_at(session, frame->hd.stream_id), frame->rst_stream.error_code)) {
			h2_judge_reset(c);
		}
		return 0;
	}
	if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) {
		return 0;
	}
	/* Not for a few bytes: a client may open its window by one byte again and again. */
	c->updates_earned += frame->hd.length >= UPDATE_BYTES_MIN ? 2 + frame->hd.length / UPDATE_BYTES : 0;
	struct h2_stream *s = stream_at(session, frame->hd.stream_id);
	if (s && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
		on_answered(s);
	}
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
	struct h2_stream *s = stream_at(session, id);
	(void)code;
	h2_judge_note_closed(arg, id, false);
	if (s) {
		lose(s);
	}
	return 0;
}

void h2_stream_set_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_received);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_data);
}

/* A small answer fits into the windows that clients begin with, and the socket takes it: so a stranger holds it up on purpose. */
static bool is_held_up_by_stranger(const struct h2_stream *s)
{
	const struct http_exchange *x = s->x;
	const struct h2_connection *c = s->connection;
	return s->phase == KEEPER_SEND && !c->kept.is_vouched && !c->rest && x->answer_body != ANSWER_STREAM &&
		x->answer_length <= NGHTTP2_INITIAL_WINDOW_SIZE;
}

bool h2_stream_is_late(const struct h2_stream *s)
{
	return h2_thread_is_late(s->connection->thread);
}

/* Resets the stream if its answer has been evicted. The answer's memory is free when this returns, or
 * when the current send ends. */
bool h2_stream_give_way(struct h2_stream *s)
{
	bool is_evicted = s->id >= 0 && atomic_load_explicit(&s->x->unsent.is_evicted, memory_order_relaxed);
	if (is_evicted) {
		stream_reset(s, NGHTTP2_CANCEL);
	}
	return is_evicted;
}

/* Deadlines: for a whole body, and for progress of an answer. */
void h2_stream_sweep(struct h2_stream *s)
{
	const struct http_options *o = &server_of(s)->options;
	const struct h2_thread *t = s->connection->thread;
	int64_t stall_ms = t->is_draining ? o->drain_stall_ms : o->body_timeout_ms;
	int64_t passed_ms = t->now_ms - s->since_ms;
	bool is_late = false;
	if (s->phase == KEEPER_SEND) {
		is_late = passed_ms > (is_held_up_by_stranger(s) ? o->stranger_grace_ms : stall_ms);
	} else if (s->phase == KEEPER_BODY && !s->is_complete) {
		struct body_patience p = keeper_body_patience(server_of(s)->keeper, t->now_ms, t->is_draining);
		is_late = passed_ms > p.whole_ms || t->now_ms - MAX(s->since_ms, s->heard_ms) > p.silent_ms;
	}
	if (s->id >= 0 && is_late) {
		http_count(&server_of(s)->stalled, t->is_draining && !s->was_reset);
		stream_reset(s, NGHTTP2_CANCEL);
	}
}
