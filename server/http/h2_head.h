/* The head of a request over HTTP/2, field by field. It is judged as that of HTTP/1.1 is (http_head.h), and ends up in the same struct.
 *
 * nghttp2 has refused what HTTP/2 calls malformed: unknown or misplaced pseudo header fields, upper case in names, fields of a
 * connection. Such a stream is reset, and nobody hears of it. */
#ifndef SERVER_HTTP_H2_HEAD_H
#define SERVER_HTTP_H2_HEAD_H

#include "server/http/http_head.h"

enum {
	H2_HEAD_FIELDS = 100,   /* more are too many */
	H2_HEAD_FIELD_COST = 32 /* bytes: each field counts with so many besides its text (RFC 9113, 6.5.2) */
};

/* Zeroed: nothing has come. */
struct h2_head {
	size_t size; /* bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts them */
	size_t n_fields, room;
	struct http_header *fields;
	struct str scheme, authority;
	bool has_host, is_too_large;
};

/* Copies into the arena what is within the limit. False: twice the limit is exceeded, and nobody should read on. */
bool h2_head_add(struct h2_head *h, struct http_head *head, struct arena *a, struct str name, struct str value, size_t max);
/* All of it has come. 0; or the status to refuse with, and a sentence. */
unsigned h2_head_finish(struct h2_head *h, struct http_head *head, struct arena *a, bool has_body, const char **ret_problem);

#endif
