/* The pump's threads, and below them the streams of exchanges, which the pump or the wire drives.
 *
 * A stream is touched by its own thread alone, but for the wake: a flag, and a push on a lock-free
 * stack. The flag says that the stream is on the stack, so it is pushed once however often it is
 * woken, and is not freed while it is there. Sockets are registered once, edge-triggered: to block
 * and to go on costs no system call. */
#include "server/http/http_pump.h"

#include "base/clock.h"
#include "base/thread.h"
#include "server/http/http_private.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	RECORD = 16384, /* a full TLS record */
	CHUNK_HEAD = 6, /* "3ff0\r\n" */
	CHUNK_TAIL = 2,
	/* Bytes of a chunk, so that it fills one TLS record. */
	BODY_MAX = RECORD - CHUNK_HEAD - CHUNK_TAIL,
	TURN = 4,         /* records for one stream before the others get their turn */
	MAX_EVENTS = 256, /* taken in one turn; further ones come with the next */
	STALL_CHECK_MS = 1000,
	STALL_MS = 60000,
};

struct pump_thread {
	pthread_t id;
	_Atomic int64_t stall_ms;
	_Atomic uint64_t n_stalled; /* streams that were cut for it */
	int epoll, wakeup; /* wakeup: an eventfd in epoll */
	/* Anybody pushes, this thread takes all at once: so no push can be fooled by what came
	 * back. */
	_Atomic(struct pump_stream *) woken;
	_Atomic bool is_stopping;
	struct list runnable; /* of pump_stream.link */
	struct list blocked;  /* of pump_stream.blocked_link, longest first */
	int64_t stall_check_ms;
	char buffer[RECORD];
};

struct pump {
	unsigned n_threads;
	_Atomic unsigned next; /* the thread for the next stream */
	struct pump_thread threads[];
};

/* SENT_BLOCKED: what is left is kept in `rest`. SENT_BROKEN: the client has gone. */
enum sent { SENT, SENT_BLOCKED, SENT_BROKEN };

static void wake_thread(struct pump_thread *t)
{
	uint64_t one = 1;
	ssize_t r = write(t->wakeup, &one, sizeof(one));
	assert(r == sizeof(one) || errno == EAGAIN);
}

/* As soon as s is on the stack its thread may take it off and finish it: nothing of s may be touched after. */
static void push_woken(struct pump_stream *s)
{
	struct pump_thread *t = s->thread;
	struct pump_stream *top = atomic_load_explicit(&t->woken, memory_order_relaxed);
	do {
		s->next = top;
	} while (!atomic_compare_exchange_weak_explicit(&t->woken, &top, s, memory_order_release, memory_order_relaxed));
	if (!top) {
		wake_thread(t);
	}
}

void pump_wake(struct pump_stream *s)
{
	if (!atomic_exchange_explicit(&s->is_woken, true, memory_order_acq_rel)) {
		push_woken(s);
	}
}

/* A stream counts as woken until it is started: a wake before that has nothing to do. */
void pump_prepare(struct pump *p, struct pump_stream *s)
{
	unsigned i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed) % p->n_threads;
	s->thread = &p->threads[i];
	list_init(&s->link);
	list_init(&s->blocked_link);
	atomic_store_explicit(&s->is_woken, true, memory_order_relaxed);
}

void pump_start(struct pump_stream *s)
{
	push_woken(s);
}

/* Sending. */

static void block(struct pump_stream *s)
{
	s->is_blocked = true;
	s->blocked_ms = clock_mono_ms();
	list_remove(&s->blocked_link);
	list_append(&s->thread->blocked, &s->blocked_link);
}

static void unblock(struct pump_stream *s)
{
	s->is_blocked = false;
	list_remove(&s->blocked_link);
}

/* GnuTLS keeps a record that the socket did not take, and goes on with it when called without data; then it says how much of the
 * caller's data that was. */
static ssize_t send_tls(struct pump_stream *s, const char *p, size_t n)
{
	ssize_t r;
	do {
		r = s->is_record_kept ? gnutls_record_send(s->tls, NULL, 0) : gnutls_record_send(s->tls, p, n);
	} while (r == GNUTLS_E_INTERRUPTED);
	s->is_record_kept = r == GNUTLS_E_AGAIN;
	return s->is_record_kept ? 0 : r;
}

static ssize_t send_plain(struct pump_stream *s, const char *p, size_t n)
{
	ssize_t r;
	do {
		r = send(s->fd, p, n, MSG_NOSIGNAL);
	} while (r < 0 && errno == EINTR);
	return r < 0 && errno == EAGAIN ? 0 : r;
}

