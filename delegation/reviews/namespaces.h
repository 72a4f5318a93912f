/* The cluster's namespaces: followed, so that most questions are answered from memory, and asked of kube-apiserver where that must be
 * certain. What a namespace's phase means is k8s.io/apiserver's NamespaceLifecycle's: Terminating is what its status says. */
#ifndef DELEGATION_REVIEWS_NAMESPACES_H
#define DELEGATION_REVIEWS_NAMESPACES_H

#include "client/informer.h"
#include "delegation/reviews/flights.h"

struct namespaces;

struct namespaces_options {
	struct client *client;
	const char *server; /* for messages */
	void (*on_notice)(void *ctx, struct str text); /* may be NULL */
	void *ctx;
};

struct namespaces *namespaces_new(const struct namespaces_options *options);
/* Begins to follow them. */
void namespaces_start(struct namespaces *n);
void namespaces_stop(struct namespaces *n);
/* While the client is still there (it may be stopped): nothing is followed any more. */
void namespaces_end(struct namespaces *n);
struct namespaces *namespaces_free(struct namespaces *n); /* after the client's end */

/* Have all been seen once? */
bool namespaces_are_known(const struct namespaces *n);
/* From memory: ABSENT until all have been seen. */
enum namespace_phase namespaces_phase(struct namespaces *n, struct str name);
/* The whole object without its managers, to be item_unref()ed; NULL: not in memory. */
struct item *namespaces_get(struct namespaces *n, struct str name);
/* As struct delegates' ask_namespace. Never shared: an answer to a question asked before may be older than what the asker has seen. */
bool namespaces_ask(struct namespaces *n, struct namespace_question *q);

#endif
