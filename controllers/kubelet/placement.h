/* Which nodes take a pod: kube-scheduler's filters that need no other pods. Decisions, without
 * I/O. */
#ifndef CONTROLLERS_KUBELET_PLACEMENT_H
#define CONTROLLERS_KUBELET_PLACEMENT_H

#include "base/buf.h"
#include "base/json.h"

/* In the order in which kube-scheduler runs its filters: the first that refuses gives the
 * reason. */
enum placement {
	PLACEMENT_UNSCHEDULABLE, /* cordoned */
	PLACEMENT_TAINT,         /* an untolerated taint: NoSchedule or NoExecute */
	PLACEMENT_AFFINITY,      /* nodeSelector or required node affinity */
	PLACEMENT_FITS,
};

enum placement placement_of(const struct json *pod, const struct json *node);
/* The message for a pod that no node takes: "0/3 nodes are available: 1 node(s) were
 * unschedulable, ...". counts: the nodes for each reason. */
void placement_explain(struct buf *out, const unsigned counts[PLACEMENT_FITS]);
/* Could the two versions of a node differ in which pods the node takes, or in its annotations? */
bool placement_may_differ(const struct json *node, const struct json *other);

#endif
