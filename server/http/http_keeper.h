/* The housekeeping thread of the HTTP front end. It knows every connection, and does what libmicrohttpd does not:
 *
 *  - accepts (libmicrohttpd's workers would all wake for each client, leave the excess waiting, and its way to stop accepting aborts
 *    the process when a worker is just looking at the listening socket);
 *  - keeps a client that has not sent a byte as a guest, which costs a socket and little else, and hands it on when it speaks: to
 *    whom, its first bytes tell;
 *  - makes room at the connection limit, below;
 *  - waits for the client in the middle of a TLS handshake (libmicrohttpd 0.9.75 to 1.0.1 spins there);
 *  - ends connections that exceed a deadline, by shutdown(2), whatever state they are in;
 *  - empties the house at drain;
 *  - rings alarms;
 *  - discards, for a moment, what a client still sends after its early answer, lest a reset destroy that answer.
 *
 * Connections are strangers until keeper_vouch(). Strangers and guests together have an eighth of the limit at
 * most. Where their share is used up, the oldest of them that no handler works for gives way to a newcomer,
 * once it has had its time of grace; until then newcomers wait in the kernel's queue. A handler that waits for
 * the client does not work: for a body that does not come, for an answer that the client does not take, in a
 * watch. So every newcomer has time to show who it is, and no client that has shown it gives way to one that
 * has not. Clients vouched for leave a sixteenth of the limit to strangers, or nobody new could connect. If
 * they would be more, the longest idle one of a sample gives way to the next.
 *
 * Threads: a connection's phase is written by its HTTP thread and read here; the rest of `private` belongs to the keeper's lock. */
#ifndef SERVER_HTTP_HTTP_KEEPER_H
#define SERVER_HTTP_HTTP_KEEPER_H

#include "base/heap.h"
#include "base/list.h"
#include "base/shares.h"
#include "base/str.h"
#include <stdatomic.h>
#include <sys/socket.h>

enum { KEEPER_CROWD_MS = 20 };
/* Connections that have been cut and are about to be gone: so many may be there beyond the limit. */
#define KEEPER_LEAVING_MAX(limit) ((limit) / 16 + 16)

struct keeper;

/* The activity of a connection, which decides its deadline. */
enum keeper_phase {
	KEEPER_HANDSHAKE,
	KEEPER_FIRST, /* its first request has not come completely (line and headers) */
	KEEPER_IDLE,  /* the next request has not */
	KEEPER_BODY,  /* the body is coming */
	KEEPER_WORK,  /* a handler is at work: no deadline here */
	KEEPER_SEND,  /* the answer is going out: time without progress counts */
	KEEPER_QUIET, /* HTTP/2 between requests: its thread keeps the deadline */
	/* No handler is at work, and other threads keep the deadlines: a watch; or HTTP/2's bodies that are to come, and answers that
	 * the client is to take. */
	KEEPER_STREAM,
};

struct keeper_source {
	enum { SOURCE_WAKEUP, SOURCE_LISTENER, SOURCE_GUEST, SOURCE_CONNECTION, SOURCE_LEFTOVER } kind;
};

/* The ring of the keeper that a connection is in. */
enum keeper_standing {
	KEEPER_STRANGER,
	KEEPER_VOUCHED,
	KEEPER_LEAVING, /* cut */
	N_KEEPER_STANDINGS,
};

struct keeper_connection {
	int fd;
	struct payer payer;       /* of its latest request; the HTTP thread's */
	size_t unsent_n;          /* bytes of answers that it has yet to send: http_unsent.h's */
	_Atomic size_t leaving_n; /* of them, those of answers that have been asked to give way */

	/* Private. */
	struct keeper_source source;
	struct list link;
	_Atomic int phase;        /* enum keeper_phase */
	_Atomic int64_t since_ms; /* monotonic, of the phase */
	enum keeper_standing standing;
	int64_t came_ms;
	bool is_vouched; /* the HTTP thread's own copy */
	bool is_parked, is_armed;
	int64_t seen_since_ms; /* the phase that the next three are about */
	int64_t check_ms;      /* when to look at the socket next */
	int64_t moved_ms;      /* IDLE: when the first bytes were seen, 0: none yet; SEND: when progress was */
	uint64_t acked;        /* bytes */
};

