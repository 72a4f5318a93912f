/* Shared by the parts of the HTTP front end. Others include http.h, which hides all of this.
 *
 *   server      http_server.c      options, trust, counters, the keeper's callbacks; start and drain
 *   exchange    http_exchange.c    one request, from its head to the end of its answer; what answers hold until then
 *   streams     http_pump.c        bodies that are produced while they are sent
 *   connection  http_connection.c  HTTP/1.1: workers, connections and answers in libmicrohttpd
 *
 * An exchange knows nothing of the protocol that its request came by. It asks its wire: struct exchange_wire.
 *
 * The types of libmicrohttpd are only declared here. http_connection.c alone includes <microhttpd.h>: a trap of the
 * library has one place to be closed.
 *
 * Threads: a connection and its exchanges belong to one HTTP thread. Three other threads reach an
 * exchange: whoever wakes it, the keeper (alarms), and the pump that feeds its stream. They touch
 * the atomic fields, and the pump what a stream's `read` touches while libmicrohttpd has the
 * connection suspended. */
#ifndef SERVER_HTTP_HTTP_PRIVATE_H
#define SERVER_HTTP_HTTP_PRIVATE_H

#include "base/clock.h"
#include "base/list.h"
#include "server/http/client_trust.h"
#include "server/http/http.h"
#include "server/http/http_inlet.h"
#include "server/http/http_keeper.h"
#include "server/http/http_pump.h"
#include "server/http/http_socket.h"
#include "server/http/http_tls.h"
#include "server/http/http_unsent.h"
#include <pthread.h>

struct h2_stream;
struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

enum {
	WORKER_CROWD = 128, /* libmicrohttpd's MAX_EVENTS: with so many a worker needs nudges */
	PEER_SCRATCH = 160, /* bytes: enough for an ordinary certificate's names */
	/* An exchange and the beginning of its arena: enough for a GET or a watch. */
	HTTP_EXCHANGE_SIZE = 5120,
};

/* One HTTP thread. */
struct worker {
	struct http_server *server;
	struct MHD_Daemon *daemon;
	int nudge;                      /* an eventfd in the daemon's epoll */
	_Atomic uint32_t n_connections; /* a new one goes to the worker with the fewest */
	_Atomic uint32_t n_polled;      /* of them in the daemon's epoll: not those at the pump */
};

struct http_server {
	struct http_options options; /* defaults filled in */
	uint16_t port;
	struct worker *workers;
	struct tls_files *tls;      /* NULL: plain */
	struct client_trust *trust; /* likewise */
	struct keeper *keeper;
	struct pump *pump;
	struct h2 *h2;             /* NULL: HTTP/1.1 only */
	_Atomic bool is_leaving;   /* an answer is the last on its connection, but for streams */
	_Atomic bool is_draining;  /* that of a stream, too; streams are asked to end */
	_Atomic bool is_cutting;   /* driven streams end, too: while they wait nobody looks at the socket */
	_Atomic uint32_t n_wakers; /* threads that are waking an exchange: none may be left at the end */

	/* Streams come and go on HTTP and pump threads. A drain wakes them all from another one. */
	pthread_mutex_t streams_lock;
	struct list streams; /* of http_exchange.stream_link */
	uint64_t n_streams;

	_Atomic uint64_t connections_total, handshakes_failed, requests_total, requests_invalid, bytes_sent;
	_Atomic uint64_t http2_connections, http2_abuses, http2_refused, answers_evicted;
	_Atomic uint64_t stalled; /* streams of HTTP/2 that a drain has cut; the keeper and the pump count theirs */
	struct unsent unsent;
};

struct connection {
	struct keeper_connection kept;
	struct http_server *server;
	struct worker *worker;
	struct MHD_Connection *mhd;
	gnutls_session_t session;      /* NULL: plain */
	struct transport transport;    /* what libmicrohttpd reads and writes */
	struct inlet inlet;            /* what it reads comes through */
	struct wire wire;              /* under the session */
	struct http_exchange *next;    /* its head has been read; libmicrohttpd does not know of it yet */
	struct http_exchange *current; /* it does */
	struct tls_identity *identity;
	bool is_handshaken; /* until then silence means that the keeper waits, not libmicrohttpd */
	bool must_linger;   /* answered before the request's end */
	struct http_peer peer;
	struct verdict verdict; /* on its certificate */
	struct arena peer_arena;
	char peer_scratch[PEER_SCRATCH];
	char address[SOCKET_ADDRESS_SIZE];
};

