/* The defaults of pods beyond those in their schema
 * (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go). Decoding fills them in. */
#ifndef API_CORE_POD_DEFAULTS_H
#define API_CORE_POD_DEFAULTS_H

#include "api/upstream/upstream.h"
#include "base/str.h"

/* Completes a decoded PodSpec that nobody else holds yet: lists in it are changed in place. */
struct json *pod_spec_defaults(struct json *spec, struct arena *a);
/* Likewise for a decoded PodTemplateSpec; one without a spec stays as it is. */
struct json *pod_template_defaults(const struct json *template, struct arena *a);

/* Would an image of this name be the latest one: its tag is "latest", or it has neither tag nor digest? False also where it is no name. */
bool image_is_latest(struct str image);

#endif
