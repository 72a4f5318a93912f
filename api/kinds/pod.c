/* Pod: containers that run together on one node. Who runs them tells in `status` what became of them. */
#include "api/model/kind.h"
#include "api/pod/binding.h"
#include "api/pod/pod_columns.h"
#include "api/pod/pod_rules.h"
#include "api/pod/pod_schema.h"
#include "api/pod/pod_validate.h"
#include "api/rules/spec_status.h"

static const struct field pod_fields[] = {
	OBJECT_FIELDS,
	{"spec", &type_pod_spec, FIELD_ALWAYS | FIELD_NUMBER(2), "What the pod is to be.", NULL, NULL},
	{"status", &type_pod_status, FIELD_ALWAYS | FIELD_NUMBER(3), "What became of it.", NULL, NULL},
	{0},
};

static const struct type pod_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.Pod",
	.go_type = "v1.Pod",
	.doc = "Containers that run together on one node and share its network and volumes.",
	.fields = pod_fields,
};

static bool bumps_generation(const struct object *o, const struct object *old)
{
	return !json_equal(json_gets(o->fields, "spec"), json_gets(old->fields, "spec"));
}

static struct str select_text(const struct object *o, const char *part, const char *name)
{
	return json_text(json_gets(json_gets(o->fields, part), name));
}

static struct str select_node(const struct object *o, struct arena *a)
{
	(void)a;
	return select_text(o, "spec", "nodeName");
}

static struct str select_restart_policy(const struct object *o, struct arena *a)
{
	(void)a;
	return select_text(o, "spec", "restartPolicy");
}

static struct str select_scheduler(const struct object *o, struct arena *a)
{
	(void)a;
	return select_text(o, "spec", "schedulerName");
}

static struct str select_service_account(const struct object *o, struct arena *a)
{
	(void)a;
	return select_text(o, "spec", "serviceAccountName");
}

static struct str select_host_network(const struct object *o, struct arena *a)
{
	(void)a;
	const struct json *value = json_gets(json_gets(o->fields, "spec"), "hostNetwork");
	return value && value->boolean ? STR("true") : STR("false");
}

static struct str select_phase(const struct object *o, struct arena *a)
{
	(void)a;
	return select_text(o, "status", "phase");
}

static struct str select_ip(const struct object *o, struct arena *a)
{
	(void)a;
	return select_text(o, "status", "podIP");
}

static struct str select_nominated_node(const struct object *o, struct arena *a)
{
	(void)a;
	return select_text(o, "status", "nominatedNodeName");
}

static const struct selectable_field selectable[] = {
	{"spec.nodeName", select_node, false},
	{"spec.restartPolicy", select_restart_policy, false},
	{"spec.schedulerName", select_scheduler, false},
	{"spec.serviceAccountName", select_service_account, false},
	{"spec.hostNetwork", select_host_network, false},
	{"status.phase", select_phase, false},
	{"status.podIP", select_ip, false},
	{"status.nominatedNodeName", select_nominated_node, false},
};

static const struct subresource subresources[] = {
	{.name = "binding", .verbs = VERB_CREATE, .view = &binding_view},
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, pod_merge_status, pod_validate_status, resets_spec, false, false, NULL},
};

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.Pod", .standalone_only = true},
};

static struct kind pod = {
	.kind = "Pod",
	.list_kind = "PodList",
	.resource = "pods",
	.singular = "pod",
	.short_names = (const char *const[]){"po", NULL},
	.categories = (const char *const[]){"all", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &pod_type,
	.doc = "Containers that run together on one node.",
	.unconditional_update = true,
	.delete_answers_object = true,
	.reset_fields = resets_status,
	.set_defaults = pod_set_defaults,
	.prepare_create = pod_prepare_create,
	.prepare_update = pod_prepare_update,
	.bumps_generation = bumps_generation,
	.validate = pod_validate,
	.validate_update = pod_validate_update,
	.grace_period = pod_grace_period,
	.columns = pod_columns,
	.n_columns = POD_COLUMNS,
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(pod)
