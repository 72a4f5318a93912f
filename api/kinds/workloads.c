/* ReplicationController, ReplicaSet, Deployment and DaemonSet: workloads of which annals keeps the objects. Nobody here makes their pods
 * (docs/explanation/statefulsets.md: the one workload that is run). */
#include "api/core/pod_columns.h"
#include "api/model/members.h"
#include "api/rules/selector.h"
#include "api/rules/spec_status.h"
#include "api/upstream/upstream.h"
#include "api/workload/daemon_rules.h"
#include "api/workload/replica_rules.h"
#include "api/workload/scale.h"

/* ---- columns ---- */

static void write_replicas_wanted(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	buf_add_int(out, member_int(object_spec(o), "replicas"));
}

#define STATUS_CELL(name, member)                                                         \
	static void name(const struct object *o, int64_t now_s _unused_, struct buf *out) \
	{                                                                                 \
		buf_add_int(out, member_int(object_status(o), member));                   \
	}
STATUS_CELL(write_replicas, "replicas")
STATUS_CELL(write_replicas_ready, "readyReplicas")
STATUS_CELL(write_replicas_updated, "updatedReplicas")
STATUS_CELL(write_replicas_available, "availableReplicas")
STATUS_CELL(write_nodes_wanted, "desiredNumberScheduled")
STATUS_CELL(write_nodes, "currentNumberScheduled")
STATUS_CELL(write_nodes_ready, "numberReady")
STATUS_CELL(write_nodes_updated, "updatedNumberScheduled")
STATUS_CELL(write_nodes_available, "numberAvailable")

static void write_ready_of(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	int64_t ready = member_int(object_status(o), "readyReplicas"), wanted = member_int(object_spec(o), "replicas");
	buf_printf(out, "\"%lld/%lld\"", (long long)ready, (long long)wanted);
}

static void write_containers(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(object_spec(o), "template"), "name", out);
}

static void write_images(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(object_spec(o), "template"), "image", out);
}

static void write_label_selector(const struct object *o, struct str none, struct str invalid, struct buf *out)
{
	const struct json *given = json_gets(object_spec(o), "selector");
	struct label_selector selector;
	struct str problem, text = none;
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, TEXT_MAX);
	if (json_is(given, JSON_OBJECT)) {
		text = label_selector_read(&selector, given, &a, &problem) ? invalid : label_selector_string(&selector, &a);
	}
	json_encode_string(out, text.n ? text : none);
}

static void write_selector(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_label_selector(o, STR("<none>"), STR("<error>"), out);
}

static void write_deployment_selector(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_label_selector(o, STR(""), STR("<invalid>"), out);
}

static void write_selector_labels(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	labels_write(json_gets(object_spec(o), "selector"), out);
}

static void write_node_selector(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	labels_write(json_gets(json_gets(json_gets(object_spec(o), "template"), "spec"), "nodeSelector"), out);
}

#define COLUMNS_TEMPLATE(selector)                                                                                        \
	{"Containers", "string", "", "Names of each container in the template.", 1, write_containers, false},             \
		{"Images", "string", "", "Images referenced by each container in the template.", 1, write_images, false}, \
	{                                                                                                                 \
		"Selector", "string", "", "Labels of the pods.", 1, selector, false                                       \
	}

static const struct column replica_columns[] = {
	COLUMN_NAME,
	{"Desired", "integer", "", "How many pods there shall be.", 0, write_replicas_wanted, false},
	{"Current", "integer", "", "How many pods there are.", 0, write_replicas, false},
	{"Ready", "integer", "", "How many of them are ready.", 0, write_replicas_ready, false},
	COLUMN_AGE,
	COLUMNS_TEMPLATE(write_selector),
};

static const struct column controller_columns[] = {
	COLUMN_NAME,
	{"Desired", "integer", "", "How many pods there shall be.", 0, write_replicas_wanted, false},
	{"Current", "integer", "", "How many pods there are.", 0, write_replicas, false},
	{"Ready", "integer", "", "How many of them are ready.", 0, write_replicas_ready, false},
	COLUMN_AGE,
	COLUMNS_TEMPLATE(write_selector_labels),
};

