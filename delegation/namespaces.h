/* The cluster's namespaces. An informer follows them, so that most questions are answered from
 * memory; kube-apiserver is asked when the answer must be certain. As in k8s.io/apiserver's
 * NamespaceLifecycle, a namespace is Terminating when its status says so. */
#ifndef DELEGATION_NAMESPACES_H
#define DELEGATION_NAMESPACES_H

#include "client/informer.h"
#include "delegation/flights.h"

struct namespaces;

struct namespaces_options {
	struct client *client;
	const char *server;                            /* for messages */
	void (*on_notice)(void *ctx, struct str text); /* may be NULL */
	void *ctx;
};

struct namespaces *namespaces_new(const struct namespaces_options *options);
/* Begins to follow them. */
void namespaces_start(struct namespaces *n);
void namespaces_stop(struct namespaces *n);
/* Stops following. Call it while the client still exists (it may be stopped). */
void namespaces_end(struct namespaces *n);
struct namespaces *namespaces_free(struct namespaces *n); /* after the client's end */

/* Returns true when all have been seen once. */
bool namespaces_are_known(const struct namespaces *n);
/* Answers from memory: ABSENT until all have been seen. */
enum namespace_phase namespaces_phase(struct namespaces *n, struct str name);
struct str namespaces_uid(struct namespaces *n, struct str name, struct arena *a); /* empty: not in memory */
/* The whole object without its managers, to be item_unref()ed; NULL: not in memory. */
struct item *namespaces_get(struct namespaces *n, struct str name);
/* As struct delegates' ask_namespace. Questions are never shared: an earlier answer may be older
 * than what the asker has seen. */
bool namespaces_ask(struct namespaces *n, struct namespace_question *q);

#endif
