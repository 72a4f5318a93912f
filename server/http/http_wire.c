/* The buffer for reading belongs to the thread: a connection has one of its own only while bytes
 * are left over and another connection reads. So 10,000 idle connections hold nothing here. Writing
 * holds back one record at most, and only when its owner says that another follows: nothing waits
 * for a timer. */
#include "server/http/http_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	AHEAD_SIZE = 16384 + 512, /* a full record and its wrapping */
	HOLD_MAX = 4096,          /* bytes; a longer record is worth a call of its own */
	MAX_PIECES = 16,
};

/* The thread's buffer, and whose bytes are in it. */
static _Thread_local char ahead_buffer[AHEAD_SIZE];
static _Thread_local struct wire *ahead_owner;

/* Reading. */

static void leave_buffer(struct wire *w)
{
	if (w->ahead_n) {
		w->left_over = mem_dup(w->ahead, w->ahead_n);
		w->ahead = w->left_over;
	}
	ahead_owner = NULL;
}

static ssize_t read_ahead(struct wire *w)
{
	if (ahead_owner && ahead_owner != w) {
		leave_buffer(ahead_owner);
	}
	w->left_over = mem_free(w->left_over);
	ahead_owner = w;
	ssize_t n = recv(w->fd, ahead_buffer, sizeof(ahead_buffer), 0);
	w->ahead = ahead_buffer;
	w->ahead_n = n > 0 ? (size_t)n : 0;
	return n;
}

static ssize_t on_pull(gnutls_transport_ptr_t p, void *data, size_t n)
{
	struct wire *w = p;
	ssize_t r = w->ahead_n ? (ssize_t)w->ahead_n : read_ahead(w);
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

/* Writing. */

static void hold(struct wire *w, const giovec_t *pieces, size_t n, size_t total)
{
	w->held = mem_alloc(total);
	for (size_t i = 0; i < n; i++) {
		memcpy(w->held + w->held_n, pieces[i].iov_base, pieces[i].iov_len);
		w->held_n += pieces[i].iov_len;
	}
}

/* How much of what came behind the held record was sent, when `sent` bytes were in all. Nothing: then the caller has to come again. */
static ssize_t settle(struct wire *w, size_t sent)
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

static ssize_t send_pieces(struct wire *w, const giovec_t *pieces, size_t n)
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
	return r < 0 || !w->held ? r : settle(w, (size_t)r);
}

static ssize_t hold_or_send(struct wire *w, const giovec_t *pieces, size_t n)
{
	size_t total = 0;
	for (size_t i = 0; i < n; i++) {
		total += pieces[i].iov_len;
	}
	bool will_follow = w->will_follow;
	w->will_follow = false;
	if (will_follow && !w->held && total <= HOLD_MAX) {
		hold(w, pieces, n, total);
		return (ssize_t)total;
	}
	return send_pieces(w, pieces, n);
}

static ssize_t on_push(gnutls_transport_ptr_t p, const giovec_t *pieces, int n)
{
	struct wire *w = p;
	ssize_t r = hold_or_send(w, pieces, (size_t)n);
	if (r < 0) {
		gnutls_transport_set_errno(w->session, errno);
	}
	return r;
}

/* Plain. */

static ssize_t code_of_errno(void)
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
	return r < 0 ? code_of_errno() : r;
}

ssize_t wire_send_plain(struct wire *w, const void *p, size_t n)
{
	giovec_t piece = {.iov_base = (void *)(uintptr_t)p, .iov_len = n};
	ssize_t r = hold_or_send(w, &piece, 1);
	return r < 0 ? code_of_errno() : r;
}

void wire_init(struct wire *w)
{
	gnutls_transport_set_ptr(w->session, w);
	gnutls_transport_set_pull_function(w->session, on_pull);
	gnutls_transport_set_vec_push_function(w->session, on_push);
}

void wire_done(struct wire *w)
{
	if (ahead_owner == w) {
		ahead_owner = NULL;
	}
	mem_free(w->left_over);
	mem_free(w->held);
}
