/* The defaults and rules of DaemonSets: SetDefaults_DaemonSet and ValidateDaemonSet of k8s.io/kubernetes/pkg/apis/apps v1.36, in the
 * same order and with the same texts. Nothing here makes the pods. */
#ifndef API_WORKLOAD_DAEMON_RULES_H
#define API_WORKLOAD_DAEMON_RULES_H

#include "api/model/kind.h"

/* See struct kind. */
void daemon_set_set_defaults(struct object *o, struct arena *a);
void daemon_set_prepare_create(struct object *o, struct arena *a);
void daemon_set_prepare_update(struct object *o, const struct object *old, struct arena *a);
/* A write of the status keeps the stored spec, templateGeneration included. */
void daemon_set_merge_status(struct object *stored, const struct object *sent, struct arena *a);
void daemon_set_validate(const struct object *o, struct field_errors *errors);
void daemon_set_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void daemon_set_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);

#endif
