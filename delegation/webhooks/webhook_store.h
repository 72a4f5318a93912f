/* The cluster's webhook configurations, followed: one immutable set of webhooks for each phase, made anew whenever one changes. */
#ifndef DELEGATION_WEBHOOKS_WEBHOOK_STORE_H
#define DELEGATION_WEBHOOKS_WEBHOOK_STORE_H

#include "client/informer.h"
#include "delegation/webhooks/webhook.h"

struct webhook_store;

struct webhook_store_options {
	struct client *client;
	void (*on_notice)(void *ctx, struct str text); /* a line; from the client's thread */
	void *ctx;
};

struct webhook_store *webhook_store_new(const struct webhook_store_options *options);
/* Begins to follow them. */
void webhook_store_start(struct webhook_store *s);
/* While the client is still there (it may be stopped): nothing is followed any more. */
void webhook_store_end(struct webhook_store *s);
struct webhook_store *webhook_store_free(struct webhook_store *s);
/* Any thread. A reference; NULL: not all configurations are known yet. */
struct webhook_set *webhook_store_get(struct webhook_store *s, enum webhook_phase phase);
/* Any thread, without a lock: may there be webhooks of that phase, or is it not known yet? */
bool webhook_store_may_have(const struct webhook_store *s, enum webhook_phase phase);

#endif
