/* The forms of a StatefulSet: that of apps/v1, that of annals.dev/v1beta1, and the hub form. The
 * hub form is the first one plus what only the second can say (docs/explanation/statefulsets.md).
 * The functions are struct version's conversions. Values that a form cannot express are kept. */
#ifndef API_WORKLOAD_SET_FORMS_H
#define API_WORKLOAD_SET_FORMS_H

#include "api/upstream/upstream.h" /* type_set is the hub form, type_apps_stateful_set that of apps/v1 */

extern const struct type type_set_beta;

/* apps/v1: all but the generations of the template, which are the server's and the controller's. */
struct json *set_apps_from_hub(const struct json *hub, struct arena *a);
struct json *set_apps_to_hub(const struct json *sent, const struct json *stored, struct arena *a);
/* annals.dev/v1beta1: spec.generationPartition is the partition of the rolling update; spec.templateGeneration is shown, and what is sent is
 * not looked at; no updatedReplicas where the update is complete. */
struct json *set_beta_from_hub(const struct json *hub, struct arena *a);
struct json *set_beta_to_hub(const struct json *sent, const struct json *stored, struct arena *a);

#endif
