/* The decisions of the fake kubelet about a pod, without I/O. All it needs is in the pod, so
 * restarts change nothing. */
#ifndef CONTROLLERS_KUBELET_KUBELET_PLAN_H
#define CONTROLLERS_KUBELET_KUBELET_PLAN_H

#include "base/json.h"

/* The inputs that are not in the pod itself. */
struct kubelet_look {
	struct str now;          /* RFC 3339 */
	struct str host_ip;      /* the address of the pod's node */
	struct str pod_ip;       /* an address for a pod without one; empty: none is free */
	int64_t started_for_ms;  /* since the pod was first seen with its node */
	int64_t stopping_for_ms; /* since the pod was first seen deleted */
	const struct json *node, *namespace; /* metadata of the pod's node and namespace; NULL: not known */
	struct str unschedulable;            /* why no node takes the pod; empty: one does, or none was looked for */
};

enum kubelet_step {
	KUBELET_NOTHING,
	KUBELET_BIND,   /* the pod needs a node */
	KUBELET_REPORT, /* the status has to change */
	KUBELET_REMOVE, /* all containers have ended: delete the pod */
};

struct kubelet_plan {
	enum kubelet_step step;
	struct json *status; /* KUBELET_REPORT: the members to change */
	int64_t wait_ms;     /* look again after this time; -1: no need */
	bool is_dependent;   /* look again when any node or namespace changes: that may change the plan */
};

/* Is the pod on a fake node, or on no node yet? */
bool kubelet_is_concerned(const struct json *pod);
bool kubelet_is_final(const struct json *pod); /* Failed or Succeeded */
/* Does the pod wait for a node? */
bool kubelet_is_to_be_bound(const struct json *pod);
/* The texts of look and of the plan are in the arena or the pod. */
struct kubelet_plan kubelet_decide(struct arena *a, const struct json *pod, const struct kubelet_look *look);

#endif
