/* StorageClass, PersistentVolume and PersistentVolumeClaim: a sort of storage, storage that is there, and storage that is asked for. */
#include "api/core/pod_validate.h"
#include "api/core/volume_rules.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/rules/where.h"
#include "api/upstream/upstream.h"

#include <assert.h>
#include <stdlib.h>

/* StorageClass: a sort of storage, and who makes volumes of it. All but what may be mounted or grown is set once. */

static const struct json *member(const struct object *o, const char *name)
{
	return json_gets(o->fields, name);
}

static void check_provisioner(const struct object *o, struct field_errors *errors)
{
	struct str name = json_text(member(o, "provisioner"));
	char *lower = arena_text(errors->arena, name.n);
	for (size_t i = 0; i < name.n; i++) {
		lower[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] - 'A' + 'a' : name.p[i]);
	}
	if (name.n) {
		check_text(errors, WHERE(NULL, "provisioner"), (struct str){lower, name.n}, validate_qualified_name);
	} else {
		refuse_absent(errors, WHERE(NULL, "provisioner"), "");
	}
}

static void check_parameters(const struct object *o, struct field_errors *errors)
{
	/* Parameters of a StorageClass: upstream's maxProvisionerParameterLen; more are refused. */
	enum { COUNT_MAX = 512, SIZE_MAX_BYTES = 256 << 10 };
	const struct json *parameters = member(o, "parameters");
	size_t n_bytes = 0;
	if (parameters && parameters->n > COUNT_MAX) {
		field_too_long(errors, STR("parameters"), COUNT_MAX);
		return;
	}
	for (uint32_t i = 0; parameters && i < parameters->n; i++) {
		struct str name = parameters->members[i].name;
		if (!name.n) {
			refuse_text(errors, WHERE(NULL, "parameters"), name, "field can not be empty.");
		}
		n_bytes += name.n + json_text(parameters->members[i].value).n;
	}
	if (n_bytes > SIZE_MAX_BYTES) {
		field_too_long(errors, STR("parameters"), SIZE_MAX_BYTES);
	}
}

static void check_values(const struct where *at, const struct json *values, struct field_errors *errors)
{
	struct map seen;
	struct json *value;
	if (!list_item(values, 0)) {
		refuse_absent(errors, at, "");
	}
	map_init(&seen, json_is(values, JSON_ARRAY) ? values->n : 0);
	for (uint32_t i = 0; (value = list_item(values, i)); i++) {
		if (map_get(&seen, json_text(value))) {
			refuse_duplicate(errors, WHERE_ITEM(at, i), json_text(value));
		}
		map_set(&seen, json_text(value), value, NULL);
	}
	map_done(&seen);
}

static void check_term(const struct where *at, const struct json *term, struct field_errors *errors)
{
	const struct json *requirements = json_gets(term, "matchLabelExpressions");
	struct json *requirement;
	struct map seen;
	map_init(&seen, member_count(term, "matchLabelExpressions"));
	for (uint32_t i = 0; (requirement = list_item(requirements, i)); i++) {
		const struct where *item = WHERE_ITEM(WHERE(at, "matchLabelExpressions"), i);
		struct str key = member_text(requirement, "key");
		check_values(WHERE(item, "values"), json_gets(requirement, "values"), errors);
		check_text(errors, WHERE(item, "key"), key, validate_qualified_name);
		if (map_get(&seen, key)) {
			refuse_duplicate(errors, WHERE(item, "key"), key);
		}
		map_set(&seen, key, requirement, NULL);
	}
	map_done(&seen);
}

static int compare_by_key(const void *x, const void *y)
{
	const struct json *const *one = x, *const *other = y;
	return str_cmp(member_text(*one, "key"), member_text(*other, "key"));
}

/* Gives all spellings of a term one text: neither the order of labels nor that of values means
 * anything. */
