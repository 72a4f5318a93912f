/* A server that is away, told once. Each informer of a client would otherwise say so in nearly the
 * same words, and none that it is over. What ails one resource only, such as a refusal of rights,
 * is no outage: its informer tells it.
 *
 * The first line waits a moment, so that it can say how many watches are concerned and why the first
 * of them is. Who is lost later belongs to the same outage. An outage that is over by then is not
 * told at all.
 *
 * On the client's thread, but for outage_new() and outage_free(). */
#ifndef CLIENT_OUTAGE_H
#define CLIENT_OUTAGE_H

#include "client/client.h"

struct outage;

struct outage_options {
	struct client *client;
	void (*on_notice)(void *ctx, bool is_over, struct str text); /* a sentence */
	void *ctx;
};

struct outage *outage_new(const struct outage_options *options);
/* When the client is gone, whose timers it uses. */
struct outage *outage_free(struct outage *o);

/* A watch that is kept up begins, and ends for good. */
void outage_join(struct outage *o);
void outage_leave(struct outage *o, bool is_lost);

/* It cannot go on, for that reason; it goes on again. Each once, in turn. */
void outage_lose(struct outage *o, struct str reason);
void outage_regain(struct outage *o);

#endif
