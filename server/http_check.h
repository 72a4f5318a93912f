/* Is this request head what HTTP/1.1 allows, and where does its body end? Pure.
 *
 * libmicrohttpd (0.9.75) takes heads apart leniently: it drops what follows a NUL, glues folded lines to the wrong half of a
 * field, keeps the first of two differing Content-Lengths, and waits for ever for the end of a body in an unknown transfer coding.
 * A proxy in front of us may read such a head another way, which is how requests are smuggled; so what RFC 9112 does not
 * allow is refused here, before anything acts on it. */
#ifndef SERVER_HTTP_CHECK_H
#define SERVER_HTTP_CHECK_H

#include "server/http.h"

struct http_head {
	struct str method, target, version;
	const struct http_header *fields; /* in order; values without the blanks in front, but with those behind */
	size_t n_fields;
	/* The field lines, blank line included, as libmicrohttpd leaves them in its buffer: NUL in place of each colon and of each
	 * CR and LF, everything else as sent. Shows what the parsed fields hide. */
	struct str lines;
};

struct http_framing {
	bool has_body; /* one was announced; it may turn out to be empty */
	bool is_chunked;
	uint64_t length;      /* of a body that is not chunked */
	bool awaits_continue; /* the client holds the body back until it is told to go on */
	bool is_http10;
};

/* 0 and *ret; or the status to refuse with, and a sentence in *ret_problem. */
unsigned http_check(const struct http_head *head, struct http_framing *ret, const char **ret_problem);

#endif
