/* Validation of metadata, names, and of the data of ConfigMaps and Secrets: k8s.io/apimachinery/pkg/api/validation, and rest.BeforeCreate
 * and BeforeUpdate for the server's own fields. */
#include "api/rules/validate.h"

#include "base/clock.h"
#include "base/ids.h"
#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

/* Regular expressions are hand-written loops: names are checked with each write, and a regex engine could be led into long matches.
 * Order and repetitions of errors are upstream's. */

/* Texts: k8s.io/apimachinery/pkg/util/validation for names, pkg/api/validate/content for labels and prefixes. */

#define LABEL_REGEX "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define KEY_REGEX "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define SUBDOMAIN_TEXT                                                                                                       \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " \
	"end with "                                                                                                          \
	"an alphanumeric character (e.g. 'example.com', regex used for validation is '" LABEL_REGEX "(\\." LABEL_REGEX ")*')"
#define LABEL_TEXT                                                                                                           \
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " \
	"an "                                                                                                                \
	"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '" LABEL_REGEX "')"
#define KEY_TEXT                                                                                                           \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " \
	"(e.g. "                                                                                                           \
	"'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" KEY_REGEX "')"
#define VALUE_TEXT                                                                                                          \
	"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " \
	"end with an "                                                                                                      \
	"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(" KEY_REGEX    \
	")?')"

enum {
	/* RFC 1123 and Kubernetes' own limits; a generated name must still be a label of 63
	 * characters. */
	SUBDOMAIN_MAX = 253,
	LABEL_MAX = 63,            /* characters of a DNS label; a longer one is refused */
	GENERATED_PREFIX_MAX = 58, /* characters of generateName that a name keeps; the rest is cut */
	GENERATED_SUFFIX = 5,
	ANNOTATIONS_MAX = 256 * 1024, /* bytes, of keys and values together */
	FIELD_MANAGER_MAX = 128,      /* bytes: upstream's FieldManagerMaxLength; a longer name is refused */
	/* Bytes in an entry of managedFields: upstream's MaxSubresourceNameLength; more is refused. */
	SUBRESOURCE_MAX = 256,
};

/* Names. */

static bool is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

/* Not empty, `good` characters and those of `inner` within, good ones at both ends. */
static bool has_shape(struct str s, bool (*good)(char), const char *inner)
{
	if (!s.n || !good(s.p[0]) || !good(s.p[s.n - 1])) {
		return false;
	}
	for (size_t i = 1; i + 1 < s.n; i++) {
		if (!good(s.p[i]) && (!s.p[i] || !strchr(inner, s.p[i]))) {
			return false;
		}
	}
	return true;
}

static bool is_dns_label(struct str s)
{
	return has_shape(s, is_lower_alnum, "-");
}

static bool is_dns_subdomain(struct str s)
{
	struct str label;
	bool more;
	do {
		more = str_cut(s, '.', &label, &s);
		if (!is_dns_label(label)) {
			return false;
		}
	} while (more);
	return true;
}

static bool is_key_part(struct str s)
{
	return has_shape(s, is_alnum, "-_.");
}

size_t validate_dns_subdomain(struct str s, const char *ret[VALIDATE_MESSAGES_MAX])
{
	size_t n = 0;
	if (s.n > SUBDOMAIN_MAX) {
		ret[n++] = "must be no more than 253 characters";
	}
	if (!is_dns_subdomain(s)) {
		ret[n++] = SUBDOMAIN_TEXT;
	}
	return n;
}

size_t validate_dns_label(struct str s, const char *ret[VALIDATE_MESSAGES_MAX])
{
	size_t n = 0;
	if (s.n > LABEL_MAX) {
		ret[n++] = "must be no more than 63 characters";
	}
	if (!is_dns_label(s)) {
		ret[n++] = is_dns_subdomain(s) ? "must not contain dots" : LABEL_TEXT;
	}
	return n;
}

static size_t validate_prefix(struct str prefix, const char *ret[VALIDATE_MESSAGES_MAX])
{
	size_t n = 0;
	if (!prefix.n) {
		ret[n++] = "prefix part must be non-empty";
		return n;
	}
	if (prefix.n > SUBDOMAIN_MAX) {
		ret[n++] = "prefix part must be no more than 253 bytes";
	}
	if (!is_dns_subdomain(prefix)) {
		ret[n++] = "prefix part " SUBDOMAIN_TEXT;
	}
	return n;
}

