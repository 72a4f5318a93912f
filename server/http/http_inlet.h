/* Between a connection's bytes and libmicrohttpd: it never sees what a client wrote before the body.
 *
 * A head is held back until it is whole, or refused. Then its owner reads it, and libmicrohttpd gets a head of
 * ours, which says only where the body ends and whether the connection goes on. Of the body it gets the bytes,
 * chunks in the plainest form. Bytes behind the body wait here until the exchange is over.
 *
 * For one thread at a time. */
#ifndef SERVER_HTTP_HTTP_INLET_H
#define SERVER_HTTP_HTTP_INLET_H

#include "base/buf.h"
#include "server/http/http_head.h"
#include <sys/types.h>

/* A chunked body, read strictly (RFC 9112, 7.1). Pure.
 *
 * libmicrohttpd takes sizes and trailers that end in a bare LF, and other things on which programs disagree. So chunks are found here;
 * their extensions and the trailer fields are checked and dropped. */
enum http_chunks_event {
	HTTP_CHUNKS_MORE,      /* all bytes are used, more must come */
	HTTP_CHUNKS_SIZE,      /* a chunk of `left` bytes begins, which is not the last */
	HTTP_CHUNKS_DATA,      /* the next bytes, at most `left`, are its data: http_chunks_take() */
	HTTP_CHUNKS_DATA_END,  /* of that chunk */
	HTTP_CHUNKS_END,       /* of the body */
	HTTP_CHUNKS_MALFORMED, /* the rest has no meaning */
	HTTP_CHUNKS_TOO_LARGE, /* a size beyond 64 bits: likewise */
};

/* Zeroed: at the beginning. */
struct http_chunks {
	uint64_t left; /* of the data of the chunk in hand */

	/* Private. */
	int state;
	unsigned n_digits;
	size_t n_dropped; /* bytes of extensions and trailers */
};

struct inlet;

struct inlet_ops {
	/* As gnutls_record_recv(): bytes, 0 at the end, or a negative code. */
	ssize_t (*fetch)(struct inlet *in, char *p, size_t n);
	/* A head is there, or so much of it that it must be refused with this status (else 0). True, and *ret; or false, where it is refused:
	 * then nothing more of the connection is read. */
	bool (*begin)(struct inlet *in, struct str text, unsigned status, const char *problem, struct http_framing *ret);
	/* The body breaks off: libmicrohttpd gets its end. */
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
