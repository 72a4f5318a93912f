/* The defaults and rules of workloads that are a number of equal pods: ReplicationController, ReplicaSet, Deployment. Nothing here
 * makes the pods. k8s.io/kubernetes/pkg/apis/{core,apps} v1.36 says what is allowed, in this order and with these texts. */
#ifndef API_WORKLOAD_REPLICA_RULES_H
#define API_WORKLOAD_REPLICA_RULES_H

#include "api/model/kind.h"

/* See struct kind. */
void replica_set_set_defaults(struct object *o, struct arena *a);
void replica_set_prepare_create(struct object *o, struct arena *a);
void replica_set_validate(const struct object *o, struct field_errors *errors);
void replica_set_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void replica_set_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);

void deployment_set_defaults(struct object *o, struct arena *a);
void deployment_prepare_create(struct object *o, struct arena *a);
/* Does the write raise metadata.generation? Changed annotations do so too, since a Deployment's
 * controller copies them to its ReplicaSets. */
bool deployment_bumps_generation(const struct object *o, const struct object *old);
/* A write of the status does not change labels. */
void deployment_merge_status(struct object *stored, const struct object *sent, struct arena *a);
extern const char *const deployment_status_resets[];
void deployment_validate(const struct object *o, struct field_errors *errors);
void deployment_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void deployment_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);

void replication_controller_set_defaults(struct object *o, struct arena *a);
void replication_controller_prepare_create(struct object *o, struct arena *a);
void replication_controller_validate(const struct object *o, struct field_errors *errors);
void replication_controller_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
/* The status of a ReplicationController follows the rules of a ReplicaSet's. */

/* Pods are named after the workload, and a host's name has no dots. */
size_t warn_of_name(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX]);

#endif
