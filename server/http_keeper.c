#include "server/http_keeper.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MAX_EVENTS = 256,
	TICK_MS = 1000,
	SWEEP_MIN_MS = 50,
	ACCEPT_BATCH = 64,
	ACCEPT_PAUSE_MS = 200,
	EVICT_SAMPLE = 256,  /* connections looked at for the one idle longest */
	PROBE_SLACK_MS = 20, /* the kernel's clock for received data ticks every 4-10 ms */
	LINGER_MS = 2000,
	LINGER_MAX = 256, /* at a time */
	LINGER_BYTES = 8 << 20,
};

struct leftover {
	struct keeper_source source;
	struct list link;
	int fd;
	int64_t until_ms;
	size_t left; /* bytes that may still come */
};

struct keeper {
	struct keeper_options options;
	pthread_t thread;
	int epoll, wakeup;
	struct keeper_source wakeup_source, listener_source;
	int listener;      /* the keeper's thread's own; -1: closed */
	bool is_listening; /* it is in epoll */
	int64_t listen_ms; /* not before then */
	_Atomic bool is_open;
	_Atomic bool is_stopping, is_draining;
	int64_t sweep_ms; /* between two sweeps */

	pthread_mutex_t lock;    /* guards the next seven; never held over a callback but suspend and resume */
	struct list connections; /* of keeper_connection.link; the search for an idle one turns it */
	size_t n_connections;
	size_t n_accepted;   /* accepted, not yet added */
	struct list lingers; /* of linger.link */
	size_t n_lingers;
	bool is_closed;         /* the listener */
	pthread_cond_t changed; /* is_closed, or no connection is left */

	pthread_mutex_t alarm_lock; /* guards alarms; held while one rings */
	struct alarms alarms;
};

static void wake(struct keeper *k)
{
	uint64_t one = 1;
	ssize_t r = write(k->wakeup, &one, sizeof(one));
	assert(r == sizeof(one) || errno == EAGAIN);
}

/* Cutting. */

/* Makes the socket readable and writable for good, so that whoever waits for it, the keeper included, sees that it is over. */
static void cut(struct keeper_connection *c)
{
	c->is_cut = true;
	shutdown(c->fd, SHUT_RDWR);
}

static enum keeper_phase phase_of(struct keeper_connection *c)
{
	return (enum keeper_phase)atomic_load_explicit(&c->phase, memory_order_relaxed);
}

static int64_t since_of(struct keeper_connection *c)
{
	return atomic_load_explicit(&c->since_ms, memory_order_relaxed);
}

/* Deadlines. */

static bool probe(int fd, struct tcp_info *ret)
{
	socklen_t size = sizeof(*ret);
	*ret = (struct tcp_info){0};
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, ret, &size) == 0;
}

/* Is it time to look at the socket? A new phase starts afresh. */
static bool is_check_due(struct keeper_connection *c, int64_t since, int64_t now, int64_t interval)
{
	if (c->seen_since_ms != since) {
		c->seen_since_ms = since;
		c->check_ms = since + interval;
		c->moved_ms = 0;
	}
	if (now < c->check_ms) {
		return false;
	}
	c->check_ms = now + interval;
	return true;
}

/* Between requests a connection may rest for long; but once the next request has begun, its head must come in time. libmicrohttpd does not
 * tell when the first byte comes, the kernel tells when the last one did. */
static bool is_idle_overdue(struct keeper *k, struct keeper_connection *c, int64_t since, int64_t now)
{
	struct tcp_info info;
	if (now - since > k->options.idle_ms) {
		return true;
	}
	if (!is_check_due(c, since, now, k->options.header_ms / 2)) {
		return false;
	}
	if (c->moved_ms) {
		return now - c->moved_ms > k->options.header_ms;
	}
	if (probe(c->fd, &info) && now - info.tcpi_last_data_recv > since + PROBE_SLACK_MS) {
		c->moved_ms = now;
	}
	return false;
}

