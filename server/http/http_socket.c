/* A client's socket: see http_socket.h. Options are set on the listening socket, and accepted ones inherit them: no system
 * call for each client. A client that vanishes is noticed after 90 s: by keep-alive while nothing is sent (30 s and four
 * times 15 s), by TCP_USER_TIMEOUT while something is. */
#include "server/http/http_socket.h"

#include "base/clock.h"
#include "server/http/http.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

/* Listening. */

/* Clients wait in the kernel's queue while strangers have their time of grace (http_keeper.h). */
enum { BACKLOG = 4096 };

static int socket_fail_listen(const char *host, uint16_t port, const char *why, int error, struct buf *err)
{
	buf_printf(err, "cannot listen on %s port %u: %s", host, port, why);
	return -error;
}

static int socket_resolve(const char *host, uint16_t port, struct sockaddr_storage *ret, socklen_t *ret_size, struct buf *err)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	int r = getaddrinfo(host, service, &hints, &found);
	if (r != 0) {
		return socket_fail_listen(host, port, gai_strerror(r), EINVAL, err);
	}
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	*ret_size = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* Accepted sockets inherit these. Keep-alive notices clients that vanish without a word; the time-out, those who do not acknowledge. */
static void socket_set_options(int fd)
{
	static const struct {
		int level, name, value;
	} rows[] = {
		{SOL_SOCKET, SO_REUSEADDR, 1},
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_NODELAY, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 30},
		{IPPROTO_TCP, TCP_KEEPINTVL, 15},
		{IPPROTO_TCP, TCP_KEEPCNT, 4},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, 90000},
		{IPPROTO_IPV6, IPV6_V6ONLY, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value, sizeof(rows[i].value));
	}
}

int socket_listen(int *ret_fd, uint16_t *ret_port, const char *host, uint16_t port, struct buf *err)
{
	struct sockaddr_storage address;
	struct sockaddr *a = (struct sockaddr *)&address;
	socklen_t size;
	int r = socket_resolve(host, port, &address, &size, err);
	if (r < 0) {
		return r;
	}
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return socket_fail_listen(host, port, strerror(errno), errno, err);
	}
	socket_set_options(fd);
	size = sizeof(address);
	if (bind(fd, a, size) < 0 || listen(fd, BACKLOG) < 0 || getsockname(fd, a, &size) < 0) {
		r = socket_fail_listen(host, port, strerror(errno), errno, err);
		close(fd);
		return r;
	}
	*ret_fd = fd;
	*ret_port = ntohs(((struct sockaddr_in *)(void *)a)->sin_port); /* at the same place in sockaddr_in6 */
	return 0;
}

void socket_reset(int fd)
{
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
	close(fd);
}

bool socket_probe(int fd, struct socket_progress *ret)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);
	bool is_tcp = getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
	*ret = (struct socket_progress){.silent_ms = info.tcpi_last_data_recv, .acked_bytes = info.tcpi_bytes_acked};
	return is_tcp;
}

static void socket_format_ipv4(char out[SOCKET_ADDRESS_SIZE], const struct in_addr *host, in_port_t port)
{
	char text[INET_ADDRSTRLEN];
	inet_ntop(AF_INET, host, text, sizeof(text));
	snprintf(out, SOCKET_ADDRESS_SIZE, "%s:%u", text, ntohs(port));
}

/* An IPv4 client of a socket that serves both comes as ::ffff:a.b.c.d. */
static void socket_format_ipv6(char out[SOCKET_ADDRESS_SIZE], const struct sockaddr_in6 *a)
{
	if (IN6_IS_ADDR_V4MAPPED(&a->sin6_addr)) {
		struct in_addr host;
		memcpy(&host, &a->sin6_addr.s6_addr[12], sizeof(host));
		socket_format_ipv4(out, &host, a->sin6_port);
		return;
	}
	char text[INET6_ADDRSTRLEN];
	inet_ntop(AF_INET6, &a->sin6_addr, text, sizeof(text));
	snprintf(out, SOCKET_ADDRESS_SIZE, "[%s]:%u", text, ntohs(a->sin6_port));
}

void socket_format_address(char out[SOCKET_ADDRESS_SIZE], const struct sockaddr *a)
{
	if (a->sa_family == AF_INET6) {
		socket_format_ipv6(out, (const struct sockaddr_in6 *)(const void *)a);
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)a;
		socket_format_ipv4(out, &in->sin_addr, in->sin_port);
	}
}

/* Sources of clients.
 *
 * Sources are compared as text, so one network must have one spelling: inet_ntop() writes it anew. A link-local address
 * is followed by the name of an interface, which inet_pton() does not take. */

