/* Validates claims of storage and the volumes of a pod. For a particular storage system, only the
 * fields that it requires are checked. Rules, order and sentences are those of
 * k8s.io/kubernetes/pkg/apis/core/validation. */
#include "api/core/pod_validate.h"
#include "api/core/pod_validate_parts.h"
#include "api/model/members.h"
#include "api/model/quantity.h"
#include "api/rules/validate.h"

#include <assert.h>

/* ---- claims ---- */

void check_access_modes(const struct where *at, const struct json *modes, const char *absent, struct field_errors *errors)
{
	static const char *const supported[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", NULL};
	bool is_single = false, is_shared = false;
	const struct json *mode;
	if (!list_item(modes, 0)) {
		refuse_absent(errors, at, absent);
	}
	for (uint32_t i = 0; (mode = list_item(modes, i)); i++) {
		size_t n_before = errors->n;
		check_choice(errors, at, json_text(mode), supported, false);
		bool is_known = errors->n == n_before, is_one_pod = str_is(json_text(mode), "ReadWriteOncePod");
		is_single |= is_one_pod;
		is_shared |= is_known && !is_one_pod;
	}
	if (is_single && is_shared) {
		refuse_forbidden(errors, at, "may not use ReadWriteOncePod with other access modes");
	}
}

static const struct json *requested(const struct json *spec)
{
	return json_gets(json_gets(json_gets(spec, "resources"), "requests"), "storage");
}

static void check_size(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	const struct json *size = requested(spec);
	struct quantity q;
	if (!size) {
		refuse_absent(errors, at, "");
	} else if (!quantity_parse(&q, json_text(size), errors->arena) && quantity_sign(&q) <= 0) {
		refuse_invalid(errors, at, size, "must be greater than zero");
	}
}

static void claim_check_source(const struct where *at, const struct json *source, struct field_errors *errors)
{
	struct str group = member_text(source, "apiGroup"), kind = member_text(source, "kind");
	if (!source) {
		return;
	}
	check_present(errors, WHERE(at, "name"), member_text(source, "name"));
	check_present(errors, WHERE(at, "kind"), kind);
	if (!group.n && !str_is(kind, "PersistentVolumeClaim")) {
		refuse_text(errors, at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
	} else if (group.n) {
		check_text(errors, WHERE(at, "apiGroup"), group, validate_dns_subdomain);
	}
}

void claim_spec_validate(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	static const char *const volume_modes[] = {"Block", "Filesystem", NULL};
	static const char *const classes[] = {"storageClassName", "volumeAttributesClassName"};
	check_access_modes(
		WHERE(at, "accessModes"), json_gets(spec, "accessModes"), "at least 1 access mode is required", errors);
	check_label_selector(errors, WHERE(at, "selector"), json_gets(spec, "selector"));
	check_size(WHERE_KEY(WHERE(at, "resources"), STR("storage")), spec, errors);
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (member_text(spec, classes[i]).n) {
			check_text(errors, WHERE_NAMED(at, classes[i]), member_text(spec, classes[i]), validate_dns_subdomain);
		}
	}
	check_choice(errors, WHERE(at, "volumeMode"), member_text(spec, "volumeMode"), volume_modes, false);
	claim_check_source(WHERE(at, "dataSource"), json_gets(spec, "dataSource"), errors);
	claim_check_source(WHERE(at, "dataSourceRef"), json_gets(spec, "dataSourceRef"), errors);
}

void claim_template_validate(const struct where *at, const struct json *template, struct field_errors *errors)
{
	check_labels(errors, WHERE(WHERE(at, "metadata"), "labels"), json_gets(json_gets(template, "metadata"), "labels"));
	claim_spec_validate(WHERE(at, "spec"), json_gets(template, "spec"), errors);
}

void claim_validate(const struct object *o, struct field_errors *errors)
{
	claim_spec_validate(WHERE(NULL, "spec"), object_spec(o), errors);
}

static bool is_same(const struct json *x, const struct json *y)
{
	return (!x && !y) || (x && y && json_equal(x, y));
}

/* Size and class of attributes of what is bound may change; the volume is set once. */
static bool may_change(const char *name, const struct object *old)
{
	const struct json *spec = object_spec(old);
	bool is_bound = str_is(member_text(object_status(old), "phase"), "Bound");
	return (str_is(STR("volumeName"), name) && !member_text(spec, "volumeName").n) ||
		(is_bound && str_is(STR("volumeAttributesClassName"), name));
}

/* Resources but for the size of what is bound. */
static bool are_same_resources(const struct json *now, const struct object *old, struct arena *a)
{
	const struct json *before = json_gets(object_spec(old), "resources");
	bool is_bound = str_is(member_text(object_status(old), "phase"), "Bound");
	if (!is_bound || !json_gets(now, "requests") || !json_gets(before, "requests")) {
		return is_same(now, before);
	}
	struct json *resources = json_copy(a, now), *requests = json_copy(a, json_gets(now, "requests"));
	json_set(a, requests, STR("storage"), json_gets(json_gets(before, "requests"), "storage"));
	json_set(a, resources, STR("requests"), requests);
	return json_equal(resources, before);
}

static bool is_spec_unchanged(const struct json *spec, const struct object *old, struct arena *a)
{
	static const char *const members[] = {"accessModes", "selector", "volumeName", "storageClassName", "volumeMode",
		"dataSource", "dataSourceRef", "volumeAttributesClassName"};
	const struct json *before = object_spec(old);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (!is_same(json_gets(spec, members[i]), json_gets(before, members[i])) && !may_change(members[i], old)) {
			return false;
		}
	}
	return are_same_resources(json_gets(spec, "resources"), old, a);
}

