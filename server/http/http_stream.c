/* Answers whose body is produced while it is sent. There are two ways:    driven  Lists.
 * libmicrohttpd asks for more when the socket takes more. While there is nothing to
 * send the connection is parked.   pumped  Watches: long-lived, of unknown length. libmicrohttpd
 * sends the head only. Then the pump           has the socket until the stream ends: waking a
 * connection in libmicrohttpd costs too much           for every event (http_pump.h).  A wake
 * may come at any time from any thread until `closed` has returned. So each stream is closed
 * exactly once, and first everything in here that could wake it lets go of it: the list that a
 * drain walks, and the alarm. */
#include "server/http/http_private.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

void http_stream_wake(struct http_exchange *x)
{
	if (http_exchange_stream_kind(x) == STREAM_PUMPED) {
		pump_wake(&x->pumped);
		return;
	}
	struct connection *c = x->connection;
	struct http_server *s = c->server;
	connection_begin_wake(s);
	bool was_parked = atomic_exchange_explicit(&x->stream_wait, WAIT_WOKEN, memory_order_acq_rel) == WAIT_PARKED;
	connection_end_wake(s, was_parked ? c : NULL);
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
	struct http_server *s = http_exchange_server(x);
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

static ssize_t read_stream(struct http_exchange *x, char *p, size_t max)
{
	ssize_t n = x->stream_ops->read(x->stream_context, x, p, max);
	if (n > 0) {
		x->sent += (uint64_t)n;
	}
	return n;
}

/* Ends a body, and where nothing else can mark its end, the connection. When a reader says so
 * libmicrohttpd (0.9.75) closes the connection but forgets it, with its socket, as long as an
 * older one lives; when there is a byte to send and the socket takes no more it does not. */
static ssize_t end_body(struct http_exchange *x, char *p)
{
	struct connection *c = x->connection;
	bool is_delimited = x->stream_length != HTTP_LENGTH_UNKNOWN || !x->head.framing.is_http10;
	if (!x->is_cut && is_delimited) {
		return HTTP_READ_END;
	}
	x->is_ended_by_closing = !x->is_cut;
	if (x->is_ended_by_closing && c->session) {
		gnutls_bye(c->session, GNUTLS_SHUT_WR);
	}
	shutdown(c->kept.fd, x->is_cut ? SHUT_RDWR : SHUT_WR);
	*p = '\0';
	return 1;
}

/* Driven. */

/* A body shorter than its announced length is cut: the client would take the next answer for its
 * rest. */
static ssize_t end_driven(struct http_exchange *x, bool is_cut, char *p)
{
	bool is_short = x->stream_length != HTTP_LENGTH_UNKNOWN && x->sent < x->stream_length;
	x->is_cut = is_cut || is_short;
	http_stream_close(x);
	return end_body(x, p);
}

/* Between read's "nothing" and the parking a wake may come: then connection_park() finds its
 * mark. So the mark of earlier wakes is wiped before the read, which sees what they were for. */
static ssize_t drive(void *arg, uint64_t position, char *p, size_t max)
{
	struct http_exchange *x = arg;
	struct connection *c = x->connection;
	(void)position;
	if (atomic_load_explicit(&c->server->is_cutting, memory_order_acquire)) {
		return end_driven(x, true, p);
	}
	atomic_exchange_explicit(&x->stream_wait, WAIT_RUNNING, memory_order_acq_rel);
	ssize_t n = read_stream(x, p, max);
	if (n < 0) {
		return end_driven(x, n != -1, p);
	}
	keeper_set_phase(&c->kept, n ? KEEPER_SEND : KEEPER_WORK, clock_mono_ms());
	if (n == 0) {
		connection_park(c, &x->stream_wait);
	}
	return n;
}

/* Pumped. */

static struct http_exchange *exchange_of(struct pump_stream *s)
{
	return container_of(s, struct http_exchange, pumped);
}

static ssize_t on_pump_read(struct pump_stream *s, char *p, size_t max)
{
	return read_stream(exchange_of(s), p, max);
}

static void on_pump_closed(struct pump_stream *s)
{
	http_stream_close(exchange_of(s));
}

/* The connection goes back to libmicrohttpd, which asks for the body again. */
static void on_pump_finished(struct pump_stream *s, bool is_cut)
{
	struct http_exchange *x = exchange_of(s);
	struct connection *c = x->connection;
	struct http_server *server = c->server;
	connection_begin_wake(server);
	atomic_fetch_add_explicit(&c->worker->n_polled, 1, memory_order_relaxed);
	atomic_store_explicit(&x->stream_end, is_cut ? END_CUT : END_DONE, memory_order_release);
	connection_end_wake(server, c);
}

static const struct pump_ops pump_ops = {on_pump_read, on_pump_closed, on_pump_finished};

/* Gives the kernel back the whole pages of a buffer whose contents do not matter. */
static void release_pages(char *p, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)p + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)p + n) & ~(page - 1);
	if (from < to) {
		madvise((void *)from, to - from, MADV_DONTNEED);
	}
}

/* libmicrohttpd has sent the head and asks for the body: the connection goes to the pump, and
 * the write buffer that libmicrohttpd would have us fill (most of its pool) to the kernel. When
 * the pump is done the question comes again. */
static ssize_t hand_over(void *arg, uint64_t position, char *p, size_t max)
{
	struct http_exchange *x = arg;
	struct connection *c = x->connection;
	(void)position;
	enum stream_end end = (enum stream_end)atomic_load_explicit(&x->stream_end, memory_order_acquire);
	if (end != END_OPEN) {
		x->is_cut = end == END_CUT;
		return end_body(x, p);
	}
	release_pages(p, max);
	atomic_fetch_sub_explicit(&c->worker->n_polled, 1, memory_order_relaxed);
	connection_suspend(c); /* before pump_start(): the pump may be done with it, and resume it, at once */
	pump_start(&x->pumped);
	return 0;
}

/* Before the stream is announced as pumped: a wake may come from then on. */
static void prepare_pump(struct http_exchange *x)
{
	x->pumped = (struct pump_stream){
		.ops = &pump_ops,
		.fd = x->connection->kept.fd,
		.tls = x->connection->session,
		.is_chunked = !x->head.framing.is_http10,
	};
	pump_prepare(http_exchange_server(x)->pump, &x->pumped);
}

/* The list comes behind the kind: a drain on another thread wakes what it finds there. */
void http_reply_stream(struct http_exchange *x, unsigned status, uint64_t length, bool is_long_lived,
	const struct http_stream_ops *ops, void *ctx)
{
	struct http_server *s = http_exchange_server(x);
	bool is_pumped = is_long_lived && length == HTTP_LENGTH_UNKNOWN;
	x->stream_ops = ops;
	x->stream_context = ctx;
	x->stream_length = length;
	if (is_pumped) {
		prepare_pump(x);
	}
	atomic_store_explicit(&x->stream_kind, is_pumped ? STREAM_PUMPED : STREAM_DRIVEN, memory_order_release);

	pthread_mutex_lock(&s->streams_lock);
	list_append(&s->streams, &x->stream_link);
	s->n_streams++;
	pthread_mutex_unlock(&s->streams_lock);
	http_answer_from(x, status, length, is_pumped ? hand_over : drive);
}
