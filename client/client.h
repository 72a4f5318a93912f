/* A client of one API server: HTTP(S) exchanges, timers and tasks, all on one thread of its own.
 *
 * The thread drives libcurl's multi interface: any number of requests and watches, over kept-alive
 * connections, without a thread for each. Every callback runs on it, one at a time, and must not
 * block. That includes callbacks of exchanges, timers, tasks, and of what is built on them, such as
 * informers. Code that must block calls client/rest.h from another thread.
 *
 * With its own server a client speaks HTTP/2 over TLS, where the server can. All requests and
 * watches are streams of one connection; another connection opens for each 100 streams, or as many
 * as the server allows. An exchange that pauses must set is_alone: libcurl 7.88 stops reading all
 * streams of a connection when one takes nothing. Peers, and servers without HTTP/2, get a
 * connection for each request under way. A request that meets a kept connection which the server
 * has just closed is sent again on a new one, as net/http does.
 *
 * libcurl is loaded when the first client is made, not linked. Its 20 libraries would otherwise
 * be relocated at every start of a process that may never need one. */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "client/config.h"

struct client;
struct peer;

/* A value of request_timeout_ms: requests have no timeout. */
enum { CLIENT_NO_TIMEOUT = -1 };

/* Copies the configuration and starts the thread. 0, or -errno with a sentence in err. */
int client_new(struct client **ret, const struct client_config *config, struct buf *err);
/* Ends everything at once. All exchanges, also later ones, end with EXCHANGE_STOPPED; timers are
 * dropped; blocked callers of client/rest.h return. Does not wait. Any thread may call it, any
 * number of times. */
void client_stop(struct client *c);
bool client_is_stopped(const struct client *c);
int64_t client_request_timeout_ms(const struct client *c); /* as the configuration has it */
bool client_sleep(struct client *c, int64_t ms);           /* false, at once, when the client is stopped; not on its thread */
/* Stops the client and waits for its thread. Informers and other users of the client must be
 * freed first. */
struct client *client_free(struct client *c);
DEFINE_CLEANUP(struct client *, client_free)

/* ---- one request and its answer ---- */

/* The longest Retry-After that the client obeys: a wrong answer, or a proxy's, must not silence
 * it for days. */
enum { RETRY_AFTER_MAX_S = 60 };

enum exchange_result {
	EXCHANGE_OK,          /* an answer came to its end, whatever its code */
	EXCHANGE_UNREACHABLE, /* no connection, or lost, or not trusted: the request may or may not have been carried out */
	EXCHANGE_TIMEOUT,     /* timeout_ms have passed; the same doubt */
	EXCHANGE_REFUSED,     /* on_bytes wanted no more */
	EXCHANGE_CANCELLED,
	EXCHANGE_STOPPED,
};

struct exchange {
	/* The request, set by the caller. It and this struct must stay valid until on_done. */
	const char *method, *path;         /* path with the query, escaped */
	const char *accept, *content_type; /* NULL: application/json; no Content-Type without a body */
	const struct peer *peer;           /* where to; NULL: the client's own server */
	struct str body;
	int64_t timeout_ms; /* for all of it; 0: none */
	bool is_alone;      /* has a connection to itself: on_bytes may call exchange_pause() */
	/* Called when the code and the headers have arrived; a watch may send its first bytes
	 * much later. May be NULL. */
	void (*on_head)(struct exchange *x);
	/* Called for each piece of the body, after the code and the headers have arrived.
	 * Returns false to stop the exchange. May be NULL. */
	bool (*on_bytes)(struct exchange *x, struct str bytes);
	/* Called exactly once, last. The caller then owns x again, and may start or free it. */
	void (*on_done)(struct exchange *x);

	/* The answer. */
	enum exchange_result result;
	int code;              /* 0: none came */
	int64_t retry_after_s; /* of the header, RETRY_AFTER_MAX_S at most; -1: none */
	char answer_type[128]; /* Content-Type, cut */
	char problem[256];     /* why the result is not EXCHANGE_OK, as a sentence without a full stop */
	bool is_broken;        /* EXCHANGE_UNREACHABLE: there was a connection, and it broke */

	/* private */
	struct list link;
	bool is_cancelled, is_resumed, is_pausing;
	int64_t began_ms;
	void *easy, *headers;
};

/* Starts an exchange, from any thread or callback. After client_stop() it ends with
 * EXCHANGE_STOPPED. */
void exchange_start(struct client *c, struct exchange *x);
/* Ends an exchange soon, unless it has ended already; on_done is called as usual. Call it on the
 * client's thread, or while on_done has certainly not been called. */
void exchange_cancel(struct client *c, struct exchange *x);

/* Called in on_bytes of an exchange with is_alone when there is no room. These bytes were not
 * taken, and come again after exchange_resume(). Until then nothing more is read, and the server
 * has to wait. */
void exchange_pause(struct exchange *x);
/* Any thread may call it while on_done has certainly not been called. */
void exchange_resume(struct client *c, struct exchange *x);

/* ---- timers ---- */

struct client_timer {
	void (*run)(struct client_timer *t);
	struct heap *timers; /* private from here: the heap it is in */
	struct heap_node node;
};
/* Timers are used on the client's thread only. Setting a timer that is already set moves it. */
void client_timer_init(struct client_timer *t, void (*run)(struct client_timer *t));
void client_timer_set(struct client *c, struct client_timer *t, int64_t delay_ms);
void client_timer_clear(struct client_timer *t);

/* ---- on the client's thread ---- */

struct client_task {
	void (*run)(struct client_task *t);
	struct list link; /* private */
};
/* Is this the client's thread? Functions that must run there, or must not, assert it. */
bool client_is_this_thread(const struct client *c);
/* Runs t soon on the client's thread; any thread may call this, and t must stay valid until
 * then. Returns false when that thread has ended: t will never run. */
bool client_post(struct client *c, struct client_task *t);

#endif
