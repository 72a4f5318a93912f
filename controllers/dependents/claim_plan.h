/* The decisions of the claim protection controller: when a deleted PersistentVolumeClaim must
 * stay. No I/O. */
#ifndef CONTROLLERS_DEPENDENTS_CLAIM_PLAN_H
#define CONTROLLERS_DEPENDENTS_CLAIM_PLAN_H

#include "base/json.h"

/* Deleted, and kept by the finalizer kubernetes.io/pvc-protection? meta: metadata. */
bool claim_is_candidate(const struct json *meta);
/* Does the pod use that claim? Only once it has a node: nothing starts a pod on a claim that is being deleted. A claim made for an ephemeral
 * volume is used by the pod it was made for, until that one is shut down. claim: the whole object. */
bool claim_is_used_by(const struct json *pod, const struct json *claim);
/* Could this change of the pod free a claim? A pod that runs on a node frees none. */
bool claim_may_be_freed_by(const struct json *pod, bool is_gone);
/* Gives the name of the i-th claim in the pod's volumes, in the arena. Returns false when there
 * are no more. */
bool claim_of_pod(const struct json *pod, uint32_t *i, struct arena *a, struct str *ret_name);
/* The claim without the finalizer. */
struct json *claim_unprotected(struct arena *a, const struct json *claim);

#endif