/* The protocol that a client speaks, judged from its first bytes. */
enum keeper_protocol {
	KEEPER_PROTOCOL_UNKNOWN, /* it has not sent enough to tell */
	KEEPER_PROTOCOL_HTTP1,
	KEEPER_PROTOCOL_HTTP2,
};

struct keeper_options {
	void *ctx;
	int listener; /* listening, not blocking; the keeper closes it */
	/* NULL: all clients are welcome. False: the connection is reset at once, and has taken nobody's place. */
	bool (*admits)(void *ctx, const struct sockaddr *address);
	/* The socket of a client that has sent something, now the callee's. True: keeper_add() will follow, from whatever thread. */
	bool (*accept)(void *ctx, int fd, const struct sockaddr *address, socklen_t size, enum keeper_protocol protocol);
	/* Tells the protocol from a client's first bytes, which stay in the socket. KEEPER_PROTOCOL_UNKNOWN: the client stays a
	 * guest until there are *ret_wanted bytes. NULL: all clients speak KEEPER_PROTOCOL_HTTP1. */
	enum keeper_protocol (*judge)(void *ctx, struct str bytes, size_t *ret_wanted);
	void (*unheard)(void *ctx);                   /* one went, or was sent away, that never sent a byte */
	void (*suspend)(struct keeper_connection *c); /* take it from libmicrohttpd's loop, give it back: */
	void (*resume)(struct keeper_connection *c);
	void (*alarm)(struct heap_node *a); /* no longer set; must not set or cancel any */
	void (*tick)(void *ctx);            /* about once a second */
	void (*crowd)(void *ctx);           /* every KEEPER_CROWD_MS while there are crowd_size connections */
	size_t crowd_size;
	size_t max_connections;
	int64_t first_byte_ms, handshake_ms, header_ms, body_ms, idle_ms;
	int64_t drain_stall_ms; /* at drain: who takes nothing of an answer, or sends nothing of a body, for so long is cut */
	int64_t grace_ms;       /* strangers give way to others after this time */
};

/* The thread runs at once, but accepts nobody before keeper_open(). */
struct keeper *keeper_new(const struct keeper_options *options);
struct keeper *keeper_free(struct keeper *k); /* no connection may be left */
void keeper_open(struct keeper *k);
/* A connection that did not come by the listener; any thread. There are no deadlines before keeper_open(). */
void keeper_admit(struct keeper *k, int fd, const struct sockaddr *address, socklen_t size);

void keeper_add(struct keeper *k, struct keeper_connection *c, enum keeper_phase phase); /* c->fd is set */
void keeper_remove(struct keeper *k, struct keeper_connection *c);                       /* before its socket is closed */
static inline void keeper_set_phase(struct keeper_connection *c, enum keeper_phase phase, int64_t now_ms)
{
	atomic_store_explicit(&c->since_ms, now_ms, memory_order_relaxed);
	atomic_store_explicit(&c->phase, phase, memory_order_relaxed);
}
/* The client has shown who it is. From the connection's HTTP thread, as often as it likes. */
void keeper_vouch(struct keeper *k, struct keeper_connection *c);
/* From the connection's HTTP thread, in the handshake: suspends it until its socket is readable or the handshake's time is over. */
void keeper_park(struct keeper *k, struct keeper_connection *c);

void keeper_set_alarm(
	struct keeper *k, struct heap_node *a, int64_t at_ms); /* any thread; 0 cancels, and then it does not ring any more */

/* Takes over a duplicate of the socket. */
void keeper_linger(struct keeper *k, int fd);

/* How long a body may take as a whole, and how long its client may be silent in the middle of it. */
struct body_patience {
	int64_t whole_ms, silent_ms;
};
/* Requests are refused for want of the room that other bodies take. So for the next seconds those that do not come are cut early. Any thread. */
void keeper_hurry_bodies(struct keeper *k);
struct body_patience keeper_body_patience(const struct keeper *k, int64_t now_ms, bool is_draining); /* any thread */

/* Closes the listening socket and guests; from now on idle connections are closed. */
void keeper_drain(struct keeper *k);
/* Shuts every connection down. */
void keeper_cut_all(struct keeper *k);
/* Waits until no connection is left, or until that monotonic time. True: the keeper is empty. */
bool keeper_wait_until_empty(struct keeper *k, int64_t until_ms);
size_t keeper_count(struct keeper *k);
size_t keeper_count_stalled(struct keeper *k); /* those that a drain has cut, since they neither took nor sent anything */

#endif
