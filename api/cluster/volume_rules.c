/* Rules of persistent volumes: ValidatePersistentVolume of k8s.io/kubernetes/pkg/apis/core, and the strategy of
 * registry/core/persistentvolume. For a particular storage system, only the fields that it requires are checked: docs/reference/deviations.md. */
#include "api/cluster/volume_rules.h"

#include "api/model/members.h"
#include "api/model/quantity.h"
#include "api/pod/pod_validate_parts.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"
#include "base/clock.h"

static const struct json *spec_of(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

static struct json *status_of(const struct object *o)
{
	return json_gets(o->fields, "status");
}

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
	json_set(a, o->fields, STR("status"), status);
}

/* Fills in the time of a transition, so that a client which changes the phase need not send it. */
void volume_prepare_status(struct object *o, const struct object *old, struct arena *a)
{
	static const char name[] = "lastPhaseTransitionTime";
	struct json *before = status_of(old), *now = status_of(o);
	struct json *old_time = json_gets(before, name), *time = json_gets(now, name);
	bool is_changed = !str_eq(member_text(before, "phase"), member_text(now, "phase"));
	bool is_unsaid = !time || (old_time && json_equal(time, old_time));
	if (is_changed && is_unsaid) {
		time = now_text(a);
	} else if (!is_changed && !time) {
		time = old_time;
	}
	json_set(a, o->fields, STR("status"), schema_with(&type_persistent_volume_status, now, name, time, a));
}

