/* A connection of HTTP/2.
 *
 *   socket -- pull, push -- GnuTLS -- nghttp2 -- streams
 *
 * In: one recv(2) fills the thread's buffer, GnuTLS opens record by record, and nghttp2 calls h2_stream.c with
 * what it finds. Out: nghttp2 writes frames into the thread's buffer until there are no more, or four records
 * are full; these are sealed, and one send(2) takes them. Bytes that the socket does not take are kept, and
 * until they are gone nothing more is asked of nghttp2. So a client that does not read costs one turn's
 * records, and what nghttp2 has queued. While that is much, nothing is read from the client either.
 *
 * A client has a budget for work that brings nothing: one for PING, SETTINGS, empty frames and the like,
 * another for streams that end before their time, whichever side ends them. A client that overdraws one gets
 * ENHANCE_YOUR_CALM, and its connection ends.
 *
 * An aggregator has all its users on one connection, and passes on what they cancel. So clients that are
 * vouched for may cancel as many streams as they begin. Only the work that they leave behind counts: handlers
 * that go on for a stream nobody wants. They do not take the places of other streams. While there are as many
 * as a connection may have streams, nothing is read. If that lasts for a second, the client is sent to another
 * connection with ENHANCE_YOUR_CALM, and the streams under way are finished. */
#include "server/http/h2_private.h"

#include <assert.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	READ_RECORDS = 8,   /* in one turn: others have theirs; */
	BEGUN_STREAMS = 64, /* and no further record behind so many requests */
	STREAM_WINDOW = 256 << 10,
	CONNECTION_WINDOW = 1 << 20,
	PEER_CEILING = 32 << 10, /* bytes of a certificate's names */
	QUEUED_FRAMES = 512,     /* besides two for each stream: who does not read is not read on */
	LEAVE_MS = 1000,         /* between the two GOAWAYs, where no answer tells that the first has come */
};

static const char leave_ping[8] = {'l', 'e', 'a', 'v', 'e', ' ', 'u', 's'};

static struct http_server *server_of(const struct h2_connection *c)
{
	return c->thread->server;
}

unsigned h2_connection_max_streams(const struct h2_connection *c)
{
	return server_of(c)->options.http2_max_streams;
}

/* The peer's identity, judged from its certificate. */

struct h2_peer *h2_peer_unref(struct h2_peer *p)
{
	if (p && --p->refs == 0) {
		verdict_done(&p->verdict);
		arena_done(&p->arena);
		mem_free(p);
	}
	return NULL;
}

static struct h2_peer *judge_peer(struct h2_connection *c)
{
	char address[SOCKET_ADDRESS_SIZE];
	struct h2_peer *p = mem_new(struct h2_peer);
	p->refs = 1;
	arena_init_with(&p->arena, PEER_CEILING, p->scratch, sizeof(p->scratch));
	p->peer.is_tls = true;
	client_trust_judge(server_of(c)->trust, &p->verdict, c->tls, &p->arena, &p->peer);
	socket_format_address(address, (const struct sockaddr *)&c->address);
	p->peer.address = arena_dup(&p->arena, str_of(address));
	return p;
}

/* Requests under way keep what was judged when they began: so a new verdict is a new struct. */
struct h2_peer *h2_connection_peer(struct h2_connection *c)
{
	if (!c->peer || !client_trust_holds(server_of(c)->trust, &c->peer->verdict)) {
		h2_peer_unref(c->peer);
		c->peer = judge_peer(c);
	}
	c->peer->refs++;
	return c->peer;
}

/* The socket. */

static void give_up(struct h2_connection *c)
{
	c->is_over = true;
	h2_thread_enqueue(c);
}

/* A short read has emptied the socket: what comes after it is another event. */
static ssize_t receive(struct h2_connection *c)
{
	struct h2_thread *t = c->thread;
	if (c->is_drained && !c->has_end) {
		errno = EAGAIN;
		return -1;
	}
	ssize_t n;
	do {
		n = recv(c->kept.fd, t->in, sizeof(t->in), 0);
	} while (n < 0 && errno == EINTR);
	t->in_at = 0;
	t->in_n = n > 0 ? (size_t)n : 0;
	c->is_drained = n < (ssize_t)sizeof(t->in);
	return n;
}