/* Without the port, without brackets, and without the interface of a link-local address. */
static struct str source_host(struct str peer)
{
	struct str host = peer, rest;

	while (host.n > 0 && host.p[host.n - 1] != ':') {
		host.n--;
	}
	host.n -= host.n > 0;
	if (host.n >= 2 && host.p[0] == '[') {
		host = (struct str){host.p + 1, host.n - 2};
	}
	str_cut(host, '%', &host, &rest);
	return host;
}

struct str http_source_of(struct str peer, struct arena *a)
{
	struct str host = source_host(peer);
	struct in6_addr six;
	char text[INET6_ADDRSTRLEN];

	if (inet_pton(AF_INET6, arena_dup(a, host).p, &six) != 1) {
		return host;
	}
	memset(&six.s6_addr[8], 0, 8);
	return str_of(arena_strdup(a, inet_ntop(AF_INET6, &six, text, sizeof(text))));
}

/* The wire.
 *
 * The buffer for reading belongs to the thread. A connection has a buffer of its own only while bytes are left over and
 * another connection reads, so 10,000 idle connections hold nothing here. Writing holds back one record at most, and
 * only when its owner says that another follows: nothing waits for a timer. */

enum {
	AHEAD_SIZE = 16384 + 512, /* a full record and its wrapping */
	HOLD_MAX = 4096,          /* bytes; a longer record is worth a call of its own */
	MAX_PIECES = 16,          /* pieces of one call; GnuTLS sends further ones with the next */
};

/* The thread's buffer, and whose bytes are in it. */
static _Thread_local char ahead_buffer[AHEAD_SIZE];
static _Thread_local struct wire *ahead_owner;

static void wire_leave_buffer(struct wire *w)
{
	if (w->ahead_n) {
		w->left_over = mem_dup(w->ahead, w->ahead_n);
		w->ahead = w->left_over;
	}
	ahead_owner = NULL;
}

static ssize_t wire_read_ahead(struct wire *w)
{
	if (ahead_owner && ahead_owner != w) {
		wire_leave_buffer(ahead_owner);
	}
	w->left_over = mem_free(w->left_over);
	ahead_owner = w;
	ssize_t n = recv(w->fd, ahead_buffer, sizeof(ahead_buffer), 0);
	w->ahead = ahead_buffer;
	w->ahead_n = n > 0 ? (size_t)n : 0;
	return n;
}

static ssize_t wire_on_pull(gnutls_transport_ptr_t p, void *data, size_t n)
{
	struct wire *w = p;
	ssize_t r = w->ahead_n ? (ssize_t)w->ahead_n : wire_read_ahead(w);
	if (r > 0) {
		n = MIN(n, w->ahead_n);
		memcpy(data, w->ahead, n);
		w->ahead += n;
		w->ahead_n -= n;
		return (ssize_t)n;
	}
	int error = errno;
	if (r < 0 && error == EAGAIN && w->on_empty) {
		w->on_empty(w);
	}
	gnutls_transport_set_errno(w->session, error);
	return r;
}

/* How much of what came behind the held record was sent, when `sent` bytes were in all. Nothing: then the caller has to come again. */
static ssize_t wire_settle_held(struct wire *w, size_t sent)
{
	if (sent <= w->held_n) {
		w->held_n -= sent;
		memmove(w->held, w->held + sent, w->held_n);
		errno = EAGAIN;
		return -1;
	}
	sent -= w->held_n;
	w->held = mem_free(w->held);
	w->held_n = 0;
	return (ssize_t)sent;
}

static ssize_t wire_send_pieces(struct wire *w, const giovec_t *pieces, size_t n)
{
	struct iovec all[MAX_PIECES + 1];
	struct msghdr message = {.msg_iov = all};
	if (w->held) {
		all[message.msg_iovlen++] = (struct iovec){w->held, w->held_n};
	}
	for (size_t i = 0; i < n && i < MAX_PIECES; i++) {
		all[message.msg_iovlen++] = (struct iovec){pieces[i].iov_base, pieces[i].iov_len};
	}
	ssize_t r = sendmsg(w->fd, &message, MSG_NOSIGNAL);
	if (r > 0) {
		atomic_store_explicit(&w->moved_ms, clock_mono_ms(), memory_order_relaxed);
	}
	return r < 0 || !w->held ? r : wire_settle_held(w, (size_t)r);
}