static void check_access_modes(const struct where *at, const struct json *modes, struct field_errors *errors)
{
	static const char *const supported[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", NULL};
	bool is_alone = false, is_shared = false;
	const struct json *mode;
	if (!list_item(modes, 0)) {
		refuse_absent(errors, at, "");
	}
	for (uint32_t i = 0; (mode = list_item(modes, i)); i++) {
		size_t n_before = errors->n;
		check_choice(errors, at, json_text(mode), supported, false);
		bool is_known = errors->n == n_before, is_one_pod = str_is(json_text(mode), "ReadWriteOncePod");
		is_alone |= is_one_pod;
		is_shared |= is_known && !is_one_pod;
	}
	if (is_alone && is_shared) {
		refuse_forbidden(errors, at, "may not use ReadWriteOncePod with other access modes");
	}
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

static void check_secret_ref(const struct where *at, const struct json *ref, struct field_errors *errors)
{
	struct str name = member_text(ref, "name"), ns = member_text(ref, "namespace");
	if (name.n) {
		check_text(errors, WHERE(at, "name"), name, validate_dns_subdomain);
	} else {
		refuse_absent(errors, WHERE(at, "name"), "");
	}
	if (ns.n) {
		check_text(errors, WHERE(at, "namespace"), ns, validate_dns_label);
	} else {
		refuse_absent(errors, WHERE(at, "namespace"), "");
	}
}

static struct str lower(struct str text, struct arena *a)
{
	char *copy = arena_text(a, text.n);
	for (size_t i = 0; i < text.n; i++) {
		copy[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] - 'A' + 'a' : text.p[i]);
	}
	return (struct str){copy, text.n};
}

static void check_driver(const struct where *at, struct str name, struct field_errors *errors)
{
	enum { NAME_MAX_LEN = 63 };
	const char *messages[VALIDATE_MESSAGES_MAX];
	if (!name.n) {
		refuse_absent(errors, at, "");
		return;
	}
	if (name.n > NAME_MAX_LEN) {
		field_too_long(errors, where_path(at, errors->arena), NAME_MAX_LEN);
	}
	size_t n = validate_dns_subdomain(lower(name, errors->arena), messages);
	for (size_t i = 0; i < n; i++) {
		refuse_text(errors, at, name, messages[i]);
	}
}

static void check_csi(const struct pod_check *c, const struct where *at, const struct json *v)
{
	static const char *const secrets[] = {
		"controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef"};
	check_driver(WHERE(at, "driver"), member_text(v, "driver"), c->errors);
	check_present(c->errors, WHERE(at, "volumeHandle"), member_text(v, "volumeHandle"));
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
		if (json_gets(v, secrets[i])) {
			check_secret_ref(WHERE_NAMED(at, secrets[i]), json_gets(v, secrets[i]), c->errors);
		}
	}
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
static const struct source {
	const char *name;
	void (*check)(const struct pod_check *c, const struct where *at, const struct json *volume);
	const char *needs[3]; /* members that must not be empty, where there is nothing else to check */
	const char *path;     /* where it is not the name: upstream's way to what is missing */
	bool has_options;     /* it knew mount options when they were an annotation */
} sources[] = {
	{"hostPath", check_host_path, {0}, NULL, false},
	{"gcePersistentDisk", NULL, {"pdName"}, "persistentDisk", true},
	{"awsElasticBlockStore", NULL, {"volumeID"}, NULL, true},
	{"glusterfs", NULL, {"endpoints", "path"}, NULL, true},
	{"flocker", NULL, {0}, NULL, false},
	{"nfs", check_nfs, {0}, NULL, true},
	{"rbd", NULL, {"image"}, NULL, true},
	{"quobyte", NULL, {"volume"}, NULL, true},
	{"cephfs", NULL, {0}, NULL, true},
	{"iscsi", NULL, {"targetPortal", "iqn"}, NULL, true},
	{"cinder", NULL, {"volumeID"}, NULL, true},
	{"fc", NULL, {0}, NULL, false},
	{"flexVolume", NULL, {"driver"}, NULL, false},
	{"azureFile", NULL, {"secretName", "shareName"}, NULL, true},
	{"vsphereVolume", NULL, {"volumePath"}, NULL, true},
	{"photonPersistentDisk", NULL, {"pdID"}, NULL, true},
	{"portworxVolume", NULL, {"volumeID"}, NULL, false},
	{"azureDisk", NULL, {"diskName", "diskURI"}, NULL, true},
	{"scaleIO", NULL, {"gateway", "system", "volumeName"}, NULL, false},
	{"local", check_local, {0}, NULL, false},
	{"storageos", NULL, {0}, NULL, false},
	{"csi", check_csi, {0}, NULL, false},
};

static void check_source(const struct pod_check *c, const struct where *at, const struct source *s, const struct json *v)
{
	const struct where *here = WHERE_NAMED(at, s->path ? s->path : s->name);
	if (s->check) {
		s->check(c, here, v);
	}
	for (size_t i = 0; i < ARRAY_SIZE(s->needs) && s->needs[i]; i++) {
		check_present(c->errors, WHERE_NAMED(here, s->needs[i]), member_text(v, s->needs[i]));
	}
}

static void check_sources(const struct pod_check *c, const struct where *at)
{
	bool has_one = false;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct json *v = json_gets(c->spec, sources[i].name);
		bool is_flex = strcmp(sources[i].name, "flexVolume") == 0; /* upstream forgets to count it */
		if (v && has_one && !is_flex) {
			bool is_ceph = strcmp(sources[i].name, "cephfs") == 0;
			refuse_forbidden(c->errors, WHERE_NAMED(at, is_ceph ? "cephFS" : sources[i].name),
				"may not specify more than 1 volume type");
		} else if (v) {
			has_one = true;
			check_source(c, at, &sources[i], v);
		}
	}
	if (!has_one) {
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
	check_access_modes(WHERE(at, "accessModes"), json_gets(spec, "accessModes"), errors);
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

static void check_options(const struct object *o, struct field_errors *errors)
{
	static const char annotation[] = "volume.beta.kubernetes.io/mount-options";
	bool knows_options = false;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		knows_options |= sources[i].has_options && json_gets(spec_of(o), sources[i].name);
	}
	if (!knows_options && json_gets(o->meta.annotations, annotation)) {
		refuse_forbidden(errors, WHERE_NAMED(WHERE(WHERE(NULL, "metadata"), "annotations"), annotation),
			"may not specify mount options for this volume type");
	}
}

void volume_validate(const struct object *o, struct field_errors *errors)
{
	check_spec(spec_of(o), errors);
	check_options(o, errors);
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
		const struct json *now = json_gets(spec, sources[i].name), *before = json_gets(old, sources[i].name);
		bool is_csi = strcmp(sources[i].name, "csi") == 0;
		is_kept = is_same(is_csi ? comparable(now, before, a) : now, before);
	}
	return is_kept;
}

