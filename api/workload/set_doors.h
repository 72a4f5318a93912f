/* How the doors show a StatefulSet, and what they make of what is sent (struct door's conversions). What a door cannot say keeps its value. */
#ifndef API_WORKLOAD_SET_DOORS_H
#define API_WORKLOAD_SET_DOORS_H

#include "base/json.h"

/* apps/v1: all but the generations of the template, which are the server's and the controller's. */
struct json *set_apps_from_hub(const struct json *hub, struct arena *a);
struct json *set_apps_to_hub(const struct json *sent, const struct json *stored, struct arena *a);
/* annals.dev/v1beta1: spec.generationPartition is the partition of the rolling update; spec.templateGeneration is shown, and what is sent is
 * not looked at; no updatedReplicas where the update is complete. */
struct json *set_beta_from_hub(const struct json *hub, struct arena *a);
struct json *set_beta_to_hub(const struct json *sent, const struct json *stored, struct arena *a);

#endif
