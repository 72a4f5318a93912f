/* What decoding fills in where a pod says nothing, beyond the defaults in its schema (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go). */
#ifndef API_POD_POD_DEFAULTS_H
#define API_POD_POD_DEFAULTS_H

#include "api/pod/pod_schema.h"

/* Of a decoded PodSpec that nobody else holds yet: lists in it are changed in place. */
struct json *pod_spec_defaults(struct json *spec, struct arena *a);
/* Of a decoded PodTemplateSpec likewise; one without a spec stays as it is. */
struct json *pod_template_defaults(const struct json *template, struct arena *a);

#endif