size_t validate_dns1035_label(struct str s, const char *ret[VALIDATE_MESSAGES_MAX])
{
	size_t n = 0;
	if (s.n > LABEL_MAX) {
		ret[n++] = "must be no more than 63 characters";
	}
	if (!is_dns_label(s) || (s.p[0] >= '0' && s.p[0] <= '9')) {
		ret[n++] =
			"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
			"character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
			"validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
	}
	return n;
}

size_t validate_qualified_name(struct str s, const char *ret[VALIDATE_MESSAGES_MAX])
{
	struct str prefix, name = s, rest;
	size_t n = 0;
	if (str_cut(s, '/', &prefix, &name)) {
		if (str_cut(name, '/', &rest, &rest)) {
			ret[n++] = "a valid label key " KEY_TEXT
				   " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
			return n;
		}
		n = validate_prefix(prefix, ret);
	} else {
		name = s;
	}
	if (!name.n) {
		ret[n++] = "name part must be non-empty";
	} else if (name.n > LABEL_MAX) {
		ret[n++] = "name part must be no more than 63 bytes";
	}
	if (!is_key_part(name)) {
		ret[n++] = "name part " KEY_TEXT;
	}
	return n;
}

size_t validate_label_value(struct str s, const char *ret[VALIDATE_MESSAGES_MAX])
{
	size_t n = 0;
	if (s.n > LABEL_MAX) {
		ret[n++] = "must be no more than 63 bytes";
	}
	if (s.n && !is_key_part(s)) {
		ret[n++] = VALUE_TEXT;
	}
	return n;
}

static size_t validate_path_prefix(struct str s, const char *ret[VALIDATE_MESSAGES_MAX])
{
	size_t n = 0;
	if (s.n && memchr(s.p, '/', s.n)) {
		ret[n++] = "may not contain '/'";
	}
	if (s.n && memchr(s.p, '%', s.n)) {
		ret[n++] = "may not contain '%'";
	}
	return n;
}

size_t validate_path_segment(struct str s, const char *ret[VALIDATE_MESSAGES_MAX])
{
	if (str_is(s, ".") || str_is(s, "..")) {
		ret[0] = s.n == 1 ? "may not be '.'" : "may not be '..'";
		return 1;
	}
	return validate_path_prefix(s, ret);
}

/* A prefix may end in a dash, which stands for whatever will follow. */
static struct str mask_trailing_dash(struct str s, struct arena *a)
{
	if (s.n < 2 || s.p[s.n - 1] != '-') {
		return s;
	}
	/* maskTrailingDash upstream, which drops one character more than it must. */
	return arena_printf(a, "%.*sa", (int)(s.n - 2), s.p);
}

typedef size_t name_validator(struct str s, const char *ret[VALIDATE_MESSAGES_MAX]);

static name_validator *const name_rules[] = {
	[NAME_DNS_SUBDOMAIN] = validate_dns_subdomain,
	[NAME_DNS_LABEL] = validate_dns_label,
	[NAME_PATH_SEGMENT] = validate_path_segment,
};

static void check_text(struct field_errors *errors, const char *path, struct str s, struct str shown, name_validator *validator)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	size_t n = validator(s, messages);
	for (size_t i = 0; i < n; i++) {
		field_invalid_str(errors, str_of(path), shown, "%s", messages[i]);
	}
}

static void check_generate_name(enum name_rule rule, const struct meta *m, struct field_errors *errors)
{
	if (!m->generate_name.n) {
		return;
	}
	if (rule == NAME_PATH_SEGMENT) {
		check_text(errors, "metadata.generateName", m->generate_name, m->generate_name, validate_path_prefix);
	} else {
		check_text(errors, "metadata.generateName", mask_trailing_dash(m->generate_name, errors->arena),
			m->generate_name, name_rules[rule]);
	}
}