static struct str term_text(const struct json *term, struct arena *a)
{
	uint32_t n = member_count(term, "matchLabelExpressions");
	const struct json **sorted = arena_array(a, const struct json *, n + 1);
	struct buf text;
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = json_gets(term, "matchLabelExpressions")->items[i];
	}
	qsort(sorted, n, sizeof(*sorted), compare_by_key);
	buf_init(&text, (size_t)8 << 20);
	for (uint32_t i = 0; i < n; i++) {
		const struct json *values = json_gets(sorted[i], "values");
		uint32_t n_values = member_count(sorted[i], "values");
		struct str *texts = arena_array(a, struct str, n_values + 1);
		for (uint32_t k = 0; k < n_values; k++) {
			texts[k] = json_text(values->items[k]);
		}
		str_sort(texts, n_values);
		json_encode_string(&text, member_text(sorted[i], "key"));
		for (uint32_t k = 0; k < n_values; k++) {
			json_encode_string(&text, texts[k]);
		}
		buf_addc(&text, ';');
	}
	struct str all = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return all;
}

/* A term without labels is a duplicate, too: upstream compares it with terms that are not there. */
static void check_topologies(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "allowedTopologies");
	const struct json *terms = member(o, "allowedTopologies");
	struct json *term;
	struct map seen;
	map_init(&seen, json_is(terms, JSON_ARRAY) ? terms->n : 0);
	for (uint32_t i = 0; (term = list_item(terms, i)); i++) {
		struct str text = term_text(term, errors->arena);
		check_term(WHERE_ITEM(at, i), term, errors);
		if (!text.n || map_get(&seen, text)) {
			refuse_duplicate(errors, WHERE(WHERE_ITEM(at, i), "matchLabelExpressions"), STR(""));
		}
		map_set(&seen, text, term, NULL);
	}
	map_done(&seen);
}

static void validate(const struct object *o, struct field_errors *errors)
{
	static const char *const policies[] = {"Delete", "Retain", NULL},
				 *const modes[] = {"Immediate", "WaitForFirstConsumer", NULL};
	struct str policy = json_text(member(o, "reclaimPolicy"));
	check_provisioner(o, errors);
	check_parameters(o, errors);
	if (policy.n) {
		check_choice(errors, WHERE(NULL, "reclaimPolicy"), policy, policies, false);
	}
	check_choice(errors, WHERE(NULL, "volumeBindingMode"), json_text(member(o, "volumeBindingMode")), modes, false);
	check_topologies(o, errors);
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const once_set[] = {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"};
	validate_meta(o->kind, &o->meta, errors);
	validate(o, errors);
	for (size_t i = 0; i < ARRAY_SIZE(once_set); i++) {
		const struct json *now = member(o, once_set[i]), *before = member(old, once_set[i]);
		if ((now || before) && !(now && before && json_equal(now, before))) {
			refuse_invalid(errors, WHERE_NAMED(NULL, once_set[i]), now, "field is immutable");
		}
	}
}

static void write_name(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	static const char *const marks[] = {
		"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"};
	bool is_default = false;
	struct buf text;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		is_default |= str_is(json_text(json_gets(o->meta.annotations, marks[i])), "true");
	}
	buf_init(&text, TEXT_MAX);
	buf_add_str(&text, o->meta.name);
	buf_adds(&text, is_default ? " (default)" : "");
	json_encode_string(out, buf_str(&text));
	buf_done(&text);
}

static void write_provisioner(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, json_text(member(o, "provisioner")));
}

static void class_write_policy(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, json_text(member(o, "reclaimPolicy")));
}

static void class_write_mode(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, json_text(member(o, "volumeBindingMode")));
}

static void write_expansion(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	buf_adds(out, member_is_true(o->fields, "allowVolumeExpansion") ? "true" : "false");
}

