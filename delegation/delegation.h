/* Asks kube-apiserver what the server leaves to it (api/model/delegates.h).
 *
 *   token_reviews.h, access_reviews.h  whom a token names, and who may do what, with caches
 *                                      (flights.h, call.h)
 *   namespaces.h                       the cluster's namespaces
 *   webhooks.h, webhook_store.h        the cluster's admission webhooks and policies
 *   cluster_trust.h                    whose client certificates are trusted
 *
 * cli/run makes it and gives its struct delegates to the server, whose HTTP threads ask.
 * Requests, their tries and all callbacks run on the client's thread. */
#ifndef DELEGATION_DELEGATION_H
#define DELEGATION_DELEGATION_H

#include "api/model/delegates.h"
#include "client/client.h"

struct delegation;

/* Text and configuration are copied. */
struct delegation_options {
	const struct client_config *core;           /* --kubeconfig, or the one of the pod: namespaces, webhooks */
	const struct client_config *tokens;         /* --authentication-kubeconfig; NULL: core */
	const struct client_config *access;         /* --authorization-kubeconfig; NULL: core */
	int64_t token_ttl_ms;                       /* how long the user of a token is kept; 0: not at all */
	int64_t allowed_ttl_ms, not_allowed_ttl_ms; /* how long decisions are kept; 0: not at all */
	/* Whether to read the cluster's authorities for client certificates, with the client of
	 * `tokens`: where no flag gives a CA. */
	bool wants_client_ca, wants_front_ca;
	bool tolerates_lookup_failure; /* ready even before the authorities have been read */
	/* Called when the authorities have changed, from the client's thread; trust lives until
	 * it returns. */
	void (*on_trust)(void *ctx, const struct trust *trust);
	void (*on_notice)(void *ctx, struct str text); /* something for the operator */
	void *ctx;
};

/* Returns 0, or -errno with a sentence in err. kube-apiserver need not be reachable yet. */
int delegation_new(struct delegation **ret, const struct delegation_options *options, struct buf *err);
/* Begins to follow the cluster; callbacks come from now on. */
void delegation_start(struct delegation *d);
/* Lives as long as the delegation. */
const struct delegates *delegation_delegates(struct delegation *d);
/* Ends every question under way, and every later one at once, with a failure. Any thread. */
void delegation_stop(struct delegation *d);
/* For /metrics; ctx is the delegation. */
void delegation_write_metrics(void *ctx, struct buf *out);
struct delegation *delegation_free(struct delegation *d);
DEFINE_CLEANUP(struct delegation *, delegation_free)

#endif
