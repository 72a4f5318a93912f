/* What services are: k8s.io/api/core/v1 v0.36. */
#ifndef API_CLUSTER_SERVICE_SCHEMA_H
#define API_CLUSTER_SERVICE_SCHEMA_H

#include "api/model/schema.h"

extern const struct type type_service_spec, type_service_status, type_service_port;
extern const struct type type_load_balancer_status, type_load_balancer_ingress;

#endif