/* *ret_taken: how much of it the socket took. */
static enum sent send_all(struct pump_stream *s, const char *p, size_t n, size_t *ret_taken)
{
	*ret_taken = 0;
	while (*ret_taken < n) {
		ssize_t r =
			s->tls ? send_tls(s, p + *ret_taken, n - *ret_taken) : send_plain(s, p + *ret_taken, n - *ret_taken);
		if (r < 0) {
			return SENT_BROKEN;
		}
		if (r == 0) {
			block(s);
			return SENT_BLOCKED;
		}
		*ret_taken += (size_t)r;
	}
	return SENT;
}

/* The socket has room again. */
static enum sent send_rest(struct pump_stream *s)
{
	size_t taken;
	unblock(s);
	enum sent sent = send_all(s, s->rest + s->rest_at, s->rest_n - s->rest_at, &taken);
	s->rest_at += taken;
	if (sent == SENT) {
		s->rest = mem_free(s->rest);
	}
	return sent;
}

/* The buffer serves the thread's next stream: what the socket did not take is kept aside. */
static enum sent send_or_keep(struct pump_stream *s, const char *p, size_t n)
{
	size_t taken;
	enum sent sent = send_all(s, p, n, &taken);
	if (sent == SENT_BLOCKED) {
		s->rest = mem_dup(p + taken, n - taken);
		s->rest_n = n - taken;
		s->rest_at = 0;
	}
	return sent;
}

static enum sent send_body(struct pump_stream *s, char *buffer, size_t n)
{
	char *p = buffer + CHUNK_HEAD;
	if (s->is_chunked) {
		char head[CHUNK_HEAD + 1];
		int head_n = snprintf(head, sizeof(head), "%zx\r\n", n);
		memcpy(p + n, "\r\n", CHUNK_TAIL);
		p -= head_n;
		memcpy(p, head, (size_t)head_n);
		n += (size_t)head_n + CHUNK_TAIL;
	}
	return send_or_keep(s, p, n);
}

/* A stream's turn. */

static void pump_stream_enqueue(struct pump_thread *t, struct pump_stream *s)
{
	list_remove(&s->link);
	list_append(&t->runnable, &s->link);
}

static void register_stream(struct pump_thread *t, struct pump_stream *s)
{
	struct epoll_event event = {.events = EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = s};
	s->is_registered = true;
	/* libmicrohttpd corks sockets under TLS, and leaves them so where the head was not the first answer:
	 * what follows would wait for 200 ms. */
	setsockopt(s->fd, IPPROTO_TCP, TCP_CORK, &(int){0}, sizeof(int));
	if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, s->fd, &event) < 0) {
		s->is_gone = true;
	}
}

/* A wake that overlapped `closed` may have left s on the stack: then it is finished when it comes off. */
static void pump_stream_finish(struct pump_thread *t, struct pump_stream *s)
{
	if (atomic_load_explicit(&s->is_woken, memory_order_acquire)) {
		return;
	}
	list_remove(&s->link);
	unblock(s);
	epoll_ctl(t->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	s->rest = mem_free(s->rest);
	s->ops->finished(s, s->is_cut);
}

static void close_stream(struct pump_thread *t, struct pump_stream *s, bool is_cut)
{
	s->is_closed = true;
	s->is_cut = is_cut;
	s->ops->closed(s);
	pump_stream_finish(t, s);
}

/* Reads and sends a few records: false when there is nothing more to do now, for whatever reason. */
static bool feed(struct pump_thread *t, struct pump_stream *s)
{
	for (unsigned i = 0; i < TURN; i++) {
		ssize_t n = s->ops->read(s, t->buffer + CHUNK_HEAD, BODY_MAX);
		if (n < 0) {
			close_stream(t, s, n != -1);
			return false;
		}
		if (n == 0) {
			return false;
		}
		enum sent sent = send_body(s, t->buffer, (size_t)n);
		if (sent != SENT) {
			if (sent == SENT_BROKEN) {
				close_stream(t, s, true);
			}
			return false;
		}
	}
	return true;
}

static void pump_stream_run(struct pump_thread *t, struct pump_stream *s)
{
	if (!s->is_registered) {
		register_stream(t, s);
	}
	if (s->is_closed) {
		pump_stream_finish(t, s);
	} else if (s->is_gone) {
		close_stream(t, s, true);
	} else if (!s->is_blocked && feed(t, s)) {
		pump_stream_enqueue(t, s);
	}
}

static void run_all(struct pump_thread *t)
{
	struct list batch;
	list_init(&batch);
	list_splice(&batch, &t->runnable);
	while (!list_is_empty(&batch)) {
		struct pump_stream *s = list_entry(batch.next, struct pump_stream, link);
		list_remove(&s->link);
		pump_stream_run(t, s);
	}
}

/* Events. None of them ends a stream at once, so that a later event of the same batch cannot name one that is gone. */

static void on_socket(struct pump_thread *t, struct pump_stream *s, uint32_t events)
{
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
		s->is_gone = true;
	} else if (!(events & EPOLLOUT) || !s->is_blocked) {
		return;
	} else if (send_rest(s) == SENT_BROKEN) {
		s->is_gone = true;
	}
	pump_stream_enqueue(t, s);
}

