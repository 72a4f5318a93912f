/* What keeps a PersistentVolumeClaim: decisions of the claim protection controller, without I/O. */
#ifndef CONTROLLERS_CLAIM_CLAIM_PLAN_H
#define CONTROLLERS_CLAIM_CLAIM_PLAN_H

#include "base/json.h"

/* Deleted, and kept by the finalizer kubernetes.io/pvc-protection? meta: metadata. */
bool claim_is_candidate(const struct json *meta);
/* Does the pod use that claim? Only once it has a node: nothing starts a pod on a claim that is being deleted. A claim made for an ephemeral
 * volume is used by the pod it was made for, until that one is shut down. claim: the whole object. */
bool claim_is_used_by(const struct json *pod, const struct json *claim);
/* May this pod's change have set a claim free? Of a pod that runs on a node nothing can. */
bool claim_may_be_freed_by(const struct json *pod, bool is_gone);
/* The i-th claim the pod's volumes name, of its namespace, in the arena; false: no more. */
bool claim_of_pod(const struct json *pod, uint32_t *i, struct arena *a, struct str *ret_name);
/* The claim without the finalizer. */
struct json *claim_unprotected(struct arena *a, const struct json *claim);

#endif
