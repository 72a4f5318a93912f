/* The server of the page to look at: plain HTTP on the loopback addresses, everything below /annals/ui/ (docs/how-to/ui.md).
 *
 * What it serves by itself: the page's files, sessions, and what may be asked of the API server, passed on. What has to be worked out is
 * the caller's: rows of a table of routes. */
#ifndef CLI_UI_UI_H
#define CLI_UI_UI_H

#include "client/client.h"

struct ui;
struct ui_call;

/* GET or POST of /annals/ui/PATH, with a session. */
struct ui_route {
	const char *method, *path; /* path NULL ends the table */
	/* On a thread of its own, which may block. Fills in call->code and call->out, which is JSON; ui_refuse() does both. */
	void (*run)(void *ctx, struct ui_call *call);
};

struct ui_call {
	struct str query, body;
	struct arena *arena; /* goes when the answer is sent */
	unsigned code;       /* 200 unless it is set */
	struct buf out;
};
enum { UI_OUT_MAX = 64 << 20 }; /* bytes that a call answers */

struct ui_options {
	/* Who asks the API server. Outlives it, and is stopped before ui_free(): then what waits for an answer ends. */
	struct client *client;
	uint16_t port; /* 0: any that is free */
	const struct ui_route *routes;
	void *ctx;
};

/* 0, or -errno with a sentence in err. */
int ui_new(struct ui **ret, const struct ui_options *options, struct buf *err);
/* Within a second, where no route's run() takes longer. */
struct ui *ui_free(struct ui *u);
uint16_t ui_port(const struct ui *u);
/* Appends a new link, good for one browser; an earlier one that nobody has followed is good for none. Any thread. */
void ui_add_link(struct ui *u, struct buf *out);

/* ---- for routes ---- */

/* Of the query, unescaped; empty: it is not given. */
struct str ui_parameter(const struct ui_call *call, const char *name);
/* Answers a Status of this code. */
void ui_refuse(struct ui_call *call, unsigned code, const char *format, ...) _printf_(3, 4);

/* ---- the browser ---- */

/* Opens the page without a shell, where there is a display. False: there is none, or nothing to open it with. */
bool browser_open(const char *url);

#endif
