/* Follows the ConfigMap kube-system/extension-apiserver-authentication, in which kube-apiserver says whose client certificates are to be believed
 * (k8s.io/apiserver pkg/server/options DelegatingAuthenticationOptions).
 *
 * What it says counts at once. When it is deleted, or part of it is garbage, that part believes nobody, and the operator is told; upstream goes
 * on with what was there before. While kube-apiserver cannot be reached, what was known stays. */
#ifndef DELEGATION_CLUSTER_TRUST_H
#define DELEGATION_CLUSTER_TRUST_H

#include "client/client.h"

#include "api/model/delegates.h"

struct trust_follower;

struct trust_follower_options {
	struct client *client;
	bool wants_users, wants_fronts; /* the halves to take from there; neither: nothing is followed */
	bool tolerates_failure;         /* nothing is missing as long as it has not been read */
	void (*on_trust)(void *ctx, const struct trust *trust); /* from the client's thread */
	void (*on_notice)(void *ctx, struct str text);          /* may be NULL */
	void *ctx;
};

struct trust_follower *trust_follower_new(const struct trust_follower_options *options);
/* Begins to follow it. */
void trust_follower_start(struct trust_follower *f);
/* No callback is under way or comes when it returns. Not from the client's thread. */
void trust_follower_stop(struct trust_follower *f);
/* While the client is still there (it may be stopped): nothing is followed any more. */
void trust_follower_end(struct trust_follower *f);
struct trust_follower *trust_follower_free(struct trust_follower *f); /* after the client's end */
/* It has been read, or need not be. Any thread. */
bool trust_follower_is_settled(const struct trust_follower *f);
void trust_follower_write_missing(const struct trust_follower *f, struct buf *out); /* as struct delegates' write_missing */

#endif
