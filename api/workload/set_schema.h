/* The forms of a StatefulSet: that of apps/v1 (k8s.io/api/apps/v1 v0.36), that of annals.dev/v1beta1 (seed 002), and the hub form, which is the
 * first one with what only the second says. docs/explanation/statefulsets.md shows them side by side. */
#ifndef API_WORKLOAD_SET_SCHEMA_H
#define API_WORKLOAD_SET_SCHEMA_H

#include "api/model/schema.h"

extern const struct type type_set, type_set_spec, type_set_status; /* the hub form */
extern const struct type type_set_apps, type_set_beta;
extern const struct type type_set_rolling_update, type_set_update_strategy, type_set_claim_policy, type_set_claim;

#endif
