/* What a fake kubelet does with a pod: decisions, without I/O. All it needs to know stands in the pod, so that restarts of anybody change nothing. */
#ifndef CONTROLLERS_KUBELET_KUBELET_PLAN_H
#define CONTROLLERS_KUBELET_KUBELET_PLAN_H

#include "base/json.h"

/* What of a pod's life cannot be read from it. */
struct kubelet_look {
	struct str now;          /* RFC 3339 */
	struct str host_ip;      /* of its node */
	struct str pod_ip;       /* where it has none yet; empty: nobody has one left */
	int64_t started_for_ms;  /* since it was first seen with its node */
	int64_t stopping_for_ms; /* since it was first seen deleted */
};

enum kubelet_step {
	KUBELET_NOTHING,
	KUBELET_BIND,   /* it needs a node */
	KUBELET_REPORT, /* status has changed */
	KUBELET_REMOVE, /* nothing of it runs any more */
};

struct kubelet_plan {
	enum kubelet_step step;
	struct json *status; /* KUBELET_REPORT: the members that are to change */
	int64_t wait_ms;     /* then comes something that only time brings; -1: nothing */
};

/* Is it for us: on one of our nodes, or on none yet? */
bool kubelet_is_concerned(const struct json *pod);
bool kubelet_is_final(const struct json *pod); /* Failed or Succeeded */
/* Look's text, and the plan's, are in the arena or the pod. */
struct kubelet_plan kubelet_decide(struct arena *a, const struct json *pod, const struct kubelet_look *look);

#endif
