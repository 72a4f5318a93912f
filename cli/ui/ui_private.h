/* Types and functions that the files of cli/ui share. */
#ifndef CLI_UI_UI_PRIVATE_H
#define CLI_UI_UI_PRIVATE_H

#include "cli/ui/access.h"
#include "cli/ui/ui.h"
#include "server/http/http.h"

enum { ADDRESSES = 2 }; /* 127.0.0.1 and ::1 */

struct ui {
	struct ui_options options;
	struct http_server *http[ADDRESSES]; /* the second one NULL: there is no IPv6 */
	_Atomic uint16_t port;               /* 0 until it listens; requests come as soon as it does */
	struct sessions sessions;
	struct calls *calls;
	_Atomic unsigned n_proxied;
	_Atomic int64_t noticed_ms; /* when on_notice was called last; 0: never */
};

/* The context of an exchange that waits for something. */
struct visit {
	void (*go_on)(struct visit *v, struct http_exchange *x); /* called when it was woken: answers, or waits on */
	void (*leave)(struct visit *v);                          /* called when the exchange is over */
};

void ui_reply_status(struct http_exchange *x, unsigned code, const char *format, ...) _printf_(3, 4);

/* ---- proxy.c ---- */

/* Passes a GET on. The caller has checked the target. */
void proxy_begin(struct ui *u, struct http_exchange *x, struct str target, struct str accept);

/* ---- calls (proxy.c) ---- */

struct calls *calls_new(void *ctx);
/* Waits for the calls that run. No exchange waits for a call any more. */
struct calls *calls_free(struct calls *c);
void calls_begin(struct calls *c, struct http_exchange *x, const struct ui_route *route, struct str query);

/* Appends a Status, as JSON. */
void status_text(struct buf *out, unsigned code, struct str message);

#endif