static ssize_t on_pull(gnutls_transport_ptr_t p, void *data, size_t n)
{
	struct h2_connection *c = p;
	struct h2_thread *t = c->thread;
	if (t->in_at == t->in_n) {
		ssize_t r = receive(c);
		if (r <= 0) {
			gnutls_transport_set_errno(c->tls, errno);
			return r;
		}
	}
	n = MIN(n, t->in_n - t->in_at);
	memcpy(data, t->in + t->in_at, n);
	t->in_at += n;
	return (ssize_t)n;
}

static ssize_t on_push(gnutls_transport_ptr_t p, const giovec_t *pieces, int n_pieces)
{
	struct h2_connection *c = p;
	size_t total = 0;
	for (int i = 0; i < n_pieces; i++) {
		total += pieces[i].iov_len;
		if (!buf_add(&c->thread->sealed, pieces[i].iov_base, pieces[i].iov_len)) {
			gnutls_transport_set_errno(c->tls, EIO);
			return -1;
		}
	}
	return (ssize_t)total;
}

/* The thread's buffer serves another connection next, so unread bytes move to memory of the connection. */
static void restore_ahead(struct h2_connection *c)
{
	struct h2_thread *t = c->thread;
	memcpy(t->in, c->ahead_n ? c->ahead : t->in, c->ahead_n);
	t->in_at = 0;
	t->in_n = c->ahead_n;
	c->ahead = mem_free(c->ahead);
	c->ahead_n = 0;
}

static void save_ahead(struct h2_connection *c)
{
	struct h2_thread *t = c->thread;
	c->ahead_n = t->in_n - t->in_at;
	c->ahead = c->ahead_n ? mem_dup(t->in + t->in_at, c->ahead_n) : NULL;
	t->in_at = t->in_n = 0;
}

/* Returns how many bytes the socket took. */
static size_t send_some(struct h2_connection *c, const char *p, size_t n)
{
	size_t taken = 0;
	while (taken < n && !c->is_blocked) {
		ssize_t r = send(c->kept.fd, p + taken, n - taken, MSG_NOSIGNAL);
		if (r >= 0) {
			taken += (size_t)r;
			c->moved_ms = c->thread->now_ms;
		} else if (errno == EAGAIN) {
			c->is_blocked = true;
		} else if (errno != EINTR) {
			give_up(c);
			return n;
		}
	}
	return taken;
}

static void send_rest(struct h2_connection *c)
{
	c->rest_at += send_some(c, c->rest + c->rest_at, c->rest_n - c->rest_at);
	if (c->rest_at == c->rest_n) {
		unsent_count(&server_of(c)->unsent, c->rest_user, -(ptrdiff_t)c->rest_n);
		c->rest = mem_free(c->rest);
		c->rest_n = c->rest_at = 0;
	}
}

static void keep(struct h2_connection *c, const char *p, size_t n)
{
	size_t left = c->rest_n - c->rest_at;
	if (left + n > H2_SEALED_MAX) {
		give_up(c);
		return;
	}
	char *rest = mem_alloc(left + n);
	if (left) {
		memcpy(rest, c->rest + c->rest_at, left);
	}
	memcpy(rest + left, p, n);
	mem_free(c->rest);
	unsent_count(&server_of(c)->unsent, c->rest_user, -(ptrdiff_t)c->rest_n);
	c->rest_user = c->kept.payer.user; /* of all whose answers are in it, the last */
	unsent_count(&server_of(c)->unsent, c->rest_user, (ptrdiff_t)(left + n));
	c->rest = rest;
	c->rest_n = left + n;
	c->rest_at = 0;
}

static void send_sealed(struct h2_connection *c)
{
	struct buf *sealed = &c->thread->sealed;
	if (!c->rest) {
		c->moved_ms =
			c->thread
				->now_ms; /* the deadline of kept output starts with the first byte that the socket did not take */
	}
	size_t taken = c->rest ? 0 : send_some(c, sealed->p, sealed->n);
	if (taken < sealed->n) {
		keep(c, sealed->p + taken, sealed->n - taken);
	}
	buf_clear(sealed);
}

/* TLS. */

static bool begin_tls(struct h2_connection *c)
{
	static const gnutls_datum_t h2 = {(unsigned char *)(uintptr_t) "h2", 2};
	struct http_server *s = server_of(c);
	if (gnutls_init(&c->tls, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS) < 0) {
		c->tls = NULL;
		return false;
	}
	c->identity = tls_files_identity(s->tls);
	gnutls_priority_set(c->tls, s->h2->priorities);
	tls_identity_apply(c->identity, c->tls);
	gnutls_alpn_set_protocols(c->tls, &h2, 1, GNUTLS_ALPN_MANDATORY);
	gnutls_transport_set_ptr(c->tls, c);
	gnutls_transport_set_pull_function(c->tls, on_pull);
	gnutls_transport_set_vec_push_function(c->tls, on_push);
	return true;
}

