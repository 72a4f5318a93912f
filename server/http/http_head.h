/* The head of a request: where it ends, what it says, and what HTTP/1.1 does not allow in it (RFC 9110, 9112). Pure.
 *
 * libmicrohttpd takes heads apart leniently: it drops what follows a NUL, glues folded lines to the wrong half of a field, takes
 * lines that end in a bare LF, and keeps the first of two differing lengths. A proxy in front of us may read such a head another
 * way, which is how requests are smuggled. So heads are read here, and libmicrohttpd gets one of ours. Implemented in http_inlet.c. */
#ifndef SERVER_HTTP_HTTP_HEAD_H
#define SERVER_HTTP_HTTP_HEAD_H

#include "base/arena.h"
#include "server/http/http.h"

enum { HTTP_FIELD_COST = 80 }; /* each field counts with so many bytes besides its text: it costs memory */

/* How far the search for the end has come. Zeroed: at the beginning. */
struct http_head_scan {
	size_t at;            /* bytes looked at */
	size_t line;          /* where the line in hand begins */
	size_t n_lines;       /* complete ones, but for empty lines in front of the head */
	bool has_broken_line; /* one that ends in a bare LF: the search is over */
};

/* text: all that has come so far, from the beginning. The size of the head with the empty line that ends it; 0: more must come. */
size_t http_head_scan(struct http_head_scan *s, struct str text);

/* A whole head, as http_head_scan() found it. 0; or the status to refuse with, and a sentence in *ret_problem. Slices of *ret lie in text,
 * or in the arena. */
unsigned http_head_parse(struct http_head *ret, struct arena *a, struct str text, size_t max, const char **ret_problem);

/* A head that came in pieces: method, target and fields are there, and framing.has_body. Finds the rest of the framing, and refuses what
 * http_head_parse() refuses. */
unsigned http_head_judge(struct http_head *head, const char **ret_problem);

/* Bytes of that head: a method, a Content-Length of 20 digits, and fixed names. */
enum { HTTP_HEAD_CANONICAL_MAX = 192 };

/* The shortest head that lets libmicrohttpd find the end of the body and decide what becomes of the connection; its length. */
size_t http_head_write(char out[HTTP_HEAD_CANONICAL_MAX], const struct http_framing *f);

#endif
