/* PersistentVolume: storage that is there, for a claim to be bound to. At kube-apiserver admission gives it the finalizer
 * kubernetes.io/pv-protection; here no controller would take that off, so nobody gets it. */
#include "api/cluster/volume_modes.h"
#include "api/cluster/volume_rules.h"
#include "api/cluster/volume_schema.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"

static const struct field volume_fields[] = {
	OBJECT_FIELDS,
	{"spec", &type_volume_spec, FIELD_ALWAYS | FIELD_NUMBER(2), "Which storage it is, and how it may be used.", NULL, NULL},
	{"status", &type_volume_status, FIELD_ALWAYS | FIELD_NUMBER(3), "What became of it.", NULL, NULL},
	{0},
};

static const struct type volume_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.PersistentVolume",
	.go_type = "v1.PersistentVolume",
	.doc = "Storage that is there, for a claim to be bound to.",
	.fields = volume_fields,
};

static const struct json *spec_of(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

static const struct json *status_of(const struct object *o)
{
	return json_gets(o->fields, "status");
}

static void write_capacity(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *size = json_gets(json_gets(spec_of(o), "capacity"), "storage");
	json_encode_string(out, size ? json_text(size) : STR("0"));
}

static void write_access_modes(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	volume_modes_write(json_gets(spec_of(o), "accessModes"), out);
}

static void write_policy(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(spec_of(o), "persistentVolumeReclaimPolicy"));
}

static void write_status(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, meta_is_deleting(&o->meta) ? STR("Terminating") : member_text(status_of(o), "phase"));
}

static void write_claim(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *claim = json_gets(spec_of(o), "claimRef");
	struct buf text;
	buf_init(&text, TEXT_MAX);
	if (claim) {
		buf_printf(&text, STR_FMT "/" STR_FMT, STR_ARG(member_text(claim, "namespace")),
			STR_ARG(member_text(claim, "name")));
	}
	json_encode_string(out, buf_str(&text));
	buf_done(&text);
}

static void write_class(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *older = json_gets(o->meta.annotations, "volume.beta.kubernetes.io/storage-class");
	json_encode_string(out, older ? json_text(older) : member_text(spec_of(o), "storageClassName"));
}

static void write_attributes_class(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *class = json_gets(spec_of(o), "volumeAttributesClassName");
	json_encode_string(out, class ? json_text(class) : STR("<unset>"));
}

static void write_reason(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(status_of(o), "reason"));
}

static void write_mode(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(spec_of(o), "volumeMode"));
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Capacity", "string", "", "How large the volume is.", 0, write_capacity, false},
	{"Access Modes", "string", "", "How it can be mounted.", 0, write_access_modes, false},
	{"Reclaim Policy", "string", "", "What becomes of it when its claim goes.", 0, write_policy, false},
	{"Status", "string", "", "What became of it.", 0, write_status, false},
	{"Claim", "string", "", "The claim to which it is bound, or is to be.", 0, write_claim, false},
	{"StorageClass", "string", "", "StorageClass of the pv", 0, write_class, false},
	{"VolumeAttributesClass", "string", "", "VolumeAttributesClass of the pv", 0, write_attributes_class, false},
	{"Reason", "string", "", "Why it is in that state.", 0, write_reason, false},
	COLUMN_AGE,
	{"VolumeMode", "string", "", "Whether it is a file system or a block device.", 1, write_mode, false},
};

static const struct subresource subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, NULL, resets_spec, false, false, NULL},
};

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.PersistentVolume", .standalone_only = true},
};

static struct kind persistentvolume = {
	.kind = "PersistentVolume",
	.list_kind = "PersistentVolumeList",
	.resource = "persistentvolumes",
	.singular = "persistentvolume",
	.short_names = (const char *const[]){"pv", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &volume_type,
	.doc = "Storage that is there, for a claim to be bound to.",
	.unconditional_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.reset_fields = resets_status,
	.prepare_create = volume_prepare_create,
	.prepare_update = keep_status,
	.prepare_status = volume_prepare_status,
	.validate = volume_validate,
	.validate_update = volume_validate_update,
	.warn = volume_warn,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(persistentvolume)