static bool is_h2(gnutls_session_t tls)
{
	gnutls_datum_t protocol;
	return gnutls_alpn_get_selected_protocol(tls, &protocol) == 0 && protocol.size == 2 &&
		memcmp(protocol.data, "h2", 2) == 0;
}

/* Priorities are off: a client cannot order streams, which would be a tree of its making. All are served in turn. */
static bool begin_session(struct h2_connection *c)
{
	struct http_server *s = server_of(c);
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)s->options.max_header},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
		{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
	};
	if (nghttp2_session_server_new2(&c->session, s->h2->callbacks, c, s->h2->option) != 0) {
		c->session = NULL;
		return false;
	}
	const nghttp2_settings_entry limit = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, h2_connection_max_streams(c)};
	nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, ARRAY_SIZE(settings));
	nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, &limit, 1);
	nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
	keeper_set_phase(&c->kept, KEEPER_FIRST, c->thread->now_ms);
	http_count(&s->http2_connections, 1);
	return true;
}

static void shake_hands(struct h2_connection *c)
{
	int r;
	do {
		r = gnutls_handshake(c->tls);
	} while (r < 0 && r != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(r));
	if (r == GNUTLS_E_AGAIN) {
		c->may_read = false;
		return;
	}
	if (r == 0 && !is_h2(c->tls)) {
		r = GNUTLS_E_NO_APPLICATION_PROTOCOL;
	}
	if (r < 0) {
		gnutls_alert_send_appropriate(c->tls, r);
		give_up(c);
		return;
	}
	c->is_handshaken = true;
	if (!begin_session(c)) {
		give_up(c);
	} else if (atomic_load_explicit(&server_of(c)->is_draining, memory_order_acquire)) {
		h2_connection_leave(c);
	}
}

/* Frames. */

static void connection_fail(struct h2_connection *c, uint32_t code)
{
	if (!c->is_failing) {
		c->is_failing = true;
		c->must_linger = true;
		nghttp2_session_terminate_session(c->session, code);
	}
}

void h2_connection_add_abandoned(struct h2_connection *c)
{
	if (++c->n_abandoned == h2_connection_max_streams(c)) {
		c->crowded_ms = c->thread->now_ms;
	}
}

void h2_connection_drop_abandoned(struct h2_connection *c)
{
	if (c->n_abandoned-- == h2_connection_max_streams(c)) {
		c->crowded_ms = 0;
	}
}

/* A stranger's abandoned streams keep their places: resetting them does not get it more handlers. */
bool h2_connection_has_room(const struct h2_connection *c)
{
	unsigned max = h2_connection_max_streams(c);
	unsigned n_excused = c->leaving == H2_STAYS ? c->n_abandoned : MIN(c->n_abandoned, max);
	return c->n_streams - (c->kept.is_vouched ? n_excused : 0) < max;
}

/* Most handlers that nobody waits for finish in milliseconds. Until then the client gets no more handlers. */
static bool is_crowded(const struct h2_connection *c)
{
	return c->crowded_ms && c->leaving == H2_STAYS && c->kept.is_vouched;
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *p, size_t n, int flags, void *arg)
{
	struct h2_connection *c = arg;
	struct h2_thread *t = c->thread;
	(void)session;
	(void)flags;
	if (H2_OUT - t->out_n < n) {
		h2_thread_enqueue(c); /* there is more */
		return NGHTTP2_ERR_WOULDBLOCK;
	}
	memcpy(t->out + t->out_n, p, n);
	t->out_n += n;
	return (ssize_t)n;
}

/* With its head a frame fills a record. */
static ssize_t on_data_length(nghttp2_session *session, uint8_t type, int32_t id, int32_t connection_window,
	int32_t stream_window, uint32_t max_frame, void *arg)
{
	int64_t n = H2_RECORD - 9;
	(void)session, (void)type, (void)id, (void)arg;
	n = MIN(n, (int64_t)MIN(connection_window, stream_window));
	return (ssize_t)MIN(n, (int64_t)max_frame);
}

