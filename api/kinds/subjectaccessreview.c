/* SubjectAccessReview: may somebody do something? */
#include "api/review/review_schema.h"

static const struct field review_fields[] = {
	OBJECT_FIELDS,
	{"spec", &type_access_spec, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Who is to do what.", NULL, NULL},
	{"status", &type_access_status, FIELD_ALWAYS | FIELD_NUMBER(3), "The answer.", NULL, NULL},
	{0},
};

static const struct type review_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.SubjectAccessReview",
	.go_type = "v1.SubjectAccessReview",
	.doc = "Asks whether somebody may do something; the answer is in status.",
	.fields = review_fields,
};

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_access_spec(o, errors);
	validate_no_metadata(o, errors);
}

static const struct door doors[] = {
	{.group = "authorization.k8s.io",
		.version = "v1",
		.definition = "io.k8s.api.authorization.v1.SubjectAccessReview",
		.standalone_only = true},
};

static struct kind subjectaccessreviews = {
	.kind = "SubjectAccessReview",
	.list_kind = "SubjectAccessReviewList",
	.resource = "subjectaccessreviews",
	.singular = "subjectaccessreview",
	.verbs = VERB_CREATE,
	.is_answered = true,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &review_type,
	.doc = "Asks whether somebody may do something; the answer is in status.",
	.validate = validate,
};
KIND_REGISTER(subjectaccessreviews)
