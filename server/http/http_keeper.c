/* The housekeeping thread, with one epoll for its sockets. It blocks in epoll_wait() alone: it peeks at sockets, and cuts
 * them with shutdown(), which wakes any other thread that waits for them. Nobody holds both of its locks. A connection is
 * freed by its HTTP thread, which takes it off its ring under the lock. So what is on a ring may be used under the lock. */
#include "server/http/http_keeper.h"

#include "base/clock.h"
#include "base/thread.h"
#include "server/http/http_socket.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MAX_EVENTS = 256, /* taken in one turn; further ones come with the next */
	TICK_MS = 1000,   /* between sweeps over all connections: deadlines are seconds */
	SWEEP_MIN_MS = 50,
	ACCEPT_BATCH = 64,     /* clients at a time: other events must have their turn in a flood */
	ACCEPT_PAUSE_MS = 200, /* when descriptors have run out */
	FULL_PAUSE_MS = 50,    /* until the oldest stranger may have had its time */
	SAMPLE = 256,          /* connections looked at for one that may give way */
	PROBE_SLACK_MS = 20,   /* the kernel's clock for received data ticks every 4-10 ms */
	PEEK_MAX = 16 << 10,   /* of a client's first bytes */
	/* While bodies keep other requests out. A client on an ordinary line sends 3 MiB within that time. */
	HURRY_FOR_MS = 3000,
	HURRIED_WHOLE_MS = 5000,
	HURRIED_SILENT_MS = 1000,
	LINGER_MS = 2000,
	LINGER_MAX = 256,       /* sockets at a time */
	LINGER_BYTES = 8 << 20, /* of one client: beyond it the client is cut, and may lose its answer */
};

/* A client that has not sent a byte. */
struct guest {
	struct keeper_source source;
	struct list link;
	int fd;     /* -1: gone, but an event may still name it */
	int wanted; /* bytes before it is worth looking; 0: any */
	int64_t came_ms;
	socklen_t address_size;
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} address;
};

/* A number of connections in a ring. */
struct ring {
	struct list list; /* of keeper_connection.link; the search for one that may give way turns it */
	size_t n;
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
	int listener;            /* the keeper's thread's own; -1: closed */
	bool is_listening;       /* it is in epoll */
	int64_t listen_ms;       /* not before then */
	struct list guests;      /* of guest.link, the first who came first; the keeper's thread's own, and */
	struct list gone_guests; /* those to be freed when no event can name them any more */
	_Atomic bool is_open;
	_Atomic bool is_stopping, is_draining;
	_Atomic int64_t hurry_until_ms; /* keeper_hurry_bodies() */
	int64_t sweep_ms;               /* between two sweeps */

	pthread_mutex_t lock; /* guards the next eight; never held over a callback but suspend and resume */
	struct ring rings[N_KEEPER_STANDINGS];
	size_t n_guests;
	size_t n_accepted;   /* handed on, not yet added */
	struct list lingers; /* of linger.link */
	size_t n_lingers;
	size_t n_stalled;       /* keeper_count_stalled() */
	bool is_closed;         /* the listener */
	pthread_cond_t changed; /* is_closed, or no connection is left */

	pthread_mutex_t alarm_lock; /* guards alarms; held while one rings */
	struct heap alarms;
};

static void keeper_wake(struct keeper *k)
{
	uint64_t one = 1;
	ssize_t r = write(k->wakeup, &one, sizeof(one));
	assert(r == sizeof(one) || errno == EAGAIN);
}

/* Cutting. */

static void connection_move_to(struct keeper *k, struct keeper_connection *c, enum keeper_standing standing)
{
	list_remove(&c->link);
	k->rings[c->standing].n--;
	c->standing = standing;
	list_append(&k->rings[standing].list, &c->link);
	k->rings[standing].n++;
}

/* Makes the socket readable and writable for good, so that whoever waits for it, the keeper included, sees that it is over. */
static void connection_cut(struct keeper *k, struct keeper_connection *c)
{
	connection_move_to(k, c, KEEPER_LEAVING);
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
	struct socket_progress progress;
	if (now - since > k->options.idle_ms) {
		return true;
	}
	if (!is_check_due(c, since, now, k->options.header_ms / 2)) {
		return false;
	}
	if (c->moved_ms) {
		return now - c->moved_ms > k->options.header_ms;
	}
	if (socket_probe(c->fd, &progress) && now - progress.silent_ms > since + PROBE_SLACK_MS) {
		c->moved_ms = now;
	}
	return false;
}

