/* Decides what to do about a namespace; pure. Reasons and messages are
 * kube-controller-manager's. */
#ifndef CONTROLLERS_NAMESPACE_NAMESPACE_PLAN_H
#define CONTROLLERS_NAMESPACE_NAMESPACE_PLAN_H

#include "client/api_resources.h"

enum namespace_step {
	NAMESPACE_NOTHING, /* it is not being deleted, or all finalizers are gone and the server removes it */
	NAMESPACE_MARK,    /* set the phase Terminating */
	NAMESPACE_EMPTY,   /* delete its content */
};
enum namespace_step namespace_next(const struct json *namespace);

struct namespace_count {
	struct str name;
	uint64_t n;
};

/* The findings of a look that emptied the namespace. Discovery bounds all lists. */
struct namespace_found {
	struct arena *arena;
	struct str discovery_problem; /* empty: discovery found all resources */
	struct str *problems;         /* one sentence for each resource that could not be emptied */
	size_t n_problems;
	struct namespace_count *remaining, *finalizers; /* e.g. "pods." 3; "example.com/x" 2 */
	size_t n_remaining, n_finalizers;
	int64_t estimate_s; /* how long the remaining objects may take; 0: none takes time */
};

void namespace_found_problem(struct namespace_found *f, struct str problem);
void namespace_found_remaining(struct namespace_found *f, const struct resource *r, uint64_t n);
void namespace_found_finalizer(struct namespace_found *f, struct str finalizer);
/* Did the look find anything that keeps the namespace? */
bool namespace_found_any(const struct namespace_found *f);

/* The message of NamespaceDeletionDiscoveryFailure, or empty. */
struct str namespace_discovery_problem(struct arena *a, const struct discovery *d);
bool namespace_resource_counts(const struct api_resource *r); /* must its objects be deleted? */
bool namespace_resource_is_pods(const struct resource *r);

/* The namespace with conditions for what was found; NULL if it has them already. */
struct json *namespace_with_conditions(
	struct arena *a, const struct json *namespace, const struct namespace_found *f, int64_t now_s);
struct json *namespace_with_phase(struct arena *a, const struct json *namespace);
/* The body for /finalize: spec.finalizers without "kubernetes", the others sorted. */
struct json *namespace_finalized(struct arena *a, const struct json *namespace);

/* How long the listed pods may take to end: the longest grace period of those that have not
 * ended. It is 0 once that time has passed since the namespace was deleted. */
int64_t namespace_pods_estimate_s(const struct json *pods, const struct json *namespace, int64_t now_s);

/* When to look again at what remains. Soon at first, since most finalizers go quickly; later as
 * seldom as kube-controller-manager. */
int64_t namespace_look_again_ms(int64_t estimate_s, const struct json *namespace, int64_t now_s);

#endif
