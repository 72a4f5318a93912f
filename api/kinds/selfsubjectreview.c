/* SelfSubjectReview: who am I? */
#include "api/review/review_schema.h"

static const struct field status_fields[] = {
	{"userInfo", &type_user_info, FIELD_ALWAYS | FIELD_NUMBER(1), "Who one is.", NULL, NULL},
	{0},
};

static const struct type status_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authentication.v1.SelfSubjectReviewStatus",
	.go_type = "v1.SelfSubjectReviewStatus",
	.doc = "Who one is.",
	.fields = status_fields,
};

static const struct field review_fields[] = {
	OBJECT_FIELDS,
	{"status", &status_type, FIELD_ALWAYS | FIELD_NUMBER(2), "The answer.", NULL, NULL},
	{0},
};

static const struct type review_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authentication.v1.SelfSubjectReview",
	.go_type = "v1.SelfSubjectReview",
	.doc = "Asks who one is; the answer is in status.",
	.fields = review_fields,
};

static const struct door doors[] = {
	{.group = "authentication.k8s.io",
		.version = "v1",
		.definition = "io.k8s.api.authentication.v1.SelfSubjectReview",
		.standalone_only = true},
};

static struct kind selfsubjectreviews = {
	.kind = "SelfSubjectReview",
	.list_kind = "SelfSubjectReviewList",
	.resource = "selfsubjectreviews",
	.singular = "selfsubjectreview",
	.verbs = VERB_CREATE,
	.is_answered = true,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &review_type,
	.doc = "Asks who one is; the answer is in status.",
};
KIND_REGISTER(selfsubjectreviews)
