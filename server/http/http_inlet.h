/* Between a connection's bytes and libmicrohttpd: it never sees what a client wrote before the body.
 *
 * A head is held back until it is whole, or refused. Then its owner reads it, and libmicrohttpd gets a head of ours, which says only where
 * the body ends and whether the connection goes on. Of the body it gets the bytes, chunks in the plainest form. What comes behind
 * the body waits here until the exchange is over.
 *
 * For one thread at a time. */
#ifndef SERVER_HTTP_HTTP_INLET_H
#define SERVER_HTTP_HTTP_INLET_H

#include "base/buf.h"
#include "server/http/http_chunks.h"
#include "server/http/http_head.h"
#include <sys/types.h>

struct inlet;

struct inlet_ops {
	/* As gnutls_record_recv(): bytes, 0 at the end, or a negative code. */
	ssize_t (*fetch)(struct inlet *in, char *p, size_t n);
	/* A head is there, or so much of it that it must be refused with this status (else 0). True, and *ret; or false, where it is refused:
	 * then nothing more of the connection is read. */
	bool (*begin)(struct inlet *in, struct str text, unsigned status, const char *problem, struct http_framing *ret);
	/* The body breaks off: libmicrohttpd is told that it ends. */
	void (*fail)(struct inlet *in, unsigned status, const char *problem);
};

enum inlet_state { INLET_HEAD, INLET_LENGTH, INLET_CHUNKS, INLET_SHUT };

struct inlet {
	const struct inlet_ops *ops;
	size_t max_head; /* bytes */

	/* Private. */
	enum inlet_state state;
	bool is_busy; /* with an exchange */
	struct http_head_scan scan;
	struct http_chunks chunks;
	bool is_in_chunk;
	uint64_t left; /* of a body of known length */
	char *staged;  /* for libmicrohttpd, ours; NULL: nothing */
	size_t staged_n, staged_at;
	struct buf held; /* what came too early: part of a head, or what is behind a body */
};

void inlet_init(struct inlet *in, const struct inlet_ops *ops, size_t max_head);
void inlet_done(struct inlet *in);
/* As gnutls_record_recv(). It says that there is nothing (GNUTLS_E_AGAIN) only when `fetch` does, or nothing more is wanted. */
ssize_t inlet_read(struct inlet *in, char *p, size_t n);
void inlet_finish(struct inlet *in); /* the exchange is over: the next may begin */

#endif