int h2_sessions_open(struct h2 *h)
{
	if (gnutls_priority_init(&h->priorities, TLS_PRIORITIES, NULL) < 0) {
		h->priorities = NULL;
		return -1;
	}
	if (nghttp2_option_new(&h->option) != 0 || nghttp2_session_callbacks_new(&h->callbacks) != 0) {
		return -1;
	}
	nghttp2_option_set_no_auto_window_update(h->option, 1);
	nghttp2_option_set_no_closed_streams(h->option, 1);
	nghttp2_option_set_max_outbound_ack(h->option, 256);
#ifdef HAVE_NGHTTP2_STREAM_RESET_RATE_LIMIT
	/* Resets have a budget here (charge_cancel()). nghttp2's own is 33 a second, whoever the client is. */
	nghttp2_option_set_stream_reset_rate_limit(h->option, UINT32_MAX, UINT32_MAX);
#endif
	nghttp2_session_callbacks_set_send_callback(h->callbacks, on_send);
	nghttp2_session_callbacks_set_data_source_read_length_callback(h->callbacks, on_data_length);
	h2_stream_set_callbacks(h->callbacks);
	return 0;
}

void h2_sessions_close(struct h2 *h)
{
	nghttp2_session_callbacks_del(h->callbacks);
	nghttp2_option_del(h->option);
	if (h->priorities) {
		gnutls_priority_deinit(h->priorities);
	}
}

/* Reading. */

/* True: nothing is read from the client now. nghttp2 queues frames for it without a limit, so we count them. */
static bool is_paused(const struct h2_connection *c)
{
	bool is_flooded = c->rest && nghttp2_session_get_outbound_queue_size(c->session) > QUEUED_FRAMES + 2 * c->n_streams;
	return is_flooded || is_crowded(c);
}

