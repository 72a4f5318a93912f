/* ValidatePersistentVolumeClaim and its kin of k8s.io/kubernetes/pkg/apis/core/validation: same
 * rules, order and sentences. The tests compare them with a real kube-apiserver's. */
#include "api/pod/claim_validate.h"

#include "api/model/members.h"
#include "api/model/quantity.h"
#include "api/rules/validate.h"

static const char *const access_modes[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", NULL};

static bool is_known_mode(struct str mode)
{
	for (const char *const *m = access_modes; *m; m++) {
		if (str_is(mode, *m)) {
			return true;
		}
	}
	return false;
}

static void check_access_modes(const struct where *at, const struct json *modes, struct field_errors *errors)
{
	const struct json *mode;
	bool is_single = false, is_shared = false;
	if (!list_item(modes, 0)) {
		refuse_absent(errors, at, "at least 1 access mode is required");
	}
	for (uint32_t i = 0; (mode = list_item(modes, i)); i++) {
		struct str text = json_text(mode);
		check_choice(errors, at, text, access_modes, false);
		is_single = is_single || str_is(text, "ReadWriteOncePod");
		is_shared = is_shared || (is_known_mode(text) && !str_is(text, "ReadWriteOncePod"));
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

static void check_source(const struct where *at, const struct json *source, struct field_errors *errors)
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
	check_access_modes(WHERE(at, "accessModes"), json_gets(spec, "accessModes"), errors);
	check_label_selector(errors, WHERE(at, "selector"), json_gets(spec, "selector"));
	check_size(WHERE_KEY(WHERE(at, "resources"), STR("storage")), spec, errors);
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (member_text(spec, classes[i]).n) {
			check_text(errors, WHERE_NAMED(at, classes[i]), member_text(spec, classes[i]), validate_dns_subdomain);
		}
	}
	check_choice(errors, WHERE(at, "volumeMode"), member_text(spec, "volumeMode"), volume_modes, false);
	check_source(WHERE(at, "dataSource"), json_gets(spec, "dataSource"), errors);
	check_source(WHERE(at, "dataSourceRef"), json_gets(spec, "dataSourceRef"), errors);
}

void claim_template_validate(const struct where *at, const struct json *template, struct field_errors *errors)
{
	check_labels(errors, WHERE(WHERE(at, "metadata"), "labels"), json_gets(json_gets(template, "metadata"), "labels"));
	claim_spec_validate(WHERE(at, "spec"), json_gets(template, "spec"), errors);
}

void claim_validate(const struct object *o, struct field_errors *errors)
{
	claim_spec_validate(WHERE(NULL, "spec"), json_gets(o->fields, "spec"), errors);
}

static bool is_same(const struct json *x, const struct json *y)
{
	return (!x && !y) || (x && y && json_equal(x, y));
}

/* Size and class of attributes of what is bound may change; the volume is set once. */
static bool may_change(const char *name, const struct object *old)
{
	const struct json *spec = json_gets(old->fields, "spec");
	bool is_bound = str_is(member_text(json_gets(old->fields, "status"), "phase"), "Bound");
	return (str_is(STR("volumeName"), name) && !member_text(spec, "volumeName").n) ||
		(is_bound && str_is(STR("volumeAttributesClassName"), name));
}

/* Resources but for the size of what is bound. */
static bool are_same_resources(const struct json *now, const struct object *old, struct arena *a)
{
	const struct json *before = json_gets(json_gets(old->fields, "spec"), "resources");
	bool is_bound = str_is(member_text(json_gets(old->fields, "status"), "phase"), "Bound");
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
	const struct json *before = json_gets(old->fields, "spec");
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
	const struct json *present = json_gets(json_gets(json_gets(old->fields, "status"), "capacity"), "storage");
	const struct json *size = requested(json_gets(o->fields, "spec")),
			  *old_size = requested(json_gets(old->fields, "spec"));
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
	const struct where *at = WHERE(NULL, "spec");
	const struct json *spec = json_gets(o->fields, "spec"), *before = json_gets(old->fields, "spec");
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
	const struct json *capacity = json_gets(json_gets(o->fields, "status"), "capacity");
	(void)old;
	for (uint32_t i = 0; capacity && i < capacity->n; i++) {
		check_amount(errors, WHERE_KEY(WHERE(WHERE(NULL, "status"), "capacity"), capacity->members[i].name), STR(""),
			capacity->members[i].value);
	}
}
