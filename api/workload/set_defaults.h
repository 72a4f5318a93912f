/* The defaults and the counters of a StatefulSet that the server fills in. */
#ifndef API_WORKLOAD_SET_DEFAULTS_H
#define API_WORKLOAD_SET_DEFAULTS_H

#include "api/model/kind.h"

/* "true": a pod that is not Ready is replaced where its ordinal calls for another revision. Set at creation through annals.dev/v1beta1. */
#define ANNOTATION_REPLACE_BROKEN STR("annals.dev/replace-broken-pods")

/* Part of decoding: SetDefaults_StatefulSet of k8s.io/kubernetes/pkg/apis/apps/v1, and the defaults of pods. */
void set_set_defaults(struct object *o, struct arena *a);
/* See struct kind: status is the controller's, templateGeneration the server's. */
void set_prepare_create(struct object *o, struct arena *a);
void set_prepare_update(struct object *o, const struct object *old, struct arena *a);

#endif