/* Oldest wake first. */
static void take_woken(struct pump_thread *t)
{
	struct pump_stream *oldest = NULL;
	struct pump_stream *s = atomic_exchange_explicit(&t->woken, NULL, memory_order_acquire);
	while (s) {
		struct pump_stream *next = s->next;
		s->next = oldest;
		oldest = s;
		s = next;
	}
	while (oldest) {
		s = oldest;
		oldest = s->next;
		/* An exchange, not a store: whoever found it set has published something that the coming read must see. */
		atomic_exchange_explicit(&s->is_woken, false, memory_order_acq_rel);
		pump_stream_enqueue(t, s);
	}
}

static void check_stalls(struct pump_thread *t)
{
	int64_t now = clock_mono_ms();
	if (now - t->stall_check_ms < STALL_CHECK_MS) {
		return;
	}
	t->stall_check_ms = now;
	list_for_each_safe(it, &t->blocked) {
		struct pump_stream *s = list_entry(it, struct pump_stream, blocked_link);
		if (now - s->blocked_ms < atomic_load_explicit(&t->stall_ms, memory_order_relaxed)) {
			break;
		}
		s->is_gone = true;
		atomic_fetch_add_explicit(&t->n_stalled, 1, memory_order_relaxed);
		pump_stream_enqueue(t, s);
	}
}

static int wait_ms(const struct pump_thread *t)
{
	if (!list_is_empty(&t->runnable)) {
		return 0;
	}
	return list_is_empty(&t->blocked) ? -1 : STALL_CHECK_MS;
}

static void wait_for_events(struct pump_thread *t)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(t->epoll, events, MAX_EVENTS, wait_ms(t));
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr) {
			on_socket(t, events[i].data.ptr, events[i].events);
		} else {
			uint64_t count;
			ssize_t r = read(t->wakeup, &count, sizeof(count));
			assert(r == sizeof(count) || errno == EAGAIN);
		}
	}
}

static void *pump_main(void *arg)
{
	struct pump_thread *t = arg;
	while (!atomic_load_explicit(&t->is_stopping, memory_order_acquire)) {
		wait_for_events(t);
		take_woken(t);
		run_all(t);
		check_stalls(t);
	}
	return NULL;
}

static void thread_start(struct pump_thread *t)
{
	atomic_store_explicit(&t->stall_ms, STALL_MS, memory_order_relaxed);
	list_init(&t->runnable);
	list_init(&t->blocked);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	int r = epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->wakeup, &event);
	assert(r == 0);
	thread_must_start(&t->id, "http-streams", pump_main, t);
}

struct pump *pump_new(unsigned n_threads)
{
	struct pump *p = mem_zalloc(sizeof(*p) + n_threads * sizeof(p->threads[0]));
	p->n_threads = n_threads;
	for (unsigned i = 0; i < n_threads; i++) {
		thread_start(&p->threads[i]);
	}
	return p;
}

void pump_set_patience(struct pump *p, int64_t stall_ms)
{
	for (unsigned i = 0; i < p->n_threads; i++) {
		atomic_store_explicit(&p->threads[i].stall_ms, stall_ms, memory_order_relaxed);
	}
}

uint64_t pump_count_stalled(const struct pump *p)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < p->n_threads; i++) {
		n += atomic_load_explicit(&p->threads[i].n_stalled, memory_order_relaxed);
	}
	return n;
}

struct pump *pump_free(struct pump *p)
{
	for (unsigned i = 0; p && i < p->n_threads; i++) {
		struct pump_thread *t = &p->threads[i];
		atomic_store_explicit(&t->is_stopping, true, memory_order_release);
		wake_thread(t);
		pthread_join(t->id, NULL);
		assert(list_is_empty(&t->runnable) && list_is_empty(&t->blocked));
		close(t->wakeup);
		close(t->epoll);
	}
	return mem_free(p);
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