/* An expansion that failed may be taken back, but never below what there is. */
static void check_shrinking(
	const struct where *at, const struct object *o, const struct object *old, struct field_errors *errors)
{
	struct quantity now, before, capacity = {0};
	const struct json *present = json_gets(json_gets(object_status(old), "capacity"), "storage");
	const struct json *size = requested(object_spec(o)), *old_size = requested(object_spec(old));
	if (!size || !old_size || quantity_parse(&now, json_text(size), errors->arena) ||
		quantity_parse(&before, json_text(old_size), errors->arena) || quantity_cmp(&now, &before) >= 0) {
		return;
	}
	if (present) {
		quantity_parse(&capacity, json_text(present), errors->arena);
	}
	if (quantity_cmp(&now, &capacity) <= 0) {
		refuse_forbidden(errors, at, "field can not be less than status.capacity");
	}
}

void claim_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct where *at = WHERE(NULL, "spec");
	const struct json *spec = object_spec(o), *before = object_spec(old);
	claim_validate(o, errors);
	if (!is_spec_unchanged(spec, old, errors->arena)) {
		refuse_forbidden(errors, at,
			"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
			"claims");
	}
	check_shrinking(WHERE(WHERE(WHERE(at, "resources"), "requests"), "storage"), o, old, errors);
	if (!str_eq(member_text(spec, "volumeMode"), member_text(before, "volumeMode"))) {
		refuse_text(errors, WHERE(NULL, "volumeMode"), member_text(spec, "volumeMode"), "field is immutable");
	}
}

void claim_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct json *capacity = json_gets(object_status(o), "capacity");
	(void)old;
	for (uint32_t i = 0; capacity && i < capacity->n; i++) {
		check_amount(errors, WHERE_KEY(WHERE(WHERE(NULL, "status"), "capacity"), capacity->members[i].name), STR(""),
			capacity->members[i].value);
	}
}

/* ---- volumes ---- */

static const char *const pulls[] = {"Always", "IfNotPresent", "Never", NULL};

static void check_mode(const struct pod_check *c, const struct where *at, const struct json *object, const char *name)
{
	check_range(c->errors, WHERE_NAMED(at, name), json_gets(object, name), MODE_RANGE);
}

/* A file of a volume. */
static void check_file(const struct pod_check *c, const struct where *at, struct str path)
{
	check_present(c->errors, at, path);
	check_path(c->errors, at, path, true);
	if (str_starts(path, STR("..")) && !str_is(path, "..") && !str_starts(path, STR("../"))) {
		refuse_text(c->errors, at, path, "must not start with '..'");
	}
}

static void check_items(const struct pod_check *c, const struct where *at, const struct json *source)
{
	const struct json *items = json_gets(source, "items"), *item;
	for (uint32_t i = 0; (item = list_item(items, i)); i++) {
		const struct where *here = WHERE_ITEM(WHERE(at, "items"), i);
		check_present(c->errors, WHERE(here, "key"), member_text(item, "key"));
		check_file(c, WHERE(here, "path"), member_text(item, "path"));
		check_mode(c, here, item, "mode");
	}
}

