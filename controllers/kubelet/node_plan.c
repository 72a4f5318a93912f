/* A node registers with its whole status, as kubelets do, so one write is enough. Later looks
 * only check whether somebody marked it as not ready. */
#include "controllers/kubelet/node_plan.h"

#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/meta.h"
#include "controllers/kubelet/addresses.h"

#include <assert.h>
#include <stdio.h>

#define NODE_PREFIX "fake-"
#define NODES_NETWORK (172u << 24 | 16u << 16)

enum { LEASE_S = 40 }; /* as for kubelets */

/* ---- names ---- */

void fake_node_name(char out[NODE_NAME_SIZE], uint32_t index)
{
	assert(index < FAKE_NODES_MAX);
	snprintf(out, NODE_NAME_SIZE, NODE_PREFIX "%u", index);
}

uint32_t fake_node_address(uint32_t index)
{
	assert(index < FAKE_NODES_MAX);
	return NODES_NETWORK + index + 1;
}

/* Also accepts an index beyond the present nodes, so pods from a start with more nodes are still
 * handled. */
int64_t fake_node_index(struct str name)
{
	const struct str prefix = STR(NODE_PREFIX);
	char canonical[NODE_NAME_SIZE];
	uint64_t n;
	if (!str_starts(name, prefix) || !str_to_uint64((struct str){name.p + prefix.n, name.n - prefix.n}, &n) ||
		n >= FAKE_NODES_MAX) {
		return -1;
	}
	fake_node_name(canonical, (uint32_t)n);
	return str_is(name, canonical) ? (int64_t)n : -1;
}

/* ---- what a node says ---- */

static const struct {
	const char *type, *status, *reason, *message;
} conditions[] = {
	{"MemoryPressure", "False", "KubeletHasSufficientMemory", "there is no memory to run short of"},
	{"DiskPressure", "False", "KubeletHasNoDiskPressure", "there is no disk to run full"},
	{"PIDPressure", "False", "KubeletHasSufficientPID", "there are no processes"},
	{"Ready", "True", "KubeletReady", "fake-kubelet simulates this node"},
};

static void add(struct arena *a, struct json *object, const char *name, const char *value)
{
	json_add(a, object, str_of(name), json_string(a, str_of(value)));
}

static struct json *new_condition(struct arena *a, size_t i, struct str now)
{
	assert(i < ARRAY_SIZE(conditions));
	struct json *c = json_object(a);
	add(a, c, "type", conditions[i].type);
	add(a, c, "status", conditions[i].status);
	json_add(a, c, STR("lastHeartbeatTime"), json_string(a, now));
	json_add(a, c, STR("lastTransitionTime"), json_string(a, now));
	add(a, c, "reason", conditions[i].reason);
	add(a, c, "message", conditions[i].message);
	return c;
}

/* Returns -1 for a condition that others write. */
static int index_of(struct str type)
{
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		if (str_is(type, conditions[i].type)) {
			return (int)i;
		}
	}
	return -1;
}

/* Corrects this file's conditions and keeps those of others. Returns NULL if all are right
 * already. */