static bool is_send_overdue(struct keeper_connection *c, int64_t since, int64_t now, int64_t patience_ms)
{
	struct socket_progress progress;
	c->check_ms = MIN(c->check_ms, now + patience_ms / 4); /* patience may be shorter than it was */
	if (!is_check_due(c, since, now, patience_ms / 4) || !socket_probe(c->fd, &progress)) {
		return false;
	}
	if (!c->moved_ms || progress.acked_bytes != c->acked) {
		c->acked = progress.acked_bytes;
		c->moved_ms = now;
	}
	return now - c->moved_ms > patience_ms;
}

void keeper_hurry_bodies(struct keeper *k)
{
	atomic_store_explicit(&k->hurry_until_ms, clock_mono_ms() + HURRY_FOR_MS, memory_order_relaxed);
}

struct body_patience keeper_body_patience(const struct keeper *k, int64_t now_ms, bool is_draining)
{
	struct body_patience p = {k->options.body_ms, is_draining ? k->options.drain_stall_ms : k->options.body_ms};
	if (now_ms < atomic_load_explicit(&k->hurry_until_ms, memory_order_relaxed)) {
		p.whole_ms = MIN(p.whole_ms, HURRIED_WHOLE_MS);
		p.silent_ms = MIN(p.silent_ms, HURRIED_SILENT_MS);
	}
	return p;
}