static ssize_t wire_hold_or_send(struct wire *w, const giovec_t *pieces, size_t n)
{
	size_t total = 0;
	for (size_t i = 0; i < n; i++) {
		total += pieces[i].iov_len;
	}
	bool will_follow = w->will_follow;
	w->will_follow = false;
	if (will_follow && !w->held && total <= HOLD_MAX) {
		w->held = mem_alloc(total);
		for (size_t i = 0; i < n; i++) {
			memcpy(w->held + w->held_n, pieces[i].iov_base, pieces[i].iov_len);
			w->held_n += pieces[i].iov_len;
		}
		return (ssize_t)total;
	}
	return wire_send_pieces(w, pieces, n);
}

static ssize_t wire_on_push(gnutls_transport_ptr_t p, const giovec_t *pieces, int n)
{
	struct wire *w = p;
	ssize_t r = wire_hold_or_send(w, pieces, (size_t)n);
	if (r < 0) {
		gnutls_transport_set_errno(w->session, errno);
	}
	return r;
}

static ssize_t gnutls_code_of_errno(void)
{
	switch (errno) {
	case EAGAIN:
		return GNUTLS_E_AGAIN;
	case EINTR:
		return GNUTLS_E_INTERRUPTED;
	case ECONNRESET:
		return GNUTLS_E_PREMATURE_TERMINATION;
	default:
		return GNUTLS_E_PULL_ERROR;
	}
}

ssize_t wire_receive_plain(struct wire *w, void *p, size_t n)
{
	ssize_t r = recv(w->fd, p, n, 0);
	return r < 0 ? gnutls_code_of_errno() : r;
}

ssize_t wire_send_plain(struct wire *w, const void *p, size_t n)
{
	giovec_t piece = {.iov_base = (void *)(uintptr_t)p, .iov_len = n};
	ssize_t r = wire_hold_or_send(w, &piece, 1);
	return r < 0 ? gnutls_code_of_errno() : r;
}

void wire_init(struct wire *w)
{
	gnutls_transport_set_ptr(w->session, w);
	gnutls_transport_set_pull_function(w->session, wire_on_pull);
	gnutls_transport_set_vec_push_function(w->session, wire_on_push);
}

void wire_done(struct wire *w)
{
	if (ahead_owner == w) {
		ahead_owner = NULL;
	}
	mem_free(w->left_over);
	mem_free(w->held);
}

/* The transport.
 *
 * GnuTLS' functions are looked up behind ours (RTLD_NEXT), so they are found whatever the program links. A session has
 * two pointers for its owner. One is the connection's. The other is meant for a cache of sessions, which we do not
 * have, so it points to the transport. */

/* GnuTLS' own functions, which those below hide. */
static struct {
	int (*handshake)(gnutls_session_t session);
	ssize_t (*receive)(gnutls_session_t session, void *p, size_t n);
	ssize_t (*send)(gnutls_session_t session, const void *p, size_t n);
} gnutls_own;

#ifdef LIBRARIES_ARE_STATIC

/* Within one executable there is no behind: the linker's --wrap gives both. */
int __real_gnutls_handshake(gnutls_session_t session);
ssize_t __real_gnutls_record_recv(gnutls_session_t session, void *p, size_t n);
ssize_t __real_gnutls_record_send(gnutls_session_t session, const void *p, size_t n);
int __wrap_gnutls_handshake(gnutls_session_t session);
ssize_t __wrap_gnutls_record_recv(gnutls_session_t session, void *p, size_t n);
ssize_t __wrap_gnutls_record_send(gnutls_session_t session, const void *p, size_t n);
#define OURS(name) __wrap_##name

static void find_gnutls_own(void)
{
	gnutls_own.handshake = __real_gnutls_handshake;
	gnutls_own.receive = __real_gnutls_record_recv;
	gnutls_own.send = __real_gnutls_record_send;
}

#else

#define OURS(name) __attribute__((visibility("default"))) name

static void find_gnutls_own(void)
{
	/* POSIX allows what ISO C does not: a function from a data pointer. */
	*(void **)&gnutls_own.handshake = dlsym(RTLD_NEXT, "gnutls_handshake");
	*(void **)&gnutls_own.receive = dlsym(RTLD_NEXT, "gnutls_record_recv");
	*(void **)&gnutls_own.send = dlsym(RTLD_NEXT, "gnutls_record_send");
}

#endif

static void find_gnutls_own_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_gnutls_own);
}

/* The pointer for a cache of sessions, which we do not keep, and which clients have no use for. */
static struct transport *transport_of(gnutls_session_t session)
{
	return gnutls_db_get_ptr(session);
}