/* The functions of the protocol that a request came by. The exchange calls them on its HTTP thread, except `resume` and
 * `evict`. False: the connection is to be closed. */
struct exchange_wire {
	/* The exchange is left alone from now on, until it is resumed: by any thread, once for each time. */
	void (*suspend)(struct http_exchange *x);
	void (*resume)(struct http_exchange *x);
	/* Sets the phase of the exchange, which decides its deadline. */
	void (*set_phase)(struct http_exchange *x, enum keeper_phase phase, int64_t now_ms);
	/* Returns true when the client has gone away. */
	bool (*is_client_gone)(struct http_exchange *x);
	bool (*answer_early)(struct http_exchange *x); /* the answer is there before the body */
	bool (*answer)(struct http_exchange *x);       /* sends the answer */
	/* A long-lived stream is the pump's (then STREAM_PUMPED). NULL: it is read like any other. */
	void (*prepare_pump)(struct http_exchange *x);
	/* Any thread, with a lock: the exchange is to end soon, its answer has to give way. */
	void (*evict)(struct http_exchange *x);
	void (*end)(struct http_exchange *x); /* it is over: before on_done, if that is still to come */
	/* May be NULL. Behind on_done, for which what the exchange tells is still there. */
	void (*release)(struct http_exchange *x);
	size_t own_size; /* bytes that are the wire's own: http_exchange_own() */
};

/* Whether somebody waits, in an atomic that the waiting and the waking thread share. */
enum wait {
	WAIT_RUNNING, /* nobody */
	WAIT_PARKED,  /* a suspended connection: whoever changes this resumes it */
	WAIT_WOKEN,   /* nobody yet, but a wake has come: the next to wait goes on at once */
};

enum stream_kind {
	STREAM_NONE,
	STREAM_DRIVEN, /* the wire asks for more when the socket takes more */
	STREAM_PUMPED, /* the pump does */
};

/* How the pump gave a stream back. */
enum stream_end { END_OPEN, END_DONE, END_CUT };

/* Where an answer's body comes from. */
enum answer_body {
	ANSWER_MEMORY, /* `memory`, which lives as long as the exchange */
	ANSWER_PARTS,  /* http_answer_read_parts() */
	ANSWER_STREAM, /* http_stream_drive(), or the pump */
};

struct answer_header {
	struct answer_header *next;
	const char *name, *value;
};

struct http_exchange {
	struct http_request request; /* the first: http_request() */
	struct http_server *server;
	const struct exchange_wire *wire;
	struct keeper_connection *kept; /* of its connection */
	struct connection *connection;  /* the wire's own: HTTP/1.1 */
	struct h2_stream *stream;       /* HTTP/2 */

	/* The request, besides what handlers read of it. */
	unsigned refusal;    /* the status for what is not HTTP as we know it; 0: none */
	const char *problem; /* with it */
	size_t n_discarded;  /* bytes of the body */
	bool is_body_unwanted; /* by the handler */
	bool is_announced;     /* to the handler */
	bool is_answered;      /* the handler knows that its answer was made */
	bool is_done;          /* the handler has heard of its end */
	bool is_head_waiting;  /* the handler waits before the body is read */

	/* The handler's waiting. */
	_Atomic int wait;   /* enum wait */
	bool is_suspending; /* http_suspend() was called in this call of the handler */
	bool was_suspended;
	struct heap_node alarm;
	int64_t alarm_ms; /* as last set: a stream tends to ask for the same again and again */

	/* The answer. */
	struct answer_header *answer_headers, **answer_headers_end;
	size_t answer_head_n; /* bytes of them */
	enum answer_body answer_body;
	uint64_t answer_length; /* HTTP_LENGTH_UNKNOWN: it ends when it ends */
	uint64_t sent;          /* body bytes */
	struct str memory;
	struct bytes **parts; /* a body of several pieces: those from `part` on are referenced */
	size_t n_parts, part, part_at;
	char *flat; /* a body in one piece, owned */
	size_t flat_n;
	size_t granted; /* bytes that the handler has asked for */
	struct unsent_answer unsent;

