/* What must hold of volumes. Of those of particular storage systems: that what they cannot do without is there. */
#include "api/pod/claim_validate.h"
#include "api/pod/pod_validate_parts.h"
#include "api/rules/validate.h"

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

/* kube checks the limit like any amount, but tells its own message of it, whatever was wrong. */
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

/* A template may leave the reference to whoever makes Pods from it; a Pod may not. */
static void check_image(const struct pod_check *c, const struct where *at, const struct json *v)
{
	if (c->is_pod) {
		check_present(c->errors, WHERE(at, "reference"), member_text(v, "reference"));
	}
	check_choice(c->errors, WHERE(at, "pullPolicy"), member_text(v, "pullPolicy"), pulls, true);
}

/* In the order in which kube looks: of several sources, the first counts. */
static const struct source {
	const char *name;
	void (*check)(const struct pod_check *c, const struct where *at, const struct json *volume);
	const char *needs[3]; /* members that must not be empty, where there is nothing else to check */
} sources[] = {
	{"emptyDir", check_empty_dir, {0}},
	{"hostPath", check_host_path, {0}},
	{"gitRepo", NULL, {"repository"}},
	{"gcePersistentDisk", NULL, {"pdName"}},
	{"awsElasticBlockStore", NULL, {"volumeID"}},
	{"secret", check_secret, {0}},
	{"nfs", check_nfs, {0}},
	{"iscsi", NULL, {"targetPortal", "iqn"}},
	{"glusterfs", NULL, {"endpoints", "path"}},
	{"flocker", NULL, {0}},
	{"persistentVolumeClaim", NULL, {"claimName"}},
	{"rbd", NULL, {"image"}},
	{"cinder", NULL, {"volumeID"}},
	{"cephfs", NULL, {0}},
	{"quobyte", NULL, {"volume"}},
	{"downwardAPI", check_downward, {0}},
	{"fc", NULL, {0}},
	{"flexVolume", NULL, {"driver"}},
	{"configMap", check_config_map, {0}},
	{"azureFile", NULL, {"secretName", "shareName"}},
	{"vsphereVolume", NULL, {"volumePath"}},
	{"photonPersistentDisk", NULL, {"pdID"}},
	{"portworxVolume", NULL, {"volumeID"}},
	{"azureDisk", NULL, {"diskName", "diskURI"}},
	{"storageos", NULL, {0}},
	{"projected", check_projected, {0}},
	{"scaleIO", NULL, {"gateway", "system", "volumeName"}},
	{"csi", NULL, {"driver"}},
	{"ephemeral", check_ephemeral, {0}},
	{"image", check_image, {0}},
};

static void check_source(const struct pod_check *c, const struct where *at, const struct source *s, const struct json *v)
{
	if (s->check) {
		s->check(c, at, v);
	}
	for (size_t i = 0; i < ARRAY_SIZE(s->needs) && s->needs[i]; i++) {
		check_present(c->errors, WHERE_NAMED(at, s->needs[i]), member_text(v, s->needs[i]));
	}
}

static void check_volume(const struct pod_check *c, const struct where *at, const struct json *volume)
{
	bool has_one = false;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct json *v = json_gets(volume, sources[i].name);
		if (v && has_one) {
			refuse_forbidden(
				c->errors, WHERE_NAMED(at, sources[i].name), "may not specify more than 1 volume type");
		} else if (v) {
			has_one = true;
			check_source(c, WHERE_NAMED(at, sources[i].name), &sources[i], v);
		}
	}
	if (!has_one) {
		refuse_absent(c->errors, at, "must specify a volume type");
	}
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
