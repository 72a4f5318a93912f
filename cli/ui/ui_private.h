/* What the files of cli/ui share. */
#ifndef CLI_UI_UI_PRIVATE_H
#define CLI_UI_UI_PRIVATE_H

#include "cli/ui/sessions.h"
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
};

/* An exchange that waits for something: its context. */
struct visit {
	void (*go_on)(struct visit *v, struct http_exchange *x); /* it was woken: answers, or waits on */
	void (*leave)(struct visit *v);                          /* the exchange is over */
};

void ui_reply_status(struct http_exchange *x, unsigned code, const char *format, ...) _printf_(3, 4);

/* ---- proxy.c ---- */

/* Passes a GET on; the path is allowed. */
void proxy_begin(struct ui *u, struct http_exchange *x, struct str target, struct str accept);

/* ---- calls.c ---- */

struct calls *calls_new(void *ctx);
/* Waits for those that run; nobody waits in an exchange any more. */
struct calls *calls_free(struct calls *c);
void calls_begin(struct calls *c, struct http_exchange *x, const struct ui_route *route, struct str query);

/* A Status, as JSON. */
void status_text(struct buf *out, unsigned code, struct str message);

#endif