static bool is_send_overdue(struct keeper *k, struct keeper_connection *c, int64_t since, int64_t now)
{
	struct tcp_info info;
	if (!is_check_due(c, since, now, k->options.body_ms / 4) || !probe(c->fd, &info)) {
		return false;
	}
	if (!c->moved_ms || info.tcpi_bytes_acked != c->acked) {
		c->acked = info.tcpi_bytes_acked;
		c->moved_ms = now;
	}
	return now - c->moved_ms > k->options.body_ms;
}

static bool is_overdue(struct keeper *k, struct keeper_connection *c, int64_t now)
{
	int64_t since = since_of(c);
	switch (phase_of(c)) {
	case KEEPER_HANDSHAKE:
		return now - since > k->options.handshake_ms;
	case KEEPER_FIRST:
		return now - since > k->options.header_ms;
	case KEEPER_IDLE:
		return is_idle_overdue(k, c, since, now);
	case KEEPER_BODY:
		return now - since > k->options.body_ms;
	case KEEPER_SEND:
		return is_send_overdue(k, c, since, now);
	case KEEPER_WORK:
		break;
	}
	return false;
}

static bool is_resting(struct keeper_connection *c)
{
	enum keeper_phase phase = phase_of(c);
	return phase == KEEPER_HANDSHAKE || phase == KEEPER_FIRST || phase == KEEPER_IDLE;
}

/* libmicrohttpd may not have closed its own descriptor of the socket yet: so closing ours does not end the events. */
static void leftover_free(struct keeper *k, struct leftover *l)
{
	epoll_ctl(k->epoll, EPOLL_CTL_DEL, l->fd, NULL);
	list_remove(&l->link);
	k->n_lingers--;
	close(l->fd);
	mem_free(l);
}

/* Connections. */

void keeper_add(struct keeper *k, struct keeper_connection *c, enum keeper_phase phase)
{
	c->source.kind = SOURCE_CONNECTION;
	keeper_set_phase(c, phase, clock_mono_ms());
	pthread_mutex_lock(&k->lock);
	list_append(&k->connections, &c->link);
	k->n_connections++;
	k->n_accepted--;
	pthread_mutex_unlock(&k->lock);
}

static bool is_empty(const struct keeper *k)
{
	return k->n_connections + k->n_accepted == 0;
}

static void announce_if_empty(struct keeper *k)
{
	if (is_empty(k)) {
		pthread_cond_broadcast(&k->changed);
	}
}

void keeper_remove(struct keeper *k, struct keeper_connection *c)
{
	pthread_mutex_lock(&k->lock);
	list_remove(&c->link);
	if (c->is_armed) {
		epoll_ctl(k->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	}
	k->n_connections--;
	announce_if_empty(k);
	pthread_mutex_unlock(&k->lock);
}

size_t keeper_count(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	size_t n = k->n_connections;
	pthread_mutex_unlock(&k->lock);
	return n;
}

/* Of a bounded sample, so that a flood of connections does not make each one dearer. Those looked at go to the end of the ring. */
static struct keeper_connection *find_idlest(struct keeper *k)
{
	struct keeper_connection *idlest = NULL;
	for (size_t i = MIN(k->n_connections, (size_t)EVICT_SAMPLE); i > 0; i--) {
		struct list *first = k->connections.next;
		list_remove(first);
		list_append(&k->connections, first);

		struct keeper_connection *c = list_entry(first, struct keeper_connection, link);
		if (!c->is_cut && phase_of(c) == KEEPER_IDLE && (!idlest || since_of(c) < since_of(idlest))) {
			idlest = c;
		}
	}
	return idlest;
}

/* A place for one more; false when the house is full and no idle connection can be sent away. */
static bool reserve_place(struct keeper *k)
{
	bool has_room = true;
	pthread_mutex_lock(&k->lock);
	if (k->n_connections + k->n_accepted >= k->options.max_connections) {
		struct keeper_connection *idlest = find_idlest(k);
		has_room = idlest != NULL;
		if (idlest) {
			cut(idlest);
		}
	}
	k->n_accepted += has_room;
	pthread_mutex_unlock(&k->lock);
	return has_room;
}

static void give_place_back(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	k->n_accepted--;
	announce_if_empty(k);
	pthread_mutex_unlock(&k->lock);
}

static void welcome(struct keeper *k, int fd, const struct sockaddr *address, socklen_t size)
{
	if (!reserve_place(k)) {
		close(fd);
	} else if (!k->options.accept(k->options.ctx, fd, address, size)) {
		give_place_back(k);
	}
}

static void watch_listener(struct keeper *k)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &k->listener_source};
	k->is_listening = epoll_ctl(k->epoll, EPOLL_CTL_ADD, k->listener, &event) == 0;
}

