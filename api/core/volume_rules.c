/* Rules of persistent volumes: ValidatePersistentVolume of k8s.io/kubernetes/pkg/apis/core, and the strategy of
 * registry/core/persistentvolume. For a particular storage system, only the fields that it requires are checked: docs/reference/deviations.md. */
#include "api/core/volume_rules.h"

#include "api/core/pod_validate_parts.h"
#include "api/model/members.h"
#include "api/model/quantity.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"
#include "base/clock.h"

#include <assert.h>

static struct json *now_text(struct arena *a)
{
	char text[TIME_RFC3339_SIZE];
	time_format_rfc3339(text, clock_wall_s());
	return json_string(a, arena_dup(a, str_of(text)));
}

void volume_prepare_create(struct object *o, struct arena *a)
{
	struct json *status = json_object(a);
	json_add(a, status, STR("phase"), json_string(a, STR("Pending")));
	json_add(a, status, STR("lastPhaseTransitionTime"), json_string(a, o->meta.creation_timestamp));
	object_set_status(o, status, a);
}

/* Fills in the time of a transition, so that a client which changes the phase need not send it. */
void volume_prepare_status(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	static const char name[] = "lastPhaseTransitionTime";
	struct json *before = object_status(old), *now = object_status(o);
	struct json *old_time = json_gets(before, name), *time = json_gets(now, name);
	bool is_changed = !str_eq(member_text(before, "phase"), member_text(now, "phase"));
	bool is_unsaid = !time || (old_time && json_equal(time, old_time));
	if (is_changed && is_unsaid) {
		time = now_text(a);
	} else if (!is_changed && !time) {
		time = old_time;
	}
	object_set_status(o, schema_with(&type_persistent_volume_status, now, name, time, a), a);
}

static struct str json_shown(const struct json *value, struct arena *a)
{
	struct buf text;
	buf_init(&text, TEXT_MAX);
	json_encode(&text, value ? value : json_null(a));
	struct str shown = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return shown;
}

static void check_amounts(const struct where *at, const struct json *capacity, struct field_errors *errors)
{
	struct quantity q;
	for (uint32_t i = 0; capacity && i < capacity->n; i++) {
		const struct json *amount = capacity->members[i].value;
		const struct where *here = WHERE_KEY(at, capacity->members[i].name);
		if (quantity_parse(&q, json_text(amount), errors->arena)) {
			continue;
		}
		if (quantity_sign(&q) < 0) {
			/* Upstream shows the value in whole units. */
			quantity_round_up(&q, 0, errors->arena);
			q.format = QUANTITY_DECIMAL;
			q.spelling = (struct str){0};
			refuse_invalid(errors, here, json_number(errors->arena, quantity_text(&q, errors->arena)),
				"must be a valid resource quantity");
		}
		if (quantity_sign(&q) <= 0) {
			refuse_text(errors, here, json_text(amount), "must be greater than zero");
		}
	}
}

static void check_capacity(const struct where *at, const struct json *capacity, struct field_errors *errors)
{
	static const char *const supported[] = {"storage", NULL};
	if (!capacity) {
		refuse_absent(errors, at, "");
	}
	if (!json_gets(capacity, "storage") || capacity->n > 1) {
		refuse_unsupported(errors, at, STR(""), supported);
		errors->v[errors->n - 1].bad_value = json_shown(capacity, errors->arena);
	}
	check_amounts(at, capacity, errors);
}

static void check_csi(const struct pod_check *c, const struct where *at, const struct json *v)
{
	check_present(c->errors, WHERE(at, "driver"), member_text(v, "driver"));
	check_present(c->errors, WHERE(at, "volumeHandle"), member_text(v, "volumeHandle"));
}

static void check_local(const struct pod_check *c, const struct where *at, const struct json *v)
{
	struct str path = member_text(v, "path");
	check_present(c->errors, WHERE(at, "path"), path);
	check_path(c->errors, WHERE(at, "path"), path, false);
	if (!json_gets(c->spec, "nodeAffinity")) {
		refuse_absent(c->errors, WHERE(WHERE(NULL, "spec"), "nodeAffinity"), "Local volume requires node affinity");
	}
}