static const struct column deployment_columns[] = {
	COLUMN_NAME,
	{"Ready", "string", "", "Number of the pod with ready state", 0, write_ready_of, false},
	{"Up-to-date", "string", "", "How many pods are of the present template.", 0, write_replicas_updated, false},
	{"Available", "string", "", "How many pods have been ready long enough.", 0, write_replicas_available, false},
	COLUMN_AGE,
	COLUMNS_TEMPLATE(write_deployment_selector),
};

static const struct column daemon_columns[] = {
	COLUMN_NAME,
	{"Desired", "integer", "", "How many nodes should run a pod.", 0, write_nodes_wanted, false},
	{"Current", "integer", "", "How many nodes run a pod and should.", 0, write_nodes, false},
	{"Ready", "integer", "", "How many nodes have a pod that is ready.", 0, write_nodes_ready, false},
	{"Up-to-date", "integer", "", "How many nodes have a pod of the present template.", 0, write_nodes_updated, false},
	{"Available", "integer", "", "How many nodes have a pod that has been ready long enough.", 0, write_nodes_available,
		false},
	{"Node Selector", "string", "", "Labels of the nodes.", 0, write_node_selector, false},
	COLUMN_AGE,
	COLUMNS_TEMPLATE(write_selector),
};

/* ---- subresources ---- */

enum { READ_AND_WRITE = VERB_GET | VERB_UPDATE | VERB_PATCH };

#define SUBRESOURCE_STATUS(rule)                                                                           \
	{                                                                                                  \
		.name = "status", .verbs = READ_AND_WRITE, .merge = merge_status, .validate_update = rule, \
		.reset_fields = resets_spec                                                                \
	}
#define SUBRESOURCE_SCALE(rule, shown)                                                           \
	{                                                                                        \
		.name = "scale", .verbs = READ_AND_WRITE, .validate_update = rule, .view = shown \
	}

/* ---- ReplicaSet ---- */

static const struct subresource replica_set_subresources[] = {
	SUBRESOURCE_STATUS(replica_set_validate_status),
	SUBRESOURCE_SCALE(replica_set_validate_update, &scale_view),
};

static const struct version replica_set_versions[] = {
	{.group = "apps", .name = "v1", .definition = "io.k8s.api.apps.v1.ReplicaSet", .standalone_only = true},
};