static const struct column class_columns[] = {
	{"Name", "string", "name", COLUMN_NAME_TEXT, 0, write_name, false},
	{"Provisioner", "string", "", "Who makes volumes of this class.", 0, write_provisioner, false},
	{"ReclaimPolicy", "string", "", "What becomes of volumes when their claims go.", 0, class_write_policy, false},
	{"VolumeBindingMode", "string", "", "When claims are bound.", 0, class_write_mode, false},
	{"AllowVolumeExpansion", "string", "", "Whether volumes may grow.", 0, write_expansion, false},
	COLUMN_AGE,
};

static const struct version class_versions[] = {
	{.group = "storage.k8s.io", .name = "v1", .definition = "io.k8s.api.storage.v1.StorageClass", .standalone_only = true},
};

static struct kind storageclass = {
	.kind = "StorageClass",
	.list_kind = "StorageClassList",
	.resource = "storageclasses",
	.singular = "storageclass",
	.short_names = (const char *const[]){"sc", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = class_versions,
	.n_versions = ARRAY_SIZE(class_versions),
	.type = &type_storage_storage_class,
	.doc = "A sort of storage, and who makes volumes of it.",
	.unconditional_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.retired_versions = (const char *const[]){"storage.k8s.io/v1beta1", NULL},
	.validate = validate,
	.validate_update = validate_update,
	.columns = class_columns,
	.n_columns = ARRAY_SIZE(class_columns),
};
KIND_REGISTER(storageclass)

/* PersistentVolume: storage that is there, for a claim to be bound to. At kube-apiserver admission gives it the finalizer
 * kubernetes.io/pv-protection; here no controller would take that off, so nobody gets it. */

static void volume_write_capacity(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *size = json_gets(json_gets(object_spec(o), "capacity"), "storage");
	json_encode_string(out, size ? json_text(size) : STR("0"));
}

static void volume_write_access_modes(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	volume_modes_write(json_gets(object_spec(o), "accessModes"), out);
}

static void volume_write_policy(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(object_spec(o), "persistentVolumeReclaimPolicy"));
}

static void write_status(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, meta_is_deleting(&o->meta) ? STR("Terminating") : member_text(object_status(o), "phase"));
}

static void write_claim(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *claim = json_gets(object_spec(o), "claimRef");
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
	json_encode_string(out, older ? json_text(older) : member_text(object_spec(o), "storageClassName"));
}

static void volume_write_attributes_class(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *class = json_gets(object_spec(o), "volumeAttributesClassName");
	json_encode_string(out, class ? json_text(class) : STR("<unset>"));
}

static void write_reason(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(object_status(o), "reason"));
}

static void volume_write_mode(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(object_spec(o), "volumeMode"));
}

static const struct column volume_columns[] = {
	COLUMN_NAME,
	{"Capacity", "string", "", "How large the volume is.", 0, volume_write_capacity, false},
	{"Access Modes", "string", "", "How it can be mounted.", 0, volume_write_access_modes, false},
	{"Reclaim Policy", "string", "", "What becomes of it when its claim goes.", 0, volume_write_policy, false},
	{"Status", "string", "", "What became of it.", 0, write_status, false},
	{"Claim", "string", "", "The claim to which it is bound, or is to be.", 0, write_claim, false},
	{"StorageClass", "string", "", "StorageClass of the pv", 0, write_class, false},
	{"VolumeAttributesClass", "string", "", "VolumeAttributesClass of the pv", 0, volume_write_attributes_class, false},
	{"Reason", "string", "", "Why it is in that state.", 0, write_reason, false},
	COLUMN_AGE,
	{"VolumeMode", "string", "", "Whether it is a file system or a block device.", 1, volume_write_mode, false},
};

static const struct subresource volume_subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, NULL, resets_spec, false, false, NULL},
};

static const struct version volume_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.PersistentVolume", .standalone_only = true},
};