/* The namespace of an archive has a dot, and then a uid (api/model/history.h). */
static struct str label_of_namespace(const struct kind *kind, struct str ns)
{
	bool may_be_archived = kind->history || kind == kind_by_hub(STR("annals.dev"), STR("histories"));
	const char *messages[VALIDATE_MESSAGES_MAX];

	return may_be_archived && validate_dns_subdomain(ns, messages) == 0 ? archive_origin(ns) : ns;
}

static void check_names(enum name_rule rule, const struct kind *kind, const struct meta *m, struct field_errors *errors)
{
	check_generate_name(rule, m, errors);
	if (!m->name.n) {
		field_required(errors, STR("metadata.name"), "name or generateName is required");
	} else {
		check_text(errors, "metadata.name", m->name, m->name, name_rules[rule]);
	}
	if (kind->is_namespaced && !m->ns.n) {
		field_required(errors, STR("metadata.namespace"), "%s", "");
	} else if (kind->is_namespaced) {
		check_text(errors, "metadata.namespace", label_of_namespace(kind, m->ns), m->ns, validate_dns_label);
	} else if (m->ns.n) {
		field_forbidden(errors, STR("metadata.namespace"), "not allowed on this type");
	}
}

/* Labels, annotations, owners, finalizers, managers. */

void validate_labels(const struct json *labels, struct field_errors *errors)
{
	for (uint32_t i = 0; labels && i < labels->n; i++) {
		struct str key = labels->members[i].name, value = json_text(labels->members[i].value);
		check_text(errors, "metadata.labels", key, key, validate_qualified_name);
		check_text(errors, "metadata.labels", value, value, validate_label_value);
	}
}

static struct str lower_case(struct str s, struct arena *a)
{
	char *lower = arena_text(a, s.n);
	for (size_t i = 0; i < s.n; i++) {
		lower[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] - 'A' + 'a') : s.p[i];
	}
	return (struct str){lower, s.n};
}

bool validate_annotations_fit(const struct json *annotations)
{
	size_t size = 0;
	for (uint32_t i = 0; annotations && i < annotations->n; i++) {
		size += annotations->members[i].name.n + json_text(annotations->members[i].value).n;
	}
	return size <= ANNOTATIONS_MAX;
}

void validate_annotations(struct str path, const struct json *annotations, struct field_errors *errors)
{
	for (uint32_t i = 0; annotations && i < annotations->n; i++) {
		struct str key = annotations->members[i].name;
		const char *messages[VALIDATE_MESSAGES_MAX];
		size_t n = validate_qualified_name(lower_case(key, errors->arena), messages);
		for (size_t k = 0; k < n; k++) {
			field_invalid_str(errors, path, key, "%s", messages[k]);
		}
	}
	if (!validate_annotations_fit(annotations)) {
		field_too_long(errors, path, ANNOTATIONS_MAX);
	}
}

static void check_owner(const struct meta *m, size_t i, const struct owner_reference *owner, struct field_errors *errors)
{
	struct str group, version;
	bool has_group = str_cut(owner->api_version, '/', &group, &version);
	if (!has_group) {
		version = owner->api_version;
	}
	/* what is no group and version counts as none (schema.FromAPIVersionAndKind) */
	if (!version.n || memchr(version.p, '/', version.n)) {
		field_invalid_str(
			errors, STR("metadata.ownerReferences.apiVersion"), owner->api_version, "version must not be empty");
	}
	const struct {
		const char *path;
		struct str value;
	} required[] = {
		{"metadata.ownerReferences.kind", owner->kind},
		{"metadata.ownerReferences.name", owner->name},
		{"metadata.ownerReferences.uid", owner->uid},
	};
	for (size_t k = 0; k < ARRAY_SIZE(required); k++) {
		if (!required[k].value.n) {
			field_invalid_str(errors, str_of(required[k].path), (struct str){0}, "must not be empty");
		}
	}
	if (!has_group && str_is(version, "v1") && str_is(owner->kind, "Event")) {
		field_invalid(errors, STR("metadata.ownerReferences"), m->owner_references->items[i],
			"/v1, Kind=Event is disallowed from being an owner");
	}
}

