/* The HTTP front end: HTTP/1.1 by libmicrohttpd with its traps closed, HTTP/2 by nghttp2
 * (docs/explanation/http.md). Its parts: server/http/http_private.h.
 *
 * An exchange is one request and its answer. The handler's `on_headers` runs when the request line and headers are there and valid,
 * before any body is read; `on_request` when the body is complete; both on an HTTP thread, and neither may block. A handler that
 * must wait for something calls http_suspend(), starts its operation, and returns; whoever finishes the operation calls
 * http_wake(), from any thread, perhaps before the handler has returned; then the same function is called again: on_headers, and no body is
 * read before it has returned without waiting, or `on_request`. An answer is given by
 * exactly one http_reply*() call, after which the handler returns. `on_done` is the last call for an exchange, always made once
 * on_headers was (requests that are not valid HTTP are refused without asking the handler). It is made as soon as an answer is in memory,
 * however long its client takes to read; of a stream, at its end. Behind it nothing of the request is kept.
 *
 * A client that goes away ends a long-lived stream at once. A suspended exchange is never taken from its operation: it goes on when
 * woken, and on_done learns that it was cut.
 *
 * HTTP/1.1: keep-alive, one exchange at a time on a connection, pipelined requests in order. HTTP/2: many at a time.
 * / */
#ifndef SERVER_HTTP_HTTP_H
#define SERVER_HTTP_HTTP_H

#include "api/model/delegates.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/shares.h"
#include <sys/types.h>

struct http_server;
struct http_exchange;
struct sockaddr;

/* The peer at the other end of the connection. The certificate is judged when a request begins. The next request may get
 * another verdict: authorities change, and certificates expire. */
struct http_peer {
	struct str address; /* "127.0.0.1:40000" */
	bool is_tls;
	bool has_certificate; /* the client sent one */
	/* The certificate chains to the CA of users, of front proxies or of both, is in date and may authenticate clients. */
	bool is_verified, is_front_proxy;
	const struct trust *trust; /* whose CAs those are; NULL: no certificate */
	struct str common_name;    /* of a certificate that one of them verified */
	struct str uid;            /* of it: Kubernetes' own kind of name; empty: none */
	struct str fingerprint;    /* of it: SHA-256, 64 hexadecimal digits */
	const struct str *organizations;
	size_t n_organizations;
	struct str problem; /* why no CA vouches for a certificate; empty otherwise */
};

/* The client's address without the port: requests count in its share until it is known who asks. An IPv6 address is cut
 * to its network of 64 bits, since whoever has one address there has them all. peer: as in struct http_peer. Pure. */
struct str http_source_of(struct str peer, struct arena *a);

struct http_header {
	struct str name, value;
};

struct http_handler {
	void *ctx;
	/* May answer at once (401, 413, 429 ...): then the body is discarded unread within a small bound, or the connection closed. */
	void (*on_headers)(void *ctx, struct http_exchange *x);
	/* May be NULL. Of the body there will be n bytes: false where they are more than is wanted. Then all of it is let go by, and http_body() is
	 * empty. Between on_headers and on_request. */
	bool (*on_body)(void *ctx, struct http_exchange *x, size_t n);
	void (*on_request)(void *ctx, struct http_exchange *x);
	/* May be NULL. The answer is there: only a stream's body is still to be made, while it is sent. */
	void (*on_answered)(void *ctx, struct http_exchange *x);
	void (*on_done)(void *ctx, struct http_exchange *x);
	/* May be NULL. n bytes of an answer have been freed; any thread, often. */
	void (*on_freed)(void *ctx, size_t n);
	/* May be NULL. Something for the operator: a certificate that cannot be reloaded. From the housekeeping thread. */
	void (*on_notice)(void *ctx, struct str text);
};

