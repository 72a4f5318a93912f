/* Reports once that a server is away. Otherwise each informer of the client would report it in
 * nearly the same words, and none would report its end. A problem of one resource only, such as a
 * missing right, is no outage: its informer reports it.
 *
 * The first line waits a moment, so that it can say how many watches are lost and why the first of
 * them is. Watches that are lost later belong to the same outage. An outage that is over by then is
 * not reported at all.
 *
 * All functions but outage_new() and outage_free() run on the client's thread. */
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
/* Call it after the client is gone, whose timers the outage uses. */
struct outage *outage_free(struct outage *o);

/* Call these when an informer starts to keep up a watch, and when it stops for good. */
void outage_join(struct outage *o);
void outage_leave(struct outage *o, bool is_lost);

/* Call these when a watch cannot go on, with the reason, and when it goes on again: alternately,
 * each once. */
void outage_lose(struct outage *o, struct str reason);
void outage_regain(struct outage *o);

#endif
