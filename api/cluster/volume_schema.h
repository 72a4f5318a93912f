/* What persistent volumes are: k8s.io/api/core/v1 v0.36. */
#ifndef API_CLUSTER_VOLUME_SCHEMA_H
#define API_CLUSTER_VOLUME_SCHEMA_H

#include "api/model/schema.h"

extern const struct type type_volume_spec, type_volume_status, type_reclaim_policy;

#endif