static void feed(struct h2_connection *c, const char *p, size_t n)
{
	ssize_t r = n && !c->is_failing ? nghttp2_session_mem_recv(c->session, (const uint8_t *)p, n) : 0;
	if (r < 0) {
		bool is_flood = c->abuse || r == NGHTTP2_ERR_FLOODED;
		connection_fail(c, is_flood ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
	}
}

/* The head of the next frame, as far as it is there; how much of text that was. */
static size_t take_head(struct h2_connection *c, struct str text)
{
	size_t n = MIN(text.n, sizeof(c->frame_head) - c->frame_head_n);
	memcpy(c->frame_head + c->frame_head_n, text.p, n);
	c->frame_head_n += (unsigned)n;
	if (c->frame_head_n < sizeof(c->frame_head)) {
		return n;
	}
	c->frame_head_n = 0;
	if (!h2_judge_frame(c, c->frame_head, (struct str){text.p + n, text.n - n})) {
		connection_fail(c, c->error ? c->error : NGHTTP2_ENHANCE_YOUR_CALM);
	} else if (!c->is_frame_kept) {
		feed(c, c->frame_head, sizeof(c->frame_head));
	}
	return n;
}

/* Frames are judged one by one before nghttp2 sees them: of those that it lets go by it tells nobody. All bytes
 * in front of a frame have been handled by then. */
static void take_frames(struct h2_connection *c, struct str text)
{
	while (text.n && !c->is_failing) {
		size_t n;
		if (c->preface_n < NGHTTP2_CLIENT_MAGIC_LEN) {
			n = MIN(text.n, (size_t)NGHTTP2_CLIENT_MAGIC_LEN - c->preface_n);
			c->preface_n += (unsigned)n;
			feed(c, text.p, n);
		} else if (c->frame_left) {
			n = MIN(text.n, (size_t)c->frame_left);
			c->frame_left -= (uint32_t)n;
			feed(c, text.p, n);
		} else {
			n = take_head(c, text);
		}
		text.p += n;
		text.n -= n;
	}
}

/* False: there is nothing more now. */
static bool read_record(struct h2_connection *c)
{
	ssize_t n = gnutls_record_recv(c->tls, c->thread->piece, sizeof(c->thread->piece));
	if (n > 0) {
		take_frames(c, (struct str){c->thread->piece, (size_t)n});
		return true;
	}
	if (n == GNUTLS_E_AGAIN) {
		c->may_read = false;
		return false;
	}
	if (n == GNUTLS_E_REHANDSHAKE || n == 0 || gnutls_error_is_fatal((int)n)) {
		give_up(c);
		return false;
	}
	return true;
}

static void read_records(struct h2_connection *c)
{
	c->n_begun = 0;
	for (unsigned i = 0; i < READ_RECORDS && c->may_read && !c->is_over && !c->is_failing && !is_paused(c); i++) {
		if (!read_record(c) || c->n_begun >= BEGUN_STREAMS) {
			break;
		}
	}
}

void h2_connection_read(struct h2_connection *c)
{
	if (c->is_over || !c->may_read) {
		return;
	}
	if (!c->tls && !begin_tls(c)) {
		give_up(c);
		return;
	}
	c->is_drained = false;
	restore_ahead(c);
	if (!c->is_handshaken) {
		shake_hands(c);
	}
	if (c->session) {
		read_records(c);
	}
	save_ahead(c);
	if (c->thread->sealed.n) {
		send_sealed(c);
	}
}

/* Writing. */

static void seal(struct h2_connection *c)
{
	struct h2_thread *t = c->thread;
	for (size_t at = 0; at < t->out_n && !c->is_over;) {
		ssize_t n = gnutls_record_send(c->tls, t->out + at, MIN(t->out_n - at, (size_t)H2_RECORD));
		if (n <= 0) {
			give_up(c);
			break;
		}
		at += (size_t)n;
	}
	t->out_n = 0;
}

static void write_frames(struct h2_connection *c)
{
	int r = nghttp2_session_send(c->session);
	if (r < 0) {
		give_up(c);
	}
	seal(c);
	if (c->thread->sealed.n) {
		send_sealed(c);
	}
}

static bool is_done(const struct h2_connection *c)
{
	return c->session && !c->rest && !nghttp2_session_want_read(c->session) && !nghttp2_session_want_write(c->session);
}

/* The client may still be sending: a reset would destroy what was said to it last. */
static void end_socket(struct h2_connection *c)
{
	int duplicate = c->must_linger ? dup(c->kept.fd) : -1;
	epoll_ctl(c->thread->epoll, EPOLL_CTL_DEL, c->kept.fd, NULL);
	if (duplicate >= 0) {
		keeper_linger(server_of(c)->keeper, duplicate);
	} else {
		shutdown(c->kept.fd, SHUT_RDWR);
	}
}

static void end_tls(struct h2_connection *c)
{
	if (c->is_handshaken && !c->rest && !c->has_end) {
		gnutls_bye(c->tls, GNUTLS_SHUT_WR);
		send_some(c, c->thread->sealed.p, c->thread->sealed.n);
	}
	buf_clear(&c->thread->sealed);
	gnutls_deinit(c->tls);
	c->tls = NULL;
}

static void free_connection(struct h2_connection *c)
{
	struct http_server *s = server_of(c);
	if (!c->is_handshaken) {
		http_count(&s->handshakes_failed, 1);
	}
	list_remove(&c->link);
	list_remove(&c->run_link);
	assert(list_is_empty(&c->due_link));
	atomic_fetch_sub_explicit(&c->thread->n_connections, 1, memory_order_relaxed);
	int fd = c->kept.fd;
	keeper_remove(s->keeper, &c->kept);
	close(fd);
	h2_peer_unref(c->peer);
	tls_identity_unref(c->identity);
	mem_free(c->ahead);
	unsent_count(&s->unsent, c->rest_user, -(ptrdiff_t)c->rest_n);
	mem_free(c->rest);
	mem_free(c);
}

/* Ends the connection in steps, each of which is made once. The memory stays until no handler waits for anything. */
static void connection_end(struct h2_connection *c)
{
	if (c->session) {
		list_for_each_safe(it, &c->streams) {
			h2_stream_lost(list_entry(it, struct h2_stream, link));
		}
		nghttp2_session_del(c->session);
		c->session = NULL;
	}
	if (c->tls) {
		end_tls(c);
	}
	if (!c->is_closed) {
		c->is_closed = true;
		end_socket(c);
	}
	if (c->n_streams == 0) {
		free_connection(c);
	}
}

void h2_connection_write(struct h2_connection *c)
{
	if (c->rest && !c->is_over) {
		send_rest(c);
	}
	if (c->session && c->abuse) {
		connection_fail(c, NGHTTP2_ENHANCE_YOUR_CALM);
	}
	if (c->session && !c->rest && !c->is_over) {
		write_frames(c);
	}
	if (c->is_over || is_done(c)) {
		c->is_over = true;
		connection_end(c);
	} else if (c->may_read && !c->is_failing && !(c->session && is_paused(c))) {
		h2_thread_enqueue(c);
	}
}

/* Deadlines. */

void h2_connection_leave(struct h2_connection *c)
{
	if (!c->session || c->leaving != H2_STAYS) {
		return;
	}
	c->leaving = H2_ANNOUNCED;
	c->leaving_ms = c->thread->now_ms;
	nghttp2_submit_shutdown_notice(c->session);
	nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, (const uint8_t *)leave_ping);
	h2_thread_enqueue(c);
}