static bool is_overdue(struct keeper *k, struct keeper_connection *c, int64_t now, bool is_draining)
{
	int64_t since = since_of(c);
	int64_t stall_ms = is_draining ? k->options.drain_stall_ms : k->options.body_ms;
	struct body_patience p;
	struct socket_progress progress;
	switch (phase_of(c)) {
	case KEEPER_HANDSHAKE:
		return now - since > k->options.handshake_ms;
	case KEEPER_FIRST:
		return now - since > k->options.header_ms;
	case KEEPER_IDLE:
		return is_idle_overdue(k, c, since, now);
	case KEEPER_BODY:
		p = keeper_body_patience(k, now, is_draining);
		return now - since > p.whole_ms ||
			(p.silent_ms < k->options.body_ms && now - since > p.silent_ms && socket_probe(c->fd, &progress) &&
				progress.silent_ms > p.silent_ms);
	case KEEPER_SEND:
		return is_send_overdue(c, since, now, stall_ms);
	case KEEPER_WORK:
	case KEEPER_QUIET:
	case KEEPER_STREAM:
		break;
	}
	return false;
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

static size_t keeper_count_connections(const struct keeper *k)
{
	size_t n = 0;
	for (size_t i = 0; i < N_KEEPER_STANDINGS; i++) {
		n += k->rings[i].n;
	}
	return n;
}

void keeper_add(struct keeper *k, struct keeper_connection *c, enum keeper_phase phase)
{
	int64_t now = clock_mono_ms();
	c->source.kind = SOURCE_CONNECTION;
	c->standing = KEEPER_STRANGER;
	c->came_ms = now;
	keeper_set_phase(c, phase, now);
	pthread_mutex_lock(&k->lock);
	list_append(&k->rings[KEEPER_STRANGER].list, &c->link);
	k->rings[KEEPER_STRANGER].n++;
	k->n_accepted--;
	pthread_mutex_unlock(&k->lock);
}

static bool keeper_is_empty(const struct keeper *k)
{
	return keeper_count_connections(k) + k->n_accepted + k->n_guests == 0;
}

static void keeper_announce_if_empty(struct keeper *k)
{
	if (keeper_is_empty(k)) {
		pthread_cond_broadcast(&k->changed);
	}
}

void keeper_remove(struct keeper *k, struct keeper_connection *c)
{
	pthread_mutex_lock(&k->lock);
	list_remove(&c->link);
	k->rings[c->standing].n--;
	if (c->is_armed) {
		epoll_ctl(k->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	}
	keeper_announce_if_empty(k);
	pthread_mutex_unlock(&k->lock);
}

size_t keeper_count_stalled(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	size_t n = k->n_stalled;
	pthread_mutex_unlock(&k->lock);
	return n;
}

size_t keeper_count(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	size_t n = keeper_count_connections(k) + k->n_guests;
	pthread_mutex_unlock(&k->lock);
	return n;
}

/* Giving way. Only a bounded number is looked at, so that a flood of connections does not make each one dearer; those looked at go to
 * the end of the ring. */

static struct keeper_connection *ring_turn(struct ring *ring)
{
	struct list *first = ring->list.next;
	list_remove(first);
	list_append(&ring->list, first);
	return list_entry(first, struct keeper_connection, link);
}

static struct keeper_connection *find_idlest(struct ring *ring)
{
	struct keeper_connection *idlest = NULL;
	for (size_t i = MIN(ring->n, (size_t)SAMPLE); i > 0; i--) {
		struct keeper_connection *c = ring_turn(ring);
		enum keeper_phase phase = phase_of(c);
		if ((phase == KEEPER_IDLE || phase == KEEPER_QUIET) && (!idlest || since_of(c) < since_of(idlest))) {
			idlest = c;
		}
	}
	return idlest;
}

/* The first that no handler works for: cutting would not end the work. */
static struct keeper_connection *find_oldest(struct ring *ring)
{
	for (size_t i = MIN(ring->n, (size_t)SAMPLE); i > 0; i--) {
		struct keeper_connection *c = list_entry(ring->list.next, struct keeper_connection, link);
		if (phase_of(c) != KEEPER_WORK) {
			return c;
		}
		ring_turn(ring);
	}
	return NULL;
}

void keeper_vouch(struct keeper *k, struct keeper_connection *c)
{
	assert(!c->is_vouched);
	struct ring *vouched = &k->rings[KEEPER_VOUCHED];
	size_t max = k->options.max_connections - MAX(k->options.max_connections / 16, (size_t)1);
	pthread_mutex_lock(&k->lock);
	struct keeper_connection *idlest = vouched->n >= max ? find_idlest(vouched) : NULL;
	if (idlest) {
		connection_cut(k, idlest);
	}
	c->is_vouched = c->standing == KEEPER_STRANGER && vouched->n < max;
	if (c->is_vouched) {
		connection_move_to(k, c, KEEPER_VOUCHED);
	}
	pthread_mutex_unlock(&k->lock);
}

/* Guests. */

/* Under the lock, on the keeper's thread. Leaves the socket. */
static void guest_dismiss(struct keeper *k, struct guest *g)
{
	assert_locked(&k->lock);
	epoll_ctl(k->epoll, EPOLL_CTL_DEL, g->fd, NULL);
	g->fd = -1;
	list_remove(&g->link);
	/* epoll may have an event for it in hand already. */
	list_append(&k->gone_guests, &g->link);
	k->n_guests--;
	keeper_announce_if_empty(k);
}

static void guest_send_away(struct keeper *k, struct guest *g)
{
	int fd = g->fd;
	pthread_mutex_lock(&k->lock);
	guest_dismiss(k, g);
	pthread_mutex_unlock(&k->lock);
	close(fd);
	k->options.unheard(k->options.ctx);
}

static void free_gone_guests(struct keeper *k)
{
	list_for_each_safe(it, &k->gone_guests) {
		list_remove(it);
		mem_free(list_entry(it, struct guest, link));
	}
}

static void keeper_hand_on(
	struct keeper *k, int fd, const struct sockaddr *address, socklen_t size, enum keeper_protocol protocol)
{
	if (!k->options.accept(k->options.ctx, fd, address, size, protocol)) {
		pthread_mutex_lock(&k->lock);
		k->n_accepted--;
		keeper_announce_if_empty(k);
		pthread_mutex_unlock(&k->lock);
	}
}

/* Tells the protocol from what a client has sent so far; KEEPER_PROTOCOL_UNKNOWN also where that is nothing. False: the
 * client has gone. */
static bool guest_look_at(struct keeper *k, int fd, enum keeper_protocol *ret, size_t *ret_wanted)
{
	char bytes[PEEK_MAX];
	ssize_t n = recv(fd, bytes, k->options.judge ? sizeof(bytes) : 1, MSG_PEEK | MSG_DONTWAIT);
	*ret = KEEPER_PROTOCOL_UNKNOWN;
	*ret_wanted = 0;
	if (n <= 0) {
		return n < 0 && errno == EAGAIN;
	}
	*ret = k->options.judge ? k->options.judge(k->options.ctx, (struct str){bytes, (size_t)n}, ret_wanted)
				: KEEPER_PROTOCOL_HTTP1;
	return true;
}

/* Makes the socket readable only when so many bytes are there, so that a client that sends fewer does not wake us again
 * and again. */
static void guest_expect_bytes(struct guest *g, int wanted)
{
	if (wanted != g->wanted) {
		g->wanted = wanted;
		setsockopt(g->fd, SOL_SOCKET, SO_RCVLOWAT, &(int){MAX(wanted, 1)}, sizeof(int));
	}
}

/* A guest has sent something, or gone. */
static void on_guest(struct keeper *k, struct guest *g, uint32_t events)
{
	enum keeper_protocol protocol;
	size_t wanted;
	int fd = g->fd;
	if (fd < 0) {
		return;
	}
	bool is_there = guest_look_at(k, fd, &protocol, &wanted);
	if (!is_there || (protocol == KEEPER_PROTOCOL_UNKNOWN && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))) {
		guest_send_away(k, g);
		return;
	}
	if (protocol == KEEPER_PROTOCOL_UNKNOWN) {
		guest_expect_bytes(g, (int)wanted);
		return;
	}
	guest_expect_bytes(g, 0);
	pthread_mutex_lock(&k->lock);
	k->n_accepted++;
	guest_dismiss(k, g);
	pthread_mutex_unlock(&k->lock);
	keeper_hand_on(k, fd, &g->address.any, g->address_size, protocol);
}

static void guest_receive(struct keeper *k, int fd, const struct sockaddr *address, socklen_t size, size_t wanted)
{
	struct guest *g = mem_new(struct guest);
	g->source.kind = SOURCE_GUEST;
	g->fd = fd;
	g->came_ms = clock_mono_ms();
	g->address_size = MIN(size, (socklen_t)sizeof(g->address));
	memcpy(&g->address, address, g->address_size);
	list_init(&g->link);

	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = &g->source};
	if (epoll_ctl(k->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		close(fd);
		mem_free(g);
		return;
	}
	guest_expect_bytes(g, (int)wanted);
	list_append(&k->guests, &g->link);
	pthread_mutex_lock(&k->lock);
	k->n_guests++;
	pthread_mutex_unlock(&k->lock);
}

static void send_late_guests_away(struct keeper *k, int64_t came_before_ms)
{
	while (!list_is_empty(&k->guests)) {
		struct guest *g = list_entry(k->guests.next, struct guest, link);
		if (g->came_ms >= came_before_ms) {
			break;
		}
		guest_send_away(k, g);
	}
}

/* Newcomers. */

enum room {
	ROOM_THERE,
	ROOM_LATER, /* soon, when a connection has had its time, or has gone */
	ROOM_NONE,  /* who knows when: everybody is being served */
};

/* Cut connections stay until their threads notice: a few at a time may be there beyond the limit. */
static enum room look_for_room(struct keeper *k)
{
	size_t max = k->options.max_connections;
	pthread_mutex_lock(&k->lock);
	size_t strangers = k->rings[KEEPER_STRANGER].n + k->n_accepted + k->n_guests;
	size_t share = MIN(MAX(max / 8, (size_t)1), max - MIN(k->rings[KEEPER_VOUCHED].n, max));
	bool are_many_leaving = k->rings[KEEPER_LEAVING].n >= KEEPER_LEAVING_MAX(max);
	pthread_mutex_unlock(&k->lock);
	return are_many_leaving ? ROOM_LATER : strangers < share ? ROOM_THERE : ROOM_NONE;
}

static enum room make_room(struct keeper *k)
{
	int64_t grown_up = clock_mono_ms() - k->options.grace_ms;
	struct guest *g = list_is_empty(&k->guests) ? NULL : list_entry(k->guests.next, struct guest, link);
	pthread_mutex_lock(&k->lock);
	struct keeper_connection *c = find_oldest(&k->rings[KEEPER_STRANGER]);
	enum room room = c || g || k->n_accepted ? ROOM_LATER : ROOM_NONE;
	if (c && c->came_ms <= grown_up && !(g && g->came_ms <= c->came_ms)) {
		connection_cut(k, c);
		g = NULL;
		room = ROOM_THERE;
	}
	pthread_mutex_unlock(&k->lock);
	if (g && g->came_ms <= grown_up) {
		guest_send_away(k, g);
		room = ROOM_THERE;
	}
	return room;
}

static void keeper_admit_as(
	struct keeper *k, int fd, const struct sockaddr *address, socklen_t size, enum keeper_protocol protocol)
{
	pthread_mutex_lock(&k->lock);
	k->n_accepted++;
	pthread_mutex_unlock(&k->lock);
	keeper_hand_on(k, fd, address, size, protocol);
}

void keeper_admit(struct keeper *k, int fd, const struct sockaddr *address, socklen_t size)
{
	keeper_admit_as(k, fd, address, size, KEEPER_PROTOCOL_HTTP1);
}

/* Most clients send their first bytes with the last segment of TCP's handshake, so they never become guests. */
static void keeper_welcome(struct keeper *k, int fd, const struct sockaddr *address, socklen_t size)
{
	enum keeper_protocol protocol;
	size_t wanted;
	if (!guest_look_at(k, fd, &protocol, &wanted) || protocol == KEEPER_PROTOCOL_UNKNOWN) {
		guest_receive(k, fd, address, size, wanted);
		return;
	}
	keeper_admit_as(k, fd, address, size, protocol);
}

/* Stops listening for a moment: clients that wait to be accepted would wake us again and again. */
static void pause_listener(struct keeper *k, int64_t pause_ms)
{
	epoll_ctl(k->epoll, EPOLL_CTL_DEL, k->listener, NULL);
	k->is_listening = false;
	k->listen_ms = clock_mono_ms() + pause_ms;
}

static void on_listener(struct keeper *k)
{
	for (unsigned i = 0; i < ACCEPT_BATCH; i++) {
		struct sockaddr_storage address;
		socklen_t size = sizeof(address);
		enum room room = look_for_room(k);
		if (room == ROOM_NONE) {
			struct pollfd listener = {.fd = k->listener, .events = POLLIN};
			if (poll(&listener, 1, 0) <= 0) {
				break; /* nobody waits */
			}
			room = make_room(k);
		}
		if (room == ROOM_LATER) {
			pause_listener(k, FULL_PAUSE_MS);
			break;
		}
		int fd = accept4(k->listener, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
				pause_listener(k, ACCEPT_PAUSE_MS); /* file descriptors have run out, for example */
			}
			break;
		}
		if (k->options.admits && !k->options.admits(k->options.ctx, (const struct sockaddr *)&address)) {
			socket_reset(fd);
		} else if (room == ROOM_NONE) {
			close(fd);
		} else {
			keeper_welcome(k, fd, (const struct sockaddr *)&address, size);
		}
	}
}

