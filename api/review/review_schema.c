/* k8s.io/api/authorization/v1 and authentication/v1: reviews are answered, never stored, but are
 * decoded and validated like any object. The four access reviews share types and rules, so that
 * they cannot come to differ. */
#include "api/review/review_schema.h"

#include "api/pod/pod_schema.h"
#include "api/rules/validate.h"

static const struct type field_operator_type = {.kind = TYPE_STRING, .go_type = "v1.FieldSelectorOperator"};

static const struct field field_requirement_fields[] = {
	{"key", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Path of the field.", NULL, NULL},
	{"operator", &field_operator_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
		"In, NotIn, Exists or DoesNotExist.", NULL, NULL},
	{"values", &type_string_list, FIELD_NUMBER(3), "The values, for In and NotIn.", NULL, NULL},
	{0},
};

static const struct type field_requirement_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
	.go_type = "v1.FieldSelectorRequirement",
	.doc = "A condition on one field.",
	.fields = field_requirement_fields,
};

static const struct type label_requirements_type = {.kind = TYPE_LIST, .elem = &type_label_selector_requirement};
static const struct type field_requirements_type = {.kind = TYPE_LIST, .elem = &field_requirement_type};

static const struct field label_selector_fields[] = {
	{"rawSelector", &type_string, FIELD_NUMBER(1), "As in a query. Not together with requirements.", NULL, NULL},
	{"requirements", &label_requirements_type, FIELD_NUMBER(2), "Conditions of which all must hold.", NULL, NULL},
	{0},
};

static const struct type label_selector_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.LabelSelectorAttributes",
	.go_type = "v1.LabelSelectorAttributes",
	.doc = "By which labels the objects are selected.",
	.fields = label_selector_fields,
};

static const struct field field_selector_fields[] = {
	{"rawSelector", &type_string, FIELD_NUMBER(1), "As in a query. Not together with requirements.", NULL, NULL},
	{"requirements", &field_requirements_type, FIELD_NUMBER(2), "Conditions of which all must hold.", NULL, NULL},
	{0},
};

static const struct type field_selector_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.FieldSelectorAttributes",
	.go_type = "v1.FieldSelectorAttributes",
	.doc = "By which fields the objects are selected.",
	.fields = field_selector_fields,
};

static const struct field resource_fields[] = {
	{"namespace", &type_string, FIELD_NUMBER(1), "Namespace of the objects; empty: all, or none.", NULL, NULL},
	{"verb", &type_string, FIELD_NUMBER(2), "get, list, watch, create, update, patch, delete ...; * is all.", NULL, NULL},
	{"group", &type_string, FIELD_NUMBER(3), "API group; * is all.", NULL, NULL},
	{"version", &type_string, FIELD_NUMBER(4), "API version; empty or *: all.", NULL, NULL},
	{"resource", &type_string, FIELD_NUMBER(5), "The resource, in the plural; * is all.", NULL, NULL},
	{"subresource", &type_string, FIELD_NUMBER(6), "The subresource; empty: the object itself.", NULL, NULL},
	{"name", &type_string, FIELD_NUMBER(7), "Name of the object; empty: all.", NULL, NULL},
	{"fieldSelector", &field_selector_type, FIELD_KEEP_EMPTY | FIELD_NUMBER(8), "Only objects with such fields.", NULL,
		NULL},
	{"labelSelector", &label_selector_type, FIELD_KEEP_EMPTY | FIELD_NUMBER(9), "Only objects with such labels.", NULL,
		NULL},
	{0},
};

static const struct type resource_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.ResourceAttributes",
	.go_type = "v1.ResourceAttributes",
	.doc = "What is to be done to which objects.",
	.fields = resource_fields,
};

static const struct field nonresource_fields[] = {
	{"path", &type_string, FIELD_NUMBER(1), "Path of the URL.", NULL, NULL},
	{"verb", &type_string, FIELD_NUMBER(2), "The method, in lower case.", NULL, NULL},
	{0},
};

static const struct type nonresource_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.NonResourceAttributes",
	.go_type = "v1.NonResourceAttributes",
	.doc = "What is to be done to a path that is no resource.",
	.fields = nonresource_fields,
};

#define ATTRIBUTES                                                                                                         \
	{"resourceAttributes", &resource_type, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "What is to be done to which objects.", \
		NULL, NULL},                                                                                               \
	{                                                                                                                  \
		"nonResourceAttributes", &nonresource_type, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),                            \
			"Instead: what is to be done to a path that is no resource.", NULL, NULL                           \
	}