static void ignore_listener(struct keeper *k)
{
	epoll_ctl(k->epoll, EPOLL_CTL_DEL, k->listener, NULL);
	k->is_listening = false;
}

/* Out of file descriptors, say: those who wait to be accepted would wake us again and again. */
static void on_accept_failed(struct keeper *k, int error)
{
	if (error != EAGAIN && error != EINTR && error != ECONNABORTED) {
		ignore_listener(k);
		k->listen_ms = clock_mono_ms() + ACCEPT_PAUSE_MS;
	}
}

static void on_listener(struct keeper *k)
{
	for (unsigned i = 0; i < ACCEPT_BATCH; i++) {
		struct sockaddr_storage address;
		socklen_t size = sizeof(address);
		int fd = accept4(k->listener, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			on_accept_failed(k, errno);
			break;
		}
		welcome(k, fd, (const struct sockaddr *)&address, size);
	}
}

static void close_listener(struct keeper *k)
{
	close(k->listener);
	k->listener = -1;
	pthread_mutex_lock(&k->lock);
	k->is_closed = true;
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
}

static void tend_listener(struct keeper *k, bool is_draining)
{
	if (k->listener < 0) {
		return;
	}
	if (is_draining) {
		close_listener(k);
	} else if (!k->is_listening && atomic_load_explicit(&k->is_open, memory_order_acquire) &&
		clock_mono_ms() >= k->listen_ms) {
		watch_listener(k);
	}
}

void keeper_open(struct keeper *k)
{
	atomic_store_explicit(&k->is_open, true, memory_order_release);
	wake(k);
}

/* Under the lock, so that the keeper cannot find it readable before it is suspended. */
void keeper_park(struct keeper *k, struct keeper_connection *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = &c->source};
	pthread_mutex_lock(&k->lock);
	if (!c->is_cut && epoll_ctl(k->epoll, c->is_armed ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &event) == 0) {
		c->is_armed = true;
		c->is_parked = true;
		k->options.suspend(c);
	}
	pthread_mutex_unlock(&k->lock);
}

void keeper_drain(struct keeper *k)
{
	atomic_store_explicit(&k->is_draining, true, memory_order_release);
	wake(k);
	pthread_mutex_lock(&k->lock);
	while (!k->is_closed) {
		pthread_cond_wait(&k->changed, &k->lock);
	}
	pthread_mutex_unlock(&k->lock);
}

void keeper_cut_all(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	list_for_each(it, &k->connections) {
		cut(list_entry(it, struct keeper_connection, link));
	}
	pthread_mutex_unlock(&k->lock);
}

bool keeper_wait_until_empty(struct keeper *k, int64_t until_ms)
{
	pthread_mutex_lock(&k->lock);
	int r = 0;
	while (!is_empty(k) && r != ETIMEDOUT) {
		r = clock_cond_wait(&k->changed, &k->lock, until_ms);
	}
	bool has_left = is_empty(k);
	pthread_mutex_unlock(&k->lock);
	return has_left;
}

/* Sweeping. */