	/* Or a stream. */
	_Atomic int stream_kind; /* enum stream_kind */
	_Atomic int stream_wait; /* enum wait, of a driven one */
	_Atomic int stream_end;  /* enum stream_end, of a pumped one */
	const struct http_stream_ops *stream_ops;
	void *stream_context;
	bool is_long_lived; /* the stream is a watch */
	bool is_stream_closed;
	bool is_ended_by_closing;
	struct list stream_link;
	struct pump_stream pumped;

	_Alignas(16) char scratch[];
};

static inline enum stream_kind http_exchange_stream_kind(const struct http_exchange *x)
{
	return (enum stream_kind)atomic_load_explicit(&x->stream_kind, memory_order_acquire);
}

/* For statistics: nothing else depends on the order of these numbers. */
static inline void http_count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* http_connection.c */

/* 0; or -EIO and a sentence in err, and then worker_close() is still due. w is zeroed. */
int worker_open(struct worker *w, struct http_server *s, struct buf *err);
void worker_close(struct worker *w); /* no connection may be left */
/* The worker with the fewest connections takes this one; false: it cannot, and has closed fd. */
bool worker_admit(struct http_server *s, int fd, const struct sockaddr *address, socklen_t size);
void worker_nudge(struct worker *w); /* if it has a crowd */
const char *worker_library_version(void);

/* Takes the connection from libmicrohttpd's loop, and gives it back. */
void connection_suspend(struct connection *c);
void connection_resume(struct connection *c);

/* http_exchange.c: in this order, on the HTTP thread. False: the connection is to be closed. */

/* kept, peer and the wire's own, which is zeroed, are for the caller to set. */
struct http_exchange *http_exchange_new(struct http_server *s, const struct exchange_wire *wire);
static inline void *http_exchange_own(struct http_exchange *x)
{
	return x->scratch;
}
bool http_exchange_begin(struct http_exchange *x);       /* the head is there */
bool http_exchange_resume_head(struct http_exchange *x); /* a wake came: the handler waited there */
bool http_exchange_receive(struct http_exchange *x, const char *p, size_t n);
bool http_exchange_run(struct http_exchange *x); /* the request is complete, or a wake came */
void http_exchange_end(struct http_exchange *x, bool is_complete);
struct http_exchange *http_exchange_free(struct http_exchange *x); /* of one that has not begun */
void http_exchange_alarm(struct heap_node *a);                     /* the keeper's callback */
/* Suspends it until somebody wakes `wait`; not at all, where the wake came before. */
void http_exchange_park(struct http_exchange *x, _Atomic int *wait);
/* The wire has the answer, and needs nothing of the request any more. */
void http_exchange_let_go(struct http_exchange *x);
/* Around each wake from another thread. parked: to be resumed, or NULL. */
void http_begin_wake(struct http_server *s);
void http_end_wake(struct http_server *s, struct http_exchange *parked);

/* The answer's body is made of that, of this length. */
void http_answer(struct http_exchange *x, unsigned status, enum answer_body body, uint64_t length);
bool http_answer_is_last(const struct http_exchange *x); /* of its connection */
/* Copies the next bytes of the answer's parts to p. Returns how many; 0: all parts have been read. */
size_t http_answer_read_parts(struct http_exchange *x, char *p, size_t max);
bool http_answer_refuse(struct http_exchange *x); /* answers x->refusal, and sends the answer */
void http_answer_count(struct http_exchange *x);  /* from now on it is unsent */
void http_answer_done(struct http_exchange *x);

/* h2_stream.c */

bool h2_stream_is_late(const struct h2_stream *s);

/* http_pump.c */

/* As http_stream_ops.read, of an open stream: closes it at its end, and parks it when it is to wait. */
ssize_t http_stream_drive(struct http_exchange *x, char *p, size_t max);
ssize_t http_stream_read(struct http_exchange *x, char *p, size_t max); /* does neither: for the pump */
/* From then on nobody reads it, and nobody may wake it. Does nothing to what is no stream. */
void http_stream_close(struct http_exchange *x);
void http_stream_wake_all(struct http_server *s);

#endif
