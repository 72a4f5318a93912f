/* Threads that feed long-lived streams (watches) to their clients.
 *
 * libmicrohttpd sends the head of such an answer; then the connection is suspended, and until the stream ends its socket and TLS session
 * belong to one pump thread. That is because waking a connection in libmicrohttpd costs a system call and a walk over all suspended
 * ones each time, and because its write buffer is per connection: here a wake is a push on a lock-free stack, one
 * system call for any number of them, and the buffer (a whole TLS record) is per thread; an idle stream costs a struct.
 *
 * A stream is read only when its socket takes more, so a slow client slows only itself; one that takes nothing for a minute is cut. */
#ifndef SERVER_HTTP_HTTP_PUMP_H
#define SERVER_HTTP_HTTP_PUMP_H

#include "base/list.h"
#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <sys/types.h>

struct pump;
struct pump_stream;

struct pump_ops {
	/* As http_stream_ops.read: bytes, 0 to wait for a wake, -1 end, -2 cut. */
	ssize_t (*read)(struct pump_stream *s, char *p, size_t max);
	void (*closed)(struct pump_stream *s); /* no read follows, and after it no wake may come */
	/* The socket is the caller's again. is_cut: the body is not complete. The last time the pump touches s. */
	void (*finished)(struct pump_stream *s, bool is_cut);
};

struct pump_stream {
	/* Set by the caller before pump_prepare(). */
	const struct pump_ops *ops;
	int fd;
	gnutls_session_t tls; /* NULL: plain */
	bool is_chunked;

	/* Private. */
	struct pump_thread *thread;
	struct pump_stream *next; /* in the stack of woken ones */
	_Atomic bool is_woken;    /* it is in that stack */
	struct list link;         /* in the thread's list of those to run */
	struct list blocked_link; /* in its list of those whose socket is full */
	bool is_registered, is_blocked, is_gone, is_closed, is_cut;
	bool is_record_kept; /* GnuTLS holds a record back */
	char *rest;          /* what the socket did not take */
	size_t rest_n, rest_at;
	int64_t blocked_ms; /* since then */
};

struct pump *pump_new(unsigned n_threads);
struct pump *pump_free(struct pump *p);                   /* no stream may be left */
void pump_set_patience(struct pump *p, int64_t stall_ms); /* who takes nothing for so long is cut; any thread */
uint64_t pump_count_stalled(const struct pump *p);        /* those that were cut for that; any thread */

void pump_prepare(struct pump *p, struct pump_stream *s);
void pump_start(struct pump_stream *s); /* from now on the pump's; not every prepared stream need be started */
/* Any thread, between pump_prepare and the return of `closed`; cheap. */
void pump_wake(struct pump_stream *s);

#endif
