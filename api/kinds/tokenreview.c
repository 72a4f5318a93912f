/* TokenReview: whom does a token name? */
#include "api/review/review_schema.h"

static const struct field spec_fields[] = {
	{"token", &type_string, FIELD_NUMBER(1), "The token; must be said.", NULL, NULL},
	{"audiences", &type_string_list, FIELD_NUMBER(2),
		"Whom the token should be meant for. Tokens here are meant for the server.", NULL, NULL},
	{0},
};

static const struct type spec_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authentication.v1.TokenReviewSpec",
	.go_type = "v1.TokenReviewSpec",
	.doc = "A token.",
	.fields = spec_fields,
};

static const struct field review_fields[] = {
	OBJECT_FIELDS,
	{"spec", &spec_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The question.", NULL, NULL},
	{"status", &type_token_status, FIELD_ALWAYS | FIELD_NUMBER(3), "The answer.", NULL, NULL},
	{0},
};

static const struct type review_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authentication.v1.TokenReview",
	.go_type = "v1.TokenReview",
	.doc = "Asks whom a token names; the answer is in status.",
	.fields = review_fields,
};

static const struct door doors[] = {
	{.group = "authentication.k8s.io",
		.version = "v1",
		.definition = "io.k8s.api.authentication.v1.TokenReview",
		.standalone_only = true},
};

static struct kind tokenreviews = {
	.kind = "TokenReview",
	.list_kind = "TokenReviewList",
	.resource = "tokenreviews",
	.singular = "tokenreview",
	.verbs = VERB_CREATE,
	.is_answered = true,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &review_type,
	.doc = "Asks whom a token names; the answer is in status.",
};
KIND_REGISTER(tokenreviews)
