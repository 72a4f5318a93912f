/* The nodes that a fake kubelet simulates: fake-0, fake-1 and so on. Decisions, without I/O. */
#ifndef CONTROLLERS_KUBELET_NODE_PLAN_H
#define CONTROLLERS_KUBELET_NODE_PLAN_H

#include "base/json.h"

enum { NODE_NAME_SIZE = 16 };

int64_t fake_node_index(struct str name); /* -1: not the name of a fake node */
void fake_node_name(char out[NODE_NAME_SIZE], uint32_t index);
uint32_t fake_node_address(uint32_t index); /* 172.16.0.1 and so on */

/* A node as it registers: ready, with room for anything. now: RFC 3339. */
struct json *fake_node(struct arena *a, uint32_t index, struct str now);
/* The members of status to change so that the node is ready; NULL if it is ready, or is being
 * deleted. */
struct json *fake_node_status(struct arena *a, const struct json *node, struct str now);
/* Has a node controller given the node up, for want of a sign of life? Then it expects the
 * node's Lease to be renewed from now on. */
bool fake_node_is_missed(const struct json *node);
/* The Lease by which the node shows that it is alive, either whole or just the members to
 * change. renewed: RFC 3339 with microseconds. */
struct json *fake_node_lease(struct arena *a, struct str name, struct str renewed);
struct json *fake_node_renewal(struct arena *a, struct str renewed);

#endif
