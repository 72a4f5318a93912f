/* The HTTP front end: HTTP/1.1 by libmicrohttpd with its traps closed, HTTP/2 by nghttp2 (docs/explanation/http.md). What is behind it: server/http/http_private.h.
 *
 * An exchange is one request and its answer. The handler's `on_headers` runs when the request line and headers are there and valid,
 * before any body is read; `on_request` when the body is complete; both on an HTTP thread, and neither may block. A handler that
 * must wait for something calls http_suspend(), starts its operation, and returns; whoever finishes the operation calls
 * http_wake(), from any thread, perhaps before the handler has returned; then the same function is called again: on_headers, and no body is
 * read before it has returned without waiting, or `on_request`. An answer is given by
 * exactly one http_reply*() call, after which the handler returns. `on_done` is the last call for an exchange, always made once
 * on_headers was (requests that are not valid HTTP are refused without asking the handler).
 *
 * A client that goes away ends a long-lived stream at once. A suspended exchange is never taken from its operation: it goes on when
 * woken, and on_done learns that it was cut.
 *
 * HTTP/1.1: keep-alive, one exchange at a time on a connection, pipelined requests in order. HTTP/2: many at a time.
 */
#ifndef SERVER_HTTP_HTTP_H
#define SERVER_HTTP_HTTP_H

#include "api/model/delegates.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include <sys/types.h>

struct http_server;
struct http_exchange;

/* Who is at the other end of the connection. What it says of the certificate is true when the request begins, and may be another thing for
 * the next one: authorities change, and certificates expire. */
struct http_peer {
	struct str address; /* "127.0.0.1:40000" */
	bool is_tls;
	bool has_certificate; /* the client sent one */
	/* It chains to the CA of users, of front proxies (or both), is in date and may be used for client authentication. */
	bool is_verified, is_front_proxy;
	const struct trust *trust; /* whose CAs those are; NULL: no certificate */
	struct str common_name;    /* of a certificate that one of them verified */
	struct str uid;            /* of it: Kubernetes' own kind of name; empty: none */
	struct str fingerprint;    /* of it: SHA-256, 64 hexadecimal digits */
	const struct str *organizations;
	size_t n_organizations;
	struct str problem; /* why no CA vouches for a certificate; empty otherwise */
};

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
	void (*on_done)(void *ctx, struct http_exchange *x);
	/* May be NULL. Something for the operator: a certificate that cannot be reloaded. From the housekeeping thread. */
	void (*on_notice)(void *ctx, struct str text);
};

struct http_options {
	const char *bind_address;         /* "127.0.0.1", "::", ... */
	uint16_t port;                    /* 0: any; see http_server_port */
	unsigned threads;                 /* 0: 2 */
	const char *cert_file, *key_file; /* PEM; reloaded when they change, without dropping a connection */
	/* PEM bundles or NULL; reloaded too. A file that has gone, or is no PEM any more, believes nobody. */
	const char *client_ca_file; /* whose certificates are users */
	const char *front_ca_file;  /* whose certificates are front proxies */
	const struct trust *front;  /* with front_ca_file: names and headers; copied */
	bool is_trust_set_later;    /* by http_server_set_trust(): ask for certificates from the start */
	/* 0: 16,384; fewer where the process may not have descriptors for them. Who gives way at the limit: http_keeper.h, http_vouch(). */
	size_t max_connections;
	size_t max_body;        /* bytes; 0: 3 MiB (3145728, kube's) */
	size_t max_header;      /* bytes for request line and headers, each header counted with 80 more; 0: 31 KiB */
	int64_t handshake_timeout_ms; /* 0: 10,000 */
	int64_t header_timeout_ms;    /* from connect, later from the first byte, to complete headers; 0: 32,000 */
	int64_t body_timeout_ms;      /* whole body; answer: without progress; 0: 60,000 */
	int64_t idle_timeout_ms;      /* keep-alive; 0: 180,000 */
	int64_t stranger_grace_ms;    /* a client nobody has vouched for gives way to another after this time; 0: 1,000 */
	bool has_no_http2;            /* HTTP/1.1 only; so without TLS in any case */
	unsigned http2_max_streams;   /* on one connection at a time, also those whose handlers are not done; 0: 100 */
	double goaway_chance;         /* that an answer is one of the last on its connection of HTTP/2; 0: never */
	struct http_handler handler;
	/* {name, value}, ended by {NULL, NULL}: of every answer, also of those to what is not HTTP. Stays; a KiB at most. NULL: none. */
	const char *const (*answer_headers)[2];
};

/* 0, or -errno with a sentence in err: port in use, unreadable or mismatched certificate... */
int http_server_new(struct http_server **ret, const struct http_options *options, struct buf *err);
uint16_t http_server_port(const struct http_server *s);
/* Serves a connection that did not come by the listener; takes its descriptor, which must not block. Any thread. */
void http_server_admit(struct http_server *s, int fd);
/* Whom to believe where no file says it: counts from the next request on, also on connections that are there. Any thread; copies. What is
 * garbage believes nobody, and on_notice is told. */
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
};
void http_server_stats(struct http_server *s, struct http_stats *ret);

/* The request. Slices live as long as the exchange. */
struct str http_method(const struct http_exchange *x);
struct str http_target(const struct http_exchange *x);                   /* path and query as sent */
struct str http_header(const struct http_exchange *x, const char *name); /* first of that name, any case; empty when absent */
size_t http_headers(const struct http_exchange *x, const struct http_header **ret); /* all, in order */
struct str http_body(const struct http_exchange *x);                                /* complete only from on_request on */
bool http_body_too_large(const struct http_exchange *x);                            /* more than max_body came: answer 413 */
const struct http_peer *http_peer(const struct http_exchange *x);
struct arena *http_arena(struct http_exchange *x);       /* request memory: gone after on_done */
int64_t http_started_ns(const struct http_exchange *x);  /* monotonic, when the headers were complete */
void http_set_context(struct http_exchange *x, void *p); /* the handler's own */
void *http_context(const struct http_exchange *x);
bool http_is_draining(const struct http_exchange *x);
/* The client has shown who it is: at the limit of connections this one does not give way to those who have not. In on_headers. */
void http_vouch(struct http_exchange *x);
/* After the answer: what was sent, for the access log. In on_done. */
unsigned http_status(const struct http_exchange *x);
uint64_t http_sent(const struct http_exchange *x); /* body bytes */
bool http_was_cut(const struct http_exchange *x);  /* the client went away or the answer could not be finished */

void http_suspend(struct http_exchange *x); /* in on_headers or on_request, before starting the operation */
/* Once per suspend, any thread; x may be gone when it returns. */
void http_wake(struct http_exchange *x);

/* The answer. Headers are given first; Content-Length or chunking, Date and Connection are the front end's business. */
/* value is copied; one with a control byte in it is left out (nobody may add lines to a head), and what comes when there are 14 KiB already. */
void http_add_header(struct http_exchange *x, const char *name, struct str value);
void http_reply(struct http_exchange *x, unsigned status,
	struct str body); /* body is copied when small, else kept: must live in http_arena or be static */
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
/* A deadline for the stream or the suspended exchange: at this monotonic time it is woken (once). 0 cancels. A suspended exchange is
 * still owed its http_wake() then: on_request may take the operation back and answer, or else simply return, and goes on waiting. So
 * whoever sets alarms looks at a flag of his own, as with a condition variable. */
void http_set_alarm(struct http_exchange *x, int64_t mono_ms);

#endif
