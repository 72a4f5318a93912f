/* Follows the cluster's webhook configurations: one immutable set of webhooks for each phase,
 * rebuilt when one changes. */
#ifndef DELEGATION_WEBHOOK_STORE_H
#define DELEGATION_WEBHOOK_STORE_H

#include "client/informer.h"
#include "delegation/webhook.h"

struct webhook_store;

struct webhook_store_options {
	struct client *client;
	void (*on_notice)(void *ctx, struct str text); /* a line; from the client's thread */
	void *ctx;
};

struct webhook_store *webhook_store_new(const struct webhook_store_options *options);
/* Begins to follow them. */
void webhook_store_start(struct webhook_store *s);
/* Stops following. Call it while the client still exists (it may be stopped). */
void webhook_store_end(struct webhook_store *s);
struct webhook_store *webhook_store_free(struct webhook_store *s);
/* Returns a reference; NULL: not all configurations are known yet. Any thread. */
struct webhook_set *webhook_store_get(struct webhook_store *s, enum webhook_phase phase);
/* Returns true when there may be webhooks of that phase, or it is not known yet. Any thread,
 * without a lock. */
bool webhook_store_may_have(const struct webhook_store *s, enum webhook_phase phase);

/* Admission policies of the cluster (CEL) are not run here; a warning names each one that
 * matches a kind of annals. */
struct policies;

/* on_notice: from the client's thread. */
struct policies *policies_new(struct client *client, void (*on_notice)(void *ctx, struct str text), void *ctx);
/* Begins to follow them. Nothing is reported when annals may not read them, or the cluster lacks
 * these resources. */
void policies_start(struct policies *p);
/* Call it while the client still exists (it may be stopped). */
struct policies *policies_free(struct policies *p);

#endif
