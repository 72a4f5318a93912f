/* k8s.io/api/authorization/v1 and authentication/v1: reviews are answered, never stored, but are
 * decoded and validated like any object. The four access reviews share types and rules, so that
 * they cannot come to differ. */
#include "api/rules/review_schema.h"
#include "api/upstream/upstream.h"

#include "api/rules/validate.h"

/* ---- rules ---- */

static bool is_list_operator(struct str operator)
{
	return str_is(operator, "In") || str_is(operator, "NotIn");
}

static bool is_presence_operator(struct str operator)
{
	return str_is(operator, "Exists") || str_is(operator, "DoesNotExist");
}

/* Operators that nobody here knows are let pass: newer clients may send them. */
static void validate_values(const struct json *requirement, struct str path, struct field_errors *errors)
{
	struct str operator= json_text(json_gets(requirement, "operator"));
	const struct json *values = json_gets(requirement, "values");
	struct str at = field_path(errors->arena, path, "values");
	if (is_list_operator(operator) && !values) {
		field_required(errors, at, "must be specified when `operator` is 'In' or 'NotIn'");
	}
	if (is_presence_operator(operator) && values) {
		field_forbidden(errors, at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
	}
}

static void validate_field_requirement(const struct json *requirement, struct str path, struct field_errors *errors)
{
	if (!json_text(json_gets(requirement, "key")).n) {
		field_required(errors, field_path(errors->arena, path, "key"), "must be specified");
	}
	validate_values(requirement, path, errors);
}

static void add_messages(struct str path, struct str value, const char *const *messages, size_t n, struct field_errors *errors)
{
	for (size_t i = 0; i < n; i++) {
		field_invalid_str(errors, path, value, "%s", messages[i]);
	}
}

static void validate_label_requirement(const struct json *requirement, struct str path, struct field_errors *errors)
{
	struct str key = json_text(json_gets(requirement, "key")), at = field_path(errors->arena, path, "values");
	const struct json *values = json_gets(requirement, "values");
	const char *messages[VALIDATE_MESSAGES_MAX];
	validate_values(requirement, path, errors);
	add_messages(field_path(errors->arena, path, "key"), key, messages, validate_qualified_name(key, messages), errors);
	for (uint32_t i = 0; values && i < values->n; i++) {
		struct str value = json_text(values->items[i]);
		add_messages(field_index(errors->arena, at, i), value, messages, validate_label_value(value, messages), errors);
	}
}

static void validate_selector(const struct json *resource, const char *name,
	void (*validate)(const struct json *requirement, struct str path, struct field_errors *errors),
	struct field_errors *errors)
{
	const struct json *selector = json_gets(resource, name), *requirements = json_gets(selector, "requirements");
	struct str raw = json_text(json_gets(selector, "rawSelector")),
		   path = field_path(errors->arena, STR("spec.resourceAttributes"), name);
	struct str at = field_path(errors->arena, path, "requirements");
	if (!selector) {
		return;
	}
	if (raw.n && requirements) {
		field_invalid_str(errors, field_path(errors->arena, path, "rawSelector"), raw,
			"may not specified at the same time as requirements");
	}
	if (!raw.n && !requirements) {
		field_required(
			errors, at, "when " STR_FMT " is specified, requirements or rawSelector is required", STR_ARG(path));
	}
	for (uint32_t i = 0; requirements && i < requirements->n; i++) {
		validate(requirements->items[i], field_index(errors->arena, at, i), errors);
	}
}

struct json *shown_nonresource(const struct json *attributes, struct arena *a)
{
	struct json *shown = json_object(a);
	json_add(a, shown, STR("Path"), json_string(a, json_text(json_gets(attributes, "path"))));
	json_add(a, shown, STR("Verb"), json_string(a, json_text(json_gets(attributes, "verb"))));
	return shown;
}

/* Exactly one: upstream's message names the field in its own Go form, hence shown_nonresource(). */
static void validate_choice(const struct object *o, struct field_errors *errors)
{
	const struct json *resource = json_gets(object_spec(o), "resourceAttributes");
	const struct json *nonresource = json_gets(object_spec(o), "nonResourceAttributes");
	if (resource && nonresource) {
		field_invalid(errors, STR("spec.nonResourceAttributes"), shown_nonresource(nonresource, errors->arena),
			"cannot be specified in combination with resourceAttributes");
	}
	if (!resource && !nonresource) {
		field_invalid(errors, STR("spec.resourceAttributes"), NULL,
			"exactly one of nonResourceAttributes or resourceAttributes must be specified");
	}
}

static void validate_selectors(const struct object *o, struct field_errors *errors)
{
	const struct json *resource = json_gets(object_spec(o), "resourceAttributes");
	validate_selector(resource, "fieldSelector", validate_field_requirement, errors);
	validate_selector(resource, "labelSelector", validate_label_requirement, errors);
}

void validate_self_access_spec(const struct object *o, struct field_errors *errors)
{
	validate_choice(o, errors);
	validate_selectors(o, errors);
}

void validate_access_spec(const struct object *o, struct field_errors *errors)
{
	validate_choice(o, errors);
	if (!json_text(json_gets(object_spec(o), "user")).n && !json_gets(object_spec(o), "groups")) {
		field_invalid_str(errors, STR("spec.user"), STR(""), "at least one of user or group must be specified");
	}
	validate_selectors(o, errors);
}

void validate_no_metadata(const struct object *o, struct field_errors *errors)
{
	bool is_local = o->kind->is_namespaced;
	struct object plain = *o;
	plain.meta.managed_fields = NULL;
	if (is_local) {
		plain.meta.ns = STR("");
	}
	const struct version *version = &o->kind->versions[0];
	if (json_gets(object_to_json(&plain, version, errors->arena), "metadata")->n) {
		field_invalid(errors, STR("metadata"), json_gets(object_to_json(o, version, errors->arena), "metadata"),
			"must be empty%s", is_local ? " except for namespace" : "");
	}
}

/* ---- reviews of admission ----
 *
 * A review holds an object of any kind, of any server: so it is no more than JSON here, and the
 * answering code looks for the members that it needs (server/revisions/users.c). */

static const struct field review_fields[] = {
	OBJECT_FIELDS,
	{"request", &type_raw, 0, "What is asked, by whom, with the object as it would be.", NULL, NULL},
	{"response", &type_raw, 0, "The answer.", NULL, NULL},
	{0},
};

static const struct type review_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.admission.v1.AdmissionReview",
	.go_type = "v1.AdmissionReview",
	.doc = "Asks whether something may be written; the answer is in response.",
	.fields = review_fields,
};