static void check_secret(const struct pod_check *c, const struct where *at, const struct json *v)
{
	check_present(c->errors, WHERE(at, "secretName"), member_text(v, "secretName"));
	check_mode(c, at, v, "defaultMode");
	check_items(c, at, v);
}

static void check_config_map(const struct pod_check *c, const struct where *at, const struct json *v)
{
	check_present(c->errors, WHERE(at, "name"), member_text(v, "name"));
	check_mode(c, at, v, "defaultMode");
	check_items(c, at, v);
}

static void check_downward_file(const struct pod_check *c, const struct where *at, const struct json *file)
{
	const struct json *field = json_gets(file, "fieldRef"), *resource = json_gets(file, "resourceFieldRef");
	check_file(c, WHERE(at, "path"), member_text(file, "path"));
	if (field) {
		check_field_ref(c, WHERE(at, "fieldRef"), field, true);
	}
	if (field && resource) {
		refuse_text(
			c->errors, at, STR("resource"), "fieldRef and resourceFieldRef can not be specified simultaneously");
	} else if (resource) {
		check_resource_ref(c, WHERE(at, "resourceFieldRef"), resource, true);
	} else if (!field) {
		refuse_absent(c->errors, at, "one of fieldRef and resourceFieldRef is required");
	}
	check_mode(c, at, file, "mode");
}

/* kube names the volume, not the file. */
static void check_downward_files(const struct pod_check *c, const struct where *at, const struct json *v)
{
	const struct json *items = json_gets(v, "items"), *file;
	for (uint32_t i = 0; (file = list_item(items, i)); i++) {
		check_downward_file(c, at, file);
	}
}

static void check_downward(const struct pod_check *c, const struct where *at, const struct json *v)
{
	check_mode(c, at, v, "defaultMode");
	check_downward_files(c, at, v);
}

static void check_projection(
	const struct pod_check *c, const struct where *at, const struct where *volume, const struct json *source)
{
	static const char *const named[] = {"secret", "configMap"};
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		const struct json *of = json_gets(source, named[i]);
		if (of) {
			check_present(c->errors, WHERE(WHERE_NAMED(at, named[i]), "name"), member_text(of, "name"));
			check_items(c, WHERE_NAMED(at, named[i]), of);
		}
	}
	check_downward_files(c, WHERE(at, "downwardAPI"), json_gets(source, "downwardAPI"));
	const struct json *token = json_gets(source, "serviceAccountToken");
	if (token) {
		const struct where *expiration = WHERE(WHERE(at, "serviceAccountToken"), "expirationSeconds");
		check_range(c->errors, expiration, json_gets(token, "expirationSeconds"), 600, INT64_MAX,
			"may not specify a duration less than 10 minutes");
		check_range(c->errors, expiration, json_gets(token, "expirationSeconds"), INT64_MIN, (int64_t)1 << 32,
			"may not specify a duration larger than 2^32 seconds");
		check_file(c, WHERE(volume, "path"), member_text(token, "path"));
	}
	if (source->n > 1) {
		refuse_forbidden(c->errors, at, "may not specify more than 1 volume type per source");
	}
}

static void check_projected(const struct pod_check *c, const struct where *at, const struct json *v)
{
	const struct json *sources = json_gets(v, "sources"), *source;
	check_mode(c, at, v, "defaultMode");
	for (uint32_t i = 0; (source = list_item(sources, i)); i++) {
		check_projection(c, WHERE_ITEM(WHERE(at, "sources"), i), at, source);
	}
}

void check_host_path(const struct pod_check *c, const struct where *at, const struct json *v)
{
	static const char *const types[] = {
		"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket", NULL};
	if (!member_text(v, "path").n) {
		refuse_absent(c->errors, WHERE(at, "path"), "");
		return;
	}
	check_path(c->errors, WHERE(at, "path"), member_text(v, "path"), false);
	check_choice(c->errors, WHERE(at, "type"), member_text(v, "type"), types, false);
}

void check_nfs(const struct pod_check *c, const struct where *at, const struct json *v)
{
	struct str path = member_text(v, "path");
	check_present(c->errors, WHERE(at, "server"), member_text(v, "server"));
	check_present(c->errors, WHERE(at, "path"), path);
	if (!path.n || path.p[0] != '/') {
		refuse_text(c->errors, WHERE(at, "path"), path, "must be an absolute path");
	}
}

