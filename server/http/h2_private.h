/* Shared by the parts of HTTP/2. Others include h2.h.
 *
 *   thread      h2_thread.c      one HTTP thread: an epoll loop, the connections pinned to it, wakes from others
 *   connection  h2_connection.c  one client: its socket, TLS session, struct nghttp2_session and deadlines
 *   judge       h2_judge.c       budgets of a client, each frame before nghttp2 sees it, and heads
 *   stream      h2_stream.c      one exchange on it: the wire of struct http_exchange
 *
 * The first knows nothing of nghttp2; the others alone include <nghttp2/nghttp2.h>.
 *
 * Threads: everything belongs to the h2 thread, but for the stack of woken streams, which anybody pushes to. The keeper reads a
 * connection's phase and cuts it with shutdown(2), as any other. */
#ifndef SERVER_HTTP_H2_PRIVATE_H
#define SERVER_HTTP_H2_PRIVATE_H

#include "server/http/h2.h"
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

/* How often a client may do something: `burst` times at once, and so many times more in each second. Pure. */
struct h2_allowance {
	int64_t burst, per_second;
};

/* Zeroed: nothing has been taken. */
struct h2_budget {
	int64_t spent;    /* thousandths */
	int64_t since_ms; /* monotonic: given back until then */
};

/* Takes one event from the allowance. Returns false when none is left. */
static inline bool h2_budget_take(struct h2_budget *b, const struct h2_allowance *a, int64_t now_ms)
{
	int64_t passed_ms = MAX(now_ms - b->since_ms, (int64_t)0);
	int64_t given_back = passed_ms < b->spent ? passed_ms * a->per_second : b->spent;
	b->spent = MAX(b->spent - given_back, (int64_t)0);
	b->since_ms = now_ms;
	if (b->spent + 1000 > a->burst * 1000) {
		return false;
	}
	b->spent += 1000;
	return true;
}

/* The peer's identity, as it was judged for some requests. Immutable. */
struct h2_peer {
	unsigned refs; /* of its connection and of exchanges */
	struct http_peer peer;
	struct verdict verdict;
	struct arena arena;
	char scratch[PEER_SCRATCH];
};

/* The head of a request over HTTP/2, field by field. It is judged as that of HTTP/1.1 is (http_head.h), and ends up in the same struct.
 *
 * nghttp2 has refused what HTTP/2 calls malformed: unknown or misplaced pseudo header fields, upper case in names, fields of a
 * connection. Such a stream is reset, and nobody hears of it. */
enum {
	H2_HEAD_FIELDS = 100,   /* more are too many */
	H2_HEAD_FIELD_COST = 32 /* bytes: each field counts with so many besides its text (RFC 9113, 6.5.2) */
};

/* Zeroed: nothing has come. */
struct h2_head {
	size_t size; /* bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts them */
	size_t n_fields, room;
	struct http_header *fields;
	struct str scheme, authority;
	bool has_host, is_too_large;
};

/* Copies into the arena what is within the limit. Returns false beyond twice the limit: nobody should read on. */
bool h2_head_add(struct h2_head *h, struct http_head *head, struct arena *a, struct str name, struct str value, size_t max);
/* All of it has come. 0; or the status to refuse with, and a sentence. */
unsigned h2_head_finish(struct h2_head *h, struct http_head *head, struct arena *a, bool has_body, const char **ret_problem);

enum h2_leaving {
	H2_STAYS,
	H2_ANNOUNCED, /* the first GOAWAY is out: new streams are still served */
	H2_LEAVES,    /* the second GOAWAY is out: the connection ends with its last stream */
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
	uint64_t rest_user;       /* in whose share it is */
	int64_t moved_ms;         /* when the socket took something */
	int64_t head_ms;          /* since then the head of a request is coming; 0: none is */
	unsigned n_continuations; /* of it */
	size_t dropped_n;         /* bytes of the fields of it that nobody wants */
	int64_t quiet_ms;         /* since then there is no stream */
	enum h2_leaving leaving;
	int64_t leaving_ms;
	uint32_t leaving_code; /* of the second GOAWAY */
	struct h2_peer *peer;
	struct list due_link;             /* of h2_thread.due */
	struct h2_stream *due, **due_end; /* woken, oldest first */
	struct list streams;              /* of h2_stream.link: also those that are reset, but whose handler is not done */
	unsigned n_streams, n_working;    /* n_working: those whose handler is at work */
	unsigned n_abandoned;             /* of them: those that are over for the client, and their handler goes on */
	int64_t crowded_ms;               /* since then there are as many of those as there may be streams; 0: there are not */
	unsigned n_begun;                 /* streams that the client has begun in this turn */
	unsigned preface_n;               /* bytes of the client's preface that have come */
	unsigned frame_head_n;            /* bytes of the next frame's head */
	char frame_head[9];
	bool is_frame_kept; /* from nghttp2 */
	unsigned n_settings_acked;
	uint32_t frame_left;           /* bytes of the frame in hand that are to come */
	int32_t last_id;               /* of the streams that the client has opened */
	int32_t closed_ids[H2_CLOSED]; /* the latest that are over; a ring */
	unsigned n_closed;
	size_t unwanted_n;         /* bytes of bodies behind their answers, since one of them was cut short */
	size_t held_n;             /* bytes of bodies whose handlers wait in on_headers */
	uint64_t updates_earned;   /* WINDOW_UPDATEs that what was sent or given up explains */
	uint64_t pings_earned;     /* PINGs that streams given up explain */
	uint64_t cancels_earned;   /* RST_STREAMs: one for each stream */
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
	bool is_abandoned;  /* by the client; its handler goes on */
	size_t memory_at;   /* of the answer, given to nghttp2 */
	size_t parts_at;    /* likewise */
	struct h2_head head;
	struct buf held;         /* of the body: came while the handler waits in on_headers */
	enum keeper_phase phase; /* WORK, BODY, SEND or STREAM */
	int64_t since_ms;        /* of the phase, or of its last progress */
	int64_t heard_ms;        /* when bytes of its body came last */
};

