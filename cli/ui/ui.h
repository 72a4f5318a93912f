/* The server of the page `kubectl annals ui`: plain HTTP on the loopback addresses, everything below /annals/ui/
 * (docs/how-to/ui.md). It serves the page's files and sessions, and passes requests on to the API server. Answers that need
 * the plugin's code are rows of the caller's table of routes.
 *
 * Threads: one HTTP thread for each address, three that run calls, and the client's. ui_new() and ui_free() are for one
 * thread. */
#ifndef CLI_UI_UI_H
#define CLI_UI_UI_H

#include "client/client.h"

struct ui;
struct ui_call;

/* GET or POST of /annals/ui/PATH, with a session. */
struct ui_route {
	const char *method, *path; /* path NULL ends the table */
	/* Runs on a thread that may block. It fills in call->code and call->out, which is JSON; ui_refuse() does both. */
	void (*run)(void *ctx, struct ui_call *call);
};

struct ui_call {
	struct str query, body;
	struct arena *arena; /* freed when the answer has been sent */
	unsigned code;       /* 200 unless it is set */
	struct buf out;
};
enum { UI_OUT_MAX = 64 << 20 }; /* bytes that a call answers */

struct ui_options {
	/* Asks the API server. It outlives the ui, and is stopped before ui_free(), so that nothing waits for an answer. */
	struct client *client;
	uint16_t port; /* 0: any that is free */
	const struct ui_route *routes;
	void *ctx;
	/* Tells the operator of a client that was refused. May be NULL. Any thread. */
	void (*on_notice)(void *ctx, const char *text);
};

/* 0, or -errno with a sentence in err. */
int ui_new(struct ui **ret, const struct ui_options *options, struct buf *err);
/* Takes a second at most, unless a route's run() takes longer. */
struct ui *ui_free(struct ui *u);
uint16_t ui_port(const struct ui *u);
/* Appends a new link, good for one browser. The link before it becomes invalid. Any thread. */
void ui_add_link(struct ui *u, struct buf *out);

/* ---- for routes ---- */

/* A parameter of the query, unescaped; empty if it is not given. */
struct str ui_parameter(const struct ui_call *call, const char *name);
/* Answers a Status of this code. */
void ui_refuse(struct ui_call *call, unsigned code, const char *format, ...) _printf_(3, 4);

/* ---- the browser ---- */

/* Opens the page without a shell. Returns false if there is no display, or no program that opens
 * it. */
bool browser_open(const char *url);

#endif
