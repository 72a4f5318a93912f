/* What nodes are: k8s.io/api/core/v1 v0.36. */
#ifndef API_CLUSTER_NODE_SCHEMA_H
#define API_CLUSTER_NODE_SCHEMA_H

#include "api/model/schema.h"

extern const struct type type_node_spec, type_node_status, type_taint;

#endif