/* The sources in the order in which kube looks at them: of several, the first counts. */
static const char *const sources[] = {"hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs",
	"rbd", "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk",
	"portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"};

/* The schema alone decides about the other sources. */
static const struct {
	const char *source;
	void (*check)(const struct pod_check *c, const struct where *at, const struct json *volume);
} source_checks[] = {{"hostPath", check_host_path}, {"nfs", check_nfs}, {"local", check_local}, {"csi", check_csi}};

static void check_sources(const struct pod_check *c, const struct where *at)
{
	const struct json *first = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct json *v = json_gets(c->spec, sources[i]);
		if (v && first && strcmp(sources[i], "flexVolume") != 0) { /* upstream forgets to count it */
			refuse_forbidden(c->errors, WHERE_NAMED(at, sources[i]), "may not specify more than 1 volume type");
		}
		first = first ? first : v;
	}
	for (size_t i = 0; i < ARRAY_SIZE(source_checks); i++) {
		const struct json *v = json_gets(c->spec, source_checks[i].source);
		if (v && v == first) {
			source_checks[i].check(c, WHERE_NAMED(at, source_checks[i].source), v);
		}
	}
	if (!first) {
		refuse_absent(c->errors, at, "must specify a volume type");
	}
}

/* The root, however it is written: "/", "//", "/./". */
static bool is_root(struct str path)
{
	struct str part, rest = path;
	bool has_more = path.n && path.p[0] == '/';
	bool is_it = has_more;
	while (has_more && is_it) {
		has_more = str_cut(rest, '/', &part, &rest);
		is_it = !part.n || str_is(part, ".");
	}
	return is_it;
}

static void check_class(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	const struct json *class = json_gets(spec, "volumeAttributesClassName");
	if (!class) {
		return;
	}
	if (json_text(class).n) {
		check_text(errors, WHERE(at, "volumeAttributesClassName"), json_text(class), validate_dns_subdomain);
	} else {
		refuse_absent(errors, WHERE(at, "volumeAttributesClassName"), "an empty string is disallowed");
	}
	if (!json_gets(spec, "csi")) {
		refuse_absent(errors, WHERE(at, "csi"), "has to be specified when using volumeAttributesClassName");
	}
}

static void check_affinity_of_volume(const struct pod_check *c, const struct where *at)
{
	const struct json *affinity = json_gets(c->spec, "nodeAffinity"), *required = json_gets(affinity, "required");
	if (required) {
		check_node_selector(c, WHERE(at, "required"), required);
	} else if (affinity) {
		refuse_absent(c->errors, WHERE(at, "required"), "must specify required node constraints");
	}
}