struct h2_thread {
	struct http_server *server;
	pthread_t id;
	int epoll, wakeup;
	_Atomic(struct h2_stream *) woken; /* anybody pushes, this thread takes all at once */
	_Atomic uint32_t n_connections;
	_Atomic bool is_stopping, has_evicted;
	struct list connections, runnable;
	struct list due; /* of h2_connection.due_link: those that have streams to resume, in turn */
	int64_t now_ms;  /* when the turn began */
	int64_t turn_ns; /* when this step of it did */
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
void h2_thread_evict(struct h2_thread *t);                     /* answers of its have to give way; any thread */
bool h2_thread_is_late(const struct h2_thread *t);             /* this step of its turn has lasted long enough: others wait */
const char *h2_thread_date(struct h2_thread *t);

/* h2_connection.c */

/* Makes what all sessions share. -1: there is no memory. */
int h2_sessions_open(struct h2 *h);
void h2_sessions_close(struct h2 *h);
struct h2_connection *h2_connection_new(struct h2_thread *t, int fd, const struct sockaddr *address, socklen_t size);
void h2_connection_on_events(struct h2_connection *c, uint32_t events);
/* The turn of a connection has two halves. Between them woken streams have their turn. */
void h2_connection_read(struct h2_connection *c);
/* May free it. */
void h2_connection_write(struct h2_connection *c);
void h2_connection_sweep(struct h2_connection *c);
void h2_connection_give_way(struct h2_connection *c); /* ends the streams that are to */
void h2_connection_leave(struct h2_connection *c);    /* gracefully: new streams go elsewhere */
void h2_connection_on_pong(struct h2_connection *c, const uint8_t opaque[8]);
struct h2_peer *h2_connection_peer(struct h2_connection *c); /* a reference, judged now */
struct h2_peer *h2_peer_unref(struct h2_peer *p);
/* The client has given a stream up whose handler goes on; and that handler is done. */
void h2_connection_add_abandoned(struct h2_connection *c);
void h2_connection_drop_abandoned(struct h2_connection *c);
bool h2_connection_has_room(const struct h2_connection *c); /* for one stream more */
void h2_connection_settle(struct h2_connection *c);         /* its number of streams has changed, or of those at work */
unsigned h2_connection_max_streams(const struct h2_connection *c);

/* h2_judge.c */

/* Judges and charges a frame by its head of nine bytes; rest: what has come of the frame behind it. False: the connection
 * is to end, with c->error or because of c->abuse. */
bool h2_judge_frame(struct h2_connection *c, const char *head, struct str rest);
/* Charges a stream that ended before its time. False: there were too many. */
bool h2_judge_reset(struct h2_connection *c);
/* The client did too much of something: its connection is to end. Returns what nghttp2's callbacks return then. */
int h2_judge_abuse(struct h2_connection *c, const char *abuse);
/* Remembers a stream that is over, since nghttp2 does not. is_reset: by us. */
void h2_judge_note_closed(struct h2_connection *c, int32_t id, bool is_reset);

/* h2_stream.c */

void h2_stream_set_callbacks(struct nghttp2_session_callbacks *callbacks);
void h2_stream_resumed(struct h2_stream *s); /* it has come off the stack */
void h2_stream_lost(struct h2_stream *s);    /* its connection is over */
void h2_stream_sweep(struct h2_stream *s);
bool h2_stream_give_way(struct h2_stream *s); /* false: it need not */

#endif
