/* Pod and PodTemplate: containers that run together on one node, and what pods made from a template are to be. */
#include "api/core/pod_columns.h"
#include "api/core/pod_defaults.h"
#include "api/core/pod_rules.h"
#include "api/core/pod_validate.h"
#include "api/model/kind.h"
#include "api/rules/spec_status.h"
#include "api/upstream/upstream.h"

#include <assert.h>

/* Pod: containers that run together on one node. `status` is the report of the node that runs
 * them. */

static bool pod_bumps_generation(const struct object *o, const struct object *old)
{
	assert(o->kind == old->kind);
	return !json_equal(object_spec(o), object_spec(old));
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
	const struct json *value = json_gets(object_spec(o), "hostNetwork");
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
	{.name = "binding", .verbs = VERB_CREATE, .extension = EXTENSION_BINDING, .view = &binding_view},
	{.name = "ephemeralcontainers",
		.verbs = VERB_GET | VERB_UPDATE | VERB_PATCH,
		.merge = pod_merge_ephemeral,
		.validate_update = pod_validate_ephemeral,
		.reset_fields = resets_status},
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, pod_merge_status, pod_validate_status, resets_spec, false, false, NULL},
};

static const struct version pod_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.Pod", .standalone_only = true},
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
	.versions = pod_versions,
	.n_versions = ARRAY_SIZE(pod_versions),
	.type = &type_pod,
	.doc = "Containers that run together on one node.",
	.unconditional_update = true,
	.delete_answers_object = true,
	.reset_fields = resets_status,
	.set_defaults = pod_set_defaults,
	.prepare_create = pod_prepare_create,
	.prepare_update = pod_prepare_update,
	.bumps_generation = pod_bumps_generation,
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

/* PodTemplate: what pods made from it are to be, kept by name. A StatefulSet's history may be carried by these. */

static const struct json *template_of(const struct object *o)
{
	return json_gets(o->fields, "template");
}

static void set_defaults(struct object *o, struct arena *a)
{
	json_set(a, o->fields, STR("template"), pod_template_defaults(template_of(o), a));
}

static bool template_bumps_generation(const struct object *o, const struct object *old)
{
	assert(o->kind == old->kind);
	return !json_equal(template_of(o), template_of(old));
}

static void validate(const struct object *o, struct field_errors *errors)
{
	pod_template_validate(WHERE(NULL, "template"), template_of(o), errors);
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	(void)old;
	validate(o, errors);
}

static void write_containers(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	pod_template_write(template_of(o), "name", out);
}

static void write_images(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	pod_template_write(template_of(o), "image", out);
}

static void write_labels(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	labels_write(json_gets(json_gets(template_of(o), "metadata"), "labels"), out);
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Containers", "string", "", "Names of each container in the template.", 0, write_containers, false},
	{"Images", "string", "", "Images referenced by each container in the template.", 0, write_images, false},
	{"Pod Labels", "string", "", "The labels for the pod template.", 0, write_labels, false},
};

static const struct version template_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.PodTemplate", .standalone_only = true},
};

static struct kind podtemplate = {
	.kind = "PodTemplate",
	.list_kind = "PodTemplateList",
	.resource = "podtemplates",
	.singular = "podtemplate",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = template_versions,
	.n_versions = ARRAY_SIZE(template_versions),
	.type = &type_pod_template,
	.doc = "What pods made from it are to be, kept by name.",
	.unconditional_update = true,
	.delete_answers_object = true,
	.set_defaults = set_defaults,
	.bumps_generation = template_bumps_generation,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};
KIND_REGISTER(podtemplate)