static void tend_listener(struct keeper *k, bool is_draining)
{
	if (k->listener < 0) {
		return;
	}
	if (is_draining) {
		send_late_guests_away(k, INT64_MAX);
		close(k->listener);
		k->listener = -1;
		pthread_mutex_lock(&k->lock);
		k->is_closed = true;
		pthread_cond_broadcast(&k->changed);
		pthread_mutex_unlock(&k->lock);
	} else if (!k->is_listening && atomic_load_explicit(&k->is_open, memory_order_acquire) &&
		clock_mono_ms() >= k->listen_ms) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &k->listener_source};
		k->is_listening = epoll_ctl(k->epoll, EPOLL_CTL_ADD, k->listener, &event) == 0;
	}
}

void keeper_open(struct keeper *k)
{
	atomic_store_explicit(&k->is_open, true, memory_order_release);
	keeper_wake(k);
}

/* Under the lock, so that the keeper cannot find it readable before it is suspended. */
void keeper_park(struct keeper *k, struct keeper_connection *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = &c->source};
	pthread_mutex_lock(&k->lock);
	if (c->standing != KEEPER_LEAVING &&
		epoll_ctl(k->epoll, c->is_armed ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &event) == 0) {
		c->is_armed = true;
		c->is_parked = true;
		k->options.suspend(c);
	}
	pthread_mutex_unlock(&k->lock);
}