/* On a plain connection GnuTLS sends only its alert at the end, which is discarded. */
static ssize_t plain_discard(gnutls_transport_ptr_t p, const void *data, size_t n)
{
	(void)p;
	(void)data;
	return (ssize_t)n;
}

static ssize_t plain_find_end(gnutls_transport_ptr_t p, void *data, size_t n)
{
	(void)p;
	(void)data;
	(void)n;
	return 0;
}

void transport_attach(struct transport *t, gnutls_session_t session)
{
	gnutls_db_set_ptr(session, t);
	if (t->is_plain) {
		gnutls_transport_set_push_function(session, plain_discard);
		gnutls_transport_set_pull_function(session, plain_find_end);
	}
}

ssize_t transport_tls_receive(gnutls_session_t session, void *p, size_t n)
{
	find_gnutls_own_once();
	return gnutls_own.receive(session, p, n);
}

int OURS(gnutls_handshake)(gnutls_session_t session)
{
	const struct transport *t = transport_of(session);
	find_gnutls_own_once();
	return t && t->is_plain ? GNUTLS_E_SUCCESS : gnutls_own.handshake(session);
}

ssize_t OURS(gnutls_record_recv)(gnutls_session_t session, void *p, size_t n)
{
	struct transport *t = transport_of(session);
	find_gnutls_own_once();
	return t ? t->receive(t, p, n) : gnutls_own.receive(session, p, n);
}

ssize_t OURS(gnutls_record_send)(gnutls_session_t session, const void *p, size_t n)
{
	struct transport *t = transport_of(session);
	find_gnutls_own_once();
	return t && t->send ? t->send(t, p, n) : gnutls_own.send(session, p, n);
}

/* Options.
 *
 * Descriptors are small numbers, given anew as soon as they are free. So there is a bit for each, without a lock: only
 * the owner of a socket changes its bit. */

enum { WORD = 64, SOCKETS = 1 << 16 };

/* A socket beyond the end keeps its options, and costs system calls. */
static _Atomic uint64_t is_hidden[SOCKETS / WORD];
static _Atomic uint64_t n_refused;

static int (*libc_setsockopt)(int fd, int level, int name, const void *value, socklen_t n);

/* POSIX allows what ISO C does not: a function from a data pointer. */
static void find_libc_setsockopt(void)
{
	*(void **)&libc_setsockopt = dlsym(RTLD_NEXT, "setsockopt");
}

static uint64_t hidden_bit(int fd)
{
	return UINT64_C(1) << fd % WORD;
}

void socket_options_hide(int fd)
{
	if (fd >= 0 && fd < SOCKETS) {
		atomic_fetch_or_explicit(&is_hidden[fd / WORD], hidden_bit(fd), memory_order_relaxed);
	}
}

void socket_options_show(int fd)
{
	if (fd >= 0 && fd < SOCKETS) {
		atomic_fetch_and_explicit(&is_hidden[fd / WORD], ~hidden_bit(fd), memory_order_relaxed);
	}
}

static bool are_options_hidden(int fd)
{
	return fd >= 0 && fd < SOCKETS && (atomic_load_explicit(&is_hidden[fd / WORD], memory_order_relaxed) & hidden_bit(fd));
}

uint64_t socket_options_n_refused(void)
{
	return atomic_load_explicit(&n_refused, memory_order_relaxed);
}

__attribute__((visibility("default"))) int setsockopt(int fd, int level, int name, const void *value, socklen_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_libc_setsockopt);
	if (level == IPPROTO_TCP && (name == TCP_CORK || name == TCP_NODELAY) && are_options_hidden(fd)) {
		atomic_fetch_add_explicit(&n_refused, 1, memory_order_relaxed);
		errno = ENOPROTOOPT;
		return -1;
	}
	return libc_setsockopt(fd, level, name, value, n);
}

/* Polls. */

enum { LOOKS_FOR_A_CALL = 4 };

static _Thread_local bool is_lazy;
static _Thread_local unsigned n_looks; /* since the last call */

static int (*libc_epoll_wait)(int fd, struct epoll_event *events, int max, int timeout_ms);

/* POSIX allows what ISO C does not: a function from a data pointer. */
static void find_libc_epoll_wait(void)
{
	*(void **)&libc_epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
}

void socket_poll_lazily(void)
{
	is_lazy = true;
}

__attribute__((visibility("default"))) int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_libc_epoll_wait);
	if (is_lazy && timeout_ms == 0 && ++n_looks < LOOKS_FOR_A_CALL) {
		return 0;
	}
	n_looks = 0;
	return libc_epoll_wait(fd, events, max, timeout_ms);
}