/* ValidatePersistentVolumeSpec. */
static void check_spec(const struct json *spec, struct field_errors *errors)
{
	static const char *const policies[] = {"Delete", "Recycle", "Retain", NULL},
				 *const modes[] = {"Block", "Filesystem", NULL};
	const struct where *at = WHERE(NULL, "spec");
	const struct pod_check c = {.errors = errors, .spec = spec};
	struct str policy = member_text(spec, "persistentVolumeReclaimPolicy"), class = member_text(spec, "storageClassName");
	check_access_modes(WHERE(at, "accessModes"), json_gets(spec, "accessModes"), "", errors);
	check_capacity(WHERE(at, "capacity"), json_gets(spec, "capacity"), errors);
	check_choice(errors, WHERE(at, "persistentVolumeReclaimPolicy"), policy, policies, false);
	check_affinity_of_volume(&c, WHERE(at, "nodeAffinity"));
	check_sources(&c, at);
	if (str_is(policy, "Recycle") && is_root(member_text(json_gets(spec, "hostPath"), "path"))) {
		refuse_forbidden(
			errors, WHERE(at, "persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'");
	}
	if (class.n) {
		check_text(errors, WHERE(at, "storageClassName"), class, validate_dns_subdomain);
	}
	check_choice(errors, WHERE(at, "volumeMode"), member_text(spec, "volumeMode"), modes, false);
	check_class(at, spec, errors);
}

void volume_validate(const struct object *o, struct field_errors *errors)
{
	check_spec(object_spec(o), errors);
}

static bool is_same(const struct json *x, const struct json *y)
{
	return (!x && !y) || (x && y && json_equal(x, y));
}

/* A driver that could not make the volume larger may be given a secret for that. */
static const struct json *comparable(const struct json *source, const struct json *before, struct arena *a)
{
	static const char secret[] = "controllerExpandSecretRef";
	if (!source || !before || !json_gets(source, secret) || json_gets(before, secret)) {
		return source;
	}
	struct json *without = json_copy(a, source);
	json_remove(without, str_of(secret));
	return without;
}

static bool is_same_source(const struct json *spec, const struct json *old, struct arena *a)
{
	bool is_kept = true;
	for (size_t i = 0; is_kept && i < ARRAY_SIZE(sources); i++) {
		const struct json *now = json_gets(spec, sources[i]), *before = json_gets(old, sources[i]);
		bool is_csi = strcmp(sources[i], "csi") == 0;
		is_kept = is_same(is_csi ? comparable(now, before, a) : now, before);
	}
	return is_kept;
}

static void check_change(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *affinity = json_gets(spec, "nodeAffinity"), *mode = json_gets(spec, "volumeMode");
	if (!is_same_source(spec, old, errors->arena)) {
		refuse_forbidden(
			errors, WHERE(at, "persistentvolumesource"), "spec.persistentvolumesource is immutable after creation");
	}
	if (!is_same(mode, json_gets(old, "volumeMode"))) {
		refuse_invalid(errors, WHERE(NULL, "volumeMode"), mode, "field is immutable");
	}
	if (json_gets(old, "nodeAffinity") && !is_same(affinity, json_gets(old, "nodeAffinity"))) {
		refuse_invalid(errors, WHERE(NULL, "nodeAffinity"), affinity ? affinity : json_null(errors->arena),
			"field is immutable");
	}
	if (json_gets(old, "volumeAttributesClassName") && !json_gets(spec, "volumeAttributesClassName")) {
		refuse_forbidden(
			errors, WHERE(at, "volumeAttributesClassName"), "update from non-nil value to nil is forbidden");
	}
}

/* Upstream looks at a new version twice. */
void volume_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	validate_meta(o->kind, &o->meta, errors);
	volume_validate(o, errors);
	validate_meta(o->kind, &o->meta, errors);
	check_spec(object_spec(o), errors);
	check_change(object_spec(o), object_spec(old), errors);
}

size_t volume_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	assert(!old || o->kind == old->kind);
	size_t n = 0;
	(void)old;
	if (json_gets(o->meta.annotations, "volume.beta.kubernetes.io/storage-class")) {
		ret[n++] = STR("metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "
			       "\"storageClassName\" attribute instead");
	}
	if (json_gets(o->meta.annotations, "volume.beta.kubernetes.io/mount-options")) {
		ret[n++] = STR("metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "
			       "\"mountOptions\" attribute instead");
	}
	if (str_is(member_text(object_spec(o), "persistentVolumeReclaimPolicy"), "Recycle")) {
		ret[n++] = STR("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
			       "recommended approach is to use dynamic provisioning.");
	}
	return n;
}

/* Access modes by their short names, which claims and volumes show alike. */

static bool has_mode(const struct json *modes, const char *mode)
{
	const struct json *m;
	for (uint32_t i = 0; (m = list_item(modes, i)); i++) {
		if (str_is(json_text(m), mode)) {
			return true;
		}
	}
	return false;
}

void volume_modes_write(const struct json *modes, struct buf *out)
{
	static const char *const names[][2] = {
		{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
	const char *comma = "";
	buf_addc(out, '"');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (has_mode(modes, names[i][0])) {
			buf_adds(out, comma);
			buf_adds(out, names[i][1]);
			comma = ",";
		}
	}
	buf_addc(out, '"');
}
