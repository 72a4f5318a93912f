/* StatefulSet and ControllerRevision, the kinds of the group apps. */
#include "api/core/pod_columns.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"
#include "api/workload/scale.h"
#include "api/workload/set_defaults.h"
#include "api/workload/set_forms.h"
#include "api/workload/set_validate.h"

#include <assert.h>

/* StatefulSet: pods that differ in their ordinals alone, each with a name and storage that it
 * keeps. annals.dev/v1beta1 is this server's own form, apps/v1 is upstream's;
 * docs/explanation/statefulsets.md says what each can express. */

static size_t warn(const struct object *o, const struct object *old _unused_, struct str ret[KIND_WARNINGS_MAX])
{
	if (member_int(object_spec(o), "revisionHistoryLimit") >= 0) {
		return 0;
	}
	ret[0] = STR(
		"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended");
	return 1;
}

/* ---- columns of StatefulSets ---- */

static void write_ready(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	int64_t ready = member_int(object_status(o), "readyReplicas");
	buf_printf(out, "\"%lld/%lld\"", (long long)ready, (long long)member_int(object_spec(o), "replicas"));
}

static void write_containers(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(object_spec(o), "template"), "name", out);
}

static void write_images(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(object_spec(o), "template"), "image", out);
}

static const struct column set_columns[] = {
	COLUMN_NAME,
	{"Ready", "string", "", "Number of the pod with ready state", 0, write_ready, false},
	COLUMN_AGE,
	{"Containers", "string", "", "Names of each container in the template.", 1, write_containers, false},
	{"Images", "string", "", "Images referenced by each container in the template.", 1, write_images, false},
};

/* ---- the kind ---- */