static void sweep(struct keeper *k, bool is_draining)
{
	int64_t now = clock_mono_ms();
	pthread_mutex_lock(&k->lock);
	list_for_each(it, &k->connections) {
		struct keeper_connection *c = list_entry(it, struct keeper_connection, link);
		if (!c->is_cut && (is_overdue(k, c, now) || (is_draining && is_resting(c)))) {
			cut(c);
		}
	}
	list_for_each_safe(it, &k->lingers) {
		struct leftover *l = list_entry(it, struct leftover, link);
		if (now > l->until_ms) {
			leftover_free(k, l);
		}
	}
	pthread_mutex_unlock(&k->lock);
}

/* Lingering. */

void keeper_linger(struct keeper *k, int fd)
{
	struct leftover *l = mem_new(struct leftover);
	*l = (struct leftover){
		.source.kind = SOURCE_LEFTOVER, .fd = fd, .until_ms = clock_mono_ms() + LINGER_MS, .left = LINGER_BYTES};
	list_init(&l->link);
	shutdown(fd, SHUT_WR);

	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = &l->source};
	pthread_mutex_lock(&k->lock);
	list_append(&k->lingers, &l->link);
	k->n_lingers++;
	if (k->n_lingers > LINGER_MAX || epoll_ctl(k->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		leftover_free(k, l);
	}
	pthread_mutex_unlock(&k->lock);
}

/* With MSG_TRUNC the kernel throws away what came on a TCP socket without copying it. */
static void on_leftover(struct keeper *k, struct leftover *l)
{
	ssize_t n = recv(l->fd, NULL, l->left, MSG_TRUNC | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n > 0 && (size_t)n < l->left) {
		l->left -= (size_t)n;
		return;
	}
	pthread_mutex_lock(&k->lock);
	leftover_free(k, l);
	pthread_mutex_unlock(&k->lock);
}

/* Alarms. */

void keeper_set_alarm(struct keeper *k, struct alarm *a, int64_t at_ms)
{
	pthread_mutex_lock(&k->alarm_lock);
	if (at_ms) {
		alarms_set(&k->alarms, a, at_ms);
	} else {
		alarms_cancel(&k->alarms, a);
	}
	bool is_first = alarms_first(&k->alarms) == a;
	pthread_mutex_unlock(&k->alarm_lock);
	if (is_first) {
		wake(k);
	}
}

/* Rings those that are due; the time of the next one, or INT64_MAX. */
static int64_t ring(struct keeper *k)
{
	int64_t now = clock_mono_ms();
	int64_t next = INT64_MAX;
	pthread_mutex_lock(&k->alarm_lock);
	for (struct alarm *a; (a = alarms_first(&k->alarms));) {
		if (a->at_ms > now) {
			next = a->at_ms;
			break;
		}
		alarms_cancel(&k->alarms, a);
		k->options.alarm(a);
	}
	pthread_mutex_unlock(&k->alarm_lock);
	return next;
}

/* The thread. */

static void unpark(struct keeper *k, struct keeper_connection *c)
{
	pthread_mutex_lock(&k->lock);
	if (c->is_parked) {
		c->is_parked = false;
		k->options.resume(c);
	}
	pthread_mutex_unlock(&k->lock);
}

static void on_wakeup(struct keeper *k)
{
	uint64_t count;
	ssize_t r = read(k->wakeup, &count, sizeof(count));
	assert(r == sizeof(count) || errno == EAGAIN);
}

static void on_event(struct keeper *k, struct keeper_source *source)
{
	switch (source->kind) {
	case SOURCE_WAKEUP:
		on_wakeup(k);
		break;
	case SOURCE_LISTENER:
		on_listener(k);
		break;
	case SOURCE_CONNECTION:
		unpark(k, container_of(source, struct keeper_connection, source));
		break;
	case SOURCE_LEFTOVER:
		on_leftover(k, container_of(source, struct leftover, source));
		break;
	}
}

