/* PersistentVolumeClaim: storage that is asked for; who provides it binds a volume to it. */
#include "api/cluster/volume_modes.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/pod/claim_validate.h"
#include "api/pod/pod_schema.h"
#include "api/rules/spec_status.h"

static const struct field claim_fields[] = {
	OBJECT_FIELDS,
	{"spec", &type_claim_spec, FIELD_ALWAYS | FIELD_NUMBER(2), "What is asked for.", NULL, NULL},
	{"status", &type_claim_status, FIELD_ALWAYS | FIELD_NUMBER(3), "What became of it.", NULL, NULL},
	{0},
};

static const struct type claim_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.PersistentVolumeClaim",
	.go_type = "v1.PersistentVolumeClaim",
	.doc = "Storage that is asked for, and the volume that was bound.",
	.fields = claim_fields,
};

static const struct json *spec_of(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

static const struct json *status_of(const struct object *o)
{
	return json_gets(o->fields, "status");
}

static bool is_local_source(const struct json *source)
{
	static const char snapshots[] = "snapshot.storage.k8s.io";
	struct str group = member_text(source, "apiGroup"), kind = member_text(source, "kind");
	return (!group.n && str_is(kind, "PersistentVolumeClaim")) ||
		(str_is(group, snapshots) && str_is(kind, "VolumeSnapshot"));
}

/* dataSource is the older name of dataSourceRef: each stands for the other where that is absent, and what it never could say is dropped. */
static void mirror_sources(struct object *o, struct arena *a)
{
	struct json *spec = json_gets(o->fields, "spec"), *source = json_gets(spec, "dataSource"),
		    *ref = json_gets(spec, "dataSourceRef");
	if (source && !ref && !is_local_source(source)) {
		spec = schema_with(&type_claim_spec, spec, "dataSource", NULL, a);
	} else if (source && !ref) {
		spec = schema_with(&type_claim_spec, spec, "dataSourceRef", source, a);
	} else if (!source && ref && !member_text(ref, "namespace").n) {
		spec = schema_with(&type_claim_spec, spec, "dataSource", ref, a);
	}
	json_set(a, o->fields, STR("spec"), spec);
}

static void prepare_create(struct object *o, struct arena *a)
{
	struct json *status = json_object(a);
	json_add(a, status, STR("phase"), json_string(a, STR("Pending")));
	json_set(a, o->fields, STR("status"), status);
	mirror_sources(o, a);
	/* In kube-apiserver the admission plugin StorageObjectInUseProtection does so, which is
	 * on by default. */
	meta_add_finalizer(&o->meta, a, STR("kubernetes.io/pvc-protection"));
}

static void prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	keep_status(o, old, a);
	mirror_sources(o, a);
}

static void write_status(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, meta_is_deleting(&o->meta) ? STR("Terminating") : member_text(status_of(o), "phase"));
}

static void write_volume(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(spec_of(o), "volumeName"));
}

static void write_capacity(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *capacity = json_gets(json_gets(status_of(o), "capacity"), "storage");
	bool is_bound = member_text(spec_of(o), "volumeName").n > 0;
	json_encode_string(out, !is_bound ? STR("") : capacity ? json_text(capacity) : STR("0"));
}

static void write_access_modes(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	bool is_bound = member_text(spec_of(o), "volumeName").n > 0;
	volume_modes_write(is_bound ? json_gets(status_of(o), "accessModes") : NULL, out);
}

static void write_class(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *older = json_gets(o->meta.annotations, "volume.beta.kubernetes.io/storage-class");
	json_encode_string(out, older ? json_text(older) : member_text(spec_of(o), "storageClassName"));
}

static void write_or_unset(const struct json *text, struct buf *out)
{
	json_encode_string(out, text ? json_text(text) : STR("<unset>"));
}

static void write_attributes_class(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	write_or_unset(json_gets(spec_of(o), "volumeAttributesClassName"), out);
}

static void write_volume_mode(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	write_or_unset(json_gets(spec_of(o), "volumeMode"), out);
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Status", "string", "", "What became of the claim.", 0, write_status, false},
	{"Volume", "string", "", "The volume that is bound.", 0, write_volume, false},
	{"Capacity", "string", "", "How large the bound volume is.", 0, write_capacity, false},
	{"Access Modes", "string", "", "How the bound volume can be mounted.", 0, write_access_modes, false},
	{"StorageClass", "string", "", "StorageClass of the pvc", 0, write_class, false},
	{"VolumeAttributesClass", "string", "", "VolumeAttributesClass of the pvc", 0, write_attributes_class, false},
	COLUMN_AGE,
	{"VolumeMode", "string", "", "Whether it is a file system or a block device.", 1, write_volume_mode, false},
};

static const struct subresource subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, claim_validate_status, resets_spec, false, false, NULL},
};

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.PersistentVolumeClaim", .standalone_only = true},
};

static struct kind persistentvolumeclaim = {
	.kind = "PersistentVolumeClaim",
	.list_kind = "PersistentVolumeClaimList",
	.resource = "persistentvolumeclaims",
	.singular = "persistentvolumeclaim",
	.short_names = (const char *const[]){"pvc", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &claim_type,
	.doc = "Storage that is asked for.",
	.unconditional_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.reset_fields = resets_status,
	.prepare_create = prepare_create,
	.prepare_update = prepare_update,
	.validate = claim_validate,
	.validate_update = claim_validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(persistentvolumeclaim)