void keeper_drain(struct keeper *k)
{
	atomic_store_explicit(&k->is_draining, true, memory_order_release);
	keeper_wake(k);
	pthread_mutex_lock(&k->lock);
	while (!k->is_closed) {
		pthread_cond_wait(&k->changed, &k->lock);
	}
	pthread_mutex_unlock(&k->lock);
}

void keeper_cut_all(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	for (enum keeper_standing i = 0; i < KEEPER_LEAVING; i++) {
		list_for_each_safe(it, &k->rings[i].list) {
			connection_cut(k, list_entry(it, struct keeper_connection, link));
		}
	}
	pthread_mutex_unlock(&k->lock);
}

bool keeper_wait_until_empty(struct keeper *k, int64_t until_ms)
{
	pthread_mutex_lock(&k->lock);
	int r = 0;
	while (!keeper_is_empty(k) && r != ETIMEDOUT) {
		r = clock_cond_wait(&k->changed, &k->lock, until_ms);
	}
	bool is_empty_now = keeper_is_empty(k);
	pthread_mutex_unlock(&k->lock);
	return is_empty_now;
}

static void keeper_sweep(struct keeper *k, bool is_draining)
{
	int64_t now = clock_mono_ms();
	bool has_deadlines = atomic_load_explicit(&k->is_open, memory_order_relaxed);
	send_late_guests_away(k, now - k->options.first_byte_ms);
	pthread_mutex_lock(&k->lock);
	for (enum keeper_standing i = 0; i < KEEPER_LEAVING; i++) {
		list_for_each_safe(it, &k->rings[i].list) {
			struct keeper_connection *c = list_entry(it, struct keeper_connection, link);
			enum keeper_phase phase = phase_of(c);
			bool is_resting = phase == KEEPER_HANDSHAKE || phase == KEEPER_FIRST || phase == KEEPER_IDLE;
			bool is_late = has_deadlines && is_overdue(k, c, now, is_draining);
			if (is_late || (is_draining && is_resting)) {
				k->n_stalled += is_draining && !is_resting;
				connection_cut(k, c);
			}
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

void keeper_set_alarm(struct keeper *k, struct heap_node *a, int64_t at_ms)
{
	pthread_mutex_lock(&k->alarm_lock);
	if (at_ms) {
		heap_set(&k->alarms, a, at_ms);
	} else {
		heap_remove(&k->alarms, a);
	}
	bool is_first = heap_first(&k->alarms) == a;
	pthread_mutex_unlock(&k->alarm_lock);
	if (is_first) {
		keeper_wake(k);
	}
}

/* Rings those that are due; the time of the next one, or INT64_MAX. */
static int64_t ring_alarms(struct keeper *k)
{
	int64_t now = clock_mono_ms();
	int64_t next = INT64_MAX;
	pthread_mutex_lock(&k->alarm_lock);
	for (struct heap_node *a; (a = heap_first(&k->alarms));) {
		if (a->due > now) {
			next = a->due;
			break;
		}
		heap_remove(&k->alarms, a);
		k->options.alarm(a);
	}
	pthread_mutex_unlock(&k->alarm_lock);
	return next;
}

/* The thread. */

static void on_event(struct keeper *k, struct keeper_source *source, uint32_t events)
{
	struct keeper_connection *c;
	uint64_t count;
	ssize_t r;
	switch (source->kind) {
	case SOURCE_WAKEUP:
		r = read(k->wakeup, &count, sizeof(count));
		assert(r == sizeof(count) || errno == EAGAIN);
		break;
	case SOURCE_LISTENER:
		on_listener(k);
		break;
	case SOURCE_GUEST:
		on_guest(k, container_of(source, struct guest, source), events);
		break;
	case SOURCE_CONNECTION:
		c = container_of(source, struct keeper_connection, source);
		pthread_mutex_lock(&k->lock);
		if (c->is_parked) {
			c->is_parked = false;
			k->options.resume(c);
		}
		pthread_mutex_unlock(&k->lock);
		break;
	case SOURCE_LEFTOVER:
		on_leftover(k, container_of(source, struct leftover, source));
		break;
	}
}

/* True once in each interval. */
static bool is_due(int64_t *next_ms, int64_t interval_ms)
{
	int64_t now = clock_mono_ms();
	bool is_due = now >= *next_ms;
	*next_ms = is_due ? now + interval_ms : *next_ms;
	return is_due;
}

static void *keeper_main(void *arg)
{
	struct keeper *k = arg;
	struct epoll_event events[MAX_EVENTS];
	int64_t next_sweep = 0, next_tick = 0, next_crowd = 0;
	while (!atomic_load_explicit(&k->is_stopping, memory_order_acquire)) {
		bool is_draining = atomic_load_explicit(&k->is_draining, memory_order_acquire);
		bool is_crowded = keeper_count(k) >= k->options.crowd_size;
		if (is_draining) {
			next_sweep = MIN(next_sweep, clock_mono_ms() + SWEEP_MIN_MS);
		}
		int64_t next = MIN(MIN(next_sweep, next_tick), ring_alarms(k));
		tend_listener(k, is_draining);
		if (k->listener >= 0 && !k->is_listening && atomic_load_explicit(&k->is_open, memory_order_relaxed)) {
			next = MIN(next, k->listen_ms);
		}
		next = MAX((is_crowded ? MIN(next, next_crowd) : next) - clock_mono_ms(), 0);
		int n = epoll_wait(k->epoll, events, MAX_EVENTS, (int)MIN(next, (int64_t)TICK_MS));
		/* A connection cannot be gone: only this thread takes a parked one out of its parking, once per event. */
		for (int i = 0; i < n; i++) {
			on_event(k, events[i].data.ptr, events[i].events);
		}
		free_gone_guests(k);

		if (is_due(&next_sweep, k->sweep_ms)) {
			keeper_sweep(k, is_draining);
		}
		/* Before keeper_open() the owner is not ready for ticks: their notices would be lost. */
		if (is_due(&next_tick, TICK_MS) && atomic_load_explicit(&k->is_open, memory_order_acquire)) {
			k->options.tick(k->options.ctx);
		}
		if (is_crowded && is_due(&next_crowd, KEEPER_CROWD_MS)) {
			k->options.crowd(k->options.ctx);
		}
	}
	return NULL;
}

struct keeper *keeper_new(const struct keeper_options *options)
{
	struct keeper *k = mem_new(struct keeper);
	k->options = *options;
	int64_t shortest = MIN(options->first_byte_ms, options->handshake_ms);
	shortest = MIN(shortest, MIN(options->header_ms, MIN(options->body_ms, options->idle_ms)));
	k->sweep_ms = MAX(MIN(shortest / 4, (int64_t)TICK_MS), (int64_t)SWEEP_MIN_MS);
	for (size_t i = 0; i < N_KEEPER_STANDINGS; i++) {
		list_init(&k->rings[i].list);
	}
	list_init(&k->guests);
	list_init(&k->gone_guests);
	list_init(&k->lingers);
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
	thread_must_start(&k->thread, "http-keeper", keeper_main, k);
	return k;
}

struct keeper *keeper_free(struct keeper *k)
{
	if (!k) {
		return NULL;
	}
	atomic_store_explicit(&k->is_stopping, true, memory_order_release);
	keeper_wake(k);
	pthread_join(k->thread, NULL);
	send_late_guests_away(k, INT64_MAX);
	free_gone_guests(k);
	assert(keeper_count_connections(k) == 0);
	list_for_each_safe(it, &k->lingers) {
		leftover_free(k, list_entry(it, struct leftover, link));
	}

	if (k->listener >= 0) {
		close(k->listener);
	}
	close(k->wakeup);
	close(k->epoll);
	heap_done(&k->alarms);
	pthread_cond_destroy(&k->changed);
	pthread_mutex_destroy(&k->alarm_lock);
	pthread_mutex_destroy(&k->lock);
	return mem_free(k);
}