/* An event names a connection that cannot be gone: only this thread takes a parked one out of its parking, once per event. */
static void wait_for_events(struct keeper *k, int64_t until_ms)
{
	struct epoll_event events[MAX_EVENTS];
	int64_t timeout = MAX(until_ms - clock_mono_ms(), 0);
	int n = epoll_wait(k->epoll, events, MAX_EVENTS, (int)MIN(timeout, (int64_t)TICK_MS));
	for (int i = 0; i < n; i++) {
		on_event(k, events[i].data.ptr);
	}
}

/* Something that is due from time to time. */
static bool is_due(int64_t *next_ms, int64_t interval_ms)
{
	int64_t now = clock_mono_ms();
	if (now < *next_ms) {
		return false;
	}
	*next_ms = now + interval_ms;
	return true;
}

static void *keeper_main(void *arg)
{
	struct keeper *k = arg;
	int64_t next_sweep = 0, next_tick = 0, next_crowd = 0;
	while (!atomic_load_explicit(&k->is_stopping, memory_order_acquire)) {
		bool is_draining = atomic_load_explicit(&k->is_draining, memory_order_acquire);
		bool is_crowded = keeper_count(k) >= k->options.crowd_size;
		if (is_draining) {
			next_sweep = MIN(next_sweep, clock_mono_ms() + SWEEP_MIN_MS);
		}
		int64_t next = MIN(MIN(next_sweep, next_tick), ring(k));
		tend_listener(k, is_draining);
		wait_for_events(k, is_crowded ? MIN(next, next_crowd) : next);

		if (is_due(&next_sweep, k->sweep_ms)) {
			sweep(k, is_draining);
		}
		if (is_due(&next_tick, TICK_MS)) {
			k->options.tick(k->options.ctx);
		}
		if (is_crowded && is_due(&next_crowd, KEEPER_CROWD_MS)) {
			k->options.crowd(k->options.ctx);
		}
	}
	return NULL;
}

static int64_t choose_sweep(const struct keeper_options *o)
{
	int64_t shortest = MIN(MIN(o->handshake_ms, o->header_ms), MIN(o->body_ms, o->idle_ms));
	return MAX(MIN(shortest / 4, (int64_t)TICK_MS), (int64_t)SWEEP_MIN_MS);
}

struct keeper *keeper_new(const struct keeper_options *options)
{
	struct keeper *k = mem_new(struct keeper);
	k->options = *options;
	k->sweep_ms = choose_sweep(options);
	list_init(&k->connections);
	list_init(&k->lingers);
	alarms_init(&k->alarms);
	pthread_mutex_init(&k->lock, NULL);
	pthread_mutex_init(&k->alarm_lock, NULL);
	clock_cond_init(&k->changed);

	k->epoll = epoll_create1(EPOLL_CLOEXEC);
	k->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	k->wakeup_source.kind = SOURCE_WAKEUP;
	k->listener_source.kind = SOURCE_LISTENER;
	k->listener = options->listener;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &k->wakeup_source};
	int r = epoll_ctl(k->epoll, EPOLL_CTL_ADD, k->wakeup, &event);
	assert(r == 0);
	r = pthread_create(&k->thread, NULL, keeper_main, k);
	assert(r == 0);
	pthread_setname_np(k->thread, "http-keeper");
	return k;
}

struct keeper *keeper_free(struct keeper *k)
{
	if (!k) {
		return NULL;
	}
	atomic_store_explicit(&k->is_stopping, true, memory_order_release);
	wake(k);
	pthread_join(k->thread, NULL);
	assert(list_is_empty(&k->connections));
	list_for_each_safe(it, &k->lingers) {
		leftover_free(k, list_entry(it, struct leftover, link));
	}

	if (k->listener >= 0) {
		close(k->listener);
	}
	close(k->wakeup);
	close(k->epoll);
	alarms_done(&k->alarms);
	pthread_cond_destroy(&k->changed);
	pthread_mutex_destroy(&k->alarm_lock);
	pthread_mutex_destroy(&k->lock);
	return mem_free(k);
}
