/* autoscaling/v1 Scale: how many there shall be of something, how many there are, and by which labels to find them. */
#ifndef API_WORKLOAD_SCALE_H
#define API_WORKLOAD_SCALE_H

#include "api/model/kind.h"

extern const struct view scale_view; /* of kinds with spec.replicas, spec.selector (a LabelSelector) and status.replicas */

#endif
