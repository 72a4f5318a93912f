/* What the server leaves to a kube-apiserver (api/model/delegates.h), carried out by a client of it: token and access reviews with their
 * caches, the cluster's namespaces, its admission webhooks, and whom the front proxy is. One thread, the client's. */
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
	int64_t token_ttl_ms;                       /* how long it is kept whom a token names; 0: not at all */
	int64_t allowed_ttl_ms, not_allowed_ttl_ms; /* how long decisions are kept; 0: not at all */
	/* What is to be read of whose client certificates to believe in the cluster, with the client of `tokens`: where no flag gives a CA. */
	bool wants_client_ca, wants_front_ca;
	bool tolerates_lookup_failure; /* ready also before that has been read */
	/* Whom to believe has changed. From the client's thread; trust lives until it returns. */
	void (*on_trust)(void *ctx, const struct trust *trust);
	void (*on_notice)(void *ctx, struct str text); /* something for the operator */
	void *ctx;
};

/* 0, or -errno with a sentence in err. Needs no kube-apiserver to be there yet. */
int delegation_new(struct delegation **ret, const struct delegation_options *options, struct buf *err);
/* Begins to follow what must be followed; callbacks come from now on. */
void delegation_start(struct delegation *d);
/* Lives as long as the delegation. */
const struct delegates *delegation_delegates(struct delegation *d);
/* Ends what is under way: every question under way ends, with a failure; those to come end at once. Any thread. */
void delegation_stop(struct delegation *d);
/* For /metrics; ctx is the delegation. */
void delegation_write_metrics(void *ctx, struct buf *out);
struct delegation *delegation_free(struct delegation *d);
DEFINE_CLEANUP(struct delegation *, delegation_free)

#endif
