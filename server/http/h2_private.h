/* What the parts of HTTP/2 share. Others include h2.h.
 *
 *   thread      h2_thread.c      one HTTP thread: an epoll loop, the connections pinned to it, wakes from others
 *   connection  h2_connection.c  one client: its socket, TLS session, struct nghttp2_session and deadlines
 *   stream      h2_stream.c      one exchange on it: the wire of struct http_exchange
 *
 * The first knows nothing of nghttp2; the other two alone include <nghttp2/nghttp2.h>.
 *
 * Threads: everything belongs to the h2 thread, but for the stack of woken streams, which anybody pushes to. The keeper reads a
 * connection's phase and cuts it with shutdown(2), as any other. */
#ifndef SERVER_HTTP_H2_PRIVATE_H
#define SERVER_HTTP_H2_PRIVATE_H

#include "server/http/h2.h"
#include "server/http/h2_budget.h"
#include "server/http/h2_head.h"
#include "server/http/http_private.h"

struct nghttp2_session;
struct nghttp2_session_callbacks;
struct nghttp2_option;

enum {
	H2_RECORD = 16384,             /* bytes of a full TLS record */
	H2_OUT = 4 * (H2_RECORD + 64), /* of frames in one turn, which is one system call */
	H2_IN = 64 << 10,              /* of one recv(2) */
	H2_CLOSED = 32,
	H2_SEALED_MAX = 512 << 10, /* of records: what a turn makes, and a long handshake */
};

/* Who is at the other end, as was judged for some requests; immutable. */
struct h2_peer {
	unsigned refs; /* of its connection and of exchanges */
	struct http_peer peer;
	struct verdict verdict;
	struct arena arena;
	char scratch[PEER_SCRATCH];
};

enum h2_leaving {
	H2_STAYS,
	H2_ANNOUNCED, /* the first GOAWAY is out: new streams are still served */
	H2_LEAVES,    /* the second is: the connection ends with its last stream */
};

struct h2_connection {
	struct keeper_connection kept;
	struct h2_thread *thread;
	struct list link;                /* of h2_thread.connections, once the thread knows of it */
	struct list run_link;            /* of h2_thread.runnable */
	gnutls_session_t tls;            /* NULL: it has not begun */
	struct nghttp2_session *session; /* NULL: in its handshake, or over */
	struct tls_identity *identity;
	bool is_handshaken, is_over;
	bool may_read, has_end; /* there is something in the socket; and the end of it */
	bool is_drained;        /* this turn's recv(2) has brought everything */
	bool is_blocked;        /* the socket takes no more */
	bool is_failing;        /* it ends when what is to be sent is sent */
	bool must_linger, is_closed;
	char *ahead; /* read, but not opened yet: left over by a turn; owned */
	size_t ahead_n;
	char *rest; /* sealed, but not taken by the socket; owned */
	size_t rest_n, rest_at;
	int64_t moved_ms;         /* when the socket took something */
	int64_t head_ms;          /* since then the head of a request is coming; 0: none is */
	unsigned n_continuations; /* of it */
	size_t dropped_n;         /* bytes of the fields of it that nobody wants */
	int64_t quiet_ms;         /* since then there is no stream */
	enum h2_leaving leaving;
	int64_t leaving_ms;
	struct h2_peer *peer;
	struct list streams; /* of h2_stream.link: also those that are reset, but whose handler is not done */
	unsigned n_streams;
	unsigned preface_n;    /* bytes of the client's preface that have come */
	unsigned frame_head_n; /* bytes of the next frame's head */
	char frame_head[9];
	bool is_frame_kept; /* from nghttp2 */
	unsigned n_settings_acked;
	uint32_t frame_left;           /* bytes of the frame in hand that are to come */
	int32_t last_id;               /* of the streams that the client has opened */
	int32_t closed_ids[H2_CLOSED]; /* the latest that are over; a ring */
	unsigned n_closed;
	size_t unwanted_n;         /* bytes of bodies behind their answers, since one of them was cut short */
	size_t held_n;             /* bytes of bodies whose handlers wait in on_headers */
	uint64_t updates_earned;   /* WINDOW_UPDATEs that what was sent explains */
	struct h2_budget controls; /* frames that ask for work and bring nothing */
	struct h2_budget resets;   /* streams that end before their time, whoever ends them */
	uint32_t error;            /* a code of HTTP/2's; 0: none */
	const char *abuse;         /* what was too much; NULL: nothing */
	socklen_t address_size;
	struct sockaddr_storage address;
};

