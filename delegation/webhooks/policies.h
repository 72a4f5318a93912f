/* Admission policies of the cluster (CEL) are not run here; whoever wrote one that means our kinds is told so. */
#ifndef DELEGATION_WEBHOOKS_POLICIES_H
#define DELEGATION_WEBHOOKS_POLICIES_H

#include "client/client.h"

struct policies;

/* on_notice: from the client's thread. */
struct policies *policies_new(struct client *client, void (*on_notice)(void *ctx, struct str text), void *ctx);
/* Begins to follow them. Whoever may not read them, or has none of these resources, says nothing. */
void policies_start(struct policies *p);
/* While the client is still there (it may be stopped). */
struct policies *policies_free(struct policies *p);

#endif
