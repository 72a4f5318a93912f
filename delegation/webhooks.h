/* The cluster's admission webhooks, asked as k8s.io/apiserver's MutatingAdmissionWebhook and ValidatingAdmissionWebhook ask them. */
#ifndef DELEGATION_WEBHOOKS_H
#define DELEGATION_WEBHOOKS_H

#include "api/model/delegates.h"
#include "client/client.h"
#include "client/item.h"

struct webhooks;

struct webhooks_options {
	struct client *client;
	/* The cluster's namespaces: get_namespace returns a reference or NULL; has_namespaces
	 * returns true when all are known, so that labels can be relied on. NULL: none is ever
	 * known, and kube-apiserver is asked for each. */
	struct item *(*get_namespace)(void *ctx, struct str name);
	bool (*has_namespaces)(void *ctx);
	void *namespace_ctx;
	void (*on_notice)(void *ctx, struct str text); /* from the client's thread */
	void *ctx;
};

struct webhooks *webhooks_new(const struct webhooks_options *options);
/* Begins to follow the configurations. */
void webhooks_start(struct webhooks *w);
/* Ends waiting rounds; calls under way end with the client. Any thread. */
void webhooks_stop(struct webhooks *w);
/* Stops following. Call it while the client still exists (it may be stopped). */
void webhooks_end(struct webhooks *w);
struct webhooks *webhooks_free(struct webhooks *w); /* after the client's end */

/* struct delegates' has_webhooks and ask_webhooks. */
bool webhooks_would_ask(struct webhooks *w, const struct webhook_question *q);
bool webhooks_ask(struct webhooks *w, struct webhook_question *q);
/* Writes a line for each thing that is not known yet. */
void webhooks_write_missing(struct webhooks *w, struct buf *out);
/* apiserver_admission_webhook_*. */
void webhooks_write_metrics(struct webhooks *w, struct buf *out);

#endif
