/* Token reviews: asks kube-apiserver by TokenReview whom a bearer token names (k8s.io/apiserver plugin/pkg/authenticator/token/webhook and
 * pkg/authentication/token/cache). Answers are kept under a keyed hash: no token outlives the question that brought it. */
#ifndef DELEGATION_TOKEN_REVIEWS_H
#define DELEGATION_TOKEN_REVIEWS_H

#include "delegation/flights.h"

struct token_reviews;

struct token_reviews_options {
	struct client *client;
	const char *server;                            /* for messages */
	int64_t ttl_ms;                                /* of answers, known or not; 0: not kept */
	void (*on_notice)(void *ctx, struct str text); /* from the client's thread; may be NULL */
	void *ctx;
};

struct token_reviews *token_reviews_new(const struct token_reviews_options *options);
struct token_reviews *token_reviews_free(struct token_reviews *t); /* after the client's end */
void token_reviews_stop(struct token_reviews *t);
/* As struct delegates' ask_token. */
bool token_reviews_ask(struct token_reviews *t, struct token_question *q);
/* apiserver_delegated_authn_request_*, authentication_token_cache_* */
void token_reviews_write_metrics(struct token_reviews *t, struct buf *out);

#endif
