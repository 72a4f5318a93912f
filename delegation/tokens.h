/* Whom a bearer token names, asked of kube-apiserver by TokenReview (k8s.io/apiserver plugin/pkg/authenticator/token/webhook and
 * pkg/authentication/token/cache). Answers are kept under a keyed hash: no token outlives the question that brought it. */
#ifndef DELEGATION_TOKENS_H
#define DELEGATION_TOKENS_H

#include "delegation/flights.h"

struct tokens;

struct tokens_options {
	struct client *client;
	const char *server; /* for messages */
	int64_t ttl_ms;     /* of answers, known or not; 0: not kept */
};

struct tokens *tokens_new(const struct tokens_options *options);
struct tokens *tokens_free(struct tokens *t); /* after the client's end */
void tokens_stop(struct tokens *t);
/* As struct delegates' ask_token. */
bool tokens_ask(struct tokens *t, struct token_question *q);
/* apiserver_delegated_authn_request_*, authentication_token_cache_* */
void tokens_write_metrics(struct tokens *t, struct buf *out);

#endif