static struct json *conditions_over(struct arena *a, const struct json *old, struct str now)
{
	struct json *list = json_array(a), *c;
	bool is_there[ARRAY_SIZE(conditions)] = {false}, has_changed = false;
	for (uint32_t i = 0; (c = list_item(old, i)); i++) {
		int k = index_of(member_text(c, "type"));
		bool is_right = k < 0 || str_is(member_text(c, "status"), conditions[k].status);
		json_append(a, list, is_right ? c : new_condition(a, (size_t)k, now));
		has_changed = has_changed || !is_right;
		if (k >= 0) {
			is_there[k] = true;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		if (!is_there[i]) {
			json_append(a, list, new_condition(a, i, now));
			has_changed = true;
		}
	}
	return has_changed ? list : NULL;
}

static struct json *resources(struct arena *a)
{
	struct json *r = json_object(a);
	add(a, r, "cpu", "64");
	add(a, r, "ephemeral-storage", "1Ti");
	add(a, r, "memory", "512Gi");
	add(a, r, "pods", "10000");
	return r;
}

static struct json *address(struct arena *a, const char *type, struct str value)
{
	struct json *entry = json_object(a);
	add(a, entry, "type", type);
	json_add(a, entry, STR("address"), json_string(a, value));
	return entry;
}

static struct json *addresses_of(struct arena *a, uint32_t index, struct str name)
{
	struct json *list = json_array(a);
	char ip[ADDRESS_SIZE];
	address_format(ip, fake_node_address(index));
	json_append(a, list, address(a, "InternalIP", arena_dup(a, str_of(ip))));
	json_append(a, list, address(a, "Hostname", name));
	return list;
}

/* The versions of the node should show readers that no kubelet runs there. */
static struct json *node_info(struct arena *a)
{
	static const char *const empty[] = {"machineID", "systemUUID", "bootID", "kernelVersion", "kubeProxyVersion"};
	struct json *info = json_object(a);
	for (size_t i = 0; i < ARRAY_SIZE(empty); i++) {
		add(a, info, empty[i], "");
	}
	add(a, info, "osImage", "none");
	add(a, info, "containerRuntimeVersion", "fake://" ANNALS_VERSION);
	add(a, info, "kubeletVersion", "fake-" ANNALS_VERSION);
	add(a, info, "operatingSystem", "linux");
	add(a, info, "architecture", "amd64");
	return info;
}

struct json *fake_node(struct arena *a, uint32_t index, struct str now)
{
	struct json *node = json_object(a), *meta = json_object(a), *labels = json_object(a), *status = json_object(a);
	char text[NODE_NAME_SIZE];
	fake_node_name(text, index);
	struct str name = arena_dup(a, str_of(text));
	add(a, node, "apiVersion", "v1");
	add(a, node, "kind", "Node");
	json_add(a, node, STR("metadata"), meta);
	json_add(a, meta, STR("name"), json_string(a, name));
	json_add(a, meta, STR("labels"), labels);
	json_add(a, labels, STR("kubernetes.io/hostname"), json_string(a, name));
	add(a, labels, "kubernetes.io/os", "linux");
	add(a, labels, "kubernetes.io/arch", "amd64");
	json_add(a, node, STR("status"), status);
	json_add(a, status, STR("capacity"), resources(a));
	json_add(a, status, STR("allocatable"), resources(a));
	json_add(a, status, STR("conditions"), conditions_over(a, NULL, now));
	json_add(a, status, STR("addresses"), addresses_of(a, index, name));
	json_add(a, status, STR("nodeInfo"), node_info(a));
	return node;
}

struct json *fake_node_status(struct arena *a, const struct json *node, struct str now)
{
	struct json *list = conditions_over(a, json_gets(json_gets(node, "status"), "conditions"), now),
		    *changes = json_object(a);
	if (!list || json_meta_is_deleting(json_gets(node, "metadata"))) {
		return NULL;
	}
	json_add(a, changes, STR("conditions"), list);
	return changes;
}

/* ---- signs of life ---- */

bool fake_node_is_missed(const struct json *node)
{
	const struct json *ready = condition_find(json_gets(json_gets(node, "status"), "conditions"), "Ready");
	return str_is(member_text(ready, "status"), "Unknown");
}

struct json *fake_node_renewal(struct arena *a, struct str renewed)
{
	struct json *lease = json_object(a), *spec = json_object(a);
	json_add(a, lease, STR("spec"), spec);
	json_add(a, spec, STR("renewTime"), json_string(a, renewed));
	return lease;
}

struct json *fake_node_lease(struct arena *a, struct str name, struct str renewed)
{
	struct json *lease = fake_node_renewal(a, renewed), *spec = json_gets(lease, "spec"), *meta = json_object(a);
	add(a, lease, "apiVersion", "coordination.k8s.io/v1");
	add(a, lease, "kind", "Lease");
	json_add(a, lease, STR("metadata"), meta);
	json_add(a, meta, STR("name"), json_string(a, name));
	json_add(a, spec, STR("holderIdentity"), json_string(a, name));
	json_add(a, spec, STR("leaseDurationSeconds"), json_int(a, LEASE_S));
	return lease;
}