static const struct field self_access_spec_fields[] = {
	ATTRIBUTES,
	{0},
};

const struct type type_self_access_spec = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec",
	.go_type = "v1.SelfSubjectAccessReviewSpec",
	.doc = "What is to be done; one of both must be there.",
	.fields = self_access_spec_fields,
};

static const struct type extra_value_type = {.kind = TYPE_LIST, .go_type = "v1.ExtraValue", .elem = &type_string};
static const struct type extra_type = {.kind = TYPE_MAP, .elem = &extra_value_type};

static const struct field access_spec_fields[] = {
	ATTRIBUTES,
	{"user", &type_string, FIELD_NUMBER(3), "Name of who is to do it.", NULL, NULL},
	{"groups", &type_string_list, FIELD_NUMBER(4), "Groups of who is to do it.", NULL, NULL},
	{"extra", &extra_type, FIELD_NUMBER(5), "What else is known of who is to do it.", NULL, NULL},
	{"uid", &type_string, FIELD_NUMBER(6), "uid of who is to do it.", NULL, NULL},
	{0},
};

const struct type type_access_spec = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.SubjectAccessReviewSpec",
	.go_type = "v1.SubjectAccessReviewSpec",
	.doc = "What is to be done, one of resourceAttributes and nonResourceAttributes, and by whom.",
	.fields = access_spec_fields,
};

static const struct field access_status_fields[] = {
	{"allowed", &type_bool, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Whether it is allowed.", NULL, NULL},
	{"denied", &type_bool, FIELD_NUMBER(4), "Whether it is forbidden, whatever others say.", NULL, NULL},
	{"reason", &type_string, FIELD_NUMBER(2), "Why, for people.", NULL, NULL},
	{"evaluationError", &type_string, FIELD_NUMBER(3), "What was not understood; the answer holds all the same.", NULL,
		NULL},
	{0},
};

const struct type type_access_status = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.SubjectAccessReviewStatus",
	.go_type = "v1.SubjectAccessReviewStatus",
	.doc = "The answer.",
	.fields = access_status_fields,
};

static const struct type user_extra_value_type = {.kind = TYPE_LIST, .go_type = "v1.ExtraValue", .elem = &type_string};
static const struct type user_extra_type = {.kind = TYPE_MAP, .elem = &user_extra_value_type};

static const struct field user_info_fields[] = {
	{"username", &type_string, FIELD_NUMBER(1), "Name of the user.", NULL, NULL},
	{"uid", &type_string, FIELD_NUMBER(2), "Distinguishes the user from later ones of that name.", NULL, NULL},
	{"groups", &type_string_list, FIELD_NUMBER(3), "Groups of the user.", NULL, NULL},
	{"extra", &user_extra_type, FIELD_NUMBER(4), "What else is known of the user.", NULL, NULL},
	{0},
};

const struct type type_user_info = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authentication.v1.UserInfo",
	.go_type = "v1.UserInfo",
	.doc = "Who somebody is.",
	.fields = user_info_fields,
};

static const struct field token_status_fields[] = {
	{"authenticated", &type_bool, FIELD_NUMBER(1), "Whether the token names somebody.", NULL, NULL},
	{"user", &type_user_info, FIELD_ALWAYS | FIELD_NUMBER(2), "Whom.", NULL, NULL},
	{"audiences", &type_string_list, FIELD_NUMBER(4), "Whom, of those asked about, it is meant for.", NULL, NULL},
	{"error", &type_string, FIELD_NUMBER(3), "Why it names nobody.", NULL, NULL},
	{0},
};

const struct type type_token_status = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authentication.v1.TokenReviewStatus",
	.go_type = "v1.TokenReviewStatus",
	.doc = "Whom a token names.",
	.fields = token_status_fields,
};

/* ---- rules ---- */

static const struct json *spec(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

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
	const struct json *resource = json_gets(spec(o), "resourceAttributes");
	const struct json *nonresource = json_gets(spec(o), "nonResourceAttributes");
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
	const struct json *resource = json_gets(spec(o), "resourceAttributes");
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
	if (!json_text(json_gets(spec(o), "user")).n && !json_gets(spec(o), "groups")) {
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
	const struct door *door = &o->kind->doors[0];
	if (json_gets(object_to_json(&plain, door, errors->arena), "metadata")->n) {
		field_invalid(errors, STR("metadata"), json_gets(object_to_json(o, door, errors->arena), "metadata"),
			"must be empty%s", is_local ? " except for namespace" : "");
	}
}