/* kube checks the limit like any amount, but reports every error with a message of its own. */
static void check_empty_dir(const struct pod_check *c, const struct where *at, const struct json *v)
{
	struct field_errors found;
	field_errors_init(&found, c->errors->arena);
	if (json_gets(v, "sizeLimit")) {
		check_amount(&found, at, STR(""), json_gets(v, "sizeLimit"));
	}
	if (found.n) {
		refuse_forbidden(c->errors, WHERE(at, "sizeLimit"), "SizeLimit field must be a valid resource quantity");
	}
}

static void check_ephemeral(const struct pod_check *c, const struct where *at, const struct json *v)
{
	const struct json *template = json_gets(v, "volumeClaimTemplate");
	if (!template) {
		refuse_absent(c->errors, WHERE(at, "volumeClaimTemplate"), "");
		return;
	}
	claim_template_validate(WHERE(at, "volumeClaimTemplate"), template, c->errors);
}

/* A template may leave the reference to the maker of its Pods; a Pod may not. */
static void check_image(const struct pod_check *c, const struct where *at, const struct json *v)
{
	if (c->is_pod) {
		check_present(c->errors, WHERE(at, "reference"), member_text(v, "reference"));
	}
	check_choice(c->errors, WHERE(at, "pullPolicy"), member_text(v, "pullPolicy"), pulls, true);
}

static void check_claim(const struct pod_check *c, const struct where *at, const struct json *v)
{
	check_present(c->errors, WHERE(at, "claimName"), member_text(v, "claimName"));
}

static void check_csi(const struct pod_check *c, const struct where *at, const struct json *v)
{
	check_present(c->errors, WHERE(at, "driver"), member_text(v, "driver"));
}

/* The schema alone decides about the other sources. */
static const struct {
	const char *name;
	void (*check)(const struct pod_check *c, const struct where *at, const struct json *volume);
} source_checks[] = {
	{"emptyDir", check_empty_dir},
	{"hostPath", check_host_path},
	{"secret", check_secret},
	{"nfs", check_nfs},
	{"persistentVolumeClaim", check_claim},
	{"downwardAPI", check_downward},
	{"configMap", check_config_map},
	{"projected", check_projected},
	{"csi", check_csi},
	{"ephemeral", check_ephemeral},
	{"image", check_image},
};

/* A volume has its name and its source. Of several sources, the first counts in kube's order. */
static void check_source(const struct pod_check *c, const struct where *at, const struct json *volume)
{
	const struct json *first = NULL;
	for (size_t i = 0; !first && i < ARRAY_SIZE(source_checks); i++) {
		first = json_gets(volume, source_checks[i].name);
		if (first) {
			source_checks[i].check(c, WHERE_NAMED(at, source_checks[i].name), first);
		}
	}
	for (uint32_t i = 0; i < volume->n; i++) {
		const struct json_member *m = &volume->members[i];
		if (first && m->value != first && !str_is(m->name, "name")) {
			const struct where *here = &(const struct where){.up = at, .name = m->name};
			refuse_forbidden(c->errors, here, "may not specify more than 1 volume type");
		}
		first = first || str_is(m->name, "name") ? first : m->value;
	}
	if (!first) {
		refuse_absent(c->errors, at, "must specify a volume type");
	}
}

static void check_volume(const struct pod_check *c, const struct where *at, const struct json *volume)
{
	check_source(c, at, volume);
	struct str name = member_text(volume, "name");
	if (name.n) {
		check_text(c->errors, WHERE(at, "name"), name, validate_dns_label);
	} else {
		refuse_absent(c->errors, WHERE(at, "name"), "");
	}
}

void check_volumes(const struct pod_check *c, const struct where *at)
{
	const struct json *volumes = json_gets(c->spec, "volumes"), *volume;
	for (uint32_t i = 0; (volume = list_item(volumes, i)); i++) {
		struct str name = member_text(volume, "name");
		check_volume(c, WHERE_ITEM(at, i), volume);
		if (name.n && map_get(&c->volumes, name) != volume) {
			refuse_duplicate(c->errors, WHERE(WHERE_ITEM(at, i), "name"), name);
		}
	}
}