struct h2_stream {
	struct http_exchange *x;
	struct h2_connection *connection;
	struct h2_peer *peer;
	struct list link;
	struct h2_stream *next_woken;
	int32_t id;         /* -1: nghttp2 has closed it */
	bool has_begun;     /* the handler knows of it */
	bool is_suspended;  /* until it comes off the stack of woken ones */
	bool is_complete;   /* all of the request has come */
	bool is_answer_due; /* as soon as it is resumed */
	bool is_sent;       /* all of the answer is on its way */
	bool is_over;       /* to be ended as soon as it is resumed */
	bool was_reset;     /* by us */
	size_t memory_at;   /* of the answer, given to nghttp2 */
	size_t parts_at;    /* likewise */
	struct h2_head head;
	struct buf held; /* of the body: came while the handler waits in on_headers */
	enum keeper_phase phase;
	int64_t since_ms; /* of the phase, or of its last progress */
};

struct h2_thread {
	struct http_server *server;
	pthread_t id;
	int epoll, wakeup;
	_Atomic(struct h2_stream *) woken; /* anybody pushes, this thread takes all at once */
	_Atomic uint32_t n_connections;
	_Atomic bool is_stopping;
	struct list connections, runnable;
	int64_t now_ms; /* when the turn began */
	int64_t sweep_ms;
	bool is_draining;
	int64_t date_s;
	char date[32];
	struct buf sealed; /* records for the connection in hand */
	size_t out_n;
	size_t in_n, in_at;
	char out[H2_OUT];
	char in[H2_IN];
	char piece[H2_RECORD];
};

struct h2 {
	struct http_server *server;
	unsigned n_threads;
	gnutls_priority_t priorities;
	struct nghttp2_session_callbacks *callbacks;
	struct nghttp2_option *option;
	_Atomic uint64_t held; /* bytes, of all connections: h2_connection.held_n */
	struct h2_thread *threads[];
};

/* h2_thread.c */

void h2_thread_enqueue(struct h2_connection *c);               /* it gets a turn */
void h2_thread_push(struct h2_thread *t, struct h2_stream *s); /* any thread */
const char *h2_thread_date(struct h2_thread *t);

/* h2_connection.c */

/* What every session needs. -1: there is no memory. */
int h2_sessions_open(struct h2 *h);
void h2_sessions_close(struct h2 *h);
struct h2_connection *h2_connection_new(struct h2_thread *t, int fd, const struct sockaddr *address, socklen_t size);
void h2_connection_on_events(struct h2_connection *c, uint32_t events);
/* Its turn, in two halves: between them streams that were woken have theirs. True: it is not done. */
void h2_connection_read(struct h2_connection *c);
/* May free it. */
void h2_connection_write(struct h2_connection *c);
void h2_connection_sweep(struct h2_connection *c);
void h2_connection_leave(struct h2_connection *c); /* gracefully: new streams go elsewhere */
void h2_connection_on_pong(struct h2_connection *c, const uint8_t opaque[8]);
struct h2_peer *h2_connection_peer(struct h2_connection *c); /* a reference, judged now */
struct h2_peer *h2_peer_unref(struct h2_peer *p);
/* False: it has ended too many streams before their time. */
bool h2_connection_charge_reset(struct h2_connection *c);
/* The client did too much of something: its connection is to end. What nghttp2's callbacks return then. */
int h2_connection_call_calm(struct h2_connection *c, const char *abuse);
void h2_connection_remember_closed(struct h2_connection *c, int32_t id, bool is_reset); /* is_reset: by us */
void h2_connection_settle(struct h2_connection *c); /* its number of streams has changed */
unsigned h2_connection_max_streams(const struct h2_connection *c);

/* h2_stream.c */

void h2_stream_set_callbacks(struct nghttp2_session_callbacks *callbacks);
void h2_stream_resumed(struct h2_stream *s); /* it has come off the stack */
void h2_stream_lost(struct h2_stream *s);    /* its connection is over */
void h2_stream_sweep(struct h2_stream *s);

#endif
