/* Who may do what, asked of kube-apiserver by SubjectAccessReview (k8s.io/apiserver plugin/pkg/authorizer/webhook): what is sent, which answers
 * are kept, and what they mean. */
#ifndef DELEGATION_REVIEWS_ACCESS_REVIEWS_H
#define DELEGATION_REVIEWS_ACCESS_REVIEWS_H

#include "delegation/reviews/flights.h"

struct access;

struct access_options {
	struct client *client;
	const char *server; /* for messages */
	int64_t allowed_ttl_ms, other_ttl_ms; /* 0: not kept */
	void (*on_notice)(void *ctx, struct str text); /* from the client's thread; may be NULL */
	void *ctx;
};

struct access *access_new(const struct access_options *options);
struct access *access_free(struct access *a); /* after the client's end */
void access_stop(struct access *a);
/* As struct delegates' ask_access. */
bool access_ask(struct access *a, struct access_question *q);
/* apiserver_delegated_authz_request_total, apiserver_delegated_authz_request_duration_seconds */
void access_write_metrics(struct access *a, struct buf *out);

#endif
