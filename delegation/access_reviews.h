/* Access reviews: asks kube-apiserver by SubjectAccessReview who may do what (k8s.io/apiserver
 * plugin/pkg/authorizer/webhook). */
#ifndef DELEGATION_ACCESS_REVIEWS_H
#define DELEGATION_ACCESS_REVIEWS_H

#include "api/model/user.h"
#include "delegation/flights.h"

struct access;

struct access_options {
	struct client *client;
	const char *server;                            /* for messages */
	int64_t allowed_ttl_ms, other_ttl_ms;          /* 0: not kept */
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

/* Returns the whole content of the review, unambiguously, in the arena: equal keys mean equal
 * reviews. */
struct str access_key(const struct authz_attributes *what, struct arena *a);
/* Writes a SubjectAccessReview as JSON. Returns false when out is too small. */
bool access_body(struct buf *out, const struct authz_attributes *what, struct arena *a);

#endif
