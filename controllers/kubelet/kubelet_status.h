/* A pod's status, as a kubelet writes it. */
#ifndef CONTROLLERS_KUBELET_KUBELET_STATUS_H
#define CONTROLLERS_KUBELET_KUBELET_STATUS_H

#include "controllers/kubelet/kubelet_plan.h"

enum pod_stage {
	POD_WAITS, /* its containers have not been started */
	POD_RUNS,
	POD_FAILED,
	POD_SUCCEEDED, /* all have ended well, also because they were asked to */
};

/* The members of status that are to change for it to say so; an empty object: it says so already. */
struct json *kubelet_status(
	struct arena *a, const struct json *pod, const struct kubelet_look *look, enum pod_stage stage, bool is_ready);

#endif
