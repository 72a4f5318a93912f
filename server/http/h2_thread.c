/* The threads of HTTP/2. Each runs one loop, a turn of which takes three steps:
 *
 *   read   what has come, of all connections that have something; handlers are called
 *   wake   streams that others have woken: handlers are called again, answers are made
 *   write  what has gathered, of each connection in one piece
 *
 * So an event for a hundred watches of one connection is one system call, and so are the answers to a
 * hundred requests. A connection that has more to do than one turn allows comes again in the next.
 *
 * Sockets are registered once, edge-triggered. Events only leave marks: a connection goes in the last
 * step, so no event of the same batch can name one that is gone. */
#include "server/http/h2_private.h"

#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_EVENTS = 256, /* taken in one turn; further ones come with the next */
	SWEEP_MS = 1000,
	SWEEP_MIN_MS = 50,
	STEP_NS = 5000000, /* of handlers in one step of a turn: what is left waits for the next turn */
};

static _Thread_local const struct h2_thread *this_thread;

/* Waking. */

static void wake_thread(struct h2_thread *t)
{
	uint64_t one = 1;
	ssize_t r = write(t->wakeup, &one, sizeof(one));
	assert(r == sizeof(one) || errno == EAGAIN);
}

/* As soon as s is on the stack its thread may take it off and end it. The thread itself looks at the stack before it sleeps. */
void h2_thread_push(struct h2_thread *t, struct h2_stream *s)
{
	struct h2_stream *top = atomic_load_explicit(&t->woken, memory_order_relaxed);
	do {
		s->next_woken = top;
	} while (!atomic_compare_exchange_weak_explicit(&t->woken, &top, s, memory_order_release, memory_order_relaxed));
	if (!top && t != this_thread) {
		wake_thread(t);
	}
}

bool h2_thread_is_late(const struct h2_thread *t)
{
	return clock_mono_ns() - t->turn_ns > STEP_NS;
}

static void add_due(struct h2_thread *t, struct h2_stream *s)
{
	struct h2_connection *c = s->connection;
	s->next_woken = NULL;
	if (c->due) {
		*c->due_end = s;
	} else {
		c->due = s;
		list_append(&t->due, &c->due_link);
	}
	c->due_end = &s->next_woken;
}

/* Takes one stream of each connection in turn: a connection with a hundred woken streams delays only its own. */
static struct h2_stream *take_due(struct h2_thread *t)
{
	struct h2_connection *c = list_entry(t->due.next, struct h2_connection, due_link);
	struct h2_stream *s = c->due;
	c->due = s->next_woken;
	list_remove(&c->due_link);
	if (c->due) {
		list_append(&t->due, &c->due_link);
	}
	h2_thread_enqueue(c);
	return s;
}

/* Oldest wake first. One handler at least runs in each turn. */
static void take_woken(struct h2_thread *t)
{
	struct h2_stream *oldest = NULL;
	struct h2_stream *s = atomic_exchange_explicit(&t->woken, NULL, memory_order_acquire);
	while (s) {
		struct h2_stream *next = s->next_woken;
		s->next_woken = oldest;
		oldest = s;
		s = next;
	}
	while (oldest) {
		s = oldest;
		oldest = s->next_woken;
		add_due(t, s);
	}
	while (!list_is_empty(&t->due)) {
		h2_stream_resumed(take_due(t));
		if (h2_thread_is_late(t)) {
			break;
		}
	}
}

/* Turns. */

void h2_thread_enqueue(struct h2_connection *c)
{
	if (list_is_empty(&c->run_link)) {
		list_append(&c->thread->runnable, &c->run_link);
	}
}

static void wait_for_events(struct h2_thread *t)
{
	struct epoll_event events[MAX_EVENTS];
	bool is_busy = !list_is_empty(&t->runnable) || !list_is_empty(&t->due) ||
		atomic_load_explicit(&t->woken, memory_order_relaxed) ||
		atomic_load_explicit(&t->has_evicted, memory_order_relaxed);
	int timeout = is_busy ? 0 : list_is_empty(&t->connections) ? -1 : (int)MIN((int64_t)SWEEP_MS, t->sweep_ms);
	int n = epoll_wait(t->epoll, events, MAX_EVENTS, timeout);
	t->turn_ns = clock_mono_ns();
	t->now_ms = t->turn_ns / 1000000;
	for (int i = 0; i < n; i++) {
		struct h2_connection *c = events[i].data.ptr;
		if (c) {
			if (list_is_empty(&c->link)) {
				list_append(&t->connections, &c->link);
			}
			h2_connection_on_events(c, events[i].events);
			h2_thread_enqueue(c);
		} else {
			uint64_t count;
			ssize_t r = read(t->wakeup, &count, sizeof(count));
			assert(r == sizeof(count) || errno == EAGAIN);
		}
	}
}

static void run_all(struct h2_thread *t)
{
	struct list batch;
	list_for_each(it, &t->runnable) {
		h2_connection_read(list_entry(it, struct h2_connection, run_link));
	}
	t->turn_ns = clock_mono_ns();
	take_woken(t);
	t->turn_ns = clock_mono_ns();
	list_init(&batch);
	list_splice(&batch, &t->runnable);
	while (!list_is_empty(&batch)) {
		struct h2_connection *c = list_entry(batch.next, struct h2_connection, run_link);
		list_remove(&c->run_link);
		h2_connection_write(c);
	}
}

void h2_thread_evict(struct h2_thread *t)
{
	if (!atomic_exchange_explicit(&t->has_evicted, true, memory_order_release) && t != this_thread) {
		wake_thread(t);
	}
}