static void leave_now(struct h2_connection *c)
{
	c->leaving = H2_LEAVES;
	c->leaving_ms = c->thread->now_ms;
	nghttp2_submit_goaway(
		c->session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(c->session), c->leaving_code, NULL, 0);
	h2_thread_enqueue(c);
}

/* The client has seen the first GOAWAY: whatever it sent before that has come. */
void h2_connection_on_pong(struct h2_connection *c, const uint8_t opaque[8])
{
	if (c->leaving == H2_ANNOUNCED && memcmp(opaque, leave_ping, sizeof(leave_ping)) == 0) {
		leave_now(c);
	}
}

void h2_connection_settle(struct h2_connection *c)
{
	enum keeper_phase phase = c->n_working ? KEEPER_WORK : c->n_streams ? KEEPER_STREAM : KEEPER_QUIET;
	c->quiet_ms = c->thread->now_ms;
	keeper_set_phase(&c->kept, phase, c->quiet_ms);
	if (c->is_over) {
		h2_thread_enqueue(c); /* what it still waited for may have been this */
	}
}

void h2_connection_sweep(struct h2_connection *c)
{
	const struct http_options *o = &server_of(c)->options;
	int64_t now = c->thread->now_ms;
	if (c->is_over || !c->session) {
		return;
	}
	bool is_in_the_way = c->is_failing || unsent_is_full(&server_of(c)->unsent, &c->kept.payer);
	int64_t stall_ms = is_in_the_way ? LEAVE_MS : c->thread->is_draining ? o->drain_stall_ms : o->body_timeout_ms;
	bool is_stuck = c->rest && now - c->moved_ms > stall_ms;
	if (is_stuck || (c->head_ms && now - c->head_ms > o->header_timeout_ms)) {
		http_count(&server_of(c)->stalled, c->thread->is_draining ? c->n_streams : 0);
		give_up(c);
		return;
	}
	/* Streams that the client never ends keep nobody here. */
	if (c->leaving == H2_LEAVES && c->n_streams == 0 && now - c->leaving_ms > LEAVE_MS) {
		give_up(c);
		return;
	}
	if (is_crowded(c) && now - c->crowded_ms > LEAVE_MS) {
		c->leaving_code = NGHTTP2_ENHANCE_YOUR_CALM;
		http_count(&server_of(c)->http2_abuses, 1);
		h2_connection_leave(c);
	}
	if (c->leaving == H2_STAYS && c->quiet_ms && c->n_streams == 0 && now - c->quiet_ms > o->idle_timeout_ms) {
		leave_now(c);
	} else if (c->leaving == H2_ANNOUNCED && now - c->leaving_ms >= LEAVE_MS) {
		leave_now(c);
	}
	list_for_each_safe(it, &c->streams) {
		h2_stream_sweep(list_entry(it, struct h2_stream, link));
	}
}

/* A client that reads no frame at all would not let a stream end: then its connection does. */
void h2_connection_give_way(struct h2_connection *c)
{
	bool is_asked = false;
	if (c->is_over || !c->session) {
		return;
	}
	list_for_each_safe(it, &c->streams) {
		is_asked |= h2_stream_give_way(list_entry(it, struct h2_stream, link));
	}
	if (is_asked && c->is_blocked) {
		give_up(c);
	}
}

/* Making a connection, and its events. */

struct h2_connection *h2_connection_new(struct h2_thread *t, int fd, const struct sockaddr *address, socklen_t size)
{
	struct h2_connection *c = mem_new(struct h2_connection);
	c->thread = t;
	c->kept.fd = fd;
	c->address_size = MIN(size, (socklen_t)sizeof(c->address));
	memcpy(&c->address, address, c->address_size);
	list_init(&c->link);
	list_init(&c->run_link);
	list_init(&c->due_link);
	list_init(&c->streams);
	return c;
}

void h2_connection_on_events(struct h2_connection *c, uint32_t events)
{
	c->may_read |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	c->has_end |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) {
		c->is_blocked = false;
	}
}
