/* Follows the ConfigMap kube-system/extension-apiserver-authentication, in which kube-apiserver
 * publishes the authorities of client certificates (k8s.io/apiserver pkg/server/options
 * DelegatingAuthenticationOptions).
 *
 * Its content takes effect at once. When it is deleted, or part of it is garbage, that part
 * trusts nobody, and a log line says so; upstream keeps the old content. While kube-apiserver
 * cannot be reached, the last content stays. */
#ifndef DELEGATION_CLUSTER_TRUST_H
#define DELEGATION_CLUSTER_TRUST_H

#include "api/model/delegates.h"
#include "base/json.h"
#include "client/client.h"

struct trust_follower;

struct trust_follower_options {
	struct client *client;
	bool wants_users, wants_fronts; /* the halves to take from there; neither: nothing is followed */
	bool tolerates_failure;         /* counts as settled even before the ConfigMap has been read */
	void (*on_trust)(void *ctx, const struct trust *trust); /* from the client's thread */
	void (*on_notice)(void *ctx, struct str text);          /* may be NULL */
	void *ctx;
};

struct trust_follower *trust_follower_new(const struct trust_follower_options *options);
/* Begins to follow it. */
void trust_follower_start(struct trust_follower *f);
/* When it returns, no callback is under way or will come. Not from the client's thread. */
void trust_follower_stop(struct trust_follower *f);
/* Stops following. Call it while the client still exists (it may be stopped). */
void trust_follower_end(struct trust_follower *f);
struct trust_follower *trust_follower_free(struct trust_follower *f); /* call it after client_end() */
/* Returns true when the ConfigMap has been read, or need not be. Any thread. */
bool trust_follower_is_settled(const struct trust_follower *f);
void trust_follower_write_missing(const struct trust_follower *f, struct buf *out); /* as struct delegates' write_missing */

/* Reads the trusted authorities from the ConfigMap; pure. *ret lives as long as the object and
 * the arena. A missing or broken part trusts nobody: a list of names that cannot be read is not
 * an empty one, which would allow any name. problems gets a sentence for it. config_map NULL: it
 * does not exist. */
void trust_read_users(struct trust *ret, const struct json *config_map, struct buf *problems);
void trust_read_fronts(struct trust *ret, const struct json *config_map, struct arena *a, struct buf *problems);

#endif
