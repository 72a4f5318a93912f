/* What the parts of the HTTP front end share. Others include http.h, which hides all of this.
 * server      http_server.c      options, trust, counters, the keeper's callbacks; start and
 * drain   worker      http_worker.c      one HTTP thread, which is one struct MHD_Daemon
 * connection  http_connection.c  one client: its struct MHD_Connection, TLS session and inlet
 * exchange    http_exchange.c    one request, from its head to the end of its answer
 * http_answer.c      the answer: its struct MHD_Response               http_stream.c      a body
 * that is produced while it is sent  The types of libmicrohttpd are only declared here. Each of
 * them is the business of one file, and those three files alone include <microhttpd.h>: a trap
 * of the library has one place to be closed.  Threads: a connection and its exchange belong to
 * their worker's thread. Three other threads reach an exchange: whoever wakes it, the keeper
 * (alarms), and the pump that feeds its stream. They touch the atomic fields, and the pump what
 * a stream's `read` touches while libmicrohttpd has the connection suspended. */
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
#include "server/http/http_transport.h"
#include "server/http/http_wire.h"
#include <pthread.h>

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

enum {
	WORKER_CROWD = 128, /* libmicrohttpd's MAX_EVENTS: with so many a worker needs nudges */
	PEER_SCRATCH = 160, /* bytes: enough for an ordinary certificate's names */
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
	_Atomic bool is_leaving;   /* an answer is the last on its connection, but for streams */
	_Atomic bool is_draining;  /* that of a stream, too; streams are asked to end */
	_Atomic bool is_cutting;   /* driven streams end, too: while they wait nobody looks at the socket */
	_Atomic uint32_t n_wakers; /* threads that are waking an exchange: none may be left at the end */

	/* Streams come and go on HTTP and pump threads. A drain wakes them all from another one. */
	pthread_mutex_t streams_lock;
	struct list streams; /* of http_exchange.stream_link */
	uint64_t n_streams;

	_Atomic uint64_t connections_total, handshakes_failed, requests_total, requests_invalid, bytes_sent;
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

/* Who waits, in an atomic that the waiting and the waking thread share. */
enum wait {
	WAIT_RUNNING, /* nobody */
	WAIT_PARKED,  /* a suspended connection: whoever changes this resumes it */
	WAIT_WOKEN,   /* nobody yet, but a wake has come: the next to wait goes on at once */
};

enum stream_kind {
	STREAM_NONE,
	STREAM_DRIVEN, /* libmicrohttpd asks for more when the socket takes more */
	STREAM_PUMPED, /* the pump does */
};

/* How the pump gave a stream back. */
enum stream_end { END_OPEN, END_DONE, END_CUT };

struct answer_header {
	struct answer_header *next;
	const char *name, *value;
};

struct http_exchange {
	struct connection *connection;
	struct arena arena;

	/* The request. */
	struct http_head head;
	unsigned refusal;    /* the status for what is not HTTP as we know it; 0: none */
	const char *problem; /* with it */
	struct buf body;
	size_t n_discarded; /* bytes of the body */
	bool is_body_too_large;
	bool is_body_unwanted; /* by the handler */
	bool is_announced;     /* to the handler */
	bool is_head_waiting;  /* the handler waits before the body is read */
	int64_t started_ns;
	void *context;

	/* Its handler's waiting. */
	_Atomic int wait;   /* enum wait */
	bool is_suspending; /* http_suspend() was called in this call of the handler */
	bool was_suspended;
	struct heap_node alarm;
	int64_t alarm_ms; /* as last set: a stream tends to ask for the same again and again */

	/* The answer. */
	unsigned status; /* 0: not answered */
	struct answer_header *answer_headers, **answer_headers_end;
	size_t answer_head_n;          /* bytes of them */
	struct MHD_Response *response; /* until it is queued */
	uint64_t sent;                 /* body bytes */
	bool is_cut;
	bool is_in_memory;    /* the whole body, for libmicrohttpd to send */
	struct bytes **parts; /* a body of several pieces: those from `part` on are referenced */
	size_t n_parts, part, part_at;
	char *flat; /* or their copy in one piece, owned */

