/* An HTTP server that says what a test has written down, for what a real API server never says, or not when one wants it to. Plain
 * HTTP/1.1 on the loopback address; requests are answered in the order in which they come, each by the next step. */
#ifndef TESTS_UNIT_SCRIPT_SERVER_H
#define TESTS_UNIT_SCRIPT_SERVER_H

#include "base/base.h"

enum script_way {
	SCRIPT_WHOLE,  /* an answer with its length; the connection is kept */
	SCRIPT_STREAM, /* in chunks, properly ended */
	SCRIPT_HOLD,   /* in chunks, and then nothing more until script_release() or the end */
	SCRIPT_CUT,    /* in chunks; then the connection breaks */
	SCRIPT_SILENT, /* no answer at all, the connection stays */
	SCRIPT_MISSED, /* the same, of a client in a hurry: it may give up before it has asked. The last step */
};

struct script_step {
	const char *expected; /* to be found in the request, head and body; NULL: anything */
	enum script_way way;
	int status;
	const char *headers; /* "Name: value\r\n..."; NULL: none */
	const char *body;
};

struct script;

/* The steps stay. What comes after the last is answered 500. */
struct script *script_start(const struct script_step *steps, size_t n);
char *script_url(const struct script *s);      /* to be freed */
void script_await(struct script *s, size_t n); /* until n requests have been answered, or begun to be */
void script_release(struct script *s);         /* ends the stream that is held, properly */
size_t script_connections(struct script *s);
/* Fails the test if a request was not the expected one or if there were more or fewer (see SCRIPT_MISSED). */
void script_stop(struct script *s);

#endif