static void give_way(struct h2_thread *t)
{
	list_for_each_safe(it, &t->connections) {
		h2_connection_give_way(list_entry(it, struct h2_connection, link));
	}
}

static void sweep(struct h2_thread *t, int64_t interval_ms, int64_t *next_ms)
{
	if (t->now_ms < *next_ms) {
		return;
	}
	*next_ms = t->now_ms + interval_ms;
	list_for_each_safe(it, &t->connections) {
		h2_connection_sweep(list_entry(it, struct h2_connection, link));
	}
}

static void *h2_main(void *arg)
{
	struct h2_thread *t = arg;
	int64_t next_sweep = 0;
	this_thread = t;
	while (!atomic_load_explicit(&t->is_stopping, memory_order_acquire)) {
		wait_for_events(t);
		if (!t->is_draining && atomic_load_explicit(&t->server->is_draining, memory_order_acquire)) {
			t->is_draining = true;
			list_for_each(it, &t->connections) {
				h2_connection_leave(list_entry(it, struct h2_connection, link));
			}
		}
		sweep(t, t->sweep_ms, &next_sweep);
		if (atomic_exchange_explicit(&t->has_evicted, false, memory_order_acquire)) {
			give_way(t);
		}
		run_all(t);
	}
	return NULL;
}

/* The Date of RFC 9110, written anew once a second. */
const char *h2_thread_date(struct h2_thread *t)
{
	static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t now = (time_t)clock_wall_s();
	if (now != t->date_s) {
		struct tm tm;
		gmtime_r(&now, &tm);
		t->date_s = now;
		snprintf(t->date, sizeof(t->date), "%s, %02u %s %04u %02u:%02u:%02u GMT", days[tm.tm_wday],
			(unsigned)tm.tm_mday % 32, months[tm.tm_mon], (unsigned)(tm.tm_year + 1900) % 10000,
			(unsigned)tm.tm_hour % 24, (unsigned)tm.tm_min % 60, (unsigned)tm.tm_sec % 61);
	}
	return t->date;
}

/* The module. */

/* A deadline may be shorter than the usual second, in tests. */
static int64_t choose_sweep(const struct http_options *o)
{
	int64_t shortest = MIN(MIN(o->header_timeout_ms, o->body_timeout_ms), o->idle_timeout_ms);
	return MAX(MIN(shortest / 4, (int64_t)SWEEP_MS), (int64_t)SWEEP_MIN_MS);
}

static struct h2_thread *thread_new(struct http_server *s)
{
	struct h2_thread *t = mem_new(struct h2_thread);
	t->server = s;
	t->sweep_ms = choose_sweep(&s->options);
	list_init(&t->connections);
	list_init(&t->runnable);
	list_init(&t->due);
	buf_init(&t->sealed, H2_SEALED_MAX);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	int r = epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->wakeup, &event);
	assert(r == 0);
	thread_must_start(&t->id, "http2", h2_main, t);
	return t;
}

static struct h2_thread *thread_free(struct h2_thread *t)
{
	atomic_store_explicit(&t->is_stopping, true, memory_order_release);
	wake_thread(t);
	pthread_join(t->id, NULL);
	assert(list_is_empty(&t->connections));
	close(t->wakeup);
	close(t->epoll);
	buf_done(&t->sealed);
	return mem_free(t);
}

int h2_new(struct h2 **ret, struct http_server *s, struct buf *err)
{
	struct h2 *h = mem_zalloc(sizeof(*h) + s->options.threads * sizeof(h->threads[0]));
	h->server = s;
	*ret = h;
	if (h2_sessions_open(h) < 0) {
		buf_printf(err, "nghttp2 does not start");
		return -EIO;
	}
	for (; h->n_threads < s->options.threads; h->n_threads++) {
		h->threads[h->n_threads] = thread_new(s);
	}
	return 0;
}

struct h2 *h2_free(struct h2 *h)
{
	if (!h) {
		return NULL;
	}
	for (unsigned i = 0; i < h->n_threads; i++) {
		thread_free(h->threads[i]);
	}
	h2_sessions_close(h);
	return mem_free(h);
}

static struct h2_thread *least_loaded(struct h2 *h)
{
	struct h2_thread *best = h->threads[0];
	for (unsigned i = 1; i < h->n_threads; i++) {
		struct h2_thread *t = h->threads[i];
		if (atomic_load_explicit(&t->n_connections, memory_order_relaxed) <
			atomic_load_explicit(&best->n_connections, memory_order_relaxed)) {
			best = t;
		}
	}
	return best;
}

/* The client's first bytes are there, so an event comes at once. The keeper learns of the connection before its thread
 * does. */
bool h2_admit(struct h2 *h, int fd, const struct sockaddr *address, socklen_t size)
{
	struct h2_thread *t = least_loaded(h);
	struct h2_connection *c = h2_connection_new(t, fd, address, size);
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
	atomic_fetch_add_explicit(&t->n_connections, 1, memory_order_relaxed);
	keeper_add(h->server->keeper, &c->kept, KEEPER_HANDSHAKE);
	if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		keeper_remove(h->server->keeper, &c->kept);
		atomic_fetch_sub_explicit(&t->n_connections, 1, memory_order_relaxed);
		close(fd);
		mem_free(c);
	}
	return true;
}

void h2_nudge(struct h2 *h)
{
	for (unsigned i = 0; h && i < h->n_threads; i++) {
		wake_thread(h->threads[i]);
	}
}
