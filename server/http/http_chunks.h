/* A chunked body, read strictly (RFC 9112, 7.1). Pure.
 *
 * libmicrohttpd takes sizes and trailers that end in a bare LF, and other things on which programs disagree. So chunks are found here;
 * their extensions and the trailer fields are checked and dropped. */
#ifndef SERVER_HTTP_HTTP_CHUNKS_H
#define SERVER_HTTP_HTTP_CHUNKS_H

#include "base/str.h"

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

/* Reads on in *text, which moves. */
enum http_chunks_event http_chunks_next(struct http_chunks *c, struct str *text);
void http_chunks_take(struct http_chunks *c, size_t n);

#endif