static struct kind replicaset = {
	.kind = "ReplicaSet",
	.list_kind = "ReplicaSetList",
	.resource = "replicasets",
	.singular = "replicaset",
	.short_names = (const char *const[]){"rs", NULL},
	.categories = (const char *const[]){"all", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = replica_set_versions,
	.n_versions = ARRAY_SIZE(replica_set_versions),
	.type = &type_apps_replica_set,
	.doc = "A number of equal pods. annals keeps it, and runs no pods of it.",
	.unconditional_update = true,
	.retired_versions = (const char *const[]){"extensions/v1beta1", "apps/v1beta2", NULL},
	.reset_fields = resets_status,
	.set_defaults = replica_set_set_defaults,
	.prepare_create = replica_set_prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = replica_set_validate,
	.validate_update = replica_set_validate_update,
	.warn = warn_of_name,
	.columns = replica_columns,
	.n_columns = ARRAY_SIZE(replica_columns),
	.subresources = replica_set_subresources,
	.n_subresources = ARRAY_SIZE(replica_set_subresources),
};
KIND_REGISTER(replicaset)

/* ---- Deployment ---- */

static const struct subresource deployment_subresources[] = {
	{.name = "status",
		.verbs = READ_AND_WRITE,
		.merge = deployment_merge_status,
		.validate_update = deployment_validate_status,
		.reset_fields = deployment_status_resets},
	SUBRESOURCE_SCALE(deployment_validate_update, &scale_view),
};

static const struct version deployment_versions[] = {
	{.group = "apps", .name = "v1", .definition = "io.k8s.api.apps.v1.Deployment", .standalone_only = true},
};

static struct kind deployment = {
	.kind = "Deployment",
	.list_kind = "DeploymentList",
	.resource = "deployments",
	.singular = "deployment",
	.short_names = (const char *const[]){"deploy", NULL},
	.categories = (const char *const[]){"all", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = deployment_versions,
	.n_versions = ARRAY_SIZE(deployment_versions),
	.type = &type_apps_deployment,
	.doc = "Equal pods, and how they are replaced by those of a new template. annals keeps it, and runs no pods of it.",
	.unconditional_update = true,
	.retired_versions = (const char *const[]){"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", NULL},
	.reset_fields = resets_status,
	.set_defaults = deployment_set_defaults,
	.prepare_create = deployment_prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = deployment_bumps_generation,
	.validate = deployment_validate,
	.validate_update = deployment_validate_update,
	.warn = warn_of_name,
	.columns = deployment_columns,
	.n_columns = ARRAY_SIZE(deployment_columns),
	.subresources = deployment_subresources,
	.n_subresources = ARRAY_SIZE(deployment_subresources),
};
KIND_REGISTER(deployment)

/* ---- DaemonSet ---- */

static const struct subresource daemon_set_subresources[] = {
	{.name = "status",
		.verbs = READ_AND_WRITE,
		.merge = daemon_set_merge_status,
		.validate_update = daemon_set_validate_status,
		.reset_fields = resets_spec},
};

static const struct version daemon_set_versions[] = {
	{.group = "apps", .name = "v1", .definition = "io.k8s.api.apps.v1.DaemonSet", .standalone_only = true},
};

static struct kind daemonset = {
	.kind = "DaemonSet",
	.list_kind = "DaemonSetList",
	.resource = "daemonsets",
	.singular = "daemonset",
	.short_names = (const char *const[]){"ds", NULL},
	.categories = (const char *const[]){"all", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = daemon_set_versions,
	.n_versions = ARRAY_SIZE(daemon_set_versions),
	.type = &type_apps_daemon_set,
	.doc = "One pod on each node, or on each of some nodes. annals keeps it, and runs no pods of it.",
	.unconditional_update = true,
	.retired_versions = (const char *const[]){"extensions/v1beta1", "apps/v1beta2", NULL},
	.reset_fields = resets_status,
	.set_defaults = daemon_set_set_defaults,
	.prepare_create = daemon_set_prepare_create,
	.prepare_update = daemon_set_prepare_update,
	.bumps_generation = bumps_generation_of_spec,
	.validate = daemon_set_validate,
	.validate_update = daemon_set_validate_update,
	.columns = daemon_columns,
	.n_columns = ARRAY_SIZE(daemon_columns),
	.subresources = daemon_set_subresources,
	.n_subresources = ARRAY_SIZE(daemon_set_subresources),
};
KIND_REGISTER(daemonset)

/* ---- ReplicationController ---- */

static struct str select_replicas(const struct object *o, struct arena *a)
{
	return arena_printf(a, "%lld", (long long)member_int(object_status(o), "replicas"));
}

static const struct selectable_field controller_selectable[] = {
	{"status.replicas", select_replicas, false},
};

static const struct subresource controller_subresources[] = {
	SUBRESOURCE_STATUS(replica_set_validate_status),
	SUBRESOURCE_SCALE(replication_controller_validate_update, &scale_labels_view),
};

static const struct version controller_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.ReplicationController", .standalone_only = true},
};

static struct kind replicationcontroller = {
	.kind = "ReplicationController",
	.list_kind = "ReplicationControllerList",
	.resource = "replicationcontrollers",
	.singular = "replicationcontroller",
	.short_names = (const char *const[]){"rc", NULL},
	.categories = (const char *const[]){"all", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.dependents = DEPENDENTS_ORPHANED,
	.versions = controller_versions,
	.n_versions = ARRAY_SIZE(controller_versions),
	.type = &type_replication_controller,
	.doc = "A number of equal pods, as before there were ReplicaSets. annals keeps it, and runs no pods of it.",
	.unconditional_update = true,
	.reset_fields = resets_status,
	.set_defaults = replication_controller_set_defaults,
	.prepare_create = replication_controller_prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = replication_controller_validate,
	.validate_update = replication_controller_validate_update,
	.warn = warn_of_name,
	.columns = controller_columns,
	.n_columns = ARRAY_SIZE(controller_columns),
	.selectable = controller_selectable,
	.n_selectable = ARRAY_SIZE(controller_selectable),
	.subresources = controller_subresources,
	.n_subresources = ARRAY_SIZE(controller_subresources),
};
KIND_REGISTER(replicationcontroller)
