/* The shapes that kinds with pods in them share: k8s.io/api/core/v1 v0.36, member by member in the order Go writes them. */
#ifndef API_POD_POD_SCHEMA_H
#define API_POD_POD_SCHEMA_H

#include "api/model/schema.h"

extern const struct type type_pod_template_spec, type_pod_spec, type_pod_status;
extern const struct type type_claim_spec, type_claim_status, type_claim_template;
/* Amounts by name of resource, rounded up to thousandths. */
extern const struct type type_resource_list;
extern const struct type type_resource_requirements, type_local_object_reference;
extern const struct type type_label_selector, type_label_selector_requirement;

#endif