static struct kind persistentvolume = {
	.kind = "PersistentVolume",
	.list_kind = "PersistentVolumeList",
	.resource = "persistentvolumes",
	.singular = "persistentvolume",
	.short_names = (const char *const[]){"pv", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = volume_versions,
	.n_versions = ARRAY_SIZE(volume_versions),
	.type = &type_persistent_volume,
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
	.columns = volume_columns,
	.n_columns = ARRAY_SIZE(volume_columns),
	.subresources = volume_subresources,
	.n_subresources = ARRAY_SIZE(volume_subresources),
};
KIND_REGISTER(persistentvolume)

/* PersistentVolumeClaim: storage that is asked for; who provides it binds a volume to it. */

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
	struct json *spec = object_spec(o), *source = json_gets(spec, "dataSource"), *ref = json_gets(spec, "dataSourceRef");
	if (source && !ref && !is_local_source(source)) {
		spec = schema_with(&type_persistent_volume_claim_spec, spec, "dataSource", NULL, a);
	} else if (source && !ref) {
		spec = schema_with(&type_persistent_volume_claim_spec, spec, "dataSourceRef", source, a);
	} else if (!source && ref && !member_text(ref, "namespace").n) {
		spec = schema_with(&type_persistent_volume_claim_spec, spec, "dataSource", ref, a);
	}
	object_set_spec(o, spec, a);
}

static void prepare_create(struct object *o, struct arena *a)
{
	struct json *status = json_object(a);
	json_add(a, status, STR("phase"), json_string(a, STR("Pending")));
	object_set_status(o, status, a);
	mirror_sources(o, a);
}

static void prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	keep_status(o, old, a);
	mirror_sources(o, a);
}

static void write_volume(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, member_text(object_spec(o), "volumeName"));
}

static void claim_write_capacity(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *capacity = json_gets(json_gets(object_status(o), "capacity"), "storage");
	bool is_bound = member_text(object_spec(o), "volumeName").n > 0;
	json_encode_string(out, !is_bound ? STR("") : capacity ? json_text(capacity) : STR("0"));
}

static void claim_write_access_modes(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	bool is_bound = member_text(object_spec(o), "volumeName").n > 0;
	volume_modes_write(is_bound ? json_gets(object_status(o), "accessModes") : NULL, out);
}

static void write_or_unset(const struct json *text, struct buf *out)
{
	json_encode_string(out, text ? json_text(text) : STR("<unset>"));
}

static void claim_write_attributes_class(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	write_or_unset(json_gets(object_spec(o), "volumeAttributesClassName"), out);
}

static void write_volume_mode(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	write_or_unset(json_gets(object_spec(o), "volumeMode"), out);
}

static const struct column claim_columns[] = {
	COLUMN_NAME,
	{"Status", "string", "", "What became of the claim.", 0, write_status, false},
	{"Volume", "string", "", "The volume that is bound.", 0, write_volume, false},
	{"Capacity", "string", "", "How large the bound volume is.", 0, claim_write_capacity, false},
	{"Access Modes", "string", "", "How the bound volume can be mounted.", 0, claim_write_access_modes, false},
	{"StorageClass", "string", "", "StorageClass of the pvc", 0, write_class, false},
	{"VolumeAttributesClass", "string", "", "VolumeAttributesClass of the pvc", 0, claim_write_attributes_class, false},
	COLUMN_AGE,
	{"VolumeMode", "string", "", "Whether it is a file system or a block device.", 1, write_volume_mode, false},
};

static const struct subresource claim_subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, claim_validate_status, resets_spec, false, false, NULL},
};

static const struct version claim_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.PersistentVolumeClaim", .standalone_only = true},
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
	.versions = claim_versions,
	.n_versions = ARRAY_SIZE(claim_versions),
	.type = &type_persistent_volume_claim,
	.doc = "Storage that is asked for.",
	.unconditional_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.reset_fields = resets_status,
	.prepare_create = prepare_create,
	.prepare_update = prepare_update,
	.validate = claim_validate,
	.validate_update = claim_validate_update,
	.columns = claim_columns,
	.n_columns = ARRAY_SIZE(claim_columns),
	.subresources = claim_subresources,
	.n_subresources = ARRAY_SIZE(claim_subresources),
};
KIND_REGISTER(persistentvolumeclaim)