static void check_owners(const struct meta *m, struct field_errors *errors)
{
	struct owner_reference first = {0}, owner;
	for (size_t i = 0; i < meta_owner_count(m) && !(errors->n && arena_is_full(errors->arena)); i++) {
		meta_owner(m, i, &owner);
		check_owner(m, i, &owner, errors);
		if (owner.is_controller && first.is_controller) {
			field_invalid(errors, STR("metadata.ownerReferences"), m->owner_references,
				"Only one reference can have Controller set to true. Found \"true\" in references for " STR_FMT
				"/" STR_FMT " and " STR_FMT "/" STR_FMT,
				STR_ARG(first.kind), STR_ARG(first.name), STR_ARG(owner.kind), STR_ARG(owner.name));
		} else if (owner.is_controller) {
			first = owner;
		}
	}
}

static void check_finalizer_text(struct str path, struct str name, struct field_errors *errors)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	size_t n = validate_qualified_name(name, messages);
	for (size_t i = 0; i < n; i++) {
		field_invalid_str(errors, path, name, "%s", messages[i]);
	}
}

static bool has_finalizer_domain(struct str name)
{
	static const char *const standard[] = {"kubernetes", "orphan", "foregroundDeletion"};
	bool is_fine = name.n && memchr(name.p, '/', name.n);
	for (size_t i = 0; i < ARRAY_SIZE(standard); i++) {
		is_fine = is_fine || str_is(name, standard[i]);
	}
	return is_fine;
}

static void refuse_finalizer(struct str path, struct str name, struct field_errors *errors)
{
	field_invalid_str(errors, path, name, "name is neither a standard finalizer name nor is it fully qualified");
}

void validate_finalizer(struct str path, struct str item_path, struct str name, struct field_errors *errors)
{
	check_finalizer_text(path, name, errors);
	if (!has_finalizer_domain(name)) {
		refuse_finalizer(item_path, name, errors);
	}
}

static void check_finalizers(const struct meta *m, struct field_errors *errors)
{
	for (uint32_t i = 0; m->finalizers && i < m->finalizers->n; i++) {
		check_finalizer_text(STR("metadata.finalizers"), json_text(m->finalizers->items[i]), errors);
	}
	if (meta_has_finalizer(m, STR("orphan")) && meta_has_finalizer(m, STR("foregroundDeletion"))) {
		field_invalid(errors, STR("metadata.finalizers"), m->finalizers,
			"finalizer orphan and foregroundDeletion cannot be both set");
	}
}

static void check_finalizer_domains(const struct meta *m, struct field_errors *errors)
{
	for (uint32_t i = 0; m->finalizers && i < m->finalizers->n; i++) {
		struct str name = json_text(m->finalizers->items[i]);
		if (!has_finalizer_domain(name)) {
			refuse_finalizer(field_index(errors->arena, STR("metadata.finalizers"), i), name, errors);
		}
	}
}

void validate_field_manager(struct str path, struct str manager, struct field_errors *errors)
{
	if (manager.n > FIELD_MANAGER_MAX) {
		field_too_long(errors, path, FIELD_MANAGER_MAX);
	}
	for (size_t i = 0; i < manager.n;) {
		uint32_t c = 0xfffd;
		unsigned n = go_decode_rune(manager.p + i, manager.p + manager.n, &c);
		if (n && !go_is_print(c)) {
			field_invalid_str(errors, path, manager, "invalid character U+%04X (at position %zu)", c, i);
		}
		i += n ? n : 1;
	}
}

static void check_managed_entry(const struct json *entry, struct field_errors *errors)
{
	struct str operation = json_text(json_gets(entry, "operation")),
		   fields_type = json_text(json_gets(entry, "fieldsType"));
	if (!str_is(operation, "Apply") && !str_is(operation, "Update")) {
		field_invalid_str(errors, STR("operation"), operation, "must be `Apply` or `Update`");
	}
	if (fields_type.n && !str_is(fields_type, "FieldsV1")) {
		field_invalid_str(errors, STR("fieldsType"), fields_type, "must be `FieldsV1`");
	}
	validate_field_manager(STR("manager"), json_text(json_gets(entry, "manager")), errors);
	if (json_text(json_gets(entry, "subresource")).n > SUBRESOURCE_MAX) {
		field_too_long(errors, STR("subresource"), SUBRESOURCE_MAX);
	}
}

