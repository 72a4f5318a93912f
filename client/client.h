/* A client of one API server: HTTP(S) exchanges, timers and tasks, all on one thread of its own.
 *
 * The thread drives libcurl's multi interface: any number of requests and watches, over kept-alive connections, without a
 * thread for each. Every callback (of exchanges, timers, tasks, and what is built on them, such as an informer's handlers) runs on
 * it, one at a time; none may block. Whoever wants to block uses client/rest.h, from another thread.
 *
 * HTTP/1.1 on purpose: a watch has a connection to itself, so that a slow one holds nobody up. A request that meets a
 * kept connection which the server has just closed is sent again on a new one, as net/http does.
 *
 * libcurl is loaded when the first client is made, not linked: its 20 libraries would otherwise be relocated at every start of a
 * process that may never need one. */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "client/config.h"

struct client;
struct peer;

/* request_timeout_ms that says: none at all. */
enum { CLIENT_NO_TIMEOUT = -1 };

/* Copies the configuration and starts the thread. 0, or -errno with a sentence in err. */
int client_new(struct client **ret, const struct client_config *config, struct buf *err);
/* Ends everything at once: each exchange ends with EXCHANGE_STOPPED, those to come too; timers are dropped; blocked callers of
 * client/rest.h return. Any thread, any number of times; does not wait. */
void client_stop(struct client *c);
bool client_is_stopped(const struct client *c);
int64_t client_request_timeout_ms(const struct client *c); /* as the configuration has it */
bool client_sleep(struct client *c, int64_t ms); /* false, at once, when the client is stopped; not on its thread */
/* Stops and waits for the thread. Informers and others that use the client are freed before it. */
struct client *client_free(struct client *c);
DEFINE_CLEANUP(struct client *, client_free)

/* ---- one request and its answer ---- */

/* Whatever a server says, we come again: one mistaken answer, or a proxy's, must not silence us for days. */
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
	/* What the caller sets. All of it, and this struct, must stay until on_done. */
	const char *method, *path;         /* path with the query, escaped */
	const char *accept, *content_type; /* NULL: application/json; no Content-Type without a body */
	const struct peer *peer;           /* where to; NULL: the client's own server */
	struct str body;
	int64_t timeout_ms; /* for all of it; 0: none */
	/* The code and the headers are there, of a watch perhaps long before anything else. May be NULL. */
	void (*on_head)(struct exchange *x);
	/* A piece of the body; the code and the headers are there. False: stop here. May be NULL. */
	bool (*on_bytes)(struct exchange *x, struct str bytes);
	/* Exactly once, last; x is the caller's again, which may start it anew or free it. */
	void (*on_done)(struct exchange *x);

	/* What comes back. */
	enum exchange_result result;
	int code;              /* 0: none came */
	int64_t retry_after_s; /* of the header, RETRY_AFTER_MAX_S at most; -1: none */
	char answer_type[128]; /* Content-Type, cut */
	char answer_date[32];  /* Date, cut */
	char problem[256];     /* why it is not EXCHANGE_OK, as a sentence without a stop */
	bool is_broken;        /* EXCHANGE_UNREACHABLE: there was a connection, and it broke */

	/* private */
	struct list link;
	bool is_cancelled, is_resumed, is_pausing;
	void *easy, *headers;
};

/* Any thread, also from callbacks. After client_stop() it ends with EXCHANGE_STOPPED, like all. */
void exchange_start(struct client *c, struct exchange *x);
/* Ends it soon, unless it has ended already: on_done tells. From the client's thread, or while the caller knows that
 * on_done has not been called. */
void exchange_cancel(struct client *c, struct exchange *x);

/* From on_bytes, for want of room: these bytes were not taken, and come again after exchange_resume(). Until then no more is read, and the
 * server has to wait. */
void exchange_pause(struct exchange *x);
/* Any thread, while the caller knows that on_done has not been called. */
void exchange_resume(struct client *c, struct exchange *x);

/* ---- later ---- */

struct client_timer {
	void (*run)(struct client_timer *t);
	struct heap *timers; /* private from here: where it has been set */
	struct heap_node node;
};
/* On the client's thread only. Setting one that is set moves it. */
void client_timer_init(struct client_timer *t, void (*run)(struct client_timer *t));
void client_timer_set(struct client *c, struct client_timer *t, int64_t delay_ms);
void client_timer_clear(struct client_timer *t);

/* ---- on the client's thread ---- */

struct client_task {
	void (*run)(struct client_task *t);
	struct list link; /* private */
};
/* Has t run soon, from any thread; t must stay until then. False when the client's thread has ended: t will not run, and
 * nothing else of that client ever again. */
bool client_post(struct client *c, struct client_task *t);

#endif