	/* Or a stream. */
	_Atomic int stream_kind; /* enum stream_kind */
	_Atomic int stream_wait; /* enum wait, of a driven one */
	_Atomic int stream_end;  /* enum stream_end, of a pumped one */
	const struct http_stream_ops *stream_ops;
	void *stream_context;
	uint64_t stream_length;
	bool is_stream_closed;
	bool is_ended_by_closing;
	struct list stream_link;
	struct pump_stream pumped;

	_Alignas(16) char scratch[];
};

static inline struct http_server *http_exchange_server(const struct http_exchange *x)
{
	return x->connection->server;
}

static inline enum stream_kind http_exchange_stream_kind(const struct http_exchange *x)
{
	return (enum stream_kind)atomic_load_explicit(&x->stream_kind, memory_order_acquire);
}

/* For statistics: nothing else depends on the order of these numbers. */
static inline void http_count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* http_worker.c */

/* 0; or -EIO and a sentence in err, and then worker_close() is still due. w is zeroed. */
int worker_open(struct worker *w, struct http_server *s, struct buf *err);
void worker_close(struct worker *w); /* no connection may be left */
/* The worker with the fewest connections takes this one; false: it cannot, and has closed fd. */
bool worker_admit(struct http_server *s, int fd, const struct sockaddr *address, socklen_t size);
void worker_nudge(struct worker *w); /* if it has a crowd */
const char *worker_library_version(void);

/* http_connection.c */

struct connection *connection_new(struct worker *w, struct MHD_Connection *mhd);
void connection_free(struct connection *c);
/* Fills in c->peer, from the certificate as the authorities of this moment judge it. */
void connection_learn_peer(struct connection *c);
/* Takes the connection from libmicrohttpd's loop, and gives it back. */
void connection_suspend(struct connection *c);
void connection_resume(struct connection *c);
/* Suspends the connection until somebody wakes `wait`; not at all, where the wake came before. */
void connection_park(struct connection *c, _Atomic int *wait);
/* True: it was parked, and the caller must resume it. */
bool connection_unpark(_Atomic int *wait);
/* Around each wake from another thread. parked: to be resumed, or NULL. */
void connection_begin_wake(struct http_server *s);
void connection_end_wake(struct http_server *s, struct connection *parked);

/* http_exchange.c: in this order, on the HTTP thread. False: libmicrohttpd is to close the
 * connection. */

struct http_exchange *http_exchange_new(struct connection *c);
bool http_exchange_begin(struct http_exchange *x);       /* the head is there */
bool http_exchange_resume_head(struct http_exchange *x); /* a wake came: the handler waited there */
bool http_exchange_receive(struct http_exchange *x, const char *p, size_t n);
bool http_exchange_run(struct http_exchange *x); /* the request is complete, or a wake came */
void http_exchange_end(struct http_exchange *x, bool is_complete);
struct http_exchange *http_exchange_free(struct http_exchange *x); /* of one that has not begun */
void http_exchange_alarm(struct heap_node *a);                     /* the keeper's callback */

/* http_answer.c */

/* The answer's body comes from `read`, until its length has come or it returns HTTP_READ_END. */
enum { HTTP_READ_END = -1 };
void http_answer_from(struct http_exchange *x, unsigned status, uint64_t length,
	ssize_t (*read)(void *x, uint64_t position, char *p, size_t max));
bool http_answer_refuse(struct http_exchange *x); /* answers x->refusal, and queues the answer */
bool http_answer_queue(struct http_exchange *x);  /* gives it to libmicrohttpd to send */
void http_answer_done(struct http_exchange *x);

/* http_stream.c */

/* From then on nobody reads it, and nobody may wake it. Does nothing to what is no stream. */
void http_stream_close(struct http_exchange *x);
void http_stream_wake_all(struct http_server *s);

#endif
