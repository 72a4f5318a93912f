/* autoscaling/v1 Scale: how many there shall be of something, how many there are, and by which labels to find them. */
#ifndef API_WORKLOAD_SCALE_H
#define API_WORKLOAD_SCALE_H

#include "api/model/kind.h"

/* For kinds with spec.replicas, spec.selector (a LabelSelector) and status.replicas. */
extern const struct view scale_view;
/* The same for kinds whose spec.selector is a plain map of labels (ReplicationController). */
extern const struct view scale_labels_view;

#endif