/* Whole paths are printed only where there is something to say. */
static void check_managed_fields(const struct meta *m, struct field_errors *errors)
{
	for (uint32_t i = 0; m->managed_fields && i < m->managed_fields->n; i++) {
		size_t first = errors->n;
		check_managed_entry(m->managed_fields->items[i], errors);
		for (; first < errors->n; first++) {
			struct str path = errors->v[first].path;
			errors->v[first].path =
				arena_printf(errors->arena, "metadata.managedFields[%u]." STR_FMT, i, STR_ARG(path));
		}
	}
}

static void check_rest(const struct meta *m, struct field_errors *errors)
{
	validate_labels(m->labels, errors);
	validate_annotations(STR("metadata.annotations"), m->annotations, errors);
	check_owners(m, errors);
}

/* ValidateObjectMetaAccessor */
static void check_meta(enum name_rule rule, const struct kind *kind, const struct meta *m, struct field_errors *errors)
{
	check_names(rule, kind, m, errors);
	if (m->generation < 0) {
		field_invalid(errors, STR("metadata.generation"), json_int(errors->arena, m->generation),
			"must be greater than or equal to 0");
	}
	check_rest(m, errors);
	check_finalizers(m, errors);
	check_managed_fields(m, errors);
}

void validate_meta(const struct kind *kind, const struct meta *m, struct field_errors *errors)
{
	check_meta(kind->name_rule, kind, m, errors);
	if (!kind->any_finalizer) {
		check_finalizer_domains(m, errors);
	}
}

/* Updates. */

/* As Go prints a []string: []string{"a", "b"}, sorted, each once. */
static struct str print_set(struct str *v, size_t n, struct arena *a)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	str_sort(v, n);
	buf_adds(&out, "[]string{");
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || !str_eq(v[i], v[i - 1])) {
			buf_adds(&out, i ? ", " : "");
			buf_add_str(&out, go_quote(a, v[i]));
		}
	}
	buf_adds(&out, "}");
	struct str printed = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return printed;
}

static struct str *finalizer_names(const struct meta *m, struct arena *a, size_t *ret_n)
{
	*ret_n = m->finalizers ? m->finalizers->n : 0;
	struct str *names = arena_array(a, struct str, *ret_n + 1);
	for (size_t i = 0; i < *ret_n; i++) {
		names[i] = json_text(m->finalizers->items[i]);
	}
	return names;
}

static void check_no_new_finalizers(const struct meta *m, const struct meta *old, struct field_errors *errors)
{
	size_t n, n_before, n_extra = 0;
	struct str *extra = finalizer_names(m, errors->arena, &n);
	struct str *before = finalizer_names(old, errors->arena, &n_before);
	str_sort(before, n_before);
	for (size_t i = 0; i < n; i++) {
		if (!bsearch(&extra[i], before, n_before, sizeof(*before), str_cmp_at)) {
			extra[n_extra++] = extra[i];
		}
	}
	if (n_extra) {
		struct str set = print_set(extra, n_extra, errors->arena);
		field_forbidden(errors, STR("metadata.finalizers"),
			"no new finalizers can be added if the object is being deleted, found new finalizers " STR_FMT,
			STR_ARG(set));
	}
}

static void check_same(const char *path, struct str now, struct str before, struct field_errors *errors)
{
	if (!str_eq(now, before)) {
		field_invalid_str(errors, str_of(path), now, "field is immutable");
	}
}

/* Times are pointers in Go: none is null. */
static void check_same_time(const char *path, struct str now, struct str before, struct field_errors *errors)
{
	if (!str_eq(now, before)) {
		field_invalid(errors, str_of(path), now.n ? json_string(errors->arena, now) : NULL, "field is immutable");
	}
}

static void check_same_grace_period(const struct meta *m, const struct meta *old, struct field_errors *errors)
{
	bool is_same = m->has_grace_period == old->has_grace_period &&
		(!m->has_grace_period || m->grace_period_s == old->grace_period_s);
	if (!is_same) {
		field_invalid(errors, STR("metadata.deletionGracePeriodSeconds"),
			m->has_grace_period ? json_int(errors->arena, m->grace_period_s) : NULL, "field is immutable");
	}
}