static const struct subresource set_subresources[] = {
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

/* Stored objects say annals.dev/v1beta1 and hold the hub form: no other version is served in both
 * modes and loses nothing. */
static const struct version set_versions[] = {
	{.group = "annals.dev",
		.name = "v1beta1",
		.definition = "dev.annals.v1beta1.StatefulSet",
		.type = &type_set_beta,
		.from_hub = set_beta_from_hub,
		.to_hub = set_beta_to_hub},
	{.group = "apps",
		.name = "v1",
		.definition = "io.k8s.api.apps.v1.StatefulSet",
		.standalone_only = true,
		.type = &type_apps_stateful_set,
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
	.versions = set_versions,
	.n_versions = ARRAY_SIZE(set_versions),
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
	.columns = set_columns,
	.n_columns = ARRAY_SIZE(set_columns),
	.subresources = set_subresources,
	.n_subresources = ARRAY_SIZE(set_subresources),
};
KIND_REGISTER(statefulset)

/* ControllerRevision: one state of a controller's object, kept for history. `data` never changes once written (an admission rule). */

/* The label counts only at creation: the creator decides on protection once and for all. */
static void protect(struct object *o, struct arena *a)
{
	if (str_is(json_text(json_gets(o->meta.labels, "annals.dev/protect")), "true")) {
		meta_add_finalizer(&o->meta, a, FINALIZER_PROTECTION);
	}
}

/* A revision without a controller is in no history: numbers count among one owner's revisions. */
static bool find_place(const struct object *o, struct history_place *ret)
{
	struct owner_reference owner;

	if (!meta_controller(&o->meta, &owner)) {
		return false;
	}
	ret->owner = owner.uid;
	ret->number = 0;
	json_to_int64(json_gets(o->fields, "revision"), &ret->number);
	return true;
}

/* Recorded states are alike, and there are many. Other controllers keep few. */
static bool is_recorded(const struct object *o)
{
	struct owner_reference owner;

	return meta_controller(&o->meta, &owner) && history_is_owner(owner.api_version, owner.kind);
}

static void validate_revision(const struct object *o, struct field_errors *errors)
{
	const struct json *revision = json_gets(o->fields, "revision");
	int64_t n;
	if (json_to_int64(revision, &n) && n < 0) {
		field_invalid(errors, STR("revision"), revision, "must be greater than or equal to 0");
	}
}

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_revision(o, errors);

	const struct json *data = json_gets(o->fields, "data");
	if (!data || data->kind == JSON_NULL) {
		field_required(errors, STR("data"), "data is mandatory");
	} else if (data->kind != JSON_OBJECT) {
		field_required(errors, STR("data"), "data must be a valid JSON object");
	}
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	(void)old;
	validate_meta(o->kind, &o->meta, errors);
	validate_revision(o, errors);
}

static void write_controller(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct owner_reference owner;
	struct str group, version;
	if (!meta_controller(&o->meta, &owner)) {
		json_encode_string(out, STR("<none>"));
		return;
	}
	group = str_cut(owner.api_version, '/', &group, &version) ? group : STR("");
	column_write_object(owner.kind, group, owner.name, out);
}

static void write_revision(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode(out, json_gets(o->fields, "revision"));
}

static void write_size(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct buf data;
	buf_init(&data, TEXT_MAX);
	json_encode(&data, json_gets(o->fields, "data"));
	buf_add_int(out, (int64_t)data.n);
	buf_done(&data);
}

/* upstream declares the number a string, too */
static const struct column revision_columns[] = {
	COLUMN_NAME,
	{"Controller", "string", "", "Controller of the object", 0, write_controller, false},
	{"Revision", "string", "", "Revision indicates the revision of the state represented by Data.", 0, write_revision,
		false},
	{"Live", "string", "", "Whether a pod or a Dependent was made from it.", 0, column_write_live, true},
	{"Size", "integer", "", "Size of the data in bytes.", 0, write_size, true},
	COLUMN_AGE,
};

static struct str select_revision(const struct object *o, struct arena *a)
{
	(void)a;
	return json_text(json_gets(o->fields, "revision"));
}

static struct str select_controller_uid(const struct object *o, struct arena *a)
{
	(void)a;
	struct owner_reference owner;
	return meta_controller(&o->meta, &owner) ? owner.uid : (struct str){0};
}

static struct str select_controller_name(const struct object *o, struct arena *a)
{
	(void)a;
	struct owner_reference owner;
	return meta_controller(&o->meta, &owner) ? owner.name : (struct str){0};
}

static struct str data_text(const struct object *o, const char *name)
{
	const struct json *v = json_gets(json_gets(o->fields, "data"), name);
	return json_is(v, JSON_STRING) ? json_text(v) : (struct str){0};
}

static struct str select_data_api_version(const struct object *o, struct arena *a)
{
	(void)a;
	return data_text(o, "apiVersion");
}

static struct str select_data_kind(const struct object *o, struct arena *a)
{
	(void)a;
	return data_text(o, "kind");
}

static const struct selectable_field selectable[] = {
	{"revision", select_revision, true},
	{"controller.uid", select_controller_uid, true},
	{"controller.name", select_controller_name, true},
	{"data.apiVersion", select_data_api_version, true},
	{"data.kind", select_data_kind, true},
};

static const struct subresource revision_subresources[] = {
	{.name = "diff", .verbs = VERB_GET, .annals_only = true, .extension = EXTENSION_DIFF},
};

static const struct version revision_versions[] = {
	{.group = "annals.dev", .name = "v1", .definition = "dev.annals.v1.ControllerRevision"},
	{.group = "annals.dev",
		.name = "v1beta1",
		.definition = "dev.annals.v1beta1.ControllerRevision",
		.deprecation = "annals.dev/v1beta1 ControllerRevision is deprecated; use annals.dev/v1 ControllerRevision"},
	{.group = "apps", .name = "v1", .definition = "io.k8s.api.apps.v1.ControllerRevision", .standalone_only = true},
};

static struct kind controllerrevision = {
	.kind = "ControllerRevision",
	.list_kind = "ControllerRevisionList",
	.resource = "controllerrevisions",
	.singular = "controllerrevision",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = revision_versions,
	.n_versions = ARRAY_SIZE(revision_versions),
	.type = &type_apps_controller_revision,
	.doc = "One state of a controller's object, kept for history.",
	.unconditional_update = true,
	.keeps_generation = true,
	.prepare_create = protect,
	.retired_versions = (const char *const[]){"apps/v1beta1", "apps/v1beta2", NULL},
	.history = find_place,
	.is_packed = is_recorded,
	.validate = validate,
	.validate_update = validate_update,
	.columns = revision_columns,
	.n_columns = ARRAY_SIZE(revision_columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = revision_subresources,
	.n_subresources = ARRAY_SIZE(revision_subresources),
};
KIND_REGISTER(controllerrevision)