/* Labels of nodes that had other names before they were stable, with the names that they have now. */
static struct str stable_label(struct str label)
{
	static const char *const names[][2] = {
		{"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
		{"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
		{"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"},
		{"beta.kubernetes.io/os", "kubernetes.io/os"},
		{"beta.kubernetes.io/arch", "kubernetes.io/arch"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(label, names[i][0])) {
			return str_of(names[i][1]);
		}
	}
	return label;
}

static bool is_renamed(const struct json *now, const struct json *before)
{
	struct str key = member_text(now, "key"), old_key = member_text(before, "key");
	return (str_eq(key, old_key) || str_eq(key, stable_label(old_key))) &&
		str_eq(member_text(now, "operator"), member_text(before, "operator")) &&
		is_same(json_gets(now, "values"), json_gets(before, "values"));
}

static bool is_renamed_term(const struct json *now, const struct json *before)
{
	const struct json *expressions = json_gets(now, "matchExpressions"), *old = json_gets(before, "matchExpressions");
	bool is_kept = is_same(json_gets(now, "matchFields"), json_gets(before, "matchFields")) &&
		member_count(now, "matchExpressions") == member_count(before, "matchExpressions");
	for (uint32_t i = 0; is_kept && list_item(expressions, i); i++) {
		is_kept = is_renamed(list_item(expressions, i), list_item(old, i));
	}
	return is_kept;
}

/* Returns whether it is unchanged, apart from labels that now go by their stable names. */
static bool is_kept_affinity(const struct json *now, const struct json *before)
{
	const struct json *required = json_gets(now, "required"), *old = json_gets(before, "required");
	const struct json *terms = json_gets(required, "nodeSelectorTerms"), *old_terms = json_gets(old, "nodeSelectorTerms");
	bool is_kept = now && !required == !old && (terms ? terms->n : 0) == (old_terms ? old_terms->n : 0);
	for (uint32_t i = 0; is_kept && list_item(terms, i); i++) {
		is_kept = is_renamed_term(list_item(terms, i), list_item(old_terms, i));
	}
	return is_kept;
}

/* As Go shows it: lists that are absent are null. */
static struct json *shown_requirements(const struct json *list, struct arena *a)
{
	struct json *shown = list ? json_array(a) : json_null(a), *one;
	for (uint32_t i = 0; (one = list_item(list, i)); i++) {
		struct json *each = json_object(a), *values = json_gets(one, "values");
		json_add(a, each, STR("Key"), json_string(a, member_text(one, "key")));
		json_add(a, each, STR("Operator"), json_string(a, member_text(one, "operator")));
		json_add(a, each, STR("Values"), values ? values : json_null(a));
		json_append(a, shown, each);
	}
	return shown;
}

static struct json *shown_affinity(const struct json *affinity, struct arena *a)
{
	const struct json *terms = json_gets(json_gets(affinity, "required"), "nodeSelectorTerms"), *term;
	struct json *shown = json_object(a), *required = json_object(a), *list = json_array(a);
	if (!affinity) {
		return json_null(a);
	}
	for (uint32_t i = 0; (term = list_item(terms, i)); i++) {
		struct json *each = json_object(a);
		json_add(a, each, STR("MatchExpressions"), shown_requirements(json_gets(term, "matchExpressions"), a));
		json_add(a, each, STR("MatchFields"), shown_requirements(json_gets(term, "matchFields"), a));
		json_append(a, list, each);
	}
	json_add(a, required, STR("NodeSelectorTerms"), terms ? list : json_null(a));
	json_add(a, shown, STR("Required"), json_gets(affinity, "required") ? required : json_null(a));
	return shown;
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
	if (json_gets(old, "nodeAffinity") && !is_kept_affinity(affinity, json_gets(old, "nodeAffinity"))) {
		refuse_invalid(errors, WHERE(NULL, "nodeAffinity"), shown_affinity(affinity, errors->arena),
			"field is immutable, except for updating from beta label to GA");
	}
	if (json_gets(old, "volumeAttributesClassName") && !json_gets(spec, "volumeAttributesClassName")) {
		refuse_forbidden(
			errors, WHERE(at, "volumeAttributesClassName"), "update from non-nil value to nil is forbidden");
	}
}

/* Upstream looks at a new version twice. */
void volume_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	validate_meta(o->kind, &o->meta, errors);
	volume_validate(o, errors);
	validate_meta(o->kind, &o->meta, errors);
	check_spec(spec_of(o), errors);
	check_change(spec_of(o), spec_of(old), errors);
}

size_t volume_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	static const struct {
		const char *source, *text;
	} gone[] = {
		{"cephfs", "spec.cephfs: deprecated in v1.28, non-functional in v1.31+"},
		{"photonPersistentDisk", "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+"},
		{"scaleIO", "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+"},
		{"storageos", "spec.storageOS: deprecated in v1.22, non-functional in v1.25+"},
		{"glusterfs", "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+"},
		{"rbd", "spec.rbd: deprecated in v1.28, non-functional in v1.31+"},
	};
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
	if (str_is(member_text(spec_of(o), "persistentVolumeReclaimPolicy"), "Recycle")) {
		ret[n++] = STR("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
			       "recommended approach is to use dynamic provisioning.");
	}
	/* Only flexVolume, which is not among them, comes beside another source. */
	for (size_t i = 0; i < ARRAY_SIZE(gone) && n < KIND_WARNINGS_MAX; i++) {
		if (json_gets(spec_of(o), gone[i].source)) {
			ret[n++] = str_of(gone[i].text);
		}
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
