/* What is to be done about a namespace, decided from what was seen; pure. Reasons and sentences are kube-controller-manager's. */
#ifndef CONTROLLERS_NAMESPACE_NAMESPACE_PLAN_H
#define CONTROLLERS_NAMESPACE_NAMESPACE_PLAN_H

#include "client/api_resources.h"

enum namespace_step {
	NAMESPACE_NOTHING, /* it is not being deleted, or everybody has agreed: the server removes it */
	NAMESPACE_MARK,    /* the phase does not say Terminating yet */
	NAMESPACE_EMPTY,   /* delete what is in it */
};
enum namespace_step namespace_next(const struct json *namespace);

struct namespace_count {
	struct str name;
	uint64_t n;
};

/* What emptying it has met with. All lists are bounded by what was discovered. */
struct namespace_found {
	struct arena *arena;
	struct str discovery_problem; /* empty: all resources are known */
	struct str *problems;         /* with the content of a resource */
	size_t n_problems;
	struct namespace_count *remaining, *finalizers; /* "pods." 3; "example.com/x" 2 */
	size_t n_remaining, n_finalizers;
	int64_t estimate_s; /* how long what remains may take; 0: nothing that takes time */
};

void namespace_found_problem(struct namespace_found *f, struct str problem);
void namespace_found_remaining(struct namespace_found *f, const struct resource *r, uint64_t n);
void namespace_found_finalizer(struct namespace_found *f, struct str finalizer);
/* Is there anything that keeps it from being let go? */
bool namespace_found_any(const struct namespace_found *f);

/* The message of NamespaceDeletionDiscoveryFailure, or empty. */
struct str namespace_discovery_problem(struct arena *a, const struct discovery *d);
bool namespace_resource_counts(const struct api_resource *r); /* is it to be emptied? */
bool namespace_resource_is_pods(const struct resource *r);

/* The namespace with the conditions that say so; NULL when it has them already. */
struct json *namespace_with_conditions(
	struct arena *a, const struct json *namespace, const struct namespace_found *f, int64_t now_s);
struct json *namespace_with_phase(struct arena *a, const struct json *namespace);
/* For /finalize: without "kubernetes" among spec.finalizers, the others sorted. */
struct json *namespace_finalized(struct arena *a, const struct json *namespace);

/* How long pods (a list) may take to end: the longest grace period of those not at their end, 0 once it has passed since the namespace was
 * deleted. */
int64_t namespace_pods_estimate_s(const struct json *pods, const struct json *namespace, int64_t now_s);

/* When to look again at what remains: soon in its first moments, since most finalizers are gone in no time; later as seldom as
 * kube-controller-manager. */
int64_t namespace_look_again_ms(int64_t estimate_s, const struct json *namespace, int64_t now_s);

#endif
