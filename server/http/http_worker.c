/* The HTTP threads. Each is a libmicrohttpd daemon of its own, which runs one epoll loop.
 * libmicrohttpd can run a pool of threads itself, but then nobody else can get at their epolls.
 * And somebody must: it goes to sleep on a batch of exactly WORKER_CROWD events when there is no
 * further event, instead of handling them (0.9.75 to 1.0.1). So while a worker has connections
 * enough for that, its epoll gets an event of ours now and then (worker_nudge).  This is also
 * where libmicrohttpd calls us: for a connection that begins or ends, and for each step of a
 * request. The calls are passed on to http_connection.c and http_exchange.c in our own types. */
#include "server/http/http_private.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* libmicrohttpd's memory for one connection: pieces of the body, and the head of the answer. It is
 * malloc'ed up to this size; a larger one would be mapped, which costs system calls. */
enum { POOL = 32 << 10 };

/* What libmicrohttpd calls. */

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = connection_new(arg, mhd);
	} else {
		connection_free(*context);
		*context = NULL;
	}
}

static struct connection *connection_at(struct MHD_Connection *mhd)
{
	return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* One step of a request; false: the connection is to be closed. */
static bool take_step(struct http_exchange *x, const char *upload, size_t *upload_n)
{
	if (x->is_head_waiting) {
		return http_exchange_resume_head(x);
	}
	if (*upload_n) {
		size_t n = *upload_n;
		*upload_n = 0;
		return http_exchange_receive(x, upload, n);
	}
	return http_exchange_run(x);
}

/* libmicrohttpd knows of it now. */
static bool begin(struct connection *c)
{
	struct http_exchange *x = c->next;
	c->current = x;
	c->next = NULL;
	if (!x->refusal) {
		connection_learn_peer(c);
	}
	return http_exchange_begin(x);
}

/* The method, the target and the version are those of the head that the inlet made up: the exchange
 * has those of the client. The first call for a request is the one that finds no context. */
static enum MHD_Result on_access(void *arg, struct MHD_Connection *mhd, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_n, void **context)
{
	struct http_exchange *x = *context;
	(void)arg;
	(void)url;
	(void)method;
	(void)version;
	if (!x) {
		struct connection *c = connection_at(mhd);
		*context = c->next;
		return c->next && begin(c) ? MHD_YES : MHD_NO;
	}
	return take_step(x, upload, upload_n) ? MHD_YES : MHD_NO;
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode how)
{
	(void)arg;
	(void)mhd;
	if (*context) {
		http_exchange_end(*context, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
		*context = NULL;
	}
}

/* Never asked: each session gets its own credentials before its handshake. But without it
 * libmicrohttpd would not start. */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *names, int n_names,
	const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **certificate, unsigned *n,
	gnutls_privkey_t *key)
{
	(void)session, (void)names, (void)n_names, (void)algorithms, (void)n_algorithms, (void)certificate, (void)n, (void)key;
	return -1;
}

/* The thread. */

/* An event without a pointer is none of libmicrohttpd's, which does not look at it.
 * Edge-triggered: each write is one event, and nobody need read. */
static int open_nudge(struct worker *w)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
	w->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return epoll_ctl(MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, EPOLL_CTL_ADD, w->nudge, &event);
}

/* The limit on connections is the keeper's; libmicrohttpd's is never reached. */
int worker_open(struct worker *w, struct http_server *s, struct buf *err)
{
	const struct http_options *o = &s->options;
	size_t connections = o->max_connections + KEEPER_LEAVING_MAX(o->max_connections) + 1;
	struct MHD_OptionItem options[] = {
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, POOL, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, (intptr_t)MIN(connections, (size_t)INT32_MAX), NULL},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, w},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, w},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)no_certificate},
		{MHD_OPTION_END, 0, NULL},
	};
	/* TLS also where there is none: then libmicrohttpd reads and writes through GnuTLS' calls, where our transport stands in. */
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TLS;
	w->server = s;
	w->nudge = -1;
	w->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_access, w, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!w->daemon || open_nudge(w) < 0) {
		buf_printf(err, "libmicrohttpd does not start");
		return -EIO;
	}
	return 0;
}

void worker_close(struct worker *w)
{
	if (w->daemon) {
		MHD_stop_daemon(w->daemon);
		close(w->nudge);
	}
}

/* The counts are read without a lock: one that is a moment old makes a choice that is a little
 * worse. */
static struct worker *least_loaded(struct http_server *s)
{
	struct worker *best = &s->workers[0];
	for (unsigned i = 1; i < s->options.threads; i++) {
		struct worker *w = &s->workers[i];
		if (atomic_load_explicit(&w->n_connections, memory_order_relaxed) <
			atomic_load_explicit(&best->n_connections, memory_order_relaxed)) {
			best = w;
		}
	}
	return best;
}

/* Counted before libmicrohttpd has it: it may be over before MHD_add_connection() returns. */
bool worker_admit(struct http_server *s, int fd, const struct sockaddr *address, socklen_t size)
{
	struct worker *w = least_loaded(s);
	atomic_fetch_add_explicit(&w->n_connections, 1, memory_order_relaxed);
	if (MHD_add_connection(w->daemon, fd, address, size) != MHD_YES) {
		atomic_fetch_sub_explicit(&w->n_connections, 1, memory_order_relaxed);
		return false;
	}
	return true;
}

void worker_nudge(struct worker *w)
{
	if (atomic_load_explicit(&w->n_polled, memory_order_relaxed) >= WORKER_CROWD) {
		eventfd_write(w->nudge, 1);
	}
}

const char *worker_library_version(void)
{
	return MHD_get_version();
}
