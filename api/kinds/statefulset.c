/* StatefulSet: pods that differ in their ordinals alone, each with a name and storage that it keeps. annals.dev/v1beta1 is the form of
 * seed 002, apps/v1 upstream's; docs/explanation/statefulsets.md says what each can say. */
#include "api/model/members.h"
#include "api/pod/pod_columns.h"
#include "api/rules/spec_status.h"
#include "api/workload/scale.h"
#include "api/workload/set_defaults.h"
#include "api/workload/set_doors.h"
#include "api/workload/set_schema.h"
#include "api/workload/set_validate.h"

static const struct json *spec_of(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

static size_t warn(const struct object *o, const struct object *old _unused_, struct str ret[KIND_WARNINGS_MAX])
{
	if (member_int(spec_of(o), "revisionHistoryLimit") >= 0) {
		return 0;
	}
	ret[0] = STR(
		"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended");
	return 1;
}

/* ---- columns ---- */

static void write_ready(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	int64_t ready = member_int(json_gets(o->fields, "status"), "readyReplicas");
	buf_printf(out, "\"%lld/%lld\"", (long long)ready, (long long)member_int(spec_of(o), "replicas"));
}

static void write_containers(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(spec_of(o), "template"), "name", out);
}

static void write_images(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(spec_of(o), "template"), "image", out);
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Ready", "string", "", "Number of the pod with ready state", 0, write_ready, false},
	COLUMN_AGE,
	{"Containers", "string", "", "Names of each container in the template.", 1, write_containers, false},
	{"Images", "string", "", "Images referenced by each container in the template.", 1, write_images, false},
};

/* ---- the kind ---- */

static const struct subresource subresources[] = {
	{.name = "status",
		.verbs = VERB_GET | VERB_UPDATE | VERB_PATCH,
		.merge = merge_status,
		.validate_update = set_validate_status,
		.reset_fields = resets_spec},
	{.name = "scale",
		.verbs = VERB_GET | VERB_UPDATE | VERB_PATCH,
		.validate_update = set_validate_scale,
		.view = &scale_view},
};

/* What is stored says annals.dev/v1beta1 and holds the hub form: the one version that both modes serve, and that loses nothing. */
static const struct door doors[] = {
	{.group = "annals.dev",
		.version = "v1beta1",
		.definition = "dev.annals.v1beta1.StatefulSet",
		.type = &type_set_beta,
		.from_hub = set_beta_from_hub,
		.to_hub = set_beta_to_hub},
	{.group = "apps",
		.version = "v1",
		.definition = "io.k8s.api.apps.v1.StatefulSet",
		.standalone_only = true,
		.type = &type_set_apps,
		.from_hub = set_apps_from_hub,
		.to_hub = set_apps_to_hub},
};

static struct kind statefulset = {
	.kind = "StatefulSet",
	.list_kind = "StatefulSetList",
	.resource = "statefulsets",
	.singular = "statefulset",
	.short_names = (const char *const[]){"sts", NULL},
	.categories = (const char *const[]){"all", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_LABEL,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &type_set,
	.doc = "Pods that differ in their ordinals alone, each with a name and storage that it keeps.",
	.unconditional_update = true,
	.retired_versions = (const char *const[]){"apps/v1beta1", "apps/v1beta2", NULL},
	.reset_fields = (const char *const[]){"status", "spec.templateGeneration", NULL},
	.set_defaults = set_set_defaults,
	.prepare_create = set_prepare_create,
	.prepare_update = set_prepare_update,
	.bumps_generation = bumps_generation_of_spec,
	.validate = set_validate,
	.validate_update = set_validate_update,
	.warn = warn,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(statefulset)
