/* LocalSubjectAccessReview: may somebody do something in this namespace? Who may ask is said namespace by namespace. */
#include "api/review/review_schema.h"

static const struct field review_fields[] = {
	OBJECT_FIELDS,
	{"spec", &type_access_spec, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
		"Who is to do what; the namespace is that of the review.", NULL, NULL},
	{"status", &type_access_status, FIELD_ALWAYS | FIELD_NUMBER(3), "The answer.", NULL, NULL},
	{0},
};

static const struct type review_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
	.go_type = "v1.LocalSubjectAccessReview",
	.doc = "Asks whether somebody may do something in a namespace; the answer is in status.",
	.fields = review_fields,
};

static void validate_local(const struct object *o, struct field_errors *errors)
{
	const struct json *spec = json_gets(o->fields, "spec");
	const struct json *resource = json_gets(spec, "resourceAttributes"),
			  *nonresource = json_gets(spec, "nonResourceAttributes");
	struct str ns = json_text(json_gets(resource, "namespace"));
	if (resource && !str_eq(ns, o->meta.ns)) {
		field_invalid_str(errors, STR("spec.resourceAttributes.namespace"), ns, "must match metadata.namespace");
	}
	if (nonresource) {
		field_invalid(errors, STR("spec.nonResourceAttributes"), shown_nonresource(nonresource, errors->arena),
			"disallowed on this kind of request");
	}
}

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_access_spec(o, errors);
	validate_no_metadata(o, errors);
	validate_local(o, errors);
}

static const struct door doors[] = {
	{.group = "authorization.k8s.io",
		.version = "v1",
		.definition = "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
		.standalone_only = true},
};

static struct kind localsubjectaccessreviews = {
	.kind = "LocalSubjectAccessReview",
	.list_kind = "LocalSubjectAccessReviewList",
	.resource = "localsubjectaccessreviews",
	.singular = "localsubjectaccessreview",
	.is_namespaced = true,
	.verbs = VERB_CREATE,
	.is_answered = true,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &review_type,
	.doc = "Asks whether somebody may do something in a namespace; the answer is in status.",
	.validate = validate,
};
KIND_REGISTER(localsubjectaccessreviews)
