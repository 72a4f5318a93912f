/* Answers whose body is produced while it is sent. There are two ways:
 *
 *   driven  The wire asks for more when the socket takes more. While there is nothing to send the
 *           exchange is parked.
 *   pumped  Watches over HTTP/1.1: libmicrohttpd sends the head only. Then the pump has the socket
 *           until the stream ends: waking a connection in libmicrohttpd costs too much for every
 *           event (http_pump.h).
 *
 * A wake may come at any time from any thread until `closed` has returned. So each stream is closed
 * exactly once, and first everything in here that could wake it lets go of it: the list that a
 * drain walks, and the alarm. */
#include "server/http/http_private.h"

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
static ssize_t end_driven(struct http_exchange *x, bool is_cut)
{
	bool is_short = x->answer_length != HTTP_LENGTH_UNKNOWN && x->sent < x->answer_length;
	x->is_cut = is_cut || is_short;
	http_stream_close(x);
	return x->is_cut ? -2 : -1;
}

/* Between read's "nothing" and the parking a wake may come: then http_exchange_park() finds its
 * mark. So the mark of earlier wakes is wiped before the read, which sees what they were for. */
ssize_t http_stream_drive(struct http_exchange *x, char *p, size_t max)
{
	if (atomic_load_explicit(&x->server->is_cutting, memory_order_acquire)) {
		return end_driven(x, true);
	}
	atomic_exchange_explicit(&x->stream_wait, WAIT_RUNNING, memory_order_acq_rel);
	ssize_t n = http_stream_read(x, p, max);
	if (n < 0) {
		return end_driven(x, n != -1);
	}
	x->wire->set_phase(x, n ? KEEPER_SEND : KEEPER_WORK, clock_mono_ms());
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
