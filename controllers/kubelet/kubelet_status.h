/* A pod's status, as a kubelet writes it. */
#ifndef CONTROLLERS_KUBELET_KUBELET_STATUS_H
#define CONTROLLERS_KUBELET_KUBELET_STATUS_H

#include "controllers/kubelet/kubelet_plan.h"

enum pod_stage {
	POD_WAITS, /* the containers have not been started */
	POD_RUNS,
	POD_FAILED,
	POD_SUCCEEDED, /* all containers ended well, perhaps because they were asked to */
};

struct kubelet_readiness {
	bool is_ready;   /* what running containers report */
	bool fails_exec; /* except those with a readiness probe that is a command */
};

bool kubelet_has_exec_probe(const struct json *container);
/* The members of status to change; an empty object: the status is right already. */
struct json *kubelet_status(struct arena *a, const struct json *pod, const struct kubelet_look *look, enum pod_stage stage,
	struct kubelet_readiness readiness);
/* The same for a pod that no node takes; look->unschedulable says why. */
struct json *kubelet_unscheduled_status(struct arena *a, const struct json *pod, const struct kubelet_look *look);

#endif