struct http_options {
	const char *bind_address;         /* "127.0.0.1", "::", ... */
	uint16_t port;                    /* 0: any; see http_server_port */
	unsigned threads;                 /* 0: 2 */
	const char *cert_file, *key_file; /* PEM; reloaded when they change, without dropping a connection */
	/* PEM bundles or NULL; reloaded too. A file that has gone, or is no PEM any more, trusts nobody. */
	const char *client_ca_file; /* whose certificates are users */
	const char *front_ca_file;  /* whose certificates are front proxies */
	const struct trust *front;  /* with front_ca_file: names and headers; copied */
	bool is_trust_set_later;    /* by http_server_set_trust(): ask for certificates from the start */
	/* 0: 16,384; fewer where the process may not have descriptors for them. http_keeper.h and http_vouch()
	 * say which connection gives way at the limit. */
	size_t max_connections;
	size_t max_body;              /* bytes; 0: 3 MiB (3145728, kube's) */
	size_t max_unsent;            /* bytes of answers that clients have yet to take (http_unsent.h); 0: 64 MiB */
	size_t unsent_ceiling;        /* with those of writes; 0: twice that */
	size_t max_header;            /* bytes for request line and headers, each header counted with 80 more; 0: 31 KiB */
	int64_t handshake_timeout_ms; /* 0: 10,000 */
	int64_t header_timeout_ms;    /* from connect, later from the first byte, to complete headers; 0: 32,000 */
	int64_t body_timeout_ms;      /* whole body; answer: without progress; 0: 60,000 */
	int64_t idle_timeout_ms;      /* keep-alive; 0: 180,000 */
	int64_t drain_stall_ms;       /* of a server that drains: as body_timeout_ms, without progress; 0: 5,000 */
	int64_t stranger_grace_ms;    /* a client nobody has vouched for gives way to another after this time; 0: 1,000 */
	bool has_no_http2;            /* HTTP/1.1 only; so without TLS in any case */
	unsigned http2_max_streams;   /* on one connection at a time, also those whose handlers are not done; 0: 100 */
	double goaway_chance;         /* that an answer is one of the last on its connection of HTTP/2; 0: never */
	struct http_handler handler;
	/* May be NULL. Called with the address of each client as it connects, on the housekeeping thread, with handler.ctx. False: the
	 * connection is reset at once, before it has taken a place. */
	bool (*admits)(void *ctx, const struct sockaddr *address);
	/* {name, value}, ended by {NULL, NULL}: of every answer, also of those to what is not HTTP. Stays; a KiB at most. NULL: none. */
	const char *const (*answer_headers)[2];
};

/* 0, or -errno with a sentence in err: port in use, unreadable or mismatched certificate... */
int http_server_new(struct http_server **ret, const struct http_options *options, struct buf *err);
uint16_t http_server_port(const struct http_server *s);
/* Serves a connection that did not come by the listener; takes its descriptor, which must not block. Any thread. */
void http_server_admit(struct http_server *s, int fd);
/* The authorities to trust where no file names them: in force from the next request on, also on connections
 * that are there. Any thread; copies. An authority that cannot be read trusts nobody, and on_notice gets a
 * sentence. */
void http_server_set_trust(struct http_server *s, const struct trust *trust);
/* From now on each answer but a stream's is the last on its connection: clients that keep connections open go elsewhere, those of load
 * balancers too, before a drain closes what is idle just when the next request comes. */
void http_server_leave(struct http_server *s);
/* Stops accepting; idle connections close; exchanges under way may finish; streams are asked to end (their `read` is called and sees
 * http_is_draining). Returns when all are done or after timeout_ms, then cuts what is left, except suspended exchanges: those wait for
 * their operation. False: 5 s after that there still are connections. Not from an HTTP thread. */
bool http_server_drain(struct http_server *s, int64_t timeout_ms);
/* Drains with no time given, and waits until every suspended exchange has been woken: for ever, where a drain has left some. */
struct http_server *http_server_free(struct http_server *s);

struct http_stats {
	uint64_t connections_open, connections_total, handshakes_failed, requests_total, requests_invalid, streams_open,
		bytes_sent;
	/* HTTP/2: connections, those ended because their client did too much of something, streams beyond the limit. */
	uint64_t http2_connections, http2_abuses, http2_refused;
	/* Bytes of answers that clients have yet to take; and answers that were cut to make room for others. */
	uint64_t unsent_bytes, answers_evicted;
};
void http_server_stats(struct http_server *s, struct http_stats *ret);

/* The request. Slices live as long as the exchange. */

struct http_framing {
	bool has_body; /* one was announced; it may turn out to be empty */
	bool is_chunked;
	uint64_t length;      /* of a body that is not chunked */
	bool awaits_continue; /* the client holds the body back until a 100 Continue */
	bool is_http10;
	bool is_head_request;  /* answered without a body */
	bool wants_close;      /* the connection is to end behind the answer */
	bool wants_keep_alive; /* an HTTP/1.0 client's wish for the opposite */
};

struct http_head {
	struct str method;
	struct str target;                /* as sent; of the absolute form, the path and query */
	const struct http_header *fields; /* in order; values without the blanks around */
	size_t n_fields;
	struct http_framing framing;
};

/* The part of an exchange that handlers read, by the functions below. Only the front end writes it. */
struct http_request {
	struct http_head head;
	struct arena arena;           /* the request's memory: empty once an answer in memory is on its way */
	const struct http_peer *peer; /* at the other end of the connection */
	struct payer payer;
	struct buf body;
	bool is_body_too_large;
	int64_t started_ns;
	void *context;   /* the handler's own */
	unsigned status; /* 0: not answered */
	bool is_cut;
};

/* Every exchange begins with its struct http_request. */
static inline struct http_request *http_request(const struct http_exchange *x)
{
	return (struct http_request *)(uintptr_t)x;
}

static inline struct str http_method(const struct http_exchange *x)
{
	return http_request(x)->head.method;
}

/* Path and query as sent. */
static inline struct str http_target(const struct http_exchange *x)
{
	return http_request(x)->head.target;
}

/* All headers, in order. */
static inline size_t http_headers(const struct http_exchange *x, const struct http_header **ret)
{
	*ret = http_request(x)->head.fields;
	return http_request(x)->head.n_fields;
}