/* ValidateObjectMetaAccessorUpdate */
static void check_update(const struct meta *m, const struct meta *old, struct field_errors *errors)
{
	if (meta_is_deleting(old)) {
		check_no_new_finalizers(m, old, errors);
	}
	if (!m->resource_version.n) {
		field_invalid_str(errors, STR("metadata.resourceVersion"), (struct str){0}, "must be specified for an update");
	}
	if (m->generation < old->generation) {
		field_invalid(
			errors, STR("metadata.generation"), json_int(errors->arena, m->generation), "must not be decremented");
	}
	check_same("metadata.name", m->name, old->name, errors);
	check_same("metadata.namespace", m->ns, old->ns, errors);
	check_same("metadata.uid", m->uid, old->uid, errors);
	check_same_time("metadata.creationTimestamp", m->creation_timestamp, old->creation_timestamp, errors);
	check_same_time("metadata.deletionTimestamp", m->deletion_timestamp, old->deletion_timestamp, errors);
	check_same_grace_period(m, old, errors);
	check_rest(m, errors);
	check_managed_fields(m, errors);
}

/* kube-apiserver checks what all kinds share, then each kind checks it again. */
void validate_meta_update(const struct kind *kind, const struct meta *m, const struct meta *old, struct field_errors *errors)
{
	check_meta(NAME_PATH_SEGMENT, kind, m, errors);
	check_update(m, old, errors);
	if (!kind->checks_meta_last) {
		check_update(m, old, errors);
	}
	if (!kind->any_finalizer) {
		check_finalizer_domains(m, errors);
	}
}

/* Metadata that the server owns. */

static struct str time_now(struct arena *a)
{
	char text[TIME_RFC3339_SIZE];
	time_format_rfc3339(text, clock_wall_s());
	return arena_dup(a, str_of(text));
}

void meta_prepare_create(struct object *o, struct str ns, struct arena *a)
{
	char uid[UUID_SIZE];
	uuid_new(uid);
	struct meta *m = &o->meta;
	m->uid = arena_dup(a, str_of(uid));
	m->ns = o->kind->is_namespaced ? ns : (struct str){0};
	m->creation_timestamp = time_now(a);
	m->deletion_timestamp = m->resource_version = (struct str){0};
	m->has_grace_period = false;
	m->grace_period_s = 0;
	if (!o->kind->keeps_generation) {
		m->generation = o->kind->bumps_generation ? 1 : 0;
	}
}

void meta_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	struct meta *m = &o->meta;
	const struct meta *before = &old->meta;
	/* The kind's prepare_update bumps it, not the client. */
	m->generation = before->generation;
	if (!m->uid.n) {
		m->uid = before->uid;
	}
	/* Changes are ignored, not refused. */
	if (before->creation_timestamp.n) {
		m->creation_timestamp = before->creation_timestamp;
	}
	if (meta_is_deleting(before)) {
		m->deletion_timestamp = before->deletion_timestamp;
	}
	if (before->has_grace_period && !m->has_grace_period) {
		m->has_grace_period = true;
		m->grace_period_s = before->grace_period_s;
	}
	if (!m->resource_version.n) {
		m->resource_version = arena_printf(a, "%lld", (long long)old->mod_revision);
	}
}

void meta_generate_name(struct meta *m, struct arena *a)
{
	char suffix[GENERATED_SUFFIX + 1];
	random_suffix(suffix, GENERATED_SUFFIX);
	size_t n = MIN(m->generate_name.n, (size_t)GENERATED_PREFIX_MAX);
	m->name = arena_printf(a, "%.*s%s", (int)n, m->generate_name.p, suffix);
}

/* Owners in normal form are equal when their texts are. */
static bool was_seen(struct map *seen, struct json *owner)
{
	struct buf text;
	buf_init(&text, TEXT_MAX);
	json_encode(&text, owner);
	bool is_repeated = map_get(seen, buf_str(&text));
	map_set(seen, buf_str(&text), owner, NULL);
	buf_done(&text);
	return is_repeated;
}

#define DUPLICATES_TEXT(when)                                            \
	".metadata.ownerReferences contains duplicate entries" when      \
	"; API server dedups owner references in 1.20+, and may reject " \
	"such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "

size_t meta_dedup_owners(struct meta *m, bool is_patch, struct arena *a, struct str warnings[2])
{
	if (meta_owner_count(m) < 2) {
		return 0;
	}
	struct json *kept = json_array(a);
	struct map seen;
	struct buf text;
	map_init(&seen, m->owner_references->n);
	buf_init(&text, TEXT_MAX);
	for (uint32_t i = 0; i < m->owner_references->n; i++) {
		struct json *owner = m->owner_references->items[i];
		if (!was_seen(&seen, owner)) {
			json_append(a, kept, owner);
			continue;
		}
		buf_adds(&text,
			text.n             ? ", "
				: is_patch ? DUPLICATES_TEXT(" after mutating admission happens")
					   : DUPLICATES_TEXT(""));
		buf_add_str(&text, json_text(json_gets(owner, "uid")));
	}
	size_t n = text.n > 0;
	if (n) {
		m->owner_references = kept;
		warnings[0] = arena_dup(a, buf_str(&text));
	}
	buf_done(&text);
	map_done(&seen);
	return n;
}

/* Shared by ConfigMaps and Secrets, which differ in their values alone. Keys become names of
 * files in volumes, so nothing may climb out of the folder. */

/* Bytes of a key; a longer one is refused. */
enum { DATA_KEY_MAX = 253 };

static bool is_key_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

static bool is_key(struct str key)
{
	for (size_t i = 0; i < key.n; i++) {
		if (!is_key_character(key.p[i])) {
			return false;
		}
	}
	return key.n > 0;
}

static const char *climbs(struct str key)
{
	if (str_is(key, ".")) {
		return "must not be '.'";
	}
	if (str_is(key, "..")) {
		return "must not be '..'";
	}
	return str_starts(key, STR("..")) ? "must not start with '..'" : NULL;
}

size_t validate_data_key(struct str key, const char *ret[VALIDATE_MESSAGES_MAX])
{
	size_t n = 0;
	if (key.n > DATA_KEY_MAX) {
		ret[n++] = "must be no more than 253 characters";
	}
	if (!is_key(key)) {
		ret[n++] = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
			   "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
	}
	if (climbs(key)) {
		ret[n++] = climbs(key);
	}
	return n;
}

void validate_data_keys(const struct json *data, const char *path, struct field_errors *errors)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	for (uint32_t i = 0; data && i < data->n; i++) {
		struct str key = data->members[i].name;
		size_t n = validate_data_key(key, messages);
		for (size_t k = 0; k < n; k++) {
			field_invalid_str(errors, field_key(errors->arena, str_of(path), key), key, "%s", messages[k]);
		}
	}
}

static bool is_immutable(const struct object *o)
{
	const struct json *immutable = json_gets(o->fields, "immutable");
	return immutable && immutable->kind == JSON_BOOL && immutable->boolean;
}

static bool is_unchanged(const struct object *o, const struct object *old, const char *name)
{
	const struct json *now = json_gets(o->fields, name), *before = json_gets(old->fields, name);
	return now && before ? json_equal(now, before) : now == before;
}

void validate_immutable_data(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const names[] = {"data", "binaryData"};
	static const char text[] = "field is immutable when `immutable` is set";
	if (!is_immutable(old)) {
		return;
	}
	if (!is_immutable(o)) {
		field_forbidden(errors, STR("immutable"), "%s", text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!is_unchanged(o, old, names[i])) {
			field_forbidden(errors, str_of(names[i]), "%s", text);
		}
	}
}

size_t data_text_size(const struct json *data)
{
	size_t size = 0;
	for (uint32_t i = 0; data && i < data->n; i++) {
		size += data->members[i].value->n;
	}
	return size;
}

/* Normal form has all its padding. */
static size_t decoded_size(struct str base64)
{
	size_t n = base64.n / 4 * 3;
	for (size_t i = base64.n; i > 0 && base64.p[i - 1] == '='; i--) {
		n--;
	}
	return n;
}

size_t data_bytes_size(const struct json *data)
{
	size_t size = 0;
	for (uint32_t i = 0; data && i < data->n; i++) {
		size += decoded_size(json_text(data->members[i].value));
	}
	return size;
}