static const struct version versions[] = {
	{.group = "admission.k8s.io", .name = "v1", .definition = "io.k8s.api.admission.v1.AdmissionReview"},
};

static const struct kind admission_review = {
	.kind = "AdmissionReview",
	.list_kind = "AdmissionReviewList",
	.resource = "admissionreviews",
	.singular = "admissionreview",
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.type = &review_type,
	.doc = "Asks whether something may be written.",
};

const struct view admission_review_view = {.kind = &admission_review};

/* ---- users as reviews show them ----
 *
 * Keys of extra may repeat as rows, in the order in which headers brought them. In JSON they are
 * gathered, as upstream's UserInfo has them. */

static struct json *groups_json(const struct user *u, struct arena *a)
{
	struct json *groups = json_array(a);
	for (size_t i = 0; i < u->n_groups; i++) {
		json_append(a, groups, json_string(a, u->groups[i]));
	}
	return groups;
}

struct json *user_extra_json(const struct user *u, struct arena *a)
{
	struct json *extra = json_object(a);
	for (size_t i = 0; i < u->n_extra; i++) {
		struct json *values = json_get(extra, u->extra[i].key);
		if (!values) {
			values = json_array(a);
			json_add(a, extra, u->extra[i].key, values);
		}
		json_append(a, values, json_string(a, u->extra[i].value));
	}
	return extra;
}

struct json *user_info_json(const struct user *u, struct arena *a)
{
	struct json *info = json_object(a);
	json_add_text(a, info, STR("username"), u->name);
	json_add_text(a, info, STR("uid"), u->uid);
	if (u->n_groups) {
		json_add(a, info, STR("groups"), groups_json(u, a));
	}
	if (u->n_extra) {
		json_add(a, info, STR("extra"), user_extra_json(u, a));
	}
	return info;
}