/* The first header of that name, any case; empty when absent. */
struct str http_header(const struct http_exchange *x, const char *name);

/* Complete only from on_request on. */
static inline struct str http_body(const struct http_exchange *x)
{
	return buf_str(&http_request(x)->body);
}

/* More than max_body came: answer 413. */
static inline bool http_body_too_large(const struct http_exchange *x)
{
	return http_request(x)->is_body_too_large;
}

static inline const struct http_peer *http_peer(const struct http_exchange *x)
{
	return http_request(x)->peer;
}

/* Request memory: gone after on_done. */
static inline struct arena *http_arena(struct http_exchange *x)
{
	return &http_request(x)->arena;
}

/* Monotonic: when the headers were complete. */
static inline int64_t http_started_ns(const struct http_exchange *x)
{
	return http_request(x)->started_ns;
}

static inline void http_set_context(struct http_exchange *x, void *p)
{
	http_request(x)->context = p;
}

static inline void *http_context(const struct http_exchange *x)
{
	return http_request(x)->context;
}

bool http_is_draining(const struct http_exchange *x);
/* The client has shown who it is: at the limit of connections this one does not give way to those who have not. In on_headers. */
void http_vouch(struct http_exchange *x);

/* Whose share of the memory the answer is counted in, from the moment that it is known; before http_grant(). */
void http_set_payer(struct http_exchange *x, const struct payer *payer);
static inline const struct payer *http_payer(const struct http_exchange *x)
{
	return &http_request(x)->payer;
}

/* For the access log, in on_done. */
static inline unsigned http_status(const struct http_exchange *x)
{
	return http_request(x)->status;
}

/* The client went away before, or a stream could not be finished. */
static inline bool http_was_cut(const struct http_exchange *x)
{
	return http_request(x)->is_cut;
}

uint64_t http_sent(const struct http_exchange *x); /* body bytes: of a stream, those that were sent */

void http_suspend(struct http_exchange *x); /* in on_headers or on_request, before starting the operation */
/* Once per suspend, any thread; x may be gone when it returns. */
void http_wake(struct http_exchange *x);

/* Before an answer of n bytes is made, or a stream that holds n bytes until it is sent: is there room for it? Else only a small answer, or that of a
 * write that has happened, may be made. Asked again, what was granted before is given back. */
bool http_grant(struct http_exchange *x, size_t n);
/* May there be more answers that nobody has asked for room? Before a write. */
bool http_has_room(const struct http_exchange *x);
/* Bodies of other requests keep this one from being served: for the next seconds those that do not come are cut early. Any thread. */
void http_hurry_bodies(const struct http_exchange *x);
/* The answer. Headers are given first; Content-Length or chunking, Date and Connection are the front end's business. */
/* value is copied; one with a control byte in it is left out (nobody may add lines to a head), and what comes when there are 14 KiB already. */
void http_add_header(struct http_exchange *x, const char *name, struct str value);
void http_reply(struct http_exchange *x, unsigned status, struct str body); /* body is copied */
void http_reply_bytes(struct http_exchange *x, unsigned status, struct bytes *const *parts,
	size_t n); /* takes one reference of each; sent in order */

/* A body produced while it is sent. `read` runs on an HTTP thread and fills at most max bytes: the number written, 0 to wait (it
 * has made sure that http_stream_wake() will be called when there is more), -1 for the end, -2 to cut the connection.
 * http_stream_wake() may be called from any thread at any time between http_reply_stream and `closed`, any number of times, cheaply. */
struct http_stream_ops {
	ssize_t (*read)(void *ctx, struct http_exchange *x, char *p, size_t max);
	/* No call to read follows; from an HTTP thread. When it returns no http_stream_wake() may be under way or come. */
	void (*closed)(void *ctx, struct http_exchange *x);
};
#define HTTP_LENGTH_UNKNOWN UINT64_MAX
/* length: of the whole body when known (lists), else HTTP_LENGTH_UNKNOWN (watches: chunked). is_long_lived: a watch, ended at drain, and
 * whose client's going away is noticed while nothing is sent; those should have no known length. A client that takes nothing for a
 * minute is cut. For HEAD nothing is read. */
void http_reply_stream(struct http_exchange *x, unsigned status, uint64_t length, bool is_long_lived,
	const struct http_stream_ops *ops, void *ctx);
void http_stream_wake(struct http_exchange *x);
/* The thread has worked for others long enough. A stream whose `read` is expensive wakes itself then, and returns 0: others come first. */
bool http_is_late(const struct http_exchange *x);
/* A deadline for the stream or the suspended exchange: at this monotonic time it is woken (once). 0 cancels. A suspended exchange is
 * still owed its http_wake() then: on_request may take the operation back and answer, or else simply return, and goes on waiting. So
 * the owner of an alarm looks at a flag of its own, as with a condition variable. */
void http_set_alarm(struct http_exchange *x, int64_t mono_ms);

#endif
